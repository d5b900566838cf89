//! Rolls.

use trundle::DType;

use super::roll;
use crate::case::{Bars, Case, Suite};

pub(super) fn suite() -> Suite {
    use DType::{Complex64, F32, F64, U8, U16};
    let case = |name, dtype, sizes: &[usize], shift: &[i64], axes: &[i64]| {
        Case::new(name, dtype, sizes, [roll(shift, axes)])
    };
    Suite {
        name: "rolls",
        about: "rolls of long and short rows, aligned and not",
        bars: Bars { mean: Some(0.97), least: Some(0.90) },
        cases: vec![
            case("Swin by (-3,-3)", F32, &[64, 56, 56, 288], &[-3, -3], &[1, 2]).short(),
            case("2-D by (1,-5)", F32, &[8192, 8192], &[1, -5], &[0, 1]).short(),
            case("1-D by 12345", F32, &[64 << 20], &[12345], &[0]).short(),
            case("1-D by 1", U8, &[128 << 20], &[1], &[0]),
            case("fftshift 3-D", F64, &[256, 256, 256], &[128; 3], &[0, 1, 2]).short(),
            case("fftshift 3-D, odd", Complex64, &[255, 257, 259], &[127, 128, 129], &[0, 1, 2]),
            case("fftshift 3-D, odd", F32, &[321, 323, 325], &[160, 161, 162], &[0, 1, 2]),
            case("odd rows by 3", U8, &[16001, 8191], &[3], &[1]).short(),
            case("odd rows by (7,-100)", U8, &[40001, 4001], &[7, -100], &[0, 1]),
            case("rows of a picture by (5,17)", U8, &[66000, 1923], &[5, 17], &[0, 1]),
            case("odd rows by -1", U16, &[20001, 4001], &[-1], &[1]),
            case("rows of 13 by 5", F32, &[1 << 22, 13], &[5], &[1]).short(),
        ],
    }
}
