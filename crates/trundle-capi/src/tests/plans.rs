//! Plans: made once, run many times, by several threads.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::*;

/// A plan that is freed on drop.
pub(super) struct Owned(pub(super) *mut trundle_plan);

// SAFETY: several threads may run the same plan.
unsafe impl Sync for Owned {}

impl Owned {
    pub(super) fn new(make: impl FnOnce(*mut *mut trundle_plan) -> trundle_status) -> Owned {
        let mut plan = null_mut();
        assert_ok(make(&mut plan));
        assert!(!plan.is_null());
        Owned(plan)
    }

    pub(super) fn run(&self, data: *const c_void, out: *mut c_void) -> trundle_status {
        // SAFETY: the callers' pointers are valid for the plan's descriptions, or the call rejects them.
        unsafe { trundle_plan_run(self.0, data, out) }
    }

    pub(super) fn run_inputs(&self, inputs: &[*const c_void], out: *mut c_void) -> trundle_status {
        // SAFETY: as above.
        unsafe { trundle_plan_run_inputs(self.0, inputs.as_ptr(), inputs.len(), out) }
    }

    pub(super) fn run_outputs(
        &self,
        data: *const c_void,
        outputs: &[*mut c_void],
    ) -> trundle_status {
        // SAFETY: as above.
        unsafe { trundle_plan_run_outputs(self.0, data, outputs.as_ptr(), outputs.len()) }
    }

    pub(super) fn words(&self) -> String {
        // SAFETY: the plan exists.
        unsafe { &*self.0 }.to_string()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: no thread is running the plan.
        unsafe { trundle_plan_free(self.0) };
    }
}

fn transposing(desc: trundle_tensor_desc, out: trundle_tensor_desc) -> Owned {
    // SAFETY: every pointer is valid for its description.
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

    // SAFETY: every pointer is valid for its description.
    let plan = Owned::new(|plan| unsafe {
        trundle_roll_plan(&desc, [1].as_ptr(), 1, [-1].as_ptr(), 1, &desc, plan)
    });
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 3, 1, 2, 6, 4, 5));

    let lengths_desc = packed(TRUNDLE_DTYPE_U32, &[2, 1]);
    let mut lengths = [2u32, 9];
    // SAFETY: as above.
    let plan = Owned::new(|plan| unsafe {
        let lengths = lengths.as_ptr().cast();
        trundle_reverse_subsequences_plan(&desc, &lengths_desc, lengths, 1, &desc, plan)
    });
    // The plan no longer reads them.
    lengths.fill(0);
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 2, 1, 3, 6, 5, 4));

    // SAFETY: as above.
    let plan = Owned::new(|plan| unsafe { trundle_flip_plan(&desc, [0].as_ptr(), 1, &desc, plan) });
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 4, 5, 6, 1, 2, 3));

    let mut lengths = [3, 2];
    // SAFETY: as above.
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
    let expected = plan.words();
    assert!(expected.contains("1 pass over memory") && expected.contains("transpose("));
    let bytes = expected.len() + 1;
    let mut needed = 0;
    let mut text = Guarded::new(bytes + 9);
    // SAFETY: every pointer is valid for its description, or the call rejects it.
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
    // SAFETY: a null plan is rejected.
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

/// Plans a concatenation along the last axis.
fn concatenating(descs: &[trundle_tensor_desc], out: trundle_tensor_desc) -> Owned {
    // SAFETY: every pointer is valid for its description.
    Owned::new(|plan| unsafe {
        trundle_concatenate_plan(descs.as_ptr(), descs.len(), -1, &out, plan)
    })
}

