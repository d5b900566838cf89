//! Transposes tiles whose destination rows are short and contiguous. Their cache lines are assembled in registers.

use core::mem::MaybeUninit;

use super::cursor::Cursor;
use super::micro_tile::{
    LANE, MOST_VECTORS, transpose_micro_tile, transpose_within_lanes, written,
};
use crate::jumps::Jumps;
use crate::parts::line::Line;
use crate::parts::writer::Writer;
use crate::simd::{LINE, Lanes, Outlined, Token, Vector};
use crate::tile::{AffineLoop, Tile, prefetch_partial};

/// Longer rows are not assembled in registers.
const MOST_SHORT_ROW_BYTES: usize = 8 * LINE;

/// Maximum number of lines in a short row.
const MOST_LINES: usize = MOST_SHORT_ROW_BYTES / LINE;

/// The prefetch distance within a column, in bytes.
const SHORT_ROWS_AHEAD: usize = 8 * LINE;

/// Prefetch distances: some lines ahead in a column, and near its end the start of the next tile, if known.
#[derive(Clone, Copy)]
struct Ahead {
    /// From this byte of a column on, the next tile is prefetched.
    until: usize,
    /// The prefetch distance before and after this byte, in bytes.
    bytes: [isize; 2],
}

impl Ahead {
    fn of(tile: &Tile) -> Ahead {
        let (column, ahead) = (tile.rows.len * tile.width, SHORT_ROWS_AHEAD.cast_signed());
        let Some(next) = tile.next else {
            return Ahead { until: usize::MAX, bytes: [ahead; 2] };
        };
        let jump = next.src.addr().wrapping_sub(tile.src.addr()).wrapping_sub(column);
        Ahead {
            until: column.saturating_sub(SHORT_ROWS_AHEAD),
            // A short column prefetches the next tile from its first byte on.
            bytes: [ahead, jump.wrapping_add(column.min(SHORT_ROWS_AHEAD)).cast_signed()],
        }
    }

    #[inline(always)]
    fn distance_at(&self, at: usize) -> isize {
        self.bytes[usize::from(at >= self.until)]
    }
}

pub(crate) fn are_short_rows(tile: &Tile) -> bool {
    let row_bytes = tile.cols.len * tile.width;
    row_bytes <= MOST_SHORT_ROW_BYTES.min(tile.tuning.short_row_bytes(tile.width))
        && tile.rows.dst_stride == row_bytes.cast_signed()
        && tile.rows.len > 1
}

/// Transposes a tile for which [`are_short_rows`] returns true, by streaming stores. Elements have W bytes and are
/// aligned to W. The rows ascend in the source, which is prefetched into the cache LEVEL.
pub(crate) struct ShortRows<const W: usize, const LEVEL: u8>;

impl<const W: usize, const LEVEL: u8> Outlined for ShortRows<W, LEVEL> {
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        let mut srcs = [MaybeUninit::<*const u8>::uninit(); MOST_SHORT_ROW_BYTES];
        let (cols, padded) = (tile.cols.len, tile.cols.len.next_multiple_of(LINE / W));
        Cursor::of_cols(tile).fill(tile.src, &mut srcs[..cols]);
        // A line with too few columns repeats the last one.
        let last = srcs[cols - 1];
        srcs[cols..padded].fill(last);
        // SAFETY: the first `padded` items have been written.
        let srcs: &[*const u8] =
            unsafe { core::slice::from_raw_parts(srcs.as_ptr().cast(), padded) };
        let ahead = Ahead::of(tile);
        let mut next = Cursor::of_rows(tile);
        let mut row = 0;
        while row < tile.rows.len {
            let len = next.until_jump.min(tile.rows.len - row);
            let dst = tile.dst.wrapping_offset(next.offset);
            let rows = Tile {
                src: tile.src.wrapping_add(row * W),
                dst,
                rows: AffineLoop { len, ..tile.rows },
                row_jumps: Jumps::NONE,
                ..*tile
            };
            // The last line before a jump and the first one after it are written in part, so they are read first.
            prefetch_partial(dst.wrapping_add(len * cols * W));
            next.skip(len);
            prefetch_partial(tile.dst.wrapping_offset(next.offset));
            // SAFETY: the rows belong to the tile, and there is no jump between them.
            unsafe {
                if are_lanes::<W>(cols) {
                    join_lanes::<V, W, LEVEL>(token, &rows, &srcs[..cols], row * W, ahead);
                } else {
                    join_rows::<V, W, LEVEL>(token, &rows, srcs, row * W, ahead);
                }
            }
            row += len;
        }
    }
}

/// Returns whether rows are whole lanes but shorter than a line. Whole micro-tiles would be mostly empty.
const fn are_lanes<const W: usize>(cols: usize) -> bool {
    cols * W < LINE && cols.is_multiple_of(LANE / W) && cols.is_multiple_of(LINE / LANE)
}

