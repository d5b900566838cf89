//! Tests what the planner decides.

use std::collections::BTreeSet;

use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle_core::{Backend, IndexMap, Layout, Move, Op, Shape};
use trundle_cpu::{Cpu, Machine, RaggedRole, Rolled, Simd, Step, StoreKind};
use trundle_testing::MOST_BOXES;

use crate::common::{check_all_reached, check_positions, map_of, move_of, moved_over, streaming};

#[test]
fn results_above_the_streaming_threshold_are_streamed() {
    let cpu = Cpu::with_machine(Machine { tuning: streaming(1000), ..Machine::detect().clone() });
    // The portable set has no streaming stores.
    let above = if Machine::detect().simd == Simd::Portable {
        StoreKind::Ordinary
    } else {
        StoreKind::Streaming
    };
    for (bytes, store) in [(1000, StoreKind::Ordinary), (1001, above)] {
        let shape = Shape::new([bytes]).unwrap();
        let work = move_of(&IndexMap::identity(&shape), 1);
        assert_eq!(cpu.plan(&work).steps()[0].store, store, "{bytes} bytes");
    }
}

#[test]
fn kernels_without_streaming_stores_are_given_ordinary_ones() {
    let simd = Simd::Portable;
    let cpu =
        Cpu::with_machine(Machine { tuning: streaming(1000), simd, ..Machine::detect().clone() });
    let map = map_of(&[Transpose::new(&[1, 0]).into()], &[50, 60]);
    for (width, kernel) in [(4, "transposed-portable"), (12, "strided-portable")] {
        let plan = cpu.plan(&move_of(&map, width));
        let step = &plan.steps()[0];
        assert_eq!((step.kernel.name, step.store), (kernel, StoreKind::Ordinary));
    }
}

fn steps(op: impl Into<Op>, sizes: &[usize]) -> Vec<Step> {
    steps_of(&map_of(&[op.into()], sizes))
}

fn steps_of(map: &IndexMap) -> Vec<Step> {
    let cpu = Cpu::with_machine(Machine { simd: Simd::Portable, ..Machine::detect().clone() });
    cpu.plan(&move_of(map, 4)).steps().to_vec()
}

/// Returns the kernel of a single step, the lengths of its outer loops, and its rows and columns.
fn shape_of(steps: &[Step]) -> (&'static str, Vec<usize>, usize, usize) {
    let [step] = steps else { panic!("{} steps", steps.len()) };
    let outer = step.outer.iter().map(|each| each.len).collect();
    (step.kernel.name, outer, step.rows.len, step.cols.len)
}

#[test]
fn each_pattern_gets_its_kernel_rows_and_columns() {
    let transpose = |order: &[i64], sizes: &[usize]| shape_of(&steps(Transpose::new(order), sizes));
    // Runs of 400 bytes. The rows are the nearest runs in the destination or, above the streaming threshold, in the
    // source.
    assert_eq!(transpose(&[1, 0, 2], &[20, 30, 100]), ("runs-portable", vec![30], 20, 400));
    assert_eq!(transpose(&[1, 0, 2], &[900, 300, 100]), ("runs-portable", vec![900], 300, 400));
    assert_eq!(transpose(&[0, 2, 1], &[5, 20, 30]), ("transposed-portable", vec![5], 30, 20));
    assert_eq!(transpose(&[1, 0, 2], &[20, 30, 1]), ("transposed-portable", vec![], 30, 20));
    // Elements of 12 bytes stay together.
    assert_eq!(transpose(&[1, 0, 2], &[20, 30, 3]), ("strided-portable", vec![], 30, 20));
    let flipped = shape_of(&steps(Flip::new(&[1]), &[20, 30]));
    assert_eq!(flipped, ("reversed-portable", vec![], 20, 30));
    // The two runs of a rolled row form one row.
    let rolled = steps(Roll::new(&[1], &[1]), &[20, 30]);
    assert_eq!(shape_of(&rolled), ("rolled-portable", vec![], 20, 120));
    assert_eq!(rolled[0].rolled, Some(Rolled::Cols(4)));
    // Rows that are cut into units do not.
    let rolled = steps(Roll::new(&[1], &[1]), &[20, 300_000]);
    assert_eq!(rolled.len(), 2);
}