#[test]
fn plans_of_several_inputs_pads_and_gathers_do_what_the_calls_do() {
    let (two, three) = (packed(TRUNDLE_DTYPE_U16, &[2, 2]), packed(TRUNDLE_DTYPE_U16, &[2, 3]));
    let mut one = Guarded::of(&bytes!(u16: 1, 2, 3, 4));
    let mut other = Guarded::of(&bytes!(u16: 5, 6, 7, 8, 9, 10));
    let mut out = Guarded::new(20);
    let plan = concatenating(&[two, three], packed(TRUNDLE_DTYPE_U16, &[2, 5]));
    assert_ok(plan.run_inputs(&[one.start(), other.start()], out.start()));
    out.assert_is(&bytes!(u16: 1, 2, 5, 6, 7, 3, 4, 8, 9, 10));
    assert!(plan.words().starts_with("2 moves, 20 bytes\nfrom input 0 to output 0: "));
    // The same memory as both inputs.
    let plan = concatenating(&[two; 2], packed(TRUNDLE_DTYPE_U16, &[2, 4]));
    let mut out = Guarded::new(16);
    assert_ok(plan.run_inputs(&[one.start().cast_const(); 2], out.start()));
    out.assert_is(&bytes!(u16: 1, 2, 1, 2, 3, 4, 3, 4));

    let (mut value, mut widths) = (7u16, [0, 1]);
    let mut out = Guarded::new(18);
    // SAFETY: every pointer is valid for its description.
    let plan = Owned::new(|plan| unsafe {
        let (to, value) = (packed(TRUNDLE_DTYPE_U16, &[3, 3]), (&raw const value).cast());
        trundle_pad_plan(&two, widths.as_ptr(), 2, TRUNDLE_PAD_CONSTANT, value, &to, plan)
    });
    // The plan no longer reads them.
    (value, widths) = (0, [9, 9]);
    assert_ok(plan.run(one.start(), out.start()));
    out.assert_is(&bytes!(u16: 1, 2, 7, 3, 4, 7, 7, 7, 7));
    assert_eq!((value, widths), (0, [9, 9]));

    let mut indices = [1i64, -1, 0];
    let mut out = Guarded::new(12);
    // SAFETY: as above.
    let plan = Owned::new(|plan| unsafe {
        let at = packed(TRUNDLE_DTYPE_I64, &[3]);
        trundle_gather_plan(&two, &at, indices.as_ptr().cast(), 1, &three, plan)
    });
    indices.fill(99);
    assert_ok(plan.run_inputs(&[one.start()], out.start()));
    out.assert_is(&bytes!(u16: 2, 2, 1, 4, 4, 3));
    assert!(plan.words().contains("take("));
}

#[test]
fn a_plan_is_run_on_as_many_inputs_as_it_was_made_for() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 2]);
    let both = concatenating(&[desc; 2], packed(TRUNDLE_DTYPE_U32, &[2, 4]));
    let one = transposing(desc, desc);
    let (mut data, mut out) = (Guarded::new(16), Guarded::new(48));
    let at = data.start().cast_const();
    let to = out.start();
    let odd = data.at(2).cast_const();
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    let listed =
        |plan: &Owned, list, count, to| unsafe { trundle_plan_run_inputs(plan.0, list, count, to) };
    let list = [at; 2];
    for (status, words, refused) in [
        (TRUNDLE_ERROR_SHAPE, "for 2 inputs, and is run on 1", &|| both.run(at, to)),
        (TRUNDLE_ERROR_SHAPE, "for 2 inputs, and is run on 0", &|| both.run_inputs(&[], to)),
        (TRUNDLE_ERROR_SHAPE, "for 2 inputs, and is run on 3", &|| both.run_inputs(&[at; 3], to)),
        (TRUNDLE_ERROR_SHAPE, "for 1 input, and is run on 2", &|| one.run_inputs(&[at; 2], to)),
        (TRUNDLE_ERROR_SHAPE, "for 1 input, and is run on 0", &|| one.run_inputs(&[], to)),
        (TRUNDLE_ERROR_NULL_POINTER, "inputs is a null", &|| listed(&both, null(), 2, to)),
        (TRUNDLE_ERROR_MISALIGNED, "inputs is 0x", &|| {
            listed(&both, list.as_ptr().wrapping_byte_add(1), 2, to)
        }),
        (TRUNDLE_ERROR_RANK, "inputs has 65537 entries", &|| {
            listed(&both, list.as_ptr(), 65537, to)
        }),
        (TRUNDLE_ERROR_NULL_POINTER, "inputs[1]: data is a null", &|| {
            both.run_inputs(&[at, null()], to)
        }),
        (TRUNDLE_ERROR_NULL_POINTER, "out is a null", &|| both.run_inputs(&list, null_mut())),
        (TRUNDLE_ERROR_MISALIGNED, "inputs[0]: data is 0x", &|| both.run_inputs(&[odd, at], to)),
        (TRUNDLE_ERROR_OVERLAP, "overlaps data", &|| {
            both.run_inputs(&[at, to.wrapping_byte_add(28)], to)
        }),
    ] as [(_, _, &dyn Fn() -> _); 12]
    {
        assert_eq!(refused(), status, "{words}: {}", last_message());
        assert!(last_message().contains(words), "{words}: {}", last_message());
    }
    // SAFETY: a null plan is rejected.
    let refused = unsafe { trundle_plan_run_inputs(null(), list.as_ptr(), 2, to) };
    assert_eq!(refused, TRUNDLE_ERROR_NULL_POINTER);
    out.assert_untouched();
    // The list of pointers is in the memory of the output.
    let mut own = Guarded::of(&[0; 48]);
    let within = own.at(16).cast::<*const c_void>();
    // SAFETY: the buffer has room for two pointers.
    unsafe { within.cast::<[*const c_void; 2]>().write(list) };
    assert_eq!(listed(&both, within, 2, own.start()), TRUNDLE_ERROR_OVERLAP);
    assert!(last_message().contains("overlaps inputs at 0x"), "{}", last_message());
    // SAFETY: as above.
    assert_eq!(unsafe { within.cast::<[*const c_void; 2]>().read() }, list);
}

