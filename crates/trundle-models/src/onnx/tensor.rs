//! Tensors that the file holds, in each of the ways there are.

use std::sync::Arc;

use bytes::Bytes;
use trundle_core::{DType, Shape};

use super::element::{Field, TensorType, element_type};
use super::external::ExternalData;
use super::proto;
use super::proto::data_location;
use crate::{Constant, Data, ElementType, Error, Result};

/// The constant that `tensor` is. `what` it is, for messages: `initializer "w"`.
///
/// # Errors
/// If it does not hold as many elements as its shape says, in the one place for its type.
pub(super) fn constant(
    tensor: &proto::Tensor,
    what: &str,
    external: &mut ExternalData,
) -> Result<Constant> {
    let (row, element) = element_type(tensor.data_type, what)?;
    if tensor.segment.is_some() {
        return Err(Error::Unsupported(format!("{what} is a segment of a larger tensor")));
    }
    let malformed = |problem: String| Error::Malformed(format!("{what}: {problem}"));
    let shape = shape(&tensor.dims).map_err(malformed)?;
    let data = match (element, tensor.data_location) {
        (ElementType::String, data_location::DEFAULT) => {
            Data::Strings(strings(tensor, &shape).map_err(malformed)?)
        }
        (ElementType::Fixed(dtype), data_location::DEFAULT) => {
            Data::Bytes(own_bytes(tensor, row, dtype, &shape).map_err(malformed)?)
        }
        (ElementType::Fixed(dtype), data_location::EXTERNAL) => {
            one_place(tensor, None).map_err(malformed)?;
            let bytes = shape.bytes(dtype).map_err(|error| malformed(error.to_string()))?;
            let data = external.read(&tensor.external_data, bytes, what)?;
            Data::Bytes(clear_unused(data, dtype, shape.elements()))
        }
        (ElementType::String, data_location::EXTERNAL) => {
            return Err(malformed("strings cannot be external data".to_owned()));
        }
        (_, other) => {
            let problem = format!("{what} has its data at the unknown location {other}");
            return Err(Error::Unsupported(problem));
        }
    };
    Ok(Constant { element, shape, data })
}

fn shape(dims: &[i64]) -> std::result::Result<Shape, String> {
    let sizes: std::result::Result<Vec<usize>, _> =
        dims.iter().map(|size| usize::try_from(*size)).collect();
    let sizes = sizes.map_err(|_| format!("{dims:?} is not a valid shape"))?;
    Shape::new(sizes).map_err(|error| error.to_string())
}

/// Refuses data anywhere but in `field`: who knows which is meant.
fn one_place(tensor: &proto::Tensor, field: Option<Field>) -> std::result::Result<(), String> {
    if let Some(other) = Field::filled(tensor).find(|filled| Some(*filled) != field) {
        return Err(match field {
            Some(field) => {
                format!("its data is in {}, but must be in {}", other.name(), field.name())
            }
            None => format!("it has its data twice, once in {}", other.name()),
        });
    }
    if field != Some(Field::String) && tensor.data_location == data_location::DEFAULT {
        return Ok(());
    }
    match tensor.raw_data.is_empty() {
        true => Ok(()),
        false => Err("it has raw_data, where there can be none".to_owned()),
    }
}

fn strings(tensor: &proto::Tensor, shape: &Shape) -> std::result::Result<Arc<[String]>, String> {
    one_place(tensor, Some(Field::String))?;
    if tensor.string_data.len() != shape.elements() {
        return Err(format!(
            "shape {shape} takes {} strings, string_data has {}",
            shape.elements(),
            tensor.string_data.len()
        ));
    }
    texts(&tensor.string_data)
}

/// The texts of these bytes.
pub(super) fn texts(all: &[prost::bytes::Bytes]) -> std::result::Result<Arc<[String]>, String> {
    let text = |(number, bytes): (usize, &prost::bytes::Bytes)| {
        String::from_utf8(bytes.to_vec()).map_err(|_| format!("string {number} is not UTF-8"))
    };
    all.iter().enumerate().map(text).collect()
}

/// The elements that the message itself holds.
fn own_bytes(
    tensor: &proto::Tensor,
    row: &TensorType,
    dtype: DType,
    shape: &Shape,
) -> std::result::Result<Bytes, String> {
    let bytes = shape.bytes(dtype).map_err(|error| error.to_string())?;
    let data: Bytes = if tensor.raw_data.is_empty() {
        one_place(tensor, Some(row.field))?;
        typed(tensor, row, dtype)?.into()
    } else {
        one_place(tensor, None)?;
        tensor.raw_data.clone()
    };
    if data.len() != bytes {
        let place = if tensor.raw_data.is_empty() { row.field.name() } else { "raw_data" };
        let held = data.len();
        return Err(format!("shape {shape} of {dtype} takes {bytes} bytes, {place} has {held}"));
    }
    Ok(clear_unused(data, dtype, shape.elements()))
}

/// The elements of the typed field, as the raw bytes that they stand for.
fn typed(
    tensor: &proto::Tensor,
    row: &TensorType,
    dtype: DType,
) -> std::result::Result<Vec<u8>, String> {
    let outside = |value: &dyn std::fmt::Display| {
        format!("{} holds {value}, which is not a valid {}", row.field.name(), row.name)
    };
    Ok(match row.field {
        Field::Float => tensor.float_data.iter().flat_map(|bits| bits.to_le_bytes()).collect(),
        Field::Double => tensor.double_data.iter().flat_map(|bits| bits.to_le_bytes()).collect(),
        Field::Int64 => tensor.int64_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Field::Uint64 if dtype == DType::U64 => {
            tensor.uint64_data.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
        Field::Uint64 => {
            let mut bytes = Vec::with_capacity(4 * tensor.uint64_data.len());
            for value in &tensor.uint64_data {
                let value = u32::try_from(*value).map_err(|_| outside(value))?;
                bytes.extend(value.to_le_bytes());
            }
            bytes
        }
        Field::Int32 => {
            // A packed type has a byte of elements in each entry.
            let width = dtype.width();
            let mut bytes = Vec::with_capacity(width * tensor.int32_data.len());
            for value in &tensor.int32_data {
                if !fits(*value, width) {
                    return Err(outside(value));
                }
                bytes.extend(&value.to_le_bytes()[..width]);
            }
            bytes
        }
        Field::String => Vec::new(),
    })
}

/// Whether `value` is a bit pattern of `width` bytes, taken as signed or as unsigned: writers do
/// both.
fn fits(value: i32, width: usize) -> bool {
    let bits = 8 * width.min(4);
    let value = i64::from(value);
    (-(1i64 << (bits - 1))..1i64 << bits).contains(&value)
}

/// The same with the bits after the last element as 0. ONNX packs from the lowest bit on.
fn clear_unused(data: Bytes, dtype: DType, elements: usize) -> Bytes {
    let Some(packing) = dtype.packing() else { return data };
    // As many as a byte holds are no more than the elements of the last byte have.
    let used = elements % (8 / packing.bits()) * packing.bits();
    let mask = (1u8 << used) - 1;
    match data.last() {
        Some(last) if used != 0 && last & !mask != 0 => {
            let mut data = data.to_vec();
            if let Some(last) = data.last_mut() {
                *last &= mask;
            }
            data.into()
        }
        _ => data,
    }
}
