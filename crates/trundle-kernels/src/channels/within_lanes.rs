//! Moves pixels by shuffles within lanes, for instruction sets whose other shuffles are slow.
//!
//! A *piece* is 16 bytes of the pixels, from the first channel of a pixel on, and fills a lane. A shuffle within the lane
//! puts the elements of each channel together, as a *unit*. Then units are transposed within lanes, which gives lanes of
//! planes:
//!
//! ```text
//! pieces of 4 pixels:         r0 g0 b0 r1 .. b3  | r4 g4 b4 .. b7   | r8 ..            | r12 ..
//! shuffled within lanes:      r0..3 g0..3 b0..3  | r4..7 g4..7 ..   | r8..11 ..        | r12..15 ..
//! units transposed in lanes:  r0..15             | g0..15           | b0..15
//! ```
//!
//! Pieces overlap if their pixels have fewer bytes. Planes become pixels by the reverse steps. Pieces are written in
//! ascending order, so that each overwrites the bytes of the previous one that belong to no pixel.

use core::array;
use core::mem::MaybeUninit;

use super::deinterleaved::PIXELS_AHEAD;
use super::interleaved::PLANES_AHEAD;
use super::{MOST_CHANNELS, head};
use crate::parts::lines::Lines;
use crate::simd::{Indices, LINE, Lanes, Outlined, Token, Vector};
use crate::tile::{StoreKind, Tile};
use crate::transpose::micro_tile::{LANE, transpose_within_lanes};

/// The number of bytes of each plane that are assembled before they are streamed.
const STREAMED_BYTES: usize = 512;

/// A buffer for streamed bytes, with space for [`Lines`], and before it for a vector that begins earlier.
#[repr(align(64))]
struct Buffer<const LINES: usize>([MaybeUninit<[u8; LINE]>; LINES]);

impl<const LINES: usize> Buffer<LINES> {
    const NEW: Buffer<LINES> = Buffer([MaybeUninit::uninit(); LINES]);

    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// The lines of a buffer for one plane.
const PLANE_LINES: usize = STREAMED_BYTES / LINE + 2;

/// The lines of a buffer for pixels.
const PIXELS_LINES: usize = MOST_CHANNELS * (STREAMED_BYTES / LINE + 1) + 2;

/// Moves pixels of N channels of W bytes to planes.
pub(super) struct ToPlanes<const W: usize, const N: usize>;

/// Moves planes to pixels of N channels of W bytes.
pub(super) struct ToPixels<const W: usize, const N: usize>;

/// The pieces of pixels with N channels of W bytes.
struct Pieces<const W: usize, const N: usize>;

impl<const W: usize, const N: usize> Pieces<W, N> {
    /// The number of channels of a pixel in a piece. If it is less than N, a pixel has several pieces.
    const CHANNELS: usize = if N < LANE / W { N } else { LANE / W };

    /// The number of units in a lane.
    const UNITS: usize = Self::CHANNELS.next_power_of_two();

    /// The number of pixels of a piece.
    const PIXELS: usize = LANE / Self::UNITS / W;

    /// The number of bytes of a piece beyond the end of its pixels.
    const BEYOND: usize = if Self::CHANNELS < N { 0 } else { LANE - Self::PIXELS * N * W };

    /// For each byte of a lane of units, its position in the piece, or the reverse if `of_units`.
    const fn order(of_units: bool) -> [u8; LINE] {
        let mut order = [0; LINE];
        let mut at = 0;
        while at < Self::PIXELS * Self::CHANNELS * W {
            let (channel, pixel) = (at / W % Self::CHANNELS, at / W / Self::CHANNELS);
            let in_units = (channel * Self::PIXELS + pixel) * W + at % W;
            let (to, from) = if of_units { (at, in_units) } else { (in_units, at) };
            let mut lane = 0;
            while lane < LINE {
                order[lane + to] = from as u8;
                lane += LANE;
            }
            at += 1;
        }
        order
    }

