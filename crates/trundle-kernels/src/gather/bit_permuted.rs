//! Permutes axes whose sizes are powers of two, in registers. An axis of size 2 is one bit of the element index, so
//! permuting axes permutes bits.

use core::mem::MaybeUninit;

use super::tables::{GatherTile, Offset, Tables};
use super::{gathered, staged};
use crate::channels;
use crate::elements::copy::by_width;
use crate::pattern::Pattern;
use crate::simd::{Indices, LINE, Token, Vector};
use crate::tile::StoreKind;
use crate::transpose::micro_tile::{MOST_VECTORS, transpose_micro_tile, written};
use crate::transpose::transposed;

pub(crate) use crate::elements::strided::tile;

/// Maximum size of a tile of two loops in bytes. Plain kernels move larger ones faster, except transposes of shorter
/// rows (measured; docs/notes/kernels.md).
const MOST_PLAIN_BYTES: usize = 1024;
const LEAST_PLAIN_ROW_BYTES: usize = 24;

/// Applies if a tile of two loops would be small, there are more than two loops, and the innermost loops of two
/// iterations fill a register in the source and in the destination. Pixels are left to shuffles within lanes, unless they
/// would be moved element by element.
pub(crate) fn applies(pattern: &Pattern, vector_bytes: usize) -> bool {
    let Pattern { width, lens, tile, bits, .. } = *pattern;
    let is_small = |(rows, cols): (usize, usize)| {
        rows.saturating_mul(cols).saturating_mul(width) <= MOST_PLAIN_BYTES
    };
    matches!(width, 1 | 2 | 4 | 8 | 16)
        && width << bits.0.min(bits.1) >= vector_bytes
        && is_small(lens)
        && (!channels::moves_within_lanes(pattern, vector_bytes)
            || gathered::applies(pattern, vector_bytes))
        && (is_small(tile)
            || tile.0 * width < LEAST_PLAIN_ROW_BYTES
            || !transposed::applies(pattern, vector_bytes))
}

/// Moves micro-tiles: reads several registers, permutes their elements, and writes them.
///
/// # Safety
/// As [`KernelFn::GatherTile`](crate::KernelFn::GatherTile); the tables are for registers of V.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &GatherTile<'_>) {
    if V::WITHIN_LANES
        && let Some(staged) = &tile.tables.staged
    {
        // SAFETY: the caller upholds `# Safety`: all elements are valid.
        return unsafe { staged::run(token, tile, staged) };
    }
    // SAFETY: the caller upholds `# Safety`: all elements are valid. W is the tile's width.
    unsafe {
        by_width!([1 2 4 8] tile.width, W => rounds::<V, W>(token, tile), {
            rounds::<V, 16>(token, tile);
        });
    }
}

/// # Safety
/// As [`run`], for elements of W bytes.
#[inline(always)]
unsafe fn rounds<V: Vector, const W: usize>(token: Token<V>, tile: &GatherTile<'_>) {
    for (src, dst) in tile.rounds() {
        let large = tile.store == StoreKind::Streaming;
        let streamed = large && tile.tables.lines && dst.addr().is_multiple_of(LINE);
        let round = Round { tables: tile.tables, src, dst, large, streamed };
        // SAFETY: the caller upholds `# Safety`: all elements are valid. Streamed registers are aligned.
        unsafe {
            match tile.tables.cols.len() {
                many if many * W == V::BYTES => round.transposed::<V, W>(token),
                1 => round.exchanged::<V, W, 1>(token),
                2 => round.exchanged::<V, W, 2>(token),
                4 if 8 * W <= V::BYTES => round.exchanged::<V, W, 4>(token),
                8 if 16 * W <= V::BYTES => round.exchanged::<V, W, 8>(token),
                16 if 32 * W <= V::BYTES => round.exchanged::<V, W, 16>(token),
                _ => round.exchanged::<V, W, 32>(token),
            }
        }
    }
}

struct Round<'a> {
    tables: &'a Tables,
    src: *const u8,
    dst: *mut u8,
    /// Whether the result is larger than the caches, so that the next micro-tile is prefetched.
    large: bool,
    /// Whether all registers are aligned and streamed.
    streamed: bool,
}

