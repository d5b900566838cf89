//! Functions that apply one operator to one tensor.

use trundle_core::ops::{
    Declaration, Flip, LengthBuffer, ReverseSequence, ReverseSubsequences, Roll, Rot90, Transpose,
};
use trundle_core::{
    DType, DTypeError, IndexMap, Layout, Op, Packing, Result, Shape, ShapeError, Tensor,
    TensorView, TensorViewMut, Width, check_shape,
};
use trundle_cpu::{Destination, threads};

use crate::in_place::{InPlacePlan, usual_scratch};
use crate::lower::{chain_passes, one_move};
use crate::lowering::Device;
use crate::planned::{Planned, planned};

/// Shifts elements along axes, with wrap-around: `out[(i + shift) mod size] = data[i]`.
///
/// `shift`, in elements, has one entry for each entry of `axes`, or one for all. Negative axes count from the end. The
/// shifts of a repeated axis are added. The result has the shape of `data`.
///
/// Source: OpenVINO's Roll-7.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let row = TensorView::from_slice(&[1, 2, 3, 4], &Shape::new([4])?)?;
/// assert_eq!(trundle::roll(&row, &[1], &[0])?.into_vec(), [4, 1, 2, 3]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::SizesDiffer`] if the numbers of shifts and axes differ, [`ShapeError::AxisOutOfRange`] for an axis
/// that `data` does not have, and the errors of [`contiguous`].
pub fn roll<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    shift: &[i64],
    axes: &[i64],
) -> Result<Tensor<T>> {
    moved(Some((Roll::DECLARATION, &[shift, axes])), data)
}

/// Writes the result of [`roll`] to `out`, which must have the shape and element type of `data`.
///
/// # Errors
/// The errors of [`roll`], and [`ShapeError::ShapeMismatch`], [`DTypeError::DTypeMismatch`] or
/// [`DTypeError::PackingMismatch`] for an `out` that does not fit.
pub fn roll_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    shift: &[i64],
    axes: &[i64],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Roll::DECLARATION, &[shift, axes])), data, out)
}

/// Applies [`roll`] within the memory of `data`.
///
/// If possible, this takes [little scratch memory](crate::Plan::in_place); otherwise it copies the whole tensor.
///
/// # Errors
/// As [`roll`].
pub fn roll_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    shift: &[i64],
    axes: &[i64],
) -> Result<()> {
    applied_in_place(Roll::new(shift, axes), data)
}

/// Permutes the axes: `out.shape[i] == data.shape[order[i]]`.
///
/// `order` must have each axis once, without negative numbers. If empty, it reverses the axes.
///
/// Source: OpenVINO's Transpose-1.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let matrix = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &Shape::new([2, 3])?)?;
/// assert_eq!(trundle::transpose(&matrix, &[1, 0])?.into_vec(), [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::SizesDiffer`], [`ShapeError::AxisOutOfRange`] or [`ShapeError::RepeatedAxis`] if `order` is not a
/// permutation of the axes, and the errors of [`contiguous`].
pub fn transpose<T: Copy + 'static>(data: &TensorView<'_, T>, order: &[i64]) -> Result<Tensor<T>> {
    moved(Some((Transpose::DECLARATION, &[order])), data)
}

/// Writes the result of [`transpose`] to `out`, which must have the transposed shape and the element type of `data`.
///
/// # Errors
/// The errors of [`transpose`], and [`ShapeError::ShapeMismatch`], [`DTypeError::DTypeMismatch`] or
/// [`DTypeError::PackingMismatch`] for an `out` that does not fit.
pub fn transpose_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    order: &[i64],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Transpose::DECLARATION, &[order])), data, out)
}

