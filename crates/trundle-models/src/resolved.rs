//! A model for inputs of known shapes: a program, and what only a model knows of its tensors.

use trundle_core::program::{Budget, Definition, Made, Program, TensorId};
use trundle_core::{DType, Shape, Width};

use crate::constant::Elements;
use crate::{Constant, Data, ElementType, Error, Result};

/// A model whose shapes are all known and whose operators are all resolved into what they move.
#[derive(Clone, Debug)]
pub struct ResolvedModel {
    /// Its inputs are the model's, and after them its constants.
    program: Program,
    /// One for each tensor.
    infos: Vec<TensorInfo>,
    constants: Vec<Constant>,
}

/// What a program does not know of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// The type of its elements.
    pub element: ElementType,
    /// The node that gives it, as the model calls it; empty for what stands between two nodes.
    pub name: String,
}

impl ResolvedModel {
    /// A program of which the last inputs are `constants`, with what is known of each tensor.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is not one entry for each tensor, if an element type does not
    /// have the width of its tensor or is not that of what the tensor is made of, or if a constant
    /// is not its input.
    pub fn new(
        program: Program,
        infos: Vec<TensorInfo>,
        constants: Vec<Constant>,
    ) -> Result<ResolvedModel> {
        let model = ResolvedModel { program, infos, constants };
        let tensors = model.program.tensors();
        let known =
            model.infos.len() == tensors.len() && model.constants.len() <= model.program.inputs();
        let fits = |(tensor, info): (&Definition, &TensorInfo)| {
            let constant = match tensor.made {
                Made::Given(input) => model.constant_of(input),
                _ => None,
            };
            tensor.width == width_of(info.element)
                && tensor.made.of().iter().all(|of| model.element(*of) == info.element)
                && constant.is_none_or(|constant| {
                    constant.element == info.element
                        && constant.shape == tensor.shape
                        && constant.data.check(constant.element, &constant.shape).is_ok()
                })
        };
        match known && tensors.iter().zip(&model.infos).all(fits) {
            true => Ok(model),
            false => Err(Error::Malformed("what is known of the tensors is not theirs".into())),
        }
    }

    /// Which tensor is made of which.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Which tensor each output of the model is, in the model's order.
    pub fn outputs(&self) -> &[TensorId] {
        self.program.outputs()
    }

    /// The shape of a tensor.
    pub fn shape(&self, id: TensorId) -> &Shape {
        &self.program.tensor(id).shape
    }

    /// The type of a tensor's elements.
    pub fn element(&self, id: TensorId) -> ElementType {
        self.infos[id.0].element
    }

    /// What a tensor is called.
    pub fn name(&self, id: TensorId) -> String {
        let name = &self.infos[id.0].name;
        match &self.program.tensor(id).made {
            _ if !name.is_empty() => name.clone(),
            Made::Given(input) if self.constant_of(*input).is_none() => format!("input {input}"),
            Made::Given(_) | Made::Fill(_) => format!("constant {}", id.0),
            Made::Moved { .. } | Made::Joined { .. } => format!("tensor {}", id.0),
        }
    }

    /// The same model, its program in fewer steps.
    pub(crate) fn simplified(self, budget: &Budget) -> ResolvedModel {
        ResolvedModel { program: self.program.simplified(budget), ..self }
    }

    /// How many inputs the model itself has; those of its program that follow are constants.
    pub fn inputs(&self) -> usize {
        self.program.inputs() - self.constants.len()
    }

    /// The constant that an input of the program is.
    pub fn constant_of(&self, input: usize) -> Option<&Constant> {
        self.constants.get(input.checked_sub(self.inputs())?)
    }

    /// The elements of a tensor that is given or filled; `None` for others.
    ///
    /// # Panics
    /// If it is an input of the model that is not among `inputs`.
    pub(crate) fn source<'a>(&'a self, id: TensorId, inputs: &'a [Data]) -> Option<Elements<'a>> {
        match &self.program.tensor(id).made {
            Made::Given(input) => Some(match self.constant_of(*input) {
                Some(constant) => constant.data.elements(),
                None => inputs[*input].elements(),
            }),
            Made::Fill(element) => Some(Elements::Bytes(element)),
            Made::Moved { .. } | Made::Joined { .. } => None,
        }
    }
}

/// How wide an element is where it is moved; a text is moved as its index.
pub(crate) fn width_of(element: ElementType) -> Width {
    match element {
        ElementType::Fixed(dtype) => dtype.into(),
        ElementType::String => DType::U64.into(),
    }
}
