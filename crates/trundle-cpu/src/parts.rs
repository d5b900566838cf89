//! Orders the units of a plan and divides them into tasks.

use std::ops::Range;

use crate::threads::TASKS_PER_THREAD;

/// Units `first..end` of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPart {
    /// Index of the step.
    pub step: usize,
    /// First unit.
    pub first: usize,
    /// Unit after the last.
    pub end: usize,
}

/// One step of a plan: one block of a move, cut into units.
pub(crate) trait Units {
    fn units(&self) -> usize;

    /// Returns the approximate size of a unit in bytes; units at edges are smaller. Sub-byte elements count as one
    /// byte.
    fn unit_bytes(&self) -> usize;

    /// Returns where a unit is written, in bytes or sub-byte elements from the start of the destination.
    fn dst_of(&self, unit: usize) -> isize;
}

const LEAST_TASK_BYTES: usize = 64 << 10;

/// Most bytes per part. Blocks that meet within rows, as in a roll, access adjacent cache lines; their parts should
/// follow each other while those lines are cached.
const MOST_PART_BYTES: usize = 64 << 10;

/// Approximate limit on the number of parts of a plan; more would not help.
const MOST_PARTS: usize = 1 << 14;

/// Returns the units of all steps ordered by destination address.
pub(crate) fn parts<S: Units>(steps: &[S], moved_bytes: usize) -> Vec<StepPart> {
    let most = MOST_PART_BYTES.max(moved_bytes / MOST_PARTS);
    let mut parts: Vec<StepPart> = Vec::new();
    for (step, work) in steps.iter().enumerate() {
        let units = work.units();
        let each = (most / work.unit_bytes().max(1)).max(1);
        let mut first = 0;
        while first < units {
            let end = first.saturating_add(each).min(units);
            parts.push(StepPart { step, first, end });
            first = end;
        }
    }
    if steps.len() > 1 {
        parts.sort_by_cached_key(|part| steps[part.step].dst_of(part.first));
    }
    parts
}

/// Divides the parts into tasks of about equal size; each is a range of consecutive parts.
pub(crate) fn tasks<S: Units>(
    parts: &[StepPart],
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
