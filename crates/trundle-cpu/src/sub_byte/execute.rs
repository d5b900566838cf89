//! A plan for packed elements carried out.

use std::cell::RefCell;

use trundle_core::Packing;

use super::plan::{At, SubByteStep, SubByteSteps};
use super::run as runs;
use super::side::Run;
use crate::cancellation::Cancellation;
use crate::execute;
use crate::plan::Part;
use trundle_kernels::simd::{self, LINE};

/// The two buffers of a run. Threads write disjoint elements, and bytes that elements of several
/// threads share by atomic operations: see `runs::pack`.
#[derive(Clone, Copy)]
pub(super) struct Buffers<'a> {
    pub(super) src: &'a [u8],
    pub(super) dst: *mut u8,
}

/// The unpacked copies of a box, or of lanes, as they are read and as they are written.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) read: Vec<u8>,
    pub(super) written: Vec<u8>,
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

/// Moves the units of `parts`, unless `cancellation` is requested: it is asked before each part, and
/// within large units. Bits of `dst` that are of no element stay as they are, in bytes that are
/// shared too: they may be another tensor's.
///
/// # Safety
/// `src` holds all that the steps' move reads. `dst` is valid for writes of all that it writes, it
/// is initialised, nobody else writes to it meanwhile but other parts of the move, and it does not
/// overlap `src`.
pub(crate) unsafe fn run_parts(
    packed: &SubByteSteps,
    parts: &[Part],
    src: &[u8],
    dst: *mut u8,
    cancellation: &Cancellation<'_>,
) {
    let packing = packed.packing;
    let buffers = Buffers { src, dst };
    with_scratch(|scratch| {
        scratch.reserve(packed.scratch_bytes);
        for part in parts {
            if cancellation.is_requested() {
                return;
            }
            for unit in part.first..part.end {
                // SAFETY: by the caller; units of a plan write disjoint elements.
                unsafe {
                    match &packed.steps[part.step] {
                        SubByteStep::Boxes(boxes) => {
                            move_box(packing, &boxes.unit(unit), buffers, scratch);
                        }
                        SubByteStep::Rows(rows) => {
                            rows.run(packing, unit, buffers, scratch, cancellation);
                        }
                        SubByteStep::Elements(elements) => {
                            elements.run(packing, unit, buffers, scratch);
                        }
                    }
                }
            }
        }
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

/// Prefetches the lines of a run.
pub(super) fn prefetch_run(packing: Packing, packed: *const u8, first: usize, len: usize) {
    let (start, bytes) = (packing.bytes(first), packing.bytes(len));
    for line in (0..bytes).step_by(LINE) {
        simd::prefetch(packed.wrapping_add(start + line));
    }
}

/// Moves a box.
///
/// # Safety
/// As [`run_parts`], for the elements of the box.
unsafe fn move_box(packing: Packing, at: &At<'_>, buffers: Buffers<'_>, scratch: &mut Scratch) {
    let (form, group) = (at.form, packing.group());
    let Scratch { read, written } = scratch;
    let in_step = |from: usize, to: usize| from % group == to % group;
    if form.between.is_none() && form.read == form.written && form.read.run >= group {
        // Runs of the one side are runs of the other.
        let (read, run) = (&mut read[..form.read.run], form.read.run);
        let apart = at.dst - at.src;
        form.read.for_each_run(at.src, |Run { first: from, .. }| {
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
    form.read.for_each_run(at.src, |Run { first, copied, ahead }| {
        prefetch_run(packing, buffers.src.as_ptr(), ahead, form.read.run);
        let copy = &mut read[copied..copied + form.read.run];
        runs::unpack(packing, buffers.src, first, copy);
    });
    let moved = match &form.between {
        Some(plan) => {
            assert!(plan.src_bytes <= read.len() && plan.dst_bytes <= written.len());
            // SAFETY: the copies are as large as the plan asks, and two vectors do not overlap.
            unsafe {
                execute::run(plan, read.as_ptr(), written.as_mut_ptr(), &Cancellation::never());
            };
            written
        }
        None => read,
    };
    form.written.for_each_run(at.dst, |Run { first, copied, ahead }| {
        prefetch_run(packing, buffers.dst, ahead, form.written.run);
        let copy = &moved[copied..copied + form.written.run];
        // SAFETY: by the caller.
        unsafe { runs::pack(packing, copy, buffers.dst, first) };
    });
}
