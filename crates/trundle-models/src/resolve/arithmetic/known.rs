//! Numbers that are known before anything moves.

use trundle_core::program::TensorId;
use trundle_core::{DType, Shape};

use super::super::element::Number;
use super::super::numbers::{is_float, is_integer};
use super::super::site::Site;
use super::super::widen::push;
use crate::problem::{Checked, Problem, wrong};
use crate::{Constant, Data, ElementType};

/// A tensor of numbers, in row-major order.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    pub(super) numbers: Vec<Number>,
}

impl Known {
    /// The same shape and type, with what comes of each number.
    pub(super) fn each(&self, of: impl Fn(Number) -> Checked<Number>) -> Checked<Known> {
        let numbers = self.numbers.iter().map(|number| of(*number)).collect::<Checked<_>>()?;
        Ok(Known { dtype: self.dtype, shape: self.shape.clone(), numbers })
    }

    /// Which number lands at each place of a shape that this one is broadcast to, in row-major order.
    pub(super) fn positions(&self, to: &Shape) -> impl Iterator<Item = usize> {
        let new = to.rank() - self.shape.rank();
        let mut strides = vec![0; to.rank()];
        let mut stride = 1;
        for (axis, size) in self.shape.iter().enumerate().rev() {
            strides[new + axis] = if *size == 1 { 0 } else { stride };
            stride *= size;
        }
        (0..to.elements())
            .map(move |at| to.unravel(at).iter().zip(&strides).map(|(i, stride)| i * stride).sum())
    }
}

/// The shape that two are broadcast to, as numpy does it.
pub(super) fn broadcast(a: &Shape, b: &Shape) -> Checked<Shape> {
    let rank = a.rank().max(b.rank());
    let size = |shape: &Shape, axis: usize| {
        (axis + shape.rank()).checked_sub(rank).map_or(1, |axis| shape[axis])
    };
    let both = |axis: usize| match (size(a, axis), size(b, axis)) {
        (one, other) if one == other => Ok(one),
        (1, other) => Ok(other),
        (one, 1) => Ok(one),
        _ => Err(Problem::from(format!("shapes {a} and {b} cannot be broadcast together"))),
    };
    Ok(Shape::new((0..rank).map(both).collect::<Checked<Vec<_>>>()?)?)
}

impl Site<'_, '_> {
    /// The numbers of an input, which shapes and constants alone must say.
    pub(super) fn known(&mut self, input: usize) -> Checked<Known> {
        let tensor = self.input(input)?;
        let element = self.builder.element(tensor);
        let dtype = match element {
            ElementType::Fixed(dtype) if is_reckoned(dtype) => dtype,
            _ => return wrong!("numbers of type {element} are not reckoned with"),
        };
        let (shape, numbers) = self.constant_numbers(tensor, dtype)?;
        Ok(Known { dtype, shape, numbers })
    }

    /// The constant that numbers are.
    pub(super) fn made(&mut self, known: &Known) -> Checked<TensorId> {
        let Known { dtype, shape, numbers } = known;
        let mut bytes = Vec::with_capacity(shape.bytes(*dtype)?);
        for number in numbers {
            if push(*number, *dtype, &mut bytes).is_none() {
                return wrong!("{dtype} does not hold {number:?}");
            }
        }
        let (element, shape) = (ElementType::Fixed(*dtype), shape.clone());
        self.builder.constant(&Constant { element, shape, data: Data::Bytes(bytes.into()) })
    }
}

/// Whether numbers of a type are reckoned with: integers, floats and booleans of whole bytes.
pub(super) fn is_reckoned(dtype: DType) -> bool {
    let is_number = is_integer(dtype) || is_real(dtype) || dtype == DType::Boolean;
    is_number && dtype.packing().is_none()
}

/// Whether it is a float type that results can be rounded to.
pub(super) fn is_real(dtype: DType) -> bool {
    is_float(dtype) && matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}
