//! How a move is done on a device.

use std::borrow::Cow;
use std::fmt;

use trundle_core::{Error, Move, Result};
use trundle_gpu::{GpuMove, LaunchSummary, PlanText};

use crate::CudaBuffer;
use crate::launch::{Ends, Launch, Misaligned};
use crate::prepared::Prepared;
use crate::stream::Stream;

/// How a move is done on a device: it prints itself. What its kernels read beside the source is in the device's memory.
pub struct CudaPlan {
    prepared: Prepared,
    /// None, where the kernels read nothing but the source, or why they cannot be had.
    tables: Result<Option<CudaBuffer>>,
    stream: Stream,
}

impl CudaPlan {
    pub(crate) fn new(stream: Stream, work: &Move) -> CudaPlan {
        let (prepared, numbers) = Prepared::of(work);
        let tables = match numbers.all() {
            [] => Ok(None),
            numbers => CudaBuffer::of(stream, numbers).map(Some),
        };
        CudaPlan { prepared, tables, stream }
    }

    /// How the move is done, whatever the device is.
    pub fn gpu_move(&self) -> &GpuMove {
        &self.prepared.work
    }

    /// Whether its kernels read anything beside the source: lengths, indices. Such a plan is of the stream that it was made
    /// on, and others are of all streams of their device.
    pub fn has_tables(&self) -> bool {
        !matches!(self.tables, Ok(None))
    }

    /// What is launched, one after another, between buffers that begin at multiples of 16 bytes.
    ///
    /// # Errors
    /// Why it cannot be, which runs say, too.
    pub fn launches(&self) -> Result<Vec<LaunchSummary>> {
        self.numbers()?;
        self.prepared.summaries()
    }

    /// Refuses to be run on a stream that it is not of, or where a graph would need its tables.
    pub(crate) fn check_stream(&self, stream: Stream) -> Result<()> {
        if !self.has_tables() {
            return match self.stream.is_of(stream.context) {
                true => Ok(()),
                false => Err(misplaced("", self.stream, stream)),
            };
        }
        if !self.stream.is(stream) {
            return Err(misplaced(" has tables and", self.stream, stream));
        }
        stream.check_no_capture("the tables of a plan may be gone when that is replayed")
    }

    /// All that is launched between the ends, none of which is too short.
    pub(crate) fn launches_between(&self, ends: &Ends) -> Result<Cow<'_, [Launch]>> {
        self.prepared.work.check(ends.src.bytes, ends.dst.bytes)?;
        self.prepared.launches(Misaligned::of(ends.src.address, ends.dst.address))
    }

    /// Where its tables are, or 0.
    pub(crate) fn numbers(&self) -> Result<u64> {
        let tables = self.tables.as_ref().map_err(Error::clone)?;
        Ok(tables.as_ref().map_or(0, |tables| tables.device_bytes().address))
    }
}

fn misplaced(has: &str, planned: Stream, run: Stream) -> Error {
    let message = format!("the plan{has} was made on {planned:?}, and is run on {run:?}");
    Error::DeviceFailed { message }
}

impl fmt::Display for CudaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (work, device) = (self.gpu_move(), &self.stream.context.name);
        PlanText { device, work, launches: self.launches() }.fmt(f)
    }
}

impl fmt::Debug for CudaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaPlan({self})")
    }
}
