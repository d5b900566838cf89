//! Chains of one tensor, planned for the calls that came last.

use std::sync::Arc;

use trundle::{Chain, DType, ProgramPlan, Shape};
use trundle_models::ElementType;
use trundle_models::latest::Latest;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::tensor::Input;

/// The plans of one node for the calls that came last.
#[derive(Default)]
pub(crate) struct Plans(Latest<Key, Planned>);

/// What a plan is for.
struct Key {
    element: ElementType,
    sizes: Vec<usize>,
    /// What says how the data is moved: the sizes of the other inputs, and their elements.
    others: Vec<(Vec<usize>, Vec<u8>)>,
}

struct Planned {
    plan: ProgramPlan,
    out: Shape,
}

/// What texts are moved as: their indices.
const INDEX: DType = DType::Bytes(size_of::<u64>());

impl Plans {
    /// Makes the output of a call whose first input is moved as a chain says, which is made of all others the first time.
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
        run(context, &planned, data)
    }

    fn find(&self, data: &Input<'_>, others: &[Input<'_>]) -> Option<Arc<Planned>> {
        let is_same = |((sizes, bytes), other): (&(Vec<usize>, Vec<u8>), &Input<'_>)| {
            *sizes == other.sizes && *bytes == other.bytes
        };
        self.0.find(|key| {
            key.element == data.element
                && key.sizes == data.sizes
                && key.others.iter().zip(others).all(is_same)
        })
    }

    fn plan(&self, data: &Input<'_>, others: &[Input<'_>], chain: &Chain) -> Result<Arc<Planned>> {
        let dtype = match data.element {
            ElementType::Fixed(dtype) => dtype,
            ElementType::String => INDEX,
        };
        let program = chain.program([Shape::new(&data.sizes[..])?], dtype)?;
        let out = program.tensor(program.outputs()[0]).shape.clone();
        let plan = ProgramPlan::row_major(&program, None)?;
        let others = others.iter().map(|other| (other.sizes.clone(), other.bytes.to_vec()));
        let key =
            Key { element: data.element, sizes: data.sizes.clone(), others: others.collect() };
        Ok(self.0.keep(key, Planned { plan, out }))
    }
}

fn run(context: &Context, planned: &Planned, data: &Input<'_>) -> Result<()> {
    let Planned { plan, out } = planned;
    let Some(mut output) = context.output(0, out.sizes())? else { return Ok(()) };
    output.check(data.element).map_err(|failure| failure.of("output", 0))?;
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
