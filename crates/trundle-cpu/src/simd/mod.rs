//! Instruction sets. A kernel is written once over [`Lines`]; a set only says how lines move.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use std::fmt;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use portable::Portable;

/// Instruction sets that kernels are built for, each holding those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Simd {
    /// What every machine has.
    Portable,
    /// AVX2 of x86-64.
    Avx2,
    /// AVX-512 of x86-64: the F, BW and VL parts.
    Avx512,
}

impl Simd {
    /// The widest set that this machine has.
    pub(crate) fn detect() -> Simd {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
            {
                return Simd::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Simd::Avx2;
            }
        }
        Simd::Portable
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Simd::Portable => "portable",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        })
    }
}

/// The bytes of a cache line, and of what [`Lines`] moves at once.
pub(crate) const LINE: usize = 64;

/// How an instruction set moves cache lines.
pub(crate) trait Lines {
    /// Copies a line past the caches where the set can.
    ///
    /// # Safety
    /// The machine has the set; `src` is valid for reads and `dst` for writes of [`LINE`] bytes,
    /// and `dst` is aligned to [`LINE`].
    unsafe fn stream(src: *const u8, dst: *mut u8);

    /// Makes streamed lines visible to other threads in order with later stores.
    fn fence();

    /// Asks for the line at `address`, which need not be valid, to be near soon.
    fn prefetch(address: *const u8);
}
