//! Blocks without a kernel.

use trundle_core::ops::{Indices, Take};
use trundle_core::{Op, Shape};

use super::cases::{named, roll, transpose};
use crate::{GpuMove, SpecialisedKernel};

fn has_kernels(sizes: &[usize], width: usize, op: Op) -> bool {
    let work = GpuMove::of(&named("", sizes, width, &[op]).work);
    work.whole_blocks().iter().all(|block| SpecialisedKernel::of(block, 0, 0).is_some())
}

#[test]
fn two_gib_and_more_have_no_kernel() {
    for (rows, known) in
        [(1 << 20, true), ((1 << 21) - 2048, true), (1 << 21, false), (1 << 23, false)]
    {
        assert_eq!(has_kernels(&[rows, 1024], 1, roll(&[0, 1])), known, "{rows} rows");
        assert_eq!(has_kernels(&[rows, 1024], 1, transpose(&[1, 0])), known, "{rows} rows");
    }
}

#[test]
fn tables_of_indices_have_no_kernel() {
    let indices: Vec<i64> = (0..300).map(|at| at * at % 97).collect();
    let indices = Indices::new(Shape::new([300]).unwrap(), indices).unwrap();
    assert!(!has_kernels(&[97, 64], 4, Take::new(0, indices).into()));
}

/// Elements that begin at odd addresses cannot be turned in vectors.
#[test]
fn unaligned_elements_have_no_kernel_that_needs_alignment() {
    let work = GpuMove::of(&named("", &[64, 64], 4, &[transpose(&[1, 0])]).work);
    let of = |src, dst| SpecialisedKernel::of(&work.whole_blocks()[0], src, dst).is_some();
    assert!(of(0, 0) && of(4, 8) && of(1, 4));
    assert!(!of(0, 1) && !of(0, 2));
}
