//! Compares moves in place with the source and destination positions of each element.
#![allow(clippy::cast_possible_wrap, reason = "axes and small shifts")]

use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Rot90, Transpose};
use trundle_core::{BitOrder, IndexMap, Layout, Move, Op, Packing, Shape};
use trundle_cpu::{CATALOGUE, Cpu, Machine, Simd};
use trundle_testing::choices::Choices;
use trundle_testing::{Flush, Guarded, MOST_BOXES, everything, noise};

use crate::common::{map_of, move_of, moved_over};

fn one_of(numbers: &mut Choices, of: &[usize]) -> usize {
    of[numbers.below(of.len())]
}

/// Some sizes may be equal.
fn shape(numbers: &mut Choices) -> Vec<usize> {
    let rank = 1 + numbers.below(4);
    let most = [600, 40, 14, 8][rank - 1];
    let same = 1 + numbers.below(most);
    (0..rank).map(|_| if numbers.below(2) == 0 { same } else { 1 + numbers.below(most) }).collect()
}

fn op(numbers: &mut Choices, sizes: &[usize]) -> Op {
    let rank = sizes.len();
    match numbers.below(4) {
        0 => {
            let axes: Vec<i64> = (0..rank as i64).filter(|_| numbers.below(2) == 0).collect();
            let shifts: Vec<i64> = axes.iter().map(|_| numbers.below(2000) as i64 - 1000).collect();
            if axes.is_empty() { Flip::new(&[]).into() } else { Roll::new(&shifts, &axes).into() }
        }
        1 => {
            let axes: Vec<i64> = (0..rank as i64).filter(|_| numbers.below(2) == 0).collect();
            Flip::new(&axes).into()
        }
        2 => {
            let mut order: Vec<i64> = (0..rank as i64).collect();
            for at in 0..rank {
                let other = numbers.below(rank);
                if sizes[at] == sizes[other] {
                    order.swap(at, other);
                }
            }
            let fits = order.iter().zip(sizes).all(|(axis, size)| sizes[*axis as usize] == *size);
            assert!(fits);
            Transpose::new(&order).into()
        }
        _ => {
            let axis = numbers.below(rank);
            let lanes: usize = sizes.iter().product::<usize>() / sizes[axis];
            let lengths: Vec<u64> =
                (0..lanes).map(|_| numbers.below(sizes[axis] + 1) as u64).collect();
            ReverseSubsequences::new(axis as i64, lengths).into()
        }
    }
}

/// Axes in any order, some reversed, with or without gaps.
fn layout(numbers: &mut Choices, sizes: &[usize], width: usize) -> Layout {
    let shape = Shape::new(sizes).unwrap();
    if numbers.below(2) == 0 {
        return Layout::row_major(&shape, width).unwrap();
    }
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    for at in 0..order.len() {
        let other = numbers.below(order.len());
        order.swap(at, other);
    }
    let gaps = numbers.below(2) == 0;
    let (mut stride, mut offset) = (width, numbers.below(8));
    let mut strides = vec![0; sizes.len()];
    for at in order {
        if gaps {
            stride += numbers.below(3);
        }
        strides[at] = stride.cast_signed();
        if numbers.below(3) == 0 {
            strides[at] = -strides[at];
            offset += stride * (sizes[at] - 1);
        }
        stride *= sizes[at];
    }
    Layout::strided(&shape, offset, &strides).unwrap()
}

/// A machine with small caches, so that small tensors have many cells.
fn machine(numbers: &mut Choices) -> Machine {
    let l1_bytes = one_of(numbers, &[64, 256, 1024, 32 << 10]);
    let l2_bytes = l1_bytes * one_of(numbers, &[4, 16, 64]);
    let threads = one_of(numbers, &[1, 3]);
    let sets: Vec<Simd> = Simd::available().collect();
    let simd = sets[numbers.below(sets.len())];
    Machine { l1_bytes, l2_bytes, threads, simd, ..Machine::detect().clone() }
}

