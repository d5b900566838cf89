//! Transposes elements that are each one or more whole cache lines.

use super::cursor::Cursor;
use crate::parts::line::{CarryBuffer, Line};
use crate::simd::{LINE, Outlined, Token, Vector};
use crate::tile::{StoreKind, Tile, prefetch_partial};

/// The maximum number of rows that are moved together, whose carry buffers stay in a first-level cache.
const MOST_ROWS: usize = 64;

/// The prefetch distance for the source, in bytes.
const BYTES_AHEAD: usize = 8 << 10;

/// Transposes a tile of elements that are whole lines. Rows may jump in the destination, and columns in the source.
///
/// Lines of the destination may begin at any byte of an element, so an incomplete line is kept until the next element
/// of the row completes it. The source is prefetched into the cache LEVEL.
pub(crate) struct WholeLines<const LEVEL: u8>;

impl<const LEVEL: u8> Outlined for WholeLines<LEVEL> {
    #[inline(always)]
    unsafe fn run<V: Vector>(token: Token<V>, tile: &Tile) {
        let tile = &tile.rising();
        let mut next = Cursor::of_rows(tile);
        for first in (0..tile.rows.len).step_by(MOST_ROWS) {
            let count = MOST_ROWS.min(tile.rows.len - first);
            let mut dsts = [(tile.dst, 0); MOST_ROWS];
            for dst in &mut dsts[..count] {
                let row = tile.dst.wrapping_offset(next.next());
                *dst = (row, row.addr() % LINE);
                if tile.store == StoreKind::Streaming {
                    prefetch_partial(row);
                    prefetch_partial(row.wrapping_add(tile.cols.len * tile.width));
                }
            }
            let src = tile.src.wrapping_add(first * tile.width);
            let rows = Rows { src, dsts: &dsts[..count] };
            // SAFETY: the rows belong to the tile.
            unsafe {
                match tile.store {
                    StoreKind::Streaming => stream_rows::<V, LEVEL>(token, tile, &rows),
                    StoreKind::Ordinary => store_rows(token, tile, &rows),
                }
            }
        }
    }
}

struct Rows<'a> {
    src: *const u8,
    /// For each row, its destination, and the number of bytes of its first line before it.
    dsts: &'a [(*mut u8, usize)],
}

/// # Safety
/// As [`WholeLines`], for rows of the tile.
#[inline(always)]
unsafe fn store_rows<V: Vector>(token: Token<V>, tile: &Tile, rows: &Rows<'_>) {
    let mut cols = Cursor::of_cols(tile);
    for col in 0..tile.cols.len {
        let src = rows.src.wrapping_offset(cols.next());
        for (row, (dst, _)) in rows.dsts.iter().enumerate() {
            for at in (0..tile.width).step_by(LINE) {
                // SAFETY: the element belongs to the tile.
                unsafe {
                    let line = Line::load(token, src.add(row * tile.width + at));
                    line.store(dst.add(col * tile.width + at));
                }
            }
        }
    }
}

/// # Safety
/// As [`WholeLines`], for rows of the tile.
#[inline(always)]
unsafe fn stream_rows<V: Vector, const LEVEL: u8>(token: Token<V>, tile: &Tile, rows: &Rows<'_>) {
    let width = tile.width;
    let mut carry = [CarryBuffer::NONE; MOST_ROWS];
    let (mut cols, mut aheads) = (Cursor::of_cols(tile), Cursor::of_cols(tile));
    let ahead = BYTES_AHEAD.div_ceil(rows.dsts.len() * width).min(tile.cols.len - 1);
    for _ in 0..ahead {
        aheads.next();
    }
    for col in 0..tile.cols.len {
        let src = rows.src.wrapping_offset(cols.next());
        let prefetched = match (col + ahead).checked_sub(tile.cols.len) {
            None => Some(rows.src.wrapping_offset(aheads.next())),
            Some(beyond) => tile.next.map(|next| next.column(beyond, tile.cols.src_stride)),
        };
        if let Some(prefetched) = prefetched {
            for at in (0..=rows.dsts.len() * width).step_by(LINE) {
                V::prefetch_into::<LEVEL>(prefetched.wrapping_add(at));
            }
        }
        for (row, (&(dst, over), carry)) in rows.dsts.iter().zip(&mut carry).enumerate() {
            // SAFETY: the element belongs to the tile. From the second column on, the row has kept the previous line.
            unsafe {
                let (src, dst) = (src.add(row * width), dst.add(col * width));
                let carry = carry.0.as_mut_ptr().cast::<u8>();
                let first = Line::load(token, src);
                if over == 0 {
                    first.stream(dst);
                } else if col == 0 {
                    first.store_first(dst, LINE - over);
                } else {
                    join::<V>(&Line::load(token, carry), &first, LINE - over).stream(dst.sub(over));
                }
                for at in (LINE..width).step_by(LINE) {
                    Line::load(token, src.add(at - over)).stream(dst.add(at - over));
                }
                Line::load(token, src.add(width - LINE)).store(carry);
            }
        }
    }
    for (&(dst, over), carry) in rows.dsts.iter().zip(&carry) {
        // SAFETY: each row has kept its last line. The last bytes of this line have not been written yet.
        unsafe {
            let line = Line::load(token, carry.0.as_ptr().cast());
            let end = dst.add(tile.cols.len * width);
            join::<V>(&line, &line, LINE - over).store_first(end.sub(over), over);
        }
    }
}

/// Calls [`Line::join`], which is faster at multiples of 4.
///
/// # Safety
/// As [`Line::join`].
#[inline(always)]
unsafe fn join<V: Vector>(first: &Line<V>, next: &Line<V>, at: usize) -> Line<V> {
    // SAFETY: the caller upholds the `# Safety` of [`Line::join`].
    unsafe {
        if at.is_multiple_of(4) { first.join::<4>(next, at) } else { first.join::<1>(next, at) }
    }
}
