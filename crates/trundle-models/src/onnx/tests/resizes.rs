//! Resize and Upsample in each of their versions.

use super::operators::check;
use super::*;

/// The expected description of the operator.
fn said(scales: &str, sizes: &str, rest: &str) -> String {
    format!("Resize {{ scales: {scales}, sizes: {sizes}, {rest} }}")
}

const ASYMMETRIC: &str = "aspect: Stretched, axes: None, pads: [[], []], coordinates: Asymmetric";
const HALF_PIXEL: &str = "aspect: Stretched, axes: None, pads: [[], []], coordinates: HalfPixel, \
                          nearest: RoundPreferFloor, least: OverZero";

#[test]
fn upsample() {
    let of = |inputs: &[&str], attributes| node("Upsample", inputs, &["y"], attributes);
    let by = |height, width| vec![float("height_scale", height), float("width_scale", width)];
    let last_two = "aspect: Stretched, axes: Some(Given([2, 3])), pads: [[], []], \
                    coordinates: Asymmetric, nearest: Floor, least: One";
    let all = format!("{ASYMMETRIC}, nearest: Floor, least: One");
    check(vec![
        (1, 6, of(&["x"], by(2.0, 1.5)), &said("Some(Given([2.0, 1.5]))", "None", last_two)),
        (
            1,
            6,
            of(&["x"], vec![float("width_scale", 2.0)]),
            r#"Upsample "y": attribute "height_scale" is missing"#,
        ),
        (
            7,
            8,
            of(&["x"], vec![floats("scales", &[1.0, 2.5]), text("mode", "nearest")]),
            &said("Some(Given([1.0, 2.5]))", "None", &all),
        ),
        (7, 8, of(&["x"], vec![]), r#"Upsample "y": attribute "scales" is missing"#),
        (9, 9, of(&["x", "scales"], vec![]), &said("Some(Input(1))", "None", &all)),
        (
            10,
            10,
            of(&["x", "scales"], vec![]),
            r#"Upsample "y": opset 10 has no Upsample, Resize is in its place from opset 10 on"#,
        ),
        (
            9,
            9,
            of(&["x", "scales"], vec![text("mode", "linear")]),
            "Upsample \"y\": not supported: Upsample in mode linear (1 node), which computes; what is: \
             CenterCropPad, Concat, Constant, ConstantOfShape, DepthToSpace, Dropout, Einsum, Expand, EyeLike, Flatten, \
             Gather, GatherElements, GatherND, Identity, If, Loop, Pad, Range, Reshape, Resize, ReverseSequence, \
             Scan, Scatter, ScatterElements, ScatterND, Shape, Size, Slice, SpaceToDepth, Split, Squeeze, \
             TensorScatter, Tile, Transpose, Trilu, Unsqueeze, Upsample",
        ),
    ]);
}

#[test]
fn resize_by_its_inputs() {
    let of = |inputs: &[&str], attributes| node("Resize", inputs, &["y"], attributes);
    let simple = format!("{ASYMMETRIC}, nearest: Simple, least: OverZero");
    let sizes = "Some(Input { input: 3, types: I64 })";
    let last = "aspect: NotLarger, axes: Some(Given([-1])), pads: [[], []], coordinates: HalfPixel, \
                nearest: RoundPreferFloor, least: OverZero";
    check(vec![
        (10, 10, of(&["x", "scales"], vec![]), &said("Some(Input(1))", "None", &simple)),
        (11, 28, of(&["x", "roi", "scales"], vec![]), &said("Some(Input(2))", "None", HALF_PIXEL)),
        // Which of both inputs is empty is known only later.
        (
            11,
            28,
            of(&["x", "roi", "scales", "sizes"], vec![]),
            &said("Some(Input(2))", sizes, HALF_PIXEL),
        ),
        (13, 28, of(&["x", "", "", "sizes"], vec![]), &said("None", sizes, HALF_PIXEL)),
        (11, 12, of(&["x", "", "s"], vec![]), r#"Resize "y": input 1 (roi) is missing"#),
        (
            18,
            28,
            of(
                &["x", "", "", "sizes"],
                vec![ints("axes", &[-1]), text("keep_aspect_ratio_policy", "not_larger")],
            ),
            &said("None", sizes, last),
        ),
        (
            17,
            17,
            of(&["x", "", "", "sizes"], vec![ints("axes", &[-1])]),
            r#"Resize "y": Resize of opset 17 has no attribute "axes""#,
        ),
    ]);
}

#[test]
fn the_modes_of_resize() {
    let of = |attribute| node("Resize", &["x", "roi", "scales"], &["y"], vec![attribute]);
    let with = |coordinates: &str, nearest: &str| {
        let rest = format!(
            "aspect: Stretched, axes: None, pads: [[], []], coordinates: {coordinates}, \
             nearest: {nearest}, least: OverZero"
        );
        said("Some(Input(2))", "None", &rest)
    };
    let mode = |mode| of(text("coordinate_transformation_mode", mode));
    let lowest = "RoundPreferFloor";
    let refused = |mode: &str, opset: i64| {
        format!(r#"Resize "y": coordinate_transformation_mode "{mode}" is none of opset {opset}"#)
    };
    let crop = "TfCropAndResize { part: Input(1), outside: 0.0 }";
    let nearest = |mode| of(text("nearest_mode", mode));
    check(vec![
        (11, 28, mode("half_pixel"), &with("HalfPixel", lowest)),
        (19, 28, mode("half_pixel_symmetric"), &with("HalfPixelSymmetric", lowest)),
        (18, 18, mode("half_pixel_symmetric"), &refused("half_pixel_symmetric", 18)),
        (11, 28, mode("pytorch_half_pixel"), &with("PytorchHalfPixel", lowest)),
        (11, 28, mode("align_corners"), &with("AlignCorners { unrounded: true }", lowest)),
        (11, 28, mode("asymmetric"), &with("Asymmetric", lowest)),
        (11, 12, mode("tf_half_pixel_for_nn"), &with("TfHalfPixelForNn", lowest)),
        (13, 13, mode("tf_half_pixel_for_nn"), &refused("tf_half_pixel_for_nn", 13)),
        (11, 28, mode("tf_crop_and_resize"), &with(crop, lowest)),
        (11, 28, nearest("round_prefer_ceil"), &with("HalfPixel", "RoundPreferCeil")),
        (11, 28, nearest("floor"), &with("HalfPixel", "Floor")),
        (11, 28, nearest("ceil"), &with("HalfPixel", "Ceil")),
        (19, 19, nearest("simple"), r#"Resize "y": nearest_mode "simple" is none of opset 19"#),
        (
            11,
            28,
            of(int("exclude_outside", 1)),
            r#"Resize "y": exclude_outside is for the modes that compute"#,
        ),
        (18, 28, of(int("antialias", 1)), r#"Resize "y": antialias is for the modes that compute"#),
        (
            18,
            18,
            of(text("keep_aspect_ratio_policy", "fit")),
            r#"Resize "y": keep_aspect_ratio_policy "fit" is none of opset 18"#,
        ),
        (
            13,
            13,
            node(
                "Resize",
                &["x", "", "s"],
                &["y"],
                vec![text("coordinate_transformation_mode", "tf_crop_and_resize")],
            ),
            r#"Resize "y": tf_crop_and_resize needs roi, input 1"#,
        ),
    ]);
}
