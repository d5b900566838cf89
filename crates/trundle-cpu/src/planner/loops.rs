//! The loops of a block, from which those of its tiles are picked.

use trundle_core::{Block, Loop};
use trundle_kernels::SLABS_BYTES;

/// The loop that was picked for the rows or the columns.
#[derive(Clone, Copy)]
pub(super) enum Picked {
    Plain(Loop),
    /// The ragged loop; its source stride is that of its first run.
    Ragged(Loop),
}

impl Picked {
    pub(super) fn each(self) -> Loop {
        match self {
            Picked::Plain(each) | Picked::Ragged(each) => each,
        }
    }
}

/// The loops of a block that have not been picked yet.
pub(super) struct Loops {
    /// By falling destination stride.
    pub(super) plain: Vec<Loop>,
    /// Of one step, it is taken only where lanes need it: it is no loop to make tiles of.
    ragged: Option<Loop>,
}

impl Loops {
    pub(super) fn of(block: &Block) -> Loops {
        let ragged = block.ragged.as_ref().map(|ragged| Loop {
            len: ragged.len,
            // Both runs have steps of this length.
            src_stride: ragged.first.src_stride,
            dst_stride: ragged.dst_stride,
            lane_stride: 0,
        });
        Loops { plain: block.loops.clone(), ragged }
    }

    /// A loop of one step, where no loop is left.
    fn none(width: usize) -> Picked {
        let width = width.cast_signed();
        Picked::Plain(Loop { len: 1, src_stride: width, dst_stride: width, lane_stride: 0 })
    }

    /// The bytes that stay together, as a loop over them.
    pub(super) fn take_run(&mut self, width: usize) -> Picked {
        let step = width.cast_signed();
        let run = |each: &mut Loop| {
            (each.src_stride, each.dst_stride, each.lane_stride) == (step, step, 0)
        };
        let bytes = self.plain.pop_if(run).map_or(1, |run| run.len) * width;
        Picked::Plain(Loop { len: bytes, src_stride: 1, dst_stride: 1, lane_stride: 0 })
    }

    /// The loop whose steps are the nearest in the destination.
    pub(super) fn take_innermost(&mut self, width: usize) -> Picked {
        let nearest = self.plain.last().map_or(isize::MAX, |each| each.dst_stride);
        match self.ragged.take_if(|ragged| ragged.len > 1 && ragged.dst_stride < nearest) {
            Some(ragged) => Picked::Ragged(ragged),
            None => self.plain.pop().map_or_else(|| Loops::none(width), Picked::Plain),
        }
    }

    /// The loop whose steps are the nearest in the destination, of those that can be a tile's rows.
    pub(super) fn take_next(&mut self, width: usize) -> Picked {
        let plain = self.plain.iter().rposition(|each| each.lane_stride == 0);
        let nearest = plain.map_or(isize::MAX, |at| self.plain[at].dst_stride);
        match self.ragged.take_if(|ragged| ragged.len > 1 && ragged.dst_stride < nearest) {
            Some(ragged) => Picked::Ragged(ragged),
            None => {
                plain.map_or_else(|| Loops::none(width), |at| Picked::Plain(self.plain.remove(at)))
            }
        }
    }

    /// The loop whose steps are the nearest in the source, of those that can be a tile's rows.
    pub(super) fn take_nearest_in_source(&mut self, width: usize) -> Picked {
        // A stride of 0 repeats one element: nothing is gained by having it in the tile.
        let distance = |each: &Loop| each.src_stride.unsigned_abs().wrapping_sub(1);
        let nearest = self
            .plain
            .iter()
            .enumerate()
            .filter(|(_, each)| each.lane_stride == 0)
            .min_by_key(|(_, each)| distance(each))
            .map(|(at, each)| (at, distance(each)));
        let nearer = |ragged: &mut Loop| {
            ragged.len > 1 && nearest.is_none_or(|(_, plain)| distance(ragged) < plain)
        };
        match (self.ragged.take_if(nearer), nearest) {
            (Some(ragged), _) => Picked::Ragged(ragged),
            (None, Some((at, _))) => Picked::Plain(self.plain.remove(at)),
            (None, None) => Loops::none(width),
        }
    }

    /// The index of the loop that continues `cols` in the destination.
    pub(super) fn next_in_destination(&self, cols: Loop) -> Option<usize> {
        self.position(|each| each.dst_stride == cols.len.cast_signed() * cols.dst_stride)
    }

    /// The index of the loop that continues `rows` upwards in the source.
    pub(super) fn next_in_source(&self, rows: Loop) -> Option<usize> {
        let step = rows.len.cast_signed().wrapping_mul(rows.src_stride);
        self.position(|each| rows.src_stride > 0 && each.src_stride == step)
    }

    /// The index of the first loop that `wanted` holds for, if it has no lanes.
    fn position(&self, wanted: impl Fn(&Loop) -> bool) -> Option<usize> {
        self.plain.iter().position(|each| each.lane_stride == 0 && wanted(each))
    }

    /// The loop that repeats narrow rows of lanes without a gap, if a unit holds a slab of them.
    pub(super) fn take_slabs(&mut self, rows: Loop, row_bytes: usize) -> Option<Loop> {
        let slab = rows.len.cast_signed() * rows.dst_stride;
        let fits = rows.len * row_bytes <= SLABS_BYTES;
        let at = self.plain.iter().position(|each| fits && each.dst_stride == slab)?;
        Some(self.plain.remove(at))
    }

    /// The ragged loop.
    pub(super) fn take_ragged(&mut self) -> Picked {
        self.ragged.take().map_or_else(|| Loops::none(1), Picked::Ragged)
    }
}

/// Rows that fall through the source, counted from their other end, and where that is in bytes from
/// where they began: the prefetcher predicts tiles that follow each other upwards.
pub(super) fn rising(rows: Loop) -> (Loop, (isize, isize)) {
    let last = rows.len.cast_signed() - 1;
    let end = (last * rows.src_stride, last * rows.dst_stride);
    (Loop { src_stride: -rows.src_stride, dst_stride: -rows.dst_stride, ..rows }, end)
}
