//! The fixed-width SIMD of WebAssembly. A register holds a quarter of a cache line.

use core::arch::wasm32::*;

use super::{Indices, Outlined, Token, Vector, token};
use crate::Tile;

/// WebAssembly neither prefetches nor streams.
#[derive(Clone, Copy)]
pub(crate) struct Simd128(v128);

token!(Simd128, "simd128");

impl Vector for Simd128 {
    const BYTES: usize = 16;
    const STREAMS: bool = false;

    type Mask = v128;

    #[inline(always)]
    unsafe fn load(_: Token<Self>, src: *const u8) -> Self {
        // SAFETY: the caller guarantees that the bytes are valid; alignment does not matter.
        Simd128(unsafe { v128_load(src.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller guarantees that the bytes are valid; alignment does not matter.
        unsafe { v128_store(dst.cast(), self.0) };
    }

    #[inline(always)]
    fn then(self, other: Self, from: usize) -> Self {
        let first = u8x16_lt(bytes_from(0), u8x16_splat(from as u8));
        Self::select(first, self, other)
    }

    #[inline(always)]
    fn join<const W: usize>(self, other: Self, at: usize) -> Self {
        self.shuffle::<W>(other, Indices(Simd128(bytes_from(at as u8))))
    }

    #[inline(always)]
    fn interleave<const W: usize>(self, other: Self) -> (Self, Self) {
        let (a, b) = (self.0, other.0);
        let (low, high) = match W {
            1 => (
                i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b),
                i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b),
            ),
            2 => (
                i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(a, b),
                i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(a, b),
            ),
            4 => (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b)),
            8 => (i64x2_shuffle::<0, 2>(a, b), i64x2_shuffle::<1, 3>(a, b)),
            _ => (a, b),
        };
        (Simd128(low), Simd128(high))
    }

    #[inline(always)]
    fn reverse<const W: usize>(self) -> Self {
        let a = self.0;
        Simd128(match W {
            1 => i8x16_shuffle::<15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0>(a, a),
            2 => i16x8_shuffle::<7, 6, 5, 4, 3, 2, 1, 0>(a, a),
            4 => i32x4_shuffle::<3, 2, 1, 0>(a, a),
            8 => i64x2_shuffle::<1, 0>(a, a),
            _ => a,
        })
    }

    #[inline(always)]
    fn mask(_: Token<Self>, bits: u64) -> v128 {
        let [first, second, ..] = bits.to_le_bytes();
        let bit_of_byte = u64x2_splat(0x8040_2010_0804_0201);
        let both = u64x2(u64::from_le_bytes([first; 8]), u64::from_le_bytes([second; 8]));
        i8x16_eq(v128_and(both, bit_of_byte), bit_of_byte)
    }

    #[inline(always)]
    unsafe fn load_mask(token: Token<Self>, src: *const u8) -> v128 {
        // SAFETY: the caller guarantees that the bytes are valid.
        i8x16_shr(unsafe { Self::load(token, src).0 }, 7)
    }

    #[inline(always)]
    fn select(mask: v128, named: Self, others: Self) -> Self {
        Simd128(v128_bitselect(named.0, others.0, mask))
    }

    #[inline(always)]
    fn shuffle<const W: usize>(self, other: Self, indices: Indices<Self>) -> Self {
        // An index outside a register selects 0.
        let from_self = u8x16_swizzle(self.0, indices.0.0);
        let from_other = u8x16_swizzle(other.0, u8x16_sub(indices.0.0, u8x16_splat(16)));
        Simd128(v128_or(from_self, from_other))
    }

    #[inline(always)]
    fn shuffle_lanes(self, indices: Indices<Self>) -> Self {
        let lowest = v128_and(indices.0.0, u8x16_splat(15));
        Simd128(u8x16_swizzle(self.0, lowest))
    }

    #[inline(never)]
    unsafe fn outlined<P: Outlined>(token: Token<Self>, tile: &Tile) {
        // SAFETY: the caller upholds the `# Safety` of the part.
        unsafe { P::run(token, tile) };
    }

    #[inline(always)]
    fn prefetch(_address: *const u8) {}

    #[inline(always)]
    fn prefetch_l2(_address: *const u8) {}
}

/// Returns `first`, `first + 1` and so on.
#[inline(always)]
fn bytes_from(first: u8) -> v128 {
    u8x16_add(u8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), u8x16_splat(first))
}
