//! The blocked transpose.
//!
//! ```text
//! for each group of columns that fills a line of the destination
//!     for each group of rows that fills a vector of the source (or a lane, for elements of 1 and 2 bytes)
//!         for each micro-tile of these columns and rows
//!             load a vector from each column          (contiguous along the rows)
//!             interleave the first half of the vectors with the second half, log2(side) times
//!         for each row, store its vectors, which make a line     (contiguous along the columns)
//! ```
//!
//! Streaming stores need whole cache lines, which may begin at different columns in different rows. So the bytes of a
//! row after its last whole line are *carried*: kept until the next group of columns completes the line. Groups are
//! moved in panels, whose columns may be packed first.

use core::mem::MaybeUninit;
use core::ops::Range;

use super::cache_resident::CacheResident;
use super::cursor::Cursor;
use super::micro_tile::{
    LANE, MOST_VECTORS, transpose_micro_tile, transpose_within_lanes, written,
};
use super::packed_panel::{PackedPanels, are_aliasing};
use super::panel::{Panel, are_aligned};
use super::row_block::{MOST_ROWS, RowBlock};
use super::short_rows::{ShortRows, are_short_rows};
use super::whole_lines::WholeLines;
use crate::elements::copy::by_width;
use crate::elements::strided;
use crate::parts::line::{CarryBuffer, Line};
use crate::pattern::{Pattern, Space};
use crate::simd::{L1, L2, LINE, Outlined, Token, Vector};
use crate::tile::{StoreKind, Tile};
use crate::tuning::{Level, Tuning};

/// The minimum length along the rows and along the columns, in bytes (measured on pictures of 2 to 16 channels).
const LEAST_MICRO_TILE_BYTES: (usize, usize) = (24, 32);

/// Applies if the rows are contiguous in the source, in either order, and the columns in the destination.
pub(crate) fn applies(pattern: &Pattern, _: usize) -> bool {
    let width = pattern.width;
    // With fewer rows or columns, micro-tiles would be mostly empty.
    let least = if width == 1 { (16, 16) } else { LEAST_MICRO_TILE_BYTES };
    let (rows, cols) = pattern.wrapped;
    let enough = rows.saturating_mul(width) >= least.0 && cols.saturating_mul(width) >= least.1;
    enough
        && pattern.col_strides.1 == width.cast_signed()
        && pattern.row_strides.0.unsigned_abs() == width
        && (matches!(width, 1 | 2 | 4 | 8 | 16) || width.is_multiple_of(LINE))
}

/// The maximum width, in bytes, of elements that are transposed as whole lines. Larger elements are copied as runs,
/// which have few incomplete lines (measured; docs/notes/kernels.md).
const MOST_WIDTH: usize = 512;

/// Returns whether elements of `width` bytes are transposed as whole lines. Others of at least a line are copied as
/// runs of bytes.
pub fn takes_lines(width: usize) -> bool {
    width.is_multiple_of(LINE) && width <= MOST_WIDTH
}

/// If elements are whole lines and all rows together have at most this many bytes, rows are not cut into tiles. Reads
/// are then contiguous if the columns are.
const WHOLE_ROW_BYTES: usize = 8 << 10;

/// The length of a tile along the source, in bytes, if destination rows are short and contiguous.
const SHORT_ROWS_BYTES: usize = 32 * 64;

/// The minimum number of rows in a streamed tile of one-byte elements. Reads of only 256 bytes at a time would be slow.
const LEAST_STREAMED_ROWS: usize = 512;

/// The length of a tile along the source, in bytes and in rows, if columns of elements of more than 2 bytes are packed.
/// It shares the second-level cache with the panels (measured; docs/notes/kernels.md).
const PACKED_TILE: (usize, usize) = (1 << 10, 256);

