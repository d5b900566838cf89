//! Positions of elements in files.

use std::collections::BTreeSet;
use std::iter::once;
use std::ops::Range;

use trundle::Width;

/// A box: one range of indices for each axis.
pub(crate) type Bounds = Vec<Range<usize>>;

/// The layout of a tensor in a file: it is cut along its axes into chunks, which follow one another in row-major order.
/// A row-major tensor is a single chunk. All positions are in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// For each axis, the start of each chunk in ascending order, and the end of the last chunk.
    cuts: Vec<Vec<usize>>,
    /// Whether chunks are encoded. The parts of an incomplete chunk wait in an intermediate until it is complete.
    is_packed: bool,
    /// The number of trailing axes that are always read whole, because they form a chunk of the stored file; 0 if
    /// elements can be read individually.
    chunk_axes: usize,
    /// The picoseconds to decode an element on one core.
    decoding: u64,
}

trundle::internal::fingerprint!(struct Location { cuts, is_packed, chunk_axes, decoding });

/// Contiguous ranges of elements (runs) of equal lengths at regular distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    first: usize,
    pub(crate) len: usize,
    /// Loops over the runs, outermost first: number of iterations, and distance in elements.
    loops: Vec<(usize, usize)>,
}

/// Returns the size of an element in memory in bytes. A sub-byte element takes one byte.
pub(crate) fn unit(width: Width) -> usize {
    match width {
        Width::Bytes(bytes) => bytes,
        Width::SubByte(_) => 1,
    }
}

pub(crate) fn file_bytes(width: Width, elements: usize) -> usize {
    width.bytes(elements.saturating_mul(width.units()))
}

pub(crate) fn elements(bounds: &[Range<usize>]) -> usize {
    bounds.iter().map(Range::len).product()
}

#[cfg(test)]
pub(crate) fn common(one: &[Range<usize>], other: &[Range<usize>]) -> Option<Bounds> {
    let along = |(one, other): (&Range<usize>, &Range<usize>)| {
        let range = one.start.max(other.start)..one.end.min(other.end);
        (!range.is_empty()).then_some(range)
    };
    one.iter().zip(other).map(along).collect()
}

impl Location {
    /// Makes a location with these chunk edges along each axis, both ends included.
    pub(crate) fn chunks(cuts: Vec<Vec<usize>>) -> Location {
        Location { cuts, is_packed: false, chunk_axes: 0, decoding: 0 }
    }

    /// Cuts a whole tensor into equal chunks (shorter at the end of an axis), which are encoded when complete.
    pub(crate) fn packed(sizes: &[usize], chunk: &[usize]) -> Location {
        let cuts = |(size, chunk): (&usize, &usize)| {
            (0..*size).step_by(*chunk).chain(once(*size)).collect()
        };
        let cuts = sizes.iter().zip(chunk).map(cuts).collect();
        Location { is_packed: true, ..Location::chunks(cuts) }
    }

    pub(crate) fn row_major(sizes: &[usize]) -> Location {
        Location::chunks(sizes.iter().map(|size| vec![0, *size]).collect())
    }

    /// Makes the location of a stored tensor whose last `chunk_axes` axes form a chunk. `decoding` is the picoseconds
    /// to decode an element on one core.
    pub(crate) fn stored(sizes: &[usize], chunk_axes: usize, decoding: u64) -> Location {
        Location { chunk_axes, decoding, ..Location::row_major(sizes) }
    }

    /// Returns the number of elements that must be read to get `bounds`.
    pub(crate) fn covered(&self, bounds: &[Range<usize>]) -> usize {
        // If there are no outer axes, the tensor is one chunk.
        let (outer, chunk) = bounds.split_at(bounds.len() - self.chunk_axes);
        let of_chunk: usize = self.cuts[outer.len()..][..chunk.len()].iter().map(extent).product();
        elements(outer).saturating_mul(of_chunk)
    }

    pub(crate) fn decoding(&self, bounds: &[Range<usize>]) -> u64 {
        match self.decoding {
            0 => 0,
            each => (self.covered(bounds) as u64).saturating_mul(each),
        }
    }

