//! The parameters of launches, for kernels with 32-bit offsets.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use trundle_core::Block;

use crate::access::stores_of_row;
use crate::loop_source::{LoopSource, src_begin};
use crate::part::{BlockPart, cut_by_table};
use crate::span::{bytes_read, bytes_written, dst_span, entries, src_span};
use crate::{
    Access, GpuBlock, LaunchSummary, Pattern, STORES_OF_RUNS, WORKGROUP, Window, Windows, tile_edge,
};

/// A kernel. Launches of the same kernel differ only in their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// For [`Pattern::Gather`].
    Gather(Access),
    /// For [`Pattern::Runs`].
    Runs(Access),
    /// For [`Pattern::Tiles`].
    Tiles {
        /// The element size in bytes, one of [`TILE_BYTES`](crate::TILE_BYTES).
        width: usize,
    },
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pattern, access) = match self {
            Kernel::Tiles { width } => return write!(f, "tiles_{width}"),
            Kernel::Gather(access) => ("gather", access),
            Kernel::Runs(access) => ("runs", access),
        };
        let access = match access {
            Access::SubByte(_) => "sub_byte",
            Access::Bytes => "bytes",
            Access::Words => "words",
            Access::Vectors => "vectors",
        };
        write!(f, "{pattern}_{access}")
    }
}

/// A launch of a kernel, which moves a block or a part of it from one window to another. Offsets, strides, and sizes of
/// elements and rows count grains of the [`Access`]. Kernels calculate modulo 2^32, so negative values wrap around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The index of the block in the [`GpuMove`](crate::GpuMove).
    pub block: usize,
    /// The kernel.
    pub kernel: Kernel,
    /// The access unit.
    pub access: Access,
    /// The bound window of the source.
    pub src: Window,
    /// The bound window of the destination.
    pub dst: Window,
    /// The range of bytes of the source buffer that is read. With an index table, not every byte is read.
    pub reads: Range<usize>,
    /// The range of bytes of the destination buffer that is written.
    pub writes: Range<usize>,
    /// The number of workgroups.
    pub workgroups: u32,
    /// The position of the first element in the source window.
    pub src_offset: u32,
    /// The position of the first element in the destination window.
    pub dst_offset: u32,
    /// Only elements that begin before this position in the source window are moved. Another launch moves the others.
    pub src_end: u32,
    /// The size of an element.
    pub width: u32,
    /// The number of rows. For [`Pattern::Tiles`], the number of matrices.
    pub rows: u32,
    /// The size of a row, which is contiguous in the destination.
    pub row: u32,
    /// The number of stores for each row, enough for any alignment.
    pub stores: u32,
    /// The number of outer loops, which go over rows. For tiles, all loops are outer and go over matrices.
    pub outer: usize,
    /// The loops, outermost first.
    pub loops: Vec<LaunchLoop>,
    /// How a table of lengths cuts a loop, if there is one.
    pub length_cut: Option<LengthCut>,
    /// The index tables, whose scaled entries are added to the source position.
    pub indices: Vec<IndexSum>,
    /// The slices of tables that the kernel reads. It gets them as one concatenated table.
    pub tables: Vec<TableSlice>,
    /// The two loops of a tile, if the kernel moves tiles.
    pub tile: Option<TileLoops>,
}

/// A loop of a [`Launch`].
///
/// Iteration i adds `i · dst_stride` to the destination position. It adds `i · first_stride` to the source position if
/// i is less than `cut`, and `second_offset + i · second_stride` otherwise. Without a cut, `cut` is `len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchLoop {
    /// The number of iterations.
    pub len: u32,
    /// The stride in the destination.
    pub dst_stride: u32,
    /// The first iteration of the second run. Not used if a table cuts the loop.
    pub cut: u32,
    /// The stride in the source before the cut.
    pub first_stride: u32,
    /// The position that iteration 0 would have in the second run.
    pub second_offset: u32,
    /// The stride in the source from the cut on.
    pub second_stride: u32,
}

/// How a table of lengths cuts a loop: at iteration `start + per_length · length`, clamped to the loop.
///
/// The first run begins at the position `first_per_length · length`, the second run at
/// `second_offset + second_per_length · length`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthCut {
    /// The index of the loop.
    pub at: usize,
    /// The cut for length 0, a signed number.
    pub start: u32,
    /// The change of the cut with the length: 1 or -1.
    pub per_length: u32,
    /// The change of the first run's start with the length.
    pub first_per_length: u32,
    /// The change of the second run's start with the length.
    pub second_per_length: u32,
    /// The table entry with the length, whose scale is 1.
    pub length: IndexSum,
}

