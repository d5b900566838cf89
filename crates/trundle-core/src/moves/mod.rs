//! Moves: strided loops over byte offsets, without axes and element types.

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

/// A copy of bytes: disjoint blocks of strided loops over elements of one width.
///
/// Moves can be made only from maps and [`Regions`], so executors may rely on this: every block lies within
/// [`src_bytes`](Move::src_bytes) and [`dst_bytes`](Move::dst_bytes), and no byte of the destination, or bit
/// of a packed element, is written twice. So a move with as many bytes as the destination writes all of it.
///
/// Moves are canonical: moves that copy the same bytes to the same positions with the same cuts are equal,
/// whatever operators and layouts they came from. A move of an empty tensor has no blocks.
///
/// Packed elements that do not move in whole groups keep their [packing](Move::packing): their offsets and
/// strides count elements. All other elements are plain bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    width: usize,
    packing: Option<Packing>,
    blocks: Vec<Block>,
    src_bytes: usize,
    dst_bytes: usize,
}

/// Greatest common divisor; the other number if one is 0.
#[doc(hidden)]
pub fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Move {
    /// The movement that `map` describes, from elements of `width` at `src` to `dst`, in at most `most`
    /// boxes.
    ///
    /// A backend's [`Budget::most`](crate::program::Budget::most) gives a suitable number.
    ///
    /// # Errors
    /// - [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) if the shape of a layout is not that
    ///   side's shape in the map.
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

    /// The movement to the positions of `regions` from `src`, the tensor that they have been pulled back to.
    ///
    /// Other elements of the regions' target are not written.
    ///
    /// # Errors
    /// As [`Move::new`], with the regions' target for `dst`.
    pub fn of_regions(regions: &Regions, width: impl Into<Width>, src: &Layout) -> Result<Move> {
        let bound = bind::bind_regions(regions, width.into(), src)?;
        Ok(canonicalize::canonicalize(bound))
    }

    /// Element size in bytes.
    ///
    /// It may cover several of the tensor's elements that stay together. With a [packing](Move::packing), it
    /// counts packed elements.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The packing, if elements do not move in whole bytes. Widths, offsets and strides then count packed
    /// elements.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// Converts a number of units (bytes or packed elements) to bytes.
    fn in_bytes(&self, units: usize) -> usize {
        self.packing.map_or(units, |packing| packing.bytes(units))
    }

    /// The blocks, by rising destination offset. They are disjoint in the destination.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether source offsets depend on tables of lengths or indices.
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

    /// Number of bytes that are written, which is also the number of bytes read.
    pub fn moved_bytes(&self) -> usize {
        self.in_bytes(self.moved_units())
    }

    /// Number of units (bytes or packed elements) moved by all blocks.
    fn moved_units(&self) -> usize {
        self.width * self.blocks.iter().map(Block::elements).sum::<usize>()
    }

    /// Largest number of bytes such that all moved runs have a multiple of this length and alignment, in the
    /// source and in the destination; 0 if nothing is moved.
    pub fn grain_bytes(&self) -> usize {
        match self.packing {
            None => self.grain(),
            Some(_) => 1,
        }
    }

    /// The grain in units: bytes or packed elements.
    fn grain(&self) -> usize {
        let mut grain = if self.blocks.is_empty() { 0 } else { self.width };
        for block in &self.blocks {
            block.for_each_distance(|distance| {
                grain = greatest_common_divisor(grain, distance.unsigned_abs());
            });
        }
        grain
    }

    /// Calls `visit` with the source offset and the destination offset of every element, in bytes or packed
    /// elements.
    ///
    /// This is the reference against which backends are tested.
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
