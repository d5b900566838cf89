//! The kernels in Rust: run the invocations of a launch one after another, and check that no two write the same bit.
//!
//! The code follows the kernels for devices line by line, so that launches can be tested without a device.

use std::fmt;

use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Move, Packing, Result};
use trundle_gpu::{
    Access, GpuMove, IndexSum, Kernel, Launch, STORES_OF_RUNS, TileLoops, WORKGROUP, Windows,
    tile_edge,
};

/// A backend that emulates a device on host memory.
pub(crate) struct Invocations {
    pub(crate) windows: Windows,
}

pub(crate) struct Plan {
    pub(crate) work: GpuMove,
    pub(crate) launches: Vec<Launch>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.work.fmt(f)
    }
}

impl Backend for Invocations {
    type Buffer = [u8];
    type Plan = Plan;

    fn plan(&self, work: &Move) -> Plan {
        let work = GpuMove::of(work);
        Plan { launches: work.launches(&self.windows), work }
    }

    fn budget(&self) -> Budget {
        unreachable!("no program is planned")
    }

    fn buffer(&self, bytes: usize) -> Result<Box<[u8]>> {
        Ok(vec![0; bytes].into())
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<[u8]>> {
        Ok(bytes.into())
    }

    fn bytes_of(&self, buffer: &[u8]) -> usize {
        buffer.len()
    }

    fn run_while(
        &self,
        plan: &Plan,
        src: &[u8],
        dst: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        plan.work.check(src.len(), dst.len())?;
        // The bytes after a buffer in its last word are arbitrary.
        let (src, mut words) = (words(src), words(dst));
        let mut written = vec![0; words.len()];
        for launch in &plan.launches {
            if !go_on() {
                return Err(Error::Stopped);
            }
            let [of_src, of_dst] = [launch.src, launch.dst].map(|window| {
                assert!(window.offset.is_multiple_of(self.windows.alignment), "{window:?}");
                assert!(window.bytes <= self.windows.bytes, "{window:?}");
                window.offset / 4..(window.offset + window.bytes) / 4
            });
            let mut workgroup = Workgroup {
                launch,
                tables: launch.table_entries().collect(),
                src: &src[of_src],
                dst: &mut words[of_dst.clone()],
                written: &mut written[of_dst],
            };
            (0..launch.workgroups).for_each(|group| workgroup.run(group));
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (inside, behind) = bytes.split_at(dst.len());
        assert!(behind.iter().all(|byte| *byte == 0xa5), "bytes after the buffer are written");
        dst.copy_from_slice(inside);
        Ok(())
    }
}

/// Returns the source and destination positions of some elements of a launch in bytes, including the first and the
/// last. Skips elements that another launch moves.
pub(crate) fn some_positions(launch: &Launch) -> Vec<[usize; 2]> {
    let workgroup = Workgroup {
        launch,
        tables: launch.table_entries().collect(),
        src: &[],
        dst: &mut [],
        written: &mut [],
    };
    let some = |count: u32| [0, count / 3, count / 2, count - 1];
    let mut offsets = Vec::new();
    let mut add = |src: u32, dst: u32| {
        if src < launch.src_end {
            let within = [src, dst].map(|at| at as usize * launch.access.grain());
            for (at, window) in within.into_iter().zip([launch.src, launch.dst]) {
                assert!(at < window.bytes, "{at} is beyond {window:?}");
            }
            offsets.push([launch.src.offset + within[0], launch.dst.offset + within[1]]);
        }
    };
    for row in some(launch.rows) {
        match launch.tile {
            None => {
                for element in some(launch.row / launch.width) {
                    let dst = workgroup.dst_of(row) + element * launch.width;
                    add(workgroup.src_of(row, element), dst);
                }
            }
            Some(tile) => {
                for (across, along) in some(tile.across).into_iter().zip(some(tile.along)) {
                    let step = across * launch.width;
                    let step = if tile.reversed { 0u32.wrapping_sub(step) } else { step };
                    let src = along.wrapping_mul(tile.along_src_stride).wrapping_add(step);
                    let dst = across * tile.across_dst_stride + along * launch.width;
                    add(workgroup.src_of(row, 0).wrapping_add(src), workgroup.dst_of(row) + dst);
                }
            }
        }
    }
    offsets
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(16), 0xa5);
    padded.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

struct Workgroup<'a> {
    launch: &'a Launch,
    tables: Vec<u32>,
    src: &'a [u32],
    dst: &'a mut [u32],
    written: &'a mut [u32],
}

/// The source position of the last element that an invocation moved.
type LastElement = Option<(u32, u32)>;

impl Workgroup<'_> {
    fn run(&mut self, group: u32) {
        let (launch, size) = (self.launch, WORKGROUP as u32);
        match (launch.kernel, launch.tile) {
            (Kernel::Tiles { width }, Some(tile)) => self.tile(group, width as u32, tile),
            (Kernel::Runs(_), _) => {
                let stretch = size * STORES_OF_RUNS as u32;
                let stretches = launch.stores.div_ceil(stretch);
                let (row, first) = (group / stretches, group % stretches * stretch);
                for lane in 0..size {
                    let mut last = None;
                    for store in (0..STORES_OF_RUNS as u32).map(|turn| first + turn * size + lane) {
                        if store < launch.stores {
                            self.store(row, store, &mut last);
                        }
                    }
                }
            }
            _ => {
                for lane in 0..size {
                    let item = group * size + lane;
                    if item < launch.rows * launch.stores {
                        self.store(item / launch.stores, item % launch.stores, &mut None);
                    }
                }
            }
        }
    }

