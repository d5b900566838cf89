//! AVX2. A register holds half a cache line.

use core::arch::x86_64::*;

use super::{Indices, Lanes, Outlined, Token, Vector, token};
use crate::Tile;

#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256i);

token!(Avx2, "avx2");

/// Indices of a byte shuffle: 16 of them, from position 16 + n on, move a lane n bytes to the front, and from 16 - n on
/// to the back. The other bytes become zero.
const SHIFTS: [u8; 48] = each!(index in 48 => match index {
    16..32 => index as u8 - 16,
    _ => 0x80,
});

/// Moves a lane `bytes` bytes to the front, or to the back if negative.
///
/// # Safety
/// The machine has AVX2, and `bytes` is from -16 to 16.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn shifted(lane: __m128i, bytes: isize) -> __m128i {
    // SAFETY: the window of 16 indices lies within the table.
    let indices = unsafe { _mm_loadu_si128(SHIFTS.as_ptr().offset(16 + bytes).cast()) };
    _mm_shuffle_epi8(lane, indices)
}

impl Vector for Avx2 {
    const BYTES: usize = 32;
    const WITHIN_LANES: bool = true;

    type Mask = __m256i;

    #[inline(always)]
    unsafe fn load(_: Token<Self>, src: *const u8) -> Self {
        // SAFETY: the token proves AVX2; the caller guarantees that the bytes are valid.
        Avx2(unsafe { _mm256_loadu_si256(src.cast()) })
    }

    #[inline(always)]
    unsafe fn load_lanes(_: Token<Self>, srcs: &Lanes<*const u8>) -> Self {
        // SAFETY: the token proves AVX2; the caller guarantees that the bytes are valid.
        Avx2(unsafe { _mm256_loadu2_m128i(srcs[1].cast(), srcs[0].cast()) })
    }

    /// In registers: a load would wait for the two stores of a copy on the stack.
    #[inline(always)]
    unsafe fn load_first(_: Token<Self>, src: *const u8, bytes: usize) -> Self {
        // SAFETY: the token proves AVX2. Each arm reads the first and the last of `bytes` bytes, which the caller
        // guarantees to be valid, and shifts by at most 16 bytes.
        Avx2(unsafe {
            // The last `$half` bytes, without bytes that are among the first `$half` bytes. Not a closure: the compiler
            // would not compile it with the instructions of the set.
            macro_rules! rest {
                ($load:ident, $half:literal) => {
                    shifted($load(src.add(bytes - $half).cast()), 2 * $half - bytes.cast_signed())
                };
            }
            let first = match bytes {
                16.. => {
                    let rest = rest!(_mm_loadu_si128, 16);
                    return Avx2(_mm256_set_m128i(rest, _mm_loadu_si128(src.cast())));
                }
                8.. => _mm_unpacklo_epi64(_mm_loadu_si64(src), rest!(_mm_loadu_si64, 8)),
                4.. => _mm_unpacklo_epi32(_mm_loadu_si32(src), rest!(_mm_loadu_si32, 4)),
                2.. => _mm_unpacklo_epi16(_mm_loadu_si16(src), rest!(_mm_loadu_si16, 2)),
                1 => _mm_cvtsi32_si128(i32::from(src.read())),
                _ => _mm_setzero_si128(),
            };
            _mm256_castsi128_si256(first)
        })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the vector proves AVX2; the caller guarantees that the bytes are valid.
        unsafe { _mm256_storeu_si256(dst.cast(), self.0) };
    }

    /// In registers: a load of the last bytes would wait for a store of the vector on the stack.
    #[inline(always)]
    unsafe fn store_first(self, dst: *mut u8, bytes: usize) {
        // SAFETY: the vector proves AVX2. Each arm writes the first and the last of `bytes` bytes, which the caller
        // guarantees to be valid, and shifts by at most 16 bytes.
        unsafe {
            let low = _mm256_castsi256_si128(self.0);
            macro_rules! ends {
                ($store:ident, $half:literal) => {{
                    let last = bytes - $half;
                    $store(dst.cast(), low);
                    $store(dst.add(last).cast(), shifted(low, last.cast_signed()));
                }};
            }
            match bytes {
                16.. => {
                    let last = bytes - 16;
                    let high =
                        shifted(_mm256_extracti128_si256::<1>(self.0), last.cast_signed() - 16);
                    let end = _mm_or_si128(shifted(low, last.cast_signed()), high);
                    _mm_storeu_si128(dst.cast(), low);
                    _mm_storeu_si128(dst.add(last).cast(), end);
                }
                8.. => ends!(_mm_storeu_si64, 8),
                4.. => ends!(_mm_storeu_si32, 4),
                2.. => ends!(_mm_storeu_si16, 2),
                1 => dst.write(_mm_extract_epi8::<0>(low) as u8),
                _ => {}
            }
        }
    }

