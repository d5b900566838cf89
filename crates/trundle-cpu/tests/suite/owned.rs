//! Tests that moves of owned values lose, drop or duplicate none of them.

use std::rc::Rc;

use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Transpose};
use trundle_core::{
    Backend, Error, IndexMap, Layout, Move, MoveError, Op, Result, Shape, ShapeError,
};
use trundle_cpu::{Cpu, Plan};
use trundle_testing::MOST_BOXES;

use crate::common::move_of;

fn plans(maps: &[IndexMap], width: usize) -> Vec<Plan> {
    maps.iter().map(|map| Cpu::new(Some(2)).plan(&move_of(map, width))).collect()
}

fn run<T>(plans: &[Plan], values: &mut Vec<T>) -> Result<()> {
    let mut moved = Vec::new();
    for plan in plans {
        plan.run_owned(values, &mut moved)?;
        assert_eq!(values.len(), 0);
        std::mem::swap(values, &mut moved);
    }
    Ok(())
}

fn maps(sizes: &[usize], ops: &[Op]) -> Vec<IndexMap> {
    let mut shape = Shape::new(sizes).unwrap();
    let map = |op: &Op| {
        let map = op.index_map(&shape).unwrap();
        shape = map.out_shape().clone();
        map
    };
    ops.iter().map(map).collect()
}

fn sources(maps: &[IndexMap]) -> Vec<usize> {
    let (first, last) = (&maps[0], &maps[maps.len() - 1]);
    let mut sources = Vec::new();
    last.out_shape().for_each_index(|index| {
        let source = maps.iter().rev().fold(index.to_vec(), |index, map| map.source_of(&index));
        let sizes = first.in_shape().iter();
        sources.push(source.iter().zip(sizes).fold(0, |at, (i, size)| at * size + i));
    });
    sources
}

#[test]
fn values_follow_the_maps_and_none_is_dropped() {
    let lengths: Vec<u64> = (0..35).map(|lane| lane % 9).collect();
    let ops: [Op; 4] = [
        Transpose::new(&[2, 0, 1]).into(),
        ReverseSubsequences::new(0, lengths).into(),
        Roll::new(&[3, -1], &[0, 2]).into(),
        Flip::new(&[1]).into(),
    ];
    let maps = maps(&[5, 7, 8], &ops);
    let plans = plans(&maps, size_of::<Rc<usize>>());
    let kept: Vec<Rc<usize>> = (0..280).map(Rc::new).collect();
    let mut values = kept.clone();
    let expected: Vec<usize> = sources(&maps);
    for _ in 0..2 {
        values.clone_from(&kept);
        run(&plans, &mut values).unwrap();
        assert_eq!(values.iter().map(|value| **value).collect::<Vec<_>>(), expected);
        assert!(kept.iter().all(|value| Rc::strong_count(value) == 2));
    }
    drop(values);
    assert!(kept.iter().all(|value| Rc::strong_count(value) == 1));
}

/// Too small for the number of an element.
#[derive(Debug, PartialEq)]
struct Small(u8);

#[test]
fn values_of_every_size_are_moved() {
    let maps = maps(&[30, 40], &[Transpose::new(&[1, 0]).into()]);
    let expected = sources(&maps);
    let mut small: Vec<Small> = (0..1200).map(|i| Small((i % 251) as u8)).collect();
    run(&plans(&maps, 1), &mut small).unwrap();
    assert!(small.iter().zip(&expected).all(|(got, from)| got.0 == (from % 251) as u8));
    let mut words: Vec<(String, u8)> = (0..1200).map(|i| (i.to_string(), 7)).collect();
    run(&plans(&maps, size_of::<(String, u8)>()), &mut words).unwrap();
    assert!(words.iter().zip(&expected).all(|(got, from)| got.0 == from.to_string()));
    let mut none = vec![(); 1200];
    run(&plans(&maps, 0), &mut none).unwrap();
    assert_eq!(none.len(), 1200);
}

#[test]
fn plans_that_lose_values_are_refused_and_values_stay() {
    let shape = Shape::new([2, 3]).unwrap();
    let layout = |strides: &[isize]| Layout::strided(&shape, 0, strides).unwrap();
    let width = size_of::<String>();
    let step = width.cast_signed();
    let packed = Layout::row_major(&shape, width).unwrap();
    let plan = |src: &Layout, dst: &Layout| {
        let work = Move::new(&IndexMap::identity(&shape), width, src, dst, MOST_BOXES).unwrap();
        [Cpu::new(Some(1)).plan(&work)]
    };
    // Two rows that share elements, and a row that is read twice.
    let sharing = plan(&layout(&[step, step]), &packed);
    let twice = plan(&layout(&[0, step]), &packed);
    let gaps = plan(&packed, &layout(&[4 * step, step]));
    let right = plan(&packed, &packed);
    let words = |count: usize| (0..count).map(|i| i.to_string()).collect::<Vec<_>>();
    for (plan, count) in [(&sharing, 4), (&twice, 3), (&gaps, 6)] {
        let mut values = words(count);
        assert_eq!(run(plan, &mut values), Err(Error::Move(MoveError::NotABijection)));
        assert_eq!(values, words(count));
    }
    for count in [5, 7] {
        let mut values = words(count);
        assert!(matches!(
            run(&right, &mut values),
            Err(Error::Shape(ShapeError::SizesDiffer { .. }))
        ));
        assert_eq!(values, words(count));
    }
    assert_eq!(run(&right, &mut words(6)), Ok(()));
}

#[test]
fn a_source_read_twice_is_refused_even_if_sizes_match() {
    // The third of six elements is read twice, and the fourth never.
    let shape = Shape::new([2, 3]).unwrap();
    let width = size_of::<String>();
    let step = width.cast_signed();
    let src = Layout::strided(&shape, 0, &[2 * step, step]).unwrap();
    let dst = Layout::row_major(&shape, width).unwrap();
    let work = Move::new(&IndexMap::identity(&shape), width, &src, &dst, MOST_BOXES).unwrap();
    let plan = [Cpu::new(Some(1)).plan(&work)];
    let mut five: Vec<String> = (0..5).map(|i| i.to_string()).collect();
    assert_eq!(run(&plan, &mut five), Err(Error::Move(MoveError::NotABijection)));
    let interleaved = Layout::strided(&shape, 0, &[5 * step, 0]).unwrap();
    let work =
        Move::new(&IndexMap::identity(&shape), width, &interleaved, &dst, MOST_BOXES).unwrap();
    let plan = [Cpu::new(Some(1)).plan(&work)];
    let mut six: Vec<String> = (0..6).map(|i| i.to_string()).collect();
    assert_eq!(run(&plan, &mut six), Err(Error::Move(MoveError::NotABijection)));
    assert_eq!(six.len(), 6);
}
