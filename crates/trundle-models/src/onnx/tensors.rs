//! The constants of a model: tensors in each encoding, and values of attributes.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use trundle_core::{DType, Shape};

use super::attributes::Attributes;
use super::element::{Field, TensorType, element_type};
use super::external::ExternalData;
use super::operator_node::missing;
use super::proto::{self, Attribute, data_location};
use crate::constant::unused_cleared;
use crate::problem::{Checked, Problem, unsupported, wrong};
use crate::{Constant, Data, ElementType, Error, Result};

pub(super) struct Tensors<'a> {
    external: ExternalData,
    /// Constants from attributes, by the address of the decoded attribute and the name for reading it. All calls of a
    /// function share the constants of its body.
    kept: HashMap<(*const Attribute, &'a str), Constant>,
}

/// Attributes with the value of a Constant, and their first opsets.
const FORMS: &[(&str, i64)] = &[
    ("value", 1),
    ("sparse_value", 11),
    ("value_float", 12),
    ("value_floats", 12),
    ("value_int", 12),
    ("value_ints", 12),
    ("value_string", 12),
    ("value_strings", 12),
];

impl<'a> Tensors<'a> {
    pub(super) fn new(external: ExternalData) -> Tensors<'a> {
        Tensors { external, kept: HashMap::new() }
    }

    /// Converts a tensor to a constant. `what` names the tensor in messages.
    ///
    /// # Errors
    /// If the tensor is malformed, or its data is not where it may be.
    pub(super) fn tensor(&mut self, tensor: &proto::Tensor, what: &str) -> Result<Constant> {
        constant(tensor, what, &mut self.external)
    }

    /// A Constant has exactly one attribute.
    pub(super) fn value(
        &mut self,
        attributes: &mut Attributes<'a>,
        opset: i64,
    ) -> Checked<Constant> {
        let Some((name, attribute)) = attributes.only() else {
            let names: Vec<&str> = FORMS.iter().map(|(name, _)| *name).collect();
            return wrong!("it takes exactly one of the attributes {}", names.join(", "));
        };
        if !FORMS.iter().any(|(form, since)| *form == name && *since <= opset) {
            return wrong!("Constant of opset {opset} has no attribute {name:?}");
        }
        let key = (std::ptr::from_ref(attribute), name);
        if let Some(constant) = self.kept.get(&key) {
            attributes.ignore(name);
            return Ok(constant.clone());
        }
        let constant = self.form(attributes, name)?;
        self.kept.insert(key, constant.clone());
        Ok(constant)
    }

    fn form(&mut self, attributes: &mut Attributes<'a>, name: &str) -> Checked<Constant> {
        let none = || missing(name);
        match name {
            "value" => {
                let tensor = attributes.tensor(name)?.ok_or_else(none)?;
                Ok(self.tensor(tensor, &format!("the constant {:?}", tensor.name))?)
            }
            "value_float" => {
                let bits = attributes.float(name)?.ok_or_else(none)?;
                Ok(Constant::of(DType::F32, Shape::default(), bits.to_le_bytes().to_vec()))
            }
            "value_floats" => {
                let list = attributes.floats(name)?.ok_or_else(none)?;
                let bytes: Bytes = list.iter().flat_map(|bits| bits.to_le_bytes()).collect();
                Ok(Constant::of(DType::F32, Shape::new([list.len()])?, bytes))
            }
            "value_int" => {
                let value = attributes.int(name)?.ok_or_else(none)?;
                Ok(Constant::of(DType::I64, Shape::default(), value.to_le_bytes().to_vec()))
            }
            "value_ints" => {
                let list = attributes.ints(name)?.ok_or_else(none)?;
                let bytes: Bytes = list.iter().flat_map(|value| value.to_le_bytes()).collect();
                Ok(Constant::of(DType::I64, Shape::new([list.len()])?, bytes))
            }
            "value_string" => {
                let text = attributes.text(name)?.ok_or_else(none)?;
                Ok(string_constant(Shape::default(), Arc::new([text.to_owned()])))
            }
            "value_strings" => {
                let list = attributes.strings(name)?.ok_or_else(none)?;
                Ok(string_constant(Shape::new([list.len()])?, decoded_strings(list)?))
            }
            _ => unsupported!("sparse constants are not supported"),
        }
    }
}

fn string_constant(shape: Shape, strings: Arc<[String]>) -> Constant {
    Constant { element: ElementType::String, shape, data: Data::Strings(strings) }
}

