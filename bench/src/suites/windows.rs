//! Axes that are split and merged: windows, patches, and time-major sequences.

use trundle::{DType, Op};

use super::{flip, reverse_sequence, roll, transpose};
use crate::case::{Bars, Case, Suite};

pub(super) fn suite() -> Suite {
    use DType::{F32, U8};
    let swapped = [1, 0, 2];
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
        Case::new(
            "time-major and back: transpose, reverse, transpose",
            F32,
            &[256, 512, 512],
            [transpose(&swapped), reverse_sequence(0, 1, 256, 512), transpose(&swapped)],
        ),
    ];
    Suite {
        name: "windows",
        about: "windows, patches, pictures and sequences as models move them, each in one pass",
        bars: Bars { mean: None, least: Some(0.75) },
        cases,
    }
}

fn reshape(sizes: &[i64]) -> Op {
    trundle::ops::Reshape::new(sizes).into()
}
