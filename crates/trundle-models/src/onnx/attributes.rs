//! The attributes of a node.

use std::collections::{HashMap, HashSet};

use prost::bytes::Bytes;

use super::proto::{Attribute, Graph, Tensor, attribute_type};
use crate::problem::{Checked, wrong};

/// The attributes of a function in one call.
#[derive(Default)]
pub(super) struct Parameters<'a> {
    /// The attributes of the call, and the function's defaults for all others.
    given: HashMap<&'a str, &'a Attribute>,
    /// All attributes of the function.
    declared: HashSet<&'a str>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(
        without_default: &'a [String],
        with_default: &'a [Attribute],
        call: Attributes<'a>,
    ) -> Checked<Parameters<'a>> {
        let mut declared: HashSet<&str> = without_default.iter().map(String::as_str).collect();
        let mut given = HashMap::new();
        for default in with_default {
            declared.insert(&default.name);
            given.insert(default.name.as_str(), default);
        }
        if let Some(name) = call.left.keys().filter(|name| !declared.contains(*name)).min() {
            return wrong!("the function has no attribute {name:?}");
        }
        given.extend(call.left);
        Ok(Parameters { given, declared })
    }
}

pub(super) struct Attributes<'a> {
    left: HashMap<&'a str, &'a Attribute>,
}

impl<'a> Attributes<'a> {
    /// Collects the attributes of a node. References to attributes of the enclosing function become their values; a
    /// reference without a value counts as absent. `parameters` is `None` outside of functions.
    pub(super) fn new(
        attributes: &'a [Attribute],
        parameters: Option<&Parameters<'a>>,
    ) -> Checked<Attributes<'a>> {
        let mut left = HashMap::new();
        let mut names = HashSet::new();
        for attribute in attributes {
            let name = attribute.name.as_str();
            if !names.insert(name) {
                return wrong!("attribute {name:?} is given twice");
            }
            let reference = attribute.ref_attr_name.as_str();
            let target = match (reference, parameters) {
                ("", _) => Some(attribute),
                (_, Some(parameters)) if parameters.declared.contains(reference) => {
                    parameters.given.get(reference).copied()
                }
                _ => {
                    return wrong!(
                        "attribute {name:?} refers to {reference:?}, which is not an attribute of the function"
                    );
                }
            };
            left.extend(target.map(|target| (name, target)));
        }
        Ok(Attributes { left })
    }

    /// Estimates the bytes that a node takes for these attributes.
    pub(super) fn memory(&self) -> usize {
        let of = |attribute: &&Attribute| {
            let dims = attribute.t.as_ref().map_or(0, |tensor| tensor.dims.len());
            64 + 8 * (attribute.ints.len() + dims)
        };
        self.left.values().map(of).sum()
    }

    /// Removes and returns an attribute, which must have type `due`.
    fn take(&mut self, name: &str, due: i32) -> Checked<Option<&'a Attribute>> {
        let Some(attribute) = self.left.remove(name) else { return Ok(None) };
        match attribute.r#type {
            // The first version of the format had no types.
            attribute_type::UNDEFINED => Ok(Some(attribute)),
            r#type if r#type == due => Ok(Some(attribute)),
            r#type => wrong!(
                "attribute {name:?} is of type {}, but must be {}",
                type_name(r#type),
                type_name(due)
            ),
        }
    }

    pub(super) fn int(&mut self, name: &str) -> Checked<Option<i64>> {
        let attribute = self.take(name, attribute_type::INT)?;
        attribute.map(|attribute| one(attribute, attribute.i, name)).transpose()
    }

    /// Takes a float, as its bits.
    pub(super) fn float(&mut self, name: &str) -> Checked<Option<u32>> {
        let attribute = self.take(name, attribute_type::FLOAT)?;
        attribute.map(|attribute| one(attribute, attribute.f, name)).transpose()
    }

    pub(super) fn text(&mut self, name: &str) -> Checked<Option<&'a str>> {
        let Some(attribute) = self.take(name, attribute_type::STRING)? else { return Ok(None) };
        match std::str::from_utf8(attribute.s.as_deref().unwrap_or_default()) {
            Ok(text) => Ok(Some(text)),
            Err(_) => wrong!("attribute {name:?} is not UTF-8"),
        }
    }

    pub(super) fn ints(&mut self, name: &str) -> Checked<Option<&'a [i64]>> {
        Ok(self.take(name, attribute_type::INTS)?.map(|attribute| attribute.ints.as_slice()))
    }

    /// Takes a list of floats, as their bits.
    pub(super) fn floats(&mut self, name: &str) -> Checked<Option<&'a [u32]>> {
        Ok(self.take(name, attribute_type::FLOATS)?.map(|attribute| attribute.floats.as_slice()))
    }

    /// Takes strings, which need not be UTF-8.
    pub(super) fn strings(&mut self, name: &str) -> Checked<Option<&'a [Bytes]>> {
        Ok(self.take(name, attribute_type::STRINGS)?.map(|attribute| attribute.strings.as_slice()))
    }

    pub(super) fn tensor(&mut self, name: &str) -> Checked<Option<&'a Tensor>> {
        let Some(attribute) = self.take(name, attribute_type::TENSOR)? else { return Ok(None) };
        match &attribute.t {
            Some(tensor) => Ok(Some(tensor)),
            None => wrong!("attribute {name:?} holds no tensor"),
        }
    }

    /// Takes a graph, which must be present.
    pub(super) fn graph(&mut self, name: &str) -> Checked<&'a Graph> {
        match self.take(name, attribute_type::GRAPH)? {
            Some(Attribute { g: Some(graph), .. }) => Ok(graph),
            Some(_) => wrong!("attribute {name:?} holds no graph"),
            None => wrong!("attribute {name:?} is missing"),
        }
    }

    /// Returns the only remaining attribute, if there is one.
    pub(super) fn only(&self) -> Option<(&'a str, &'a Attribute)> {
        let mut all = self.left.iter();
        match (all.next(), all.next()) {
            (Some((name, attribute)), None) => Some((name, attribute)),
            _ => None,
        }
    }

    /// Drops an attribute without reading it, such as a hint of old versions for runtimes.
    pub(super) fn ignore(&mut self, name: &str) {
        self.left.remove(name);
    }

    /// Refuses attributes that have not been read, because their effect is unknown.
    pub(super) fn finish(self, kind: &str, opset: i64) -> Checked<()> {
        match self.left.keys().min() {
            Some(name) => wrong!("{kind} of opset {opset} has no attribute {name:?}"),
            None => Ok(()),
        }
    }
}

/// A scalar attribute. If its type is stated, a missing value means 0.
fn one<T: Default>(attribute: &Attribute, value: Option<T>, name: &str) -> Checked<T> {
    match value {
        None if attribute.r#type == attribute_type::UNDEFINED => {
            wrong!("attribute {name:?} has no value of its type")
        }
        value => Ok(value.unwrap_or_default()),
    }
}

/// The name in `AttributeProto.AttributeType`.
fn type_name(r#type: i32) -> String {
    const NAMES: &str = "UNDEFINED FLOAT INT STRING TENSOR GRAPH FLOATS INTS STRINGS TENSORS GRAPHS \
        SPARSE_TENSOR SPARSE_TENSORS TYPE_PROTO TYPE_PROTOS";
    let index = usize::try_from(r#type).ok();
    let name = index.and_then(|index| NAMES.split_whitespace().nth(index));
    name.map_or_else(|| r#type.to_string(), str::to_owned)
}
