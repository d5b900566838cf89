//! All suites.
//!
//! The tensors have 100 to 256 MiB, more than any cache holds. Exceptions are small moves, and windows, which have the
//! sizes of real models.

mod chains;
mod elements;
mod gathers;
mod lanes;
mod many_axes;
mod packed;
mod pictures;
mod rolls;
mod sequences;
mod small_moves;
mod ttc;
mod windows;

use trundle::Op;
use trundle::ops::{Flip, ReverseSequence, Roll, Transpose};

use crate::case::Suite;

/// Returns all suites.
pub fn all() -> Vec<Suite> {
    vec![
        ttc::suite(),
        elements::small(),
        elements::other(),
        pictures::suite(),
        rolls::suite(),
        sequences::suite(),
        lanes::suite(),
        many_axes::suite(),
        packed::suite(),
        gathers::suite(),
        chains::suite(),
        windows::windows(),
        windows::time_major(),
        small_moves::suite(),
    ]
}

fn transpose(order: &[i64]) -> Op {
    Transpose::new(order).into()
}

fn roll(shift: &[i64], axes: &[i64]) -> Op {
    Roll::new(shift, axes).into()
}

fn flip(axes: &[i64]) -> Op {
    Flip::new(axes).into()
}

/// A reverse sequence along one axis, with `batches` lengths of at most `size` along another.
fn reverse_sequence(along: usize, across: usize, batches: usize, size: usize) -> Op {
    let lengths: Vec<i128> = lengths(batches, size).into_iter().map(i128::from).collect();
    let axis = |axis: usize| axis.cast_signed() as i64;
    ReverseSequence::new(axis(along), axis(across), lengths).into()
}

fn lengths(count: usize, size: usize) -> Vec<u64> {
    (0..count as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (size as u64 + 1)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use trundle::{Chain, Plan, Shape};

    use super::*;
    use crate::case::Against;

    #[test]
    fn cases_are_distinct_single_passes_of_suitable_size() {
        let mut labels = BTreeSet::new();
        // One loop, because making the chains takes seconds.
        for suite in all() {
            assert!(suite.cases.iter().any(|case| case.is_short), "{}", suite.name);
            for case in suite.cases {
                let label = format!("{}/{} {} {:?}", suite.name, case.name, case.dtype, case.sizes);
                assert!(labels.insert(label.clone()), "{label}");
                let shape = Shape::new(case.sizes.as_slice()).unwrap();
                let passes = |chain: &Chain| {
                    Plan::row_major(chain, case.dtype, &shape, Some(1)).unwrap().passes().len()
                };
                assert_eq!(passes(&case.chain), 1, "{label}");
                if let Against::Chain(chain) = &case.against {
                    assert_eq!(passes(chain), 1, "{label}");
                }
                let bytes = case.bytes();
                let is_small = match suite.name {
                    "small moves" => bytes <= 2 << 20,
                    "windows" => bytes >= 36 << 20,
                    _ => false,
                };
                let is_large = (90 << 20..=260 << 20).contains(&bytes);
                assert!(is_small || is_large, "{label}: {bytes} bytes");
            }
        }
    }
}
