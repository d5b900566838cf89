//! Restricts index maps to boxes of the output (a chunk, a tile, the share of a thread) or of the source, and finds the
//! source box that a map reads.

use alloc::vec::Vec;
use core::ops::Range;

use super::region::{AffineForm, Coordinate, CutForm, IndexedForm, NotOne, ReversedRow};
use super::{AxisMap, IndexMap, Layer, Line, Piece, Region, Room, visit_preimage};
use crate::shape::check_sizes;
use crate::{Layout, MoveError, Result, Shape, ShapeError};

impl IndexMap {
    /// Restricts the map to the output indices within `bounds`, one range for each output axis.
    ///
    /// Law: `f.restrict(b).source_of(i) == f.source_of(b.start + i)`.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if the number of ranges differs from the number of output axes,
    /// [`ShapeError::RangeOutOfBounds`] if a range runs backwards or reaches outside the output.
    pub fn restrict(&self, bounds: &[Range<usize>]) -> Result<IndexMap> {
        check_bounds(bounds, self.out_shape(), "the shape of the output")?;
        let starts = bounds.iter().map(|range| range.start.cast_signed());
        Ok(self.followed(&shifted(shape_of(bounds)?, self.out_shape(), starts)))
    }

    /// Finds the smallest source box, one range for each source axis, that contains every element that the map reads.
    ///
    /// All ranges are empty for an empty output. Returns `None` if the output cannot be divided into at most `most`
    /// boxes over which every coordinate is a linear form.
    ///
    /// Law: each range contains the coordinate of every output index. The map reads the first and the last coordinate
    /// of each range.
    pub fn source_bounds(&self, most: usize) -> Option<Vec<Range<usize>>> {
        if self.out_shape().elements() == 0 {
            return Some(vec![0..0; self.in_shape().rank()]);
        }
        let packed = Layout::row_major(self.out_shape(), 1).ok()?;
        let whole = Region::of(&packed);
        let bounds = match &self.layers[..] {
            // Handle each axis alone, so that the number of boxes is not the product over all axes.
            [Layer { axes: Some(axes), .. }] => {
                axes.iter().map(|axis| bounds_of_axis(axis, whole.clone())).collect::<Option<_>>()
            }
            layers => {
                let mut bounds: Option<Vec<Range<isize>>> = None;
                visit_preimage(layers, whole, &mut Room::of_boxes(most), |region| {
                    let reached = region.coordinates.iter().map(|each| region.reached(each));
                    match &mut bounds {
                        None => bounds = Some(reached.collect()),
                        Some(bounds) => {
                            let both = bounds.iter_mut().zip(reached);
                            both.for_each(|(own, more)| *own = join(own, &more));
                        }
                    }
                    Some(())
                })?;
                bounds
            }
        };
        let unsigned = |range: Range<isize>| range.start.unsigned_abs()..range.end.unsigned_abs();
        Some(bounds?.into_iter().map(unsigned).collect())
    }

    /// Returns the same map for a source that has only the elements within `bounds`, one range for each source axis.
    ///
    /// Law: `f.within_source(b).source_of(i) + b.start == f.source_of(i)`.
    ///
    /// The bounds should contain [`IndexMap::source_bounds`]; with smaller bounds, callers must not use output indices
    /// whose source lies outside, and [`Move::new`](crate::Move::new) returns an error.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if the number of ranges differs from the number of source axes,
    /// [`ShapeError::RangeOutOfBounds`] if a range runs backwards or reaches outside the source.
    pub fn within_source(&self, bounds: &[Range<usize>]) -> Result<IndexMap> {
        check_bounds(bounds, self.in_shape(), "the shape of the source")?;
        let starts = bounds.iter().map(|range| -range.start.cast_signed());
        Ok(shifted(self.in_shape().clone(), &shape_of(bounds)?, starts).followed(self))
    }

    /// Checks that no layer reads outside its source. Only the result of [`IndexMap::within_source`] may do so.
    ///
    /// # Errors
    /// [`MoveError::CoordinateOutOfBounds`] if a layer does.
    pub(crate) fn check_layers(&self) -> Result<()> {
        self.layers.iter().try_for_each(Layer::check)
    }

