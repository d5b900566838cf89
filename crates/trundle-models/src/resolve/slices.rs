//! Slices, and helpers for other operators that cut axes.

use std::ops::Range;

use trundle_core::ops::Slice;
use trundle_core::program::TensorId;
use trundle_core::{IndexMap, Shape};

use super::site::Site;
use crate::Integers;
use crate::problem::{Checked, wrong};

/// The map that keeps a range of each axis.
pub(super) fn cut(shape: &Shape, ranges: &[Range<usize>]) -> Checked<IndexMap> {
    Ok(IndexMap::identity(shape).restrict(ranges)?)
}

/// Slice.
///
/// Source: ONNX's Slice and OpenVINO's Slice-8.
pub(super) fn slice(
    site: &mut Site,
    starts: &Integers,
    stops: &Integers,
    axes: Option<&Integers>,
    steps: Option<&Integers>,
) -> Checked<TensorId> {
    let slice = slice_of(site, starts, stops, axes, steps)?;
    site.moved_by(slice)
}

pub(super) fn slice_of(
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

/// Checks that two lists have the same length.
pub(super) fn equal_sizes(
    left: &str,
    left_size: usize,
    right: &str,
    right_size: usize,
) -> Checked<()> {
    if left_size != right_size {
        return wrong!(
            "{left} and {right} must have equal sizes, got {left_size} and {right_size}"
        );
    }
    Ok(())
}
