//! A movement in byte offsets: strided loops, no axes and no element types left.

mod bind;
mod block;
mod canonicalize;
mod cut;
mod error;
mod in_place;
mod index_table;
mod slabs;

use std::fmt;

pub use block::{Block, Loop, Source};
pub use cut::{Cut, CutAt, LengthTable, Run};
pub use error::MoveError;
pub use in_place::{Along, CellMove, InPlace, InPlaceAxis};
pub use index_table::IndexTable;
pub use slabs::Slabs;

use crate::{IndexMap, Layout, Packing, Regions, Result, Width};

/// What to copy where, in bytes: disjoint blocks of strided loops over elements of one width.
///
/// Whoever carries a move out may rely on this, since there is no other way to make one than from a map
/// or from [`Regions`]: every block lies within [`src_bytes`](Move::src_bytes) and
/// [`dst_bytes`](Move::dst_bytes), and no byte of the destination, or bit of a packed element, is
/// written twice. So a move that writes as many bytes as there are writes each of them.
///
/// Moves are canonical: those that copy the same bytes to the same places, found by the same
/// cuts, are equal, whatever operators and layouts they came from. An empty tensor is a move
/// without blocks.
///
/// Packed elements that do not stay together in whole groups keep their [packing](Move::packing):
/// their offsets and strides count elements. All others are bytes like any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    width: usize,
    packing: Option<Packing>,
    blocks: Vec<Block>,
    src_bytes: usize,
    dst_bytes: usize,
}

/// The greatest common divisor, which is the other number where one is 0.
#[doc(hidden)]
pub fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Move {
    /// The movement that `map` describes, from elements of `width` at `src` to `dst`, in `most` boxes
    /// at most: a backend's [`Budget::most`](crate::program::Budget::most) says how many are worth it.
    ///
    /// # Errors
    /// [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) if a layout has not the shape of its
    /// side of the map, [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if one reaches before
    /// the start of its buffer,
    /// [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) if `dst` would be written
    /// twice at one place, [`MoveError::NotOnePass`](crate::MoveError::NotOnePass) if axes are split or merged
    /// across gaps of a layout, or if it would be more boxes, as where many axes are rolled at once:
    /// see [`IndexMap::split`]. [`MoveError::CoordinateOutOfBounds`](crate::MoveError::CoordinateOutOfBounds)
    /// for a map [within](IndexMap::within_source) too small a source.
    pub fn new(
        map: &IndexMap,
        width: impl Into<Width>,
        src: &Layout,
        dst: &Layout,
        most: usize,
    ) -> Result<Move> {
        let bound = bind::bind(map, width.into(), src, dst, most)?;
        Ok(canonicalize::canonicalize(bound))
    }

    /// The movement to the places of `regions` from the elements of `src`, the tensor to which they
    /// have been pulled back. What of their target is in none of them is left as it is.
    ///
    /// # Errors
    /// As [`Move::new`], with the regions' target for `dst`.
    pub fn of_regions(regions: &Regions, width: impl Into<Width>, src: &Layout) -> Result<Move> {
        let bound = bind::bind_regions(regions, width.into(), src)?;
        Ok(canonicalize::canonicalize(bound))
    }

    /// The size of an element in bytes. It may span several of the tensor's elements, where they
    /// stay together. With a [packing](Move::packing), the number of packed elements that do.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How the elements are packed, if bytes are not enough to say what is moved. Then every
    /// width, offset and stride counts packed elements.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// The sum of a width and of distances in bytes, whichever they count.
    fn in_bytes(&self, units: usize) -> usize {
        self.packing.map_or(units, |packing| packing.bytes(units))
    }

    /// The blocks, by rising destination offset. No byte of the destination is in two of them.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether tables of lengths or indices say where elements are read.
    pub fn has_tables(&self) -> bool {
        self.blocks.iter().any(|block| block.ragged().is_some() || !block.indices.is_empty())
    }

    /// The least size of the source buffer, in bytes.
    pub fn src_bytes(&self) -> usize {
        self.src_bytes
    }

    /// The least size of the destination buffer, in bytes.
    pub fn dst_bytes(&self) -> usize {
        self.dst_bytes
    }

    /// The number of bytes that are written (and as many are read).
    pub fn moved_bytes(&self) -> usize {
        self.in_bytes(self.moved_units())
    }

    /// What all blocks move, in bytes or in packed elements.
    fn moved_units(&self) -> usize {
        self.width * self.blocks.iter().map(Block::elements).sum::<usize>()
    }

    /// The bytes that stay together and begin at multiples of their number, in the source and in
    /// the destination; 0 if nothing is moved.
    pub fn grain_bytes(&self) -> usize {
        match self.packing {
            None => self.grain(),
            Some(_) => 1,
        }
    }

    /// The same in units: bytes or packed elements.
    fn grain(&self) -> usize {
        let mut grain = if self.blocks.is_empty() { 0 } else { self.width };
        for block in &self.blocks {
            block.for_each_distance(|distance| {
                grain = greatest_common_divisor(grain, distance.unsigned_abs());
            });
        }
        grain
    }

    /// Calls `visit` with the offset in the source and in the destination of every element, in
    /// bytes or in packed elements. The plain reading of a move, against which backends are tested.
    pub fn for_each_pair(&self, mut visit: impl FnMut(usize, usize)) {
        for block in &self.blocks {
            block.for_each_pair(&mut visit);
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocks, width, bytes) = (self.blocks.len(), self.width, self.moved_bytes());
        let plural = if blocks == 1 { "" } else { "s" };
        match self.packing {
            None => write!(f, "{blocks} block{plural} of {width}-byte elements, {bytes} bytes")?,
            Some(packing) => {
                let bits = packing.bits();
                write!(
                    f,
                    "{blocks} block{plural} of {width} x {bits}-bit elements, {bytes} bytes"
                )?;
            }
        }
        for (number, block) in self.blocks.iter().enumerate() {
            write!(f, "\n  block {number}: {block}")?;
        }
        Ok(())
    }
}
