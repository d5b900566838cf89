//! Slice, Split, Concat, Pad, Broadcast.

use trundle_core::DType;
use trundle_core::ops::PadMode;

use super::sketch::{Sketch, Tagged, constant, expect, from_input, given, i64s, refuse, strings};
use crate::{BroadcastRule, IntegerTypes, Operator, PadValue, Pads, Parts};

fn slice(starts: &[i64], stops: &[i64], axes: Option<&[i64]>, steps: Option<&[i64]>) -> Operator {
    Operator::Slice {
        starts: given(starts),
        stops: given(stops),
        axes: axes.map(given),
        steps: steps.map(given),
    }
}

#[test]
fn slices_follow_their_bounds_in_both_directions() {
    expect(slice(&[1], &[3], None, None), &[4, 3], &[], &[2, 3], |i| vec![i[0] + 1, i[1]]);
    expect(slice(&[0, -2], &[99, -1], None, None), &[2, 3], &[], &[2, 1], |i| vec![i[0], 1]);
    let stepped = slice(&[1], &[i64::MAX], Some(&[-1]), Some(&[3]));
    expect(stepped, &[2, 8], &[], &[2, 3], |i| vec![i[0], 1 + 3 * i[1]]);
    let backwards = slice(&[i64::MAX], &[i64::MIN], Some(&[0]), Some(&[-2]));
    expect(backwards, &[5], &[], &[3], |i| vec![4 - 2 * i[0]]);
    let once = slice(&[3], &[i64::MIN], Some(&[0]), Some(&[i64::MIN]));
    expect(once, &[5], &[], &[1], |_| vec![3]);
    // As in ONNX's specification, ONNX Runtime and OpenVINO, but not in numpy.
    let before = slice(&[-9], &[-99], Some(&[0]), Some(&[-1]));
    expect(before, &[5], &[], &[1], |_| vec![0]);
    expect(slice(&[3], &[1], None, None), &[5], &[], &[0], <[usize]>::to_vec);
    expect(slice(&[-1], &[-9], Some(&[0]), Some(&[-1])), &[0], &[], &[0], <[usize]>::to_vec);
    expect(slice(&[], &[], None, None), &[5], &[], &[5], <[usize]>::to_vec);
    refuse(slice(&[0], &[1], Some(&[0]), Some(&[0])), &[5], &[], "step 0");
    refuse(slice(&[0, 0], &[1, 1], Some(&[0, -1]), None), &[5], &[], "axis");
    refuse(slice(&[0, 0], &[1, 1], None, None), &[5], &[], "axis 1 is out of range");
    let says = "starts and stops must have the same length, got 1 and 2";
    refuse(slice(&[0], &[1, 1], None, None), &[5], &[], says);
    let says = "starts and axes must have the same length, got 1 and 0";
    refuse(slice(&[0], &[1], Some(&[]), None), &[5], &[], says);
    let says = "starts and steps must have the same length, got 1 and 0";
    refuse(slice(&[0], &[1], None, Some(&[])), &[5], &[], says);
}

/// Splits consecutive numbers along an axis.
fn split(sizes: &[usize], axis: i64, parts: Parts, outputs: usize) -> Result<Vec<Tagged>, String> {
    let mut sketch = Sketch::new(&[Tagged::counting(sizes, 0).constant()]);
    sketch.node(Operator::Split { axis: given(&[axis]), parts }, &[0], outputs);
    sketch.run().map_err(|error| error.to_string())
}

