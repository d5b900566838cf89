//! How many threads calls and plans use. Each test runs in a thread of its own, which has said nothing.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use trundle::{ThreadPool, with_pool};

use super::*;

/// Sides of a matrix of u32 that is some megabytes, and the opposite.
const SIZES: [u64; 2] = [1203, 1789];
const TURNED: [u64; 2] = [1789, 1203];

/// Runs all on the calling thread, and notes how many threads it was asked for each time.
#[derive(Default)]
struct Asked(Mutex<Vec<usize>>);

impl ThreadPool for Asked {
    fn threads(&self) -> usize {
        8
    }

    fn run(&self, times: usize, work: &(dyn Fn() + Sync)) {
        self.0.lock().unwrap().push(times);
        work();
    }
}

impl Asked {
    /// How many threads a call was run by.
    fn by(&self, call: impl FnOnce() -> trundle_status) -> usize {
        assert_ok(with_pool(self, call));
        let mut asked = self.0.lock().unwrap();
        match asked.drain(..).collect::<Vec<_>>()[..] {
            [] => 1,
            [threads] => threads,
            ref more => panic!("several runs: {more:?}"),
        }
    }
}

fn planned() -> *mut trundle_plan {
    let (from, to) = (packed(TRUNDLE_DTYPE_U32, &SIZES), packed(TRUNDLE_DTYPE_U32, &TURNED));
    let mut plan = null_mut();
    // SAFETY: all pointers lead to what is described.
    assert_ok(unsafe { trundle_transpose_plan(&from, null(), 0, &to, &mut plan) });
    plan
}

/// How many threads a plan is made for.
fn threads_of(plan: *const trundle_plan) -> usize {
    // SAFETY: the plan was made.
    unsafe { &*plan }.of_chain().cpu_plans().next().unwrap().threads()
}

#[test]
fn a_thread_says_how_many_take_part() {
    let elements = (SIZES[0] * SIZES[1]) as usize;
    let data: Vec<u32> = (0..elements as u32).collect();
    let mut out = vec![0u32; elements];
    let (from, to) = (packed(TRUNDLE_DTYPE_U32, &SIZES), packed(TRUNDLE_DTYPE_U32, &TURNED));
    let (src, dst): (*const c_void, *mut c_void) = (data.as_ptr().cast(), out.as_mut_ptr().cast());
    let asked = Asked::default();

    let default = trundle_num_threads();
    assert_eq!(default, trundle::threads());
    // SAFETY: all pointers lead to what is described.
    let call = || unsafe { trundle_transpose(&from, src, null(), 0, &to, dst) };
    for (said, expected) in [(3, 3), (1, 1), (2, 2), (1, 1)] {
        trundle_set_num_threads(said);
        assert_eq!(trundle_num_threads(), said);
        assert_eq!(asked.by(call), expected);
        let plan = planned();
        assert_eq!(threads_of(plan), expected);
        // Whoever runs it may say less, and not more.
        for running in [1, 2, 8] {
            trundle_set_num_threads(running);
            // SAFETY: the plan was made for these.
            let run = || unsafe { trundle_plan_run(plan, src, dst) };
            assert_eq!(asked.by(run), expected.min(running));
        }
        // SAFETY: nobody runs it any more.
        unsafe { trundle_plan_free(plan) };
    }
    let turned = |at: usize| (at % 1203 * 1789 + at / 1203) as u32;
    assert!(out.iter().enumerate().all(|(at, number)| *number == turned(at)));

    trundle_set_num_threads(0);
    assert_eq!(trundle_num_threads(), default);
    assert_eq!(asked.by(call), 8);
}

#[test]
fn threads_say_it_for_themselves() {
    let default = trundle_num_threads();
    trundle_set_num_threads(default + 1);
    let there = std::thread::spawn(|| {
        let before = trundle_num_threads();
        trundle_set_num_threads(77);
        (before, trundle_num_threads())
    });
    assert_eq!(there.join().unwrap(), (default, 77));
    assert_eq!(trundle_num_threads(), default + 1);
}

#[test]
fn no_number_is_too_large() {
    trundle_set_num_threads(usize::MAX);
    let plan = planned();
    // Each thread has some megabyte to move.
    assert!((3..100).contains(&threads_of(plan)));
    // SAFETY: nobody runs it.
    unsafe { trundle_plan_free(plan) };
}
