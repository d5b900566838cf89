//! Compares [`Along`] with the index maps of the operators.

use trundle_core::ops::{IndexMode, Indices, Take, TakeAlongAxis};
use trundle_core::{Error, IndexMap, OpError, ShapeError};
use trundle_cpu::Along;
use trundle_testing::choices::Choices;
use trundle_testing::everything;

use crate::common::{seeded, shape};

fn sources(map: &IndexMap) -> Vec<usize> {
    let mut sources = Vec::new();
    map.out_shape().for_each_index(|at| sources.push(map.in_shape().ravel(&map.source_of(at))));
    sources
}

fn random_case(choices: &mut Choices) -> (Along, usize) {
    let width = [1, 2, 3, 4, 5, 8, 12, 16, 24, 40, 64, 100][choices.below(12)];
    let size = [1, 2, 7, 300][choices.below(4)];
    let count = [0, 1, 3, 70, 1000][choices.below(5)];
    let (outer, inner) = ([1, 1, 2, 5][choices.below(4)], [1, 1, 2, 300][choices.below(4)]);
    let threads = 1 + choices.below(3);
    (Along { outer, size, count, inner, width }, threads)
}

fn indices(choices: &mut Choices, count: usize, size: usize) -> Vec<i64> {
    let one = |choices: &mut Choices| {
        choices.below(2 * size).cast_signed() as i64 - size.cast_signed() as i64
    };
    (0..count).map(|_| one(choices)).collect()
}

#[test]
fn along_matches_the_operators() {
    let mut written = 0;
    for seed in 0..if everything() { 1500 } else { 400 } {
        let mut choices = Choices::of(seed);
        let (along, threads) = random_case(&mut choices);
        let Along { outer, size, count, inner, width } = along;
        if outer * count * inner * width > 1 << 22 {
            continue;
        }
        let of = shape(&[outer, size, inner]);
        let data = seeded(of.elements() * width, 1);
        let element = |at: usize| &data[at * width..][..width];
        let mut out = vec![0; outer * count * inner * width];

        let mode = [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip][choices.below(3)];
        let mut values = indices(&mut choices, count, size);
        if mode != IndexMode::Raise {
            let wide = i64::try_from(size).unwrap();
            let beyond = [i64::MIN, -1 - 3 * wide, 5 * wide, i64::MAX];
            values.iter_mut().step_by(3).for_each(|value| *value = beyond[choices.below(4)]);
        }
        along.take_in_mode(mode, &data, &values, &mut out, threads).unwrap();
        let map = Take::new(1, Indices::list(values)).with_mode(mode).index_map(&of).unwrap();
        for (at, from) in sources(&map).into_iter().enumerate() {
            assert_eq!(out[at * width..][..width], *element(from), "{along:?} {at}");
        }

        let values = indices(&mut choices, outer * count * inner, size);
        out.fill(0);
        along.take_along(&data, &values, &mut out, threads).unwrap();
        let own = Indices::new(shape(&[outer, count, inner]), values.clone()).unwrap();
        let map = TakeAlongAxis::new(1, own).index_map(&of).unwrap();
        let sources = sources(&map);
        for (at, from) in sources.iter().enumerate() {
            assert_eq!(out[at * width..][..width], *element(*from), "{along:?} {at}");
        }

        let mut expected = data.clone();
        let updates = seeded(out.len(), 99);
        for (at, to) in sources.iter().enumerate() {
            expected[to * width..][..width].copy_from_slice(&updates[at * width..][..width]);
        }
        let mut base = data.clone();
        along.put_along(&mut base, &values, &updates, threads).unwrap();
        assert!(base == expected, "{along:?}");
        written += out.len();
    }
    assert!(written > 10 << 20, "{written}");
}

