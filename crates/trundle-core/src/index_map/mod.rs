//! Which source coordinates land at an output index, for a whole tensor.
//!
//! docs/index-maps.md has the algebra: the definitions, the laws and the test of each.

mod axis_map;
mod compose;
mod invert;
mod lengths;
mod restrict;

use std::fmt;

pub use axis_map::{AxisMap, Line, Piece};
pub use compose::Pass;
pub use lengths::Lengths;

use crate::Shape;

/// A gather view of a movement: for each source axis, how its coordinate follows from the output
/// coordinates. Every output element has one source, so each is written once by construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMap {
    out_shape: Shape,
    in_shape: Shape,
    axes: Vec<AxisMap>,
}

impl IndexMap {
    /// A map of one entry of `axes` for each source axis. Operators build these; every coordinate
    /// must lie within `in_shape` for every index of `out_shape`.
    pub(crate) fn new(out_shape: Shape, in_shape: Shape, axes: Vec<AxisMap>) -> IndexMap {
        debug_assert_eq!(axes.len(), in_shape.rank(), "one axis map for each source axis");
        if out_shape.elements() == 0 {
            return IndexMap::empty(out_shape, in_shape);
        }
        let axes = axes.into_iter().map(|axis| simplified(axis, &out_shape)).collect();
        IndexMap { out_shape, in_shape, axes }
    }

    /// The one map to a shape without elements: no index is ever asked.
    fn empty(out_shape: Shape, in_shape: Shape) -> IndexMap {
        let last = out_shape.rank().saturating_sub(1);
        let axes = (0..in_shape.rank()).map(|axis| AxisMap::identity(axis.min(last))).collect();
        IndexMap { out_shape, in_shape, axes }
    }

    /// Every element stays where it is.
    pub fn identity(shape: &Shape) -> IndexMap {
        let axes = (0..shape.rank()).map(AxisMap::identity).collect();
        IndexMap::new(shape.clone(), shape.clone(), axes)
    }

    /// The shape of the output.
    pub fn out_shape(&self) -> &Shape {
        &self.out_shape
    }

    /// The shape of the source.
    pub fn in_shape(&self) -> &Shape {
        &self.in_shape
    }

    /// For each source axis, how its coordinate follows from the output's.
    pub fn axes(&self) -> &[AxisMap] {
        &self.axes
    }

    /// The source coordinates of the element that lands at `index`.
    ///
    /// # Panics
    /// If `index` lies outside the output's shape.
    pub fn source_of(&self, index: &[usize]) -> Vec<usize> {
        let mut source = vec![0; self.in_shape.rank()];
        self.source_into(index, &mut source);
        source
    }

    /// [`IndexMap::source_of`] into a buffer of one entry for each source axis.
    ///
    /// # Panics
    /// If `index` lies outside the output's shape, or `source` has another length.
    pub fn source_into(&self, index: &[usize], source: &mut [usize]) {
        assert!(
            index.len() == self.out_shape.rank()
                && index.iter().zip(self.out_shape.iter()).all(|(i, size)| i < size),
            "index {index:?} lies outside shape {}",
            self.out_shape
        );
        assert_eq!(source.len(), self.axes.len(), "one coordinate for each source axis");
        for (coordinate, axis) in source.iter_mut().zip(&self.axes) {
            *coordinate = axis.source_of(index);
        }
    }

    /// Whether every element stays where it is.
    pub fn is_identity(&self) -> bool {
        self.out_shape == self.in_shape
            && self.axes.iter().enumerate().all(|(axis, map)| {
                matches!(map, AxisMap::Affine { axis: read, line }
                    if *read == axis && *line == Line::IDENTITY)
            })
    }
}

/// The same coordinates in the simplest form, so that equal movements tend to have equal maps.
///
/// Law: the coordinate at every index of `out_shape` is unchanged.
fn simplified(axis: AxisMap, out_shape: &Shape) -> AxisMap {
    let size = out_shape[axis.axis()];
    match axis {
        AxisMap::Affine { axis, line } => AxisMap::from_pieces(axis, [Piece { end: size, line }]),
        AxisMap::Segments { axis, pieces } => AxisMap::from_pieces(axis, pieces),
        AxisMap::Ragged { axis, before, lengths, after } => {
            AxisMap::ragged(axis, before, &lengths, after, out_shape)
        }
    }
}

impl fmt::Display for IndexMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out {} from in {}", self.out_shape, self.in_shape)?;
        for (number, axis) in self.axes.iter().enumerate() {
            write!(f, "\n  in axis {number} at {axis}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AxisMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisMap::Affine { axis, line } => line.write(f, &format!("out[{axis}]")),
            AxisMap::Segments { axis, pieces } => {
                let mut begin = 0;
                for piece in pieces {
                    if begin > 0 {
                        f.write_str("; ")?;
                    }
                    piece.line.write(f, &format!("out[{axis}]"))?;
                    write!(f, " in {begin}..{}", piece.end)?;
                    begin = piece.end;
                }
                Ok(())
            }
            AxisMap::Ragged { axis, before, lengths, after } => {
                let (most, least) = (lengths.values().iter().max(), lengths.values().iter().min());
                f.write_str("j = ")?;
                before.write(f, &format!("out[{axis}]"))?;
                f.write_str(": ")?;
                after.write(f, "(length - 1 - j)")?;
                f.write_str(" where j < length; ")?;
                after.write(f, "j")?;
                f.write_str(" elsewhere; lengths ")?;
                write!(f, "{}..={}", least.unwrap_or(&0), most.unwrap_or(&0))?;
                let varying: Vec<usize> = lengths.varying_axes().collect();
                write!(f, " by out axes {varying:?}")
            }
        }
    }
}

impl Line {
    /// `start + step · name`, without what does nothing.
    fn write(self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        match (self.start, self.step) {
            (start, 0) => write!(f, "{start}"),
            (0, 1) => f.write_str(name),
            (start, 1) if start < 0 => write!(f, "{name} - {}", start.unsigned_abs()),
            (start, 1) => write!(f, "{name} + {start}"),
            (start, -1) => write!(f, "{start} - {name}"),
            (start, step) if step < 0 => write!(f, "{start} - {}·{name}", step.unsigned_abs()),
            (start, step) => write!(f, "{start} + {step}·{name}"),
        }
    }
}