#[test]
fn many_short_axes_get_tables() {
    let invert = |sizes: &[usize]| steps(Transpose::new(&[]), sizes);
    let [step] = &invert(&[2; 12])[..] else { panic!("one step") };
    assert_eq!((step.kernel.name, step.units()), ("gathered-portable", 1));
    assert_eq!(step.cols.len, 1 << 12);
    // Tiles of two loops are large enough.
    assert_eq!(shape_of(&invert(&[3, 20, 30])).0, "transposed-portable");
    // Loops that do not fit in a table are outer loops.
    let [step] = &invert(&[2, 2, 20_011, 3, 3])[..] else { panic!("one step") };
    assert_eq!((step.kernel.name, step.rows.len, step.cols.len), ("gathered-portable", 20_011, 36));
    let elements = step.units() * step.row_block * step.col_block;
    assert!(elements >= 36 * 20_011 && step.units() < 1000, "{step}");

    // Kernels that permute index bits use loops of length two and more, in either direction.
    for simd in Simd::available().filter(|simd| *simd != Simd::Portable) {
        let cpu = Cpu::with_machine(Machine { simd, ..Machine::detect().clone() });
        for sizes in [&[2; 12][..], &[2, 4, 1024, 2, 2], &[2, 1 << 15, 2]] {
            let map = map_of(&[Flip::new(&[0]).into(), Transpose::new(&[]).into()], sizes);
            let plan = cpu.plan(&move_of(&map, 4));
            let name = plan.steps()[0].kernel.name;
            assert!(name.starts_with("bit-permuted"), "{sizes:?}: {plan}");
        }
    }
}

#[test]
fn reversed_rows_of_a_transpose_read_the_source_forwards() {
    let ops = [Flip::new(&[1]).into(), Transpose::new(&[1, 0]).into()];
    let steps = steps_of(&map_of(&ops, &[20, 30]));
    assert_eq!(shape_of(&steps), ("transposed-portable", vec![], 30, 20));
    let Step { rows, src_offset, dst_offset, .. } = &steps[0];
    assert_eq!((rows.src_stride, rows.dst_stride), (4, -80));
    // The first element of the source is the first of the last row.
    assert_eq!((*src_offset, *dst_offset), (0, 29 * 80));
}

#[test]
fn ragged_loops_become_rows_columns_or_lanes() {
    let placed = |steps: &[Step]| {
        let ragged = steps[0].ragged.as_ref().unwrap();
        (ragged.role, steps[0].kernel.name, ragged.second.name)
    };
    let lengths: Vec<i128> = vec![3, 0, 10, 7];
    let sequence =
        |sizes: &[usize]| placed(&steps(ReverseSequence::new(1, 0, &lengths[..]), sizes));
    assert_eq!(sequence(&[4, 10, 16]), (RaggedRole::Rows, "runs-portable", "runs-portable"));
    assert_eq!(sequence(&[4, 100]), (RaggedRole::Cols, "reversed-portable", "runs-portable"));
    let lanes = |sizes: &[usize; 3]| {
        let lengths: Vec<u64> = (0..(sizes[0] * sizes[2]) as u64).map(|lane| lane % 11).collect();
        steps(ReverseSubsequences::new(1, lengths), sizes)
    };
    let wide = placed(&lanes(&[2, 10, 20]));
    assert_eq!(wide, (RaggedRole::Lanes, "packed-lanes-portable", "packed-lanes-portable"));
    // With rows shorter than a cache line, a unit has several slabs.
    let narrow = lanes(&[2, 10, 6]);
    assert_eq!(placed(&narrow), (RaggedRole::Lanes, "sub-line-portable", "sub-line-portable"));
    assert_eq!(narrow[0].units(), 1);
}

#[test]
fn every_unit_is_in_one_task() {
    let transpose = Transpose::new(&[1, 0]);
    let moves: [(Op, &[usize]); 5] = [
        (Roll::new(&[3, 5], &[0, 1]).into(), &[601, 1013]),
        (transpose.clone().into(), &[1999, 257]),
        (transpose.into(), &[40, 30_011]),
        (Flip::new(&[0]).into(), &[70_001, 9]),
        (ReverseSequence::new(1, 0, [7000, 1, 3333]).into(), &[3, 7000, 33]),
    ];
    for (op, sizes) in moves {
        for threads in 1..=7 {
            let map = map_of(std::slice::from_ref(&op), sizes);
            let cpu = Cpu::with_machine(Machine { threads, ..Machine::detect().clone() });
            let plan = cpu.plan(&move_of(&map, 4));
            let mut taken: Vec<Vec<u32>> =
                plan.steps().iter().map(|step| vec![0; step.units()]).collect();
            for task in plan.tasks() {
                for part in &plan.parts()[task.clone()] {
                    taken[part.step][part.first..part.end].iter_mut().for_each(|unit| *unit += 1);
                }
            }
            assert!(taken.iter().flatten().all(|unit| *unit == 1), "{threads} threads, {plan}");
        }
    }
}

