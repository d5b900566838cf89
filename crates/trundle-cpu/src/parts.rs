//! The units of a plan in the order in which they are done, and what a thread takes at a time.

use std::ops::Range;

use crate::threads::TASKS_PER_THREAD;

/// Units `first..end` of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The index of the step.
    pub step: usize,
    /// The first unit.
    pub first: usize,
    /// The unit after the last.
    pub end: usize,
}

/// One step of a plan: the work on one block of a move, cut into units.
pub(crate) trait Units {
    /// The number of units.
    fn units(&self) -> usize;

    /// About how many bytes a unit has, not counting that units at an edge are smaller. Sub-byte elements count one each.
    fn unit_bytes(&self) -> usize;

    /// Where a unit is written, in bytes or sub-byte elements from the start of the destination.
    fn dst_of(&self, unit: usize) -> isize;
}

/// What a task comes to at least.
const LEAST_TASK_BYTES: usize = 64 << 10;

/// What a part of a task comes to at most. Blocks that meet within rows, as those of a roll do, read
/// and write neighbouring lines: their parts follow each other while those are in the caches.
const MOST_PART_BYTES: usize = 64 << 10;

/// About how many parts a plan lists at most, however large the move: more gain nothing.
const MOST_PARTS: usize = 1 << 14;

/// The units of all steps in the order in which they are done: from the front of the destination to
/// its end, whichever step they belong to.
pub(crate) fn parts<S: Units>(steps: &[S], moved_bytes: usize) -> Vec<Part> {
    let most = MOST_PART_BYTES.max(moved_bytes / MOST_PARTS);
    let mut parts: Vec<Part> = Vec::new();
    for (step, work) in steps.iter().enumerate() {
        let units = work.units();
        let each = (most / work.unit_bytes().max(1)).max(1);
        let mut first = 0;
        while first < units {
            let end = first.saturating_add(each).min(units);
            parts.push(Part { step, first, end });
            first = end;
        }
    }
    if steps.len() > 1 {
        parts.sort_by_cached_key(|part| steps[part.step].dst_of(part.first));
    }
    parts
}

/// What each thread takes at a time: neighbouring parts, about as many bytes in each task.
pub(crate) fn tasks<S: Units>(
    parts: &[Part],
    steps: &[S],
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
        bytes = bytes.saturating_add((part.end - part.first) * steps[part.step].unit_bytes());
        if bytes >= most || index + 1 == parts.len() {
            tasks.push(first..index + 1);
            (first, bytes) = (index + 1, 0);
        }
    }
    tasks
}
