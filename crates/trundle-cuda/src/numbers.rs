//! The tables of a plan in device memory.

use std::sync::Arc;

use trundle_core::Block;
use trundle_gpu::GpuBlock;

use crate::rows::kept;

/// The 64-bit values that are copied to the device: tables and their descriptions. Each table is stored once.
#[derive(Default)]
pub(crate) struct Numbers {
    all: Vec<i64>,
    known: Vec<(Arc<[usize]>, u64)>,
}

/// Positions in [`Numbers`] of what a block reads in iteration 0 of all loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Position of the entry in the length table that cuts a loop.
    pub(crate) length_entry: u32,
    /// Position of the entry in the first index table.
    pub(crate) index_entry: u32,
    /// Position of the descriptions of further index tables, one after another. A description (a sum) has the position
    /// of an entry, a scale, and the stride of each loop in entries.
    pub(crate) further: u64,
}

impl Numbers {
    /// Appends the tables of a block and their descriptions.
    pub(crate) fn sums(&mut self, block: &GpuBlock) -> Sums {
        let (indices, kept) = (&block.block.indices, kept(block));
        let length_entry = self.length_entry(&block.block);
        // The descriptions are contiguous after the tables.
        let entries: Vec<u64> =
            indices.iter().map(|table| self.table(&table.indices) + table.offset as u64).collect();
        let further = self.all.len() as u64;
        for (table, entry) in indices.iter().zip(&entries).skip(1) {
            self.sum(*entry, table.scale, kept.iter().map(|at| table.strides[*at]));
        }
        let index_entry = entries.first().copied().unwrap_or(0);
        Sums { length_entry: length_entry as u32, index_entry: index_entry as u32, further }
    }

    /// Appends the table of lengths of a block. Returns the position of its entry, or 0.
    pub(crate) fn length_entry(&mut self, block: &Block) -> u64 {
        let cut = block.loops.iter().find_map(trundle_core::Loop::cut_by_table);
        cut.map_or(0, |(_, table)| self.table(&table.lengths) + table.offset as u64)
    }

    fn sum(&mut self, entry: u64, scale: isize, strides: impl Iterator<Item = isize>) {
        self.all.extend([entry.cast_signed(), scale as i64]);
        self.all.extend(strides.map(|stride| stride as i64));
    }

    /// Returns the position of a table. Appends the table if it is new.
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
