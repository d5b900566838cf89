//! The functions that a model brings along.

use std::collections::HashMap;

use super::operators::is_known;
use super::opsets::{Opsets, domain};
use super::proto;
use crate::{Error, Result};

/// A function, and the operators that its body is of.
pub(super) struct Function<'a> {
    pub(super) proto: &'a proto::Function,
    /// `None` if it does not say: then as where it is called from.
    pub(super) opset: Option<i64>,
}

/// The domain, name and overload of a function.
type Key<'a> = (&'a str, &'a str, &'a str);

/// The functions of a model.
pub(super) struct Functions<'a>(HashMap<Key<'a>, Function<'a>>);

impl<'a> Functions<'a> {
    /// Those of a model.
    ///
    /// # Errors
    /// If two are called the same, or one as an operator that is read without it.
    pub(super) fn new(functions: &'a [proto::Function]) -> Result<Functions<'a>> {
        let mut all = HashMap::new();
        for proto in functions {
            let what = format!("function {:?}", proto.name);
            let key = (domain(&proto.domain), proto.name.as_str(), proto.overload.as_str());
            if key.0.is_empty() && is_known(key.1) {
                // ONNX leaves open which of the two is meant.
                let problem = format!("{what} has the name of an operator of ai.onnx");
                return Err(Error::Unsupported(problem));
            }
            let opset = Opsets::new(&proto.opset_import, &what)?.onnx();
            if all.insert(key, Function { proto, opset }).is_some() {
                let problem = format!("{what} of domain {:?} is there twice", proto.domain);
                return Err(Error::Malformed(problem));
            }
        }
        Ok(Functions(all))
    }

    /// The function that `node` calls, unless it is an operator.
    pub(super) fn called_by(&self, node: &'a proto::Node) -> Option<&Function<'a>> {
        self.0.get(&(domain(&node.domain), node.op_type.as_str(), node.overload.as_str()))
    }
}