    /// Computes one store of a row.
    fn store(&mut self, row: u32, number: u32, last: &mut LastElement) {
        let launch = self.launch;
        let store = launch.access.store() as u32;
        let begin = self.dst_of(row);
        let first = (begin / store + number) * store;
        let (mut at, end) = (begin.max(first), (begin + launch.row).min(first + store));
        let (mut made, mut covered) = ([0; 3], [0; 3]);
        while at < end {
            let (element, within) = ((at - begin) / launch.width, (at - begin) % launch.width);
            let src = match *last {
                Some((known, src)) if known == element => src,
                _ => self.src_of(row, element),
            };
            *last = Some((element, src));
            let src = src.wrapping_add(within);
            let count = (end - at).min(launch.width - within);
            if src < launch.src_end {
                match launch.access {
                    Access::Vectors => {
                        for word in 0..4 {
                            self.put(4 * at + word, self.src[(4 * src + word) as usize], !0);
                        }
                    }
                    Access::Words => self.put(at, self.src[src as usize], !0),
                    Access::Bytes => {
                        let mask = ones(8 * count);
                        made[0] |= (self.bytes(src, count) & mask) << (8 * (at % 4));
                        covered[0] |= mask << (8 * (at % 4));
                    }
                    Access::SubByte(packing) => {
                        for each in 0..count {
                            let fields = fields(packing, src + each).into_iter();
                            for (from, to) in fields.zip(fields_of(packing, at + each - first)) {
                                let value = self.bits(from);
                                set_bits(&mut made, to, value);
                                set_bits(&mut covered, to, !0);
                            }
                        }
                    }
                }
            }
            at += count;
        }
        for word in 0..3 {
            let address = first / store * launch.access.store_words() as u32 + word;
            if covered[word as usize] != 0 {
                self.put(address, made[word as usize], covered[word as usize]);
            }
        }
    }

    /// Writes the bits of a word that are set in `covered`.
    fn put(&mut self, at: u32, value: u32, covered: u32) {
        let at = at as usize;
        assert_eq!(self.written[at] & covered, 0, "word {at} is written twice");
        self.written[at] |= covered;
        self.dst[at] = self.dst[at] & !covered | value & covered;
    }

