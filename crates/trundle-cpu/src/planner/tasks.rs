//! The units of a plan in the order in which they are done, and what a thread takes at a time.

use std::ops::Range;

use crate::plan::{Part, Work};
use crate::threads::TASKS_PER_THREAD;

/// What a task comes to at least.
const LEAST_TASK_BYTES: usize = 64 << 10;

/// What a part of a task comes to at most. Blocks that meet within rows, as those of a roll do, read
/// and write neighbouring lines: their parts follow each other while those are in the caches.
const MOST_PART_BYTES: usize = 64 << 10;

/// About how many parts a plan lists at most, however large the move: more gain nothing.
const MOST_PARTS: usize = 1 << 14;

/// The units of all steps in the order in which they are done: from the front of the destination to
/// its end, whichever step they belong to.
pub(super) fn parts(work: &Work, moved_bytes: usize) -> Vec<Part> {
    let most = MOST_PART_BYTES.max(moved_bytes / MOST_PARTS);
    let mut parts: Vec<Part> = Vec::new();
    for step in 0..work.steps() {
        let units = work.units(step);
        let each = (most / work.unit_bytes(step).max(1)).max(1);
        let mut first = 0;
        while first < units {
            let end = first.saturating_add(each).min(units);
            parts.push(Part { step, first, end });
            first = end;
        }
    }
    if work.steps() > 1 {
        parts.sort_by_cached_key(|part| work.dst_of(part.step, part.first));
    }
    parts
}

/// What each thread takes at a time: neighbouring parts, about as many bytes in each task.
pub(super) fn tasks(
    parts: &[Part],
    work: &Work,
    threads: usize,
    moved_bytes: usize,
) -> Vec<Range<usize>> {
    let most = match threads {
        1 => usize::MAX,
        _ => (moved_bytes / (threads * TASKS_PER_THREAD)).max(LEAST_TASK_BYTES),
    };
    let mut tasks = Vec::new();
    let (mut first, mut bytes) = (0, 0usize);
    for (index, part) in parts.iter().enumerate() {
        bytes = bytes.saturating_add((part.end - part.first) * work.unit_bytes(part.step));
        if bytes >= most || index + 1 == parts.len() {
            tasks.push(first..index + 1);
            (first, bytes) = (index + 1, 0);
        }
    }
    tasks
}
