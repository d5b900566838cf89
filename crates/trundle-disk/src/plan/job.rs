//! Plans a job: the tensors of an output, and the passes for each tensor.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread::available_parallelism;

use serde::Serialize;
use trundle::Chain;
use trundle_core::program::{Program, TensorId};
use trundle_formats::{
    Annotations, ChunkFormat, ChunkedTensor, Codecs, Described, Encoding, FileSkeleton, Format,
    Order, Place, Shown, StoredDType, TensorFile,
};

use crate::Storage;
use crate::error::{Error, Problem};
use crate::plan::chunk_sizes::ChunkSizes;
use crate::plan::codec_memory::{decoded_bytes, decoders, encoders};
use crate::plan::input::{Input, JobInput, JobTensor};
use crate::plan::io_plan::{Resources, SMALL_BYTES};
use crate::plan::left_out::LeftOut;
use crate::plan::measurements::Measurements;
use crate::plan::storage::Rates;
use crate::plan::tensor_job::{Chunking, TensorJob, Unplanned, check_chunk_options};

/// A tensor of a file, and the operators to apply to it.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The index of the tensor among the file's headers.
    pub index: usize,
    /// The operators. Without a chain, the tensor is copied. A copy keeps the order of its elements if the format can
    /// represent it, even if [`PlanOptions::row_major`] is set.
    pub chain: Option<&'a Chain>,
    /// The other tensors that the chain names.
    pub others: &'a [Input],
}

/// A tensor that a program computes from other tensors.
#[derive(Clone, Debug)]
pub struct Assembled<'a> {
    /// The name of the tensor in the output.
    pub name: &'a str,
    /// The element type of the output, and of all inputs after a swap to little-endian.
    pub element: StoredDType,
    /// The program that computes the tensor.
    pub program: &'a Program,
    /// The tensor of the program that is written to the output.
    pub tensor: TensorId,
    /// The inputs of the program. They must have the shapes that the program states.
    pub inputs: &'a [Input],
    /// The default chunk sizes. If `None`, they are the sizes of the largest parts of the output that come from one
    /// input chunk.
    pub chunk: Option<Vec<usize>>,
    /// The default shards and codecs.
    pub encoding: Option<Encoding>,
    /// Axis names, attributes and fill value.
    pub annotations: Annotations,
}

/// The resources and the requested layout of a job. Set `max_bytes`: its default, 0, is not enough for any element.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// The memory limit in bytes.
    pub max_bytes: u64,
    /// The part of the limit that the process already uses when the job begins, for example for files in memory.
    pub held_bytes: u64,
    /// The storage of the files. If `None` and the plan depends on the storage, the planner takes an earlier
    /// measurement or makes a short one.
    pub storage: Option<Storage>,
    /// The number of threads that move elements in memory (default: all cores).
    pub threads: Option<usize>,
    /// Whether to write row-major even if the format could represent the order of the source.
    pub row_major: bool,
    /// The chunk sizes of a chunked output. If `None`, its chunks are as large as source chunks after the operators; if
    /// the source has no chunks, the format chooses the sizes.
    pub chunks: Option<ChunkSizes>,
    /// The shard sizes, which must be multiples of the chunk sizes. If `None`, the output has the source's shards if
    /// `chunks` is `None` and they fit, otherwise no shards.
    pub shards: Option<ChunkSizes>,
    /// The codecs of written chunks. If `None`, they are the source's codecs, or the format's if the source has none.
    pub codecs: Option<Codecs>,
    /// Whether to copy all chunks without decoding them. The codec `transpose` then states a new order
    /// of the axes. Movements that need decoding are refused.
    pub metadata_only: bool,
    /// The store to which the output is added, if it is not a new file. It is the last of the job's files.
    pub addition: Option<Addition>,
    /// The tensors of the first file to copy as they are stored, by their index in [`TensorFile::undecoded`]. They
    /// follow the other tensors in the output.
    pub undecoded: Vec<usize>,
}

/// An addition to an existing Zarr store.
#[derive(Clone, Debug, Default)]
pub struct Addition {
    /// A text that identifies the request. After an interruption, only the same request continues the addition.
    pub request: String,
    /// For each tensor of the output its place, and the index of the array among the headers of the store. The index
    /// of a tensor that is copied without decoding is not used.
    pub places: Vec<(Place, usize)>,
}

