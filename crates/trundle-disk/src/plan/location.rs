//! Where the elements of a tensor are in a file.

use std::ops::Range;

use trundle::Width;

/// One range of indices for each axis.
pub(crate) type Bounds = Vec<Range<usize>>;

/// The order of a tensor's elements in a file. Elements are counted from the first one there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Contiguous, the last axis the fastest.
    RowMajor {
        /// The sizes of the axes.
        sizes: Vec<usize>,
        /// How many of the last axes are those of a chunk of the file's own, which is read whole for any
        /// element of it; none where elements are read by themselves.
        chunk_axes: usize,
        /// The picoseconds that a core takes to decode an element.
        decoding: u64,
    },
    /// Boxes one after another, each of them contiguous, the last axis the fastest.
    Chunks(Chunks),
}

trundle::internal::fingerprint!(enum Location { "row-major" RowMajor { sizes, chunk_axes, decoding }, "cells" Chunks(chunks) });

/// A box of a tensor cut along its axes into chunks, which follow each other in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    /// For each axis where the chunks begin, rising, and where the last one ends.
    cuts: Vec<Vec<usize>>,
    /// Whether each is packed when all of it is there: a part of one waits elsewhere for the others.
    is_packed: bool,
}

trundle::internal::fingerprint!(struct Chunks { cuts, is_packed });

/// Contiguous runs of elements, all of one length, at regular distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    /// The index of the first element.
    first: usize,
    /// The elements of a run.
    pub(crate) len: usize,
    /// Loops over runs, the outermost first: the steps, and how many elements lie between two.
    loops: Vec<(usize, usize)>,
}

/// The bytes that an element takes in memory: sub-byte elements take one each there.
pub(crate) fn unit(width: Width) -> usize {
    match width {
        Width::Bytes(bytes) => bytes,
        Width::SubByte(_) => 1,
    }
}

/// The bytes that so many elements fill in a file.
pub(crate) fn file_bytes(width: Width, elements: usize) -> usize {
    width.bytes(elements.saturating_mul(width.units()))
}

/// The elements in `bounds`.
pub(crate) fn elements(bounds: &[Range<usize>]) -> usize {
    bounds.iter().map(Range::len).product()
}

/// What two boxes have in common, if anything.
#[cfg(test)]
pub(crate) fn common(one: &[Range<usize>], other: &[Range<usize>]) -> Option<Bounds> {
    let along = |(one, other): (&Range<usize>, &Range<usize>)| {
        let range = one.start.max(other.start)..one.end.min(other.end);
        (!range.is_empty()).then_some(range)
    };
    one.iter().zip(other).map(along).collect()
}

impl Location {
    /// Contiguous, the last axis the fastest, of elements that are read by themselves.
    pub(crate) fn row_major(sizes: &[usize]) -> Location {
        Location::RowMajor { sizes: sizes.to_vec(), chunk_axes: 0, decoding: 0 }
    }

    /// The elements that are read for those of `bounds`.
    pub(crate) fn covered(&self, bounds: &[Range<usize>]) -> usize {
        match self {
            Location::RowMajor { sizes, chunk_axes, .. } => {
                // Of no axes a chunk is one element.
                let outer = bounds.len() - chunk_axes;
                let of_chunk: usize = sizes[outer..].iter().product();
                elements(&bounds[..outer]).saturating_mul(of_chunk)
            }
            Location::Chunks(_) => elements(bounds),
        }
    }

    /// The picoseconds that a core takes to decode what is read for those of `bounds`.
    pub(crate) fn decoding(&self, bounds: &[Range<usize>]) -> u64 {
        match self {
            Location::RowMajor { decoding, .. } if *decoding > 0 => {
                (self.covered(bounds) as u64).saturating_mul(*decoding)
            }
            _ => 0,
        }
    }

    /// The elements of `bounds` that are a part of a chunk which is packed when all of it is there.
    pub(crate) fn waiting(&self, bounds: &[Range<usize>]) -> usize {
        match self {
            Location::Chunks(chunks) if chunks.is_packed => {
                let whole = |(range, cuts): (&Range<usize>, &Vec<usize>)| {
                    let first = cuts.partition_point(|cut| *cut < range.start);
                    let end = cuts.partition_point(|cut| *cut <= range.end);
                    let ends = cuts.get(first).zip(end.checked_sub(1).map(|last| cuts[last]));
                    ends.map_or(0, |(first, last)| last.saturating_sub(*first))
                };
                let whole: usize = bounds.iter().zip(&chunks.cuts).map(whole).product();
                elements(bounds) - whole
            }
            _ => 0,
        }
    }

