//! Tests that work on a stream runs in order, and that calls do not wait for it.

use trundle_core::Backend;
use trundle_testing::noise;

use super::devices::{FIRST, OnStream, WITHOUT_POOLS, device, emulated};
use super::moves::{moved, part, reverse, roll};
use crate::Cuda;

/// Drops the buffers and the plan's tables before the stream has run.
fn check_freed_in_order(gpu: &Cuda) {
    let (reverse, roll, bytes) = (reverse(), roll(), noise(8000));
    let expected = moved(&roll, &moved(&reverse, &bytes));
    for _ in 0..3 {
        let mut dst = gpu.buffer(8000).unwrap();
        {
            let src = gpu.buffer_of(&bytes).unwrap();
            let mut reversed = gpu.buffer(8000).unwrap();
            let plan = gpu.plan(&reverse);
            assert!(plan.has_tables());
            gpu.run(&plan, &src, &mut reversed).unwrap();
            gpu.run(&gpu.plan(&roll), &reversed, &mut dst).unwrap();
        }
        let mut copied = gpu.buffer(8000).unwrap();
        gpu.copy(&dst, &mut copied).unwrap();
        drop(dst);
        assert_eq!(gpu.read(&copied).unwrap(), expected);
    }
}

#[test]
fn memory_is_freed_after_the_runs_that_read_it() {
    let Some(gpu) = device(FIRST) else { return };
    check_freed_in_order(&gpu);
    check_freed_in_order(&OnStream::new(&gpu).gpu);
    check_freed_in_order(&OnStream::blocking(&gpu).gpu);
}

#[test]
fn without_pools_memory_is_freed_after_the_runs_that_read_it() {
    let Some(gpu) = emulated(WITHOUT_POOLS) else { return };
    check_freed_in_order(&gpu);
    check_freed_in_order(&OnStream::new(&gpu).gpu);
}

/// Another stream does not see the result before a wait.
#[test]
fn a_run_does_not_wait() {
    let Some(gpu) = emulated(FIRST) else { return };
    let (roll, bytes) = (roll(), noise(8000));
    let [src, dst] = [gpu.buffer_of(&bytes), gpu.buffer(8000)].map(Result::unwrap);
    gpu.wait().unwrap();
    let [here, there] = [OnStream::new(&gpu), OnStream::new(&gpu)];
    let plan = here.gpu.plan(&roll);
    let [from, mut to] = [&src, &dst].map(|buffer| part(&here.gpu, buffer, 0, 8000));
    here.gpu.run(&plan, &from, &mut to).unwrap();
    let seen = || there.gpu.read(&part(&there.gpu, &dst, 0, 8000)).unwrap();
    assert_eq!(seen(), [0; 8000]);
    here.gpu.wait().unwrap();
    assert_eq!(seen(), moved(&roll, &bytes));
}

/// Copying the tables of a plan does not wait either.
#[test]
fn planning_does_not_wait() {
    let Some(gpu) = emulated(FIRST) else { return };
    let (roll, reverse, bytes) = (roll(), reverse(), noise(8000));
    let [src, rolled, reversed] =
        [gpu.buffer_of(&bytes), gpu.buffer(8000), gpu.buffer(8000)].map(Result::unwrap);
    gpu.wait().unwrap();
    let [here, there] = [OnStream::new(&gpu), OnStream::new(&gpu)];
    let from = part(&here.gpu, &src, 0, 8000);
    here.gpu.run(&here.gpu.plan(&roll), &from, &mut part(&here.gpu, &rolled, 0, 8000)).unwrap();
    for _ in 0..3 {
        let plan = here.gpu.plan(&reverse);
        assert!(plan.has_tables());
        here.gpu.run(&plan, &from, &mut part(&here.gpu, &reversed, 0, 8000)).unwrap();
    }
    let seen = |buffer| there.gpu.read(&part(&there.gpu, buffer, 0, 8000)).unwrap();
    assert_eq!([seen(&rolled), seen(&reversed)], [[0; 8000], [0; 8000]]);
    here.gpu.wait().unwrap();
    assert_eq!([seen(&rolled), seen(&reversed)], [moved(&roll, &bytes), moved(&reverse, &bytes)]);
}

/// `go_on` is called before each part of a run, not after the last.
#[test]
fn a_run_can_be_stopped() {
    let Some(gpu) = device(FIRST) else { return };
    let bytes = noise(8000);
    let src = gpu.buffer_of(&bytes).unwrap();
    let mut dst = gpu.buffer(8000).unwrap();
    let stopped = gpu.run_while(&gpu.plan(&roll()), &src, &mut dst, &|| false);
    assert_eq!(stopped, Err(trundle_core::Error::Stopped));
    assert_eq!(gpu.read(&dst).unwrap(), [0; 8000]);
}

#[test]
fn the_default_stream_and_blocking_ones_wait_for_each_other() {
    let Some(gpu) = device(FIRST) else { return };
    let (roll, bytes) = (roll(), noise(8000));
    let other = OnStream::blocking(&gpu);
    let src = gpu.buffer_of(&bytes).unwrap();
    let [once, twice] = [gpu.buffer(8000), gpu.buffer(8000)].map(Result::unwrap);
    let plan = gpu.plan(&roll);
    gpu.run(&plan, &src, &mut part(&gpu, &once, 0, 8000)).unwrap();
    let [from, mut to] = [&once, &twice].map(|buffer| part(&other.gpu, buffer, 0, 8000));
    other.gpu.run(&plan, &from, &mut to).unwrap();
    assert_eq!(gpu.read(&twice).unwrap(), moved(&roll, &moved(&roll, &bytes)));
}

/// Borrowed buffers may begin at any address. Bytes around them do not change.
#[test]
fn borrowed_buffers_can_begin_at_any_address() {
    let Some(gpu) = device(FIRST) else { return };
    let OnStream { gpu, .. } = &OnStream::new(&gpu);
    for work in [roll(), reverse()] {
        let (plan, some) = (gpu.plan(&work), noise(8016));
        let src = gpu.buffer_of(&some).unwrap();
        for shift in 0..16 {
            let dst = gpu.buffer(8016).unwrap();
            let [from, mut to] = [&src, &dst].map(|buffer| part(gpu, buffer, shift, 8000));
            gpu.run(&plan, &from, &mut to).unwrap();
            let made = gpu.read(&dst).unwrap();
            assert_eq!(made[shift..shift + 8000], moved(&work, &some[shift..shift + 8000]));
            let mut around = made[..shift].iter().chain(&made[shift + 8000..]);
            assert!(around.all(|byte| *byte == 0));
        }
    }
}
