//! Resize and Upsample in mode "nearest", in all their versions.

use super::call::{Call, missing};
use crate::problem::{Checked, unsupported, wrong};
use crate::{
    AspectRatio, Coordinates, Floats, IntegerTypes, Integers, LeastScale, Nearest, Operator,
};

/// Returns an error for modes that interpolate, because they compute.
fn only_nearest(call: &mut Call) -> Checked<()> {
    match call.attributes.text("mode")? {
        None | Some("nearest") => Ok(()),
        Some(mode) => unsupported!("mode {mode:?} computes; what is supported is \"nearest\""),
    }
}

/// Builds a resize of the versions that have no coordinate modes. The position in the data is the output
/// index divided by the scale.
fn old_resize(scales: Floats, axes: Option<Integers>, nearest: Nearest) -> Operator {
    Operator::Resize {
        scales: Some(scales),
        sizes: None,
        aspect: AspectRatio::Stretched,
        axes,
        pads: [Vec::new(), Vec::new()],
        coordinates: Coordinates::Asymmetric,
        nearest,
        least: match nearest {
            Nearest::Floor => LeastScale::One,
            _ => LeastScale::OverZero,
        },
    }
}

/// Resize of opset 10. The specification does not define the rounding. If the output is smaller than the
/// data, the specification's tests and ONNX Runtime round up, and so does this reader.
pub(super) fn resize_by_scales(call: &mut Call) -> Checked<Operator> {
    only_nearest(call)?;
    Ok(old_resize(Floats::Input(1), None, Nearest::Simple))
}

pub(super) fn upsample_by_height_and_width(call: &mut Call) -> Checked<Operator> {
    only_nearest(call)?;
    let mut scale = |name: &str| -> Checked<f64> {
        let bits = call.attributes.float(name)?.ok_or_else(|| missing(name))?;
        Ok(f32::from_bits(bits).into())
    };
    let scales = Floats::Given(vec![scale("height_scale")?, scale("width_scale")?]);
    Ok(old_resize(scales, Some(Integers::Given(vec![2, 3])), Nearest::Floor))
}

pub(super) fn upsample_by_attribute(call: &mut Call) -> Checked<Operator> {
    only_nearest(call)?;
    let scales = call.attributes.floats("scales")?.ok_or_else(|| missing("scales"))?;
    let scales = scales.iter().map(|bits| f32::from_bits(*bits).into()).collect();
    Ok(old_resize(Floats::Given(scales), None, Nearest::Floor))
}

pub(super) fn upsample(call: &mut Call) -> Checked<Operator> {
    only_nearest(call)?;
    Ok(old_resize(Floats::Input(1), None, Nearest::Floor))
}

pub(super) fn upsample_withdrawn(call: &mut Call) -> Checked<Operator> {
    wrong!("opset {} has no Upsample, Resize is in its place from opset 10 on", call.opset)
}

pub(super) fn resize(call: &mut Call) -> Checked<Operator> {
    only_nearest(call)?;
    call.attributes.float("cubic_coeff_a")?;
    if call.attributes.int("exclude_outside")?.unwrap_or(0) != 0 {
        return unsupported!("exclude_outside is for the modes that compute");
    }
    let outside = call.attributes.float("extrapolation_value")?.unwrap_or(0);
    let (mut aspect, mut axes) = (AspectRatio::Stretched, None);
    if call.opset >= 18 {
        if call.attributes.int("antialias")?.unwrap_or(0) != 0 {
            return unsupported!("antialias is for the modes that compute");
        }
        axes = call.given("axes")?;
        aspect = match call.attributes.text("keep_aspect_ratio_policy")? {
            None | Some("stretch") => AspectRatio::Stretched,
            Some("not_larger") => AspectRatio::NotLarger,
            Some("not_smaller") => AspectRatio::NotSmaller,
            Some(policy) => {
                return wrong!(
                    "keep_aspect_ratio_policy {policy:?} is none of opset {}",
                    call.opset
                );
            }
        };
    }
    Ok(Operator::Resize {
        scales: call.has(2).then_some(Floats::Input(2)),
        sizes: call.optional_list(3, IntegerTypes::I64),
        aspect,
        axes,
        pads: [Vec::new(), Vec::new()],
        coordinates: coordinates(call, f32::from_bits(outside))?,
        nearest: nearest(call)?,
        least: LeastScale::OverZero,
    })
}

fn coordinates(call: &mut Call, outside: f32) -> Checked<Coordinates> {
    Ok(match call.attributes.text("coordinate_transformation_mode")? {
        None | Some("half_pixel") => Coordinates::HalfPixel,
        Some("half_pixel_symmetric") if call.opset >= 19 => Coordinates::HalfPixelSymmetric,
        Some("pytorch_half_pixel") => Coordinates::PytorchHalfPixel,
        Some("align_corners") => Coordinates::AlignCorners { unrounded: true },
        Some("asymmetric") => Coordinates::Asymmetric,
        Some("tf_half_pixel_for_nn") if call.opset < 13 => Coordinates::TfHalfPixelForNn,
        Some("tf_crop_and_resize") if call.has(1) => {
            Coordinates::TfCropAndResize { part: Floats::Input(1), outside }
        }
        Some("tf_crop_and_resize") => return wrong!("tf_crop_and_resize needs roi, input 1"),
        Some(mode) => {
            return wrong!(
                "coordinate_transformation_mode {mode:?} is none of opset {}",
                call.opset
            );
        }
    })
}

fn nearest(call: &mut Call) -> Checked<Nearest> {
    Ok(match call.attributes.text("nearest_mode")? {
        None | Some("round_prefer_floor") => Nearest::RoundPreferFloor,
        Some("round_prefer_ceil") => Nearest::RoundPreferCeil,
        Some("floor") => Nearest::Floor,
        Some("ceil") => Nearest::Ceil,
        Some(mode) => return wrong!("nearest_mode {mode:?} is none of opset {}", call.opset),
    })
}
