//! Regions: boxes of an output, over which every source coordinate is a linear form.
//!
//! A box is pulled back through the layers of a map, from the output to the source. It is cut in two where a coordinate
//! jumps, as in a roll, or restarts at 0 because the next outer axis advances, as in an axis that was merged and then
//! rolled. The boxes at the source become the blocks of a move.
//!
//! A region is a nest of loops. `number` is the index of a loop in [`Region::sizes`].

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use super::compose::{OUT_OF_BOUNDS, piece_at};
use super::{AxisMap, Line, Piece, Table};
use crate::Layout;

/// `start + Σ step · i`, where i is the iteration of each loop of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AffineForm {
    pub(crate) start: isize,
    /// At most one term for each loop. Every term has a nonzero step and a loop of at least two iterations.
    pub(crate) terms: Vec<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) number: usize,
    pub(crate) step: isize,
}

/// A coordinate of the tensor that a region has been pulled back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Coordinate {
    Linear(AffineForm),
    Cut(CutForm),
    Ragged(ReversedRow),
    Indexed(IndexedForm),
}

impl Coordinate {
    fn then(&self, line: Line) -> Coordinate {
        match self {
            _ if line.step == 0 => Coordinate::Linear(AffineForm::constant(line.start)),
            Coordinate::Linear(form) => Coordinate::Linear(form.then(line)),
            Coordinate::Cut(cut) => Coordinate::Cut(CutForm {
                first: cut.first.then(line),
                second: cut.second.then(line),
                ..*cut
            }),
            Coordinate::Ragged(row) => {
                Coordinate::Ragged(ReversedRow { after: row.after.then(line), ..row.clone() })
            }
            Coordinate::Indexed(indexed) => {
                let line = indexed.line.then(line);
                Coordinate::Indexed(IndexedForm { line, ..indexed.clone() })
            }
        }
    }
}

/// A coordinate that is `first` before iteration `at` of the loop `number`, and `second` from there on.
///
/// Both parts are nonempty, and both forms have the same steps along all other loops. If another coordinate is cut or
/// ragged along the same loop, it was computed from this coordinate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CutForm {
    pub(crate) number: usize,
    pub(crate) at: usize,
    pub(crate) first: AffineForm,
    pub(crate) second: AffineForm,
}

impl CutForm {
    /// The coordinate for a range of the loop's iterations, if both forms already start at that range.
    fn narrowed(&self, range: &Range<usize>) -> Coordinate {
        match self.at.saturating_sub(range.start) {
            0 => Coordinate::Linear(self.second.clone()),
            at if at >= range.len() => Coordinate::Linear(self.first.clone()),
            at => Coordinate::Cut(CutForm { at, ..self.clone() }),
        }
    }
}

/// A coordinate along a row whose first elements are reversed.
///
/// Let j be `before.at(i)` in iteration i of the loop `number`. The coordinate is `after.at(length - 1 - j)`
/// if j < `length`, and `after.at(j)` otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReversedRow {
    pub(crate) number: usize,
    /// The step is 1 or -1.
    pub(crate) before: Line,
    pub(crate) lengths: Arc<[usize]>,
    /// The position of the row's length in `lengths`. It does not depend on the loop `number`.
    pub(crate) entry: AffineForm,
    pub(crate) after: Line,
}

/// A coordinate that is read from a table: `line.at(indices[entry])`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexedForm {
    pub(crate) indices: Arc<[usize]>,
    /// The position in the table. It depends on a loop; otherwise the coordinate would be linear.
    pub(crate) entry: AffineForm,
    pub(crate) line: Line,
}

impl IndexedForm {
    /// Applies `number` to the coordinate of every table entry, also of unread ones.
    pub(super) fn map(&self, number: impl Fn(isize) -> usize) -> IndexedForm {
        let at = |index: &usize| number(self.line.at(index.cast_signed()));
        let indices = self.indices.iter().map(at).collect();
        IndexedForm { indices, entry: self.entry.clone(), line: Line::IDENTITY }
    }
}

