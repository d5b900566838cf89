//! Planned scatters.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use trundle::{Along, Chain, ScatterPlan};

use super::descriptor::Descriptor;
use super::error::Result;
use super::memory::Memory;
use super::moved::Moved;
use super::pair::Pair;

/// A planned scatter: a copy of the data, then the updates.
pub(crate) struct Scattered {
    copy: Moved,
    updates: Descriptor,
    put: Put,
    /// The most threads that may write updates.
    threads: usize,
}

/// How the updates are written.
pub(crate) enum Put {
    /// At indices along one axis of row-major tensors; the indices are in range.
    Along { along: Along, indices: Arc<[i64]> },
    /// At positions of any layouts.
    Places(ScatterPlan),
}

impl Scattered {
    pub(crate) fn new(pair: Pair, updates: Descriptor, put: Put) -> Result<Scattered> {
        let copy = Moved::of_chain(pair, &Chain::new())?;
        Ok(Scattered { copy, updates, put, threads: trundle::threads() })
    }

    /// Returns the output's description.
    pub(crate) fn output(&self) -> &Descriptor {
        &self.copy.pair.out
    }

    /// Checks that the output overlaps neither an input nor `others`, which the call also reads, and runs the plan.
    ///
    /// # Safety
    /// The memory that the tensors cover belongs to the caller. During the call no one else writes to it or reads
    /// the output.
    pub(crate) unsafe fn run(
        &self,
        [data, updates]: [*const c_void; 2],
        out: *mut c_void,
        others: &[Memory],
    ) -> Result<()> {
        let Pair { data: read, out: written } = &self.copy.pair;
        let data = read.memory(data.cast()).map_err(|failure| failure.of_input(0))?;
        let updates = self.updates.memory(updates.cast()).map_err(|failure| failure.of_input(1))?;
        let out = written.memory(out.cast())?;
        others.iter().chain([&data, &updates]).try_for_each(|other| out.check_apart(other))?;
        // SAFETY: the output overlaps no input, and the caller owns the memory. The copy ends before the updates
        // begin.
        unsafe {
            self.copy.plan.run(data.read(), out.write())?;
            self.put(updates.read(), out.write())
        }
    }

    fn put(&self, updates: &[u8], out: &mut [u8]) -> Result<()> {
        Ok(match &self.put {
            Put::Along { along, indices } => along.put_along(out, indices, updates, self.threads),
            Put::Places(places) => places.put(updates, out),
        }?)
    }
}

impl fmt::Display for Scattered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, width) = match &self.put {
            Put::Along { along: Along { outer, count, inner, width, .. }, .. } => {
                (outer * count * inner, *width)
            }
            Put::Places(places) => places.pieces(),
        };
        let copy = &self.copy.plan;
        write!(f, "from input 0 to output 0: {copy}\n\n")?;
        write!(f, "from input 1 to output 0: {count} x {width} bytes, each to its place")
    }
}
