//! The layouts of a box in one tensor, and of its unpacked copy.

use std::cmp::Reverse;

use trundle_core::{Block, Layout, Loop, Result, Shape};
use trundle_kernels::AffineLoop;

/// The elements of a box in one tensor, as loops over contiguous runs by ascending address. The unpacked copy has them
/// in the same order, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoxRuns {
    /// Position of the lowest element relative to index 0 of every loop: 0 or negative.
    lowest: isize,
    /// The loops around the runs, outermost first.
    loops: Vec<Steps>,
    pub(super) run: usize,
    /// Number of different elements of the box.
    pub(super) elements: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Steps {
    len: usize,
    stride: isize,
}

impl BoxRuns {
    pub(super) fn of(strides: &[isize], extents: &[usize]) -> BoxRuns {
        let backwards = strides.iter().zip(extents).filter(|(stride, _)| **stride < 0);
        let lowest = backwards.map(|(stride, len)| stride * (len - 1).cast_signed()).sum();
        let mut loops: Vec<Steps> = in_order(strides, extents)
            .map(|at| Steps { len: extents[at], stride: strides[at].abs() })
            .collect();
        loops.dedup_by(|inner, outer| {
            let continues = outer.stride == inner.stride * inner.len.cast_signed();
            if continues {
                *outer = Steps { len: outer.len * inner.len, ..*inner };
            }
            continues
        });
        let elements = loops.iter().map(|each| each.len).product();
        let run = loops.pop_if(|innermost| innermost.stride == 1).map_or(1, |run| run.len);
        BoxRuns { lowest, loops, run, elements }
    }

    /// Calls `visit` for each run of the box. `origin` is the position of index 0 of every loop.
    pub(super) fn for_each_run(&self, origin: isize, mut visit: impl FnMut(Run)) {
        let mut copied = 0;
        let apart = self.loops.last().map_or(0, |innermost| innermost.stride);
        visit_runs(&self.loops, origin + self.lowest, &mut |first| {
            let ahead = (first + AHEAD * apart).unsigned_abs();
            visit(Run { first: first.unsigned_abs(), copied, ahead });
            copied += self.run;
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

fn visit_runs(loops: &[Steps], first: isize, visit: &mut impl FnMut(isize)) {
    let Some((outer, inner)) = loops.split_first() else { return visit(first) };
    for i in 0..outer.len.cast_signed() {
        visit_runs(inner, first + i * outer.stride, visit);
    }
}

/// Returns the layout of a box's unpacked copy, with one byte per element.
///
/// # Errors
/// Fails only if the box does not fit in memory.
pub(super) fn unpacked_layout(strides: &[isize], extents: &[usize]) -> Result<Layout> {
    let (mut offset, mut step) = (0, 1);
    let mut copied = vec![0; strides.len()];
    let loops: Vec<usize> = in_order(strides, extents).collect();
    for at in loops.into_iter().rev() {
        copied[at] = step * strides[at].signum();
        if strides[at] < 0 {
            offset += step * (extents[at] - 1).cast_signed();
        }
        step *= extents[at].cast_signed();
    }
    Layout::strided(&Shape::new(extents)?, offset.unsigned_abs(), &copied)
}

/// Returns the loops that change the address, by decreasing stride.
fn in_order(strides: &[isize], extents: &[usize]) -> impl Iterator<Item = usize> {
    let leads = |at: &usize| strides[*at] != 0 && extents[*at] > 1;
    let mut order: Vec<usize> = (0..strides.len()).filter(leads).collect();
    order.sort_by_key(|at| Reverse(strides[*at].abs()));
    order.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_lie_in_the_order_of_the_runs() {
        let boxes: [(&[isize], &[usize]); 7] = [
            (&[], &[]),
            (&[1], &[5]),
            (&[-1], &[5]),
            (&[12, 1, -4], &[3, 4, 2]),
            (&[1, 0, 7], &[7, 3, 2]),
            (&[100, 2, 1], &[2, 1, 2]),
            (&[-3, 30], &[4, 1]),
        ];
        for (strides, extents) in boxes {
            let (side, layout) =
                (BoxRuns::of(strides, extents), unpacked_layout(strides, extents).unwrap());
            let mut copied = vec![None; side.elements];
            side.for_each_run(1000, |run| {
                (0..side.run).for_each(|i| copied[run.copied + i] = Some(run.first + i));
            });
            layout.shape().for_each_index(|index| {
                let steps: isize =
                    index.iter().zip(strides).map(|(i, stride)| i.cast_signed() * stride).sum();
                let expected = Some((1000 + steps).unsigned_abs());
                assert_eq!(copied[layout.offset_of(index)], expected, "{strides:?} {extents:?}");
            });
        }
    }
}
