//! The operator `Chain`: applies a chain, written as text.

use std::ffi::CStr;

use trundle::Chain;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::inference::Inference;
use crate::node::Node;
use crate::operator::{Operator, Port};
use crate::plans::Plans;
use crate::samples::inferred;

pub(crate) struct Chained {
    chain: Chain,
    plans: Plans,
}

const ATTRIBUTE: &CStr = c"chain";

impl Operator for Chained {
    const NAME: &'static CStr = c"Chain";
    const INPUTS: &'static [Port] = &[Port::Any];
    const OUTPUT: Port = Port::Any;

    fn new(node: &Node) -> Result<Chained> {
        Ok(Chained { chain: read(node.text(ATTRIBUTE)?)?, plans: Plans::new(node)? })
    }

    fn run(&self, context: &Context) -> Result<()> {
        self.plans.run(context, |_| Ok(self.chain.clone()))
    }

    fn infer(inference: &Inference) -> Result<()> {
        let (data, chain) = (inference.input(0)?, read(inference.text(ATTRIBUTE)?)?);
        let element = data.element;
        let outputs = inferred(&[data], |shapes| Ok(vec![(element, chain.out_shape(shapes)?)]))?;
        outputs.iter().try_for_each(|output| inference.output(0, output.element, &output.sizes))
    }
}

/// A chain must have one input.
fn read(text: Vec<u8>) -> Result<Chain> {
    let text = String::from_utf8(text).map_err(|_| Failure("the chain is not UTF-8".to_owned()))?;
    let chain: Chain = text.parse().map_err(|error| Failure(format!("{error}")))?;
    match chain.inputs().len() {
        1 => Ok(chain),
        inputs => Err(Failure(format!("the chain must take one tensor, but takes {inputs}"))),
    }
}
