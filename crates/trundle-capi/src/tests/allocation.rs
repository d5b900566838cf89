//! Runs of plans, and repeated calls, allocate no memory.

use std::alloc::{GlobalAlloc, Layout as CallerMemory, System};
use std::cell::Cell;
use std::ptr::null_mut;

use trundle::ops::{GatherNd, Indices};
use trundle::{Shape, programs};
use trundle_testing::choices::Choices;

use super::super::descriptor::Descriptor;
use super::super::plan::described;
use super::models::{OwnedModel, transposing_descs, transposing_model};
use super::plans::Owned;
use super::*;

/// Counts each thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: CallerMemory) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the `# Safety` of [`GlobalAlloc`].
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: CallerMemory) {
        // SAFETY: the caller upholds the `# Safety` of [`GlobalAlloc`].
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
fn a_run_allocates_nothing_and_a_refusal_only_its_message() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[30, 40]);
    let mut plan = null_mut();
    let (mut data, mut out) = (Guarded::new(4800), Guarded::new(4800));
    let (data, out) = (data.start(), out.start());
    let list = [3, -1];
    // SAFETY: every pointer is valid for its description.
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
fn a_repeated_call_allocates_nothing() {
    let desc = strided(TRUNDLE_DTYPE_U32, &[30, 40], &[40, 1]);
    let (mut data, mut out) = (Guarded::new(4800), Guarded::new(4800));
    let (data, out) = (data.start(), out.start());
    // SAFETY: every pointer is valid for its description.
    let flip = |axis: i64| unsafe { trundle_flip(&desc, data, &raw const axis, 1, &desc, out) };
    assert!(allocations(|| assert_ok(flip(0))) > 0);
    assert_eq!(allocations(|| assert_ok(flip(0))), 0);
    assert!(allocations(|| assert_ok(flip(1))) > 0);
    assert_eq!(allocations(|| assert_ok(flip(0))), 0);
}

#[test]
fn a_run_of_several_inputs_or_outputs_allocates_nothing() {
    let part = packed(TRUNDLE_DTYPE_U32, &[3, 40]);
    for (count, expected_counts) in [(2, [0, 0]), (64, [0, 0]), (65, [1, 2])] {
        let sizes = [3 * count as u64, 40];
        let (whole, parts) = (packed(TRUNDLE_DTYPE_U32, &sizes), vec![part; count]);
        let (mut data, mut out) = (Guarded::new(480 * count), Guarded::new(480 * count));
        let inputs = vec![data.start().cast_const(); count];
        let outputs: Vec<_> = (0..count).rev().map(|number| out.at(480 * number)).collect();
        let (from, to) = (data.start(), out.start());
        // SAFETY: every pointer is valid for its description.
        let (joined, split) = unsafe {
            let parts = parts.as_ptr();
            (
                Owned::new(|plan| trundle_concatenate_plan(parts, count, 0, &whole, plan)),
                Owned::new(|plan| trundle_split_plan(&whole, parts, count, 0, plan)),
            )
        };
        for _ in 0..2 {
            let joined = allocations(|| assert_ok(joined.run_inputs(&inputs, to)));
            let split = allocations(|| assert_ok(split.run_outputs(from, &outputs)));
            assert_eq!([joined, split], expected_counts, "{count} tensors");
        }
    }
}

#[test]
fn a_run_of_a_gather_or_a_scatter_allocates_nothing() {
    let (sizes, wide, turned) = ([30, 40], [48, 1], [1, 30]);
    let desc = packed(TRUNDLE_DTYPE_U32, &sizes);
    let index: Vec<i64> = (0..1200).map(|at| at * 7 % 30).collect();
    let (each, pairs) = (packed(TRUNDLE_DTYPE_I64, &sizes), packed(TRUNDLE_DTYPE_I64, &[600, 2]));
    let row = packed(TRUNDLE_DTYPE_U32, &[600]);
    let (mut data, mut updates) = (Guarded::new(4800), Guarded::new(4800));
    let (mut out, at) = (Guarded::new(5760), index.as_ptr().cast());
    let (inputs, out) = ([data.start().cast_const(), updates.start()], out.start());
    let spread = strided(TRUNDLE_DTYPE_U32, &sizes, &wide);
    let columns = strided(TRUNDLE_DTYPE_U32, &sizes, &turned);
    let run = |count: usize, made: &dyn Fn(*mut *mut trundle_plan) -> trundle_status| {
        let plan = Owned::new(made);
        let run = || assert_ok(plan.run_inputs(&inputs[..count], out));
        assert_eq!(allocations(run), 0);
        assert_eq!(allocations(run), 0);
    };
    // SAFETY: every pointer is valid for its description.
    unsafe {
        for to in [&desc, &spread] {
            run(1, &|plan| trundle_gather_elements_plan(&desc, &each, at, 0, to, plan));
            run(2, &|plan| trundle_scatter_nd_plan(&desc, &pairs, at, &row, to, plan));
            for from in [&desc, &columns] {
                run(2, &|plan| trundle_scatter_elements_plan(&desc, &each, at, from, 0, to, plan));
            }
        }
        run(1, &|plan| trundle_gather_nd_plan(&desc, &pairs, at, 0, &row, plan));
    }
}