/// A table entry, multiplied by `scale`. The iterations of the loops determine which one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSum {
    /// The entry in iteration 0 of all loops.
    pub entry: u32,
    /// The stride of each loop, in entries.
    pub strides: Vec<u32>,
    /// The factor of the entry.
    pub scale: u32,
}

/// A slice of a table.
#[derive(Clone, Debug)]
pub struct TableSlice {
    /// The table.
    pub table: Arc<[usize]>,
    /// The range of entries.
    pub entries: Range<usize>,
}

/// The two loops of a tile. No table depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileLoops {
    /// The length of the loop that is contiguous in the source.
    pub across: u32,
    /// The destination stride of this loop.
    pub across_dst_stride: u32,
    /// Whether this loop descends in the source.
    pub reversed: bool,
    /// The length of the loop that is contiguous in the destination.
    pub along: u32,
    /// The source stride of this loop.
    pub along_src_stride: u32,
}

impl PartialEq for TableSlice {
    fn eq(&self, other: &TableSlice) -> bool {
        Arc::ptr_eq(&self.table, &other.table) && self.entries == other.entries
    }
}

impl Eq for TableSlice {}

impl Launch {
    /// Appends the launches of a part, one for each source window.
    pub(crate) fn push_all(
        (at, block): (usize, &GpuBlock),
        part: &BlockPart,
        windows: &Windows,
        [src, dst]: [usize; 2],
        launches: &mut Vec<Launch>,
    ) {
        let access = block.access;
        let dst = windows.of_dst(access, &dst_span(part), dst);
        let whole = Launch { block: at, ..LaunchBuilder { part, access }.launch(block, dst) };
        let reads = bytes_read(part, access, src);
        let first = src_begin(&part.block);
        for (src, moved) in windows.of_src(access, &src_span(part), src) {
            let begin = access.units_of(src.offset).cast_signed();
            let src_offset = grains(first - begin, access);
            let src_end = moved.map_or(u32::MAX, |moved| grains(moved.cast_signed(), access));
            // An element may begin in a window and end in the overlap after it.
            let reads = reads.start.max(src.offset)..reads.end.min(src.offset + src.bytes);
            launches.push(Launch { src, reads, src_offset, src_end, ..whole.clone() });
        }
    }

    /// A description of the launch for display.
    pub fn summary(&self) -> LaunchSummary {
        LaunchSummary {
            block: self.block,
            kernel: self.kernel.to_string(),
            workgroups: self.workgroups,
            reads: self.reads.clone(),
            writes: self.writes.clone(),
            windows: Some([self.src, self.dst]),
        }
    }

    /// The entries of all table slices, concatenated.
    pub fn table_entries(&self) -> impl Iterator<Item = u32> {
        let of_slice = |slice: &TableSlice| slice.table[slice.entries.clone()].to_vec();
        self.tables.iter().flat_map(of_slice).map(|entry| entry as u32)
    }
}

fn grains(distance: isize, access: Access) -> u32 {
    (distance / access.grain().cast_signed()) as u32
}

/// Converts a part to launch parameters.
struct LaunchBuilder<'a> {
    part: &'a BlockPart,
    access: Access,
}

