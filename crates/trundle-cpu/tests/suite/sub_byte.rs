//! Compares moves of sub-byte elements with the oracle, by the default kernels and streaming stores, and by portable
//! kernels and ordinary stores.

use trundle_cpu::{Cpu, Machine, Simd};
use trundle_testing::sub_byte;

use crate::common::streaming;

fn cpu(simd: Simd, threads: usize, streaming_bytes: usize) -> Cpu {
    let tuning = streaming(streaming_bytes);
    Cpu::with_machine(Machine { simd, threads, tuning, ..Machine::detect().clone() })
}

#[test]
fn packed_elements_match_the_oracle() {
    let widest = Simd::available().last().unwrap();
    for (simd, streaming_bytes) in [(widest, 0), (Simd::Portable, 1 << 30)] {
        sub_byte::conformance(&cpu(simd, 1, streaming_bytes));
    }
}

#[test]
fn boxes_that_share_bytes_are_exact_on_several_threads() {
    let widest = Simd::available().last().unwrap();
    for (simd, threads, streaming_bytes) in [(widest, 1, 0), (Simd::Portable, 3, 1 << 30)] {
        sub_byte::large_conformance(&cpu(simd, threads, streaming_bytes));
    }
}
