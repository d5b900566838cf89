//! What everything is measured against: the fastest parallel copy of the same bytes.

use trundle::{Chain, Plan, PlanError, Result, Shape};

/// What a thread of the system's copy has to do at least: starting it costs as much as copying
/// about a tenth of this.
const LEAST_SHARE_BYTES: usize = 4 << 20;

/// What can be copied on several threads.
pub(crate) trait Element: std::marker::Copy + Send + Sync {}

impl<T: std::marker::Copy + Send + Sync> Element for T {}

/// A copy of `bytes` bytes, in two ways.
#[derive(Debug)]
pub(crate) struct Copy {
    plan: Plan,
    threads: usize,
}

impl Copy {
    pub(crate) fn of(bytes: usize, threads: usize) -> Result<Copy, PlanError> {
        let plan = Plan::row_major(&Chain::new(), 1, &Shape::new([bytes])?, Some(threads))?;
        Ok(Copy { plan, threads: threads.min(bytes / LEAST_SHARE_BYTES).max(1) })
    }

    /// The library's own: what does not fit in the caches is written past them.
    pub(crate) fn streamed<T: Element>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        self.plan.run_slice_into(src, dst)
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
