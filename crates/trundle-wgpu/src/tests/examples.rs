//! Tests the examples in the specifications of operators.

use trundle_core::ops::{ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle_core::{Backend, Layout, Move, Op, Shape};

use super::device;
use crate::Wgpu;

/// Applies an operator to the elements 0, 1, 2, ...
fn made(device: &Wgpu, op: &Op, sizes: &[usize]) -> Vec<i32> {
    let shape = Shape::new(sizes).unwrap();
    let map = op.index_map(&shape).unwrap();
    let [src, dst] =
        [map.in_shape(), map.out_shape()].map(|shape| Layout::row_major(shape, 4).unwrap());
    let work = Move::new(&map, 4, &src, &dst, 64).unwrap();
    let values: Vec<u8> =
        (0..).take(shape.elements()).flat_map(|value: i32| value.to_le_bytes()).collect();
    let src = device.buffer_of(&values).unwrap();
    let mut dst = device.buffer(work.dst_bytes()).unwrap();
    device.run(&device.plan(&work), &src, &mut dst).unwrap();
    let bytes = device.read(&dst).unwrap();
    bytes.as_chunks().0.iter().map(|value| i32::from_le_bytes(*value)).collect()
}

#[test]
fn examples_of_the_specifications_are_reproduced() {
    let Some(device) = device() else { return };
    let lengths = |axis, lengths: &[u64]| Op::from(ReverseSubsequences::new(axis, lengths));
    let sequence =
        |axis, batch, lengths: &[i128]| Op::from(ReverseSequence::new(axis, batch, lengths));
    let examples: Vec<(Op, &[usize], &[i32])> = vec![
        // OpenVINO Roll-7, examples 1 to 3.
        (Roll::new(&[1], &[0]).into(), &[4, 3], &[9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (Roll::new(&[-1, 2], &[0, 1]).into(), &[4, 3], &[4, 5, 3, 7, 8, 6, 10, 11, 9, 1, 2, 0]),
        (
            Roll::new(&[1, 2, 1], &[0, 1, 0]).into(),
            &[4, 3],
            &[7, 8, 6, 10, 11, 9, 1, 2, 0, 4, 5, 3],
        ),
        // OpenVINO Transpose-1, with an order and without one.
        (Transpose::new(&[2, 0, 1]).into(), &[2, 2, 3], &[0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]),
        (Transpose::new(&[]).into(), &[2, 3], &[0, 3, 1, 4, 2, 5]),
        // DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, examples 1 and 2.
        (lengths(3, &[2, 4, 3]), &[1, 1, 3, 4], &[1, 0, 2, 3, 7, 6, 5, 4, 10, 9, 8, 11]),
        (lengths(2, &[2, 3, 1, 0]), &[1, 1, 3, 4], &[4, 9, 2, 3, 0, 5, 6, 7, 8, 1, 10, 11]),
        // ONNX ReverseSequence, examples 1 and 2.
        (
            sequence(0, 1, &[4, 3, 2, 1]),
            &[4, 4],
            &[12, 9, 6, 3, 8, 5, 2, 7, 4, 1, 10, 11, 0, 13, 14, 15],
        ),
        (
            sequence(1, 0, &[1, 2, 3, 4]),
            &[4, 4],
            &[0, 1, 2, 3, 5, 4, 6, 7, 10, 9, 8, 11, 15, 14, 13, 12],
        ),
    ];
    for (op, sizes, expected) in examples {
        assert_eq!(made(&device, &op, sizes), expected, "{op}");
    }
}