/// A planned job.
#[derive(Clone, Debug)]
pub struct Job {
    pub(crate) inputs: Vec<JobInput>,
    pub(crate) tensors: Vec<TensorJob>,
    pub(crate) format: &'static Format,
    pub(crate) skeleton: FileSkeleton,
    /// The memory in bytes for which tiles are planned.
    pub(crate) budget: usize,
    /// The memory in bytes for encoded chunks. Smaller tiles do not reduce it.
    pub(crate) memory: usize,
    /// `None` if no chunks are read.
    pub(crate) decoders: Option<usize>,
    /// `None` if no chunks are written.
    pub(crate) encoders: Option<usize>,
    pub(crate) rates: Rates,
    pub(crate) threads: Option<usize>,
    pub(crate) codecs_not_kept: BTreeSet<String>,
    pub(crate) left_out: LeftOut,
    /// The text that identifies the request, if the output is added to a store.
    pub(crate) addition: Option<String>,
}

/// The estimated cost of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// The memory of the buffers in bytes.
    pub buffer_bytes: u64,
    /// The bytes read from files.
    pub bytes_read: u64,
    /// The bytes written to files.
    pub bytes_written: u64,
    /// The number of contiguous reads.
    pub reads: u64,
    /// The number of contiguous writes.
    pub writes: u64,
    /// The largest total size of temporary files in bytes.
    pub temporary_bytes: u64,
    /// The estimated time in seconds.
    pub seconds: f64,
}

/// The memory in bytes in addition to buffers and codecs: stacks, headers, plans, and the allocator's reserve.
const OVERHEAD_BYTES: u64 = 6 << 20;

/// If requests take less than this share of the time, their latency is not measured.
const SMALL_SHARE: f64 = 0.05;

impl PlanOptions {
    pub(crate) fn budget(&self) -> usize {
        let left = self.max_bytes.saturating_sub(self.held_bytes);
        // Buffers get at least half of a small limit.
        usize::try_from(left - OVERHEAD_BYTES.min(left / 2)).unwrap_or(usize::MAX)
    }

    pub(crate) fn lacking(&self, budget: u64) -> Error {
        let taken = self.held_bytes.saturating_add(OVERHEAD_BYTES.min(budget));
        let (needed, limit) = (taken.saturating_add(budget), self.max_bytes);
        Error::from(Problem::Memory { needed, limit })
    }
}