/// Applies [`transpose`] within the memory of `data`, which becomes a view of the transposed tensor.
///
/// If the shape changes, `data` must be row-major, and stays so. This is slower than a transpose to a new tensor, and
/// takes scratch memory of up to a sixteenth of the tensor, or 1 MiB if that is more. If that is not enough, it copies
/// the whole tensor.
///
/// ```
/// use trundle::{Shape, TensorViewMut, transpose_in_place};
///
/// let mut numbers = [1, 2, 3, 4, 5, 6];
/// let mut matrix = TensorViewMut::from_slice(&mut numbers, &Shape::new([2, 3])?)?;
/// transpose_in_place(&mut matrix, &[])?;
/// assert_eq!(*matrix.shape(), Shape::new([3, 2])?);
/// assert_eq!(numbers, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// The errors of [`transpose`], and [`ShapeError::ShapeMismatch`] if the shape changes and `data` is not row-major.
pub fn transpose_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    order: &[i64],
) -> Result<()> {
    applied_in_place(Transpose::new(order), data)
}

/// Reverses the elements along `axes`: `out[i] = data[size - 1 - i]`.
///
/// Negative axes count from the end. If `axes` is empty, nothing is reversed. The result has the shape of `data`.
///
/// Source: numpy's `flip`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let matrix = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &Shape::new([2, 3])?)?;
/// assert_eq!(trundle::flip(&matrix, &[1])?.into_vec(), [3, 2, 1, 6, 5, 4]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::AxisOutOfRange`] or [`ShapeError::RepeatedAxis`] for wrong axes, and the errors of [`contiguous`].
pub fn flip<T: Copy + 'static>(data: &TensorView<'_, T>, axes: &[i64]) -> Result<Tensor<T>> {
    moved(Some((Flip::DECLARATION, &[axes])), data)
}

/// Writes the result of [`flip`] to `out`, which must have the shape and element type of `data`.
///
/// # Errors
/// The errors of [`flip`], and [`ShapeError::ShapeMismatch`], [`DTypeError::DTypeMismatch`] or
/// [`DTypeError::PackingMismatch`] for an `out` that does not fit.
pub fn flip_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    axes: &[i64],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Flip::DECLARATION, &[axes])), data, out)
}

/// Applies [`flip`] within the memory of `data`, with [little scratch memory](crate::Plan::in_place).
///
/// # Errors
/// As [`flip`].
pub fn flip_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    axes: &[i64],
) -> Result<()> {
    applied_in_place(Flip::new(axes), data)
}

/// Rotates `data` by 90 degrees, `k` times, in the plane of two axes.
///
/// The rotation is from the first axis towards the second; with a negative `k`, it is in the other direction. Negative
/// axes count from the end. After an odd number of rotations, the sizes of the two axes are swapped.
///
/// Source: numpy's `rot90`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let matrix = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &Shape::new([2, 3])?)?;
/// let rotated = trundle::rot90(&matrix, 1, [0, 1])?;
/// assert_eq!(*rotated.shape(), Shape::new([3, 2])?);
/// assert_eq!(rotated.into_vec(), [3, 6, 2, 5, 1, 4]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::AxisOutOfRange`] or [`ShapeError::RepeatedAxis`] for wrong axes, and the errors of [`contiguous`].
pub fn rot90<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    k: i64,
    axes: [i64; 2],
) -> Result<Tensor<T>> {
    moved(Some((Rot90::DECLARATION, &[&[k], &axes])), data)
}

/// Writes the result of [`rot90`] to `out`, which must have the rotated shape and the element type of `data`.
///
/// # Errors
/// The errors of [`rot90`], and [`ShapeError::ShapeMismatch`], [`DTypeError::DTypeMismatch`] or
/// [`DTypeError::PackingMismatch`] for an `out` that does not fit.
pub fn rot90_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    k: i64,
    axes: [i64; 2],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Rot90::DECLARATION, &[&[k], &axes])), data, out)
}

/// Applies [`rot90`] within the memory of `data`, which becomes a view of the rotated tensor.
///
/// If the shape changes, the limits of [`transpose_in_place`] apply.
///
/// # Errors
/// The errors of [`rot90`] and of [`transpose_in_place`].
pub fn rot90_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    k: i64,
    axes: [i64; 2],
) -> Result<()> {
    applied_in_place(Rot90::new(k, &axes), data)
}

