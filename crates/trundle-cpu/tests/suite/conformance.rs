//! Compares every kernel of every available instruction set with the naive oracle, with streaming and with ordinary
//! stores, on one and several threads.

use trundle_core::{Backend, Layout, Move};
use trundle_cpu::tuning::{Level, LinesTogether, Packed, Tuning};
use trundle_cpu::{CATALOGUE, Cpu, Kernel, Machine, Simd};
use trundle_testing::{MOST_BOXES, everything, suite};

use crate::common::streaming;

fn cpu(simd: Simd, threads: usize, streaming_bytes: usize) -> Cpu {
    cpu_with(simd, threads, streaming(streaming_bytes))
}

fn cpu_with(simd: Simd, threads: usize, tuning: Tuning) -> Cpu {
    let machine = Machine { simd, threads, tuning, ..Machine::detect().clone() };
    Cpu::with_machine(machine)
}

/// Runs the suite for each instruction set. With `TRUNDLE_TESTS=all` (as in CI) each runs all of it; otherwise a
/// sixteenth of the cases is divided among the instruction sets and the two halves, since all of it takes minutes.
fn conformance_of_each_set(half: usize, cpu: impl Fn(Simd) -> Cpu) {
    let sets: Vec<Simd> = Simd::available().collect();
    // The widest comes first, because it is the default.
    for (number, simd) in sets.iter().enumerate().rev() {
        let (share, shares) =
            if everything() { (0, 1) } else { (2 * number + half, 32 * sets.len()) };
        suite::conformance(&cpu(*simd), share, shares);
    }
}

#[test]
fn results_of_ordinary_stores_match_the_oracle() {
    conformance_of_each_set(0, |simd| cpu(simd, 1, 1 << 30));
}

#[test]
fn results_of_streaming_stores_match_the_oracle() {
    conformance_of_each_set(1, |simd| cpu(simd, 3, 0));
}

/// Two records that differ from the first built-in record in every number.
#[test]
fn results_are_the_same_with_any_tuning_record() {
    let one = Tuning {
        streaming_bytes: 0,
        run_level: Level::L2,
        rolled_level: Level::L2,
        run_ahead: 100,
        run_pages: 4,
        reversed_level: Level::L2,
        reversed_ahead: 640,
        transpose_level: Level::L2,
        columns_ahead: 1,
        column_bytes_ahead: 0,
        lines_together: LinesTogether::Two,
        tile_bytes: 100,
        tile_rows: 16,
        tile_columns: 64,
        short_row_bytes: 0,
        narrow_short_row_bytes: 0,
        packed: Packed::Never,
    };
    let other = Tuning {
        run_pages: 3,
        columns_ahead: 4096,
        tile_bytes: 2 << 10,
        tile_rows: 512,
        tile_columns: 256,
        short_row_bytes: 512,
        narrow_short_row_bytes: 512,
        packed: Packed::All,
        ..one
    };
    for (number, tuning) in [one, other].into_iter().enumerate() {
        let shares = if everything() { 2 } else { 128 };
        suite::conformance(&cpu_with(Simd::detect(), 3, tuning), number, shares);
    }
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
    let is_here = |kernel: &&Kernel| kernel.simd <= Machine::detect().simd;
    // Other suites test the kernels for fused moves and for moves in place.
    let tested_elsewhere = ["filled-", "exchanged-", "squares-", "rotated-"];
    let is_tested_here =
        |kernel: &&Kernel| !tested_elsewhere.iter().any(|prefix| kernel.name.starts_with(prefix));
    for kernel in CATALOGUE.iter().filter(is_here).filter(is_tested_here) {
        assert!(reached.contains(&kernel.name), "no case reaches {}", kernel.name);
    }
}
