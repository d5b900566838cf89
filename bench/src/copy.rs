//! What everything is measured against: the fastest parallel copy of the same bytes.

use trundle_core::{Backend, IndexMap, Layout, Move, Shape};
use trundle_cpu::{Cpu, Plan};

/// A copy of `bytes` bytes: the better of the library's own streamed copy and of the system's
/// `memcpy` on every thread.
pub(crate) struct Copy {
    plan: Plan,
    threads: usize,
}

impl Copy {
    pub(crate) fn of(cpu: &Cpu, bytes: usize, threads: usize) -> trundle_core::Result<Copy> {
        let shape = Shape::new([bytes])?;
        let layout = Layout::row_major(&shape, 1)?;
        let work = Move::new(&IndexMap::identity(&shape), 1, &layout, &layout)?;
        Ok(Copy { plan: cpu.plan(&work), threads })
    }

    /// The library's copy: streamed stores.
    pub(crate) fn streamed(
        &self,
        cpu: &Cpu,
        src: &[u8],
        dst: &mut [u8],
    ) -> trundle_core::Result<()> {
        cpu.run(&self.plan, src, dst)
    }

    /// The system's copy, an equal share on each thread.
    pub(crate) fn system(&self, src: &[u8], dst: &mut [u8]) {
        let share = src.len().div_ceil(self.threads);
        std::thread::scope(|scope| {
            for (src, dst) in src.chunks(share).zip(dst.chunks_mut(share)) {
                scope.spawn(|| dst.copy_from_slice(src));
            }
        });
    }
}
