//! Reverse sequences, with one length for each batch entry.

use trundle::DType;

use super::reverse_sequence;
use crate::case::{Bars, Case, Suite};

pub(super) fn suite() -> Suite {
    let mut cases = Vec::new();
    for dtype in [DType::U8, DType::U16, DType::F32, DType::F64] {
        let width = dtype.width();
        let case = |name, sizes: [usize; 3], axis: usize, batch_axis: usize| {
            let op = reverse_sequence(axis, batch_axis, sizes[batch_axis], sizes[axis]);
            let case = Case::new(name, dtype, &sizes, [op]);
            if dtype == DType::F32 && sizes[0].is_multiple_of(2) { case.short() } else { case }
        };
        cases.extend([
            case("inner axis", [128, 64, 16384 / width], 2, 0),
            case("middle axis", [128, 512, 2048 / width], 1, 0),
            case("outer axis", [512, 128, 2048 / width], 0, 1),
            case("inner axis, odd", [129, 65, (16001 / width) | 1], 2, 0),
            case("middle axis, odd", [129, 513, (1999 / width) | 1], 1, 0),
            case("outer axis, odd", [513, 129, (1999 / width) | 1], 0, 1),
        ]);
    }
    for (name, sizes, along) in
        [("256 batches", &[256, 512, 512][..], 1), ("4096 rows", &[4096, 16384], 1)]
    {
        let op = reverse_sequence(along, 0, sizes[0], sizes[along]);
        cases.push(Case::new(name, DType::F32, sizes, [op]).short());
    }
    Suite {
        name: "reverse sequences",
        about: "reverse sequences on the inner, middle and outer axis",
        bars: Bars { mean: Some(0.95), least: Some(0.85) },
        cases,
    }
}
