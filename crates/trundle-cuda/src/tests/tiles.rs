//! Tiles of elements of every width, with unaligned buffers and loops about as long as a tile.

use trundle_core::ops::{Flip, Indices, Take, Transpose};
use trundle_core::{IndexMap, Layout, Move, Op, Shape};
use trundle_testing::noise;

use super::kernels::{Kernels, Shifted};

/// Gaps between rows need not be multiples of the element size.
fn moves(
    kernels: Kernels,
    map: &IndexMap,
    shape: &Shape,
    width: usize,
    apart: usize,
    shift: [usize; 2],
) {
    let strides = |shape: &Shape| {
        let row = shape.sizes()[1] * width + apart * width.min(4);
        [row.cast_signed(), width.cast_signed()]
    };
    let src = Layout::strided(shape, 0, &strides(shape)).unwrap();
    let dst = Layout::strided(map.out_shape(), 0, &strides(map.out_shape())).unwrap();
    let work = Move::new(map, width, &src, &dst, 64).unwrap();
    let some = noise(work.src_bytes());
    let mut expected = vec![0; work.dst_bytes()];
    work.for_each_pair(|from, to| {
        expected[to..to + width].copy_from_slice(&some[from..from + width]);
    });
    let (mut src, mut dst) =
        (Shifted::new(&some, shift[0]), Shifted::new(&vec![0; expected.len()], shift[1]));
    let kernel = kernels.run(&work, src.bytes(), dst.bytes()).unwrap();
    let label = || format!("{kernel:?}: {shape} of {width}, {apart} apart, {shift:?} behind");
    assert!(dst.bytes() == expected, "{}", label());
}

#[test]
fn tiles_are_right_at_all_their_edges() {
    let Some(kernels) = Kernels::new() else { return };
    let transpose = Op::from(Transpose::new(&[]));
    for (width, sizes) in [
        (1, vec![16, 67, 127, 128, 129, 132]),
        (2, vec![16, 35, 63, 64, 66, 129]),
        (4, vec![8, 31, 63, 64, 65, 131]),
        (8, vec![8, 31, 33, 64, 65]),
        (12, vec![4, 17, 31, 32, 65]),
        (16, vec![4, 31, 32, 33, 65]),
    ] {
        for (axis, rows) in [0, 1].into_iter().cycle().zip(&sizes) {
            for columns in &sizes {
                let shape = Shape::new([*rows, *columns]).unwrap();
                let map = transpose.index_map(&shape).unwrap();
                let flip = Op::from(Flip::new(&[axis]));
                let flipped = map.then(&flip.index_map(map.out_shape()).unwrap()).unwrap();
                // Elements of 4 bytes and more are aligned to 4 bytes.
                let unit = width.min(4);
                for shift in [[0, 0], [unit, 3 * unit], [5 * unit, 2 * unit]] {
                    for apart in 0..3 {
                        moves(kernels, &map, &shape, width, apart, shift);
                        moves(kernels, &flipped, &shape, width, apart, shift);
                    }
                }
            }
        }
    }
}

#[test]
fn a_missing_barrier_is_detected() {
    let Some(kernels) = Kernels::new() else { return };
    for (rows, does) in [(0, "reads"), (1, "writes"), (2, "writes")] {
        let fault = kernels.run_shared("without_barrier", rows).unwrap_err();
        assert!(fault.contains(does) && fault.contains("without a barrier"), "{rows}: {fault}");
    }
}

#[test]
fn matrices_are_taken_by_several_tables() {
    let Some(kernels) = Kernels::new() else { return };
    let take = |axis, indices: &[i64]| {
        let shape = Shape::new([indices.len()]).unwrap();
        Op::from(Take::new(axis, Indices::new(shape, indices).unwrap()))
    };
    let shape = Shape::new([3, 4, 5, 33, 20]).unwrap();
    let mut map = IndexMap::identity(&shape);
    for op in [
        take(0, &[2, 0, 1, 2, 0]),
        take(1, &[3, 1, 0, 2, 1, 3]),
        take(2, &[4, 1, 3, 0, 1]),
        Op::from(Transpose::new(&[0, 1, 2, 4, 3])),
    ] {
        map = map.then(&op.index_map(map.out_shape()).unwrap()).unwrap();
    }
    let [src, dst] = [&shape, map.out_shape()].map(|shape| Layout::row_major(shape, 4).unwrap());
    let work = Move::new(&map, 4, &src, &dst, 64).unwrap();
    assert_eq!(work.blocks()[0].indices.len(), 3);
    let some = noise(work.src_bytes());
    let mut expected = vec![0; work.dst_bytes()];
    work.for_each_pair(|from, to| {
        expected[to..to + 4].copy_from_slice(&some[from..from + 4]);
    });
    let (mut src, mut dst) = (Shifted::new(&some, 0), Shifted::new(&vec![0; expected.len()], 0));
    assert_eq!(kernels.run(&work, src.bytes(), dst.bytes()).unwrap(), ["tiles_4"]);
    assert!(dst.bytes() == expected);
}
