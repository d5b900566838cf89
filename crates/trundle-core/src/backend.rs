//! What carries moves out.

use std::fmt::Display;

use crate::{Move, Result};

/// Something that turns a [`Move`] into a plan and runs it: a CPU, another device.
///
/// The conformance suite of `trundle-testing` runs on any of them unchanged.
pub trait Backend {
    /// Everything that is decided ahead of time. It prints as what would be done, and why.
    type Plan: Display;

    /// Decides how `work` is done.
    fn plan(&self, work: &Move) -> Self::Plan;

    /// Moves the elements from `src` to `dst`. Bytes of `dst` that no element covers are left as
    /// they are, and so are bits beside packed elements.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) if a buffer is shorter than the planned
    /// layouts; nothing has been written then.
    fn run(&self, plan: &Self::Plan, src: &[u8], dst: &mut [u8]) -> Result<()>;
}
