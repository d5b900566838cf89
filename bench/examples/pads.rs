//! Times pads, and the fastest copy of the same size.
//!
//! Usage: `pads [threads [large]]`. `large` requests large pages.
#![allow(clippy::print_stdout, reason = "it is for who reads it")]

use trundle::{DType, ProgramPlan, Result, Shape, programs};
use trundle_bench::{Beside, Settings, beside_copies};

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
    let settings = Settings { large_pages: is_large, ..Settings::new(Some(threads), ROUNDS) };
    let Beside { fraction, millis } =
        beside_copies(made, settings, |src, dst| padding.run(&[&src[..bytes]], dst))?;
    println!("{dtype} {shape} by {widths:?}: {millis:.2} ms, {fraction:.2} of a copy");
    Ok(())
}
