//! Plans: made once, run often, by several threads.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::*;

/// A plan that is freed in the end.
struct Owned(*mut trundle_plan);

// SAFETY: several threads may run one plan.
unsafe impl Sync for Owned {}

impl Owned {
    fn new(make: impl FnOnce(*mut *mut trundle_plan) -> trundle_status) -> Owned {
        let mut plan = null_mut();
        assert_ok(make(&mut plan));
        assert!(!plan.is_null());
        Owned(plan)
    }

    fn run(&self, data: *const c_void, out: *mut c_void) -> trundle_status {
        // SAFETY: the callers' pointers lead to what was described, or are refused.
        unsafe { trundle_plan_run(self.0, data, out) }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: nobody runs it any more.
        unsafe { trundle_plan_free(self.0) };
    }
}

fn transposing(desc: trundle_tensor_desc, out: trundle_tensor_desc) -> Owned {
    // SAFETY: all pointers lead to what is described.
    Owned::new(|plan| unsafe { trundle_transpose_plan(&desc, null(), 0, &out, plan) })
}

#[test]
fn a_plan_does_what_the_call_does() {
    let desc = packed(TRUNDLE_DTYPE_U16, &[2, 3]);
    let mut data = Guarded::of(&bytes!(u16: 1, 2, 3, 4, 5, 6));
    let mut out = Guarded::new(12);

    let plan = transposing(desc, packed(TRUNDLE_DTYPE_U16, &[3, 2]));
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 1, 4, 2, 5, 3, 6));

    // SAFETY: all pointers lead to what is described.
    let plan = Owned::new(|plan| unsafe {
        trundle_roll_plan(&desc, [1].as_ptr(), 1, [-1].as_ptr(), 1, &desc, plan)
    });
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 3, 1, 2, 6, 4, 5));

    let lengths_desc = packed(TRUNDLE_DTYPE_U32, &[2, 1]);
    let mut lengths = [2u32, 9];
    // SAFETY: the same.
    let plan = Owned::new(|plan| unsafe {
        let lengths = lengths.as_ptr().cast();
        trundle_reverse_subsequences_plan(&desc, &lengths_desc, lengths, 1, &desc, plan)
    });
    // They have been read.
    lengths.fill(0);
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 2, 1, 3, 6, 5, 4));

    // SAFETY: the same.
    let plan = Owned::new(|plan| unsafe { trundle_flip_plan(&desc, [0].as_ptr(), 1, &desc, plan) });
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 4, 5, 6, 1, 2, 3));

    let mut lengths = [3, 2];
    // SAFETY: the same.
    let plan = Owned::new(|plan| unsafe {
        trundle_reverse_sequence_plan(&desc, lengths.as_ptr(), 2, 1, -2, &desc, plan)
    });
    lengths.fill(-1);
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 3, 2, 1, 5, 4, 6));
}

#[test]
fn a_plan_says_what_it_does() {
    let desc = packed(TRUNDLE_DTYPE_U16, &[2, 3]);
    let plan = transposing(desc, packed(TRUNDLE_DTYPE_U16, &[3, 2]));
    // SAFETY: the plan was made.
    let expected = unsafe { &*plan.0 }.plan.to_string();
    assert!(expected.contains("1 pass over memory") && expected.contains("transpose("));
    let bytes = expected.len() + 1;
    let mut needed = 0;
    let mut text = Guarded::new(bytes + 9);
    // SAFETY: all pointers lead to what is described, or are refused.
    let describe = |text: *mut c_void, capacity, needed: *mut usize| unsafe {
        trundle_plan_describe(plan.0, text.cast(), capacity, needed)
    };
    assert_ok(describe(null_mut(), 0, &mut needed));
    assert_eq!(needed, bytes);
    assert_ok(describe(null_mut(), 0, null_mut()));
    needed = 7;
    for capacity in [1, bytes - 1] {
        let refused = describe(text.start(), capacity, &mut needed);
        assert_eq!(refused, TRUNDLE_ERROR_BUFFER_SIZE);
        let words = format!("buffer has room for {capacity}, of {bytes} that are needed");
        assert_eq!(last_message(), words);
    }
    assert_eq!(describe(null_mut(), bytes, &mut needed), TRUNDLE_ERROR_NULL_POINTER);
    let odd = (&raw mut needed).wrapping_byte_add(1);
    assert_eq!(describe(text.start(), bytes, odd), TRUNDLE_ERROR_MISALIGNED);
    let beyond = std::ptr::without_provenance_mut(usize::MAX);
    assert_eq!(describe(beyond, bytes, &mut needed), TRUNDLE_ERROR_TOO_LARGE);
    assert_eq!(needed, 7);
    text.assert_untouched();
    // SAFETY: there is no plan, which is refused.
    let refused = unsafe { trundle_plan_describe(null(), text.start().cast(), 9, &mut needed) };
    assert_eq!((refused, needed), (TRUNDLE_ERROR_NULL_POINTER, 7));
    text.assert_untouched();

    let words = [expected.as_bytes(), &[0], &[GUARD; 9]].concat();
    for (capacity, needed) in [(bytes, &raw mut needed), (bytes + 9, null_mut())] {
        text.content_mut().fill(GUARD);
        assert_ok(describe(text.start(), capacity, needed));
        text.assert_is(&words);
    }
    assert_eq!(needed, bytes);
}

