//! Estimates the memory of threads that decode and encode chunks.

use std::collections::BTreeSet;

use trundle_formats::{ChunkedTensor, FileSkeleton, Header};

use crate::plan::input::JobInput;
use crate::plan::location::file_bytes;

/// The chunk-sized buffers of a decoding thread: the cached chunk, the encoded bytes, and the output of a codec.
const CHUNKS_OF_DECODER: usize = 3;

/// With shards one more, because an inner chunk is copied out of its shard.
const CHUNKS_OF_SHARDS_DECODER: usize = 4;

/// The bytes per chunk of a shard index, and the number of indices in memory: cached ones, and one that is read and
/// decoded.
const INDEX_BYTES: usize = 16;
const INDICES: usize = 6;

/// The stack of a thread and the working memory of codecs, at most. Small chunks need less.
const THREAD_BYTES: usize = 512 << 10;

/// The fraction of the budget for coding threads is 1 over this, but at least one thread.
const CODECS_SHARE: usize = 4;

/// Returns the budget that remains for buffers, and the number of decoding threads (at most `most`) if `inputs` are
/// chunked.
///
/// # Errors
/// The smallest sufficient budget if it is too small for one thread.
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
    // Each file caches its last chunk.
    let others = files.collect::<BTreeSet<usize>>().len() - 1;
    let kept = headers().filter_map(chunk_bytes).max().unwrap_or(0);
    let each = each.saturating_add(kept.saturating_mul(others));
    shared((budget, most), each).map(|(left, decoders)| (left, Some(decoders)))
}

/// The bytes of a chunk if the data is chunked.
fn chunk_bytes(header: &Header) -> Option<usize> {
    let elements: usize = header.chunk.as_ref()?.iter().product();
    Some(file_bytes(header.element.width(), elements))
}

/// The bytes of a chunk if codecs decode it.
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

/// The memory of an encoding thread: a chunk or shard as received in parts, one with all elements, the outputs of two
/// codecs, and the codecs' working memory.
fn bytes_of_encoder(tensor: &ChunkedTensor) -> usize {
    let (bytes, codecs) = (tensor.bytes_at_once(), tensor.codecs());
    let made = codecs.count().min(2);
    let of_chunk = match tensor.shard() {
        None => bytes,
        Some(_) => tensor.bytes_of_chunk(),
    };
    // Chunks of a shard are taken out, encoded and copied into the shard one at a time.
    let of_codecs = match tensor.shard() {
        None => bytes.saturating_mul(made),
        Some(_) => bytes.saturating_add(of_chunk.saturating_mul(made + 2)),
    };
    let all = bytes.saturating_mul(2).saturating_add(of_codecs);
    all.saturating_add(codecs.encoding_bytes(of_chunk)).saturating_add(THREAD_BYTES.min(bytes / 4))
}

/// Returns the budget that remains for buffers, and the number of encoding threads (at most `most`) if the output is
/// chunked.
///
/// # Errors
/// The smallest sufficient budget if it is too small for one thread.
pub(crate) fn encoders(
    (budget, most): (usize, usize),
    skeleton: &FileSkeleton,
) -> Result<(usize, Option<usize>), usize> {
    match skeleton.chunked().iter().map(bytes_of_encoder).max() {
        None => Ok((budget, None)),
        Some(each) => shared((budget, most), each).map(|(left, encoders)| (left, Some(encoders))),
    }
}

/// Reserves a share of `budget` for up to `most` threads of `each` bytes. Returns the remainder and the threads.
///
/// # Errors
/// The smallest sufficient budget if it is too small for one thread.
fn shared((budget, most): (usize, usize), each: usize) -> Result<(usize, usize), usize> {
    let each = each.max(1);
    let threads = (budget / CODECS_SHARE / each).clamp(1, most);
    let left = budget.checked_sub(threads.saturating_mul(each)).filter(|left| *left > 0);
    left.map(|left| (left, threads)).ok_or(each.saturating_add(1))
}
