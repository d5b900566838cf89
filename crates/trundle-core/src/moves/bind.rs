//! Binds an index map to two layouts: coordinates become byte offsets.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::{Block, Cut, CutAt, IndexTable, LengthTable, Loop, Move, Run, Source};
use crate::index_map::{
    AffineForm, Coordinate, CutForm, IndexedForm, Region, ReversedRow, Room, visit_preimage,
};
use crate::shape::check_shape;
use crate::{Error, IndexMap, Layer, Layout, Line, MoveError, Regions, Result, Width};

/// Makes the move of `map` between two layouts, with at most `most` blocks, not yet canonical.
///
/// Law: for each output index, the move has a pair of offsets: of the index in `dst`, and of its source in `src`.
pub(super) fn bind(
    map: &IndexMap,
    width: Width,
    src: &Layout,
    dst: &Layout,
    most: usize,
) -> Result<Move> {
    check_shape("data", map.in_shape(), src.shape())?;
    check_shape("out", map.out_shape(), dst.shape())?;
    let mut work = unbound(width, src, dst)?;
    if width.units() > 0 && map.out_shape().elements() > 0 {
        let (layers, src, dst) = reshaped(map.layers(), src, dst);
        let not_one_pass = || {
            let (from, to) = (map.in_shape().clone(), map.out_shape().clone());
            Error::Move(MoveError::NotOnePass { from, to })
        };
        let mut outcome = Ok(());
        let room = &mut Room::of_boxes(most);
        let found = visit_preimage(layers, Region::of(&dst), room, |region| {
            outcome = block_of(&region, &src).map(|block| work.blocks.push(block));
            outcome.is_ok().then_some(())
        });
        outcome?;
        found.ok_or_else(not_one_pass)?;
    }
    Ok(work)
}

/// Makes the move of regions, not yet canonical.
pub(super) fn bind_regions(regions: &Regions, width: Width, src: &Layout) -> Result<Move> {
    check_shape("data", regions.shape(), src.shape())?;
    let mut work = unbound(width, src, regions.target())?;
    if width.units() > 0 {
        for region in regions.boxes() {
            work.blocks.push(block_of(region, src)?);
        }
    }
    Ok(work)
}

fn unbound(width: Width, src: &Layout, dst: &Layout) -> Result<Move> {
    let src_bytes = reached("data", src, width)?;
    let dst_bytes = reached("out", dst, width)?;
    dst.check_writable(width.units())?;
    let (width, packing) = (width.units(), width.packing());
    Ok(Move { width, packing, blocks: Vec::new(), src_bytes, dst_bytes })
}

/// Removes a reshape at the source or the destination from the layers, if the layout can be reshaped instead.
fn reshaped<'a>(
    mut layers: &'a [Layer],
    src: &'a Layout,
    dst: &'a Layout,
) -> (&'a [Layer], Cow<'a, Layout>, Cow<'a, Layout>) {
    let (mut src, mut dst) = (Cow::Borrowed(src), Cow::Borrowed(dst));
    if let [first, rest @ ..] = layers
        && first.axes().is_none()
        && let Some(layout) = src.reshaped(first.out_shape())
    {
        (layers, src) = (rest, Cow::Owned(layout));
    }
    if let [rest @ .., last] = layers
        && last.axes().is_none()
        && let Some(layout) = dst.reshaped(last.in_shape())
    {
        (layers, dst) = (rest, Cow::Owned(layout));
    }
    (layers, src, dst)
}

/// The size in bytes of the smallest buffer for `layout`.
fn reached(argument: &'static str, layout: &Layout, width: Width) -> Result<usize> {
    let bytes = width.bytes(layout.span(width.units())?.end.unsigned_abs());
    layout.check_within(argument, width, bytes)?;
    Ok(bytes)
}

