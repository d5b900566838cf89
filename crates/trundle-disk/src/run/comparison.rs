//! Compares two tensors, in files of any format and order, within a memory limit.

use std::io;
use std::path::Path;

use trundle::Chain;
use trundle_formats::{Begin, Blob, Header, Order, StoredDType};

use crate::blob_store::{BlobStore, RunFiles};
use crate::error::{Error, reading, temporary};
use crate::plan::job::{Job, PlanOptions};
use crate::run::checkpoint::Checkpoint;
use crate::run::context::{Context, Observer, RunOptions, Source};
use crate::run::counterpart::{Counterpart, Differences};
use crate::run::executor::Executor;
use crate::run::{check_space, check_unchanged, sources_identity};

/// The difference of two tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The shapes or the element types differ. The elements were not read.
    Headers,
    /// Some elements differ.
    Elements {
        /// The number of different elements.
        count: u64,
        /// The index of the first different element in row-major order.
        index: Vec<usize>,
        /// The type of the elements in `values`.
        element: StoredDType,
        /// The bytes of that element in the first and in the second tensor. A packed element is one byte.
        values: [Vec<u8>; 2],
    },
}

const COMPARING: &str = "comparing";

struct ComparedTensor<'a, 'f> {
    source: &'a mut Source<'f>,
    tensor: usize,
}

/// Compares a tensor of each file bit for bit. Returns `None` if they are equal.
///
/// Differences in byte order, bit order and axis order are ignored. Neither tensor is loaded whole. If neither file
/// allows positional reads, one tensor is copied to a temporary file first.
///
/// # Errors
/// [`Error`] if a file cannot be read, does not match its checksum or changes during the comparison, or if the memory
/// is not enough for a single element.
///
/// # Panics
/// If a file has no tensor with the given index.
pub fn compare(
    sources: &mut [Source<'_>; 2],
    tensors: [usize; 2],
    options: &PlanOptions,
    observer: &dyn Observer,
) -> Result<Option<Difference>, Error> {
    let headers = [0, 1].map(|side| sources[side].file.headers()[tensors[side]].clone());
    let [one, other] = &headers;
    if one.shape != other.shape || !one.element.is_alike(&other.element) {
        return Ok(Some(Difference::Headers));
    }
    if one.data_bytes == 0 {
        return Ok(None);
    }
    let identity = sources_identity(sources)?;
    let [first, second] = sources;
    let mut first = ComparedTensor { source: first, tensor: tensors[0] };
    let mut second = ComparedTensor { source: second, tensor: tensors[1] };
    // If only one file allows positional reads, the other file's tensor is moved.
    let is_turned = second.stored_data().is_none() && first.stored_data().is_some();
    if is_turned {
        std::mem::swap(&mut first, &mut second);
    }
    let written = first.header().element.clone();
    let Differences { count, first } = differences(&mut first, &mut second, options, observer)?;
    check_unchanged(sources, identity.as_deref())?;
    let Some(first) = first else { return Ok(None) };
    let [mut written_value, mut own_value] = first.values;
    if is_turned {
        std::mem::swap(&mut written_value, &mut own_value);
    }
    let (index, values) = (one.shape.unravel(first.position).to_vec(), [written_value, own_value]);
    Ok(Some(Difference::Elements { count, index, element: written, values }))
}

fn differences(
    moved: &mut ComparedTensor<'_, '_>,
    still: &mut ComparedTensor<'_, '_>,
    options: &PlanOptions,
    observer: &dyn Observer,
) -> Result<Differences, Error> {
    let header = still.header().clone();
    let laid_out = match still.stored_data() {
        Some(_) => {
            still.check(observer)?;
            None
        }
        None => Some(still.laid_out(options, observer)?),
    };
    let (stored, order) = match (&laid_out, still.stored_data()) {
        (Some(blob), _) => ((&**blob, 0), Order::RowMajor),
        (None, Some(stored)) => (stored, header.order),
        (None, None) => return Err(reading(still.source.path)(io::ErrorKind::NotSeekable.into())),
    };
    let written = moved.header().element.clone();
    let job = Job::in_order(moved.source.file, moved.tensor, &Chain::new(), order, options)?;
    check_temporary(job.cost().temporary_bytes)?;
    let counterpart = Counterpart::new(stored, &header.element, &written, &header.shape, order);
    let done = run(&job, moved.source, &counterpart, COMPARING, observer);
    let differences = counterpart.into_differences().map_err(reading(still.source.path))?;
    done.map(|()| differences)
}

impl ComparedTensor<'_, '_> {
    fn header(&self) -> &Header {
        &self.source.file.headers()[self.tensor]
    }

    /// Returns the file and the offset of the tensor's data; `None` without positional reads, or if the tensor is
    /// chunked.
    fn stored_data(&self) -> Option<(&dyn Blob, u64)> {
        let Header { data_offset, chunk, .. } = self.header();
        let offset = data_offset.filter(|_| chunk.is_none())?;
        Some((self.source.file.blob()?, offset))
    }

    /// Reads the tensor once if the file has a checksum, because partial reads do not verify it.
    fn check(&mut self, observer: &dyn Observer) -> Result<(), Error> {
        if !self.source.file.has_crc32() {
            return Ok(());
        }
        self.source.copy_in_phase(self.tensor, &mut io::sink(), ("checking", observer))
    }

    /// Copies the tensor in row-major order to an unnamed temporary file.
    fn laid_out(
        &mut self,
        options: &PlanOptions,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Blob>, Error> {
        let (chain, order) = (Chain::new(), Order::RowMajor);
        let job = Job::in_order(self.source.file, self.tensor, &chain, order, options)?;
        if self.source.file.blob().is_some() {
            check_temporary(job.bytes() + job.cost().temporary_bytes)?;
        }
        let blob = store().unnamed().map_err(temporary(None))?;
        run(&job, self.source, &*blob, COMPARING, observer)?;
        Ok(blob)
    }
}

fn store() -> RunFiles {
    RunFiles::new(std::env::temp_dir(), String::new())
}

pub(crate) fn check_temporary(bytes: u64) -> Result<(), Error> {
    check_space(&std::env::temp_dir(), " (TMPDIR can name another folder)", bytes)
}

pub(crate) fn run(
    job: &Job,
    source: &mut Source<'_>,
    target: &dyn Blob,
    moving: &'static str,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let (path, store, options): (&Path, _, _) = (source.path, store(), RunOptions::default());
    let (folder, moving) = (None, Some(moving));
    let context = Context { job, path, target, store: &store, folder, options, observer, moving };
    let checkpoint = Checkpoint::none(&store);
    Executor::new(context, Begin::Anew, checkpoint).run(std::slice::from_mut(source))
}
