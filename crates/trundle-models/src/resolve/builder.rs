//! The program as it grows.

use std::collections::{HashMap, HashSet};

use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{DType, IndexMap, Op, Shape};

use super::inputs::Given;
use crate::constant::{Elements, entries};
use crate::problem::{Checked, Problem, wrong};
use crate::resolved::width_of;
use crate::survey;
use crate::{Body, Constant, ElementType, Error, Model, Node, ResolvedModel, Result, TensorInfo};

/// The most axes that all tensors together may have: a file of some kilobytes can state a rank of
/// thousands and move it from node to node thousands of times.
const MOST_AXES: usize = 1 << 21;

/// The most that the iterations of all loops may come to: a small file can state any number of them.
const MOST_ITERATED: usize = 1 << 20;

/// The tensors so far, each made of earlier ones.
pub(super) struct Builder<'m> {
    model: &'m Model,
    /// What is known of the model's inputs, which are the first tensors.
    pub(super) given: &'m [Given<'m>],
    /// Whether their numbers may be reckoned with.
    pub(super) is_part: bool,
    /// How many steps were taken to read lists of integers.
    pub(super) steps: usize,
    /// How many indices the scatters hold.
    pub(super) indices: usize,
    /// Which constants are there in another type.
    pub(super) widened: HashMap<(TensorId, DType), TensorId>,
    program: Program,
    infos: Vec<TensorInfo>,
    constants: Vec<Constant>,
    axes: usize,
    /// Of which only the type and the shape are known.
    unknown: HashSet<TensorId>,
    /// The iterations that are being read, each within the one before.
    iterations: Vec<usize>,
    iterated: usize,
}