/// A box of the output as nested loops: each element's position in the output, and its coordinates in the
/// tensor that the box has been pulled back to.
///
/// Law: if a box is cut, each of its indices is in exactly one part, with the same position and coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) sizes: Vec<usize>,
    /// The position of an element in the output, in the units of the output's layout.
    pub(crate) position: AffineForm,
    pub(crate) coordinates: Vec<Coordinate>,
}

pub(super) type Evaluated<T> = Result<T, NotOne>;

/// The reason why a coordinate is not a single form over the whole region.
pub(super) enum NotOne {
    /// The caller must evaluate the coordinate again over each part.
    Cut(Vec<Region>),
    /// The coordinate is not linear over any parts.
    Never,
}

impl AffineForm {
    fn constant(start: isize) -> AffineForm {
        AffineForm { start, terms: Vec::new() }
    }

    pub(super) fn then(&self, line: Line) -> AffineForm {
        let step = |term: &Term| Term { step: term.step.wrapping_mul(line.step), ..*term };
        let terms = if line.step == 0 { Vec::new() } else { self.terms.iter().map(step).collect() };
        AffineForm { start: line.at(self.start), terms }
    }

    pub(super) fn add(&mut self, other: &AffineForm, factor: isize) {
        self.start = self.start.wrapping_add(other.start.wrapping_mul(factor));
        for term in &other.terms {
            let step = term.step.wrapping_mul(factor);
            match self.terms.iter_mut().find(|own| own.number == term.number) {
                Some(own) => own.step = own.step.wrapping_add(step),
                None => self.terms.push(Term { number: term.number, step }),
            }
        }
        self.terms.retain(|term| term.step != 0);
    }

    pub(crate) fn without(&self, number: usize) -> AffineForm {
        let others = self.terms.iter().filter(|term| term.number != number);
        AffineForm { start: self.start, terms: others.copied().collect() }
    }

    fn term_of(&self, number: usize) -> Option<&Term> {
        self.terms.iter().find(|term| term.number == number)
    }

    /// 0 if the form does not depend on the loop.
    pub(crate) fn step(&self, number: usize) -> isize {
        self.term_of(number).map_or(0, |term| term.step)
    }
}

impl Region {
    pub(crate) fn of(layout: &Layout) -> Region {
        let sizes = layout.shape().sizes().to_vec();
        let term =
            |number: usize, step: isize| (sizes[number] > 1).then_some(Term { number, step });
        let strides = layout.strides_bytes().iter().enumerate();
        let position = AffineForm {
            start: layout.offset_bytes().cast_signed(),
            terms: strides
                .filter(|(_, stride)| **stride != 0)
                .filter_map(|(number, stride)| term(number, *stride))
                .collect(),
        };
        let coordinates = (0..sizes.len())
            .map(|number| {
                let terms = term(number, 1).into_iter().collect();
                Coordinate::Linear(AffineForm { start: 0, terms })
            })
            .collect();
        Region { sizes, position, coordinates }
    }

    pub(super) fn elements(&self) -> usize {
        self.sizes.iter().product()
    }

    /// All forms of the region. The line `before` of a [`ReversedRow`] also depends on a loop, but is not a form.
    fn forms_mut(&mut self) -> impl Iterator<Item = &mut AffineForm> {
        let coordinates = self.coordinates.iter_mut().flat_map(|coordinate| {
            let (form, second) = match coordinate {
                Coordinate::Linear(form) => (form, None),
                Coordinate::Cut(cut) => (&mut cut.first, Some(&mut cut.second)),
                Coordinate::Ragged(row) => (&mut row.entry, None),
                Coordinate::Indexed(indexed) => (&mut indexed.entry, None),
            };
            core::iter::once(form).chain(second)
        });
        core::iter::once(&mut self.position).chain(coordinates)
    }

