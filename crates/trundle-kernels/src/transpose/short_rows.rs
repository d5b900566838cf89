//! Transposes into short contiguous rows, whose lines are assembled in registers.

use std::mem::MaybeUninit;

use super::cursor::Cursor;
use super::micro_tile::{
    LANE, MOST_VECTORS, transpose_micro_tile, transpose_within_lanes, written,
};
use crate::jumps::Jumps;
use crate::parts::line::Line;
use crate::parts::writer::Writer;
use crate::simd::{LINE, Lanes, Outlined, Token, Vector};
use crate::tile::{AffineLoop, Tile, prefetch_partial};

/// Contiguous rows of at most this many bytes are assembled in registers.
const MOST_SHORT_ROW_BYTES: usize = 8 * LINE;

/// The most lines of a short row.
const MOST_LINES: usize = MOST_SHORT_ROW_BYTES / LINE;

/// The prefetch distance in the same column, in bytes, for short rows.
const SHORT_ROWS_AHEAD: usize = 8 * LINE;

/// The bytes to prefetch with a position of a column: some lines further in the column, or, at its end, the
/// start of the next tile if it is known.
#[derive(Clone, Copy)]
struct Ahead {
    /// From this byte of a column on, the next tile is prefetched.
    until: usize,
    /// The prefetch distance for either, in bytes.
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
            // For a short column, the next tile is prefetched from its first byte on.
            bytes: [ahead, jump.wrapping_add(column.min(SHORT_ROWS_AHEAD)).cast_signed()],
        }
    }

    /// Returns the prefetch distance at byte `at` of a column.
    #[inline(always)]
    fn of_place(&self, at: usize) -> isize {
        self.bytes[usize::from(at >= self.until)]
    }
}

pub(crate) fn are_short_rows(tile: &Tile) -> bool {
    let row_bytes = tile.cols.len * tile.width;
    row_bytes <= MOST_SHORT_ROW_BYTES.min(tile.tuning.short_row_bytes(tile.width))
        && tile.rows.dst_stride == row_bytes.cast_signed()
        && tile.rows.len > 1
}

/// Streams the rows of a tile for which [`are_short_rows`] holds. Elements have W bytes and are aligned to W. The
/// rows ascend in the source, which is prefetched into the cache LEVEL.
pub(crate) struct ShortRows<const W: usize, const LEVEL: u8>;

impl<const W: usize, const LEVEL: u8> Outlined for ShortRows<W, LEVEL> {
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        let mut srcs = [MaybeUninit::<*const u8>::uninit(); MOST_SHORT_ROW_BYTES];
        let (cols, padded) = (tile.cols.len, tile.cols.len.next_multiple_of(LINE / W));
        Cursor::of_cols(tile).fill(tile.src, &mut srcs[..cols]);
        // Lines with too few columns repeat the last one.
        let last = srcs[cols - 1];
        srcs[cols..padded].fill(last);
        // SAFETY: the first `padded` entries are written.
        let srcs: &[*const u8] =
            unsafe { std::slice::from_raw_parts(srcs.as_ptr().cast(), padded) };
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
            // Lines that are written partially are read first: the last one, and the first one after the jump.
            prefetch_partial(dst.wrapping_add(len * cols * W));
            next.skip(len);
            prefetch_partial(tile.dst.wrapping_offset(next.offset));
            // SAFETY: the rows belong to the tile, between two jumps.
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

/// Returns whether rows of `cols` columns are whole lanes but less than a line. Micro-tiles of more than their
/// lanes would be mostly empty.
const fn are_lanes<const W: usize>(cols: usize) -> bool {
    cols * W < LINE && cols.is_multiple_of(LANE / W) && cols.is_multiple_of(LINE / LANE)
}

/// Joins rows of whole lanes. The lanes of each micro-tile are transposed by themselves and then arranged in the
/// order of the destination, which makes whole lines.
///
/// # Safety
/// As [`ShortRows`], for columns at `at` bytes from `srcs`. The columns fill lanes, and their number is a multiple
/// of a line's lanes.
#[inline(always)]
unsafe fn join_lanes<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &Tile,
    srcs: &[*const u8],
    at: usize,
    ahead: Ahead,
) {
    let (each, side, lanes) = (LANE / W, V::BYTES / W, V::BYTES / LANE);
    // The number of lanes of a row, and the bytes of the same lane of all vectors.
    let (pieces, block) = (srcs.len() / each, srcs.len() * LANE);
    let mut vectors = [MaybeUninit::<V>::uninit(); LINE];
    let mut made = [MaybeUninit::<V>::uninit(); LINE];
    let made: *mut u8 = made.as_mut_ptr().cast();
    // SAFETY: only rows and columns of the tile are read. Each lane of the vectors becomes as many bytes as the
    // vectors have lanes; the results are written sequentially.
    unsafe {
        let mut writer = Writer::at(token, tile.dst);
        for row in (0..tile.rows.len).step_by(side) {
            let count = side.min(tile.rows.len - row);
            let far = ahead.of_place(at + row * W);
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

/// Loads `count` rows, at most as many as a vector has elements, of each column into a vector. Prefetches the
/// source `ahead` bytes further on.
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

/// Joins rows of any length: each line is assembled from the ends of rows.
///
/// # Safety
/// As [`ShortRows`], for columns at `at` bytes from `srcs`, enough of them to fill lines.
#[inline(always)]
unsafe fn join_rows<V: Vector, const W: usize, const LEVEL: u8>(
    token: Token<V>,
    tile: &Tile,
    srcs: &[*const u8],
    at: usize,
    ahead: Ahead,
) {
    let (each, side) = (LINE / W, V::BYTES / W);
    // The micro-tiles of a line of each row, in consecutive groups.
    let group = LINE / V::BYTES * side;
    let mut lines = [MaybeUninit::<V>::uninit(); MOST_LINES * MOST_VECTORS];
    // SAFETY: only rows and columns of the tile are read, and rows are written sequentially.
    unsafe {
        let mut writer = Writer::at(token, tile.dst);
        for row in (0..tile.rows.len).step_by(side) {
            let count = side.min(tile.rows.len - row);
            let far = ahead.of_place(at + row * W);
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