    /// For each axis where other chunks begin, and its ends; nothing where there are no chunks.
    pub(crate) fn edges(&self) -> &[Vec<usize>] {
        match self {
            Location::RowMajor { .. } => &[],
            Location::Chunks(chunks) => &chunks.cuts,
        }
    }

    /// The runs that `bounds` are, in row-major order of their elements. Of chunks, `bounds` lie
    /// within one.
    pub(crate) fn runs(&self, bounds: &[Range<usize>]) -> Runs {
        match self {
            Location::RowMajor { sizes, .. } => Runs::of(0, sizes, bounds),
            Location::Chunks(chunks) => {
                let (first, chunk) = chunks.around(bounds);
                let sizes: Vec<usize> = chunk.iter().map(Range::len).collect();
                let within: Bounds = bounds
                    .iter()
                    .zip(&chunk)
                    .map(|(range, chunk)| range.start - chunk.start..range.end - chunk.start)
                    .collect();
                Runs::of(first, &sizes, &within)
            }
        }
    }

    /// How far apart the elements of `bounds` are that are neighbours along each axis. Of chunks, `bounds` lie within one.
    pub(crate) fn strides(&self, bounds: &[Range<usize>]) -> Vec<usize> {
        let sizes = match self {
            Location::RowMajor { sizes, .. } => sizes.clone(),
            Location::Chunks(chunks) => chunks.around(bounds).1.iter().map(Range::len).collect(),
        };
        (0..sizes.len()).map(|axis| sizes[axis + 1..].iter().product()).collect()
    }

    /// The index of the first element of the chunk around `bounds`, and how many it has; of what has no chunks,
    /// that of all.
    pub(crate) fn chunk_around(&self, bounds: &[Range<usize>]) -> (usize, usize) {
        match self {
            Location::RowMajor { .. } => (0, self.elements()),
            Location::Chunks(chunks) => {
                let (first, chunk) = chunks.around(bounds);
                (first, elements(&chunk))
            }
        }
    }

    /// How many elements stand there.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Location::RowMajor { sizes, .. } => sizes.iter().product(),
            Location::Chunks(chunks) => chunks.cuts.iter().map(|cuts| extent(cuts)).product(),
        }
    }

    /// How many [`Location::spans`] `bounds` are.
    pub(crate) fn count_spans(&self, bounds: &[Range<usize>]) -> usize {
        match self {
            Location::RowMajor { .. } => 1,
            Location::Chunks(chunks) => chunks.parts(bounds).map(|parts| parts.len()).product(),
        }
    }

    /// The first of the [`Location::spans`] of `bounds`, without a list of the others; `None` if there are none.
    pub(crate) fn first_span(&self, bounds: &[Range<usize>]) -> Option<Bounds> {
        match self {
            Location::RowMajor { .. } => Some(bounds.to_vec()),
            Location::Chunks(chunks) => {
                chunks.parts(bounds).map(|mut parts| parts.next()).collect()
            }
        }
    }

    /// `bounds` cut where it is not one span here.
    pub(crate) fn spans(&self, bounds: &[Range<usize>]) -> Vec<Bounds> {
        match self {
            Location::RowMajor { .. } => vec![bounds.to_vec()],
            Location::Chunks(chunks) => chunks.spans(bounds),
        }
    }
}

impl Chunks {
    /// The chunks that begin at `cuts`, rising for each axis; the last cut of each is an end.
    pub(crate) fn new(cuts: Vec<Vec<usize>>) -> Chunks {
        Chunks { cuts, is_packed: false }
    }

    /// All of a tensor in chunks that are packed, of the same sizes but for the last along each axis.
    pub(crate) fn packed(sizes: &[usize], chunk: &[usize]) -> Chunks {
        let cuts = |(size, chunk): (&usize, &usize)| {
            (0..*size).step_by(*chunk).chain(std::iter::once(*size)).collect()
        };
        Chunks { cuts: sizes.iter().zip(chunk).map(cuts).collect(), is_packed: true }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.cuts.iter().map(|cuts| cuts.len() - 1).fold(1, usize::saturating_mul)
    }

