//! Index maps: functions from output indices to source indices, for whole tensors.
//!
//! docs/index-maps.md has the definitions, the laws, and the test of each law.

mod axis_map;
mod bounds;
mod compose;
mod invert;
mod joined;
mod layer;
mod preimage;
mod region;
mod regions;
mod split;
mod stretch;
mod table;

use alloc::vec::Vec;
use core::fmt;

pub use axis_map::{AxisMap, Line, Piece};
pub(crate) use bounds::{check_bounds, shape_of};
pub use layer::Layer;
pub(crate) use preimage::{Room, visit_preimage};
pub(crate) use region::{AffineForm, Coordinate, CutForm, IndexedForm, Region, ReversedRow};
pub use regions::Regions;
pub use table::Table;

use crate::{Result, Shape, ShapeError};

/// A movement as a gather: for each output index, the index of the source element.
///
/// Every output element has exactly one source, so a movement writes each output element exactly once.
///
/// A map consists of layers. A layer is either a reshape, or gives each source coordinate as a function of the output
/// coordinates. Most movements have one layer. A movement that splits or merges axes between other steps has several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexMap {
    /// At least one layer, from the source to the output. Adjacent layers cannot be merged. If there are several
    /// layers, none is the identity.
    layers: Vec<Layer>,
}

crate::fingerprint!(struct IndexMap { layers });

impl IndexMap {
    /// Builds a map of one layer with one entry of `axes` for each source axis. Every coordinate must lie
    /// within `in_shape` for every index of `out_shape`.
    pub(crate) fn new(out_shape: Shape, in_shape: Shape, axes: Vec<AxisMap>) -> IndexMap {
        debug_assert_eq!(axes.len(), in_shape.rank(), "one axis map for each source axis");
        if out_shape.elements() == 0 {
            return IndexMap::empty(out_shape, in_shape);
        }
        IndexMap { layers: vec![Layer::of_axes(out_shape, in_shape, axes)] }
    }

    fn empty(out_shape: Shape, in_shape: Shape) -> IndexMap {
        let last = out_shape.rank().saturating_sub(1);
        let axes = (0..in_shape.rank()).map(|axis| AxisMap::identity(axis.min(last))).collect();
        IndexMap { layers: vec![Layer { out_shape, in_shape, axes: Some(axes) }] }
    }

    /// The identity on `shape`.
    pub fn identity(shape: &Shape) -> IndexMap {
        let axes = (0..shape.rank()).map(AxisMap::identity).collect();
        IndexMap::new(shape.clone(), shape.clone(), axes)
    }

    /// A reshape in row-major order: splits and merges axes, and adds or removes axes of size 1.
    ///
    /// # Errors
    /// [`ShapeError::ElementsDiffer`] if the shapes have different numbers of elements.
    pub fn reshape(in_shape: &Shape, out_shape: &Shape) -> Result<IndexMap> {
        if in_shape.elements() != out_shape.elements() {
            let (from, to) = (in_shape.clone(), out_shape.clone());
            return Err(ShapeError::ElementsDiffer { from, to }.into());
        }
        if out_shape.elements() == 0 {
            return Ok(IndexMap::empty(out_shape.clone(), in_shape.clone()));
        }
        Ok(IndexMap { layers: vec![Layer::reshape(out_shape.clone(), in_shape.clone())] })
    }

    /// Repeats the only element of a tensor of rank 0 over `out_shape`.
    pub fn broadcast(out_shape: &Shape) -> IndexMap {
        let one = Shape::default();
        IndexMap::new(out_shape.clone(), one, Vec::new())
    }

    /// The shape of the output.
    pub fn out_shape(&self) -> &Shape {
        &self.layers[self.layers.len() - 1].out_shape
    }

    /// The shape of the source.
    pub fn in_shape(&self) -> &Shape {
        &self.layers[0].in_shape
    }

    /// The layers, ordered from the source to the output.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// For each output axis, the source axis that it comes from, even if only a part of it is read.
    ///
    /// Returns `None` if axes are split, merged, added or removed. The result can be wrong for a composed map
    /// without elements.
    pub fn axes_kept(&self) -> Option<Vec<usize>> {
        let [only] = &self.layers[..] else { return None };
        let axes = only.axes()?;
        let out = self.out_shape();
        let mut kept = vec![None; out.rank()];
        for (source, read) in axes.iter().enumerate() {
            let of = kept.get_mut(read.axis()?)?;
            if of.replace(source).is_some() {
                return None;
            }
        }
        kept.into_iter().collect()
    }

