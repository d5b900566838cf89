//! Functions that concatenate, stack and pad tensors.

use std::any::Any;

use trundle_core::program::{Budget, Program};
use trundle_core::{
    Backend, Error, Layout, Move, PassPlan, Result, Shape, Tensor, TensorView, TensorViewMut,
    Width, check_sizes,
};
use trundle_cpu::threads;

use crate::functions::check_dtype;
use crate::lowering::{CpuPlan, Device, ProgramMoves};
use crate::programs;

/// Concatenates tensors along an axis.
///
/// The tensors must have one element type, and equal sizes on all axes except `axis`. A negative axis counts from the
/// end.
///
/// Source: OpenVINO's Concat-1; numpy's `concatenate`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let square = TensorView::from_slice(&[1, 2, 3, 4], &Shape::new([2, 2])?)?;
/// let column = TensorView::from_slice(&[5, 6], &Shape::new([2, 1])?)?;
/// let joined = trundle::concatenate(&[square, column], 1)?;
/// assert_eq!(joined.into_vec(), [1, 2, 5, 3, 4, 6]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`OpError::NumberOutOfRange`](crate::OpError::NumberOutOfRange) if there are no tensors,
/// [`ShapeError::AxisOutOfRange`](crate::ShapeError::AxisOutOfRange) for an axis that the tensors do not have,
/// [`ShapeError::ShapeMismatch`](crate::ShapeError::ShapeMismatch) for different sizes on another axis,
/// [`DTypeError::DTypeMismatch`](crate::DTypeError::DTypeMismatch) or
/// [`DTypeError::PackingMismatch`](crate::DTypeError::PackingMismatch) for different types,
/// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory for the result.
pub fn concatenate<T: Copy + 'static>(parts: &[TensorView<'_, T>], axis: i64) -> Result<Tensor<T>> {
    to_new(parts, &concatenation(parts, axis)?, &[])
}

/// Writes the result of [`concatenate`] to `out`, which must have the shape of the result and the type of the tensors.
///
/// # Errors
/// The errors of [`concatenate`], also for an `out` that does not fit.
pub fn concatenate_into<T: Copy + 'static>(
    parts: &[TensorView<'_, T>],
    axis: i64,
    out: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    assembled(parts, &concatenation(parts, axis)?, &[], out)
}

/// Stacks tensors of the same shape and type along a new axis.
///
/// A negative axis counts from the end of the result's axes.
///
/// Source: numpy's `stack`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let shape = Shape::new([2])?;
/// let rows = [TensorView::from_slice(&[1, 2], &shape)?, TensorView::from_slice(&[3, 4], &shape)?];
/// assert_eq!(trundle::stack(&rows, 1)?.into_vec(), [1, 3, 2, 4]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// As [`concatenate`].
pub fn stack<T: Copy + 'static>(parts: &[TensorView<'_, T>], axis: i64) -> Result<Tensor<T>> {
    to_new(parts, &stacked(parts, axis)?, &[])
}

/// Writes the result of [`stack`] to `out`, which must have the shape of the result and the type of the tensors.
///
/// # Errors
/// The errors of [`stack`], also for an `out` that does not fit.
pub fn stack_into<T: Copy + 'static>(
    parts: &[TensorView<'_, T>],
    axis: i64,
    out: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    assembled(parts, &stacked(parts, axis)?, &[], out)
}

/// Pads a tensor with a constant.
///
/// `widths` has the numbers of elements before and after the tensor on each axis. `value` is one element: a slice of
/// length 1. If `T` is `u8` but the element type is not, `value` has the bytes of one element.
///
/// Source: OpenVINO's Pad-12 in mode constant; numpy's `pad`.
///
/// ```
/// use trundle::{Shape, TensorView};
///
/// let row = TensorView::from_slice(&[1, 2], &Shape::new([2])?)?;
/// assert_eq!(trundle::pad(&row, &[[1, 2]], &[9])?.into_vec(), [9, 1, 2, 9, 9]);
/// # Ok::<(), trundle::Error>(())
/// ```
///
/// # Errors
/// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if there is not one pair for each axis, or if `value`
/// is not one element. [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory for the
/// result.
pub fn pad<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    widths: &[[usize; 2]],
    value: &[T],
) -> Result<Tensor<T>> {
    to_new(std::slice::from_ref(data), &padding(data, widths, value)?, value)
}

