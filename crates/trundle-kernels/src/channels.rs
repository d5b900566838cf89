//! Channels: the few elements of a pixel, which are neighbours where pixels follow each other, and
//! a plane each where planes do.
//!
//! N vectors of whole pixels hold the same bytes as one vector of each of the N planes. So each
//! vector of either side is picked from N vectors of the other, at places that are always the same:
//!
//! ```text
//! of two pixels' vectors:   r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3
//! pick from both            r0 r1 r2 -
//! and from the third        r0 r1 r2 r3
//! ```

use std::array;
use std::marker::PhantomData;
use std::ops::Range;

use super::transposed::rising;
use super::{Side, Store, Tile, strided};
use crate::simd::{LINE, Vector, store_part};

/// The most channels that are worth their picks: each vector takes one less.
pub(super) const MOST_CHANNELS: usize = 8;

/// Of results that stay in the caches, those of less are not worth the work of beginning with a
/// whole line (a guess).
const LEAST_ALIGNED_BYTES: usize = 4096;

/// How far ahead pixels are asked for that become planes past the caches, in bytes (measured;
/// docs/kernels.md).
const PIXELS_AHEAD: usize = 4 << 10;

/// How far ahead each plane is asked for where planes become pixels (measured; docs/kernels.md).
const PLANES_AHEAD: usize = 2 << 10;

/// Calls a kernel for a number of elements of `$width` bytes with that width and that number as
/// constants `W` and `N`, and the number of places that N vectors are picked from, `PICKS`.
macro_rules! by_channels {
    ($tile:expr, $width:expr, $channels:expr, $kernel:ident::<$V:ident>) => {
        match $width {
            1 => by_channels!($tile, $channels, $kernel::<$V, 1>),
            2 => by_channels!($tile, $channels, $kernel::<$V, 2>),
            4 => by_channels!($tile, $channels, $kernel::<$V, 4>),
            8 => by_channels!($tile, $channels, $kernel::<$V, 8>),
            _ => strided::strided($tile),
        }
    };
    ($tile:expr, $channels:expr, $kernel:ident::<$V:ident, $W:literal>) => {
        match $channels {
            2 => $kernel::<$V, $W, 2, 2>($tile),
            3 => $kernel::<$V, $W, 3, 6>($tile),
            4 => $kernel::<$V, $W, 4, 12>($tile),
            5 => $kernel::<$V, $W, 5, 20>($tile),
            6 => $kernel::<$V, $W, 6, 30>($tile),
            7 => $kernel::<$V, $W, 7, 42>($tile),
            8 => $kernel::<$V, $W, 8, 56>($tile),
            _ => strided::strided($tile),
        }
    };
}

/// Copies pixels to planes.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the rows are channels, neighbours in the source; the
/// columns are pixels, neighbours in the destination, and a multiple of the width apart in the
/// source.
#[inline(always)]
pub(super) unsafe fn deinterleaved<V: Vector>(tile: &Tile) {
    let channels = tile.cols.src_stride.unsigned_abs() / tile.width;
    // Parts of ragged tiles may lack channels.
    let whole = tile.rows.len == channels && tile.cols.len * tile.width >= V::BYTES;
    // SAFETY: the contract is the same.
    unsafe {
        if whole {
            by_channels!(tile, tile.width, channels, to_planes::<V>);
        } else {
            strided::strided(tile);
        }
    }
}

/// Copies planes to pixels.
///
/// # Safety
/// As [`Call::Tile`](super::Call::Tile); the rows are pixels, neighbours in the source, and a
/// multiple of the width apart in the destination; the columns are channels, neighbours in the
/// destination.
#[inline(always)]
pub(super) unsafe fn interleaved<V: Vector>(tile: &Tile) {
    let channels = tile.rows.dst_stride.unsigned_abs() / tile.width;
    // Parts of ragged tiles may lack channels.
    let whole = tile.cols.len == channels && tile.rows.len * tile.width >= V::BYTES;
    // SAFETY: the contract is the same.
    unsafe {
        if whole {
            by_channels!(tile, tile.width, channels, to_pixels::<V>);
        } else {
            strided::strided(tile);
        }
    }
}

