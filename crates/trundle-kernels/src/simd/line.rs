//! Cache lines.

/// The size of a cache line in bytes.
pub const LINE: usize = 64;

/// Prefetches the cache line of `address` into the first-level cache. `address` need not be valid.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; a prefetch of any address only affects caches.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch of any address only affects caches.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) address.addr(),
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