/// Tiles are as large as tasks allow.
pub(crate) fn tile(space: &Space) -> (usize, usize) {
    let Space { pattern, store, share, tuning, .. } = space;
    if space.ragged_rows {
        return strided::tile(space);
    }
    let (width, streamed) = (pattern.width, *store == StoreKind::Streaming);
    let col_bytes = pattern.lens.1 * width;
    let short = width < LINE && col_bytes <= tuning.short_row_bytes(width);
    if streamed && short && pattern.row_strides.1 == col_bytes.cast_signed() {
        return (SHORT_ROWS_BYTES / width, pattern.lens.1);
    }
    let (all_rows, _) = pattern.wrapped;
    let rows = if width >= LINE && all_rows * width <= WHOLE_ROW_BYTES {
        all_rows
    } else if streamed {
        streamed_rows(pattern, tuning).min(all_rows)
    } else {
        super::tile_of(width).0.min(cached_rows(pattern))
    };
    let most = tuning.tile_columns;
    (rows, (share / (rows * width)).clamp(most.min(super::TILE_COLS), most))
}

fn streamed_rows(pattern: &Pattern, tuning: &Tuning) -> usize {
    let (width, stride) = (pattern.width, pattern.col_strides.0);
    let packed = width > 2 && tuning.packed.has(width) && are_aliasing(width, stride);
    let (bytes, rows) = if packed { PACKED_TILE } else { (tuning.tile_bytes, tuning.tile_rows) };
    let most = if width == 1 { LEAST_STREAMED_ROWS.max(rows) } else { rows };
    (bytes / width).clamp(1, most)
}

/// Returns the maximum number of rows in a tile that is written by ordinary stores. Rows begin within lines, so a line
/// is written in two parts, and should stay in the first-level cache in between. So at most as many rows may map to a
/// cache set as the set has ways.
fn cached_rows(pattern: &Pattern) -> usize {
    const SAME_SET_BYTES: usize = 4096;
    const WAYS: usize = 8;
    let zeros = pattern.row_strides.1.trailing_zeros().min(SAME_SET_BYTES.trailing_zeros());
    let rows = (WAYS * SAME_SET_BYTES) >> zeros;
    // Fewer rows than a lane has elements take as long as a full lane.
    rows.max(LANE / pattern.width.min(LANE))
}

/// Transposes a tile. Rows may jump in the destination, and columns in the source.
///
/// # Safety
/// As [`KernelFn::Tile`](crate::KernelFn::Tile); the width is 1, 2, 4, 8, 16 or whole lines. Rows that jump ascend in
/// the source.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
    // SAFETY: the caller upholds `# Safety`: all elements are valid. W is the tile's width.
    unsafe {
        by_width!(
            [1 2 4 8 16] tile.width,
            W => V::outlined::<Lines<W>>(token, tile),
            match tile.tuning.transpose_level {
                Level::L1 => V::outlined::<WholeLines<L1>>(token, tile),
                Level::L2 => V::outlined::<WholeLines<L2>>(token, tile),
            }
        );
    }
}

struct Lines<const W: usize>;

impl<const W: usize> Outlined for Lines<W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        let risen;
        let tile = if tile.rows.src_stride < 0 {
            risen = tile.rising();
            &risen
        } else {
            // Copying the description of a small tile takes longer than moving it.
            tile
        };
        if !V::STREAMS || tile.store == StoreKind::Ordinary {
            // SAFETY: the caller upholds `# Safety`: all elements are valid.
            return unsafe { V::outlined::<CacheResident<W>>(token, tile) };
        }
        let aligned = tile.dst.addr().is_multiple_of(W)
            && tile.rows.dst_stride.unsigned_abs().is_multiple_of(W)
            && tile.row_jumps.is_multiple_of(W);
        let joined = aligned && are_short_rows(tile);
        let streamed = aligned && tile.cols.len * W >= LINE;
        let together = are_aligned(tile);
        // SAFETY: the caller upholds `# Safety`. The rows ascend, and joined or streamed rows are aligned to elements.
        unsafe {
            match tile.tuning.transpose_level {
                Level::L1 if joined => V::outlined::<ShortRows<W, L1>>(token, tile),
                Level::L2 if joined => V::outlined::<ShortRows<W, L2>>(token, tile),
                _ if !streamed => V::outlined::<Large<W, ORDINARY, L1>>(token, tile),
                Level::L1 if together => {
                    V::outlined::<Large<W, STREAMING_ALIGNED, L1>>(token, tile);
                }
                Level::L2 if together => {
                    V::outlined::<Large<W, STREAMING_ALIGNED, L2>>(token, tile);
                }
                Level::L1 => V::outlined::<Large<W, STREAMING, L1>>(token, tile),
                Level::L2 => V::outlined::<Large<W, STREAMING, L2>>(token, tile),
            }
        }
    }
}

