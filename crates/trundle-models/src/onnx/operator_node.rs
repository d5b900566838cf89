//! Nodes as the functions in the operator tables get them.

use super::attributes::Attributes;
use super::tensors::Tensors;
use crate::problem::{Checked, Problem, wrong};
use crate::{IntegerTypes, Integers, Operator, ValueId};

/// A version of an operator, since the opset `since`, and its conversion to an [`Operator`].
pub(super) struct OperatorVersion {
    pub(super) name: &'static str,
    pub(super) since: i64,
    /// Required and optional inputs; `None` allows any inputs.
    pub(super) inputs: Option<[&'static [&'static str]; 2]>,
    /// Otherwise `read` checks the outputs.
    pub(super) one_output: bool,
    pub(super) read: Read,
}

type Read = fn(&mut OperatorNode) -> Checked<Operator>;

pub(super) const fn version(
    name: &'static str,
    since: i64,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    read: Read,
) -> OperatorVersion {
    OperatorVersion { name, since, inputs: Some([required, optional]), one_output: true, read }
}

/// A node of ONNX's own operators.
pub(super) struct OperatorNode<'c, 'a> {
    pub(super) opset: i64,
    /// `None` for an omitted input.
    pub(super) inputs: &'c [Option<ValueId>],
    pub(super) outputs: usize,
    /// Attributes that have not been read yet.
    pub(super) attributes: Attributes<'a>,
    pub(super) tensors: &'c mut Tensors<'a>,
}

impl OperatorNode<'_, '_> {
    pub(super) fn check(&self, version: &OperatorVersion) -> Checked<()> {
        if version.one_output && self.outputs != 1 {
            return wrong!("it lists {} outputs, but produces one", self.outputs);
        }
        let Some([required, optional]) = version.inputs else { return Ok(()) };
        for (number, name) in required.iter().enumerate() {
            if !self.has(number) {
                return wrong!("input {number} ({name}) is missing");
            }
        }
        let (has, most) = (self.inputs.len(), required.len() + optional.len());
        if has > most {
            let names = [required, optional].concat().join(", ");
            return wrong!("it has {has} inputs, but takes {most}: {names}");
        }
        Ok(())
    }

    /// The list of integers in an input, unless the input is omitted.
    pub(super) fn optional_list(&self, input: usize, types: IntegerTypes) -> Option<Integers> {
        self.has(input).then_some(Integers::Input { input, types })
    }

    pub(super) fn has(&self, input: usize) -> bool {
        self.inputs.get(input).is_some_and(Option::is_some)
    }

    pub(super) fn axis(&mut self, default: i64) -> Checked<i64> {
        Ok(self.attributes.int("axis")?.unwrap_or(default))
    }

    /// Takes the list of integers in an attribute, if present.
    pub(super) fn given(&mut self, attribute: &str) -> Checked<Option<Integers>> {
        let ints = self.attributes.ints(attribute)?;
        Ok(ints.map(|ints| Integers::Given(ints.to_vec())))
    }

    /// Takes the list of integers in a required attribute.
    pub(super) fn required(&mut self, attribute: &str) -> Checked<Integers> {
        self.given(attribute)?.ok_or_else(|| missing(attribute))
    }
}

pub(super) fn missing(attribute: &str) -> Problem {
    Problem::Wrong(format!("attribute {attribute:?} is missing"))
}
