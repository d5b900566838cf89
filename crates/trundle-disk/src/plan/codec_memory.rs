//! The memory of threads that decode and encode chunks.

use std::collections::BTreeSet;

use trundle_formats::{ChunkedTensor, FileSkeleton, Header};

use crate::plan::input::JobInput;
use crate::plan::location::file_bytes;

/// A thread that decodes a chunk has memory for so many: the one that it keeps, what the file has, and
/// what codecs make of that on the way.
const CHUNKS_OF_DECODER: usize = 3;

/// One more where chunks are in shards: what is taken out of one is copied.
const CHUNKS_OF_SHARDS_DECODER: usize = 4;

/// Of the index of a shard so many bytes for each of its chunks, and of so many shards: those that are kept, and
/// one that is read, also as it is in the file.
const INDEX_BYTES: usize = 16;
const INDICES: usize = 6;

/// What a thread has beside chunks: its stack, and what each codec has to work with. Of chunks that are
/// smaller it is less.
const THREAD_BYTES: usize = 512 << 10;

/// The share of the memory, as its inverse, for chunks that are decoded or encoded, if there is room for
/// one.
const CODECS_SHARE: usize = 4;

/// What of `budget` is left for buffers where `inputs` have chunks that are decoded, and how many threads, of
/// `most`, decode them at once.
///
/// # Errors
/// What the budget would have to be at least, if there is not room for one.
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
    // Each file keeps what was read of it last.
    let others = files.collect::<BTreeSet<usize>>().len() - 1;
    let kept = headers().filter_map(chunk_bytes).max().unwrap_or(0);
    let each = each.saturating_add(kept.saturating_mul(others));
    shared((budget, most), each).map(|(left, decoders)| (left, Some(decoders)))
}

/// The bytes of a chunk, if the data is in chunks.
fn chunk_bytes(header: &Header) -> Option<usize> {
    let elements: usize = header.chunk.as_ref()?.iter().product();
    Some(file_bytes(header.element.width(), elements))
}

/// The bytes of a chunk, if codecs decode it.
pub(crate) fn decoded_bytes(header: &Header) -> Option<usize> {
    let encoding = header.encoding.as_ref()?;
    let has_codecs = encoding.codecs.count() > 0 || !encoding.not_kept.is_empty();
    chunk_bytes(header).filter(|_| has_codecs)
}

/// What a thread that decodes chunks has in memory, if the data is in chunks.
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

/// What a thread that encodes has in memory: one of what is written at once as its parts were, one with all of its
/// elements, and what codecs make of that, one after another; and what they need for themselves.
fn bytes_of_encoder(tensor: &ChunkedTensor) -> usize {
    let (bytes, codecs) = (tensor.bytes_at_once(), tensor.codecs());
    let made = codecs.count().min(2);
    let of_chunk = match tensor.shard() {
        None => bytes,
        Some(_) => tensor.bytes_of_chunk(),
    };
    // Of what is in shards one chunk at a time is taken out, encoded and copied into a shard.
    let of_codecs = match tensor.shard() {
        None => bytes.saturating_mul(made),
        Some(_) => bytes.saturating_add(of_chunk.saturating_mul(made + 2)),
    };
    let all = bytes.saturating_mul(2).saturating_add(of_codecs);
    all.saturating_add(codecs.encoding_bytes(of_chunk)).saturating_add(THREAD_BYTES.min(bytes / 4))
}

/// What of `budget` is left for buffers where the output is in chunks, and how many threads, of `most`,
/// encode them at once.
///
/// # Errors
/// What the budget would have to be at least, if there is not room for one.
pub(crate) fn encoders(
    (budget, most): (usize, usize),
    skeleton: &FileSkeleton,
) -> Result<(usize, Option<usize>), usize> {
    match skeleton.chunked().iter().map(bytes_of_encoder).max() {
        None => Ok((budget, None)),
        Some(each) => shared((budget, most), each).map(|(left, encoders)| (left, Some(encoders))),
    }
}

/// What of `budget` is left if a share of it is for threads that take `each` bytes, and for how many, of `most`.
///
/// # Errors
/// What the budget would have to be at least, if there is not room for one.
fn shared((budget, most): (usize, usize), each: usize) -> Result<(usize, usize), usize> {
    let each = each.max(1);
    let threads = (budget / CODECS_SHARE / each).clamp(1, most);
    let left = budget.checked_sub(threads.saturating_mul(each)).filter(|left| *left > 0);
    left.map(|left| (left, threads)).ok_or(each.saturating_add(1))
}
