//! Squares of elements transposed in registers: as many vectors as each has elements.

use std::array;
use std::mem::MaybeUninit;

use crate::simd::{LINE, Lanes, Vector};

/// The most vectors that a square has: 64 of 64 bytes for elements of one byte.
pub(super) const MOST_VECTORS: usize = LINE;

/// The bytes of a lane: what the instructions of all sets work on by itself.
pub(super) const LANE: usize = 16;

/// Transposes a square of as many vectors as each has elements of W bytes.
///
/// Within lanes first: neighbouring vectors, as many as a lane has elements, seen as one sequence in
/// each lane. A zip of the sequence's halves turns the bits of every element's number by one, and as
/// many zips as a place in the lane has bits exchange that place with the vector's number. Then
/// whole lanes change places with the groups.
///
/// # Safety
/// The machine has the set of V, and every vector is initialised.
#[inline(always)]
pub(super) unsafe fn transpose_square<V: Vector, const W: usize>(vectors: &mut [MaybeUninit<V>]) {
    // SAFETY: the contract is the same.
    unsafe {
        match W {
            1 => groups_and_lanes::<V, W, 16>(vectors),
            2 => groups_and_lanes::<V, W, 8>(vectors),
            4 => groups_and_lanes::<V, W, 4>(vectors),
            8 => groups_and_lanes::<V, W, 2>(vectors),
            _ => groups_and_lanes::<V, W, 1>(vectors),
        }
    }
}

/// [`transpose_square`], where a lane has G elements.
///
/// # Safety
/// As [`transpose_square`].
#[inline(always)]
unsafe fn groups_and_lanes<V: Vector, const W: usize, const G: usize>(
    vectors: &mut [MaybeUninit<V>],
) {
    let lanes = V::BYTES / LANE;
    for group in vectors.chunks_exact_mut(G).take(lanes) {
        // SAFETY: the caller vouches for the set and for the vectors.
        unsafe { zip_group::<V, W, G>(group) };
    }
    for place in 0..G {
        // SAFETY: the caller vouches for the set and for the vectors.
        unsafe {
            let first = vectors[place].assume_init();
            let mut exchanged: Lanes<V> = [first; 4];
            for lane in 1..lanes {
                exchanged[lane] = vectors[lane * G + place].assume_init();
            }
            V::exchange_lanes(&mut exchanged);
            for lane in 0..lanes {
                vectors[lane * G + place].write(exchanged[lane]);
            }
        }
    }
}

/// Transposes, in each lane by itself, the square that the lanes of a group make: as many vectors as
/// a lane has elements of W bytes.
///
/// # Safety
/// The machine has the set of V, and every vector is initialised.
#[inline(always)]
pub(super) unsafe fn transpose_lanes<V: Vector, const W: usize>(group: &mut [MaybeUninit<V>]) {
    // SAFETY: the contract is the same.
    unsafe {
        match W {
            1 => zip_group::<V, W, 16>(group),
            2 => zip_group::<V, W, 8>(group),
            4 => zip_group::<V, W, 4>(group),
            8 => zip_group::<V, W, 2>(group),
            _ => {}
        }
    }
}

/// [`transpose_lanes`], where a lane has G elements.
///
/// # Safety
/// As [`transpose_lanes`].
#[inline(always)]
unsafe fn zip_group<V: Vector, const W: usize, const G: usize>(group: &mut [MaybeUninit<V>]) {
    // SAFETY: the caller vouches for the set and for the vectors.
    unsafe {
        let mut zipped: [V; G] = array::from_fn(|i| group[i].assume_init());
        // Written out, since the vectors stay in registers then.
        if G >= 2 {
            zip_halves::<V, W, G>(&mut zipped);
        }
        if G >= 4 {
            zip_halves::<V, W, G>(&mut zipped);
        }
        if G >= 8 {
            zip_halves::<V, W, G>(&mut zipped);
        }
        if G >= 16 {
            zip_halves::<V, W, G>(&mut zipped);
        }
        for (vector, zipped) in group.iter_mut().zip(zipped) {
            vector.write(zipped);
        }
    }
}

/// Zips the first half of the vectors with the second half.
///
/// # Safety
/// The machine has the set of V.
#[inline(always)]
unsafe fn zip_halves<V: Vector, const W: usize, const G: usize>(vectors: &mut [V; G]) {
    let from = *vectors;
    macro_rules! zip {
        ($($i:literal)*) => {
            $(if $i < G / 2 {
                // SAFETY: the caller vouches for the set.
                let (low, high) = unsafe { from[$i].zip::<W>(from[$i + G / 2]) };
                (vectors[2 * $i], vectors[2 * $i + 1]) = (low, high);
            })*
        };
    }
    zip!(0 1 2 3 4 5 6 7);
}
