//! Restricts a program to a box of a tensor: a tile, a chunk, a task.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Budget, Made, Program, TensorId};
use crate::index_map::{check_bounds, shape_of};
use crate::{IndexMap, Result, Shape};

/// One range of indices for each axis.
pub type Bounds = Vec<Range<usize>>;

/// A program whose only output is a box of a tensor, and the boxes of inputs that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restricted {
    /// The program that makes the box. It has the inputs of the whole program, each with the shape of the box that is
    /// read. An unused input has no elements, unless its rank is 0.
    pub program: Program,
    /// The box of each input that is read; `None` for unused inputs.
    pub reads: Vec<Option<Bounds>>,
}

struct Boxes {
    /// For each tensor, a box that contains all elements that are read, if any.
    boxes: Vec<Option<Bounds>>,
    /// Whether each box is the smallest one, which fails if a map has more boxes than the budget allows.
    is_exact: bool,
}

impl Program {
    /// Returns a program that makes only the elements of a tensor within `bounds`, one range for each axis.
    ///
    /// The box is pulled back through maps and joins, so each tensor is reduced to the box that is read. The box is
    /// larger if the elements do not form boxes, or form more boxes than `budget` allows.
    ///
    /// Law: the output's element at i has the same origin as the tensor's element at `bounds.start + i`. Indices
    /// in an input are relative to the start of the input's box.
    ///
    /// # Errors
    /// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if the program has no such tensor,
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the number of ranges differs from the
    /// number of axes, [`ShapeError::RangeOutOfBounds`](crate::ShapeError::RangeOutOfBounds) if a range runs
    /// backwards or reaches outside the tensor.
    pub fn restrict(
        &self,
        tensor: TensorId,
        bounds: &[Range<usize>],
        budget: &Budget,
    ) -> Result<Restricted> {
        let Boxes { boxes, .. } = self.boxes(tensor, bounds, budget)?;
        let (mut program, mut reads) = (Program::new(), Vec::with_capacity(self.inputs));
        let mut ids = vec![TensorId(0); self.tensors.len()];
        let read_of = |id: TensorId| boxes[id.0].as_deref().unwrap_or_default();
        for (at, whole) in self.tensors.iter().enumerate() {
            let own = boxes.get(at).and_then(Option::as_ref);
            ids[at] = match (&whole.made, own) {
                (Made::Given(_), None) => {
                    reads.push(None);
                    let nothing = Shape::new(vec![0; whole.shape.rank()])?;
                    program.given(nothing, whole.width)?
                }
                (_, None) => continue,
                (Made::Given(_), Some(own)) => {
                    reads.push(Some(own.clone()));
                    program.given(shape_of(own)?, whole.width)?
                }
                (Made::Fill(element), Some(_)) => program.fill(whole.width, element)?,
                (Made::Moved { from, map }, Some(own)) => {
                    let map = map.restrict(own)?;
                    program.moved_within(ids[from.0], &map, read_of(*from))?
                }
                (Made::Joined { axis, .. }, Some(own)) => {
                    let mut parts = Vec::new();
                    for (part, local) in self.parts_within(TensorId(at), own) {
                        let only = IndexMap::identity(&self.tensor(part).shape).restrict(&local)?;
                        let part = program.moved_within(ids[part.0], &only, read_of(part))?;
                        parts.push(part);
                    }
                    match parts[..] {
                        [only] => only,
                        _ => program.joined(*axis, &parts)?,
                    }
                }
            };
        }
        program.outputs = vec![ids[tensor.0]];
        Ok(Restricted { program, reads })
    }

