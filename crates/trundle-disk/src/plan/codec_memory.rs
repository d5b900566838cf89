//! Estimates the memory of the threads that decode and encode chunks.

use std::collections::BTreeSet;

use trundle_formats::{ChunkedTensor, FileSkeleton, Header};

use crate::plan::input::JobInput;
use crate::plan::location::file_bytes;

/// The chunk-sized buffers of a decoding thread: the cached chunk, the encoded bytes, and the output of a codec.
const CHUNKS_OF_DECODER: usize = 3;

/// The same with shards: one more, for a chunk that is copied out of its shard.
const CHUNKS_OF_SHARDS_DECODER: usize = 4;

/// The bytes that a shard index has for each chunk.
const INDEX_BYTES: usize = 16;
/// The shard indices in memory: cached ones, and one that is read and decoded.
const INDICES: usize = 6;

/// The maximum memory of a thread's stack and of the working memory of its codecs. Small chunks need less.
const THREAD_BYTES: usize = 512 << 10;

/// Coding threads get at most 1 / `CODECS_SHARE` of the budget, but at least one thread runs.
const CODECS_SHARE: usize = 4;

/// Divides the budget between decoding threads and buffers. Returns the budget that remains for buffers, and the number
/// of decoding threads (at most `most`); `None` if no input is chunked.
///
/// # Errors
/// Returns the smallest sufficient budget if the budget is too small for one thread.
pub(crate) fn decoders(
    (budget, most): (usize, usize),
    inputs: &[JobInput],
) -> Result<(usize, Option<usize>), usize> {
    let headers = || inputs.iter().filter_map(|input| Some(&input.tensor()?.header));
    let Some(each) = headers().filter_map(bytes_of_decoder).max() else {
        return Ok((budget, None));
    };
    let in_chunks = |input: &&JobInput| input.tensor().is_some_and(|of| of.header.chunk.is_some());
    let files = inputs.iter().filter(in_chunks).filter_map(|input| Some(input.tensor()?.file));
    // Each file caches the chunk that was read last.
    let others = files.collect::<BTreeSet<usize>>().len() - 1;
    let kept = headers().filter_map(chunk_bytes).max().unwrap_or(0);
    let each = each.saturating_add(kept.saturating_mul(others));
    shared((budget, most), each).map(|(left, decoders)| (left, Some(decoders)))
}

fn chunk_bytes(header: &Header) -> Option<usize> {
    let elements: usize = header.chunk.as_ref()?.iter().product();
    Some(file_bytes(header.element.width(), elements))
}

/// Returns the size of a decoded chunk in bytes; `None` if the chunks have no codecs.
pub(crate) fn decoded_bytes(header: &Header) -> Option<usize> {
    let encoding = header.encoding.as_ref()?;
    let has_codecs = encoding.codecs.count() > 0 || !encoding.not_kept.is_empty();
    chunk_bytes(header).filter(|_| has_codecs)
}

fn bytes_of_decoder(header: &Header) -> Option<usize> {
    let bytes = chunk_bytes(header)?;
    let encoding = header.encoding.as_ref();
    let of_codecs = encoding
        .map_or(0, |encoding| encoding.codecs.decoding_bytes(bytes).max(encoding.decoding_bytes));
    let shard = encoding.and_then(|encoding| encoding.shard.as_ref()).zip(header.chunk.as_ref());
    let of_chunks = match shard {
        None => bytes.saturating_mul(CHUNKS_OF_DECODER),
        Some((shard, chunk)) => {
            let count: usize =
                shard.iter().zip(chunk).map(|(shard, chunk)| shard / chunk).product();
            let index = count.saturating_mul(INDEX_BYTES * INDICES);
            bytes.saturating_mul(CHUNKS_OF_SHARDS_DECODER).saturating_add(index)
        }
    };
    Some(of_chunks.saturating_add(of_codecs).saturating_add(THREAD_BYTES.min(bytes / 4)))
}

/// Returns the memory of an encoding thread in bytes. It has a chunk or shard as a list of parts, the same with all
/// elements, the outputs of two codecs, and the working memory of the codecs.
fn bytes_of_encoder(tensor: &ChunkedTensor) -> usize {
    let (bytes, codecs) = (tensor.bytes_at_once(), tensor.codecs());
    let made = codecs.count().min(2);
    let of_chunk = match tensor.shard() {
        None => bytes,
        Some(_) => tensor.bytes_of_chunk(),
    };
    // The chunks of a shard are copied out, encoded and copied into the encoded shard one at a time.
    let of_codecs = match tensor.shard() {
        None => bytes.saturating_mul(made),
        Some(_) => bytes.saturating_add(of_chunk.saturating_mul(made + 2)),
    };
    let all = bytes.saturating_mul(2).saturating_add(of_codecs);
    all.saturating_add(codecs.encoding_bytes(of_chunk)).saturating_add(THREAD_BYTES.min(bytes / 4))
}

/// Divides the budget like [`decoders`], for the threads that encode the chunks of the output.
///
/// # Errors
/// Returns the smallest sufficient budget if the budget is too small for one thread.
pub(crate) fn encoders(
    (budget, most): (usize, usize),
    skeleton: &FileSkeleton,
) -> Result<(usize, Option<usize>), usize> {
    match skeleton.chunked().map(bytes_of_encoder).max() {
        None => Ok((budget, None)),
        Some(each) => shared((budget, most), each).map(|(left, encoders)| (left, Some(encoders))),
    }
}

/// Reserves a share of `budget` for up to `most` threads that need `each` bytes. Returns the rest and the number of
/// threads.
///
/// # Errors
/// Returns the smallest sufficient budget if the budget is too small for one thread.
fn shared((budget, most): (usize, usize), each: usize) -> Result<(usize, usize), usize> {
    let each = each.max(1);
    let threads = (budget / CODECS_SHARE / each).clamp(1, most);
    let left = budget.checked_sub(threads.saturating_mul(each)).filter(|left| *left > 0);
    left.map(|left| (left, threads)).ok_or(each.saturating_add(1))
}
