//! Plans moves of many GiB without running them. Launches have 32-bit numbers, which must give the right 64-bit
//! positions.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

#[allow(dead_code, reason = "nothing is moved")]
mod invocations;

use invocations::some_positions;
use trundle_core::ops::{Flip, Indices, ReverseSubsequences, Roll, Take, Transpose};
use trundle_core::{Layout, Move, Op, Shape};
use trundle_gpu::{GpuMove, Launch, Windows};

/// Returns the bytes of a launch whose windows cover all of its elements.
fn moved_bytes(launch: &Launch) -> usize {
    let grains = match launch.tile {
        None => launch.rows as usize * launch.row as usize,
        Some(tile) => {
            let elements = tile.across as usize * tile.along as usize;
            launch.rows as usize * elements * launch.width as usize
        }
    };
    grains * launch.access.grain()
}

/// Checks the launches of `op` with windows of 128 MiB and of 2 GiB. Returns their numbers.
fn check_launches(op: &Op, sizes: &[usize], width: usize, is_table: bool) -> [usize; 2] {
    let shape = Shape::new(sizes).unwrap();
    let map = op.index_map(&shape).unwrap();
    let [src, dst] =
        [map.in_shape(), map.out_shape()].map(|shape| Layout::row_major(shape, width).unwrap());
    let work = Move::new(&map, width, &src, &dst, 1 << 12).unwrap();
    [128 << 20, (2 << 30) - 1].map(|bytes| {
        let gpu_move = GpuMove::of(&work);
        let launches = gpu_move.launches(&Windows { bytes, alignment: 256 });
        let mut checked = 0;
        for launch in &launches {
            let (reads, writes) = (&launch.reads, &launch.writes);
            for (window, reached) in [(launch.src, reads), (launch.dst, writes)] {
                assert!(window.bytes <= bytes && window.offset % 256 == 0, "{window:?}");
                let is_bound =
                    window.offset <= reached.start && reached.end <= window.offset + window.bytes;
                assert!(is_bound, "{reached:?} within {window:?}");
            }
            let block = &gpu_move.blocks()[launch.block];
            for (part, whole) in [(reads, gpu_move.reads(block)), (writes, gpu_move.writes(block))]
            {
                assert!(
                    whole.start <= part.start && part.end <= whole.end,
                    "{part:?} of {whole:?}"
                );
            }
            for [from, to] in some_positions(launch) {
                assert!(reads.contains(&from) && writes.contains(&to), "{}", launch.summary());
                let mut rest = to / width;
                let mut index = vec![0; map.out_shape().rank()];
                for (axis, size) in map.out_shape().sizes().iter().enumerate().rev() {
                    (index[axis], rest) = (rest % size, rest / size);
                }
                let expected = src.offset_of(&map.source_of(&index)) + to % width;
                assert_eq!(from, expected, "{op} of {shape}, position {to}");
                checked += 1;
            }
        }
        assert!(checked > 0, "{op} of {shape}");
        if !is_table {
            let all: usize = launches.iter().map(moved_bytes).sum();
            assert_eq!(all, work.moved_bytes(), "{op} of {shape}");
        }
        launches.len()
    })
}

#[test]
fn a_transpose_of_64_gib_is_moved_in_squares() {
    let op = Transpose::new(&[]).into();
    let launches = check_launches(&op, &[1 << 17, 1 << 17], 4, false);
    // The launches split destination and source equally.
    assert!(launches[1] <= 128 * 128 && launches[0] <= 1024 * 1024, "{launches:?}");
}

#[test]
fn runs_and_bytes_of_many_gib_are_moved_window_by_window() {
    let sizes = [5, (1 << 31) + 7];
    for op in [
        Roll::new(&[3, 12_345_678_901], &[0, 1]).into(),
        Flip::new(&[0]).into(),
        Flip::new(&[1]).into(),
        Roll::new(&[0], &[0]).into(),
    ] {
        let launches = check_launches(&op, &sizes, 1, false);
        assert!(launches[0] < 1000, "{op}: {launches:?}");
    }
}

#[test]
fn moves_by_tables_reach_positions_in_many_gib() {
    let indices: Vec<i64> = (0..300).map(|at| at * 7919 * 104_729 % (1 << 21)).collect();
    let take = Take::new(0, Indices::list(indices)).into();
    check_launches(&take, &[1 << 21, 1 << 13], 1, true);
    let lengths: Vec<u64> = (0..6).map(|lane| lane * 800_000_000).collect();
    let reverse = ReverseSubsequences::new(1, lengths).into();
    check_launches(&reverse, &[2, 2_500_000_000, 3], 1, true);
}