    #[inline(always)]
    unsafe fn store_lane(self, lane: usize, dst: *mut u8) {
        // SAFETY: the vector proves AVX2; the caller guarantees that the bytes are valid.
        unsafe {
            let lane = match lane {
                0 => _mm256_castsi256_si128(self.0),
                _ => _mm256_extracti128_si256::<1>(self.0),
            };
            _mm_storeu_si128(dst.cast(), lane);
        }
    }

    #[inline(always)]
    unsafe fn stream(self, dst: *mut u8) {
        // SAFETY: the vector proves AVX2; the caller guarantees that the bytes are valid and aligned.
        unsafe { _mm256_stream_si256(dst.cast(), self.0) };
    }

    #[inline(always)]
    fn then(self, other: Self, from: usize) -> Self {
        let indices: [u8; 32] = each!(index in 32 => index as u8);
        // SAFETY: the vector proves AVX2; the indices are a register's bytes.
        Avx2(unsafe {
            let indices = _mm256_loadu_si256(indices.as_ptr().cast());
            let first = _mm256_cmpgt_epi8(_mm256_set1_epi8((from as u8).cast_signed()), indices);
            _mm256_blendv_epi8(other.0, self.0, first)
        })
    }

    #[inline(always)]
    fn join<const W: usize>(self, other: Self, at: usize) -> Self {
        let (a, b) = (self.0, other.0);
        // SAFETY: the vector proves AVX2.
        Avx2(unsafe {
            if W.is_multiple_of(4) {
                let word = _mm256_set1_epi32(((at / 4) as u32).cast_signed());
                let from = _mm256_add_epi32(word, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
                // Both instructions use only the lowest three bits of an index.
                let from_a = _mm256_permutevar8x32_epi32(a, from);
                let from_b = _mm256_permutevar8x32_epi32(b, from);
                let is_b = _mm256_cmpgt_epi32(from, _mm256_set1_epi32(7));
                _mm256_blendv_epi8(from_a, from_b, is_b)
            } else {
                // Each half of the result comes from two adjacent halves of `a` and `b`: the same half of `first` and
                // `next`.
                let between = _mm256_permute2x128_si256::<0x21>(a, b);
                let is_late = _mm256_set1_epi8(if at >= 16 { -1 } else { 0 });
                let first = _mm256_blendv_epi8(a, between, is_late);
                let next = _mm256_blendv_epi8(between, b, is_late);
                let at = if at >= 16 { at - 16 } else { at };
                let indices = _mm256_setr_epi8(
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, //
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                );
                let from = _mm256_add_epi8(indices, _mm256_set1_epi8((at as u8).cast_signed()));
                // A shuffle returns zero for an index whose highest bit is set. Adding 0x70 sets it in indices of 16
                // and more, subtracting 16 in indices below 16.
                let in_first = _mm256_add_epi8(from, _mm256_set1_epi8(0x70));
                let in_next = _mm256_sub_epi8(from, _mm256_set1_epi8(16));
                _mm256_or_si256(
                    _mm256_shuffle_epi8(first, in_first),
                    _mm256_shuffle_epi8(next, in_next),
                )
            }
        })
    }

    #[inline(always)]
    fn interleave<const W: usize>(self, other: Self) -> (Self, Self) {
        let (a, b) = (self.0, other.0);
        // SAFETY: the vector proves AVX2.
        let (low, high) = unsafe {
            match W {
                1 => (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)),
                2 => (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)),
                4 => (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)),
                _ => (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)),
            }
        };
        (Avx2(low), Avx2(high))
    }

    #[inline(always)]
    fn transpose_lanes(vectors: &mut Lanes<Self>) {
        let (a, b) = (vectors[0].0, vectors[1].0);
        // SAFETY: the vector proves AVX2.
        unsafe {
            vectors[0] = Avx2(_mm256_permute2x128_si256::<0x20>(a, b));
            vectors[1] = Avx2(_mm256_permute2x128_si256::<0x31>(a, b));
        }
    }

    #[inline(always)]
    fn reverse<const W: usize>(self) -> Self {
        // SAFETY: the vector proves AVX2.
        unsafe {
            // Each half is reversed separately, then the halves are exchanged.
            let halves = match W {
                1 => {
                    let order = _mm256_setr_epi8(
                        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, //
                        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
                    );
                    _mm256_shuffle_epi8(self.0, order)
                }
                2 => {
                    let order = _mm256_setr_epi8(
                        14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1, //
                        14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1,
                    );
                    _mm256_shuffle_epi8(self.0, order)
                }
                4 => _mm256_shuffle_epi32::<0b00_01_10_11>(self.0),
                8 => _mm256_shuffle_epi32::<0b01_00_11_10>(self.0),
                _ => self.0,
            };
            Avx2(_mm256_permute4x64_epi64::<0b01_00_11_10>(halves))
        }
    }

    #[inline(always)]
    fn mask(_: Token<Self>, bits: u64) -> __m256i {
        // SAFETY: the token proves AVX2.
        unsafe {
            // Byte i gets the byte of `bits` that contains bit i, and only bit i is kept.
            let each = _mm256_set1_epi64x(bits.cast_signed());
            let of = _mm256_setr_epi64x(
                0,
                0x0101_0101_0101_0101,
                0x0202_0202_0202_0202,
                0x0303_0303_0303_0303,
            );
            let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201u64.cast_signed());
            _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(each, of), bit), bit)
        }
    }

    #[inline(always)]
    unsafe fn load_mask(token: Token<Self>, src: *const u8) -> __m256i {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { Self::load(token, src) }.0
    }

    #[inline(always)]
    fn select(mask: __m256i, named: Self, others: Self) -> Self {
        // SAFETY: the vector proves AVX2.
        Avx2(unsafe { _mm256_blendv_epi8(others.0, named.0, mask) })
    }

    #[inline(always)]
    fn shuffle<const W: usize>(self, other: Self, indices: Indices<Self>) -> Self {
        let (a, b, indices) = (self.0, other.0, indices.0.0);
        // SAFETY: the vector proves AVX2.
        Avx2(unsafe {
            if W.is_multiple_of(4) {
                // The instructions use only the lowest three bits of an index.
                let elements = _mm256_srli_epi32(indices, 2);
                let from_a = _mm256_permutevar8x32_epi32(a, elements);
                let from_b = _mm256_permutevar8x32_epi32(b, elements);
                let is_b = _mm256_srai_epi32(_mm256_slli_epi32(indices, 26), 31);
                _mm256_blendv_epi8(from_a, from_b, is_b)
            } else {
                // Each of the four halves is shuffled by all indices. Two bits of an index then select a result,
                // shifted to the highest bit of a byte, which a blend tests.
                let in_a_low = _mm256_permute2x128_si256::<0x00>(a, a);
                let in_a_high = _mm256_permute2x128_si256::<0x11>(a, a);
                let in_b_low = _mm256_permute2x128_si256::<0x00>(b, b);
                let in_b_high = _mm256_permute2x128_si256::<0x11>(b, b);
                let is_high = _mm256_slli_epi16(indices, 3);
                let is_b = _mm256_slli_epi16(indices, 2);
                let from_a = _mm256_blendv_epi8(
                    _mm256_shuffle_epi8(in_a_low, indices),
                    _mm256_shuffle_epi8(in_a_high, indices),
                    is_high,
                );
                let from_b = _mm256_blendv_epi8(
                    _mm256_shuffle_epi8(in_b_low, indices),
                    _mm256_shuffle_epi8(in_b_high, indices),
                    is_high,
                );
                _mm256_blendv_epi8(from_a, from_b, is_b)
            }
        })
    }

    #[inline(always)]
    fn shuffle_lanes(self, indices: Indices<Self>) -> Self {
        // SAFETY: the vector proves AVX2.
        Avx2(unsafe { _mm256_shuffle_epi8(self.0, indices.0.0) })
    }

    #[inline(never)]
    #[target_feature(enable = "avx2")]
    unsafe fn outlined<P: Outlined>(token: Token<Self>, tile: &Tile) {
        // SAFETY: the caller upholds the `# Safety` of the part.
        unsafe { P::run(token, tile) };
    }

    #[inline(always)]
    fn prefetch_l2(address: *const u8) {
        // SAFETY: SSE is part of x86-64; a prefetch of any address only affects caches.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
    }
}
