//! Axes that are split and merged between other movements: the laws of maps of several layers.

use std::cell::Cell;

use proptest::prelude::any;
use proptest::{prop_assert, prop_assert_eq};
use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Transpose};
use trundle_core::{Error, IndexMap, Layout, Move, MoveError, Op, Shape, ShapeError};
use trundle_testing::cases::layouts;
use trundle_testing::choices::Choices;
use trundle_testing::{MOST_BOXES, Outcome, composed, holds, indices, one_pass};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn reshape(from: &[usize], to: &[usize]) -> IndexMap {
    IndexMap::reshape(&shape(from), &shape(to)).unwrap()
}

fn then(map: &IndexMap, op: impl Into<Op>) -> Option<IndexMap> {
    one_pass(map.then(&op.into().index_map(map.out_shape()).unwrap()).unwrap())
}

trait Cases {
    /// A movement of a tensor of this shape, half of the time a reshape.
    fn map(&mut self, of: &Shape) -> IndexMap;

    fn chain(&mut self) -> Vec<IndexMap>;

    fn composed(&mut self) -> IndexMap;
}

impl Cases for Choices {
    fn map(&mut self, of: &Shape) -> IndexMap {
        let rank = of.rank();
        let axis = i64::try_from(self.below(rank)).unwrap();
        let op: Op = match self.below(9) {
            0..=3 => return reshape(of, &self.sizes(of.elements())),
            4 | 5 => {
                let mut order: Vec<i64> = (0i64..).take(rank).collect();
                order.rotate_left(self.below(rank));
                order.swap(0, usize::try_from(axis).unwrap());
                Transpose::new(&order).into()
            }
            6 => Roll::new(&[i64::try_from(self.below(40)).unwrap() - 20], &[axis]).into(),
            7 => Flip::new(&[axis]).into(),
            _ => {
                let mut rows = of.sizes().to_vec();
                rows[usize::try_from(axis).unwrap()] = 1;
                let number = rows.iter().product();
                let lengths: Vec<u64> = (0..number).map(|_| self.below(9) as u64).collect();
                ReverseSubsequences::dense(axis, shape(&rows), lengths).into()
            }
        };
        op.index_map(of).unwrap()
    }

    fn chain(&mut self) -> Vec<IndexMap> {
        let elements = [1, 2, 12, 36, 60, 64, 96, 97, 120, 144, 180, 210][self.below(12)];
        let mut of = shape(&self.sizes(elements));
        (0..=self.below(6))
            .map(|_| {
                let map = self.map(&of);
                of = map.out_shape().clone();
                map
            })
            .collect()
    }

    fn composed(&mut self) -> IndexMap {
        composed(self.chain()).unwrap().swap_remove(0)
    }
}

fn source(maps: &[IndexMap], index: &[usize]) -> Vec<usize> {
    maps.iter().rev().fold(index.to_vec(), |index, map| map.source_of(&index))
}

fn same_sources(map: &IndexMap, maps: &[IndexMap]) -> Outcome {
    for index in indices(map.out_shape()) {
        prop_assert_eq!(map.source_of(&index), source(maps, &index), "\n{}", map);
    }
    Ok(())
}

#[test]
fn a_reshape_keeps_the_row_major_order() {
    let map = reshape(&[2, 6], &[3, 1, 4]);
    let numbers = indices(&[3, 1, 4]).into_iter().map(|index| {
        let source = map.source_of(&index);
        source[0] * 6 + source[1]
    });
    assert!(numbers.eq(0..12));
    assert_eq!(
        map.to_string(),
        "out [3, 1, 4] from in [2, 6]\n  the same elements in row-major order"
    );
}

#[test]
fn reshapes_to_other_numbers_of_elements_are_refused() {
    let refused = IndexMap::reshape(&shape(&[2, 6]), &shape(&[3, 5])).unwrap_err();
    assert_eq!(
        refused,
        Error::Shape(ShapeError::ElementsDiffer { from: shape(&[2, 6]), to: shape(&[3, 5]) })
    );
    assert_eq!(refused.to_string(), "shape [2, 6] has 12 elements, but shape [3, 5] has 15");
}

#[test]
fn reshapes_that_undo_each_other_cancel() {
    let merged = reshape(&[2, 3, 4], &[6, 4]);
    assert!(merged.then(&merged.invert().unwrap()).unwrap().is_identity());
    let through = reshape(&[2, 3, 4], &[24]).then(&reshape(&[24], &[6, 4])).unwrap();
    assert_eq!(through, merged);
    let empty = reshape(&[0, 3], &[7, 0]);
    assert_eq!(empty.out_shape(), &shape(&[7, 0]));
}

