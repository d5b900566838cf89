//! A one-shot call that came before allocates nothing but its result.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle::{DType, Shape, TensorView, TensorViewMut};

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

fn allocations(call: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    call();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn a_call_that_came_before_allocates_nothing() {
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
    // The result's bytes, and its shape and strides.
    let transposed = || drop(trundle::transpose(&data, &[2, 1, 0]).unwrap());
    assert!(allocations(transposed) > 3);
    assert!(allocations(transposed) <= 3);
}
