//! The table of lengths that a ragged axis map reads.

use std::sync::Arc;

use super::{AxisMap, Line, Piece};
use crate::shape::{for_each_index, row_major_strides};

/// One length for each position outside the reversed axis.
///
/// The entry for an output index is `values[offset + Σ strides[axis] · index[axis]]`. An axis
/// along which the lengths do not vary has stride 0, the reversed axis among them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lengths {
    values: Arc<[usize]>,
    offset: usize,
    strides: Vec<isize>,
}

crate::fingerprint!(struct Lengths { values, offset, strides });

impl Lengths {
    /// A table read with one stride, in entries, for each output axis.
    ///
    /// # Panics
    /// Reading panics if the strides lead outside `values`; operators check before they build one.
    pub fn new(values: impl Into<Arc<[usize]>>, offset: usize, strides: Vec<isize>) -> Lengths {
        Lengths { values: values.into(), offset, strides }
    }

    /// Every entry of the table, in no particular order and perhaps more than are read.
    pub fn values(&self) -> &Arc<[usize]> {
        &self.values
    }

    /// The entry of the index that is 0 everywhere.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The distance in entries between neighbours along each output axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The length at an output index.
    pub fn at(&self, index: &[usize]) -> usize {
        self.values[self.entry(index)]
    }

    /// Where in the table the length at an output index stands.
    fn entry(&self, index: &[usize]) -> usize {
        let steps: isize =
            index.iter().zip(&self.strides).map(|(i, stride)| i.cast_signed() * stride).sum();
        self.offset.wrapping_add_signed(steps)
    }

    /// The axes along which the lengths may vary.
    pub(super) fn varying_axes(&self) -> impl Iterator<Item = usize> + '_ {
        self.strides.iter().enumerate().filter(|(_, stride)| **stride != 0).map(|(axis, _)| axis)
    }

    /// The one length that is read everywhere, if no axis has a stride.
    pub(super) fn uniform(&self) -> Option<usize> {
        if self.strides.iter().any(|stride| *stride != 0) {
            return None;
        }
        self.values.get(self.offset).copied()
    }

    /// Whether both read the same length at every index of `sizes`.
    pub(super) fn agrees_with(&self, other: &Lengths, sizes: &[usize]) -> bool {
        self.simplest(sizes) == other.simplest(sizes)
    }

    /// The one form of these lengths over `sizes`: a row-major table over the axes along which
    /// they vary, without an entry that is not read. Equal lengths have equal forms.
    ///
    /// Law: `simplest.at(index) == self.at(index)` for every index of `sizes`.
    pub(super) fn simplest(&self, sizes: &[usize]) -> Lengths {
        let varying: Vec<usize> = sizes
            .iter()
            .enumerate()
            .map(|(axis, size)| if self.vary_along(axis, sizes) { *size } else { 1 })
            .collect();
        Lengths::tabulated(&varying, |index| self.at(index))
    }

    /// Whether two neighbours along `axis` differ.
    fn vary_along(&self, axis: usize, sizes: &[usize]) -> bool {
        let stride = self.strides[axis];
        if stride == 0 {
            return false;
        }
        // The first of each pair of neighbours; along an axis without a stride all are alike.
        let mut firsts: Vec<usize> = self
            .strides
            .iter()
            .zip(sizes)
            .map(|(stride, size)| if *stride == 0 { 1 } else { *size })
            .collect();
        firsts[axis] -= 1;
        let mut differ = false;
        for_each_index(&firsts, |index| {
            let entry = self.entry(index);
            differ |= self.values[entry] != self.values[entry.wrapping_add_signed(stride)];
        });
        differ
    }

    /// A row-major table of what `length_at` says at each index of `sizes`.
    fn tabulated(sizes: &[usize], mut length_at: impl FnMut(&[usize]) -> usize) -> Lengths {
        let mut values = Vec::with_capacity(sizes.iter().product());
        for_each_index(sizes, |index| values.push(length_at(index)));
        Lengths { values: values.into(), offset: 0, strides: row_major_strides(sizes) }
    }

    /// The same lengths asked through `axes`: entry `b` of an index into `self` is
    /// `axes[b](out)` for an output index `out` of `out_sizes`. `None` if a varying axis is read
    /// through a ragged map.
    ///
    /// Law: `pulled.at(out) == self.at(axes(out))` for every `out`.
    pub(super) fn pull_back(&self, axes: &[AxisMap], out_sizes: &[usize]) -> Option<Lengths> {
        if self.varying_axes().any(|b| axes[b].is_ragged()) {
            return None;
        }
        if self.varying_axes().any(|b| matches!(axes[b], AxisMap::Segments { .. })) {
            return Some(self.tabulate(axes, out_sizes));
        }
        let mut pulled = Lengths {
            values: self.values.clone(),
            offset: self.offset,
            strides: vec![0; out_sizes.len()],
        };
        for b in self.varying_axes() {
            let AxisMap::Affine { axis, line } = &axes[b] else { return None };
            pulled.offset = pulled.offset.wrapping_add_signed(self.strides[b] * line.start);
            pulled.strides[*axis] += self.strides[b] * line.step;
        }
        Some(pulled)
    }

    /// A new table over the output axes that the varying axes read.
    fn tabulate(&self, axes: &[AxisMap], out_sizes: &[usize]) -> Lengths {
        let mut sizes = vec![1; out_sizes.len()];
        for b in self.varying_axes() {
            let axis = axes[b].axis();
            sizes[axis] = out_sizes[axis];
        }
        let mut inner = vec![0; axes.len()];
        Lengths::tabulated(&sizes, |index| {
            for b in self.varying_axes() {
                inner[b] = axes[b].source_of(index);
            }
            self.at(&inner)
        })
    }

    /// The axis map of a row whose first `length` elements are reversed, as two pieces.
    pub(super) fn reversal(length: usize, size: usize) -> Vec<Piece> {
        let length = length.min(size);
        vec![
            Piece { end: length, line: Line { start: length.cast_signed() - 1, step: -1 } },
            Piece { end: size, line: Line::IDENTITY },
        ]
    }
}