#[test]
fn random_moves_in_place_match_moves_between_buffers() {
    let count = if everything() { 125_000 } else { 6_000 };
    let (mut planned, mut possible) = (0, 0);
    for case in 0..count {
        let numbers = &mut Choices::of(case);
        let sizes = shape(numbers);
        let width = one_of(numbers, &[1, 2, 3, 4, 8, 12, 16, 40]);
        let ops: Vec<Op> = (0..1 + numbers.below(2)).map(|_| op(numbers, &sizes)).collect();
        let layout = layout(numbers, &sizes, width);
        let identity = IndexMap::identity(&Shape::new(&sizes[..]).unwrap());
        let composed = ops
            .iter()
            .try_fold(identity, |map, op| map.then(&op.index_map(map.out_shape()).unwrap()));
        let Ok(map) = composed else { continue };
        let Ok(work) = Move::new(&map, width, &layout, &layout, MOST_BOXES) else { continue };
        possible += 1;
        let machine = machine(numbers);
        let Some(plan) = Cpu::with_machine(machine).plan_in_place(&work, usize::MAX) else {
            continue;
        };
        planned += 1;
        let src = noise(work.dst_bytes());
        let flush = if numbers.below(2) == 0 { Flush::Start } else { Flush::End };
        let mut buffer = Guarded::holding(&src, flush, format!("case {case}: {ops:?}"));
        plan.run_slice(&mut buffer[..]).unwrap();
        assert!(
            buffer[..] == moved_over(src.clone(), &work, &src),
            "case {case}: {ops:?} of {sizes:?} of {width} bytes at {layout:?}\n{work}\n{plan}"
        );
    }
    println!("{planned} of {possible}");
    assert!(planned * 10 > possible * 7, "{planned} of {possible}");
}

#[test]
fn packed_elements_are_moved_within_rows_through_scratch() {
    let count = if everything() { 20_000 } else { 1_000 };
    let (mut planned, mut through_scratch) = (0, 0);
    for case in 0..count {
        let numbers = &mut Choices::of(case);
        let sizes = shape(numbers);
        let bits = one_of(numbers, &[1, 2, 3, 4, 6]);
        let packing = Packing::new(bits as u8, BitOrder::LowFirst).unwrap();
        let op = op(numbers, &sizes);
        let map = map_of(std::slice::from_ref(&op), &sizes);
        let layout = Layout::row_major(map.in_shape(), 1).unwrap();
        let Ok(work) = Move::new(&map, packing, &layout, &layout, MOST_BOXES) else { continue };
        let most = work.dst_bytes() / one_of(numbers, &[1, 3]);
        let Some(plan) = Cpu::with_machine(machine(numbers)).plan_in_place(&work, most) else {
            continue;
        };
        assert!(plan.scratch_bytes() <= most);
        planned += 1;
        through_scratch += usize::from(work.packing().is_some());
        let src = noise(work.dst_bytes());
        let (mut expected, bytes) = (src.clone(), work.packing().is_none());
        work.for_each_pair(|from, to| {
            for at in 0..work.width() {
                match bytes {
                    true => expected[to + at] = src[from + at],
                    false => packing.set(&mut expected, to + at, packing.get(&src, from + at)),
                }
            }
        });
        let mut buffer = Guarded::holding(&src, Flush::End, format!("case {case}"));
        plan.run_slice(&mut buffer[..]).unwrap();
        assert!(buffer[..] == expected, "case {case}: {op:?} of {sizes:?}\n{work}\n{plan}");
    }
    println!("{planned} of {count}, {through_scratch} of elements that share bytes");
    assert!(through_scratch * 5 > count as usize, "{through_scratch}");
}

