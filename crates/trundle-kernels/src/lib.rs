//! The kernels: what moves a tile of elements, each pattern in a file of its own.
//!
//! A kernel knows widths and strides, and nothing of operators, types and tensors, nor of plans and
//! threads: so this crate depends on none, and is compiled again only when a kernel changes. Each is a
//! row of [`CATALOGUE`]; the planner of `trundle-cpu` takes the first that fits. docs/kernels.md tells
//! of them.
#![allow(unsafe_code)]

mod bundle;
mod catalogue;
mod channels;
mod cursor;
mod fold;
mod group;
mod joined;
mod lanes;
mod line;
mod narrow;
mod near;
mod padded;
mod pattern;
mod ragged;
mod reversed;
mod rolled;
mod runs;
mod scratch;
mod shifted;
pub mod simd;
mod square;
mod strided;
mod strip;
mod transposed;
mod turned;
mod wide;
mod windows;
mod writer;

use std::fmt;
use std::mem::MaybeUninit;

pub use catalogue::{CATALOGUE, Call, Kernel};
pub use fold::{Fold, Jump};
pub use joined::MOST_JOINED_BYTES;
pub use pattern::{Pattern, is_deinterleaved, is_interleaved, is_narrow};
pub use ragged::{Ragged, Run};
pub use shifted::best_tile as best_lanes;
pub use simd::Simd;

use crate::simd::{LINE, prefetch};

/// N bytes of elements on their way. Elements may hold padding, which is no value of any integer.
type Opaque<const N: usize> = MaybeUninit<[u8; N]>;

/// One loop of a tile: `len` elements at fixed distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The number of elements.
    pub len: usize,
    /// The distance between neighbours in the source, in bytes.
    pub src_stride: isize,
    /// The distance between neighbours in the destination, in bytes.
    pub dst_stride: isize,
}

/// Whether the result is written past the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Through the caches: the result is small enough to stay there for whoever reads it next.
    Cached,
    /// Past the caches: the result is larger than they are, and a line that is written whole need
    /// not be read first.
    Streamed,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Store::Cached => "through the caches",
            Store::Streamed => "past the caches",
        })
    }
}

/// Rows shorter than this are not worth aligning for streamed stores: the two partial lines at the
/// ends cost more (a guess).
const LEAST_STREAMED_BYTES: usize = 4 * LINE;

/// How far ahead the source is asked for where its lines follow each other. The hardware foresees
/// those that rise too, but not as soon (docs/kernels.md).
const AHEAD_BYTES: usize = 4096;

/// Where moving goes on after a row: it is asked for while the row's end is moved, since the
/// hardware does not foresee where a row begins.
#[derive(Clone, Copy)]
pub struct Next {
    src: *const u8,
    dst: *mut u8,
    /// From line to line of the source.
    step: isize,
}

impl Next {
    /// From the element at `src` on, whose neighbours are `stride` bytes apart, to `dst`.
    #[inline]
    pub fn at(src: *const u8, dst: *mut u8, stride: isize) -> Next {
        let line = LINE.cast_signed();
        Next { src, dst, step: if stride < 0 { -line } else { line } }
    }

    /// Line `number` of the row, which need not be valid.
    #[inline(always)]
    fn line(&self, number: usize) -> *const u8 {
        self.src.wrapping_offset(number.cast_signed() * self.step)
    }

    /// Where column `number` begins, of columns `stride` bytes apart. It need not be valid.
    #[inline(always)]
    fn column(&self, number: usize, stride: isize) -> *const u8 {
        self.src.wrapping_offset(number.cast_signed().wrapping_mul(stride))
    }

    /// Asks for the lines that this row and the one before, which ends at `end`, write in part.
    #[inline(always)]
    fn ask_partial(&self, end: *mut u8) {
        ask_partial(end);
        ask_partial(self.dst);
    }

    /// Asks for the lines that the row lies in beyond its first `lines`: it begins and ends within
    /// lines of the source.
    #[inline(always)]
    fn ask_rest(&self, lines: usize) {
        prefetch(self.line(lines));
        prefetch(self.line(lines + 1));
    }
}

