//! The loops of a block, from which the planner picks the rows and columns of tiles.

use trundle_core::{Block, CutAt, Source};
use trundle_kernels::{AffineLoop, SLABS_BYTES, takes_lines};

use super::roll::Roll;

/// A loop that was picked as the rows or the columns of tiles.
#[derive(Clone, Copy)]
pub(super) enum Picked {
    Plain(AffineLoop),
    /// Each iteration has its own length. The second field is the stride in the table of lengths.
    Lanes(AffineLoop, isize),
    /// The ragged loop, which a length from a table cuts into two runs, with the source stride of the first.
    Ragged(AffineLoop),
}

impl Picked {
    pub(super) fn each(self) -> AffineLoop {
        match self {
            Picked::Plain(each) | Picked::Lanes(each, _) | Picked::Ragged(each) => each,
        }
    }

    pub(super) fn table_stride(self) -> isize {
        match self {
            Picked::Lanes(_, stride) => stride,
            Picked::Plain(_) | Picked::Ragged(_) => 0,
        }
    }
}

/// The loops that have not been picked.
pub(super) struct Loops {
    /// The rolled loop. `plain` also contains it, as if it did not jump back to the start of the source axis.
    pub(super) roll: Option<Roll>,
    /// Sorted by decreasing destination stride.
    pub(super) plain: Vec<AffineLoop>,
    /// The strides of the `plain` loops in the table of lengths, if there is one.
    pub(super) table_strides: Vec<isize>,
    /// The ragged loop. If it has one iteration, it can only be the rows of lanes.
    ragged: Option<AffineLoop>,
}

impl Loops {
    /// Takes the loops of a block, in which only a roll may be cut at a constant index.
    pub(super) fn of(block: &Block) -> Loops {
        let plain = Vec::with_capacity(block.loops.len());
        let mut loops = Loops { roll: None, plain, table_strides: Vec::new(), ragged: None };
        for (at, each) in block.loops.iter().enumerate() {
            let affine =
                |src_stride| AffineLoop { len: each.len, src_stride, dst_stride: each.dst_stride };
            match &each.src {
                Source::Affine { stride } => loops.plain.push(affine(*stride)),
                Source::Cut(cut) => {
                    // Both runs of a roll have this stride.
                    let each = affine(cut.first.src_stride);
                    match &cut.at {
                        CutAt::Constant(first) => {
                            loops.roll = Some(Roll { along: each, first: *first });
                            loops.plain.push(each);
                        }
                        CutAt::Table(table) => {
                            loops.ragged = Some(each);
                            loops.table_strides.clone_from(&table.strides);
                            loops.table_strides.remove(at);
                        }
                    }
                }
            }
        }
        loops
    }

    /// Whether each iteration of a plain loop has its own length.
    fn are_lanes(&self, at: usize) -> bool {
        self.table_strides.get(at).is_some_and(|stride| *stride != 0)
    }

    pub(super) fn remove(&mut self, at: usize) -> Picked {
        let each = self.plain.remove(at);
        let stride = if self.table_strides.is_empty() { 0 } else { self.table_strides.remove(at) };
        if stride == 0 { Picked::Plain(each) } else { Picked::Lanes(each, stride) }
    }

    /// Returns a loop of one iteration, for when no loop is left.
    fn none(width: usize) -> Picked {
        let width = width.cast_signed();
        Picked::Plain(AffineLoop { len: 1, src_stride: width, dst_stride: width })
    }

    /// Takes the contiguous bytes of the innermost loop, or of one element, as a loop over bytes.
    pub(super) fn take_run(&mut self, width: usize) -> Picked {
        let step = width.cast_signed();
        let is_run = |at: &usize| {
            let each = self.plain[*at];
            (each.src_stride, each.dst_stride) == (step, step) && !self.are_lanes(*at)
        };
        let run = self.plain.len().checked_sub(1).filter(is_run);
        let bytes = run.map_or(1, |at| self.remove(at).each().len) * width;
        Picked::Plain(AffineLoop { len: bytes, src_stride: 1, dst_stride: 1 })
    }

    /// Whether the loops transpose elements of a few whole cache lines.
    pub(super) fn transpose_lines(&self, width: usize) -> bool {
        let step = width.cast_signed();
        let neighbours = |stride: fn(&AffineLoop) -> isize| {
            self.plain.iter().position(|each| stride(each) == step)
        };
        let in_source = neighbours(|each| each.src_stride);
        let in_destination = neighbours(|each| each.dst_stride);
        self.ragged.is_none()
            && takes_lines(width)
            && in_source.is_some()
            && in_destination.is_some()
            && in_source != in_destination
    }

    /// Whether loops are left, and none is rolled or cut by a table.
    pub(super) fn are_plain(&self) -> bool {
        self.roll.is_none()
            && self.ragged.is_none()
            && self.table_strides.is_empty()
            && !self.plain.is_empty()
    }

