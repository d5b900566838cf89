//! AVX-512 F and BW. A register holds a whole cache line. VBMI permutes single bytes in one instruction.

use core::arch::x86_64::*;

use super::{Avx2, Indices, LINE, Lanes, Outlined, Token, Vector, token};
use crate::Tile;

#[derive(Clone, Copy)]
pub(crate) struct Avx512<const VBMI: bool = false>(__m512i);

pub(crate) type Avx512Vbmi = Avx512<true>;

/// Loads integers into a register.
///
/// # Safety
/// The machine has AVX-512F.
#[inline(always)]
unsafe fn order<T, const N: usize>(indices: &[T; N]) -> __m512i {
    const { assert!(size_of::<[T; N]>() == LINE) };
    // SAFETY: the array has the size of a register.
    unsafe { _mm512_loadu_si512(indices.as_ptr().cast()) }
}

/// Returns the mask of the first `bytes` bytes. `bytes` is at most 64.
#[inline(always)]
fn first(bytes: usize) -> u64 {
    1u64.checked_shl(bytes as u32).unwrap_or(0).wrapping_sub(1)
}

/// Returns 16 words of the sequence `a`, `b`, beginning at word `at`.
///
/// # Safety
/// The machine has AVX-512F.
#[inline(always)]
unsafe fn joined(a: __m512i, b: __m512i, at: usize) -> __m512i {
    let indices: [u32; 16] = each!(index in 16 => index as u32);
    // SAFETY: the caller guarantees that the machine has AVX-512F.
    unsafe {
        let from = _mm512_add_epi32(order(&indices), _mm512_set1_epi32((at as u32).cast_signed()));
        _mm512_permutex2var_epi32(a, from, b)
    }
}

token!(Avx512, "avx512f,avx512bw,avx512vl");
token!(Avx512Vbmi, "avx512f,avx512bw,avx512vl,avx512vbmi");

impl<const VBMI: bool> Vector for Avx512<VBMI> {
    const BYTES: usize = LINE;

    type Mask = u64;

    #[inline(always)]
    unsafe fn load(_: Token<Self>, src: *const u8) -> Self {
        // SAFETY: the token proves AVX-512F; the caller guarantees that the bytes are valid.
        Avx512(unsafe { _mm512_loadu_si512(src.cast()) })
    }

    #[inline(always)]
    unsafe fn load_lanes(_: Token<Self>, srcs: &Lanes<*const u8>) -> Self {
        let [a, b, c, d] = *srcs;
        // SAFETY: the token proves AVX-512F; the caller guarantees that the bytes are valid.
        Avx512(unsafe {
            let first = _mm512_castsi128_si512(_mm_loadu_si128(a.cast()));
            let second = _mm512_inserti32x4::<1>(first, _mm_loadu_si128(b.cast()));
            let third = _mm512_inserti32x4::<2>(second, _mm_loadu_si128(c.cast()));
            _mm512_inserti32x4::<3>(third, _mm_loadu_si128(d.cast()))
        })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the vector proves AVX-512F; the caller guarantees that the bytes are valid.
        unsafe { _mm512_storeu_si512(dst.cast(), self.0) };
    }

    #[inline(always)]
    unsafe fn load_first(_: Token<Self>, src: *const u8, bytes: usize) -> Self {
        // SAFETY: the token proves AVX-512F and BW; the caller guarantees that the bytes are valid, and no others
        // are read.
        Avx512(unsafe { _mm512_maskz_loadu_epi8(first(bytes), src.cast()) })
    }

    #[inline(always)]
    unsafe fn store_first(self, dst: *mut u8, bytes: usize) {
        // SAFETY: the vector proves AVX-512F and BW; the caller guarantees that the bytes are valid, and no others
        // are written.
        unsafe { _mm512_mask_storeu_epi8(dst.cast(), first(bytes), self.0) };
    }

    #[inline(always)]
    fn then(self, other: Self, from: usize) -> Self {
        // SAFETY: the vector proves AVX-512F and BW.
        Avx512(unsafe { _mm512_mask_blend_epi8(first(from), other.0, self.0) })
    }

    #[inline(always)]
    fn join<const W: usize>(self, other: Self, at: usize) -> Self {
        // SAFETY: the vector proves AVX-512F and BW.
        unsafe {
            match W {
                1 => {
                    // Whole words first, then the remaining bytes.
                    let (words, bits) = (at / 4, (at % 4 * 8) as u32);
                    let low = joined(self.0, other.0, words);
                    let high = joined(self.0, other.0, words + 1);
                    Avx512(_mm512_or_si512(
                        _mm512_srl_epi32(low, _mm_cvtsi32_si128(bits.cast_signed())),
                        _mm512_sll_epi32(high, _mm_cvtsi32_si128((32 - bits).cast_signed())),
                    ))
                }
                2 => {
                    let indices: [u16; 32] = each!(index in 32 => index as u16);
                    let from = _mm512_add_epi16(
                        order(&indices),
                        _mm512_set1_epi16(((at / 2) as u16).cast_signed()),
                    );
                    Avx512(_mm512_permutex2var_epi16(self.0, from, other.0))
                }
                _ => Avx512(joined(self.0, other.0, at / 4)),
            }
        }
    }

    #[inline(always)]
    unsafe fn stream(self, dst: *mut u8) {
        // SAFETY: the vector proves AVX-512F; the caller guarantees that the bytes are valid and aligned.
        unsafe { _mm512_stream_si512(dst.cast(), self.0) };
    }

