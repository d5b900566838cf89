//! Tables of offsets for many short loops. Each table combines several loops into one.

use alloc::vec::Vec;

use super::exchanges::{BitOrigin, Exchange, exchanges};
use super::staged::Staged;
use crate::simd::{LINE, Simd};
use crate::tile::{AffineLoop, StoreKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) src: isize,
    pub(crate) dst: isize,
}

impl Offset {
    #[inline(always)]
    pub(crate) fn of(self, src: *const u8, dst: *mut u8) -> (*const u8, *mut u8) {
        (src.wrapping_offset(self.src), dst.wrapping_offset(self.dst))
    }
}

/// The offsets of a tile's elements. A tile consists of micro-tiles, a micro-tile of rows, and a row of columns. Each
/// table combines the iterations of several loops. All tiles of a block share the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    pub(crate) micro_tiles: Vec<Offset>,
    pub(crate) rows: Vec<Offset>,
    pub(crate) cols: Vec<Offset>,
    /// The shuffles of registers. Empty if elements are moved one at a time or micro-tiles are transposed.
    pub(crate) exchanges: Vec<Exchange>,
    /// How the rows are made from the columns by way of a buffer. The columns are then the runs of the source, and the
    /// rows are the runs of the destination.
    pub(crate) staged: Option<Staged>,
    /// Whether all cache lines are written whole, provided that the tile begins at a cache line.
    pub(crate) lines: bool,
}

/// A tile whose offsets are in tables, which apply once per round.
#[derive(Clone, Copy)]
pub struct GatherTile<'a> {
    /// The source of the first element.
    pub src: *const u8,
    /// The destination of the first element.
    pub dst: *mut u8,
    /// The size of an element in bytes.
    pub width: usize,
    /// The loop over rounds.
    pub rounds: AffineLoop,
    /// The tables of offsets.
    pub tables: &'a Tables,
    /// How the result is written.
    pub store: StoreKind,
}

impl GatherTile<'_> {
    #[inline(always)]
    pub(crate) fn rounds(&self) -> impl Iterator<Item = (*const u8, *mut u8)> {
        let GatherTile { src, dst, rounds, .. } = *self;
        (0..rounds.len.cast_signed()).map(move |round| {
            let offset = Offset {
                src: round.wrapping_mul(rounds.src_stride),
                dst: round.wrapping_mul(rounds.dst_stride),
            };
            offset.of(src, dst)
        })
    }
}

/// Tables, and the loops that are not in the tables.
pub struct Gathered {
    /// The tables.
    pub tables: Tables,
    /// The loops over tiles, by descending destination stride.
    pub outer: Vec<AffineLoop>,
    /// The offsets of the first tile from the start of the loops, in source and destination, in bytes.
    pub begin: (isize, isize),
    /// The number of elements per round.
    pub elements: usize,
}

const MOST_FACTOR: usize = 31;

/// The maximum number of cache lines that are streamed in two halves, with others in between (measured;
/// docs/kernels.md).
const MOST_OPEN_LINES: usize = 4;

/// The table of so many micro-tiles stays in the first-level cache.
const MOST_MICRO_TILES: usize = 1 << 10;

/// The lengths in bytes of the runs that are read and written by way of a buffer, the preferred one first (measured;
/// docs/notes/kernels.md).
const RUN_BYTES: [usize; 3] = [256, 128, 64];

/// The same for loops whose lengths are not powers of two. Runs then begin and end within lines.
const LEAST_READ_BYTES: usize = 256;
const LEAST_WRITTEN_BYTES: usize = 512;
const MOST_RUN_BYTES: usize = 2048;

/// Bits of wider elements, and fewer loops that read registers from different columns, are not faster by way of a buffer
/// (measured; docs/notes/kernels.md).
const MOST_STAGED_WIDTH: usize = 1;
const LEAST_STAGED_COLS: usize = 2;

