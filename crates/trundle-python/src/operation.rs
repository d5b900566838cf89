//! What a function does, once its arguments fit the array: known again by all of them, planned as a
//! chain.

use trundle::ops::{Flip, Reshape, Roll, Transpose};
use trundle::{Chain, Op};

use crate::memory::PerAxis;

/// One movement of all elements; axes are counted from the front.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Operation {
    Copy,
    /// The axes in this order; none inverts them.
    Permute(PerAxis<i64>),
    Flip(PerAxis<i64>),
    Roll {
        shifts: PerAxis<i64>,
        axes: PerAxis<i64>,
    },
    /// All elements as if they were one axis.
    RollFlat {
        shift: i64,
    },
    /// A pattern in the notation of chains, with its sizes.
    Rearrange(String),
    /// An operator with a table, which is as much data as the elements are: it is another one in
    /// the next call.
    Once(Op),
}

impl Operation {
    /// Whether the same operation is likely to come again.
    pub(crate) fn comes_again(&self) -> bool {
        !matches!(self, Operation::Once(_))
    }

    /// The operators that do it to a tensor of these sizes.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub(crate) fn chain(&self, sizes: &[isize]) -> Result<Chain, trundle::notation::NotationError> {
        let chain = Chain::new();
        Ok(match self {
            Operation::Copy => chain,
            Operation::Permute(order) => chain.then(Transpose::new(order)),
            Operation::Flip(axes) => chain.then(Flip::new(axes)),
            Operation::Roll { shifts, axes } => chain.then(Roll::new(shifts, axes)),
            Operation::RollFlat { shift } => {
                let sizes: PerAxis<i64> = sizes.iter().map(|size| *size as i64).collect();
                let flat = chain.then(Reshape::new(&[sizes.iter().product()]));
                flat.then(Roll::new(&[*shift], &[0])).then(Reshape::new(&sizes))
            }
            Operation::Rearrange(text) => text.parse()?,
            Operation::Once(op) => chain.then(op.clone()),
        })
    }
}
