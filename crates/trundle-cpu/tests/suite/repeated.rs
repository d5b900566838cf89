//! Compares rows filled with one element, of all lengths and alignments, with the positions of each element.

use std::collections::BTreeSet;

use trundle_core::{IndexMap, Layout, Move, Shape};
use trundle_testing::choices::Choices;
use trundle_testing::everything;

use crate::common::{check_all_reached, check_positions};

/// Rows begin at any address.
fn random_case(choices: &mut Choices) -> (Move, String) {
    let width = 1 + choices.below(16);
    let most = if choices.below(8) == 0 { 300_000 } else { 1500 };
    let run = 129 + choices.below(most);
    let (outer, rows, cols) = (1 + choices.below(3), 1 + choices.below(9), run.div_ceil(width));
    let shape = Shape::new([outer, rows, cols]).unwrap();
    let (at, gap) = (width * choices.below(70), width * choices.below(2) * choices.below(70));
    let row = cols * width + gap;
    let strides = [rows * row, row, width].map(usize::cast_signed);
    let dst = Layout::strided(&shape, at, &strides).unwrap();
    let src = Layout::row_major(&Shape::default(), width).unwrap();
    let work = Move::new(&IndexMap::broadcast(&shape), width, &src, &dst, 1000).unwrap();
    (work, format!("{outer} x {rows} rows of {cols} x {width} bytes, {gap} apart, from {at} on"))
}

#[test]
fn rows_are_filled_with_one_element() {
    let mut reached = BTreeSet::new();
    for seed in 0..if everything() { 600 } else { 300 } {
        let (work, label) = random_case(&mut Choices::of(seed));
        check_positions(&work, &label, &mut reached);
    }
    check_all_reached("repeated-", &reached);
}
