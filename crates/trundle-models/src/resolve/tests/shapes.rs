//! Reshape, Squeeze, Unsqueeze, Flatten.

use super::sketch::{expect_shape, from_input, given, i64s, refuse};
use crate::{IntegerTypes, Operator, ZeroSize};

#[test]
fn reshapes_copy_and_infer_sizes() {
    let reshape = |zero, sizes: &[i64]| Operator::Reshape { sizes: given(sizes), zero };
    let copies = |sizes: &[i64]| reshape(ZeroSize::Copies, sizes);
    let zeros = |sizes: &[i64]| reshape(ZeroSize::Zero, sizes);
    expect_shape(copies(&[3, 2]), &[2, 3], &[], &[3, 2]);
    expect_shape(copies(&[-1]), &[2, 3], &[], &[6]);
    expect_shape(copies(&[0, -1]), &[2, 3, 4], &[], &[2, 12]);
    expect_shape(copies(&[-1, 0]), &[2, 3, 4], &[], &[8, 3]);
    expect_shape(copies(&[0, 0, 2, -1]), &[2, 3, 4], &[], &[2, 3, 2, 2]);
    expect_shape(copies(&[]), &[1, 1], &[], &[]);
    expect_shape(copies(&[1, -1, 1]), &[], &[], &[1, 1, 1]);
    // As in OpenVINO, copied sizes are not used to infer -1.
    expect_shape(copies(&[0, -1]), &[0, 3], &[], &[0, 3]);
    expect_shape(copies(&[0, 0, -1]), &[0, 3], &[], &[0, 3, 1]);
    expect_shape(copies(&[3, -1]), &[0, 3], &[], &[3, 0]);
    expect_shape(zeros(&[-1]), &[0, 3], &[], &[0]);
    expect_shape(zeros(&[0, 7]), &[3, 0], &[], &[0, 7]);
    refuse(zeros(&[0, -1]), &[0, 3], &[], "leave no size for -1");
    refuse(zeros(&[0, 3]), &[2, 3], &[], "make shape [0, 3] of 0 elements");
    refuse(copies(&[3, 0, -1]), &[2, 0], &[], "leave no size for -1");
    let says = "sizes [4, -1] leave no size for -1: the data has shape [2, 3]";
    refuse(copies(&[4, -1]), &[2, 3], &[], says);
    refuse(copies(&[-1, -1]), &[2, 3], &[], "-1 twice");
    refuse(copies(&[-2, 3]), &[2, 3], &[], "contain -2, which is not a valid size");
    refuse(copies(&[6, 1, 0]), &[2, 3], &[], "copy axis 2 of shape [2, 3], which has none");
    let says = "shape [5] of 5 elements, but the data has shape [2, 3] of 6";
    refuse(copies(&[5]), &[2, 3], &[], says);
    refuse(copies(&[1 << 40, 1 << 40]), &[2, 3], &[], "1099511627776");
    refuse(copies(&[1 << 40, 1 << 40, -1]), &[2, 3], &[], "leave no size");
    refuse(copies(&[i64::MAX, -1]), &[2, 3], &[], "leave no size");
    let scalar = from_input(1, IntegerTypes::I64);
    let scalar = Operator::Reshape { sizes: scalar, zero: ZeroSize::Copies };
    refuse(scalar, &[1], &[i64s(&[], &[1])], "sizes must be a list, got a scalar");
}

#[test]
fn squeezes_leave_out_axes_of_size_1() {
    let squeeze = |axes: Option<&[i64]>, keeps_others| {
        let axes = axes.map(given);
        Operator::Squeeze { axes, keeps_others }
    };
    expect_shape(squeeze(None, false), &[1, 2, 1, 3], &[], &[2, 3]);
    expect_shape(squeeze(Some(&[]), false), &[1, 2, 1, 3], &[], &[2, 3]);
    expect_shape(squeeze(Some(&[0]), false), &[1, 2, 1, 3], &[], &[2, 1, 3]);
    expect_shape(squeeze(Some(&[-2, 2]), false), &[1, 2, 1, 3], &[], &[1, 2, 3]);
    expect_shape(squeeze(Some(&[1, 0]), true), &[1, 2, 1], &[], &[2, 1]);
    expect_shape(squeeze(None, false), &[1, 1], &[], &[]);
    expect_shape(squeeze(None, false), &[], &[], &[]);
    expect_shape(squeeze(None, false), &[1, 0], &[], &[0]);
    refuse(squeeze(Some(&[1]), false), &[1, 2], &[], "axis 1 of shape [1, 2] has size 2");
    refuse(squeeze(Some(&[2]), true), &[1, 2], &[], "axis 2 is out of range");
    let scalar = from_input(1, IntegerTypes::Integers);
    let scalar = Operator::Squeeze { axes: Some(scalar), keeps_others: false };
    expect_shape(scalar, &[2, 1], &[i64s(&[], &[-1])], &[2]);
}

#[test]
fn axes_of_unsqueeze_refer_to_the_output() {
    let unsqueeze = |axes: &[i64]| Operator::Unsqueeze { axes: given(axes) };
    expect_shape(unsqueeze(&[0]), &[2, 3], &[], &[1, 2, 3]);
    expect_shape(unsqueeze(&[-1, 1]), &[2, 3], &[], &[2, 1, 3, 1]);
    expect_shape(unsqueeze(&[0, 1]), &[], &[], &[1, 1]);
    expect_shape(unsqueeze(&[]), &[2], &[], &[2]);
    expect_shape(unsqueeze(&[0]), &[0], &[], &[1, 0]);
    refuse(unsqueeze(&[0, 0]), &[2], &[], "axes have axis 0 twice");
    refuse(unsqueeze(&[0, -3]), &[2], &[], "axes have axis -3 twice");
    refuse(unsqueeze(&[3]), &[2, 3], &[], "axis 3 is out of range for rank 3");
}

#[test]
fn flattens_make_rank_2() {
    let flatten = |axis| Operator::Flatten { axis };
    for (axis, to) in
        [(0, [1, 24]), (1, [2, 12]), (2, [6, 4]), (3, [24, 1]), (-1, [6, 4]), (-3, [1, 24])]
    {
        expect_shape(flatten(axis), &[2, 3, 4], &[], &to);
    }
    expect_shape(flatten(0), &[], &[], &[1, 1]);
    expect_shape(flatten(1), &[0, 4], &[], &[0, 4]);
    refuse(flatten(4), &[2, 3, 4], &[], "axis 4 is out of range: expected -3..=3");
    refuse(flatten(-4), &[2, 3, 4], &[], "axis -4 is out of range: expected -3..=3");
    refuse(flatten(-1), &[], &[], "axis -1 is out of range for rank 0: expected 0");
}
