//! Moves in place, axis by axis: the result replaces the source in the same buffer.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::canonicalize::canonicalize;
use super::{Block, Cut, CutAt, LengthTable, Loop, Move, Run, Source};

/// A move whose source and destination are the same positions of one buffer, each read once.
///
/// The positions form a box with the axes [`axes`](InPlace::axes). The source coordinate on an axis depends only on the
/// index on one axis, so a cell (a box with a part of each axis) takes the place of another cell.
///
/// Code that runs the move may rely on this: all bytes lie within [`bytes`](InPlace::bytes), different indices have
/// different bytes, and every index is the source of exactly one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlace {
    offset: usize,
    bytes: usize,
    axes: Vec<InPlaceAxis>,
}

/// One axis of the box; the last axis consists of the bytes of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlaceAxis {
    /// The number of steps.
    pub len: usize,
    /// The distance between neighbours, in bytes; positive.
    pub stride: isize,
    /// The source axis, which has the same number of steps.
    pub from: usize,
    /// The source coordinate on the axis `from`.
    pub along: Along,
}

/// The source coordinate for step `i` of an axis of `n` steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Along {
    /// `i`.
    Kept,
    /// `n - 1 - i`.
    Flipped,
    /// `(i + shift) mod n`.
    Rolled {
        /// From 1 to `n - 1`.
        shift: usize,
    },
    /// `(at - 1 - i) mod n`: the parts before `at` and from `at` on are each flipped.
    FlippedParts {
        /// From 1 to `n - 1`.
        at: usize,
    },
    /// `length - 1 - i` if `i < length`, else `i`. The table gives the length.
    Reversed(LengthTable),
}

/// How a cell is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellMove {
    /// From the position of its source in the tensor to its destination in the tensor.
    Across,
    /// From its own position in the tensor to a separate contiguous buffer.
    Saved,
    /// From the separate buffer to its destination in the tensor.
    Restored,
}

impl Move {
    /// Converts the move to one in place, in a single buffer.
    ///
    /// Returns `None` if that is not possible, and also for moves of sub-byte elements, and for moves with a source
    /// coordinate that depends on several axes.
    pub fn in_place(&self) -> Option<InPlace> {
        let [block] = &self.blocks[..] else { return None };
        if self.packing.is_some() || !block.indices.is_empty() || self.src_bytes != self.dst_bytes {
            return None;
        }
        // Tables have no stride along loops of one step.
        let loops: Vec<usize> =
            (0..block.loops.len()).filter(|at| block.loops[*at].len > 1).collect();
        let mut src_offset = block.dst_offset;
        let mut axes = Vec::with_capacity(loops.len() + 1);
        for at in &loops {
            let (step, start, along) = along_of(&block.loops[*at], &loops)?;
            let stride = step.abs();
            let from = loops.iter().position(|at| block.loops[*at].dst_stride == stride)?;
            let each = &block.loops[*at];
            if block.loops[loops[from]].len != each.len {
                return None;
            }
            if matches!(along, Along::Reversed(_)) && loops[from] != *at {
                return None;
            }
            src_offset += start.cast_signed() * stride;
            axes.push(InPlaceAxis { len: each.len, stride: each.dst_stride, from, along });
        }
        let mut is_read = vec![false; axes.len()];
        axes.iter().for_each(|axis| is_read[axis.from] = true);
        if src_offset != block.src_offset || is_read.contains(&false) {
            return None;
        }
        let from = axes.len();
        axes.push(InPlaceAxis { len: self.width, stride: 1, from, along: Along::Kept });
        axes.iter_mut().for_each(|axis| {
            if let Along::Reversed(table) = &mut axis.along {
                table.strides.push(0);
            }
        });
        Some(InPlace { offset: block.dst_offset.unsigned_abs(), bytes: self.dst_bytes, axes })
    }
}

/// The source stride of a loop, the source coordinate of its first step, and the form of its source coordinates.
/// `loops` are the loops with more than one step.
fn along_of(each: &Loop, loops: &[usize]) -> Option<(isize, usize, Along)> {
    let len = each.len;
    let cut = match &each.src {
        Source::Affine { stride } if *stride < 0 => {
            return Some((*stride, len - 1, Along::Flipped));
        }
        Source::Affine { stride } => return Some((*stride, 0, Along::Kept)),
        Source::Cut(cut) => cut,
    };
    let Cut { at, first, second } = &**cut;
    let step = second.src_stride;
    let rounds = |run: &Run| run.src_per_length == 0 && run.src_stride == step;
    let all = len.cast_signed() * step;
    match at {
        CutAt::Constant(at) if rounds(first) && rounds(second) && second.src_offset == -all => {
            let (start, along) = if step > 0 {
                (len - at, Along::Rolled { shift: len - at })
            } else {
                (at - 1, Along::FlippedParts { at: *at })
            };
            Some((step, start, along))
        }
        CutAt::Constant(_) => None,
        CutAt::Table(table) => {
            let step = each.dst_stride;
            let reversed = Run { src_offset: -step, src_per_length: step, src_stride: -step };
            let kept = Run { src_offset: 0, src_per_length: 0, src_stride: step };
            let is_it = (table.start, table.per_length) == (0, 1)
                && table.lengths.iter().all(|length| *length <= len);
            if !is_it || *first != reversed || *second != kept {
                return None;
            }
            let strides = loops.iter().map(|at| table.strides[*at]).collect();
            Some((step, 0, Along::Reversed(LengthTable { strides, ..table.clone() })))
        }
    }
}