/// The places of N vectors: N - 1 for each, as it is picked from the first two, then from what is
/// there and the third, and so on.
type Places<const PICKS: usize> = [[u8; LINE]; PICKS];

/// The side that is read.
#[derive(Clone, Copy)]
enum From {
    Pixels,
    Planes,
}

/// The places in vectors of `bytes` bytes, for `channels` elements of `width` bytes.
const fn places<const PICKS: usize>(
    from: From,
    channels: usize,
    width: usize,
    bytes: usize,
) -> Places<PICKS> {
    assert!(PICKS == channels * (channels - 1));
    let mut places = [[0; LINE]; PICKS];
    let mut at = 0;
    while at < PICKS * bytes {
        let (pick, byte) = (at / bytes, at % bytes);
        let (number, added) = (pick / (channels - 1), pick % (channels - 1) + 1);
        let (vector, place) = match from {
            From::Pixels => {
                let source = (byte / width * channels + number) * width + byte % width;
                (source / bytes, source % bytes)
            }
            From::Planes => {
                let element = (number * bytes + byte) / width;
                (element % channels, element / channels * width + byte % width)
            }
        };
        places[pick][byte] = if vector == added {
            (bytes + place) as u8
        } else if vector == 0 && added == 1 {
            place as u8
        } else {
            // What was picked before stays where it is.
            byte as u8
        };
        at += 1;
    }
    places
}

/// The vectors at these places.
///
/// # Safety
/// The machine has the set of V, and each is valid for reads of a vector.
#[inline(always)]
unsafe fn loaded<V: Vector, const N: usize>(src: &[*const u8; N]) -> [V; N] {
    // SAFETY: by the caller.
    unsafe {
        // No closure touches vectors: the compiler does not build those with the set's instructions.
        let mut vectors = [V::load(src[0]); N];
        for (vector, src) in vectors.iter_mut().zip(src) {
            *vector = V::load(*src);
        }
        vectors
    }
}

/// Vector `number` of those that the places are for.
///
/// # Safety
/// The machine has the set of V; the places are for it, and for N elements of W bytes.
#[inline(always)]
unsafe fn picked<V: Vector, const W: usize, const N: usize, const PICKS: usize>(
    vectors: &[V; N],
    places: &Places<PICKS>,
    number: usize,
) -> V {
    let mut there = vectors[0];
    for (added, vector) in vectors[1..].iter().enumerate() {
        // SAFETY: the caller vouches for the set and for the places, which are a line each.
        there =
            unsafe { there.pick::<W>(*vector, V::load(places[number * (N - 1) + added].as_ptr())) };
    }
    there
}

/// How many elements lie before the first whole line of `bytes` bytes, if lines hold whole elements
/// and it is worth to begin with one.
#[inline(always)]
fn head<const W: usize>(dst: *const u8, bytes: usize, store: Store) -> Option<usize> {
    let before = dst.align_offset(LINE);
    let worth = store == Store::Streamed || bytes >= LEAST_ALIGNED_BYTES;
    (worth && before <= bytes && before.is_multiple_of(W)).then_some(before / W)
}