#[test]
fn composed_maps_agree_with_the_single_maps() {
    let (maps_in, maps_out) = (Cell::new(0), Cell::new(0));
    holds(6000, &any::<u64>(), |seed| {
        let maps = Choices::of(seed).chain();
        let passes = composed(maps.clone()).unwrap();
        maps_in.set(maps_in.get() + maps.len());
        maps_out.set(maps_out.get() + passes.len());
        let whole = maps[1..].iter().fold(maps[0].clone(), |map, next| map.then(next).unwrap());
        for index in indices(whole.out_shape()) {
            let expected = source(&maps, &index);
            prop_assert_eq!(&source(&passes, &index), &expected);
            prop_assert_eq!(&whole.source_of(&index), &expected);
        }
        Ok(())
    });
    // Most random maps compose; if none did, both counts would be equal.
    assert!(maps_out.get() * 2 < maps_in.get(), "{maps_out:?} of {maps_in:?} maps");
}

#[test]
fn a_map_is_one_move_between_packed_tensors() {
    holds(6000, &any::<u64>(), |seed| {
        for map in composed(Choices::of(seed).chain()).unwrap() {
            let packed = |shape: &Shape| Layout::row_major(shape, 3).unwrap();
            let (src, dst) = (packed(map.in_shape()), packed(map.out_shape()));
            check_pairs(&map, &src, &dst, &Move::new(&map, 3, &src, &dst, MOST_BOXES).unwrap())?;
        }
        Ok(())
    });
}

#[test]
fn a_map_between_any_layouts_is_a_move_or_refused() {
    let (done, refused) = (Cell::new(0), Cell::new(0));
    holds(6000, &(any::<u64>(), layouts(), layouts()), |(seed, from, to)| {
        let mut choices = Choices::of(seed);
        let map = choices.composed();
        let src = from.source(map.in_shape(), 3);
        let dst = to.destination(map.out_shape(), 3);
        match Move::new(&map, 3, &src, &dst, MOST_BOXES) {
            Ok(work) => {
                done.set(done.get() + 1);
                check_pairs(&map, &src, &dst, &work)
            }
            Err(Error::Move(MoveError::NotOnePass { .. })) => {
                refused.set(refused.get() + 1);
                Ok(())
            }
            Err(error) => panic!("{error}"),
        }
    });
    assert!(refused.get() * 2 < done.get(), "{refused:?} refused, {done:?} done");
}

fn check_pairs(map: &IndexMap, src: &Layout, dst: &Layout, work: &Move) -> Outcome {
    let mut expected = Vec::new();
    for index in indices(map.out_shape()) {
        let (from, to) = (src.offset_of(&map.source_of(&index)), dst.offset_of(&index));
        expected.extend((0..3).map(|byte| (from + byte, to + byte)));
    }
    let mut pairs = Vec::new();
    work.for_each_pair(|from, to| {
        pairs.extend((0..work.width()).map(|byte| (from + byte, to + byte)));
    });
    expected.sort_unstable();
    pairs.sort_unstable();
    prop_assert_eq!(pairs, expected, "\n{}\n{}", map, work);
    Ok(())
}

#[test]
fn inverses_undo_maps_of_several_layers() {
    holds(3000, &any::<u64>(), |seed| {
        let map = Choices::of(seed).composed();
        let back = map.invert();
        prop_assert!(back.is_some(), "\n{}", map);
        let back = back.unwrap();
        for index in indices(map.out_shape()) {
            prop_assert_eq!(&back.source_of(&map.source_of(&index)), &index);
        }
        Ok(())
    });
}

#[test]
fn restricted_maps_of_several_layers_agree_on_the_box() {
    holds(3000, &any::<u64>(), |seed| {
        let mut choices = Choices::of(seed);
        let map = choices.composed();
        let bounds: Vec<_> = map
            .out_shape()
            .iter()
            .map(|size| {
                let begin = choices.below(size + 1);
                begin..begin + choices.below(size - begin + 1)
            })
            .collect();
        let part = map.restrict(&bounds).unwrap();
        for index in indices(part.out_shape()) {
            let within: Vec<usize> =
                index.iter().zip(&bounds).map(|(i, range)| i + range.start).collect();
            prop_assert_eq!(part.source_of(&index), map.source_of(&within));
        }
        Ok(())
    });
}

