//! The operator `Roll`: rotates elements along axes, as OpenVINO's Roll-7 defines it.

use std::ffi::CStr;

use trundle::{Chain, ops};

use crate::context::Context;
use crate::failure::Result;
use crate::inference::Inference;
use crate::node::Node;
use crate::operator::{Operator, Port};
use crate::plans::Plans;

pub(crate) struct Roll(Plans);

impl Operator for Roll {
    const NAME: &'static CStr = c"Roll";
    const INPUTS: &'static [Port] = &[Port::Any, Port::Int64, Port::Int64];
    const OUTPUT: Port = Port::Any;

    fn new(node: &Node) -> Result<Roll> {
        Ok(Roll(Plans::new(node)?))
    }

    fn run(&self, context: &Context) -> Result<()> {
        self.0.run(context, |inputs| {
            let (shift, axes) = (inputs[1].list("shift")?, inputs[2].list("axes")?);
            Ok(Chain::new().then(ops::Roll::new(&shift, &axes)))
        })
    }

    fn infer(inference: &Inference) -> Result<()> {
        inference.same(0, 0)
    }
}