    /// Shuffles within lanes if pieces have several pixels. Otherwise, pieces consist of units.
    #[inline(always)]
    fn shuffle<V: Vector>(vectors: &mut [V; MOST_CHANNELS], order: &[u8; LINE]) {
        if Self::PIXELS > 1 {
            for vector in &mut vectors[..Self::UNITS] {
                *vector = vector.shuffle_lanes(Indices::new(vector.token(), order));
            }
        }
    }

    /// Transposes units within lanes.
    #[inline(always)]
    fn transpose<V: Vector>(vectors: &mut [V; MOST_CHANNELS]) {
        match Self::UNITS {
            2 => transpose_within_lanes::<V, 8>(&mut vectors[..2]),
            4 => transpose_within_lanes::<V, 4>(&mut vectors[..4]),
            _ => transpose_within_lanes::<V, 2>(&mut vectors[..8]),
        }
    }

    /// Returns the first channel of each piece of a pixel.
    #[inline(always)]
    fn firsts() -> impl Iterator<Item = usize> {
        (0..N).step_by(Self::CHANNELS).map(|first| first.min(N - Self::CHANNELS))
    }

    /// Returns the position of the piece in lane `lane` of vector `index`, in bytes from the first pixel. `first` is its
    /// first channel.
    #[inline(always)]
    const fn at(lane: usize, index: usize, first: usize) -> usize {
        ((lane * Self::UNITS + index) * Self::PIXELS * N + first) * W
    }
}

impl<const W: usize, const N: usize> Outlined for ToPlanes<W, N> {
    /// # Safety
    /// As [`KernelFn::Tile`](crate::KernelFn::Tile), for all N channels of W bytes, and at least one vector of pixels.
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        let tile = &tile.rising();
        let (each, len) = (V::BYTES / W, tile.cols.len);
        let plane =
            |channel: usize| tile.dst.wrapping_offset(channel.cast_signed() * tile.rows.dst_stride);
        // SAFETY: every vector lies within the tile's pixels and planes.
        unsafe {
            if tile.store == StoreKind::Streaming {
                return Self::stream(token, tile);
            }
            // The vectors at both ends may overlap others.
            let head = head::<W>(tile.dst, len * W, tile.store).unwrap_or(0) % each;
            let (mut pixel, mut next) = (0, if head == 0 { each } else { head });
            loop {
                let planes = Self::planes(token, tile, pixel);
                for (channel, vector) in planes.into_iter().enumerate().take(N) {
                    vector.store(plane(channel).add(pixel * W));
                }
                if pixel == len - each {
                    break;
                }
                pixel = next.min(len - each);
                next = pixel + each;
            }
        }
    }
}

impl<const W: usize, const N: usize> ToPlanes<W, N> {
    /// # Safety
    /// As [`Outlined::run`].
    #[inline(always)]
    unsafe fn stream<V: Vector>(token: Token<V>, tile: &Tile) {
        let (each, len, at_once) = (V::BYTES / W, tile.cols.len, STREAMED_BYTES / W);
        let mut buffers = [Buffer::<PLANE_LINES>::NEW; N];
        let mut planes: [Lines; N] = array::from_fn(|channel| {
            let dst = tile.dst.wrapping_offset(channel.cast_signed() * tile.rows.dst_stride);
            Lines::new(dst, StoreKind::Streaming, buffers[channel].start().wrapping_add(LINE))
        });
        for first in (0..len).step_by(at_once) {
            let end = len.min(first + at_once);
            for pixel in (first..end).step_by(each) {
                // The last vector may begin earlier.
                let pixel = pixel.min(len - each);
                // SAFETY: the vectors lie within the tile. A vector that begins before `first` is written to the buffer
                // earlier by less than a line.
                unsafe {
                    let vectors = Self::planes(token, tile, pixel);
                    for (plane, vector) in planes.iter().zip(vectors) {
                        let at = (pixel.cast_signed() - first.cast_signed()) * W.cast_signed();
                        vector.store(plane.room().wrapping_offset(at));
                    }
                }
            }
            let falls = tile.cols.src_stride < 0;
            let lowest = if falls { end - 1 } else { first };
            let ahead = tile.src.wrapping_offset(lowest.cast_signed() * tile.cols.src_stride);
            let ahead = if falls {
                ahead.wrapping_sub(2 * N * STREAMED_BYTES)
            } else {
                ahead.wrapping_add(PIXELS_AHEAD)
            };
            for (channel, plane) in planes.iter_mut().enumerate() {
                // SAFETY: the bytes have been written to the buffer, and are the next of the plane.
                unsafe {
                    let ahead = ahead.wrapping_add(channel * STREAMED_BYTES);
                    plane.put(token, (end - first) * W, |at| ahead.wrapping_add(at));
                }
            }
        }
        for plane in &planes {
            // SAFETY: as above.
            unsafe { plane.end() };
        }
    }