    #[inline(always)]
    fn interleave<const W: usize>(self, other: Self) -> (Self, Self) {
        let (a, b) = (self.0, other.0);
        // SAFETY: the vector proves AVX-512F and BW.
        let (low, high) = unsafe {
            match W {
                1 => (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)),
                2 => (_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)),
                4 => (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)),
                _ => (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)),
            }
        };
        (Avx512(low), Avx512(high))
    }

    #[inline(always)]
    fn transpose_lanes(vectors: &mut Lanes<Self>) {
        /// Splits both registers into even and odd blocks of 16 bytes.
        ///
        /// # Safety
        /// The machine has AVX-512F.
        #[inline(always)]
        unsafe fn split(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
            // SAFETY: the caller guarantees that the machine has AVX-512F.
            unsafe {
                (
                    _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b),
                    _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b),
                )
            }
        }
        let [a, b, c, d] = vectors.map(|vector| vector.0);
        // SAFETY: the vector proves AVX-512F.
        unsafe {
            let ((even, odd), (more_even, more_odd)) = (split(a, b), split(c, d));
            let (first, third) = split(even, more_even);
            let (second, fourth) = split(odd, more_odd);
            *vectors = [Avx512(first), Avx512(second), Avx512(third), Avx512(fourth)];
        }
    }

    #[inline(always)]
    fn reverse<const W: usize>(self) -> Self {
        const QUARTERS: [u64; 8] = [6, 7, 4, 5, 2, 3, 0, 1];
        // SAFETY: the vector proves AVX-512F and BW, and VBMI if `VBMI`.
        Avx512(unsafe {
            match W {
                1 if VBMI => {
                    let indices: [u8; 64] = each!(index in 64 => 63 - index as u8);
                    _mm512_permutexvar_epi8(order(&indices), self.0)
                }
                1 => {
                    // Each quarter is reversed separately, then their order.
                    let bytes: [u8; 64] = each!(index in 64 => 15 - index as u8 % 16);
                    let quarters = _mm512_shuffle_epi8(self.0, order(&bytes));
                    _mm512_permutexvar_epi64(order(&QUARTERS), quarters)
                }
                2 => {
                    let indices: [u16; 32] = each!(index in 32 => 31 - index as u16);
                    _mm512_permutexvar_epi16(order(&indices), self.0)
                }
                4 => {
                    let indices: [u32; 16] = each!(index in 16 => 15 - index as u32);
                    _mm512_permutexvar_epi32(order(&indices), self.0)
                }
                8 => {
                    let indices: [u64; 8] = each!(index in 8 => 7 - index as u64);
                    _mm512_permutexvar_epi64(order(&indices), self.0)
                }
                _ => _mm512_permutexvar_epi64(order(&QUARTERS), self.0),
            }
        })
    }

    #[inline(always)]
    fn mask(_: Token<Self>, bits: u64) -> u64 {
        bits
    }

    #[inline(always)]
    unsafe fn load_mask(token: Token<Self>, src: *const u8) -> u64 {
        // SAFETY: the token proves AVX-512BW; the caller guarantees that the bytes are valid.
        unsafe { _mm512_movepi8_mask(Self::load(token, src).0) }
    }

    #[inline(always)]
    fn select(mask: u64, named: Self, others: Self) -> Self {
        // SAFETY: the vector proves AVX-512BW.
        Avx512(unsafe { _mm512_mask_blend_epi8(mask, others.0, named.0) })
    }

    #[inline(always)]
    fn shuffle<const W: usize>(self, other: Self, indices: Indices<Self>) -> Self {
        /// The second byte of each pair.
        const SECOND: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let (a, b, indices) = (self.0, other.0, indices.0.0);
        // SAFETY: the vector proves AVX-512F and BW, and VBMI if `VBMI`.
        Avx512(unsafe {
            match W {
                1 if VBMI => _mm512_permutex2var_epi8(a, indices, b),
                1 => {
                    // Only pairs of bytes can be permuted: `first` gets the pairs with the bytes for even positions,
                    // `second` the pairs for odd positions. Each byte is then shifted to its position in the pair.
                    // Permutations use only the lowest bits of the indices.
                    let one = _mm512_set1_epi16(1);
                    let first = _mm512_permutex2var_epi16(a, _mm512_srli_epi16(indices, 1), b);
                    let down = _mm512_slli_epi16(_mm512_and_si512(indices, one), 3);
                    let second = _mm512_permutex2var_epi16(a, _mm512_srli_epi16(indices, 9), b);
                    let is_first = _mm512_andnot_si512(_mm512_srli_epi16(indices, 8), one);
                    let up = _mm512_slli_epi16(is_first, 3);
                    _mm512_mask_blend_epi8(
                        SECOND,
                        _mm512_srlv_epi16(first, down),
                        _mm512_sllv_epi16(second, up),
                    )
                }
                2 => _mm512_permutex2var_epi16(a, _mm512_srli_epi16(indices, 1), b),
                _ => _mm512_permutex2var_epi32(a, _mm512_srli_epi32(indices, 2), b),
            }
        })
    }

    #[inline(always)]
    fn shuffle_lanes(self, indices: Indices<Self>) -> Self {
        // SAFETY: the vector proves AVX-512BW.
        Avx512(unsafe { _mm512_shuffle_epi8(self.0, indices.0.0) })
    }

    // No kernel for VBMI has outlined parts, so the instructions of VBMI are not enabled here.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn outlined<P: Outlined>(token: Token<Self>, tile: &Tile) {
        // SAFETY: the caller upholds the `# Safety` of the part.
        unsafe { P::run(token, tile) };
    }

    #[inline(always)]
    fn prefetch_l2(address: *const u8) {
        Avx2::prefetch_l2(address);
    }
}
