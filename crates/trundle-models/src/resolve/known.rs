//! Tensors that follow from shapes alone: sizes of other tensors, and constant fills.

use trundle_core::program::TensorId;
use trundle_core::{DType, IndexMap, Shape};

use super::element::Number;
use super::site::Site;
use super::widen::push;
use crate::problem::{Checked, wrong};
use crate::{Constant, Data, ElementType, Integers};

/// The sizes of axes `start..end`, clamped to the rank.
///
/// Source: ONNX's Shape, opset 15, and OpenVINO's ShapeOf-1 and -3.
pub(super) fn shape(
    site: &mut Site,
    start: i64,
    end: Option<i64>,
    element: DType,
) -> Checked<TensorId> {
    let shape = site.data_shape()?;
    let rank = shape.rank();
    let clamped = |axis: i64| {
        let front = i128::from(axis) + if axis < 0 { rank as i128 } else { 0 };
        usize::try_from(front.max(0)).unwrap_or(rank).min(rank)
    };
    let (start, end) = (clamped(start), end.map_or(rank, clamped));
    let sizes = shape.get(start..end).unwrap_or_default();
    integers(site, element, &Shape::new([sizes.len()])?, sizes)
}

/// The number of elements, as a scalar.
///
/// Source: ONNX's Size.
pub(super) fn size(site: &mut Site) -> Checked<TensorId> {
    let elements = site.data_shape()?.elements();
    integers(site, DType::I64, &Shape::default(), &[elements])
}

fn integers(site: &mut Site, dtype: DType, shape: &Shape, entries: &[usize]) -> Checked<TensorId> {
    let mut bytes = Vec::new();
    for entry in entries {
        if dtype == DType::I32 && i32::try_from(*entry).is_err() {
            return wrong!("size {entry} is over {}, the largest of {dtype}", i32::MAX);
        }
        // Every size fits i64.
        push(Number::Integer(*entry as i128), dtype, &mut bytes);
    }
    let (element, shape) = (ElementType::Fixed(dtype), shape.clone());
    site.builder.constant(&Constant { element, shape, data: Data::Bytes(bytes.into()) })
}

/// A tensor with the same value everywhere.
///
/// Source: ONNX's `ConstantOfShape`.
pub(super) fn filled(site: &mut Site, sizes: &Integers, value: &Constant) -> Checked<TensorId> {
    let sizes = site.list("shape", sizes)?;
    let size = |size: &i64| {
        usize::try_from(*size).map_err(|_| format!("sizes may not be negative, got {size}"))
    };
    let shape = Shape::new(sizes.iter().map(size).collect::<Result<Vec<_>, _>>()?)?;
    if value.shape.elements() != 1 {
        return wrong!("value must be one element, got shape {}", value.shape);
    }
    let value = site.builder.constant(value)?;
    let value = site.builder.reshaped(value, &Shape::default())?;
    site.builder.moved(value, IndexMap::broadcast(&shape))
}
