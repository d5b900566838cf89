//! The functions that a model file defines.

use std::collections::HashMap;

use super::operators::is_known;
use super::opsets::{domain, imported};
use super::proto;
use crate::{Error, Result};

pub(super) struct Function<'a> {
    pub(super) proto: &'a proto::Function,
    /// The function's version of ONNX's own operators. If it is `None`, the version of the caller applies.
    pub(super) opset: Option<i64>,
}

/// The domain, name and overload of a function.
type Key<'a> = (&'a str, &'a str, &'a str);

pub(super) struct Functions<'a>(HashMap<Key<'a>, Function<'a>>);

impl<'a> Functions<'a> {
    /// Collects the functions of a model.
    ///
    /// # Errors
    /// If two functions have the same key, or if a function has the name of a known operator.
    pub(super) fn new(functions: &'a [proto::Function]) -> Result<Functions<'a>> {
        let mut all = HashMap::new();
        for proto in functions {
            let what = format!("function {:?}", proto.name);
            let key = (domain(&proto.domain), proto.name.as_str(), proto.overload.as_str());
            if key.0.is_empty() && is_known(key.1) {
                // ONNX does not define whether such a node calls the function or the operator.
                let problem = format!("{what} has the name of an operator of ai.onnx");
                return Err(Error::Unsupported(problem));
            }
            let opset = imported(&proto.opset_import, &what)?;
            if all.insert(key, Function { proto, opset }).is_some() {
                let problem = format!("{what} of domain {:?} is there twice", proto.domain);
                return Err(Error::Malformed(problem));
            }
        }
        Ok(Functions(all))
    }

    /// Returns the function that `node` calls; `None` if the node is an operator.
    pub(super) fn called_by(&self, node: &'a proto::Node) -> Option<&Function<'a>> {
        self.0.get(&(domain(&node.domain), node.op_type.as_str(), node.overload.as_str()))
    }
}