/// Transposes a tile of a result that is larger than the caches. Elements have W bytes, rows ascend in the source,
/// LEVEL is the cache for prefetches, and WRITTEN selects the stores.
struct Large<const W: usize, const WRITTEN: u8, const LEVEL: u8>;

/// The values of WRITTEN: ordinary stores, streaming stores, and streaming stores of lines that begin at the same
/// columns in all rows.
const ORDINARY: u8 = 0;
const STREAMING: u8 = 1;
const STREAMING_ALIGNED: u8 = 2;

impl<const W: usize, const WRITTEN: u8, const LEVEL: u8> Outlined for Large<W, WRITTEN, LEVEL> {
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        let mut next = Cursor::of_rows(tile);
        for first in (0..tile.rows.len).step_by(MOST_ROWS) {
            let count = MOST_ROWS.min(tile.rows.len - first);
            let mut rows =
                RowBlock { count, src: first * W, dsts: [MaybeUninit::uninit(); MOST_ROWS] };
            for dst in &mut rows.dsts[..count] {
                let row = tile.dst.wrapping_offset(next.next());
                let over = row.addr() % LINE;
                dst.write((row.wrapping_sub(over), over));
            }
            // SAFETY: the rows belong to the tile.
            unsafe {
                match WRITTEN {
                    STREAMING_ALIGNED => stream_aligned_rows::<V, W, LEVEL>(token, tile, &rows),
                    STREAMING => stream_rows::<V, W, LEVEL>(token, tile, &rows),
                    _ => store_rows::<V, W>(token, tile, &rows),
                }
            }
        }
    }
}

/// # Safety
/// As [`run`], for elements of W bytes and ascending rows.
#[inline(always)]
unsafe fn store_rows<V: Vector, const W: usize>(token: Token<V>, tile: &Tile, rows: &RowBlock) {
    let mut panel = Panel::of(token, tile, rows, None);
    for done in (0..tile.cols.len).step_by(LINE / W) {
        let count = (tile.cols.len - done).min(LINE / W);
        // SAFETY: the columns belong to the tile.
        unsafe {
            panel.advance::<W, L1>(done, count, 0, 0);
            put_lines::<V, W, STORED, L1>(&mut panel, rows, 0..count, &mut []);
        }
    }
}

/// Streams whole lines that begin at the same columns in all rows. Columns before the first and after the last one are
/// written by ordinary stores.
///
/// # Safety
/// As [`run`], for elements of W bytes and ascending rows. Lines begin at the same columns in all rows.
#[inline(always)]
unsafe fn stream_aligned_rows<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &Tile,
    rows: &RowBlock,
) {
    // SAFETY: there is at least one row, of at least a line.
    unsafe {
        let over = rows.dst(0).1;
        let head = if over > 0 { (LINE - over) / W } else { 0 };
        stream::<V, W, STORED, ALIGNED, STORED, LEVEL>(token, tile, rows, head, &mut []);
    }
}

/// Streams whole lines. The bytes of a row after its last whole line are carried to the next group of columns.
///
/// # Safety
/// As [`run`], for elements of W bytes and ascending rows. Each row has at least a line and begins at a multiple of W.
#[inline(always)]
unsafe fn stream_rows<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &Tile,
    rows: &RowBlock,
) {
    let mut carry = [CarryBuffer::NONE; MOST_ROWS];
    // SAFETY: the first group is a whole line, and every row carries a line from then on.
    unsafe {
        stream::<V, W, BEGUN, STREAMED, ENDED, LEVEL>(token, tile, rows, LINE / W, &mut carry);
        if tile.cols.len.is_multiple_of(LINE / W) {
            for (row, carry) in carry[..rows.count].iter().enumerate() {
                let (base, over) = rows.dst(row);
                let line = Line::load(token, carry.0.as_ptr().cast());
                let rest = line.join::<W>(&line, LINE - over);
                rest.store_first(base.wrapping_add(tile.cols.len * W), over);
            }
        }
    }
}

