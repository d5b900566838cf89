//! Compares scatter plans with the index maps of their positions.

use trundle_core::ops::{Flip, GatherElements, GatherNd, Indices, Slice, Take};
use trundle_core::{Error, IndexMap, Layout, LayoutError, Op, Shape};
use trundle_cpu::ScatterPlan;
use trundle_testing::cases::{buffer_bytes, layouts, shapes, widths};
use trundle_testing::choices::Choices;
use trundle_testing::holds;

use crate::common::{seeded, shape};

const CASES: u32 = 4_000;

fn signed(number: usize) -> i64 {
    number.cast_signed() as i64
}

fn indices(choices: &mut Choices, sizes: &[usize], size: usize) -> Indices {
    let count = sizes.iter().product();
    let one = |choices: &mut Choices| signed(choices.below(2 * size)) - signed(size);
    let values: Vec<i64> = (0..count).map(|_| one(choices)).collect();
    Indices::new(shape(sizes), values).unwrap()
}

/// Some elements occur several times, others not at all.
fn targets(choices: &mut Choices, of: &[usize]) -> IndexMap {
    let whole = shape(of);
    let axis = if of.is_empty() { 0 } else { choices.below(of.len()) };
    let map = match choices.below(4) {
        _ if of.is_empty() => {
            GatherNd::new(0, Indices::new(shape(&[0]), []).unwrap()).index_map(&whole)
        }
        0 => {
            let own: Vec<usize> = (0..choices.below(3)).map(|_| choices.below(4)).collect();
            Take::new(signed(axis), indices(choices, &own, of[axis])).index_map(&whole)
        }
        1 => {
            let mut own = of.to_vec();
            own[axis] = choices.below(5);
            let at = indices(choices, &own, of[axis]);
            GatherElements::new(signed(axis), at).index_map(&whole)
        }
        2 => {
            let together = choices.below(of.len() + 1);
            let size = of[..together].iter().min().copied().unwrap_or(1);
            let own = [choices.below(5), together];
            let at = indices(choices, &own, size);
            let front = at.values().iter().map(|index| index.rem_euclid(signed(size)));
            let front = Indices::new(at.shape().clone(), front.collect::<Vec<_>>()).unwrap();
            GatherNd::new(0, front).index_map(&whole)
        }
        _ => {
            let step = [1, 2, -1][choices.below(3)];
            let start = signed(choices.below(of[axis]));
            let stop = if step < 0 { i64::MIN } else { i64::MAX };
            Slice::new(&[start], &[stop], &[signed(axis)], &[step]).index_map(&whole)
        }
    };
    map.unwrap()
}

#[test]
fn updates_are_put_at_their_targets_only() {
    let ways = (widths(), 0..u64::MAX, 0..2);
    holds(
        CASES,
        &(shapes(60), layouts(), layouts(), ways),
        |(of, from, to, (width, seed, packed))| {
            if of.contains(&0) {
                return Ok(());
            }
            let map = targets(&mut Choices::of(seed), &of);
            let out = to.destination(&of, width);
            let updates = match packed {
                1 => Layout::row_major(map.out_shape(), width).unwrap(),
                _ => from.source(map.out_shape(), width),
            };
            let data = seeded(buffer_bytes(&updates, width), 1);
            let mut expected = seeded(buffer_bytes(&out, width), 7);
            let mut written = expected.clone();
            map.out_shape().for_each_index(|index| {
                let (from, to) = (updates.offset_of(index), out.offset_of(&map.source_of(index)));
                expected[to..][..width].copy_from_slice(&data[from..][..width]);
            });
            let plan = ScatterPlan::new(&map, width, &updates, &out).unwrap();
            plan.put(&data, &mut written).unwrap();
            assert_eq!(written, expected, "{map} of {width} bytes from {updates:?} to {out:?}");
            Ok(())
        },
    );
}

