//! A few small moves through every portable kernel, for Miri, with which the whole suite would take days.

use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Transpose};
use trundle_core::{Backend, BitOrder, Layout, Move, Op, Packing, Width};
use trundle_cpu::{Cpu, Machine, Simd};
use trundle_testing::MOST_BOXES;

use crate::common::{map_of, streaming};

/// Runs `ops` between buffers that end with the last element. The destination begins at `offset`, in bytes or sub-byte
/// elements. A threshold of 0 streams the result.
fn check(ops: &[Op], sizes: &[usize], width: Width, streaming_bytes: usize, offset: usize) {
    let map = map_of(ops, sizes);
    let src = Layout::row_major(map.in_shape(), width.units()).unwrap();
    let dst = Layout::row_major(map.out_shape(), width.units()).unwrap();
    let dst = Layout::strided(map.out_shape(), offset, dst.strides_bytes()).unwrap();
    let work = Move::new(&map, width, &src, &dst, MOST_BOXES).unwrap();
    let machine = Machine {
        simd: Simd::Portable,
        tuning: streaming(streaming_bytes),
        ..Machine::detect().clone()
    };
    let cpu = Cpu::with_machine(machine);
    let data: Vec<u8> = (0..work.src_bytes()).map(|byte| (byte * 7 + byte / 251) as u8).collect();
    let (mut got, mut expected) = (vec![0; work.dst_bytes()], vec![0; work.dst_bytes()]);
    let plan = cpu.plan(&work);
    cpu.run(&plan, &data, &mut got).unwrap();
    map.out_shape().for_each_index(|index| {
        let (from, to) = (src.offset_of(&map.source_of(index)), dst.offset_of(index));
        match width.packing() {
            Some(packing) => packing.set(&mut expected, to, packing.get(&data, from)),
            None => expected[to..][..width.units()].copy_from_slice(&data[from..][..width.units()]),
        }
    });
    assert_eq!(got, expected, "{plan}");
}

fn check_all(streaming_bytes: usize, offset_bytes: usize) {
    let check = |ops: &[Op], sizes: &[usize], width: usize| {
        check(ops, sizes, width.into(), streaming_bytes, offset_bytes);
    };
    let transpose = || Op::from(Transpose::new(&[]));
    let flip = |axis| Op::from(Flip::new(&[axis]));
    let reverse = |axis| {
        Op::from(ReverseSubsequences::new(axis, (0..4u64).map(|row| 3 * row).collect::<Vec<_>>()))
    };
    for width in [1, 2, 4, 8, 16, 3] {
        // A cache line of elements, or one more.
        let line = 64 / width;
        check(&[transpose()], &[line, 3], width);
        check(&[transpose()], &[line + 1, 16 / width + 1], width);
        check(&[transpose()], &[3, line + 1], width);
        check(&[transpose(), flip(0)], &[line, 5], width);
        check(&[transpose(), flip(2)], &[2, 2, 3, 2, 2, 2], width);
        check(&[transpose(), flip(1)], &[line + 1, 5], width);
        check(&[flip(0)], &[line + 3], width);
        check(&[Op::from(Roll::new(&[1, 2], &[0, 1]))], &[3, line + 1], width);
        check(&[reverse(1)], &[4, 9], width);
        check(&[reverse(0)], &[9, 4], width);
        check(&[reverse(1), transpose()], &[4, 9], width);
        check(&[reverse(0), transpose(), flip(1)], &[9, 4], width);
    }
    check(&[], &[300], 1);
}

#[test]
fn packed_elements_are_exact() {
    for (bits, order) in [(1, BitOrder::HighFirst), (3, BitOrder::Split), (4, BitOrder::LowFirst)] {
        let packing = Packing::new(bits, order).unwrap();
        for first in [0, 5] {
            let check = |ops: &[Op], sizes: &[usize]| {
                check(ops, sizes, packing.into(), 1 << 30, first);
            };
            let lengths: Vec<u64> = (0..18).collect();
            check(&[Transpose::new(&[]).into()], &[5, 19]);
            check(&[Roll::new(&[3], &[0]).into()], &[37]);
            check(&[Flip::new(&[1]).into()], &[3, 11]);
            check(&[ReverseSubsequences::new(0, lengths.clone()).into()], &[7, 18]);
            check(&[ReverseSubsequences::new(1, lengths).into()], &[18, 7]);
        }
    }
}

#[test]
fn results_of_ordinary_stores_are_exact() {
    check_all(1 << 30, 3);
}

#[test]
fn results_of_streaming_stores_are_exact() {
    check_all(0, 16);
}

#[test]
fn results_aligned_to_a_cache_line_are_exact() {
    check_all(0, 0);
}
