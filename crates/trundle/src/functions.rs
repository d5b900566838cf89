//! One-shot functions: one operator, one tensor.

use trundle_core::ops::{
    Declaration, Flip, LengthBuffer, ReverseSequence, ReverseSubsequences, Roll, Rot90, Transpose,
};
use trundle_core::{
    Backend, DType, Error, IndexMap, Layout, Op, Packing, Result, Shape, Tensor, TensorView,
    TensorViewMut, Width,
};
use trundle_cpu::{Destination, threads};

use crate::chain_pass::{lowered, one_move};
use crate::in_place::{InPlacePlan, usual_scratch};
use crate::lowering::Device;
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
pub fn roll<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    shift: &[i64],
    axes: &[i64],
) -> Result<Tensor<T>> {
    moved(Some((Roll::DECLARATION, &[shift, axes])), data)
}

/// [`roll`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`roll`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn roll_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    shift: &[i64],
    axes: &[i64],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Roll::DECLARATION, &[shift, axes])), data, out)
}

/// [`roll`] within the memory of `data`, with [little](crate::Plan::in_place) beside it where it can be.
///
/// # Errors
/// As [`roll`].
pub fn roll_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    shift: &[i64],
    axes: &[i64],
) -> Result<()> {
    moved_in_place(&[index_map(Some((Roll::DECLARATION, &[shift, axes])), data.shape())?], data)
}

/// The axes in another order: `out.shape[i] == data.shape[order[i]]`; an empty order inverts them.
///
/// Source: OpenVINO's Transpose-1.
///
/// # Errors
/// [`Error::SizesDiffer`], [`Error::AxisOutOfRange`] or [`Error::RepeatedAxis`].
pub fn transpose<T: Copy + 'static>(data: &TensorView<'_, T>, order: &[i64]) -> Result<Tensor<T>> {
    moved(Some((Transpose::DECLARATION, &[order])), data)
}

/// [`transpose`] into `out`, of the transposed shape and the type of `data`.
///
/// # Errors
/// As [`transpose`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn transpose_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    order: &[i64],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Transpose::DECLARATION, &[order])), data, out)
}

/// [`transpose`] within the memory of `data`, which is a view of the transposed tensor then. Where the sizes of the axes that
/// change places differ, `data` has to be row-major, as it is afterwards; that is slower than to a new tensor, and
/// takes up to a sixteenth of it beside it. Where that is not enough, a copy is.
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
/// As [`transpose`], and [`Error::ShapeMismatch`] for other sizes and a view that is not row-major.
pub fn transpose_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    order: &[i64],
) -> Result<()> {
    moved_in_place(&[index_map(Some((Transpose::DECLARATION, &[order])), data.shape())?], data)
}

/// Elements in the opposite order along `axes`; negative ones count from the end. The result has
/// the shape of `data`.
///
/// # Errors
/// [`Error::AxisOutOfRange`] or [`Error::RepeatedAxis`].
pub fn flip<T: Copy + 'static>(data: &TensorView<'_, T>, axes: &[i64]) -> Result<Tensor<T>> {
    moved(Some((Flip::DECLARATION, &[axes])), data)
}

/// [`flip`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`flip`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn flip_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    axes: &[i64],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Flip::DECLARATION, &[axes])), data, out)
}

/// [`flip`] within the memory of `data`, with [little](crate::Plan::in_place) beside it.
///
/// # Errors
/// As [`flip`].
pub fn flip_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    axes: &[i64],
) -> Result<()> {
    moved_in_place(&[index_map(Some((Flip::DECLARATION, &[axes])), data.shape())?], data)
}

/// The tensor turned by 90 degrees, `k` times, in the plane of two axes, from the first towards the
/// second; a negative `k` turns the other way, negative axes count from the end. The result has the
/// shape of `data`, after an odd number of turns with the sizes of both axes swapped.
///
/// Source: numpy's `rot90`.
///
/// # Errors
/// [`Error::AxisOutOfRange`] or [`Error::RepeatedAxis`].
pub fn rot90<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    k: i64,
    axes: [i64; 2],
) -> Result<Tensor<T>> {
    moved(Some((Rot90::DECLARATION, &[&[k], &axes])), data)
}

/// [`rot90`] into `out`, of the turned shape and the type of `data`.
///
/// # Errors
/// As [`rot90`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn rot90_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    k: i64,
    axes: [i64; 2],
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(Some((Rot90::DECLARATION, &[&[k], &axes])), data, out)
}

/// [`rot90`] within the memory of `data`, which is a view of the turned tensor then; where its sizes change, as
/// [`transpose_in_place`].
///
/// # Errors
/// As [`rot90`] and [`transpose_in_place`].
pub fn rot90_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    k: i64,
    axes: [i64; 2],
) -> Result<()> {
    moved_in_place(&[index_map(Some((Rot90::DECLARATION, &[&[k], &axes])), data.shape())?], data)
}