#[test]
fn buffers_between_passes_are_allocated_with_the_plan() {
    // With gaps, the tensor is copied to a contiguous buffer first.
    let (sizes, strides, count) = ([64, 64], [66, 1], [1500]);
    let spread = strided(TRUNDLE_DTYPE_U16, &sizes, &strides);
    let part = packed(TRUNDLE_DTYPE_U16, &count);
    // SAFETY: every pointer is valid for its description.
    let read = |desc| unsafe { Descriptor::read("data", desc).unwrap() };
    let (data, updates, out) = (read(&spread), read(&part), read(&spread));
    let mut choices = Choices::of(1);
    let values: Vec<i64> = (0..3000).map(|_| choices.below(64).cast_signed() as i64).collect();
    let indices = Indices::new(Shape::new([1500, 2]).unwrap(), &*values).unwrap();
    let (shape, width) = described(&data);
    let targets = GatherNd::new(0, indices).index_map(shape).unwrap();
    let program = programs::updated(shape, updates.layout().shape(), width, &targets).unwrap();
    let plan = trundle_plan::of_program(&program, vec![data, updates], out).unwrap();
    assert!(plan.to_string().contains("temporary"));
    let bytes = (63 * 66 + 64) * 2;
    let content: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
    let (mut data, mut updates) = (Guarded::of(&content), Guarded::of(&[0xee; 3000]));
    let (mut out, inputs) = (Guarded::new(bytes), [data.start().cast_const(), updates.start()]);
    let to = out.start();
    for _ in 0..2 {
        // SAFETY: every pointer is valid for its description.
        let run = || unsafe { plan.run(&inputs, &[to], &[]).unwrap() };
        assert_eq!(allocations(run), 0);
    }
    let mut expected = vec![GUARD; bytes];
    for row in (0..bytes).step_by(132) {
        expected[row..row + 128].copy_from_slice(&content[row..row + 128]);
    }
    for index in values.chunks(2) {
        let at = 132 * index[0].cast_unsigned() as usize + 2 * index[1].cast_unsigned() as usize;
        expected[at..at + 2].fill(0xee);
    }
    out.assert_is(&expected);
}

#[test]
fn a_run_of_a_model_allocates_nothing() {
    let model = transposing_model("u8");
    let (data, order, kept) = ([1u8, 2, 3, 4, 5, 6], [1i64, 0], [7i16; 4]);
    let inputs: [*const c_void; 3] =
        [data.as_ptr().cast(), order.as_ptr().cast(), kept.as_ptr().cast()];
    let plan = model.planned(&transposing_descs(TRUNDLE_DTYPE_U8), &[null(), inputs[1], null()]);
    let mut outputs = [Guarded::new(6), Guarded::new(8), Guarded::new(6)];
    let to = outputs.each_mut().map(Guarded::start);
    for _ in 0..2 {
        assert_eq!(allocations(|| assert_ok(plan.run_all(&inputs, &to))), 0);
    }
    outputs[2].assert_is(&[1, 4, 2, 5, 3, 6]);
    let sizes = [1, 224, 224, 3];
    let plan = OwnedModel::patches().planned(&[packed(TRUNDLE_DTYPE_F32, &sizes)], &[]);
    let (image, mut out) = (vec![0.5f32; 224 * 224 * 3], vec![0f32; 224 * 224 * 3]);
    let (from, to) = ([image.as_ptr().cast()], [out.as_mut_ptr().cast()]);
    assert_eq!(allocations(|| assert_ok(plan.run_all(&from, &to))), 0);
    assert!(out == image);
}