impl<'m> Builder<'m> {
    /// The inputs of a model as the first tensors, in order.
    pub(super) fn new(model: &'m Model, given: &'m [Given<'m>]) -> Result<Builder<'m>> {
        let mut builder = Builder {
            model,
            given,
            is_part: model.is_part,
            steps: 0,
            indices: 0,
            widened: HashMap::new(),
            program: Program::new(),
            infos: Vec::new(),
            constants: Vec::new(),
            axes: 0,
            unknown: HashSet::new(),
            iterations: Vec::new(),
            iterated: 0,
        };
        for (input, given) in model.inputs.iter().zip(given) {
            let tensor = builder.given(input.element, &given.shape).map_err(|problem| {
                Error::Input(problem.of(format!("input {:?}", input.name)).to_string())
            })?;
            builder.name(tensor, &input.name);
        }
        Ok(builder)
    }

    /// The model, which gives these tensors.
    pub(super) fn resolved(mut self, outputs: &[TensorId]) -> Result<ResolvedModel> {
        for output in outputs {
            let unknown = |error: trundle_core::Error| Error::Malformed(error.to_string());
            self.program.output(*output).map_err(unknown)?;
        }
        ResolvedModel::new(self.program, self.infos, self.constants)
    }

    /// The tensors so far, and which is made of which.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// How many tensors there are.
    pub(super) fn len(&self) -> usize {
        self.infos.len()
    }

    /// The shape of a tensor.
    pub(super) fn shape(&self, id: TensorId) -> &Shape {
        &self.program.tensor(id).shape
    }

    /// The type of a tensor's elements.
    pub(super) fn element(&self, id: TensorId) -> ElementType {
        self.infos[id.0].element
    }

    /// What the model calls a tensor.
    pub(super) fn called(&self, id: TensorId) -> &str {
        &self.infos[id.0].name
    }

    /// What the file holds, if the tensor is that.
    pub(super) fn held_by_file(&self, id: TensorId) -> Option<&Constant> {
        match self.program.tensor(id).made {
            Made::Given(input) => self.constants.get(input.checked_sub(self.given.len())?),
            _ => None,
        }
    }

    /// Whether a tensor is an input of the model.
    pub(super) fn is_input(&self, id: TensorId) -> bool {
        matches!(self.program.tensor(id).made, Made::Given(input) if input < self.given.len())
    }

    /// The elements of a tensor that is given or filled, if they are known.
    pub(super) fn elements(&self, id: TensorId) -> Option<Elements<'_>> {
        match (&self.program.tensor(id).made, self.held_by_file(id)) {
            _ if self.unknown.contains(&id) => None,
            (_, Some(constant)) => Some(constant.data.elements()),
            (Made::Given(input), None) => Some(self.given.get(*input)?.data?.elements()),
            (Made::Fill(element), None) => Some(Elements::Bytes(element)),
            (Made::Moved { .. } | Made::Joined { .. }, None) => None,
        }
    }

    /// Says which node gives a tensor.
    pub(super) fn name(&mut self, id: TensorId, name: &str) {
        name.clone_into(&mut self.infos[id.0].name);
    }

    /// A tensor that the file holds.
    pub(super) fn constant(&mut self, constant: &Constant) -> Checked<TensorId> {
        let Constant { element, shape, data } = constant;
        data.check(*element, shape)?;
        let id = self.given(*element, shape)?;
        self.constants.push(constant.clone());
        Ok(id)
    }

    /// One element, of rank 0, whose bits are all 0.
    pub(super) fn zero(&mut self, dtype: DType) -> Checked<TensorId> {
        self.filled(ElementType::Fixed(dtype))
    }

    /// A tensor of which only the type and the shape are known: none of its elements may become one of an output.
    pub(super) fn unknown(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &Shape,
    ) -> Checked<TensorId> {
        let id = self.filled(element)?;
        self.name(id, name);
        self.unknown.insert(id);
        self.moved(id, IndexMap::broadcast(shape))
    }

    /// One element, of rank 0, whose bits are all 0.
    fn filled(&mut self, element: ElementType) -> Checked<TensorId> {
        let width = width_of(element);
        let id = self.program.fill(width, &vec![0; width.bytes(width.units())])?;
        self.known(id, element)
    }

    /// A tensor's elements moved by an operator.
    pub(super) fn moved_by(&mut self, from: TensorId, op: impl Into<Op>) -> Checked<TensorId> {
        let map = op.into().index_map(self.shape(from))?;
        self.moved(from, map)
    }

    /// A tensor's elements moved by a map from its shape; the tensor itself if they all stay.
    pub(super) fn moved(&mut self, from: TensorId, map: IndexMap) -> Checked<TensorId> {
        if map.is_identity() {
            return Ok(from);
        }
        self.count(map.in_shape().rank() + map.out_shape().rank())?;
        let id = self.program.moved(from, map)?;
        self.known(id, self.element(from))
    }

    /// A tensor's elements in row-major order in another shape of as many elements.
    pub(super) fn reshaped(&mut self, from: TensorId, to: &Shape) -> Checked<TensorId> {
        if self.shape(from) == to {
            return Ok(from);
        }
        let map = IndexMap::reshape(self.shape(from), to)?;
        self.moved(from, map)
    }

    /// Tensors one after another. They agree in element type and in every size but that of `axis`.
    /// Empty ones are left out; one that is all there is stays as it is.
    pub(super) fn joined(&mut self, axis: usize, parts: &[TensorId]) -> Checked<TensorId> {
        let Some(&first) = parts.first() else { return wrong!("there is nothing to join") };
        let has_size = |part: &TensorId| self.shape(*part)[axis] > 0;
        let parts: Vec<TensorId> = parts.iter().copied().filter(has_size).collect();
        match parts[..] {
            [] => return Ok(first),
            [only] => return Ok(only),
            _ => {}
        }
        self.count(self.shape(first).rank())?;
        let id = self.program.joined(axis, &parts)?;
        self.known(id, self.element(first))
    }

    /// A tensor with the elements of another in the places that a map leads to.
    pub(super) fn updated(
        &mut self,
        base: TensorId,
        updates: TensorId,
        places: &IndexMap,
    ) -> Checked<TensorId> {
        self.count(places.in_shape().rank() + places.out_shape().rank())?;
        let id = self.program.updated(base, updates, places)?;
        // What it is made of on the way has no name.
        let (element, len) = (self.element(base), self.program.tensors().len());
        self.infos.resize_with(len, || TensorInfo { name: String::new(), element });
        Ok(id)
    }

    /// Does something as a part of an iteration.
    pub(super) fn in_iteration<T>(
        &mut self,
        iteration: usize,
        run: impl FnOnce(&mut Builder<'m>) -> T,
    ) -> T {
        self.iterations.push(iteration);
        let made = run(self);
        self.iterations.pop();
        made
    }

    /// Whether nodes that are read now may be read again.
    pub(super) fn is_iterating(&self) -> bool {
        !self.iterations.is_empty()
    }

    /// Counts what a body has, if it may be run again.
    pub(super) fn count_run(&mut self, body: &Body) -> Checked<()> {
        if self.is_iterating() {
            self.iterated = self.iterated.saturating_add(cost(body));
        }
        match self.iterated <= MOST_ITERATED {
            true => Ok(()),
            false => wrong!(
                "the iterations up to here come to more than {MOST_ITERATED} operators, inputs \
                 and outputs, which is the limit"
            ),
        }
    }

    /// Refuses more iterations of a body than there may be, before the first one.
    pub(super) fn check_iterations(&self, body: &Body, count: usize) -> Checked<()> {
        let left = MOST_ITERATED.saturating_sub(self.iterated);
        match cost(body).saturating_mul(count) <= left {
            true => Ok(()),
            false => wrong!(
                "{count} iterations, and those up to here, come to more than {MOST_ITERATED} \
                 operators, inputs and outputs, which is the limit"
            ),
        }
    }

    /// Why the model is refused for one of its nodes, which has this number in its graph.
    pub(super) fn refused(&self, node: &Node, number: usize, problem: Problem) -> Error {
        let mut label = label(node, number);
        if let Some(iteration) = self.iterations.last() {
            label = format!("{label} in iteration {iteration}");
        }
        match problem {
            Problem::Computes => survey::computing(self.model, &label),
            problem => problem.of(label),
        }
    }

    /// The next input of the program.
    fn given(&mut self, element: ElementType, shape: &Shape) -> Checked<TensorId> {
        self.count(shape.rank())?;
        let id = self.program.given(shape.clone(), width_of(element))?;
        self.known(id, element)
    }

    /// Counts the axes of one more tensor.
    fn count(&mut self, axes: usize) -> Checked<()> {
        self.axes = self.axes.saturating_add(axes);
        if self.axes > MOST_AXES {
            return wrong!(
                "the tensors up to here have more than {MOST_AXES} axes in all, which is the limit"
            );
        }
        Ok(())
    }

    /// The tensor that was just added, without a name.
    fn known(&mut self, id: TensorId, element: ElementType) -> Checked<TensorId> {
        // Whoever makes this tensor must be able to count its bytes.
        entries(element, self.shape(id))?;
        self.infos.push(TensorInfo { element, name: String::new() });
        Ok(id)
    }
}

/// What a run of a body takes, but for what is within its nodes.
fn cost(body: &Body) -> usize {
    let of = |node: &Node| 1 + node.inputs.len() + node.outputs.len();
    body.nodes.iter().map(of).sum::<usize>() + 1 + body.inputs.len() + body.outputs.len()
}

/// What messages call a node: its operator, and its name or its place in its graph.
fn label(node: &Node, number: usize) -> String {
    let kind = node.kind.escape_debug();
    if node.name.is_empty() {
        format!("{kind} (node {number})")
    } else {
        format!("{kind} {:?}", node.name)
    }
}
