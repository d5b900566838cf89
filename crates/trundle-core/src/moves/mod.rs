//! A movement in byte offsets: strided loops, no axes and no element types left.

mod bind;
mod canonicalize;

use std::fmt;
use std::sync::Arc;

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

/// Loops nested in each other, the outermost first, around one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where the first source element begins, in bytes from the start of the source buffer.
    pub src_offset: isize,
    /// Where the first destination element begins, in bytes from the start of the destination.
    pub dst_offset: isize,
    /// The loops by falling destination stride, which is positive. Each has 2 steps or more.
    pub loops: Vec<Loop>,
    /// One more loop, whose source jumps at a cut that differs from row to row.
    pub ragged: Option<RaggedLoop>,
}

/// `len` steps of fixed distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The number of steps.
    pub len: usize,
    /// The distance between neighbours in the source, in bytes.
    pub src_stride: isize,
    /// The distance between neighbours in the destination, in bytes.
    pub dst_stride: isize,
    /// The distance between neighbours in the table of a ragged block, in entries; else 0.
    pub lane_stride: isize,
}

/// A row of `len` elements that is read as two runs, the first up to a cut, the second from it.
/// Each row (each lane) finds its length in a table, and the cut follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaggedLoop {
    /// The number of elements of a row.
    pub len: usize,
    /// The distance between neighbours in the destination, in bytes; 0 for a row of one element.
    pub dst_stride: isize,
    /// The table of lengths.
    pub lengths: Arc<[usize]>,
    /// The entry of the first row of the block; loops step on from it by their `lane_stride`.
    pub lane_offset: usize,
    /// The cut of a row of length 0.
    pub cut_start: isize,
    /// How the cut moves with the length: 1 or -1.
    pub cut_per_length: isize,
    /// The run before the cut.
    pub first: Run,
    /// The run from the cut on.
    pub second: Run,
}

/// Where a run of a ragged row is read: element i of the row begins at
/// `src_offset + src_per_length · length + src_stride · i`, in bytes from the row's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The constant part.
    pub src_offset: isize,
    /// What each unit of length adds.
    pub src_per_length: isize,
    /// The distance between neighbours.
    pub src_stride: isize,
}

impl RaggedLoop {
    /// Where the second run begins, for a row of this length: `0..=len`.
    pub fn cut(&self, length: usize) -> usize {
        let cut = self.cut_start.wrapping_add(self.cut_per_length * length.cast_signed());
        cut.clamp(0, self.len.cast_signed()).unsigned_abs()
    }
}

impl Run {
    /// Where element 0 of a row of this length would be read, in bytes from the row's start.
    pub fn start(&self, length: usize) -> isize {
        self.src_offset.wrapping_add(self.src_per_length.wrapping_mul(length.cast_signed()))
    }
}