/// Reverses the first elements of each row along `axis`, and keeps the others. `lengths` has their number for each row.
///
/// A row consists of the elements with the same indices on all other axes. `lengths` is a tensor of u32 or u64 with the
/// shape of `data`, but size 1 on `axis`. A length greater than the size of the axis reverses the whole row. A negative
/// axis counts from the end. The result has the shape of `data`.
///
/// Source: DirectML's `DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let rows = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &Shape::new([2, 3])?)?;
/// let lengths = TensorView::from_slice(&[2u32, 3], &Shape::new([2, 1])?)?;
/// assert_eq!(trundle::reverse_subsequences(&rows, &lengths, 1)?.into_vec(), [2, 1, 3, 6, 5, 4]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::AxisOutOfRange`] for an axis that `data` does not have, [`ShapeError::ShapeMismatch`] or
/// [`DTypeError::DTypeMismatch`] for wrong `lengths`, and the errors of [`contiguous`].
pub fn reverse_subsequences<T: Copy + 'static, L: LengthBuffer>(
    data: &TensorView<'_, T>,
    lengths: &TensorView<'_, L>,
    axis: i64,
) -> Result<Tensor<T>> {
    by_table(ReverseSubsequences::from_view(axis, lengths)?, data)
}

/// Writes the result of [`reverse_subsequences`] to `out`, which must have the shape and element type of `data`.
///
/// # Errors
/// The errors of [`reverse_subsequences`], and [`ShapeError::ShapeMismatch`], [`DTypeError::DTypeMismatch`] or
/// [`DTypeError::PackingMismatch`] for an `out` that does not fit.
pub fn reverse_subsequences_into<T, L, D>(
    data: &TensorView<'_, T>,
    lengths: &TensorView<'_, L>,
    axis: i64,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()>
where
    T: Copy + 'static,
    L: LengthBuffer,
    D: Destination<T>,
{
    by_table_into(ReverseSubsequences::from_view(axis, lengths)?, data, out)
}

/// Applies [`reverse_subsequences`] within the memory of `data`.
///
/// If possible, this takes [little scratch memory](crate::Plan::in_place); otherwise it copies the whole tensor.
///
/// # Errors
/// As [`reverse_subsequences`].
pub fn reverse_subsequences_in_place<T: Copy + 'static, L: LengthBuffer>(
    data: &mut TensorViewMut<'_, T>,
    lengths: &TensorView<'_, L>,
    axis: i64,
) -> Result<()> {
    applied_in_place(ReverseSubsequences::from_view(axis, lengths)?, data)
}

/// Reverses the first `lengths[b]` elements along `axis` at each index b of `batch_axis`, and keeps the others.
///
/// `lengths` has one entry, from 0 to the size of `axis`, for each index of `batch_axis`. Negative axes count from the
/// end. The result has the shape of `data`.
///
/// Source: ReverseSequence of ONNX, TensorFlow and OpenVINO.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let batch = TensorView::from_slice(&[1, 2, 3, 4, 5, 6], &Shape::new([2, 3])?)?;
/// assert_eq!(trundle::reverse_sequence(&batch, &[3, 2], 1, 0)?.into_vec(), [3, 2, 1, 5, 4, 6]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::AxisOutOfRange`] or [`ShapeError::SameAxis`] for wrong axes, [`ShapeError::SizesDiffer`] for a
/// wrong number of lengths, [`OpError::LengthOutOfRange`](crate::OpError::LengthOutOfRange) for a length below 0 or
/// over the size of the axis, and the errors of [`contiguous`].
pub fn reverse_sequence<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
) -> Result<Tensor<T>> {
    by_table(sequence(lengths, axis, batch_axis), data)
}

/// Writes the result of [`reverse_sequence`] to `out`, which must have the shape and element type of `data`.
///
/// # Errors
/// The errors of [`reverse_sequence`], and [`ShapeError::ShapeMismatch`], [`DTypeError::DTypeMismatch`] or
/// [`DTypeError::PackingMismatch`] for an `out` that does not fit.
pub fn reverse_sequence_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    by_table_into(sequence(lengths, axis, batch_axis), data, out)
}

