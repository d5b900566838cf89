//! Tables, and the sums that read them, as they are in a device's memory.

use std::sync::Arc;

use trundle_gpu::GpuBlock;

use crate::rows::kept;

/// Numbers of 64 bits, each table once.
#[derive(Default)]
pub(crate) struct Numbers {
    all: Vec<i64>,
    known: Vec<(Arc<[usize]>, u64)>,
}

/// Where a block reads among the numbers, where all loops are at step 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// The entry of the table of lengths by which a loop is cut.
    pub(crate) length_entry: u32,
    /// That of the first table of indices.
    pub(crate) index_entry: u32,
    /// Sums of the others, one behind another: an entry, what entries are multiplied by, and for each loop the distance in
    /// entries between neighbours.
    pub(crate) further: u64,
}

impl Numbers {
    /// Appends what a block reads.
    pub(crate) fn sums(&mut self, block: &GpuBlock) -> Sums {
        let (indices, kept) = (&block.block.indices, kept(block));
        let cut = block.block.loops.iter().find_map(trundle_core::Loop::cut_by_table);
        let length_entry =
            cut.map_or(0, |(_, table)| self.table(&table.lengths) + table.offset as u64);
        // The tables first, so that nothing is between the sums.
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

    /// Where a table begins.
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
