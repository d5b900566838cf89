//! Kernels for pixels with a few channels, which are adjacent in interleaved data and separate planes otherwise.
//!
//! N vectors of whole pixels hold the same elements as N vectors of planes. Each destination vector is shuffled from N
//! source vectors, always with the same indices:
//!
//! ```text
//! three vectors of pixels:          r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3
//! shuffle the first and the second: r0 r1 r2 -
//! shuffle this and the third:       r0 r1 r2 r3
//! ```

// Kernels.
pub(crate) mod deinterleaved;
pub(crate) mod interleaved;

// Parts.
mod within_lanes;

use crate::pattern::Pattern;
use crate::simd::{Indices, LINE, Token, Vector};
use crate::tile::StoreKind;

/// The maximum number of channels for which shuffles are fast: a vector takes one fewer than there are channels.
pub(crate) const MOST_CHANNELS: usize = 8;

/// Smaller results that stay in the caches are not aligned to lines (a guess).
const LEAST_ALIGNED_BYTES: usize = 4096;

/// Calls a kernel with the constants `W` (the width of an element), `N` (the number of channels) and `SHUFFLES`
/// (the number of shuffles for N vectors).
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

/// The approximate size of a tile of pixels: whole cache lines in every plane.
const PIXELS_BYTES: usize = 64 << 10;

fn tile_pixels(width: usize, channels: usize) -> usize {
    PIXELS_BYTES / (channels * width * LINE) * LINE
}

/// Whether kernels for vectors of `vector_bytes` bytes move pixels by shuffles within lanes: those for AVX2.
fn is_within_lanes(vector_bytes: usize) -> bool {
    vector_bytes == 32
}

/// Whether a tile is moved by shuffles within lanes, which are faster than exchanging bits of indices.
pub(crate) fn moves_within_lanes(pattern: &Pattern, vector_bytes: usize) -> bool {
    is_within_lanes(vector_bytes)
        && (deinterleaved::applies(pattern, vector_bytes)
            || interleaved::applies(pattern, vector_bytes))
}

/// Pixels are shuffled in registers if they have few channels and are smaller than a cache line.
fn is_pixel(width: usize, channels: usize) -> bool {
    matches!(width, 1 | 2 | 4 | 8)
        && (2..=MOST_CHANNELS).contains(&channels)
        && channels * width < LINE
}

/// The shuffle indices, N - 1 for each of N vectors. The first two source vectors are shuffled, then the result with
/// the third, and so on.
type ShuffleIndices<const SHUFFLES: usize> = [[u8; LINE]; SHUFFLES];

#[derive(Clone, Copy)]
enum From {
    Pixels,
    Planes,
}

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
        let (vector, position) = match from {
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
            (bytes + position) as u8
        } else if vector == 0 && added == 1 {
            position as u8
        } else {
            // Bytes of earlier shuffles stay.
            byte as u8
        };
        at += 1;
    }
    indices
}

/// Loads one vector from each address.
///
/// # Safety
/// Each address is valid for reads of a vector.
#[inline(always)]
unsafe fn loaded<V: Vector, const N: usize>(token: Token<V>, src: &[*const u8; N]) -> [V; N] {
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe {
        // Not a closure: the compiler would not compile it with the instructions of the set.
        let mut vectors = [V::load(token, src[0]); N];
        for (vector, src) in vectors.iter_mut().zip(src) {
            *vector = V::load(token, *src);
        }
        vectors
    }
}

/// Makes destination vector `index`.
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

/// Returns the number of elements before the first whole line of a destination, if lines begin with an element and
/// aligning to them is worthwhile.
#[inline(always)]
fn head<const W: usize>(dst: *const u8, bytes: usize, store: StoreKind) -> Option<usize> {
    let before = dst.align_offset(LINE);
    let worth = store == StoreKind::Streaming || bytes >= LEAST_ALIGNED_BYTES;
    (worth && before <= bytes && before.is_multiple_of(W)).then_some(before / W)
}