    /// Returns the number of elements of `bounds` in incomplete chunks, which wait for the rest of their chunk.
    pub(crate) fn waiting(&self, bounds: &[Range<usize>]) -> usize {
        if !self.is_packed {
            return 0;
        }
        let whole = |(range, cuts): (&Range<usize>, &Vec<usize>)| {
            let first = cuts.partition_point(|cut| *cut < range.start);
            let end = cuts.partition_point(|cut| *cut <= range.end);
            let ends = cuts.get(first).zip(end.checked_sub(1).map(|last| cuts[last]));
            ends.map_or(0, |(first, last)| last.saturating_sub(*first))
        };
        let whole: usize = bounds.iter().zip(&self.cuts).map(whole).product();
        elements(bounds) - whole
    }

    /// Returns the chunk edges along each axis; empty if the tensor is row-major.
    pub(crate) fn edges(&self) -> &[Vec<usize>] {
        if self.is_packed || self.count() > 1 { &self.cuts } else { &[] }
    }

    pub(crate) fn count(&self) -> usize {
        self.cuts.iter().map(|cuts| cuts.len() - 1).fold(1, usize::saturating_mul)
    }

    /// Joins neighbouring chunks along an axis if the range of each of `boxes` on this axis contains both or neither.
    pub(crate) fn joined(&self, boxes: &[&Bounds]) -> Location {
        let along = |(axis, cuts): (usize, &Vec<usize>)| {
            let edges: BTreeSet<usize> =
                boxes.iter().flat_map(|each| [each[axis].start, each[axis].end]).collect();
            let is_needed =
                |around: &&[usize]| edges.range(around[0] + 1..around[2]).next().is_some();
            let inner = cuts.windows(3).filter(is_needed).map(|around| around[1]);
            once(cuts[0]).chain(inner).chain(once(cuts[cuts.len() - 1])).collect()
        };
        let cuts = self.cuts.iter().enumerate().map(along).collect();
        Location { cuts, ..self.clone() }
    }

    /// Returns the runs of `bounds` in row-major order. `bounds` must be within one chunk.
    pub(crate) fn runs(&self, bounds: &[Range<usize>]) -> Runs {
        let (first, chunk) = self.around(bounds);
        Runs::of(first, &chunk, bounds)
    }

    /// Returns the distance between neighbours along each axis of `bounds`, which must be within one chunk.
    pub(crate) fn strides(&self, bounds: &[Range<usize>]) -> Vec<usize> {
        let chunk = self.around(bounds).1;
        (1..=chunk.len()).map(|axis| elements(&chunk[axis..])).collect()
    }

    /// Returns the position of the first element of the chunk around `bounds`, and the number of its elements.
    pub(crate) fn chunk_around(&self, bounds: &[Range<usize>]) -> (usize, usize) {
        let (first, chunk) = self.around(bounds);
        (first, elements(&chunk))
    }

    pub(crate) fn elements(&self) -> usize {
        self.cuts.iter().map(extent).product()
    }

    pub(crate) fn count_spans(&self, bounds: &[Range<usize>]) -> usize {
        self.parts(bounds).map(|parts| parts.len()).product()
    }

    /// Returns the first box of [`Location::spans`] without allocating the others; `None` if `bounds` is empty.
    pub(crate) fn first_span(&self, bounds: &[Range<usize>]) -> Option<Bounds> {
        self.parts(bounds).map(|mut parts| parts.next()).collect()
    }

    /// Cuts `bounds` at chunk edges, in the order of the chunks.
    pub(crate) fn spans(&self, bounds: &[Range<usize>]) -> Vec<Bounds> {
        boxes(self.parts(bounds))
    }

    /// Returns the position of the first element of the chunk around `bounds`, and the chunk's box.
    fn around(&self, bounds: &[Range<usize>]) -> (usize, Bounds) {
        let along = |(range, cuts): (&Range<usize>, &Vec<usize>)| {
            let index = cuts.partition_point(|cut| *cut <= range.start) - 1;
            cuts[index]..cuts[index + 1]
        };
        let chunk: Bounds = bounds.iter().zip(&self.cuts).map(along).collect();
        // For each axis, add the elements before the chunk along this axis: they have the chunk's range along earlier
        // axes and the whole range along later axes.
        let mut first = 0;
        for (axis, (range, cuts)) in chunk.iter().zip(&self.cuts).enumerate() {
            let inner: usize = self.cuts[axis + 1..].iter().map(extent).product();
            first += elements(&chunk[..axis]) * (range.start - cuts[0]) * inner;
        }
        (first, chunk)
    }

