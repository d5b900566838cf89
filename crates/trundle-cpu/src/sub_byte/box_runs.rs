//! The layouts of a box in one tensor, and of its unpacked copy.

use std::cmp::Reverse;

use trundle_core::{Block, Loop};
use trundle_kernels::AffineLoop;

/// The elements of a box in one tensor, as loops over contiguous runs by ascending address. The copy of the box has the
/// runs in the same order, with gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoxRuns {
    /// Position of the lowest element relative to index 0 of every loop: 0 or negative.
    lowest: isize,
    /// Position of the lowest element in the copy.
    first_copied: usize,
    /// The loops around the runs, outermost first.
    loops: Vec<Steps>,
    pub(super) run: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Steps {
    len: usize,
    stride: isize,
    copied_stride: usize,
}

impl BoxRuns {
    /// `copied_strides` are the distances between neighbours in the copy.
    pub(super) fn of(
        strides: &[isize],
        extents: &[usize],
        copied_strides: &[usize],
        first_copied: usize,
    ) -> BoxRuns {
        let backwards = strides.iter().zip(extents).filter(|(stride, _)| **stride < 0);
        let lowest = backwards.map(|(stride, len)| stride * (len - 1).cast_signed()).sum();
        let steps = |at: usize| {
            let (len, stride) = (extents[at], strides[at].abs());
            Steps { len, stride, copied_stride: copied_strides[at] }
        };
        let mut loops: Vec<Steps> = in_order(strides, extents).map(steps).collect();
        loops.dedup_by(|inner, outer| {
            let continues = outer.stride == inner.stride * inner.len.cast_signed()
                && outer.copied_stride == inner.copied_stride * inner.len;
            if continues {
                *outer = Steps { len: outer.len * inner.len, ..*inner };
            }
            continues
        });
        let is_run = |innermost: &mut Steps| innermost.stride == 1 && innermost.copied_stride == 1;
        let run = loops.pop_if(is_run).map_or(1, |run| run.len);
        BoxRuns { lowest, first_copied, loops, run }
    }

    /// Calls `visit` for each run of the box. `origin` is the position of index 0 of every loop.
    pub(super) fn for_each_run(&self, origin: isize, mut visit: impl FnMut(Run)) {
        let apart = self.loops.last().map_or(0, |innermost| innermost.stride);
        let lowest = (origin + self.lowest, self.first_copied);
        visit_runs(&self.loops, lowest, &mut |first, copied| {
            let ahead = (first + AHEAD * apart).unsigned_abs();
            visit(Run { first: first.unsigned_abs(), copied, ahead });
        });
    }
}

/// Returns the loops of a block, except one that a table cuts.
pub(super) fn affine_loops(block: &Block) -> Vec<AffineLoop> {
    let affine = |each: &Loop| {
        let (len, dst_stride) = (each.len, each.dst_stride);
        Some(AffineLoop { len, src_stride: each.affine_stride()?, dst_stride })
    };
    block.loops.iter().filter_map(affine).collect()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Position of the first element in the tensor.
    pub(super) first: usize,
    /// Position of the first element in the unpacked copy.
    pub(super) copied: usize,
    /// Tensor position of a later run to prefetch. At the end of a loop it may be out of bounds.
    pub(super) ahead: usize,
}

/// Prefetch distance in runs, which are too far apart for hardware prefetchers.
pub(super) const AHEAD: isize = 8;

fn visit_runs(
    loops: &[Steps],
    (first, copied): (isize, usize),
    visit: &mut impl FnMut(isize, usize),
) {
    let Some((outer, inner)) = loops.split_first() else { return visit(first, copied) };
    for i in 0..outer.len {
        let lowest = (first + i.cast_signed() * outer.stride, copied + i * outer.copied_stride);
        visit_runs(inner, lowest, visit);
    }
}

/// Returns the distances between neighbours in the copy of a box along each loop, 0 for loops that do not change the
/// address, and the length of the copy. The copy has the order of the addresses and no gaps, except that `spaced`
/// increases the distance along one loop.
pub(super) fn copied_strides(
    strides: &[isize],
    extents: &[usize],
    spaced: Option<usize>,
    space: impl Fn(usize) -> usize,
) -> (Vec<usize>, usize) {
    let (mut step, mut copied) = (1, vec![0; strides.len()]);
    let loops: Vec<usize> = in_order(strides, extents).collect();
    for at in loops.into_iter().rev() {
        if spaced == Some(at) {
            step = space(step);
        }
        copied[at] = step;
        step *= extents[at];
    }
    (copied, step)
}

/// Returns the loops that change the address, by decreasing stride.
pub(super) fn in_order(strides: &[isize], extents: &[usize]) -> impl Iterator<Item = usize> {
    let leads = |at: &usize| strides[*at] != 0 && extents[*at] > 1;
    let mut order: Vec<usize> = (0..strides.len()).filter(leads).collect();
    order.sort_by_key(|at| Reverse(strides[*at].abs()));
    order.into_iter()
}

#[cfg(test)]
mod tests {
    use trundle_core::Shape;

    use super::*;

    #[test]
    fn runs_are_copied_in_their_order() {
        let boxes: [(&[isize], &[usize], Option<usize>); 8] = [
            (&[], &[], None),
            (&[1], &[5], None),
            (&[-1], &[5], None),
            (&[12, 1, -4], &[3, 4, 2], None),
            (&[12, 1, -4], &[3, 4, 2], Some(2)),
            (&[1, 0, 7], &[7, 3, 2], None),
            (&[100, 2, 1], &[2, 1, 2], Some(0)),
            (&[-3, 30], &[4, 1], None),
        ];
        for (strides, extents, spaced) in boxes {
            let (steps, len) = copied_strides(strides, extents, spaced, |step| step + 3);
            let runs = BoxRuns::of(strides, extents, &steps, 5);
            let mut copied = vec![None; 5 + len];
            runs.for_each_run(1000, |run| {
                (0..runs.run).for_each(|i| copied[run.copied + i] = Some(run.first + i));
            });
            Shape::new(extents).unwrap().for_each_index(|index| {
                let (mut first, mut at) = (1000, 5);
                for (axis, i) in index.iter().enumerate() {
                    let backwards = extents[axis] - 1 - i;
                    first += i.cast_signed() * strides[axis];
                    at += steps[axis] * if strides[axis] < 0 { backwards } else { *i };
                }
                assert_eq!(copied[at], Some(first.unsigned_abs()), "{strides:?} {extents:?}");
            });
        }
    }
}
