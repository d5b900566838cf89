//! One step of an index map: its axes moved, or its axes renamed.

use std::fmt;

use super::{AxisMap, Line, Piece};
use crate::Shape;
use crate::shape::row_major_number;

/// A step between two shapes. The output's side is asked, the source's side is what is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layer {
    pub(super) out_shape: Shape,
    pub(super) in_shape: Shape,
    /// One for each source axis; none at all where the same elements, in row-major order, are
    /// counted in another shape.
    pub(super) axes: Option<Vec<AxisMap>>,
}

crate::fingerprint!(struct Layer { out_shape, in_shape, axes });

impl Layer {
    /// A layer of one entry of `axes` for each source axis, each in its simplest form. The output
    /// has elements.
    pub(super) fn of_axes(out_shape: Shape, in_shape: Shape, axes: Vec<AxisMap>) -> Layer {
        let axes = axes.into_iter().map(|axis| simplified(axis, &out_shape)).collect();
        Layer { out_shape, in_shape, axes: Some(axes) }
    }

    /// The row-major elements of `in_shape` in another shape of as many elements.
    pub(super) fn reshape(out_shape: Shape, in_shape: Shape) -> Layer {
        if out_shape == in_shape {
            return Layer::identity(&in_shape);
        }
        Layer { out_shape, in_shape, axes: None }
    }

    /// Every element stays where it is.
    pub(super) fn identity(shape: &Shape) -> Layer {
        let axes = (0..shape.rank()).map(AxisMap::identity).collect();
        Layer::of_axes(shape.clone(), shape.clone(), axes)
    }

    /// The shape of what is asked.
    pub fn out_shape(&self) -> &Shape {
        &self.out_shape
    }

    /// The shape of what is found.
    pub fn in_shape(&self) -> &Shape {
        &self.in_shape
    }

    /// For each source axis, how its coordinate follows from the output's; `None` for a reshape,
    /// which keeps the number of each element in row-major order.
    pub fn axes(&self) -> Option<&[AxisMap]> {
        self.axes.as_deref()
    }

    /// The source coordinates of the element at `index`, which lies within the output's shape.
    pub(super) fn source_into(&self, index: &[usize], source: &mut [usize]) {
        match &self.axes {
            Some(axes) => {
                for (coordinate, axis) in source.iter_mut().zip(axes) {
                    *coordinate = axis.source_of(index);
                }
            }
            None => {
                let number = row_major_number(self.out_shape.sizes(), index);
                source.copy_from_slice(&self.in_shape.unravel(number));
            }
        }
    }

    /// Whether every element stays where it is, and its axes too.
    pub(super) fn is_identity(&self) -> bool {
        self.out_shape == self.in_shape
            && self.axes.iter().flatten().enumerate().all(|(axis, map)| {
                matches!(map, AxisMap::Affine { axis: read, line }
                    if *read == axis && *line == Line::IDENTITY)
            })
    }
}

/// The same coordinates in the simplest form, so that equal movements tend to have equal maps.
///
/// Law: the coordinate at every index of `out_shape` is unchanged.
fn simplified(axis: AxisMap, out_shape: &Shape) -> AxisMap {
    match axis {
        AxisMap::Affine { axis, line } => {
            AxisMap::from_pieces(axis, [Piece { end: out_shape[axis], line }])
        }
        AxisMap::Segments { axis, pieces } => AxisMap::from_pieces(axis, pieces),
        AxisMap::Ragged { axis, before, lengths, after } => {
            AxisMap::ragged(axis, before, &lengths, after, out_shape)
        }
        AxisMap::Sum { start, steps } => AxisMap::sum(start, steps, out_shape),
        AxisMap::Indexed { indices, line } => AxisMap::indexed(&indices, line, out_shape),
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out {} from in {}", self.out_shape, self.in_shape)?;
        let Some(axes) = &self.axes else {
            return f.write_str("\n  the same elements in row-major order");
        };
        for (number, axis) in axes.iter().enumerate() {
            write!(f, "\n  in axis {number} at {axis}")?;
        }
        Ok(())
    }
}