impl Tables {
    /// Makes tables for `loops` over elements of `width` bytes, in tiles of about `tile_bytes` bytes, for a kernel of the
    /// instruction set `simd`.
    ///
    /// If the kernel permutes `bits`, returns `None` unless loops whose lengths are powers of two fill a register
    /// without gaps in the source and in the destination.
    pub fn of(
        loops: &[AffineLoop],
        width: usize,
        bits: bool,
        simd: Simd,
        tile_bytes: usize,
    ) -> Option<Gathered> {
        let mut left = Left::of(loops);
        let Taken { rows, cols, exchanges, staged, begin, elements } = if bits {
            left.take_registers(width, simd)?
        } else {
            let staged = if simd.is_within_lanes() { left.take_transpose(width) } else { None };
            staged.unwrap_or_else(|| left.take_elements(width))
        };
        let most = (tile_bytes / (elements * width)).clamp(1, MOST_MICRO_TILES);
        let mut micro_tiles = left.take_near(most);
        let lines = bits && make_lines(simd.vector_bytes(), &rows, &mut micro_tiles);
        let tables = Tables {
            micro_tiles: offsets(&micro_tiles),
            rows: offsets(&rows),
            cols: offsets(&cols),
            exchanges,
            staged,
            lines,
        };
        let elements = elements * tables.micro_tiles.len();
        Some(Gathered { tables, outer: left.joined(), begin, elements })
    }

    /// Returns the size of the tables in bytes.
    pub fn own_bytes(&self) -> usize {
        let Tables { micro_tiles, rows, cols, exchanges, staged, .. } = self;
        let offsets =
            size_of_val(&micro_tiles[..]) + size_of_val(&rows[..]) + size_of_val(&cols[..]);
        offsets + size_of_val(&exchanges[..]) + staged.as_ref().map_or(0, Staged::own_bytes)
    }

    /// Returns the numbers of micro-tiles, rows and columns.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.micro_tiles.len(), self.rows.len(), self.cols.len())
    }
}

fn count(loops: &[AffineLoop]) -> usize {
    loops.iter().map(|each| each.len).product()
}

/// Returns the offsets of all iterations. The first loop varies fastest.
fn offsets(loops: &[AffineLoop]) -> Vec<Offset> {
    let mut all = Vec::with_capacity(loops.iter().map(|each| each.len).product());
    all.push(Offset { src: 0, dst: 0 });
    for each in loops {
        let inner = all.len();
        for step in 1..each.len.cast_signed() {
            for at in 0..inner {
                let Offset { src, dst } = all[at];
                let src = src.wrapping_add(step.wrapping_mul(each.src_stride));
                all.push(Offset { src, dst: dst + step * each.dst_stride });
            }
        }
    }
    all
}

/// Moves the loops that complete cache lines to the front of `micro_tiles`, for written registers of `bytes` bytes.
/// Returns whether all lines are then written whole, and few at a time.
fn make_lines(bytes: usize, rows: &[AffineLoop], micro_tiles: &mut [AffineLoop]) -> bool {
    let distance = |each: &AffineLoop| each.dst_stride.unsigned_abs();
    // A part of a line begins at a multiple of its size, because stores must be aligned.
    let is_part = |each: &AffineLoop| {
        let at = distance(each);
        each.len == 2 && each.dst_stride > 0 && at >= bytes && at.is_power_of_two()
    };
    micro_tiles.sort_by_key(|each| distance(each) >= LINE);
    let (mut all, mut within) = (true, 0);
    for each in rows.iter().chain(&*micro_tiles) {
        let part = distance(each) < LINE;
        within += usize::from(part);
        all &= if part { is_part(each) } else { distance(each).is_multiple_of(LINE) };
    }
    all && bytes << within == LINE && (bytes == LINE || 1 << rows.len() <= MOST_OPEN_LINES)
}

/// The loops of a micro-tile.
struct Taken {
    rows: Vec<AffineLoop>,
    cols: Vec<AffineLoop>,
    exchanges: Vec<Exchange>,
    staged: Option<Staged>,
    /// The offsets of the first element, in source and destination.
    begin: (isize, isize),
    elements: usize,
}

/// The loops of two iterations that fill registers, or runs of the source and the destination.
struct Bits {
    /// The loops that fill a register only in the source: each iteration writes a register.
    rows: Vec<AffineLoop>,
    /// The loops that fill a register only in the destination: each iteration reads a register.
    cols: Vec<AffineLoop>,
    origins: Vec<BitOrigin>,
    begin: (isize, isize),
}

impl Bits {
    fn taken(self, exchanges: Vec<Exchange>, staged: Option<Staged>) -> Taken {
        let Bits { rows, cols, origins, begin } = self;
        let elements = 1 << (rows.len() + origins.len());
        Taken { rows, cols, exchanges, staged, begin, elements }
    }
}

/// The loops that are not in a table yet, split into short ones.
#[derive(Clone)]
struct Left(Vec<AffineLoop>);