/// With such gaps, some streaming stores would not be aligned.
#[test]
fn many_short_axes_with_gaps_in_lines_are_right() {
    let map = map_of(&[Transpose::new(&[]).into()], &[2; 9]);
    for (width, nearest) in [(8, [1, 2, 5]), (8, [1, 2, 6]), (8, [1, 2, 4]), (16, [1, 3, 8])] {
        let outer = (0..6).map(|axis| 16 << axis);
        let mut strides: Vec<isize> = nearest.into_iter().chain(outer).collect();
        strides.reverse();
        strides.iter_mut().for_each(|stride| *stride *= width);
        let width = width.cast_unsigned();
        let src = Layout::row_major(map.in_shape(), width).unwrap();
        let dst = Layout::strided(map.out_shape(), 0, &strides).unwrap();
        let work = Move::new(&map, width, &src, &dst, MOST_BOXES).unwrap();
        let read: Vec<u8> = (0..work.src_bytes()).map(|byte| (byte % 251) as u8).collect();
        for simd in Simd::available() {
            let machine = Machine { simd, tuning: streaming(0), ..Machine::detect().clone() };
            let cpu = Cpu::with_machine(machine);
            let plan = cpu.plan(&work);
            let mut room = vec![0xee; work.dst_bytes() + 128];
            let first = room.as_ptr().align_offset(64);
            let written = &mut room[first..first + work.dst_bytes()];
            let expected = moved_over(written.to_vec(), &work, &read);
            cpu.run(&plan, &read, written).unwrap();
            assert!(*written == expected[..], "{simd}, {nearest:?}: {plan}");
        }
    }
}

/// The cases differ in the lengths of runs, some of them shorter than a line, and in the bits that stay in a lane of a
/// register.
#[test]
fn many_short_axes_that_fill_runs_are_right() {
    let mut reached = BTreeSet::new();
    for (width, threes) in [(1, 12), (2, 11), (4, 10), (8, 8), (16, 7)] {
        let bits = 17 - usize::ilog2(width) as usize;
        let mixed = [2, 3, 5, 2, 3, 2, 3, 5];
        let all = [vec![2; bits], vec![2; bits - 4], vec![3; threes], mixed.to_vec()];
        for (turn, sizes) in (0..).zip([&all[..], &all[..2], &all[..2], &all[..2]].concat()) {
            let key = |axis: &i64| (axis + 3 * turn + 1) * 2_654_435_761 % 1021;
            let mut order: Vec<i64> = (0..).take(sizes.len()).collect();
            let flipped: Vec<i64> =
                order.iter().copied().filter(|axis| key(axis) % 3 == turn % 3).collect();
            order.reverse();
            if turn > 3 {
                order.sort_by_key(key);
            }
            let ops = [Flip::new(&flipped).into(), Transpose::new(&order).into()];
            let work = move_of(&map_of(&ops, &sizes), width);
            check_positions(
                &work,
                &format!("{sizes:?} of {width} in order {order:?}"),
                &mut reached,
            );
        }
    }
    check_all_reached("gathered", &reached);
    check_all_reached("bit-permuted", &reached);
}

/// One tile must not contain all of a few loops of prime length.
#[test]
fn tiles_of_many_short_axes_are_small() {
    let sizes = [7, 7, 89, 89, 7, 7];
    let map = map_of(&[Flip::new(&[4]).into(), Transpose::new(&[]).into()], &sizes);
    let work = move_of(&map, 1);
    let plan = Cpu::with_machine(Machine { threads: 2, ..Machine::detect().clone() }).plan(&work);
    assert!(plan.tasks().len() > 2 && plan.parts().len() > 8, "{plan}");
}
