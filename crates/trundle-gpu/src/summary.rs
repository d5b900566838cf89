//! Descriptions of launches, for any device.

use std::fmt;
use std::ops::Range;

use trundle_core::Result;

use crate::{GpuMove, WORKGROUP, Window};

/// A description of a launch. The plans of any device have one for each launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSummary {
    /// The index of the block in the [`GpuMove`](crate::GpuMove).
    pub block: usize,
    /// The kernel's name.
    pub kernel: String,
    /// The number of workgroups of [`WORKGROUP`] invocations.
    pub workgroups: u32,
    /// The range of bytes of the source buffer that is read. With an index table, not every byte is read.
    pub reads: Range<usize>,
    /// The range of bytes of the destination buffer that is written.
    pub writes: Range<usize>,
    /// The windows of source and destination, if the device uses windows.
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

/// A plan in its printed form.
#[derive(Debug)]
pub struct PlanText<'a> {
    /// The device's name.
    pub device: &'a str,
    /// The planned move.
    pub work: &'a GpuMove,
    /// The launches, or the reason why the plan cannot be launched.
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
