//! The loops of a block. The planner picks the rows and columns of tiles from them.

use trundle_core::{Block, CutAt, Source};
use trundle_kernels::{AffineLoop, SLABS_BYTES, takes_lines};

use super::roll::Roll;

/// The loop picked for the rows or the columns.
#[derive(Clone, Copy)]
pub(super) enum Picked {
    Plain(AffineLoop),
    /// Each step has its own length; the second field is the stride in the table of lengths.
    Lanes(AffineLoop, isize),
    /// The ragged loop, with the source stride of its first run.
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
    /// The rolled loop. It is also in `plain`, as if it did not jump.
    pub(super) roll: Option<Roll>,
    /// By decreasing destination stride.
    pub(super) plain: Vec<AffineLoop>,
    /// Their strides in the table of lengths; empty without a table.
    pub(super) table_strides: Vec<isize>,
    /// A ragged loop of one step is picked only for lanes, because it cannot form tiles.
    ragged: Option<AffineLoop>,
}

impl Loops {
    /// Takes the loops of a block. A roll is the only loop that may be cut at a constant step.
    pub(super) fn of(block: &Block) -> Loops {
        let plain = Vec::with_capacity(block.loops.len());
        let mut loops = Loops { roll: None, plain, table_strides: Vec::new(), ragged: None };
        for (at, each) in block.loops.iter().enumerate() {
            let affine =
                |src_stride| AffineLoop { len: each.len, src_stride, dst_stride: each.dst_stride };
            match &each.src {
                Source::Affine { stride } => loops.plain.push(affine(*stride)),
                Source::Cut(cut) => {
                    // Both runs have this stride.
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

    /// Whether the steps of a loop have their own lengths.
    fn are_lanes(&self, at: usize) -> bool {
        self.table_strides.get(at).is_some_and(|stride| *stride != 0)
    }

    /// Removes and returns a plain loop.
    pub(super) fn remove(&mut self, at: usize) -> Picked {
        let each = self.plain.remove(at);
        let stride = if self.table_strides.is_empty() { 0 } else { self.table_strides.remove(at) };
        if stride == 0 { Picked::Plain(each) } else { Picked::Lanes(each, stride) }
    }

    /// A loop of one step, when no loop is left.
    fn none(width: usize) -> Picked {
        let width = width.cast_signed();
        Picked::Plain(AffineLoop { len: 1, src_stride: width, dst_stride: width })
    }

    /// Takes the contiguous bytes that stay together, as a loop over bytes.
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

    /// Returns how many steps of two, among the loops and `picked`, form a gapless nest by increasing stride.
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

    /// Takes the loop with the smallest destination stride that can be a tile's rows.
    pub(super) fn take_next(&mut self, width: usize) -> Picked {
        let plain = (0..self.plain.len()).rev().find(|at| !self.are_lanes(*at));
        let nearest = plain.map_or(isize::MAX, |at| self.plain[at].dst_stride);
        match self.ragged.take_if(|ragged| ragged.len > 1 && ragged.dst_stride < nearest) {
            Some(ragged) => Picked::Ragged(ragged),
            None => plain.map_or_else(|| Loops::none(width), |at| self.remove(at)),
        }
    }

    /// Takes the loop with the smallest source stride that can be a tile's rows.
    pub(super) fn take_nearest_in_source(&mut self, width: usize) -> Picked {
        // Stride 0 repeats one element and gains nothing in a tile, so it sorts last.
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

    /// Returns the loop that continues `rows` upwards in the source.
    pub(super) fn next_in_source(&self, rows: AffineLoop) -> Option<usize> {
        let step = rows.len.cast_signed().wrapping_mul(rows.src_stride);
        self.position(|each| rows.src_stride > 0 && each.src_stride == step)
    }

    /// Returns the first loop without lanes that satisfies `wanted`.
    fn position(&self, wanted: impl Fn(&AffineLoop) -> bool) -> Option<usize> {
        (0..self.plain.len()).find(|at| !self.are_lanes(*at) && wanted(&self.plain[*at]))
    }

    /// Takes the loop that repeats narrow rows of lanes without gaps, if a unit can hold a slab of them.
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

/// Reverses rows that descend in the source, and returns the byte offsets of their new start. Hardware prefetchers
/// predict ascending tiles.
pub(super) fn rising(rows: AffineLoop) -> (AffineLoop, (isize, isize)) {
    let last = rows.len.cast_signed() - 1;
    let end = (last * rows.src_stride, last * rows.dst_stride);
    (AffineLoop { src_stride: -rows.src_stride, dst_stride: -rows.dst_stride, ..rows }, end)
}
