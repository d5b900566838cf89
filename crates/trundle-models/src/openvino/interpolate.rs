//! Interpolate in mode "nearest".
//!
//! The specification of version 1 leaves much undefined. OpenVINO converts it to version 4, and so does this reader.

use super::layer::Layer;
use super::operators::{Operand, integers, optional_integers};
use crate::problem::{Checked, unsupported, wrong};
use crate::{AspectRatio, Coordinates, Floats, Integers, LeastScale, Nearest, Operator};

/// The mode of an Interpolate that computes.
pub(super) fn mode_that_computes<'a>(layer: &Layer<'a>) -> Option<&'a str> {
    let mode = layer.attribute("mode").filter(|_| layer.kind == "Interpolate")?;
    (mode != "nearest").then_some(mode)
}

pub(super) fn interpolate(layer: &Layer, _: &[Operand]) -> Checked<Operator> {
    let mode = layer.required("mode")?;
    if mode != "nearest" {
        return unsupported!("mode {mode:?} computes; only mode \"nearest\" is supported");
    }
    let inputs = layer.inputs.len();
    match (layer.opset()?, inputs) {
        (Some(..4), 2) => first(layer),
        (Some(..4), _) => wrong!("it has {inputs} inputs, but takes 2"),
        (Some(..11), 3 | 4) => later(layer, [1, 2], 3),
        (Some(..11), _) => wrong!("it has {inputs} inputs, but takes 3 or 4"),
        (_, 2 | 3) => later(layer, [1, 1], 2),
        _ => wrong!("it has {inputs} inputs, but takes 2 or 3"),
    }
}

/// Interpolate-1, with sizes as an input and axes as an attribute.
fn first(layer: &Layer) -> Checked<Operator> {
    layer.required("axes")?;
    if ["pads_begin", "pads_end"]
        .into_iter()
        .any(|pads| layer.numbers(pads).map_or(true, |pads| pads.iter().any(|pad| *pad != 0)))
    {
        return unsupported!("pads of Interpolate-1 are not supported");
    }
    Ok(Operator::Resize {
        scales: None,
        sizes: Some(integers(1)),
        aspect: AspectRatio::Stretched,
        axes: Some(Integers::Given(layer.numbers("axes")?)),
        pads: [Vec::new(), Vec::new()],
        coordinates: match layer.truth("align_corners", true)? {
            true => Coordinates::AlignCorners { unrounded: false },
            false => Coordinates::Asymmetric,
        },
        nearest: Nearest::Simple,
        least: LeastScale::OverZero,
    })
}

/// Interpolate-4 and -11, with the indices of the inputs `sizes`, `scales` and `axes`.
fn later(layer: &Layer, [sizes, scales]: [usize; 2], axes: usize) -> Checked<Operator> {
    let (sizes, scales) = match layer.required("shape_calculation_mode")? {
        "sizes" => (Some(integers(sizes)), None),
        "scales" => (None, Some(Floats::Input(scales))),
        mode => return wrong!("shape_calculation_mode {mode:?} is neither sizes nor scales"),
    };
    let coordinates = match layer.attribute("coordinate_transformation_mode") {
        None | Some("half_pixel") => Coordinates::HalfPixel,
        Some("pytorch_half_pixel") => Coordinates::PytorchHalfPixel,
        Some("asymmetric") => Coordinates::Asymmetric,
        Some("tf_half_pixel_for_nn") => Coordinates::TfHalfPixelForNn,
        Some("align_corners") => Coordinates::AlignCorners { unrounded: false },
        Some(mode) => {
            return wrong!("coordinate_transformation_mode {mode:?} is none of its modes");
        }
    };
    let nearest = match layer.attribute("nearest_mode") {
        None | Some("round_prefer_floor") => Nearest::RoundPreferFloor,
        Some("round_prefer_ceil") => Nearest::RoundPreferCeil,
        Some("floor") => Nearest::Floor,
        Some("ceil") => Nearest::Ceil,
        Some("simple") => Nearest::Simple,
        Some(mode) => return wrong!("nearest_mode {mode:?} is none of its modes"),
    };
    Ok(Operator::Resize {
        scales,
        sizes,
        aspect: AspectRatio::Stretched,
        axes: optional_integers(layer, axes),
        pads: [layer.numbers("pads_begin")?, layer.numbers("pads_end")?],
        coordinates,
        nearest,
        least: LeastScale::OverZero,
    })
}
