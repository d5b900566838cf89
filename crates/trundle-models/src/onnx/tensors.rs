//! The constants of a model, each held once.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use trundle_core::{DType, Shape};

use super::attributes::Attributes;
use super::call::missing;
use super::external::ExternalData;
use super::proto::{Attribute, Tensor};
use super::tensor::{constant, texts};
use crate::problem::{Checked, unsupported, wrong};
use crate::{Constant, Data, ElementType, Result};

pub(super) struct Tensors<'a> {
    external: ExternalData,
    /// Constants from attributes, by the address of the decoded attribute and the name that it is read by. All
    /// calls of a function share the constants of its body.
    kept: HashMap<(*const Attribute, &'a str), Constant>,
}

/// The attributes that may hold the value of a Constant, with the first opset of each.
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

    /// Converts a tensor to a constant. `what` names it in messages.
    ///
    /// # Errors
    /// If the tensor is malformed, or its data is not where it may be.
    pub(super) fn tensor(&mut self, tensor: &Tensor, what: &str) -> Result<Constant> {
        constant(tensor, what, &mut self.external)
    }

    /// Returns the value of a Constant, which has exactly one attribute.
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
        let place = (std::ptr::from_ref(attribute), name);
        if let Some(constant) = self.kept.get(&place) {
            attributes.ignore(name);
            return Ok(constant.clone());
        }
        let constant = self.form(attributes, name)?;
        self.kept.insert(place, constant.clone());
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
                Ok(scalar(DType::F32, &bits.to_le_bytes()))
            }
            "value_floats" => {
                let list = attributes.floats(name)?.ok_or_else(none)?;
                list_of(DType::F32, list.len(), list.iter().flat_map(|bits| bits.to_le_bytes()))
            }
            "value_int" => {
                let value = attributes.int(name)?.ok_or_else(none)?;
                Ok(scalar(DType::I64, &value.to_le_bytes()))
            }
            "value_ints" => {
                let list = attributes.ints(name)?.ok_or_else(none)?;
                list_of(DType::I64, list.len(), list.iter().flat_map(|value| value.to_le_bytes()))
            }
            "value_string" => {
                let text = attributes.text(name)?.ok_or_else(none)?;
                Ok(texts_of(Shape::default(), Arc::new([text.to_owned()])))
            }
            "value_strings" => {
                let list = attributes.strings(name)?.ok_or_else(none)?;
                Ok(texts_of(Shape::new([list.len()])?, texts(list)?))
            }
            _ => unsupported!("sparse constants are not supported"),
        }
    }
}

fn scalar(dtype: DType, bytes: &[u8]) -> Constant {
    let data = Data::Bytes(Bytes::copy_from_slice(bytes));
    Constant { element: ElementType::Fixed(dtype), shape: Shape::default(), data }
}

fn list_of(dtype: DType, len: usize, bytes: impl Iterator<Item = u8>) -> Checked<Constant> {
    let data = Data::Bytes(bytes.collect());
    Ok(Constant { element: ElementType::Fixed(dtype), shape: Shape::new([len])?, data })
}

fn texts_of(shape: Shape, texts: Arc<[String]>) -> Constant {
    Constant { element: ElementType::String, shape, data: Data::Strings(texts) }
}
