//! Micro-tiles: square blocks of elements that are transposed in registers.

use core::array;
use core::mem::MaybeUninit;
use core::ptr;

use crate::simd::{LINE, Lanes, Vector};

/// The maximum number of vectors in a micro-tile: 64 of 64 bytes.
pub(crate) const MOST_VECTORS: usize = LINE;

/// The size of a lane in bytes. Interleaves work within lanes, in all instruction sets.
pub(crate) const LANE: usize = 16;

/// Returns the vectors as initialized.
///
/// # Safety
/// All vectors have been written.
#[inline(always)]
pub(crate) unsafe fn written<V: Vector>(vectors: &mut [MaybeUninit<V>]) -> &mut [V] {
    // SAFETY: the caller guarantees that all vectors are written. Both types have the same layout.
    unsafe { &mut *(ptr::from_mut(vectors) as *mut [V]) }
}

/// Transposes a micro-tile of as many vectors as each has elements of W bytes.
///
/// First, elements are transposed within lanes, in groups of as many adjacent vectors as a lane has elements. In a
/// lane, the elements of a group are a sequence with n index bits for the vector and n for the position. Interleaving
/// the two halves of the sequence rotates the bits by one. After n interleaves, vector and position are exchanged. Then
/// whole lanes are exchanged between the groups.
#[inline(always)]
pub(crate) fn transpose_micro_tile<V: Vector, const W: usize>(vectors: &mut [V]) {
    match W {
        1 => groups_and_lanes::<V, W, 16>(vectors),
        2 => groups_and_lanes::<V, W, 8>(vectors),
        4 => groups_and_lanes::<V, W, 4>(vectors),
        8 => groups_and_lanes::<V, W, 2>(vectors),
        _ => groups_and_lanes::<V, W, 1>(vectors),
    }
}

#[inline(always)]
fn groups_and_lanes<V: Vector, const W: usize, const G: usize>(vectors: &mut [V]) {
    let lanes = V::BYTES / LANE;
    for group in vectors.chunks_exact_mut(G).take(lanes) {
        interleave_group::<V, W, G>(group);
    }
    for index in 0..G {
        let mut exchanged: Lanes<V> = [vectors[index]; 4];
        for lane in 1..lanes {
            exchanged[lane] = vectors[lane * G + index];
        }
        V::transpose_lanes(&mut exchanged);
        for lane in 0..lanes {
            vectors[lane * G + index] = exchanged[lane];
        }
    }
}

/// Transposes each lane of a group separately: as many vectors as a lane has elements of W bytes.
#[inline(always)]
pub(crate) fn transpose_within_lanes<V: Vector, const W: usize>(group: &mut [V]) {
    match W {
        1 => interleave_group::<V, W, 16>(group),
        2 => interleave_group::<V, W, 8>(group),
        4 => interleave_group::<V, W, 4>(group),
        8 => interleave_group::<V, W, 2>(group),
        _ => {}
    }
}

#[inline(always)]
fn interleave_group<V: Vector, const W: usize, const G: usize>(group: &mut [V]) {
    let mut interleaved: [V; G] = array::from_fn(|i| group[i]);
    // Unrolled, so that the vectors stay in registers.
    if G >= 2 {
        interleave_halves::<V, W, G>(&mut interleaved);
    }
    if G >= 4 {
        interleave_halves::<V, W, G>(&mut interleaved);
    }
    if G >= 8 {
        interleave_halves::<V, W, G>(&mut interleaved);
    }
    if G >= 16 {
        interleave_halves::<V, W, G>(&mut interleaved);
    }
    for (vector, interleaved) in group.iter_mut().zip(interleaved) {
        *vector = interleaved;
    }
}

#[inline(always)]
fn interleave_halves<V: Vector, const W: usize, const G: usize>(vectors: &mut [V; G]) {
    let from = *vectors;
    macro_rules! interleave {
        ($($i:literal)*) => {
            $(if $i < G / 2 {
                let (low, high) = from[$i].interleave::<W>(from[$i + G / 2]);
                (vectors[2 * $i], vectors[2 * $i + 1]) = (low, high);
            })*
        };
    }
    interleave!(0 1 2 3 4 5 6 7);
}
