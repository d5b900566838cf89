//! Times moves within one buffer, and the fastest copy of the same size.
//!
//! Usage: `in_place [threads [large|small [only]]]`. `large` requests large pages; `only` selects the cases whose name
//! contains it.
#![allow(clippy::print_stdout, reason = "it is for who reads it")]

use trundle::lowering::{Device, Move};
use trundle::{Chain, DType, Layout, Result, Shape};
use trundle_bench::{Beside, Settings, beside_copies};

/// Element type, sizes, and a chain that is applied within one buffer.
type Case = (DType, &'static [usize], &'static str);

const CASES: [Case; 24] = [
    (DType::F32, &[8192, 8192], "roll(shift=[3001], axes=[0])"),
    (DType::F32, &[8192, 8192], "roll(shift=[1], axes=[0])"),
    (DType::F32, &[8192, 8192], "roll(shift=[3001], axes=[1])"),
    (DType::F32, &[8192, 8192], "roll(shift=[3001, 555], axes=[0, 1])"),
    (DType::F32, &[8192, 8192], "roll(shift=[4096, 4096], axes=[0, 1])"),
    (DType::F32, &[67_108_863], "roll(shift=[23456789], axes=[0])"),
    (DType::U8, &[401, 801, 801], "roll(shift=[200, 400, 400], axes=[0, 1, 2])"),
    (DType::F32, &[8192, 8192], "flip(axes=[0])"),
    (DType::F32, &[8192, 8192], "flip(axes=[1])"),
    (DType::U8, &[16384, 16384], "flip(axes=[0, 1])"),
    (DType::U8, &[1024, 512, 512], "flip(axes=[0, 1])"),
    (DType::F32, &[4096, 128, 128], "reverse(axis=1, batch_axis=0, lengths=L)"),
    (DType::F32, &[128, 4096, 128], "reverse(axis=0, batch_axis=1, lengths=L)"),
    (DType::U8, &[16384, 16384], "transpose(order=[1, 0])"),
    (DType::F16, &[8192, 8192], "transpose(order=[1, 0])"),
    (DType::F32, &[8192, 8192], "transpose(order=[1, 0])"),
    (DType::F64, &[5000, 5000], "transpose(order=[1, 0])"),
    (DType::F32, &[64, 1000, 1000], "transpose(order=[0, 2, 1])"),
    (DType::F32, &[400, 400, 400], "transpose(order=[2, 1, 0])"),
    (DType::F32, &[400, 400, 400], "transpose(order=[1, 2, 0])"),
    (DType::F32, &[8192, 8192], "rot90(k=1, axes=[0, 1])"),
    (DType::F32, &[8192, 6144], "transpose(order=[1, 0])"),
    (DType::F32, &[7919, 6151], "transpose(order=[1, 0])"),
    (DType::U8, &[64, 1080, 1920, 3], "transpose(order=[0, 3, 1, 2])"),
];

const ROUNDS: usize = 9;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let threads = arguments.next().and_then(|threads| threads.parse().ok()).unwrap_or(1);
    let is_large = arguments.next().is_some_and(|pages| pages == "large");
    let only = arguments.next().unwrap_or_default();
    let is_requested =
        |(dtype, sizes, chain): &&Case| format!("{dtype} {sizes:?} {chain}").contains(&only);
    CASES.iter().filter(is_requested).try_for_each(|case| time(case, threads, is_large))
}

fn time((dtype, sizes, text): &Case, threads: usize, is_large: bool) -> Result<()> {
    let shape = Shape::new(*sizes)?;
    let text = text.replace('L', &lengths(sizes));
    let chain: Chain = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let map = chain.ops()[0].index_map(&shape)?;
    let layout = |shape: &Shape| Layout::row_major(shape, dtype.width());
    let work = Move::new(&map, *dtype, &layout(&shape)?, &layout(map.out_shape())?, 64)?;
    let (bytes, device) = (work.dst_bytes(), Device::new(Some(threads)));
    let name = format!("{dtype} {shape} {}", &text[..text.len().min(40)]);
    let Some(plan) = device.plan_in_place(&work, (bytes / 16).max(1 << 20)) else {
        println!("{name}: not in place");
        return Ok(());
    };
    let settings = Settings { large_pages: is_large, ..Settings::new(Some(threads), ROUNDS) };
    let run = |tensor: &mut [u8], _: &mut [u8]| plan.run_slice(tensor);
    let Beside { fraction, millis } = beside_copies(bytes, settings, run)?;
    let scratch = plan.scratch_bytes() >> 10;
    println!("{name}: {millis:.2} ms, {fraction:.2} of a copy, {scratch} KiB of scratch memory");
    Ok(())
}

/// One length for each index of the longest axis.
fn lengths(sizes: &[usize]) -> String {
    let lanes = sizes.iter().max().copied().unwrap_or(1);
    let lengths: Vec<String> = (0..lanes).map(|lane| (lane * 37 % 129).to_string()).collect();
    format!("[{}]", lengths.join(","))
}
