//! Interleaves planes: they become the channels of pixels.

use core::array;
use core::ops::Range;

use super::within_lanes::ToPixels;
use super::{
    From, ShuffleIndices, by_channels, head, indices, is_pixel, is_within_lanes, loaded, shuffled,
    tile_pixels,
};
use crate::elements::strided;
use crate::pattern::{Pattern, Space};
use crate::simd::{LINE, Token, Vector, store_part};
use crate::tile::{StoreKind, Tile};

/// Prefetch distance for each plane, in bytes (measured; docs/notes/kernels.md).
pub(super) const PLANES_AHEAD: usize = 2 << 10;

/// Applies if planes become the neighbours of a pixel.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let (width, (pixels, channels)) = (pattern.width, pattern.lens);
    let least = if is_within_lanes(vector_bytes) { vector_bytes } else { LINE };
    is_pixel(width, channels)
        && pixels * width >= least
        && pattern.row_strides.0.unsigned_abs() == width
        && pattern.row_strides.1 == (channels * width).cast_signed()
        && pattern.col_strides.1 == width.cast_signed()
}

/// A tile has all channels.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let (width, (_, channels)) = (space.pattern.width, space.pattern.lens);
    (tile_pixels(width, channels), channels)
}

/// Copies planes to pixels.
///
/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile). The rows are pixels, neighbours in the source, and a multiple of the
/// width apart in the destination. The columns are channels, neighbours in the destination.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    let channels = tile.rows.dst_stride.unsigned_abs() / tile.width;
    // A part of a ragged tile may lack channels.
    let whole = tile.cols.len == channels && tile.rows.len * tile.width >= V::BYTES;
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe {
        if whole {
            by_channels!(token, tile, tile.width, channels, to_pixels::<V>);
        } else {
            strided::run(tile);
        }
    }
}

/// # Safety
/// As [`run`], for all N channels of W bytes and at least one vector of pixels.
#[inline(always)]
unsafe fn to_pixels<V: Vector, const W: usize, const N: usize, const SHUFFLES: usize>(
    token: Token<V>,
    tile: &Tile,
) {
    // Few shuffles: memory is slower, or as many pieces are (measured; docs/notes/kernels.md).
    let is_fast = W == 8 && matches!(N, 3 | 5) || N <= 4 && tile.store == StoreKind::Streaming;
    if V::WITHIN_LANES && !is_fast {
        // SAFETY: the caller upholds `# Safety`.
        return unsafe { V::outlined::<ToPixels<W, N>>(token, tile) };
    }
    let indices = const { &indices::<SHUFFLES>(From::Planes, N, W, V::BYTES) };
    let pixels = Pixels::<V, W, N> { token, tile };
    let (each, elements) = (V::BYTES / W, tile.rows.len * N);
    let head = head::<W>(tile.dst, elements * W, tile.store);
    let streamed = tile.store == StoreKind::Streaming && head.is_some();
    let head = head.unwrap_or(0);
    let periods = (elements - head) / (each * N);
    // If the first line begins within a pixel, the channels before that point come from the next pixel.
    let (pixel, channel) = (head / N, head % N);
    let planes: [_; N] = array::from_fn(|index| {
        let channel = channel + index;
        pixels.src(channel % N, pixel + channel / N)
    });
    // SAFETY: every vector lies within the tile's pixels and planes.
    unsafe {
        pixels.edge(indices, 0..head);
        for turn in 0..periods {
            // The source is read in ascending order, which the hardware prefetcher predicts best.
            let falls = tile.rows.src_stride < 0;
            let period = if falls { periods - 1 - turn } else { turn };
            let ahead = (period * each).cast_signed() * tile.rows.src_stride;
            let planes = planes.map(|plane| plane.wrapping_offset(ahead));
            if streamed {
                for plane in planes {
                    V::prefetch(plane.wrapping_add(PLANES_AHEAD));
                }
            }
            let vectors = pixels.vectors(&planes);
            for index in 0..N {
                let vector = shuffled::<V, W, N, SHUFFLES>(&vectors, indices, index);
                let dst = tile.dst.add(head * W + (period * N + index) * V::BYTES);
                if streamed { vector.stream(dst) } else { vector.store(dst) }
            }
        }
        pixels.edge(indices, head + periods * each * N..elements);
    }
}

struct Pixels<'a, V, const W: usize, const N: usize> {
    token: Token<V>,
    tile: &'a Tile,
}

impl<V: Vector, const W: usize, const N: usize> Pixels<'_, V, W, N> {
    /// Returns the address of a plane's vector that begins with `pixel`.
    #[inline(always)]
    fn src(&self, channel: usize, pixel: usize) -> *const u8 {
        let Tile { rows, cols, .. } = self.tile;
        // The pixel at the lowest source address.
        let first = if rows.src_stride < 0 { pixel + V::BYTES / W - 1 } else { pixel };
        let plane = channel.cast_signed() * cols.src_stride;
        self.tile.src.wrapping_offset(plane + first.cast_signed() * rows.src_stride)
    }

    /// Loads one vector from each address, with elements in the order of the destination.
    ///
    /// # Safety
    /// The vectors lie within the tile's planes.
    #[inline(always)]
    unsafe fn vectors(&self, planes: &[*const u8; N]) -> [V; N] {
        let falls = self.tile.rows.src_stride < 0;
        // SAFETY: the caller guarantees that the bytes are valid.
        let mut vectors = unsafe { loaded(self.token, planes) };
        if falls {
            for vector in &mut vectors {
                *vector = vector.reverse::<W>();
            }
        }
        vectors
    }

    /// Copies a few elements, counted through all channels.
    ///
    /// # Safety
    /// The elements belong to the tile, which has at least as many pixels as a vector has elements.
    #[inline(always)]
    unsafe fn edge<const SHUFFLES: usize>(
        &self,
        indices: &ShuffleIndices<SHUFFLES>,
        elements: Range<usize>,
    ) {
        let each = V::BYTES / W;
        let mut element = elements.start;
        while element < elements.end {
            let pixel = (element / N).min(self.tile.rows.len - each);
            // The vector with the element, among the vectors that begin at `pixel`.
            let index = (element - pixel * N) / each;
            let first = pixel * N + index * each;
            let end = (first + each).min(elements.end);
            // SAFETY: the vector is a part of the tile, and the written bytes are a part of the vector.
            unsafe {
                let vectors = self.vectors(&array::from_fn(|channel| self.src(channel, pixel)));
                let vector = shuffled::<V, W, N, SHUFFLES>(&vectors, indices, index);
                let part = (element - first) * W..(end - first) * W;
                store_part(vector, part, self.tile.dst.add(element * W));
            }
            element = end;
        }
    }
}