/// Applies [`reverse_sequence`] within the memory of `data`.
///
/// If possible, this takes [little scratch memory](crate::Plan::in_place); otherwise it copies the whole tensor.
///
/// # Errors
/// As [`reverse_sequence`].
pub fn reverse_sequence_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
) -> Result<()> {
    applied_in_place(sequence(lengths, axis, batch_axis), data)
}

fn sequence(lengths: &[i64], axis: i64, batch_axis: i64) -> ReverseSequence {
    let lengths: Vec<i128> = lengths.iter().copied().map(i128::from).collect();
    ReverseSequence::new(axis, batch_axis, lengths)
}

/// Copies `data`, which may have any strides, to a new contiguous row-major tensor.
///
/// Source: PyTorch's `Tensor.contiguous`, but this function also copies a contiguous tensor.
///
/// # Errors
/// [`ShapeError::TooLarge`] if the result has more bytes than can be addressed. This can only happen if `data` has
/// elements that share bytes, for example by a stride of 0.
pub fn contiguous<T: Copy + 'static>(data: &TensorView<'_, T>) -> Result<Tensor<T>> {
    moved(None, data)
}

/// Copies `data` to `out`, which must have the same shape and element type, but may have other strides.
///
/// Source: numpy's `copyto`, without casts and broadcasting.
///
/// # Errors
/// [`ShapeError::ShapeMismatch`], [`DTypeError::DTypeMismatch`] or [`DTypeError::PackingMismatch`] for an `out` that
/// does not fit.
pub fn copy_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(None, data, out)
}

/// A borrowed operator: its declaration and the values of its parameters. The values are copied only when a plan is
/// made. `None` is a plain copy of the tensor.
type OpRef<'a> = Option<(&'static Declaration, &'a [&'a [i64]])>;

/// Everything that determines a plan: the key of the cache.
#[derive(Clone, Copy, Debug, Hash)]
struct PlanKey<'a> {
    op: OpRef<'a>,
    width: Width,
    data: &'a Layout,
    /// The layout of the destination; `None` for a new tensor.
    out: Option<&'a Layout>,
    threads: usize,
}

impl PlanKey<'_> {
    fn plan(&self) -> Result<Planned> {
        let map = match self.op.map(|(declared, arguments)| declared.op(arguments)) {
            Some(Some(op)) => op.index_map(self.data.shape())?,
            Some(None) => {
                unreachable!("operators with lengths are not called by their declarations")
            }
            None => IndexMap::identity(self.data.shape()),
        };
        plan(&map, self.width, self.data, self.out, self.threads)
    }
}

fn moved<T: Copy + 'static>(op: OpRef<'_>, data: &TensorView<'_, T>) -> Result<Tensor<T>> {
    let (width, from) = (data.width(), data.layout());
    let key = PlanKey { op, width, data: from, out: None, threads: threads() };
    planned(&key, PlanKey::plan)?.run(data)
}

fn moved_into<T: Copy + 'static, D: Destination<T>>(
    op: OpRef<'_>,
    data: &TensorView<'_, T>,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    check_dtype("out", (data.dtype(), data.width()), (out.dtype(), out.width()))?;
    let (width, from, to) = (data.width(), data.layout(), Some(out.layout()));
    let key = PlanKey { op, width, data: from, out: to, threads: threads() };
    planned(&key, PlanKey::plan)?.run_into(data.buffer(), out.buffer_mut())
}

/// Applies an operator without the plan cache, because lengths and indices usually differ in each call.
pub(crate) fn by_table<T: Copy + 'static>(
    op: impl Into<Op>,
    data: &TensorView<'_, T>,
) -> Result<Tensor<T>> {
    let map = op.into().index_map(data.shape())?;
    plan(&map, data.width(), data.layout(), None, threads())?.run(data)
}

