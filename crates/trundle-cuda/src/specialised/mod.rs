//! Kernels that are generated for one plan, compiled by NVRTC at run time, and launched in place of the kernels for any
//! move.

mod closing;
mod compiled;
mod disk;
mod nvrtc;
mod specialise;
mod warning;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use trundle_gpu::{GpuMove, SpecialisedKernel, WholeBlock};

pub(crate) use compiled::{Compiled, Function, Kernels};
pub use nvrtc::search_nvrtc_in;
pub use specialise::Specialise;
pub use warning::take_warning;

use self::nvrtc::Nvrtc;
use crate::launch::{Ends, Misaligned};
use crate::stream::Stream;

/// The kernels of a plan.
pub(crate) struct PlanKernels {
    when: Specialise,
    /// `Err` with the reason why there are none.
    nvrtc: Result<&'static Nvrtc, String>,
    /// The kernels for buffers of each alignment that occurred, in the order of the whole blocks.
    known: Mutex<Vec<(Misaligned, Choices)>>,
    /// Whether a run did not use them, because its source ends where its allocation does.
    has_edge: AtomicBool,
}

/// A kernel for each whole block, or `None` if no pattern fits.
type Choices = Arc<[Option<Choice>]>;

struct Choice {
    /// The pattern and its settings.
    name: String,
    blocks: u32,
    threads: u32,
    compiled: Arc<Compiled>,
}

/// A kernel that can be launched.
#[derive(Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) function: Function,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

/// Moves of fewer bytes take so little time that the compiler is not worth it, unless the caller asks.
const LEAST_BYTES: usize = 1 << 20;

/// Accesses have up to so many bytes.
const VECTOR: u64 = 16;

impl PlanKernels {
    pub(crate) fn new(stream: Stream, when: Specialise, work: &GpuMove) -> PlanKernels {
        let nvrtc = match when {
            Specialise::Never => Err("the setting is Specialise::Never".to_owned()),
            Specialise::Later if work.moved_bytes() < LEAST_BYTES => {
                Err("the move is smaller than 1 MiB".to_owned())
            }
            _ => Nvrtc::get().map_err(str::to_owned),
        };
        let kernels =
            PlanKernels { when, nvrtc, known: Mutex::default(), has_edge: AtomicBool::new(false) };
        // So that a graph can be captured in the first run.
        for kernel in kernels.choices(stream, work, Misaligned::default()).iter().flatten() {
            kernel.compiled.function(stream, when, false);
        }
        kernels
    }

    /// Returns the kernels for a run: one for each whole block, `None` if the kernels for any move must run. Returns
    /// nothing if that holds for all.
    pub(crate) fn ready(&self, stream: Stream, work: &GpuMove, ends: &Ends) -> Vec<Option<Ready>> {
        if self.nvrtc.is_err() {
            return Vec::new();
        }
        let misaligned = Misaligned::of(ends.src.address, ends.dst.address);
        let choices = self.choices(stream, work, misaligned);
        let mut ready: Vec<Option<Ready>> = choices
            .iter()
            .map(|kernel| {
                let Choice { blocks, threads, compiled, .. } = kernel.as_ref()?;
                let function = compiled.function(stream, self.when, true)?;
                Some(Ready { function, blocks: *blocks, threads: *threads })
            })
            .collect();
        for (ready, whole) in ready.iter_mut().zip(work.whole_blocks()) {
            if ready.is_some() && !reads_within(stream, ends, &whole.reads) {
                *ready = None;
                self.has_edge.store(true, Ordering::Relaxed);
            }
        }
        if ready.iter().all(Option::is_none) { Vec::new() } else { ready }
    }

    /// Generates the kernels on first use.
    fn choices(&self, stream: Stream, work: &GpuMove, misaligned: Misaligned) -> Choices {
        let Ok(nvrtc) = self.nvrtc else { return Arc::new([]) };
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, choices)) = known().iter().find(|(known, _)| *known == misaligned) {
            return Arc::clone(choices);
        }
        let Misaligned { src, dst } = misaligned;
        let choices: Choices = work
            .whole_blocks()
            .iter()
            .map(|whole| {
                let kernel = SpecialisedKernel::of(whole, src, dst)?;
                Some(Choice {
                    name: kernel.to_string(),
                    blocks: kernel.blocks(),
                    threads: kernel.threads(),
                    compiled: Kernels::entry(stream.context, nvrtc, kernel.cuda())?,
                })
            })
            .collect();
        known().push((misaligned, Arc::clone(&choices)));
        choices
    }

    /// Describes the kernels for aligned buffers, one line for each whole block.
    pub(crate) fn lines(&self, work: &GpuMove) -> Vec<String> {
        if let Err(reason) = &self.nvrtc {
            return vec![format!("not specialised: {reason}")];
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let aligned = known.iter().find(|(known, _)| *known == Misaligned::default());
        let choices = aligned.map_or(&[][..], |(_, choices)| choices);
        let line = |(whole, kernel): (&WholeBlock, &Option<Choice>)| match kernel {
            Some(Choice { name, compiled, .. }) => {
                format!("specialised for blocks {:?}: {name}, {compiled}", whole.parts)
            }
            None => format!("not specialised for blocks {:?}: no pattern fits", whole.parts),
        };
        let mut lines: Vec<String> = work.whole_blocks().iter().zip(choices).map(line).collect();
        if self.has_edge.load(Ordering::Relaxed) {
            lines.push("not specialised if the source ends where its allocation does".to_owned());
        }
        lines
    }
}

/// Whether the bytes that a block reads, rounded out to vectors, are within the allocation of the source.
fn reads_within(stream: Stream, ends: &Ends, reads: &Range<usize>) -> bool {
    let begin = ends.src.address;
    let first = (begin + reads.start as u64) / VECTOR * VECTOR;
    let last = (begin + reads.end as u64).next_multiple_of(VECTOR);
    let is_in = |begin: u64, bytes: u64| begin <= first && last <= begin.saturating_add(bytes);
    is_in(begin, ends.src.bytes as u64)
        || stream.context.allocation(begin).is_some_and(|(begin, bytes)| is_in(begin, bytes))
}
