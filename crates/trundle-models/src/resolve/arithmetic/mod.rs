//! Arithmetic on numbers that shapes and constants alone say: done here, so that it is a constant before anything moves.
//!
//! Source: ONNX's operators up to opset 28, and those of OpenVINO's operation sets; both broadcast as numpy does.

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

/// What comes of the inputs.
pub(super) fn arithmetic(site: &mut Site<'_, '_>, what: &Arithmetic) -> Checked<TensorId> {
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

/// All inputs as one, from the first on. One alone is left as it is, whatever it is.
fn folded(site: &mut Site<'_, '_>, by: Binary) -> Checked<TensorId> {
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

/// What comes of two tensors.
fn both(site: &mut Site<'_, '_>, a: &Known, b: &Known, by: Binary) -> Checked<Known> {
    if a.dtype != b.dtype && by != Binary::Power {
        return wrong!("its inputs are of types {} and {}, which must be one", a.dtype, b.dtype);
    }
    let (sizes, shape) = shape_of_all(site, &[a, b])?;
    let dtype = if by.compares() { DType::Boolean } else { a.dtype };
    let pairs = a.broadcast(&sizes)?.into_iter().zip(b.broadcast(&sizes)?);
    let numbers = pairs.map(|(one, other)| binary::of(by, one, other, a.dtype));
    Ok(Known { dtype, shape, numbers: numbers.collect::<Checked<_>>()? })
}

/// Input 0 held within inputs 1 and 2.
fn clipped(site: &mut Site<'_, '_>) -> Checked<TensorId> {
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
