//! Helpers that several tests use.

use std::collections::BTreeSet;

use trundle_core::{Backend, IndexMap, Layout, Move, Op, Shape, Width};
use trundle_cpu::tuning::Tuning;
use trundle_cpu::{CATALOGUE, Cpu, Machine, Simd};
use trundle_testing::{Flush, Guarded, MOST_BOXES, noise};

/// Returns this machine's tuning record with another streaming threshold.
pub(crate) fn streaming(streaming_bytes: usize) -> Tuning {
    Tuning { streaming_bytes, ..Machine::detect().tuning }
}

/// Returns pseudo-random bytes for a seed.
pub(crate) fn seeded(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|at| (((at + seed) as u64 * 2_654_435_761) >> 7) as u8).collect()
}

pub(crate) fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// Returns the composed map of operators.
pub(crate) fn map_of(ops: &[Op], sizes: &[usize]) -> IndexMap {
    ops.iter().fold(IndexMap::identity(&Shape::new(sizes).unwrap()), |map, op| {
        map.then(&op.index_map(map.out_shape()).unwrap()).unwrap()
    })
}

pub(crate) fn move_of(map: &IndexMap, width: impl Into<Width>) -> Move {
    let width = width.into();
    let layout = |shape: &Shape| Layout::row_major(shape, width.units()).unwrap();
    Move::new(map, width, &layout(map.in_shape()), &layout(map.out_shape()), MOST_BOXES).unwrap()
}

/// Computes the result of a move one element at a time, over `dst`.
pub(crate) fn moved_over(mut dst: Vec<u8>, work: &Move, src: &[u8]) -> Vec<u8> {
    let width = work.width();
    work.for_each_pair(|from, to| dst[to..][..width].copy_from_slice(&src[from..][..width]));
    dst
}

/// Compares a move with the positions of each element: with every instruction set, with streaming and with ordinary
/// stores, on one and three threads, between guard pages. Adds the kernels that were used to `reached`.
pub(crate) fn check_positions(work: &Move, label: &str, reached: &mut BTreeSet<&'static str>) {
    let src = noise(work.src_bytes());
    let expected = moved_over(vec![0xa5; work.dst_bytes()], work, &src);
    for simd in Simd::available() {
        for (threads, streaming_bytes) in [(1, 0), (3, 0), (1, usize::MAX)] {
            let tuning = streaming(streaming_bytes);
            let machine = Machine { simd, threads, tuning, ..Machine::detect().clone() };
            let cpu = Cpu::with_machine(machine);
            let plan = cpu.plan(work);
            reached.extend(plan.steps().iter().map(|step| step.kernel.name));
            for flush in [Flush::Start, Flush::End] {
                let src = Guarded::holding(&src, flush, format!("the source of {label}"));
                let before = vec![0xa5; expected.len()];
                let mut dst =
                    Guarded::holding(&before, flush, format!("the destination of {label}"));
                cpu.run(&plan, &src, &mut dst).unwrap();
                assert!(*dst == expected[..], "{label}: {plan}");
            }
        }
    }
}

/// Checks that every kernel with this prefix that the machine can run was reached.
pub(crate) fn check_all_reached(prefix: &str, reached: &BTreeSet<&'static str>) {
    let ours = CATALOGUE.iter().filter(|kernel| kernel.name.starts_with(prefix));
    for kernel in ours.filter(|kernel| kernel.simd <= Machine::detect().simd) {
        assert!(reached.contains(kernel.name), "no case reaches {}", kernel.name);
    }
}