#[test]
fn a_gather_of_nothing_is_planned_without_an_index() {
    // The indices are not read, so they may be out of range.
    for (from, at, axis, to) in [([3, 0], [3], 0, [3, 0]), ([0, 3], [2], 1, [0, 2])] {
        let (from, to) = (packed(TRUNDLE_DTYPE_F32, &from), packed(TRUNDLE_DTYPE_F32, &to));
        let at_desc = packed(TRUNDLE_DTYPE_I64, &at);
        let indices = [i64::MAX; 3];
        // SAFETY: every pointer is valid for its description.
        let plan = Owned::new(|plan| unsafe {
            trundle_gather_plan(&from, &at_desc, indices.as_ptr().cast(), axis, &to, plan)
        });
        assert_ok(plan.run(null(), null_mut()));
        assert_eq!(plan.run_inputs(&[null(); 2], null_mut()), TRUNDLE_ERROR_SHAPE);
        assert_eq!(plan.words(), "0 moves, 0 bytes");
    }
}

#[test]
fn several_threads_run_one_plan_of_several_inputs() {
    let (sizes, joined) = ([50, 60], [50, 120]);
    let desc = packed(TRUNDLE_DTYPE_U32, &sizes);
    let plan = concatenating(&[desc; 2], packed(TRUNDLE_DTYPE_U32, &joined));
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let plan = &plan;
            scope.spawn(move || {
                let one: Vec<u32> = (0..3000).map(|number| number + thread).collect();
                let other: Vec<u32> = one.iter().map(|number| number + 7000).collect();
                let rows = one.chunks(60).zip(other.chunks(60));
                let expected: Vec<u32> =
                    rows.flat_map(|(one, other)| [one, other].concat()).collect();
                for _ in 0..50 {
                    let mut out = vec![0u32; 6000];
                    let inputs = [one.as_ptr().cast(), other.as_ptr().cast()];
                    assert_ok(plan.run_inputs(&inputs, out.as_mut_ptr().cast()));
                    assert!(out == expected);
                }
            });
        }
    });
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
    // SAFETY: a null plan is rejected.
    let refused = unsafe { trundle_plan_run(null(), data.start(), out.start()) };
    assert_eq!(refused, TRUNDLE_ERROR_NULL_POINTER);
    out.assert_untouched();
}

#[test]
fn what_cannot_be_planned_leaves_the_pointer_as_it_was() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 3]);
    let other = packed(TRUNDLE_DTYPE_U32, &[2, 2]);
    let (index, row) = (packed(TRUNDLE_DTYPE_I64, &[1]), packed(TRUNDLE_DTYPE_U32, &[1, 3]));
    let folded = strided(TRUNDLE_DTYPE_U32, &[2, 3], &[0, 1]);
    let mut kept = std::ptr::without_provenance_mut(8);
    let plan = &raw mut kept;
    let one = [1].as_ptr();
    // SAFETY: invalid pointers are rejected before they are dereferenced.
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
            (TRUNDLE_ERROR_NUMBER, trundle_concatenate_plan(null(), 0, 0, &desc, plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_concatenate_plan(null(), 1, 0, &desc, plan)),
            (TRUNDLE_ERROR_AXIS, trundle_concatenate_plan(&desc, 1, 2, &desc, plan)),
            (TRUNDLE_ERROR_SHAPE, trundle_concatenate_plan(&desc, 1, 0, &other, plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_concatenate_plan(&desc, 1, 0, null(), plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_concatenate_plan(&desc, 1, 0, &desc, null_mut())),
            (TRUNDLE_ERROR_SELF_OVERLAP, trundle_concatenate_plan(&desc, 1, 0, &folded, plan)),
            (TRUNDLE_ERROR_NUMBER, trundle_pad_plan(&desc, one, 1, 9, null(), &desc, plan)),
            (TRUNDLE_ERROR_SHAPE, trundle_pad_plan(&desc, one, 1, 0, null(), &desc, plan)),
            (
                TRUNDLE_ERROR_NULL_POINTER,
                trundle_pad_plan(&desc, [0].as_ptr(), 1, 0, null(), &desc, plan),
            ),
            (TRUNDLE_ERROR_DTYPE, trundle_gather_plan(&desc, &desc, null(), 0, &desc, plan)),
            (TRUNDLE_ERROR_SHAPE, trundle_gather_plan(&desc, &index, null(), 1, &desc, plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_gather_plan(&desc, &index, null(), 0, &row, plan)),
            (
                TRUNDLE_ERROR_INDEX,
                trundle_gather_plan(&desc, &index, [2i64].as_ptr().cast(), 0, &row, plan),
            ),
        ]
    };
    for (status, refused) in refusals {
        assert_eq!(refused, status, "{}", last_message());
    }
    assert_eq!(kept.addr(), 8);
    // SAFETY: NULL is ignored.
    unsafe { trundle_plan_free(null_mut()) };
}
