//! One-shot functions: one operator, one tensor.

use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle_core::{
    Backend, Error, IndexMap, Layout, Move, Op, Packing, Pass, Result, Shape, Tensor, TensorView,
    TensorViewMut, Width,
};
use trundle_cpu::{Cpu, Pipeline};

use crate::plan::bound;
use crate::plan_cache::Key;
use crate::planned::{Planned, planned};

/// Elements shifted along axes, in at one end what goes out at the other:
/// `out[(i + shift) mod size] = data[i]`. `shift` has one entry for each axis, or one for all;
/// negative axes count from the end, and the shifts of an axis that repeats add. The result has
/// the shape of `data`.
///
/// Source: OpenVINO's Roll-7.
///
/// # Errors
/// [`Error::SizesDiffer`] or [`Error::AxisOutOfRange`].
pub fn roll(data: &TensorView<'_>, shift: &[i64], axes: &[i64]) -> Result<Tensor> {
    moved(OpRef::Roll { shift, axes }, data)
}

/// [`roll`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`roll`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn roll_into(
    data: &TensorView<'_>,
    shift: &[i64],
    axes: &[i64],
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    moved_into(OpRef::Roll { shift, axes }, data, out)
}

/// The axes in another order: `out.shape[i] == data.shape[order[i]]`; an empty order inverts them.
///
/// Source: OpenVINO's Transpose-1.
///
/// # Errors
/// [`Error::SizesDiffer`], [`Error::AxisOutOfRange`] or [`Error::RepeatedAxis`].
pub fn transpose(data: &TensorView<'_>, order: &[i64]) -> Result<Tensor> {
    moved(OpRef::Transpose { order }, data)
}

/// [`transpose`] into `out`, of the transposed shape and the type of `data`.
///
/// # Errors
/// As [`transpose`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn transpose_into(
    data: &TensorView<'_>,
    order: &[i64],
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    moved_into(OpRef::Transpose { order }, data, out)
}

/// Elements in the opposite order along `axes`; negative ones count from the end. The result has
/// the shape of `data`.
///
/// # Errors
/// [`Error::AxisOutOfRange`] or [`Error::RepeatedAxis`].
pub fn flip(data: &TensorView<'_>, axes: &[i64]) -> Result<Tensor> {
    moved(OpRef::Flip { axes }, data)
}

/// [`flip`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`flip`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn flip_into(data: &TensorView<'_>, axes: &[i64], out: &mut TensorViewMut<'_>) -> Result<()> {
    moved_into(OpRef::Flip { axes }, data, out)
}

/// For each position outside `axis`, the first `length` elements along it reversed and the rest
/// kept. `lengths` is a tensor of u32 or u64 with the sizes of `data`, but 1 on `axis`; a length
/// over the size of the axis counts as the size. The result has the shape of `data`.
///
/// Source: DirectML's `DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC`.
///
/// # Errors
/// [`Error::AxisOutOfRange`], [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`].
pub fn reverse_subsequences(
    data: &TensorView<'_>,
    lengths: &TensorView<'_>,
    axis: i64,
) -> Result<Tensor> {
    reversed(ReverseSubsequences::from_view(axis, lengths)?, data)
}

/// [`reverse_subsequences`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`reverse_subsequences`], also for `out`.
pub fn reverse_subsequences_into(
    data: &TensorView<'_>,
    lengths: &TensorView<'_>,
    axis: i64,
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    reversed_into(ReverseSubsequences::from_view(axis, lengths)?, data, out)
}

/// The first `lengths[b]` elements along `axis` reversed at each index b of `batch_axis`, and the
/// rest kept. The result has the shape of `data`.
///
/// Source: ReverseSequence of ONNX, TensorFlow and OpenVINO.
///
/// # Errors
/// [`Error::AxisOutOfRange`], [`Error::SameAxis`], [`Error::SizesDiffer`], or
/// [`Error::LengthOutOfRange`] for a length below 0 or over the size of the axis.
pub fn reverse_sequence(
    data: &TensorView<'_>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
) -> Result<Tensor> {
    reversed(sequence(lengths, axis, batch_axis), data)
}

/// [`reverse_sequence`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`reverse_sequence`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn reverse_sequence_into(
    data: &TensorView<'_>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    reversed_into(sequence(lengths, axis, batch_axis), data, out)
}

fn sequence(lengths: &[i64], axis: i64, batch_axis: i64) -> ReverseSequence {
    let lengths: Vec<i128> = lengths.iter().copied().map(i128::from).collect();
    ReverseSequence::new(axis, batch_axis, lengths)
}

/// The elements of `data`, packed and row-major, whatever its strides.
///
/// # Errors
/// [`Error::TooLarge`] if they fill more bytes than can be addressed, which takes strides of 0.
pub fn contiguous(data: &TensorView<'_>) -> Result<Tensor> {
    moved(OpRef::Copy, data)
}

/// The elements of `data` copied to `out`, of the same shape and type, whatever their strides.
///
/// # Errors
/// [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn copy_into(data: &TensorView<'_>, out: &mut TensorViewMut<'_>) -> Result<()> {
    moved_into(OpRef::Copy, data, out)
}

