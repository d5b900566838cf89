//! Compares rows and elements at indices, of all lengths and alignments, with the positions of each element.

use std::collections::BTreeSet;

use trundle_core::ops::{Indices, Take};
use trundle_core::{Layout, Move, Shape};
use trundle_testing::choices::Choices;

use crate::common::{check_all_reached, check_positions};

/// Indices in any order along the second of three axes.
fn random_case(choices: &mut Choices, seed: u64) -> (Move, String) {
    let width = [1, 2, 3, 4, 5, 8, 12, 16][choices.below(8)];
    let run = match seed % 4 {
        0 => 1 + choices.below(80),
        1 => 60 + choices.below(140),
        2 => 64 * (1 + choices.below(20)),
        _ => 200 + choices.below(9000),
    };
    let (outer, size, inner) = (1 + choices.below(3), 1 + choices.below(40), run.div_ceil(width));
    let count = 1 + choices.below(if run < 100 { 300 } else { 40 });
    let shape = Shape::new([outer, size, inner]).unwrap();
    let values = (0..count).map(|_| choices.below(size).cast_signed() as i64);
    let op = Take::new(1, Indices::list(values.collect::<Vec<_>>()));
    let map = op.index_map(&shape).unwrap();
    // Source rows may have gaps and be reversed. Destination rows begin at any address.
    let (row, gap) = (inner * width, width * choices.below(3));
    let steps = (row + gap).cast_signed() * if choices.below(3) == 0 { -1 } else { 1 };
    let wide = width.cast_signed();
    let slab = (size * (row + gap)).cast_signed();
    let first = if steps < 0 { slab.unsigned_abs() - row - gap } else { 0 };
    let src = Layout::strided(&shape, first, &[slab, steps, wide]).unwrap();
    let at = choices.below(2) * choices.below(70);
    let behind = choices.below(2) * choices.below(70);
    let own = (count * row + behind).cast_signed();
    let dst = Layout::strided(map.out_shape(), at, &[own, row.cast_signed(), wide]).unwrap();
    let work = Move::new(&map, width, &src, &dst, 1000).unwrap();
    (work, format!("{count} of {outer} x {size} rows of {row} bytes, {steps} apart, to {at}"))
}

#[test]
fn rows_at_indices_are_moved_to_their_positions() {
    let mut reached = BTreeSet::new();
    for seed in 0..1200 {
        let (work, label) = random_case(&mut Choices::of(seed), seed);
        check_positions(&work, &label, &mut reached);
    }
    check_all_reached("indexed-", &reached);
}
