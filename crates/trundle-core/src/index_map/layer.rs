//! A layer of an index map: a map for each source axis, or a reshape.

use alloc::vec::Vec;
use core::fmt;

use super::{AxisMap, Line, Piece};
use crate::Shape;
use crate::shape::row_major_number;

/// A layer of an index map, from output indices to source indices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layer {
    pub(super) out_shape: Shape,
    pub(super) in_shape: Shape,
    /// `None` for a reshape, which keeps row-major order.
    pub(super) axes: Option<Vec<AxisMap>>,
}

crate::fingerprint!(struct Layer { out_shape, in_shape, axes });

impl Layer {
    /// Simplifies the maps of `axes`. The output must not be empty.
    pub(super) fn of_axes(out_shape: Shape, in_shape: Shape, axes: Vec<AxisMap>) -> Layer {
        let axes = axes.into_iter().map(|axis| simplified(axis, &out_shape)).collect();
        Layer { out_shape, in_shape, axes: Some(axes) }
    }

    /// A reshape in row-major order; both shapes must have the same number of elements.
    pub(super) fn reshape(out_shape: Shape, in_shape: Shape) -> Layer {
        if out_shape == in_shape {
            return Layer::identity(&in_shape);
        }
        Layer { out_shape, in_shape, axes: None }
    }

    pub(super) fn identity(shape: &Shape) -> Layer {
        let axes = (0..shape.rank()).map(AxisMap::identity).collect();
        Layer::of_axes(shape.clone(), shape.clone(), axes)
    }

    /// The shape of the output.
    pub fn out_shape(&self) -> &Shape {
        &self.out_shape
    }

    /// The shape of the source.
    pub fn in_shape(&self) -> &Shape {
        &self.in_shape
    }

    /// The map of each source axis; `None` for a reshape, which keeps the row-major number of each element.
    pub fn axes(&self) -> Option<&[AxisMap]> {
        self.axes.as_deref()
    }

    /// `index` must lie within the output's shape.
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

    pub(super) fn is_identity(&self) -> bool {
        self.out_shape == self.in_shape
            && self.axes.iter().flatten().enumerate().all(|(axis, map)| {
                matches!(map, AxisMap::Affine { axis: read, line }
                    if *read == axis && *line == Line::IDENTITY)
            })
    }
}

/// Simplifies a map, so that maps that do the same are usually equal.
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
