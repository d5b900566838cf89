//! A plan for packed elements carried out.

use std::cell::RefCell;

use trundle_core::Packing;

use super::plan::{At, PackedPlan, PackedStep, Rows};
use super::run as runs;
use crate::execute;
use crate::threads::for_each_task;

/// The two buffers of a run, shared by its threads.
#[derive(Clone, Copy)]
struct Buffers<'a> {
    src: &'a [u8],
    dst: *mut u8,
}

// SAFETY: threads write disjoint elements, and bytes that elements of several threads share by
// atomic operations: see `runs::pack`.
unsafe impl Sync for Buffers<'_> {}

/// The unpacked copies of a box, as it is read and as it is written.
#[derive(Default)]
struct Scratch {
    read: Vec<u8>,
    written: Vec<u8>,
}

impl Scratch {
    fn reserve(&mut self, bytes: usize) {
        for copy in [&mut self.read, &mut self.written] {
            if copy.len() < bytes {
                copy.resize(bytes, 0);
            }
        }
    }
}

/// Runs a plan on `threads` threads.
///
/// # Safety
/// `src` holds all that the plan's move reads. `dst` is valid for writes of all that it writes, it
/// is initialised, nobody else writes to it meanwhile, and it does not overlap `src`.
pub(crate) unsafe fn run(plan: &PackedPlan, threads: usize, src: &[u8], dst: *mut u8) {
    let packing = plan.packing;
    if plan.dst_end > 0 {
        // SAFETY: by the caller.
        unsafe { runs::clear_rest(packing, dst, plan.dst_end) };
    }
    let buffers = Buffers { src, dst };
    for_each_task(threads, plan.tasks.len(), &|task| {
        let buffers = buffers;
        let (step, units) = &plan.tasks[task];
        let work = |scratch: &mut Scratch| {
            scratch.reserve(plan.scratch_bytes);
            for unit in units.clone() {
                // SAFETY: by the caller; units of a plan write disjoint elements.
                unsafe {
                    match &plan.steps[*step] {
                        PackedStep::Boxes(boxes) => {
                            move_box(packing, &boxes.unit(unit), buffers, scratch);
                        }
                        PackedStep::Rows(rows) => move_row(packing, rows, unit, buffers, scratch),
                    }
                }
            }
        };
        with_scratch(work);
    });
}

/// Calls `work` with this thread's scratch; while the thread ends, with one of its own.
fn with_scratch(work: impl Fn(&mut Scratch)) {
    thread_local! {
        static SCRATCH: RefCell<Scratch> = RefCell::default();
    }
    let done = SCRATCH.try_with(|scratch| match scratch.try_borrow_mut() {
        Ok(mut scratch) => work(&mut scratch),
        Err(_) => work(&mut Scratch::default()),
    });
    if done.is_err() {
        work(&mut Scratch::default());
    }
}

/// Moves a box.
///
/// # Safety
/// As [`run`], for the elements of the box.
unsafe fn move_box(packing: Packing, at: &At<'_>, buffers: Buffers<'_>, scratch: &mut Scratch) {
    let (form, group) = (at.form, packing.group());
    let Scratch { read, written } = scratch;
    let in_step = |from: usize, to: usize| from % group == to % group;
    if form.between.is_none() && form.read == form.written && form.read.run >= group {
        // Runs of the one side are runs of the other.
        let (read, run) = (&mut read[..form.read.run], form.read.run);
        let apart = at.dst - at.src;
        form.read.for_each_run(at.src, |from, _| {
            let to = from.wrapping_add_signed(apart);
            // SAFETY: by the caller.
            unsafe {
                if in_step(from, to) {
                    runs::copy(packing, buffers.src, from, buffers.dst, to, run);
                } else {
                    runs::unpack(packing, buffers.src, from, read);
                    runs::pack(packing, read, buffers.dst, to);
                }
            }
        });
        return;
    }
    form.read.for_each_run(at.src, |first, copied| {
        let copy = &mut read[copied..copied + form.read.run];
        runs::unpack(packing, buffers.src, first, copy);
    });
    let moved = match &form.between {
        Some(plan) => {
            assert!(plan.src_bytes <= read.len() && plan.dst_bytes <= written.len());
            // SAFETY: the copies are as large as the plan asks, and two vectors do not overlap.
            unsafe { execute::run(plan, read.as_ptr(), written.as_mut_ptr()) };
            written
        }
        None => read,
    };
    form.written.for_each_run(at.dst, |first, copied| {
        let copy = &moved[copied..copied + form.written.run];
        // SAFETY: by the caller.
        unsafe { runs::pack(packing, copy, buffers.dst, first) };
    });
}

/// Moves a row of a ragged block.
///
/// # Safety
/// As [`run`], for the elements of the row.
unsafe fn move_row(
    packing: Packing,
    rows: &Rows,
    number: usize,
    buffers: Buffers<'_>,
    scratch: &mut Scratch,
) {
    let Rows { outer, row, width, .. } = rows;
    let (mut src, mut dst, mut lane) = (rows.src_offset, rows.dst_offset, row.lane_offset);
    let mut rest = number;
    for each in outer.iter().rev() {
        let index = (rest % each.len).cast_signed();
        rest /= each.len;
        src = src.wrapping_add(index * each.src_stride);
        dst += index * each.dst_stride;
        lane = lane.wrapping_add_signed(index * each.lane_stride);
    }
    let length = row.lengths[lane];
    let cut = row.cut(length);
    let one = &mut scratch.read;
    if one.len() < *width {
        one.resize(*width, 0);
    }
    for (run, part) in [(&row.first, 0..cut), (&row.second, cut..row.len)] {
        let start = src.wrapping_add(run.start(length));
        for i in part.map(usize::cast_signed) {
            let from = start.wrapping_add(i * run.src_stride).unsigned_abs();
            let to = (dst + i * row.dst_stride).unsigned_abs();
            let one = &mut one[..*width];
            runs::unpack(packing, buffers.src, from, one);
            // SAFETY: by the caller.
            unsafe { runs::pack(packing, one, buffers.dst, to) };
        }
    }
}
