//! A plan's run allocates nothing, nor does a call that came before.

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::ptr::null_mut;

use super::*;

/// The system's allocator, with a count of each thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
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
    let before = ALLOCATIONS.with(Cell::get);
    call();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn a_run_allocates_nothing_and_a_refusal_its_message() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[30, 40]);
    let mut plan = null_mut();
    let (mut data, mut out) = (Guarded::new(4800), Guarded::new(4800));
    let (data, out) = (data.start(), out.start());
    let list = [3, -1];
    // SAFETY: all pointers lead to what is described.
    unsafe {
        let shift = list.as_ptr();
        let made = || {
            assert_ok(trundle_roll_plan(&desc, shift, 2, [0, 1].as_ptr(), 2, &desc, &mut plan));
        };
        assert!(allocations(made) > 0);
        assert_eq!(allocations(|| assert_ok(trundle_plan_run(plan, data, out))), 0);
        assert_eq!(allocations(|| assert_ok(trundle_plan_run(plan, data, out))), 0);
        let overlapping = || assert_ne!(trundle_plan_run(plan, data, data), TRUNDLE_OK);
        assert!(allocations(overlapping) > 0);
        trundle_plan_free(plan);
    }
}

#[test]
fn a_call_that_came_before_allocates_nothing() {
    let desc = strided(TRUNDLE_DTYPE_U32, &[30, 40], &[40, 1]);
    let (mut data, mut out) = (Guarded::new(4800), Guarded::new(4800));
    let (data, out) = (data.start(), out.start());
    // SAFETY: all pointers lead to what is described.
    let flip = |axis: i64| unsafe { trundle_flip(&desc, data, &raw const axis, 1, &desc, out) };
    assert!(allocations(|| assert_ok(flip(0))) > 0);
    assert_eq!(allocations(|| assert_ok(flip(0))), 0);
    assert!(allocations(|| assert_ok(flip(1))) > 0);
    assert_eq!(allocations(|| assert_ok(flip(0))), 0);
}
