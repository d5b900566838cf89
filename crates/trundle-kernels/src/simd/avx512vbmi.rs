//! AVX-512 with its VBMI part: bytes go anywhere in one instruction.

use std::arch::x86_64::{_mm512_permutex2var_epi8, _mm512_permutexvar_epi8};

use super::avx512::{Avx512, order};
use super::{Avx2, Lanes, Outlined, Vector};
use crate::Tile;

/// As [`Avx512`], but for single bytes.
#[derive(Clone, Copy)]
pub(crate) struct Avx512Vbmi(Avx512);

impl Vector for Avx512Vbmi {
    const BYTES: usize = Avx512::BYTES;
    const HAS_SHUFFLE: bool = true;

    type Mask = u64;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the set holds AVX-512, and the contract is the same.
        Avx512Vbmi(unsafe { Avx512::load(src) })
    }

    #[inline(always)]
    unsafe fn load_lanes(srcs: &Lanes<*const u8>) -> Self {
        // SAFETY: the set holds AVX-512, and the contract is the same.
        Avx512Vbmi(unsafe { Avx512::load_lanes(srcs) })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the set holds AVX-512, and the contract is the same.
        unsafe { self.0.store(dst) };
    }

    #[inline(always)]
    unsafe fn load_first(src: *const u8, bytes: usize) -> Self {
        // SAFETY: the set holds AVX-512, and the contract is the same.
        Avx512Vbmi(unsafe { Avx512::load_first(src, bytes) })
    }

    #[inline(always)]
    unsafe fn store_first(self, dst: *mut u8, bytes: usize) {
        // SAFETY: the set holds AVX-512, and the contract is the same.
        unsafe { self.0.store_first(dst, bytes) };
    }

    #[inline(always)]
    unsafe fn stream(self, dst: *mut u8) {
        // SAFETY: the set holds AVX-512, and the contract is the same.
        unsafe { self.0.stream(dst) };
    }

    #[inline(always)]
    unsafe fn interleave<const W: usize>(self, other: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for the set, which holds AVX-512.
        let (low, high) = unsafe { self.0.interleave::<W>(other.0) };
        (Avx512Vbmi(low), Avx512Vbmi(high))
    }

    #[inline(always)]
    unsafe fn transpose_lanes(vectors: &mut Lanes<Self>) {
        let [a, b, c, d] = *vectors;
        let mut lanes = [a.0, b.0, c.0, d.0];
        // SAFETY: the caller vouches for the set, which holds AVX-512.
        unsafe { Avx512::transpose_lanes(&mut lanes) };
        let [a, b, c, d] = lanes;
        *vectors = [Avx512Vbmi(a), Avx512Vbmi(b), Avx512Vbmi(c), Avx512Vbmi(d)];
    }

    #[inline(always)]
    unsafe fn reverse<const W: usize>(self) -> Self {
        // SAFETY: the caller vouches for the set, which holds AVX-512.
        Avx512Vbmi(unsafe {
            if W == 1 {
                let indices: [u8; 64] = std::array::from_fn(|place| 63 - place as u8);
                Avx512(_mm512_permutexvar_epi8(order(&indices), self.0.0))
            } else {
                self.0.reverse::<W>()
            }
        })
    }

    #[inline(always)]
    unsafe fn mask(bits: u64) -> u64 {
        // SAFETY: the caller vouches for the set, which holds AVX-512.
        unsafe { Avx512::mask(bits) }
    }

    #[inline(always)]
    unsafe fn select(mask: u64, named: Self, others: Self) -> Self {
        // SAFETY: the caller vouches for the set, which holds AVX-512.
        Avx512Vbmi(unsafe { Avx512::select(mask, named.0, others.0) })
    }

    #[inline(always)]
    unsafe fn shuffle<const W: usize>(self, other: Self, indices: Self) -> Self {
        // SAFETY: the caller vouches for the set, which holds AVX-512.
        Avx512Vbmi(unsafe {
            if W == 1 {
                Avx512(_mm512_permutex2var_epi8(self.0.0, indices.0.0, other.0.0))
            } else {
                self.0.shuffle::<W>(other.0, indices.0)
            }
        })
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    unsafe fn outlined<P: Outlined>(tile: &Tile) {
        // SAFETY: the contract is the same.
        unsafe { P::run::<Self>(tile) };
    }

    #[inline(always)]
    fn prefetch(address: *const u8) {
        Avx2::prefetch(address);
    }
}
