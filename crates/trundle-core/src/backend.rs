//! What carries moves out.

use std::fmt::Display;

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

    /// The same of a tensor that is rows of one buffer and an element around them. A backend that moves one after the
    /// other has none ([`Infallible`](std::convert::Infallible)).
    type FilledPlan: Display;

    /// How a tensor is moved within its own buffer. A backend that moves between two has none
    /// ([`Infallible`](std::convert::Infallible)).
    type InPlacePlan: Display;

    /// Decides how `work` is done.
    fn plan(&self, work: &Move) -> Self::Plan;

    /// Decides how two moves to one destination are done as one: they write different bytes, which together are all of
    /// it; `work` moves rows, and the source of `fill` is one element. `None` where one after the other is as fast.
    fn plan_filled(&self, work: &Move, fill: &Move) -> Option<Self::FilledPlan> {
        let _ = (work, fill);
        None
    }

    /// Decides how `work` is done where its source and its destination are the same buffer, with at most `most_scratch`
    /// bytes beside it. `None` if it cannot be.
    fn plan_in_place(&self, work: &Move, most_scratch: usize) -> Option<Self::InPlacePlan> {
        let _ = (work, most_scratch);
        None
    }

    /// What it is worth to move a program in few passes here.
    fn budget(&self) -> Budget;

    /// A new buffer of so many bytes, all of them 0.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the memory has no room for it.
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
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) if a buffer is shorter than the planned
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

    /// Moves the elements from `src`, and the one in `fill`, to `dst` as long as `go_on` says so. A backend without such
    /// plans is never asked.
    ///
    /// # Errors
    /// As [`Backend::run_while`].
    fn run_filled_while(
        &self,
        plan: &Self::FilledPlan,
        src: &Self::Buffer,
        fill: &Self::Buffer,
        dst: &mut Self::Buffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let _ = (src, fill, dst, go_on);
        unreachable!("{plan} was made by nobody")
    }

    /// Moves the elements of `buffer`. It is not stopped: what is in the middle of it is neither the tensor before nor the
    /// one after. A backend without such plans is never asked.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) if the buffer is shorter than what is planned; nothing has been
    /// written then.
    fn run_in_place(&self, plan: &Self::InPlacePlan, buffer: &mut Self::Buffer) -> Result<()> {
        let _ = buffer;
        unreachable!("{plan} was made by nobody")
    }
}
