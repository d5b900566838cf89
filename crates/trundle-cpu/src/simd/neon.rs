//! NEON: a quarter of a line in a register.

use std::arch::aarch64::{
    uint8x16_t, vextq_u8, vld1q_u8, vreinterpretq_u8_u16, vreinterpretq_u8_u32,
    vreinterpretq_u8_u64, vreinterpretq_u16_u8, vreinterpretq_u32_u8, vreinterpretq_u64_u8,
    vrev64q_u8, vrev64q_u16, vrev64q_u32, vst1q_u8, vzip1q_u8, vzip1q_u16, vzip1q_u32, vzip1q_u64,
    vzip2q_u8, vzip2q_u16, vzip2q_u32, vzip2q_u64,
};
use std::arch::asm;

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct Neon(uint8x16_t);

/// Both halves of a zip, as elements of another type.
macro_rules! zip_as {
    ($to:ident, $from:ident, $low:ident, $high:ident, $a:expr, $b:expr) => {{
        let (a, b) = ($to($a), $to($b));
        ($from($low(a, b)), $from($high(a, b)))
    }};
}

impl Vector for Neon {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller vouches for NEON and for the bytes.
        Neon(unsafe { vld1q_u8(src) })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller vouches for NEON and for the bytes.
        unsafe { vst1q_u8(dst, self.0) };
    }

    /// A plain store: the stores that ask not to be cached are of two registers, and a hint only.
    #[inline(always)]
    unsafe fn stream(self, dst: *mut u8) {
        // SAFETY: the contract is the same.
        unsafe { self.store(dst) };
    }

    #[inline(always)]
    unsafe fn zip<const W: usize>(self, other: Self) -> (Self, Self) {
        let (a, b) = (self.0, other.0);
        // SAFETY: the caller vouches for NEON.
        let (low, high) = unsafe {
            match W {
                1 => (vzip1q_u8(a, b), vzip2q_u8(a, b)),
                2 => zip_as!(
                    vreinterpretq_u16_u8,
                    vreinterpretq_u8_u16,
                    vzip1q_u16,
                    vzip2q_u16,
                    a,
                    b
                ),
                4 => zip_as!(
                    vreinterpretq_u32_u8,
                    vreinterpretq_u8_u32,
                    vzip1q_u32,
                    vzip2q_u32,
                    a,
                    b
                ),
                8 => zip_as!(
                    vreinterpretq_u64_u8,
                    vreinterpretq_u8_u64,
                    vzip1q_u64,
                    vzip2q_u64,
                    a,
                    b
                ),
                _ => (a, b),
            }
        };
        (Neon(low), Neon(high))
    }

    #[inline(always)]
    unsafe fn reverse<const W: usize>(self) -> Self {
        let whole = self.0;
        // SAFETY: the caller vouches for NEON.
        Neon(unsafe {
            // Each half is reversed by itself; then the halves change places.
            let halves = match W {
                1 => vrev64q_u8(whole),
                2 => vreinterpretq_u8_u16(vrev64q_u16(vreinterpretq_u16_u8(whole))),
                4 => vreinterpretq_u8_u32(vrev64q_u32(vreinterpretq_u32_u8(whole))),
                8 => whole,
                _ => return self,
            };
            vextq_u8::<8>(halves, halves)
        })
    }

    #[inline(always)]
    fn prefetch(address: *const u8) {
        // SAFETY: a prefetch of any address has no effect but on caches.
        unsafe {
            asm!(
                "prfm pldl1keep, [{}]",
                in(reg) address.addr(),
                options(nomem, nostack, preserves_flags)
            );
        }
    }
}
