//! Operators with public parameters.

use trundle_core::Op;
use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Rot90, Transpose};

use crate::Naive;

/// An operator for the code under test and the oracle. Its parameters must be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the operators in trundle-core say what their parameters are")]
pub enum PlainOp {
    Roll { shift: Vec<i64>, axes: Vec<i64> },
    Rot90 { k: i64, axes: [i64; 2] },
    Transpose { order: Vec<i64> },
    Flip { axes: Vec<i64> },
    ReverseSubsequences { axis: i64, lengths: Vec<u64> },
    ReverseSequence { axis: i64, batch_axis: i64, lengths: Vec<i128> },
}

impl PlainOp {
    /// The operator under test.
    pub fn op(&self) -> Op {
        match self {
            PlainOp::Roll { shift, axes } => Roll::new(shift, axes).into(),
            PlainOp::Rot90 { k, axes } => Rot90::new(*k, axes).into(),
            PlainOp::Transpose { order } => Transpose::new(order).into(),
            PlainOp::Flip { axes } => Flip::new(axes).into(),
            PlainOp::ReverseSubsequences { axis, lengths } => {
                ReverseSubsequences::new(*axis, lengths.clone()).into()
            }
            PlainOp::ReverseSequence { axis, batch_axis, lengths } => {
                ReverseSequence::new(*axis, *batch_axis, lengths.clone()).into()
            }
        }
    }

    /// The oracle's result.
    #[must_use]
    pub fn apply(&self, tensor: &Naive) -> Naive {
        match self {
            PlainOp::Roll { shift, axes } => tensor.roll(shift, axes),
            PlainOp::Rot90 { k, axes } => tensor.rot90(*k, *axes),
            PlainOp::Transpose { order } => tensor.transpose(order),
            PlainOp::Flip { axes } => tensor.flip(axes),
            PlainOp::ReverseSubsequences { axis, lengths } => {
                tensor.reverse_subsequences(*axis, lengths)
            }
            PlainOp::ReverseSequence { axis, batch_axis, lengths } => {
                tensor.reverse_sequence(*axis, *batch_axis, lengths)
            }
        }
    }
}
