//! The catalogue: what can move a tile of elements, and when.
//!
//! A kernel knows widths and strides, and nothing of operators, types and tensors. Each is a row
//! of [`CATALOGUE`]; the planner takes the first that fits. docs/kernels.md tells of them.

mod bundle;
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
mod reversed;
mod rolled;
mod runs;
mod scratch;
mod shifted;
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

use trundle_core::RaggedLoop;

use channels::MOST_CHANNELS;
pub(crate) use fold::Fold;
pub(crate) use joined::MOST_JOINED_BYTES;
pub(crate) use shifted::best_tile as best_lanes;

use crate::Simd;
#[cfg(target_arch = "aarch64")]
use crate::simd::Neon;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512, Avx512Vbmi};
use crate::simd::{LINE, Portable};

/// N bytes of elements on their way. Elements may hold padding, which is no value of any integer.
type Opaque<const N: usize> = MaybeUninit<[u8; N]>;

/// One loop of a tile: `len` elements at fixed distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) len: usize,
    pub(crate) src_stride: isize,
    pub(crate) dst_stride: isize,
}

/// The strides of a tile, by which a kernel is picked.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The size of an element in bytes.
    pub width: usize,
    /// The distances between rows, in the source and in the destination, in bytes.
    pub row_strides: (isize, isize),
    /// The distances between the elements of a row, in the source and in the destination.
    pub col_strides: (isize, isize),
    /// The number of rows and the number of columns, of all tiles together.
    pub lens: (usize, usize),
    /// The same, counted on through the loops that continue them, as folding kernels do.
    pub folded: (usize, usize),
    /// Where the rows are rolled: how many columns come before those that are read first.
    pub rolled: Option<usize>,
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
/// those too, but not as soon (docs/kernels.md).
const AHEAD_BYTES: usize = 2048;

/// Where reading goes on after a row: it is asked for while the row's end is moved, since the
/// hardware does not foresee where a row begins.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    src: *const u8,
    /// From line to line.
    step: isize,
}

impl Next {
    /// From the element at `src` on, whose neighbours are `stride` bytes apart.
    pub(crate) fn at(src: *const u8, stride: isize) -> Next {
        Next { src, step: if stride < 0 { -LINE.cast_signed() } else { LINE.cast_signed() } }
    }

    /// Line `number` of the row, which need not be valid.
    #[inline(always)]
    fn line(&self, number: usize) -> *const u8 {
        self.src.wrapping_offset(number.cast_signed() * self.step)
    }
}

/// A tile to move: `rows.len` rows of `cols.len` elements of `width` bytes.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) src: *const u8,
    pub(crate) dst: *mut u8,
    pub(crate) width: usize,
    pub(crate) rows: Side,
    pub(crate) cols: Side,
    /// Where rows jump in the destination: for kernels that are picked for it, else nowhere.
    pub(crate) row_fold: Fold,
    /// Where columns jump in the source.
    pub(crate) col_fold: Fold,
    pub(crate) store: Store,
    /// Where reading goes on after the last row, if that is known.
    pub(crate) next: Option<Next>,
}

/// Lanes of a ragged axis: like a [`Tile`] whose columns each have a length of their own.
#[derive(Clone, Copy)]
pub(crate) struct LaneTile<'a> {
    /// The rows, `row_begin..row_begin + tile.rows.len` of the ragged axis; `tile.src` and
    /// `tile.dst` are at row 0 of the axis and at the first lane.
    pub(crate) tile: Tile,
    pub(crate) row_begin: usize,
    pub(crate) ragged: &'a RaggedLoop,
    /// The entry of the first lane in the table of lengths, and the distance to the next.
    pub(crate) lane: usize,
    pub(crate) lane_stride: isize,
    /// The same lanes again: more than once for kernels that are picked for it.
    pub(crate) slabs: Side,
    pub(crate) slab_lane_stride: isize,
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