    /// The index of the first element of the chunk around `bounds`, and its box.
    fn around(&self, bounds: &[Range<usize>]) -> (usize, Bounds) {
        let chunk: Bounds = bounds
            .iter()
            .zip(&self.cuts)
            .map(|(range, cuts)| {
                let index = cuts.partition_point(|cut| *cut <= range.start) - 1;
                cuts[index]..cuts[index + 1]
            })
            .collect();
        // Along the first axes as many as the chunk has, along this one those before it, along the
        // others all.
        let mut first = 0;
        for (axis, (range, cuts)) in chunk.iter().zip(&self.cuts).enumerate() {
            let outer: usize = chunk[..axis].iter().map(Range::len).product();
            let inner: usize = self.cuts[axis + 1..].iter().map(|cuts| extent(cuts)).product();
            first += outer * (range.start - cuts[0]) * inner;
        }
        (first, chunk)
    }

    /// For each axis the ranges that chunks cut `bounds` into.
    fn parts<'a>(
        &'a self,
        bounds: &'a [Range<usize>],
    ) -> impl Iterator<Item = impl ExactSizeIterator<Item = Range<usize>> + 'a> + 'a {
        bounds.iter().zip(&self.cuts).map(|(range, cuts)| {
            let first = cuts.partition_point(|cut| *cut <= range.start).saturating_sub(1);
            let end = cuts.partition_point(|cut| *cut < range.end).min(cuts.len() - 1);
            let end = if range.is_empty() { first } else { end + 1 };
            let met = &cuts[first..end.max(first)];
            met.windows(2).map(move |cut| cut[0].max(range.start)..cut[1].min(range.end))
        })
    }

    /// `bounds` cut into parts of chunks, in the order of the chunks.
    fn spans(&self, bounds: &[Range<usize>]) -> Vec<Bounds> {
        let mut spans = vec![Vec::with_capacity(bounds.len())];
        for parts in self.parts(bounds) {
            let along: Bounds = parts.collect();
            spans = spans
                .iter()
                .flat_map(|span| {
                    along.iter().map(|part| [&span[..], std::slice::from_ref(part)].concat())
                })
                .collect();
        }
        spans
    }
}

fn extent(cuts: &[usize]) -> usize {
    cuts[cuts.len() - 1] - cuts[0]
}

impl Runs {
    /// One run of so many elements from the first on.
    pub(crate) fn all(elements: usize) -> Runs {
        Runs { first: 0, len: elements, loops: Vec::new() }
    }

    /// The runs of `bounds` in a contiguous box of `sizes` whose first element has the index `first`.
    fn of(first: usize, sizes: &[usize], bounds: &[Range<usize>]) -> Runs {
        let (mut len, mut stride, mut first) = (1, 1, first);
        let mut loops: Vec<(usize, usize)> = Vec::new();
        for (range, size) in bounds.iter().zip(sizes).rev() {
            first += range.start * stride;
            match loops.last_mut() {
                None if len == stride => len *= range.len(),
                // Loops that go on where the inner one ends are one loop.
                Some((steps, distance)) if *steps * *distance == stride => *steps *= range.len(),
                _ if range.len() > 1 => loops.push((range.len(), stride)),
                _ => {}
            }
            stride *= size;
        }
        loops.reverse();
        Runs { first, len, loops }
    }

    /// How many runs there are.
    pub(crate) fn count(&self) -> usize {
        self.loops.iter().map(|(steps, _)| steps).product()
    }

