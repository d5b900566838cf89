//! How the elements of a box are kept in scratch, and reordered there.

use trundle_core::{IndexMap, Layout, Move, Packing, Result, Shape};
use trundle_kernels::simd::LINE;
use trundle_kernels::{AffineLoop, StoreKind};

use super::box_runs::{BoxRuns, copied_strides, in_order};
use super::groups;
use crate::Machine;
use crate::tiles::TilePlan;

/// How the boxes of a block are kept in scratch: unpacked, or as bytes that hold a group of elements each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Number of elements per byte of scratch.
    pub(super) group: usize,
    /// The loops along which elements are contiguous in the source and in the destination.
    innermost: (Option<usize>, Option<usize>),
    /// The stores that write reordered groups to the destination without a copy, if boxes have only whole bytes there.
    direct: Option<StoreKind>,
}

/// Minimum length of a loop whose last group may be incomplete, in groups.
const LEAST_GROUPS: usize = 8;

/// Minimum size in bytes of the rows whose groups are transposed.
const LEAST_ROW: usize = groups::BLOCK / 2;

/// A copy of a box in scratch: the distances between neighbours along each loop, and its length, in elements.
type Copied = (Vec<usize>, usize);

impl Form {
    /// Keeps groups if they have one byte, and if few of them would be incomplete.
    pub(super) fn of(
        loops: &[AffineLoop],
        dst_offset: isize,
        packing: Packing,
        store: StoreKind,
    ) -> Form {
        let lens: Vec<usize> = loops.iter().map(|each| each.len).collect();
        let innermost = |strides: Vec<isize>| {
            in_order(&strides, &lens).last().filter(|at| strides[*at].abs() == 1)
        };
        let innermost = (innermost(read(loops)), innermost(written(loops)));
        let group = packing.group();
        let suits = |at: usize| {
            let AffineLoop { len, src_stride, .. } = loops[at];
            src_stride != 0 && (len.is_multiple_of(group) || len >= LEAST_GROUPS * group)
        };
        let row = |at: usize| {
            let is_inside = |each: &&AffineLoop| {
                (1..loops[at].src_stride.unsigned_abs()).contains(&each.src_stride.unsigned_abs())
            };
            loops.iter().filter(is_inside).map(|each| each.len).product::<usize>()
        };
        let keeps = packing.group_bytes() == 1
            && matches!(innermost, (Some(src), Some(dst)) if suits(src) && suits(dst)
                && (src == dst || row(dst) >= LEAST_ROW * group));
        let is_whole = |(at, each): (usize, &AffineLoop)| {
            let ends = innermost.0 == Some(at) || innermost.1 == Some(at);
            (!ends || each.len.is_multiple_of(group))
                && (innermost.1 == Some(at) || each.dst_stride % group.cast_signed() == 0)
        };
        let is_reordered =
            innermost.0 != innermost.1 || innermost.0.is_some_and(|at| loops[at].src_stride < 0);
        let is_direct = keeps
            && is_reordered
            && dst_offset % group.cast_signed() == 0
            && loops.iter().enumerate().all(is_whole);
        let direct = is_direct.then_some(store);
        Form { group: if keeps { group } else { 1 }, innermost, direct }
    }

    /// Returns the loops along which elements are contiguous, if groups are transposed.
    fn transposed(self) -> Option<(usize, usize)> {
        let (Some(src), Some(dst)) = self.innermost else { return None };
        (src != dst && self.group > 1).then_some((src, dst))
    }

    /// Adds elements to the innermost loops, so that they have whole groups.
    fn padded(self, extents: &[usize]) -> Vec<usize> {
        let mut padded = extents.to_vec();
        for at in [self.innermost.0, self.innermost.1].into_iter().flatten() {
            padded[at] = padded[at].next_multiple_of(self.group);
        }
        padded
    }

    /// Returns the copies of a box in the order of the source and in the order of the destination.
    fn copies(self, loops: &[AffineLoop], padded: &[usize]) -> (Copied, Copied) {
        let space = |elements: usize, even: usize| {
            let bytes = (elements / self.group).next_multiple_of(even);
            // A multiple of four lines would use only some sets of the caches.
            self.group * if bytes.is_multiple_of(4 * LINE) { bytes + LINE } else { bytes }
        };
        // Only blocks of the rows that are read are transposed.
        let block = if self.group > 1 { groups::BLOCK } else { 1 };
        // The loop that is innermost only in the other tensor.
        let spaced = match self.innermost {
            (Some(src), Some(dst)) if src != dst => (Some(dst), Some(src)),
            _ => (None, None),
        };
        (
            copied_strides(&read(loops), padded, spaced.0, |elements| space(elements, block)),
            copied_strides(&written(loops), padded, spaced.1, |elements| space(elements, 1)),
        )
    }
}