#[test]
fn splits_give_parts_of_every_kind_of_size() {
    let sizes = |parts: &[i64]| Parts::Sizes(given(parts));
    let data = Tagged::counting(&[2, 5], 0);
    for (parts, expected) in [
        (Parts::Equal, vec![1, 1, 1, 1, 1]),
        (Parts::Equal, vec![5]),
        (Parts::LastSmaller, vec![2, 2, 1]),
        (Parts::LastSmaller, vec![3, 2]),
        (sizes(&[1, 4]), vec![1, 4]),
        (sizes(&[0, 5, 0]), vec![0, 5, 0]),
        (sizes(&[1, -1, 2]), vec![1, 2, 2]),
        (sizes(&[5, -1]), vec![5, 0]),
    ] {
        let mut start = 0;
        let mut tagged = Vec::new();
        for &size in &expected {
            tagged.push(Tagged::of(&[2, size], |i| data.at(&[i[0], i[1] + start])));
            start += size;
        }
        assert_eq!(split(&[2, 5], -1, parts.clone(), expected.len()), Ok(tagged), "{parts:?}");
    }
    let empty = Tagged::counting(&[0, 3], 0);
    assert_eq!(split(&[0, 3], 0, Parts::Equal, 2), Ok(vec![empty.clone(), empty.clone()]));
    assert_eq!(split(&[0, 3], 0, Parts::LastSmaller, 2), Ok(vec![empty.clone(), empty]));
    for (parts, outputs, says) in [
        (Parts::Equal, 2, "size 5 cannot be split into 2 equal parts"),
        (Parts::LastSmaller, 4, "size 5 cannot be split into 4 parts of 2, but for the last"),
        (sizes(&[1, 3]), 2, "the parts have 4 in all, but the axis has size 5"),
        (sizes(&[6, -1]), 2, "the parts have 6 in all, but the axis has size 5"),
        (sizes(&[i64::MAX, i64::MAX]), 2, "18446744073709551614 in all"),
        (sizes(&[-1, -1]), 2, "one part may have size -1, got 2"),
        (sizes(&[7, -2]), 2, "a part cannot have size -2"),
        (sizes(&[5]), 2, "there are 2 outputs, but 1 sizes of parts"),
        (Parts::Equal, 0, "it has no outputs"),
    ] {
        let refused = split(&[2, 5], 1, parts, outputs).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    }
    assert!(split(&[], 0, Parts::Equal, 1).unwrap_err().contains("rank 0"));
    let axis = Operator::Split { axis: given(&[0, 1]), parts: Parts::Equal };
    refuse(axis, &[2, 2], &[], "axis must have one entry, got 2");
}

#[test]
fn concats_put_tensors_one_after_another() {
    let parts: Vec<Tagged> =
        [(2, 0), (0, 50), (3, 100)].map(|(size, first)| Tagged::counting(&[2, size], first)).into();
    let constants: Vec<_> = parts.iter().map(Tagged::constant).collect();
    let mut sketch = Sketch::new(&constants);
    sketch.node(Operator::Concat { axis: -1 }, &[0, 1, 2, 0], 1);
    let expected = Tagged::of(&[2, 7], |i| match i[1] {
        0..2 => parts[0].at(i),
        2..5 => parts[2].at(&[i[0], i[1] - 2]),
        _ => parts[0].at(&[i[0], i[1] - 5]),
    });
    assert_eq!(sketch.run().unwrap(), [expected]);
    let concat = |axis| Operator::Concat { axis };
    let other = |sizes: &[usize]| [Tagged::counting(sizes, 0).constant()];
    expect(concat(0), &[3, 2], &other(&[0, 2]), &[3, 2], <[usize]>::to_vec);
    expect(concat(0), &[0, 2], &other(&[0, 2]), &[0, 2], <[usize]>::to_vec);
    refuse(
        concat(0),
        &[3, 2],
        &other(&[3, 3]),
        "input 0 of shape [3, 2] and input 1 of shape [3, 3] differ along an axis other than 0",
    );
    refuse(concat(0), &[3, 2], &other(&[3]), "differ along an axis other than 0");
    refuse(concat(0), &[3], &[i64s(&[1], &[1])], "input 0 is of type u64, but input 1 of i64");
    refuse(concat(0), &[], &other(&[]), "rank 0");
    refuse(concat(2), &[3, 2], &other(&[3, 2]), "axis 2 is out of range");
}