/// The windows of Swin Transformer: a roll by half a window, each axis split into window and position, and the windows
/// put first.
fn windows(rows: usize, window: usize, shift: i64) -> IndexMap {
    let across = rows / window;
    let rolled = Roll::new(&[-shift], &[1, 2]);
    let map = Op::from(rolled).index_map(&shape(&[2, rows, rows, 5])).unwrap();
    let split = reshape(&[2, rows, rows, 5], &[2, across, window, across, window, 5]);
    let map = map.then(&split).unwrap();
    let map = then(&map, Transpose::new(&[0, 1, 3, 2, 4, 5])).unwrap();
    let merged = reshape(map.out_shape(), &[2 * across * across, window * window, 5]);
    map.then(&merged).unwrap()
}

#[test]
fn swin_windows_and_their_inverse_are_one_move_each() {
    let map = windows(14, 7, 3);
    let packed = |shape: &Shape| Layout::row_major(shape, 3).unwrap();
    // Nine boxes each. The map ends at the roll, when pulled back, and keeps its cuts: four blocks. The inverse
    // begins at the roll and is cut: nine blocks.
    for (map, blocks) in [(map.clone(), 4), (map.invert().unwrap(), 9)] {
        let (src, dst) = (packed(map.in_shape()), packed(map.out_shape()));
        let work = Move::new(&map, 3, &src, &dst, MOST_BOXES).unwrap();
        assert_eq!(work.blocks().len(), blocks, "{work}");
        check_pairs(&map, &src, &dst, &work).unwrap();
    }
    let back = map.then(&map.invert().unwrap()).unwrap();
    assert!(back.is_identity(), "{back}");
}

#[test]
fn a_roll_after_a_reversal_is_one_pass() {
    let reversed = ReverseSubsequences::dense(1, shape(&[2, 1]), [2, 4]);
    let map = Op::from(reversed.clone()).index_map(&shape(&[2, 5])).unwrap();
    let roll = Op::from(Roll::new(&[1], &[1])).index_map(&shape(&[2, 5])).unwrap();
    let maps = [map, roll];
    let map = one_pass(maps[0].then(&maps[1]).unwrap()).unwrap();
    same_sources(&map, &maps).unwrap();
    assert_eq!(map.layers().len(), 2);
    assert_eq!(then(&map, reversed), None);
}

#[test]
fn axes_split_at_other_places_take_another_pass() {
    let map = then(&IndexMap::identity(&shape(&[8, 7])), Transpose::new(&[1, 0])).unwrap();
    let other = map.then(&reshape(&[7, 8], &[8, 7])).unwrap();
    assert_eq!(then(&other, Transpose::new(&[1, 0])), None);
}

#[test]
fn joined_slices_of_a_roll_are_the_roll() {
    for (size, shift) in [(8, 3), (8, 0), (5, 1), (2, 1)] {
        let of = shape(&[2, size, 3]);
        let whole = IndexMap::identity(&of);
        let (last, first) = (
            whole.restrict(&[0..2, size - shift..size, 0..3]).unwrap(),
            whole.restrict(&[0..2, 0..size - shift, 0..3]).unwrap(),
        );
        let rolled = Roll::new(&[i64::try_from(shift).unwrap()], &[1]).index_map(&of).unwrap();
        assert_eq!(IndexMap::joined(1, &[&last, &first]), Some(rolled));
        assert_eq!(IndexMap::joined(0, &[&last, &first]), None);
    }
}

#[test]
fn joined_parts_keep_their_sources() {
    holds(3000, &any::<u64>(), |seed| {
        let mut choices = Choices::of(seed);
        let elements = [12, 36, 60, 97][choices.below(4)];
        let of = shape(&choices.sizes(elements));
        let map = choices.map(&of);
        let axis = choices.below(map.out_shape().rank());
        let parts: Vec<IndexMap> = (0..=choices.below(4))
            .map(|_| {
                let mut bounds: Vec<_> = map.out_shape().iter().map(|size| 0..*size).collect();
                let size = map.out_shape()[axis];
                let begin = choices.below(size);
                bounds[axis] = begin..begin + choices.below(size - begin + 1);
                map.restrict(&bounds).unwrap()
            })
            .collect();
        let Some(joined) = IndexMap::joined(axis, &parts.iter().collect::<Vec<_>>()) else {
            return Ok(());
        };
        let mut begin = 0;
        for part in &parts {
            for index in indices(part.out_shape()) {
                let mut at = index.clone();
                at[axis] += begin;
                prop_assert_eq!(joined.source_of(&at), part.source_of(&index), "\n{}", joined);
            }
            begin += part.out_shape()[axis];
        }
        prop_assert_eq!(joined.out_shape()[axis], begin);
        Ok(())
    });
}