/// Moves rows: the first `head` columns are written by HEAD, as many whole lines as possible by BODY, and the rest by
/// TAIL.
///
/// # Safety
/// As [`put_lines`], for rows of the tile. The tile has at least `head` columns.
#[inline(always)]
unsafe fn stream<
    V: Vector,
    const W: usize,
    const HEAD: u8,
    const BODY: u8,
    const TAIL: u8,
    const LEVEL: u8,
>(
    token: Token<V>,
    tile: &Tile,
    rows: &RowBlock,
    head: usize,
    carry: &mut [CarryBuffer],
) {
    let (each, cols) = (LINE / W, tile.cols.len);
    let end = head + (cols - head) / each * each;
    let mut panel = Panel::of(token, tile, rows, PackedPanels::of(tile, rows, W));
    let most = panel.cols(W);
    // The first panel includes the head, and the last one the tail.
    let until = |from: usize| {
        let until = from.max(head) + most;
        if until < end { until } else { cols }
    };
    let blocks = (rows.count * W).div_ceil(step_bytes::<V, W>());
    // SAFETY: the columns belong to the tile.
    unsafe {
        if head > 0 {
            rows.prefetch_partial(0);
        }
        if let Some(packed) = &mut panel.packed {
            packed.advance::<V, LEVEL>(token, until(0), 1);
        }
        let mut from = 0;
        while from < cols {
            let to = until(from);
            let coming = if to < cols { until(to) - to } else { 0 };
            panel.advance::<W, LEVEL>(from, to - from, coming, blocks * (to - from).div_ceil(each));
            if to == cols {
                rows.prefetch_partial(cols * W);
            }
            let (head, tail) = (head.saturating_sub(from), to.min(end) - from);
            if head > 0 {
                put_lines::<V, W, HEAD, LEVEL>(&mut panel, rows, 0..head, carry);
            }
            put_lines::<V, W, BODY, LEVEL>(&mut panel, rows, head..tail, carry);
            if tail < to - from {
                put_lines::<V, W, TAIL, LEVEL>(&mut panel, rows, tail..to - from, carry);
            }
            from = to;
        }
    }
}

/// How the line of a group of columns is written. STORED uses ordinary stores. ALIGNED streams it to a line of the
/// destination. The others join it with the carried bytes of the row: BEGUN and ENDED, for the first and the last line
/// of a row, by ordinary stores, and STREAMED by streaming stores.
const STORED: u8 = 0;
const ALIGNED: u8 = 1;
const BEGUN: u8 = 2;
const STREAMED: u8 = 3;
const ENDED: u8 = 4;

/// Transposes the micro-tiles of some columns and writes their lines.
///
/// # Safety
/// All rows are valid for reads in all columns, and all columns are valid for writes in all rows. If PUT is STREAMED or
/// ENDED, every row carries a line.
#[inline(always)]
unsafe fn put_lines<V: Vector, const W: usize, const PUT: u8, const LEVEL: u8>(
    panel: &mut Panel<V>,
    rows: &RowBlock,
    cols: Range<usize>,
    carry: &mut [CarryBuffer],
) {
    let side = V::BYTES / W;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    let mut row = 0;
    // SAFETY: `row < rows.count`, so every access is in bounds; vectors are written before they become lines.
    unsafe {
        while row < rows.count {
            let left = rows.count - row;
            if left < LANE / W {
                return put_some_lines::<V, W, PUT>(panel, rows, row..rows.count, cols, carry);
            }
            if left < side || are_lanes::<V, W>() {
                put_lane_lines::<V, W, PUT, LEVEL>(panel, rows, row, cols.clone(), carry);
                row += LANE / W;
                continue;
            }
            for first in cols.clone().step_by(LINE / W) {
                let count = (cols.end - first).min(LINE / W);
                if let Some(packed) = &mut panel.packed {
                    packed.pack_some::<V, LEVEL>(panel.token);
                }
                for micro_tile in 0..LINE / V::BYTES {
                    let vectors = &mut lines[micro_tile * side..(micro_tile + 1) * side];
                    let cols = first + micro_tile * side..first + (micro_tile + 1) * side;
                    let (srcs, aheads) = (&panel.srcs[cols.clone()], &panel.aheads[cols]);
                    for (vector, (src, ahead)) in vectors.iter_mut().zip(srcs.iter().zip(aheads)) {
                        // A column need not begin at a line, so a vector may end in the next line.
                        let ahead = ahead.assume_init();
                        if row == 0 {
                            V::prefetch_into::<LEVEL>(ahead);
                        }
                        let end = ahead.wrapping_add(row * W + V::BYTES - 1);
                        V::prefetch_into::<LEVEL>(end);
                        vector.write(V::load(panel.token, src.assume_init().add(row * W)));
                    }
                    transpose_micro_tile::<V, W>(written(vectors));
                }
                for i in 0..side {
                    let line = Line::of_row(&lines, i, side);
                    put_line::<V, W, PUT>(&line, panel, first, count, rows, row + i, carry);
                }
            }
            row += side;
        }
    }
}

