//! One element copied.

use std::mem::MaybeUninit;

/// N bytes of elements on their way. Elements may hold padding, which is no value of any integer.
type Opaque<const N: usize> = MaybeUninit<[u8; N]>;

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
