//! Nearest-neighbour resizes, compared with the formulas of the specifications.

use trundle_core::DType;
use trundle_core::program::Made;

use super::sketch::{Sketch, Tagged, constant, expect, f32s, given, i64s, refuse};
use crate::resolve::nearest::{Run, parts_alike, runs};
use crate::{AspectRatio, Coordinates, Floats, Integers, LeastScale, Nearest, Operator};

fn resize(
    scales: Option<&[f64]>,
    sizes: Option<&[i64]>,
    coordinates: Coordinates,
    nearest: Nearest,
) -> Operator {
    Operator::Resize {
        scales: scales.map(|scales| Floats::Given(scales.to_vec())),
        sizes: sizes.map(given),
        aspect: AspectRatio::Stretched,
        axes: None,
        pads: [Vec::new(), Vec::new()],
        coordinates,
        nearest,
        least: LeastScale::OverZero,
    }
}

fn half_pixel(sizes: &[i64]) -> Operator {
    resize(None, Some(sizes), Coordinates::HalfPixel, Nearest::RoundPreferFloor)
}

#[track_caller]
fn expect_indices(resize: Operator, size: usize, indices: &[usize]) {
    expect(resize, &[size], &[], &[indices.len()], |at| vec![indices[at[0]]]);
}

#[test]
fn coordinate_modes_follow_their_formulas() {
    // Calculated by hand:
    let of = |coordinates, size: i64| resize(None, Some(&[size]), coordinates, Nearest::Floor);
    // (x + 0.5) / 2 - 0.5 = -0.25, 0.25, 0.75, ...
    expect_indices(of(Coordinates::HalfPixel, 8), 4, &[0, 0, 0, 1, 1, 2, 2, 3]);
    expect_indices(of(Coordinates::HalfPixelSymmetric, 8), 4, &[0, 0, 0, 1, 1, 2, 2, 3]);
    expect_indices(of(Coordinates::PytorchHalfPixel, 8), 4, &[0, 0, 0, 1, 1, 2, 2, 3]);
    expect_indices(of(Coordinates::Asymmetric, 8), 4, &[0, 0, 1, 1, 2, 2, 3, 3]);
    // (x + 0.5) / 2 = 0.25, 0.75, 1.25, ...
    expect_indices(of(Coordinates::TfHalfPixelForNn, 8), 4, &[0, 0, 1, 1, 2, 2, 3, 3]);
    // (x + 0.5) 1.5 = 0.75, 2.25. Asymmetric has 1.5 x = 0, 1.5 instead.
    expect_indices(of(Coordinates::TfHalfPixelForNn, 2), 3, &[0, 2]);
    expect_indices(of(Coordinates::Asymmetric, 2), 3, &[0, 1]);
    // 3 x / 7.
    let corners = Coordinates::AlignCorners { unrounded: false };
    expect_indices(of(corners.clone(), 8), 4, &[0, 0, 0, 1, 1, 2, 2, 3]);
    expect_indices(of(corners, 1), 4, &[0]);
    // Output size 1: (0 + 0.5) 5 - 0.5 = 2, and 0.
    expect_indices(of(Coordinates::HalfPixel, 1), 5, &[2]);
    expect_indices(of(Coordinates::PytorchHalfPixel, 1), 5, &[0]);
}

#[test]
fn nearest_modes_round_halves_to_their_side() {
    // From 6 to 3: (x + 0.5) 2 - 0.5 = 0.5, 2.5, 4.5.
    let of = |nearest| resize(None, Some(&[3]), Coordinates::HalfPixel, nearest);
    expect_indices(of(Nearest::RoundPreferFloor), 6, &[0, 2, 4]);
    expect_indices(of(Nearest::RoundPreferCeil), 6, &[1, 3, 5]);
    expect_indices(of(Nearest::Floor), 6, &[0, 2, 4]);
    expect_indices(of(Nearest::Ceil), 6, &[1, 3, 5]);
    expect_indices(of(Nearest::Simple), 6, &[1, 3, 5]);
    // For a larger output, `Simple` rounds down: 3 x / 5.
    let more = |nearest| resize(None, Some(&[5]), Coordinates::Asymmetric, nearest);
    expect_indices(more(Nearest::Simple), 3, &[0, 0, 1, 1, 2]);
    expect_indices(more(Nearest::Ceil), 3, &[0, 1, 2, 2, 2]);
}

