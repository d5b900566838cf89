//! The ranges of buffers and tables that a part accesses.

use std::ops::Range;

use trundle_core::{Cut, CutAt, Loop, Run, Source};

use crate::Access;
use crate::part::{BlockPart, cut_by_table};

/// The range of destination positions of a part, in bytes or packed elements.
pub(crate) fn dst_span(part: &BlockPart) -> Range<usize> {
    let steps = part.block.loops.iter().map(dst_reach).sum::<usize>();
    let first = part.block.dst_offset.unsigned_abs();
    first..first + steps + part.width
}

pub(crate) fn bytes_written(part: &BlockPart, access: Access) -> Range<usize> {
    let span = dst_span(part);
    access.bytes_before(span.start)..access.bytes_through(span.end)
}

/// The range of bytes of the source buffer, of size `buffer`, that a part reads.
pub(crate) fn bytes_read(part: &BlockPart, access: Access, buffer: usize) -> Range<usize> {
    let span = src_span(part);
    let [start, end] = [span.start, span.end].map(|offset| offset.max(0).unsigned_abs());
    access.bytes_before(start).min(buffer)..access.bytes_through(end).min(buffer)
}

/// The extent of a loop in the destination.
pub(crate) fn dst_reach(each: &Loop) -> usize {
    (each.len - 1) * each.dst_stride.unsigned_abs()
}

/// The range of source positions of a part, in bytes or packed elements. With tables, it may be too large, but never
/// too small.
pub(crate) fn src_span(part: &BlockPart) -> Range<isize> {
    let mut span = part.block.src_offset..part.block.src_offset + part.width.cast_signed();
    let mut add = |reach: Range<isize>| {
        span.start = span.start.saturating_add(reach.start);
        span.end = span.end.saturating_add(reach.end);
    };
    (0..part.block.loops.len()).for_each(|at| add(src_reach(part, at)));
    for table in &part.block.indices {
        let entries = &table.indices[entries(part, table.offset, &table.strides)];
        let ends = [entries.iter().min(), entries.iter().max()]
            .map(|index| table.scale * index.map_or(0, |index| index.cast_signed()));
        add(ends[0].min(ends[1])..ends[0].max(ends[1]));
    }
    span
}

/// The range that the iterations of a loop add to the source position.
pub(crate) fn src_reach(part: &BlockPart, at: usize) -> Range<isize> {
    let each = &part.block.loops[at];
    let last = each.len.cast_signed() - 1;
    match &each.src {
        Source::Affine { stride } => (last * stride).min(0)..(last * stride).max(0),
        Source::Cut(cut) => {
            let mut reach: Option<Range<isize>> = None;
            let mut add = |offset: isize| {
                let before = reach.clone().unwrap_or(offset..offset);
                reach = Some(before.start.min(offset)..before.end.max(offset));
            };
            match &cut.at {
                CutAt::Constant(step) => for_each_end(cut, 0, *step, each.len, &mut add),
                CutAt::Table(_) => for_each_end_by_length(part, &mut add),
            }
            reach.unwrap_or(0..0)
        }
    }
}

/// Visits the ends of both runs, for the extreme lengths and lengths near them. The ends are linear in the length,
/// except where the cut is clamped to the loop, so these positions include the extremes.
fn for_each_end_by_length(part: &BlockPart, visit: &mut impl FnMut(isize)) {
    let Some((at, cut, table)) = cut_by_table(&part.block) else { return };
    let len = part.block.loops[at].len;
    let lengths = &table.lengths[entries(part, table.offset, &table.strides)];
    let (Some(least), Some(greatest)) = (lengths.iter().min(), lengths.iter().max()) else {
        return;
    };
    let leaves = [0, len.cast_signed()]
        .map(|end| table.per_length * (end - table.start))
        .into_iter()
        .flat_map(|length| [length - 1, length, length + 1])
        .filter_map(|length| usize::try_from(length).ok())
        .filter(|length| (least..=greatest).contains(&length));
    for length in leaves.chain([*least, *greatest]) {
        for_each_end(cut, length, table.cut(length, len), len, visit);
    }
}

fn for_each_end(cut: &Cut, length: usize, step: usize, len: usize, visit: &mut impl FnMut(isize)) {
    let mut visit_run = |run: &Run, steps: Range<usize>| {
        if !steps.is_empty() {
            for i in [steps.start, steps.end - 1] {
                visit(run.start(length) + run.src_stride * i.cast_signed());
            }
        }
    };
    visit_run(&cut.first, 0..step);
    visit_run(&cut.second, step..len);
}

/// The range of table entries that a part reads.
pub(crate) fn entries(part: &BlockPart, offset: usize, strides: &[isize]) -> Range<usize> {
    let (mut first, mut last) = (offset, offset);
    for (each, stride) in part.block.loops.iter().zip(strides) {
        let reach = (each.len.cast_signed() - 1) * stride;
        first = first.wrapping_add_signed(reach.min(0));
        last = last.wrapping_add_signed(reach.max(0));
    }
    first..last + 1
}

pub(crate) fn all_entries(part: &BlockPart) -> usize {
    let lengths = cut_by_table(&part.block)
        .map_or(0, |(_, _, table)| entries(part, table.offset, &table.strides).len());
    let indices = part.block.indices.iter();
    lengths + indices.map(|table| entries(part, table.offset, &table.strides).len()).sum::<usize>()
}

/// The extent of a loop in entries, summed over all tables.
pub(crate) fn entries_reach(part: &BlockPart, at: usize) -> usize {
    let steps = part.block.loops[at].len - 1;
    let lengths = cut_by_table(&part.block).map(|(_, _, table)| &table.strides);
    let indices = part.block.indices.iter().map(|table| &table.strides);
    lengths.into_iter().chain(indices).map(|strides| steps * strides[at].unsigned_abs()).sum()
}
