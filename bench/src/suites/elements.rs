//! Transposes with element sizes and axis sizes that do not occur in TTC.

use trundle::DType;

use super::transpose;
use crate::case::{Bars, Case, Suite};

pub(super) fn small() -> Suite {
    let mut cases = Vec::new();
    for (dtype, wide, odd) in [
        (DType::U8, [16384, 16384], [15999, 16001]),
        (DType::U16, [8192, 16384], [10007, 10009]),
        (DType::F64, [4096, 8192], [4999, 5001]),
    ] {
        cases.push(Case::new("2-D, powers of two", dtype, &wide, [transpose(&[1, 0])]).short());
        cases.push(Case::new("2-D, odd", dtype, &odd, [transpose(&[1, 0])]));
    }
    cases.extend([
        Case::new("2-D, even", DType::U8, &[16000, 15040], [transpose(&[1, 0])]),
        Case::new("2-D, even", DType::U16, &[12000, 11040], [transpose(&[1, 0])]).short(),
        Case::new("2-D, even", DType::F64, &[5000, 6000], [transpose(&[1, 0])]),
    ]);
    for dtype in [DType::U8, DType::U16, DType::F64] {
        let width = dtype.width();
        for (batch, side, channels) in [(160 / width, 112, 64), (128 / width, 256, 16)] {
            let (nhwc, nchw) = ([batch, side, side, channels], [batch, channels, side, side]);
            cases.extend([
                Case::new("NHWC to NCHW", dtype, &nhwc, [transpose(&[0, 3, 1, 2])]),
                Case::new("NCHW to NHWC", dtype, &nchw, [transpose(&[0, 2, 3, 1])]),
            ]);
        }
    }
    let inverted: [(DType, &[usize]); 12] = [
        (DType::U8, &[512, 512, 512]),
        (DType::U8, &[501, 503, 505]),
        (DType::U8, &[64, 128, 128, 128]),
        (DType::U8, &[101, 103, 105, 107]),
        (DType::U16, &[512, 512, 256]),
        (DType::U16, &[401, 403, 405]),
        (DType::U16, &[64, 128, 64, 128]),
        (DType::U16, &[81, 83, 91, 101]),
        (DType::F64, &[256, 256, 256]),
        (DType::F64, &[251, 253, 255]),
        (DType::F64, &[64, 64, 64, 64]),
        (DType::F64, &[61, 63, 65, 67]),
    ];
    for (dtype, sizes) in inverted {
        let case =
            Case::new(format!("invert {} axes", sizes.len()), dtype, sizes, [transpose(&[])]);
        cases.push(if sizes.len() == 3 && dtype == DType::U8 { case.short() } else { case });
    }
    Suite {
        name: "small elements",
        about: "transposes of 1-, 2- and 8-byte elements",
        bars: Bars { mean: Some(0.75), least: Some(0.50) },
        cases,
    }
}

/// Elements of 4 bytes with sizes that do not occur in TTC, and widths that are not a power of two or exceed 8 bytes.
pub(super) fn other() -> Suite {
    let f32 = |name, sizes: &[usize], order: &[i64]| {
        Case::new(name, DType::F32, sizes, [transpose(order)])
    };
    let mut cases = vec![
        f32("2-D, powers of two", &[8192, 8192], &[1, 0]).short(),
        f32("2-D, odd", &[8191, 8193], &[1, 0]).short(),
        f32("NHWC to NCHW", &[64, 256, 256, 16], &[0, 3, 1, 2]).short(),
        f32("NCHW to NHWC", &[64, 16, 256, 256], &[0, 2, 3, 1]).short(),
        f32("four axes", &[96, 32, 128, 128], &[2, 1, 3, 0]),
        f32("invert 4 axes", &[64, 64, 64, 256], &[]),
        f32("zyx to xyz", &[256, 256, 512], &[]).short(),
        f32("keep the inner axis", &[128, 512, 1024], &[1, 0, 2]).short(),
        f32("keep 256 bytes", &[1024, 1024, 64], &[1, 0, 2]),
        f32("keep 64 bytes", &[2048, 2048, 16], &[1, 0, 2]),
    ];
    for (bytes, sizes) in [
        (3, [7001, 6001]),
        (5, [5001, 5501]),
        (6, [5000, 4400]),
        (12, [3301, 3001]),
        (16, [2999, 3001]),
        (16, [2048, 4096]),
    ] {
        let dtype = DType::Bytes(bytes);
        cases.push(Case::new("2-D", dtype, &sizes, [transpose(&[1, 0])]));
    }
    Suite {
        name: "other elements",
        about: "transposes of f32 that TTC lacks, and of 3- to 16-byte elements",
        bars: Bars::default(),
        cases,
    }
}