    /// Returns the number of contiguous index bits. Bit k is contiguous if a loop in `picked` or `plain` has the stride
    /// `width << k`, and all lower bits are contiguous too. A loop of 2^n iterations has n bits. A loop of another
    /// length has the bits of its factor of two and ends the sequence.
    pub(super) fn bits(
        &self,
        picked: &[AffineLoop],
        width: usize,
        stride: impl Fn(&AffineLoop) -> isize,
    ) -> usize {
        let mut bits = 0;
        loop {
            let mut all = picked.iter().chain(&self.plain);
            let next = all.find(|each| stride(each).unsigned_abs() == width << bits);
            let Some(AffineLoop { len, .. }) = next else { return bits };
            bits += len.trailing_zeros() as usize;
            if !len.is_power_of_two() || *len < 2 {
                return bits;
            }
        }
    }

    /// Takes the loop with the smallest destination stride.
    pub(super) fn take_innermost(&mut self, width: usize) -> Picked {
        let nearest = self.plain.last().map_or(isize::MAX, |each| each.dst_stride);
        match self.ragged.take_if(|ragged| ragged.len > 1 && ragged.dst_stride < nearest) {
            Some(ragged) => Picked::Ragged(ragged),
            None => match self.plain.len().checked_sub(1) {
                Some(last) => self.remove(last),
                None => Loops::none(width),
            },
        }
    }

    /// Takes the loop with the smallest destination stride that can be rows.
    pub(super) fn take_next(&mut self, width: usize) -> Picked {
        let plain = (0..self.plain.len()).rev().find(|at| !self.are_lanes(*at));
        let nearest = plain.map_or(isize::MAX, |at| self.plain[at].dst_stride);
        match self.ragged.take_if(|ragged| ragged.len > 1 && ragged.dst_stride < nearest) {
            Some(ragged) => Picked::Ragged(ragged),
            None => plain.map_or_else(|| Loops::none(width), |at| self.remove(at)),
        }
    }

    /// Takes the loop with the smallest source stride that can be rows.
    pub(super) fn take_nearest_in_source(&mut self, width: usize) -> Picked {
        // A loop of stride 0 repeats one element and makes no tile faster as rows, so it sorts last.
        let distance = |each: &AffineLoop| each.src_stride.unsigned_abs().wrapping_sub(1);
        let nearest = self
            .plain
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.are_lanes(*at))
            .min_by_key(|(_, each)| distance(each))
            .map(|(at, each)| (at, distance(each)));
        let nearer = |ragged: &mut AffineLoop| {
            ragged.len > 1 && nearest.is_none_or(|(_, plain)| distance(ragged) < plain)
        };
        match (self.ragged.take_if(nearer), nearest) {
            (Some(ragged), _) => Picked::Ragged(ragged),
            (None, Some((at, _))) => self.remove(at),
            (None, None) => Loops::none(width),
        }
    }

    /// Returns the loop that continues `cols` in the destination.
    pub(super) fn next_in_destination(&self, cols: AffineLoop) -> Option<usize> {
        self.position(|each| each.dst_stride == cols.len.cast_signed() * cols.dst_stride)
    }

    /// Returns the loop that continues `rows` in the source. Either may descend, because [`rising`] reverses it.
    pub(super) fn next_in_source(&self, rows: AffineLoop) -> Option<usize> {
        let step = rows.len.saturating_mul(rows.src_stride.unsigned_abs());
        self.position(|each| step > 0 && each.src_stride.unsigned_abs() == step)
    }

    /// Returns the first plain loop without lanes that satisfies `wanted`.
    fn position(&self, wanted: impl Fn(&AffineLoop) -> bool) -> Option<usize> {
        (0..self.plain.len()).find(|at| !self.are_lanes(*at) && wanted(&self.plain[*at]))
    }

    /// Takes the loop over slabs of all `rows`, which follow each other in the destination without gaps, if a slab fits
    /// in a unit.
    pub(super) fn take_slabs(&mut self, rows: AffineLoop, row_bytes: usize) -> Option<Picked> {
        let slab = rows.len.cast_signed() * rows.dst_stride;
        let fits = rows.len * row_bytes <= SLABS_BYTES;
        let at = self.plain.iter().position(|each| fits && each.dst_stride == slab)?;
        Some(self.remove(at))
    }

    pub(super) fn take_ragged(&mut self) -> Picked {
        self.ragged.take().map_or_else(|| Loops::none(1), Picked::Ragged)
    }
}

/// Reverses rows that descend in the source, because hardware prefetchers predict ascending addresses. Also returns the
/// offsets of the new first row.
pub(super) fn rising(rows: AffineLoop) -> (AffineLoop, (isize, isize)) {
    if rows.src_stride >= 0 {
        return (rows, (0, 0));
    }
    let last = rows.len.cast_signed() - 1;
    let end = (last * rows.src_stride, last * rows.dst_stride);
    (AffineLoop { src_stride: -rows.src_stride, dst_stride: -rows.dst_stride, ..rows }, end)
}
