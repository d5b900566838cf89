//! Windows: the parts of buffers that are bound for a launch, whose size devices limit.

use std::ops::Range;

use crate::part::{BlockPart, Dimension};
use crate::span::{all_entries, dst_reach, dst_span, entries_reach, src_reach, src_span};
use crate::{Access, GpuBlock, Pattern};

/// The limits of a device for windows. They are usually smaller than its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The maximum size of a window in bytes, usually 128 MiB or 2 GiB. It is raised to at least 4096 bytes and 16
    /// alignments.
    pub bytes: usize,
    /// The alignment of windows in bytes, a power of two that is at least 16.
    pub alignment: usize,
}

/// A bound part of a buffer, to whose start positions in kernels are relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The offset in the buffer in bytes, a multiple of the alignment.
    pub offset: usize,
    /// The size in bytes, a multiple of 16: the window may exceed the buffer by up to 15 bytes.
    pub bytes: usize,
}

/// The maximum number of grains in a window. Kernels count with 32 bits, and the upper half of the numbers are
/// positions before the window.
const MOST_GRAINS: usize = 1 << 31;

/// The number of bytes at the end of a source window in which elements only end.
const OVERLAP: usize = 32;

/// Elements of more than this many bytes (or packed elements) may be split if they do not fit in a window.
const UNDIVIDED: usize = 64;

impl Windows {
    /// The maximum size of a window in bytes. The lower limit makes tiny windows usable in tests.
    fn bytes(&self) -> usize {
        self.bytes.max(4096).max(16 * self.alignment)
    }

    /// The maximum size of a window in bytes, for an access.
    fn most(&self, access: Access) -> usize {
        access.bytes_before(MOST_GRAINS.saturating_mul(access.grain())).min(self.bytes()) / 16 * 16
    }

    /// The maximum number of bytes or packed elements that fit in a window at any alignment.
    fn fits(&self, access: Access) -> usize {
        access.units_of(self.most(access) - 4 * self.step(access) - OVERLAP)
    }

    /// The alignment of windows in bytes, which keeps groups of packed elements whole.
    fn step(&self, access: Access) -> usize {
        self.alignment * access.packing().map_or(1, trundle_core::Packing::group_bytes)
    }

    fn whole(&self, access: Access, bytes: usize) -> Option<Window> {
        let bytes = bytes.next_multiple_of(16);
        (bytes <= self.most(access)).then_some(Window { offset: 0, bytes })
    }

    /// The destination window for a range of bytes or packed elements.
    pub(crate) fn of_dst(&self, access: Access, span: &Range<usize>, buffer: usize) -> Window {
        self.whole(access, buffer).unwrap_or_else(|| {
            let offset = access.bytes_before(span.start) / self.step(access) * self.step(access);
            window(offset, access.bytes_through(span.end), buffer)
        })
    }

    /// The source windows that cover a range, each with the number of bytes or packed elements to move from it, or
    /// `None` if it covers the whole range.
    pub(crate) fn of_src(
        &self,
        access: Access,
        span: &Range<isize>,
        buffer: usize,
    ) -> Vec<(Window, Option<usize>)> {
        if let Some(whole) = self.whole(access, buffer) {
            return vec![(whole, None)];
        }
        let step = self.step(access);
        let begin = access.bytes_before(span.start.max(0).unsigned_abs()) / step * step;
        let end = access.bytes_through(span.end.max(0).unsigned_abs()).min(buffer);
        let one = window(begin, end, buffer);
        if one.bytes <= self.most(access) {
            return vec![(one, None)];
        }
        let moved = (self.most(access) - OVERLAP) / step * step;
        let parts = (begin..end).step_by(moved);
        let part = |offset: usize| {
            let behind = offset.saturating_add(moved + OVERLAP);
            (window(offset, behind, buffer), Some(access.units_of(moved)))
        };
        parts.map(part).collect()
    }
}

/// The window from `offset` to `end`, clamped to the buffer, both rounded up to multiples of 16.
fn window(offset: usize, end: usize, buffer: usize) -> Window {
    let end = end.next_multiple_of(16).min(buffer.next_multiple_of(16));
    Window { offset, bytes: end.saturating_sub(offset).max(16) }
}

/// Splits a block into parts that fit in the windows of both buffers.
pub(crate) fn pieces(block: &GpuBlock, windows: &Windows, buffers: [usize; 2]) -> Vec<BlockPart> {
    let mut waiting = vec![block.part()];
    let mut pieces = Vec::new();
    while let Some(part) = waiting.pop() {
        match halved(&part, block, windows, buffers) {
            None => pieces.push(part),
            Some(dimension) => {
                let [first, second] = part.halves(dimension, middle(&part, dimension));
                waiting.extend([second, first]);
            }
        }
    }
    pieces
}

/// About the middle of a dimension: a multiple of 64 if possible, so that tiles and vectors stay whole.
fn middle(part: &BlockPart, dimension: Dimension) -> usize {
    let steps = part.steps(dimension);
    match steps / 2 {
        half if half >= 64 => half / 64 * 64,
        half => half,
    }
}

/// The dimension along which to split a part, or `None` if it fits.
fn halved(
    part: &BlockPart,
    block: &GpuBlock,
    windows: &Windows,
    [src, dst]: [usize; 2],
) -> Option<Dimension> {
    let access = block.access;
    let fits = windows.fits(access);
    let most = MOST_GRAINS * access.grain();
    if windows.whole(access, dst).is_none() && dst_span(part).len() > fits {
        return longest(part, block, |dimension| match dimension {
            Dimension::Loop(at) => dst_reach(&part.block.loops[at]),
            Dimension::Element => part.width,
        })
        .map(|(_, dimension)| dimension);
    }
    let by_entries = || {
        longest(part, block, |dimension| match dimension {
            Dimension::Loop(at) => entries_reach(part, at),
            Dimension::Element => 0,
        })
    };
    if all_entries(part) > windows.fits(Access::Bytes) / 4 {
        return by_entries().map(|(_, dimension)| dimension);
    }
    if windows.whole(access, src).is_some() {
        return None;
    }
    let read = src_span(part).len();
    let by_reach = || {
        longest(part, block, |dimension| match dimension {
            Dimension::Loop(at) => src_reach(part, at).len(),
            Dimension::Element => part.width,
        })
    };
    // A reach that comes from a table, or from many loops together, takes several source windows instead of a split.
    if read > fits
        && let Some((reach, dimension)) = by_reach()
        && reach > fits / 2
    {
        return Some(dimension);
    }
    if read > most {
        return by_entries().or_else(by_reach).map(|(_, dimension)| dimension);
    }
    None
}

/// The divisible dimension with the largest `reach`.
fn longest(
    part: &BlockPart,
    block: &GpuBlock,
    reach: impl Fn(Dimension) -> usize,
) -> Option<(usize, Dimension)> {
    let divided = part.width > UNDIVIDED && !matches!(block.pattern, Pattern::Tiles { .. });
    let element = divided.then_some(Dimension::Element);
    let loops = (0..part.block.loops.len()).map(Dimension::Loop);
    loops
        .chain(element)
        .map(|dimension| (reach(dimension), dimension))
        .filter(|(reach, dimension)| *reach > 0 && part.steps(*dimension) > 1)
        .max_by_key(|(reach, _)| *reach)
}
