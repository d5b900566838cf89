//! Chains before and after layers of models: windows, patches, planes, and sequences with the time axis first.

use trundle::{DType, Op};

use super::{flip, reverse_sequence, roll, transpose};
use crate::case::{Bars, Case, Suite};

pub(super) fn windows() -> Suite {
    use DType::{F32, U8};
    let cases = vec![
        Case::new(
            "Swin: roll, window partition",
            F32,
            &[64, 56, 56, 96],
            [
                roll(&[-3, -3], &[1, 2]),
                reshape(&[64, 8, 7, 8, 7, 96]),
                transpose(&[0, 1, 3, 2, 4, 5]),
                reshape(&[4096, 49, 96]),
            ],
        )
        .short(),
        Case::new(
            "Swin: window reverse, roll back",
            F32,
            &[4096, 49, 96],
            [
                reshape(&[64, 8, 8, 7, 7, 96]),
                transpose(&[0, 1, 3, 2, 4, 5]),
                reshape(&[64, 56, 56, 96]),
                roll(&[3, 3], &[1, 2]),
            ],
        )
        .short(),
        Case::new(
            "patches of 16 x 16",
            F32,
            &[64, 224, 224, 3],
            [
                reshape(&[64, 14, 16, 14, 16, 3]),
                transpose(&[0, 1, 3, 2, 4, 5]),
                reshape(&[64, 196, 768]),
            ],
        )
        .short(),
        Case::new(
            "BGR HWC to RGB CHW",
            U8,
            &[32, 640, 640, 3],
            [flip(&[3]), transpose(&[0, 3, 1, 2])],
        ),
    ];
    Suite {
        name: "windows",
        about: "windows, patches and planes as models move them, each chain in one pass",
        bars: Bars { mean: None, least: Some(0.80) },
        cases,
    }
}

pub(super) fn time_major() -> Suite {
    let swapped = [1, 0, 2];
    let chain = |sizes: [usize; 3]| {
        let [batch, time, _] = sizes;
        let ops = [transpose(&swapped), reverse_sequence(0, 1, batch, time), transpose(&swapped)];
        Case::new("transpose, reverse, transpose", DType::F32, &sizes, ops)
    };
    Suite {
        name: "time-major",
        about: "sequences made time-major, reversed by their lengths, and made batch-major again",
        bars: Bars { mean: None, least: Some(0.85) },
        cases: vec![chain([256, 512, 512]).short(), chain([64, 1000, 512])],
    }
}

fn reshape(sizes: &[i64]) -> Op {
    trundle::ops::Reshape::new(sizes).into()
}
