//! The laws of the algebra, on random cases and compared with the oracle.

mod algebra;
mod moves;
mod operators;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert, prop_assert_eq};
use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Slice, Tile, Transpose};
use trundle_core::program::{Grid, Program};
use trundle_core::{
    AxisMap, BitOrder, Block, DType, IndexMap, Layout, Loop, Move, Op, Packing, Shape, TensorView,
};
use trundle_testing::cases::{Chain, buffer_bytes, chains, layouts, shapes, widths, windows};
use trundle_testing::suite::Case;
use trundle_testing::{MOST_BOXES, Naive, Outcome, PlainOp, holds, indices, one_pass};

const MOST_ELEMENTS: usize = 120;

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn map_of(op: impl Into<Op>, of: &Shape) -> IndexMap {
    op.into().index_map(of).unwrap()
}

fn maps_of(chain: &Chain) -> Vec<IndexMap> {
    let mut shape = shape(&chain.shape);
    let mut maps = Vec::new();
    for op in &chain.ops {
        let map = map_of(op.op(), &shape);
        shape = map.out_shape().clone();
        maps.push(map);
    }
    maps
}

/// The composition of at least one map, if it is one pass.
fn composed(maps: &[IndexMap]) -> Option<IndexMap> {
    let (first, rest) = maps.split_first().unwrap();
    rest.iter().try_fold(first.clone(), |map, next| one_pass(map.then(next).unwrap()))
}

/// The map of a whole chain, if it is one pass.
fn map_of_chain(chain: &Chain) -> Option<IndexMap> {
    let mut maps = vec![IndexMap::identity(&shape(&chain.shape))];
    maps.extend(maps_of(chain));
    composed(&maps)
}

fn single_maps(most_ops: usize) -> impl Strategy<Value = (Chain, IndexMap)> {
    chains(MOST_ELEMENTS, most_ops).prop_filter_map("it takes two passes", |chain| {
        let map = map_of_chain(&chain)?;
        Some((chain, map))
    })
}

fn labels_by(map: &IndexMap, before: &Naive) -> Vec<usize> {
    indices(map.out_shape()).iter().map(|index| before.at(&map.source_of(index))).collect()
}

/// Checks that a map is the identity at every index, and equal to the identity map.
fn check_identity(map: &IndexMap, of: &Shape) -> Outcome {
    prop_assert_eq!(map.out_shape(), of);
    prop_assert_eq!(map.in_shape(), of);
    for index in indices(of) {
        prop_assert_eq!(map.source_of(&index), &index[..], "\n{}", map);
    }
    prop_assert!(map.is_identity(), "\n{map}");
    prop_assert_eq!(map, &IndexMap::identity(of));
    Ok(())
}

fn is_ragged(map: &IndexMap) -> bool {
    let axes = map.layers().iter().flat_map(|layer| layer.axes().unwrap_or_default());
    axes.into_iter().any(|axis| matches!(axis, AxisMap::Ragged { .. }))
}
