//! Slices, also for other operators.

use std::ops::Range;

use trundle_core::ops::Slice;
use trundle_core::program::TensorId;
use trundle_core::{IndexMap, Shape};

use super::site::Site;
use crate::problem::{Checked, wrong};
use crate::{Integers, StridedSliceMasks};

/// Keeps a range of each axis.
pub(super) fn cut(shape: &Shape, ranges: &[Range<usize>]) -> Checked<IndexMap> {
    Ok(IndexMap::identity(shape).restrict(ranges)?)
}

/// The slice that lists describe.
///
/// Source: ONNX's Slice and OpenVINO's Slice-8.
pub(super) fn slice(
    site: &mut Site,
    starts: &Integers,
    stops: &Integers,
    axes: Option<&Integers>,
    steps: Option<&Integers>,
) -> Checked<Slice> {
    let (starts, stops) = (site.list("starts", starts)?, site.list("stops", stops)?);
    let axes = site.list_or("axes", axes, (0..).take(starts.len()))?;
    let steps = site.list_or("steps", steps, vec![1; starts.len()])?;
    for (what, length) in [("stops", stops.len()), ("axes", axes.len()), ("steps", steps.len())] {
        equal_sizes("starts", starts.len(), what, length)?;
    }
    Ok(Slice::new(&starts, &stops, &axes, &steps))
}

pub(super) fn equal_sizes(
    left: &str,
    left_size: usize,
    right: &str,
    right_size: usize,
) -> Checked<()> {
    if left_size != right_size {
        return wrong!(
            "{left} and {right} must have the same length, got {left_size} and {right_size}"
        );
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// All axes without an entry, each taken whole.
    Ellipsis,
    /// A new axis of size 1. Bounds are ignored.
    NewAxis,
    /// A single index of an axis, which is removed.
    Shrinks,
    Slice,
}

/// The bounds of a slice of one axis, as in [`Slice`].
#[derive(Clone)]
struct Bounds {
    start: i64,
    stop: i64,
    step: i64,
}

impl Bounds {
    const WHOLE: Bounds = Bounds { start: 0, stop: i64::MAX, step: 1 };
}

/// `StridedSlice`. If several masks are set for an entry, ellipsis takes precedence, then new axis. A shrunk axis is
/// read at `begin`, whatever the other masks, the end and the stride are.
///
/// Source: the specification of StridedSlice-1; the order of the masks follows OpenVINO's shape inference.
pub(super) fn strided_slice(
    site: &mut Site,
    begin: &Integers,
    end: &Integers,
    strides: Option<&Integers>,
    masks: &StridedSliceMasks,
) -> Checked<TensorId> {
    let begin = site.list("begin", begin)?;
    let end = site.list("end", end)?;
    let strides = site.list_or("strides", strides, vec![1; begin.len()])?;
    equal_sizes("begin", begin.len(), "end", end.len())?;
    equal_sizes("begin", begin.len(), "strides", strides.len())?;
    let shape = site.data_shape()?;
    let meanings = meanings(masks, begin.len(), shape.rank())?;
    let read =
        meanings.iter().filter(|meaning| matches!(meaning, Meaning::Shrinks | Meaning::Slice));
    let hidden = shape.rank() - read.count();
    let mut bounds: Vec<Bounds> = Vec::with_capacity(shape.rank());
    // For each axis after the cut, `None` for a new one, otherwise whether it is kept.
    let mut axes = Vec::new();
    for (entry, meaning) in meanings.into_iter().enumerate() {
        match meaning {
            Meaning::Ellipsis => {
                bounds.extend(std::iter::repeat_n(Bounds::WHOLE, hidden));
                axes.extend(std::iter::repeat_n(Some(true), hidden));
            }
            Meaning::NewAxis => axes.push(None),
            Meaning::Shrinks => {
                bounds.push(single(begin[entry], bounds.len(), &shape)?);
                axes.push(Some(false));
            }
            Meaning::Slice => {
                let step = strides[entry];
                let (first, last) = if step < 0 { (i64::MAX, i64::MIN) } else { (0, i64::MAX) };
                bounds.push(Bounds {
                    start: if masked(&masks.begin, entry) { first } else { begin[entry] },
                    stop: if masked(&masks.end, entry) { last } else { end[entry] },
                    step,
                });
                axes.push(Some(true));
            }
        }
    }
    let list = |entry: fn(&Bounds) -> i64| bounds.iter().map(entry).collect::<Vec<i64>>();
    let all: Vec<i64> = (0..).take(bounds.len()).collect();
    let (starts, stops) = (list(|bounds| bounds.start), list(|bounds| bounds.stop));
    let slice = Slice::new(&starts, &stops, &all, &list(|bounds| bounds.step));
    let cut = site.moved_by(slice)?;
    let mut cut_sizes = site.builder.shape(cut).iter();
    let size = |axis: Option<bool>| match axis {
        None => Some(1),
        Some(stays) => cut_sizes.next().copied().filter(|_| stays),
    };
    let sizes: Vec<usize> = axes.into_iter().filter_map(size).collect();
    site.builder.reshaped(cut, &Shape::new(sizes)?)
}

/// Without an ellipsis, one is added at the end.
fn meanings(masks: &StridedSliceMasks, entries: usize, rank: usize) -> Checked<Vec<Meaning>> {
    let meaning = |entry: usize| {
        if masked(&masks.ellipsis, entry) {
            Meaning::Ellipsis
        } else if masked(&masks.new_axis, entry) {
            Meaning::NewAxis
        } else if masked(&masks.shrink_axis, entry) {
            Meaning::Shrinks
        } else {
            Meaning::Slice
        }
    };
    let mut meanings: Vec<Meaning> = (0..entries).map(meaning).collect();
    let count = |kinds: &[Meaning]| meanings.iter().filter(|entry| kinds.contains(entry)).count();
    let ellipses = count(&[Meaning::Ellipsis]);
    if ellipses > 1 {
        return wrong!("there may be one ellipsis, got {ellipses}");
    }
    let axes = count(&[Meaning::Shrinks, Meaning::Slice]);
    if axes > rank {
        return wrong!("begin and end are for {axes} axes, but the data has {rank}");
    }
    if ellipses == 0 {
        meanings.push(Meaning::Ellipsis);
    }
    Ok(meanings)
}

fn masked(mask: &[i64], entry: usize) -> bool {
    mask.get(entry).is_some_and(|bit| *bit == 1)
}

/// Unlike bounds, an index is not clamped.
fn single(index: i64, axis: usize, shape: &Shape) -> Checked<Bounds> {
    let size = shape[axis];
    let front = i128::from(index) + if index < 0 { size as i128 } else { 0 };
    match i64::try_from(front).ok().filter(|_| (0..size as i128).contains(&front)) {
        Some(start) => Ok(Bounds { start, stop: start + 1, step: 1 }),
        None => wrong!("index {index} is out of range for axis {axis} of size {size}"),
    }
}
