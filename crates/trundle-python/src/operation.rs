//! Calls of the package's functions with checked arguments: keys of plan caches, which become chains.

use smallvec::SmallVec;
use trundle::ops::{Declaration, Reshape, Roll};
use trundle::{Chain, Op};

use crate::memory::PerAxis;

/// A movement of all elements. Axes are counted from the front.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Operation {
    Copy,
    /// An operator without lengths, and the values of its parameters.
    Declared(&'static Declaration, SmallVec<[PerAxis<i64>; 2]>),
    /// Rolls all elements as if they were one axis.
    RollFlat {
        shift: i64,
    },
    Flat(Box<Operation>),
    /// A pattern with its sizes, in the chain language.
    Rearrange(String),
    /// An operator with a table of lengths or indices. It is not cached, because tables are usually different
    /// in each call.
    Once(Op),
}

impl Operation {
    pub(crate) fn of<const N: usize>(
        declared: &'static Declaration,
        arguments: [PerAxis<i64>; N],
    ) -> Operation {
        Operation::Declared(declared, arguments.into_iter().collect())
    }

    pub(crate) fn once(op: impl Into<Op>) -> Operation {
        Operation::Once(op.into())
    }

    pub(crate) fn comes_again(&self) -> bool {
        match self {
            Operation::Once(_) => false,
            Operation::Flat(operation) => operation.comes_again(),
            _ => true,
        }
    }

    /// Whether the caller wrote what errors refer to.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self, Operation::Rearrange(_))
    }

    /// A chain for a tensor of the given sizes.
    ///
    /// # Errors
    /// The error of a pattern.
    pub(crate) fn chain(&self, sizes: &[isize]) -> Result<Chain, trundle::notation::NotationError> {
        self.after(Chain::new(), sizes)
    }

    /// The chain's result has the given sizes.
    fn after(
        &self,
        chain: Chain,
        sizes: &[isize],
    ) -> Result<Chain, trundle::notation::NotationError> {
        Ok(match self {
            Operation::Copy => chain,
            Operation::Declared(declared, arguments) => match declared.op(arguments) {
                Some(op) => chain.then(op),
                None => unreachable!("{} has lengths", declared.name),
            },
            Operation::RollFlat { shift } => {
                let sizes: PerAxis<i64> = sizes.iter().map(|size| *size as i64).collect();
                let flat = chain.then(Reshape::new(&[sizes.iter().product()]));
                flat.then(Roll::new(&[*shift], &[0])).then(Reshape::new(&sizes))
            }
            Operation::Flat(operation) => {
                let elements: isize = sizes.iter().product();
                operation.after(chain.then(Reshape::new(&[elements as i64])), &[elements])?
            }
            Operation::Rearrange(text) => text.parse()?,
            Operation::Once(op) => chain.then(op.clone()),
        })
    }
}