    /// For each source axis, the coordinates that the output reads, in the order of the output.
    ///
    /// If two tensors share an axis, it still matches after movements with equal coordinates on it. The entry is `None`
    /// for an axis whose coordinate depends on several output axes or on a table. The whole result is `None` if axes
    /// are split or merged.
    pub fn coordinates(&self) -> Option<Vec<Option<Vec<Piece>>>> {
        let [only] = &self.layers[..] else { return None };
        let of = |axis: &AxisMap| match axis {
            AxisMap::Affine { axis, line } => {
                let end = self.out_shape()[*axis];
                // A single index may have any step; use 1.
                let step = if end == 1 { 1 } else { line.step };
                Some(vec![Piece { end, line: Line { step, ..*line } }])
            }
            AxisMap::Segments { pieces, .. } => Some(pieces.clone()),
            _ => None,
        };
        Some(only.axes()?.iter().map(of).collect())
    }

    /// The map without a reshape at the source, if it has one. A contiguous source can be read with this map and the
    /// reshaped shape.
    pub fn without_source_reshape(&self) -> Option<IndexMap> {
        match &self.layers[..] {
            [first, rest @ ..] if first.axes.is_none() => {
                Some(IndexMap::of_layers(rest.to_vec(), &first.out_shape))
            }
            _ => None,
        }
    }

    /// The map without a reshape at the output, if it has one. A contiguous output can be written with this map and the
    /// shape before the reshape.
    pub fn without_output_reshape(&self) -> Option<IndexMap> {
        match &self.layers[..] {
            [rest @ .., last] if last.axes.is_none() => {
                Some(IndexMap::of_layers(rest.to_vec(), &last.in_shape))
            }
            _ => None,
        }
    }

    fn of_layers(layers: Vec<Layer>, shape: &Shape) -> IndexMap {
        if layers.is_empty() {
            return IndexMap::identity(shape);
        }
        IndexMap { layers }
    }

    pub(crate) fn axes(&self) -> impl Iterator<Item = &AxisMap> {
        self.layers.iter().filter_map(Layer::axes).flatten()
    }

    /// An estimate of the number of boxes: the product of the lines of all axes. The number may be smaller, or larger
    /// because of reshapes.
    pub(crate) fn boxes(&self) -> usize {
        self.axes().map(AxisMap::lines).fold(1, usize::saturating_mul)
    }

    /// The source coordinates of the output element at `index`.
    ///
    /// # Panics
    /// If `index` lies outside the output's shape.
    pub fn source_of(&self, index: &[usize]) -> Vec<usize> {
        let mut source = vec![0; self.in_shape().rank()];
        self.source_into(index, &mut source);
        source
    }

    /// [`IndexMap::source_of`] into a slice with one entry for each source axis.
    ///
    /// # Panics
    /// If `index` lies outside the output's shape, or `source` has another length.
    pub fn source_into(&self, index: &[usize], source: &mut [usize]) {
        self.assert_within(index);
        assert_eq!(source.len(), self.in_shape().rank(), "one coordinate for each source axis");
        let (first, rest) = self.layers.split_first().unwrap_or_else(|| unreachable!("a layer"));
        if rest.is_empty() {
            return first.source_into(index, source);
        }
        let mut between = index.to_vec();
        for layer in rest.iter().rev() {
            let mut found = vec![0; layer.in_shape.rank()];
            layer.source_into(&between, &mut found);
            between = found;
        }
        first.source_into(&between, source);
    }

    fn assert_within(&self, index: &[usize]) {
        let out_shape = self.out_shape();
        assert!(
            index.len() == out_shape.rank()
                && index.iter().zip(out_shape.iter()).all(|(i, size)| i < size),
            "index {index:?} lies outside shape {out_shape}"
        );
    }

    /// Whether the map is the identity.
    pub fn is_identity(&self) -> bool {
        matches!(&self.layers[..], [only] if only.is_identity())
    }
}

impl fmt::Display for IndexMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, layer) in self.layers.iter().rev().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            layer.fmt(f)?;
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
            AxisMap::Sum { start, steps } => {
                write!(f, "{start}")?;
                let steps = steps.iter().enumerate().filter(|(_, step)| **step != 0);
                steps.into_iter().try_for_each(|(axis, step)| write!(f, " {step:+}·out[{axis}]"))
            }
            AxisMap::Indexed { indices, line } => {
                line.write(f, "index")?;
                let (most, least) = (indices.values().iter().max(), indices.values().iter().min());
                write!(f, "; indices {}..={}", least.unwrap_or(&0), most.unwrap_or(&0))?;
                let varying: Vec<usize> = indices.varying_axes().collect();
                write!(f, " by out axes {varying:?}")
            }
        }
    }
}

impl Line {
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
