//! Plans of one-tensor chains, cached for the latest calls.

use std::sync::Arc;

use trundle::{Chain, DType, ProgramPlan, Shape};
use trundle_models::ElementType;
use trundle_models::latest::Latest;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::node::Node;
use crate::tensor::Input;

/// Cached plans of a node.
pub(crate) struct Plans {
    latest: Latest<Key, Planned>,
    /// Output type that the graph declares.
    stated: Option<ElementType>,
}

/// The inputs a plan depends on.
struct Key {
    element: ElementType,
    shape: Shape,
    /// Shapes and contents of the other inputs, which determine the move.
    others: Vec<(Shape, Vec<u8>)>,
}

struct Planned {
    plan: ProgramPlan,
    out: Shape,
}

/// Strings are moved as their indices.
const INDEX: DType = DType::Bytes(size_of::<u64>());

impl Plans {
    pub(crate) fn new(node: &Node) -> Result<Plans> {
        let stated = node.output_types()?.first().copied().flatten();
        Ok(Plans { latest: Latest::default(), stated })
    }

    /// Runs a call: moves the first input by the chain that `chain` makes from the other inputs. `chain` runs once
    /// per plan.
    pub(crate) fn run(
        &self,
        context: &Context,
        chain: impl FnOnce(&[Input<'_>]) -> Result<Chain>,
    ) -> Result<()> {
        let inputs = context.inputs()?;
        let Some((data, others)) = inputs.split_first() else {
            return Err(Failure("has no input".to_owned()));
        };
        let planned = match self.find(data, others) {
            Some(planned) => planned,
            None => self.plan(data, others, &chain(&inputs)?)?,
        };
        self.run_planned(context, &planned, data)
    }

    fn find(&self, data: &Input<'_>, others: &[Input<'_>]) -> Option<Arc<Planned>> {
        let is_same = |((shape, bytes), other): (&(Shape, Vec<u8>), &Input<'_>)| {
            *shape == other.shape && *bytes == other.bytes
        };
        self.latest.find(|key| {
            key.element == data.element
                && key.shape == data.shape
                && key.others.iter().zip(others).all(is_same)
        })
    }

    fn plan(&self, data: &Input<'_>, others: &[Input<'_>], chain: &Chain) -> Result<Arc<Planned>> {
        let dtype = match data.element {
            ElementType::Fixed(dtype) => dtype,
            ElementType::String => INDEX,
        };
        let program = chain.program([data.shape.clone()], dtype)?;
        let out = program.tensor(program.outputs()[0]).shape.clone();
        let plan = ProgramPlan::row_major(&program, None)?;
        let others = others.iter().map(|other| (other.shape.clone(), other.bytes.to_vec()));
        let key =
            Key { element: data.element, shape: data.shape.clone(), others: others.collect() };
        Ok(self.latest.keep(key, Planned { plan, out }))
    }

    fn run_planned(&self, context: &Context, planned: &Planned, data: &Input<'_>) -> Result<()> {
        let Planned { plan, out } = planned;
        let Some(mut output) = context.output(0, (data.element, out), self.stated)? else {
            return Ok(());
        };
        if data.element != ElementType::String {
            return Ok(plan.run(&[data.bytes], output.bytes()?)?);
        }
        let texts = data.texts()?;
        let indices: Vec<u8> = (0..texts.len() as u64).flat_map(u64::to_ne_bytes).collect();
        let mut moved = vec![0; out.bytes(INDEX)?];
        plan.run(&[&indices], &mut moved)?;
        let (moved, _) = moved.as_chunks();
        let text = |index: &[u8; 8]| {
            let index = usize::try_from(u64::from_ne_bytes(*index)).ok();
            index.and_then(|index| texts.get(index)).map_or("", String::as_str)
        };
        output.put(&moved.iter().map(text).collect::<Vec<_>>())
    }
}
