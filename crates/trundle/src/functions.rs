//! One-shot functions: one operator, one tensor.

use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle_core::{Backend, Error, IndexMap, Move, Op, Result, Tensor, TensorView, TensorViewMut};
use trundle_cpu::Cpu;

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
    apply(Roll::new(shift, axes), data)
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
    apply_into(Roll::new(shift, axes), data, out)
}

/// The axes in another order: `out.shape[i] == data.shape[order[i]]`; an empty order inverts them.
///
/// Source: OpenVINO's Transpose-1.
///
/// # Errors
/// [`Error::SizesDiffer`], [`Error::AxisOutOfRange`] or [`Error::RepeatedAxis`].
pub fn transpose(data: &TensorView<'_>, order: &[i64]) -> Result<Tensor> {
    apply(Transpose::new(order), data)
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
    apply_into(Transpose::new(order), data, out)
}

/// Elements in the opposite order along `axes`; negative ones count from the end. The result has
/// the shape of `data`.
///
/// # Errors
/// [`Error::AxisOutOfRange`] or [`Error::RepeatedAxis`].
pub fn flip(data: &TensorView<'_>, axes: &[i64]) -> Result<Tensor> {
    apply(Flip::new(axes), data)
}

/// [`flip`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`flip`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn flip_into(data: &TensorView<'_>, axes: &[i64], out: &mut TensorViewMut<'_>) -> Result<()> {
    apply_into(Flip::new(axes), data, out)
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
    apply(ReverseSubsequences::from_view(axis, lengths)?, data)
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
    apply_into(ReverseSubsequences::from_view(axis, lengths)?, data, out)
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
    apply(sequence(lengths, axis, batch_axis), data)
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
    apply_into(sequence(lengths, axis, batch_axis), data, out)
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
    moved(&IndexMap::identity(data.shape()), data)
}

/// The elements of `data` copied to `out`, of the same shape and type, whatever their strides.
///
/// # Errors
/// [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn copy_into(data: &TensorView<'_>, out: &mut TensorViewMut<'_>) -> Result<()> {
    moved_into(&IndexMap::identity(data.shape()), data, out)
}

fn apply(op: impl Into<Op>, data: &TensorView<'_>) -> Result<Tensor> {
    moved(&op.into().index_map(data.shape())?, data)
}

fn apply_into(op: impl Into<Op>, data: &TensorView<'_>, out: &mut TensorViewMut<'_>) -> Result<()> {
    moved_into(&op.into().index_map(data.shape())?, data, out)
}

fn moved(map: &IndexMap, data: &TensorView<'_>) -> Result<Tensor> {
    let mut out = Tensor::zeros(data.dtype(), map.out_shape())?;
    moved_into(map, data, &mut out.view_mut())?;
    Ok(out)
}

fn moved_into(map: &IndexMap, data: &TensorView<'_>, out: &mut TensorViewMut<'_>) -> Result<()> {
    if out.dtype() != data.dtype() {
        return Err(Error::DTypeMismatch {
            argument: "out",
            expected: vec![data.dtype()],
            got: out.dtype(),
        });
    }
    let work = Move::new(map, data.dtype().width(), data.layout(), out.layout())?;
    let cpu = Cpu::default();
    cpu.run(&cpu.plan(&work), data.bytes(), out.bytes_mut())
}
