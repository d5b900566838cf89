//! Orders the units of a plan and divides them into tasks.

use std::ops::Range;

use crate::threads::TASKS_PER_THREAD;

/// A range of units of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPart {
    /// Index of the step.
    pub step: usize,
    /// First unit.
    pub first: usize,
    /// One past the last unit.
    pub end: usize,
}

/// A step of a plan: a block, cut into units, the smallest shares that a thread can take.
pub(crate) trait Units {
    fn units(&self) -> usize;

    /// Returns the approximate size of a unit in bytes. Units at edges may be smaller. A sub-byte element counts as one
    /// byte.
    fn unit_bytes(&self) -> usize;

    /// Returns the offset of a unit in the destination, in bytes or sub-byte elements.
    fn dst_of(&self, unit: usize) -> isize;
}

const LEAST_TASK_BYTES: usize = 64 << 10;

/// Maximum number of bytes per part. In a roll, two blocks write the two ends of the same rows. Small parts in
/// destination order run soon after each other, while the common cache lines are cached.
const MOST_PART_BYTES: usize = 64 << 10;

/// Approximate maximum number of parts. More would not make a plan faster.
const MOST_PARTS: usize = 1 << 14;

/// Groups the units of all steps into parts, in destination order.
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

/// Divides the parts into tasks of about equal size: ranges of consecutive parts.
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
