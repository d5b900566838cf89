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
        // SAFETY: the callers' pointers are valid for the plan's descriptions, or the call rejects them.
        unsafe { trundle_plan_run_inputs(self.0, inputs.as_ptr(), inputs.len(), out) }
    }

    pub(super) fn run_outputs(
        &self,
        data: *const c_void,
        outputs: &[*mut c_void],
    ) -> trundle_status {
        // SAFETY: the callers' pointers are valid for the plan's descriptions, or the call rejects them.
        unsafe { trundle_plan_run_outputs(self.0, data, outputs.as_ptr(), outputs.len()) }
    }

    pub(super) fn run_all(
        &self,
        inputs: &[*const c_void],
        outputs: &[*mut c_void],
    ) -> trundle_status {
        let (count, first) = (outputs.len(), outputs.as_ptr());
        // SAFETY: the callers' pointers are valid for the plan's descriptions, or the call rejects them.
        unsafe { trundle_plan_run_all(self.0, inputs.as_ptr(), inputs.len(), first, count) }
    }

    pub(super) fn output(&self, number: usize) -> (trundle_dtype, Vec<u64>) {
        let (mut dtype, mut sizes, mut rank) = (0, [7; 8], 0);
        // SAFETY: there is room for eight sizes.
        assert_ok(unsafe {
            trundle_plan_output(self.0, number, &mut dtype, sizes.as_mut_ptr(), 8, &mut rank)
        });
        (dtype, sizes[..rank as usize].to_vec())
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
fn a_plan_is_described() {
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
        let words = format!("buffer has room for {capacity}, but {bytes} are needed");
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

fn concatenating(descs: &[trundle_tensor_desc], out: trundle_tensor_desc) -> Owned {
    // SAFETY: every pointer is valid for its description.
    Owned::new(|plan| unsafe {
        trundle_concatenate_plan(descs.as_ptr(), descs.len(), -1, &out, plan)
    })
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

fn scattering(
    desc: &trundle_tensor_desc,
    rows: &[i64],
    part: &trundle_tensor_desc,
    out: &trundle_tensor_desc,
) -> Owned {
    let sizes = [rows.len() as u64, 1];
    let at = packed(TRUNDLE_DTYPE_I64, &sizes);
    // SAFETY: every pointer is valid for its description.
    Owned::new(|plan| unsafe {
        trundle_scatter_nd_plan(desc, &at, rows.as_ptr().cast(), part, out, plan)
    })
}

#[test]
fn rows_are_scattered_repeatedly_and_gaps_are_kept() {
    let (sizes, part_sizes) = ([3, 3], [2, 3]);
    let (spread, turned) = ([4, 1], [1, 2]);
    let desc = packed(TRUNDLE_DTYPE_U8, &sizes);
    let out_desc = strided(TRUNDLE_DTYPE_U8, &sizes, &spread);
    let rows = packed(TRUNDLE_DTYPE_U8, &part_sizes);
    let plan = scattering(&desc, &[-1, 0], &rows, &out_desc);
    assert!(plan.words().contains(": 2 x 3 bytes, each to its place"), "{}", plan.words());
    let (mut data, mut updates) = (Guarded::of(b"abcdefghi"), Guarded::of(b"uvwxyz"));
    let mut out = Guarded::of(b"...........");
    for _ in 0..2 {
        assert_ok(plan.run_inputs(&[data.start().cast_const(), updates.start()], out.start()));
        out.assert_is(b"xyz.def.uvw");
        out.content_mut().fill(b'.');
    }
    // Updates with transposed strides.
    let columns = strided(TRUNDLE_DTYPE_U8, &part_sizes, &turned);
    let plan = scattering(&desc, &[-1, 0], &columns, &out_desc);
    assert!(plan.words().contains(": 6 x 1 bytes, each to its place"), "{}", plan.words());
    assert_ok(plan.run_inputs(&[data.start().cast_const(), updates.start()], out.start()));
    out.assert_is(b"vxz.def.uwy");
    // Elements that share bytes need a table with an entry for each element.
    let nibbles = packed(TRUNDLE_DTYPE_U4, &sizes);
    let part = packed(TRUNDLE_DTYPE_U4, &part_sizes);
    let plan = scattering(&nibbles, &[1, 2], &part, &nibbles);
    let (mut data, mut updates) =
        (Guarded::of(&[0x21, 0x43, 0x65, 0x87, 0x09]), Guarded::of(&[0xba, 0xdc, 0xfe]));
    let mut out = Guarded::of(&[0x11, 0x11, 0x11, 0x11, 0x11]);
    assert_ok(plan.run_inputs(&[data.start().cast_const(), updates.start()], out.start()));
    out.assert_is(&[0x21, 0xa3, 0xcb, 0xed, 0x1f]);
}

#[test]
fn the_text_of_a_plan_names_its_inputs_and_outputs() {
    let desc = packed(TRUNDLE_DTYPE_U16, &[2, 3]);
    let (square, row) = (packed(TRUNDLE_DTYPE_U16, &[2, 2]), packed(TRUNDLE_DTYPE_U16, &[3]));
    let (along, pairs) = (packed(TRUNDLE_DTYPE_I32, &[2, 2]), packed(TRUNDLE_DTYPE_I64, &[3, 2]));
    let (each, both) = ([2i32, -3, 0, 1], [0i64, 2, -1, -1, 1, 0]);
    let (each, both) = (each.as_ptr().cast(), both.as_ptr().cast());
    let wide = packed(TRUNDLE_DTYPE_U16, &[2, 5]);
    // SAFETY: every pointer is valid for its description.
    let plans = unsafe {
        [
            Owned::new(|plan| trundle_gather_elements_plan(&desc, &along, each, -1, &square, plan)),
            Owned::new(|plan| trundle_gather_nd_plan(&desc, &pairs, both, 0, &row, plan)),
            Owned::new(|plan| {
                trundle_scatter_elements_plan(&desc, &along, each, &square, 1, &desc, plan)
            }),
            Owned::new(|plan| trundle_scatter_nd_plan(&desc, &pairs, both, &row, &desc, plan)),
            concatenating(&[square, desc], wide),
            Owned::new(|plan| trundle_split_plan(&wide, [square, desc].as_ptr(), 2, -1, plan)),
        ]
    };
    for (plan, [start, end]) in plans.iter().zip([
        ["1 move, 8 bytes\nfrom input 0 to output 0: ", ""],
        ["1 move, 6 bytes\nfrom input 0 to output 0: ", ""],
        [
            "from input 0 to output 0: 1 pass over memory\n",
            "\n\nfrom input 1 to output 0: 4 x 2 bytes, each to its place",
        ],
        ["from input 0", "\n\nfrom input 1 to output 0: 3 x 2 bytes, each to its place"],
        ["2 moves, 20 bytes\nfrom input 0 to output 0: ", ""],
        ["from input 0 to output 0: 1 pass over memory\n", ""],
    ]) {
        let words = plan.words();
        assert!(words.starts_with(start) && words.ends_with(end), "{words}");
    }
    let words = plans[5].words();
    assert!(words.contains("\n\nfrom input 0 to output 1: 1 pass over memory\n"), "{words}");
}

#[test]
fn a_plan_without_elements_needs_neither_memory_nor_indices() {
    let indices = [i64::MAX; 3];
    let indices = indices.as_ptr().cast();
    let desc = |sizes: &[u64]| packed(TRUNDLE_DTYPE_F32, sizes);
    let at = |sizes: &[u64]| packed(TRUNDLE_DTYPE_I64, sizes);
    // SAFETY: every pointer is valid for its description; the output has no elements, so no index is read.
    let plans = unsafe {
        [
            Owned::new(|plan| {
                trundle_gather_plan(&desc(&[3, 0]), &at(&[3]), indices, 0, &desc(&[3, 0]), plan)
            }),
            Owned::new(|plan| {
                trundle_gather_plan(&desc(&[0, 3]), &at(&[2]), indices, 1, &desc(&[0, 2]), plan)
            }),
            Owned::new(|plan| {
                let (from, to) = (desc(&[3, 0]), desc(&[2, 0]));
                trundle_gather_nd_plan(&from, &at(&[2, 1]), indices, 0, &to, plan)
            }),
            Owned::new(|plan| {
                let (from, to) = (desc(&[3, 0]), desc(&[0, 0]));
                trundle_gather_elements_plan(&from, &at(&[0, 0]), null(), 1, &to, plan)
            }),
        ]
    };
    for plan in plans {
        assert_ok(plan.run(null(), null_mut()));
        assert_eq!(plan.run_inputs(&[null(); 2], null_mut()), TRUNDLE_ERROR_SHAPE);
        assert_eq!(plan.words(), "0 moves, 0 bytes");
    }
    // A scatter without updates is a copy of the data.
    let (desc, none) = (packed(TRUNDLE_DTYPE_U16, &[2, 2]), packed(TRUNDLE_DTYPE_U16, &[0, 2]));
    let plan = scattering(&desc, &[], &none, &desc);
    let (mut from, mut to) = (Guarded::of(&bytes!(u16: 1, 2, 3, 4)), Guarded::new(8));
    assert_ok(plan.run_inputs(&[from.start().cast_const(), null()], to.start()));
    to.assert_is(&bytes!(u16: 1, 2, 3, 4));
}

#[test]
fn the_tensors_of_each_run_are_checked() {
    let (desc, half) = (packed(TRUNDLE_DTYPE_U32, &[2, 4]), packed(TRUNDLE_DTYPE_U32, &[2, 2]));
    let (row, turned) = (packed(TRUNDLE_DTYPE_U32, &[1, 4]), packed(TRUNDLE_DTYPE_U32, &[4, 2]));
    let one = transposing(desc, turned);
    let joined = concatenating(&[half; 2], desc);
    let scattered = scattering(&desc, &[1], &row, &desc);
    // SAFETY: every pointer is valid for its description.
    let split =
        Owned::new(|plan| unsafe { trundle_split_plan(&desc, [half; 2].as_ptr(), 2, 1, plan) });
    let (mut data, mut out) = (Guarded::new(64), Guarded::new(128));
    let (from, to) = (data.start().cast_const(), out.start());
    let at = |byte: usize| to.wrapping_byte_add(byte);
    let (odd, read) = (from.wrapping_byte_add(2), from.wrapping_byte_add(16).cast_mut());
    let within = at(12).cast_const();
    let (shape, null_pointer) = (TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_NULL_POINTER);
    let (misaligned, overlap) = (TRUNDLE_ERROR_MISALIGNED, TRUNDLE_ERROR_OVERLAP);
    for (status, words, plan, inputs, outputs) in [
        (null_pointer, "data is a null", &one, &[null()][..], &[to][..]),
        (null_pointer, "out is a null", &one, &[from], &[null_mut()]),
        (misaligned, "data is 0x", &one, &[odd], &[to]),
        (misaligned, "out is 0x", &one, &[from], &[at(2)]),
        (overlap, "overlaps data at 0x", &one, &[within], &[to]),
        (shape, "the plan is for 1 input, but is run on 0", &one, &[], &[to]),
        (shape, "the plan is for 1 input, but is run on 2", &one, &[from; 2], &[to]),
        (shape, "the plan is for 2 inputs, but is run on 1", &joined, &[from], &[to]),
        (shape, "the plan is for 2 inputs, but is run on 3", &joined, &[from; 3], &[to]),
        (null_pointer, "inputs[1]: data is a null", &joined, &[from, null()], &[to]),
        (null_pointer, "out is a null", &joined, &[from; 2], &[null_mut()]),
        (misaligned, "inputs[0]: data is 0x", &joined, &[odd, from], &[to]),
        (overlap, "overlaps data at 0x", &joined, &[from, within], &[to]),
        (shape, "the plan is for 2 inputs, but is run on 1", &scattered, &[from], &[to]),
        (null_pointer, "inputs[0]: data is a null", &scattered, &[null(), from], &[to]),
        (null_pointer, "inputs[1]: updates is a null", &scattered, &[from, null()], &[to]),
        (misaligned, "inputs[1]: updates is 0x", &scattered, &[from, odd], &[to]),
        (overlap, "overlaps data at 0x", &scattered, &[within, from], &[to]),
        (overlap, "overlaps updates at 0x", &scattered, &[from, within], &[to]),
        (shape, "the plan is for 2 outputs, but is run on 0", &split, &[from], &[]),
        (shape, "the plan is for 2 outputs, but is run on 1", &split, &[from], &[to]),
        (shape, "the plan is for 2 outputs, but is run on 3", &split, &[from], &[to; 3]),
        (null_pointer, "data is a null", &split, &[null()], &[to, at(16)]),
        (null_pointer, "outputs[1]: out is a null", &split, &[from], &[to, null_mut()]),
        (misaligned, "outputs[0]: out is 0x", &split, &[from], &[at(2), at(20)]),
        (overlap, "overlaps data at 0x", &split, &[from], &[to, read]),
        (overlap, "outputs[1]: out at 0x", &split, &[from], &[to, at(12)]),
        (overlap, "outputs[0]: out at 0x", &split, &[from], &[at(12), to]),
    ] {
        assert_refused(plan.run_all(inputs, outputs), status, words);
    }
    assert_refused(joined.run(from, to), shape, "for 2 inputs, but is run on 1");
    assert_refused(split.run(from, to), shape, "for 2 outputs, but is run on 1");
    assert_refused(split.run_inputs(&[from; 2], to), shape, "for 1 input, but is run on 2");
    assert_refused(joined.run_outputs(from, &[to]), shape, "for 2 inputs, but is run on 1");
    out.assert_untouched();
    // Inputs may share memory.
    assert_ok(joined.run_inputs(&[from; 2], to));
    assert_ok(scattered.run_inputs(&[from; 2], to));
}

#[test]
fn the_plan_and_the_lists_of_each_run_are_checked() {
    let (desc, half) = (packed(TRUNDLE_DTYPE_U32, &[2, 4]), packed(TRUNDLE_DTYPE_U32, &[2, 2]));
    let joined = concatenating(&[half; 2], desc);
    // SAFETY: every pointer is valid for its description.
    let split =
        Owned::new(|plan| unsafe { trundle_split_plan(&desc, [half; 2].as_ptr(), 2, 1, plan) });
    let (mut data, mut out) = (Guarded::new(64), Guarded::new(128));
    let (from, to) = (data.start().cast_const(), out.start());
    let (inputs, outputs) = ([from; 2], [to, to.wrapping_byte_add(16)]);
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        let run_inputs = |plan, list, count| trundle_plan_run_inputs(plan, list, count, to);
        let run_outputs = |plan, list, count| trundle_plan_run_outputs(plan, from, list, count);
        let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
        assert_refused(trundle_plan_run(null(), from, to), null_pointer, "plan is a null");
        let (first, odd) = (inputs.as_ptr(), inputs.as_ptr().wrapping_byte_add(1));
        assert_refused(run_inputs(null(), first, 2), null_pointer, "plan is a null");
        assert_refused(run_inputs(joined.0, null(), 2), null_pointer, "inputs is a null");
        assert_refused(run_inputs(joined.0, odd, 2), TRUNDLE_ERROR_MISALIGNED, "inputs is 0x");
        let words = "inputs has 65537 entries";
        assert_refused(run_inputs(joined.0, first, 65537), TRUNDLE_ERROR_RANK, words);
        let (first, odd) = (outputs.as_ptr(), outputs.as_ptr().wrapping_byte_add(1));
        assert_refused(run_outputs(null(), first, 2), null_pointer, "plan is a null");
        assert_refused(run_outputs(split.0, null(), 2), null_pointer, "outputs is a null");
        assert_refused(run_outputs(split.0, odd, 2), TRUNDLE_ERROR_MISALIGNED, "outputs is 0x");
        let words = "outputs has 65537 entries";
        assert_refused(run_outputs(split.0, first, 65537), TRUNDLE_ERROR_RANK, words);
        out.assert_untouched();

        // The lists lie in the memory of an output.
        let mut own = Guarded::of(&[0; 64]);
        let list = own.at(16).cast::<[*const c_void; 2]>();
        list.write(inputs);
        let refused = trundle_plan_run_inputs(joined.0, list.cast(), 2, own.start());
        assert_refused(refused, TRUNDLE_ERROR_OVERLAP, "overlaps inputs at 0x");
        assert_eq!(list.read(), inputs);
        let outputs = [own.at(0), own.at(24)];
        let list = own.at(32).cast::<[*mut c_void; 2]>();
        list.write(outputs);
        let refused = run_outputs(split.0, list.cast(), 2);
        assert_refused(refused, TRUNDLE_ERROR_OVERLAP, "overlaps outputs at 0x");
        assert!(last_message().starts_with("outputs[1]: out at 0x"), "{}", last_message());
        assert_eq!(list.read(), outputs);
    }
}

/// The errors of arguments are in `refusals.rs`: a call and its plan share their checks.
#[test]
fn a_failed_plan_leaves_the_pointer_unchanged() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 3]);
    let other = packed(TRUNDLE_DTYPE_U32, &[2, 2]);
    let index = packed(TRUNDLE_DTYPE_I64, &[1]);
    let mut kept = std::ptr::without_provenance_mut(8);
    let plan = &raw mut kept;
    let one = [1].as_ptr();
    let (shape, dtype) = (TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_DTYPE);
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    let refusals = unsafe {
        [
            (shape, trundle_transpose_plan(&desc, null(), 0, &other, plan)),
            (shape, trundle_roll_plan(&desc, one, 1, one, 1, &other, plan)),
            (shape, trundle_flip_plan(&desc, one, 1, &other, plan)),
            (shape, trundle_reverse_subsequences_plan(&desc, &desc, null(), 0, &desc, plan)),
            (shape, trundle_reverse_sequence_plan(&desc, one, usize::MAX, 1, 0, &desc, plan)),
            (
                TRUNDLE_ERROR_LENGTH,
                trundle_reverse_sequence_plan(&desc, [1, 4].as_ptr(), 2, 1, 0, &desc, plan),
            ),
            (shape, trundle_concatenate_plan(&desc, 1, 0, &other, plan)),
            (TRUNDLE_ERROR_NUMBER, trundle_concatenate_plan(null(), 0, 0, &desc, plan)),
            (shape, trundle_pad_plan(&desc, one, 1, 0, null(), &desc, plan)),
            (shape, trundle_split_plan(&desc, &other, 1, 0, plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_split_plan(&desc, null(), 2, 1, plan)),
            (dtype, trundle_gather_plan(&desc, &desc, null(), 0, &desc, plan)),
            (shape, trundle_gather_elements_plan(&desc, &index, null(), 0, &desc, plan)),
            (shape, trundle_gather_nd_plan(&desc, &index, null(), 0, &desc, plan)),
            (shape, trundle_scatter_elements_plan(&desc, &index, null(), &desc, 0, &other, plan)),
            (shape, trundle_scatter_nd_plan(&desc, &index, null(), &other, &desc, plan)),
            (TRUNDLE_ERROR_NULL_POINTER, trundle_flip_plan(&desc, one, 1, &desc, null_mut())),
        ]
    };
    for (number, (status, refused)) in refusals.into_iter().enumerate() {
        assert_eq!(refused, status, "case {number}");
    }
    assert_eq!(kept.addr(), 8);
    // SAFETY: NULL is ignored.
    unsafe { trundle_plan_free(null_mut()) };
}

#[test]
fn several_threads_run_one_plan_of_a_scatter() {
    let (sizes, part_sizes, turned) = ([50, 60], [20, 60], [1, 20]);
    let desc = packed(TRUNDLE_DTYPE_U32, &sizes);
    let part = strided(TRUNDLE_DTYPE_U32, &part_sizes, &turned);
    let rows: Vec<i64> = (0..20).map(|row| row * 7 % 50).collect();
    let plan = scattering(&desc, &rows, &part, &desc);
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (plan, rows) = (&plan, &rows);
            scope.spawn(move || {
                let data: Vec<u32> = (0..3000).map(|number| number + thread).collect();
                let updates: Vec<u32> = data[..1200].iter().map(|number| number + 7000).collect();
                let mut expected = data.clone();
                for (at, row) in rows.iter().enumerate() {
                    for column in 0..60 {
                        expected[*row as usize * 60 + column] = updates[column * 20 + at];
                    }
                }
                for _ in 0..50 {
                    let mut out = vec![0u32; 3000];
                    let inputs = [data.as_ptr().cast(), updates.as_ptr().cast()];
                    assert_ok(plan.run_inputs(&inputs, out.as_mut_ptr().cast()));
                    assert!(out == expected);
                }
            });
        }
    });
}