    /// Returns, for each axis, the ranges into which chunk edges cut `bounds`.
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
}

/// Returns all boxes with one of the given ranges along each axis, in row-major order.
pub(crate) fn boxes(axes: impl Iterator<Item = impl Iterator<Item = Range<usize>>>) -> Vec<Bounds> {
    axes.fold(vec![Vec::new()], |boxes, ranges| {
        let ranges: Bounds = ranges.collect();
        let with_each = |each: &Bounds| {
            let each = each.clone();
            ranges.iter().map(move |range| [&each[..], std::slice::from_ref(range)].concat())
        };
        boxes.iter().flat_map(with_each).collect()
    })
}

fn extent(cuts: impl AsRef<[usize]>) -> usize {
    let cuts = cuts.as_ref();
    cuts[cuts.len() - 1] - cuts[0]
}

impl Runs {
    pub(crate) fn all(elements: usize) -> Runs {
        Runs { first: 0, len: elements, loops: Vec::new() }
    }

    /// Returns the runs of `bounds` in the contiguous box `whole` around it, which starts at position `first`.
    fn of(mut first: usize, whole: &[Range<usize>], bounds: &[Range<usize>]) -> Runs {
        let (mut len, mut stride) = (1, 1);
        let mut loops: Vec<(usize, usize)> = Vec::new();
        for (range, whole) in bounds.iter().zip(whole).rev() {
            first += (range.start - whole.start) * stride;
            match loops.last_mut() {
                None if len == stride => len *= range.len(),
                // If the outer loop continues where the inner one ends, join them.
                Some((steps, distance)) if *steps * *distance == stride => *steps *= range.len(),
                _ if range.len() > 1 => loops.push((range.len(), stride)),
                _ => {}
            }
            stride *= whole.len();
        }
        loops.reverse();
        Runs { first, len, loops }
    }

    pub(crate) fn count(&self) -> usize {
        self.loops.iter().map(|(steps, _)| steps).product()
    }

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
    fn elements_of_incomplete_chunks_wait() {
        let (sizes, chunk) = ([7, 4], [3, 2]);
        let location = Location::packed(&sizes, &chunk);
        let all = location.spans(&[0..7, 0..4]);
        for bounds in boxes(&sizes) {
            let waiting = |whole: &&Bounds| common(whole, &bounds).as_ref() != Some(*whole);
            let of_part = |part: &Bounds| common(part, &bounds).map_or(0, |both| elements(&both));
            let expected: usize = all.iter().filter(waiting).map(of_part).sum();
            assert_eq!(location.waiting(&bounds), expected, "{bounds:?}");
        }
    }

    #[test]
    fn joined_chunks_are_complete_when_their_parts_are() {
        let location = Location::packed(&[9, 8], &[2, 1]);
        let tiles = [vec![0..3, 0..4], vec![0..3, 4..8], vec![3..9, 0..6], vec![3..9, 6..8]];
        let joined = location.joined(&tiles.iter().collect::<Vec<_>>());
        assert_eq!(joined.cuts, [vec![0, 2, 4, 9], vec![0, 4, 6, 8]]);
        for done in 0..=tiles.len() {
            let covered = |chunk: &Bounds| {
                let of_tile = |tile: &Bounds| common(chunk, tile).map_or(0, |both| elements(&both));
                tiles[..done].iter().map(of_tile).sum::<usize>()
            };
            for chunk in joined.spans(&[0..9, 0..8]) {
                let is_whole = |chunk: &Bounds| covered(chunk) == elements(chunk);
                let parts = location.spans(&chunk);
                assert!(parts.iter().all(|part| is_whole(part) == is_whole(&chunk)), "{chunk:?}");
            }
        }
    }

    #[test]
    fn the_first_span_is_found_without_listing_all() {
        let location = Location::packed(&[1 << 12; 5], &[1; 5]);
        let bounds = [1..4096, 2..4096, 3..4096, 4..4096, 5..4096];
        assert_eq!(location.first_span(&bounds), Some(vec![1..2, 2..3, 3..4, 4..5, 5..6]));
        let count: usize = bounds.iter().map(Range::len).product();
        assert_eq!(location.count_spans(&bounds), count);
    }

    #[test]
    fn chunks_are_consecutive_and_hold_each_element_once() {
        let location = Location::chunks(vec![vec![0, 1, 4], vec![1, 3, 4], vec![0, 5]]);
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
