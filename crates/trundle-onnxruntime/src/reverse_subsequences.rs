//! The operator `ReverseSubsequences`: reverses the first elements of each line along an axis, as DirectML defines it.

use std::ffi::CStr;

use trundle::{Chain, ops};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::inference::Inference;
use crate::node::Node;
use crate::operator::{Operator, Port};
use crate::plans::Plans;
use crate::tensor::Input;

pub(crate) struct ReverseSubsequences {
    axis: i64,
    plans: Plans,
}

impl Operator for ReverseSubsequences {
    const NAME: &'static CStr = c"ReverseSubsequences";
    const INPUTS: &'static [Port] = &[Port::Any, Port::Int64];
    const OUTPUT: Port = Port::Any;

    fn new(node: &Node) -> Result<ReverseSubsequences> {
        Ok(ReverseSubsequences { axis: node.number(c"axis")?, plans: Plans::new(node)? })
    }

    fn run(&self, context: &Context) -> Result<()> {
        self.plans.run(context, |inputs| {
            let (shape, lengths) = (inputs[1].shape.clone(), lengths(&inputs[1])?);
            let reversed = ops::ReverseSubsequences::dense(self.axis, shape, lengths);
            Ok(Chain::new().then(reversed))
        })
    }

    fn infer(inference: &Inference) -> Result<()> {
        inference.same(0, 0)
    }
}

/// Negative lengths are refused.
fn lengths(input: &Input<'_>) -> Result<Vec<u64>> {
    let length = |length: i64| {
        let below = |_| Failure(format!("lengths must be 0 or more, got {length}"));
        u64::try_from(length).map_err(below)
    };
    input.numbers().into_iter().map(length).collect()
}
