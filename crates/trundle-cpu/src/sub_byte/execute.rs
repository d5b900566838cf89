//! Runs a plan for packed elements.

use trundle_core::Packing;
use trundle_kernels::Simd;

use super::box_layout::{BoxLayout, Within};
use super::box_runs::Run;
use super::buffers::{Buffers, Scratch, prefetch_run, with_scratch};
use super::groups;
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
                            move_box(packing, packed.simd, &boxes.unit(unit), buffers, scratch);
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
unsafe fn move_box(
    packing: Packing,
    simd: Simd,
    at: &At<'_>,
    buffers: Buffers<'_>,
    scratch: &mut Scratch,
) {
    let BoxLayout { group, read: from, written: to, within, between, is_direct, bytes } = at.layout;
    let is_copied = |from: usize, to: usize| {
        packing.group_bytes() == 1 || from % packing.group() == to % packing.group()
    };
    if between.is_none() && from == to && from.run >= packing.group() {
        // The box has the same runs in source and destination.
        let apart = at.dst - at.src;
        from.for_each_run(at.src, |Run { first, .. }| {
            let to = first.wrapping_add_signed(apart);
            // SAFETY: the run is part of the box, which only this call writes.
            unsafe {
                if is_copied(first, to) {
                    runs::copy(packing, buffers.src, first, buffers.dst, to, from.run);
                } else {
                    let copy = &mut scratch.read[..from.run];
                    runs::unpack(packing, buffers.src, first, copy);
                    runs::pack(packing, copy, buffers.dst, to);
                }
            }
        });
        return;
    }
    let (read, written) = (&mut scratch.read[..bytes.0], &mut scratch.written[..bytes.1]);
    // Groups are transposed as soon as all of their rows are in the first-level cache.
    let mut done = 0;
    from.for_each_run(at.src, |Run { first, copied, ahead }| {
        prefetch_run(packing, buffers.src.as_ptr(), ahead, from.run);
        if *group == 1 {
            return runs::unpack(packing, buffers.src, first, &mut read[copied..copied + from.run]);
        }
        if let Within::Transposed { pitch, backwards } = *within
            && copied / group >= done + group * pitch
        {
            groups::transpose(packing, simd, &mut read[done..copied / group], pitch, backwards);
            done = copied / group / (group * pitch) * (group * pitch);
        }
        // SAFETY: the copy has space for the run, and only this call writes it.
        unsafe { runs::copy(packing, buffers.src, first, read.as_mut_ptr(), copied, from.run) };
    });
    match *within {
        Within::Kept => {}
        Within::Reversed => groups::reverse(packing, simd, read),
        Within::Transposed { pitch, backwards } => {
            groups::transpose(packing, simd, &mut read[done..], pitch, backwards);
        }
    }
    let moved = match between {
        Some(plan) if *is_direct => {
            let dst = buffers.dst.wrapping_add(packing.bytes(at.dst.unsigned_abs()));
            assert!(plan.src_bytes <= read.len());
            // SAFETY: the box has only whole bytes in the destination, and no elements that only fill a group.
            return unsafe { plan.run(read.as_ptr(), dst, 0) };
        }
        Some(plan) => {
            assert!(plan.src_bytes <= read.len() && plan.dst_bytes <= written.len());
            // SAFETY: both copies have the planned sizes, and the two vectors do not overlap.
            unsafe { plan.run(read.as_ptr(), written.as_mut_ptr(), 0) };
            written
        }
        None => read,
    };
    to.for_each_run(at.dst, |Run { first, copied, ahead }| {
        prefetch_run(packing, buffers.dst, ahead, to.run);
        // SAFETY: the run is part of the box, which only this call writes.
        unsafe {
            if *group > 1 {
                runs::copy(packing, moved, copied, buffers.dst, first, to.run);
            } else {
                runs::pack(packing, &moved[copied..copied + to.run], buffers.dst, first);
            }
        }
    });
}
