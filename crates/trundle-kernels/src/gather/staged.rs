//! Moves the elements of many short loops by way of a buffer in the caches.
//!
//! Runs that are contiguous in the source are copied to a buffer, one for each iteration of the loops that are innermost
//! only in the destination. There, elements change places in registers, and whole runs of the destination are written.
//! So each cache line of source and destination is read or written at once, although lines far apart evict each other.
//!
//! A *group* is two lanes of 16 bytes of each of several registers. In the buffer, a lane begins at any multiple of 16
//! bytes, so lanes are loaded from one order and stored in another. Only the innermost elements change places within
//! registers: by a transpose within lanes, with a shuffle before and after it if elements of the lane stay in it.

use alloc::vec::Vec;

use super::exchanges::{BitOrigin, Exchange};
use super::tables::GatherTile;
use crate::parts::scratch::{COPIED_BYTES, scratch};
use crate::rows::runs::copy_run;
use crate::simd::{Indices, LINE, Token, Vector, stream_line};
use crate::tile::{StoreKind, prefetch_partial};
use crate::transpose::micro_tile::{LANE, transpose_within_lanes};

/// The order of the elements of a tile in the buffer, and how they change places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Staged {
    /// The length of a run, and the distance between runs in the buffer, in bytes: of the source and the destination.
    bytes: (usize, usize),
    pitches: (usize, usize),
    /// The number of bytes that the transpose within lanes moves as one element.
    unit: usize,
    /// For each register of a group, and for both lanes, where they are loaded and stored.
    loads: [usize; LANE],
    stores: [usize; LANE],
    lanes: [(usize, usize); 2],
    /// The shuffles before and after the transpose, of each lane.
    shuffles: Option<Exchange>,
    /// The groups of a block, and where each block begins. A block is written as this many runs.
    groups: Vec<(usize, usize)>,
    blocks: Vec<usize>,
    block_rows: usize,
}

/// A loop of two iterations of a tile: how far apart its elements are in the buffer, when they are read and when they
/// are written, in bytes.
#[derive(Clone, Copy)]
struct Bit {
    read: usize,
    written: usize,
    /// Whether the order of its elements changes.
    falls: bool,
}

impl Bit {
    /// Returns where an element is read whose index in the destination has the bit `value`.
    fn read(self, value: usize) -> usize {
        (value ^ usize::from(self.falls)) * self.read
    }

    /// Returns where an element is written whose index in the source has the bit `value`.
    fn written(self, value: usize) -> usize {
        (value ^ usize::from(self.falls)) * self.written
    }
}

/// Returns the sum over all bits of `place`, for the values of the bits in `index`.
fn sum(bits: &[Bit], index: usize, place: fn(Bit, usize) -> usize) -> usize {
    bits.iter().enumerate().map(|(at, bit)| place(*bit, index >> at & 1)).sum()
}

impl Staged {
    /// For loops of two iterations. `origins` are the bits of runs of `run` bytes. Returns `None` if the loops do not
    /// fill two lanes.
    pub(crate) fn of_bits(origins: &[BitOrigin], width: usize, run: usize) -> Option<Staged> {
        let mut bits: Vec<Bit> = Vec::with_capacity(2 * origins.len());
        let mut stays = vec![false; origins.len()];
        for (at, origin) in origins.iter().enumerate() {
            let read = match origin.exchanged {
                Some(index) => run << index,
                None => {
                    stays[origin.bit] = true;
                    width << origin.bit
                }
            };
            bits.push(Bit { read, written: width << at, falls: origin.falls });
        }
        let rows = (0..origins.len()).filter(|at| !stays[*at]).enumerate();
        bits.extend(rows.map(|(row, at)| Bit {
            read: width << at,
            written: run << row,
            falls: false,
        }));
        let some = |test: &dyn Fn(&Bit) -> bool| -> Vec<Bit> {
            bits.iter().copied().filter(test).collect()
        };
        let kept = some(&|bit| bit.read < LANE && bit.written < LANE);
        let gained = some(&|bit| bit.read >= LANE && bit.written < LANE);
        let mut lost = some(&|bit| bit.read < LANE && bit.written >= LANE);
        lost.sort_by_key(|bit| bit.read);
        // `bits` are in the order of the destination.
        let free = some(&|bit| bit.read >= LANE && bit.written >= LANE);
        let (lane, free) = free.split_first()?;
        let (inner, outer) = free.split_at(free.partition_point(|bit| bit.written < run));
        let is_row = |bit: &&Bit| bit.written >= run;
        let block_rows = 1 << lost.iter().chain([lane]).filter(is_row).count();
        let all = |bits: &[Bit], place: fn(Bit, usize) -> usize| -> Vec<usize> {
            (0..1 << bits.len()).map(|index| sum(bits, index, place)).collect()
        };
        let (mut loads, mut stores) = ([0; LANE], [0; LANE]);
        loads[..1 << gained.len()].copy_from_slice(&all(&gained, Bit::read));
        stores[..1 << lost.len()].copy_from_slice(&all(&lost, Bit::written));
        let places = all(inner, |bit, value| value * bit.written);
        Some(Staged {
            bytes: (run, run),
            pitches: (run, run),
            unit: width << kept.len(),
            loads,
            stores,
            lanes: [0, 1].map(|value| (lane.read(value), value * lane.written)),
            shuffles: shuffles([&kept, &lost, &gained], width),
            groups: all(inner, Bit::read).into_iter().zip(places).collect(),
            blocks: all(outer, Bit::read),
            block_rows,
        })
    }

