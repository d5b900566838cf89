//! Divides a movement that has too many boxes for one plan into tiles.

use alloc::vec::Vec;
use core::ops::Range;

use crate::{Error, IndexMap, Layout, Move, MoveError, Regions, Result, Width};

/// An iterator over moves with few blocks that together carry out an index map between row-major tensors.
///
/// Only one tile's move is in memory at a time.
///
/// Law: exactly one move writes each output element, from the source that the map gives.
#[derive(Clone, Debug)]
pub struct Tiles {
    width: Width,
    most: usize,
    src: Layout,
    dst: Layout,
    /// The remaining boxes of the output, the next one last.
    left: Vec<(IndexMap, Layout)>,
}

impl Tiles {
    /// Divides `map`, for elements of `width`, into moves of at most `most` blocks.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if either tensor cannot be addressed.
    pub fn new(map: &IndexMap, width: impl Into<Width>, most: usize) -> Result<Tiles> {
        let width = width.into();
        // Between contiguous tensors, a reshape at either end moves no elements.
        let map = map.without_source_reshape().unwrap_or_else(|| map.clone());
        let map = map.without_output_reshape().unwrap_or(map);
        let src = Layout::row_major(map.in_shape(), width.units())?;
        let dst = Layout::row_major(map.out_shape(), width.units())?;
        let left = match dst.shape().elements() {
            0 => Vec::new(),
            _ => vec![(map, dst.clone())],
        };
        Ok(Tiles { width, most: most.max(1), src, dst, left })
    }

    /// The number of bytes of the source.
    pub fn src_bytes(&self) -> usize {
        self.bytes(&self.src)
    }

    /// The number of bytes of the output, all of which are written.
    pub fn dst_bytes(&self) -> usize {
        self.bytes(&self.dst)
    }

    fn bytes(&self, layout: &Layout) -> usize {
        let bytes = layout.shape().bytes(self.width);
        bytes.unwrap_or_else(|error| unreachable!("a layout is addressed: {error}"))
    }

    /// `None` if the move would have too many blocks.
    fn tile(&self, map: &IndexMap, at: &Layout) -> Option<Result<Move>> {
        let regions = Regions::of(at).through(map, self.most).ok()?;
        Some(Move::of_regions(&regions, self.width, &self.src))
    }
}

impl Iterator for Tiles {
    type Item = Result<Move>;

    fn next(&mut self) -> Option<Result<Move>> {
        loop {
            let (map, at) = self.left.pop()?;
            if let Some(tile) = self.tile(&map, &at) {
                return Some(tile);
            }
            match halves(&map, &at) {
                Ok(halves) => self.left.extend(halves),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Cuts a box of the output in two, and returns the second half first.
///
/// A box of one element has one block, so every box with too many blocks can be cut.
fn halves(map: &IndexMap, at: &Layout) -> Result<[(IndexMap, Layout); 2]> {
    let sizes = at.shape();
    // The outermost axis that can be cut, so that rows stay whole as long as possible.
    let Some(axis) = sizes.iter().position(|size| *size > 1) else {
        let (from, to) = (map.in_shape().clone(), map.out_shape().clone());
        return Err(MoveError::NotOnePass { from, to }.into());
    };
    let middle = sizes[axis] / 2;
    let half = |range: Range<usize>| {
        let mut bounds: Vec<_> = sizes.iter().map(|size| 0..*size).collect();
        let mut start = vec![0; bounds.len()];
        start[axis] = range.start;
        bounds[axis] = range;
        let part = map.restrict(&bounds)?;
        let layout = Layout::strided(part.out_shape(), at.offset_of(&start), at.strides_bytes())?;
        Ok::<_, Error>((part, layout))
    };
    Ok([half(middle..sizes[axis])?, half(0..middle)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::ops::{ReverseSequence, Roll};

    fn check(map: &IndexMap, most: usize) -> usize {
        let tiles = Tiles::new(map, 1, most).unwrap();
        let mut written = vec![None; tiles.dst_bytes()];
        let mut count = 0;
        for tile in tiles {
            let tile = tile.unwrap();
            assert!(tile.blocks().len() <= most);
            tile.for_each_pair(|src, dst| {
                let bytes = 0..tile.width();
                bytes.for_each(|at| assert_eq!(written[dst + at].replace(src + at), None));
            });
            count += 1;
        }
        for (at, source) in written.into_iter().enumerate() {
            let index = map.source_of(&map.out_shape().unravel(at));
            assert_eq!(source.map(|source| map.in_shape().unravel(source)), Some(index));
        }
        count
    }

    #[test]
    fn a_map_of_many_boxes_is_moved_in_tiles() {
        let shape = Shape::new([3, 4, 5, 6]).unwrap();
        let map = Roll::new(&[1], &[0, 1, 2, 3]).index_map(&shape).unwrap();
        assert_eq!(check(&map, 16), 1);
        assert_eq!(check(&map, 8), 2);
        assert!(check(&map, 1) >= 16);
    }

    #[test]
    fn a_map_without_boxes_is_moved_in_tiles_with_boxes() {
        let (rows, more) = (Shape::new([2, 6]).unwrap(), Shape::new([2, 6, 1]).unwrap());
        let reversed = ReverseSequence::new(1, 0, [3, 5]).index_map(&rows).unwrap();
        let moved = reversed.then(&IndexMap::reshape(&rows, &more).unwrap()).unwrap();
        let rolled = Roll::new(&[1], &[1]).index_map(&more).unwrap();
        let map = moved.then(&rolled).unwrap().invert().unwrap();
        // A single row has one length, and no table.
        assert_eq!(check(&map, 9), 2);
    }
}
