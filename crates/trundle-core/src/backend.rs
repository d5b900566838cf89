//! The interface of devices that execute moves.

use std::fmt::{Debug, Display};
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::program::Budget;
use crate::{Move, Result};

/// A device that plans and runs [`Move`]s, such as the CPU or a GPU.
///
/// The conformance suite of `trundle-testing` runs on any backend unchanged.
pub trait Backend {
    /// Memory that holds elements: host bytes or a device allocation.
    type Buffer: ?Sized;

    /// A plan: everything that is decided ahead of time. It displays the steps and the reasons for them.
    type Plan: Display;

    /// Plans `work`.
    fn plan(&self, work: &Move) -> Self::Plan;

    /// Plans several moves to one destination, each from its own source, as one pass. The moves write
    /// disjoint bytes and together all of the destination. Returns `None` if running the moves one by one is
    /// as fast.
    fn plan_pass(&self, parts: &[&Move]) -> Option<Box<dyn PassPlan<Self::Buffer>>> {
        let _ = parts;
        None
    }

    /// Budget for planning programs on this backend.
    fn budget(&self) -> Budget;

    /// Allocates a buffer of `bytes` zero bytes.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory.
    fn buffer(&self, bytes: usize) -> Result<Box<Self::Buffer>>;

    /// Allocates a buffer with a copy of `bytes`.
    ///
    /// # Errors
    /// As [`Backend::buffer`].
    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<Self::Buffer>>;

    /// Size of a buffer in bytes.
    fn bytes_of(&self, buffer: &Self::Buffer) -> usize;

    /// Moves the elements from `src` to `dst`. Bytes of `dst` that no element covers keep their values, and
    /// so do the other bits of bytes that hold packed elements.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if a buffer is shorter than the planned
    /// layouts. Nothing has been written then.
    fn run(&self, plan: &Self::Plan, src: &Self::Buffer, dst: &mut Self::Buffer) -> Result<()> {
        self.run_while(plan, src, dst, &|| true)
    }

    /// [`Backend::run`] that can be cancelled. Threads call `go_on` before each part of the work, including
    /// the first, possibly at the same time. Once it returns false, no thread starts another part, and the
    /// call returns when the running parts have ended.
    ///
    /// # Errors
    /// As [`Backend::run`], and [`Error::Stopped`](crate::Error::Stopped) if `go_on` returned false; an
    /// arbitrary subset of the elements has been written then.
    fn run_while(
        &self,
        plan: &Self::Plan,
        src: &Self::Buffer,
        dst: &mut Self::Buffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()>;
}

/// A plan for several moves to one destination in one pass, made by [`Backend::plan_pass`].
pub trait PassPlan<Buffer: ?Sized>:
    Debug + Display + Send + Sync + UnwindSafe + RefUnwindSafe
{
    /// Moves the elements from `sources` to `dst` as long as `go_on` returns true. There is one source for
    /// each planned move, in the same order.
    ///
    /// # Errors
    /// As [`Backend::run_while`].
    fn run_while(
        &self,
        sources: &[&Buffer],
        dst: &mut Buffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()>;
}
