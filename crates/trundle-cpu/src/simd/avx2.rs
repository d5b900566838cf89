//! AVX2: half a line at once.

use std::arch::x86_64::{
    _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm256_loadu_si256, _mm256_stream_si256,
};

use super::Lines;

pub(crate) struct Avx2;

impl Lines for Avx2 {
    #[inline(always)]
    unsafe fn stream(src: *const u8, dst: *mut u8) {
        // SAFETY: the caller vouches for AVX2, for both lines and for the alignment.
        unsafe {
            let low = _mm256_loadu_si256(src.cast());
            let high = _mm256_loadu_si256(src.add(32).cast());
            _mm256_stream_si256(dst.cast(), low);
            _mm256_stream_si256(dst.add(32).cast(), high);
        }
    }

    #[inline(always)]
    fn fence() {
        // SAFETY: SSE is part of x86-64.
        unsafe { _mm_sfence() };
    }

    #[inline(always)]
    fn prefetch(address: *const u8) {
        // SAFETY: SSE is part of x86-64; a prefetch of any address has no effect but on caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
}
