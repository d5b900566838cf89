//! The channels of pixels become planes.

use std::array;
use std::ops::Range;

use super::{
    From, ShuffleIndices, by_channels, head, indices, is_pixel, loaded, shuffled, tile_pixels,
};
use crate::elements::strided;
use crate::pattern::{Pattern, Space};
use crate::simd::{LINE, Token, Vector, store_part};
use crate::tile::{AffineLoop, Store, Tile};

/// How far ahead pixels are prefetched that become planes by streaming stores, in bytes (measured;
/// docs/kernels.md).
const PIXELS_AHEAD: usize = 4 << 10;

/// Planes of less take longer to begin with than to be transposed or moved one by one (measured;
/// docs/kernels.md).
const LEAST_PLANE_BYTES: usize = 4 * LINE;

/// The same for elements of 4 and 8 bytes, of which a vector has few.
const LEAST_WIDE_PLANE_BYTES: usize = 8 * LINE;

/// The neighbours of a pixel, in either order, become planes.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let (width, (channels, pixels)) = (pattern.width, pattern.lens);
    let least = if width < 4 { LEAST_PLANE_BYTES } else { LEAST_WIDE_PLANE_BYTES };
    is_pixel(width, channels)
        && pixels * width >= least
        && pattern.row_strides.0.unsigned_abs() == width
        && pattern.col_strides.0.unsigned_abs() == channels * width
        && pattern.col_strides.1 == width.cast_signed()
}

/// Tiles of all channels.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (channels, _)) = (space.pattern.width, space.pattern.lens);
    (channels, tile_pixels(width, channels))
}

/// Copies pixels to planes.
///
/// # Safety
/// As [`Call::Tile`](crate::Call::Tile); the rows are channels, neighbours in the source; the
/// columns are pixels, neighbours in the destination, and a multiple of the width apart in the
/// source.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let channels = tile.cols.src_stride.unsigned_abs() / tile.width;
    // Parts of ragged tiles may lack channels.
    let whole = tile.rows.len == channels && tile.cols.len * tile.width >= V::BYTES;
    // SAFETY: the contract is the same.
    unsafe {
        if whole {
            by_channels!(token, tile, tile.width, channels, to_planes::<V>);
        } else {
            strided::run(tile);
        }
    }
}

/// # Safety
/// As [`run`], for all of N channels of W bytes and a vector of pixels at least.
#[inline(always)]
unsafe fn to_planes<V: Vector, const W: usize, const N: usize, const SHUFFLES: usize>(
    token: Token<V>,
    tile: &Tile,
) {
    let tile = tile.rising();
    let planes = Planes::<V, W, N, SHUFFLES> {
        src: tile.src,
        planes: array::from_fn(|channel| {
            tile.dst.wrapping_offset(channel.cast_signed() * tile.rows.dst_stride)
        }),
        pixels: tile.cols,
        indices: const { &indices::<SHUFFLES>(From::Pixels, N, W, V::BYTES) },
        token,
    };
    let (pixels, line) = (tile.cols.len, LINE / W);
    let heads = planes.planes.map(|plane| head::<W>(plane, pixels * W, tile.store));
    let streamed = tile.store == Store::Streaming && heads.iter().all(Option::is_some);
    let mut heads = heads.map(|head| head.unwrap_or(0));
    if !streamed {
        heads = [heads[0]; N];
    }
    let lines = (pixels - heads.into_iter().max().unwrap_or(0)) / line;
    // SAFETY: every vector lies within the tile's pixels and planes.
    unsafe {
        for (channel, head) in heads.into_iter().enumerate() {
            planes.edge(channel, 0..head);
        }
        if heads == [heads[0]; N] {
            planes.together(heads[0]..heads[0] + lines * line, streamed);
        } else {
            planes.apart(&heads, lines);
        }
        for (channel, head) in heads.into_iter().enumerate() {
            planes.edge(channel, head + lines * line..pixels);
        }
    }
}

/// Planes that are made from pixels.
struct Planes<V, const W: usize, const N: usize, const SHUFFLES: usize> {
    src: *const u8,
    planes: [*mut u8; N],
    pixels: AffineLoop,
    indices: &'static ShuffleIndices<SHUFFLES>,
    token: Token<V>,
}