fn pad(begins: &[i64], ends: &[i64], axes: Option<&[i64]>, value: Option<usize>) -> Operator {
    let pads = Pads::Each { begins: given(begins), ends: given(ends) };
    Operator::Pad { pads, axes: axes.map(given), value: value.map(PadValue::Input) }
}

/// Expects an element of the data where `source` returns an index, and 7 elsewhere.
#[track_caller]
fn expect_padded(
    operator: Operator,
    sizes: &[usize],
    to: &[usize],
    source: impl Fn(&[usize]) -> Option<Vec<usize>>,
) {
    let data = Tagged::counting(sizes, 100);
    let seven = Tagged { sizes: vec![1], tags: vec![7] };
    let mut sketch = Sketch::new(&[data.constant(), seven.constant()]);
    sketch.node(operator, &[0, 1], 1);
    let expected = Tagged::of(to, |index| source(index).map_or(7, |source| data.at(&source)));
    assert_eq!(sketch.run().unwrap(), [expected]);
}

#[test]
fn pads_extend_and_crop_the_data() {
    let within = |i: usize, before: usize, size: usize| i.checked_sub(before).filter(|j| *j < size);
    expect_padded(pad(&[1, 2], &[0, 1], None, Some(1)), &[2, 3], &[3, 6], |i| {
        Some(vec![within(i[0], 1, 2)?, within(i[1], 2, 3)?])
    });
    expect_padded(pad(&[2], &[1], Some(&[-1]), Some(1)), &[2, 3], &[2, 6], |i| {
        Some(vec![i[0], within(i[1], 2, 3)?])
    });
    expect_padded(pad(&[-1, 1], &[1, -2], None, Some(1)), &[3, 4], &[3, 3], |i| {
        Some(vec![within(i[0] + 1, 0, 3)?, within(i[1], 1, 4)?])
    });
    // As in ONNX Runtime: cropping more than the data crops the padding on the other side, too.
    expect_padded(pad(&[-5], &[10], None, Some(1)), &[3], &[8], |_| None);
    expect_padded(pad(&[10], &[-5], None, Some(1)), &[3], &[8], |_| None);
    expect_padded(pad(&[-2], &[-1], None, Some(1)), &[3], &[0], |_| None);
    expect_padded(pad(&[1, 0], &[1, 0], None, Some(1)), &[0, 2], &[2, 2], |_| None);
    expect_padded(pad(&[0, 0], &[0, 0], None, Some(1)), &[2, 2], &[2, 2], |i| Some(i.to_vec()));
    expect_padded(pad(&[], &[], None, Some(1)), &[], &[], |_| Some(vec![]));
    let both = Pads::Both(given(&[1, 0, 2, 1]));
    let both =
        Operator::Pad { pads: both, axes: Some(given(&[1, 0])), value: Some(PadValue::Input(1)) };
    expect_padded(both, &[2, 2], &[3, 5], |i| Some(vec![within(i[0], 0, 2)?, within(i[1], 1, 2)?]));
}

#[test]
fn the_pad_value_is_zero_by_default() {
    let mut sketch = Sketch::new(&[Tagged::counting(&[1], 5).constant()]);
    sketch.node(pad(&[1], &[1], None, None), &[0], 1);
    assert_eq!(sketch.run().unwrap()[0].tags, [0, 5, 0]);
    let mut sketch = Sketch::new(&[strings(&[1], &["a"]), strings(&[], &["b"])]);
    sketch.node(pad(&[1], &[1], None, None), &[0], 1);
    assert_eq!(sketch.output_strings(), ["", "a", ""]);
    let mut sketch = Sketch::new(&[strings(&[1], &["a"]), strings(&[], &["b"])]);
    sketch.node(pad(&[1], &[1], None, Some(1)), &[0, 1], 1);
    assert_eq!(sketch.output_strings(), ["b", "a", "b"]);
    let mut packed = Sketch::new(&[constant(DType::U4, &[1], vec![5])]);
    packed.node(pad(&[2], &[0], None, None), &[0], 1);
    assert!(packed.resolve().is_ok());
}

