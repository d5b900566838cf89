//! The graph as it grows.

use std::collections::HashMap;

use trundle_core::{DType, IndexMap, Op, Shape};

use super::Given;
use super::site::Answer;
use crate::follow::Ends;
use crate::{Constant, Data, ElementType, Error, Made, Model, Result, Tensor, TensorId};

/// The most axes that all tensors together may have: a file of some kilobytes can state a rank of
/// thousands and move it from node to node thousands of times.
const MOST_AXES: usize = 1 << 21;

/// The tensors so far, each made of earlier ones.
pub(super) struct Builder<'m> {
    /// What is known of the model's inputs, which are the first tensors.
    pub(super) given: &'m [Given<'m>],
    /// How many steps were taken to read lists of integers.
    pub(super) steps: usize,
    /// Which constants are there in another type.
    pub(super) widened: HashMap<(TensorId, DType), TensorId>,
    tensors: Vec<Tensor>,
    ends: Ends,
    axes: usize,
}

impl<'m> Builder<'m> {
    /// The inputs of a model as the first tensors, in order.
    pub(super) fn new(model: &Model, given: &'m [Given<'m>]) -> Result<Builder<'m>> {
        let mut builder = Builder {
            given,
            steps: 0,
            widened: HashMap::new(),
            tensors: Vec::new(),
            ends: Ends::default(),
            axes: 0,
        };
        for (number, (input, given)) in model.inputs.iter().zip(given).enumerate() {
            let tensor = builder
                .push(input.element, given.shape.clone(), Made::Given(number))
                .map_err(|problem| Error::Input(format!("input {:?}: {problem}", input.name)))?;
            builder.name(tensor, &input.name);
        }
        Ok(builder)
    }

    /// All tensors.
    pub(super) fn into_tensors(self) -> Vec<Tensor> {
        self.tensors
    }

    /// The tensors so far.
    pub(super) fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Where the parts of joined tensors end.
    pub(super) fn ends(&self) -> &Ends {
        &self.ends
    }

    /// How many tensors there are.
    pub(super) fn len(&self) -> usize {
        self.tensors.len()
    }

    /// One of the tensors.
    pub(super) fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0]
    }

    /// Says which node gives a tensor.
    pub(super) fn name(&mut self, id: TensorId, name: &str) {
        name.clone_into(&mut self.tensors[id.0].name);
    }

    /// A tensor that the file holds.
    pub(super) fn constant(&mut self, constant: &Constant) -> Answer<TensorId> {
        let Constant { element, shape, data } = constant;
        let (expected, got) = (entries(*element, shape)?, held(data));
        let kinds_agree =
            matches!(data, Data::Strings(_)) == matches!(element, ElementType::String);
        if !kinds_agree || expected != got {
            let unit = if *element == ElementType::String { "texts" } else { "bytes" };
            return Err(format!(
                "its shape {shape} of {element} is {expected} {unit}, but it holds {got}"
            )
            .into());
        }
        self.push(*element, shape.clone(), Made::Constant(constant.clone()))
    }

    /// A tensor's elements moved by an operator.
    pub(super) fn moved_by(&mut self, from: TensorId, op: impl Into<Op>) -> Answer<TensorId> {
        let map = op.into().index_map(&self.tensor(from).shape)?;
        self.moved(from, map)
    }

    /// A tensor's elements moved by a map from its shape; the tensor itself if they all stay.
    pub(super) fn moved(&mut self, from: TensorId, map: IndexMap) -> Answer<TensorId> {
        if map.is_identity() {
            return Ok(from);
        }
        let (element, shape) = (self.tensor(from).element, map.out_shape().clone());
        self.axes = self.axes.saturating_add(map.in_shape().rank());
        self.push(element, shape, Made::Moved { from, map })
    }

    /// A tensor's elements in row-major order in another shape of as many elements.
    pub(super) fn reshaped(&mut self, from: TensorId, to: &Shape) -> Answer<TensorId> {
        if self.tensor(from).shape == *to {
            return Ok(from);
        }
        let map = IndexMap::reshape(&self.tensor(from).shape, to)?;
        self.moved(from, map)
    }

    /// Tensors one after another. They agree in element type and in every size but that of `axis`.
    /// Empty ones are left out; one that is all there is stays as it is.
    pub(super) fn joined(&mut self, axis: usize, parts: &[TensorId]) -> Answer<TensorId> {
        let Some(&first) = parts.first() else { return Err("there is nothing to join".into()) };
        let mut sizes = self.tensor(first).shape.sizes().to_vec();
        let along = |part: &TensorId| self.tensor(*part).shape[axis];
        let total = parts.iter().try_fold(0usize, |total, part| total.checked_add(along(part)));
        sizes[axis] = total.ok_or("the sizes of its parts add up to more than fits")?;
        let shape = Shape::new(sizes)?;
        let parts: Vec<TensorId> = parts.iter().copied().filter(|part| along(part) > 0).collect();
        match parts[..] {
            [] => return Ok(first),
            [only] => return Ok(only),
            _ => {}
        }
        self.push(self.tensor(first).element, shape, Made::Joined { axis, parts })
    }

    /// One more tensor, without a name.
    fn push(&mut self, element: ElementType, shape: Shape, made: Made) -> Answer<TensorId> {
        self.axes = self.axes.saturating_add(shape.rank());
        if self.axes > MOST_AXES {
            return Err(format!(
                "the tensors up to here have more than {MOST_AXES} axes in all, which is the limit"
            )
            .into());
        }
        // Whoever makes this tensor must be able to count its bytes.
        entries(element, &shape)?;
        let id = TensorId(self.tensors.len());
        self.tensors.push(Tensor { element, shape, made, name: String::new() });
        self.ends.add(&self.tensors, id);
        Ok(id)
    }
}

/// The bytes, or texts, that a tensor holds.
pub(super) fn entries(element: ElementType, shape: &Shape) -> trundle_core::Result<usize> {
    match element {
        ElementType::Fixed(dtype) => shape.bytes(dtype),
        ElementType::String => shape.bytes(size_of::<String>()).map(|_| shape.elements()),
    }
}

/// The bytes, or texts, that are there.
pub(super) fn held(data: &Data) -> usize {
    match data {
        Data::Bytes(bytes) => bytes.len(),
        Data::Strings(texts) => texts.len(),
    }
}
