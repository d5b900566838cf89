//! The CPU backend against the naive oracle: every kernel of every instruction set that this
//! machine has, with results through the caches and past them, on one thread and on several.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use trundle_core::{Backend, Layout, Move};
use trundle_cpu::{CATALOGUE, Cpu, Machine, Planner, Simd};
use trundle_testing::{MOST_BOXES, everything, suite};

/// A CPU of one instruction set. With caches of no size, every result is streamed.
fn cpu(simd: Simd, threads: usize, l3_bytes: usize) -> Cpu {
    let machine = Machine { simd, threads, l3_bytes, ..Machine::detect().clone() };
    Cpu::with_planner(Planner::new(machine))
}

/// The suite for each set of the machine: all of it where `TRUNDLE_TESTS` is `all`, as it is in CI;
/// else it is dealt out to the sets, since all takes minutes.
fn conformance_of_each_set(cpu: impl Fn(Simd) -> Cpu) {
    let sets: Vec<Simd> = Simd::available().collect();
    // The widest first: it is what runs here else.
    for (number, simd) in sets.iter().enumerate().rev() {
        let (share, shares) = if everything() { (0, 1) } else { (number, sets.len()) };
        suite::share_of_conformance(&cpu(*simd), share, shares);
    }
}

#[test]
fn results_through_the_caches_are_those_of_the_oracle() {
    conformance_of_each_set(|simd| cpu(simd, 1, 1 << 30));
}

#[test]
fn results_past_the_caches_are_those_of_the_oracle() {
    conformance_of_each_set(|simd| cpu(simd, 3, 0));
}

#[test]
fn the_suite_reaches_every_kernel() {
    let mut reached = Vec::new();
    for simd in Simd::available() {
        let cpu = cpu(simd, 1, 0);
        for case in suite::sweeps() {
            let passes = case.passes().unwrap();
            let map = passes.last().unwrap();
            let between = Layout::row_major(map.in_shape(), case.width).unwrap();
            let src = if passes.len() == 1 { &case.src } else { &between };
            let work = Move::new(map, case.width, src, &case.dst, MOST_BOXES).unwrap();
            for step in cpu.plan(&work).steps() {
                reached.push(step.kernel.name);
                reached.extend(step.ragged.iter().map(|ragged| ragged.second.name));
            }
        }
    }
    for kernel in CATALOGUE.iter().filter(|kernel| kernel.simd <= Machine::detect().simd) {
        assert!(reached.contains(&kernel.name), "no case reaches {}", kernel.name);
    }
}
