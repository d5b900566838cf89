//! Where the elements of a tensor stand in a file.

use std::ops::Range;

/// One range of indices for each axis.
pub(crate) type Bounds = Vec<Range<usize>>;

/// The order of a tensor's elements in a file. Numbers of elements count from the first one there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Packed, the last axis the fastest.
    RowMajor {
        /// The sizes of the axes.
        sizes: Vec<usize>,
    },
    /// Boxes behind one another, each of them packed, the last axis the fastest.
    Cells(Cells),
}

trundle::fingerprint!(enum Place { "row-major" RowMajor { sizes }, "cells" Cells(cells) });

/// A box of a tensor cut along its axes. The cells stand in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    /// For each axis where the cells begin, rising, and where the last one ends.
    cuts: Vec<Vec<usize>>,
}

trundle::fingerprint!(struct Cells { cuts });

/// Stretches of neighbouring elements, all of one length, at regular distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    /// The number of the first element.
    first: usize,
    /// The elements of a run.
    pub(crate) len: usize,
    /// Loops over runs, the outermost first: the steps, and how many elements lie between two.
    loops: Vec<(usize, usize)>,
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

impl Place {
    /// The runs that `bounds` are, in row-major order of their elements. Of cells, `bounds` lie
    /// within one.
    pub(crate) fn runs(&self, bounds: &[Range<usize>]) -> Runs {
        match self {
            Place::RowMajor { sizes } => Runs::of(0, sizes, bounds),
            Place::Cells(cells) => {
                let (first, cell) = cells.around(bounds);
                let sizes: Vec<usize> = cell.iter().map(Range::len).collect();
                let within: Bounds = bounds
                    .iter()
                    .zip(&cell)
                    .map(|(range, cell)| range.start - cell.start..range.end - cell.start)
                    .collect();
                Runs::of(first, &sizes, &within)
            }
        }
    }

    /// How many elements stand there.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Place::RowMajor { sizes } => sizes.iter().product(),
            Place::Cells(cells) => cells.cuts.iter().map(|cuts| extent(cuts)).product(),
        }
    }

    /// How many [`Place::pieces`] `bounds` are.
    pub(crate) fn count_pieces(&self, bounds: &[Range<usize>]) -> usize {
        let along = |(range, cuts): (&Range<usize>, &Vec<usize>)| {
            let first = cuts.partition_point(|cut| *cut <= range.start);
            let end = cuts.partition_point(|cut| *cut < range.end);
            (end + 1).saturating_sub(first)
        };
        match self {
            Place::RowMajor { .. } => 1,
            Place::Cells(cells) => bounds.iter().zip(&cells.cuts).map(along).product(),
        }
    }

    /// `bounds` cut where it is not one piece here.
    pub(crate) fn pieces(&self, bounds: &[Range<usize>]) -> Vec<Bounds> {
        match self {
            Place::RowMajor { .. } => vec![bounds.to_vec()],
            Place::Cells(cells) => cells.pieces(bounds),
        }
    }
}

impl Cells {
    /// The cells that begin at `cuts`, rising for each axis; the last cut of each is an end.
    pub(crate) fn new(cuts: Vec<Vec<usize>>) -> Cells {
        Cells { cuts }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.cuts.iter().map(|cuts| cuts.len() - 1).fold(1, usize::saturating_mul)
    }

    /// The number of the first element of the cell around `bounds`, and its box.
    fn around(&self, bounds: &[Range<usize>]) -> (usize, Bounds) {
        let cell: Bounds = bounds
            .iter()
            .zip(&self.cuts)
            .map(|(range, cuts)| {
                let number = cuts.partition_point(|cut| *cut <= range.start) - 1;
                cuts[number]..cuts[number + 1]
            })
            .collect();
        // Along the first axes as many as the cell has, along this one those before it, along the
        // others all.
        let mut first = 0;
        for (axis, (range, cuts)) in cell.iter().zip(&self.cuts).enumerate() {
            let outer: usize = cell[..axis].iter().map(Range::len).product();
            let inner: usize = self.cuts[axis + 1..].iter().map(|cuts| extent(cuts)).product();
            first += outer * (range.start - cuts[0]) * inner;
        }
        (first, cell)
    }

