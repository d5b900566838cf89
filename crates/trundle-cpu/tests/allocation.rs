//! A planned run allocates nothing.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle_core::ops::{ReverseSequence, ReverseSubsequences, Roll, Transpose};
use trundle_core::{Backend, IndexMap, Layout, Move, Op, Shape};
use trundle_cpu::{Cpu, Pipeline};

/// The system's allocator, with a count of its allocations on all threads.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the contract is the same.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Memory) {
        // SAFETY: the contract is the same.
        unsafe { System.dealloc(pointer, memory) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
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
    // Lanes need a scratch, which a thread allocates once, whenever it has its first lanes to move:
    // one thread has it in the first run.
    let chains: [(&[&Op], usize, usize); 5] = [
        (&[&roll], 1, 2),
        (&[&transpose], 1, 2),
        (&[&reverse, &transpose], 1, 2),
        (&[&reverse, &other_reverse, &reverse], 3, 2),
        (&[&reverse_lanes], 1, 1),
    ];
    for (chain, passes, threads) in chains {
        let mut shape = shape.clone();
        let maps = chain.iter().map(|op| {
            let map = op.index_map(&shape).unwrap();
            shape = map.out_shape().clone();
            map
        });
        let maps = IndexMap::fuse(maps.collect::<Vec<_>>()).unwrap();
        assert_eq!(maps.len(), passes);
        let cpu = Cpu::new(Some(threads));
        let plans = maps.iter().map(|pass| {
            let map = &pass.map;
            let src = Layout::row_major(map.in_shape(), width).unwrap();
            let dst = Layout::row_major(map.out_shape(), width).unwrap();
            cpu.plan(&Move::new(map, width, &src, &dst).unwrap())
        });
        let pipeline = Pipeline::new(plans.collect()).unwrap();
        let src = vec![1u8; layout.span(width).unwrap().len()];
        let mut dst = vec![0u8; src.len()];
        // The first runs start a thread, which allocates once it gets to run.
        for _ in 0..20 {
            pipeline.run(&src, &mut dst).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..100 {
            pipeline.run(&src, &mut dst).unwrap();
        }
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0, "{passes} passes");
        assert_eq!(dst, src);
    }
}
