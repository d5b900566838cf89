//! Times paddings beside the fastest copy of as many bytes: `pads [threads [large]]`, where `large` asks for large pages.
#![allow(clippy::print_stdout, reason = "it is for who reads it")]

use std::hint::black_box;
use std::time::Instant;

use trundle::lowering::prefer_large_pages;
use trundle::{Chain, DType, Plan, ProgramPlan, Result, Shape, programs};

/// A tensor, and so many elements of a constant on both sides of each axis.
struct Case {
    dtype: DType,
    sizes: [usize; 4],
    widths: [[usize; 2]; 4],
}

const fn rows_and_columns(dtype: DType, sizes: [usize; 4], width: [usize; 2]) -> Case {
    Case { dtype, sizes, widths: [[0, 0], [0, 0], width, width] }
}

const CASES: [Case; 8] = [
    rows_and_columns(DType::F32, [32, 64, 112, 112], [1, 1]),
    rows_and_columns(DType::F32, [256, 64, 56, 56], [1, 1]),
    rows_and_columns(DType::F32, [8, 3, 1080, 1920], [3, 3]),
    Case { dtype: DType::F32, sizes: [64, 224, 224, 3], widths: [[0, 0], [3, 3], [3, 3], [0, 0]] },
    rows_and_columns(DType::U8, [64, 3, 1080, 1080], [1, 2]),
    rows_and_columns(DType::F16, [64, 256, 56, 56], [1, 1]),
    rows_and_columns(DType::F16, [1, 64, 1000, 1000], [1, 1]),
    rows_and_columns(DType::F32, [512, 512, 28, 28], [1, 1]),
];

const ROUNDS: usize = 15;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let threads = arguments.next().and_then(|threads| threads.parse().ok()).unwrap_or(1);
    let is_large = arguments.next().is_some();
    CASES.iter().try_for_each(|case| time(case, threads, is_large))
}

fn time(case: &Case, threads: usize, is_large: bool) -> Result<()> {
    let Case { dtype, sizes, widths } = case;
    let (shape, width) = (Shape::new(sizes.as_slice())?, dtype.width());
    let program = programs::padded(&shape, (*dtype).into(), widths, &vec![0; width])?;
    let padding = ProgramPlan::row_major(&program, Some(threads))?;
    let (bytes, made) = (shape.bytes(width)?, padding.moved_bytes());
    let copy = Plan::row_major(&Chain::new(), *dtype, &Shape::new([made / width])?, Some(threads));
    let copy = copy.unwrap_or_else(|error| panic!("a copy is planned: {error}"));
    let buffer = |byte: fn(usize) -> u8| {
        let mut buffer: Vec<u8> = Vec::with_capacity(made);
        if is_large {
            prefer_large_pages(buffer.spare_capacity_mut());
        }
        buffer.extend((0..made).map(byte));
        buffer
    };
    let (src, mut dst) = (buffer(|at| (at * 7 + at / 251) as u8), buffer(|_| 1));
    let (mut fractions, mut times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        copy.run(black_box(&src), black_box(&mut dst))?;
        let ours = start.elapsed().as_secs_f64();
        let start = Instant::now();
        padding.run(&[black_box(&src[..bytes])], black_box(&mut dst))?;
        let took = start.elapsed().as_secs_f64();
        let start = Instant::now();
        black_box(&mut dst).copy_from_slice(black_box(&src));
        let system = start.elapsed().as_secs_f64();
        // The system's copy is of one thread.
        fractions.push(if threads == 1 { ours.min(system) } else { ours } / took);
        times.push(took * 1e3);
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[ROUNDS / 2]
    };
    let (fraction, time) = (median(&mut fractions), median(&mut times));
    println!("{dtype} {shape} by {widths:?}: {time:.2} ms, {fraction:.2} of a copy");
    Ok(())
}
