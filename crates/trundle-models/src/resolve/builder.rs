//! Builds the program of a resolved model.

use std::collections::{HashMap, HashSet};

use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{DType, IndexMap, Op, Shape};

use super::inputs::Given;
use crate::constant::{Elements, entries};
use crate::problem::{Checked, Problem, wrong};
use crate::resolved::width_of;
use crate::survey;
use crate::{
    Body, Constant, ElementType, Error, Model, Node, ResolvedModel, Result, TensorInfo, ValueId,
};

/// The largest number of axes of all tensors together. A file of some kilobytes can state a rank of thousands and pass
/// it through thousands of nodes.
const MOST_AXES: usize = 1 << 21;

/// The largest cost of all loop iterations together. A small file can ask for any number.
const MOST_ITERATED: usize = 1 << 20;

pub(super) struct Builder<'m> {
    pub(super) model: &'m Model,
    /// The caller's inputs, the first tensors of the program.
    pub(super) given: &'m [Given<'m>],
    /// The tensors of the values resolved so far.
    pub(super) values: HashMap<ValueId, TensorId>,
    /// Steps taken to read lists of integers; at most `MOST_STEPS`.
    pub(super) steps: usize,
    /// Indices in all scatters; at most `MOST_INDICES`.
    pub(super) indices: usize,
    /// Constants widened to another type.
    pub(super) widened: HashMap<(TensorId, DType), TensorId>,
    pub(super) program: Program,
    infos: Vec<TensorInfo>,
    constants: Vec<Constant>,
    axes: usize,
    /// Tensors of known type and shape, with unknown elements.
    unknown: HashSet<TensorId>,
    /// The current iteration of each loop, outermost first.
    iterations: Vec<usize>,
    iterated: usize,
}

