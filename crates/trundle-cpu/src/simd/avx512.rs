//! AVX-512: a whole line at once.

use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};

use super::{Avx2, Lines};

pub(crate) struct Avx512;

impl Lines for Avx512 {
    #[inline(always)]
    unsafe fn stream(src: *const u8, dst: *mut u8) {
        // SAFETY: the caller vouches for AVX-512F, for both lines and for the alignment.
        unsafe { _mm512_stream_si512(dst.cast(), _mm512_loadu_si512(src.cast())) };
    }

    #[inline(always)]
    fn fence() {
        Avx2::fence();
    }

    #[inline(always)]
    fn prefetch(address: *const u8) {
        Avx2::prefetch(address);
    }
}
