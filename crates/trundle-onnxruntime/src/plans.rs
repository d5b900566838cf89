//! Cached plans of one-input chains for the most recent calls.

use trundle::{Chain, DType};
use trundle_models::{ElementType, InputView, PlanCache, PlannedModel, ResolvedModel, TensorInfo};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::model::run_planned;
use crate::node::Node;
use crate::tensor::Input;

pub(crate) struct Plans {
    cache: PlanCache,
    /// The output type that the graph states.
    declared: Option<ElementType>,
}

impl Plans {
    pub(crate) fn new(node: &Node) -> Result<Plans> {
        let declared = node.output_types()?.first().copied().flatten();
        Ok(Plans { cache: PlanCache::default(), declared })
    }

    /// Moves the first input by the chain that `chain` makes from the others, once for each plan.
    pub(crate) fn run(
        &self,
        context: &Context,
        chain: impl FnOnce(&[Input<'_>]) -> Result<Chain>,
    ) -> Result<()> {
        let inputs = context.inputs()?;
        let Some(data) = inputs.first() else {
            return Err(Failure("has no input".to_owned()));
        };
        let views: Vec<InputView<'_>> = inputs.iter().map(Input::view).collect();
        let found = self.cache.find(&views, None).filter(|planned| {
            let model = planned.model();
            model.element(model.outputs()[0]) == data.element
        });
        let planned = match found {
            Some(planned) => planned,
            None => {
                let planned = planned(data, &chain(&inputs)?)?;
                self.cache.keep(&views, None, 1..views.len(), planned)
            }
        };
        run_planned(context, &planned, &inputs[..1], &[self.declared])
    }
}

fn planned(data: &Input<'_>, chain: &Chain) -> Result<PlannedModel> {
    let element = data.element;
    let dtype = match element {
        ElementType::Fixed(dtype) => dtype,
        // Strings are moved as indices. An opaque type has no numbers, so a chain that needs one, such as the value of
        // a pad, is refused.
        ElementType::String => DType::Bytes(size_of::<u64>()),
    };
    let program = chain.program([data.shape.clone()], dtype)?;
    let infos = vec![TensorInfo { element, name: String::new() }; program.tensors().len()];
    let resolved = ResolvedModel::new(program, infos, Vec::new())?;
    Ok(PlannedModel::new(resolved, None)?)
}
