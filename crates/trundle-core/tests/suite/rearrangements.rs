//! Reshapes, slices, tiles and patterns compared with the oracle.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert, prop_assert_eq, prop_oneof};
use trundle_core::ops::{DECLARATIONS, Declaration, Reshape, Slice, Tile};
use trundle_core::{IndexMap, Op, Shape};
use trundle_testing::cases::shapes;
use trundle_testing::patterns::patterns;
use trundle_testing::shapings::shaping_chains;
use trundle_testing::{Naive, Outcome, holds, indices};

const MOST_ELEMENTS: usize = 300;

fn map_of(op: impl Into<Op>, sizes: &[usize]) -> IndexMap {
    let op = op.into();
    op.index_map(&Shape::new(sizes).unwrap()).unwrap_or_else(|error| panic!("{op}: {error}"))
}

fn agrees(map: &IndexMap, numbered: &Naive, naive: &Naive) -> Outcome {
    prop_assert_eq!(map.in_shape().sizes(), numbered.shape());
    prop_assert_eq!(map.out_shape().sizes(), naive.shape());
    for index in indices(naive.shape()) {
        prop_assert_eq!(
            numbered.at(&map.source_of(&index)),
            naive.at(&index),
            "{:?}\n{}",
            index,
            map
        );
    }
    Ok(())
}

#[test]
fn every_declared_operator_is_drawn() {
    let drawn = RefCell::new(BTreeSet::new());
    holds(1000, &shaping_chains(MOST_ELEMENTS, 4), |chain| {
        let calls = chain.ops.iter().map(Op::to_string);
        let names = calls.filter_map(|call| Some(call.split_once('(')?.0.to_owned()));
        drawn.borrow_mut().extend(names);
        Ok(())
    });
    // The chains of several tensors draw operators of several tensors.
    let of_several = |declared: &&Declaration| {
        declared.parameters.iter().any(|parameter| parameter.kind.is_tensors())
    };
    for declared in DECLARATIONS.into_iter().filter(|declared| !of_several(declared)) {
        assert!(drawn.borrow().contains(declared.name), "{} is not drawn", declared.name);
    }
}

#[test]
fn a_pattern_is_a_reshape_a_transpose_and_a_reshape() {
    holds(4000, &patterns(), |pattern| {
        let map = map_of(pattern.rearrange(), &pattern.shape());
        agrees(&map, &Naive::numbered(&pattern.shape()), &pattern.naive())?;
        let op = map_of(pattern.rearrange().into_op(), &pattern.shape());
        prop_assert_eq!(op, map);
        Ok(())
    });
}

#[test]
fn the_inverse_of_a_pattern_undoes_it() {
    holds(2000, &patterns(), |pattern| {
        let map = map_of(pattern.rearrange(), &pattern.shape());
        if map.out_shape().elements() > 0 {
            let back = map.invert().unwrap();
            prop_assert!(map.then(&back).unwrap().is_identity());
        }
        Ok(())
    });
}

fn bound() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -8..=8i64, 1 => any::<i64>(), 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

fn step() -> impl Strategy<Value = i64> {
    bound().prop_filter("a step of 0", |step| *step != 0)
}

#[test]
fn slices_agree_with_the_oracle() {
    let slices = vec((any::<bool>(), any::<bool>(), bound(), bound(), step()), 6);
    holds(4000, &(shapes(MOST_ELEMENTS), slices), |(sizes, slices)| {
        let rank = i64::try_from(sizes.len()).unwrap();
        let (mut starts, mut stops, mut axes, mut steps) = (vec![], vec![], vec![], vec![]);
        let numbered = Naive::numbered(&sizes);
        let mut naive = numbered.clone();
        for (axis, (sliced, from_end, start, stop, step)) in slices.into_iter().enumerate() {
            if sliced && axis < sizes.len() {
                let front = i64::try_from(axis).unwrap();
                axes.push(if from_end { front - rank } else { front });
                starts.push(start);
                stops.push(stop);
                steps.push(step);
                naive = naive.slice(axis, start, stop, step);
            }
        }
        agrees(&map_of(Slice::new(&starts, &stops, &axes, &steps), &sizes), &numbered, &naive)
    });
}

#[test]
fn tiles_agree_with_the_oracle() {
    let repeats = vec(prop_oneof![1 => Just(0usize), 4 => Just(1usize), 4 => 2..=3usize], 6);
    holds(2000, &(shapes(60), repeats), |(sizes, repeats)| {
        let repeats = &repeats[..sizes.len()];
        let given: Vec<i64> =
            repeats.iter().map(|repeat| i64::try_from(*repeat).unwrap()).collect();
        let numbered = Naive::numbered(&sizes);
        agrees(&map_of(Tile::new(&given), &sizes), &numbered, &numbered.tile(repeats))
    });
}

#[test]
fn a_reshape_keeps_the_row_major_order() {
    holds(
        2000,
        &(shapes(MOST_ELEMENTS), shapes(MOST_ELEMENTS), any::<u8>()),
        |(from, to, pick)| {
            let numbered = Naive::numbered(&from);
            let mut sizes: Vec<i64> = Vec::new();
            let mut left = numbered.labels().len();
            for size in to {
                if left > 0 && size > 0 && left.is_multiple_of(size) {
                    sizes.push(i64::try_from(size).unwrap());
                    left /= size;
                }
            }
            let at = usize::from(pick) % (sizes.len() + 1);
            let mut plain: Vec<usize> =
                sizes.iter().map(|size| usize::try_from(*size).unwrap()).collect();
            plain.insert(at, left);
            for size in [-1, i64::try_from(left).unwrap()] {
                let mut sizes = sizes.clone();
                sizes.insert(at, size);
                agrees(&map_of(Reshape::new(&sizes), &from), &numbered, &numbered.reshape(&plain))?;
            }
            Ok(())
        },
    );
}
