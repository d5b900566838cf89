//! Squares of elements transposed in registers: as many vectors as each has elements.

use std::array;
use std::mem::MaybeUninit;

use crate::simd::{LINE, Vector};

/// The most vectors that a square has: 64 of 64 bytes for elements of one byte.
pub(super) const MOST_VECTORS: usize = LINE;

/// Transposes a square of as many vectors as each has elements: seen as one sequence of elements,
/// a zip of its halves turns the bits of every element's number by one, and as many zips as a
/// vector's number has bits exchange the vector's number with the place in it.
///
/// More vectors than there are registers are zipped in two passes, each over groups that fit.
///
/// # Safety
/// The machine has the set of V, and every vector is initialised.
#[inline(always)]
pub(super) unsafe fn transpose_square<V: Vector, const W: usize>(vectors: &mut [MaybeUninit<V>]) {
    let mut between = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    let between = &mut between[..vectors.len()];
    // SAFETY: the contract is the same; the first pass initialises all that is between.
    unsafe {
        match vectors.len() {
            64 => {
                zip_groups::<V, W, 8>(vectors, between);
                zip_groups::<V, W, 8>(between, vectors);
            }
            32 => {
                zip_groups::<V, W, 8>(vectors, between);
                zip_groups::<V, W, 4>(between, vectors);
            }
            16 => {
                zip_groups::<V, W, 4>(vectors, between);
                zip_groups::<V, W, 4>(between, vectors);
            }
            8 => {
                zip_groups::<V, W, 8>(vectors, between);
                vectors.copy_from_slice(between);
            }
            4 => {
                zip_groups::<V, W, 4>(vectors, between);
                vectors.copy_from_slice(between);
            }
            2 => {
                zip_groups::<V, W, 2>(vectors, between);
                vectors.copy_from_slice(between);
            }
            _ => {}
        }
    }
}

/// Does log2(G) of the zips of a square, for G of its vectors at a time: those whose numbers are the
/// same but for the upper bits, which become the lower bits.
///
/// # Safety
/// The machine has the set of V, and every vector of `from` is initialised.
#[inline(always)]
unsafe fn zip_groups<V: Vector, const W: usize, const G: usize>(
    from: &[MaybeUninit<V>],
    to: &mut [MaybeUninit<V>],
) {
    let groups = from.len() / G;
    for (number, zipped) in to.chunks_exact_mut(G).enumerate() {
        let mut group: [MaybeUninit<V>; G] = array::from_fn(|i| from[number + i * groups]);
        for _ in 0..G.ilog2() {
            for i in 0..G / 2 {
                // SAFETY: the caller vouches for the set and for the vectors.
                let (low, high) =
                    unsafe { group[i].assume_init().zip::<W>(group[i + G / 2].assume_init()) };
                zipped[2 * i].write(low);
                zipped[2 * i + 1].write(high);
            }
            group.copy_from_slice(zipped);
        }
    }
}
