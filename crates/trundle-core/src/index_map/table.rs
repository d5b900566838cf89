//! Tables of axis maps: the lengths of partly reversed rows, and the indices of gathers.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{AxisMap, Line, Piece};
use crate::shape::{for_each_index, row_major_strides, steps_to};

/// A table that has a number for each output index: a length, or a source index.
///
/// The entry for an output index is `values[offset + Σ strides[axis] · index[axis]]`. If the numbers do not vary along
/// an axis, its stride is 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    values: Arc<[usize]>,
    offset: usize,
    strides: Vec<isize>,
}

crate::fingerprint!(struct Table { values, offset, strides });

impl Table {
    /// `strides` has a stride in entries for each output axis. The caller must check that the entry for every output
    /// index lies within `values`.
    pub(crate) fn new(
        values: impl Into<Arc<[usize]>>,
        offset: usize,
        strides: Vec<isize>,
    ) -> Table {
        Table { values: values.into(), offset, strides }
    }

    /// All entries. Some may belong to no output index.
    pub fn values(&self) -> &Arc<[usize]> {
        &self.values
    }

    /// The position of the entry for output index 0, 0, ..., 0.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// For each output axis, the distance between the entries of neighbouring indices.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    pub(crate) fn at(&self, index: &[usize]) -> usize {
        self.values[self.entry(index)]
    }

    fn entry(&self, index: &[usize]) -> usize {
        self.offset.wrapping_add_signed(steps_to(index, &self.strides))
    }

    /// The output axes along which the numbers may vary.
    pub(super) fn varying_axes(&self) -> impl Iterator<Item = usize> + '_ {
        self.strides.iter().enumerate().filter(|(_, stride)| **stride != 0).map(|(axis, _)| axis)
    }

    /// The number for all output indices, if the strides are 0.
    pub(super) fn uniform(&self) -> Option<usize> {
        if self.strides.iter().any(|stride| *stride != 0) {
            return None;
        }
        self.values.get(self.offset).copied()
    }

    pub(super) fn agrees_with(&self, other: &Table, sizes: &[usize]) -> bool {
        self.simplest(sizes) == other.simplest(sizes)
    }

    /// The normal form over `sizes`, equal for tables with equal numbers: in row-major order over the axes along which
    /// they vary, without unread entries.
    ///
    /// Law: `simplest.at(index) == self.at(index)` for every index of `sizes`.
    pub(super) fn simplest(&self, sizes: &[usize]) -> Table {
        let varying: Vec<usize> = sizes
            .iter()
            .enumerate()
            .map(|(axis, size)| if self.vary_along(axis, sizes) { *size } else { 1 })
            .collect();
        Table::tabulated(&varying, |index| self.at(index))
    }

    fn vary_along(&self, axis: usize, sizes: &[usize]) -> bool {
        let stride = self.strides[axis];
        if stride == 0 {
            return false;
        }
        // The indices with a neighbour along the axis; one is enough on an axis with stride 0.
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

    fn tabulated(sizes: &[usize], mut number_at: impl FnMut(&[usize]) -> usize) -> Table {
        let mut values = Vec::with_capacity(sizes.iter().product());
        for_each_index(sizes, |index| values.push(number_at(index)));
        Table { values: values.into(), offset: 0, strides: row_major_strides(sizes) }
    }

    /// Composes the table with axis maps. The result's number for an output index `out` is this table's number at the
    /// coordinates `axes[b](out)`. `None` if a varying axis has a ragged map.
    ///
    /// Law: `pulled.at(out) == self.at(axes(out))` for every `out`.
    pub(super) fn pull_back(&self, axes: &[AxisMap], out_sizes: &[usize]) -> Option<Table> {
        if self.varying_axes().any(|b| axes[b].is_ragged()) {
            return None;
        }
        let is_linear = |b: usize| matches!(axes[b], AxisMap::Affine { .. } | AxisMap::Sum { .. });
        if !self.varying_axes().all(is_linear) {
            return Some(self.tabulate(axes, out_sizes));
        }
        let mut pulled = Table {
            values: self.values.clone(),
            offset: self.offset,
            strides: vec![0; out_sizes.len()],
        };
        for b in self.varying_axes() {
            let stride = self.strides[b];
            let mut start = |start: isize| {
                pulled.offset = pulled.offset.wrapping_add_signed(stride * start);
            };
            match &axes[b] {
                AxisMap::Affine { axis, line } => {
                    start(line.start);
                    pulled.strides[*axis] += stride * line.step;
                }
                AxisMap::Sum { start: first, steps } => {
                    start(*first);
                    for (own, step) in pulled.strides.iter_mut().zip(steps) {
                        *own += stride * step;
                    }
                }
                AxisMap::Segments { .. } | AxisMap::Indexed { .. } | AxisMap::Ragged { .. } => {
                    return None;
                }
            }
        }
        Some(pulled)
    }

    /// [`Table::pull_back`] with new entries, over the output axes that the varying axes depend on.
    fn tabulate(&self, axes: &[AxisMap], out_sizes: &[usize]) -> Table {
        let mut sizes = vec![1; out_sizes.len()];
        for axis in self.varying_axes().flat_map(|b| axes[b].axes()) {
            sizes[axis] = out_sizes[axis];
        }
        let mut inner = vec![0; axes.len()];
        Table::tabulated(&sizes, |index| {
            for b in self.varying_axes() {
                inner[b] = axes[b].source_of(index);
            }
            self.at(&inner)
        })
    }

    /// Sets the stride to 0 along each axis whose entry in `sizes` is 1.
    pub(super) fn within(&self, sizes: &[usize]) -> Table {
        let strides = self.strides.iter().zip(sizes);
        let strides = strides.map(|(stride, size)| if *size == 1 { 0 } else { *stride }).collect();
        Table { values: self.values.clone(), offset: self.offset, strides }
    }

    pub(super) fn map(&self, number: impl Fn(usize) -> usize) -> Table {
        let values: Vec<usize> = self.values.iter().map(|value| number(*value)).collect();
        Table { values: values.into(), offset: self.offset, strides: self.strides.clone() }
    }

    /// The numbers along the only axis on which they vary, which has `size` indices.
    pub(super) fn along(&self, axis: usize, size: usize) -> impl Iterator<Item = usize> + '_ {
        let (mut entry, stride) = (self.offset, self.strides[axis]);
        (0..size).map(move |_| {
            let value = self.values[entry];
            entry = entry.wrapping_add_signed(stride);
            value
        })
    }

    /// A row of `size` elements with its first `length` reversed.
    pub(super) fn reversal(length: usize, size: usize) -> Vec<Piece> {
        let length = length.min(size);
        vec![
            Piece { end: length, line: Line { start: length.cast_signed() - 1, step: -1 } },
            Piece { end: size, line: Line::IDENTITY },
        ]
    }
}