impl Job {
    /// Plans an output of `format` with tensors of the first file, and with `metadata` if the format can store it.
    ///
    /// Chains may name tensors of the other files. Planning does not write the output. It may read a small part of the
    /// files to measure the storage.
    ///
    /// # Errors
    /// [`Error`] if a chain does not fit its tensors, the format cannot represent a result, or the memory is not enough
    /// for a single element.
    ///
    /// # Panics
    /// If `files` is empty, or an index is out of range.
    pub fn new(
        files: &[&TensorFile],
        wanted: &[Wanted<'_>],
        format: &'static Format,
        metadata: &[(String, String)],
        options: &PlanOptions,
    ) -> Result<Job, Error> {
        let (mut inputs, mut tensors, copy) = (Vec::new(), Vec::new(), &Chain::new());
        for each in wanted {
            let first = inputs.len();
            let moved = Input::Tensor { file: 0, index: each.index };
            let element = format.element_as_written(&files[0].headers()[each.index].element);
            let own = std::iter::once(&moved).chain(each.others);
            inputs.extend(own.map(|input| JobInput::new(input, files, &element)));
            let order = each.chain.filter(|_| options.row_major).map(|_| Order::RowMajor);
            let chain = each.chain.unwrap_or(copy);
            tensors.push(Unplanned::of_chain(&inputs[first..], first, chain, format, order)?);
        }
        Job::decided(files, inputs, tensors, format, metadata, options)
    }

    /// Plans an output of `format` with the tensors `outputs`, which programs make from tensors of `files` and from
    /// constants. Planning does not write the output. It may read a small part of the files to measure the storage.
    ///
    /// # Errors
    /// [`Error`] in the same cases as [`Job::new`], and if an input does not have the shape and type that the program
    /// states.
    ///
    /// # Panics
    /// If an output has fewer inputs than its program, or an index is out of range.
    pub fn assembled(
        files: &[&TensorFile],
        outputs: &[Assembled<'_>],
        format: &'static Format,
        metadata: &[(String, String)],
        options: &PlanOptions,
    ) -> Result<Job, Error> {
        let (mut inputs, mut tensors) = (Vec::new(), Vec::new());
        for output in outputs {
            let first = inputs.len();
            let of_output = |input| JobInput::new(input, files, &output.element);
            inputs.extend(output.inputs.iter().map(of_output));
            tensors.push(Unplanned::assembled(output, &inputs[first..], first, format)?);
        }
        Job::decided(files, inputs, tensors, format, metadata, options)
    }

    /// Plans an output without a header: the elements of the result of `chain` in the order `order`. Every write has
    /// whole elements.
    ///
    /// # Errors
    /// [`Error`] if the memory is not enough for a single element.
    pub(crate) fn in_order(
        file: &TensorFile,
        index: usize,
        chain: &Chain,
        order: Order,
        options: &PlanOptions,
    ) -> Result<Job, Error> {
        let (input, element) = (Input::Tensor { file: 0, index }, &file.headers()[index].element);
        let inputs = vec![JobInput::new(&input, &[file], element)];
        let tensors = vec![Unplanned::of_chain(&inputs, 0, chain, Format::RAW, Some(order))?];
        let mut job = Job::decided(&[file], inputs, tensors, Format::RAW, &[], options)?;
        for tensor in &mut job.tensors {
            // A tensor that is moved whole would be written in pieces that may end within an element.
            if tensor.is_whole() {
                let resources = Resources { budget: job.budget, rates: &job.rates };
                tensor.file_passes = tensor.movement.tiled_plan(resources)?;
            }
        }
        Ok(job)
    }

    fn decided(
        files: &[&TensorFile],
        mut inputs: Vec<JobInput>,
        mut unplanned: Vec<Unplanned>,
        format: &'static Format,
        metadata: &[(String, String)],
        options: &PlanOptions,
    ) -> Result<Job, Error> {
        for index in &options.undecoded {
            let tensor = &files[0].undecoded()[*index];
            let input = JobInput::Tensor(Box::new(JobTensor::undecoded(tensor)?));
            unplanned.push(Unplanned::undecoded(tensor, &input, inputs.len(), format)?);
            inputs.push(input);
        }
        if let Some(addition) = &options.addition {
            for (each, (place, index)) in unplanned.iter_mut().zip(&addition.places) {
                let tensor = JobTensor::of(files, files.len() - 1, *index);
                if each.place(place, &tensor, inputs.len())? {
                    inputs.push(JobInput::Tensor(Box::new(tensor)));
                }
            }
        }
        if format.takes_axis_names() {
            Unplanned::name_axes(&mut unplanned);
        }
        check_chunk_options(format, options)?;
        if format.chunks().is_some() {
            check_axes_with_sizes(&unplanned, options)?;
        }
        let chunkings = unplanned.iter().map(|each| each.chunking(format, options));
        let chunkings = chunkings.collect::<Result<Vec<Chunking>, _>>()?;
        let skeleton = {
            let described = unplanned.iter().zip(&chunkings);
            let described: Vec<Described<'_>> =
                described.map(|(each, chunking)| each.described(chunking)).collect();
            format
                .skeleton(&described, metadata)
                .map_err(|problem| Error::file(Path::new("the output"), problem))?
        };
        let in_chunks = unplanned.iter().enumerate();
        let in_chunks = in_chunks.filter(|(at, _)| skeleton.chunked_tensor(*at).is_some());
        let is_new = options.addition.is_none();
        let codecs_not_kept = match options.codecs.is_none() && is_new {
            true => in_chunks.flat_map(|(_, each)| each.codecs_not_kept()).cloned().collect(),
            false => BTreeSet::new(),
        };
        let mut left_out = match is_new {
            true => LeftOut::of(files, &unplanned, format, metadata),
            // An existing store keeps its own metadata.
            false => LeftOut::unread_of(files),
        };
        if format.chunks() == Some(ChunkFormat::Hdf5) {
            left_out.add_chunks(&inputs, &unplanned, &skeleton);
        }
        let (all, lacking) = (options.budget(), |needed| options.lacking(needed as u64));
        let storage = options.storage.unwrap_or(Storage::SSD);
        let cores = options.threads.or_else(|| Some(available_parallelism().ok()?.get()));
        let cores = cores.unwrap_or(1);
        let most = storage.in_flight.max(Storage::SSD.in_flight).max(cores);
        let (budget, decoders) = decoders((all, most), &inputs).map_err(lacking)?;
        let (budget, encoders) =
            encoders((budget, most), &skeleton).map_err(|needed| lacking(all - budget + needed))?;
        let in_all = |error: Error| match *error.problem {
            Problem::Memory { needed, .. } => lacking(all - budget + needed as usize),
            _ => error,
        };
        let coders = decoders.max(encoders).map_or(cores, |most| most.min(cores));
        let mut rates = Rates { storage, coders };
        let planned = |(at, each): (usize, Unplanned)| {
            let resources = Resources { budget, rates: &rates };
            each.planned(skeleton.chunked_tensor(at), &inputs, resources, options.metadata_only)
        };
        let decided = unplanned.into_iter().enumerate().map(planned);
        let mut decided = decided.collect::<Result<Vec<_>, Error>>().map_err(in_all)?;
        if options.storage.is_none()
            && !is_small(&decided)
            && !requests_are_few(&decided, &rates)
            && let Some(source) = files.iter().find_map(|file| file.blob()?.file())
            && let Some(found) = Measurements::of_user().storage(source, || Storage::probe(source))
        {
            rates.storage = found;
            let resources = Resources { budget, rates: &rates };
            let again = decided.into_iter().map(|tensor| tensor.planned(resources));
            decided = again.collect::<Result<_, _>>().map_err(in_all)?;
        }
        let (tensors, threads) = (decided, options.threads);
        Ok(Job {
            inputs,
            tensors,
            format,
            skeleton,
            budget,
            memory: budget,
            decoders,
            encoders,
            rates,
            threads,
            codecs_not_kept,
            left_out,
            addition: options.addition.as_ref().map(|addition| addition.request.clone()),
        })
    }

    pub(crate) fn with_resources(self, budget: usize, rates: Rates) -> Result<Job, Error> {
        let resources = Resources { budget, rates: &rates };
        let tensors = self.tensors.into_iter().map(|tensor| tensor.planned(resources));
        Ok(Job { tensors: tensors.collect::<Result<_, _>>()?, budget, rates, ..self })
    }

    /// Returns the tensors in the order of the output.
    pub fn tensors(&self) -> &[TensorJob] {
        &self.tensors
    }

    /// Returns the metadata of the inputs that the output cannot keep.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Returns the codecs of the source that trundle cannot write, each with its replacement if there is one. Empty if
    /// [`PlanOptions::codecs`] is set.
    pub fn codecs_not_kept(&self) -> impl Iterator<Item = &str> {
        self.codecs_not_kept.iter().map(String::as_str)
    }

    /// Returns the number of concurrent reads. It is the number of requests that the storage serves at once, but at
    /// least one for each core if reads need decoding, and at most `decoders`.
    pub(crate) fn readers(&self) -> usize {
        let headers = self.inputs.iter().filter_map(|input| Some(&input.tensor()?.header));
        let in_codecs = headers.map(|header| header.decoding_picoseconds).sum::<u64>();
        self.at_once(in_codecs).min(self.decoders.unwrap_or(usize::MAX))
    }

    pub(crate) fn writers(&self) -> usize {
        let chunked = self.skeleton.chunked();
        let in_codecs = chunked.map(|tensor| tensor.codecs().encoding_picoseconds()).sum::<u64>();
        self.at_once(in_codecs).min(self.encoders.unwrap_or(usize::MAX))
    }

    /// Returns the number of concurrent requests. Codecs take `in_codecs` picoseconds for a byte; 0 without codecs.
    fn at_once(&self, in_codecs: u64) -> usize {
        let Rates { storage, coders } = self.rates;
        if in_codecs > 0 { storage.in_flight.max(coders) } else { storage.in_flight }
    }

    /// Returns the sum of the sizes of the largest decoded chunk and the largest encoded chunk or shard.
    pub(crate) fn coded_bytes(&self) -> usize {
        let decoded = self.inputs.iter().filter_map(|input| decoded_bytes(&input.tensor()?.header));
        let encoded = self.skeleton.chunked().filter(|tensor| tensor.codecs().count() > 0);
        let encoded = encoded.map(ChunkedTensor::bytes_at_once);
        decoded.max().unwrap_or(0).saturating_add(encoded.max().unwrap_or(0))
    }

    fn encoding(&self) -> u64 {
        let each = self.tensors.iter().filter_map(|tensor| Some((tensor, tensor.chunked()?)));
        let encoded = each.filter(|(tensor, _)| tensor.encoded().is_none());
        let picoseconds = |(tensor, chunked): (&TensorJob, &ChunkedTensor)| {
            tensor.out_bytes().saturating_mul(chunked.codecs().encoding_picoseconds())
        };
        encoded.map(picoseconds).fold(0, u64::saturating_add)
    }

    pub(crate) fn inputs_read(&self) -> BTreeSet<usize> {
        let read = |tensor: &TensorJob| -> Vec<usize> {
            tensor.movement.inputs().iter().map(|(input, _)| tensor.inputs[*input]).collect()
        };
        self.tensors.iter().flat_map(read).collect()
    }

    pub(crate) fn tensors_read(&self) -> impl Iterator<Item = &JobTensor> {
        let read = self.inputs_read();
        read.into_iter().filter_map(|input| self.inputs[input].tensor())
    }

    /// Returns the size of the output in bytes.
    pub fn bytes(&self) -> u64 {
        self.skeleton.bytes()
    }

    /// Returns whether the output is a Zarr store.
    pub fn writes_store(&self) -> bool {
        self.format.is_folder()
    }

    /// Returns the storage model for which the job was planned.
    pub fn storage(&self) -> &Storage {
        &self.rates.storage
    }

    /// Returns the estimated cost.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let mut buffered = 0;
        for tensor in &self.tensors {
            let each = tensor.cost(&self.rates);
            cost.bytes_read += each.bytes_read;
            cost.bytes_written += each.bytes_written;
            cost.reads += each.reads;
            cost.writes += each.writes;
            cost.seconds += each.seconds;
            cost.temporary_bytes = cost.temporary_bytes.max(each.temporary_bytes);
            cost.buffer_bytes = cost.buffer_bytes.max(each.buffer_bytes);
        }
        cost.seconds += self.rates.seconds(0, 0, self.encoding());
        for tensor in self.tensors_read() {
            let bytes = tensor.header.data_bytes as u64;
            if tensor.header.data_offset.is_none() {
                buffered += bytes;
            } else if tensor.is_checked {
                cost.bytes_read += bytes;
                cost.seconds += self.rates.seconds(bytes, 0, 0);
            }
        }
        // An input that is compressed as a whole is first unpacked.
        cost.bytes_read += buffered;
        cost.bytes_written += buffered;
        cost.temporary_bytes += buffered;
        cost.seconds += self.rates.seconds(2 * buffered, 0, 0);
        if self.skeleton.needs_crc32() {
            cost.bytes_read +=
                self.skeleton.data_bytes().iter().map(|bytes| *bytes as u64).sum::<u64>();
        }
        cost
    }
}

/// Checks that each axis name in the chunk and shard sizes is an axis of a result. If sizes without names do not fit
/// the number of axes of a result, but fit another result with named axes, fails with a hint to use the names.
fn check_axes_with_sizes(unplanned: &[Unplanned], options: &PlanOptions) -> Result<(), Error> {
    let results = || unplanned.iter().filter(|each| !each.is_undecoded()).map(Unplanned::axes);
    let names = results().flat_map(|(_, _, names)| names.iter().flatten());
    let names = names.map(String::as_str).collect();
    for requested in [&options.chunks, &options.shards].into_iter().flatten() {
        requested.check_names(&names).map_err(|why| Error::from(Problem::Chunks(why)))?;
        let by_names = || results().find_map(|(_, _, names)| requested.by_names(names));
        if let Some((name, shape, _)) =
            results().find(|(_, shape, _)| requested.lacks_axes_of(shape.rank()))
            && let Some(by_names) = by_names()
        {
            let name = Shown(name);
            let why = format!("{name} has shape {shape}: give sizes by name: {by_names}");
            return Err(Error::from(Problem::Chunks(why)));
        }
    }
    Ok(())
}

/// Returns whether each tensor is in memory as a whole when it is moved, and all tensors are so small that the speed of
/// the storage does not matter.
fn is_small(tensors: &[TensorJob]) -> bool {
    let is_whole = |tensor: &TensorJob| tensor.is_whole() || tensor.file_passes.is_empty();
    let both = |tensor: &TensorJob| {
        let (read, written) = tensor.movement.file_bytes_of_ends();
        read.saturating_add(written)
    };
    tensors.iter().all(is_whole) && tensors.iter().map(both).sum::<u64>() <= SMALL_BYTES as u64
}

fn requests_are_few(tensors: &[TensorJob], rates: &Rates) -> bool {
    let (mut all, mut requests) = (0.0, 0.0);
    for tensor in tensors {
        let cost = tensor.cost(rates);
        all += cost.seconds;
        requests += rates.seconds(0, cost.reads + cost.writes, 0);
        // Two passes are chosen only if one pass has many requests.
        if tensor.file_passes.iter().any(|pass| pass.target.is_none()) {
            return false;
        }
    }
    requests <= SMALL_SHARE * all
}
