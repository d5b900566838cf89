//! What carries moves out.

use std::fmt::{Debug, Display};
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::program::Budget;
use crate::{Move, Result};

/// Something that turns a [`Move`] into a plan and runs it: a CPU, another device.
///
/// The conformance suite of `trundle-testing` runs on any of them unchanged.
pub trait Backend {
    /// Memory that it moves elements from and to: bytes of the host, an allocation of a device.
    type Buffer: ?Sized;

    /// Everything that is decided ahead of time. It prints as what would be done, and why.
    type Plan: Display;

    /// Decides how `work` is done.
    fn plan(&self, work: &Move) -> Self::Plan;

    /// Decides how several moves to one destination are done as one, each from a source of its own. They write different
    /// bytes, which together are all of it. `None` where one move after the other is as fast.
    fn plan_pass(&self, parts: &[&Move]) -> Option<Box<dyn PassPlan<Self::Buffer>>> {
        let _ = parts;
        None
    }

    /// What it is worth to move a program in few passes here.
    fn budget(&self) -> Budget;

    /// A new buffer of so many bytes, all of them 0.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if the memory has no room for it.
    fn buffer(&self, bytes: usize) -> Result<Box<Self::Buffer>>;

    /// A new buffer with these bytes.
    ///
    /// # Errors
    /// As [`Backend::buffer`].
    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<Self::Buffer>>;

    /// The bytes of a buffer.
    fn bytes_of(&self, buffer: &Self::Buffer) -> usize;

    /// Moves the elements from `src` to `dst`. Bytes of `dst` that no element covers are left as
    /// they are, and so are bits beside packed elements.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if a buffer is shorter than the planned
    /// layouts; nothing has been written then.
    fn run(&self, plan: &Self::Plan, src: &Self::Buffer, dst: &mut Self::Buffer) -> Result<()> {
        self.run_while(plan, src, dst, &|| true)
    }

    /// [`Backend::run`] as long as `go_on` says so. It is asked before each part of the work, the
    /// first too, by whichever thread takes that part, several at once. A no counts for all
    /// threads: none begins another part, and what they have begun ends before this returns.
    ///
    /// # Errors
    /// As [`Backend::run`], and [`Error::Stopped`](crate::Error::Stopped) if `go_on` said no: any
    /// elements may have been written then, and others not.
    fn run_while(
        &self,
        plan: &Self::Plan,
        src: &Self::Buffer,
        dst: &mut Self::Buffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()>;
}

/// How several moves to one destination are done as one: [`Backend::plan_pass`] makes it.
pub trait PassPlan<Buffer: ?Sized>:
    Debug + Display + Send + Sync + UnwindSafe + RefUnwindSafe
{
    /// Moves the elements from `sources`, one for each planned move in their order, to `dst` as long as `go_on` says so.
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
