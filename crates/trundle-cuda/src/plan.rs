//! The plan of a move on a device.

use std::borrow::Cow;
use std::fmt;

use trundle_core::{Error, Move, Result};
use trundle_gpu::{GpuMove, LaunchSummary, PlanText};

use crate::launch::{Ends, Launch, Misaligned, Start};
use crate::prepared::Prepared;
use crate::specialised::{PlanKernels, Ready};
use crate::stream::Stream;
use crate::{Cuda, CudaBuffer};

/// The plan of a move, with its tables in device memory. `Display` prints the launches of kernels for any move, and
/// which kernels are compiled for this one.
pub struct CudaPlan {
    prepared: Prepared,
    /// `Ok(None)` if the kernels read only the source, `Err` if the tables could not be copied.
    tables: Result<Option<CudaBuffer>>,
    kernels: PlanKernels,
    stream: Stream,
}

impl CudaPlan {
    pub(crate) fn new(gpu: &Cuda, work: &Move) -> CudaPlan {
        let stream = gpu.stream;
        let (prepared, numbers) = Prepared::of(work);
        let tables = match numbers.all() {
            [] => Ok(None),
            numbers => CudaBuffer::of(stream, numbers).map(Some),
        };
        let kernels = PlanKernels::new(stream, gpu.specialise, &prepared.work);
        CudaPlan { prepared, tables, kernels, stream }
    }

    /// Returns the part of the plan that does not depend on the device.
    pub fn gpu_move(&self) -> &GpuMove {
        &self.prepared.work
    }

    /// Whether the kernels read tables of lengths or indices. A plan with tables runs only on the stream for which it
    /// was made. Other plans run on any stream of their device.
    pub fn has_tables(&self) -> bool {
        !matches!(self.tables, Ok(None))
    }

    /// Returns a summary of each launch, in order, for buffers that are aligned to 16 bytes.
    ///
    /// # Errors
    /// The error that runs of this plan return.
    pub fn launches(&self) -> Result<Vec<LaunchSummary>> {
        self.numbers()?;
        self.prepared.summaries()
    }

    /// Describes the kernels that are compiled for this plan, or the reason why there are none: one line for each block
    /// of the move, for buffers that are aligned to 16 bytes.
    pub fn specialised(&self) -> Vec<String> {
        self.kernels.lines(self.gpu_move())
    }

    /// Refuses streams of other devices, and for a plan with tables all streams but its own, and graph capture.
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
        stream.check_no_capture("the tables of a plan may be freed before the graph is replayed")
    }

    /// Checks the sizes of both buffers.
    pub(crate) fn check_sizes(&self, ends: &Ends) -> Result<()> {
        self.prepared.work.check(ends.src.bytes, ends.dst.bytes)
    }

    /// Returns the specialised kernels for a run: none, or one for each whole block that has one.
    pub(crate) fn kernels(&self, stream: Stream, ends: &Ends) -> Vec<Option<Ready>> {
        self.kernels.ready(stream, &self.prepared.work, ends)
    }

    /// Returns the launches for any move, which are not needed if there is a kernel for each block.
    pub(crate) fn launches_between(
        &self,
        ends: &Ends,
        kernels: &[Option<Ready>],
    ) -> Result<Cow<'_, [Launch]>> {
        match !kernels.is_empty() && kernels.iter().all(Option::is_some) {
            true => Ok(Cow::Borrowed(&[])),
            false => self.prepared.launches(Misaligned::of(ends.src.address, ends.dst.address)),
        }
    }

    /// Takes the kernel that is ready for each block, or the launches for any move.
    pub(crate) fn starts<'a>(
        &self,
        launches: &'a [Launch],
        kernels: &[Option<Ready>],
    ) -> Vec<Start<'a>> {
        if kernels.is_empty() {
            return launches.iter().map(Start::Generic).collect();
        }
        let mut starts = Vec::new();
        let lengths = &self.prepared.whole_lengths;
        for ((whole, kernel), lengths) in
            self.gpu_move().whole_blocks().iter().zip(kernels).zip(lengths)
        {
            match kernel {
                Some(kernel) => starts.push(Start::Specialised(*kernel, *lengths)),
                None => starts.extend(launches[whole.parts.clone()].iter().map(Start::Generic)),
            }
        }
        starts
    }

    /// Returns the address of the tables, or 0.
    pub(crate) fn numbers(&self) -> Result<u64> {
        let tables = self.tables.as_ref().map_err(Error::clone)?;
        Ok(tables.as_ref().map_or(0, |tables| tables.device_bytes().address))
    }
}

fn misplaced(has: &str, planned: Stream, run: Stream) -> Error {
    let message = format!("the plan{has} was made on {planned:?}, but is run on {run:?}");
    Error::DeviceFailed { message }
}

impl fmt::Display for CudaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (work, device) = (self.gpu_move(), &self.stream.context.name);
        PlanText { device, work, launches: self.launches() }.fmt(f)?;
        self.specialised().iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl fmt::Debug for CudaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaPlan({self})")
    }
}
