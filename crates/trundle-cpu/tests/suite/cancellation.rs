//! Tests that runs can be stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Transpose};
use trundle_core::{Backend, BitOrder, Error, Move, Op, Packing, Width};
use trundle_cpu::{Cpu, Plan};

use crate::common::{map_of, move_of};

/// A byte that no source contains; it marks unwritten bytes.
const UNTOUCHED: u8 = 0xa5;

/// Returns the move of `op` on a packed tensor.
fn work(op: impl Into<Op>, sizes: &[usize], width: impl Into<Width>) -> Move {
    move_of(&map_of(&[op.into()], sizes), width)
}

fn plan(work: &Move, threads: usize) -> (Cpu, Plan) {
    let cpu = Cpu::new(Some(threads));
    let plan = cpu.plan(work);
    (cpu, plan)
}

fn source(work: &Move) -> Vec<u8> {
    (0..work.src_bytes()).map(|byte| (byte % 101) as u8).collect()
}

/// A callback that returns true `yes` times, then false. After that it must not be called, and would return true.
struct Callback {
    yes: usize,
    calls: AtomicUsize,
}

impl Callback {
    fn new(yes: usize) -> Callback {
        Callback { yes, calls: AtomicUsize::new(0) }
    }

    fn go_on(&self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed) != self.yes
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Moves of several megabytes, with all kinds of tiles, and with packed elements.
fn works() -> Vec<Move> {
    let u4 = Packing::new(4, BitOrder::ALL[0]).unwrap();
    let lengths: Vec<u64> = (0..20_011).map(|lane| lane * 7 % 65).collect();
    vec![
        work(Flip::new(&[0]), &[1_100_003], 4),
        work(Roll::new(&[5, 7], &[0, 1]), &[901, 1003], 4),
        work(Transpose::new(&[]), &[2031, 1621], 1),
        work(ReverseSubsequences::new(0, lengths), &[64, 20_011], 4),
        work(Transpose::new(&[]), &[2031, 2621], Width::SubByte(u4)),
        work(Roll::new(&[12_345], &[0]), &[5_000_001], Width::SubByte(u4)),
    ]
}

#[test]
fn a_run_stops_when_the_callback_returns_false() {
    for work in works() {
        let (cpu, plan) = plan(&work, 1);
        let src = source(&work);
        let mut whole = vec![UNTOUCHED; work.dst_bytes()];
        let callback = Callback::new(usize::MAX);
        cpu.run_while(&plan, &src, &mut whole, &|| callback.go_on()).unwrap();
        let calls = callback.calls();
        assert!(calls >= 8, "{calls} calls of {plan}");
        let mut earlier = 0;
        for yes in [0, 2, calls - 1] {
            let callback = Callback::new(yes);
            let mut dst = vec![UNTOUCHED; work.dst_bytes()];
            let outcome = cpu.run_while(&plan, &src, &mut dst, &|| callback.go_on());
            assert_eq!(outcome, Err(Error::Stopped));
            assert_eq!(callback.calls(), yes + 1);
            // All parts that were begun are complete, and no others were begun.
            let written = dst.iter().zip(&whole).filter(|(byte, moved)| byte == moved).count();
            assert!(written < dst.len() && written >= earlier + yes, "{yes}: {written} bytes");
            earlier = written;
        }
        let mut dst = vec![UNTOUCHED; work.dst_bytes()];
        cpu.run_while(&plan, &src, &mut dst, &|| true).unwrap();
        assert!(dst == whole);
    }
}

#[test]
fn parts_before_a_stop_are_complete_and_later_ones_untouched() {
    let work = work(Flip::new(&[0]), &[1_100_003], 4);
    let (cpu, plan) = plan(&work, 1);
    let src = source(&work);
    let [step] = plan.steps() else { panic!("a reversal is one step") };
    let units = |parts: usize| plan.parts()[..parts].iter().map(|part| part.end - part.first);
    let bytes = units(2).sum::<usize>() * step.row_block * step.col_block * step.width;
    let callback = Callback::new(2);
    let mut dst = vec![UNTOUCHED; work.dst_bytes()];
    let outcome = cpu.run_while(&plan, &src, &mut dst, &|| callback.go_on());
    assert_eq!(outcome, Err(Error::Stopped));
    let written: Vec<bool> = dst.iter().map(|byte| *byte != UNTOUCHED).collect();
    assert_eq!(written.iter().filter(|written| **written).count(), bytes);
    assert!(written[..bytes].iter().all(|written| *written), "the front of the destination");
}

#[test]
fn runs_on_several_threads_stop_and_later_runs_work() {
    for work in works() {
        let (cpu, plan) = plan(&work, 3);
        let src = source(&work);
        let mut whole = vec![UNTOUCHED; work.dst_bytes()];
        cpu.run(&plan, &src, &mut whole).unwrap();
        for yes in [0, 2, 5] {
            for _ in 0..10 {
                let calls = AtomicUsize::new(0);
                let go_on = || calls.fetch_add(1, Ordering::Relaxed) < yes;
                let mut dst = vec![UNTOUCHED; work.dst_bytes()];
                let outcome = cpu.run_while(&plan, &src, &mut dst, &go_on);
                assert_eq!(outcome, Err(Error::Stopped));
                assert!(dst != whole);
                // Each thread gets false at most once.
                assert!(calls.into_inner() <= yes + 3);
            }
            let mut dst = vec![UNTOUCHED; work.dst_bytes()];
            cpu.run(&plan, &src, &mut dst).unwrap();
            assert!(dst == whole);
        }
    }
}

#[test]
fn runs_stop_within_long_rows_of_packed_elements() {
    let u4 = Packing::new(4, BitOrder::ALL[0]).unwrap();
    let row = 1_000_003;
    // Contiguous rows, and rows that are moved one element at a time.
    for (axis, sizes) in [(1, [2, row]), (0, [row, 2])] {
        let reverse = ReverseSubsequences::new(axis, vec![row as u64 - 1, row as u64 / 2]);
        let work = work(reverse, &sizes, Width::SubByte(u4));
        let (cpu, plan) = plan(&work, 1);
        let src = source(&work);
        let callback = Callback::new(10);
        let outcome =
            cpu.run_while(&plan, &src, &mut vec![0; work.dst_bytes()], &|| callback.go_on());
        assert_eq!(outcome, Err(Error::Stopped), "{plan}");
        assert_eq!(callback.calls(), 11);
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn no_part_of_a_large_move_takes_long() {
    const GIB: usize = 1 << 30;
    let cpu = Cpu::new(Some(1));
    let works = [
        work(Flip::new(&[0]), &[4 * GIB], 4),
        work(Roll::new(&[12_345], &[0]), &[16 * GIB], 1),
        work(Transpose::new(&[]), &[1 << 17, 1 << 17], 1),
        work(Transpose::new(&[]), &[3, 5 * GIB], 1),
        work(Transpose::new(&[]), &[5 * GIB, 3], 1),
        work(Transpose::new(&[]), &[1 << 14, 1 << 14], 64),
        work(Transpose::new(&[]), &[128, 1 << 20], 64),
        work(Transpose::new(&[2, 1, 0]), &[1 << 11, 1 << 11, 1 << 11], 2),
        work(Transpose::new(&[1, 0, 2]), &[1 << 11, 1 << 11, 1 << 11], 2),
        work(Transpose::new(&[]), &[2, 2], 4 * GIB),
        work(ReverseSubsequences::new(1, vec![GIB as u64; 16]), &[16, GIB], 1),
        work(ReverseSubsequences::new(0, vec![9; 16]), &[GIB, 16], 1),
    ];
    for work in works {
        let plan = cpu.plan(&work);
        for part in plan.parts() {
            let step = &plan.steps()[part.step];
            let bytes = (part.end - part.first) * step.row_block * step.col_block * step.width;
            // The slowest kernels move about a gigabyte per second.
            assert!(bytes <= 32 << 20, "a part of {bytes} bytes in\n{plan}");
        }
    }
}

#[test]
fn a_panic_of_the_callback_reaches_the_caller() {
    for threads in [1, 3] {
        let work = work(Transpose::new(&[]), &[2031, 1621], 1);
        let (cpu, plan) = plan(&work, threads);
        let src = source(&work);
        let mut dst = vec![UNTOUCHED; work.dst_bytes()];
        let panics = catch_unwind(AssertUnwindSafe(|| {
            cpu.run_while(&plan, &src, &mut dst, &|| panic!("a callback that panics for the test"))
        }));
        assert!(panics.is_err());
        cpu.run(&plan, &src, &mut dst).unwrap();
        assert!(!dst.contains(&UNTOUCHED));
    }
}
