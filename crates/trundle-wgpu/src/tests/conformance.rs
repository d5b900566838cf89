//! Runs the conformance suite of all backends.

use trundle_core::Move;
use trundle_gpu::{GpuMove, Pattern, TILE_BYTES};
use trundle_testing::suite::Case;
use trundle_testing::{MOST_BOXES, PlainOp, everything, sub_byte, suite};

use super::device;

fn shares(else_shares: usize) -> usize {
    if everything() { 1 } else { else_shares }
}

#[test]
fn moves_of_whole_buffers_match_the_oracle() {
    let Some(device) = device() else { return };
    suite::conformance(&device, 0, shares(16));
}

#[test]
fn moves_between_windows_match_the_oracle() {
    let Some(device) = device() else { return };
    let device = device.with_windows(64 << 10);
    suite::conformance(&device, 1, shares(16));
}

/// Full and incomplete tiles, ascending, reversed and rolled loops, at every offset within a word.
#[test]
fn tiles_match_the_oracle() {
    let Some(device) = device() else { return };
    let transpose = PlainOp::Transpose { order: vec![0, 2, 1] };
    let before = [
        vec![],
        vec![PlainOp::Flip { axes: vec![1] }],
        vec![PlainOp::Flip { axes: vec![2] }],
        vec![PlainOp::Flip { axes: vec![1, 2] }],
        vec![PlainOp::Roll { shift: vec![20, 30], axes: vec![1, 2] }],
    ];
    for width in TILE_BYTES {
        for (sizes, ops) in [[2, 64, 64], [3, 67, 131]]
            .iter()
            .flat_map(|sizes| before.iter().map(move |ops| (sizes, ops)))
        {
            for at in 0..4 {
                let ops = [&ops[..], std::slice::from_ref(&transpose)].concat();
                let offsets = [at * width.min(4), (5 - at) * width.min(4)];
                let case = Case::contiguous(sizes, &ops, width, offsets);
                let [map] = &case.passes().unwrap()[..] else { panic!("{case} is one pass") };
                let work = Move::new(map, width, &case.src, &case.dst, MOST_BOXES).unwrap();
                let is_tiled = GpuMove::of(&work)
                    .blocks()
                    .iter()
                    .any(|block| matches!(block.pattern, Pattern::Tiles { .. }));
                assert!(is_tiled, "{case}: {}", GpuMove::of(&work));
                suite::check(&device, &case).unwrap();
            }
        }
    }
}

#[test]
fn packed_elements_match_the_oracle() {
    let Some(device) = device() else { return };
    sub_byte::conformance(&device);
}