/// Makes the block of a region.
///
/// Its destination offsets are always valid. Its source coordinates are checked here.
///
/// # Errors
/// [`MoveError::CoordinateOutOfBounds`] if a source coordinate is outside its axis.
fn block_of(region: &Region, src: &Layout) -> Result<Block> {
    region.check_within(src.shape())?;
    let mut block = Block {
        src_offset: src.offset_bytes().cast_signed(),
        dst_offset: region.position.start,
        loops: Vec::with_capacity(region.sizes.len()),
        indices: Vec::new(),
    };
    block.loops.extend(region.sizes.iter().map(|len| Loop {
        len: *len,
        dst_stride: 0,
        src: Source::Affine { stride: 0 },
    }));
    for term in &region.position.terms {
        block.loops[term.number].dst_stride = term.step;
    }
    assert_eq!(region.coordinates.len(), src.shape().rank(), "one coordinate for each source axis");
    for (coordinate, stride) in region.coordinates.iter().zip(src.strides_bytes()) {
        match coordinate {
            Coordinate::Linear(form) => {
                let start = form.start.wrapping_mul(*stride);
                block.src_offset = block.src_offset.wrapping_add(start);
                for term in &form.terms {
                    block.loops[term.number].src.add_stride(term.step.wrapping_mul(*stride));
                }
            }
            Coordinate::Cut(cut) => {
                for term in &cut.first.without(cut.number).terms {
                    block.loops[term.number].src.add_stride(term.step.wrapping_mul(*stride));
                }
                block.loops[cut.number].src.cut(constant_cut(cut, *stride));
            }
            Coordinate::Ragged(row) => {
                let cut = ragged_cut(row, *stride, block.loops.len());
                block.loops[row.number].src.cut(cut);
            }
            Coordinate::Indexed(IndexedForm { indices, entry, line }) => {
                let start = line.start.wrapping_mul(*stride);
                block.src_offset = block.src_offset.wrapping_add(start);
                let mut strides = vec![0; block.loops.len()];
                for term in &entry.terms {
                    strides[term.number] = term.step;
                }
                block.indices.push(IndexTable {
                    indices: indices.clone(),
                    offset: entry.start.unsigned_abs(),
                    strides,
                    scale: line.step.wrapping_mul(*stride),
                });
            }
        }
    }
    Ok(block)
}

fn constant_cut(cut: &CutForm, src_stride: isize) -> Cut {
    let run = |form: &AffineForm| Run {
        src_offset: form.start.wrapping_mul(src_stride),
        src_per_length: 0,
        src_stride: form.step(cut.number).wrapping_mul(src_stride),
    };
    Cut { at: CutAt::Constant(cut.at), first: run(&cut.first), second: run(&cut.second) }
}

/// The cut of a loop by a partly reversed row, in a block with `loops` loops.
///
/// With j = `before.at(i)`, the source coordinate is `after.at(length - 1 - j)` if j < length, and `after.at(j)`
/// otherwise; both are linear in i and in the length.
fn ragged_cut(row: &ReversedRow, src_stride: isize, loops: usize) -> Cut {
    let (j, after): (Line, Line) = (row.before, row.after);
    // The offsets of coordinates that are never used may wrap around; they are not read.
    let bytes = |coordinate: isize| coordinate.wrapping_mul(src_stride);
    let reversed = Run {
        src_offset: bytes(after.start - after.step * (1 + j.start)),
        src_per_length: bytes(after.step),
        src_stride: bytes(-after.step * j.step),
    };
    let kept = Run {
        src_offset: bytes(after.start + after.step * j.start),
        src_per_length: 0,
        src_stride: bytes(after.step * j.step),
    };
    let mut strides = vec![0; loops];
    for term in &row.entry.terms {
        strides[term.number] = term.step;
    }
    let (lengths, offset) = (row.lengths.clone(), row.entry.start.unsigned_abs());
    let table = |start: isize, per_length: isize| {
        CutAt::Table(LengthTable { lengths, offset, strides, start, per_length })
    };
    if j.step > 0 {
        Cut { at: table(-j.start, 1), first: reversed, second: kept }
    } else {
        // j decreases as i increases, so the kept run comes first.
        Cut { at: table(j.start + 1, -1), first: kept, second: reversed }
    }
}