/// How a kernel is called.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    /// # Safety
    /// The machine has the kernel's instruction set, its `applies` holds for the tile, every
    /// source element is valid for reads and every destination element for writes, and no source
    /// byte is a destination byte.
    Tile(unsafe fn(&Tile)),
    /// # Safety
    /// As `Tile`, for tiles of rolled rows: their columns, neighbours on both sides, jump once, to
    /// the start of the source's row.
    Rolled(unsafe fn(&Tile)),
    /// # Safety
    /// As `Tile`, for the elements that the lengths select. Source rows that a lane reads, and rows
    /// between them, are valid for reads in every lane of the tile: they are rows of one tensor.
    Lanes(unsafe fn(&LaneTile<'_>)),
}

/// One way to move tiles: a row of the catalogue.
pub struct Kernel {
    /// Its name: what it does, and with which instructions.
    pub name: &'static str,
    /// The instruction set it needs.
    pub simd: Simd,
    /// Which tiles it is right for.
    pub applies: fn(&Pattern) -> bool,
    /// Why it is picked for those.
    pub reason: &'static str,
    /// Whether its rows and columns may jump.
    pub(crate) folds: bool,
    pub(crate) call: Call,
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Kernel) -> bool {
        self.name == other.name
    }
}

impl Eq for Kernel {}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Rows of one element each, or of neighbours in both: they are copied as runs of bytes.
fn is_runs(pattern: &Pattern) -> bool {
    let width = pattern.width.cast_signed();
    pattern.col_strides == (width, width)
}

/// Neighbours in the destination that stand in the opposite order in the source.
fn is_reversed(pattern: &Pattern) -> bool {
    let width = pattern.width.cast_signed();
    pattern.col_strides == (-width, width)
}

/// What the rows and the columns of a transpose come to at least, in bytes (measured on pictures of 2
/// to 16 channels; docs/kernels.md).
const LEAST_SQUARE_BYTES: (usize, usize) = (24, 32);

/// Fewer rolled rows are not worth the places that are worked out for them (a guess).
const LEAST_ROLLED_ROWS: usize = 64;

/// Short rows that follow each other in the destination are read from windows of at most two vectors
/// of `BYTES`, their neighbours in either order.
fn is_regrouped<const BYTES: usize>(pattern: &Pattern) -> bool {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    let group = cols * width;
    cols > 1
        && pattern.col_strides.0.unsigned_abs() == width
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.1 == group.cast_signed()
        && rows * group >= BYTES
        && windows::fits(BYTES, group, pattern.row_strides.0)
}

/// Short rolled rows that follow each other on both sides, and enough of them to be worth the places
/// that their vectors are picked from.
fn is_rolled_short<const BYTES: usize>(pattern: &Pattern) -> bool {
    let (rows, cols) = pattern.lens;
    let group = cols * pattern.width;
    let follow = pattern.row_strides == (group.cast_signed(), group.cast_signed());
    follow && windows::fits_rolled(BYTES, group) && rows >= LEAST_ROLLED_ROWS
}

/// Neighbours in the source, in either order, are a row apart in the destination.
fn is_transposed(pattern: &Pattern) -> bool {
    let width = pattern.width;
    // Squares of fewer rows or columns are mostly empty.
    let least = if width == 1 { (16, 16) } else { LEAST_SQUARE_BYTES };
    let (rows, cols) = pattern.folded;
    let enough = rows.saturating_mul(width) >= least.0 && cols.saturating_mul(width) >= least.1;
    enough
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.0.unsigned_abs() == width
        && (matches!(width, 1 | 2 | 4 | 8 | 16) || width.is_multiple_of(LINE))
}

/// Whether elements of a pixel are worth to be picked from registers: a few, of less than a line.
fn is_pixel(width: usize, channels: usize) -> bool {
    matches!(width, 1 | 2 | 4 | 8)
        && (2..=MOST_CHANNELS).contains(&channels)
        && channels * width < LINE
}

