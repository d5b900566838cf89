//! Compares moves of sub-byte elements with the oracle, by the default kernels and by portable ones.

use trundle_cpu::{Cpu, Machine, Simd};
use trundle_testing::sub_byte;

fn cpu(simd: Simd, threads: usize) -> Cpu {
    Cpu::with_machine(Machine { simd, threads, ..Machine::detect().clone() })
}

#[test]
fn packed_elements_are_moved_as_the_oracle_has_it() {
    for simd in [Simd::available().last().unwrap(), Simd::Portable] {
        sub_byte::conformance(&cpu(simd, 1));
    }
}

#[test]
fn boxes_that_share_bytes_go_to_several_threads() {
    sub_byte::large_conformance(&cpu(Simd::Portable, 3));
}