    /// Checks that the first layer does not read outside the source, even at indices that the other layers never use.
    /// Only such a map can be composed with an earlier map.
    ///
    /// # Errors
    /// [`MoveError::CoordinateOutOfBounds`] if it does.
    pub(crate) fn check_source(&self) -> Result<()> {
        self.layers.first().map_or(Ok(()), Layer::check)
    }
}

impl Layer {
    fn check(&self) -> Result<()> {
        if self.out_shape.elements() == 0 {
            return Ok(());
        }
        for (axis, size) in self.axes.iter().flatten().zip(self.in_shape.iter()) {
            let reached = axis.reached(&self.out_shape).unwrap_or(isize::MIN..isize::MAX);
            if reached.start < 0 || reached.end.unsigned_abs() > *size {
                return Err(MoveError::CoordinateOutOfBounds { range: reached, size: *size }.into());
            }
        }
        Ok(())
    }
}

fn shifted(out_shape: Shape, in_shape: &Shape, starts: impl Iterator<Item = isize>) -> IndexMap {
    let shifted = |(axis, start)| AxisMap::Affine { axis, line: Line { start, step: 1 } };
    IndexMap::new(out_shape, in_shape.clone(), starts.enumerate().map(shifted).collect())
}

pub(crate) fn shape_of(bounds: &[Range<usize>]) -> Result<Shape, ShapeError> {
    Shape::new(bounds.iter().map(Range::len).collect::<Vec<_>>())
}

impl AxisMap {
    /// The half-open range of the coordinates over a nonempty output; `None` if unknown.
    fn reached(&self, out_shape: &Shape) -> Option<Range<isize>> {
        let pieces = self.axis().and_then(|axis| self.pieces(out_shape[axis]));
        let Some(pieces) = pieces else {
            return bounds_of_axis(self, Region::of(&Layout::row_major(out_shape, 1).ok()?));
        };
        // A region would search all pieces for each cut.
        let mut begin = 0;
        let mut reached: Option<Range<isize>> = None;
        for Piece { end, line } in pieces {
            let piece = line.range(begin..end.cast_signed());
            reached = Some(reached.map_or(piece.clone(), |reached| join(&reached, &piece)));
            begin = end.cast_signed();
        }
        reached
    }
}

/// The half-open range of the coordinates of `axis` over a region; `None` if unknown.
fn bounds_of_axis(axis: &AxisMap, whole: Region) -> Option<Range<isize>> {
    let mut bounds: Option<Range<isize>> = None;
    let mut stack = vec![whole];
    while let Some(mut region) = stack.pop() {
        match region.through_axis(axis) {
            Ok((coordinate, new_loop)) => {
                region.sizes.extend(new_loop);
                let reached = region.reached(&coordinate);
                bounds = Some(bounds.map_or(reached.clone(), |bounds| join(&bounds, &reached)));
            }
            Err(NotOne::Cut(parts)) => stack.extend(parts),
            Err(NotOne::Never) => return None,
        }
    }
    bounds
}

impl Line {
    fn range(self, indices: Range<isize>) -> Range<isize> {
        self.range_between(indices.start, indices.end - 1)
    }

    fn range_between(self, one: isize, other: isize) -> Range<isize> {
        let (one, other) = (self.at(one), self.at(other));
        one.min(other)..one.max(other).saturating_add(1)
    }
}

fn join(left: &Range<isize>, right: &Range<isize>) -> Range<isize> {
    left.start.min(right.start)..left.end.max(right.end)
}

/// Checks that `bounds` has one range within each axis of `shape`. `axes` names the axes in errors.
pub(crate) fn check_bounds(
    bounds: &[Range<usize>],
    shape: &Shape,
    axes: &'static str,
) -> Result<()> {
    check_sizes(("bounds", bounds.len()), (axes, shape.rank()))?;
    let outside = bounds
        .iter()
        .zip(shape.iter())
        .find(|(range, size)| range.start > range.end || range.end > **size);
    match outside {
        Some((range, size)) => {
            Err(ShapeError::RangeOutOfBounds { range: range.clone(), size: *size }.into())
        }
        None => Ok(()),
    }
}

