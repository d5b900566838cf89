//! A run of a plan allocates nothing, and a repeated call without a plan only its result.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle::lowering::{Backend, Device};
use trundle::ops::{ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle::tuning::Tuning;
use trundle::{
    Chain, DType, Layout, Machine, Op, Plan, ProgramPlan, Shape, TensorView, TensorViewMut,
    programs,
};

/// Counts the system allocator's allocations on all threads.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller passes a layout that `GlobalAlloc::alloc` accepts.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Memory) {
        // SAFETY: the pointer is from the system allocator, with the same layout.
        unsafe { System.dealloc(pointer, memory) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(call: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    call();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// One test, since allocations of all threads are counted.
#[test]
fn repeated_calls_and_runs_allocate_nothing() {
    a_repeated_call_allocates_nothing();
    a_planned_run_allocates_nothing();
    a_run_of_a_pass_from_two_sources_allocates_nothing();
}

fn a_repeated_call_allocates_nothing() {
    let shape = Shape::new([16, 4, 16]).unwrap();
    let turned = Shape::new([4, 16, 16]).unwrap();
    let bytes: Vec<u8> = (0..4096).map(|byte| (byte % 251) as u8).collect();
    let mut buffers = [vec![0; 4096], vec![0; 4096]];
    let [out, turned_out] = &mut buffers;
    let data = TensorView::row_major(&bytes, DType::F32, &shape).unwrap();
    let out = &mut TensorViewMut::row_major(out, DType::F32, &shape).unwrap();
    let turned_out = &mut TensorViewMut::row_major(turned_out, DType::F32, &turned).unwrap();
    let mut calls = || {
        trundle::copy_into(&data, out).unwrap();
        trundle::roll_into(&data, &[3, -1], &[0, 2], out).unwrap();
        trundle::roll_into(&data, &[3, -2], &[0, 2], out).unwrap();
        trundle::flip_into(&data, &[-1, 0], out).unwrap();
        trundle::transpose_into(&data, &[1, 0, 2], turned_out).unwrap();
        trundle::transpose_into(&data, &[1, 2, 0], turned_out).unwrap();
    };
    assert!(allocations(&mut calls) > 0);
    assert_eq!(allocations(calls), 0);
    // Allocates the bytes, the shape and the strides of the result.
    let transposed = || drop(trundle::transpose(&data, &[2, 1, 0]).unwrap());
    assert!(allocations(transposed) > 3);
    assert!(allocations(transposed) <= 3);
}

fn a_planned_run_allocates_nothing() {
    let (shape, width) = (Shape::new([64, 300, 50]).unwrap(), 4);
    let layout = Layout::row_major(&shape, width).unwrap();
    let lengths: Vec<i128> = (0..64).map(|batch| batch * 4).collect();
    let reverse = Op::from(ReverseSequence::new(1, 0, lengths));
    let lengths: Vec<i128> = (0..64).map(|batch| 300 - batch * 3).collect();
    let other_reverse = Op::from(ReverseSequence::new(1, 0, lengths));
    let roll = Op::from(Roll::new(&[-3, 7], &[0, 2]));
    let transpose = Op::from(Transpose::new(&[]));
    let lengths: Vec<u64> = (0..64 * 50).map(|lane| lane * 7 % 300).collect();
    let reverse_lanes = Op::from(ReverseSubsequences::new(1, lengths));
    // Lanes need scratch memory, which each thread allocates for its first lanes. With one thread this happens
    // in the first run.
    let chains: [(&[&Op], usize, usize); 5] = [
        (&[&roll], 1, 2),
        (&[&transpose], 1, 2),
        (&[&reverse, &transpose], 1, 2),
        (&[&reverse, &other_reverse, &reverse], 3, 2),
        (&[&reverse_lanes], 1, 1),
    ];
    for (chain, passes, threads) in chains {
        let chain = chain.iter().fold(Chain::new(), |chain, op| chain.then((*op).clone()));
        let plan = Plan::row_major(&chain, width, &shape, Some(threads)).unwrap();
        assert_eq!(plan.passes().len(), passes);
        let src = vec![1u8; layout.span(width).unwrap().len()];
        let mut dst = vec![0u8; src.len()];
        // The first runs start a thread, which allocates when it is scheduled.
        for _ in 0..20 {
            plan.run(&src, &mut dst).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let allocated = allocations(|| {
            for _ in 0..10 {
                plan.run(&src, &mut dst).unwrap();
            }
        });
        assert_eq!(allocated, 0, "{passes} passes");
        assert_eq!(dst, src);
    }
}

/// With streaming stores, one plan writes a tensor and its padding.
fn a_run_of_a_pass_from_two_sources_allocates_nothing() {
    let machine = Machine { threads: 1, ..Machine::detect().clone() };
    let tuning = Tuning { streaming_bytes: 0, ..machine.tuning };
    let device = Device::with_machine(Machine { tuning, ..machine });
    let shape = Shape::new([4, 20, 40]).unwrap();
    let widths = [[0, 1], [1, 2], [1, 1]];
    let program = programs::padded(&shape, 2.into(), &widths, &[0xcd, 0xab]).unwrap();
    let budget = device.budget();
    let planned = ProgramPlan::on(device, &program, &budget).unwrap().allocated().unwrap();
    let (src, mut dst) = (vec![1u8; 4 * 20 * 40 * 2], vec![2u8; 5 * 23 * 42 * 2]);
    let mut run = || planned.runner().run(&[&src], &mut [&mut dst]).unwrap();
    run();
    assert_eq!(allocations(run), 0, "{planned:?}");
}