    /// Returns a vector of each channel, from `pixel` on.
    ///
    /// # Safety
    /// As [`Outlined::run`]. The pixels belong to the tile.
    #[inline(always)]
    unsafe fn planes<V: Vector>(token: Token<V>, tile: &Tile, pixel: usize) -> [V; MOST_CHANNELS] {
        let (each, stride) = (V::BYTES / W, tile.cols.src_stride);
        let falls = stride < 0;
        let order = const { &Pieces::<W, N>::order(false) };
        let (lowest, beyond) =
            if falls { (pixel + each - 1, pixel) } else { (pixel, tile.cols.len - pixel - each) };
        let mut src = tile.src.wrapping_offset(lowest.cast_signed() * stride);
        let mut copy = [MaybeUninit::<[u8; LINE]>::uninit(); MOST_CHANNELS + 1];
        let copy: *mut u8 = copy.as_mut_ptr().cast();
        // SAFETY: the caller guarantees that the pixels are valid. If pieces reached beyond the last pixel in memory,
        // they are read from a copy, which is longer.
        unsafe {
            let zeros = V::load(token, [0; LINE].as_ptr());
            if beyond * N * W < Pieces::<W, N>::BEYOND {
                for at in (0..N * V::BYTES).step_by(V::BYTES) {
                    V::load(token, src.add(at)).store(copy.add(at));
                }
                zeros.store(copy.add(N * V::BYTES));
                src = copy;
            }
            let mut planes = [zeros; MOST_CHANNELS];
            let mut done = 0;
            for first in Pieces::<W, N>::firsts() {
                let mut vectors = planes;
                for (index, vector) in vectors.iter_mut().enumerate().take(Pieces::<W, N>::UNITS) {
                    let lanes: Lanes<*const u8> = array::from_fn(|lane| {
                        src.wrapping_add(Pieces::<W, N>::at(lane, index, first))
                    });
                    *vector = V::load_lanes(token, &lanes);
                }
                Pieces::<W, N>::shuffle(&mut vectors, order);
                Pieces::<W, N>::transpose(&mut vectors);
                let end = first + Pieces::<W, N>::CHANNELS;
                planes[done..end].copy_from_slice(&vectors[done - first..end - first]);
                done = end;
            }
            if falls {
                for plane in &mut planes[..N] {
                    *plane = plane.reverse::<W>();
                }
            }
            planes
        }
    }
}

impl<const W: usize, const N: usize> Outlined for ToPixels<W, N> {
    /// # Safety
    /// As [`KernelFn::Tile`](crate::KernelFn::Tile), for all N channels of W bytes, and at least one vector of pixels.
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        let (each, len) = (V::BYTES / W, tile.rows.len);
        // SAFETY: every vector lies within the tile's pixels and planes.
        unsafe {
            if tile.store == StoreKind::Streaming {
                return Self::stream(token, tile);
            }
            let mut copies = [MaybeUninit::<[u8; LINE]>::uninit(); MOST_CHANNELS + 1];
            let mut pixel = 0;
            loop {
                let dst = tile.dst.add(pixel * N * W);
                if (len - pixel - each) * N * W < Pieces::<W, N>::BEYOND {
                    let copy: *mut u8 = copies.as_mut_ptr().cast();
                    Self::pixels(token, tile, pixel, copy);
                    for channel in 0..N {
                        V::load(token, copy.add(channel * V::BYTES))
                            .store(dst.add(channel * V::BYTES));
                    }
                } else {
                    Self::pixels(token, tile, pixel, dst);
                }
                if pixel == len - each {
                    break;
                }
                pixel = (pixel + each).min(len - each);
            }
        }
    }
}

