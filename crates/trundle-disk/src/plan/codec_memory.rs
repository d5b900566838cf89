//! The memory of threads that decode and encode chunks.

use std::collections::BTreeSet;

use trundle_formats::{ChunkedTensor, FileSkeleton};

use crate::Storage;
use crate::error::{Error, Problem};
use crate::plan::input::JobInput;
use crate::plan::job::{OVERHEAD_BYTES, PlanOptions};
use crate::plan::location::file_bytes;

/// A thread that decodes a chunk has memory for so many: the one that it keeps, what the file has, and
/// what codecs make of that on the way.
const CHUNKS_OF_DECODER: usize = 4;

/// The share of the memory, as its inverse, for chunks that are decoded or encoded, if there is room for
/// one.
const CODECS_SHARE: usize = 4;

/// What of the memory is left for buffers where `inputs` have chunks that are decoded, and how many
/// threads decode them at once.
///
/// # Errors
/// [`Problem::Memory`] if there is not room for one.
pub(crate) fn decoders(
    options: &PlanOptions,
    inputs: &[JobInput],
) -> Result<(usize, Option<usize>), Error> {
    let bytes = options.budget();
    let of_chunk = |input: &JobInput| {
        let header = &input.tensor()?.header;
        let elements: usize = header.chunk.as_ref()?.iter().product();
        Some(file_bytes(header.element.width(), elements))
    };
    let Some(chunk) = inputs.iter().filter_map(of_chunk).max() else {
        return Ok((bytes, None));
    };
    let in_chunks = |input: &&JobInput| of_chunk(input).is_some();
    let files = inputs.iter().filter(in_chunks).filter_map(|input| Some(input.tensor()?.file));
    // Each file keeps what was read of it last.
    let others = files.collect::<BTreeSet<usize>>().len() - 1;
    let each = chunk.saturating_mul(CHUNKS_OF_DECODER + others);
    shared(options, bytes, each).map(|(left, decoders)| (left, Some(decoders)))
}

/// What a thread that encodes has in memory: one of what is written at once with all of its elements, and what
/// codecs make of that, two at a time, or one that is sent on as it is; and what they need for themselves.
fn bytes_of_encoder(tensor: &ChunkedTensor) -> usize {
    let (bytes, codecs) = (tensor.bytes_at_once(), tensor.codecs());
    let copies = if codecs.is_none() && tensor.shard().is_none() { 2 } else { 3 };
    bytes.saturating_mul(copies).saturating_add(codecs.workspace_bytes(bytes))
}

/// What of `budget` is left for buffers where the output is in chunks, and how many threads encode them at
/// once.
///
/// # Errors
/// [`Problem::Memory`] if there is not room for one.
pub(crate) fn encoders(
    options: &PlanOptions,
    budget: usize,
    skeleton: &FileSkeleton,
) -> Result<(usize, Option<usize>), Error> {
    match skeleton.chunked().iter().map(bytes_of_encoder).max() {
        None => Ok((budget, None)),
        Some(each) => shared(options, budget, each).map(|(left, encoders)| (left, Some(encoders))),
    }
}

/// What of `budget` is left if a share of it is for threads that take `each` bytes, and for how many.
///
/// # Errors
/// [`Problem::Memory`] if there is not room for one.
fn shared(options: &PlanOptions, budget: usize, each: usize) -> Result<(usize, usize), Error> {
    let each = each.max(1);
    let most = options.storage.unwrap_or(Storage::SSD).in_flight.max(Storage::SSD.in_flight);
    let threads = (budget / CODECS_SHARE / each).clamp(1, most);
    match budget.checked_sub(threads.saturating_mul(each)).filter(|left| *left > 0) {
        Some(left) => Ok((left, threads)),
        None => {
            let (lacking, limit) = ((each + 1 - budget) as u64, options.max_bytes);
            // Of a small limit, what is more goes half to the program.
            let times = if limit < 2 * OVERHEAD_BYTES { 2 } else { 1 };
            let needed = limit.saturating_add(times * lacking);
            Err(Error::from(Problem::Memory { needed, limit }))
        }
    }
}
