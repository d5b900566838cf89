//! Several threads, and the current context of each.

use std::ptr::null_mut;

use cudarc::driver::sys;
use trundle_core::Backend;
use trundle_testing::noise;

use super::devices::{FIRST, OnStream, WITHOUT_POOLS, device};
use super::moves::{moved, part, reverse, roll};
use crate::Cuda;

/// Runs a shared plan and one of this thread on a new stream.
fn move_on_a_new_stream(gpu: &Cuda, shared: &crate::CudaPlan, seed: usize) {
    let gpu = &OnStream::new(gpu).gpu;
    let (roll, reverse) = (roll(), reverse());
    for turn in 0..10 {
        let bytes = noise(8000 + seed + turn)[seed + turn..].to_vec();
        let src = gpu.buffer_of(&bytes).unwrap();
        let [mut reversed, rolled] = [gpu.buffer(8000), gpu.buffer(8000)].map(Result::unwrap);
        gpu.run(&gpu.plan(&reverse), &src, &mut reversed).unwrap();
        drop(src);
        gpu.run(shared, &reversed, &mut part(gpu, &rolled, 0, 8000)).unwrap();
        drop(reversed);
        assert_eq!(gpu.read(&rolled).unwrap(), moved(&roll, &moved(&reverse, &bytes)));
    }
}

#[test]
fn a_dozen_threads_use_one_stream_each() {
    let Some(gpu) = device(FIRST) else { return };
    let shared = gpu.plan(&roll());
    std::thread::scope(|scope| {
        for seed in 0..12 {
            let (gpu, shared) = (&gpu, &shared);
            scope.spawn(move || move_on_a_new_stream(gpu, shared, 100 * seed));
        }
    });
}

#[test]
fn a_device_is_opened_once() {
    let Some(gpu) = device(FIRST) else { return };
    let again = std::thread::scope(|scope| scope.spawn(|| Cuda::new(FIRST).unwrap()).join());
    assert!(std::ptr::eq(gpu.stream.context, again.unwrap().stream.context));
}

fn current() -> sys::CUcontext {
    let mut current = null_mut();
    // SAFETY: the pointer is to a local variable, and the driver is loaded.
    unsafe { sys::cuCtxGetCurrent(&raw mut current) }.result().unwrap();
    current
}

#[test]
fn the_current_context_is_unchanged() {
    let (Some(first), Some(second)) = (device(FIRST), device(WITHOUT_POOLS)) else { return };
    let work = reverse();
    let moves = |gpu: &Cuda| {
        let before = current();
        let bytes = noise(8000);
        let src = gpu.buffer_of(&bytes).unwrap();
        let mut dst = gpu.buffer(8000).unwrap();
        gpu.run(&gpu.plan(&work), &src, &mut dst).unwrap();
        assert_eq!(gpu.read(&dst).unwrap(), moved(&work, &bytes));
        gpu.buffer(1 << 46).unwrap_err();
        drop((src, dst));
        assert_eq!(current(), before);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(current().is_null());
            moves(&first);
            moves(&second);
            let _current = first.stream.context.current().unwrap();
            assert!(!current().is_null());
            moves(&first);
            moves(&second);
        });
    });
}