impl<const W: usize, const N: usize> ToPixels<W, N> {
    /// # Safety
    /// As [`Outlined::run`].
    #[inline(always)]
    unsafe fn stream<V: Vector>(token: Token<V>, tile: &Tile) {
        let (each, len, at_once) = (V::BYTES / W, tile.rows.len, STREAMED_BYTES / W);
        let mut buffer = Buffer::<PIXELS_LINES>::NEW;
        // The last vectors may begin earlier.
        let room = buffer.start().wrapping_add(MOST_CHANNELS * LINE);
        let mut lines = Lines::new(tile.dst, StoreKind::Streaming, room);
        let stride = tile.rows.src_stride;
        for first in (0..len).step_by(at_once) {
            let end = len.min(first + at_once);
            for pixel in (first..end).step_by(each) {
                let pixel = pixel.min(len - each);
                let at = (pixel.cast_signed() - first.cast_signed()) * (N * W).cast_signed();
                // SAFETY: the vectors lie within the tile. Those that begin before `first` are written to the buffer
                // earlier by less than a vector of each channel.
                unsafe { Self::pixels(token, tile, pixel, lines.room().wrapping_offset(at)) };
            }
            let ahead = first.cast_signed() * stride;
            let ahead = if stride < 0 {
                ahead - (PLANES_AHEAD + STREAMED_BYTES).cast_signed()
            } else {
                ahead + PLANES_AHEAD.cast_signed()
            };
            let ahead = tile.src.wrapping_offset(ahead);
            // SAFETY: the bytes have been written to the buffer, and are the next of the pixels.
            unsafe {
                lines.put(token, (end - first) * N * W, |at| {
                    let (plane, at) = (at / LINE % N, at / LINE / N * LINE);
                    ahead.wrapping_offset(
                        plane.cast_signed() * tile.cols.src_stride + at.cast_signed(),
                    )
                });
            }
        }
        // SAFETY: as above.
        unsafe { lines.end() };
    }

    /// Writes one vector of each channel to pixels at `dst`, from `pixel` on. Also writes up to `Pieces::BEYOND` bytes
    /// behind the last pixel.
    ///
    /// # Safety
    /// As [`Outlined::run`]. The pixels belong to the tile, and the written bytes are valid for writes.
    #[inline(always)]
    unsafe fn pixels<V: Vector>(token: Token<V>, tile: &Tile, pixel: usize, dst: *mut u8) {
        let stride = tile.rows.src_stride;
        let falls = stride < 0;
        let order = const { &Pieces::<W, N>::order(true) };
        // The pixel at the lowest source address.
        let lowest = if falls { pixel + V::BYTES / W - 1 } else { pixel };
        let src = tile.src.wrapping_offset(lowest.cast_signed() * stride);
        // SAFETY: the caller guarantees that the pixels are valid.
        unsafe {
            for first in Pieces::<W, N>::firsts() {
                let mut vectors = [V::load(token, src); MOST_CHANNELS];
                for (channel, vector) in
                    vectors.iter_mut().enumerate().take(Pieces::<W, N>::CHANNELS)
                {
                    let plane = (first + channel).cast_signed() * tile.cols.src_stride;
                    let loaded = V::load(token, src.wrapping_offset(plane));
                    *vector = if falls { loaded.reverse::<W>() } else { loaded };
                }
                Pieces::<W, N>::transpose(&mut vectors);
                Pieces::<W, N>::shuffle(&mut vectors, order);
                for lane in 0..V::BYTES / LANE {
                    for (index, vector) in vectors.iter().enumerate().take(Pieces::<W, N>::UNITS) {
                        let at = Pieces::<W, N>::at(lane, index, first);
                        vector.store_lane(lane, dst.add(at));
                    }
                }
            }
        }
    }
}