    /// `bounds` cut into parts of cells, in the order of the cells.
    fn pieces(&self, bounds: &[Range<usize>]) -> Vec<Bounds> {
        let mut pieces = vec![Vec::with_capacity(bounds.len())];
        for (range, cuts) in bounds.iter().zip(&self.cuts) {
            let along: Bounds = cuts
                .windows(2)
                .map(|cut| cut[0].max(range.start)..cut[1].min(range.end))
                .filter(|part| !part.is_empty())
                .collect();
            pieces = pieces
                .iter()
                .flat_map(|piece| {
                    along.iter().map(|part| [&piece[..], std::slice::from_ref(part)].concat())
                })
                .collect();
        }
        pieces
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

    /// The runs of `bounds` in a packed box of `sizes` whose first element has the number `first`.
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

    /// The number of the first element of a run.
    pub(crate) fn start(&self, mut number: usize) -> usize {
        let mut start = self.first;
        for (steps, distance) in self.loops.iter().rev() {
            start += number % steps * distance;
            number /= steps;
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the elements of `bounds`, in row-major order, from its runs.
    fn numbers(place: &Place, bounds: &[Range<usize>]) -> Vec<usize> {
        let runs = place.runs(bounds);
        let run = |number| (0..runs.len).map(move |i| (number, i));
        (0..runs.count()).flat_map(run).map(|(number, i)| runs.start(number) + i).collect()
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
            let place = Place::RowMajor { sizes: sizes.to_vec() };
            for bounds in boxes(sizes) {
                let expected: Vec<usize> = indices(&bounds)
                    .iter()
                    .map(|index| index.iter().zip(sizes).fold(0, |n, (i, size)| n * size + i))
                    .collect();
                assert_eq!(numbers(&place, &bounds), expected, "{bounds:?} of {sizes:?}");
            }
        }
    }

    #[test]
    fn whole_boxes_are_one_run() {
        let place = Place::RowMajor { sizes: vec![4, 3, 5] };
        let runs = |bounds: &[Range<usize>]| {
            let runs = place.runs(bounds);
            (runs.count(), runs.len)
        };
        assert_eq!(runs(&[0..4, 0..3, 0..5]), (1, 60));
        assert_eq!(runs(&[1..3, 0..3, 0..5]), (1, 30));
        assert_eq!(runs(&[1..2, 1..2, 1..4]), (1, 3));
        assert_eq!(runs(&[1..3, 1..3, 0..5]), (2, 10));
        assert_eq!(runs(&[0..4, 0..3, 0..2]), (12, 2));
    }

    #[test]
    fn cells_hold_every_element_once_and_stand_behind_one_another() {
        let place = Place::Cells(Cells::new(vec![vec![0, 1, 4], vec![1, 3, 4], vec![0, 5]]));
        let whole = [0..4, 1..4, 0..5];
        let pieces = place.pieces(&whole);
        assert_eq!(pieces.len(), 4);
        for bounds in boxes(&[4, 3, 5]) {
            let bounds = [bounds[0].clone(), bounds[1].start + 1..bounds[1].end + 1, 0..5];
            assert_eq!(place.count_pieces(&bounds), place.pieces(&bounds).len(), "{bounds:?}");
        }
        let all: Vec<usize> = pieces.iter().flat_map(|piece| numbers(&place, piece)).collect();
        assert_eq!(all, (0..elements(&whole)).collect::<Vec<_>>());
        for bounds in boxes(&[4, 3, 5]) {
            let bounds = [bounds[0].clone(), bounds[1].start + 1..bounds[1].end + 1, 0..5];
            for piece in place.pieces(&bounds) {
                let around = pieces.iter().find(|cell| common(cell, &piece).is_some()).unwrap();
                assert_eq!(common(around, &piece).as_ref(), Some(&piece), "within one cell");
                let cell = numbers(&place, around);
                let of_index = |index: &Vec<usize>| {
                    cell[indices(around).iter().position(|each| each == index).unwrap()]
                };
                let expected: Vec<usize> = indices(&piece).iter().map(of_index).collect();
                assert_eq!(numbers(&place, &piece), expected);
            }
        }
    }
}
