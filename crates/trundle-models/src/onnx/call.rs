//! A node as the table of operators sees it.

use super::attributes::Attributes;
use super::tensors::Tensors;
use crate::problem::{Checked, Problem, wrong};
use crate::{IntegerTypes, Integers, Operator, ValueId};

/// A form of an operator: what the file calls it, the first opset that has it so, and how its
/// neutral form is made.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) since: i64,
    /// The inputs that it must have, then those that it may have; `None` for any.
    pub(super) inputs: Option<[&'static [&'static str]; 2]>,
    /// Whether it has exactly one output; else `read` says.
    pub(super) one_output: bool,
    pub(super) read: Read,
}

type Read = fn(&mut Call<'_, '_>) -> Checked<Operator>;

/// A form with one output.
pub(super) const fn row(
    name: &'static str,
    since: i64,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    read: Read,
) -> Row {
    Row { name, since, inputs: Some([required, optional]), one_output: true, read }
}

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
}

impl Call<'_, '_> {
    /// Refuses other inputs and outputs than those of a form.
    pub(super) fn check(&self, form: &Row) -> Checked<()> {
        if form.one_output && self.outputs != 1 {
            return wrong!("it lists {} outputs, but produces one", self.outputs);
        }
        let Some([required, optional]) = form.inputs else { return Ok(()) };
        for (number, name) in required.iter().enumerate() {
            if !self.has(number) {
                return wrong!("input {number} ({name}) is missing");
            }
        }
        let (has, most) = (self.inputs.len(), required.len() + optional.len());
        if has > most {
            let names = [required, optional].concat().join(", ");
            return wrong!("it has {has} inputs, and takes {most}: {names}");
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