/// Asks for the line that `at` lies in, if a run that begins or ends there writes it in part: it is
/// read before, for which the streamed lines behind it wait.
#[inline(always)]
fn ask_partial(at: *mut u8) {
    if !at.addr().is_multiple_of(LINE) {
        prefetch(at);
    }
}

/// A tile to move: `rows.len` rows of `cols.len` elements of `width` bytes.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Where the first element of the first row is read.
    pub src: *const u8,
    /// Where it is written.
    pub dst: *mut u8,
    /// The size of an element in bytes.
    pub width: usize,
    /// The loop over rows.
    pub rows: Side,
    /// The loop over the elements of a row.
    pub cols: Side,
    /// Where rows jump in the destination: for kernels that are picked for it, else nowhere.
    pub row_fold: Fold,
    /// Where columns jump in the source.
    pub col_fold: Fold,
    /// Whether the result is written past the caches.
    pub store: Store,
    /// Where moving goes on after the last row, if that is known.
    pub next: Option<Next>,
}

/// Lanes of a ragged axis: like a [`Tile`] whose columns each have a length of their own.
#[derive(Clone, Copy)]
pub struct LaneTile<'a> {
    /// The rows, `row_begin..row_begin + tile.rows.len` of the ragged axis; `tile.src` and
    /// `tile.dst` are at row 0 of the axis and at the first lane.
    pub tile: Tile,
    /// The first of them.
    pub row_begin: usize,
    /// The ragged axis.
    pub ragged: &'a Ragged<'a>,
    /// The entry of the first lane in the table of lengths, and the distance to the next.
    pub lane: usize,
    /// See `lane`.
    pub lane_stride: isize,
    /// The same lanes again: more than once for kernels that are picked for it.
    pub slabs: Side,
    /// The distance from slab to slab in the table of lengths.
    pub slab_lane_stride: isize,
}

impl LaneTile<'_> {
    /// One slab.
    #[inline(always)]
    fn slab(&self, slab: usize) -> Self {
        let slab = slab.cast_signed();
        let tile = Tile {
            src: self.tile.src.wrapping_offset(slab.wrapping_mul(self.slabs.src_stride)),
            dst: self.tile.dst.wrapping_offset(slab.wrapping_mul(self.slabs.dst_stride)),
            ..self.tile
        };
        let lane = self.lane.wrapping_add_signed(slab.wrapping_mul(self.slab_lane_stride));
        LaneTile { tile, lane, slabs: Side { len: 1, ..self.slabs }, ..*self }
    }
}

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

impl Tile {
    /// Asks for the first and the last line of the destination, which are written in part where
    /// rows follow each other.
    #[inline]
    pub fn ask_ends(&self) {
        let last = |side: Side| (side.len.cast_signed() - 1).wrapping_mul(side.dst_stride);
        let last = self.dst.wrapping_offset(last(self.rows)).wrapping_offset(last(self.cols));
        ask_partial(self.dst);
        ask_partial(last.wrapping_add(self.width));
    }

    /// Where moving goes on after a row.
    #[inline(always)]
    fn next(&self, row: usize) -> Next {
        let after = |stride: isize| (row + 1).cast_signed().wrapping_mul(stride);
        let src = self.src.wrapping_offset(after(self.rows.src_stride));
        let dst = self.dst.wrapping_offset(after(self.rows.dst_stride));
        let next = Next::at(src, dst, self.cols.src_stride);
        if row + 1 < self.rows.len { next } else { self.next.unwrap_or(next) }
    }

    /// Where a row begins.
    ///
    /// # Safety
    /// `row` is below `rows.len`, and the tile is valid as [`Call::Tile`] asks.
    #[inline(always)]
    unsafe fn row(&self, row: usize) -> (*const u8, *mut u8) {
        let row = row.cast_signed();
        // SAFETY: every element of the tile lies within the caller's buffers.
        unsafe {
            (
                self.src.offset(row * self.rows.src_stride),
                self.dst.offset(row * self.rows.dst_stride),
            )
        }
    }
}
