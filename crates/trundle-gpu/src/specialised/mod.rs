//! Kernels that are written for one block, whose sizes, strides and cuts are constants of their text.
//!
//! A kernel is a tree of statements, which a printer converts to the language of a device.

mod body;
mod boxes;
mod cuda;
mod digits;
#[cfg(test)]
mod interpreter;
mod nest;
mod pixels;
mod planes;
mod stream;
#[cfg(test)]
mod tests;
mod tile;
mod vector;
mod word;

use std::fmt;

use self::body::Statement;
use self::nest::Nest;
use crate::WholeBlock;

/// A kernel that is written for one block of a move: all sizes, strides and cuts are constants of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialisedKernel {
    /// The pattern and its settings.
    name: String,
    blocks: u32,
    threads: u32,
    shared_bytes: u32,
    reads_lengths: bool,
    body: Vec<Statement>,
}

/// The patterns. The first one that fits a block is the fastest.
const PATTERNS: [fn(&Nest) -> Option<SpecialisedKernel>; 5] =
    [pixels::pixels, planes::planes, boxes::boxes, stream::stream, tile::tile];

impl SpecialisedKernel {
    /// Writes the kernel of a block. `src` and `dst` are the addresses of the buffers modulo 16.
    ///
    /// Returns `None` if no pattern fits, for example for packed elements, tables of indices, or 2 GiB and more. Then
    /// the generic kernels move the [parts](WholeBlock::parts) of the block.
    ///
    /// Law: the kernel moves the same elements as the block, and writes each byte once. It reads whole vectors of 16
    /// bytes, which contain at least one byte that the block [reads](WholeBlock::reads).
    pub fn of(block: &WholeBlock, src: usize, dst: usize) -> Option<SpecialisedKernel> {
        let nest = Nest::of(block, [src % 16, dst % 16])?;
        PATTERNS.iter().find_map(|pattern| pattern(&nest))
    }

    /// The number of blocks of threads.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The number of threads in a block.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// The size of the memory that the threads of a block share. The text declares it, so that a launch adds none.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Whether the kernel reads the table of lengths.
    pub fn reads_numbers(&self) -> bool {
        self.reads_lengths
    }

    /// The text in CUDA C++. Its entry has three pointers as parameters:
    ///
    /// ```text
    /// extern "C" __global__ void moved(const uint4* src, uint4* dst, const long long* lengths)
    /// ```
    ///
    /// `src` and `dst` are the addresses of the buffers, rounded down to multiples of 16. `lengths` points at the entry
    /// for the first step of all loops, and is null if the kernel reads no table.
    pub fn cuda(&self) -> String {
        cuda::text(self)
    }
}

impl fmt::Display for SpecialisedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}