/// Converts `tensor` to a constant. `what` names it in messages: `initializer "w"`.
///
/// # Errors
/// If the data does not match the shape, or is not in the field that belongs to its type.
pub(super) fn constant(
    tensor: &proto::Tensor,
    what: &str,
    external: &mut ExternalData,
) -> Result<Constant> {
    let (row, element) = element_type(tensor.data_type, what)?;
    if tensor.segment.is_some() {
        return Err(Error::Unsupported(format!("{what} is a segment of a larger tensor")));
    }
    if !matches!(tensor.data_location, data_location::DEFAULT | data_location::EXTERNAL) {
        let other = tensor.data_location;
        let problem = format!("{what} has its data at the unknown location {other}");
        return Err(Error::Unsupported(problem));
    }
    let is_external = tensor.data_location == data_location::EXTERNAL;
    let mut read = || {
        let shape = shape(&tensor.dims)?;
        let data = match element {
            ElementType::String if is_external => return wrong!("strings cannot be external data"),
            ElementType::String => Data::Strings(strings(tensor, &shape)?),
            ElementType::Fixed(dtype) => {
                let bytes = match is_external {
                    true => {
                        check_one_field(tensor, None)?;
                        external.read(&tensor.external_data, shape.bytes(dtype)?, what)?
                    }
                    false => own_bytes(tensor, row, dtype, &shape)?,
                };
                Data::Bytes(unused_cleared(bytes, dtype, shape.elements()))
            }
        };
        Ok(Constant { element, shape, data })
    };
    read().map_err(|problem: Problem| problem.of(what))
}

fn shape(dims: &[i64]) -> Checked<Shape> {
    let sizes: std::result::Result<Vec<usize>, _> =
        dims.iter().map(|size| usize::try_from(*size)).collect();
    Ok(Shape::new(sizes.map_err(|_| format!("{dims:?} is not a valid shape"))?)?)
}

/// With data outside of `field`, it would be unclear which data counts.
fn check_one_field(tensor: &proto::Tensor, field: Option<Field>) -> Checked<()> {
    if let Some(other) = Field::filled(tensor).find(|filled| Some(*filled) != field) {
        let other = other.name();
        return match field.map(Field::name) {
            Some(field) => wrong!("its data is in {other}, but must be in {field}"),
            None => wrong!("it has its data twice, once in {other}"),
        };
    }
    if field != Some(Field::String) && tensor.data_location == data_location::DEFAULT {
        return Ok(());
    }
    match tensor.raw_data.is_empty() {
        true => Ok(()),
        false => wrong!("it has raw_data, where there can be none"),
    }
}

fn strings(tensor: &proto::Tensor, shape: &Shape) -> Checked<Arc<[String]>> {
    check_one_field(tensor, Some(Field::String))?;
    let (takes, got) = (shape.elements(), tensor.string_data.len());
    if got != takes {
        return wrong!("shape {shape} takes {takes} strings, string_data has {got}");
    }
    decoded_strings(&tensor.string_data)
}

fn decoded_strings(all: &[Bytes]) -> Checked<Arc<[String]>> {
    let text = |(number, bytes): (usize, &Bytes)| {
        let text = String::from_utf8(bytes.to_vec());
        text.map_err(|_| format!("string {number} is not UTF-8").into())
    };
    all.iter().enumerate().map(text).collect()
}

fn own_bytes(
    tensor: &proto::Tensor,
    row: &TensorType,
    dtype: DType,
    shape: &Shape,
) -> Checked<Bytes> {
    let bytes = shape.bytes(dtype)?;
    let data: Bytes = if tensor.raw_data.is_empty() {
        check_one_field(tensor, Some(row.field))?;
        typed(tensor, row, dtype)?.into()
    } else {
        check_one_field(tensor, None)?;
        tensor.raw_data.clone()
    };
    if data.len() != bytes {
        let field = if tensor.raw_data.is_empty() { row.field.name() } else { "raw_data" };
        let got = data.len();
        return wrong!("shape {shape} of {dtype} takes {bytes} bytes, {field} has {got}");
    }
    Ok(data)
}

/// The elements in the field for their type, as raw bytes.
fn typed(tensor: &proto::Tensor, row: &TensorType, dtype: DType) -> Checked<Vec<u8>> {
    let width = dtype.width();
    let outside = |value: &dyn std::fmt::Display| {
        format!("{} holds {value}, which is not a valid {}", row.field.name(), row.name)
    };
    let mut bytes = Vec::new();
    match row.field {
        Field::Float => bytes.extend(tensor.float_data.iter().flat_map(|bits| bits.to_le_bytes())),
        Field::Double => {
            bytes.extend(tensor.double_data.iter().flat_map(|bits| bits.to_le_bytes()));
        }
        Field::Int64 => {
            bytes.extend(tensor.int64_data.iter().flat_map(|value| value.to_le_bytes()));
        }
        Field::Uint64 => {
            for value in &tensor.uint64_data {
                if width < 8 && u32::try_from(*value).is_err() {
                    return Err(outside(value).into());
                }
                bytes.extend(&value.to_le_bytes()[..width]);
            }
        }
        Field::Int32 => {
            // For packed types, an entry is one byte of packed elements.
            for value in &tensor.int32_data {
                if !fits(*value, width) {
                    return Err(outside(value).into());
                }
                bytes.extend(&value.to_le_bytes()[..width]);
            }
        }
        Field::String => {}
    }
    Ok(bytes)
}

/// Files contain both signed and unsigned numbers.
fn fits(value: i32, width: usize) -> bool {
    let bits = 8 * width.min(4);
    let value = i64::from(value);
    (-(1i64 << (bits - 1))..1i64 << bits).contains(&value)
}
