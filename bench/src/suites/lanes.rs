//! Reversals in which adjacent elements in memory have different lengths.

use trundle::DType;
use trundle::ops::ReverseSubsequences;

use super::{lengths, reverse_sequence};
use crate::case::{Bars, Case, Suite};

pub(super) fn suite() -> Suite {
    use DType::{F32, F64, U8, U16};
    let case = |name, dtype, sizes: [usize; 3], axis: usize| {
        let lanes = sizes.iter().product::<usize>() / sizes[axis];
        let op = ReverseSubsequences::new(axis.cast_signed() as i64, lengths(lanes, sizes[axis]));
        Case::new(name, dtype, &sizes, [op.into()])
    };
    let time_first = [reverse_sequence(0, 1, 16384, 2048)];
    Suite {
        name: "lanes",
        about: "reverse subsequences with a length in every lane",
        bars: Bars { mean: Some(0.50), least: Some(0.35) },
        cases: vec![
            case("middle axis", U8, [200, 512, 1024], 1).short(),
            case("middle axis", U16, [200, 512, 512], 1),
            case("middle axis", F32, [200, 512, 512], 1).short(),
            case("middle axis", F64, [100, 512, 512], 1),
            case("middle axis, odd", U8, [201, 511, 1021], 1),
            case("middle axis, odd", F32, [201, 511, 509], 1),
            case("13 lanes", F32, [20_000, 128, 13], 1),
            case("13 lanes", U8, [80_000, 128, 13], 1),
            case("outer axis", F32, [512, 200, 512], 0).short(),
            case("outer axis", U16, [512, 200, 512], 0),
            Case::new("time first, batches inside", F32, &[2048, 16384], time_first),
        ],
    }
}