impl Left {
    fn of(loops: &[AffineLoop]) -> Left {
        let mut pieces = Vec::with_capacity(2 * loops.len());
        for each in loops {
            let AffineLoop { mut len, mut src_stride, mut dst_stride } = *each;
            let mut factor = 2;
            while len > 1 {
                if factor > MOST_FACTOR || factor * factor > len {
                    factor = len;
                }
                if len.is_multiple_of(factor) {
                    pieces.push(AffineLoop { len: factor, src_stride, dst_stride });
                    let steps = factor.cast_signed();
                    (src_stride, dst_stride) = (src_stride.wrapping_mul(steps), dst_stride * steps);
                    len /= factor;
                } else {
                    factor += 1;
                }
            }
        }
        Left(pieces)
    }

    /// Takes the loops that fill registers. If registers of many columns would be read, takes the loops that
    /// fill longer runs, which are read and written by way of a buffer.
    fn take_registers(&mut self, width: usize, simd: Simd) -> Option<Taken> {
        let bytes = simd.vector_bytes();
        let before = self.clone();
        let bits = self.take_bits(width, bytes)?;
        if simd.is_within_lanes()
            && width <= MOST_STAGED_WIDTH
            && bits.cols.len() >= LEAST_STAGED_COLS
        {
            for run in RUN_BYTES {
                let mut left = before.clone();
                if let Some(bits) = left.take_bits(width, run)
                    && let Some(staged) = Staged::of_bits(&bits.origins, width, run)
                {
                    *self = left;
                    return Some(bits.taken(Vec::new(), Some(staged)));
                }
            }
        }
        let exchanges = if bits.rows.len() < bits.origins.len() {
            exchanges(&bits.origins, bits.rows.len(), width, bytes)
        } else {
            Vec::new()
        };
        Some(bits.taken(exchanges, None))
    }

    /// Takes the loops of a line in the destination, and of a line in the source.
    fn take_elements(&mut self, width: usize) -> Taken {
        let cols = self.take_line(width, |each| each.dst_stride);
        let rows = self.take_line(width, |each| each.src_stride);
        let (begin, elements) = ((0, 0), count(&rows) * count(&cols));
        Taken { rows, cols, exchanges: Vec::new(), staged: None, begin, elements }
    }

