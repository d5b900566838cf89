//! Rows of one element, of all lengths and alignments, against the pairs of their moves.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod common;

use std::collections::BTreeSet;

use trundle_core::{Backend, IndexMap, Layout, Move, Shape};
use trundle_cpu::{CATALOGUE, Cpu, Machine, Planner, Simd};
use trundle_testing::choices::Choices;
use trundle_testing::{Flush, Guarded, noise};

use common::streaming;

/// An element in rows that begin anywhere, apart from each other.
fn any(choices: &mut Choices) -> (Move, String) {
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
fn rows_of_one_element_are_those_of_their_pairs() {
    let mut reached = BTreeSet::new();
    for seed in 0..600 {
        let (work, named) = any(&mut Choices::of(seed));
        let src = noise(work.src_bytes());
        let mut expected = vec![0xa5; work.dst_bytes()];
        work.for_each_pair(|from, to| {
            expected[to..][..work.width()].copy_from_slice(&src[from..][..work.width()]);
        });
        for simd in Simd::available() {
            for (threads, streaming_bytes) in [(1, 0), (3, 0), (1, usize::MAX)] {
                let tuning = streaming(streaming_bytes);
                let machine = Machine { simd, threads, tuning, ..Machine::detect().clone() };
                let cpu = Cpu::with_planner(Planner::new(machine));
                let plan = cpu.plan(&work);
                reached.extend(plan.steps().iter().map(|step| step.kernel.name));
                for flush in [Flush::Start, Flush::End] {
                    let src = Guarded::holding(&src, flush, named.clone());
                    let before = vec![0xa5; expected.len()];
                    let mut dst = Guarded::holding(&before, flush, named.clone());
                    cpu.run(&plan, &src, &mut dst).unwrap();
                    assert!(*dst == expected[..], "{named}: {plan}");
                }
            }
        }
    }
    let ours = CATALOGUE.iter().filter(|kernel| kernel.name.starts_with("repeated-"));
    for kernel in ours.filter(|kernel| kernel.simd <= Machine::detect().simd) {
        assert!(reached.contains(kernel.name), "no case reaches {}", kernel.name);
    }
}
