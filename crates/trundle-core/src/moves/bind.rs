//! An index map bound to two layouts: coordinates become byte offsets.

use super::{Block, Loop, Move, RaggedLoop, Run};
use crate::{AxisMap, Error, IndexMap, Layout, Lengths, Line, Result, Width};

/// The most blocks of a move: a roll has two for each axis that it rolls, multiplied, and lists all
/// of them. Only a roll of more than 20 axes has more.
const MOST_BLOCKS: usize = 1 << 20;

/// The blocks of `map` between two layouts, not yet canonical.
///
/// Law: the pairs of offsets are those of the map's indices through the layouts.
pub(super) fn bind(map: &IndexMap, width: Width, src: &Layout, dst: &Layout) -> Result<Move> {
    check_shape("data", map.in_shape(), src)?;
    check_shape("out", map.out_shape(), dst)?;
    let src_bytes = reached("data", src, width)?;
    let dst_bytes = reached("out", dst, width)?;
    dst.check_writable(width.units())?;
    let mut blocks = Vec::new();
    if width.units() > 0 && map.out_shape().elements() > 0 {
        let cells: Vec<Vec<(usize, usize)>> =
            (0..map.out_shape().rank()).map(|axis| cells_of(map, axis)).collect();
        let counts: Vec<usize> = cells.iter().map(Vec::len).collect();
        let number = counts.iter().fold(1usize, |number, count| number.saturating_mul(*count));
        if number > MOST_BLOCKS {
            let what = format!("a move of {number} blocks, of {MOST_BLOCKS} at most,");
            return Err(Error::TooLarge { what });
        }
        crate::shape::for_each_index(&counts, |number| {
            let cell = number.iter().zip(&cells).map(|(n, axis)| axis[*n]).collect::<Vec<_>>();
            blocks.push(block_of(map, src, dst, &cell));
        });
    }
    let packing = width.packing();
    Ok(Move { width: width.units(), packing, blocks, src_bytes, dst_bytes })
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

/// An output axis cut wherever a source coordinate jumps: the stretches as (begin, end).
fn cells_of(map: &IndexMap, axis: usize) -> Vec<(usize, usize)> {
    let mut ends = vec![map.out_shape()[axis]];
    for each in map.axes() {
        if let AxisMap::Segments { axis: read, pieces } = each
            && *read == axis
        {
            ends.extend(pieces.iter().map(|piece| piece.end));
        }
    }
    ends.sort_unstable();
    ends.dedup();
    let begins = std::iter::once(0).chain(ends.iter().copied());
    begins.zip(ends.iter().copied()).collect()
}

/// The block of one cell: a box of the output over which every source coordinate is one line.
fn block_of(map: &IndexMap, src: &Layout, dst: &Layout, cell: &[(usize, usize)]) -> Block {
    let offset = |layout: &Layout| layout.offset_bytes().cast_signed();
    let mut block = Block {
        src_offset: offset(src),
        dst_offset: offset(dst),
        loops: Vec::with_capacity(cell.len()),
        ragged: None,
    };
    for ((begin, end), dst_stride) in cell.iter().zip(dst.strides_bytes()) {
        block.dst_offset =
            block.dst_offset.wrapping_add(begin.cast_signed().wrapping_mul(*dst_stride));
        block.loops.push(Loop {
            len: end - begin,
            src_stride: 0,
            dst_stride: *dst_stride,
            lane_stride: 0,
        });
    }
    let mut ragged_axis = None;
    for (each, src_stride) in map.axes().iter().zip(src.strides_bytes()) {
        let begin = cell[each.axis()].0;
        match each {
            AxisMap::Affine { axis, line } => step(&mut block, *axis, begin, *line, *src_stride),
            AxisMap::Segments { axis, pieces } => {
                let line = pieces[pieces.partition_point(|piece| piece.end <= begin)].line;
                step(&mut block, *axis, begin, line, *src_stride);
            }
            AxisMap::Ragged { axis, before, lengths, after } => {
                for (each, stride) in block.loops.iter_mut().zip(lengths.strides()) {
                    each.lane_stride = *stride;
                }
                block.ragged =
                    Some(ragged_loop(*before, lengths, *after, begin, *src_stride, cell));
                ragged_axis = Some(*axis);
            }
        }
    }
    if let (Some(axis), Some(ragged)) = (ragged_axis, &mut block.ragged) {
        let row = block.loops.remove(axis);
        ragged.len = row.len;
        ragged.dst_stride = row.dst_stride;
        // What other source axes read of the same output axis comes on top, in both runs.
        for run in [&mut ragged.first, &mut ragged.second] {
            run.src_stride = run.src_stride.wrapping_add(row.src_stride);
        }
    }
    block
}

/// Adds one source axis to the loop of the output axis that it reads.
fn step(block: &mut Block, axis: usize, begin: usize, line: Line, src_stride: isize) {
    let start = line.at(begin.cast_signed()).wrapping_mul(src_stride);
    block.src_offset = block.src_offset.wrapping_add(start);
    let each = &mut block.loops[axis];
    each.src_stride = each.src_stride.wrapping_add(line.step.wrapping_mul(src_stride));
}

/// The two runs of a ragged axis over the indices from `begin` on; size and destination are left
/// to the caller.
///
/// With j = before(i), the source coordinate is after(length - 1 - j) where j < length and
/// after(j) elsewhere; both are linear in i and in the length.
fn ragged_loop(
    before: Line,
    lengths: &Lengths,
    after: Line,
    begin: usize,
    src_stride: isize,
    cell: &[(usize, usize)],
) -> RaggedLoop {
    let j = Line { start: before.at(begin.cast_signed()), step: before.step };
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
    let lane_steps: isize = lengths
        .strides()
        .iter()
        .zip(cell)
        .map(|(stride, (begin, _))| stride * begin.cast_signed())
        .sum();
    let row = RaggedLoop {
        len: 0,
        dst_stride: 0,
        lengths: lengths.values().clone(),
        lane_offset: lengths.offset().wrapping_add_signed(lane_steps),
        cut_start: -j.start,
        cut_per_length: 1,
        first: reversed,
        second: kept,
    };
    if j.step > 0 {
        row
    } else {
        // Rising i is falling j: the kept run comes first.
        RaggedLoop {
            cut_start: j.start + 1,
            cut_per_length: -1,
            first: kept,
            second: reversed,
            ..row
        }
    }
}
