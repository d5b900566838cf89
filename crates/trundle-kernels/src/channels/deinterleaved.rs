//! Deinterleaves pixels: each channel becomes a plane.

use core::array;
use core::ops::Range;

use super::within_lanes::ToPlanes;
use super::{
    From, ShuffleIndices, by_channels, head, indices, is_pixel, is_within_lanes, loaded, shuffled,
    tile_pixels,
};
use crate::elements::{small, strided};
use crate::pattern::{Pattern, Space};
use crate::simd::{LINE, Token, Vector, store_part};
use crate::tile::{AffineLoop, StoreKind, Tile};

/// Prefetch distance in bytes, with streaming stores (measured; docs/notes/kernels.md).
pub(super) const PIXELS_AHEAD: usize = 4 << 10;

/// Minimum size of a plane in bytes. For shorter planes, a transpose or moving one element at a time is faster
/// (measured; docs/notes/kernels.md).
const LEAST_PLANE_BYTES: usize = 4 * LINE;

/// The same for elements of 4 and 8 bytes. A vector holds only a few of them.
const LEAST_WIDE_PLANE_BYTES: usize = 8 * LINE;

/// The same for shuffles within lanes, in pixels. A lane has only two elements of 8 bytes, so few of them are moved one
/// at a time.
const LEAST_PIXELS: usize = 32;

/// Applies if the elements of a pixel, in either order, become planes.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let (width, (channels, pixels)) = (pattern.width, pattern.lens);
    let least = if width < 4 { LEAST_PLANE_BYTES } else { LEAST_WIDE_PLANE_BYTES };
    let is_small = || small::applies(pattern, vector_bytes);
    is_pixel(width, channels)
        && pattern.row_strides.0.unsigned_abs() == width
        && pattern.col_strides.0.unsigned_abs() == channels * width
        && pattern.col_strides.1 == width.cast_signed()
        && match is_within_lanes(vector_bytes) {
            true => pixels >= LEAST_PIXELS && (width < 8 || !is_small()),
            false => pixels * width >= least && !is_small(),
        }
}

/// A tile has all channels.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (channels, _)) = (space.pattern.width, space.pattern.lens);
    (channels, tile_pixels(width, channels))
}

/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile). The rows are channels, neighbours in the source. The columns are
/// pixels, neighbours in the destination, and a multiple of the width apart in the source.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let channels = tile.cols.src_stride.unsigned_abs() / tile.width;
    // A part of a ragged tile may lack channels.
    let whole = tile.rows.len == channels && tile.cols.len * tile.width >= V::BYTES;
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe {
        if whole {
            by_channels!(token, tile, tile.width, channels, to_planes::<V>);
        } else {
            strided::run(tile);
        }
    }
}

/// # Safety
/// As [`run`], for all N channels of W bytes and at least one vector of pixels.
#[inline(always)]
unsafe fn to_planes<V: Vector, const W: usize, const N: usize, const SHUFFLES: usize>(
    token: Token<V>,
    tile: &Tile,
) {
    if V::WITHIN_LANES {
        // SAFETY: the caller upholds `# Safety`.
        return unsafe { V::outlined::<ToPlanes<W, N>>(token, tile) };
    }
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
    let streamed = tile.store == StoreKind::Streaming && heads.iter().all(Option::is_some);
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

struct Planes<V, const W: usize, const N: usize, const SHUFFLES: usize> {
    src: *const u8,
    planes: [*mut u8; N],
    pixels: AffineLoop,
    indices: &'static ShuffleIndices<SHUFFLES>,
    token: Token<V>,
}

impl<V: Vector, const W: usize, const N: usize, const SHUFFLES: usize> Planes<V, W, N, SHUFFLES> {
    /// Copies pixels to all planes at once.
    ///
    /// # Safety
    /// The pixels belong to the tile and fill whole vectors. If `streamed`, the first pixel begins a line in all
    /// planes.
    #[inline(always)]
    unsafe fn together(&self, pixels: Range<usize>, streamed: bool) {
        let each = V::BYTES / W;
        let count = pixels.len() / each;
        for turn in 0..count {
            // The source is read in ascending order, which the hardware prefetcher predicts best.
            let turn = if self.falls() { count - 1 - turn } else { turn };
            let pixel = pixels.start + turn * each;
            if streamed {
                self.prefetch_ahead(pixel);
            }
            // SAFETY: the caller guarantees that the bytes are valid.
            unsafe {
                let vectors = self.vectors(pixel);
                for (channel, plane) in self.planes.into_iter().enumerate() {
                    let (vector, dst) = (self.shuffled(&vectors, channel), plane.add(pixel * W));
                    if streamed { vector.stream(dst) } else { vector.store(dst) }
                }
            }
        }
    }

    /// Copies pixels to planes whose lines begin at different pixels, the first of them at `heads`.
    ///
    /// # Safety
    /// The pixels of the lines belong to the tile.
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
                    // SAFETY: the caller guarantees that the pixels are valid. Vectors are aligned, because lines are.
                    unsafe {
                        let vector = self.shuffled(&self.vectors(pixel), channel);
                        vector.stream(self.planes[channel].add(pixel * W));
                    }
                }
            }
        }
    }

    /// Loads all channels of one vector's worth of pixels.
    ///
    /// # Safety
    /// The pixels belong to the tile.
    #[inline(always)]
    unsafe fn vectors(&self, pixel: usize) -> [V; N] {
        let src = self.front(pixel);
        // SAFETY: the vectors are the bytes of these pixels.
        unsafe { loaded(self.token, &array::from_fn(|index| src.wrapping_add(index * V::BYTES))) }
    }

    /// Returns the lowest source address of one vector's worth of pixels.
    #[inline(always)]
    fn front(&self, pixel: usize) -> *const u8 {
        let first = if self.falls() { pixel + V::BYTES / W - 1 } else { pixel };
        self.src.wrapping_offset(first.cast_signed() * self.pixels.src_stride)
    }

    #[inline(always)]
    fn prefetch_ahead(&self, pixel: usize) {
        let src = self.front(pixel).wrapping_add(PIXELS_AHEAD);
        for index in 0..N {
            V::prefetch(src.wrapping_add(index * V::BYTES));
        }
    }

    #[inline(always)]
    fn shuffled(&self, vectors: &[V; N], channel: usize) -> V {
        let vector = shuffled::<V, W, N, SHUFFLES>(vectors, self.indices, channel);
        if self.falls() { vector.reverse::<W>() } else { vector }
    }

    #[inline(always)]
    fn falls(&self) -> bool {
        self.pixels.src_stride < 0
    }

    /// Copies a few pixels to one plane.
    ///
    /// # Safety
    /// The pixels belong to the tile, which has at least as many pixels as a vector has elements.
    #[inline(always)]
    unsafe fn edge(&self, channel: usize, pixels: Range<usize>) {
        let each = V::BYTES / W;
        let mut pixel = pixels.start;
        while pixel < pixels.end {
            let first = pixel.min(self.pixels.len - each);
            let end = (first + each).min(pixels.end);
            // SAFETY: the vector is a part of the tile, and the written bytes are a part of the vector.
            unsafe {
                let part = (pixel - first) * W..(end - first) * W;
                let dst = self.planes[channel].add(pixel * W);
                store_part(self.shuffled(&self.vectors(first), channel), part, dst);
            }
            pixel = end;
        }
    }
}
