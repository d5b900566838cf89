//! NEON. A register holds a quarter of a cache line.

use core::arch::aarch64::*;
use core::arch::asm;

use super::{Indices, Outlined, Token, Vector, token};
use crate::Tile;

/// [`Vector::stream`] uses ordinary stores, because the streaming stores of NEON write two registers at once.
#[derive(Clone, Copy)]
pub(crate) struct Neon(uint8x16_t);

token!(Neon, "neon");

impl Vector for Neon {
    const BYTES: usize = 16;

    type Mask = uint8x16_t;

    #[inline(always)]
    unsafe fn load(_: Token<Self>, src: *const u8) -> Self {
        // SAFETY: the token proves NEON; the caller guarantees that the bytes are valid.
        Neon(unsafe { vld1q_u8(src) })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the vector proves NEON; the caller guarantees that the bytes are valid.
        unsafe { vst1q_u8(dst, self.0) };
    }

    #[inline(always)]
    fn then(self, other: Self, from: usize) -> Self {
        let indices: [u8; 16] = each!(index in 16 => index as u8);
        // SAFETY: the vector proves NEON; the indices are a register's bytes.
        Neon(unsafe {
            let first = vcltq_u8(vld1q_u8(indices.as_ptr()), vdupq_n_u8(from as u8));
            vbslq_u8(first, self.0, other.0)
        })
    }

    #[inline(always)]
    fn join<const W: usize>(self, other: Self, at: usize) -> Self {
        let indices: [u8; 16] = each!(index in 16 => index as u8);
        // SAFETY: the vector proves NEON; `indices` has the size of a register.
        Neon(unsafe {
            let from = vaddq_u8(vld1q_u8(indices.as_ptr()), vdupq_n_u8(at as u8));
            vqtbl2q_u8(uint8x16x2_t(self.0, other.0), from)
        })
    }

    #[inline(always)]
    fn interleave<const W: usize>(self, other: Self) -> (Self, Self) {
        let (a, b) = (self.0, other.0);
        // SAFETY: the vector proves NEON.
        let (low, high) = unsafe {
            match W {
                1 => (vzip1q_u8(a, b), vzip2q_u8(a, b)),
                2 => {
                    let (a, b) = (vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b));
                    let (low, high) = (vzip1q_u16(a, b), vzip2q_u16(a, b));
                    (vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high))
                }
                4 => {
                    let (a, b) = (vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b));
                    let (low, high) = (vzip1q_u32(a, b), vzip2q_u32(a, b));
                    (vreinterpretq_u8_u32(low), vreinterpretq_u8_u32(high))
                }
                8 => {
                    let (a, b) = (vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b));
                    let (low, high) = (vzip1q_u64(a, b), vzip2q_u64(a, b));
                    (vreinterpretq_u8_u64(low), vreinterpretq_u8_u64(high))
                }
                _ => (a, b),
            }
        };
        (Neon(low), Neon(high))
    }

    #[inline(always)]
    fn reverse<const W: usize>(self) -> Self {
        let whole = self.0;
        // SAFETY: the vector proves NEON.
        Neon(unsafe {
            // Each half is reversed separately, then the halves are exchanged.
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
    fn mask(_: Token<Self>, bits: u64) -> uint8x16_t {
        const BIT_OF_BYTE: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        let [first, second, ..] = bits.to_le_bytes();
        // SAFETY: the token proves NEON; the array has the size of a register.
        unsafe {
            let each = vcombine_u8(vdup_n_u8(first), vdup_n_u8(second));
            vtstq_u8(each, vld1q_u8(BIT_OF_BYTE.as_ptr()))
        }
    }

    #[inline(always)]
    unsafe fn load_mask(token: Token<Self>, src: *const u8) -> uint8x16_t {
        // SAFETY: the token proves NEON; the caller guarantees that the bytes are valid.
        unsafe { vcltzq_s8(vreinterpretq_s8_u8(Self::load(token, src).0)) }
    }

    #[inline(always)]
    fn select(mask: uint8x16_t, named: Self, others: Self) -> Self {
        // SAFETY: the vector proves NEON.
        Neon(unsafe { vbslq_u8(mask, named.0, others.0) })
    }

    #[inline(always)]
    fn shuffle<const W: usize>(self, other: Self, indices: Indices<Self>) -> Self {
        // SAFETY: the vector proves NEON.
        Neon(unsafe { vqtbl2q_u8(uint8x16x2_t(self.0, other.0), indices.0.0) })
    }

    #[inline(always)]
    fn shuffle_lanes(self, indices: Indices<Self>) -> Self {
        // SAFETY: the vector proves NEON.
        Neon(unsafe { vqtbl1q_u8(self.0, indices.0.0) })
    }

    #[inline(never)]
    #[target_feature(enable = "neon")]
    unsafe fn outlined<P: Outlined>(token: Token<Self>, tile: &Tile) {
        // SAFETY: the caller upholds the `# Safety` of the part.
        unsafe { P::run(token, tile) };
    }

    #[inline(always)]
    fn prefetch_l2(address: *const u8) {
        // SAFETY: a prefetch of any address only affects caches.
        unsafe {
            asm!(
                "prfm pldl2keep, [{}]",
                in(reg) address.addr(),
                options(nomem, nostack, preserves_flags)
            );
        }
    }
}