#[test]
fn contiguous_updates_are_put_in_one_piece() {
    let of = shape(&[5, 4, 3]);
    let at = Indices::new(shape(&[6, 1]), [4, 0, 4, 1, 2, 0]).unwrap();
    let map = GatherNd::new(0, at).index_map(&of).unwrap();
    let of_updates = shape(&[6, 4, 3]);
    let row_major = Layout::row_major(&of_updates, 2).unwrap();
    let padded = |rows: isize| Layout::strided(&of, 0, &[4 * rows, rows, 2]).unwrap();
    let pieces = |updates: &Layout, out: &Layout| {
        let plan = ScatterPlan::new(&map, 2, updates, out).unwrap();
        assert_eq!(plan.own_bytes(), size_of::<usize>() * plan.pieces().0);
        plan.pieces()
    };
    assert_eq!(pieces(&row_major, &padded(6)), (6, 24));
    // Gaps between the rows of the output or of the updates.
    assert_eq!(pieces(&row_major, &padded(8)), (24, 6));
    let apart = Layout::strided(&of_updates, 0, &[32, 8, 2]).unwrap();
    assert_eq!(pieces(&apart, &padded(8)), (24, 6));
    assert_eq!(pieces(&apart, &padded(10)), (24, 6));
    // The same update for all positions.
    let one = Layout::strided(&of_updates, 0, &[0, 0, 0]).unwrap();
    assert_eq!(pieces(&one, &padded(6)), (72, 2));
}

#[test]
fn wrong_layouts_and_buffer_sizes_are_refused() {
    let of = shape(&[2, 3]);
    let map = Op::from(Flip::new(&[0])).index_map(&of).unwrap();
    let row_major = Layout::row_major(&of, 2).unwrap();
    let other = Layout::row_major(&shape(&[3, 2]), 2).unwrap();
    let refusal = |updates: &Layout, out: &Layout| {
        ScatterPlan::new(&map, 2, updates, out).unwrap_err().to_string()
    };
    assert_eq!(refusal(&other, &row_major), "updates must have shape [2, 3], got [3, 2]");
    assert_eq!(refusal(&row_major, &other), "out must have shape [2, 3], got [3, 2]");
    let folded = Layout::strided(&of, 0, &[2, 2]).unwrap();
    assert!(refusal(&row_major, &folded).contains("twice"));
    let before = Layout::strided(&of, 0, &[-6, 2]).unwrap();
    for (updates, out) in [(&before, &row_major), (&row_major, &before)] {
        let refused = ScatterPlan::new(&map, 2, updates, out);
        assert!(
            matches!(refused, Err(Error::Layout(LayoutError::OutOfBounds { first: -6, .. }))),
            "{refused:?}"
        );
    }
    let plan = ScatterPlan::new(&map, 2, &folded, &row_major).unwrap();
    let mut out = [7; 12];
    for (updates, bytes) in [(7, 12), (8, 11), (0, 0)] {
        let refused = plan.put(&[1; 12][..updates], &mut out[..bytes]);
        assert!(
            matches!(refused, Err(Error::Layout(LayoutError::OutOfBounds { first: 0, .. }))),
            "{refused:?}"
        );
    }
    assert_eq!(out, [7; 12]);
    plan.put(&[1, 2, 3, 4, 5, 6, 7, 8], &mut out).unwrap();
    assert_eq!(out, [3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn empty_tensors_and_empty_elements_are_accepted() {
    let long = 1 << (usize::BITS - 24);
    let of = shape(&[0, long, long]);
    let map = Take::new(1, Indices::list([0, 5])).index_map(&of).unwrap();
    let layout = |shape: &Shape| Layout::row_major(shape, 4).unwrap();
    let plan = ScatterPlan::new(&map, 4, &layout(map.out_shape()), &layout(&of)).unwrap();
    plan.put(&[], &mut []).unwrap();
    let pair = shape(&[2]);
    let map = IndexMap::identity(&pair);
    let none = Layout::row_major(&pair, 0).unwrap();
    ScatterPlan::new(&map, 0, &none, &none).unwrap().put(&[], &mut []).unwrap();
}
