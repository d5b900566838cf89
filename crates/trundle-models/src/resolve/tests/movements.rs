//! Roll, Transpose, ReverseSequence, Flip, Tile, blocks, Identity.

use trundle_core::DType;
use trundle_core::program::{Made, TensorId};

use super::sketch::{
    Sketch, Tagged, constant, expect, expect_shape, from_input, given, i64s, refuse,
};
use crate::{BlockOrder, Constant, IntegerTypes, Integers, Operator};

fn input(number: usize) -> Integers {
    from_input(number, IntegerTypes::Integers)
}

fn roll() -> Operator {
    Operator::Roll {
        shift: from_input(1, IntegerTypes::I32OrI64),
        axes: from_input(2, IntegerTypes::I32OrI64),
    }
}

fn i32s(sizes: &[usize], entries: &[i32]) -> Constant {
    constant(DType::I32, sizes, entries.iter().flat_map(|entry| entry.to_le_bytes()).collect())
}

#[test]
fn rolls_accept_every_form_of_shifts_and_axes() {
    let back = |i: usize, shift: i128, size: usize| {
        usize::try_from((i as i128 - shift).rem_euclid(size as i128)).unwrap()
    };
    let cases: [(Constant, Constant, [i128; 2]); 9] = [
        (i64s(&[2], &[1, 2]), i64s(&[2], &[0, 1]), [1, 2]),
        (i64s(&[], &[1]), i64s(&[], &[-1]), [0, 1]),
        (i64s(&[], &[2]), i32s(&[2], &[0, 1]), [2, 2]),
        (i32s(&[1], &[-2]), i64s(&[2], &[0, 1]), [-2, -2]),
        (i64s(&[3], &[1, 2, 1]), i64s(&[3], &[0, -1, -2]), [2, 2]),
        (i64s(&[], &[3]), i64s(&[2], &[1, 1]), [0, 6]),
        (i64s(&[1], &[i64::MIN]), i64s(&[1], &[0]), [i128::from(i64::MIN), 0]),
        (i64s(&[0], &[]), i64s(&[0], &[]), [0, 0]),
        (i64s(&[], &[5]), i64s(&[0], &[]), [0, 0]),
    ];
    for (shift, axes, [rows, columns]) in cases {
        expect(roll(), &[3, 5], &[shift, axes], &[3, 5], |i| {
            vec![back(i[0], rows, 3), back(i[1], columns, 5)]
        });
    }
    expect(roll(), &[0, 5], &[i64s(&[], &[1]), i64s(&[], &[0])], &[0, 5], <[usize]>::to_vec);
    expect(roll(), &[], &[i64s(&[0], &[]), i64s(&[0], &[])], &[], <[usize]>::to_vec);
}

#[test]
fn rolls_that_do_not_fit_are_refused() {
    let cases = [
        (i64s(&[1], &[1]), i64s(&[], &[0]), "shift is a list, so axes must be one"),
        (i64s(&[2], &[1, 2]), i64s(&[1], &[0]), "the same length, got 2 and 1"),
        (
            i64s(&[1, 2], &[1, 2]),
            i64s(&[2], &[0, 1]),
            "shift must be a list or a scalar, got shape [1, 2]",
        ),
        (
            i64s(&[2], &[1, 2]),
            i64s(&[1, 2], &[0, 1]),
            "axes must be a list or a scalar, got shape [1, 2]",
        ),
        (i64s(&[], &[1]), i64s(&[], &[2]), "axis 2 is out of range for rank 2: expected -2..=1"),
        (i64s(&[], &[1]), i64s(&[], &[-3]), "axis -3 is out of range"),
        (
            constant(DType::I16, &[], vec![1, 0]),
            i64s(&[], &[0]),
            "shift may not be of type i16, only i32 or i64",
        ),
    ];
    for (shift, axes, says) in cases {
        refuse(roll(), &[3, 5], &[shift, axes], says);
    }
    refuse(roll(), &[], &[i64s(&[], &[1]), i64s(&[], &[0])], "rank 0");
    refuse(roll(), &[3], &[i64s(&[], &[1])], "input 2 is missing");
}

