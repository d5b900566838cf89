//! What is said of launches, whichever the device is.

use std::fmt;
use std::ops::Range;

use trundle_core::Result;

use crate::{GpuMove, WORKGROUP, Window};

/// What is said of a launch, to people and to programs: a plan of any device has one for each of its launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSummary {
    /// Which block of the [`GpuMove`](crate::GpuMove) it moves, or a part of.
    pub block: usize,
    /// What the kernel is called.
    pub kernel: String,
    /// How many workgroups there are, each of [`WORKGROUP`] invocations.
    pub workgroups: u32,
    /// Where it reads in the buffer of the source, in bytes: where a table says what is read, not all that lies there.
    pub reads: Range<usize>,
    /// Where it writes in the buffer of the destination, in bytes.
    pub writes: Range<usize>,
    /// What is bound of both buffers, the source's first, on a device that binds them.
    pub windows: Option<[Window; 2]>,
}

impl fmt::Display for LaunchSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LaunchSummary { block, kernel, workgroups, reads, writes, windows: _ } = self;
        let plural = if *workgroups == 1 { "" } else { "s" };
        write!(
            f,
            "block {block} by {kernel}, {workgroups} workgroup{plural} of {WORKGROUP} invocations; \
             reads {}..{}, writes {}..{}",
            reads.start, reads.end, writes.start, writes.end
        )
    }
}

/// A plan as it prints itself.
#[derive(Debug)]
pub struct PlanText<'a> {
    /// What the device is called.
    pub device: &'a str,
    /// How the move is done.
    pub work: &'a GpuMove,
    /// What is launched, or why that cannot be.
    pub launches: Result<Vec<LaunchSummary>>,
}

impl fmt::Display for PlanText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlanText { device, work, launches } = self;
        let launches = match launches {
            Ok(launches) => launches,
            Err(error) => return write!(f, "not to be launched on {device}, {error}: {work}"),
        };
        let plural = if launches.len() == 1 { "" } else { "es" };
        write!(f, "{} launch{plural} on {device}: {work}", launches.len())?;
        for (number, launch) in launches.iter().enumerate() {
            write!(f, "\n  launch {number}: {launch}")?;
        }
        Ok(())
    }
}