    /// The index of the first element of a run.
    pub(crate) fn start(&self, mut run: usize) -> usize {
        let mut start = self.first;
        for (steps, distance) in self.loops.iter().rev() {
            start += run % steps * distance;
            run /= steps;
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions of the elements of `bounds`, in row-major order, from its runs.
    fn positions(location: &Location, bounds: &[Range<usize>]) -> Vec<usize> {
        let runs = location.runs(bounds);
        let elements = |run| (0..runs.len).map(move |i| (run, i));
        (0..runs.count()).flat_map(elements).map(|(run, i)| runs.start(run) + i).collect()
    }

    fn boxes(sizes: &[usize]) -> Vec<Bounds> {
        sizes.iter().fold(vec![Vec::new()], |boxes, size| {
            let ranges: Vec<_> = (0..*size)
                .flat_map(|start| (start + 1..=*size).map(move |end| start..end))
                .collect();
            boxes
                .iter()
                .flat_map(|each| {
                    ranges.iter().map(|range| [&each[..], std::slice::from_ref(range)].concat())
                })
                .collect()
        })
    }

    fn indices(bounds: &[Range<usize>]) -> Vec<Vec<usize>> {
        bounds.iter().fold(vec![Vec::new()], |indices, range| {
            indices
                .iter()
                .flat_map(|each| range.clone().map(|i| [&each[..], &[i]].concat()))
                .collect()
        })
    }

    #[test]
    fn runs_of_every_box_are_its_elements_in_row_major_order() {
        for sizes in [&[3, 1, 4][..], &[2, 3, 2, 2], &[5], &[]] {
            let location = Location::row_major(sizes);
            for bounds in boxes(sizes) {
                let expected: Vec<usize> = indices(&bounds)
                    .iter()
                    .map(|index| index.iter().zip(sizes).fold(0, |n, (i, size)| n * size + i))
                    .collect();
                assert_eq!(positions(&location, &bounds), expected, "{bounds:?} of {sizes:?}");
            }
        }
    }

    #[test]
    fn whole_boxes_are_one_run() {
        let location = Location::row_major(&[4, 3, 5]);
        let runs = |bounds: &[Range<usize>]| {
            let runs = location.runs(bounds);
            (runs.count(), runs.len)
        };
        assert_eq!(runs(&[0..4, 0..3, 0..5]), (1, 60));
        assert_eq!(runs(&[1..3, 0..3, 0..5]), (1, 30));
        assert_eq!(runs(&[1..2, 1..2, 1..4]), (1, 3));
        assert_eq!(runs(&[1..3, 1..3, 0..5]), (2, 10));
        assert_eq!(runs(&[0..4, 0..3, 0..2]), (12, 2));
    }

    #[test]
    fn what_waits_is_what_is_in_no_whole_chunk() {
        let (sizes, chunk) = ([7, 4], [3, 2]);
        let location = Location::Chunks(Chunks::packed(&sizes, &chunk));
        let all = location.spans(&[0..7, 0..4]);
        for bounds in boxes(&sizes) {
            let waiting = |whole: &&Bounds| common(whole, &bounds).as_ref() != Some(*whole);
            let of_part = |part: &Bounds| common(part, &bounds).map_or(0, |both| elements(&both));
            let expected: usize = all.iter().filter(waiting).map(of_part).sum();
            assert_eq!(location.waiting(&bounds), expected, "{bounds:?}");
        }
    }

    #[test]
    fn the_first_of_many_spans_is_found_without_a_list_of_all() {
        let location = Location::Chunks(Chunks::packed(&[1 << 12; 5], &[1; 5]));
        let bounds = [1..4096, 2..4096, 3..4096, 4..4096, 5..4096];
        assert_eq!(location.first_span(&bounds), Some(vec![1..2, 2..3, 3..4, 4..5, 5..6]));
        let count: usize = bounds.iter().map(Range::len).product();
        assert_eq!(location.count_spans(&bounds), count);
    }

    #[test]
    fn chunks_hold_every_element_once_and_follow_one_another() {
        let location =
            Location::Chunks(Chunks::new(vec![vec![0, 1, 4], vec![1, 3, 4], vec![0, 5]]));
        let whole = [0..4, 1..4, 0..5];
        let spans = location.spans(&whole);
        assert_eq!(spans.len(), 4);
        for bounds in boxes(&[4, 3, 5]) {
            let bounds = [bounds[0].clone(), bounds[1].start + 1..bounds[1].end + 1, 0..5];
            let spans = location.spans(&bounds);
            assert_eq!(location.count_spans(&bounds), spans.len(), "{bounds:?}");
            assert_eq!(location.first_span(&bounds).as_ref(), spans.first(), "{bounds:?}");
        }
        let all: Vec<usize> = spans.iter().flat_map(|span| positions(&location, span)).collect();
        assert_eq!(all, (0..elements(&whole)).collect::<Vec<_>>());
        for bounds in boxes(&[4, 3, 5]) {
            let bounds = [bounds[0].clone(), bounds[1].start + 1..bounds[1].end + 1, 0..5];
            for span in location.spans(&bounds) {
                let around = spans.iter().find(|chunk| common(chunk, &span).is_some()).unwrap();
                assert_eq!(common(around, &span).as_ref(), Some(&span), "within one chunk");
                let chunk = positions(&location, around);
                let of_index = |index: &Vec<usize>| {
                    chunk[indices(around).iter().position(|each| each == index).unwrap()]
                };
                let expected: Vec<usize> = indices(&span).iter().map(of_index).collect();
                assert_eq!(positions(&location, &span), expected);
            }
        }
    }
}
