//! Helpers shared by several tests.

use std::collections::BTreeSet;

use trundle_core::{Backend, Move};
use trundle_cpu::tuning::Tuning;
use trundle_cpu::{CATALOGUE, Cpu, Machine, Planner, Simd};
use trundle_testing::{Flush, Guarded, noise};

/// This machine's tuning record with a different streaming threshold.
pub(crate) fn streaming(streaming_bytes: usize) -> Tuning {
    Tuning { streaming_bytes, ..Machine::detect().tuning }
}

/// Compares a move with its pairs: with every instruction set, streamed and not, on one and three threads, between
/// guard pages. Adds the kernels used to `reached`.
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

/// Checks that every kernel with this name prefix that the machine can run was reached.
pub(crate) fn check_all_reached(prefix: &str, reached: &BTreeSet<&'static str>) {
    let ours = CATALOGUE.iter().filter(|kernel| kernel.name.starts_with(prefix));
    for kernel in ours.filter(|kernel| kernel.simd <= Machine::detect().simd) {
        assert!(reached.contains(kernel.name), "no case reaches {}", kernel.name);
    }
}