/// Returns whether [`put_lane_lines`] moves all elements, because whole micro-tiles do not fit in the registers.
const fn are_lanes<V: Vector, const W: usize>() -> bool {
    W <= 2 && V::BYTES > LANE
}

const fn step_bytes<V: Vector, const W: usize>() -> usize {
    if are_lanes::<V, W>() { LANE } else { V::BYTES }
}

/// Does the same as [`put_lines`], for as many rows as a lane has elements. Each lane of a vector has its own column,
/// so elements are transposed only within lanes.
///
/// # Safety
/// As [`put_lines`], for the rows that the function writes.
#[inline(always)]
unsafe fn put_lane_lines<V: Vector, const W: usize, const PUT: u8, const LEVEL: u8>(
    panel: &mut Panel<V>,
    rows: &RowBlock,
    row: usize,
    cols: Range<usize>,
    carry: &mut [CarryBuffer],
) {
    let each = LANE / W;
    // A line of the source has four lanes, and the call for each of them prefetches a quarter of the columns. In an
    // incomplete last line, the first call prefetches all columns. Wide elements only come here with incomplete lines.
    let (line, quarter) = (row * W / LINE * LINE, row * W % LINE / LANE);
    let prefetched = match rows.count * W - line {
        LINE.. => quarter * each..(quarter + 1) * each,
        _ if quarter == 0 || !are_lanes::<V, W>() => 0..LINE / W,
        _ => 0..0,
    };
    for first in cols.clone().step_by(LINE / W) {
        let count = (cols.end - first).min(LINE / W);
        // SAFETY: `row < rows.count`, so every access is in bounds; vectors are written before they become lines.
        unsafe {
            if let Some(packed) = &mut panel.packed {
                packed.pack_some::<V, LEVEL>(panel.token);
            }
            for ahead in &panel.aheads[first + prefetched.start..first + prefetched.end] {
                let ahead = ahead.assume_init();
                if line == 0 {
                    V::prefetch_into::<LEVEL>(ahead);
                }
                V::prefetch_into::<LEVEL>(ahead.wrapping_add(line + LINE - 1));
            }
            if V::BYTES == LINE {
                let vectors = lane_vectors::<V, W>(panel, first, row);
                // Unrolled, so that the vectors stay in registers.
                macro_rules! put {
                    ($($i:literal)*) => {
                        $(if $i < LANE / W {
                            let line = Line::of_vector(vectors[$i]);
                            put_line::<V, W, PUT>(&line, panel, first, count, rows, row + $i, carry);
                        })*
                    };
                }
                put!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            } else {
                let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
                let lanes = V::BYTES / LANE;
                for (part, lines) in lines.chunks_exact_mut(each).take(LINE / V::BYTES).enumerate()
                {
                    let vectors = lane_vectors::<V, W>(panel, first + part * lanes * each, row);
                    for (line, vector) in lines.iter_mut().zip(vectors) {
                        line.write(vector);
                    }
                }
                for i in 0..each {
                    let line = Line::of_row(&lines, i, each);
                    put_line::<V, W, PUT>(&line, panel, first, count, rows, row + i, carry);
                }
            }
        }
    }
}