    /// For loops of any length, if no loop is innermost in both source and destination: a transpose of `rows` by
    /// `cols` elements. Returns `None` if they do not fit in the buffer.
    pub(crate) fn of_transpose(rows: usize, cols: usize, width: usize) -> Option<Staged> {
        let each = LANE / width;
        let bytes = (rows * width, cols * width);
        // An odd number of lines, so that adjacent runs are in different sets of a cache.
        let pitch = |bytes: usize| (bytes.div_ceil(LINE) | 1) * LINE;
        let pitches = (pitch(bytes.0), pitch(bytes.1));
        let groups = (0..cols).step_by(2 * each).map(|col| (col * pitches.0, col * width));
        let staged = Staged {
            bytes,
            pitches,
            unit: width,
            loads: core::array::from_fn(|index| index * pitches.0),
            stores: core::array::from_fn(|index| index * pitches.1),
            lanes: [(0, 0), (each * pitches.0, LANE)],
            shuffles: None,
            groups: groups.collect(),
            blocks: (0..bytes.0).step_by(LANE).collect(),
            block_rows: each,
        };
        (staged.read_bytes(cols) + each * pitches.1 <= COPIED_BYTES).then_some(staged)
    }

    /// Returns the size of the tables in bytes.
    pub(crate) fn own_bytes(&self) -> usize {
        size_of_val(&self.groups[..]) + size_of_val(&self.blocks[..])
    }

    /// Returns the number of bytes of the buffer that groups read.
    fn read_bytes(&self, cols: usize) -> usize {
        (cols + 2 * LANE) * self.pitches.0
    }
}

/// Returns the shuffles for the bits that stay in a lane, leave it, and come into it. The bits that stay become the
/// lowest ones, so that the transpose moves their elements as one.
fn shuffles([kept, lost, gained]: [&[Bit]; 3], width: usize) -> Option<Exchange> {
    let (before, after) = ([kept, lost].concat(), [kept, gained].concat());
    let first = |to: usize| sum(&before, to, |bit, value| value * bit.read);
    let then = |to: usize| {
        let of = |(at, bit): (usize, &Bit)| {
            let value = usize::from((to * width) & bit.written != 0);
            // Bits that come into a lane are loaded in the order of the destination.
            let falls = usize::from(bit.falls && at < kept.len());
            (value ^ falls) * (width << at)
        };
        after.iter().enumerate().map(of).sum()
    };
    // `from` returns the byte of a lane at which the source of an element begins.
    let indices = |from: &dyn Fn(usize) -> usize| {
        core::array::from_fn(|byte| {
            let (lane, byte) = (byte / LANE * LANE, byte % LANE);
            (lane + from(byte / width) + byte % width) as u8
        })
    };
    let shuffles = [indices(&first), indices(&then)];
    (shuffles != [indices(&|to| to * width); 2]).then_some(shuffles)
}

/// Moves the micro-tiles of a tile.
///
/// # Safety
/// As [`KernelFn::GatherTile`](crate::KernelFn::GatherTile); the tables are made for `staged`.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector>(token: Token<V>, tile: &GatherTile<'_>, staged: &Staged) {
    // SAFETY: this thread moves one tile at a time, so nothing else uses the scratch.
    let scratch = unsafe { scratch() };
    let mut own = Vec::new();
    let buffer = scratch.map_or_else(
        || {
            own.resize(COPIED_BYTES + LINE, 0);
            let start: *mut u8 = own.as_mut_ptr();
            start.wrapping_add(start.align_offset(LINE))
        },
        |scratch| scratch.copies,
    );
    // SAFETY: the caller upholds `# Safety`: all elements are valid.
    unsafe {
        match staged.unit {
            1 => moved::<V, 1, 16>(token, tile, staged, buffer),
            2 => moved::<V, 2, 8>(token, tile, staged, buffer),
            4 => moved::<V, 4, 4>(token, tile, staged, buffer),
            8 => moved::<V, 8, 2>(token, tile, staged, buffer),
            _ => moved::<V, LANE, 1>(token, tile, staged, buffer),
        }
    }
}