    fn bytes(&self, at: u32, count: u32) -> u32 {
        self.bits(Field { bit: 8 * u64::from(at), bits: 8 * count })
    }

    fn bits(&self, field: Field) -> u32 {
        let (word, within) = ((field.bit / 32) as usize, (field.bit % 32) as u32);
        let mut value = self.src[word] >> within;
        if within + field.bits > 32 {
            value |= self.src[word + 1] << (32 - within);
        }
        value & ones(field.bits)
    }

    fn dst_of(&self, row: u32) -> u32 {
        let (mut rest, mut at) = (row, self.launch.dst_offset);
        for each in self.launch.loops[..self.launch.outer].iter().rev() {
            at += rest % each.len * each.dst_stride;
            rest /= each.len;
        }
        at
    }

    /// The source position of an element of a row.
    fn src_of(&self, row: u32, element: u32) -> u32 {
        let launch = self.launch;
        let mut src = launch.src_offset;
        let mut cut_step = 0;
        let mut rest = element;
        for (at, each) in launch.loops.iter().enumerate().rev() {
            if at + 1 == launch.outer {
                rest = row;
            }
            let step = rest % each.len;
            rest /= each.len;
            if launch.length_cut.as_ref().is_some_and(|cut| cut.at == at) {
                cut_step = step;
            } else {
                src = src.wrapping_add(match step < each.cut {
                    true => step.wrapping_mul(each.first_stride),
                    false => each.second_offset.wrapping_add(step.wrapping_mul(each.second_stride)),
                });
            }
        }
        if let Some(cut) = &launch.length_cut {
            let (each, length) = (&launch.loops[cut.at], self.sum(&cut.length, row, element));
            let step = cut.start.wrapping_add(cut.per_length.wrapping_mul(length)).cast_signed();
            src = src.wrapping_add(
                match cut_step < step.clamp(0, each.len.cast_signed()).cast_unsigned() {
                    true => cut
                        .first_per_length
                        .wrapping_mul(length)
                        .wrapping_add(cut_step.wrapping_mul(each.first_stride)),
                    false => cut
                        .second_per_length
                        .wrapping_mul(length)
                        .wrapping_add(each.second_offset)
                        .wrapping_add(cut_step.wrapping_mul(each.second_stride)),
                },
            );
        }
        launch.indices.iter().fold(src, |src, sum| src.wrapping_add(self.sum(sum, row, element)))
    }

    fn sum(&self, sum: &IndexSum, row: u32, element: u32) -> u32 {
        let (mut entry, mut rest) = (sum.entry, element);
        for (at, each) in self.launch.loops.iter().enumerate().rev() {
            if at + 1 == self.launch.outer {
                rest = row;
            }
            entry = entry.wrapping_add((rest % each.len).wrapping_mul(sum.strides[at]));
            rest /= each.len;
        }
        self.tables[entry as usize].wrapping_mul(sum.scale)
    }

