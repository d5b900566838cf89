//! The reference for all speeds: the fastest parallel copy of the same bytes.

use std::time::Instant;

use trundle::lowering::{Backend, CpuPlan, Device, Move};
use trundle::tuning::{Level, Tuning};
use trundle::{IndexMap, Layout, Machine, PlanError, Result, Shape};

/// The minimum bytes per thread of the system's copy. Starting a thread takes as long as copying about a tenth of this.
const LEAST_SHARE_BYTES: usize = 4 << 20;

/// How often each plan is timed to choose the fastest.
const TRIALS: usize = 3;

pub(crate) trait Element: std::marker::Copy + Send + Sync {}

impl<T: std::marker::Copy + Send + Sync> Element for T {}

#[derive(Debug)]
pub(crate) struct Copy {
    /// The library's copy with different loops. After the choice there is only one.
    plans: Vec<CpuPlan>,
    threads: usize,
}

impl Copy {
    pub(crate) fn of(bytes: usize, threads: usize) -> Result<Copy, PlanError> {
        let shape = Shape::new([bytes])?;
        let layout = Layout::row_major(&shape, 1)?;
        let copy = Move::new(&IndexMap::identity(&shape), 1, &layout, &layout, 1)?;
        let plan = |tuning| {
            Device::with_machine(Machine { threads, tuning, ..Machine::detect().clone() })
                .plan(&copy)
        };
        let plans = loops(Machine::detect().tuning).map(plan).to_vec();
        let threads = threads.min(bytes / LEAST_SHARE_BYTES).max(1);
        Ok(Copy { plans, threads })
    }

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

    /// Runs the library's copy, which uses streaming stores above the cache size.
    pub(crate) fn ours<T: Element>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        self.plans[0].run_slice_into(src, dst)
    }

    /// Runs the system's `memcpy`, with an equal share for each thread.
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

/// The loops that are the fastest on some machine: the tuned loops; loops that copy line by line and prefetch a short
/// or a long distance ahead, into either cache; and loops that copy four pages alternately.
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
