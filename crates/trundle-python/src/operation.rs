//! What a function does, once its arguments fit the array: known again by all of them, planned as a
//! chain.

use smallvec::SmallVec;
use trundle::ops::{Declaration, Reshape, Roll};
use trundle::{Chain, Op};

use crate::memory::PerAxis;

/// One movement of all elements; axes are counted from the front.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Operation {
    Copy,
    /// An operator without lengths, and what each of its parameters is given.
    Declared(&'static Declaration, SmallVec<[PerAxis<i64>; 2]>),
    /// All elements rolled as if they were one axis.
    RollFlat {
        shift: i64,
    },
    /// What is done once all elements are one axis, which they then stay.
    Flat(Box<Operation>),
    /// A pattern in the notation of chains, with its sizes.
    Rearrange(String),
    /// An operator with a table, which may be as much data as the elements are: it is another one in
    /// the next call.
    Once(Op),
}

impl Operation {
    /// An operator without lengths.
    pub(crate) fn of<const N: usize>(
        declared: &'static Declaration,
        arguments: [PerAxis<i64>; N],
    ) -> Operation {
        Operation::Declared(declared, arguments.into_iter().collect())
    }

    /// An operator with a table.
    pub(crate) fn once(op: impl Into<Op>) -> Operation {
        Operation::Once(op.into())
    }

    /// Whether the same operation is likely to come again.
    pub(crate) fn comes_again(&self) -> bool {
        match self {
            Operation::Once(_) => false,
            Operation::Flat(operation) => operation.comes_again(),
            _ => true,
        }
    }

    /// Whether errors show a place in a text that the caller has written.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self, Operation::Rearrange(_))
    }

    /// The operators that do it to a tensor of these sizes.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub(crate) fn chain(&self, sizes: &[isize]) -> Result<Chain, trundle::notation::NotationError> {
        self.after(Chain::new(), sizes)
    }

    /// The same, behind the operators of a chain that leave these sizes.
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