pub(crate) fn by_table_into<T: Copy + 'static, D: Destination<T>>(
    op: impl Into<Op>,
    data: &TensorView<'_, T>,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    check_dtype("out", (data.dtype(), data.width()), (out.dtype(), out.width()))?;
    let map = op.into().index_map(data.shape())?;
    plan(&map, data.width(), data.layout(), Some(out.layout()), threads())?
        .run_into(data.buffer(), out.buffer_mut())
}

fn applied_in_place<T: Copy + 'static>(
    op: impl Into<Op>,
    data: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    moved_in_place(&[op.into().index_map(data.shape())?], data)
}

/// Applies `maps` in order within the memory of `data`, which becomes a view of the result.
pub(crate) fn moved_in_place<T: Copy + 'static>(
    maps: &[IndexMap],
    data: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    let (width, src) = (data.width(), data.layout().clone());
    let out_shape = maps.last().map_or(src.shape(), IndexMap::out_shape);
    let dst = layout_in_place(&src, width, out_shape)?;
    let device = Device::new(Some(threads()));
    let most_scratch = usual_scratch(src.shape().bytes(width)?);
    match InPlacePlan::new(maps, width, (&src, &dst), most_scratch, &device)? {
        Some(plan) => plan.run_slice(data.buffer_mut())?,
        None => {
            let moves = chain_passes(maps.to_vec(), width, &src, &dst, &device)?.1;
            let before = data.buffer_mut().to_vec();
            Planned::of(&moves, &device, out_shape).run_into(&before, data.buffer_mut())?;
        }
    }
    data.set_layout(dst)
}

/// Returns the layout of a tensor of `shape` that replaces a tensor of layout `src` in its memory.
///
/// # Errors
/// [`ShapeError::ElementsDiffer`] for another number of elements, [`ShapeError::ShapeMismatch`] for another shape if
/// `src` is not row-major.
pub(crate) fn layout_in_place(src: &Layout, width: Width, shape: &Shape) -> Result<Layout> {
    let from = src.shape();
    if shape == from {
        return Ok(src.clone());
    }
    if shape.elements() != from.elements() {
        return Err(ShapeError::ElementsDiffer { from: from.clone(), to: shape.clone() }.into());
    }
    if *src != Layout::row_major(from, width.units())? {
        check_shape("the result in place", from, shape)?;
    }
    Layout::row_major(shape, width.units())
}