    /// The boxes of the inputs that [`Program::restrict`] reads.
    ///
    /// Returns `None` if a box may be larger than necessary: see [`IndexMap::source_bounds`].
    ///
    /// # Errors
    /// As [`Program::restrict`].
    pub fn source_bounds(
        &self,
        tensor: TensorId,
        bounds: &[Range<usize>],
        budget: &Budget,
    ) -> Result<Option<Vec<Option<Bounds>>>> {
        let Boxes { mut boxes, is_exact } = self.boxes(tensor, bounds, budget)?;
        let is_given = |at: &usize| matches!(self.tensors[*at].made, Made::Given(_));
        let inputs = (0..self.tensors.len()).filter(is_given);
        let read = inputs.map(|at| boxes.get_mut(at).and_then(Option::take)).collect();
        Ok(is_exact.then_some(read))
    }

    fn boxes(&self, tensor: TensorId, bounds: &[Range<usize>], budget: &Budget) -> Result<Boxes> {
        let shape = &self.checked(tensor)?.shape;
        check_bounds(bounds, shape, "the shape of the tensor")?;
        let mut boxes: Vec<Option<Bounds>> = vec![None; tensor.0 + 1];
        boxes[tensor.0] = Some(bounds.to_vec());
        let mut is_exact = true;
        for at in (0..=tensor.0).rev() {
            let Some(own) = boxes[at].take() else { continue };
            match &self.tensors[at].made {
                Made::Given(_) | Made::Fill(_) => {}
                Made::Moved { from, map } => {
                    let part = map.restrict(&own)?;
                    let read = part.source_bounds(budget.most(part.out_shape()));
                    is_exact &= read.is_some();
                    let whole = || map.in_shape().iter().map(|size| 0..*size).collect();
                    add(&mut boxes[from.0], read.unwrap_or_else(whole));
                }
                Made::Joined { .. } => {
                    for (part, local) in self.parts_within(TensorId(at), &own) {
                        add(&mut boxes[part.0], local);
                    }
                }
            }
            boxes[at] = Some(own);
        }
        Ok(Boxes { boxes, is_exact })
    }

    /// The parts of a joined tensor, at least one, that a box overlaps, each with its box.
    fn parts_within(&self, joined: TensorId, bounds: &[Range<usize>]) -> Vec<(TensorId, Bounds)> {
        let Made::Joined { axis, parts } = &self.tensor(joined).made else { return Vec::new() };
        let (along, ends) = (&bounds[*axis], self.ends(joined));
        let first = ends.partition_point(|end| *end <= along.start).min(parts.len() - 1);
        let mut within = Vec::new();
        for part in first..parts.len() {
            let begin = part.checked_sub(1).map_or(0, |before| ends[before]);
            if begin >= along.end && !within.is_empty() {
                break;
            }
            let inner = along.start.max(begin)..along.end.min(ends[part]).max(begin);
            if !inner.is_empty() || along.is_empty() {
                let mut local = bounds.to_vec();
                local[*axis] = match along.is_empty() {
                    true => 0..0,
                    false => inner.start - begin..inner.end - begin,
                };
                within.push((parts[part], local));
            }
        }
        within
    }

    /// Adds the tensor that a map of a whole tensor makes of `from`, the whole tensor's box `there`.
    ///
    /// Every element that the map reads is in that box, but its first layer may read outside at indices that the later
    /// layers never use. So it must not be composed with the map of `from`: see [`IndexMap::check_source`].
    fn moved_within(
        &mut self,
        from: TensorId,
        map: &IndexMap,
        there: &[Range<usize>],
    ) -> Result<TensorId> {
        let map = map.within_source(there)?;
        if map.is_identity() {
            return Ok(from);
        }
        let (shape, width) = (map.out_shape().clone(), self.tensor(from).width);
        self.push(shape, width, Made::Moved { from, map })
    }
}

fn add(own: &mut Option<Bounds>, more: Bounds) {
    let is_empty = |bounds: &[Range<usize>]| bounds.iter().any(Range::is_empty);
    match own {
        Some(own) if is_empty(&more) && !is_empty(own) => {}
        Some(own) if !is_empty(own) => {
            for (range, more) in own.iter_mut().zip(more) {
                *range = range.start.min(more.start)..range.end.max(more.end);
            }
        }
        _ => *own = Some(more),
    }
}
