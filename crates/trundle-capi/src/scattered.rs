//! A tensor with elements of another in some places: planned, and run on their memory.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use trundle::{Along, Chain, ScatterPlan};

use super::descriptor::Descriptor;
use super::error::Result;
use super::memory::Memory;
use super::moved::Moved;
use super::pair::Pair;

/// A scatter decided for three tensors: the data is copied, and the updates are put over it.
pub(crate) struct Scattered {
    copy: Moved,
    updates: Descriptor,
    put: Put,
    /// How many may put.
    threads: usize,
}

/// How the updates are put.
pub(crate) enum Put {
    /// To row-major tensors, at indices along an axis, which are in range.
    Along { along: Along, indices: Arc<[i64]> },
    /// Between any layouts, at these places.
    Places(ScatterPlan),
}

impl Scattered {
    pub(crate) fn new(pair: Pair, updates: Descriptor, put: Put) -> Result<Scattered> {
        let copy = Moved::of_chain(pair, &Chain::new())?;
        Ok(Scattered { copy, updates, put, threads: trundle::threads() })
    }

    /// What it writes.
    pub(crate) fn output(&self) -> &Descriptor {
        &self.copy.pair.out
    }

    /// Runs it on tensors that lie as was described, once it is known that the output is apart from them and from
    /// `others`, which the call reads too.
    ///
    /// # Safety
    /// What the tensors cover is the caller's. Nobody else writes to it meanwhile, or reads the output's.
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
        // SAFETY: the output is apart from both; the rest is the caller's word. The copy is over when the updates are
        // put.
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