    /// The number of boxes after cutting at all cut coordinates.
    pub(crate) fn boxes(&self) -> usize {
        let cuts = (0..self.sizes.len()).filter(|number| self.cut_of(*number).is_some()).count();
        let cuts = u32::try_from(cuts).unwrap_or(u32::MAX);
        1usize.checked_shl(cuts).unwrap_or(usize::MAX)
    }

    /// The iteration of the loop `number` at which a coordinate is cut.
    fn cut_of(&self, number: usize) -> Option<usize> {
        self.coordinates.iter().find_map(|coordinate| match coordinate {
            Coordinate::Cut(cut) if cut.number == number => Some(cut.at),
            _ => None,
        })
    }

    /// The error with two parts of the region, in which the coordinate `cut` is linear.
    fn at_cut<T>(&self, cut: &CutForm) -> Evaluated<T> {
        Err(NotOne::Cut(self.cut_loop(cut.number, [cut.at])))
    }

    pub(super) fn linear<'a>(&self, coordinate: &'a Coordinate) -> Evaluated<&'a AffineForm> {
        match coordinate {
            Coordinate::Linear(form) => Ok(form),
            Coordinate::Cut(cut) => self.at_cut(cut),
            Coordinate::Ragged(_) | Coordinate::Indexed(_) => Err(NotOne::Never),
        }
    }

    fn has_row(&self, number: usize) -> bool {
        self.coordinates
            .iter()
            .any(|coordinate| matches!(coordinate, Coordinate::Ragged(row) if row.number == number))
    }

    /// `range` must not be empty.
    fn narrowed(&self, number: usize, range: &Range<usize>) -> Region {
        let mut part = self.clone();
        let from = range.start.cast_signed();
        part.sizes[number] = range.len();
        for form in part.forms_mut() {
            form.start = form.start.wrapping_add(form.step(number).wrapping_mul(from));
            if range.len() == 1 {
                form.terms.retain(|term| term.number != number);
            }
        }
        for coordinate in &mut part.coordinates {
            match coordinate {
                Coordinate::Cut(cut) if cut.number == number => *coordinate = cut.narrowed(range),
                Coordinate::Ragged(row) if row.number == number => {
                    row.before.start = row.before.at(from);
                }
                _ => {}
            }
        }
        part
    }

    /// Cuts one loop before each of `ends`, which increase.
    fn cut_loop(&self, number: usize, ends: impl IntoIterator<Item = usize>) -> Vec<Region> {
        let mut begin = 0;
        let ends = ends.into_iter().chain([self.sizes[number]]);
        let mut parts = Vec::new();
        for end in ends {
            if end > begin {
                parts.push(self.narrowed(number, &(begin..end)));
                begin = end;
            }
        }
        parts
    }

    /// Reverses the direction of one loop.
    fn turned(mut self, number: usize) -> Region {
        let last = self.sizes[number].cast_signed() - 1;
        for form in self.forms_mut() {
            form.start = form.start.wrapping_add(form.step(number).wrapping_mul(last));
            for term in form.terms.iter_mut().filter(|term| term.number == number) {
                term.step = term.step.wrapping_neg();
            }
        }
        let len = self.sizes[number];
        for coordinate in &mut self.coordinates {
            match coordinate {
                Coordinate::Cut(cut) if cut.number == number => {
                    core::mem::swap(&mut cut.first, &mut cut.second);
                    cut.at = len - cut.at;
                }
                Coordinate::Ragged(row) if row.number == number => {
                    row.before = Line { start: last, step: -1 }.then(row.before);
                }
                _ => {}
            }
        }
        self
    }

    /// Splits one loop in two, the inner one with `inner` iterations, a divisor of the loop's. Returns `None` for a
    /// loop with a row or a cut, which must stay one loop.
    fn split(mut self, number: usize, inner: usize) -> Option<Region> {
        if self.has_row(number) || self.cut_of(number).is_some() {
            return None;
        }
        let outer = self.sizes.len();
        self.sizes.push(self.sizes[number] / inner);
        self.sizes[number] = inner;
        let single = inner == 1;
        let many = self.sizes[outer] > 1;
        for form in self.forms_mut() {
            let step = form.step(number).wrapping_mul(inner.cast_signed());
            if many && step != 0 {
                form.terms.push(Term { number: outer, step });
            }
            form.terms.retain(|term| !(single && term.number == number));
        }
        Some(self)
    }

    /// The maximum of a form with positive steps.
    fn highest(&self, form: &AffineForm) -> isize {
        form.start + form.terms.iter().map(|term| self.span(term)).sum::<isize>()
    }

    /// The difference between the values of a form in the last and the first iteration of a loop.
    fn span(&self, term: &Term) -> isize {
        term.step.wrapping_mul(self.sizes[term.number].cast_signed() - 1)
    }

    /// Whether a form is below `at` over the whole region; cuts the region if it is below in a part.
    pub(super) fn is_below(&self, form: &AffineForm, at: isize) -> Evaluated<bool> {
        if let Some(term) = form.terms.iter().find(|term| term.step < 0) {
            return Err(NotOne::Cut(vec![self.clone().turned(term.number)]));
        }
        let most = self.highest(form);
        if most < at || form.start >= at {
            return Ok(most < at);
        }
        let Some(widest) = form.terms.iter().max_by_key(|term| term.step) else {
            return Err(NotOne::Never);
        };
        // Along the loop with the largest step, the form is first always below `at`, then depending on the other loops,
        // then never.
        let others = most - form.start - self.span(widest);
        let first_at = |least: isize| -> usize {
            let steps = (at - least + widest.step - 1).div_euclid(widest.step);
            steps.max(0).unsigned_abs().min(self.sizes[widest.number])
        };
        let (below, beyond) = (first_at(form.start + others), first_at(form.start));
        // Cut off the first range and one iteration of the second. The rest is evaluated again and cut further.
        Err(NotOne::Cut(self.cut_loop(widest.number, [below, (below + 1).min(beyond)])))
    }

    /// Divides a form by `unit` over the whole region, with a remainder in `0..unit`.
    pub(super) fn divided(
        &self,
        form: &AffineForm,
        unit: isize,
    ) -> Evaluated<(AffineForm, AffineForm)> {
        if unit == 1 {
            return Ok((form.clone(), AffineForm::constant(0)));
        }
        let (whole, mut digits): (Vec<Term>, Vec<Term>) =
            form.terms.iter().partition(|term| term.step % unit == 0);
        if let Some(term) = digits.iter().find(|term| term.step < 0) {
            return Err(NotOne::Cut(vec![self.clone().turned(term.number)]));
        }
        digits.sort_unstable_by_key(|term| term.step);
        let units = digits.iter().skip(1).map(|term| term.step).chain([unit]);
        let mut reached = 0;
        for (digit, next) in digits.iter().zip(units) {
            if next % digit.step != 0 || next == digit.step {
                return Err(NotOne::Never);
            }
            reached += self.span(digit);
            let low = form.start.rem_euclid(next);
            if low + reached >= next {
                return self.uncarried(digit.number, low / digit.step, next / digit.step);
            }
        }
        let step = |term: Term| Term { step: term.step / unit, ..term };
        let quotient = AffineForm {
            start: form.start.div_euclid(unit),
            terms: whole.into_iter().map(step).collect(),
        };
        Ok((quotient, AffineForm { start: form.start.rem_euclid(unit), terms: digits }))
    }

    /// Cuts a loop along which a digit counts from `first` to `base - 1` and then restarts at 0.
    ///
    /// One call makes one cut: after the first cycle or before the last if it is incomplete. If all cycles are
    /// complete, the loop is split into one loop over cycles and one within a cycle.
    fn uncarried<T>(&self, number: usize, first: isize, base: isize) -> Evaluated<T> {
        let (first, base) = (first.unsigned_abs(), base.unsigned_abs());
        let steps = self.sizes[number];
        if first > 0 {
            return Err(NotOne::Cut(self.cut_loop(number, [base - first])));
        }
        let rest = steps % base;
        if rest > 0 {
            return Err(NotOne::Cut(self.cut_loop(number, [steps - rest])));
        }
        if let Some(at) = self.cut_of(number) {
            return Err(NotOne::Cut(self.cut_loop(number, [at])));
        }
        Err(self
            .clone()
            .split(number, base)
            .map_or(NotOne::Never, |split| NotOne::Cut(vec![split])))
    }

    /// Evaluates an axis map at the region's coordinates; returns the coordinate, and the iterations of a loop that
    /// must be added.
    pub(super) fn through_axis(&self, map: &AxisMap) -> Evaluated<(Coordinate, Option<usize>)> {
        let at = match map {
            AxisMap::Affine { axis, .. }
            | AxisMap::Segments { axis, .. }
            | AxisMap::Ragged { axis, .. } => &self.coordinates[*axis],
            AxisMap::Sum { start, steps } => {
                let sum = self.summed(*start, steps)?;
                return Ok((Coordinate::Linear(sum), None));
            }
            AxisMap::Indexed { indices, line } => {
                return Ok((self.indexed(indices, *line)?, None));
            }
        };
        match (map, at) {
            (AxisMap::Affine { line, .. }, at) => Ok((at.then(*line), None)),
            (AxisMap::Segments { pieces, .. }, Coordinate::Indexed(indexed)) => {
                let indexed = indexed.map(|index| piece_at(pieces, index));
                Ok((Coordinate::Indexed(indexed), None))
            }
            (AxisMap::Segments { pieces, .. }, Coordinate::Linear(form)) => {
                for (at, piece) in pieces.iter().enumerate() {
                    let end = match self.along_two(form, &pieces[at..]) {
                        Some(Ok(cut)) => return Ok((Coordinate::Cut(cut), None)),
                        // The first two pieces become one cut coordinate: cut the region only after the second.
                        Some(Err(end)) => end,
                        None => piece.end,
                    };
                    if self.is_below(form, end.cast_signed())? {
                        return Ok((Coordinate::Linear(form.then(piece.line)), None));
                    }
                }
                Err(NotOne::Never)
            }
            (AxisMap::Ragged { before, lengths, after, .. }, Coordinate::Linear(form)) => {
                let entry = self.entry(lengths)?;
                let (number, new_loop, line) = match form.terms[..] {
                    // A row of one element needs its own loop.
                    [] => (self.sizes.len(), Some(1), Line { start: form.start, step: 1 }),
                    [Term { number, step: step @ (1 | -1) }] => {
                        (number, None, Line { start: form.start, step })
                    }
                    _ => return Err(NotOne::Never),
                };
                if entry.term_of(number).is_some() {
                    return Err(NotOne::Never);
                }
                if let Some(at) = self.cut_of(number) {
                    return Err(NotOne::Cut(self.cut_loop(number, [at])));
                }
                let row = ReversedRow {
                    number,
                    before: line.then(*before),
                    lengths: lengths.values().clone(),
                    entry,
                    after: *after,
                };
                Ok((Coordinate::Ragged(row), new_loop))
            }
            (AxisMap::Segments { .. } | AxisMap::Ragged { .. }, Coordinate::Cut(cut)) => {
                self.at_cut(cut)
            }
            (AxisMap::Segments { .. } | AxisMap::Ragged { .. }, Coordinate::Ragged(_))
            | (AxisMap::Ragged { .. }, Coordinate::Indexed(_)) => Err(NotOne::Never),
            (AxisMap::Sum { .. } | AxisMap::Indexed { .. }, _) => {
                unreachable!("maps that read several coordinates are handled before")
            }
        }
    }

    fn indexed(&self, indices: &Table, line: Line) -> Evaluated<Coordinate> {
        let mut varying = indices.varying_axes().map(|axis| (&self.coordinates[axis], axis));
        // The coordinate is itself from a table: combine both tables.
        if let (Some((Coordinate::Indexed(inner), axis)), None) = (varying.next(), varying.next()) {
            let (first, stride) = (indices.offset(), indices.strides()[axis]);
            let of = |index: isize| {
                let entry = first.wrapping_add_signed(index.wrapping_mul(stride));
                indices.values().get(entry).copied().unwrap_or(OUT_OF_BOUNDS)
            };
            let composed = inner.map(of);
            return Ok(Coordinate::Indexed(IndexedForm { line, ..composed }));
        }
        let entry = self.entry(indices)?;
        Ok(match entry.terms[..] {
            [] => {
                let index = indices.values()[entry.start.unsigned_abs()];
                Coordinate::Linear(AffineForm::constant(line.at(index.cast_signed())))
            }
            _ => {
                let indices = indices.values().clone();
                Coordinate::Indexed(IndexedForm { indices, entry, line })
            }
        })
    }

    /// Evaluates the first two of `pieces` as one cut coordinate, if the form passes from one into the other between
    /// two iterations of a loop, whatever the other loops' iterations.
    ///
    /// Otherwise returns `None`, or `Err` with the end of the second piece if the form also passes that end.
    fn along_two(&self, form: &AffineForm, pieces: &[Piece]) -> Option<Result<CutForm, usize>> {
        let [piece, next, ..] = pieces else { return None };
        let (end, highest) = (piece.end.cast_signed(), self.highest(form));
        let Term { number, step } = *form.terms.iter().max_by_key(|term| term.step)?;
        let rises = form.terms.iter().all(|term| term.step > 0);
        let same_steps = form.terms.len() == 1 || piece.line.step == next.line.step;
        if !rises || !same_steps || form.start >= end || highest < end {
            return None;
        }
        if self.cut_of(number).is_some() || self.has_row(number) {
            return None;
        }
        // The first iteration that reaches `end`. Before it, the form must be below `end` for all iterations of the
        // other loops.
        let at = (end - form.start + step - 1) / step;
        let others = highest - form.start - step * (self.sizes[number].cast_signed() - 1);
        if form.start + step * (at - 1) + others >= end {
            return None;
        }
        if highest >= next.end.cast_signed() {
            return Some(Err(next.end));
        }
        let (first, second) = (form.then(piece.line), form.then(next.line));
        Some(Ok(CutForm { number, at: at.unsigned_abs(), first, second }))
    }

    fn entry(&self, table: &Table) -> Evaluated<AffineForm> {
        self.summed(table.offset().cast_signed(), table.strides())
    }

    fn summed(&self, start: isize, steps: &[isize]) -> Evaluated<AffineForm> {
        let mut sum = AffineForm::constant(start);
        for (coordinate, step) in self.coordinates.iter().zip(steps) {
            if *step != 0 {
                sum.add(self.linear(coordinate)?, *step);
            }
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, Table};

    fn elements(region: &Region) -> Vec<(isize, Vec<isize>)> {
        let mut elements = Vec::new();
        crate::shape::for_each_index(&region.sizes, |index| {
            let at = |form: &AffineForm| {
                let step = |term: &Term| term.step * index[term.number].cast_signed();
                form.start + form.terms.iter().map(step).sum::<isize>()
            };
            let coordinate = |coordinate: &Coordinate| match coordinate {
                Coordinate::Linear(form) => at(form),
                Coordinate::Cut(cut) => {
                    let i = index[cut.number];
                    at(if i < cut.at { &cut.first } else { &cut.second })
                }
                Coordinate::Ragged(row) => {
                    let length = row.lengths[at(&row.entry).unsigned_abs()].cast_signed();
                    let j = row.before.at(index[row.number].cast_signed());
                    row.after.at(if j < length { length - 1 - j } else { j })
                }
                Coordinate::Indexed(indexed) => {
                    let index = indexed.indices[at(&indexed.entry).unsigned_abs()];
                    indexed.line.at(index.cast_signed())
                }
            };
            let coordinates = region.coordinates.iter().map(coordinate).collect();
            elements.push((at(&region.position), coordinates));
        });
        elements.sort_unstable();
        elements
    }

    /// A 3 x 6 tensor, with an additional coordinate that reverses 2, 6 and 5 elements of its rows.
    fn with_row() -> Region {
        let layout = Layout::row_major(&Shape::new([3, 6]).unwrap(), 1).unwrap();
        let mut region = Region::of(&layout);
        let row = AxisMap::Ragged {
            axis: 1,
            before: Line::reversal(6),
            lengths: Table::new([2, 6, 5], 0, vec![1, 0]),
            after: Line::IDENTITY,
        };
        let Ok((coordinate, None)) = region.through_axis(&row) else { panic!("a row") };
        region.coordinates.push(coordinate);
        region
    }

    /// The same with a coordinate along its rolled rows: it jumps between two iterations of the second loop.
    fn with_cut() -> Region {
        let layout = Layout::row_major(&Shape::new([3, 6]).unwrap(), 1).unwrap();
        let mut region = Region::of(&layout);
        let roll = AxisMap::from_pieces(
            1,
            [
                Piece { end: 4, line: Line { start: 2, step: 1 } },
                Piece { end: 6, line: Line { start: -4, step: 1 } },
            ],
        );
        let Ok((coordinate @ Coordinate::Cut(_), None)) = region.through_axis(&roll) else {
            panic!("a cut")
        };
        region.coordinates.push(coordinate);
        region
    }

    #[test]
    fn cut_split_and_turned_loops_keep_all_elements() {
        for region in [with_row(), with_cut()] {
            let expected = elements(&region);
            for number in 0..2 {
                assert_eq!(elements(&region.clone().turned(number)), expected);
                for end in 1..region.sizes[number] {
                    let parts = region.cut_loop(number, [end]);
                    assert_eq!(parts.len(), 2);
                    let mut found = parts.iter().flat_map(elements).collect::<Vec<_>>();
                    found.sort_unstable();
                    assert_eq!(found, expected, "loop {number} cut at {end}");
                }
            }
            assert_eq!(elements(&region.clone().split(0, 3).unwrap()), expected);
            assert_eq!(region.split(1, 3), None);
        }
    }

    #[test]
    fn a_form_of_several_loops_is_cut_between_two_steps_of_one() {
        let region = Region::of(&Layout::row_major(&Shape::new([3, 6]).unwrap(), 1).unwrap());
        let terms = vec![Term { number: 0, step: 6 }, Term { number: 1, step: 1 }];
        let form = AffineForm { start: 0, terms };
        let pieces = |ends: &[usize]| -> Vec<Piece> {
            let line = |begin: usize| Line { start: -begin.cast_signed(), step: 1 };
            ends.iter().map(|end| Piece { end: *end, line: line(*end) }).collect()
        };
        let cut = |ends: &[usize]| {
            region.along_two(&form, &pieces(ends)).map(|cut| cut.map(|cut| cut.at))
        };
        assert_eq!(cut(&[6, 18]), Some(Ok(1)));
        assert_eq!(cut(&[12, 18]), Some(Ok(2)));
        assert_eq!(cut(&[7, 18]), None);
        assert_eq!(cut(&[18, 20]), None);
        assert_eq!(cut(&[6, 12, 18]), Some(Err(12)));
    }

    #[test]
    fn a_length_that_varies_along_its_row_is_refused() {
        let region = with_row();
        let along_row = AxisMap::Ragged {
            axis: 1,
            before: Line::IDENTITY,
            lengths: Table::new([1, 2, 3, 4, 5, 6], 0, vec![0, 1]),
            after: Line::IDENTITY,
        };
        assert!(matches!(region.through_axis(&along_row), Err(NotOne::Never)));
    }
}
