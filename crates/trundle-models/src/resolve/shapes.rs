//! Operators that change only the shape.

use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::numbers::Listed;
use super::site::Site;
use crate::problem::{Checked, Problem, wrong};
use crate::{Integers, ZeroSize};

/// Reshape.
///
/// Source: ONNX's Reshape and OpenVINO's Reshape-1.
pub(super) fn reshape(site: &mut Site, sizes: &Integers, zero: ZeroSize) -> Checked<TensorId> {
    let entries = site.list("sizes", sizes)?;
    let data = site.data()?;
    let shape = site.data_shape()?;
    let to = Shape::new(requested_sizes(&entries, &shape, zero)?)?;
    let listed = Listed(&entries);
    if to.elements() != shape.elements() {
        let (from, got) = (shape.elements(), to.elements());
        return wrong!(
            "sizes {listed} make shape {to} of {got} elements, but the data has shape {shape} \
             of {from}"
        );
    }
    site.builder.reshaped(data, &to)
}

/// The sizes of the result, with zeros replaced as `zero` says and -1 inferred.
fn requested_sizes(entries: &[i64], shape: &Shape, zero: ZeroSize) -> Checked<Vec<usize>> {
    let listed = Listed(entries);
    let mut sizes = Vec::with_capacity(entries.len());
    let mut left = None;
    // `others` are the data's sizes, with 1 for each that is copied. `taken` is the product of the stated sizes.
    let mut others: Vec<usize> = shape.to_vec();
    let mut taken = Some(1usize);
    for (axis, &entry) in entries.iter().enumerate() {
        let size = match (entry, zero) {
            (0, ZeroSize::Copies) => {
                let size = *shape.get(axis).ok_or_else(|| {
                    format!("sizes {listed} copy axis {axis} of shape {shape}, which has none")
                })?;
                others[axis] = 1;
                size
            }
            (-1, _) => {
                if left.replace(axis).is_some() {
                    return wrong!("sizes {listed} have -1 twice");
                }
                1
            }
            _ => {
                let size = usize::try_from(entry).map_err(|_| {
                    format!("sizes {listed} contain {entry}, which is not a valid size")
                })?;
                taken = taken.and_then(|taken| taken.checked_mul(size));
                size
            }
        };
        sizes.push(size);
    }
    if let Some(axis) = left {
        sizes[axis] = taken.and_then(|taken| what_is_left(&others, taken)).ok_or_else(|| {
            format!("sizes {listed} leave no size for -1: the data has shape {shape}")
        })?;
    }
    Ok(sizes)
}

/// The elements of `sizes` divided by `taken`, if this is a whole number.
fn what_is_left(sizes: &[usize], taken: usize) -> Option<usize> {
    let elements = Shape::new(sizes).ok()?.elements();
    (taken > 0 && elements.is_multiple_of(taken)).then(|| elements / taken)
}

/// Squeeze. As in ONNX Runtime and OpenVINO, an empty list means all axes.
///
/// Source: ONNX's Squeeze, OpenVINO's Squeeze-1 and Squeeze-15.
pub(super) fn squeeze(
    site: &mut Site,
    axes: Option<&Integers>,
    keeps_others: bool,
) -> Checked<TensorId> {
    let axes = match axes {
        Some(axes) => site.integers("axes", axes)?.entries,
        None => Vec::new(),
    };
    let data = site.data()?;
    let shape = site.data_shape()?;
    let mut leaves: Vec<bool> = shape.iter().map(|size| axes.is_empty() && *size == 1).collect();
    for axis in axes {
        let front = normalize_axis("axis", axis, shape.rank())?;
        if shape[front] != 1 && !keeps_others {
            let size = shape[front];
            return wrong!(
                "axis {axis} of shape {shape} has size {size}: only axes of size 1 can be left out"
            );
        }
        leaves[front] = shape[front] == 1;
    }
    let kept = shape.iter().zip(&leaves).filter(|(_, leaves)| !**leaves).map(|(size, _)| *size);
    let to = Shape::new(kept.collect::<Vec<_>>())?;
    site.builder.reshaped(data, &to)
}

/// Unsqueeze.
///
/// Source: ONNX's Unsqueeze and OpenVINO's Unsqueeze-1.
pub(super) fn unsqueeze(site: &mut Site, axes: &Integers) -> Checked<TensorId> {
    let axes = site.integers("axes", axes)?.entries;
    let data = site.data()?;
    let shape = site.data_shape()?;
    let rank = shape.rank() + axes.len();
    let mut new = vec![false; rank];
    for axis in axes {
        if std::mem::replace(&mut new[normalize_axis("axis", axis, rank)?], true) {
            return wrong!("axes have axis {axis} twice");
        }
    }
    let mut sizes = shape.iter().copied();
    let to: Vec<usize> =
        new.iter().map(|new| if *new { 1 } else { sizes.next().unwrap_or(1) }).collect();
    site.builder.reshaped(data, &Shape::new(to)?)
}

/// Flatten. If `axis` equals the rank, the second size is 1.
///
/// Source: ONNX's Flatten.
pub(super) fn flatten(site: &mut Site, axis: i64) -> Checked<TensorId> {
    let data = site.data()?;
    let shape = site.data_shape()?;
    let rank = shape.rank();
    let front = if axis == i64::try_from(rank).unwrap_or(i64::MAX) {
        rank
    } else if rank == 0 {
        return wrong!("axis {axis} is out of range for rank 0: expected 0");
    } else {
        normalize_axis("axis", axis, rank)
            .map_err(|_| format!("axis {axis} is out of range: expected -{rank}..={rank}"))?
    };
    let product = |sizes: &[usize]| Ok::<_, Problem>(Shape::new(sizes)?.elements());
    let to = Shape::new([product(&shape[..front])?, product(&shape[front..])?])?;
    site.builder.reshaped(data, &to)
}
