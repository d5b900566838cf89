//! Tests that structs have the same layout in Rust and in C++.

use std::mem::offset_of;

use super::devices::library;
use crate::kernel::NAMES;
use crate::parameters::{MOST_LOOPS, Parameters, STORES};
use crate::ptx;

#[test]
fn parameters_have_the_layout_that_kernels_expect() {
    let Some(library) = library() else { return };
    for (name, here) in [
        ("launch_bytes", size_of::<Parameters>()),
        ("most_loops", MOST_LOOPS),
        ("offset_of_stores", offset_of!(Parameters, stores)),
        ("offset_of_cut_at", offset_of!(Parameters, cut_at)),
        ("offset_of_across", offset_of!(Parameters, across)),
        ("offset_of_reversed", offset_of!(Parameters, reversed)),
        ("stores_of_thread", STORES),
        ("offset_of_index_scale", offset_of!(Parameters, index_scale)),
        ("offset_of_varied", offset_of!(Parameters, varied)),
        ("offset_of_across_shift", offset_of!(Parameters, across_shift)),
        ("offset_of_each", offset_of!(Parameters, each)),
    ] {
        // SAFETY: kernels.cu exports these values with this type.
        let there = unsafe { **library.get::<*const u64>(name).expect("it has it") };
        assert_eq!(there, here as u64, "{name}");
    }
}

/// `kernels/build.py --check` compares all of the PTX, but needs the compiler.
#[test]
fn ptx_has_every_kernel() {
    for name in NAMES {
        assert!(ptx::TEXT.contains(&format!(".entry {name}(")), "{name}");
    }
    assert!(ptx::TEXT.contains(&format!(".target sm_{}\n", ptx::LEAST_CAPABILITY)));
}
