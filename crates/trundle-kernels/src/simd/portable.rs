//! Plain Rust, for every machine; the compiler makes of it what the machine has.

use std::array;
use std::mem::MaybeUninit;

use super::{Indices, Outlined, Token, Vector, token};
use crate::Tile;

/// 16 bytes, what most machines hold in a register. Each may be padding of an element.
#[derive(Clone, Copy)]
pub(crate) struct Portable([MaybeUninit<u8>; 16]);

token!(Portable);

impl Vector for Portable {
    const BYTES: usize = 16;
    const HAS_SHUFFLE: bool = false;

    type Mask = [bool; 16];

    #[inline(always)]
    unsafe fn load(_: Token<Self>, src: *const u8) -> Self {
        // SAFETY: the caller vouches for the bytes.
        Portable(unsafe { src.cast::<[MaybeUninit<u8>; 16]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller vouches for the bytes.
        unsafe { dst.cast::<[MaybeUninit<u8>; 16]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    fn interleave<const W: usize>(self, other: Self) -> (Self, Self) {
        let interleaved = |place: usize| {
            // Elements alternate, so each pair of them takes one from either side.
            let (pair, byte) = (place / (2 * W), place % W);
            let from = pair * W + byte;
            if (place / W).is_multiple_of(2) { self.0[from] } else { other.0[from] }
        };
        (
            Portable(array::from_fn(interleaved)),
            Portable(array::from_fn(|place| interleaved(place + 16))),
        )
    }

    #[inline(always)]
    fn reverse<const W: usize>(self) -> Self {
        Portable(array::from_fn(|place| self.0[16 - W - place / W * W + place % W]))
    }

    #[inline(always)]
    fn mask(_: Token<Self>, bits: u64) -> [bool; 16] {
        array::from_fn(|place| bits >> place & 1 == 1)
    }

    #[inline(always)]
    unsafe fn load_mask(_: Token<Self>, src: *const u8) -> [bool; 16] {
        // SAFETY: the caller vouches for the bytes.
        array::from_fn(|place| unsafe { src.add(place).read() } > 127)
    }

    #[inline(always)]
    fn select(mask: [bool; 16], named: Self, others: Self) -> Self {
        let of = |place: usize| if mask[place] { named.0[place] } else { others.0[place] };
        Portable(array::from_fn(of))
    }

    #[inline(always)]
    fn shuffle<const W: usize>(self, other: Self, indices: Indices<Self>) -> Self {
        Portable(array::from_fn(|byte| {
            // SAFETY: indices have values.
            let place = usize::from(unsafe { indices.0.0[byte].assume_init() });
            if place < 16 { self.0[place] } else { other.0[place % 16] }
        }))
    }

    #[inline(never)]
    unsafe fn outlined<P: Outlined>(token: Token<Self>, tile: &Tile) {
        // SAFETY: the contract is the same.
        unsafe { P::run(token, tile) };
    }

    #[inline(always)]
    fn prefetch(_address: *const u8) {}

    #[inline(always)]
    fn prefetch_l2(_address: *const u8) {}
}