    /// Takes the loops of contiguous runs of the source and of the destination, unless a loop belongs to both, or runs
    /// would be short.
    fn take_transpose(&mut self, width: usize) -> Option<Taken> {
        if !matches!(width, 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let mut left = self.clone();
        let rows = left.take_run(width, LEAST_READ_BYTES, |each| each.src_stride.abs())?;
        let cols = left.take_run(width, LEAST_WRITTEN_BYTES, |each| each.dst_stride)?;
        let staged = Staged::of_transpose(count(&rows), count(&cols), width)?;
        let mut begin = (0, 0);
        let rising = |each: AffineLoop| {
            // Runs are read in ascending order, even if a loop descends in the source.
            let (falls, last) = (each.src_stride < 0, each.len.cast_signed() - 1);
            begin.0 += if falls { last * each.src_stride } else { 0 };
            begin.1 += if falls { last * each.dst_stride } else { 0 };
            AffineLoop {
                dst_stride: if falls { -each.dst_stride } else { each.dst_stride },
                ..each
            }
        };
        let rows: Vec<AffineLoop> = rows.into_iter().map(rising).collect();
        let elements = count(&rows) * count(&cols);
        *self = left;
        Some(Taken { rows, cols, exchanges: Vec::new(), staged: Some(staged), begin, elements })
    }

    /// Takes loops that are contiguous, until they have `least` bytes. Returns `None` if there are too few.
    fn take_run(
        &mut self,
        width: usize,
        least: usize,
        stride: fn(&AffineLoop) -> isize,
    ) -> Option<Vec<AffineLoop>> {
        let (mut taken, mut bytes) = (Vec::new(), width);
        while bytes < least {
            let most = MOST_RUN_BYTES / bytes;
            let is_next = |each: &AffineLoop| {
                stride(each) == bytes.cast_signed() && (2..=most).contains(&each.len)
            };
            let at = self.0.iter().position(is_next)?;
            bytes *= self.0[at].len;
            taken.push(self.0.remove(at));
        }
        Some(taken)
    }

    fn take_bits(&mut self, width: usize, vector_bytes: usize) -> Option<Bits> {
        let bits = (vector_bytes / width).ilog2() as usize;
        let find = |stride: &dyn Fn(&AffineLoop) -> usize, at: usize| {
            let mut all = self.0.iter().copied();
            all.find(|each| each.len == 2 && stride(each) == width << at)
        };
        let in_source = |at| find(&|each| each.src_stride.unsigned_abs(), at);
        let in_destination = |at| find(&|each| each.dst_stride.unsigned_abs(), at);
        let sources: Vec<AffineLoop> = (0..bits).map(in_source).collect::<Option<_>>()?;
        let destinations: Vec<AffineLoop> = (0..bits).map(in_destination).collect::<Option<_>>()?;
        self.0.retain(|each| !sources.contains(each) && !destinations.contains(each));

        let (mut rows, mut exchanged, mut begin) = (Vec::new(), Vec::new(), (0, 0));
        for (at, each) in sources.iter().enumerate() {
            // Registers are read in ascending order, even if a loop descends in the source.
            let falls = each.src_stride < 0;
            begin.0 += if falls { each.src_stride } else { 0 };
            if !destinations.contains(each) {
                begin.1 += if falls { each.dst_stride } else { 0 };
                let dst_stride = if falls { -each.dst_stride } else { each.dst_stride };
                rows.push(AffineLoop { len: 2, src_stride: 0, dst_stride });
                exchanged.push(at);
            }
        }
        let (mut cols, mut origins) = (Vec::new(), Vec::with_capacity(bits));
        for each in &destinations {
            origins.push(match sources.iter().position(|source| source == each) {
                Some(bit) => BitOrigin { bit, falls: each.src_stride < 0, exchanged: None },
                None => {
                    cols.push(AffineLoop { dst_stride: 0, ..*each });
                    let index = cols.len() - 1;
                    BitOrigin { bit: exchanged[index], falls: false, exchanged: Some(index) }
                }
            });
        }
        Some(Bits { rows, cols, origins, begin })
    }

    /// Takes the loops with the smallest strides until they fill a cache line, or the next would exceed it by far.
    fn take_line(&mut self, width: usize, stride: fn(&AffineLoop) -> isize) -> Vec<AffineLoop> {
        let (mut taken, mut count) = (Vec::new(), 1);
        while count * width < LINE
            && let Some(at) = self.nearest(stride, (LINE / width + MOST_FACTOR) / count)
        {
            count *= self.0[at].len;
            taken.push(self.0.remove(at));
        }
        taken
    }

    /// Returns the loop with the smallest stride and at most `most` iterations. A loop of stride 0 comes last.
    fn nearest(&self, stride: fn(&AffineLoop) -> isize, most: usize) -> Option<usize> {
        let distance = |at: &usize| stride(&self.0[*at]).unsigned_abs().wrapping_sub(1);
        (0..self.0.len()).filter(|at| self.0[*at].len <= most).min_by_key(distance)
    }

    /// Takes loops of at most `most` iterations in all: in turn the smallest source and destination strides, so that
    /// reads and writes touch few pages.
    fn take_near(&mut self, most: usize) -> Vec<AffineLoop> {
        let (mut taken, mut count): (Vec<AffineLoop>, _) = (Vec::new(), 1);
        let mut sides: [fn(&AffineLoop) -> isize; 2] =
            [|each| each.src_stride, |each| each.dst_stride];
        while let Some(at) = self.nearest(sides[0], most / count) {
            count *= self.0[at].len;
            taken.push(self.0.remove(at));
            sides.reverse();
        }
        // Reads in ascending order are fastest (measured; docs/notes/kernels.md).
        taken.sort_by_key(|each| each.src_stride.unsigned_abs());
        taken
    }

    /// Returns the remaining loops, merged where possible, by descending destination stride.
    fn joined(mut self) -> Vec<AffineLoop> {
        self.0.sort_unstable_by_key(|each| core::cmp::Reverse(each.dst_stride));
        let mut joined: Vec<AffineLoop> = Vec::with_capacity(self.0.len());
        for each in self.0 {
            let len = each.len.cast_signed();
            match joined.last_mut() {
                Some(outer)
                    if outer.dst_stride == each.dst_stride * len
                        && outer.src_stride == each.src_stride.wrapping_mul(len) =>
                {
                    *outer = AffineLoop { len: outer.len * each.len, ..each };
                }
                _ => joined.push(each),
            }
        }
        joined
    }
}
