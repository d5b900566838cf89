//! Plans of one-tensor chains, cached for the latest calls.

use trundle::{Chain, DType, ProgramPlan, Shape};
use trundle_models::{ElementType, Lent, PlanCache};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::node::Node;
use crate::tensor::Input;

/// Cached plans of a node.
pub(crate) struct Plans {
    cache: PlanCache<Planned>,
    /// Output type that the graph declares.
    stated: Option<ElementType>,
}

struct Planned {
    element: ElementType,
    plan: ProgramPlan,
    out: Shape,
}

/// Strings are moved as their indices.
const INDEX: DType = DType::Bytes(size_of::<u64>());

impl Plans {
    pub(crate) fn new(node: &Node) -> Result<Plans> {
        let stated = node.output_types()?.first().copied().flatten();
        Ok(Plans { cache: PlanCache::default(), stated })
    }

    /// Runs a call: moves the first input by the chain that `chain` makes from the other inputs. `chain` runs once
    /// per plan.
    pub(crate) fn run(
        &self,
        context: &Context,
        chain: impl FnOnce(&[Input<'_>]) -> Result<Chain>,
    ) -> Result<()> {
        let inputs = context.inputs()?;
        let Some(data) = inputs.first() else {
            return Err(Failure("has no input".to_owned()));
        };
        let lent: Vec<Lent<'_>> = inputs.iter().map(Input::lent).collect();
        let found = self.cache.find(&lent, None);
        let planned = match found.filter(|planned| planned.element == data.element) {
            Some(planned) => planned,
            None => {
                let planned = Planned::new(data, &chain(&inputs)?)?;
                self.cache.keep(&lent, None, 1..lent.len(), planned)
            }
        };
        self.run_planned(context, &planned, data)
    }

    fn run_planned(&self, context: &Context, planned: &Planned, data: &Input<'_>) -> Result<()> {
        let Planned { plan, out, .. } = planned;
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

impl Planned {
    fn new(data: &Input<'_>, chain: &Chain) -> Result<Planned> {
        let dtype = match data.element {
            ElementType::Fixed(dtype) => dtype,
            ElementType::String => INDEX,
        };
        let program = chain.program([data.shape.clone()], dtype)?;
        let out = program.tensor(program.outputs()[0]).shape.clone();
        Ok(Planned { element: data.element, plan: ProgramPlan::row_major(&program, None)?, out })
    }
}
