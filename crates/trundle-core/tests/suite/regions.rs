//! Moves of regions write each byte once, and none outside, however the regions are pulled back and cut.

use std::cell::Cell;
use std::ops::Range;

use proptest::prelude::*;
use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Tile, Transpose};
use trundle_core::{Error, IndexMap, Layout, LayoutError, Move, MoveError, Op, Regions, Shape};
use trundle_testing::cases::layouts;
use trundle_testing::choices::Choices;
use trundle_testing::{MOST_BOXES, holds, indices};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn signed(number: usize) -> i64 {
    number.try_into().unwrap()
}

fn map_to(choices: &mut Choices, out: &Shape) -> IndexMap {
    let whole = || -> Vec<Range<usize>> { out.iter().map(|size| 0..*size).collect() };
    let axis = choices.below(out.rank());
    let undone = |op: Op| op.index_map(out).unwrap().invert().unwrap();
    match choices.below(7) {
        0 | 1 => IndexMap::reshape(&shape(&choices.sizes(out.elements())), out).unwrap(),
        2 => {
            let (before, after) = (choices.below(3), choices.below(3));
            let (mut sizes, mut bounds) = (out.sizes().to_vec(), whole());
            sizes[axis] += before + after;
            bounds[axis] = before..before + out[axis];
            IndexMap::identity(&shape(&sizes)).restrict(&bounds).unwrap()
        }
        3 => {
            let mut order: Vec<i64> = (0i64..).take(out.rank()).collect();
            order.rotate_left(axis);
            undone(Transpose::new(&order).into())
        }
        4 => undone(Roll::new(&[signed(choices.below(9))], &[signed(axis)]).into()),
        5 if out[axis].is_multiple_of(2) => {
            let (mut sizes, mut repeats) = (out.sizes().to_vec(), vec![1; out.rank()]);
            sizes[axis] /= 2;
            repeats[axis] = 2;
            Tile::new(&repeats).index_map(&shape(&sizes)).unwrap()
        }
        5 => undone(Flip::new(&[signed(axis)]).into()),
        _ => {
            let rows = out.elements() / out[axis];
            let lengths = (0..rows).map(|_| choices.below(9) as u64).collect::<Vec<_>>();
            undone(ReverseSubsequences::new(signed(axis), lengths).into())
        }
    }
}

/// Pulls a layout back and cuts it at random, into sets of regions, each with its tensor. Regions that cannot be pulled
/// back further stay where they are.
fn scattered(choices: &mut Choices, dst: &Layout) -> Vec<Regions> {
    let mut left = vec![Regions::of(dst)];
    let mut done = Vec::new();
    while let Some(regions) = left.pop() {
        let at = regions.shape().clone();
        match choices.below(12) {
            _ if at.rank() == 0 || at.elements() == 0 || done.len() + left.len() > 9 => {
                done.push(regions);
            }
            0 => done.push(regions),
            1..4 => {
                let axis = choices.below(at.rank());
                match regions.cut(axis, choices.below(at[axis] + 1), 500) {
                    Ok((below, beyond))
                        if below.shape() == beyond.shape() && choices.below(2) == 0 =>
                    {
                        done.push(below.and(beyond));
                    }
                    Ok((below, beyond)) => left.extend([below, beyond]),
                    Err(regions) => done.push(regions),
                }
            }
            _ => match regions.through(&map_to(choices, &at), 500) {
                Ok(regions) => left.push(regions),
                Err(regions) => done.push(regions),
            },
        }
    }
    done
}

