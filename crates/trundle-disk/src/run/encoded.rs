//! Copies encoded chunks from one Zarr store to another.

use std::ops::Range;
use std::sync::Mutex;

use trundle_formats::{ChunkedTensor, lock};

use crate::error::{Error, reading};
use crate::run::context::{Context, SourceFile};
use crate::run::executor::Executor;
use crate::together::together;

impl Executor<'_> {
    /// Copies encoded chunks of a tensor (default: all) with several threads. Chunks that do not exist in the source
    /// are not written.
    pub(super) fn copy_encoded(
        &self,
        tensor: usize,
        sources: &[SourceFile<'_>],
        some: Option<Range<usize>>,
    ) -> Result<(), Error> {
        let Context { job, target, observer, .. } = self.context;
        let of = &job.tensors[tensor];
        let Some(chunks) = of.encoded() else { return Ok(()) };
        let Some(input) = of.inputs.first().and_then(|input| job.inputs[*input].tensor()) else {
            return Ok(());
        };
        let SourceFile { blob, path } = sources[input.file];
        let not_seekable = || reading(path)(std::io::ErrorKind::NotSeekable.into());
        let source = blob.ok_or_else(not_seekable)?;
        let from = input.header.data_offset.unwrap_or(0);
        let to = job.skeleton.data_offsets()[tensor];
        let (count, bytes) = (chunks.count(), of.out_bytes());
        let some = some.unwrap_or(0..count);
        // For the progress, each chunk counts as an equal share of the tensor's bytes.
        let share = |number: usize| (u128::from(bytes) * number as u128 / count as u128) as u64;
        let bytes = |chunks: Range<usize>| share(chunks.end) - share(chunks.start);
        observer.phase("copying", if count == 0 { 0 } else { bytes(some.clone()) });
        // Chunks that are copied from or to a bucket are held in memory.
        let at_once = job.skeleton.chunked().get(tensor).map_or(0, ChunkedTensor::bytes_at_once);
        let most = job.rates.storage.in_flight.min(some.len()).min(job.budget / at_once.max(1));
        let threads = most.max(1);
        let next = Mutex::new(some);
        let work = || -> Result<(), Error> {
            loop {
                let number = lock(&next).next();
                let Some(number) = number else { return Ok(()) };
                let (read, written) = chunks.pair(number);
                let chunk = source.encoded_chunk(from, &read).map_err(reading(path))?;
                if let Some(chunk) = chunk {
                    let copied = target.write_encoded_chunk(to, &written, chunk);
                    copied.map_err(|error| self.context.writing(error))?;
                }
                observer.advance(bytes(number..number + 1));
                self.check_stopped()?;
            }
        };
        together(threads, work)
    }
}
