//! Neighbours of an output whose sources are evenly spaced.

use super::{AxisMap, IndexMap};

impl IndexMap {
    /// How many elements of the output, from `index` on along the axis `along`, have sources that are
    /// evenly spaced, and into `steps` how far apart two of them are along each source axis. One
    /// at least; of a map of several layers one.
    ///
    /// Law: for each `k` below the result, `source_of(index + k)` is `source_of(index) + k · steps`,
    /// with `k` counted along that axis.
    ///
    /// # Panics
    /// If `index` lies outside the output's shape, there is no such axis, or `steps` has not one entry
    /// for each source axis.
    pub fn stretch(&self, index: &[usize], along: usize, steps: &mut [isize]) -> usize {
        assert_eq!(steps.len(), self.in_shape().rank(), "one step for each source axis");
        self.assert_within(index);
        assert!(along < index.len(), "an axis of the output, not {along}");
        steps.fill(0);
        let [layer] = self.layers() else { return 1 };
        let Some(axes) = layer.axes() else { return 1 };
        let mut elements = self.out_shape()[along] - index[along];
        for (axis, step) in axes.iter().zip(steps) {
            let own;
            (own, *step) = axis.stretch(index, along);
            elements = elements.min(own);
        }
        elements
    }
}

impl AxisMap {
    /// The same of the coordinate on one source axis; the elements may be more than there are.
    fn stretch(&self, index: &[usize], along: usize) -> (usize, isize) {
        let i = index[along];
        match self {
            AxisMap::Ragged { axis, lengths, .. } if *axis != along => {
                let varies = lengths.varying_axes().any(|axis| axis == along);
                (if varies { 1 } else { usize::MAX }, 0)
            }
            AxisMap::Sum { steps, .. } => (usize::MAX, steps[along]),
            AxisMap::Indexed { indices, .. } => {
                let varies = indices.varying_axes().any(|axis| axis == along);
                (if varies { 1 } else { usize::MAX }, 0)
            }
            _ if self.axis() != Some(along) => (usize::MAX, 0),
            AxisMap::Affine { line, .. } => (usize::MAX, line.step),
            AxisMap::Segments { pieces, .. } => match pieces.iter().find(|piece| i < piece.end) {
                Some(piece) => (piece.end - i, piece.line.step),
                None => (1, 0),
            },
            AxisMap::Ragged { before, lengths, after, .. } => {
                let (j, length) = (before.at(i.cast_signed()), lengths.at(index).cast_signed());
                let step = before.step * after.step;
                match (j < length, before.step > 0) {
                    (true, true) => ((length - j).unsigned_abs(), -step),
                    (true, false) => (usize::MAX, -step),
                    (false, true) => (usize::MAX, step),
                    (false, false) => ((j - length + 1).unsigned_abs(), step),
                }
            }
        }
    }
}
