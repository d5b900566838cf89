//! The loops of a block, from which those of its tiles are picked.

use trundle_core::{Block, CutAt, Source};
use trundle_kernels::{AffineLoop, SLABS_BYTES, takes_lines};

use super::roll::Roll;

/// The loop that was picked for the rows or the columns.
#[derive(Clone, Copy)]
pub(super) enum Picked {
    Plain(AffineLoop),
    /// Each step has a length of its own: so far from each other are they in the table.
    Lanes(AffineLoop, isize),
    /// The ragged loop; its source stride is that of its first run.
    Ragged(AffineLoop),
}

impl Picked {
    pub(super) fn each(self) -> AffineLoop {
        match self {
            Picked::Plain(each) | Picked::Lanes(each, _) | Picked::Ragged(each) => each,
        }
    }

    /// The distance between its steps in the table of lengths.
    pub(super) fn table_stride(self) -> isize {
        match self {
            Picked::Lanes(_, stride) => stride,
            Picked::Plain(_) | Picked::Ragged(_) => 0,
        }
    }
}

/// The loops of a block that have not been picked yet.
pub(super) struct Loops {
    /// The one that is rolled, which is among the plain ones as if it went straight on.
    pub(super) roll: Option<Roll>,
    /// By falling destination stride.
    pub(super) plain: Vec<AffineLoop>,
    /// Their strides in the table of lengths; none, if there is no table.
    pub(super) table_strides: Vec<isize>,
    /// Of one step, it is taken only where lanes need it: it is no loop to make tiles of.
    ragged: Option<AffineLoop>,
}

impl Loops {
    /// The loops of a block, of which none is cut at one step but by a roll.
    pub(super) fn of(block: &Block) -> Loops {
        let plain = Vec::with_capacity(block.loops.len());
        let mut loops = Loops { roll: None, plain, table_strides: Vec::new(), ragged: None };
        for (at, each) in block.loops.iter().enumerate() {
            let affine =
                |src_stride| AffineLoop { len: each.len, src_stride, dst_stride: each.dst_stride };
            match &each.src {
                Source::Affine { stride } => loops.plain.push(affine(*stride)),
                Source::Cut(cut) => {
                    // Both runs have steps of this length.
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

    /// Whether the steps of a loop have lengths of their own.
    fn are_lanes(&self, at: usize) -> bool {
        self.table_strides.get(at).is_some_and(|stride| *stride != 0)
    }

    /// Takes one of the plain loops.
    pub(super) fn remove(&mut self, at: usize) -> Picked {
        let each = self.plain.remove(at);
        let stride = if self.table_strides.is_empty() { 0 } else { self.table_strides.remove(at) };
        if stride == 0 { Picked::Plain(each) } else { Picked::Lanes(each, stride) }
    }

    /// A loop of one step, where no loop is left.
    fn none(width: usize) -> Picked {
        let width = width.cast_signed();
        Picked::Plain(AffineLoop { len: 1, src_stride: width, dst_stride: width })
    }

    /// The bytes that stay together, as a loop over them.
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

    /// Whether they transpose elements of a few whole lines.
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

    /// Whether some are left, and none is rolled or cut by a table.
    pub(super) fn are_plain(&self) -> bool {
        self.roll.is_none()
            && self.ragged.is_none()
            && self.table_strides.is_empty()
            && !self.plain.is_empty()
    }

    /// How many steps of two, of these and of the `picked`, are one within the other without a gap, from
    /// the nearest neighbours on.
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

    /// The loop whose steps are the nearest in the destination.
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

    /// The loop whose steps are the nearest in the destination, of those that can be a tile's rows.
    pub(super) fn take_next(&mut self, width: usize) -> Picked {
        let plain = (0..self.plain.len()).rev().find(|at| !self.are_lanes(*at));
        let nearest = plain.map_or(isize::MAX, |at| self.plain[at].dst_stride);
        match self.ragged.take_if(|ragged| ragged.len > 1 && ragged.dst_stride < nearest) {
            Some(ragged) => Picked::Ragged(ragged),
            None => plain.map_or_else(|| Loops::none(width), |at| self.remove(at)),
        }
    }

    /// The loop whose steps are the nearest in the source, of those that can be a tile's rows.
    pub(super) fn take_nearest_in_source(&mut self, width: usize) -> Picked {
        // A stride of 0 repeats one element: nothing is gained by having it in the tile.
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

    /// The index of the loop that continues `cols` in the destination.
    pub(super) fn next_in_destination(&self, cols: AffineLoop) -> Option<usize> {
        self.position(|each| each.dst_stride == cols.len.cast_signed() * cols.dst_stride)
    }

    /// The index of the loop that continues `rows` upwards in the source.
    pub(super) fn next_in_source(&self, rows: AffineLoop) -> Option<usize> {
        let step = rows.len.cast_signed().wrapping_mul(rows.src_stride);
        self.position(|each| rows.src_stride > 0 && each.src_stride == step)
    }

    /// The index of the first loop that `wanted` holds for, if it has no lanes.
    fn position(&self, wanted: impl Fn(&AffineLoop) -> bool) -> Option<usize> {
        (0..self.plain.len()).find(|at| !self.are_lanes(*at) && wanted(&self.plain[*at]))
    }

    /// The loop that repeats narrow rows of lanes without a gap, if a unit holds a slab of them.
    pub(super) fn take_slabs(&mut self, rows: AffineLoop, row_bytes: usize) -> Option<Picked> {
        let slab = rows.len.cast_signed() * rows.dst_stride;
        let fits = rows.len * row_bytes <= SLABS_BYTES;
        let at = self.plain.iter().position(|each| fits && each.dst_stride == slab)?;
        Some(self.remove(at))
    }

    /// The ragged loop.
    pub(super) fn take_ragged(&mut self) -> Picked {
        self.ragged.take().map_or_else(|| Loops::none(1), Picked::Ragged)
    }
}

/// Rows that fall through the source, counted from their other end, and where that is in bytes from
/// where they began: the prefetcher predicts tiles that follow each other upwards.
pub(super) fn rising(rows: AffineLoop) -> (AffineLoop, (isize, isize)) {
    let last = rows.len.cast_signed() - 1;
    let end = (last * rows.src_stride, last * rows.dst_stride);
    (AffineLoop { src_stride: -rows.src_stride, dst_stride: -rows.dst_stride, ..rows }, end)
}
