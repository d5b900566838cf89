//! What of a buffer is bound at once.

use std::ops::Range;

use crate::part::{Dimension, Part};
use crate::span::{all_entries, dst_reach, dst_span, entries_reach, src_reach, src_span};
use crate::{Access, GpuBlock, Pattern};

/// What of a buffer may be bound at once: a device says so, and most say less than they have memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The most bytes of a window: as a rule 128 MiB or 2 GiB. Less than 4096 bytes and 16 alignments count as so many.
    pub bytes: usize,
    /// What the beginning of a window is a multiple of, in bytes: a power of two of at least 16.
    pub alignment: usize,
}

/// A part of a buffer that is bound: kernels count from where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Where it begins, in bytes from the start of the buffer: a multiple of the alignment.
    pub offset: usize,
    /// Its bytes: a multiple of 16, so that it may end behind the bytes of a buffer, but not behind the next such number.
    pub bytes: usize,
}

/// Kernels count grains with 32 bits. Half of those numbers lie within a window or what is read beside it, the other half
/// are the places before it.
const MOST_GRAINS: usize = 1 << 31;

/// What is bound behind what a window is for: of an element that begins within it, what a store takes.
const OVERLAP: usize = 32;

/// Elements of more than so many bytes, or packed elements, are halved where they are more than a window.
const UNDIVIDED: usize = 64;

impl Windows {
    /// No window is smaller: tiny ones are for tests.
    fn bytes(&self) -> usize {
        self.bytes.max(4096).max(16 * self.alignment)
    }

    /// The most bytes of a window that kernels of an access can count in.
    fn most(&self, access: Access) -> usize {
        access.bytes_before(MOST_GRAINS.saturating_mul(access.grain())).min(self.bytes()) / 16 * 16
    }

    /// The most bytes or packed elements that surely fit into a window, wherever they begin.
    fn fits(&self, access: Access) -> usize {
        access.units_of(self.most(access) - 4 * self.step(access) - OVERLAP)
    }

    /// What windows begin at multiples of, in bytes: where groups of packed elements do, too.
    fn step(&self, access: Access) -> usize {
        self.alignment * access.packing().map_or(1, trundle_core::Packing::group_bytes)
    }

    /// The window of all of a buffer, if that fits.
    fn whole(&self, access: Access, bytes: usize) -> Option<Window> {
        let bytes = bytes.next_multiple_of(16);
        (bytes <= self.most(access)).then_some(Window { offset: 0, bytes })
    }

    /// The window of a buffer that has what is written, in bytes or packed elements.
    pub(crate) fn of_dst(&self, access: Access, span: &Range<usize>, buffer: usize) -> Window {
        self.whole(access, buffer).unwrap_or_else(|| {
            let offset = access.bytes_before(span.start) / self.step(access) * self.step(access);
            window(offset, access.bytes_through(span.end), buffer)
        })
    }

    /// The windows of a buffer that together have what is read, each with how many of its bytes or packed elements are to be
    /// moved from it: `None` if all that is read lies within.
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

/// From `offset` to `end`, or to where the buffer ends.
fn window(offset: usize, end: usize, buffer: usize) -> Window {
    let end = end.next_multiple_of(16).min(buffer.next_multiple_of(16));
    Window { offset, bytes: end.saturating_sub(offset).max(16) }
}

/// A block in as many parts as it takes for windows of both `buffers`, in bytes: most are one.
pub(crate) fn pieces(block: &GpuBlock, windows: &Windows, buffers: [usize; 2]) -> Vec<Part> {
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

/// Half of the steps, tiles and vectors left whole.
fn middle(part: &Part, dimension: Dimension) -> usize {
    let steps = part.steps(dimension);
    match steps / 2 {
        half if half >= 64 => half / 64 * 64,
        half => half,
    }
}

/// What a part is to be halved along, if it is not to stay as it is.
fn halved(
    part: &Part,
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
    // Where no loop leads far, a table does, or many loops together: then several windows are read.
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

/// The dimension that can be halved for which `reach` is greatest, and what that is.
fn longest(
    part: &Part,
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
