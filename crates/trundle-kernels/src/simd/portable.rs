//! Vectors in plain Rust, for every machine.

use core::array;
use core::mem::MaybeUninit;

use super::{Indices, Outlined, Token, Vector, token};
use crate::Tile;

/// 16 bytes, the register size of most machines. A byte may be padding of an element.
#[derive(Clone, Copy)]
pub(crate) struct Portable([MaybeUninit<u8>; 16]);

token!(Portable);

impl Vector for Portable {
    const BYTES: usize = 16;
    const HAS_SHUFFLE: bool = false;
    // Miri checks streaming code with this set, the only one it supports.
    const STREAMS: bool = cfg!(miri);

    type Mask = [bool; 16];

    #[inline(always)]
    unsafe fn load(_: Token<Self>, src: *const u8) -> Self {
        // SAFETY: the caller guarantees that the bytes are valid.
        Portable(unsafe { src.cast::<[MaybeUninit<u8>; 16]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { dst.cast::<[MaybeUninit<u8>; 16]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    fn interleave<const W: usize>(self, other: Self) -> (Self, Self) {
        // A transpose has hundreds of interleaves. Written byte by byte, they would be most of the code of all kernels.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        return sse2_interleaved::<W>(self, other);
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        interleaved::<W>(self, other)
    }

    #[inline(always)]
    fn reverse<const W: usize>(self) -> Self {
        Portable(array::from_fn(|index| self.0[16 - W - index / W * W + index % W]))
    }

    #[inline(always)]
    fn mask(_: Token<Self>, bits: u64) -> [bool; 16] {
        array::from_fn(|index| bits >> index & 1 == 1)
    }

    #[inline(always)]
    unsafe fn load_mask(_: Token<Self>, src: *const u8) -> [bool; 16] {
        // SAFETY: the caller guarantees that the bytes are valid.
        array::from_fn(|index| unsafe { src.add(index).read() } > 127)
    }

    #[inline(always)]
    fn select(mask: [bool; 16], named: Self, others: Self) -> Self {
        let of = |index: usize| if mask[index] { named.0[index] } else { others.0[index] };
        Portable(array::from_fn(of))
    }

    #[inline(always)]
    fn shuffle<const W: usize>(self, other: Self, indices: Indices<Self>) -> Self {
        Portable(array::from_fn(|byte| {
            // SAFETY: indices are initialized.
            let index = usize::from(unsafe { indices.0.0[byte].assume_init() });
            if index < 16 { self.0[index] } else { other.0[index % 16] }
        }))
    }

    #[inline(always)]
    fn shuffle_lanes(self, indices: Indices<Self>) -> Self {
        self.shuffle::<1>(self, indices)
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

/// [`Vector::interleave`] byte by byte.
#[cfg(any(test, miri, not(target_arch = "x86_64")))]
#[inline(always)]
fn interleaved<const W: usize>(one: Portable, other: Portable) -> (Portable, Portable) {
    let byte = |index: usize| {
        // Elements of both registers alternate.
        let from = index / (2 * W) * W + index % W;
        if (index / W).is_multiple_of(2) { one.0[from] } else { other.0[from] }
    };
    (Portable(array::from_fn(byte)), Portable(array::from_fn(|index| byte(index + 16))))
}

/// [`Vector::interleave`] by SSE2, which is part of x86-64.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn sse2_interleaved<const W: usize>(one: Portable, other: Portable) -> (Portable, Portable) {
    use core::arch::x86_64::{
        __m128i, _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
        _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
    };

    // SAFETY: a register holds any 16 bytes, and SSE2 is part of x86-64.
    unsafe {
        let a: __m128i = core::mem::transmute(one.0);
        let b: __m128i = core::mem::transmute(other.0);
        let (low, high) = match W {
            1 => (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)),
            2 => (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)),
            4 => (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)),
            _ => (_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)),
        };
        let portable =
            |register| Portable(core::mem::transmute::<__m128i, [MaybeUninit<u8>; 16]>(register));
        (portable(low), portable(high))
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn sse2_interleaves_as_plain_rust_does() {
        let register =
            |first: u8| Portable(array::from_fn(|index| MaybeUninit::new(first + index as u8)));
        // SAFETY: all bytes are written.
        let bytes = |each: Portable| each.0.map(|byte| unsafe { byte.assume_init() });
        let pair = |(low, high)| (bytes(low), bytes(high));
        macro_rules! check {
            ($($width:literal)*) => {$(
                let (one, other) = (register(0), register(16));
                let plain = pair(interleaved::<$width>(one, other));
                assert_eq!(pair(sse2_interleaved::<$width>(one, other)), plain);
            )*};
        }
        check!(1 2 4 8);
    }
}
