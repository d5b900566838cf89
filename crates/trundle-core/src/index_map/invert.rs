//! Inverts index maps.

use alloc::vec::Vec;

use super::{AxisMap, IndexMap, Layer, Line, Piece, Table};

impl IndexMap {
    /// The inverse of the map; `None` if the map is not a bijection.
    ///
    /// Law: `f.then(f.invert())` and `f.invert().then(f)` are the identity.
    pub fn invert(&self) -> Option<IndexMap> {
        if self.out_shape().elements() == 0 {
            return (self.in_shape().elements() == 0)
                .then(|| IndexMap::empty(self.in_shape().clone(), self.out_shape().clone()));
        }
        let layers = self.layers.iter().rev().map(Layer::inverse).collect::<Option<_>>()?;
        Some(IndexMap { layers })
    }
}

impl Layer {
    /// The output must not be empty.
    fn inverse(&self) -> Option<Layer> {
        let Some(maps) = &self.axes else {
            return Some(Layer::reshape(self.in_shape.clone(), self.out_shape.clone()));
        };
        if self.out_shape.rank() != self.in_shape.rank() {
            return None;
        }
        // For each output axis, the only source axis that depends on it.
        let mut readers = vec![None; self.out_shape.rank()];
        for (source, map) in maps.iter().enumerate() {
            let read = map.axis()?;
            if readers[read].replace(source).is_some()
                || self.in_shape[source] != self.out_shape[read]
            {
                return None;
            }
        }
        let readers: Vec<usize> = readers.into_iter().collect::<Option<_>>()?;

        // Invert ragged axes last: their tables of lengths need the inverses of the other axes.
        let mut axes: Vec<AxisMap> =
            readers.iter().map(|source| AxisMap::identity(*source)).collect();
        for (out, source) in readers.iter().enumerate() {
            if let Some(pieces) = maps[*source].pieces(self.out_shape[out]) {
                axes[out] = AxisMap::from_pieces(*source, inverted(&pieces)?);
            }
            if let AxisMap::Indexed { indices, line } = &maps[*source] {
                let found = indices.along(out, self.out_shape[out]);
                let found = found.map(|index| line.at(index.cast_signed()));
                let indices = inverted_table(found, self.out_shape[out])?;
                let mut strides = vec![0; self.in_shape.rank()];
                strides[*source] = 1;
                let indices = Table::new(indices, 0, strides);
                axes[out] = AxisMap::Indexed { indices, line: Line::IDENTITY };
            }
        }
        for (out, source) in readers.iter().enumerate() {
            if let AxisMap::Ragged { before, lengths, after, .. } = &maps[*source] {
                let lengths = lengths.pull_back(&axes, self.in_shape.sizes())?;
                axes[out] = AxisMap::Ragged {
                    axis: *source,
                    before: after.inverse()?,
                    lengths,
                    after: before.inverse()?,
                };
            }
        }
        Some(Layer::of_axes(self.in_shape.clone(), self.out_shape.clone(), axes))
    }
}

/// `None` unless the pieces give each coordinate of the axis exactly once.
fn inverted(pieces: &[Piece]) -> Option<Vec<Piece>> {
    let mut images: Vec<(usize, usize, Line)> = Vec::with_capacity(pieces.len());
    let mut begin = 0usize;
    for piece in pieces {
        let (first, last) =
            (piece.line.at(begin.cast_signed()), piece.line.at(piece.end.cast_signed() - 1));
        images.push((
            usize::try_from(first.min(last)).ok()?,
            usize::try_from(first.max(last)).ok()? + 1,
            piece.line.inverse()?,
        ));
        begin = piece.end;
    }
    images.sort_unstable_by_key(|image| image.0);
    let mut reached = 0;
    images
        .into_iter()
        .map(|(from, end, line)| {
            (core::mem::replace(&mut reached, end) == from).then_some(Piece { end, line })
        })
        .collect()
}

/// `None` unless `found` contains each coordinate below `size` exactly once.
fn inverted_table(found: impl Iterator<Item = isize>, size: usize) -> Option<Vec<usize>> {
    let mut back = vec![usize::MAX; size];
    for (i, coordinate) in found.enumerate() {
        let slot = back.get_mut(usize::try_from(coordinate).ok()?)?;
        if core::mem::replace(slot, i) != usize::MAX {
            return None;
        }
    }
    Some(back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_repeat_or_omit_coordinates_have_no_inverse() {
        let piece = |end: usize, start: isize| Piece { end, line: Line { start, step: 1 } };
        // 0 1 0 1, then 2 3 0 1, then 3 4 0 1.
        assert_eq!(inverted(&[piece(2, 0), piece(4, -2)]), None);
        let swapped = inverted(&[piece(2, 2), piece(4, -2)]);
        assert_eq!(swapped, Some(vec![piece(2, 2), piece(4, -2)]));
        assert_eq!(inverted(&[piece(2, 3), piece(4, -2)]), None);
    }
}
