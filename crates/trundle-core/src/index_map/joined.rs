//! Concatenates maps from one source.

use alloc::vec::Vec;

use super::{AxisMap, IndexMap, Line, Piece};
use crate::Shape;

impl IndexMap {
    /// Joins maps from the same source: the output is the concatenation of their outputs along `axis`.
    ///
    /// For example, the concatenation of two slices can be a roll. Returns `None` if a map has several layers, or if
    /// the result is not an index map of one layer.
    ///
    /// Law: let an index have the coordinate i on `axis`, let `maps[k]` be the map that contains i, and let b be the
    /// total size of the maps before it. The source of the index is the source that `maps[k]` gives for coordinate i -
    /// b.
    pub fn joined(axis: usize, maps: &[&IndexMap]) -> Option<IndexMap> {
        let out_shape = joined_shape(axis, maps)?;
        let in_shape = maps[0].in_shape().clone();
        if out_shape.elements() == 0 || maps.iter().any(|map| *map.in_shape() != in_shape) {
            return None;
        }
        let parts = maps.iter().filter(|map| map.out_shape()[axis] > 0);
        let parts = parts.map(|map| Some((map.only_axes()?, map.out_shape()[axis])));
        let parts: Vec<(&[AxisMap], usize)> = parts.collect::<Option<_>>()?;
        let axes = (0..in_shape.rank())
            .map(|source| {
                let first = &parts[0].0[source];
                let reads_it = first.axes().any(|read| read == axis);
                if !reads_it && parts.iter().all(|(part, _)| part[source] == *first) {
                    return Some(first.clone());
                }
                let (mut pieces, mut begin) = (Vec::new(), 0);
                for (part, size) in &parts {
                    pieces.extend(pieces_at(&part[source], axis, *size, begin)?);
                    begin += size;
                }
                Some(AxisMap::from_pieces(axis, pieces))
            })
            .collect::<Option<Vec<AxisMap>>>()?;
        // The tables of lengths of ragged maps would have to be joined too.
        (!axes.iter().any(AxisMap::is_ragged)).then(|| IndexMap::new(out_shape, in_shape, axes))
    }

    fn only_axes(&self) -> Option<&[AxisMap]> {
        match &self.layers[..] {
            [only] => only.axes(),
            _ => None,
        }
    }
}

/// `None` if the sizes differ on another axis than `axis`.
fn joined_shape(axis: usize, maps: &[&IndexMap]) -> Option<Shape> {
    let (first, others) = maps.split_first()?;
    let mut sizes = first.out_shape().sizes().to_vec();
    sizes.get(axis)?;
    for map in others {
        let others = map.out_shape().sizes();
        let size = *others.get(axis)?;
        let alike = others.len() == sizes.len()
            && others.iter().zip(&sizes).enumerate().all(|(k, (a, b))| k == axis || a == b);
        if !alike {
            return None;
        }
        sizes[axis] = sizes[axis].checked_add(size)?;
    }
    Shape::new(sizes).ok()
}

/// The pieces of a map whose output begins at `begin` and has `size` indices on `axis`; `None` if the map depends on
/// another axis.
fn pieces_at(map: &AxisMap, axis: usize, size: usize, begin: usize) -> Option<Vec<Piece>> {
    let pieces = match map {
        // The map is constant. (The map of a single index has the step 1, not 0.)
        AxisMap::Affine { line, .. } if line.step == 0 => vec![Piece { end: size, line: *line }],
        _ if map.axis() == Some(axis) => map.pieces(size)?,
        _ => return None,
    };
    let back = Line { start: -begin.cast_signed(), step: 1 };
    let at = |piece: Piece| Piece { end: piece.end + begin, line: back.then(piece.line) };
    Some(pieces.into_iter().map(at).collect())
}
