//! Interpolate.

use super::operators::made;
use super::{refusal, said};
use crate::{
    AspectRatio, Coordinates, Floats, IntegerTypes, Integers, LeastScale, Nearest, Operator,
};

fn list(input: usize) -> Integers {
    Integers::Input { input, types: IntegerTypes::Integers }
}

/// Returns a resize to the sizes in input 1.
fn resize(axes: Option<Integers>, coordinates: Coordinates, nearest: Nearest) -> Operator {
    Operator::Resize {
        scales: None,
        sizes: Some(list(1)),
        aspect: AspectRatio::Stretched,
        axes,
        pads: [Vec::new(), Vec::new()],
        coordinates,
        nearest,
        least: LeastScale::OverZero,
    }
}

#[track_caller]
fn expect(version: &str, data: &str, inputs: usize, expected: &Operator) {
    let data = format!("mode=\"nearest\" {data}");
    let operator = made("Interpolate", version, &data, inputs, 1).unwrap();
    assert_eq!(said(&operator), said(expected), "{version} {data}");
}

#[test]
fn the_first_form_aligns_corners_unless_it_says_not() {
    let axes = || Some(Integers::Given(vec![2, 3]));
    let corners = Coordinates::AlignCorners { unrounded: false };
    let expected = resize(axes(), corners, Nearest::Simple);
    expect("opset1", "axes=\"2,3\"", 2, &expected);
    expect("opset3", "axes=\"2,3\" align_corners=\"1\" pads_begin=\"0\"", 2, &expected);
    let apart = resize(axes(), Coordinates::Asymmetric, Nearest::Simple);
    expect("opset1", "axes=\"2,3\" align_corners=\"false\"", 2, &apart);
}

#[test]
fn later_forms_have_all_modes() {
    let lowest = Nearest::RoundPreferFloor;
    let by_sizes = "shape_calculation_mode=\"sizes\"";
    expect("opset4", by_sizes, 3, &resize(None, Coordinates::HalfPixel, lowest));
    expect("opset4", by_sizes, 4, &resize(Some(list(3)), Coordinates::HalfPixel, lowest));
    expect("opset11", by_sizes, 2, &resize(None, Coordinates::HalfPixel, lowest));
    expect("opset11", by_sizes, 3, &resize(Some(list(2)), Coordinates::HalfPixel, lowest));
    for (mode, coordinates) in [
        ("half_pixel", Coordinates::HalfPixel),
        ("pytorch_half_pixel", Coordinates::PytorchHalfPixel),
        ("asymmetric", Coordinates::Asymmetric),
        ("tf_half_pixel_for_nn", Coordinates::TfHalfPixelForNn),
        ("align_corners", Coordinates::AlignCorners { unrounded: false }),
    ] {
        let data = format!("{by_sizes} coordinate_transformation_mode=\"{mode}\"");
        expect("opset11", &data, 2, &resize(None, coordinates, lowest));
    }
    for (mode, nearest) in [
        ("round_prefer_floor", lowest),
        ("round_prefer_ceil", Nearest::RoundPreferCeil),
        ("floor", Nearest::Floor),
        ("ceil", Nearest::Ceil),
        ("simple", Nearest::Simple),
    ] {
        let data = format!("{by_sizes} nearest_mode=\"{mode}\" antialias=\"false\"");
        expect("opset4", &data, 3, &resize(None, Coordinates::HalfPixel, nearest));
    }
    for (version, inputs, input) in [("opset4", 3, 2), ("opset11", 2, 1)] {
        let mut expected = resize(None, Coordinates::HalfPixel, lowest);
        let Operator::Resize { scales, sizes, pads, .. } = &mut expected else { panic!() };
        (*scales, *sizes) = (Some(Floats::Input(input)), None);
        *pads = [vec![0, 1], vec![2]];
        let data = "shape_calculation_mode=\"scales\" pads_begin=\"0,1\" pads_end=\"2\"";
        expect(version, data, inputs, &expected);
    }
}

#[test]
fn what_is_not_supported_says_so() {
    let refused = |version, data: &str, inputs| {
        refusal(made("Interpolate", version, &format!("mode=\"nearest\" {data}"), inputs, 1))
    };
    for (version, data, inputs, says) in [
        ("opset1", "axes=\"2\"", 3, "it has 3 inputs, but takes 2"),
        ("opset4", "shape_calculation_mode=\"sizes\"", 2, "it has 2 inputs, but takes 3 or 4"),
        ("opset11", "shape_calculation_mode=\"sizes\"", 4, "it has 4 inputs, but takes 2 or 3"),
        ("opset1", "", 2, "it has no attribute \"axes\""),
        ("opset1", "axes=\"2\" pads_end=\"1\"", 2, "pads of Interpolate-1 are not supported"),
        ("opset4", "", 3, "it has no attribute \"shape_calculation_mode\""),
        (
            "opset4",
            "shape_calculation_mode=\"size\"",
            3,
            "shape_calculation_mode \"size\" is neither sizes nor scales",
        ),
        (
            "opset4",
            "shape_calculation_mode=\"sizes\" nearest_mode=\"round\"",
            3,
            "nearest_mode \"round\" is none of its modes",
        ),
        (
            "opset4",
            "shape_calculation_mode=\"sizes\" coordinate_transformation_mode=\"tf_crop_and_resize\"",
            3,
            "coordinate_transformation_mode \"tf_crop_and_resize\" is none of its modes",
        ),
    ] {
        let message = refused(version, data, inputs);
        assert!(message.ends_with(says), "{message}");
    }
    for mode in ["linear", "linear_onnx", "cubic", "bilinear_pillow", "area"] {
        let message = refusal(made("Interpolate", "opset11", &format!("mode=\"{mode}\""), 2, 1));
        let says = format!("not supported: Interpolate in mode {mode} (1 node), which computes");
        assert!(message.contains(&says), "{message}");
    }
    assert!(refusal(made("Interpolate", "opset4", "", 3, 1)).ends_with("no attribute \"mode\""));
}