/// For each position outside `axis`, the first `length` elements along it reversed and the rest
/// kept. `lengths` is a tensor of u32 or u64 with the sizes of `data`, but 1 on `axis`; a length
/// over the size of the axis counts as the size. The result has the shape of `data`.
///
/// Source: DirectML's `DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC`.
///
/// # Errors
/// [`Error::AxisOutOfRange`], [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`].
pub fn reverse_subsequences<T: Copy + 'static, L: LengthBuffer>(
    data: &TensorView<'_, T>,
    lengths: &TensorView<'_, L>,
    axis: i64,
) -> Result<Tensor<T>> {
    by_table(ReverseSubsequences::from_view(axis, lengths)?, data)
}

/// [`reverse_subsequences`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`reverse_subsequences`], also for `out`.
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

/// [`reverse_subsequences`] within the memory of `data`, with [little](crate::Plan::in_place) beside it where it can be.
///
/// # Errors
/// As [`reverse_subsequences`].
pub fn reverse_subsequences_in_place<T: Copy + 'static, L: LengthBuffer>(
    data: &mut TensorViewMut<'_, T>,
    lengths: &TensorView<'_, L>,
    axis: i64,
) -> Result<()> {
    let op = Op::from(ReverseSubsequences::from_view(axis, lengths)?);
    moved_in_place(&[op.index_map(data.shape())?], data)
}

/// The first `lengths[b]` elements along `axis` reversed at each index b of `batch_axis`, and the
/// rest kept. The result has the shape of `data`.
///
/// Source: ReverseSequence of ONNX, TensorFlow and OpenVINO.
///
/// # Errors
/// [`Error::AxisOutOfRange`], [`Error::SameAxis`], [`Error::SizesDiffer`], or
/// [`Error::LengthOutOfRange`] for a length below 0 or over the size of the axis.
pub fn reverse_sequence<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
) -> Result<Tensor<T>> {
    by_table(sequence(lengths, axis, batch_axis), data)
}

/// [`reverse_sequence`] into `out`, of the shape and type of `data`.
///
/// # Errors
/// As [`reverse_sequence`], and [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn reverse_sequence_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    by_table_into(sequence(lengths, axis, batch_axis), data, out)
}

/// [`reverse_sequence`] within the memory of `data`, with [little](crate::Plan::in_place) beside it where it can be.
///
/// # Errors
/// As [`reverse_sequence`].
pub fn reverse_sequence_in_place<T: Copy + 'static>(
    data: &mut TensorViewMut<'_, T>,
    lengths: &[i64],
    axis: i64,
    batch_axis: i64,
) -> Result<()> {
    let op = Op::from(sequence(lengths, axis, batch_axis));
    moved_in_place(&[op.index_map(data.shape())?], data)
}

fn sequence(lengths: &[i64], axis: i64, batch_axis: i64) -> ReverseSequence {
    let lengths: Vec<i128> = lengths.iter().copied().map(i128::from).collect();
    ReverseSequence::new(axis, batch_axis, lengths)
}

/// The elements of `data`, contiguous and row-major, whatever its strides.
///
/// # Errors
/// [`Error::TooLarge`] if they fill more bytes than can be addressed, which takes strides of 0.
pub fn contiguous<T: Copy + 'static>(data: &TensorView<'_, T>) -> Result<Tensor<T>> {
    moved(None, data)
}

/// The elements of `data` copied to `out`, of the same shape and type, whatever their strides.
///
/// # Errors
/// [`Error::ShapeMismatch`] or [`Error::DTypeMismatch`] for `out`.
pub fn copy_into<T: Copy + 'static, D: Destination<T>>(
    data: &TensorView<'_, T>,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    moved_into(None, data, out)
}

/// An operator as a call lends it, with what each of its parameters is given: they are copied only
/// where a plan is made. Without one the elements are copied.
type OpRef<'a> = Option<(&'static Declaration, &'a [&'a [i64]])>;

fn index_map(op: OpRef<'_>, shape: &Shape) -> Result<IndexMap> {
    match op.map(|(declared, arguments)| declared.op(arguments)) {
        Some(Some(op)) => op.index_map(shape),
        Some(None) => unreachable!("operators with lengths are not called by their declarations"),
        None => Ok(IndexMap::identity(shape)),
    }
}

/// All that a call is given but the elements: it is known again by this, and planned from this
/// alone.
#[derive(Clone, Copy, Debug, Hash)]
struct Call<'a> {
    op: OpRef<'a>,
    width: Width,
    data: &'a Layout,
    /// Where the result is written to; `None` for a new tensor.
    out: Option<&'a Layout>,
    /// How many may take part.
    threads: usize,
}

