//! Gathers of elements and of rows.

use trundle::ops::{Indices, Take, TakeAlongAxis};
use trundle::{Chain, DType, Shape};

use crate::case::{Bars, Case, Suite};

fn scattered(sizes: &[usize], size: usize) -> Indices {
    let count: usize = sizes.iter().product();
    let at = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % size as u64;
    let values: Vec<i64> = (0..count as u64).map(|i| at(i).cast_signed()).collect();
    let shape = Shape::new(sizes).unwrap_or_else(|error| unreachable!("sizes of a case: {error}"));
    Indices::new(shape, values).unwrap_or_else(|error| unreachable!("one for each: {error}"))
}

pub(super) fn suite() -> Suite {
    use DType::{F32, F64, U8};
    let take = |name, dtype, sizes: &[usize], axis: usize, count: usize| {
        let size = sizes[axis];
        Case::made_by(name, dtype, sizes, move || {
            let indices = scattered(&[count], size);
            Chain::new().then(Take::new(axis.cast_signed() as i64, indices))
        })
    };
    let along = |name, dtype, sizes: [usize; 2], axis: usize| {
        Case::made_by(name, dtype, &sizes, move || {
            let indices = scattered(&sizes, sizes[axis]);
            Chain::new().then(TakeAlongAxis::new(axis.cast_signed() as i64, indices))
        })
    };
    Suite {
        name: "gathers",
        about: "elements and rows at indices",
        bars: Bars { mean: None, least: None },
        cases: vec![
            take("rows of 4 KiB", F32, &[32_768, 1024], 0, 32_768).short(),
            take("rows of 64 KiB", F32, &[2048, 16_384], 0, 2048),
            take("rows of 1 KiB", F32, &[131_072, 256], 0, 131_072),
            take("rows of 256 bytes", F32, &[524_288, 64], 0, 524_288),
            take("rows of 48 bytes", F32, &[2_796_202, 12], 0, 2_796_202),
            take("single elements of 100 MiB", F32, &[26_214_400], 0, 26_214_400).short(),
            take("elements of rows of 8 KiB", F32, &[16_384, 2048], 1, 2048),
            take("pixels", U8, &[41_943_040, 3], 0, 41_943_040),
            along("an index each, of rows", F32, [16_384, 2048], 1),
            along("an index each, of columns", F64, [4096, 4096], 0),
        ],
    }
}
