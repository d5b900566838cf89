//! Moves: copies of bytes by strided loops, without axes and element types.

mod bind;
mod block;
mod canonicalize;
mod cut;
mod error;
mod in_place;
mod index_table;
mod slabs;

use alloc::vec::Vec;
use core::fmt;

pub use block::{Block, Loop, Source};
pub use cut::{Cut, CutAt, LengthTable, Run};
pub use error::MoveError;
pub use in_place::{Along, CellMove, InPlace, InPlaceAxis};
pub use index_table::IndexTable;
pub use slabs::Slabs;

use crate::{IndexMap, Layout, Packing, Regions, Result, Width};

/// A copy of elements of one width, as disjoint blocks of strided loops.
///
/// Moves can be made only from maps and [`Regions`], so code that runs a move may rely on this: every block lies within
/// [`src_bytes`](Move::src_bytes) and [`dst_bytes`](Move::dst_bytes), and no byte of the destination (or no bit, for
/// sub-byte elements) is written twice. If the number of moved bytes is the size of the destination, the move writes
/// the whole destination.
///
/// Moves are canonical: two are equal if they copy the same bytes to the same positions with the same cuts, whatever
/// operators and layouts they were made from. A move of an empty tensor has no blocks.
///
/// If sub-byte elements do not move in whole groups, the move has a [packing](Move::packing), and its offsets and
/// strides count elements. All other moves count bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    width: usize,
    packing: Option<Packing>,
    blocks: Vec<Block>,
    src_bytes: usize,
    dst_bytes: usize,
}

/// The greatest common divisor, which is n for 0 and n.
#[doc(hidden)]
pub fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Move {
    /// Makes the move that `map` describes, from a source with layout `src` to a destination with layout `dst`.
    ///
    /// `width` is the width of the elements. A backend's [`Budget::most`](crate::program::Budget::most) gives a
    /// suitable number `most` of boxes.
    ///
    /// # Errors
    /// - [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) if `src` does not have the source shape of
    ///   `map`, or `dst` does not have its output shape.
    /// - [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if a layout reaches before the start
    ///   of its buffer.
    /// - [`LayoutError::OverlappingLayout`](crate::LayoutError::OverlappingLayout) if elements of `dst`
    ///   overlap.
    /// - [`MoveError::NotOnePass`](crate::MoveError::NotOnePass) if axes are split or merged across gaps of a
    ///   layout, or if there would be too many boxes, for example if many axes are rolled at once: see
    ///   [`IndexMap::split`].
    /// - [`MoveError::CoordinateOutOfBounds`](crate::MoveError::CoordinateOutOfBounds) if
    ///   [`IndexMap::within_source`] made the source of the map too small.
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

    /// Makes the move that writes the elements in `regions`, from the tensor with layout `src` that they have been
    /// pulled back to.
    ///
    /// Other elements of the regions' target are not written.
    ///
    /// # Errors
    /// The errors of [`Move::new`], where the regions' target is `dst`.
    pub fn of_regions(regions: &Regions, width: impl Into<Width>, src: &Layout) -> Result<Move> {
        let bound = bind::bind_regions(regions, width.into(), src)?;
        Ok(canonicalize::canonicalize(bound))
    }

    /// The size of an element of the move, in bytes, or in sub-byte elements with a [packing](Move::packing).
    ///
    /// It may cover several elements of the tensor that stay together.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The packing, if elements do not move in whole bytes. Widths, offsets and strides then count sub-byte elements.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    fn in_bytes(&self, units: usize) -> usize {
        self.packing.map_or(units, |packing| packing.bytes(units))
    }

    /// The blocks, disjoint in the destination, in order of increasing destination offset.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether the source offsets depend on tables of lengths or indices.
    pub fn has_tables(&self) -> bool {
        self.blocks.iter().any(|block| block.ragged().is_some() || !block.indices.is_empty())
    }

    /// The smallest possible size of the source buffer, in bytes.
    pub fn src_bytes(&self) -> usize {
        self.src_bytes
    }

    /// The smallest possible size of the destination buffer, in bytes.
    pub fn dst_bytes(&self) -> usize {
        self.dst_bytes
    }

    /// The number of bytes that the move writes, and that it reads.
    pub fn moved_bytes(&self) -> usize {
        self.in_bytes(self.moved_units())
    }

    fn moved_units(&self) -> usize {
        self.width * self.blocks.iter().map(Block::elements).sum::<usize>()
    }

    /// The grain: the largest number of bytes that divides the width and every offset and distance of the move; 0 if
    /// nothing is moved.
    pub fn grain_bytes(&self) -> usize {
        match self.packing {
            None => self.grain(),
            Some(_) => 1,
        }
    }

    fn grain(&self) -> usize {
        let mut grain = if self.blocks.is_empty() { 0 } else { self.width };
        for block in &self.blocks {
            block.for_each_distance(|distance| {
                grain = greatest_common_divisor(grain, distance.unsigned_abs());
            });
        }
        grain
    }

    /// Calls `visit` with the source offset and the destination offset of every element, in units (bytes or sub-byte
    /// elements).
    ///
    /// This is the reference for tests of backends.
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