/// # Safety
/// As [`run`], with a transpose of elements of U bytes, N in each lane, and a buffer of [`COPIED_BYTES`].
#[inline(always)]
unsafe fn moved<V: Vector, const U: usize, const N: usize>(
    token: Token<V>,
    tile: &GatherTile<'_>,
    staged: &Staged,
    buffer: *mut u8,
) {
    let (tables, large) = (tile.tables, tile.store == StoreKind::Streaming);
    let (read, written) = staged.bytes;
    let out = buffer.wrapping_add(staged.read_bytes(tables.cols.len()));
    let each = tables.cols.len().div_ceil(staged.blocks.len() * staged.groups.len());
    for (src, dst) in tile.rounds() {
        for (at, micro_tile) in tables.micro_tiles.iter().enumerate() {
            let next = tables.micro_tiles.get(at + 1).unwrap_or(micro_tile).of(src, dst).0;
            let (src, dst) = micro_tile.of(src, dst);
            let mut coming = if large { &tables.cols[..] } else { &[] };
            // SAFETY: the caller guarantees that all rows and columns are valid. The groups stay within the buffer.
            unsafe {
                for (index, col) in tables.cols.iter().enumerate() {
                    let to = buffer.add(index * staged.pitches.0);
                    copy_run(token, src.wrapping_offset(col.src), to, read);
                }
                for (block, rows) in staged.blocks.iter().zip(tables.rows.chunks(staged.block_rows))
                {
                    // Incomplete lines are read before they are written.
                    for row in rows.iter().filter(|_| large) {
                        let dst = dst.wrapping_offset(row.dst);
                        prefetch_partial(dst);
                        prefetch_partial(dst.wrapping_add(written));
                    }
                    for (from, to) in &staged.groups {
                        let prefetched;
                        (prefetched, coming) = coming.split_at(each.min(coming.len()));
                        for col in prefetched {
                            for line in (0..read).step_by(LINE) {
                                V::prefetch_l2(next.wrapping_offset(col.src).wrapping_add(line));
                            }
                        }
                        staged.group::<V, U, N>(token, buffer.add(block + from), out.add(*to));
                    }
                    for (index, row) in rows.iter().enumerate() {
                        let (from, to) =
                            (out.add(index * staged.pitches.1), dst.wrapping_offset(row.dst));
                        write_run(token, from, to, written, large);
                    }
                }
            }
        }
    }
}

impl Staged {
    /// Moves a group of registers within the buffer.
    ///
    /// # Safety
    /// The group from `from` on is valid for reads, and at `to` for writes; the registers have two lanes.
    #[inline(always)]
    unsafe fn group<V: Vector, const U: usize, const N: usize>(
        &self,
        token: Token<V>,
        from: *const u8,
        to: *mut u8,
    ) {
        let [low, high] = self.lanes;
        // SAFETY: the caller guarantees that the lanes are valid.
        unsafe {
            let load = |at: usize| {
                let mut srcs = [from.add(at + low.0); LINE / LANE];
                srcs[1] = from.add(at + high.0);
                V::load_lanes(token, &srcs)
            };
            // An array of a constant length, so that the vectors stay in registers.
            let mut vectors: [V; N] = core::array::from_fn(|index| load(self.loads[index]));
            if let Some([before, after]) = &self.shuffles {
                let (before, after) = (Indices::new(token, before), Indices::new(token, after));
                vectors = vectors.map(|vector| vector.shuffle_lanes(before));
                transpose_within_lanes::<V, U>(&mut vectors);
                vectors = vectors.map(|vector| vector.shuffle_lanes(after));
            } else {
                transpose_within_lanes::<V, U>(&mut vectors);
            }
            for (vector, at) in vectors.iter().zip(&self.stores) {
                vector.store_lane(0, to.add(at + low.1));
                vector.store_lane(1, to.add(at + high.1));
            }
        }
    }
}

/// Copies a run, whole lines by streaming stores if `streamed`.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `bytes` bytes, and they do not overlap.
#[inline(always)]
unsafe fn write_run<V: Vector>(
    token: Token<V>,
    src: *const u8,
    dst: *mut u8,
    bytes: usize,
    streamed: bool,
) {
    let head = dst.align_offset(LINE);
    // SAFETY: the caller guarantees that the bytes are valid. From `head` on, lines are aligned.
    unsafe {
        if !streamed || head + LINE > bytes {
            return copy_run(token, src, dst, bytes);
        }
        let end = head + (bytes - head) / LINE * LINE;
        copy_run(token, src, dst, head);
        for at in (head..end).step_by(LINE) {
            stream_line(token, src.add(at), dst.add(at));
        }
        copy_run(token, src.add(end), dst.add(end), bytes - end);
    }
}
