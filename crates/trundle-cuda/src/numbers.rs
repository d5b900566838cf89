//! Tables in device memory, and the index sums that read them.

use std::sync::Arc;

use trundle_gpu::GpuBlock;

use crate::rows::kept;

/// 64-bit values to upload. Each table is stored once.
#[derive(Default)]
pub(crate) struct Numbers {
    all: Vec<i64>,
    known: Vec<(Arc<[usize]>, u64)>,
}

/// Offsets of a block's tables among [`Numbers`], for all loops at step 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Entry of the length table that cuts a loop.
    pub(crate) length_entry: u32,
    /// Entry of the first index table.
    pub(crate) index_entry: u32,
    /// Position of the sums of further index tables, one after another. Each sum has an entry, a scale, and for each
    /// loop the stride in entries.
    pub(crate) further: u64,
}

impl Numbers {
    /// Appends the tables and sums of a block.
    pub(crate) fn sums(&mut self, block: &GpuBlock) -> Sums {
        let (indices, kept) = (&block.block.indices, kept(block));
        let cut = block.block.loops.iter().find_map(trundle_core::Loop::cut_by_table);
        let length_entry =
            cut.map_or(0, |(_, table)| self.table(&table.lengths) + table.offset as u64);
        // Tables come first so that the sums are contiguous.
        let entries: Vec<u64> =
            indices.iter().map(|table| self.table(&table.indices) + table.offset as u64).collect();
        let further = self.all.len() as u64;
        for (table, entry) in indices.iter().zip(&entries).skip(1) {
            self.sum(*entry, table.scale, kept.iter().map(|at| table.strides[*at]));
        }
        let index_entry = entries.first().copied().unwrap_or(0);
        Sums { length_entry: length_entry as u32, index_entry: index_entry as u32, further }
    }

    fn sum(&mut self, entry: u64, scale: isize, strides: impl Iterator<Item = isize>) {
        self.all.extend([entry.cast_signed(), scale as i64]);
        self.all.extend(strides.map(|stride| stride as i64));
    }

    /// Returns the position of a table and appends it on first use.
    fn table(&mut self, table: &Arc<[usize]>) -> u64 {
        if let Some((_, begin)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, table)) {
            return *begin;
        }
        let begin = self.all.len() as u64;
        self.all.extend(table.iter().map(|entry| entry.cast_signed() as i64));
        self.known.push((Arc::clone(table), begin));
        begin
    }

    pub(crate) fn all(&self) -> &[i64] {
        &self.all
    }
}