/// Checks that the tensor `out` has the element type and bit order of `data`. `argument` is the name of `out` in
/// errors.
///
/// # Errors
/// [`DTypeError::DTypeMismatch`] for another element type, [`DTypeError::PackingMismatch`] for another bit order.
pub fn check_dtype(
    argument: &'static str,
    data: (DType, Width),
    out: (DType, Width),
) -> Result<()> {
    let dtype = out.0;
    if dtype != data.0 {
        return Err(
            DTypeError::DTypeMismatch { argument, expected: vec![data.0], got: dtype }.into()
        );
    }
    let order = |width: Width| width.packing().map(Packing::order);
    match (order(data.1), order(out.1)) {
        (Some(expected), Some(got)) if expected != got => {
            Err(DTypeError::PackingMismatch { argument, dtype, expected, got }.into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn plan(
    map: &IndexMap,
    width: Width,
    data: &Layout,
    out: Option<&Layout>,
    threads: usize,
) -> Result<Planned> {
    let contiguous = || Layout::row_major(map.out_shape(), width.units());
    let out = out.map_or_else(contiguous, |out| Ok(out.clone()))?;
    let device = Device::new(Some(threads));
    let moves = match one_move(map, width, data, &out, &device)? {
        Some(work) => vec![work],
        None => chain_passes(vec![map.clone()], width, data, &out, &device)?.1,
    };
    Ok(Planned::of(&moves, &device, out.shape()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use trundle_core::BitOrder;

    use super::*;
    use crate::internal::plan_cache::PlanCache;

    fn parameters(call: &PlanKey<'_>) -> Vec<String> {
        let Some((declared, arguments)) = call.op else { return vec!["copy".to_owned()] };
        assert_eq!(arguments.len(), declared.parameters.len(), "{}", declared.name);
        let named = |name: &str| format!("{name} of {}", declared.name);
        let mut all = vec![declared.name.to_owned()];
        all.extend(declared.parameters.iter().map(|parameter| named(parameter.name)));
        all
    }

    /// Returns calls that must have different plans, each with the name of the parameter in which it differs from an
    /// earlier call.
    fn calls<'a>(layouts: &'a [Layout], packing: Packing) -> Vec<(&'static str, PlanKey<'a>)> {
        let [data, other, moved, out, other_out] = layouts else { panic!("five layouts") };
        let width = Width::Bytes(4);
        let copy = PlanKey { op: None, width, data, out: None, threads: 2 };
        let packed = |packing| PlanKey { width: Width::SubByte(packing), ..copy };
        let op = |declared, arguments| PlanKey { op: Some((declared, arguments)), ..copy };
        let roll = |arguments| op(Roll::DECLARATION, arguments);
        let rot90 = |arguments| op(Rot90::DECLARATION, arguments);
        let transpose = |arguments| op(Transpose::DECLARATION, arguments);
        let flip = |arguments| op(Flip::DECLARATION, arguments);
        let calls = vec![
            ("copy", copy),
            ("width", PlanKey { width: Width::Bytes(2), ..copy }),
            ("width", packed(packing)),
            ("width", packed(packing.with_order(BitOrder::HighFirst).unwrap())),
            ("data", PlanKey { data: other, ..copy }),
            ("data", PlanKey { data: moved, ..copy }),
            ("threads", PlanKey { threads: 1, ..copy }),
            ("out", PlanKey { out: Some(data), ..copy }),
            ("out", PlanKey { out: Some(out), ..copy }),
            ("out", PlanKey { out: Some(other_out), ..copy }),
            ("roll", roll(&[&[1, 0], &[0, 1]])),
            ("shift of roll", roll(&[&[1, 2], &[0, 1]])),
            ("shift of roll", roll(&[&[1], &[0, 1]])),
            ("axes of roll", roll(&[&[1, 0], &[1, 0]])),
            ("axes of roll", roll(&[&[1, 0], &[]])),
            ("rot90", rot90(&[&[1], &[0, 1]])),
            ("k of rot90", rot90(&[&[2], &[0, 1]])),
            ("axes of rot90", rot90(&[&[1], &[1, 0]])),
            ("transpose", transpose(&[&[1, 0]])),
            ("order of transpose", transpose(&[&[0, 1]])),
            ("order of transpose", transpose(&[&[]])),
            ("flip", flip(&[&[1, 0]])),
            ("axes of flip", flip(&[&[1]])),
            ("axes of flip", flip(&[&[]])),
        ];
        let PlanKey { op: _, width: _, data: _, out: _, threads: _ } = copy;
        let mut all: BTreeSet<String> =
            ["width", "data", "out", "threads"].map(str::to_owned).into();
        all.extend(calls.iter().flat_map(|(_, call)| parameters(call)));
        let tried: BTreeSet<String> = calls.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(tried, all);
        calls
    }

    #[test]
    fn every_parameter_of_every_function_is_in_the_plan_key() {
        let shape = |sizes: [usize; 2]| Shape::new(sizes).unwrap();
        let strided = |at, strides: &[isize]| Layout::strided(&shape([2, 3]), at, strides).unwrap();
        let layouts = [
            strided(0, &[12, 4]),
            Layout::row_major(&shape([3, 2]), 4).unwrap(),
            strided(4, &[12, 4]),
            strided(0, &[4, 8]),
            strided(4, &[4, 8]),
        ];
        let packing = Packing::new(4, BitOrder::LowFirst).unwrap();
        let (calls, mut cache) = (calls(&layouts, packing), PlanCache::new());
        for (number, (name, call)) in calls.iter().enumerate() {
            assert_eq!(cache.get(call), None, "{name}: {call:?}");
            cache.put(call, number);
        }
        for (number, (name, call)) in calls.iter().enumerate() {
            assert_eq!(cache.get(call), Some(number), "{name}: {call:?}");
        }
    }
}
