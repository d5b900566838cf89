//! Tensors of numbers that are known when the model is resolved.

use trundle_core::ops::Broadcast;
use trundle_core::program::TensorId;
use trundle_core::{DType, Shape};

use super::super::element::{Number, is_float, is_integer, push};
use super::super::moves::both_ways;
use super::super::site::Site;
use crate::problem::{Checked, wrong};
use crate::{Constant, ElementType};

/// The name of the numbers in messages.
pub(super) const OPERANDS: &str = "operands of its arithmetic";

/// Each operand takes some tens of bytes.
const MOST_OPERANDS: usize = 1 << 20;

pub(super) fn check_count(count: usize) -> Checked<()> {
    if count > MOST_OPERANDS {
        return wrong!("there are {count} {OPERANDS}, over the limit of {MOST_OPERANDS}");
    }
    Ok(())
}

/// A tensor of numbers, in row-major order.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    pub(super) numbers: Vec<Number>,
}

impl Known {
    pub(super) fn each(&self, of: impl Fn(Number) -> Checked<Number>) -> Checked<Known> {
        let numbers = self.numbers.iter().map(|number| of(*number)).collect::<Checked<_>>()?;
        Ok(Known { dtype: self.dtype, shape: self.shape.clone(), numbers })
    }

    /// Broadcasts the numbers, in row-major order.
    pub(super) fn broadcast(&self, to: &[i64]) -> Checked<Vec<Number>> {
        let indices = self.indices(to)?;
        Ok(indices.into_iter().map(|at| self.numbers[at]).collect())
    }

    /// For each element of the broadcast shape, the index of its number.
    pub(super) fn indices(&self, to: &[i64]) -> Checked<Vec<usize>> {
        let map = Broadcast::new(to).index_map(&self.shape)?;
        let mut indices = Vec::with_capacity(map.out_shape().elements());
        map.out_shape()
            .for_each_index(|index| indices.push(self.shape.ravel(&map.source_of(index))));
        Ok(indices)
    }

    pub(super) fn sizes_with(&self, other: &[i64]) -> Vec<i64> {
        both_ways(&self.shape, other.to_vec())
    }

    pub(super) fn sizes(&self) -> Vec<i64> {
        self.shape.iter().map(|size| size.cast_signed() as i64).collect()
    }
}

impl Site<'_, '_> {
    /// The numbers in an input, which must follow from shapes and constants alone.
    pub(super) fn known(&mut self, input: usize) -> Checked<Known> {
        let tensor = self.input(input)?;
        let element = self.builder.element(tensor);
        let dtype = match element {
            ElementType::Fixed(dtype) if is_reckoned(dtype) => dtype,
            _ => return wrong!("arithmetic on type {element} is not supported"),
        };
        check_count(self.builder.shape(tensor).elements())?;
        let (shape, numbers) = self.constant_numbers(OPERANDS, tensor, dtype)?;
        Ok(Known { dtype, shape, numbers })
    }

    pub(super) fn made(&mut self, known: &Known) -> Checked<TensorId> {
        let Known { dtype, shape, numbers } = known;
        let mut bytes = Vec::with_capacity(shape.bytes(*dtype)?);
        for number in numbers {
            if push(*number, *dtype, &mut bytes).is_none() {
                return wrong!("{dtype} does not hold {number:?}");
            }
        }
        self.builder.constant(&Constant::of(*dtype, shape.clone(), bytes))
    }
}

/// Arithmetic supports integers, floats and booleans of whole bytes.
pub(super) fn is_reckoned(dtype: DType) -> bool {
    let is_number = is_integer(dtype) || is_real(dtype) || dtype == DType::Boolean;
    is_number && dtype.packing().is_none()
}

/// Float types that results can be rounded to.
pub(super) fn is_real(dtype: DType) -> bool {
    is_float(dtype) && matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

/// Broadcasts all operands. The number of elements is checked before anything is allocated.
pub(super) fn shape_of_all(site: &mut Site, all: &[&Known]) -> Checked<(Vec<i64>, Shape)> {
    let sizes = all.iter().fold(Vec::new(), |sizes, known| known.sizes_with(&sizes));
    let shape =
        Shape::new(sizes.iter().map(|size| size.unsigned_abs() as usize).collect::<Vec<_>>())?;
    check_count(shape.elements())?;
    site.spend(OPERANDS, shape.elements().saturating_mul(all.len() * (1 + shape.rank())))?;
    Ok((sizes, shape))
}