/// The neighbours of a pixel, in either order, become planes.
pub(crate) fn is_deinterleaved(pattern: &Pattern) -> bool {
    let (width, (channels, pixels)) = (pattern.width, pattern.lens);
    is_pixel(width, channels)
        && pixels * width >= LINE
        && pattern.row_strides.0.unsigned_abs() == width
        && pattern.col_strides.0.unsigned_abs() == channels * width
        && pattern.col_strides.1 == width.cast_signed()
}

/// Planes become the neighbours of a pixel.
pub(crate) fn is_interleaved(pattern: &Pattern) -> bool {
    let (width, (pixels, channels)) = (pattern.width, pattern.lens);
    is_pixel(width, channels)
        && pixels * width >= LINE
        && pattern.row_strides.0.unsigned_abs() == width
        && pattern.row_strides.1 == (channels * width).cast_signed()
        && pattern.col_strides.1 == width.cast_signed()
}

/// Rows of less than a line that follow each other on both sides, in either order.
pub(crate) fn is_narrow(pattern: &Pattern) -> bool {
    let row_bytes = pattern.lens.1 * pattern.width;
    is_runs(pattern)
        && row_bytes < LINE
        && pattern.row_strides.0.unsigned_abs() == row_bytes
        && pattern.row_strides.1 == row_bytes.cast_signed()
}

/// Elements of an odd width that are transposed, and enough of them to fill squares.
fn is_padded(pattern: &Pattern) -> bool {
    let (width, (rows, cols)) = (pattern.width, pattern.lens);
    (3..16).contains(&width)
        && !width.is_power_of_two()
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.0.unsigned_abs() == width
        && rows * width >= LINE
        && cols * width >= LINE
}

fn is_any(_: &Pattern) -> bool {
    true
}

const RUNS: &str = "neighbours stay neighbours: rows are copied as runs of bytes";
const REVERSED: &str = "neighbours in the opposite order: rows are read backwards";
const TRANSPOSED: &str =
    "neighbours of the source become rows: squares are transposed, whole lines written";
const REGROUPED: &str =
    "short rows that follow each other: vectors are picked from windows of the source";
const DEINTERLEAVED: &str =
    "the few neighbours of a pixel become planes: vectors are picked from the bytes of pixels";
const INTERLEAVED: &str =
    "planes become the few neighbours of a pixel: vectors are picked from the bytes of planes";
const PADDED: &str =
    "neighbours of an odd width become rows: squares are transposed, with padding in registers";
const ROLLED: &str = "rows are rolled: each is two runs, written as one";
const ROLLED_SHORT: &str = "short rows are rolled: vectors are picked from windows of the source";
const STRIDED: &str = "no two neighbours stay together: element by element";
const LANES: &str = "every lane has a length of its own: element by element across the lanes";

const NARROW: &str = "rows of a few lanes follow each other: they are put together in the cache, and written as lines";
const SHIFTED: &str = "every lane has a length of its own: whole lines of lanes are shifted";

/// A row of the catalogue that moves tiles.
const fn row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&Tile),
) -> Kernel {
    Kernel { name, simd, applies, reason, folds: false, call: Call::Tile(run) }
}

/// A row of the catalogue that moves tiles whose rows and columns may jump.
const fn folding_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&Tile),
) -> Kernel {
    Kernel { folds: true, ..row(name, simd, applies, reason, run) }
}

/// A row of the catalogue that moves tiles of rolled rows.
const fn rolled_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&Tile),
) -> Kernel {
    Kernel { name, simd, applies, reason, folds: false, call: Call::Rolled(run) }
}

/// A row of the catalogue that moves lanes of any strides.
const fn lane_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&LaneTile<'_>),
) -> Kernel {
    Kernel { name, simd, applies, reason, folds: false, call: Call::Lanes(run) }
}

