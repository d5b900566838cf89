//! What is timed.

use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle_core::{DType, Op};

/// One movement of one tensor.
pub(crate) struct Case {
    /// What people would call it.
    pub(crate) name: &'static str,
    pub(crate) dtype: DType,
    pub(crate) sizes: &'static [usize],
    pub(crate) ops: Vec<Op>,
    /// The least fraction of copy that this project promises for it, if it promises one.
    pub(crate) bar: Option<f64>,
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    use DType::{F32, F64, U8, U16};
    let case = |name, dtype, sizes, ops: Vec<Op>, bar| Case { name, dtype, sizes, ops, bar };
    let transpose = |order: &[i64]| Op::from(Transpose::new(order));
    let roll = |shift: &[i64], axes: &[i64]| Op::from(Roll::new(shift, axes));
    let flip = |axes: &[i64]| Op::from(Flip::new(axes));
    vec![
        case("roll 1-D by 12345", F32, &[64 << 20], vec![roll(&[12345], &[0])], Some(0.6)),
        case(
            "roll outer axes (Swin)",
            F32,
            &[64, 56, 56, 288],
            vec![roll(&[-3], &[1, 2])],
            Some(0.6),
        ),
        case("roll 2-D by (1, -5)", F32, &[8192, 8192], vec![roll(&[1, -5], &[0, 1])], Some(0.6)),
        case("fftshift 3-D", F64, &[256, 256, 256], vec![roll(&[128], &[0, 1, 2])], Some(0.6)),
        case("roll rows of 13", F32, &[1 << 22, 13], vec![roll(&[5], &[1])], None),
        case(
            "keep the inner axis (1,0,2)",
            F32,
            &[128, 512, 1024],
            vec![transpose(&[1, 0, 2])],
            Some(0.6),
        ),
        case(
            "keep the inner axis (0,2,1,3)",
            F32,
            &[32, 64, 128, 256],
            vec![transpose(&[0, 2, 1, 3])],
            Some(0.6),
        ),
        case(
            "keep 64-byte elements (1,0,2)",
            F32,
            &[2048, 2048, 16],
            vec![transpose(&[1, 0, 2])],
            None,
        ),
        case(
            "keep 256-byte elements (1,0,2)",
            F32,
            &[1024, 1024, 64],
            vec![transpose(&[1, 0, 2])],
            None,
        ),
        case("transpose 2-D, even", F32, &[7264, 7264], vec![transpose(&[1, 0])], Some(0.25)),
        case(
            "transpose 2-D, powers of two",
            F32,
            &[8192, 8192],
            vec![transpose(&[1, 0])],
            Some(0.25),
        ),
        case("transpose 2-D, odd", F32, &[8191, 8193], vec![transpose(&[1, 0])], Some(0.25)),
        case("transpose 2-D", U8, &[16384, 16384], vec![transpose(&[1, 0])], None),
        case("transpose 2-D, even", U8, &[16000, 15040], vec![transpose(&[1, 0])], None),
        case("transpose 2-D, even", U16, &[12000, 11040], vec![transpose(&[1, 0])], None),
        case("transpose 2-D", U16, &[16384, 16384], vec![transpose(&[1, 0])], None),
        case("transpose 2-D", F64, &[5000, 6000], vec![transpose(&[1, 0])], None),
        case("NHWC to NCHW", F32, &[64, 256, 256, 16], vec![transpose(&[0, 3, 1, 2])], None),
        case("NCHW to NHWC", F32, &[64, 16, 256, 256], vec![transpose(&[0, 2, 3, 1])], None),
        case("invert 4 axes", F32, &[64, 64, 64, 256], vec![transpose(&[])], None),
        case("zyx to xyz (the demo)", F32, &[256, 256, 256], vec![transpose(&[])], None),
        case("zyx to xyz", U16, &[512, 512, 512], vec![transpose(&[])], None),
        case("HWC to CHW pictures", U8, &[32, 640, 640, 3], vec![transpose(&[0, 3, 1, 2])], None),
        case(
            "BGR HWC to RGB CHW, one pass",
            U8,
            &[32, 640, 640, 3],
            vec![flip(&[3]), transpose(&[0, 3, 1, 2])],
            None,
        ),
        case("flip the inner axis", F32, &[8192, 8192], vec![flip(&[1])], None),
        case(
            "reverse sequence, middle axis",
            F32,
            &[256, 512, 512],
            vec![ReverseSequence::new(1, 0, lengths(256, 512)).into()],
            None,
        ),
        case(
            "reverse sequence, inner axis",
            F32,
            &[4096, 16384],
            vec![ReverseSequence::new(1, 0, lengths(4096, 16384)).into()],
            None,
        ),
        case(
            "a length in every lane",
            F32,
            &[200, 512, 512],
            vec![ReverseSubsequences::new(1, lane_lengths(200 * 512, 512)).into()],
            None,
        ),
        case(
            "transpose, reverse, transpose back",
            F32,
            &[256, 512, 512],
            vec![
                transpose(&[1, 0, 2]),
                ReverseSequence::new(0, 1, lengths(256, 512)).into(),
                transpose(&[1, 0, 2]),
            ],
            None,
        ),
    ]
}

/// Lengths that differ from row to row: a fixed scatter over `0..=size`.
fn lengths(count: usize, size: usize) -> Vec<i128> {
    lane_lengths(count, size).into_iter().map(i128::from).collect()
}

fn lane_lengths(count: usize, size: usize) -> Vec<u64> {
    (0..count as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (size as u64 + 1)).collect()
}