/// # Safety
/// As [`deinterleaved`], for all of N channels of W bytes and a vector of pixels at least.
#[inline(always)]
unsafe fn to_planes<V: Vector, const W: usize, const N: usize, const PICKS: usize>(tile: &Tile) {
    let tile = rising(tile);
    let planes = Planes::<V, W, N, PICKS> {
        src: tile.src,
        planes: array::from_fn(|channel| {
            tile.dst.wrapping_offset(channel.cast_signed() * tile.rows.dst_stride)
        }),
        pixels: tile.cols,
        places: const { &places::<PICKS>(From::Pixels, N, W, V::BYTES) },
        vector: PhantomData,
    };
    let (pixels, line) = (tile.cols.len, LINE / W);
    let heads = planes.planes.map(|plane| head::<W>(plane, pixels * W, tile.store));
    let streamed = tile.store == Store::Streamed && heads.iter().all(Option::is_some);
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
struct Planes<V, const W: usize, const N: usize, const PICKS: usize> {
    src: *const u8,
    planes: [*mut u8; N],
    pixels: Side,
    places: &'static Places<PICKS>,
    vector: PhantomData<V>,
}

impl<V: Vector, const W: usize, const N: usize, const PICKS: usize> Planes<V, W, N, PICKS> {
    /// Copies pixels to all planes at a time.
    ///
    /// # Safety
    /// The machine has the set of V, and the pixels are the tile's, as many as fill whole vectors.
    /// If they are streamed, all planes have a line there.
    #[inline(always)]
    unsafe fn together(&self, pixels: Range<usize>, streamed: bool) {
        let each = V::BYTES / W;
        let count = pixels.len() / each;
        for turn in 0..count {
            // The source is read from its front, which is what the hardware foresees best.
            let turn = if self.falls() { count - 1 - turn } else { turn };
            let pixel = pixels.start + turn * each;
            if streamed {
                self.ask_ahead(pixel);
            }
            // SAFETY: by the caller.
            unsafe {
                let vectors = self.vectors(pixel);
                for (channel, plane) in self.planes.into_iter().enumerate() {
                    let (vector, dst) = (self.picked(&vectors, channel), plane.add(pixel * W));
                    if streamed { vector.stream(dst) } else { vector.store(dst) }
                }
            }
        }
    }

    /// Copies pixels to planes whose lines do not begin with the same pixel: the first at `heads`.
    ///
    /// # Safety
    /// The machine has the set of V, and the pixels of so many lines are the tile's.
    #[inline(always)]
    unsafe fn apart(&self, heads: &[usize; N], lines: usize) {
        let line = LINE / W;
        for first in (0..lines * line).step_by(line) {
            if !self.falls() {
                for part in (0..line).step_by(V::BYTES / W) {
                    self.ask_ahead(first + part);
                }
            }
            for (channel, head) in heads.iter().enumerate() {
                for part in (0..line).step_by(V::BYTES / W) {
                    let pixel = head + first + part;
                    // SAFETY: by the caller; parts of lines are aligned as the lines are.
                    unsafe {
                        let vector = self.picked(&self.vectors(pixel), channel);
                        vector.stream(self.planes[channel].add(pixel * W));
                    }
                }
            }
        }
    }

    /// The vectors of the pixels from `pixel` on, as many as a vector has elements.
    ///
    /// # Safety
    /// The machine has the set of V, and as many pixels as a vector has elements are the tile's.
    #[inline(always)]
    unsafe fn vectors(&self, pixel: usize) -> [V; N] {
        let src = self.front(pixel);
        // SAFETY: the vectors are the bytes of these pixels.
        unsafe { loaded(&array::from_fn(|number| src.wrapping_add(number * V::BYTES))) }
    }

    /// Where the pixels from `pixel` on, as many as a vector has elements, begin in the source.
    #[inline(always)]
    fn front(&self, pixel: usize) -> *const u8 {
        let first = if self.falls() { pixel + V::BYTES / W - 1 } else { pixel };
        self.src.wrapping_offset(first.cast_signed() * self.pixels.src_stride)
    }

    /// Asks for what lies [`PIXELS_AHEAD`] behind these pixels in the source.
    #[inline(always)]
    fn ask_ahead(&self, pixel: usize) {
        let src = self.front(pixel).wrapping_add(PIXELS_AHEAD);
        for number in 0..N {
            V::prefetch(src.wrapping_add(number * V::BYTES));
        }
    }

    /// The vector of a plane.
    ///
    /// # Safety
    /// The machine has the set of V.
    #[inline(always)]
    unsafe fn picked(&self, vectors: &[V; N], channel: usize) -> V {
        // SAFETY: by the caller; the places are for these elements.
        unsafe {
            let vector = picked::<V, W, N, PICKS>(vectors, self.places, channel);
            if self.falls() { vector.reverse::<W>() } else { vector }
        }
    }

    /// Whether the pixels fall in the source.
    #[inline(always)]
    fn falls(&self) -> bool {
        self.pixels.src_stride < 0
    }

    /// Copies a few pixels of one plane.
    ///
    /// # Safety
    /// The pixels are the tile's, which has as many as a vector has elements, and the machine has
    /// the set of V.
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
                store_part(self.picked(&self.vectors(first), channel), part, dst);
            }
            pixel = end;
        }
    }
}

