//! Chains that run in one pass, compared with one operator that accesses memory in the same way.

use trundle::DType;

use super::{flip, reverse_sequence, roll, transpose};
use crate::case::{Bars, Case, Suite};

pub(super) fn suite() -> Suite {
    use DType::{F32, U8, U16};
    let square = [7264, 7264];
    let batches = [256, 512, 512];
    let pictures = [96, 640, 640, 3];
    let nhwc = [64, 256, 256, 16];
    let (to_nchw, swapped) = ([0, 3, 1, 2], [1, 0, 2]);
    let cases = vec![
        Case::new("flip, transpose", F32, &square, [flip(&[1]), transpose(&[1, 0])])
            .against([transpose(&[1, 0])])
            .short(),
        Case::new("flip, transpose: columns", F32, &square, [flip(&[0]), transpose(&[1, 0])])
            .against([transpose(&[1, 0])]),
        Case::new(
            "transpose, flip both",
            U16,
            &[12000, 11040],
            [transpose(&[1, 0]), flip(&[0, 1])],
        )
        .against([transpose(&[1, 0])]),
        Case::new("roll, transpose", F32, &square, [roll(&[1, -5], &[0, 1]), transpose(&[1, 0])])
            .against([transpose(&[1, 0])])
            .short(),
        Case::new("roll, transpose", U8, &[11008, 11040], [roll(&[100], &[0]), transpose(&[1, 0])])
            .against([transpose(&[1, 0])]),
        Case::new("BGR HWC to RGB CHW", U8, &pictures, [flip(&[3]), transpose(&to_nchw)])
            .against([transpose(&to_nchw)])
            .short(),
        Case::new(
            "flip, roll, transpose, flip",
            F32,
            &nhwc,
            [flip(&[3]), roll(&[3, 3], &[1, 2]), transpose(&to_nchw), flip(&[2])],
        )
        .against([transpose(&to_nchw)])
        .short(),
        Case::new(
            "transpose, reverse, transpose back",
            F32,
            &batches,
            [transpose(&swapped), reverse_sequence(0, 1, 256, 512), transpose(&swapped)],
        )
        .against([reverse_sequence(1, 0, 256, 512)])
        .short(),
        Case::new(
            "reverse, transpose: rows",
            F32,
            &batches,
            [reverse_sequence(1, 0, 256, 512), transpose(&swapped)],
        )
        .against([reverse_sequence(1, 0, 256, 512)]),
        Case::new(
            "reverse, transpose: columns",
            F32,
            &batches,
            [reverse_sequence(2, 0, 256, 512), transpose(&[0, 2, 1])],
        )
        .against([transpose(&[0, 2, 1])]),
        Case::new("roll, flip", F32, &[8192, 8192], [roll(&[1, -5], &[0, 1]), flip(&[1])])
            .against([flip(&[1])]),
        Case::new(
            "flip, roll, flip",
            F32,
            &[8192, 8192],
            [flip(&[1]), roll(&[7], &[1]), flip(&[1])],
        )
        .against([roll(&[-7], &[1])]),
        Case::new("Swin: roll, flip", F32, &[64, 56, 56, 288], [roll(&[-3], &[1, 2]), flip(&[2])])
            .against([flip(&[2])]),
        Case::new(
            "transpose, transpose, roll",
            F32,
            &[96, 75, 96, 75],
            [transpose(&[0, 2, 1, 3]), transpose(&[3, 1, 2, 0]), roll(&[10], &[0])],
        )
        .against([transpose(&[3, 2, 1, 0])]),
    ];
    Suite {
        name: "chains",
        about: "chains in one pass, each next to one operator with the same access pattern",
        bars: Bars { mean: None, least: Some(0.90) },
        cases,
    }
}