/// Expects a pad with elements of the data to read these indices.
#[track_caller]
fn expect_elements(begins: &[i64], ends: &[i64], mode: PadMode, size: usize, expected: &[u64]) {
    let pads = Pads::Each { begins: given(begins), ends: given(ends) };
    for once in [false, true] {
        let mut sketch = Sketch::new(&[Tagged::counting(&[size], 0).constant()]);
        let pads = pads.clone();
        sketch.node(Operator::PadElements { pads, axes: None, mode, once }, &[0], 1);
        assert_eq!(sketch.run().unwrap()[0].tags, expected, "{mode}");
    }
}

#[test]
fn pads_repeat_elements_of_the_cropped_data() {
    expect_elements(&[2], &[1], PadMode::Edge, 3, &[0, 0, 0, 1, 2, 2]);
    expect_elements(&[2], &[2], PadMode::Reflect, 3, &[2, 1, 0, 1, 2, 1, 0]);
    expect_elements(&[3], &[2], PadMode::Symmetric, 3, &[2, 1, 0, 0, 1, 2, 2, 1]);
    expect_elements(&[2], &[4], PadMode::Wrap, 3, &[1, 2, 0, 1, 2, 0, 1, 2, 0]);
    // Cropped elements are not mirrored.
    expect_elements(&[-1], &[2], PadMode::Reflect, 4, &[1, 2, 3, 2, 1]);
    expect_elements(&[1], &[-2], PadMode::Edge, 4, &[0, 0, 1]);
}

#[test]
fn mixed_pads_agree_with_the_specification() {
    // The example of OpenVINO's Pad-12, whose elements begin with 1.
    let pad = |mode| {
        let mut sketch = Sketch::new(&[Tagged::counting(&[3, 4], 1).constant()]);
        let pads = Pads::Each { begins: given(&[2, -1]), ends: given(&[-1, 3]) };
        sketch.node(Operator::PadElements { pads, axes: None, mode, once: true }, &[0], 1);
        sketch.run().unwrap()[0].tags.clone()
    };
    let [first, second, third] = [[2, 3, 4, 4, 4, 4], [2, 3, 4, 3, 2, 1], [2, 3, 4, 4, 3, 2]];
    let plus = |row: [u64; 6], more| row.map(|tag| tag + more);
    assert_eq!(pad(PadMode::Edge), [first, first, first, plus(first, 4)].concat());
    let rows = [plus(second, 8), plus(second, 4), second, plus(second, 4)];
    assert_eq!(pad(PadMode::Reflect), rows.concat());
    assert_eq!(pad(PadMode::Symmetric), [plus(third, 4), third, third, plus(third, 4)].concat());
}

#[test]
fn pads_wider_than_a_mirror_are_refused_if_mirrored_once() {
    let pad = |pad: i64, mode, once| Operator::PadElements {
        pads: Pads::Both(given(&[pad, 0])),
        axes: None,
        mode,
        once,
    };
    let mut beyond = Sketch::new(&[Tagged::counting(&[3], 0).constant()]);
    beyond.node(pad(5, PadMode::Reflect, false), &[0], 1);
    assert_eq!(beyond.run().unwrap()[0].tags, [1, 0, 1, 2, 1, 0, 1, 2]);
    let says = "the widths of a pad and the lists before it take more than 67108864 steps";
    refuse(pad(1 << 27, PadMode::Wrap, false), &[3], &[], says);
    let says = "a pad of 3 along axis 0 of size 3, where mode reflect has 2 at most";
    refuse(pad(3, PadMode::Reflect, true), &[3], &[], says);
    let says = "a pad of 4 along axis 0 of size 3, where mode symmetric has 3 at most";
    refuse(pad(4, PadMode::Symmetric, true), &[3], &[], says);
    refuse(pad(1, PadMode::Edge, true), &[0], &[], "axis 0 has no elements to pad with (width 1)");
}