impl Round<'_> {
    /// Returns the addresses of a micro-tile, and the source of the next one.
    #[inline(always)]
    fn micro_tile(&self, at: usize) -> (*const u8, *mut u8, *const u8) {
        let micro_tiles = &self.tables.micro_tiles;
        let (src, dst) = micro_tiles[at].of(self.src, self.dst);
        let next = micro_tiles.get(at + 1).map_or(src, |next| next.of(self.src, self.dst).0);
        (src, dst, next)
    }

    /// # Safety
    /// `dst` is a row of a micro-tile.
    #[inline(always)]
    unsafe fn put<V: Vector>(&self, vector: V, dst: *mut u8) {
        // SAFETY: the caller guarantees that the bytes are valid.
        unsafe { if self.streamed { vector.stream(dst) } else { vector.store(dst) } }
    }

    /// Transposes micro-tiles that have as many registers as a register has elements.
    ///
    /// # Safety
    /// As [`run`], for this round, with a column for each element of a register.
    #[inline(always)]
    unsafe fn transposed<V: Vector, const W: usize>(&self, token: Token<V>) {
        let mut vectors = [MaybeUninit::<V>::uninit(); MOST_VECTORS];
        let vectors = &mut vectors[..V::BYTES / W];
        for at in 0..self.tables.micro_tiles.len() {
            let (src, dst, next) = self.micro_tile(at);
            // SAFETY: the caller guarantees that all rows and columns are valid; all vectors are written.
            unsafe {
                for (vector, col) in vectors.iter_mut().zip(&self.tables.cols) {
                    if self.large {
                        V::prefetch(next.wrapping_offset(col.src));
                    }
                    vector.write(V::load(token, src.wrapping_offset(col.src)));
                }
                let vectors = written(vectors);
                transpose_micro_tile::<V, W>(vectors);
                for (vector, row) in vectors.iter().zip(&self.tables.rows) {
                    self.put(*vector, dst.wrapping_offset(row.dst));
                }
            }
        }
    }

    /// Moves micro-tiles of N registers. Exchanges the bits of the register index with some bits of the position.
    ///
    /// # Safety
    /// As [`run`], for this round.
    #[inline(always)]
    unsafe fn exchanged<V: Vector, const W: usize, const N: usize>(&self, token: Token<V>) {
        let Tables { micro_tiles, rows, cols, exchanges, .. } = self.tables;
        let (Ok(rows), Ok(cols)) =
            (<&[Offset; N]>::try_from(&rows[..]), <&[Offset; N]>::try_from(&cols[..]))
        else {
            return;
        };
        let Some([one, ..]) = exchanges.get(..N.ilog2().max(1) as usize) else { return };
        let (rows, cols) = (*rows, *cols);
        let none = Indices::new(token, &one[0]);
        let mut pairs = [[none; 2]; 5];
        for (pair, indices) in pairs.iter_mut().zip(exchanges) {
            *pair = [Indices::new(token, &indices[0]), Indices::new(token, &indices[1])];
        }
        for at in 0..micro_tiles.len() {
            let (src, dst, next) = self.micro_tile(at);
            // SAFETY: the caller guarantees that the bytes are valid.
            unsafe {
                let mut vectors = [V::load(token, src.wrapping_offset(cols[0].src)); N];
                for i in 0..N {
                    if self.large {
                        V::prefetch(next.wrapping_offset(cols[i].src));
                    }
                    vectors[i] = V::load(token, src.wrapping_offset(cols[i].src));
                }
                if N == 1 {
                    vectors[0] = vectors[0].shuffle::<W>(vectors[0], none);
                }
                exchange::<V, W, N, 1>(&mut vectors, pairs[0]);
                exchange::<V, W, N, 2>(&mut vectors, pairs[1]);
                exchange::<V, W, N, 4>(&mut vectors, pairs[2]);
                exchange::<V, W, N, 8>(&mut vectors, pairs[3]);
                exchange::<V, W, N, 16>(&mut vectors, pairs[4]);
                for i in 0..N {
                    self.put(vectors[i], dst.wrapping_offset(rows[i].dst));
                }
            }
        }
    }
}

/// Exchanges bit B of the register index, if it exists, with a bit of the position.
#[inline(always)]
fn exchange<V: Vector, const W: usize, const N: usize, const B: usize>(
    vectors: &mut [V; N],
    [low, high]: [Indices<V>; 2],
) {
    for first in 0..N {
        if B < N && first & B == 0 {
            let (a, b) = (vectors[first], vectors[first | B]);
            vectors[first] = a.shuffle::<W>(b, low);
            vectors[first | B] = a.shuffle::<W>(b, high);
        }
    }
}
