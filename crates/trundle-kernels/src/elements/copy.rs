//! Elements copied one by one.

use std::mem::MaybeUninit;

/// N bytes of elements on their way. Elements may hold padding, which is no value of any integer.
pub(crate) type Opaque<const N: usize> = MaybeUninit<[u8; N]>;

/// Calls `$body` with the constant `W` equal to `$width` where a constant width is worth code of
/// its own, and `$other` for any other width.
macro_rules! by_width {
    ($width:expr, $W:ident => $body:expr, $other:expr) => {
        match $width {
            1 => {
                const $W: usize = 1;
                $body
            }
            2 => {
                const $W: usize = 2;
                $body
            }
            3 => {
                const $W: usize = 3;
                $body
            }
            4 => {
                const $W: usize = 4;
                $body
            }
            6 => {
                const $W: usize = 6;
                $body
            }
            8 => {
                const $W: usize = 8;
                $body
            }
            12 => {
                const $W: usize = 12;
                $body
            }
            16 => {
                const $W: usize = 16;
                $body
            }
            _ => $other,
        }
    };
}
pub(crate) use by_width;

/// Copies one element of W bytes.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of W bytes.
#[inline(always)]
pub(crate) unsafe fn copy<const W: usize>(src: *const u8, dst: *mut u8) {
    // SAFETY: the caller vouches for both.
    unsafe { dst.cast::<Opaque<W>>().write_unaligned(src.cast::<Opaque<W>>().read_unaligned()) };
}

/// Copies one element of N to 2 · N bytes: its first N bytes and its last.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `width` bytes, and they do not overlap.
#[inline(always)]
pub(crate) unsafe fn ends<const N: usize>(src: *const u8, dst: *mut u8, width: usize) {
    // SAFETY: both moves stay within the element.
    unsafe {
        let first = src.cast::<Opaque<N>>().read_unaligned();
        let last = src.add(width - N).cast::<Opaque<N>>().read_unaligned();
        dst.cast::<Opaque<N>>().write_unaligned(first);
        dst.add(width - N).cast::<Opaque<N>>().write_unaligned(last);
    }
}

/// The elements of a tile.
pub(crate) trait Elements {
    /// Calls `copy` for where each is read and written.
    ///
    /// # Safety
    /// The tile's elements are valid.
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8));
}

/// Copies elements of `width` bytes.
///
/// # Safety
/// Each is valid for reads in the source and for writes in the destination, and no two overlap.
#[inline(always)]
pub(crate) unsafe fn copy_each(width: usize, elements: &impl Elements) {
    by_width!(
        width,
        // SAFETY: the contract is the same; W is the width.
        W => unsafe { elements.for_each(|src, dst| copy::<W>(src, dst)) },
        // SAFETY: the contract is the same.
        unsafe {
            match width {
                5..=7 => elements.for_each(|src, dst| ends::<4>(src, dst, width)),
                9..=15 => elements.for_each(|src, dst| ends::<8>(src, dst, width)),
                17..=32 => elements.for_each(|src, dst| ends::<16>(src, dst, width)),
                33..=63 => elements.for_each(|src, dst| ends::<32>(src, dst, width)),
                _ => elements
                    .for_each(|src, dst| std::ptr::copy_nonoverlapping(src, dst, width)),
            }
        }
    );
}