impl Region {
    /// Checks that every coordinate lies within `shape`.
    ///
    /// # Errors
    /// [`MoveError::CoordinateOutOfBounds`] if one lies outside.
    pub(crate) fn check_within(&self, shape: &Shape) -> Result<()> {
        for (coordinate, size) in self.coordinates.iter().zip(shape.iter()) {
            let Range { start, end } = self.reached(coordinate);
            if start < 0 || end.unsigned_abs() > *size {
                return Err(
                    MoveError::CoordinateOutOfBounds { range: start..end, size: *size }.into()
                );
            }
        }
        Ok(())
    }

    fn reached(&self, coordinate: &Coordinate) -> Range<isize> {
        match coordinate {
            Coordinate::Linear(form) => self.range_of(form),
            Coordinate::Cut(cut) => self.range_of_cut(cut),
            Coordinate::Ragged(row) => self.range_of_row(row),
            Coordinate::Indexed(indexed) => self.range_of_indexed(indexed),
        }
    }

    fn range_of(&self, form: &AffineForm) -> Range<isize> {
        let (mut least, mut greatest) = (form.start, form.start);
        for term in &form.terms {
            let far = term.step * (self.sizes[term.number].cast_signed() - 1);
            if far < 0 { least += far } else { greatest += far }
        }
        least..greatest + 1
    }

    fn range_of_cut(&self, cut: &CutForm) -> Range<isize> {
        let along = |steps: Range<usize>, form: &AffineForm| {
            let step = form.step(cut.number);
            let others = self.range_of(&form.without(cut.number));
            let line =
                Line { start: 0, step }.range(steps.start.cast_signed()..steps.end.cast_signed());
            others.start + line.start..others.end + line.end - 1
        };
        let (first, second) = (0..cut.at, cut.at..self.sizes[cut.number]);
        join(&along(first, &cut.first), &along(second, &cut.second))
    }

    fn range_of_row(&self, row: &ReversedRow) -> Range<isize> {
        let along = row.before.range(0..self.sizes[row.number].cast_signed());
        let (first, last) = (along.start, along.end - 1);
        let (mut least, mut greatest) = (isize::MAX, isize::MIN);
        let mut meet = |j: isize| (least, greatest) = (least.min(j), greatest.max(j));
        self.for_each_value(&row.entry, |entry| {
            let length = row.lengths[entry.unsigned_abs()].cast_signed();
            if first < length {
                meet(length - 1 - first);
                meet(length - 1 - last.min(length - 1));
            }
            if last >= length {
                meet(first.max(length));
                meet(last);
            }
        });
        row.after.range_between(least, greatest)
    }

    fn range_of_indexed(&self, indexed: &IndexedForm) -> Range<isize> {
        let (mut least, mut greatest) = (usize::MAX, 0);
        self.for_each_value(&indexed.entry, |entry| {
            let index = indexed.indices[entry.unsigned_abs()];
            (least, greatest) = (least.min(index), greatest.max(index));
        });
        indexed.line.range_between(least.cast_signed(), greatest.cast_signed())
    }

    /// Calls `visit` with every value of a form, possibly several times.
    fn for_each_value(&self, form: &AffineForm, mut visit: impl FnMut(isize)) {
        let Some((longest, others)) = (0..form.terms.len())
            .max_by_key(|at| self.sizes[form.terms[*at].number])
            .map(|at| (form.terms[at], form.without(form.terms[at].number)))
        else {
            return visit(form.start);
        };
        let sizes: Vec<usize> = others.terms.iter().map(|term| self.sizes[term.number]).collect();
        crate::shape::for_each_index(&sizes, |index| {
            let terms = index.iter().zip(&others.terms);
            let steps = terms.map(|(i, term)| i.cast_signed() * term.step);
            let start = others.start + steps.sum::<isize>();
            // A simple loop for the longest dimension: large tables are read completely here.
            for i in 0..self.sizes[longest.number].cast_signed() {
                visit(start + i * longest.step);
            }
        });
    }
}
