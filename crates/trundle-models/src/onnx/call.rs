//! A node as the table of operators sees it.

use super::attributes::Attributes;
use super::problem::{Checked, Problem, wrong};
use super::tensors::Tensors;
use crate::{IntegerTypes, Integers, ValueId};

/// A node of ONNX's own operators.
pub(super) struct Call<'c, 'a> {
    /// The version of the operators.
    pub(super) opset: i64,
    /// What it reads.
    pub(super) inputs: &'c [Option<ValueId>],
    /// How many outputs it has.
    pub(super) outputs: usize,
    /// Its attributes: what is read is gone.
    pub(super) attributes: Attributes<'a>,
    /// Reads tensors that attributes hold.
    pub(super) tensors: &'c mut Tensors<'a>,
    /// Set to the bits of an f32 that the operator reads as one input more, in the type of its
    /// data.
    pub(super) appended: Option<u32>,
}

impl Call<'_, '_> {
    /// Refuses other inputs than these: all of `required`, any of `optional`.
    pub(super) fn takes(&self, required: &[&str], optional: &[&str]) -> Checked<()> {
        for (number, name) in required.iter().enumerate() {
            if self.inputs.get(number).is_none_or(Option::is_none) {
                return wrong(format!("input {number} ({name}) is missing"));
            }
        }
        let most = required.len() + optional.len();
        if self.inputs.len() > most {
            let names = [required, optional].concat().join(", ");
            return wrong(format!(
                "it has {} inputs, and takes {most}: {names}",
                self.inputs.len()
            ));
        }
        Ok(())
    }

    /// The integers of an input, unless that is left out.
    pub(super) fn optional_list(&self, input: usize, types: IntegerTypes) -> Option<Integers> {
        self.has(input).then_some(Integers::Input { input, types })
    }

    /// Whether the input of this number is there.
    pub(super) fn has(&self, input: usize) -> bool {
        self.inputs.get(input).is_some_and(Option::is_some)
    }

    /// The list of an attribute, if it is there.
    pub(super) fn given(&mut self, attribute: &str) -> Checked<Option<Integers>> {
        let ints = self.attributes.ints(attribute)?;
        Ok(ints.map(|ints| Integers::Given(ints.to_vec())))
    }

    /// The list of an attribute that must be there.
    pub(super) fn required(&mut self, attribute: &str) -> Checked<Integers> {
        self.given(attribute)?.ok_or_else(|| missing(attribute))
    }
}

/// An attribute that is not there.
pub(super) fn missing(attribute: &str) -> Problem {
    Problem::Wrong(format!("attribute {attribute:?} is missing"))
}
