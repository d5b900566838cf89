//! Resize and Upsample in mode "nearest".

use super::operator_node::{OperatorNode, missing};
use crate::problem::{Checked, unsupported, wrong};
use crate::{
    AspectRatio, Coordinates, Floats, IntegerTypes, Integers, LeastScale, Nearest, Operator,
};

/// Other modes interpolate, which is computation.
fn only_nearest(node: &mut OperatorNode) -> Checked<()> {
    match node.attributes.text("mode")? {
        None | Some("nearest") => Ok(()),
        Some(mode) => unsupported!("mode {mode:?} computes; only mode \"nearest\" is supported"),
    }
}

/// Versions without coordinate modes: the position in the data is the output index divided by the scale.
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

/// Opset 10 does not define the rounding. If the output is smaller than the data, the specification's tests and ONNX
/// Runtime round up, and so does this reader.
pub(super) fn resize_by_scales(node: &mut OperatorNode) -> Checked<Operator> {
    only_nearest(node)?;
    Ok(old_resize(Floats::Input(1), None, Nearest::Simple))
}

pub(super) fn upsample_by_height_and_width(node: &mut OperatorNode) -> Checked<Operator> {
    only_nearest(node)?;
    let mut scale = |name: &str| -> Checked<f64> {
        let bits = node.attributes.float(name)?.ok_or_else(|| missing(name))?;
        Ok(f32::from_bits(bits).into())
    };
    let scales = Floats::Given(vec![scale("height_scale")?, scale("width_scale")?]);
    Ok(old_resize(scales, Some(Integers::Given(vec![2, 3])), Nearest::Floor))
}

pub(super) fn upsample_by_attribute(node: &mut OperatorNode) -> Checked<Operator> {
    only_nearest(node)?;
    let scales = node.attributes.floats("scales")?.ok_or_else(|| missing("scales"))?;
    let scales = scales.iter().map(|bits| f32::from_bits(*bits).into()).collect();
    Ok(old_resize(Floats::Given(scales), None, Nearest::Floor))
}

pub(super) fn upsample(node: &mut OperatorNode) -> Checked<Operator> {
    only_nearest(node)?;
    Ok(old_resize(Floats::Input(1), None, Nearest::Floor))
}

pub(super) fn upsample_withdrawn(node: &mut OperatorNode) -> Checked<Operator> {
    wrong!("opset {} has no Upsample: use Resize from opset 10 on", node.opset)
}

pub(super) fn resize(node: &mut OperatorNode) -> Checked<Operator> {
    only_nearest(node)?;
    node.attributes.float("cubic_coeff_a")?;
    if node.attributes.int("exclude_outside")?.unwrap_or(0) != 0 {
        return unsupported!("exclude_outside is for the modes that compute");
    }
    let outside = node.attributes.float("extrapolation_value")?.unwrap_or(0);
    let (mut aspect, mut axes) = (AspectRatio::Stretched, None);
    if node.opset >= 18 {
        if node.attributes.int("antialias")?.unwrap_or(0) != 0 {
            return unsupported!("antialias is for the modes that compute");
        }
        axes = node.given("axes")?;
        aspect = match node.attributes.text("keep_aspect_ratio_policy")? {
            None | Some("stretch") => AspectRatio::Stretched,
            Some("not_larger") => AspectRatio::NotLarger,
            Some("not_smaller") => AspectRatio::NotSmaller,
            Some(policy) => {
                return wrong!(
                    "keep_aspect_ratio_policy {policy:?} is none of opset {}",
                    node.opset
                );
            }
        };
    }
    Ok(Operator::Resize {
        scales: node.has(2).then_some(Floats::Input(2)),
        sizes: node.optional_list(3, IntegerTypes::I64),
        aspect,
        axes,
        pads: [Vec::new(), Vec::new()],
        coordinates: coordinates(node, f32::from_bits(outside))?,
        nearest: nearest(node)?,
        least: LeastScale::OverZero,
    })
}

fn coordinates(node: &mut OperatorNode, outside: f32) -> Checked<Coordinates> {
    Ok(match node.attributes.text("coordinate_transformation_mode")? {
        None | Some("half_pixel") => Coordinates::HalfPixel,
        Some("half_pixel_symmetric") if node.opset >= 19 => Coordinates::HalfPixelSymmetric,
        Some("pytorch_half_pixel") => Coordinates::PytorchHalfPixel,
        Some("align_corners") => Coordinates::AlignCorners { unrounded: true },
        Some("asymmetric") => Coordinates::Asymmetric,
        Some("tf_half_pixel_for_nn") if node.opset < 13 => Coordinates::TfHalfPixelForNn,
        Some("tf_crop_and_resize") if node.has(1) => {
            Coordinates::TfCropAndResize { part: Floats::Input(1), outside }
        }
        Some("tf_crop_and_resize") => return wrong!("tf_crop_and_resize needs roi, input 1"),
        Some(mode) => {
            return wrong!(
                "coordinate_transformation_mode {mode:?} is none of opset {}",
                node.opset
            );
        }
    })
}

fn nearest(node: &mut OperatorNode) -> Checked<Nearest> {
    Ok(match node.attributes.text("nearest_mode")? {
        None | Some("round_prefer_floor") => Nearest::RoundPreferFloor,
        Some("round_prefer_ceil") => Nearest::RoundPreferCeil,
        Some("floor") => Nearest::Floor,
        Some("ceil") => Nearest::Ceil,
        Some(mode) => return wrong!("nearest_mode {mode:?} is none of opset {}", node.opset),
    })
}