fn read(loops: &[AffineLoop]) -> Vec<isize> {
    loops.iter().map(|each| each.src_stride).collect()
}

fn written(loops: &[AffineLoop]) -> Vec<isize> {
    loops.iter().map(|each| each.dst_stride).collect()
}

/// Copies of the boxes of a block that have the same sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoxLayout {
    /// Number of elements per byte of scratch.
    pub(super) group: usize,
    pub(super) read: BoxRuns,
    pub(super) written: BoxRuns,
    pub(super) within: Within,
    /// How the bytes are reordered, if they are.
    pub(super) between: Option<TilePlan>,
    /// Whether the reordered bytes are written to the destination, not to a copy.
    pub(super) is_direct: bool,
    /// Sizes of the copies in bytes.
    pub(super) bytes: (usize, usize),
}

/// How elements are reordered within the bytes of scratch, before the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    Kept,
    Reversed,
    /// The rows of one matrix are `pitch` bytes apart.
    Transposed {
        pitch: usize,
        backwards: bool,
    },
}

impl BoxLayout {
    pub(super) fn of(
        loops: &[AffineLoop],
        extents: &[usize],
        form: Form,
        machine: &Machine,
    ) -> Result<BoxLayout> {
        let (group, padded) = (form.group, form.padded(extents));
        let (read_copy, written_copy) = form.copies(loops, &padded);
        let ((from, _), (to, _)) = (&read_copy, &written_copy);
        // Elements that only fill a group must not be written.
        let direct = form.direct.filter(|_| padded == extents);
        let is_direct = direct.is_some();
        let bytes = (read_copy.1 / group, if is_direct { 0 } else { written_copy.1 / group });
        let in_dst: Vec<usize> = written(loops).into_iter().map(isize::unsigned_abs).collect();
        let to = if is_direct { &in_dst } else { to };
        let (mut first_read, mut first_written) = (0, 0);
        let mut shape = Vec::new();
        // Strides and the offset of index 0, in bytes.
        let (mut src, mut dst) = ((Vec::new(), 0), (Vec::new(), 0));
        let mut add = |len: usize, from: (bool, usize), to: (bool, usize)| {
            shape.push(len);
            for (side, (backwards, stride)) in [(&mut src, from), (&mut dst, to)] {
                let stride_bytes = stride.cast_signed();
                side.0.push(if backwards { -stride_bytes } else { stride_bytes });
                side.1 += if backwards { (len - 1) * stride } else { 0 };
            }
        };
        let mut within = Within::Kept;
        for (at, each) in loops.iter().enumerate() {
            let backwards = each.src_stride < 0;
            let (len, added) = (padded[at], padded[at] - extents[at]);
            match form.transposed() {
                // Elements of one byte are read in ascending order, and become rows of the destination.
                Some((innermost, along)) if at == innermost => {
                    first_written += if backwards { added * to[at] } else { 0 };
                    let row_bytes = to[at] / group;
                    add(len / group, (false, 1), (backwards, group * row_bytes));
                    add(group, (false, from[along] / group), (backwards, row_bytes));
                }
                Some((_, innermost)) if at == innermost => {
                    first_read += if backwards { added * from[at] } else { 0 };
                    within = Within::Transposed { pitch: from[at] / group, backwards };
                    add(len / group, (backwards, from[at]), (false, 1));
                }
                None if form.innermost.0 == Some(at) && group > 1 => {
                    if backwards {
                        first_read += added;
                        within = Within::Reversed;
                    }
                    add(len / group, (backwards, 1), (false, 1));
                }
                _ => add(len, (backwards, from[at] / group), (false, to[at] / group)),
            }
        }
        let shape = Shape::new(shape)?;
        let (src, dst) =
            (Layout::strided(&shape, src.1, &src.0)?, Layout::strided(&shape, dst.1, &dst.0)?);
        let store = direct.unwrap_or(StoreKind::Ordinary);
        let between = if src == dst {
            None
        } else {
            let work = Move::new(&IndexMap::identity(&shape), 1, &src, &dst, 1)?;
            Some(TilePlan::of_part(&work, store, machine))
        };
        let read = BoxRuns::of(&read(loops), extents, from, first_read);
        let written = BoxRuns::of(&written(loops), extents, to, first_written);
        Ok(BoxLayout { group, read, written, within, between, is_direct, bytes })
    }
}
