//! Computes arithmetic on values that follow from shapes and constants, so that the results are constants of
//! the resolved model.
//!
//! Source: ONNX's operators up to opset 28 and OpenVINO's operation sets; both broadcast as numpy.

mod binary;
mod cast;
mod known;
mod reduce;
mod select;
mod unary;

use trundle_core::program::TensorId;
use trundle_core::{DType, Shape};

use super::site::Site;
use crate::ElementType;
use crate::arithmetic::{Arithmetic, Binary};
use crate::problem::{Checked, wrong};
use known::{Known, shape_of_all};

pub(super) fn arithmetic(site: &mut Site, what: &Arithmetic) -> Checked<TensorId> {
    match what {
        Arithmetic::Binary(by) => folded(site, *by),
        Arithmetic::Unary(of) => {
            let known = site.known(0)?;
            let known = known.each(|number| unary::of(*of, number, known.dtype))?;
            site.made(&known)
        }
        Arithmetic::Cast(to) => converted(site, *to),
        Arithmetic::CastLike => match site.builder.element(site.input(1)?) {
            ElementType::Fixed(to) => converted(site, to),
            ElementType::String => wrong!("numbers are not made texts here"),
        },
        Arithmetic::Clip => clipped(site),
        Arithmetic::Select => select::selected(site),
        Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none } => {
            let axes = site.integers("axes", axes)?.entries;
            if *empty_is_none && axes.is_empty() {
                return site.data();
            }
            let known = reduce::reduced(&site.known(0)?, *by, &axes, *keeps_axes)?;
            site.made(&known)
        }
    }
}

/// Converts input 0 to another type. Data that has this type already need not be known.
fn converted(site: &mut Site, to: DType) -> Checked<TensorId> {
    let data = site.data()?;
    if site.builder.element(data) == ElementType::Fixed(to) {
        return Ok(data);
    }
    let known = site.known(0)?;
    let known = cast::cast(&known, to)?;
    site.made(&known)
}

/// Folds all inputs from the left. A single input is returned unchanged and need not be known.
fn folded(site: &mut Site, by: Binary) -> Checked<TensorId> {
    if site.inputs() == 1 {
        return site.data();
    }
    let mut all = site.known(0)?;
    for input in 1..site.inputs() {
        let next = site.known(input)?;
        all = both(site, &all, &next, by)?;
    }
    site.made(&all)
}

fn both(site: &mut Site, a: &Known, b: &Known, by: Binary) -> Checked<Known> {
    if a.dtype != b.dtype && by != Binary::Power {
        return wrong!("its inputs are of types {} and {}, which must be one", a.dtype, b.dtype);
    }
    let (sizes, shape) = shape_of_all(site, &[a, b])?;
    let dtype = if by.compares() { DType::Boolean } else { a.dtype };
    let pairs = a.broadcast(&sizes)?.into_iter().zip(b.broadcast(&sizes)?);
    let numbers = pairs.map(|(one, other)| binary::of(by, one, other, a.dtype));
    Ok(Known { dtype, shape, numbers: numbers.collect::<Checked<_>>()? })
}

/// Clamps input 0 to the range from input 1 to input 2.
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