impl Call<'_> {
    fn plan(&self) -> Result<Planned> {
        let map = index_map(self.op, self.data.shape())?;
        plan(&map, self.width, self.data, self.out, self.threads)
    }
}

/// What `op` makes of `data`, planned or planned before.
fn moved<T: Copy + 'static>(op: OpRef<'_>, data: &TensorView<'_, T>) -> Result<Tensor<T>> {
    let (width, from) = (data.width(), data.layout());
    let call = Call { op, width, data: from, out: None, threads: threads() };
    planned(&call, Call::plan)?.run(data)
}

/// [`moved`] into `out`.
fn moved_into<T: Copy + 'static, D: Destination<T>>(
    op: OpRef<'_>,
    data: &TensorView<'_, T>,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    check_dtype("out", (data.dtype(), data.width()), (out.dtype(), out.width()))?;
    let (width, from, to) = (data.width(), data.layout(), Some(out.layout()));
    let call = Call { op, width, data: from, out: to, threads: threads() };
    planned(&call, Call::plan)?.run_into(data, out)
}

/// What `op` makes of `data`. Lengths and indices are as much data as the elements are: they are others in the
/// next call, for which a plan would be kept in vain.
pub(crate) fn by_table<T: Copy + 'static>(
    op: impl Into<Op>,
    data: &TensorView<'_, T>,
) -> Result<Tensor<T>> {
    let map = op.into().index_map(data.shape())?;
    plan(&map, data.width(), data.layout(), None, threads())?.run(data)
}

/// [`by_table`] into `out`.
pub(crate) fn by_table_into<T: Copy + 'static, D: Destination<T>>(
    op: impl Into<Op>,
    data: &TensorView<'_, T>,
    out: &mut TensorViewMut<'_, D>,
) -> Result<()> {
    check_dtype("out", (data.dtype(), data.width()), (out.dtype(), out.width()))?;
    let map = op.into().index_map(data.shape())?;
    plan(&map, data.width(), data.layout(), Some(out.layout()), threads())?.run_into(data, out)
}

/// What `maps` make of `data` one after another, in the memory of `data`, which is a view of that then.
pub(crate) fn moved_in_place<T: Copy + 'static>(
    maps: &[IndexMap],
    data: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    let (width, src) = (data.width(), data.layout().clone());
    let out_shape = maps.last().map_or(src.shape(), IndexMap::out_shape);
    let dst = places_of(&src, width, out_shape)?;
    let device = Device::new(Some(threads()));
    let most_scratch = usual_scratch(src.shape().bytes(width)?);
    match InPlacePlan::new(maps, width, (&src, &dst), most_scratch, &device)? {
        Some(plan) => plan.run_slice(data.buffer_mut())?,
        None => {
            let moves = lowered(maps.to_vec(), width, &src, &dst, &device)?.1;
            let plans = moves.iter().map(|work| device.plan(work)).collect();
            let planned = Planned { plans, out_shape: out_shape.clone() };
            let before = data.buffer_mut().to_vec();
            planned.run_buffer(&before, data.buffer_mut())?;
        }
    }
    data.set_layout(dst)
}

/// Where a result of this shape lies in the memory of a tensor.
fn places_of(src: &Layout, width: Width, shape: &Shape) -> Result<Layout> {
    if shape == src.shape() {
        return Ok(src.clone());
    }
    if shape.elements() != src.shape().elements() {
        return Err(Error::ElementsDiffer { from: src.shape().clone(), to: shape.clone() });
    }
    if *src != Layout::row_major(src.shape(), width.units())? {
        let (expected, got) = (src.shape().clone(), shape.clone());
        return Err(Error::ShapeMismatch { argument: "the result in place", expected, got });
    }
    Layout::row_major(shape, width.units())
}

/// Checks that the elements of another tensor are of the type of the data, and packed as those.
pub(crate) fn check_dtype(
    argument: &'static str,
    data: (DType, Width),
    out: (DType, Width),
) -> Result<()> {
    let dtype = out.0;
    if dtype != data.0 {
        return Err(Error::DTypeMismatch { argument, expected: vec![data.0], got: dtype });
    }
    let order = |width: Width| width.packing().map(Packing::order);
    match (order(data.1), order(out.1)) {
        (Some(expected), Some(got)) if expected != got => {
            Err(Error::PackingMismatch { argument, dtype, expected, got })
        }
        _ => Ok(()),
    }
}

