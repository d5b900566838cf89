//! Channels: the few elements of a pixel, which are neighbours where pixels follow each other, and
//! a plane each where planes do.
//!
//! N vectors of whole pixels hold the same bytes as one vector of each of the N planes. So each
//! vector of either side is shuffled from N vectors of the other, by indices that are always the
//! same:
//!
//! ```text
//! of two pixels' vectors:   r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3
//! shuffle both               r0 r1 r2 -
//! and from the third        r0 r1 r2 r3
//! ```

// Kernels.
pub(crate) mod deinterleaved;
pub(crate) mod interleaved;

use crate::simd::{Indices, LINE, Token, Vector};
use crate::tile::Store;

/// The most channels that are worth their picks: each vector takes one less.
pub(crate) const MOST_CHANNELS: usize = 8;

/// Of results that stay in the caches, those of less are not worth the work of beginning with a
/// whole line (a guess).
const LEAST_ALIGNED_BYTES: usize = 4096;

/// Calls a kernel for a number of elements of `$width` bytes with that width and that number as
/// constants `W` and `N`, and the number of shuffles that make N vectors, `SHUFFLES`.
macro_rules! by_channels {
    ($token:expr, $tile:expr, $width:expr, $channels:expr, $kernel:ident::<$V:ident>) => {
        match $width {
            1 => by_channels!($token, $tile, $channels, $kernel::<$V, 1>),
            2 => by_channels!($token, $tile, $channels, $kernel::<$V, 2>),
            4 => by_channels!($token, $tile, $channels, $kernel::<$V, 4>),
            8 => by_channels!($token, $tile, $channels, $kernel::<$V, 8>),
            _ => strided::run($tile),
        }
    };
    ($token:expr, $tile:expr, $channels:expr, $kernel:ident::<$V:ident, $W:literal>) => {
        match $channels {
            2 => $kernel::<$V, $W, 2, 2>($token, $tile),
            3 => $kernel::<$V, $W, 3, 6>($token, $tile),
            4 => $kernel::<$V, $W, 4, 12>($token, $tile),
            5 => $kernel::<$V, $W, 5, 20>($token, $tile),
            6 => $kernel::<$V, $W, 6, 30>($token, $tile),
            7 => $kernel::<$V, $W, 7, 42>($token, $tile),
            8 => $kernel::<$V, $W, 8, 56>($token, $tile),
            _ => strided::run($tile),
        }
    };
}
use by_channels;

/// Pixels are put together into tiles of about this many bytes: whole lines in every plane.
const PIXELS_BYTES: usize = 64 << 10;

/// How many pixels a tile has.
fn tile_pixels(width: usize, channels: usize) -> usize {
    PIXELS_BYTES / (channels * width * LINE) * LINE
}

/// Whether elements of a pixel are worth to be shuffled in registers: a few, of less than a line.
fn is_pixel(width: usize, channels: usize) -> bool {
    matches!(width, 1 | 2 | 4 | 8)
        && (2..=MOST_CHANNELS).contains(&channels)
        && channels * width < LINE
}

/// The shuffle indices of N vectors: N - 1 for each, as it is shuffled from the first two, then
/// from what is there and the third, and so on.
type ShuffleIndices<const SHUFFLES: usize> = [[u8; LINE]; SHUFFLES];

/// The side that is read.
#[derive(Clone, Copy)]
enum From {
    Pixels,
    Planes,
}

/// The shuffle indices in vectors of `bytes` bytes, for `channels` elements of `width` bytes.
const fn indices<const SHUFFLES: usize>(
    from: From,
    channels: usize,
    width: usize,
    bytes: usize,
) -> ShuffleIndices<SHUFFLES> {
    assert!(SHUFFLES == channels * (channels - 1));
    let mut indices = [[0; LINE]; SHUFFLES];
    let mut at = 0;
    while at < SHUFFLES * bytes {
        let (pick, byte) = (at / bytes, at % bytes);
        let (index, added) = (pick / (channels - 1), pick % (channels - 1) + 1);
        let (vector, place) = match from {
            From::Pixels => {
                let source = (byte / width * channels + index) * width + byte % width;
                (source / bytes, source % bytes)
            }
            From::Planes => {
                let element = (index * bytes + byte) / width;
                (element % channels, element / channels * width + byte % width)
            }
        };
        indices[pick][byte] = if vector == added {
            (bytes + place) as u8
        } else if vector == 0 && added == 1 {
            place as u8
        } else {
            // What was shuffled before stays where it is.
            byte as u8
        };
        at += 1;
    }
    indices
}

/// The vectors at these addresses.
///
/// # Safety
/// Each is valid for reads of a vector.
#[inline(always)]
unsafe fn loaded<V: Vector, const N: usize>(token: Token<V>, src: &[*const u8; N]) -> [V; N] {
    // SAFETY: by the caller.
    unsafe {
        // No closure touches vectors: the compiler does not build those with the set's
        // instructions.
        let mut vectors = [V::load(token, src[0]); N];
        for (vector, src) in vectors.iter_mut().zip(src) {
            *vector = V::load(token, *src);
        }
        vectors
    }
}

/// Vector `index` of those that the indices are for, of N elements of W bytes.
#[inline(always)]
fn shuffled<V: Vector, const W: usize, const N: usize, const SHUFFLES: usize>(
    vectors: &[V; N],
    indices: &ShuffleIndices<SHUFFLES>,
    index: usize,
) -> V {
    let mut there = vectors[0];
    for (added, vector) in vectors[1..].iter().enumerate() {
        let indices = Indices::new(there.token(), &indices[index * (N - 1) + added]);
        there = there.shuffle::<W>(*vector, indices);
    }
    there
}

/// How many elements lie before the first whole line of `bytes` bytes, if lines hold whole elements
/// and it is worth to begin with one.
#[inline(always)]
fn head<const W: usize>(dst: *const u8, bytes: usize, store: Store) -> Option<usize> {
    let before = dst.align_offset(LINE);
    let worth = store == Store::Streaming || bytes >= LEAST_ALIGNED_BYTES;
    (worth && before <= bytes && before.is_multiple_of(W)).then_some(before / W)
}
