//! A box of the output as an output of its own: a chunk, a tile, a thread's share.

use std::ops::Range;

use super::bounds::check_bounds;
use super::{AxisMap, IndexMap, Line};
use crate::{Result, Shape};

impl IndexMap {
    /// The map of the output indices within `bounds`, one range for each output axis.
    ///
    /// Law: `f.restrict(b).source_of(i) == f.source_of(b.start + i)`.
    ///
    /// # Errors
    /// [`SizesDiffer`](crate::Error::SizesDiffer) if there is not one range for each output axis,
    /// [`RangeOutOfBounds`](crate::Error::RangeOutOfBounds) if one runs backwards or reaches outside the output.
    pub fn restrict(&self, bounds: &[Range<usize>]) -> Result<IndexMap> {
        check_bounds(bounds, self.out_shape(), "the axes of the output")?;
        let out_shape = Shape::new(bounds.iter().map(Range::len).collect::<Vec<_>>())?;
        let axes = bounds
            .iter()
            .enumerate()
            .map(|(axis, range)| AxisMap::Affine {
                axis,
                line: Line { start: range.start.cast_signed(), step: 1 },
            })
            .collect();
        Ok(self.composed(&IndexMap::new(out_shape, self.out_shape().clone(), axes)))
    }
}