#[test]
fn wrong_indices_and_buffer_sizes_are_refused() {
    let along = Along { outer: 1, size: 3, count: 2, inner: 1, width: 2 };
    let mut out = [7; 4];
    assert_eq!(
        along.take(&[0; 6], &[0, 3], &mut out, 1),
        Err(Error::Op(OpError::IndexOutOfRange { index: 3, position: vec![1], size: 3 }))
    );
    let mut base = [7; 6];
    for wrong in [-4, 3, i64::MIN, i64::MAX] {
        assert!(along.put_along(&mut base, &[0, wrong], &[1; 4], 1).is_err());
        assert!(along.take_along(&[0; 6], &[wrong, 0], &mut out, 1).is_err());
    }
    assert_eq!(base, [7; 6], "nothing is written");
    assert!(along.take(&[0; 5], &[0, 1], &mut out, 1).is_err());
    assert!(along.take(&[0; 6], &[0], &mut out, 1).is_err());
    assert!(along.take(&[0; 6], &[0, 1], &mut [0; 3], 1).is_err());
    let none = Along { size: 0, ..along };
    assert!(matches!(
        none.take(&[], &[0, 0], &mut out, 1),
        Err(Error::Op(OpError::IndexOutOfRange { size: 0, .. }))
    ));
    let huge = Along { outer: usize::MAX, ..along };
    assert!(matches!(
        huge.take(&[], &[0, 0], &mut out, 1),
        Err(Error::Shape(ShapeError::TooLarge { .. }))
    ));
}

#[test]
fn one_wrong_index_among_many_is_refused() {
    let (size, count) = (64, 1003);
    for (outer, inner) in [(100, 1), (10, 10), (1, 300)] {
        let along = Along { outer, size, count, inner, width: 2 };
        let all = outer * count * inner;
        let good: Vec<i64> = (0..all).map(|at| [-64, 63, 0, -1][at % 4]).collect();
        let (base, updates) = (seeded(outer * size * inner * 2, 1), seeded(all * 2, 2));
        let wrong = [64, -65, i64::MIN, i64::MAX, i64::MIN + 63, i64::MAX - 63];
        for threads in [1, 3] {
            assert_eq!(along.check_range(&good, threads), Ok(()));
            for (at, index) in [0, 7, 8, all / 2, all - 4, all - 1].into_iter().zip(wrong) {
                let mut indices = good.clone();
                if threads > 1 {
                    indices[all - 1] = -99;
                }
                indices[at] = index;
                let mut out = base.clone();
                let refused =
                    Err(Error::Op(OpError::IndexOutOfRange { index, position: vec![at], size }));
                assert_eq!(along.put_along(&mut out, &indices, &updates, threads), refused);
                assert!(out == base, "{along:?} {at}");
            }
        }
    }
}

/// Axes larger than the second-level cache are prefetched, but not beyond the last index.
#[test]
fn elements_of_long_axes_are_taken_and_put_by_index() {
    let (size, count) = (300_000, 5003);
    let mut choices = Choices::of(3);
    for (width, inner) in [(4, 1), (8, 1), (1, 7), (4, 3), (16, 1)] {
        let along = Along { outer: 1, size, count, inner, width };
        let data = seeded(size * inner * width, 5);
        let values = indices(&mut choices, count * inner, size);
        let of = |number: usize| {
            let index = values[number];
            let from_front = if index < 0 { index + 300_000 } else { index };
            usize::try_from(from_front).unwrap() * inner + number % inner
        };
        let mut expected = vec![0; count * inner * width];
        for (number, element) in expected.chunks_exact_mut(width).enumerate() {
            element.copy_from_slice(&data[of(number) * width..][..width]);
        }
        let mut out = vec![0; expected.len()];
        along.take_along(&data, &values, &mut out, 2).unwrap();
        assert_eq!(out, expected, "{width} bytes, {inner} columns");
        if inner == 1 {
            along.take(&data, &values, &mut out, 1).unwrap();
            assert_eq!(out, expected, "{width} bytes");
        }

        let (mut put, mut expected) = (data.clone(), data.clone());
        let updates = seeded(out.len(), 9);
        along.put_along(&mut put, &values, &updates, 2).unwrap();
        for (number, element) in updates.chunks_exact(width).enumerate() {
            expected[of(number) * width..][..width].copy_from_slice(element);
        }
        assert!(put == expected, "{width} bytes, {inner} columns");
    }
}