#[test]
fn sizes_from_scales_are_rounded_down() {
    let of = |scale: f64, coordinates| {
        resize(Some(&[scale]), None, coordinates, Nearest::RoundPreferFloor)
    };
    // Size 2.4 becomes 2; x / 0.6 = 0, 1.67.
    expect_indices(of(0.6, Coordinates::Asymmetric), 4, &[0, 2]);
    // 3 x / (2.4 - 1) and 3 x / (2 - 1).
    expect_indices(of(0.6, Coordinates::AlignCorners { unrounded: true }), 4, &[0, 2]);
    expect_indices(of(0.6, Coordinates::AlignCorners { unrounded: false }), 4, &[0, 3]);
    // 2 (1 - 2 / 2.4) + (x + 0.5) / 0.6 - 0.5 = 0.67, 2.33. Without the first term: 0.33, 2.
    expect_indices(of(0.6, Coordinates::HalfPixelSymmetric), 4, &[1, 2]);
    expect_indices(of(0.6, Coordinates::HalfPixel), 4, &[0, 2]);
    expect_indices(of(0.2, Coordinates::HalfPixel), 4, &[]);
    // A rounding error does not matter: 3.5 (1 - 3 / 3.5) + 0.5 / 0.5 - 0.5.
    let symmetric = Coordinates::HalfPixelSymmetric;
    expect_indices(resize(Some(&[0.5]), None, symmetric, Nearest::Ceil), 7, &[1, 3, 5]);
}

#[test]
fn only_the_listed_axes_are_resized() {
    let mut operator = half_pixel(&[2, 6]);
    let Operator::Resize { axes, .. } = &mut operator else { panic!() };
    *axes = Some(given(&[-1, 0]));
    // The last axis is resized from 4 to 2, the first from 3 to 6.
    expect(operator, &[3, 5, 4], &[], &[6, 5, 2], |i| vec![i[0] / 2, i[1], 2 * i[2]]);
    expect(half_pixel(&[3, 4]), &[3, 4], &[], &[3, 4], <[usize]>::to_vec);
    expect(half_pixel(&[]), &[], &[], &[], <[usize]>::to_vec);
    expect(half_pixel(&[0, 8]), &[3, 4], &[], &[0, 8], <[usize]>::to_vec);
    expect(half_pixel(&[0, 7]), &[0, 4], &[], &[0, 7], <[usize]>::to_vec);
}

#[test]
fn aspect_ratios_are_kept() {
    let of = |policy| {
        let mut operator = half_pixel(&[7, 8]);
        let Operator::Resize { aspect, .. } = &mut operator else { panic!() };
        *aspect = policy;
        let mut sketch = Sketch::new(&[Tagged::counting(&[2, 4], 0).constant()]);
        sketch.node(operator, &[0], 1);
        sketch.run().unwrap()[0].sizes.clone()
    };
    assert_eq!(of(AspectRatio::Stretched), [7, 8]);
    assert_eq!(of(AspectRatio::NotLarger), [4, 8]);
    assert_eq!(of(AspectRatio::NotSmaller), [7, 14]);
}

#[test]
fn a_crop_may_reach_outside_the_data() {
    let of = |part: &[f64], outside| {
        let part = Floats::Given(part.to_vec());
        let coordinates = Coordinates::TfCropAndResize { part, outside };
        resize(None, Some(&[5]), coordinates, Nearest::RoundPreferFloor)
    };
    // The part is from 1 to 3 of 0 to 4, in steps of one half. 1.5 is rounded to 1.
    expect_indices(of(&[0.25, 0.75], 0.0), 5, &[1, 1, 2, 2, 3]);
    // The part runs backwards.
    expect_indices(of(&[1.0, 0.0], 0.0), 5, &[4, 3, 2, 1, 0]);
    // The part is from -2 to 6 of 0 to 4: -2, 0, 2, 4, 6.
    let mut sketch = Sketch::new(&[Tagged::counting(&[5], 100).constant()]);
    sketch.node(of(&[-0.5, 1.5], 0.0), &[0], 1);
    assert_eq!(sketch.run().unwrap()[0].tags, [0, 100, 102, 104, 0]);
    refuse(of(&[-0.5, 1.5], 2.5), &[5], &[], "its value is 2.5, a float, and its data u64");
    refuse(of(&[0.0], 0.0), &[5], &[], "got 1 and 2");
}

#[test]
fn data_is_padded_with_zeros_before_the_resize() {
    let mut operator = resize(None, Some(&[6]), Coordinates::Asymmetric, Nearest::Floor);
    let Operator::Resize { pads, .. } = &mut operator else { panic!() };
    *pads = [vec![0], vec![2]];
    let mut sketch = Sketch::new(&[Tagged::counting(&[1], 7).constant()]);
    sketch.node(operator.clone(), &[0], 1);
    assert_eq!(sketch.run().unwrap()[0].tags, [7, 7, 0, 0, 0, 0]);
    let Operator::Resize { pads, .. } = &mut operator else { panic!() };
    *pads = [vec![0, 1], vec![]];
    refuse(operator.clone(), &[1], &[], "pads are for 2 axes, but the data has 1");
    let Operator::Resize { pads, .. } = &mut operator else { panic!() };
    *pads = [vec![-1], vec![]];
    refuse(operator, &[1], &[], "pads may not be negative, got -1");
}