#[test]
fn axes_are_permuted_in_place_with_little_scratch() {
    let count = if everything() { 4000 } else { 250 };
    let (mut planned, mut kinds) = (0, std::collections::BTreeMap::new());
    for case in 0..count {
        let numbers = &mut Choices::of(case);
        let rank = 2 + numbers.below(3);
        let most = [900, 80, 30][rank - 2];
        let sizes: Vec<usize> = (0..rank).map(|_| 1 + numbers.below(most)).collect();
        let width = one_of(numbers, &[1, 2, 3, 4, 8, 16, 40]);
        let mut order: Vec<i64> = (0..rank as i64).collect();
        for at in 0..rank {
            order.swap(at, numbers.below(rank));
        }
        let work = move_of(&map_of(&[Transpose::new(&order).into()], &sizes), width);
        let most_scratch = work.dst_bytes() / one_of(numbers, &[16, 40]);
        let machine = Machine { l1_bytes: 4096, l2_bytes: 1 << 16, ..machine(numbers) };
        let Some(plan) = Cpu::with_machine(machine).plan_in_place(&work, most_scratch) else {
            continue;
        };
        planned += 1;
        for kind in ["cells", "through scratch", "transposed, in cycles", "without"] {
            *kinds.entry(kind).or_insert(0) += plan.to_string().matches(kind).count();
        }
        assert!(plan.scratch_bytes() <= most_scratch);
        let src = noise(work.dst_bytes());
        let mut buffer = Guarded::holding(&src, Flush::End, format!("case {case}"));
        plan.run_slice(&mut buffer[..]).unwrap();
        assert!(
            buffer[..] == moved_over(src.clone(), &work, &src),
            "case {case}: {order:?} of {sizes:?} of {width} bytes\n{work}\n{plan}"
        );
    }
    println!("{planned} of {count}, {kinds:?}");
}

/// Tensors of several megabytes, or with incomplete tiles at all edges.
fn large_moves() -> Vec<(usize, Vec<usize>, Op)> {
    let roll = |shifts: &[i64], axes: &[i64]| Op::from(Roll::new(shifts, axes));
    let flip = |axes: &[i64]| Op::from(Flip::new(axes));
    let transpose = |order: &[i64]| Op::from(Transpose::new(order));
    let lengths = |count: u64, most: u64| (0..count).map(|lane| lane * 7919 % (most + 1)).collect();
    let reverse = |axis, lengths: Vec<u64>| Op::from(ReverseSubsequences::new(axis, lengths));
    let by_row = |count: i128, most: i128| {
        let lengths: Vec<i128> = (0..count).map(|row| row * 7919 % (most + 1)).collect();
        Op::from(ReverseSequence::new(1, 0, lengths))
    };
    vec![
        (4, vec![1_000_003], roll(&[1], &[0])),
        (4, vec![1_000_003], roll(&[-1], &[0])),
        (1, vec![4_000_037], roll(&[1_234_567], &[0])),
        (1, vec![4_000_000], roll(&[2_000_000], &[0])),
        (2, vec![2_000_001], roll(&[1_000_000], &[0])),
        (4, vec![1003, 1001], roll(&[500], &[0])),
        (4, vec![1003, 1201], roll(&[-300], &[1])),
        (8, vec![301, 1301], roll(&[100, 700], &[0, 1])),
        // Two cycles of rows, and a few cycles.
        (8, vec![402, 1301], roll(&[100, 700], &[0, 1])),
        (8, vec![400, 1301], roll(&[150, 700], &[0, 1])),
        (1, vec![71, 211, 301], roll(&[30, 100, 150], &[0, 1, 2])),
        (4, vec![1_100_003], flip(&[0])),
        (3, vec![1_400_001], flip(&[0])),
        (1, vec![301, 67, 211], flip(&[0, 1])),
        (4, vec![1001, 1003], flip(&[0, 1])),
        (16, vec![257, 259, 4], flip(&[0])),
        (40, vec![4001, 23], flip(&[1])),
        (4, vec![1001, 1003], by_row(1001, 1003)),
        (8, vec![301, 41, 33], by_row(301, 41)),
        (4, vec![1001, 1003], reverse(0, lengths(1003, 1001))),
        (4, vec![1001, 1003], reverse(1, lengths(1001, 1003))),
        // Rows in few sets of the caches, and others.
        (1, vec![512, 512], transpose(&[1, 0])),
        (1, vec![1600, 1600], transpose(&[1, 0])),
        (2, vec![1024, 1024], transpose(&[1, 0])),
        (2, vec![1031, 1031], transpose(&[1, 0])),
        (4, vec![1024, 1024], transpose(&[1, 0])),
        (4, vec![3, 613, 613], transpose(&[0, 2, 1])),
        (8, vec![517, 3, 517], transpose(&[2, 1, 0])),
        (8, vec![512, 512], transpose(&[1, 0])),
        (16, vec![261, 261], transpose(&[1, 0])),
        (12, vec![301, 301], transpose(&[1, 0])),
        (4, vec![121, 121, 121], transpose(&[1, 2, 0])),
        (4, vec![601, 2003], transpose(&[1, 0])),
        (1, vec![3, 4000, 301], transpose(&[0, 2, 1])),
        // Too little scratch for three threads.
        (1, vec![3, 4001, 301], transpose(&[0, 2, 1])),
        (2, vec![1009, 1511], transpose(&[1, 0])),
    ]
}

