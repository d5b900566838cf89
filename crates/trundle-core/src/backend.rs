//! The interface of devices that run moves.

use alloc::boxed::Box;
use core::fmt::{Debug, Display};
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::program::Budget;
use crate::{Move, Result};

/// A device that plans and runs [`Move`]s, such as the CPU or a GPU.
///
/// `trundle-testing` has tests for any backend.
pub trait Backend {
    /// Memory of the host or of a device.
    type Buffer: ?Sized;

    /// A plan: all decisions that are made before a move runs. `Display` prints them with their reasons.
    type Plan: Display;

    /// Plans `work`.
    fn plan(&self, work: &Move) -> Self::Plan;

    /// Plans several moves to one destination as one pass, each move from its own source.
    ///
    /// The moves write disjoint bytes, and together write the whole destination. Returns `None` if it is as fast to run
    /// the moves one by one.
    fn plan_pass(&self, parts: &[&Move]) -> Option<Box<dyn PassPlan<Self::Buffer>>> {
        let _ = parts;
        None
    }

    /// The limits for planning programs.
    fn budget(&self) -> Budget;

    /// Allocates a buffer of `bytes` bytes that are all 0.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory.
    fn buffer(&self, bytes: usize) -> Result<Box<Self::Buffer>>;

    /// Allocates a buffer with a copy of `bytes`.
    ///
    /// # Errors
    /// As [`Backend::buffer`].
    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<Self::Buffer>>;

    /// The size of a buffer in bytes.
    fn bytes_of(&self, buffer: &Self::Buffer) -> usize;

    /// Moves the elements from `src` to `dst`. Bytes of `dst` outside the elements stay unchanged, and so do the other
    /// bits of bytes that sub-byte elements share.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if a buffer is too short for its planned layout.
    /// In this case, `dst` is unchanged.
    fn run(&self, plan: &Self::Plan, src: &Self::Buffer, dst: &mut Self::Buffer) -> Result<()> {
        self.run_while(plan, src, dst, &|| true)
    }

    /// Runs a plan as [`Backend::run`] until it is finished or `go_on` returns false.
    ///
    /// Threads call `go_on` before each part of the work, including the first, possibly at the same time. After it has
    /// returned false, no thread starts another part, and this function returns when the running parts have ended.
    ///
    /// # Errors
    /// The errors of [`Backend::run`], and [`Error::Stopped`](crate::Error::Stopped) if `go_on` returned false. In
    /// this case, any of the elements may have been written.
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
    /// Moves the elements from `sources` to `dst` until all are moved or `go_on` returns false. There is one source for
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