/// Writes the result of [`pad`] to `out`, which must have the padded shape and the type of `data`.
///
/// # Errors
/// The errors of [`pad`], and the errors of [`concatenate_into`] for an `out` that does not fit.
pub fn pad_into<T: Copy + 'static>(
    data: &TensorView<'_, T>,
    widths: &[[usize; 2]],
    value: &[T],
    out: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    assembled(std::slice::from_ref(data), &padding(data, widths, value)?, value, out)
}

fn concatenation<T>(parts: &[TensorView<'_, T>], axis: i64) -> Result<Program> {
    programs::concatenated(&of_one_type(parts)?, axis)
}

fn stacked<T>(parts: &[TensorView<'_, T>], axis: i64) -> Result<Program> {
    programs::stacked(&of_one_type(parts)?, axis)
}

/// The shapes and widths of tensors, which must have one type.
fn of_one_type<'a, T>(parts: &'a [TensorView<'_, T>]) -> Result<Vec<(&'a Shape, Width)>> {
    let types = |part: &TensorView<'_, T>| (part.dtype(), part.width());
    for part in parts {
        check_dtype("a tensor", types(&parts[0]), types(part))?;
    }
    Ok(parts.iter().map(|part| (part.shape(), part.width())).collect())
}

/// Builds a padding with zeros, which `Slices::buffer_of` replaces.
fn padding<T>(data: &TensorView<'_, T>, widths: &[[usize; 2]], value: &[T]) -> Result<Program> {
    let width = data.width();
    let element = vec![0; width.bytes(width.units())];
    let value = ("the value", size_of_val(value));
    check_sizes(value, ("an element (in bytes)", element.len()))?;
    programs::padded(data.shape(), width, widths, &element)
}

/// Makes the output of a program as a new tensor. `fill` is the constant, if the program has one.
fn to_new<T: Copy + 'static>(
    inputs: &[TensorView<'_, T>],
    program: &Program,
    fill: &[T],
) -> Result<Tensor<T>> {
    // There is a first input, because a program without inputs is an error.
    let like = &inputs[0];
    let shape = &program.tensor(program.outputs()[0]).shape;
    let elements = shape.bytes(like.width())? / size_of::<T>().max(1);
    let mut buffer = Vec::new();
    // Every element is overwritten, so any item will do. A buffer of bytes starts with 0, because the unused bits
    // behind the last packed element are not overwritten.
    let zero = (&0u8 as &dyn Any).downcast_ref();
    let mut items = std::iter::once(fill).chain(inputs.iter().map(TensorView::buffer));
    if let Some(any) = zero.or_else(|| items.find_map(<[T]>::first)) {
        let too_large = |_| Error::too_large(format!("a tensor of shape {shape}"));
        buffer.try_reserve_exact(elements).map_err(too_large)?;
        buffer.resize(elements, *any);
    }
    let mut out = Tensor::like(like, buffer, shape)?;
    assembled(inputs, program, fill, &mut out.view_mut())?;
    Ok(out)
}

fn assembled<T: Copy + 'static>(
    inputs: &[TensorView<'_, T>],
    program: &Program,
    fill: &[T],
    out: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    if let Some(first) = inputs.first() {
        check_dtype("out", (first.dtype(), first.width()), (out.dtype(), out.width()))?;
    }
    let layouts: Vec<Layout> = inputs.iter().map(|input| input.layout().clone()).collect();
    let device = Device::new(Some(threads()));
    let moves = ProgramMoves::new(program, &layouts, out.layout(), &device.budget())?;
    assembled_by(&moves, device, inputs, fill, out)
}

fn assembled_by<T: Copy + 'static>(
    moves: &ProgramMoves,
    device: Device,
    inputs: &[TensorView<'_, T>],
    fill: &[T],
    out: &mut TensorViewMut<'_, T>,
) -> Result<()> {
    let Some(any) = out.buffer_mut().first().copied() else { return Ok(()) };
    let buffers: Vec<&[T]> = inputs.iter().map(TensorView::buffer).collect();
    moves.runner(Slices { device, fill, any })?.run(&buffers, &mut [out.buffer_mut()])
}

/// A backend for one run, with slices of any type as buffers.
struct Slices<'a, T> {
    device: Device,
    /// Empty without a constant.
    fill: &'a [T],
    /// Fills new buffers.
    any: T,
}

impl<T: Copy + 'static> Backend for Slices<'_, T> {
    type Buffer = [T];
    type Plan = CpuPlan;

    fn plan(&self, work: &Move) -> CpuPlan {
        self.device.plan(work)
    }

    fn plan_pass(&self, parts: &[&Move]) -> Option<Box<dyn PassPlan<[T]>>> {
        self.device.plan_slices(parts)
    }

    fn budget(&self) -> Budget {
        self.device.budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<[T]>> {
        let (mut buffer, len) = (Vec::new(), bytes.div_ceil(size_of::<T>().max(1)));
        let too_large = |_| Error::too_large(format!("a buffer of {bytes} bytes"));
        buffer.try_reserve_exact(len).map_err(too_large)?;
        buffer.resize(len, self.any);
        Ok(buffer.into())
    }

    /// Ignores the bytes of the constant in the program, because a value of `T` may have uninitialised bytes.
    fn buffer_of(&self, _: &[u8]) -> Result<Box<[T]>> {
        Ok(self.fill.into())
    }

    fn bytes_of(&self, buffer: &[T]) -> usize {
        size_of_val(buffer)
    }

    fn run(&self, plan: &CpuPlan, src: &[T], dst: &mut [T]) -> Result<()> {
        plan.run_buffer_into(src, dst)
    }

    /// Calls `go_on` once.
    fn run_while(
        &self,
        plan: &CpuPlan,
        src: &[T],
        dst: &mut [T],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        if go_on() { plan.run_buffer_into(src, dst) } else { Err(Error::Stopped) }
    }
}

#[cfg(test)]
mod tests {
    use trundle_core::ShapeError;
    use trundle_core::ops::Roll;

    use super::*;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    #[test]
    fn tensors_are_joined_along_an_axis() {
        let (one, other) = (shape(&[2, 2]), shape(&[2, 1]));
        let parts = [
            TensorView::from_slice(&[1u32, 2, 3, 4], &one).unwrap(),
            TensorView::from_slice(&[5, 6], &other).unwrap(),
        ];
        assert_eq!(concatenate(&parts, -1).unwrap().into_vec(), [1, 2, 5, 3, 4, 6]);
        let turned = TensorView::from_strided(&[1u32, 2, 3, 4], &one, 3, &[-1, -2]).unwrap();
        let stacked = stack(&[parts[0].clone(), turned], 1).unwrap();
        assert_eq!(stacked.shape().sizes(), [2, 2, 2]);
        assert_eq!(stacked.into_vec(), [1, 2, 4, 2, 3, 4, 3, 1]);
        let mut out = [0; 12];
        let mut spread =
            TensorViewMut::from_strided(&mut out, &shape(&[2, 3]), 0, &[1, 4]).unwrap();
        concatenate_into(&parts, 1, &mut spread).unwrap();
        assert_eq!(out, [1, 3, 0, 0, 2, 4, 0, 0, 5, 6, 0, 0]);
        let whole =
            TensorView::row_major(&[0x21u8], trundle_core::DType::U4, &shape(&[2])).unwrap();
        let half = TensorView::row_major(&[0x03u8], trundle_core::DType::U4, &shape(&[1])).unwrap();
        assert_eq!(concatenate(&[whole, half], 0).unwrap().into_vec(), [0x21, 0x03]);
    }

    #[test]
    fn a_move_of_many_boxes_is_done_in_tiles() {
        let (sizes, axes) = (shape(&[3; 10]), (0..10).collect::<Vec<i64>>());
        let mut program = Program::new();
        let given = program.given(sizes.clone(), 8).unwrap();
        let rolled = program.moved_by(given, Roll::new(&[1], &axes)).unwrap();
        let few = Budget { elements: 1 << 20, few: 3, directly: 3, ..Device::default().budget() };
        let program = program.with_output(rolled).unwrap();
        let numbers: Vec<(u32, f32)> = (0..59049).map(|number| (number, 0.5)).collect();
        let data = TensorView::from_slice(&numbers, &sizes).unwrap();
        let mut out = numbers.clone();
        let mut view = TensorViewMut::from_slice(&mut out, &sizes).unwrap();
        let moves =
            ProgramMoves::new(&program, &[data.layout().clone()], data.layout(), &few).unwrap();
        assert!(moves.only_move().is_none());
        assembled_by(&moves, Device::default(), std::slice::from_ref(&data), &[], &mut view)
            .unwrap();
        assert_eq!(out, crate::roll(&data, &[1], &axes).unwrap().into_vec());
    }

    #[test]
    fn a_tensor_is_padded_with_a_constant() {
        let data = [(1u8, 'a'), (2, 'b')];
        let data = TensorView::from_slice(&data, &shape(&[1, 2])).unwrap();
        let padded = pad(&data, &[[1, 0], [0, 1]], &[(0, '-')]).unwrap();
        let none = (0, '-');
        assert_eq!(padded.into_vec(), [none, none, none, (1, 'a'), (2, 'b'), none]);
        let bytes = TensorView::row_major(&[1, 0, 2, 0], trundle_core::DType::U16, &shape(&[2]));
        let padded = pad(&bytes.unwrap(), &[[1, 1]], &[7, 9]).unwrap();
        assert_eq!(padded.into_vec(), [7, 9, 1, 0, 2, 0, 7, 9]);
        let nibbles = [0x21u8, 0x03];
        let nibbles = TensorView::row_major(&nibbles, trundle_core::DType::U4, &shape(&[3]));
        let padded = pad(&nibbles.unwrap(), &[[2, 0]], &[0x0f]).unwrap();
        assert_eq!(padded.into_vec(), [0xff, 0x21, 0x03]);
        let empty = TensorView::<u8>::from_slice(&[], &shape(&[0])).unwrap();
        assert_eq!(pad(&empty, &[[1, 1]], &[8]).unwrap().into_vec(), [8, 8]);
    }

    #[test]
    fn parts_and_pads_that_do_not_fit_are_refused() {
        let (row, one) = (shape(&[2]), shape(&[1, 2]));
        let parts = [
            TensorView::from_slice(&[1u32, 2], &row).unwrap(),
            TensorView::from_slice(&[1, 2], &one).unwrap(),
        ];
        assert_eq!(
            concatenate(&parts, 0).unwrap_err().to_string(),
            "a part must have shape [2], got [1, 2]"
        );
        assert_eq!(
            concatenate::<u32>(&[], 0).unwrap_err().to_string(),
            "the number of parts 0 is out of range: expected 1 or more"
        );
        assert!(matches!(
            concatenate(&parts[..1], 1),
            Err(Error::Shape(ShapeError::AxisOutOfRange { axis: 1, rank: 1, .. }))
        ));
        assert_eq!(
            pad(&parts[0], &[[1, 1]], &[]).unwrap_err().to_string(),
            "the value and an element (in bytes) must have the same length, got 0 and 4"
        );
        assert!(pad(&parts[0], &[[usize::MAX, 1]], &[0]).is_err());
        let bytes = TensorView::from_slice(&[1u8, 2], &row).unwrap();
        let floats = TensorView::row_major(&[0; 2], trundle_core::DType::I8, &row).unwrap();
        assert_eq!(
            concatenate(&[bytes, floats], 0).unwrap_err().to_string(),
            "a tensor must have element type u8, got i8"
        );
    }
}
