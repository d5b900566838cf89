//! Select and Where: elements of one of two tensors, by a condition.

use std::ops::Range;

use trundle_core::ops::Broadcast;
use trundle_core::program::TensorId;
use trundle_core::{DType, Shape};

use super::super::element::Number;
use super::super::moves::both_ways;
use super::super::site::Site;
use super::super::slices::cut;
use super::known::{Known, shape_of_all};
use crate::problem::{Checked, wrong};

/// Elements of input 1 where input 0 is true, otherwise of input 2. Only the condition has to be known; other inputs
/// are moved.
pub(super) fn selected(site: &mut Site) -> Checked<TensorId> {
    let condition = site.known(0)?;
    if condition.dtype != DType::Boolean {
        return wrong!("its condition must be boolean, got {}", condition.dtype);
    }
    let one = site.builder.element(site.input(1)?);
    let other = site.builder.element(site.input(2)?);
    if one != other {
        return wrong!("its inputs must have the same type, got {one} and {other}");
    }
    let (Ok(yes), Ok(no)) = (site.known(1), site.known(2)) else {
        return chosen(site, &condition);
    };
    let (sizes, shape) = shape_of_all(site, &[&condition, &yes, &no])?;
    let branches = yes.broadcast(&sizes)?.into_iter().zip(no.broadcast(&sizes)?);
    let all = condition.broadcast(&sizes)?.into_iter().zip(branches);
    let number = |(is, (yes, no))| if is == Number::Integer(0) { no } else { yes };
    site.made(&Known { dtype: yes.dtype, shape, numbers: all.map(number).collect() })
}

/// Limits the boxes that a condition cuts the output into.
const MOST_BOXES: usize = 1 << 15;

/// Joins boxes of inputs 1 and 2. If the condition is true in a band around the diagonal of a matrix, each row has two
/// or three.
fn chosen(site: &mut Site, condition: &Known) -> Checked<TensorId> {
    let inputs = [site.input(1)?, site.input(2)?];
    let of_input = |sizes, input: &TensorId| both_ways(site.builder.shape(*input), sizes);
    let sizes = inputs.iter().fold(condition.sizes(), of_input);
    let shape = Broadcast::new(&sizes).index_map(&condition.shape)?.out_shape().clone();
    let mut tensors = inputs;
    for (tensor, input) in tensors.iter_mut().zip(inputs) {
        *tensor = site.builder.moved_by(input, Broadcast::new(&sizes))?;
    }
    if shape.elements() == 0 {
        return Ok(tensors[0]);
    }
    // The axes along which the condition varies, with their strides. There are few, because the condition has few
    // elements.
    let (mut axes, mut stride) = (Vec::new(), condition.numbers.len());
    for (axis, size) in (shape.rank() - condition.shape.rank()..).zip(condition.shape.iter()) {
        stride /= size;
        if *size > 1 {
            axes.push((axis, stride));
        }
    }
    let ranges = shape.iter().map(|size| 0..*size).collect();
    Boxes { shape, tensors, ranges, count: 0 }.joined(site, &axes, &condition.numbers)
}

struct Boxes {
    shape: Shape,
    tensors: [TensorId; 2],
    ranges: Vec<Range<usize>>,
    count: usize,
}

impl Boxes {
    /// Joins a part of the output. The entries of its `condition` vary along `axes`.
    fn joined(
        &mut self,
        site: &mut Site,
        axes: &[(usize, usize)],
        condition: &[Number],
    ) -> Checked<TensorId> {
        let [(axis, stride), rest @ ..] = axes else {
            self.count += 1;
            if self.count > MOST_BOXES {
                return wrong!(
                    "its condition cuts more than {MOST_BOXES} boxes, which is the limit"
                );
            }
            let from = self.tensors[usize::from(condition[0] == Number::Integer(0))];
            return site.builder.moved(from, cut(&self.shape, &self.ranges)?);
        };
        let whole = self.ranges[*axis].clone();
        let (mut parts, mut begin) = (Vec::new(), 0);
        let mut each = condition.chunks_exact(*stride).peekable();
        while let Some(first) = each.next() {
            let mut end = begin + 1;
            while each.next_if(|next| *next == first).is_some() {
                end += 1;
            }
            self.ranges[*axis] = begin..end;
            parts.push(self.joined(site, rest, first)?);
            begin = end;
        }
        self.ranges[*axis] = whole;
        site.builder.joined(*axis, &parts)
    }
}
