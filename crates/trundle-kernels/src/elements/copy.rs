//! Copies of single elements.

use core::mem::MaybeUninit;

/// N bytes of elements. Elements may contain padding, so the bytes may be uninitialized.
pub(crate) type Opaque<const N: usize> = MaybeUninit<[u8; N]>;

/// Evaluates `$body` with a constant `W` equal to `$width` for the listed widths, or else the common ones. For other
/// widths, evaluates `$other`.
macro_rules! by_width {
    ([$($known:literal)*] $width:expr, $W:ident => $body:expr, $other:expr) => {
        match $width {
            $($known => {
                const $W: usize = $known;
                $body
            })*
            _ => $other,
        }
    };
    ($width:expr, $W:ident => $body:expr, $other:expr) => {
        by_width!([1 2 3 4 6 8 12 16] $width, $W => $body, $other)
    };
}
pub(crate) use by_width;

/// # Safety
/// `src` is valid for reads and `dst` for writes of W bytes.
#[inline(always)]
pub(crate) unsafe fn copy<const W: usize>(src: *const u8, dst: *mut u8) {
    // SAFETY: the caller guarantees that both are valid.
    unsafe { dst.cast::<Opaque<W>>().write_unaligned(src.cast::<Opaque<W>>().read_unaligned()) };
}

/// Copies an element of N to 2 · N bytes as its first N bytes and its last N bytes.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `width` bytes, and they do not overlap.
#[inline(always)]
pub(crate) unsafe fn ends<const N: usize>(src: *const u8, dst: *mut u8, width: usize) {
    // SAFETY: both copies stay within the element.
    unsafe {
        let first = src.cast::<Opaque<N>>().read_unaligned();
        let last = src.add(width - N).cast::<Opaque<N>>().read_unaligned();
        dst.cast::<Opaque<N>>().write_unaligned(first);
        dst.add(width - N).cast::<Opaque<N>>().write_unaligned(last);
    }
}

/// Copies up to 64 bytes as their first and their last bytes, which overlap: a call of `memcpy` takes longer.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `bytes` bytes, and they do not overlap.
#[inline(always)]
pub(crate) unsafe fn up_to_line(src: *const u8, dst: *mut u8, bytes: usize) {
    // SAFETY: each arm copies `bytes` bytes, which the caller guarantees to be valid.
    unsafe {
        match bytes {
            0 => {}
            1 => copy::<1>(src, dst),
            2..4 => ends::<2>(src, dst, bytes),
            4..8 => ends::<4>(src, dst, bytes),
            8..16 => ends::<8>(src, dst, bytes),
            16..32 => ends::<16>(src, dst, bytes),
            _ => ends::<32>(src, dst, bytes),
        }
    }
}

pub(crate) trait Elements {
    /// Calls `copy` for each element.
    ///
    /// # Safety
    /// All elements of the tile are valid.
    unsafe fn for_each(&self, copy: impl Fn(*const u8, *mut u8));
}

/// Copies elements of `width` bytes.
///
/// # Safety
/// Each element is valid for reads in the source and for writes in the destination, and no two elements overlap.
#[inline(always)]
pub(crate) unsafe fn copy_each(width: usize, elements: &impl Elements) {
    by_width!(
        width,
        // SAFETY: the caller upholds `# Safety`: all elements are valid. W is the width.
        W => unsafe { elements.for_each(|src, dst| copy::<W>(src, dst)) },
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        unsafe {
            match width {
                5..=7 => elements.for_each(|src, dst| ends::<4>(src, dst, width)),
                9..=15 => elements.for_each(|src, dst| ends::<8>(src, dst, width)),
                17..=32 => elements.for_each(|src, dst| ends::<16>(src, dst, width)),
                33..=63 => elements.for_each(|src, dst| ends::<32>(src, dst, width)),
                _ => elements
                    .for_each(|src, dst| core::ptr::copy_nonoverlapping(src, dst, width)),
            }
        }
    );
}
