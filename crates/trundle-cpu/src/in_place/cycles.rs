//! Moves cells in cycles: saves the first cell, moves the next one to its place, and so on.
//!
//! If there are few long cycles, they are cut into segments, at least one per thread. The first cell of each segment
//! is saved before anything is moved, because the previous segment overwrites it last.

use trundle_kernels::simd::LINE;

use super::cells::{Cells, Cycles, Index, MOST_AXES};
use super::limits::Limits;
use super::memory::{Marks, Scratch, SharedBuffer};
use super::pass::Pass;
use crate::threads::for_each_task;

const TASK_BYTES: usize = 1 << 20;

/// Least cell size for segments; with smaller cells the list of segments is long.
const LEAST_SEGMENT_CELL: usize = 1 << 10;

/// Segments per thread for a single cycle.
const SEGMENTS: usize = 4;

/// The cycles of some cells, as a work list.
struct Cuts {
    /// A cell number of each cycle that is moved whole.
    whole: Vec<usize>,
    segments: Vec<Segment>,
}

/// A segment of a cycle; it ends where another segment begins.
struct Segment {
    /// Number of its first cell, which is saved at the segment's position in the list.
    first: usize,
    next: usize,
}

impl Pass for Cells {
    fn scratch_bytes(&self) -> usize {
        let marks = match self.cycles {
            Cycles::Marked => self.together.div_ceil(8),
            Cycles::Within | Cycles::Short(_) => 0,
        };
        if self.segments > 0 {
            let saved = 2 * self.segments * (self.pitch() + size_of::<Segment>()) + LINE;
            return self.threads * self.scratch_each() + saved + self.lists_bytes() + marks;
        }
        self.threads * (self.scratch_each() + marks)
    }

    unsafe fn run(&self, memory: SharedBuffer) {
        let (units, each) = match self.cycles {
            Cycles::Marked => (self.units(), self.together),
            Cycles::Within | Cycles::Short(_) => (self.numbers(), 1),
        };
        let scratch = Scratch::new(self.scratch_each());
        if self.segments > 0 {
            for unit in 0..units {
                // SAFETY: the buffer is valid and unshared by the contract of this function.
                unsafe { self.run_cut(unit * each, memory, &scratch) };
            }
            return;
        }
        let together = (TASK_BYTES / (self.cell_bytes * each).max(1))
            .clamp(1, units.div_ceil(self.threads).max(1));
        for_each_task(self.threads, units.div_ceil(together), &|task| {
            scratch.with(|own| {
                let first = task * together;
                for unit in first..(first + together).min(units) {
                    // SAFETY: each cell belongs to one cycle, which one unit moves, and cells do not overlap.
                    unsafe {
                        match self.cycles {
                            Cycles::Marked => self.run_marked(unit * each, memory, own),
                            Cycles::Within | Cycles::Short(_) => self.run_short(unit, memory, own),
                        }
                    }
                }
            });
        });
    }
}

impl Cells {
    /// Decides to cut cycles if there are few for the threads and the scratch holds the first cells of all segments,
    /// up to twice the planned number.
    pub(super) fn cut(&mut self, limits: Limits) {
        let is_long = self.cycles == Cycles::Marked && self.cell_bytes >= LEAST_SEGMENT_CELL;
        if !is_long || self.threads == 1 || self.units() >= 2 * self.threads {
            return;
        }
        let left = limits.scratch.saturating_sub(self.scratch_bytes() + self.lists_bytes() + LINE);
        let each = self.pitch() + size_of::<Segment>();
        let segments = (SEGMENTS * self.threads).min(left / each / 2);
        self.segments = if segments > 1 { segments } else { 0 };
    }

    /// Returns the most bytes of the list of cycles.
    fn lists_bytes(&self) -> usize {
        self.together / 2 * size_of::<usize>()
    }

    /// Returns the scratch bytes of a thread: one cell to save and, if cells go through the scratch, a second one.
    fn scratch_each(&self) -> usize {
        (1 + usize::from(self.goes_through_scratch)) * self.pitch() + LINE
    }

    /// Moves the cycle of cell `number` if that is its smallest cell.
    ///
    /// # Safety
    /// As [`Pass::run`].
    unsafe fn run_short(&self, number: usize, memory: SharedBuffer, scratch: &mut [u8]) {
        let Some(first) = self.index(number) else { return };
        let mut at = self.read_at(&first);
        while at != first {
            if at < first {
                return;
            }
            at = self.read_at(&at);
        }
        // SAFETY: the cycle belongs to this call, because only its smallest cell gets here.
        unsafe { self.run_cycle(&first, memory, scratch, |_| ()) };
    }

    /// Moves the cycles of a group of cells with common marks, from cell `number` on.
    ///
    /// # Safety
    /// As [`Pass::run`].
    unsafe fn run_marked(&self, number: usize, memory: SharedBuffer, scratch: &mut [u8]) {
        self.for_each_cycle(number, |first, mark| {
            // SAFETY: the group belongs to this call, and each of its cycles is visited once.
            unsafe { self.run_cycle(first, memory, scratch, mark) };
        });
    }