/// The plan of `map` from elements that lie so to `out`, or to a new tensor.
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
        None => lowered(vec![map.clone()], width, data, &out, &device)?.1,
    };
    let plans = moves.iter().map(|work| device.plan(work)).collect();
    Ok(Planned { plans, out_shape: out.shape().clone() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use trundle_core::BitOrder;

    use super::*;
    use crate::internal::plan_cache::PlanCache;

    /// The parameters of a call by their names.
    fn parameters(call: &Call<'_>) -> Vec<String> {
        let Some((declared, arguments)) = call.op else { return vec!["copy".to_owned()] };
        assert_eq!(arguments.len(), declared.parameters.len(), "{}", declared.name);
        let named = |name: &str| format!("{name} of {}", declared.name);
        let mut all = vec![declared.name.to_owned()];
        all.extend(declared.parameters.iter().map(|parameter| named(parameter.name)));
        all
    }

    /// Calls that differ from the first, or from those beside them, in what they are named by.
    fn calls<'a>(layouts: &'a [Layout], packing: Packing) -> Vec<(&'static str, Call<'a>)> {
        let [data, other, moved, out, other_out] = layouts else { panic!("five layouts") };
        let width = Width::Bytes(4);
        let copy = Call { op: None, width, data, out: None, threads: 2 };
        let packed = |packing| Call { width: Width::SubByte(packing), ..copy };
        let op = |declared, arguments| Call { op: Some((declared, arguments)), ..copy };
        let roll = |arguments| op(Roll::DECLARATION, arguments);
        let rot90 = |arguments| op(Rot90::DECLARATION, arguments);
        let transpose = |arguments| op(Transpose::DECLARATION, arguments);
        let flip = |arguments| op(Flip::DECLARATION, arguments);
        let calls = vec![
            ("copy", copy),
            ("width", Call { width: Width::Bytes(2), ..copy }),
            ("width", packed(packing)),
            ("width", packed(packing.with_order(BitOrder::HighFirst).unwrap())),
            ("data", Call { data: other, ..copy }),
            ("data", Call { data: moved, ..copy }),
            ("threads", Call { threads: 1, ..copy }),
            ("out", Call { out: Some(data), ..copy }),
            ("out", Call { out: Some(out), ..copy }),
            ("out", Call { out: Some(other_out), ..copy }),
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
        let Call { op: _, width: _, data: _, out: _, threads: _ } = copy;
        let mut all: BTreeSet<String> =
            ["width", "data", "out", "threads"].map(str::to_owned).into();
        all.extend(calls.iter().flat_map(|(_, call)| parameters(call)));
        let tried: BTreeSet<String> = calls.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(tried, all);
        calls
    }

    #[test]
    fn every_parameter_of_every_function_is_of_the_call() {
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

    /// What the functions give as bytes, asked so that a plan that is taken for another is seen.
    #[test]
    fn calls_one_after_another_do_not_meet() {
        let bytes: Vec<u8> = (0..=255).collect();
        let view = |dtype: DType, sizes: [usize; 2]| {
            TensorView::row_major(&bytes, dtype, &Shape::new(sizes).unwrap()).unwrap()
        };
        let views = [
            view(DType::U8, [4, 6]),
            view(DType::U8, [6, 4]),
            view(DType::U16, [4, 6]),
            TensorView::sub_byte(
                &bytes,
                DType::U4,
                BitOrder::HighFirst,
                view(DType::U4, [4, 6]).layout().clone(),
            )
            .unwrap(),
            view(DType::U4, [4, 6]),
        ];
        let lists: [&[i64]; 5] = [&[], &[0], &[1], &[0, 1], &[1, 0]];
        let two: Vec<[&[i64]; 2]> =
            lists.iter().flat_map(|one| lists.map(|other| [*one, other])).collect();
        let mut ops = vec![None];
        for arguments in &two {
            ops.push(Some((Roll::DECLARATION, &arguments[..])));
            ops.push(Some((Rot90::DECLARATION, &arguments[..])));
            ops.push(Some((Transpose::DECLARATION, &arguments[..1])));
            ops.push(Some((Flip::DECLARATION, &arguments[..1])));
        }
        let made = |op: OpRef<'_>, data: &TensorView<'_>, is_kept: bool| -> Option<Vec<u8>> {
            let tensor = match is_kept {
                true => moved(op, data),
                false => {
                    let map = index_map(op, data.shape()).ok()?;
                    plan(&map, data.width(), data.layout(), None, threads()).ok()?.run(data)
                }
            };
            tensor.ok().map(|tensor| tensor.bytes().to_vec())
        };
        // The same once more, with plans that are kept, and in the other order.
        let all = || ops.iter().flat_map(|op| views.iter().map(move |view| (*op, view)));
        for (op, data) in all().chain(all()).chain(all().collect::<Vec<_>>().into_iter().rev()) {
            assert_eq!(made(op, data, true), made(op, data, false), "{op:?} of {data:?}");
        }
    }
}
