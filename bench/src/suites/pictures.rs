//! Images, whose innermost axis has a few channels.

use trundle::DType;

use super::transpose;
use crate::case::{Bars, Case, Suite};

const BYTES: usize = 120 << 20;

pub(super) fn suite() -> Suite {
    let mut cases = Vec::new();
    for dtype in [DType::U8, DType::U16, DType::F32] {
        for channels in [3, 2, 4, 5, 7] {
            cases.extend(both_ways(dtype, [640, 640], channels, channels == 3));
        }
        // Sides that are not multiples of the size of a tile.
        cases.extend(both_ways(dtype, [427, 641], 3, false));
    }
    Suite {
        name: "pictures",
        about: "pictures, HWC to CHW and back: 2 to 7 channels of 1, 2 and 4 bytes",
        bars: Bars { mean: Some(0.75), least: Some(0.50) },
        cases,
    }
}

/// Moves the channels of a batch of images to the front, and back to the end.
fn both_ways(dtype: DType, [h, w]: [usize; 2], channels: usize, is_short: bool) -> [Case; 2] {
    let batch = BYTES / (h * w * channels * dtype.width());
    let there = [transpose(&[0, 3, 1, 2])];
    let back = [transpose(&[0, 2, 3, 1])];
    let mut cases = [
        Case::new("HWC to CHW", dtype, &[batch, h, w, channels], there),
        Case::new("CHW to HWC", dtype, &[batch, channels, h, w], back),
    ];
    cases.iter_mut().for_each(|case| case.is_short = is_short);
    cases
}