    /// Moves a tile: its rows to shared memory, then its columns to the destination.
    fn tile(&mut self, group: u32, width: u32, tile: TileLoops) {
        let (launch, edge) = (self.launch, tile_edge(width as usize) as u32);
        let (tiles_across, tiles_along) = (tile.across.div_ceil(edge), tile.along.div_ceil(edge));
        let (across, along) =
            (group / tiles_along % tiles_across * edge, group % tiles_along * edge);
        let matrix = group / tiles_along / tiles_across;
        let (steps_across, steps_along) =
            (edge.min(tile.across - across), edge.min(tile.along - along));
        // The grains of a whole row, and the words that it takes at any alignment.
        let wide = launch.width;
        let by_bytes = launch.access == Access::Bytes;
        let grains = if by_bytes { 4 } else { 1 };
        let row_words = if by_bytes { edge * wide / 4 + 1 } else { edge * wide };
        let pitch = row_words | 1;
        // If the loop descends, its last element comes first in memory.
        let backwards = if tile.reversed { across + steps_across - 1 } else { 0 };
        let first = if tile.reversed { 0u32.wrapping_sub(backwards * wide) } else { across * wide };
        let src = self.src_of(matrix, 0).wrapping_add(first);
        let row_of = |row: u32| src.wrapping_add((along + row).wrapping_mul(tile.along_src_stride));
        let mut shared = vec![0xdead_beef; (edge * pitch) as usize];
        for item in 0..edge * row_words {
            let (row, word) = (item / row_words, item % row_words);
            let begin = row_of(row);
            let needed = (begin % grains + steps_across * wide).div_ceil(grains);
            let at = begin.wrapping_add(grains * word) / grains;
            if row < steps_along && word < needed && (at as usize) < self.src.len() {
                shared[(row * pitch + word) as usize] = self.src[at as usize];
            }
        }
        let dst = self.dst_of(matrix) + along * wide;
        for item in 0..edge * row_words {
            let (column, word) = (item / row_words, item % row_words);
            if column >= steps_across {
                continue;
            }
            let begin = dst + (across + column) * tile.across_dst_stride;
            let within = if tile.reversed { steps_across - 1 - column } else { column };
            let first = (begin / grains + word) * grains;
            let (mut at, end) =
                (begin.max(first), (begin + steps_along * wide).min(first + grains));
            let (mut made, mut covered) = (0, 0);
            while at < end {
                let (row, part) = ((at - begin) / wide, (at - begin) % wide);
                let src = row_of(row).wrapping_add(within * wide);
                if src < launch.src_end {
                    let from = row_of(row) % grains + within * wide + part;
                    let word = shared[(row * pitch + from / grains) as usize];
                    let bits = if by_bytes { 8 * wide } else { 32 };
                    let value = word >> (8 * (from % grains)) & ones(bits);
                    made |= value << (8 * (at % grains));
                    covered |= ones(bits) << (8 * (at % grains));
                }
                at += if by_bytes { wide } else { 1 };
            }
            if covered != 0 {
                self.put(first / grains, made, covered);
            }
        }
    }
}

/// A range of bits, counted from the least significant bit of the first word.
#[derive(Clone, Copy)]
struct Field {
    bit: u64,
    bits: u32,
}

/// The bits of an element: one or two fields, least significant first.
fn fields(packing: Packing, element: u32) -> [Field; 2] {
    let group = packing.group() as u32;
    let begin = u64::from(element / group) * 8 * packing.group_bytes() as u64;
    fields_of(packing, element % group).map(|field| Field { bit: begin + field.bit, ..field })
}

/// Returns the bits of an element, from the start of its group.
fn fields_of(packing: Packing, element: u32) -> [Field; 2] {
    use trundle_core::BitOrder::{HighFirst, LowFirst, Split};
    let (bits, group) = (packing.bits() as u32, packing.group() as u32);
    let begin = element / group * packing.group_bytes() as u32 * 8;
    let within = element % group;
    let field = |bit: u32, bits| Field { bit: u64::from(begin + bit), bits };
    match packing.order() {
        LowFirst => [field(within * bits, bits), field(0, 0)],
        HighFirst => [field(8 - bits * (within + 1), bits), field(0, 0)],
        Split => {
            let (low, high, in_byte) = (bits / 3 * 2, bits / 3, group / 2);
            let byte = within / in_byte;
            [
                field(8 * byte + low * (in_byte - 1 - within % in_byte), low),
                field(16 + high * (group - 1 - within), high),
            ]
        }
    }
}

fn set_bits(words: &mut [u32; 3], field: Field, value: u32) {
    let (word, within) = ((field.bit / 32) as usize, (field.bit % 32) as u32);
    let value = value & ones(field.bits);
    words[word] |= value << within;
    if within + field.bits > 32 {
        words[word + 1] |= value >> (32 - within);
    }
}

fn ones(bits: u32) -> u32 {
    if bits == 32 { !0 } else { (1 << bits) - 1 }
}