#[test]
fn several_threads_run_one_plan() {
    let (sizes, turned) = ([300, 400], [400, 300]);
    let plan = transposing(packed(TRUNDLE_DTYPE_U32, &sizes), packed(TRUNDLE_DTYPE_U32, &turned));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let plan = &plan;
            scope.spawn(move || {
                let data: Vec<u32> = (0..120_000).map(|number| number + thread).collect();
                let expected: Vec<u32> =
                    (0..120_000).map(|number| number % 300 * 400 + number / 300 + thread).collect();
                for _ in 0..20 {
                    let mut out = vec![0u32; 120_000];
                    assert_ok(plan.run(data.as_ptr().cast(), out.as_mut_ptr().cast()));
                    assert!(out == expected);
                }
            });
        }
    });
}

#[test]
fn what_a_plan_is_run_on_is_checked_each_time() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 2]);
    let plan = transposing(desc, desc);
    let (mut data, mut out) = (Guarded::new(16), Guarded::new(32));
    for (status, refused) in [
        (TRUNDLE_ERROR_NULL_POINTER, plan.run(null(), out.start())),
        (TRUNDLE_ERROR_NULL_POINTER, plan.run(data.start(), null_mut())),
        (TRUNDLE_ERROR_MISALIGNED, plan.run(data.at(1), out.start())),
        (TRUNDLE_ERROR_MISALIGNED, plan.run(data.start(), out.at(2))),
        (TRUNDLE_ERROR_OVERLAP, plan.run(out.at(12), out.start())),
    ] {
        assert_eq!(refused, status, "{}", last_message());
    }
    // SAFETY: there is no plan, which is refused.
    let refused = unsafe { trundle_plan_run(null(), data.start(), out.start()) };
    assert_eq!(refused, TRUNDLE_ERROR_NULL_POINTER);
    out.assert_untouched();
}

#[test]
fn what_cannot_be_planned_leaves_the_pointer_as_it_was() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 3]);
    let other = packed(TRUNDLE_DTYPE_U32, &[2, 2]);
    let folded = strided(TRUNDLE_DTYPE_U32, &[2, 3], &[0, 1]);
    let mut kept = std::ptr::without_provenance_mut(8);
    let plan = &raw mut kept;
    let one = [1].as_ptr();
    // SAFETY: what is wrong is refused before it is followed.
    let refusals = unsafe {
        [
            (TRUNDLE_ERROR_AXIS, trundle_transpose_plan(&desc, [2, 0].as_ptr(), 2, &desc, plan)),
            (TRUNDLE_ERROR_SHAPE, trundle_transpose_plan(&desc, null(), 0, &other, plan)),
            (TRUNDLE_ERROR_SHAPE, trundle_roll_plan(&desc, one, 1, one, 1, &other, plan)),
            (TRUNDLE_ERROR_SELF_OVERLAP, trundle_roll_plan(&desc, one, 1, one, 1, &folded, plan)),
            (
                TRUNDLE_ERROR_SHAPE,
                trundle_reverse_subsequences_plan(&desc, &desc, null(), 0, &desc, plan),
            ),
            (
                TRUNDLE_ERROR_NULL_POINTER,
                trundle_roll_plan(&desc, one, 1, one, 1, &desc, null_mut()),
            ),
            (TRUNDLE_ERROR_AXIS, trundle_flip_plan(&desc, [1, 1].as_ptr(), 2, &desc, plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_flip_plan(&desc, null(), 1, &desc, plan)),
            (TRUNDLE_ERROR_RANK, trundle_flip_plan(&desc, one, usize::MAX, &desc, plan)),
            (TRUNDLE_ERROR_SHAPE, trundle_flip_plan(&desc, one, 1, &other, plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_flip_plan(&desc, one, 1, &desc, null_mut())),
            (
                TRUNDLE_ERROR_LENGTH,
                trundle_reverse_sequence_plan(&desc, [1, 4].as_ptr(), 2, 1, 0, &desc, plan),
            ),
            (
                TRUNDLE_ERROR_SHAPE,
                trundle_reverse_sequence_plan(&desc, null(), usize::MAX, 1, 0, &desc, plan),
            ),
            (
                TRUNDLE_ERROR_NULL_POINTER,
                trundle_reverse_sequence_plan(&desc, null(), 2, 1, 0, &desc, plan),
            ),
            (
                TRUNDLE_ERROR_AXIS,
                trundle_reverse_sequence_plan(&desc, [1, 1].as_ptr(), 2, 0, 0, &desc, plan),
            ),
        ]
    };
    for (status, refused) in refusals {
        assert_eq!(refused, status, "{}", last_message());
    }
    assert_eq!(kept.addr(), 8);
    // SAFETY: there is nothing to free.
    unsafe { trundle_plan_free(null_mut()) };
}
