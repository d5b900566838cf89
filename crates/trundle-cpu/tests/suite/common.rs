//! What several of these tests need.

use std::collections::BTreeSet;

use trundle_core::{Backend, Move};
use trundle_cpu::tuning::Tuning;
use trundle_cpu::{CATALOGUE, Cpu, Machine, Planner, Simd};
use trundle_testing::{Flush, Guarded, noise};

/// This machine's tuning record, but results of more than so many bytes are streamed.
pub(crate) fn streaming(streaming_bytes: usize) -> Tuning {
    Tuning { streaming_bytes, ..Machine::detect().tuning }
}

/// Holds a move to its pairs with every set of instructions, streamed and not, on one thread and on three, beside pages
/// that nobody may touch. The kernels are added to `reached`.
pub(crate) fn check_as_its_pairs(work: &Move, named: &str, reached: &mut BTreeSet<&'static str>) {
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
            let plan = cpu.plan(work);
            reached.extend(plan.steps().iter().map(|step| step.kernel.name));
            for flush in [Flush::Start, Flush::End] {
                let src = Guarded::holding(&src, flush, format!("the source of {named}"));
                let before = vec![0xa5; expected.len()];
                let mut dst = Guarded::holding(&before, flush, format!("that of {named}"));
                cpu.run(&plan, &src, &mut dst).unwrap();
                assert!(*dst == expected[..], "{named}: {plan}");
            }
        }
    }
}

/// Checks that all kernels whose names begin so, and that the machine can run, were reached.
pub(crate) fn check_all_reached(prefix: &str, reached: &BTreeSet<&'static str>) {
    let ours = CATALOGUE.iter().filter(|kernel| kernel.name.starts_with(prefix));
    for kernel in ours.filter(|kernel| kernel.simd <= Machine::detect().simd) {
        assert!(reached.contains(kernel.name), "no case reaches {}", kernel.name);
    }
}
