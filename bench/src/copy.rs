//! What everything is measured against: the fastest parallel copy of the same bytes.

use std::time::Instant;

use trundle::internal::Planner;
use trundle::lowering::{CpuPlan, Move};
use trundle::tuning::{Level, Tuning};
use trundle::{IndexMap, Layout, Machine, PlanError, Result, Shape};

/// What a thread of the system's copy has to do at least: starting it costs as much as copying
/// about a tenth of this.
const LEAST_SHARE_BYTES: usize = 4 << 20;

/// How often each of our copies runs before the fastest is taken.
const TRIALS: usize = 3;

/// What can be copied on several threads.
pub(crate) trait Element: std::marker::Copy + Send + Sync {}

impl<T: std::marker::Copy + Send + Sync> Element for T {}

/// A copy of `bytes` bytes, in two ways.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Ours, each with another loop, until the fastest is known.
    plans: Vec<CpuPlan>,
    threads: usize,
}

impl Copy {
    pub(crate) fn of(bytes: usize, threads: usize) -> Result<Copy, PlanError> {
        let shape = Shape::new([bytes])?;
        let layout = Layout::row_major(&shape, 1)?;
        let copy = Move::new(&IndexMap::identity(&shape), 1, &layout, &layout, 1)?;
        let plan = |tuning| {
            Planner::new(Machine { threads, tuning, ..Machine::detect().clone() }).plan(&copy)
        };
        let plans = loops(Machine::detect().tuning).map(plan).to_vec();
        let threads = threads.min(bytes / LEAST_SHARE_BYTES).max(1);
        Ok(Copy { plans, threads })
    }

    /// Takes the fastest of ours, by runs in turn.
    pub(crate) fn choose<T: Element>(&mut self, src: &[T], dst: &mut [T]) -> Result<()> {
        let mut least = vec![f64::MAX; self.plans.len()];
        for _ in 0..TRIALS {
            for (plan, least) in self.plans.iter().zip(&mut least) {
                let start = Instant::now();
                plan.run_slice_into(src, dst)?;
                *least = least.min(start.elapsed().as_secs_f64());
            }
        }
        let fastest = (0..least.len()).min_by(|a, b| least[*a].total_cmp(&least[*b]));
        self.plans.swap(0, fastest.unwrap_or(0));
        self.plans.truncate(1);
        Ok(())
    }

    /// The library's own: what does not fit in the caches is written past them.
    pub(crate) fn ours<T: Element>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        self.plans[0].run_slice_into(src, dst)
    }

    /// The system's `memcpy`, an equal share on each thread.
    pub(crate) fn system<T: Element>(&self, src: &[T], dst: &mut [T]) {
        if self.threads == 1 {
            return dst.copy_from_slice(src);
        }
        let share = src.len().div_ceil(self.threads).next_multiple_of(64);
        std::thread::scope(|scope| {
            for (src, dst) in src.chunks(share).zip(dst.chunks_mut(share)) {
                scope.spawn(|| dst.copy_from_slice(src));
            }
        });
    }
}

/// Loops that are the fastest on one machine or another: as this machine is tuned; line by line,
/// prefetched near and far, into either cache; and four pages in turn.
fn loops(tuned: Tuning) -> [Tuning; 6] {
    let line_by_line =
        |run_level, run_ahead| Tuning { run_level, run_ahead, run_pages: 1, ..tuned };
    [
        tuned,
        line_by_line(Level::L1, 2 << 10),
        line_by_line(Level::L1, 4 << 10),
        line_by_line(Level::L2, 2 << 10),
        line_by_line(Level::L2, 16 << 10),
        Tuning { run_pages: 4, ..tuned },
    ]
}
