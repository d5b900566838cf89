//! Tests which slices a plan accepts.

use std::mem::MaybeUninit;
use std::num::NonZeroU8;

use trundle_core::ops::{Flip, Transpose};
use trundle_core::{
    Backend, DType, DTypeError, Error, IndexMap, Layout, LayoutError, Move, Op, Result, Shape,
    ShapeError, Width,
};
use trundle_cpu::{Cpu, Machine, Plan, Simd};
use trundle_testing::MOST_BOXES;

use crate::common::{map_of, move_of, streaming};

fn packed(size: usize, width: usize) -> Layout {
    Layout::row_major(&Shape::new([size]).unwrap(), width).unwrap()
}

fn copy(size: usize, width: usize, src: &Layout, dst: &Layout) -> Plan {
    let map = IndexMap::identity(&Shape::new([size]).unwrap());
    Cpu::new(Some(1)).plan(&Move::new(&map, width, src, dst, MOST_BOXES).unwrap())
}

#[test]
fn slices_whose_elements_would_be_split_are_refused() {
    let reversal = map_of(&[Flip::new(&[0]).into()], &[8]);
    let pairs = Cpu::new(Some(1)).plan(&move_of(&reversal, 2));
    let mismatch = Error::DType(DTypeError::WidthMismatch { moved: 2, got: 4 });
    assert_eq!(pairs.run_slice(&[true; 16]).unwrap(), [true; 16]);
    assert_eq!(pairs.run_slice(&['a'; 4]).unwrap_err(), mismatch);
    assert_eq!(pairs.run_slice_into(&['a'; 4], &mut ['b'; 4]).unwrap_err(), mismatch);
    // Whole elements, which do not begin at elements of the slice.
    let off = Layout::strided(&Shape::new([3]).unwrap(), 2, &[4]).unwrap();
    let off = copy(3, 4, &off, &packed(3, 4));
    assert_eq!(off.run_slice(&['a'; 4]).unwrap_err(), mismatch);
}

#[test]
fn slices_that_are_too_short_or_would_have_gaps_are_refused() {
    let gaps = Layout::strided(&Shape::new([4]).unwrap(), 0, &[2]).unwrap();
    let gaps = copy(4, 1, &packed(4, 1), &gaps);
    assert!(matches!(
        gaps.run_slice(&[1u8; 4]),
        Err(Error::Shape(ShapeError::SizesDiffer { left_size: 7, right_size: 4, .. }))
    ));
    let mut memory = [MaybeUninit::new(9u8); 8];
    assert!(matches!(
        gaps.run_slice_uninit(&[1; 4], &mut memory),
        Err(Error::Shape(ShapeError::SizesDiffer { left_size: 7, right_size: 4, .. }))
    ));
    let copy = copy(4, 1, &packed(4, 1), &packed(4, 1));
    let short = |argument| {
        Error::Layout(LayoutError::OutOfBounds { argument, first: 0, end: 4, buffer: 3 })
    };
    let mut dst = [7u8; 4];
    assert_eq!(copy.run_slice_into(&[1; 3], &mut dst).unwrap_err(), short("data"));
    assert_eq!(copy.run_slice_into(&[1; 4], &mut dst[..3]).unwrap_err(), short("out"));
    assert_eq!(copy.run_slice(&[1u8; 3]).unwrap_err(), short("data"));
    assert_eq!(copy.run_to_vec(&[1u8; 3]).unwrap_err(), short("data"));
    assert_eq!(copy.run_slice_uninit(&[1; 4], &mut memory[..3]).unwrap_err(), short("out"));
    assert_eq!(copy.run_slice_uninit(&[1; 3], &mut memory).unwrap_err(), short("data"));
    assert_eq!(copy.run_buffer_into(&[1; 4], &mut memory[..3]).unwrap_err(), short("out"));
    assert_eq!(copy.run_slice_uninit(&[1, 2, 3, 4], &mut memory).unwrap(), [1, 2, 3, 4]);
    assert_eq!(dst, [7; 4]);
}

/// To write a part of a byte, packing reads the byte first.
#[test]
fn sub_byte_elements_are_moved_in_byte_buffers_only() {
    let nibbles = Width::from(DType::U4);
    let map = map_of(&[Flip::new(&[0]).into()], &[4]);
    let plan = Cpu::new(Some(1)).plan(&move_of(&map, nibbles));
    let (src, refused) = ([0x21u8, 0x43], |result: Result<()>| {
        assert!(matches!(result, Err(Error::DType(DTypeError::WidthMismatch { .. }))));
    });
    refused(plan.run_buffer_into(&src, &mut [MaybeUninit::new(0u8); 2]));
    refused(plan.run_buffer_into(&[true; 2], &mut [true; 2]));
    refused(plan.run_slice_uninit(&src, &mut [MaybeUninit::new(0u8); 2]).map(drop));
    refused(plan.run_to_vec(&[true; 2]).map(drop));
    let mut dst = [0; 2];
    plan.run_buffer_into(&src, &mut dst).unwrap();
    assert_eq!((dst, &plan.run_to_vec(&src).unwrap()[..]), ([0x34, 0x12], &[0x34, 0x12][..]));
}

#[test]
fn values_with_pointers_or_padding_are_moved_intact() {
    // A pointer with a length, a byte with padding, and bytes that are never 0.
    let names: Vec<String> = (0..100).map(|number| "n".repeat(number)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let padded: Vec<(u8, u64)> = (0..100).map(|number| (number, u64::MAX)).collect();
    let never_0: Vec<NonZeroU8> = (1..=100).filter_map(NonZeroU8::new).collect();
    assert_eq!(moved(&names), transposed(&names));
    assert_eq!(moved(&padded), transposed(&padded));
    assert_eq!(moved(&never_0), transposed(&never_0));
    let bytes = copy(100, 1, &packed(100, 1), &packed(100, 1));
    assert_eq!(
        bytes.run_slice(&[(); 100]).unwrap_err(),
        Error::DType(DTypeError::WidthMismatch { moved: 100, got: 0 })
    );
}

/// Transposes and reverses 25 rows of 4 with every instruction set.
fn moved<T: Copy + PartialEq + std::fmt::Debug>(values: &[T]) -> Vec<T> {
    let (shape, width) = (Shape::new([25, 4]).unwrap(), size_of::<T>());
    let transpose = Op::from(Transpose::new(&[])).index_map(&shape).unwrap();
    let flip = Op::from(Flip::new(&[0, 1])).index_map(transpose.out_shape()).unwrap();
    let mut results = Vec::new();
    for simd in Simd::available() {
        for streaming_bytes in [0, 1 << 30] {
            let machine =
                Machine { simd, tuning: streaming(streaming_bytes), ..Machine::detect().clone() };
            let cpu = Cpu::with_machine(machine);
            let plan = |map: &IndexMap| cpu.plan(&move_of(map, width));
            let transposed = plan(&transpose).run_slice(values).unwrap();
            results.push(plan(&flip).run_slice(&transposed).unwrap());
        }
    }
    let first = results.swap_remove(0);
    assert!(results.iter().all(|other| *other == first));
    first
}

fn transposed<T: Copy>(values: &[T]) -> Vec<T> {
    let columns = (0..4).flat_map(|column| (0..25).map(move |row| (row, column)));
    columns.map(|(row, column)| values[row * 4 + column]).rev().collect()
}
