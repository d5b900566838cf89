//! Arithmetic on values that depend only on shapes and constants. The results are constants of the resolved model.
//!
//! Source: ONNX's operators up to opset 28 and OpenVINO's operation sets; both broadcast as numpy.

mod known;
mod scalars;
mod select;

use trundle_core::program::TensorId;
use trundle_core::{DType, Shape, normalize_axis};

use super::element::{Number, is_integer};
use super::site::Site;
use crate::ElementType;
use crate::arithmetic::{Arithmetic, Binary};
use crate::problem::{Checked, wrong};
use known::{Known, is_reckoned, shape_of_all};

pub(super) fn arithmetic(site: &mut Site, what: &Arithmetic) -> Checked<TensorId> {
    match what {
        Arithmetic::Binary(by) => folded(site, *by),
        Arithmetic::Unary(of) => {
            let known = site.known(0)?;
            let known = known.each(|number| scalars::unary(*of, number, known.dtype))?;
            site.made(&known)
        }
        Arithmetic::Cast(to) => converted(site, *to),
        Arithmetic::CastLike => match site.builder.element(site.input(1)?) {
            ElementType::Fixed(to) => converted(site, to),
            ElementType::String => wrong!("conversion of numbers to strings is not supported"),
        },
        Arithmetic::Clip => clipped(site),
        Arithmetic::Select => select::selected(site),
        Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none } => {
            let axes = site.integers("axes", axes)?.entries;
            if *empty_is_none && axes.is_empty() {
                return site.data();
            }
            let known = reduced(&site.known(0)?, *by, &axes, *keeps_axes)?;
            site.made(&known)
        }
    }
}

/// Data that already has the type need not be known.
fn converted(site: &mut Site, to: DType) -> Checked<TensorId> {
    let data = site.data()?;
    if site.builder.element(data) == ElementType::Fixed(to) {
        return Ok(data);
    }
    let known = site.known(0)?;
    if !is_reckoned(to) {
        return wrong!("conversion of numbers to {to} is not supported");
    }
    let cast = known.each(|number| scalars::cast(number, to))?;
    site.made(&Known { dtype: to, ..cast })
}

/// Combines all inputs from the left. A single input need not be known.
fn folded(site: &mut Site, by: Binary) -> Checked<TensorId> {
    if site.inputs.len() == 1 {
        return site.data();
    }
    let mut all = site.known(0)?;
    for input in 1..site.inputs.len() {
        let next = site.known(input)?;
        all = both(site, &all, &next, by)?;
    }
    site.made(&all)
}

fn both(site: &mut Site, a: &Known, b: &Known, by: Binary) -> Checked<Known> {
    if a.dtype != b.dtype && by != Binary::Power {
        return wrong!("its inputs must have the same type, got {} and {}", a.dtype, b.dtype);
    }
    let (sizes, shape) = shape_of_all(site, &[a, b])?;
    let dtype = if by.compares() { DType::Boolean } else { a.dtype };
    let pairs = a.broadcast(&sizes)?.into_iter().zip(b.broadcast(&sizes)?);
    let numbers = pairs.map(|(one, other)| scalars::binary(by, one, other, a.dtype));
    Ok(Known { dtype, shape, numbers: numbers.collect::<Checked<_>>()? })
}

fn clipped(site: &mut Site) -> Checked<TensorId> {
    let mut known = site.known(0)?;
    for (input, by) in [(1, Binary::Maximum), (2, Binary::Minimum)] {
        if site.input(input).is_ok() {
            let bound = site.known(input)?;
            if bound.shape.elements() != 1 {
                return wrong!("its bounds must be single numbers, got shape {}", bound.shape);
            }
            let bound = Known { shape: Shape::default(), ..bound };
            known = both(site, &known, &bound, by)?;
        }
    }
    site.made(&known)
}

/// Combines numbers along axes in the order of indices; along all axes if `axes` is empty.
fn reduced(known: &Known, by: Binary, axes: &[i64], keeps_axes: bool) -> Checked<Known> {
    let rank = known.shape.rank();
    let mut is_reduced = vec![axes.is_empty(); rank];
    for axis in axes {
        is_reduced[normalize_axis("axis", *axis, rank)?] = true;
    }
    let full: Vec<usize> =
        known.shape.iter().zip(&is_reduced).map(|(size, is)| if *is { 1 } else { *size }).collect();
    let full = Shape::new(full)?;
    let mut numbers: Vec<Option<Number>> = vec![None; full.elements()];
    // For each number, `target.indices` gives the index of its result: the reduced shape is broadcast back to the
    // full shape.
    let target = Known { dtype: known.dtype, shape: full.clone(), numbers: Vec::new() };
    for (number, at) in known.numbers.iter().zip(target.indices(&known.sizes())?) {
        numbers[at] = Some(match numbers[at] {
            Some(before) => scalars::binary(by, before, *number, known.dtype)?,
            None => *number,
        });
    }
    let of_none = of_none(by, known.dtype);
    let Some(numbers) = numbers.into_iter().map(|number| number.or(of_none)).collect() else {
        return wrong!("shape {} has no elements along the axes", known.shape);
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