impl<'m> Builder<'m> {
    /// The model's inputs are the first tensors.
    pub(super) fn new(model: &'m Model, given: &'m [Given<'m>]) -> Result<Builder<'m>> {
        let mut builder = Builder {
            model,
            given,
            values: HashMap::new(),
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

    pub(super) fn resolved(mut self, outputs: &[TensorId]) -> Result<ResolvedModel> {
        for output in outputs {
            let unknown = |error: trundle_core::Error| Error::Malformed(error.to_string());
            self.program.output(*output).map_err(unknown)?;
        }
        ResolvedModel::new(self.program, self.infos, self.constants)
    }

    pub(super) fn shape(&self, id: TensorId) -> &Shape {
        &self.program.tensor(id).shape
    }

    pub(super) fn element(&self, id: TensorId) -> ElementType {
        self.infos[id.0].element
    }

    pub(super) fn called(&self, id: TensorId) -> &str {
        &self.infos[id.0].name
    }

    /// The constant of a tensor, if the file has it.
    pub(super) fn file_constant(&self, id: TensorId) -> Option<&Constant> {
        match self.program.tensor(id).made {
            Made::Given(input) => self.constants.get(input.checked_sub(self.given.len())?),
            _ => None,
        }
    }

    pub(super) fn is_input(&self, id: TensorId) -> bool {
        matches!(self.program.tensor(id).made, Made::Given(input) if input < self.given.len())
    }

    /// The elements of an input, constant or fill, if known.
    pub(super) fn elements(&self, id: TensorId) -> Option<Elements<'_>> {
        match (&self.program.tensor(id).made, self.file_constant(id)) {
            _ if self.unknown.contains(&id) => None,
            (_, Some(constant)) => Some(constant.data.elements()),
            (Made::Given(input), None) => Some(self.given.get(*input)?.data?.elements()),
            (Made::Fill(element), None) => Some(Elements::Bytes(element)),
            (Made::Moved { .. } | Made::Joined { .. }, None) => None,
        }
    }

    pub(super) fn name(&mut self, id: TensorId, name: &str) {
        name.clone_into(&mut self.infos[id.0].name);
    }

    pub(super) fn constant(&mut self, constant: &Constant) -> Checked<TensorId> {
        let Constant { element, shape, data } = constant;
        data.check(*element, shape)?;
        let id = self.given(*element, shape)?;
        self.constants.push(constant.clone());
        Ok(id)
    }

    /// Adds a tensor with unknown elements, which no output may contain.
    pub(super) fn unknown(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &Shape,
    ) -> Checked<TensorId> {
        let id = self.zero(element)?;
        self.name(id, name);
        self.unknown.insert(id);
        self.moved(id, IndexMap::broadcast(shape))
    }

    /// All bits are 0.
    pub(super) fn zero(&mut self, element: ElementType) -> Checked<TensorId> {
        let width = width_of(element);
        let id = self.program.fill(width, &vec![0; width.bytes(width.units())])?;
        self.known(id, element)
    }

    pub(super) fn moved_by(&mut self, from: TensorId, op: impl Into<Op>) -> Checked<TensorId> {
        let map = op.into().index_map(self.shape(from))?;
        self.moved(from, map)
    }

    /// The identity returns the tensor itself.
    pub(super) fn moved(&mut self, from: TensorId, map: IndexMap) -> Checked<TensorId> {
        if map.is_identity() {
            return Ok(from);
        }
        self.count(map.in_shape().rank() + map.out_shape().rank())?;
        let id = self.program.moved(from, map)?;
        self.known(id, self.element(from))
    }

    /// Keeps the row-major order.
    pub(super) fn reshaped(&mut self, from: TensorId, to: &Shape) -> Checked<TensorId> {
        if self.shape(from) == to {
            return Ok(from);
        }
        let map = IndexMap::reshape(self.shape(from), to)?;
        self.moved(from, map)
    }

    /// Joins tensors that agree in element type and in all other sizes. Empty tensors are skipped, and a single
    /// remaining one is returned as is.
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

    pub(super) fn updated(
        &mut self,
        base: TensorId,
        updates: TensorId,
        targets: &IndexMap,
    ) -> Checked<TensorId> {
        self.count(targets.in_shape().rank() + targets.out_shape().rank())?;
        let id = self.program.updated(base, updates, targets)?;
        self.known(id, self.element(base))
    }

    /// Pads each axis with `fill`, a tensor of rank 0. `widths` has the amounts before and after.
    pub(super) fn padded(
        &mut self,
        from: TensorId,
        widths: &[[usize; 2]],
        fill: TensorId,
    ) -> Checked<TensorId> {
        let blocks = widths.iter().flatten().filter(|width| **width > 0).count();
        // One join for each block: an upper bound, because an axis with two blocks is joined only once.
        self.count(2 * blocks * widths.len())?;
        let id = self.program.padded(from, widths, fill)?;
        self.known(id, self.element(from))
    }

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

    pub(super) fn is_iterating(&self) -> bool {
        !self.iterations.is_empty()
    }

    /// In a loop, adds the cost of one run of `body`.
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

    /// Refuses, before the first iteration, more iterations than the limit allows.
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

    /// `number` is the node's index in its graph.
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

    fn given(&mut self, element: ElementType, shape: &Shape) -> Checked<TensorId> {
        self.count(shape.rank())?;
        let id = self.program.given(shape.clone(), width_of(element))?;
        self.known(id, element)
    }

    fn count(&mut self, axes: usize) -> Checked<()> {
        self.axes = self.axes.saturating_add(axes);
        if self.axes > MOST_AXES {
            return wrong!(
                "the tensors up to here have more than {MOST_AXES} axes in all, which is the limit"
            );
        }
        Ok(())
    }

    /// Records the type of an added tensor, and of the tensors that it consists of, which get no names.
    fn known(&mut self, id: TensorId, element: ElementType) -> Checked<TensorId> {
        // The size in bytes must not overflow.
        entries(element, self.shape(id))?;
        let info = TensorInfo { element, name: String::new() };
        self.infos.resize(self.program.tensors().len(), info);
        Ok(id)
    }
}

/// The cost of one run of a body, without the bodies inside it.
fn cost(body: &Body) -> usize {
    let of = |node: &Node| 1 + node.inputs.len() + node.outputs.len();
    body.nodes.iter().map(of).sum::<usize>() + 1 + body.inputs.len() + body.outputs.len()
}

/// A node in messages: its operator, and its name or else its index in its graph.
fn label(node: &Node, number: usize) -> String {
    let kind = node.kind.escape_debug();
    if node.name.is_empty() {
        format!("{kind} (node {number})")
    } else {
        format!("{kind} {:?}", node.name)
    }
}