#[test]
fn every_byte_of_a_destination_is_written_once() {
    const WIDTH: usize = 3;
    let (moves, blocks) = (Cell::new(0), Cell::new(0));
    holds(4000, &(any::<u64>(), layouts(), layouts()), |(seed, to, from)| {
        let mut choices = Choices::of(seed);
        let elements = [24, 36, 60, 17, 1][choices.below(5)];
        let sizes = choices.sizes(elements);
        let dst = to.destination(&sizes, WIDTH);
        let mut written = vec![0; dst.span(WIDTH).unwrap().end.unsigned_abs()];
        for regions in scattered(&mut choices, &dst) {
            let src = from.source(regions.shape().sizes(), WIDTH);
            let work = Move::of_regions(&regions, WIDTH, &src).unwrap();
            prop_assert_eq!(work.dst_bytes(), written.len());
            prop_assert_eq!(work.moved_bytes(), regions.elements() * WIDTH);
            work.for_each_pair(|source, to| {
                assert!(source + work.width() <= work.src_bytes(), "{work}");
                written[to..to + work.width()].iter_mut().for_each(|count| *count += 1);
            });
            moves.set(moves.get() + 1);
            blocks.set(blocks.get() + work.blocks().len());
        }
        let mut expected = vec![0; written.len()];
        for index in indices(&sizes) {
            let at = dst.offset_of(&index);
            expected[at..at + WIDTH].fill(1);
        }
        prop_assert_eq!(written, expected);
        Ok(())
    });
    assert!(moves.get() > 8000 && blocks.get() > 4000, "{moves:?} moves, {blocks:?} blocks");
}

#[test]
fn regions_are_moved_from_their_tensor_to_their_target() {
    let layout = |sizes: &[usize]| Layout::row_major(&shape(sizes), 1).unwrap();
    let (large, small) = (layout(&[64]), layout(&[4]));
    // The destination is their original layout, however small the source is.
    let refused = Move::of_regions(&Regions::of(&large), 1, &small).unwrap_err();
    assert_eq!(refused.to_string(), "data must have shape [64], got [4]");
    let work = Move::of_regions(&Regions::of(&large), 1, &large).unwrap();
    assert_eq!((work.src_bytes(), work.dst_bytes()), (64, 64));
    // Pulled back through a map, they are at its source.
    let map = IndexMap::identity(&shape(&[64])).restrict(std::slice::from_ref(&(3..7))).unwrap();
    let pulled = || Regions::of(&small).through(&map, 9).unwrap();
    assert!(Move::of_regions(&pulled(), 1, &small).is_err());
    let work = Move::of_regions(&pulled(), 1, &large).unwrap();
    assert_eq!((work.src_bytes(), work.dst_bytes(), work.moved_bytes()), (64, 4, 4));
    let folded = Layout::strided(&shape(&[4]), 0, &[0]).unwrap();
    let refused = Move::of_regions(&Regions::of(&folded), 1, &small);
    assert!(
        matches!(refused, Err(Error::Layout(LayoutError::OverlappingLayout { .. }))),
        "{refused:?}"
    );
    assert!(Move::of_regions(&Regions::of(&small), 2, &small).is_err());
    assert!(Move::of_regions(&Regions::of(&layout(&[0])), 1, &layout(&[0])).is_ok());
}

#[test]
fn maps_that_read_outside_their_source_are_refused() {
    let layout = |sizes: &[usize]| Layout::row_major(&shape(sizes), 1).unwrap();
    let map = IndexMap::identity(&shape(&[64]));
    let part = |range: Range<usize>| map.within_source(&[range]).unwrap();
    let refused = Move::new(&part(3..4), 1, &layout(&[1]), &layout(&[64]), MOST_BOXES).unwrap_err();
    assert_eq!(refused.to_string(), "the map reads -3..61 of a source axis of size 1");
    assert!(Move::new(&part(0..64), 1, &layout(&[64]), &layout(&[64]), MOST_BOXES).is_ok());
    let through = Regions::of(&layout(&[64])).through(&part(0..63), 9).unwrap();
    let refused = Move::of_regions(&through, 1, &layout(&[63])).unwrap_err();
    assert_eq!(refused, Error::Move(MoveError::CoordinateOutOfBounds { range: 0..64, size: 63 }));
    // Rows with lengths that reach outside the part.
    let reverse = ReverseSubsequences::new(1, [2, 5]).index_map(&shape(&[2, 6])).unwrap();
    let window = reverse.restrict(&[0..2, 0..2]).unwrap();
    let (dst, whole) = (layout(&[2, 2]), window.source_bounds(MOST_BOXES).unwrap());
    assert_eq!(whole, [0..2, 0..5]);
    let part = window.within_source(&[0..2, 0..4]).unwrap();
    assert!(Move::new(&part, 1, &layout(&[2, 4]), &dst, MOST_BOXES).is_err());
    let part = window.within_source(&whole).unwrap();
    assert!(Move::new(&part, 1, &layout(&[2, 5]), &dst, MOST_BOXES).is_ok());
}
