//! Operators with arbitrary parameters, for C and for the oracle.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use trundle::ops::{Flip, ReverseSequence, Roll, Transpose};
use trundle::{Chain, Op};
use trundle_testing::PlainOp;

use crate::capi::*;
use crate::tensor::Tensor;

/// Each list has its own allocation.
pub(crate) enum Operator {
    Roll { shift: Vec<i64>, axes: Vec<i64> },
    Transpose { order: Vec<i64> },
    Flip { axes: Vec<i64> },
    ReverseSubsequences { axis: u32 },
    ReverseSequence { lengths: Vec<i64>, axis: i64, batch_axis: i64 },
}

/// How an operator is called.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// By the operator's function.
    AtOnce,
    /// By a plan of the operator.
    Planned,
    /// By a plan of an equivalent chain, or by a plan of the operator if there is no such chain.
    Chained,
}

pub(crate) fn any_axis(bytes: &mut Unstructured<'_>, rank: i64) -> Result<i64> {
    if bytes.ratio(1, 32)? {
        bytes.arbitrary()
    } else {
        bytes.int_in_range(-rank..=rank - (rank > 0) as i64)
    }
}

pub(crate) fn any_order(bytes: &mut Unstructured<'_>, rank: i64) -> Result<Vec<i64>> {
    let mut axes: Vec<i64> = (0..rank).collect();
    let mut order = Vec::new();
    while !axes.is_empty() {
        order.push(axes.swap_remove(bytes.choose_index(axes.len())?));
    }
    if bytes.ratio(1, 16)? {
        order.push(any_axis(bytes, rank)?);
    }
    if bytes.ratio(1, 8)? {
        order.clear();
    }
    Ok(order)
}