#[test]
fn transposes_take_orders_of_every_integer_type() {
    let transpose = || Operator::Transpose { order: input(1) };
    let source = |i: &[usize]| vec![i[1], i[2], i[0]];
    let orders = [
        i64s(&[3], &[2, 0, 1]),
        constant(DType::U8, &[3], vec![2, 0, 1]),
        constant(DType::U16, &[3], vec![2, 0, 0, 0, 1, 0]),
        constant(DType::U4, &[3], vec![0x02, 0x01]),
        constant(DType::I4, &[3], vec![0x02, 0x01]),
        constant(DType::U2, &[3], vec![0b01_00_10]),
        constant(DType::U3, &[3], vec![0b1000_0100, 0, 0]),
        constant(DType::U6, &[3], vec![0x20, 0x10, 0]),
    ];
    for order in orders {
        expect(transpose(), &[2, 3, 4], &[order], &[4, 2, 3], source);
    }
    expect(transpose(), &[2, 3, 4], &[i64s(&[0], &[])], &[4, 3, 2], |i| vec![i[2], i[1], i[0]]);
    expect(transpose(), &[], &[i64s(&[0], &[])], &[], <[usize]>::to_vec);
    refuse(transpose(), &[2, 3], &[i64s(&[2], &[0, 0])], "order has axis 0 twice");
    refuse(transpose(), &[2, 3], &[i64s(&[2], &[0, -1])], "order entry -1 is out of range");
    refuse(transpose(), &[2, 3], &[i64s(&[3], &[0, 1, 2])], "got 3 and 2");
    refuse(transpose(), &[2], &[i64s(&[], &[0])], "order must be a list, got a scalar");
    refuse(transpose(), &[2, 3], &[i64s(&[2, 1], &[0, 1])], "got shape [2, 1]");
    let says = "order entry 18446744073709551615 is out of range";
    refuse(transpose(), &[2], &[constant(DType::U64, &[1], u64::MAX.to_le_bytes().to_vec())], says);
    let says = "may not be of type boolean";
    refuse(transpose(), &[2], &[constant(DType::Boolean, &[1], vec![0])], says);
}

#[test]
fn sequences_are_reversed_by_lengths_of_integers_and_whole_floats() {
    let reverse = |batch_axis, sequence_axis| Operator::ReverseSequence {
        lengths: from_input(1, IntegerTypes::Numbers),
        batch_axis,
        sequence_axis,
    };
    let row = |length: usize, j: usize| if j < length { length - 1 - j } else { j };
    let floats: Vec<u8> = [4f32, 1.0, 3.0].iter().flat_map(|length| length.to_le_bytes()).collect();
    for lengths in [
        i64s(&[3], &[4, 1, 3]),
        constant(DType::F32, &[3], floats),
        constant(DType::F16, &[3], vec![0x00, 0x44, 0x00, 0x3c, 0x00, 0x42]),
        constant(DType::BF16, &[3], vec![0x80, 0x40, 0x80, 0x3f, 0x40, 0x40]),
        constant(DType::F8E4M3, &[3], vec![0x48, 0x38, 0x44]),
        constant(DType::F8E5M2, &[3], vec![0x44, 0x3c, 0x42]),
        constant(DType::F4E2M1, &[3], vec![0x26, 0x05]),
    ] {
        expect(reverse(0, 1), &[3, 4, 2], std::slice::from_ref(&lengths), &[3, 4, 2], |i| {
            vec![i[0], row([4, 1, 3][i[0]], i[1]), i[2]]
        });
        expect(reverse(-1, -3), &[4, 2, 3], &[lengths], &[4, 2, 3], |i| {
            vec![row([4, 1, 3][i[2]], i[0]), i[1], i[2]]
        });
    }
    refuse(reverse(0, 1), &[2, 4], &[i64s(&[2], &[5, 1])], "5");
    refuse(reverse(0, 1), &[2, 4], &[i64s(&[2], &[1, -1])], "-1");
    refuse(reverse(0, 1), &[2, 4], &[i64s(&[3], &[1, 1, 1])], "got 3 and 2");
    refuse(reverse(0, 1), &[2, 4], &[i64s(&[], &[1])], "lengths must be a list");
    refuse(reverse(1, -1), &[2, 4], &[i64s(&[4], &[1; 4])], "axis");
    refuse(reverse(0, 1), &[2], &[i64s(&[2], &[1, 1])], "out of range");
    for length in [1.5f32, f32::NAN, f32::INFINITY, 1e39_f64 as f32] {
        let length = constant(DType::F32, &[1], length.to_le_bytes().to_vec());
        refuse(reverse(0, 1), &[1, 4], &[length], "is not a whole number");
    }
    let wide = constant(DType::U64, &[1], ((1u64 << 32) + 1).to_le_bytes().to_vec());
    refuse(reverse(0, 1), &[1, 4], &[wide], "4294967297");
}