/// Returns vectors whose lanes each come from one column, from row `row` on, transposed within lanes. As many vectors
/// are valid as a lane has elements.
///
/// # Safety
/// The columns from `col` on belong to the panel, and have the rows from `row` on.
#[inline(always)]
unsafe fn lane_vectors<V: Vector, const W: usize>(
    panel: &Panel<V>,
    col: usize,
    row: usize,
) -> [V; LANE] {
    let (each, lanes) = (LANE / W, V::BYTES / LANE);
    // SAFETY: the caller guarantees that the columns and rows are valid.
    let vector = |i: usize| unsafe {
        let mut srcs = [panel.srcs[col + i].assume_init().add(row * W); LINE / LANE];
        for (lane, src) in srcs[..lanes].iter_mut().enumerate() {
            *src = panel.srcs[col + lane * each + i].assume_init().add(row * W);
        }
        V::load_lanes(panel.token, &srcs)
    };
    let mut vectors = [vector(0); LANE];
    macro_rules! load {
        ($($i:literal)*) => { $(if $i < LANE / W { vectors[$i] = vector($i); })* };
    }
    load!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    transpose_within_lanes::<V, W>(&mut vectors[..each]);
    vectors
}

/// Does the same as [`put_lines`], for fewer rows than a micro-tile has.
///
/// # Safety
/// As [`put_lines`], for the rows `some`.
#[inline(always)]
unsafe fn put_some_lines<V: Vector, const W: usize, const PUT: u8>(
    panel: &Panel<V>,
    rows: &RowBlock,
    some: Range<usize>,
    cols: Range<usize>,
    carry: &mut [CarryBuffer],
) {
    let side = V::BYTES / W;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
    // SAFETY: `row < rows.count`, so every access is in bounds; vectors are written before they become lines.
    unsafe {
        for first in cols.clone().step_by(LINE / W) {
            for micro_tile in 0..LINE / V::BYTES {
                let vectors = &mut lines[micro_tile * side..(micro_tile + 1) * side];
                let srcs = &panel.srcs[first + micro_tile * side..first + (micro_tile + 1) * side];
                for (vector, src) in vectors.iter_mut().zip(srcs) {
                    let src = src.assume_init().add(some.start * W);
                    vector.write(V::load_first(panel.token, src, some.len() * W));
                }
                transpose_micro_tile::<V, W>(written(vectors));
            }
            for (i, row) in some.clone().enumerate() {
                let line = Line::of_row(&lines, i, side);
                let count = (cols.end - first).min(LINE / W);
                put_line::<V, W, PUT>(&line, panel, first, count, rows, row, carry);
            }
        }
    }
}

/// # Safety
/// As [`put_lines`].
#[inline(always)]
unsafe fn put_line<V: Vector, const W: usize, const PUT: u8>(
    line: &Line<V>,
    panel: &Panel<V>,
    first: usize,
    count: usize,
    rows: &RowBlock,
    row: usize,
    carry: &mut [CarryBuffer],
) {
    // SAFETY: the caller guarantees that the row is valid.
    unsafe {
        let (base, over) = rows.dst(row);
        // The first line of a row may begin before the buffer.
        let dst = base.wrapping_add((panel.done + first) * W);
        let bytes = count * W;
        match PUT {
            STORED => line.store_first(dst.wrapping_add(over), bytes),
            ALIGNED => line.stream(dst.wrapping_add(over)),
            BEGUN => {
                line.store_first(dst.wrapping_add(over), LINE - over);
                line.store(carry.get_unchecked_mut(row).0.as_mut_ptr().cast());
            }
            STREAMED => {
                let carry = carry.get_unchecked_mut(row).0.as_mut_ptr().cast::<u8>();
                Line::load(panel.token, carry).join::<W>(line, LINE - over).stream(dst);
                line.store(carry);
            }
            _ => {
                let carry = carry.get_unchecked(row).0.as_ptr().cast();
                let joined = Line::load(panel.token, carry).join::<W>(line, LINE - over);
                joined.store_first(dst, (over + bytes).min(LINE));
                let rest = (over + bytes).saturating_sub(LINE);
                line.join::<W>(line, LINE - over).store_first(dst.add(LINE), rest);
            }
        }
    }
}
