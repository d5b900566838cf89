//! Arithmetic on numbers that shapes and constants alone say: done here, so that it is a constant before anything moves.
//!
//! Source: ONNX's operators up to opset 28, and those of OpenVINO's operation sets; both broadcast as numpy does.

mod binary;
mod cast;
mod known;
mod reduce;
mod unary;

use trundle_core::program::TensorId;
use trundle_core::{DType, Shape};

use super::element::Number;
use super::site::Site;
use crate::ElementType;
use crate::arithmetic::{Arithmetic, Binary};
use crate::problem::{Checked, wrong};
use known::Known;

/// What comes of the inputs.
pub(super) fn arithmetic(site: &mut Site<'_, '_>, what: &Arithmetic) -> Checked<TensorId> {
    match what {
        Arithmetic::Cast(to) => return converted(site, *to),
        Arithmetic::CastLike => {
            let other = site.input(1)?;
            let ElementType::Fixed(to) = site.builder.element(other) else {
                return wrong!("numbers are not made texts here");
            };
            return converted(site, to);
        }
        Arithmetic::Binary(by) if site.inputs() == 1 && !by.compares() => return site.data(),
        _ => {}
    }
    let known = match what {
        Arithmetic::Binary(by) => folded(site, *by)?,
        Arithmetic::Unary(of) => {
            let known = site.known(0)?;
            known.each(|number| unary::of(*of, number, known.dtype))?
        }
        Arithmetic::Clip => clipped(site)?,
        Arithmetic::Select => selected(site)?,
        Arithmetic::Reduce { by, axes, keeps_axes, empty_is_none } => {
            let axes = axes.as_ref().map(|axes| site.integers("axes", axes)).transpose()?;
            let axes = axes.map(|axes| axes.entries);
            let known = site.known(0)?;
            if *empty_is_none && axes.as_ref().is_some_and(Vec::is_empty) {
                return site.data();
            }
            reduce::reduced(&known, *by, axes.as_deref(), *keeps_axes)?
        }
        Arithmetic::Cast(_) | Arithmetic::CastLike => return wrong!("it is no arithmetic"),
    };
    site.made(&known)
}

/// Input 0 in another type; whatever it is, if that is its own.
fn converted(site: &mut Site<'_, '_>, to: DType) -> Checked<TensorId> {
    let data = site.data()?;
    if site.builder.element(data) == ElementType::Fixed(to) {
        return Ok(data);
    }
    let known = site.known(0)?;
    let known = cast::cast(&known, to)?;
    site.made(&known)
}

/// All inputs as one, from the first on.
fn folded(site: &mut Site<'_, '_>, by: Binary) -> Checked<Known> {
    let mut all = site.known(0)?;
    for input in 1..site.inputs() {
        let next = site.known(input)?;
        all = both(site, &all, &next, by)?;
    }
    Ok(all)
}

/// What comes of two tensors.
fn both(site: &mut Site<'_, '_>, a: &Known, b: &Known, by: Binary) -> Checked<Known> {
    if a.dtype != b.dtype && by != Binary::Power {
        return wrong!("its inputs are of types {} and {}, which must be one", a.dtype, b.dtype);
    }
    let shape = known::broadcast(&a.shape, &b.shape)?;
    site.spend("operands of its arithmetic", shape.elements())?;
    let dtype = if by.compares() { DType::Boolean } else { a.dtype };
    let (a_to, b_to) = (a.positions(&shape), b.positions(&shape));
    let pairs = a_to.zip(b_to).map(|(at, other)| (a.numbers[at], b.numbers[other]));
    let numbers = pairs.map(|(one, other)| binary::of(by, one, other, a.dtype));
    Ok(Known { dtype, numbers: numbers.collect::<Checked<_>>()?, shape: shape.clone() })
}

/// Input 0 held within inputs 1 and 2.
fn clipped(site: &mut Site<'_, '_>) -> Checked<Known> {
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
    Ok(known)
}

/// Input 1 or 2, as input 0 says.
fn selected(site: &mut Site<'_, '_>) -> Checked<Known> {
    let (condition, yes, no) = (site.known(0)?, site.known(1)?, site.known(2)?);
    if condition.dtype != DType::Boolean {
        return wrong!("its condition must be boolean, got {}", condition.dtype);
    }
    if yes.dtype != no.dtype {
        return wrong!("its inputs are of types {} and {}, which must be one", yes.dtype, no.dtype);
    }
    let shape = known::broadcast(&known::broadcast(&yes.shape, &no.shape)?, &condition.shape)?;
    site.spend("operands of its arithmetic", shape.elements())?;
    let branches = yes.positions(&shape).zip(no.positions(&shape));
    let all = condition.positions(&shape).zip(branches);
    let number = |(at, (one, other)): (usize, (usize, usize))| match condition.numbers[at] {
        Number::Integer(0) => no.numbers[other],
        _ => yes.numbers[one],
    };
    let numbers = all.map(number).collect();
    Ok(Known { dtype: yes.dtype, numbers, shape: shape.clone() })
}