/// Makes lines from rows of whole lanes. Elements are transposed within lanes, which are then put in the order of the
/// destination.
///
/// # Safety
/// As [`ShortRows`], for rows that begin `at` bytes after `srcs`. The columns fill whole lanes, and their number is a
/// multiple of the number of lanes in a line.
#[inline(always)]
unsafe fn join_lanes<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &Tile,
    srcs: &[*const u8],
    at: usize,
    ahead: Ahead,
) {
    let (each, side, lanes) = (LANE / W, V::BYTES / W, V::BYTES / LANE);
    // The number of lanes in a row, and the number of bytes in one lane of all vectors.
    let (pieces, block) = (srcs.len() / each, srcs.len() * LANE);
    let mut vectors = [MaybeUninit::<V>::uninit(); LINE];
    let mut made = [MaybeUninit::<V>::uninit(); LINE];
    let made: *mut u8 = made.as_mut_ptr().cast();
    // SAFETY: only rows and columns of the tile are read. `made` has space for all lanes of all vectors, and the
    // results are written sequentially.
    unsafe {
        let mut writer = Writer::at(token, tile.dst);
        for row in (0..tile.rows.len).step_by(side) {
            let count = side.min(tile.rows.len - row);
            let far = ahead.distance_at(at + row * W);
            for (vectors, srcs) in vectors.chunks_exact_mut(each).zip(srcs.chunks_exact(each)) {
                load_columns::<V, W, LEVEL>(token, vectors, srcs, at + row * W, count, far);
                transpose_within_lanes::<V, W>(written(vectors));
            }
            let (mut position, mut piece) = (0, 0);
            for first in (0..srcs.len()).step_by(lanes) {
                let mut lines: Lanes<V> = [vectors[0].assume_init(); LINE / LANE];
                for line in &mut lines[..lanes] {
                    *line = vectors.get_unchecked(piece * each + position).assume_init();
                    piece += 1;
                    if piece == pieces {
                        (position, piece) = (position + 1, 0);
                    }
                }
                V::transpose_lanes(&mut lines);
                for (lane, line) in lines[..lanes].iter().enumerate() {
                    line.store(made.add(lane * block + first * LANE));
                }
            }
            writer.put_bytes::<W>(made, count * srcs.len() * W);
        }
        writer.end();
    }
}

/// Loads `count` rows of each column, at most as many as a vector has elements, and prefetches `ahead` bytes further
/// on.
///
/// # Safety
/// The rows are valid at `at` bytes from each of `srcs`.
#[inline(always)]
unsafe fn load_columns<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    vectors: &mut [MaybeUninit<V>],
    srcs: &[*const u8],
    at: usize,
    count: usize,
    ahead: isize,
) {
    for (vector, src) in vectors.iter_mut().zip(srcs) {
        // SAFETY: the caller guarantees that these rows of each column are valid.
        unsafe {
            let src = src.add(at);
            V::prefetch_into::<LEVEL>(src.wrapping_offset(ahead));
            vector.write(if count == V::BYTES / W {
                V::load(token, src)
            } else {
                V::load_first(token, src, count * W)
            });
        }
    }
}

/// Makes lines from rows of any length.
///
/// # Safety
/// As [`ShortRows`], for rows that begin `at` bytes after `srcs`. There are enough `srcs` to fill whole lines.
#[inline(always)]
unsafe fn join_rows<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &Tile,
    srcs: &[*const u8],
    at: usize,
    ahead: Ahead,
) {
    let (each, side) = (LINE / W, V::BYTES / W);
    // The vectors of the micro-tiles that make up a line of each row.
    let group = LINE / V::BYTES * side;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_LINES * MOST_VECTORS];
    // SAFETY: only rows and columns of the tile are read, and rows are written sequentially.
    unsafe {
        let mut writer = Writer::at(token, tile.dst);
        for row in (0..tile.rows.len).step_by(side) {
            let count = side.min(tile.rows.len - row);
            let far = ahead.distance_at(at + row * W);
            for (lines, srcs) in lines.chunks_exact_mut(group).zip(srcs.chunks_exact(each)) {
                for (vectors, srcs) in lines.chunks_exact_mut(side).zip(srcs.chunks_exact(side)) {
                    load_columns::<V, W, LEVEL>(token, vectors, srcs, at + row * W, count, far);
                    transpose_micro_tile::<V, W>(written(vectors));
                }
            }
            for i in 0..count {
                let mut rest = tile.cols.len * W;
                for lines in lines.chunks_exact(group).take(srcs.len() / each) {
                    writer.put_line_of::<W>(&Line::of_row(lines, i, side), rest.min(LINE));
                    rest = rest.saturating_sub(LINE);
                }
            }
        }
        writer.end();
    }
}