#[test]
fn data_is_broadcast_by_each_rule() {
    let expect =
        |sizes: &[i64], rule: BroadcastRule, own: &[usize], to: &[usize], axes: &[usize]| {
            let data = Tagged::counting(own, 0);
            let mut sketch = Sketch::new(&[data.constant()]);
            sketch.node(Operator::Broadcast { sizes: given(sizes), rule }, &[0], 1);
            let expected = Tagged::of(to, |index| {
                let at = |(axis, size): (&usize, &usize)| if *size == 1 { 0 } else { index[*axis] };
                data.at(&axes.iter().zip(own).map(at).collect::<Vec<_>>())
            });
            assert_eq!(sketch.run().unwrap(), [expected]);
        };
    let (to, both) = (BroadcastRule::ToSizes, BroadcastRule::BothWays);
    let mapped = |axes: &[i64]| BroadcastRule::Mapped(given(axes));
    expect(&[2, 3, 4], to.clone(), &[3, 1], &[2, 3, 4], &[1, 2]);
    expect(&[4, 1], both.clone(), &[2, 1, 3], &[2, 4, 3], &[0, 1, 2]);
    expect(&[2, 1, 3], both.clone(), &[4, 1], &[2, 4, 3], &[1, 2]);
    expect(&[2, 3, 4], mapped(&[1]), &[3], &[2, 3, 4], &[1]);
    expect(&[2, 3, 4], mapped(&[0, 2]), &[2, 1], &[2, 3, 4], &[0, 2]);
    let broadcast = |sizes: &[i64], rule| Operator::Broadcast { sizes: given(sizes), rule };
    refuse(broadcast(&[3], to.clone()), &[2, 3], &[], "shape [2, 3] cannot be broadcast to [3]");
    refuse(broadcast(&[2, -1], to), &[2, 3], &[], "sizes may not be negative, got -1");
    refuse(broadcast(&[2], both), &[3], &[], "shape [3] cannot be broadcast to [2]");
    let says = "axes_mapping [1, 0] is not in rising order";
    refuse(broadcast(&[3, 2], mapped(&[1, 0])), &[2, 3], &[], says);
    refuse(broadcast(&[3], mapped(&[0, 1])), &[3], &[], "has 2 axes, and the data 1");
    refuse(broadcast(&[3], mapped(&[1])), &[3], &[], "axis of axes_mapping 1 is out of range");
}

#[test]
fn pads_that_do_not_fit_are_refused() {
    let one = [i64s(&[], &[7])];
    let says = "pads -2 and -2 leave no valid size for axis 0 of size 3";
    refuse(pad(&[-2], &[-2], None, None), &[3], &[], says);
    refuse(pad(&[i64::MIN], &[i64::MIN], None, None), &[3], &[], "leave no valid size");
    refuse(pad(&[i64::MAX], &[i64::MAX], None, None), &[3], &[], "");
    refuse(pad(&[1], &[1], None, None), &[3, 3], &[], "for each of 2 axes, got 1 and 1");
    refuse(pad(&[1, 1], &[1, 1], Some(&[0, -2]), None), &[3, 3], &[], "axes have axis -2 twice");
    refuse(pad(&[1], &[1], Some(&[2]), None), &[3, 3], &[], "axis 2 is out of range");
    let says = "the data is of type u64, but the value of i64";
    refuse(pad(&[1], &[1], None, Some(1)), &[3], &one, says);
    let two = [Tagged::counting(&[2], 0).constant()];
    refuse(pad(&[1], &[1], None, Some(1)), &[3], &two, "must be one element, got shape [2]");
    refuse(pad(&[1], &[1], None, Some(1)), &[3], &[], "input 1 is missing");
    let odd = Operator::Pad { pads: Pads::Both(given(&[1])), axes: None, value: None };
    refuse(odd, &[3], &[], "begins and ends in one list, got 1");
    let both = Pads::Both(from_input(1, IntegerTypes::I64));
    let scalar = Operator::Pad { pads: both, axes: None, value: None };
    refuse(scalar, &[3], &one, "pads must be a list, got a scalar");
}
