//! Runs a plan for packed elements.

use trundle_core::Packing;

use super::box_runs::Run;
use super::buffers::{Buffers, Scratch, prefetch_run, with_scratch};
use super::plan::{At, SubByteStep, SubByteSteps};
use super::run as runs;
use crate::cancellation::Cancellation;
use crate::parts::StepPart;

/// Moves the units of `parts`. Cancellation is checked before each part and within large units. Other bits of `dst`
/// keep their values, because they may belong to another tensor.
///
/// # Safety
/// `src` must hold everything that the move reads. `dst` must be initialized, valid for everything that the move
/// writes, and must not overlap `src`. Only other parts of the same move may write to `dst` during the run.
pub(crate) unsafe fn run_parts(
    packed: &SubByteSteps,
    parts: &[StepPart],
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
                // SAFETY: the caller guarantees that both buffers are valid. Units of a plan write different elements.
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

/// # Safety
/// As [`run_parts`], for the elements of the box.
unsafe fn move_box(packing: Packing, at: &At<'_>, buffers: Buffers<'_>, scratch: &mut Scratch) {
    let (layout, group) = (at.layout, packing.group());
    let Scratch { read, written } = scratch;
    let in_step = |from: usize, to: usize| from % group == to % group;
    if layout.between.is_none() && layout.read == layout.written && layout.read.run >= group {
        // The box has the same runs in source and destination.
        let (read, run) = (&mut read[..layout.read.run], layout.read.run);
        let apart = at.dst - at.src;
        layout.read.for_each_run(at.src, |Run { first: from, .. }| {
            let to = from.wrapping_add_signed(apart);
            // SAFETY: the run is part of the box, which only this call writes.
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
    layout.read.for_each_run(at.src, |Run { first, copied, ahead }| {
        prefetch_run(packing, buffers.src.as_ptr(), ahead, layout.read.run);
        let copy = &mut read[copied..copied + layout.read.run];
        runs::unpack(packing, buffers.src, first, copy);
    });
    let moved = match &layout.between {
        Some(plan) => {
            assert!(plan.src_bytes <= read.len() && plan.dst_bytes <= written.len());
            // SAFETY: both copies have the planned sizes, and the two vectors do not overlap.
            unsafe { plan.run(read.as_ptr(), written.as_mut_ptr(), 0) };
            written
        }
        None => read,
    };
    layout.written.for_each_run(at.dst, |Run { first, copied, ahead }| {
        prefetch_run(packing, buffers.dst, ahead, layout.written.run);
        let copy = &moved[copied..copied + layout.written.run];
        // SAFETY: the run is part of the box, which only this call writes.
        unsafe { runs::pack(packing, copy, buffers.dst, first) };
    });
}