#[test]
fn scales_and_sizes_are_read_from_inputs() {
    let both = || {
        let mut operator = half_pixel(&[]);
        let Operator::Resize { scales, sizes, .. } = &mut operator else { panic!() };
        *scales = Some(Floats::Input(1));
        *sizes = Some(Integers::Input { input: 2, types: crate::IntegerTypes::I64 });
        operator
    };
    expect(both(), &[4], &[f32s(&[1], &[0.5]), i64s(&[0], &[])], &[2], |i| vec![2 * i[0]]);
    expect(both(), &[4], &[f32s(&[0], &[]), i64s(&[1], &[2])], &[2], |i| vec![2 * i[0]]);
    refuse(both(), &[4], &[f32s(&[1], &[0.5]), i64s(&[1], &[2])], "it has both scales and sizes");
    refuse(both(), &[4], &[f32s(&[0], &[]), i64s(&[0], &[])], "it has neither scales nor sizes");
    refuse(both(), &[4], &[i64s(&[1], &[1]), i64s(&[0], &[])], "scales may not be of type i64");
    let f16s = constant(DType::F16, &[1], vec![0, 0x40]);
    expect(both(), &[4], &[f16s, i64s(&[0], &[])], &[8], |i| vec![i[0] / 2]);
}

#[test]
fn invalid_resizes_are_refused() {
    let scaled = |scale: f64| resize(Some(&[scale]), None, Coordinates::HalfPixel, Nearest::Floor);
    refuse(scaled(0.0), &[4], &[], "scale 0 is out of range: expected over 0");
    refuse(scaled(f64::NAN), &[4], &[], "scale NaN is out of range");
    refuse(scaled(f64::INFINITY), &[4], &[], "a resize to inf is too large");
    refuse(scaled(1e7), &[4], &[], "axis 0 is resized to 40000000, over the limit of 16777216");
    let mut upsample = scaled(0.5);
    let Operator::Resize { least, .. } = &mut upsample else { panic!() };
    *least = LeastScale::One;
    refuse(upsample, &[4], &[], "scale 0.5 is out of range: expected 1 or more");
    refuse(half_pixel(&[-1]), &[4], &[], "sizes may not be negative, got -1");
    refuse(half_pixel(&[1, 2]), &[4], &[], "sizes and axes must have the same length, got 2 and 1");
    refuse(half_pixel(&[3]), &[0], &[], "axis 0 has no elements, and cannot be resized to 3");
    refuse(half_pixel(&[i64::MAX]), &[4], &[], "over the limit of 16777216");
    let mut twice = half_pixel(&[4, 4]);
    let Operator::Resize { axes, .. } = &mut twice else { panic!() };
    *axes = Some(given(&[0, -2]));
    refuse(twice, &[4, 4], &[], "axes have axis -2 twice");
    refuse(half_pixel(&[199_999]), &[300_007], &[], "pieces, over the limit of 65536");
}

#[test]
fn runs_are_as_long_as_they_can_be() {
    let run = |start, count, step| Run { start, count, step };
    assert_eq!(runs(&[]), []);
    assert_eq!(runs(&[5]), [run(5, 1, 0)]);
    assert_eq!(
        runs(&[0, 0, 0, 1, 2, 3, 3, 7, 5, 3]),
        [run(0, 3, 0), run(1, 3, 1), run(3, 2, 4), run(5, 2, -2)]
    );
    assert_eq!(parts_alike(&[0, 0, 1, 2, 2, 3], 4), Some(2));
    assert_eq!(parts_alike(&[0, 0, 1, 2, 2, 2], 4), None);
    assert_eq!(parts_alike(&[0, 1, 2], 4), None);
    // A period must not extend into the next part of the data.
    assert_eq!(parts_alike(&[2, 4, 6], 6), None);
}

/// Integer factors and periodic indices need a single map, however large the axes are.
#[test]
fn periodic_resizes_are_one_small_map() {
    for (from, to) in [(1 << 20, 1 << 21), (1 << 21, 1 << 20), (1_000_000, 1_500_000)] {
        let mut sketch = Sketch::new(&[Tagged::counting(&[from], 0).constant()]);
        sketch.node(half_pixel(&[to]), &[0], 1);
        let model = sketch.resolve().unwrap();
        let Made::Moved { map, .. } = &model.program().tensor(model.outputs()[0]).made else {
            panic!("{from} to {to} is not moved at once")
        };
        let lines = map.layers().iter().filter_map(|layer| layer.axes());
        assert!(format!("{:?}", lines.collect::<Vec<_>>()).len() < 1000, "{map:?}");
    }
}