impl<V: Vector, const W: usize, const N: usize, const SHUFFLES: usize> Planes<V, W, N, SHUFFLES> {
    /// Copies pixels to all planes at a time.
    ///
    /// # Safety
    /// The pixels are the tile's, as many as fill whole vectors.
    /// If they are streamed, all planes have a line there.
    #[inline(always)]
    unsafe fn together(&self, pixels: Range<usize>, streamed: bool) {
        let each = V::BYTES / W;
        let count = pixels.len() / each;
        for turn in 0..count {
            // The source is read from its front, which is what the hardware prefetcher predicts
            // best.
            let turn = if self.falls() { count - 1 - turn } else { turn };
            let pixel = pixels.start + turn * each;
            if streamed {
                self.prefetch_ahead(pixel);
            }
            // SAFETY: by the caller.
            unsafe {
                let vectors = self.vectors(pixel);
                for (channel, plane) in self.planes.into_iter().enumerate() {
                    let (vector, dst) = (self.shuffled(&vectors, channel), plane.add(pixel * W));
                    if streamed { vector.stream(dst) } else { vector.store(dst) }
                }
            }
        }
    }

    /// Copies pixels to planes whose lines do not begin with the same pixel: the first at `heads`.
    ///
    /// # Safety
    /// The pixels of so many lines are the tile's.
    #[inline(always)]
    unsafe fn apart(&self, heads: &[usize; N], lines: usize) {
        let line = LINE / W;
        for first in (0..lines * line).step_by(line) {
            if !self.falls() {
                for part in (0..line).step_by(V::BYTES / W) {
                    self.prefetch_ahead(first + part);
                }
            }
            for (channel, head) in heads.iter().enumerate() {
                for part in (0..line).step_by(V::BYTES / W) {
                    let pixel = head + first + part;
                    // SAFETY: by the caller; parts of lines are aligned as the lines are.
                    unsafe {
                        let vector = self.shuffled(&self.vectors(pixel), channel);
                        vector.stream(self.planes[channel].add(pixel * W));
                    }
                }
            }
        }
    }

    /// The vectors of the pixels from `pixel` on, as many as a vector has elements.
    ///
    /// # Safety
    /// As many pixels as a vector has elements are the tile's.
    #[inline(always)]
    unsafe fn vectors(&self, pixel: usize) -> [V; N] {
        let src = self.front(pixel);
        // SAFETY: the vectors are the bytes of these pixels.
        unsafe { loaded(self.token, &array::from_fn(|index| src.wrapping_add(index * V::BYTES))) }
    }

    /// Where the pixels from `pixel` on, as many as a vector has elements, begin in the source.
    #[inline(always)]
    fn front(&self, pixel: usize) -> *const u8 {
        let first = if self.falls() { pixel + V::BYTES / W - 1 } else { pixel };
        self.src.wrapping_offset(first.cast_signed() * self.pixels.src_stride)
    }

    /// Prefetches what lies [`PIXELS_AHEAD`] behind these pixels in the source.
    #[inline(always)]
    fn prefetch_ahead(&self, pixel: usize) {
        let src = self.front(pixel).wrapping_add(PIXELS_AHEAD);
        for index in 0..N {
            V::prefetch(src.wrapping_add(index * V::BYTES));
        }
    }

    /// The vector of a plane.
    #[inline(always)]
    fn shuffled(&self, vectors: &[V; N], channel: usize) -> V {
        let vector = shuffled::<V, W, N, SHUFFLES>(vectors, self.indices, channel);
        if self.falls() { vector.reverse::<W>() } else { vector }
    }

    /// Whether the pixels fall in the source.
    #[inline(always)]
    fn falls(&self) -> bool {
        self.pixels.src_stride < 0
    }

    /// Copies a few pixels of one plane.
    ///
    /// # Safety
    /// The pixels are the tile's, which has as many as a vector has elements.
    #[inline(always)]
    unsafe fn edge(&self, channel: usize, pixels: Range<usize>) {
        let each = V::BYTES / W;
        let mut pixel = pixels.start;
        while pixel < pixels.end {
            let first = pixel.min(self.pixels.len - each);
            let end = (first + each).min(pixels.end);
            // SAFETY: the vector is a part of the tile, and what is written a part of the vector.
            unsafe {
                let part = (pixel - first) * W..(end - first) * W;
                let dst = self.planes[channel].add(pixel * W);
                store_part(self.shuffled(&self.vectors(first), channel), part, dst);
            }
            pixel = end;
        }
    }
}