#[test]
fn flips_take_axes_and_masks() {
    let flip = || Operator::Flip { axes: input(1) };
    let masked = || Operator::FlipMask { mask: from_input(1, IntegerTypes::Mask) };
    let turned = |i: &[usize]| vec![i[0], 2 - i[1]];
    for axes in [i64s(&[1], &[1]), i64s(&[1], &[-1]), i64s(&[2], &[1, -1])] {
        expect(flip(), &[2, 3], &[axes], &[2, 3], turned);
    }
    expect(masked(), &[2, 3], &[constant(DType::Boolean, &[2], vec![0, 1])], &[2, 3], turned);
    expect(masked(), &[2, 3], &[i64s(&[2], &[0, -7])], &[2, 3], turned);
    expect(flip(), &[2, 3], &[i64s(&[0], &[])], &[2, 3], <[usize]>::to_vec);
    refuse(flip(), &[2, 3], &[i64s(&[1], &[2])], "axis 2 is out of range");
    refuse(flip(), &[2, 3], &[i64s(&[], &[1])], "must be a list");
    refuse(masked(), &[2, 3], &[i64s(&[1], &[1])], "one entry for each of the 2 axes, got 1");
}

#[test]
fn tiles_extend_the_shorter_of_shape_and_repeats() {
    let tile = || Operator::Tile { repeats: input(1) };
    let list = |repeats: &[i64]| [i64s(&[repeats.len()], repeats)];
    expect(tile(), &[2, 3], &list(&[2, 3]), &[4, 9], |i| vec![i[0] % 2, i[1] % 3]);
    expect(tile(), &[2, 3], &list(&[2]), &[2, 6], |i| vec![i[0], i[1] % 3]);
    expect(tile(), &[3], &list(&[2, 1, 2]), &[2, 1, 6], |i| vec![i[2] % 3]);
    expect(tile(), &[], &list(&[4]), &[4], |_| vec![]);
    expect(tile(), &[2, 3], &list(&[]), &[2, 3], <[usize]>::to_vec);
    expect(tile(), &[2, 3], &list(&[0, 2]), &[0, 6], <[usize]>::to_vec);
    refuse(tile(), &[2, 3], &list(&[1, -1]), "repeats may not be negative, got -1");
    refuse(tile(), &[2, 3], &list(&[1 << 40, 1 << 40]), "1");
    refuse(tile(), &[2], &[i64s(&[], &[2])], "must be a list");
}

#[test]
fn tiles_of_one_axis_leave_the_others() {
    let tile = |repeats: &[i64], axis: &[i64]| Operator::TileAxis {
        repeats: given(repeats),
        axis: given(axis),
    };
    expect(tile(&[3], &[1]), &[2, 3], &[], &[2, 9], |i| vec![i[0], i[1] % 3]);
    expect(tile(&[2], &[-2]), &[2, 3], &[], &[4, 3], |i| vec![i[0] % 2, i[1]]);
    refuse(tile(&[2], &[2]), &[2, 3], &[], "axis 2 is out of range");
    refuse(tile(&[-2], &[0]), &[2, 3], &[], "repeat -2 is out of range");
    refuse(tile(&[2, 2], &[0]), &[2, 3], &[], "repeats must have one entry, got 2");
    refuse(tile(&[2], &[]), &[2, 3], &[], "axis must have one entry, got 0");
}

/// The channel for a position in a block and a depth, for rank 5 and blocks of 2.
fn channel(order: BlockOrder, depth: usize, depths: usize, sides: [usize; 3]) -> usize {
    let block = sides[0] * 4 + sides[1] * 2 + sides[2];
    match order {
        BlockOrder::BlocksFirst => block * depths + depth,
        BlockOrder::DepthFirst => depth * 8 + block,
    }
}

