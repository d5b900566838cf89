//! Each test runs in its own thread, which starts without a setting.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use trundle::{ThreadPool, with_pool};

use super::*;

/// A matrix of u32 of some megabytes, and its transpose.
const SIZES: [u64; 2] = [1203, 1789];
const TURNED: [u64; 2] = [1789, 1203];

/// Runs everything on the calling thread, and records how many threads each run requests.
#[derive(Default)]
struct RequestRecorder(Mutex<Vec<usize>>);

impl ThreadPool for RequestRecorder {
    fn threads(&self) -> usize {
        8
    }

    fn run(&self, times: usize, work: &(dyn Fn() + Sync)) {
        self.0.lock().unwrap().push(times);
        work();
    }
}

impl RequestRecorder {
    fn threads_of_run(&self, call: impl FnOnce() -> trundle_status) -> usize {
        match self.threads_of_each_run(call)[..] {
            [] => 1,
            [threads] => threads,
            ref more => panic!("several runs: {more:?}"),
        }
    }

    /// Leaves out runs on a single thread.
    fn threads_of_each_run(&self, call: impl FnOnce() -> trundle_status) -> Vec<usize> {
        assert_ok(with_pool(self, call));
        self.0.lock().unwrap().drain(..).collect()
    }
}

fn planned() -> *mut trundle_plan {
    let (from, to) = (packed(TRUNDLE_DTYPE_U32, &SIZES), packed(TRUNDLE_DTYPE_U32, &TURNED));
    let mut plan = null_mut();
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe { trundle_transpose_plan(&from, null(), 0, &to, &mut plan) });
    plan
}

fn threads_of(plan: *const trundle_plan) -> usize {
    // SAFETY: the plan exists.
    unsafe { &*plan }.chain().cpu_plans().next().unwrap().threads()
}

#[test]
fn each_thread_sets_its_number_of_threads() {
    let elements = (SIZES[0] * SIZES[1]) as usize;
    let data: Vec<u32> = (0..elements as u32).collect();
    let mut out = vec![0u32; elements];
    let (from, to) = (packed(TRUNDLE_DTYPE_U32, &SIZES), packed(TRUNDLE_DTYPE_U32, &TURNED));
    let (src, dst): (*const c_void, *mut c_void) = (data.as_ptr().cast(), out.as_mut_ptr().cast());
    let recorder = RequestRecorder::default();

    let default = trundle_num_threads();
    assert_eq!(default, trundle::threads());
    // SAFETY: every pointer is valid for its description.
    let call = || unsafe { trundle_transpose(&from, src, null(), 0, &to, dst) };
    for (requested, expected) in [(3, 3), (1, 1), (2, 2), (1, 1)] {
        trundle_set_num_threads(requested);
        assert_eq!(trundle_num_threads(), requested);
        assert_eq!(recorder.threads_of_run(call), expected);
        let plan = planned();
        assert_eq!(threads_of(plan), expected);
        // The running thread can lower the count, but not raise it.
        for running in [1, 2, 8] {
            trundle_set_num_threads(running);
            // SAFETY: the pointers are valid for the plan's descriptions.
            let run = || unsafe { trundle_plan_run(plan, src, dst) };
            assert_eq!(recorder.threads_of_run(run), expected.min(running));
        }
        // SAFETY: no thread is running the plan.
        unsafe { trundle_plan_free(plan) };
    }
    let turned = |at: usize| (at % 1203 * 1789 + at / 1203) as u32;
    assert!(out.iter().enumerate().all(|(at, number)| *number == turned(at)));

    trundle_set_num_threads(0);
    assert_eq!(trundle_num_threads(), default);
    assert_eq!(recorder.threads_of_run(call), 8);
}

#[test]
fn every_move_of_a_plan_uses_the_set_number_of_threads() {
    let (rows, half) = ([512, 1024], [512, 512]);
    let (desc, part) =
        (packed(TRUNDLE_DTYPE_COMPLEX128, &rows), packed(TRUNDLE_DTYPE_COMPLEX128, &half));
    let data = vec![[7.0f64; 2]; 512 * 1024];
    let mut out = vec![[0.0f64; 2]; 512 * 1024];
    let (from, to): (*const c_void, *mut c_void) = (data.as_ptr().cast(), out.as_mut_ptr().cast());
    let outputs = [to, to.wrapping_byte_add(512 * 512 * 16)];
    let at = packed(TRUNDLE_DTYPE_I64, &rows);
    let indices: Vec<i64> = (0..512 * 1024).map(|at| at % 512).collect();
    let (indices, recorder) = (indices.as_ptr().cast(), RequestRecorder::default());
    for (requested, running) in [(3, 8), (3, 2), (4, 8), (2, 1)] {
        trundle_set_num_threads(requested);
        let (mut split, mut scatter, mut gather) = (null_mut(), null_mut(), null_mut());
        // SAFETY: every pointer is valid for its description.
        unsafe {
            assert_ok(trundle_split_plan(&desc, [part; 2].as_ptr(), 2, 1, &mut split));
            assert_ok(trundle_scatter_elements_plan(
                &desc,
                &at,
                indices,
                &desc,
                0,
                &desc,
                &mut scatter,
            ));
            let made = trundle_gather_elements_plan(&desc, &at, indices, 0, &desc, &mut gather);
            assert_ok(made);
            trundle_set_num_threads(running);
            let expected = requested.min(running);
            let run = || trundle_plan_run_outputs(split, from, outputs.as_ptr(), 2);
            assert_eq!(recorder.threads_of_each_run(run), [expected; 2]);
            // Three moves: the data, the check of the indices, and the updates.
            let run = || trundle_plan_run_inputs(scatter, [from; 2].as_ptr(), 2, to);
            assert_eq!(recorder.threads_of_each_run(run), [expected; 3]);
            assert_eq!(recorder.threads_of_run(|| trundle_plan_run(gather, from, to)), expected);
            [split, scatter, gather].into_iter().for_each(|plan| trundle_plan_free(plan));
        }
    }
    assert!(out == data);
}

#[test]
fn a_setting_applies_to_its_own_thread_only() {
    let default = trundle_num_threads();
    trundle_set_num_threads(default + 1);
    let other_thread = std::thread::spawn(|| {
        let before = trundle_num_threads();
        trundle_set_num_threads(77);
        (before, trundle_num_threads())
    });
    assert_eq!(other_thread.join().unwrap(), (default, 77));
    assert_eq!(trundle_num_threads(), default + 1);
}

#[test]
fn huge_settings_are_limited_by_the_work() {
    trundle_set_num_threads(usize::MAX);
    let plan = planned();
    // Each thread moves about a megabyte.
    assert!((3..100).contains(&threads_of(plan)));
    // SAFETY: no thread is running the plan.
    unsafe { trundle_plan_free(plan) };
}
