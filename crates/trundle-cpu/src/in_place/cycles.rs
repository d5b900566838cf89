//! Moves cells in cycles: saves the first cell of a cycle, moves the next cell to its place, and so on.
//!
//! A few long cycles would not give work to all threads, so they are cut into segments. The last move of a segment
//! reads the first cell of the next segment, which another thread may have overwritten. So the first cells of all
//! segments are saved before anything is moved.

use trundle_kernels::simd::LINE;

use super::cells::{Cells, Cycles, Index, MOST_AXES};
use super::limits::Limits;
use super::memory::{Marks, Scratch, SharedBuffer};
use super::pass::Pass;
use crate::threads::for_each_task;

const TASK_BYTES: usize = 1 << 20;

/// Minimum size of a cell in bytes for cutting cycles. With smaller cells, the lists of cycles take too much memory.
const LEAST_SEGMENT_CELL: usize = 1 << 10;

/// Number of segments per thread, if there is a single cycle.
const SEGMENTS: usize = 4;

struct Cuts {
    /// One cell of each cycle that is not cut.
    whole: Vec<usize>,
    segments: Vec<Segment>,
}

/// A segment of a cycle, up to the next segment.
struct Segment {
    /// The first cell, whose saved copy has the index of this segment.
    first: usize,
    /// Index of the next segment.
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
                // SAFETY: the caller guarantees that the buffer is valid and not shared.
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
                    // SAFETY: cells do not overlap. Each cell belongs to one cycle, and one unit moves that cycle.
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
    /// Cuts cycles into segments if there are too few groups for all threads and the scratch holds the first cells of
    /// twice the planned number of segments.
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

    fn lists_bytes(&self) -> usize {
        self.together / 2 * size_of::<usize>()
    }

    /// Returns the scratch bytes of a thread: one cell to save and, if cells go through the scratch, a second one.
    fn scratch_each(&self) -> usize {
        (1 + usize::from(self.goes_through_scratch)) * self.pitch() + LINE
    }

    /// Moves the cycle of cell `number`, if that is its smallest cell.
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
        // SAFETY: the cycle belongs to this call, because only the call for its smallest cell gets here.
        unsafe { self.run_cycle(&first, memory, scratch, |_| ()) };
    }

    /// Moves the cycles of the group of cells that begins with `number`.
    ///
    /// # Safety
    /// As [`Pass::run`].
    unsafe fn run_marked(&self, number: usize, memory: SharedBuffer, scratch: &mut [u8]) {
        self.for_each_cycle(number, |first, mark| {
            // SAFETY: only this call moves the group, and each of its cycles is visited once.
            unsafe { self.run_cycle(first, memory, scratch, mark) };
        });
    }

    /// Moves the cycles of the group of cells that begins with `number`, cut into segments.
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
            // SAFETY: the caller guarantees that the buffer is valid, and `saved` has a slot for each segment.
            unsafe {
                self.plans(&first).saved.run(memory.at(self.offset_of(&first)), slot(segment), 0);
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

    /// Lists the cycles of the group of cells that begins with `number`.
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

    /// Calls `visit` with a cell of each cycle in the group of cells that begins with `number`. `visit` must pass all
    /// cells of the cycle to its second argument, which marks them.
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
        // SAFETY: cells lie within the valid tensor, and the scratch has space for a cell.
        unsafe {
            plans.saved.run(memory.at(self.offset_of(first)), saved, 0);
            self.run_path(first, first, saved, memory, rest, moved);
        }
    }

    /// Moves each cell of a cycle, from `first` on, to the place of the previous one. The last one is `end`, whose
    /// elements are in `saved`. Calls `moved` for each cell.
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
                let (src, dst) = (memory.at(self.offset_of(&from)), memory.at(self.offset_of(&to)));
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
            self.plans(&to).restored.run(saved, memory.at(self.offset_of(&to)), self.entry(&to));
        }
    }
}