/// # Safety
/// As [`interleaved`], for all of N channels of W bytes and a vector of pixels at least.
#[inline(always)]
unsafe fn to_pixels<V: Vector, const W: usize, const N: usize, const PICKS: usize>(tile: &Tile) {
    let places = const { &places::<PICKS>(From::Planes, N, W, V::BYTES) };
    let pixels = Pixels::<V, W, N> { tile, vector: PhantomData };
    let (each, elements) = (V::BYTES / W, tile.rows.len * N);
    let head = head::<W>(tile.dst, elements * W, tile.store);
    let streamed = tile.store == Store::Streamed && head.is_some();
    let head = head.unwrap_or(0);
    let periods = (elements - head) / (each * N);
    // The first line may begin within a pixel. The channels before are then taken from the next
    // pixel, and are the last.
    let (pixel, channel) = (head / N, head % N);
    let planes: [_; N] = array::from_fn(|number| {
        let channel = channel + number;
        pixels.src(channel % N, pixel + channel / N)
    });
    // SAFETY: every vector lies within the tile's pixels and planes.
    unsafe {
        pixels.edge(places, 0..head);
        for turn in 0..periods {
            // The source is read from its front, which is what the hardware foresees best.
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
            for number in 0..N {
                let vector = picked::<V, W, N, PICKS>(&vectors, places, number);
                let dst = tile.dst.add(head * W + (period * N + number) * V::BYTES);
                if streamed { vector.stream(dst) } else { vector.store(dst) }
            }
        }
        pixels.edge(places, head + periods * each * N..elements);
    }
}

/// Pixels that are made from planes.
struct Pixels<'a, V, const W: usize, const N: usize> {
    tile: &'a Tile,
    vector: PhantomData<V>,
}

impl<V: Vector, const W: usize, const N: usize> Pixels<'_, V, W, N> {
    /// Where a plane's vector is read that has `pixel` and those after it.
    #[inline(always)]
    fn src(&self, channel: usize, pixel: usize) -> *const u8 {
        let Tile { rows, cols, .. } = self.tile;
        // The pixel that lies first in the source.
        let first = if rows.src_stride < 0 { pixel + V::BYTES / W - 1 } else { pixel };
        let plane = channel.cast_signed() * cols.src_stride;
        self.tile.src.wrapping_offset(plane + first.cast_signed() * rows.src_stride)
    }

    /// The vectors at these places, their elements in the order of the destination.
    ///
    /// # Safety
    /// The machine has the set of V, and the vectors lie within the tile's planes.
    #[inline(always)]
    unsafe fn vectors(&self, planes: &[*const u8; N]) -> [V; N] {
        let falls = self.tile.rows.src_stride < 0;
        // SAFETY: by the caller.
        unsafe {
            let mut vectors = loaded::<V, N>(planes);
            if falls {
                for vector in &mut vectors {
                    *vector = vector.reverse::<W>();
                }
            }
            vectors
        }
    }

    /// Copies a few elements, counted through all channels.
    ///
    /// # Safety
    /// The elements are the tile's, which has as many pixels as a vector has elements, and the
    /// machine has the set of V; the places are for it.
    #[inline(always)]
    unsafe fn edge<const PICKS: usize>(&self, places: &Places<PICKS>, elements: Range<usize>) {
        let each = V::BYTES / W;
        let mut element = elements.start;
        while element < elements.end {
            let pixel = (element / N).min(self.tile.rows.len - each);
            // The vector that has the element, of those that begin with the pixel.
            let number = (element - pixel * N) / each;
            let first = pixel * N + number * each;
            let end = (first + each).min(elements.end);
            // SAFETY: the vector is a part of the tile, and what is written a part of the vector.
            unsafe {
                let vectors = self.vectors(&array::from_fn(|channel| self.src(channel, pixel)));
                let vector = picked::<V, W, N, PICKS>(&vectors, places, number);
                let part = (element - first) * W..(end - first) * W;
                store_part(vector, part, self.tile.dst.add(element * W));
            }
            element = end;
        }
    }
}