#[test]
fn blocks_move_between_depth_and_space_in_both_orders() {
    for order in [BlockOrder::BlocksFirst, BlockOrder::DepthFirst] {
        let out = Operator::DepthToSpace { block: 2, order };
        expect(out, &[2, 24, 1, 2, 3], &[], &[2, 3, 2, 4, 6], |i| {
            let sides = [i[2] % 2, i[3] % 2, i[4] % 2];
            vec![i[0], channel(order, i[1], 3, sides), i[2] / 2, i[3] / 2, i[4] / 2]
        });
        let into = Operator::SpaceToDepth { block: 2, order };
        expect(into, &[2, 3, 2, 4, 6], &[], &[2, 24, 1, 2, 3], |i| {
            let (block, depth) = match order {
                BlockOrder::BlocksFirst => (i[1] / 3, i[1] % 3),
                BlockOrder::DepthFirst => (i[1] % 8, i[1] / 8),
            };
            let side = |axis: usize| i[axis] * 2 + [block / 4, block / 2 % 2, block % 2][axis - 2];
            vec![i[0], depth, side(2), side(3), side(4)]
        });
    }
    let order = BlockOrder::BlocksFirst;
    let depth_to_space = |block| Operator::DepthToSpace { block, order };
    let space_to_depth = |block| Operator::SpaceToDepth { block, order };
    expect(depth_to_space(3), &[1, 3, 2], &[], &[1, 1, 6], |i| vec![0, i[2] % 3, i[2] / 3]);
    expect_shape(depth_to_space(1), &[1, 3, 2], &[], &[1, 3, 2]);
    let says = "6 channels do not hold blocks of 2 along 2 axes";
    refuse(depth_to_space(2), &[1, 6, 2, 2], &[], says);
    refuse(depth_to_space(0), &[1, 4, 2], &[], "the block has size 0");
    refuse(depth_to_space(2), &[1, 4], &[], "rank 3 or more, got shape [1, 4]");
    refuse(depth_to_space(usize::MAX), &[1, 4, 2, 2], &[], "do not hold blocks");
    refuse(space_to_depth(2), &[1, 4, 2, 3], &[], "size 3 does not hold blocks of 2");
    refuse(space_to_depth(usize::MAX), &[1, 4, 0, 0], &[], "");
    expect(space_to_depth(2), &[1, 4, 0, 2], &[], &[1, 16, 0, 1], <[usize]>::to_vec);
}

#[test]
fn channels_of_groups_are_interleaved() {
    let shuffle = |axis, groups| Operator::ShuffleChannels { axis, groups };
    let source = |j: usize| [0, 3, 1, 4, 2, 5][j];
    expect(shuffle(1, 2), &[2, 6, 2], &[], &[2, 6, 2], |i| vec![i[0], source(i[1]), i[2]]);
    expect(shuffle(-1, 2), &[2, 6], &[], &[2, 6], |i| vec![i[0], source(i[1])]);
    expect(shuffle(0, 6), &[6], &[], &[6], <[usize]>::to_vec);
    refuse(shuffle(1, 4), &[2, 6], &[], "6 channels are not 4 groups");
    refuse(shuffle(1, 0), &[2, 6], &[], "6 channels are not 0 groups");
    refuse(shuffle(2, 2), &[2, 6], &[], "axis 2 is out of range");
}

#[test]
fn operators_that_move_nothing_make_no_tensor() {
    let mut sketch = Sketch::new(&[Tagged::counting(&[2, 3], 0).constant()]);
    let [same] = sketch.node(Operator::Identity, &[0], 1)[..] else { panic!() };
    let order = given(&[0, 1]);
    let [same] = sketch.node(Operator::Transpose { order }, &[same], 1)[..] else { panic!() };
    let tile = Operator::Tile { repeats: given(&[1, 1]) };
    let [same] = sketch.node(tile, &[same], 1)[..] else { panic!() };
    sketch.node(Operator::Concat { axis: 0 }, &[same], 1);
    let model = sketch.resolve().unwrap();
    assert_eq!(model.program().tensors().len(), 1);
    assert_eq!(model.program().tensors()[0].made, Made::Given(0));
    assert_eq!(model.name(TensorId(0)), "x0");
    assert!(model.outputs().iter().all(|output| output.0 == 0));
}

#[test]
fn tensors_have_the_name_of_their_node() {
    let mut sketch = Sketch::new(&[Tagged::counting(&[1, 4, 2], 0).constant()]);
    let block = Operator::DepthToSpace { block: 2, order: BlockOrder::DepthFirst };
    sketch.node(block, &[0], 1);
    let model = sketch.resolve().unwrap();
    let ids = (0..model.program().tensors().len()).map(TensorId);
    let names: Vec<String> = ids.map(|id| model.name(id)).collect();
    assert_eq!(names, ["x0", "tensor 1", "tensor 2", "n0"]);
}
