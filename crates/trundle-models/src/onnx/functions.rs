//! The functions that a model file defines.

use std::collections::HashMap;

use super::operators::is_known;
use super::opsets::{domain, imported};
use super::proto;
use crate::{Error, Result};

pub(super) struct Function<'a> {
    pub(super) proto: &'a proto::Function,
    /// `None` means the version of the caller.
    pub(super) opset: Option<i64>,
}

/// The domain, name and overload of a function.
type Key<'a> = (&'a str, &'a str, &'a str);

pub(super) struct Functions<'a>(HashMap<Key<'a>, Function<'a>>);

impl<'a> Functions<'a> {
    /// Collects the functions of a model.
    ///
    /// # Errors
    /// If two functions have the same key, or one has the name of a known operator.
    pub(super) fn new(functions: &'a [proto::Function]) -> Result<Functions<'a>> {
        let mut all = HashMap::new();
        for proto in functions {
            let what = format!("function {:?}", proto.name);
            let key = (domain(&proto.domain), proto.name.as_str(), proto.overload.as_str());
            if key.0.is_empty() && is_known(key.1) {
                // ONNX does not define which of the two such a node calls.
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

    pub(super) fn called_by(&self, node: &'a proto::Node) -> Option<&Function<'a>> {
        self.0.get(&(domain(&node.domain), node.op_type.as_str(), node.overload.as_str()))
    }
}
