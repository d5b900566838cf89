use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::shape::steps_to;

/// A cut of a loop's source positions in two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first step of the second run.
    pub at: CutAt,
    /// The run before the cut.
    pub first: Run,
    /// The run after the cut.
    pub second: Run,
}

/// The first step after a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutAt {
    /// A constant step, as in a roll. Both runs have at least one step. The first run starts at the block's offset, and
    /// `src_per_length` is 0.
    Constant(usize),
    /// A step that depends on the steps of the other loops.
    Table(LengthTable),
}

/// A table with a length for each combination of steps of the other loops, which determines the cut.
///
/// The cut is at step `start + per_length · length`, clamped to the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthTable {
    /// The table of lengths.
    pub lengths: Arc<[usize]>,
    /// The entry for the first step of all loops.
    pub offset: usize,
    /// For each loop of the block, the distance between the entries of neighbouring steps; 0 for the cut loop.
    pub strides: Vec<isize>,
    /// The cut for a length of 0.
    pub start: isize,
    /// The change of the cut if the length grows by one: 1 or -1.
    pub per_length: isize,
}

/// Evenly spaced source positions: step i of the loop is at
/// `src_offset + src_per_length · length + src_stride · i`, in bytes from the source offset of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The constant part.
    pub src_offset: isize,
    /// The change of the position if the length grows by one.
    pub src_per_length: isize,
    /// The distance between the positions of neighbouring steps.
    pub src_stride: isize,
}

impl Cut {
    /// Reverses the direction of the loop, which has `len` steps.
    pub(super) fn turn(&mut self, len: usize) {
        let last = len.cast_signed() - 1;
        let turned = |run: Run| Run {
            src_offset: run.src_offset.wrapping_add(last.wrapping_mul(run.src_stride)),
            src_per_length: run.src_per_length,
            src_stride: run.src_stride.wrapping_neg(),
        };
        (self.first, self.second) = (turned(self.second), turned(self.first));
        match &mut self.at {
            CutAt::Constant(at) => *at = len - *at,
            CutAt::Table(table) => {
                table.start = len.cast_signed() - table.start;
                table.per_length = -table.per_length;
            }
        }
    }

    pub(super) fn distances(&self) -> impl Iterator<Item = isize> {
        let of_run = |run: &Run| [run.src_offset, run.src_per_length, run.src_stride];
        [&self.first, &self.second].into_iter().flat_map(of_run)
    }

    pub(super) fn distances_mut(&mut self) -> impl Iterator<Item = &mut isize> {
        [&mut self.first, &mut self.second]
            .into_iter()
            .flat_map(|run| [&mut run.src_offset, &mut run.src_per_length, &mut run.src_stride])
    }
}

impl LengthTable {
    pub(super) fn length(&self, index: &[usize]) -> usize {
        self.lengths[self.offset.wrapping_add_signed(steps_to(index, &self.strides))]
    }

    /// The first step after the cut, from 0 to `len`, for a loop of `len` steps.
    pub fn cut(&self, length: usize, len: usize) -> usize {
        let cut = self.start.wrapping_add(self.per_length * length.cast_signed());
        cut.clamp(0, len.cast_signed()).unsigned_abs()
    }
}

impl Run {
    /// The position of step 0 for a length, in bytes from the source offset of the block.
    pub fn start(&self, length: usize) -> isize {
        self.src_offset.wrapping_add(self.src_per_length.wrapping_mul(length.cast_signed()))
    }
}

impl fmt::Display for CutAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutAt::Constant(at) => write!(f, "{at}"),
            CutAt::Table(table) => table.fmt(f),
        }
    }
}

impl fmt::Display for LengthTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.start, self.per_length) {
            (0, 1) => f.write_str("length"),
            (start, 1) => write!(f, "length {start:+}"),
            (start, _) => write!(f, "{start} - length"),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.src_per_length {
            0 => write!(f, "{} {:+}·i", self.src_offset, self.src_stride),
            per => write!(f, "{} {per:+}·length {:+}·i", self.src_offset, self.src_stride),
        }
    }
}