impl Operator {
    pub(crate) fn any(bytes: &mut Unstructured<'_>, sizes: &[u64]) -> Result<Operator> {
        let rank = sizes.len() as i64;
        let list = |bytes: &mut Unstructured<'_>| {
            let count = bytes.int_in_range(0..=3)?;
            (0..count).map(|_| any_axis(bytes, rank)).collect::<Result<Vec<i64>>>()
        };
        Ok(match bytes.int_in_range(0..=4)? {
            0 => {
                let axes = list(bytes)?;
                let count =
                    if bytes.ratio(1, 4)? { bytes.int_in_range(0..=2)? } else { axes.len() };
                let shift = (0..count).map(|_| bytes.arbitrary()).collect::<Result<_>>()?;
                Operator::Roll { shift, axes }
            }
            1 => Operator::Transpose { order: any_order(bytes, rank)? },
            2 => Operator::Flip { axes: list(bytes)? },
            3 => Operator::ReverseSubsequences { axis: any_axis(bytes, rank)? as u32 },
            _ => {
                let (axis, batch_axis) = (any_axis(bytes, rank)?, any_axis(bytes, rank)?);
                let batches = trundle::normalize_axis("axis", batch_axis, sizes.len())
                    .map_or(2, |axis| sizes[axis].min(64));
                let count = if bytes.ratio(1, 16)? { 3 } else { batches };
                let lengths =
                    (0..count).map(|_| bytes.int_in_range(-1..=8)).collect::<Result<_>>()?;
                Operator::ReverseSequence { lengths, axis, batch_axis }
            }
        })
    }

    pub(crate) fn out_sizes(&self, sizes: &[u64]) -> Vec<u64> {
        match self {
            Operator::Transpose { order } if order.is_empty() => {
                sizes.iter().rev().copied().collect()
            }
            Operator::Transpose { order } => {
                let size = |axis: &i64| sizes.get(usize::try_from(*axis).ok()?).copied();
                order.iter().map(|axis| size(axis).unwrap_or(1)).collect()
            }
            _ => sizes.to_vec(),
        }
    }

    /// The C library must have accepted the call.
    pub(crate) fn plain(&self, lengths: &[u64]) -> PlainOp {
        match self {
            Operator::Roll { shift, axes } => {
                PlainOp::Roll { shift: shift.clone(), axes: axes.clone() }
            }
            Operator::Transpose { order } => PlainOp::Transpose { order: order.clone() },
            Operator::Flip { axes } => PlainOp::Flip { axes: axes.clone() },
            Operator::ReverseSubsequences { axis } => {
                PlainOp::ReverseSubsequences { axis: (*axis).into(), lengths: lengths.to_vec() }
            }
            Operator::ReverseSequence { lengths, axis, batch_axis } => PlainOp::ReverseSequence {
                axis: *axis,
                batch_axis: *batch_axis,
                lengths: lengths.iter().copied().map(i128::from).collect(),
            },
        }
    }

    /// `None` if the lengths are in memory that may be invalid.
    fn chain(&self) -> Option<CString> {
        let op: Op = match self {
            Operator::Roll { shift, axes } => Roll::new(shift, axes).into(),
            Operator::Transpose { order } => Transpose::new(order).into(),
            Operator::Flip { axes } => Flip::new(axes).into(),
            Operator::ReverseSequence { lengths, axis, batch_axis } => {
                let lengths: Vec<i128> = lengths.iter().copied().map(i128::from).collect();
                ReverseSequence::new(*axis, *batch_axis, lengths).into()
            }
            Operator::ReverseSubsequences { .. } => return None,
        };
        CString::new(Chain::new().then(op).to_string()).ok()
    }

    /// Calls the function, or makes a plan and runs it.
    ///
    /// # Safety
    /// All pointers must match their descriptions. Otherwise the call must be one that fails.
    pub(crate) unsafe fn call(&self, way: Way, all: [(&Tensor, *mut c_void); 3]) -> trundle_status {
        let [(from, data), (lengths_tensor, lengths_data), (to_tensor, out)] = all;
        let (from, to, table) = (&from.desc, &to_tensor.desc, &lengths_tensor.desc);
        let mut plan = null_mut();
        let planned = way != Way::AtOnce;
        let chain = self.chain().filter(|_| way == Way::Chained);
        // SAFETY: the caller passes pointers that match, or descriptions that are rejected.
        unsafe {
            let made = match self {
                _ if chain.is_some() => {
                    let text = chain.as_ref().map_or(null(), |chain| chain.as_ptr());
                    let made = trundle_chain_plan(text, from, to, &mut plan);
                    let (mut sizes, mut rank) = ([0; 512], 0);
                    let (first, most) = (sizes.as_mut_ptr(), sizes.len() as u32);
                    let status = trundle_chain_out_sizes(text, from, first, most, &mut rank);
                    if made == TRUNDLE_OK {
                        assert_eq!(status, TRUNDLE_OK);
                        assert!(sizes[..rank as usize] == to_tensor.sizes);
                    }
                    made
                }
                Operator::Roll { shift: s, axes: a } if planned => {
                    trundle_roll_plan(from, s.as_ptr(), s.len(), a.as_ptr(), a.len(), to, &mut plan)
                }
                Operator::Transpose { order } if planned => {
                    trundle_transpose_plan(from, order.as_ptr(), order.len(), to, &mut plan)
                }
                Operator::ReverseSubsequences { axis } if planned => {
                    trundle_reverse_subsequences_plan(
                        from,
                        table,
                        lengths_data,
                        *axis,
                        to,
                        &mut plan,
                    )
                }
                Operator::Flip { axes } if planned => {
                    trundle_flip_plan(from, axes.as_ptr(), axes.len(), to, &mut plan)
                }
                Operator::ReverseSequence { lengths, axis, batch_axis } if planned => {
                    let (first, count) = (lengths.as_ptr(), lengths.len());
                    trundle_reverse_sequence_plan(
                        from,
                        first,
                        count,
                        *axis,
                        *batch_axis,
                        to,
                        &mut plan,
                    )
                }
                Operator::Roll { shift: s, axes: a } => {
                    return trundle_roll(
                        from,
                        data,
                        s.as_ptr(),
                        s.len(),
                        a.as_ptr(),
                        a.len(),
                        to,
                        out,
                    );
                }
                Operator::Transpose { order } => {
                    return trundle_transpose(from, data, order.as_ptr(), order.len(), to, out);
                }
                Operator::Flip { axes } => {
                    return trundle_flip(from, data, axes.as_ptr(), axes.len(), to, out);
                }
                Operator::ReverseSubsequences { axis } => {
                    return trundle_reverse_subsequences(
                        from,
                        data,
                        table,
                        lengths_data,
                        *axis,
                        to,
                        out,
                    );
                }
                Operator::ReverseSequence { lengths, axis, batch_axis } => {
                    let (first, count) = (lengths.as_ptr(), lengths.len());
                    return trundle_reverse_sequence(
                        from,
                        data,
                        first,
                        count,
                        *axis,
                        *batch_axis,
                        to,
                        out,
                    );
                }
            };
            assert_eq!(made == TRUNDLE_OK, !plan.is_null());
            if made == TRUNDLE_OK {
                let (mut words, mut needed) = ([1u8; 64], 0);
                let (first, room) = (words.as_mut_ptr().cast(), words.len());
                let status = trundle_plan_describe(plan, first, room, &mut needed);
                match status {
                    TRUNDLE_OK => {
                        assert!(words[needed - 1] == 0 && !words[..needed - 1].contains(&0))
                    }
                    _ => assert!(words == [1; 64]),
                }
            }
            let status = if made == TRUNDLE_OK { trundle_plan_run(plan, data, out) } else { made };
            trundle_plan_free(plan);
            status
        }
    }
}
