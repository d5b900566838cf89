//! One pass over a tensor within its own memory.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::memory::SharedBuffer;

/// A pass over a tensor within its own memory.
pub(super) trait Pass:
    fmt::Debug + fmt::Display + Send + Sync + UnwindSafe + RefUnwindSafe
{
    /// Returns the maximum scratch memory of a run.
    fn scratch_bytes(&self) -> usize;

    /// # Safety
    /// The memory must have the bytes of the move, and no other code may access it during the run.
    unsafe fn run(&self, memory: SharedBuffer);
}

/// Passes that run one after another.
pub(super) type Passes = Vec<Arc<dyn Pass>>;