/// An operator as a call lends it: its parameters are copied only where a plan is made.
#[derive(Clone, Copy)]
enum OpRef<'a> {
    Copy,
    Roll { shift: &'a [i64], axes: &'a [i64] },
    Transpose { order: &'a [i64] },
    Flip { axes: &'a [i64] },
}

impl OpRef<'_> {
    fn index_map(self, shape: &Shape) -> Result<IndexMap> {
        match self {
            OpRef::Copy => Ok(IndexMap::identity(shape)),
            OpRef::Roll { shift, axes } => Roll::new(shift, axes).index_map(shape),
            OpRef::Transpose { order } => Transpose::new(order).index_map(shape),
            OpRef::Flip { axes } => Flip::new(axes).index_map(shape),
        }
    }

    /// The key of this operator on `data`, with what the result is written to yet to come.
    #[inline]
    fn key(self, data: &TensorView<'_>) -> Key {
        let mut key = Key::new();
        let (number, lists): (u64, [&[i64]; 2]) = match self {
            OpRef::Copy => (0, [&[], &[]]),
            OpRef::Roll { shift, axes } => (1, [shift, axes]),
            OpRef::Transpose { order } => (2, [order, &[]]),
            OpRef::Flip { axes } => (3, [axes, &[]]),
        };
        key.push(number);
        lists.into_iter().for_each(|list| key.push_list(list));
        key.push_width(data.width());
        key.push_layout(data.layout());
        key
    }
}

/// What `op` makes of `data`, planned or planned before.
fn moved(op: OpRef<'_>, data: &TensorView<'_>) -> Result<Tensor> {
    let planned = planned(&op.key(data), || plan(&op.index_map(data.shape())?, data))?;
    run(&planned, data)
}

/// [`moved`] into `out`.
fn moved_into(op: OpRef<'_>, data: &TensorView<'_>, out: &mut TensorViewMut<'_>) -> Result<()> {
    check_dtype(data, out)?;
    let mut key = op.key(data);
    key.push_layout(out.layout());
    let planned = planned(&key, || plan_into(&op.index_map(data.shape())?, data, out.layout()))?;
    planned.pipeline.run(data.bytes(), out.bytes_mut())
}

/// What `op` makes of `data`. Lengths are as much data as the elements are: they are others in the
/// next call, for which a plan would be kept in vain.
fn reversed(op: impl Into<Op>, data: &TensorView<'_>) -> Result<Tensor> {
    run(&plan(&op.into().index_map(data.shape())?, data)?, data)
}

/// [`reversed`] into `out`.
fn reversed_into(
    op: impl Into<Op>,
    data: &TensorView<'_>,
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    check_dtype(data, out)?;
    let planned = plan_into(&op.into().index_map(data.shape())?, data, out.layout())?;
    planned.pipeline.run(data.bytes(), out.bytes_mut())
}

fn check_dtype(data: &TensorView<'_>, out: &TensorViewMut<'_>) -> Result<()> {
    let (argument, dtype) = ("out", out.dtype());
    if dtype != data.dtype() {
        return Err(Error::DTypeMismatch { argument, expected: vec![data.dtype()], got: dtype });
    }
    let order = |width: Width| width.packing().map(Packing::order);
    match (order(data.width()), order(out.width())) {
        (Some(expected), Some(got)) if expected != got => {
            Err(Error::PackingMismatch { argument, dtype, expected, got })
        }
        _ => Ok(()),
    }
}

/// The plan of `map` from `data` to a new tensor.
fn plan(map: &IndexMap, data: &TensorView<'_>) -> Result<Planned> {
    let out = Layout::row_major(map.out_shape(), data.width().units())?;
    plan_into(map, data, &out)
}

/// The plan of `map` from `data` to `out`.
fn plan_into(map: &IndexMap, data: &TensorView<'_>, out: &Layout) -> Result<Planned> {
    let moves = match Move::new(map, data.width(), data.layout(), out) {
        Ok(work) => vec![work],
        Err(Error::NotOnePass { .. }) => {
            let pass = Pass { stages: 0..0, map: map.clone() };
            bound(vec![pass], data.width(), data.layout(), out)?.1
        }
        Err(error) => return Err(error),
    };
    let cpu = Cpu::default();
    let pipeline = Pipeline::new(moves.iter().map(|work| cpu.plan(work)).collect())?;
    Ok(Planned { pipeline, out_shape: out.shape().clone() })
}

/// Runs a plan that was made for a new tensor.
fn run(planned: &Planned, data: &TensorView<'_>) -> Result<Tensor> {
    let bytes = planned.pipeline.run_to_vec(data.bytes())?;
    match data.width().packing() {
        None => Tensor::from_bytes(bytes, data.dtype(), &planned.out_shape),
        Some(packing) => {
            Tensor::from_packed(bytes, data.dtype(), packing.order(), &planned.out_shape)
        }
    }
}