impl Block {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        let rows: usize = self.loops.iter().map(|each| each.len).product();
        rows * self.ragged.as_ref().map_or(1, |ragged| ragged.len)
    }

    /// Every distance that the offset of an element is made of, in the source or the destination.
    fn distances(&self) -> Vec<isize> {
        let mut distances = vec![self.src_offset, self.dst_offset];
        distances.extend(self.loops.iter().flat_map(|each| [each.src_stride, each.dst_stride]));
        if let Some(ragged) = &self.ragged {
            distances.push(ragged.dst_stride);
            for run in [&ragged.first, &ragged.second] {
                distances.extend([run.src_offset, run.src_per_length, run.src_stride]);
            }
        }
        distances
    }

    /// Changes each of the [distances](Block::distances).
    fn change_distances(&mut self, change: impl Fn(&mut isize)) {
        change(&mut self.src_offset);
        change(&mut self.dst_offset);
        for each in &mut self.loops {
            change(&mut each.src_stride);
            change(&mut each.dst_stride);
        }
        if let Some(ragged) = &mut self.ragged {
            change(&mut ragged.dst_stride);
            for run in [&mut ragged.first, &mut ragged.second] {
                change(&mut run.src_offset);
                change(&mut run.src_per_length);
                change(&mut run.src_stride);
            }
        }
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Move {
    /// The movement that `map` describes, from elements of `width` at `src` to `dst`.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) if a layout has not the shape of its
    /// side of the map, [`Error::OutOfBounds`](crate::Error::OutOfBounds) if one reaches before
    /// the start of its buffer,
    /// [`Error::OverlappingLayout`](crate::Error::OverlappingLayout) if `dst` would be written
    /// twice at one place, [`Error::NotOnePass`](crate::Error::NotOnePass) if axes are split or merged
    /// across gaps of a layout, or if so many are rolled at once that they would be too many blocks:
    /// see [`IndexMap::split`]. [`Error::CoordinateOutOfBounds`](crate::Error::CoordinateOutOfBounds)
    /// for a map [within](IndexMap::within_source) too small a source.
    pub fn new(
        map: &IndexMap,
        width: impl Into<Width>,
        src: &Layout,
        dst: &Layout,
    ) -> Result<Move> {
        let bound = bind::bind(map, width.into(), src, dst)?;
        Ok(canonicalize::canonicalize(bound))
    }

    /// The movement to the places of `regions` from the elements of `src`, the tensor to which they
    /// have been drawn back. What of their target is in none of them is left as it is.
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
        self.blocks.iter().flat_map(Block::distances).fold(self.width, |grain, distance| {
            greatest_common_divisor(grain, distance.unsigned_abs())
        }) * usize::from(!self.blocks.is_empty())
    }

    /// Calls `visit` with the offset in the source and in the destination of every element, in
    /// bytes or in packed elements. The plain reading of a move, against which backends are tested.
    pub fn for_each_pair(&self, mut visit: impl FnMut(usize, usize)) {
        for block in &self.blocks {
            let sizes: Vec<usize> = block.loops.iter().map(|each| each.len).collect();
            crate::shape::for_each_index(&sizes, |index| {
                let along = |stride: fn(&Loop) -> isize| -> isize {
                    index
                        .iter()
                        .zip(&block.loops)
                        .map(|(i, each)| i.cast_signed() * stride(each))
                        .sum()
                };
                let src = block.src_offset + along(|each| each.src_stride);
                let dst = block.dst_offset + along(|each| each.dst_stride);
                let Some(ragged) = &block.ragged else {
                    return visit(src.unsigned_abs(), dst.unsigned_abs());
                };
                let lane = ragged.lane_offset.wrapping_add_signed(along(|each| each.lane_stride));
                let length = ragged.lengths[lane];
                for i in 0..ragged.len {
                    let run = if i < ragged.cut(length) { &ragged.first } else { &ragged.second };
                    let i = i.cast_signed();
                    visit(
                        (src + run.start(length) + run.src_stride * i).unsigned_abs(),
                        (dst + ragged.dst_stride * i).unsigned_abs(),
                    );
                }
            });
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

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "src {} dst {}", self.src_offset, self.dst_offset)?;
        for each in &self.loops {
            write!(f, ", {each}")?;
        }
        if let Some(ragged) = &self.ragged {
            write!(f, ", {ragged}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RaggedLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ragged {} x (src {} before the cut, {} after, dst {:+}), cut at ",
            self.len, self.first, self.second, self.dst_stride
        )?;
        match (self.cut_start, self.cut_per_length) {
            (0, 1) => f.write_str("length"),
            (start, 1) => write!(f, "length {start:+}"),
            (start, _) => write!(f, "{start} - length"),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.src_per_length {
            0 => write!(f, "{} {:+}·i", self.src_offset, self.src_stride),
            per => write!(f, "{} {per:+}·length {:+}·i", self.src_offset, self.src_stride),
        }
    }
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x (src {:+}, dst {:+})", self.len, self.src_stride, self.dst_stride)
    }
}