/// Without enough scratch, the caller makes a copy, which gives the right result, so only this test notices.
#[test]
fn the_usual_scratch_is_enough_on_many_threads() {
    let more = [
        (4, vec![16_777_259], Op::from(Roll::new(&[7_654_321], &[0]))),
        (4, vec![64, 65_537], Op::from(Roll::new(&[12_345], &[1]))),
        (4, vec![4096, 4096], Op::from(Rot90::new(1, &[0, 1]))),
        (1, vec![4099, 4099], Op::from(Transpose::new(&[1, 0]))),
    ];
    for (width, sizes, op) in large_moves().into_iter().chain(more) {
        let map = map_of(std::slice::from_ref(&op), &sizes);
        if map.in_shape() != map.out_shape() {
            continue;
        }
        // At least 16 MiB, so that many threads are used.
        let elements: usize = sizes.iter().product();
        let width = width * (16usize << 20).div_ceil(elements * width);
        let work = move_of(&map, width);
        for threads in [1, 3, 16, 64] {
            let machine = Machine { threads, ..Machine::detect().clone() };
            let most = (work.moved_bytes() / 16).max(1 << 20);
            let plan = Cpu::with_machine(machine).plan_in_place(&work, most);
            assert!(plan.is_some(), "{op:?} of {sizes:?}, {threads} threads\n{work}");
        }
    }
}

#[test]
fn large_moves_are_exact_on_all_sets_and_thread_counts() {
    let mut reached = String::new();
    for (number, (width, sizes, op)) in large_moves().into_iter().enumerate() {
        let work = move_of(&map_of(std::slice::from_ref(&op), &sizes), width);
        let bytes = noise(work.dst_bytes());
        let expected = moved_over(bytes.clone(), &work, &bytes);
        for (set, simd) in Simd::available().enumerate() {
            for threads in [1, 3] {
                if !everything() && (number + set + threads / 2) % 2 == 1 {
                    continue;
                }
                let machine = Machine { threads, simd, ..Machine::detect().clone() };
                let plan = Cpu::with_machine(machine).plan_in_place(&work, work.dst_bytes() / 4);
                let plan = plan.unwrap_or_else(|| panic!("{op:?} of {sizes:?}"));
                let before = (number + set) * 4 % 64;
                let mut buffer = [&vec![0; before][..], &bytes].concat();
                plan.run_slice(&mut buffer[before..]).unwrap();
                assert!(
                    buffer[before..] == expected,
                    "{op:?} of {sizes:?} of {width} bytes\n{plan}"
                );
                reached.push_str(&plan.to_string());
            }
        }
    }
    let is_here =
        |name: &&str| ["exchanged-", "squares-", "rotated-"].iter().any(|of| name.starts_with(of));
    let here = CATALOGUE.iter().filter(|kernel| kernel.simd <= Machine::detect().simd);
    assert!(reached.contains("cut into about"), "no cycle is cut");
    for name in here.map(|kernel| kernel.name).filter(is_here) {
        assert!(reached.contains(name), "no case reaches {name}");
    }
}
