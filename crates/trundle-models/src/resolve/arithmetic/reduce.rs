//! Reductions along axes.

use trundle_core::{DType, Shape, normalize_axis};

use super::super::element::Number;
use super::super::numbers::is_integer;
use super::binary;
use super::known::Known;
use crate::arithmetic::Binary;
use crate::problem::{Checked, wrong};

/// Folds numbers along axes in index order; along all axes if `axes` is empty.
pub(super) fn reduced(known: &Known, by: Binary, axes: &[i64], keeps_axes: bool) -> Checked<Known> {
    let rank = known.shape.rank();
    let mut is_reduced = vec![axes.is_empty(); rank];
    for axis in axes {
        is_reduced[normalize_axis("axis", *axis, rank)?] = true;
    }
    let full: Vec<usize> =
        known.shape.iter().zip(&is_reduced).map(|(size, is)| if *is { 1 } else { *size }).collect();
    let full = Shape::new(full)?;
    let mut numbers: Vec<Option<Number>> = vec![None; full.elements()];
    // Maps each number to its result by broadcasting the reduced shape back.
    let place = Known { dtype: known.dtype, shape: full.clone(), numbers: Vec::new() };
    for (number, at) in known.numbers.iter().zip(place.places(&known.sizes())?) {
        numbers[at] = Some(match numbers[at] {
            Some(before) => binary::of(by, before, *number, known.dtype)?,
            None => *number,
        });
    }
    let of_none = of_none(by, known.dtype);
    let Some(numbers) = numbers.into_iter().map(|number| number.or(of_none)).collect() else {
        return wrong!("there is no number along the axes of shape {}", known.shape);
    };
    let kept: Vec<usize> = full
        .iter()
        .zip(&is_reduced)
        .filter(|(_, is)| keeps_axes || !**is)
        .map(|(n, _)| *n)
        .collect();
    Ok(Known { dtype: known.dtype, shape: Shape::new(kept)?, numbers })
}

/// The result of reducing no numbers, if it is defined.
fn of_none(by: Binary, dtype: DType) -> Option<Number> {
    let (integer, float) = match by {
        Binary::Add => (0, 0.0),
        Binary::Multiply => (1, 1.0),
        _ => return None,
    };
    Some(if is_integer(dtype) { Number::Integer(integer) } else { Number::Float(float) })
}