impl InPlace {
    /// The offset of the first byte of the box.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The smallest possible size of the buffer, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The axes, in order of decreasing stride. The last consists of the bytes of an element.
    pub fn axes(&self) -> &[InPlaceAxis] {
        &self.axes
    }

    /// Whether every element keeps its position.
    pub fn is_identity(&self) -> bool {
        self.axes.iter().enumerate().all(|(at, axis)| axis.stays(at))
    }

    /// Splits the move into moves that each roll one axis, and can run in any order; `None` if it does more.
    pub fn rolls(&self) -> Option<Vec<InPlace>> {
        let is_rolled = |axis: &InPlaceAxis| matches!(axis.along, Along::Rolled { .. });
        let is_of_rolls =
            |at: usize, axis: &InPlaceAxis| is_rolled(axis) && axis.from == at || axis.stays(at);
        if !self.axes.iter().enumerate().all(|(at, axis)| is_of_rolls(at, axis)) {
            return None;
        }
        let rolled = (0..self.axes.len()).filter(|at| is_rolled(&self.axes[*at]));
        let alone = rolled.map(|only| {
            let mut alone = self.clone();
            for (at, axis) in alone.axes.iter_mut().enumerate().filter(|(at, _)| *at != only) {
                (axis.from, axis.along) = (at, Along::Kept);
            }
            alone
        });
        Some(alone.collect())
    }

    /// The move of a cell with `steps[axis]` steps along each axis. Offsets are relative to the first byte of the cell,
    /// and table entries to the entry for its first element.
    ///
    /// If the cell covers only a part of an axis, elements keep their order, or are flipped if the axis is flipped. On
    /// an axis that is [`Reversed`](Along::Reversed), the cell must have all steps or a single one.
    ///
    /// # Panics
    /// If `steps` does not have one entry for each axis.
    pub fn cell(&self, steps: &[usize], way: CellMove) -> Move {
        assert_eq!(steps.len(), self.axes.len(), "a number of steps for each axis");
        let mut read = steps.to_vec();
        if way != CellMove::Saved {
            self.axes.iter().zip(steps).for_each(|(axis, steps)| read[axis.from] = *steps);
        }
        let dense = strides_without_gaps(&read);
        let mut block =
            Block { src_offset: 0, dst_offset: 0, loops: Vec::new(), indices: Vec::new() };
        let strides = |at: usize| match way {
            CellMove::Restored => dense[at],
            CellMove::Across | CellMove::Saved => self.axes[at].stride,
        };
        if way == CellMove::Saved {
            for (at, len) in read.iter().enumerate() {
                let src = Source::Affine { stride: strides(at) };
                block.loops.push(Loop { len: *len, dst_stride: dense[at], src });
            }
        } else {
            for (axis, len) in self.axes.iter().zip(steps) {
                let stride = strides(axis.from);
                let (start, src) = axis.read(*len, stride);
                block.src_offset += start.cast_signed() * stride;
                block.loops.push(Loop { len: *len, dst_stride: axis.stride, src });
            }
        }
        let reach = |stride: &dyn Fn(usize) -> isize, steps: &[usize]| {
            let last = |(at, len): (usize, &usize)| stride(at).unsigned_abs() * (len - 1);
            1 + steps.iter().enumerate().map(last).sum::<usize>()
        };
        let in_buffer = read.iter().product();
        let in_tensor = |steps: &[usize]| reach(&|at| self.axes[at].stride, steps);
        let (src_bytes, dst_bytes) = match way {
            CellMove::Across => (in_tensor(&read), in_tensor(steps)),
            CellMove::Saved => (in_tensor(&read), in_buffer),
            CellMove::Restored => (in_buffer, in_tensor(steps)),
        };
        canonicalize(Move { width: 1, packing: None, blocks: vec![block], src_bytes, dst_bytes })
    }
}

impl InPlaceAxis {
    /// Whether this axis, with index `at`, keeps its place and its order.
    pub fn stays(&self, at: usize) -> bool {
        self.from == at && self.along == Along::Kept
    }

    /// The first source coordinate and the source of the `len` steps of a cell along this axis, with source stride
    /// `stride`.
    fn read(&self, len: usize, stride: isize) -> (usize, Source) {
        let is_whole = len == self.len;
        let all = len.cast_signed() * stride;
        let rounds = |at: usize, stride: isize, back: isize| {
            let run = |src_offset| Run { src_offset, src_per_length: 0, src_stride: stride };
            let (first, second) = (run(0), run(back));
            Source::Cut(Box::new(Cut { at: CutAt::Constant(at), first, second }))
        };
        match &self.along {
            Along::Rolled { shift } if is_whole => (*shift, rounds(len - shift, stride, -all)),
            Along::FlippedParts { at } if is_whole => (at - 1, rounds(*at, -stride, all)),
            Along::Flipped | Along::FlippedParts { .. } => {
                (len - 1, Source::Affine { stride: -stride })
            }
            Along::Reversed(table) if is_whole => {
                let table = LengthTable { offset: 0, ..table.clone() };
                let reversed =
                    Run { src_offset: -stride, src_per_length: stride, src_stride: -stride };
                let kept = Run { src_offset: 0, src_per_length: 0, src_stride: stride };
                let at = CutAt::Table(table);
                (0, Source::Cut(Box::new(Cut { at, first: reversed, second: kept })))
            }
            Along::Kept | Along::Rolled { .. } | Along::Reversed(_) => {
                (0, Source::Affine { stride })
            }
        }
    }
}

fn strides_without_gaps(steps: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; steps.len()];
    for at in (1..steps.len()).rev() {
        strides[at - 1] = strides[at] * steps[at].cast_signed();
    }
    strides
}
