//! An index map bound to two layouts: coordinates become byte offsets.

use std::borrow::Cow;

use super::{Block, Loop, Move, RaggedLoop, Run};
use crate::index_map::{Coordinate, Region, Row, draw};
use crate::{Error, IndexMap, Layer, Layout, Line, Regions, Result, Width};

/// The blocks of `map` between two layouts, not yet canonical.
///
/// Law: the pairs of offsets are those of the map's indices through the layouts.
pub(super) fn bind(map: &IndexMap, width: Width, src: &Layout, dst: &Layout) -> Result<Move> {
    check_shape("data", map.in_shape(), src)?;
    check_shape("out", map.out_shape(), dst)?;
    let mut work = unbound(width, src, dst)?;
    if width.units() > 0 && map.out_shape().elements() > 0 {
        let (layers, src, dst) = reshaped(map.layers(), src, dst);
        let not_one_pass = || {
            let (from, to) = (map.in_shape().clone(), map.out_shape().clone());
            Error::NotOnePass { from, to }
        };
        if layers.iter().any(Layer::has_too_many_boxes) {
            return Err(not_one_pass());
        }
        let most = match layers {
            // As many as its axes say.
            [layer] if layer.axes().is_some() => usize::MAX,
            _ => Regions::most(dst.shape().elements()),
        };
        let mut outcome = Ok(());
        let drawn = draw(layers, Region::of(&dst), usize::MAX, |region| {
            outcome = block_of(&region, &src).map(|block| work.blocks.push(block));
            (outcome.is_ok() && work.blocks.len() <= most).then_some(())
        });
        outcome?;
        drawn.ok_or_else(not_one_pass)?;
    }
    Ok(work)
}

/// The blocks of regions that were drawn back to `src`, not yet canonical.
pub(super) fn bind_regions(regions: &Regions, width: Width, src: &Layout) -> Result<Move> {
    check_shape("data", regions.shape(), src)?;
    let mut work = unbound(width, src, regions.target())?;
    if width.units() > 0 {
        for region in regions.boxes() {
            work.blocks.push(block_of(region, src)?);
        }
    }
    Ok(work)
}

/// A move between two layouts without blocks.
fn unbound(width: Width, src: &Layout, dst: &Layout) -> Result<Move> {
    let src_bytes = reached("data", src, width)?;
    let dst_bytes = reached("out", dst, width)?;
    dst.check_writable(width.units())?;
    let (width, packing) = (width.units(), width.packing());
    Ok(Move { width, packing, blocks: Vec::new(), src_bytes, dst_bytes })
}

/// The layers without a reshape at the source or at the destination, where the layout there can be
/// one of the shape behind the reshape; and the layouts then.
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

fn check_shape(argument: &'static str, expected: &crate::Shape, layout: &Layout) -> Result<()> {
    if layout.shape() == expected {
        return Ok(());
    }
    Err(Error::ShapeMismatch { argument, expected: expected.clone(), got: layout.shape().clone() })
}

/// The least size of a buffer that holds `layout`.
fn reached(argument: &'static str, layout: &Layout, width: Width) -> Result<usize> {
    let bytes = width.bytes(layout.span(width.units())?.end.unsigned_abs());
    layout.check_within(argument, width, bytes)?;
    Ok(bytes)
}

/// The block of a region that has been drawn back to the source. Its place lies in the destination by
/// its construction.
///
/// # Errors
/// [`Error::CoordinateOutOfBounds`], so that nobody has to trust a map that no block leaves the source.
fn block_of(region: &Region, src: &Layout) -> Result<Block> {
    region.check_within(src.shape())?;
    let loops = region.sizes.iter().map(|len| Loop {
        len: *len,
        src_stride: 0,
        dst_stride: 0,
        lane_stride: 0,
    });
    let mut block = Block {
        src_offset: src.offset_bytes().cast_signed(),
        dst_offset: region.place.start,
        loops: loops.collect(),
        ragged: None,
    };
    for term in &region.place.terms {
        block.loops[term.number].dst_stride = term.step;
    }
    let mut row_loop = None;
    assert_eq!(region.coordinates.len(), src.shape().rank(), "one coordinate for each source axis");
    for (coordinate, stride) in region.coordinates.iter().zip(src.strides_bytes()) {
        match coordinate {
            Coordinate::Linear(form) => {
                let start = form.start.wrapping_mul(*stride);
                block.src_offset = block.src_offset.wrapping_add(start);
                for term in &form.terms {
                    let each = &mut block.loops[term.number];
                    let step = term.step.wrapping_mul(*stride);
                    each.src_stride = each.src_stride.wrapping_add(step);
                }
            }
            Coordinate::Ragged(row) => {
                for term in &row.entry.terms {
                    block.loops[term.number].lane_stride = term.step;
                }
                block.ragged = Some(ragged_loop(row, *stride));
                row_loop = Some(row.number);
            }
        }
    }
    if let (Some(number), Some(ragged)) = (row_loop, &mut block.ragged) {
        let row = block.loops.remove(number);
        ragged.len = row.len;
        ragged.dst_stride = row.dst_stride;
        // What other source axes read of the same loop comes on top, in both runs.
        for run in [&mut ragged.first, &mut ragged.second] {
            run.src_stride = run.src_stride.wrapping_add(row.src_stride);
        }
    }
    Ok(block)
}

/// The two runs of a row; size and destination are left to the caller.
///
/// With j = before(i), the source coordinate is after(length - 1 - j) where j < length and
/// after(j) elsewhere; both are linear in i and in the length.
fn ragged_loop(row: &Row, src_stride: isize) -> RaggedLoop {
    let (j, after): (Line, Line) = (row.before, row.after);
    // Offsets of coordinates that no row reaches may lie far outside: they wrap, and are not read.
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
    let rising = RaggedLoop {
        len: 0,
        dst_stride: 0,
        lengths: row.lengths.clone(),
        lane_offset: row.entry.start.unsigned_abs(),
        cut_start: -j.start,
        cut_per_length: 1,
        first: reversed,
        second: kept,
    };
    if j.step > 0 {
        rising
    } else {
        // Rising i is falling j: the kept run comes first.
        RaggedLoop {
            cut_start: j.start + 1,
            cut_per_length: -1,
            first: kept,
            second: reversed,
            ..rising
        }
    }
}