    /// Moves the cycles of a group of cells with common marks, from cell `number` on, cut into segments.
    ///
    /// # Safety
    /// As [`Pass::run`].
    unsafe fn run_cut(&self, number: usize, memory: SharedBuffer, scratch: &Scratch) {
        let Cuts { whole, segments } = self.cuts(number);
        let mut saved: Vec<u8> = Vec::with_capacity(segments.len() * self.pitch() + LINE);
        let begin = saved.as_ptr().align_offset(LINE);
        let saved = SharedBuffer::new(saved.as_mut_ptr().wrapping_add(begin));
        let slot = |segment: usize| saved.at(segment * self.pitch());
        let index = |number: usize| self.index(number).unwrap_or([0; MOST_AXES]);
        for_each_task(self.threads, segments.len(), &|segment| {
            let first = index(segments[segment].first);
            // SAFETY: the buffer is valid by the contract of this function, and `saved` has a slot per segment.
            unsafe {
                self.plans(&first).saved.run(memory.at(self.place(&first)), slot(segment), 0);
            }
        });
        let together = whole.len().div_ceil(SEGMENTS * self.threads).max(1);
        let tasks = segments.len() + whole.len().div_ceil(together);
        for_each_task(self.threads, tasks, &|task| {
            scratch.with(|own| {
                if let Some(Segment { first, next }) = segments.get(task) {
                    let (first, end) = (index(*first), index(segments[*next].first));
                    // SAFETY: each cell belongs to one segment, and the first cell of each segment is saved.
                    unsafe { self.run_path(&first, &end, slot(*next), memory, own, |_| ()) };
                    return;
                }
                let begin = (task - segments.len()) * together;
                for first in &whole[begin..(begin + together).min(whole.len())] {
                    // SAFETY: each cell belongs to one cycle.
                    unsafe { self.run_cycle(&index(*first), memory, own, |_| ()) };
                }
            });
        });
    }

    /// Lists the cycles of a group of cells with common marks, from cell `number` on.
    fn cuts(&self, number: usize) -> Cuts {
        let most = self.together.div_ceil(self.segments);
        let mut cuts = Cuts { whole: Vec::new(), segments: Vec::new() };
        self.for_each_cycle(number, |first, mark| {
            let begin = cuts.segments.len();
            let mut at = *first;
            for cells in 0.. {
                mark(&at);
                if cells % most == 0 {
                    let next = cuts.segments.len() + 1;
                    cuts.segments.push(Segment { first: self.number(&at), next });
                }
                at = self.read_at(&at);
                if at == *first {
                    break;
                }
            }
            if cuts.segments.len() == begin + 1 {
                cuts.segments.pop();
                cuts.whole.push(self.number(first));
            } else if let Some(last) = cuts.segments.last_mut() {
                last.next = begin;
            }
        });
        cuts
    }

    /// Visits a cell of each cycle in a group with common marks, from cell `number` on. The callback must mark all
    /// cells of the cycle.
    fn for_each_cycle(&self, number: usize, mut visit: impl FnMut(&Index, &mut dyn FnMut(&Index))) {
        let mut marks = Marks::new(self.together);
        for cell in 0..self.together {
            if marks.has(cell) {
                continue;
            }
            let Some(first) = self.index(number + cell) else { continue };
            visit(&first, &mut |index| marks.set(self.number(index) - number));
        }
    }

    /// Moves a cycle and calls `moved` for each of its cells.
    ///
    /// # Safety
    /// As [`Pass::run`].
    unsafe fn run_cycle(
        &self,
        first: &Index,
        memory: SharedBuffer,
        scratch: &mut [u8],
        mut moved: impl FnMut(&Index),
    ) {
        let plans = self.plans(first);
        let begin = scratch.as_ptr().align_offset(LINE);
        let (saved, rest) = scratch[begin..].split_at_mut(self.pitch());
        let saved = saved.as_mut_ptr();
        let is_alone = self.read_at(first) == *first;
        if is_alone && plans.is_kept {
            return moved(first);
        }
        // SAFETY: cells lie within the valid tensor, and the scratch has room for a cell.
        unsafe {
            plans.saved.run(memory.at(self.place(first)), saved, 0);
            self.run_path(first, first, saved, memory, rest, moved);
        }
    }

    /// Moves the cells of a cycle from `first` until the next source is `end`, whose contents are in `saved`. Calls
    /// `moved` for each cell.
    ///
    /// # Safety
    /// As [`Pass::run`].
    unsafe fn run_path(
        &self,
        first: &Index,
        end: &Index,
        saved: *const u8,
        memory: SharedBuffer,
        scratch: &mut [u8],
        mut moved: impl FnMut(&Index),
    ) {
        let mut to = *first;
        let mut from = self.read_at(&to);
        moved(&to);
        let begin = scratch.as_ptr().align_offset(LINE);
        let copy = scratch[begin..].as_mut_ptr();
        // SAFETY: cells lie within the valid tensor and do not overlap. If cells go through the scratch, it has room
        // for one.
        unsafe {
            while from != *end {
                let (src, dst) = (memory.at(self.place(&from)), memory.at(self.place(&to)));
                if self.goes_through_scratch {
                    self.plans(&from).saved.run(src, copy, 0);
                    self.plans(&to).restored.run(copy, dst, self.entry(&to));
                } else {
                    self.plans(&to).across.run(src, dst, self.entry(&to));
                }
                to = from;
                moved(&to);
                from = self.read_at(&from);
            }
            self.plans(&to).restored.run(saved, memory.at(self.place(&to)), self.entry(&to));
        }
    }
}
