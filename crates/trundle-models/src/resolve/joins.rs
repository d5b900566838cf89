//! Split and Concat.

use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::site::Site;
use super::slices::cut;
use crate::problem::{Checked, wrong};
use crate::{Integers, Parts};

/// Split.
///
/// Source: ONNX's Split, OpenVINO's Split-1 and VariadicSplit-1.
pub(super) fn split(site: &mut Site, axis: &Integers, parts: &Parts) -> Checked<Vec<TensorId>> {
    let axis = site.single("axis", axis)?;
    let shape = site.data_shape()?;
    let axis = normalize_axis("axis", axis, shape.rank())?;
    let (size, outputs) = (shape[axis], site.node.outputs.len());
    if outputs == 0 {
        return wrong!("it has no outputs");
    }
    let sizes = match parts {
        Parts::Equal => equal_parts(size, outputs)?,
        Parts::LastSmaller => parts_but_last(size, outputs)?,
        Parts::Sizes(sizes) => {
            let sizes = site.list("parts", sizes)?;
            stated_parts(&sizes, size, outputs)?
        }
    };
    let mut ranges: Vec<_> = shape.iter().map(|size| 0..*size).collect();
    let mut start = 0;
    let mut tensors = Vec::with_capacity(outputs);
    for size in sizes {
        ranges[axis] = start..start + size;
        tensors.push(site.moved(cut(&shape, &ranges)?)?);
        start += size;
    }
    Ok(tensors)
}

fn equal_parts(size: usize, outputs: usize) -> Checked<Vec<usize>> {
    if !size.is_multiple_of(outputs) {
        return wrong!("size {size} cannot be split into {outputs} equal parts");
    }
    Ok(vec![size / outputs; outputs])
}

fn parts_but_last(size: usize, outputs: usize) -> Checked<Vec<usize>> {
    let most = size.div_ceil(outputs);
    let mut parts = vec![most; outputs];
    let last = most.checked_mul(outputs - 1).and_then(|before| size.checked_sub(before));
    parts[outputs - 1] = last.ok_or_else(|| {
        format!("size {size} cannot be split into {outputs} parts of {most}, but for the last")
    })?;
    Ok(parts)
}

/// One size may be -1, which is inferred.
fn stated_parts(sizes: &[i64], size: usize, outputs: usize) -> Checked<Vec<usize>> {
    if sizes.len() != outputs {
        let listed = sizes.len();
        return wrong!("there are {outputs} outputs, but {listed} sizes of parts");
    }
    if let Some(negative) = sizes.iter().find(|part| **part < -1) {
        return wrong!("a part cannot have size {negative}");
    }
    let unknown = sizes.iter().filter(|part| **part == -1).count();
    if unknown > 1 {
        return wrong!("one part may have size -1, got {unknown}");
    }
    let declared: i128 =
        sizes.iter().filter(|part| **part >= 0).map(|part| i128::from(*part)).sum();
    let left = size as i128 - declared;
    if left < 0 || unknown == 0 && left != 0 {
        return wrong!("the parts have {declared} in all, but the axis has size {size}");
    }
    let part = |part: &i64| usize::try_from(if *part == -1 { left } else { i128::from(*part) });
    sizes.iter().map(|size| part(size).map_err(|error| error.to_string().into())).collect()
}

/// Concat.
///
/// Source: ONNX's Concat and OpenVINO's Concat-1.
pub(super) fn concat(site: &mut Site, axis: i64) -> Checked<TensorId> {
    let parts = site.inputs_from(0)?;
    let first = site.data()?;
    let (element, shape) = (site.builder.element(first), site.builder.shape(first));
    let axis = normalize_axis("axis", axis, shape.rank())?;
    for (index, part) in parts.iter().enumerate() {
        let (other, of) = (site.builder.element(*part), site.builder.shape(*part));
        if other != element {
            return wrong!("input 0 is of type {element}, but input {index} of {other}");
        }
        if !agree_beside(axis, shape, of) {
            return wrong!(
                "input 0 of shape {shape} and input {index} of shape {of} differ along an axis other than {axis}"
            );
        }
    }
    site.builder.joined(axis, &parts)
}

/// Whether two shapes have the same rank and the same sizes along all axes except `axis`.
fn agree_beside(axis: usize, one: &Shape, other: &Shape) -> bool {
    one.rank() == other.rank()
        && (0..one.rank()).all(|beside| beside == axis || one[beside] == other[beside])
}