/// A row of the catalogue that moves lanes, whose rows may go on through slabs.
const fn folding_lane_row(
    name: &'static str,
    simd: Simd,
    applies: fn(&Pattern) -> bool,
    reason: &'static str,
    run: unsafe fn(&LaneTile<'_>),
) -> Kernel {
    Kernel { folds: true, ..lane_row(name, simd, applies, reason, run) }
}

/// Every kernel. Of those that the machine can run and that apply, the first is taken.
#[rustfmt::skip]
pub static CATALOGUE: &[Kernel] = &[
    #[cfg(target_arch = "x86_64")]
    row("regrouped-avx512vbmi", Simd::Avx512Vbmi, is_regrouped::<64>, REGROUPED, regrouped_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("regrouped-avx512", Simd::Avx512, is_regrouped::<64>, REGROUPED, regrouped_avx512),
    #[cfg(target_arch = "x86_64")]
    row("regrouped-avx2", Simd::Avx2, is_regrouped::<32>, REGROUPED, regrouped_avx2),
    #[cfg(target_arch = "aarch64")]
    row("regrouped-neon", Simd::Neon, is_regrouped::<16>, REGROUPED, regrouped_neon),
    #[cfg(target_arch = "x86_64")]
    row("runs-avx512", Simd::Avx512, is_runs, RUNS, runs_avx512),
    #[cfg(target_arch = "x86_64")]
    row("runs-avx2", Simd::Avx2, is_runs, RUNS, runs_avx2),
    #[cfg(target_arch = "aarch64")]
    row("runs-neon", Simd::Neon, is_runs, RUNS, runs_neon),
    row("runs-portable", Simd::Portable, is_runs, RUNS, runs::runs::<Portable>),
    #[cfg(target_arch = "x86_64")]
    row("reversed-avx512vbmi", Simd::Avx512Vbmi, is_reversed, REVERSED, reversed_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("reversed-avx512", Simd::Avx512, is_reversed, REVERSED, reversed_avx512),
    #[cfg(target_arch = "x86_64")]
    row("reversed-avx2", Simd::Avx2, is_reversed, REVERSED, reversed_avx2),
    #[cfg(target_arch = "aarch64")]
    row("reversed-neon", Simd::Neon, is_reversed, REVERSED, reversed_neon),
    row("reversed-portable", Simd::Portable, is_reversed, REVERSED, reversed::reversed::<Portable>),
    #[cfg(target_arch = "x86_64")]
    row("deinterleaved-avx512vbmi", Simd::Avx512Vbmi, is_deinterleaved, DEINTERLEAVED, deinterleaved_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("deinterleaved-avx512", Simd::Avx512, is_deinterleaved, DEINTERLEAVED, deinterleaved_avx512),
    #[cfg(target_arch = "x86_64")]
    row("deinterleaved-avx2", Simd::Avx2, is_deinterleaved, DEINTERLEAVED, deinterleaved_avx2),
    #[cfg(target_arch = "aarch64")]
    row("deinterleaved-neon", Simd::Neon, is_deinterleaved, DEINTERLEAVED, deinterleaved_neon),
    #[cfg(target_arch = "x86_64")]
    row("interleaved-avx512vbmi", Simd::Avx512Vbmi, is_interleaved, INTERLEAVED, interleaved_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("interleaved-avx512", Simd::Avx512, is_interleaved, INTERLEAVED, interleaved_avx512),
    #[cfg(target_arch = "x86_64")]
    row("interleaved-avx2", Simd::Avx2, is_interleaved, INTERLEAVED, interleaved_avx2),
    #[cfg(target_arch = "aarch64")]
    row("interleaved-neon", Simd::Neon, is_interleaved, INTERLEAVED, interleaved_neon),
    #[cfg(target_arch = "x86_64")]
    folding_row("transposed-avx512", Simd::Avx512, is_transposed, TRANSPOSED, transposed_avx512),
    #[cfg(target_arch = "x86_64")]
    folding_row("transposed-avx2", Simd::Avx2, is_transposed, TRANSPOSED, transposed_avx2),
    #[cfg(target_arch = "aarch64")]
    folding_row("transposed-neon", Simd::Neon, is_transposed, TRANSPOSED, transposed_neon),
    folding_row("transposed-portable", Simd::Portable, is_transposed, TRANSPOSED, transposed::transposed::<Portable>),
    #[cfg(target_arch = "x86_64")]
    row("padded-avx512vbmi", Simd::Avx512Vbmi, is_padded, PADDED, padded_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    row("padded-avx512", Simd::Avx512, is_padded, PADDED, padded_avx512),
    #[cfg(target_arch = "x86_64")]
    row("padded-avx2", Simd::Avx2, is_padded, PADDED, padded_avx2),
    #[cfg(target_arch = "aarch64")]
    row("padded-neon", Simd::Neon, is_padded, PADDED, padded_neon),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-short-avx512vbmi", Simd::Avx512Vbmi, is_rolled_short::<64>, ROLLED_SHORT, rolled_short_avx512vbmi),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-short-avx512", Simd::Avx512, is_rolled_short::<64>, ROLLED_SHORT, rolled_short_avx512),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-short-avx2", Simd::Avx2, is_rolled_short::<32>, ROLLED_SHORT, rolled_short_avx2),
    #[cfg(target_arch = "aarch64")]
    rolled_row("rolled-short-neon", Simd::Neon, is_rolled_short::<16>, ROLLED_SHORT, rolled_short_neon),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-avx512", Simd::Avx512, is_any, ROLLED, rolled_avx512),
    #[cfg(target_arch = "x86_64")]
    rolled_row("rolled-avx2", Simd::Avx2, is_any, ROLLED, rolled_avx2),
    #[cfg(target_arch = "aarch64")]
    rolled_row("rolled-neon", Simd::Neon, is_any, ROLLED, rolled_neon),
    rolled_row("rolled-portable", Simd::Portable, is_any, ROLLED, rolled::rolled::<Portable>),
    row("strided-portable", Simd::Portable, is_any, STRIDED, strided::strided),
    #[cfg(target_arch = "x86_64")]
    folding_lane_row("narrow-avx512", Simd::Avx512, is_narrow, NARROW, narrow_avx512),
    #[cfg(target_arch = "x86_64")]
    folding_lane_row("narrow-avx2", Simd::Avx2, is_narrow, NARROW, narrow_avx2),
    #[cfg(target_arch = "aarch64")]
    folding_lane_row("narrow-neon", Simd::Neon, is_narrow, NARROW, narrow_neon),
    folding_lane_row("narrow-portable", Simd::Portable, is_narrow, NARROW, narrow::narrow::<Portable>),
    #[cfg(target_arch = "x86_64")]
    lane_row("shifted-avx512", Simd::Avx512, is_runs, SHIFTED, shifted_avx512),
    #[cfg(target_arch = "x86_64")]
    lane_row("shifted-avx2", Simd::Avx2, is_runs, SHIFTED, shifted_avx2),
    #[cfg(target_arch = "aarch64")]
    lane_row("shifted-neon", Simd::Neon, is_runs, SHIFTED, shifted_neon),
    lane_row("shifted-portable", Simd::Portable, is_runs, SHIFTED, shifted::shifted::<Portable>),
    lane_row("lanes-portable", Simd::Portable, is_any, LANES, lanes::lanes),
];

/// Instances of the kernels over [`Vector`](crate::simd::Vector), compiled with the instructions of
/// a set.
macro_rules! instances {
    ($($arch:literal: $name:ident($tile:ty) = $kernel:path, $features:literal;)*) => {
        $(
            /// # Safety
            /// As the call that takes the tile: see [`Call`].
            #[cfg(target_arch = $arch)]
            #[target_feature(enable = $features)]
            unsafe fn $name(tile: &$tile) {
                // SAFETY: the contract is the same.
                unsafe { $kernel(tile) }
            }
        )*
    };
}

instances! {
    "aarch64": runs_neon(Tile) = runs::runs::<Neon>, "neon";
    "x86_64": runs_avx2(Tile) = runs::runs::<Avx2>, "avx2";
    "x86_64": runs_avx512(Tile) = runs::runs::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": rolled_short_avx512vbmi(Tile) = rolled::rolled_short::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": rolled_short_avx512(Tile) = rolled::rolled_short::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": rolled_short_avx2(Tile) = rolled::rolled_short::<Avx2>, "avx2";
    "aarch64": rolled_short_neon(Tile) = rolled::rolled_short::<Neon>, "neon";
    "x86_64": rolled_avx512(Tile) = rolled::rolled::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": rolled_avx2(Tile) = rolled::rolled::<Avx2>, "avx2";
    "aarch64": rolled_neon(Tile) = rolled::rolled::<Neon>, "neon";
    "aarch64": reversed_neon(Tile) = reversed::reversed::<Neon>, "neon";
    "x86_64": reversed_avx2(Tile) = reversed::reversed::<Avx2>, "avx2";
    "x86_64": reversed_avx512(Tile) = reversed::reversed::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": reversed_avx512vbmi(Tile) = reversed::reversed::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": regrouped_avx512vbmi(Tile) = windows::regrouped::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": regrouped_avx512(Tile) = windows::regrouped::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": regrouped_avx2(Tile) = windows::regrouped::<Avx2>, "avx2";
    "aarch64": regrouped_neon(Tile) = windows::regrouped::<Neon>, "neon";
    "x86_64": deinterleaved_avx512vbmi(Tile) = channels::deinterleaved::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": deinterleaved_avx512(Tile) = channels::deinterleaved::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": deinterleaved_avx2(Tile) = channels::deinterleaved::<Avx2>, "avx2";
    "aarch64": deinterleaved_neon(Tile) = channels::deinterleaved::<Neon>, "neon";
    "x86_64": interleaved_avx512vbmi(Tile) = channels::interleaved::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": interleaved_avx512(Tile) = channels::interleaved::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": interleaved_avx2(Tile) = channels::interleaved::<Avx2>, "avx2";
    "aarch64": interleaved_neon(Tile) = channels::interleaved::<Neon>, "neon";
    "x86_64": padded_avx512vbmi(Tile) = padded::padded::<Avx512Vbmi>, "avx512f,avx512bw,avx512vl,avx512vbmi";
    "x86_64": padded_avx512(Tile) = padded::padded::<Avx512>, "avx512f,avx512bw,avx512vl";
    "x86_64": padded_avx2(Tile) = padded::padded::<Avx2>, "avx2";
    "aarch64": padded_neon(Tile) = padded::padded::<Neon>, "neon";
    "aarch64": narrow_neon(LaneTile<'_>) = narrow::narrow::<Neon>, "neon";
    "x86_64": narrow_avx2(LaneTile<'_>) = narrow::narrow::<Avx2>, "avx2";
    "x86_64": narrow_avx512(LaneTile<'_>) = narrow::narrow::<Avx512>, "avx512f,avx512bw,avx512vl";
    "aarch64": shifted_neon(LaneTile<'_>) = shifted::shifted::<Neon>, "neon";
    "x86_64": shifted_avx2(LaneTile<'_>) = shifted::shifted::<Avx2>, "avx2";
    "x86_64": shifted_avx512(LaneTile<'_>) = shifted::shifted::<Avx512>, "avx512f,avx512bw,avx512vl";
    "aarch64": transposed_neon(Tile) = transposed::transposed::<Neon>, "neon";
    "x86_64": transposed_avx2(Tile) = transposed::transposed::<Avx2>, "avx2";
    "x86_64": transposed_avx512(Tile) = transposed::transposed::<Avx512>, "avx512f,avx512bw,avx512vl";
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
    /// Where reading goes on after a row.
    #[inline(always)]
    fn next(&self, row: usize) -> Next {
        let after = (row + 1).cast_signed() * self.rows.src_stride;
        let next = Next::at(self.src.wrapping_offset(after), self.cols.src_stride);
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
