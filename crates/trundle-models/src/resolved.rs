//! A model for inputs of known shapes: a program, with the names and element types of its tensors.

use trundle_core::program::{Budget, Definition, Made, Program, TensorId};
use trundle_core::{DType, Shape, Width};

use crate::constant::Elements;
use crate::{Constant, Data, ElementType, Error, Result};

/// A model with all shapes known and all operators resolved to moves.
#[derive(Clone, Debug)]
pub struct ResolvedModel {
    /// Its inputs are the model's, followed by the constants.
    program: Program,
    infos: Vec<TensorInfo>,
    constants: Vec<Constant>,
}

/// The element type and name of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// The element type.
    pub element: ElementType,
    /// The node that produces the tensor; empty for an intermediate tensor of a node.
    pub name: String,
}

impl ResolvedModel {
    /// Makes a model of a program whose last inputs are `constants`. `infos` has one entry for each tensor.
    ///
    /// # Errors
    /// [`Error::Malformed`] if `infos` has the wrong length, if an element type does not fit the width of its tensor or
    /// differs from the tensor's sources, or if a constant does not match its input.
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
            false => {
                Err(Error::Malformed("the stated types or shapes do not fit the tensors".into()))
            }
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The tensor of each output, in order.
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

    /// The name of a tensor, for display.
    pub fn name(&self, id: TensorId) -> String {
        let name = &self.infos[id.0].name;
        match &self.program.tensor(id).made {
            _ if !name.is_empty() => name.clone(),
            Made::Given(input) if self.constant_of(*input).is_none() => format!("input {input}"),
            Made::Given(_) | Made::Fill(_) => format!("constant {}", id.0),
            Made::Moved { .. } | Made::Joined { .. } => format!("tensor {}", id.0),
        }
    }

    pub(crate) fn simplified(self, budget: &Budget) -> ResolvedModel {
        ResolvedModel { program: self.program.simplified(budget), ..self }
    }

    /// The number of the model's inputs. The program's other inputs are constants.
    pub fn inputs(&self) -> usize {
        self.program.inputs() - self.constants.len()
    }

    /// The constant at an input of the program.
    pub fn constant_of(&self, input: usize) -> Option<&Constant> {
        self.constants.get(input.checked_sub(self.inputs())?)
    }

    /// The elements of an input, constant or fill; `None` for other tensors.
    ///
    /// # Panics
    /// If `inputs` has no entry for an input of the model.
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

/// A string is moved as an index.
pub(crate) fn width_of(element: ElementType) -> Width {
    match element {
        ElementType::Fixed(dtype) => dtype.into(),
        ElementType::String => DType::U64.into(),
    }
}