impl LaunchBuilder<'_> {
    fn launch(&self, block: &GpuBlock, dst: Window) -> Launch {
        let LaunchBuilder { part, access } = self;
        let Block { loops, .. } = &part.block;
        let tile = match block.pattern {
            Pattern::Tiles { across, along } => Some((across, along)),
            _ => None,
        };
        let of_tile = |at: usize| tile.is_some_and(|(across, along)| at == across || at == along);
        let is_kept =
            |at: usize| !of_tile(at) && (loops[at].len > 1 || loops[at].cut_by_table().is_some());
        let kept: Vec<usize> = (0..loops.len()).filter(|at| is_kept(*at)).collect();
        let row_loops = if tile.is_some() { loops.len() } else { part.row_loops() };
        let outer = kept.iter().filter(|at| **at < row_loops).count();
        let rows: usize = kept[..outer].iter().map(|at| loops[*at].len).product();
        let row = if tile.is_some() { part.width } else { part.row() } / access.grain();
        let dst_offset = part.block.dst_offset - access.units_of(dst.offset).cast_signed();
        let dst_offset = self.grains(dst_offset);
        let stores = self.stores(row, dst_offset, &kept[..outer]);
        let tile = tile.map(|(across, along)| self.tile(across, along));
        let mut tables = Vec::new();
        let length_cut = self.length_cut(&kept, &mut tables);
        let indices = self.indices(&kept, &mut tables);
        Launch {
            block: 0,
            kernel: match block.pattern {
                Pattern::Gather => Kernel::Gather(*access),
                Pattern::Runs => Kernel::Runs(*access),
                Pattern::Tiles { .. } => Kernel::Tiles { width: part.width },
            },
            access: *access,
            src: dst,
            dst,
            reads: 0..0,
            writes: bytes_written(part, *access),
            workgroups: match (block.pattern, tile) {
                (Pattern::Tiles { .. }, Some(tile)) => {
                    let edge = tile_edge(part.width) as u32;
                    rows as u32 * tile.across.div_ceil(edge) * tile.along.div_ceil(edge)
                }
                (Pattern::Runs, _) => (rows * stores.div_ceil(WORKGROUP * STORES_OF_RUNS)) as u32,
                _ => (rows * stores).div_ceil(WORKGROUP) as u32,
            },
            src_offset: 0,
            dst_offset,
            src_end: u32::MAX,
            width: self.grains(part.width.cast_signed()),
            rows: rows as u32,
            row: row as u32,
            stores: stores as u32,
            outer,
            loops: kept.iter().map(|at| self.launch_loop(*at)).collect(),
            length_cut,
            indices,
            tables,
            tile,
        }
    }

    fn grains(&self, distance: isize) -> u32 {
        grains(distance, self.access)
    }

    /// The maximum number of stores for a row: one more if rows may begin within a store.
    fn stores(&self, row: usize, dst_offset: u32, outer: &[usize]) -> usize {
        let strides = outer.iter().map(|at| self.part.block.loops[*at].dst_stride);
        let strides = strides.map(|stride| self.grains(stride) as usize);
        stores_of_row(row, self.access.store(), dst_offset as usize, strides)
    }

    fn launch_loop(&self, at: usize) -> LaunchLoop {
        let each = &self.part.block.loops[at];
        let source = LoopSource::of(each);
        LaunchLoop {
            len: each.len as u32,
            dst_stride: self.grains(each.dst_stride),
            cut: source.cut as u32,
            first_stride: self.grains(source.first_stride),
            second_offset: self.grains(source.second_offset),
            second_stride: self.grains(source.second_stride),
        }
    }

    fn length_cut(&self, kept: &[usize], tables: &mut Vec<TableSlice>) -> Option<LengthCut> {
        let (at, cut, table) = cut_by_table(&self.part.block)?;
        Some(LengthCut {
            at: kept.iter().position(|each| *each == at)?,
            start: table.start as u32,
            per_length: table.per_length as u32,
            first_per_length: self.grains(cut.first.src_per_length),
            second_per_length: self.grains(cut.second.src_per_length),
            length: self.sum(&table.lengths, table.offset, &table.strides, 1, kept, tables),
        })
    }

    fn indices(&self, kept: &[usize], tables: &mut Vec<TableSlice>) -> Vec<IndexSum> {
        let of_table = |table: &trundle_core::IndexTable| {
            let scale = self.grains(table.scale);
            self.sum(&table.indices, table.offset, &table.strides, scale, kept, tables)
        };
        self.part.block.indices.iter().map(of_table).collect()
    }

    /// Returns the entry of a table, and appends the slice that the part reads to `tables`.
    fn sum(
        &self,
        table: &Arc<[usize]>,
        offset: usize,
        strides: &[isize],
        scale: u32,
        kept: &[usize],
        tables: &mut Vec<TableSlice>,
    ) -> IndexSum {
        let before: usize = tables.iter().map(|slice| slice.entries.len()).sum();
        let entries = entries(self.part, offset, strides);
        let entry = (before + offset - entries.start) as u32;
        tables.push(TableSlice { table: Arc::clone(table), entries });
        let strides = kept.iter().map(|at| strides[*at] as u32).collect();
        IndexSum { entry, strides, scale }
    }

    fn tile(&self, across: usize, along: usize) -> TileLoops {
        let [across, along] = [across, along].map(|at| &self.part.block.loops[at]);
        let src_stride = |each: &trundle_core::Loop| each.affine_stride().unwrap_or(0);
        TileLoops {
            across: across.len as u32,
            across_dst_stride: self.grains(across.dst_stride),
            reversed: src_stride(across) < 0,
            along: along.len as u32,
            along_src_stride: self.grains(src_stride(along)),
        }
    }
}
