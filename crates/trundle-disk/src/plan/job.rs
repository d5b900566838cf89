//! A movement from files to a file, decided: what becomes of each tensor, and where it goes.

use std::collections::BTreeSet;
use std::path::Path;

use trundle::{Chain, PlanError, Shape};
use trundle_core::program::{Made, Program, TensorId};
use trundle_formats::{
    Annotations, Described, FileSkeleton, Format, Header, Order, StoredDType, TensorFile,
};

use crate::Storage;
use crate::error::{Error, Problem};
use crate::plan::chunk_sizes::ChunkSizes;
use crate::plan::input::{Input, JobInput, JobTensor};
use crate::plan::io_plan::{FilePass, IoPlan, Resources, SMALL_BYTES, Traffic};
use crate::plan::location::{file_bytes, unit};
use crate::plan::measurements::Measurements;
use crate::plan::movement::{Arrangement, Movement};

/// A tensor of a file, and what is to become of it.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Its index among the headers of the file.
    pub index: usize,
    /// What is done to it. Without a chain it is copied as it stands, column-major too where the
    /// output's format can state that, whatever the [options](PlanOptions::row_major) say.
    pub chain: Option<&'a Chain>,
}

/// A tensor that is made of others by a program.
#[derive(Clone, Debug)]
pub struct Assembled<'a> {
    /// What the output calls it.
    pub name: &'a str,
    /// Its elements, and those of all inputs that it is made of, once they are little-endian.
    pub element: StoredDType,
    /// How it is made.
    pub program: &'a Program,
    /// Which tensor of the program it is.
    pub tensor: TensorId,
    /// What each input of the program is; of the shape that the program states.
    pub inputs: &'a [Input],
}

/// What a movement may use.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The bytes of memory that the process may have allocated.
    pub max_bytes: u64,
    /// What the files are on. If it matters and is not given, it is measured by a short probe, or as
    /// one found before.
    pub storage: Option<Storage>,
    /// How many threads move elements in memory; `None` for as many as the machine has.
    pub threads: Option<usize>,
    /// Whether the output is row-major also where its format could state the order in which the
    /// elements stand already.
    pub row_major: bool,
    /// The sizes of the output's chunks, where its format has chunks. Without them they are those of the
    /// source, brought along by the operators, or what the format thinks best.
    pub chunks: Option<ChunkSizes>,
    /// The sizes of its shards, each a multiple of the chunk's. Without them there are none.
    pub shards: Option<ChunkSizes>,
}

/// A movement from files to a file that is decided but not begun.
#[derive(Debug)]
pub struct Job {
    /// What it reads, each once.
    pub(crate) inputs: Vec<JobInput>,
    pub(crate) tensors: Vec<TensorJob>,
    /// The output's format.
    pub(crate) format: &'static Format,
    pub(crate) skeleton: FileSkeleton,
    /// The bytes that all buffers may take together.
    pub(crate) budget: usize,
    /// How many threads decode chunks at once, if chunks are read.
    pub(crate) decoders: Option<usize>,
    /// How many encode them at once, if chunks are written.
    pub(crate) encoders: Option<usize>,
    pub(crate) storage: Storage,
    pub(crate) threads: Option<usize>,
}

/// One tensor of it.
#[derive(Debug)]
pub struct TensorJob {
    pub(crate) name: String,
    pub(crate) element: StoredDType,
    /// For each input of the movement which of the job's it is.
    pub(crate) inputs: Vec<usize>,
    /// The order of its elements in the only file that it is made of.
    in_order: Option<Order>,
    pub(crate) movement: Movement,
    pub(crate) io_plan: IoPlan,
    pub(crate) out_shape: Shape,
    pub(crate) out_order: Order,
    /// The sizes of what is written at once, where the output is in chunks.
    at_once: Option<Vec<usize>>,
}

/// What a job asks of the disk and of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Bytes written to files.
    pub bytes_written: u64,
    /// How many contiguous runs of bytes are read.
    pub reads: u64,
    /// How many are written.
    pub writes: u64,
    /// The most bytes of temporary files at any time.
    pub temporary_bytes: u64,
    /// The bytes of the buffers.
    pub buffer_bytes: u64,
    /// The seconds that it takes, by the model of the storage.
    pub seconds: f64,
}

/// What the program takes beside the buffers of a job: threads' own buffers, headers, plans.
const OVERHEAD_BYTES: u64 = 6 << 20;

/// Where requests take less than this share of the time, it does not matter how long one takes.
const SMALL_SHARE: f64 = 0.05;

impl PlanOptions {
    /// The bytes that the buffers may have.
    fn budget(&self) -> usize {
        let overhead = OVERHEAD_BYTES.min(self.max_bytes / 2);
        usize::try_from(self.max_bytes - overhead).unwrap_or(usize::MAX)
    }
}

impl Job {
    /// Decides how the tensors of `file` become an output of `format`, which keeps `metadata` if it
    /// can. Nothing is written, and of the file no more than a probe is read.
    ///
    /// # Errors
    /// [`Error`] if a chain does not fit its tensor, the format cannot hold a result, or the memory
    /// is not enough for a single element.
    pub fn new(
        file: &TensorFile,
        wanted: &[Wanted<'_>],
        format: &'static Format,
        metadata: &[(String, String)],
        options: &PlanOptions,
    ) -> Result<Job, Error> {
        let of_wanted = |(at, each): (usize, &Wanted<'_>)| {
            let input = JobInput::as_it_is_written(file, each.index, format);
            let tensor = Unplanned::of_chain(&input, at, each.chain, format, options.row_major)?;
            Ok((input, tensor))
        };
        let both = wanted.iter().enumerate().map(of_wanted).collect::<Result<Vec<_>, Error>>()?;
        let (inputs, tensors): (_, Vec<Unplanned>) = both.into_iter().unzip();
        Job::decided(&[file], inputs, tensors, format, metadata, options)
    }

    /// Decides how tensors of `files` and constants become an output of `format` whose tensors are
    /// `outputs`. Nothing is written, and of the files no more than a probe is read.
    ///
    /// # Errors
    /// [`Error`] as of [`Job::new`], and if an input that is read is not of the shape and type that the program
    /// states.
    ///
    /// # Panics
    /// If a program has more inputs than it is told of, or there is no such file or tensor.
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
            tensors.push(Unplanned::assembled(output, &inputs[first..], first)?);
        }
        Job::decided(files, inputs, tensors, format, metadata, options)
    }

    /// Decides how a tensor of `file` becomes bytes in this order, and nothing else beside them. All requests
    /// are for whole elements.
    ///
    /// # Errors
    /// [`Error`] if the memory is not enough for a single element.
    pub(crate) fn in_order(
        file: &TensorFile,
        index: usize,
        order: Order,
        options: &PlanOptions,
    ) -> Result<Job, Error> {
        let input = JobInput::as_it_stands(file, 0, index);
        let tensor = Unplanned::in_order(&file.headers()[index], order)?;
        let mut job = Job::decided(&[file], vec![input], vec![tensor], Format::RAW, &[], options)?;
        for tensor in &mut job.tensors {
            // One that is moved whole is written as bytes, cut anywhere.
            if let IoPlan::Whole = tensor.io_plan {
                let resources = Resources { budget: job.budget, storage: &job.storage };
                tensor.io_plan = tensor.movement.tiled_plan(resources)?;
            }
        }
        Ok(job)
    }

    fn decided(
        files: &[&TensorFile],
        inputs: Vec<JobInput>,
        unplanned: Vec<Unplanned>,
        format: &'static Format,
        metadata: &[(String, String)],
        options: &PlanOptions,
    ) -> Result<Job, Error> {
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
        let (budget, decoders) = decoders(options, &inputs)?;
        let (budget, encoders) = encoders(options, budget, &unplanned, &skeleton)?;
        let mut storage = options.storage.unwrap_or(Storage::SSD);
        let at_once = |at: usize| Some(skeleton.chunked().get(at)?.at_once().to_vec());
        let planned = |(at, each): (usize, Unplanned)| {
            each.planned(at_once(at), Resources { budget, storage: &storage })
        };
        let mut decided =
            unplanned.into_iter().enumerate().map(planned).collect::<Result<Vec<_>, Error>>()?;
        if options.storage.is_none()
            && !is_small(&decided)
            && !requests_are_few(&decided, &storage)
            && let Some(source) = files.iter().find_map(|file| file.blob()?.file())
            && let Some(found) = Measurements::of_user().storage(source, || Storage::probe(source))
        {
            storage = found;
            let resources = Resources { budget, storage: &storage };
            let again = |tensor: TensorJob| tensor.planned_again(resources);
            decided = decided.into_iter().map(again).collect::<Result<_, _>>()?;
        }
        let (tensors, threads) = (decided, options.threads);
        Ok(Job { inputs, tensors, format, skeleton, budget, decoders, encoders, storage, threads })
    }

    /// The same job with the resources of one that was begun before.
    pub(crate) fn with_resources(self, budget: usize, storage: Storage) -> Result<Job, Error> {
        let resources = Resources { budget, storage: &storage };
        let again = |tensor: TensorJob| tensor.planned_again(resources);
        let tensors = self.tensors.into_iter().map(again).collect::<Result<_, _>>()?;
        Ok(Job { tensors, budget, storage, ..self })
    }

    /// Its tensors, in the order of the output.
    pub fn tensors(&self) -> &[TensorJob] {
        &self.tensors
    }

    /// How many requests read at once.
    pub(crate) fn readers(&self) -> usize {
        self.decoders.unwrap_or(usize::MAX).min(self.storage.in_flight)
    }

    /// How many requests write at once.
    pub(crate) fn writers(&self) -> usize {
        self.encoders.unwrap_or(usize::MAX).min(self.storage.in_flight)
    }

    /// The inputs of which something is read.
    pub(crate) fn inputs_read(&self) -> BTreeSet<usize> {
        let read = |tensor: &TensorJob| -> Vec<usize> {
            tensor.movement.inputs().iter().map(|(input, _)| tensor.inputs[*input]).collect()
        };
        self.tensors.iter().flat_map(read).collect()
    }

    /// The tensors of files of which something is read.
    pub(crate) fn tensors_read(&self) -> impl Iterator<Item = &JobTensor> {
        let read = self.inputs_read();
        read.into_iter().filter_map(|input| self.inputs[input].tensor())
    }

    /// The bytes of the output.
    pub fn bytes(&self) -> u64 {
        self.skeleton.bytes()
    }

    /// The storage that it was decided for.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// What it asks for.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let mut held = 0;
        for tensor in &self.tensors {
            let each = tensor.cost(&self.storage);
            cost.bytes_read += each.bytes_read;
            cost.bytes_written += each.bytes_written;
            cost.reads += each.reads;
            cost.writes += each.writes;
            cost.seconds += each.seconds;
            cost.temporary_bytes = cost.temporary_bytes.max(each.temporary_bytes);
            cost.buffer_bytes = cost.buffer_bytes.max(each.buffer_bytes);
        }
        for tensor in self.tensors_read() {
            let bytes = tensor.header.data_bytes as u64;
            if tensor.header.data_offset.is_none() {
                held += bytes;
            } else if tensor.is_checked {
                cost.bytes_read += bytes;
                cost.seconds += self.storage.seconds(bytes, 0);
            }
        }
        // What is compressed is unpacked first, to a file of its own.
        cost.bytes_read += held;
        cost.bytes_written += held;
        cost.temporary_bytes += held;
        cost.seconds += self.storage.seconds(2 * held, 0);
        if self.skeleton.needs_crc32() {
            cost.bytes_read +=
                self.skeleton.data_bytes().iter().map(|bytes| *bytes as u64).sum::<u64>();
        }
        cost
    }
}

impl TensorJob {
    /// The same with other resources.
    fn planned_again(self, resources: Resources<'_>) -> Result<TensorJob, Error> {
        let io_plan = self.movement.io_plan(self.at_once.as_deref(), resources);
        let io_plan = io_plan.map_err(|error| error.within(&self.name))?;
        Ok(TensorJob { io_plan, ..self })
    }

    /// What the output calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its elements.
    pub fn element(&self) -> &StoredDType {
        &self.element
    }

    /// The sizes of its axes in the output.
    pub fn out_shape(&self) -> &Shape {
        &self.out_shape
    }

    /// The order of its elements in the output.
    pub fn out_order(&self) -> Order {
        self.out_order
    }

    /// Whether its elements stay where they are and the header alone says another order of axes.
    pub fn is_by_header(&self) -> bool {
        self.movement.is_copy() && self.in_order.is_some_and(|order| order != self.out_order)
    }

    /// Whether its bytes are the same in the output, in the same order.
    pub fn is_copy(&self) -> bool {
        self.movement.is_copy()
    }

    /// The bytes that it fills in the output.
    pub fn out_bytes(&self) -> u64 {
        self.movement.file_bytes_of_ends().1
    }

    /// How many times its elements go through memory.
    pub fn passes(&self) -> usize {
        match &self.io_plan {
            IoPlan::Whole => self.movement.whole_passes(),
            IoPlan::Tiled(passes) => passes.len(),
        }
    }

    /// For each pass over files how many tiles it has, and the bytes of its runs: of one that is
    /// read, and of one that is written, on average. None if the tensor is read whole.
    pub fn tiles(&self) -> Vec<(usize, u64, u64)> {
        let IoPlan::Tiled(passes) = &self.io_plan else { return Vec::new() };
        let mean = |bytes: u64, runs: u64| bytes / runs.max(1);
        let pass = |pass: &FilePass| {
            let traffic = pass.traffic;
            let Traffic { bytes_read, bytes_written, reads, writes, .. } = traffic;
            (pass.tiles.len(), mean(bytes_read, reads), mean(bytes_written, writes))
        };
        passes.iter().map(pass).collect()
    }

    fn cost(&self, storage: &Storage) -> Cost {
        let unit = unit(self.movement.width());
        match &self.io_plan {
            IoPlan::Whole => {
                let (read, written) = self.movement.file_bytes_of_ends();
                let (bytes_read, bytes_written) = (read, written);
                let buffer_bytes = self.movement.whole_bytes();
                let requests = self.movement.inputs().len() as u64 + 1;
                let seconds = storage.seconds(read + written, requests);
                Cost {
                    bytes_read,
                    bytes_written,
                    reads: self.movement.inputs().len() as u64,
                    writes: 1,
                    temporary_bytes: 0,
                    buffer_bytes,
                    seconds,
                }
            }
            IoPlan::Tiled(passes) => {
                let mut cost = Cost::default();
                for (index, pass) in passes.iter().enumerate() {
                    let traffic = pass.traffic;
                    cost.bytes_read += traffic.bytes_read;
                    cost.bytes_written += traffic.bytes_written;
                    cost.reads += traffic.reads;
                    cost.writes += traffic.writes;
                    cost.seconds += pass.seconds(storage);
                    cost.temporary_bytes += traffic.waiting;
                    if index + 1 < passes.len() {
                        cost.temporary_bytes += traffic.bytes_written;
                    }
                    let largest = pass.tiles.iter().map(|tile| tile.elements() * unit).max();
                    cost.buffer_bytes = cost.buffer_bytes.max(largest.unwrap_or(0) as u64);
                }
                cost
            }
        }
    }
}

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
fn decoders(options: &PlanOptions, inputs: &[JobInput]) -> Result<(usize, Option<usize>), Error> {
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

/// A thread that encodes has memory for so many of what is written at once: one with all of its elements,
/// and what the codecs make of that.
const COPIES_OF_ENCODER: usize = 3;

/// What of `budget` is left for buffers where the output is in chunks, and how many threads encode them at
/// once.
///
/// # Errors
/// [`Problem::Memory`] if there is not room for one.
fn encoders(
    options: &PlanOptions,
    budget: usize,
    tensors: &[Unplanned],
    skeleton: &FileSkeleton,
) -> Result<(usize, Option<usize>), Error> {
    let at_once = skeleton.chunked().iter().zip(tensors);
    let bytes = at_once.map(|(chunked, tensor)| {
        let elements = chunked.at_once().iter().copied().fold(1, usize::saturating_mul);
        file_bytes(tensor.element.width(), elements)
    });
    match bytes.max() {
        None => Ok((budget, None)),
        Some(bytes) => {
            let each = bytes.saturating_mul(COPIES_OF_ENCODER);
            shared(options, budget, each).map(|(left, encoders)| (left, Some(encoders)))
        }
    }
}

/// What of `budget` is left if a share of it is for threads that take `each` bytes, and for how many.
///
/// # Errors
/// [`Problem::Memory`] if there is not room for one.
fn shared(options: &PlanOptions, budget: usize, each: usize) -> Result<(usize, usize), Error> {
    let each = each.max(1);
    let threads = (budget / CODECS_SHARE / each).clamp(1, Storage::SSD.in_flight);
    match budget.checked_sub(threads.saturating_mul(each)).filter(|left| *left > 0) {
        Some(left) => Ok((left, threads)),
        None => {
            let (each, limit) = (each as u64, options.max_bytes);
            let needed = each + OVERHEAD_BYTES.min(each) + 1;
            Err(Error::from(Problem::Memory { needed, limit }))
        }
    }
}

/// Whether all is moved whole, and so little that the storage makes no difference.
fn is_small(tensors: &[TensorJob]) -> bool {
    let is_whole = |tensor: &TensorJob| match &tensor.io_plan {
        IoPlan::Whole => true,
        IoPlan::Tiled(passes) => passes.is_empty(),
    };
    let both = |tensor: &TensorJob| {
        let (read, written) = tensor.movement.file_bytes_of_ends();
        read.saturating_add(written)
    };
    tensors.iter().all(is_whole) && tensors.iter().map(both).sum::<u64>() <= SMALL_BYTES as u64
}

fn requests_are_few(tensors: &[TensorJob], storage: &Storage) -> bool {
    let (mut all, mut requests) = (0.0, 0.0);
    for tensor in tensors {
        let cost = tensor.cost(storage);
        all += cost.seconds;
        requests += storage.seconds(0, cost.reads + cost.writes);
        // Two passes are there because requests would else be many.
        if let IoPlan::Tiled(passes) = &tensor.io_plan
            && passes.iter().any(|pass| pass.target.is_none())
        {
            return false;
        }
    }
    requests <= SMALL_SHARE * all
}

/// A tensor whose I/O plan is not decided yet.
#[derive(Clone, Debug)]
struct Unplanned {
    name: String,
    element: StoredDType,
    inputs: Vec<usize>,
    in_order: Option<Order>,
    movement: Movement,
    out_shape: Shape,
    out_order: Order,
    /// What else is said of it.
    annotations: Annotations,
}

impl Unplanned {
    /// What `chain` makes of a tensor, which is the job's input of this index.
    fn of_chain(
        input: &JobInput,
        at: usize,
        chain: Option<&Chain>,
        format: &Format,
        row_major: bool,
    ) -> Result<Unplanned, Error> {
        let (row_major, copy) = (row_major && chain.is_some(), Chain::new());
        let chain = chain.unwrap_or(&copy);
        let JobInput::Tensor(tensor) = input else { unreachable!("a tensor of a file") };
        let header = &tensor.header;
        let width = header.element.width();
        let named = |error: PlanError| Error::of(&header.name, error);
        let out_shape = chain.out_shape(&header.shape).map_err(|error| named(error.into()))?;
        let movement =
            |to: Order| Movement::of_chain(chain, width, &header.shape, header, to).map_err(named);
        let mut unplanned = Unplanned {
            name: header.name.clone(),
            element: format.element_as_written(&header.element),
            inputs: vec![at],
            in_order: header.chunk.is_none().then_some(header.order),
            movement: movement(Order::RowMajor)?,
            out_order: Order::RowMajor,
            out_shape,
            annotations: header.annotations.of_axes(chain.axes_kept(&header.shape).as_deref()),
        };
        let can_state = format.states_column_major() && width.packing().is_none() && !row_major;
        if can_state && !unplanned.movement.is_copy() {
            let stated = movement(Order::ColumnMajor)?;
            if stated.is_copy() {
                unplanned =
                    Unplanned { movement: stated, out_order: Order::ColumnMajor, ..unplanned };
            }
        }
        Ok(unplanned)
    }

    /// A tensor as it stands in a file, in this order.
    fn in_order(header: &Header, order: Order) -> Result<Unplanned, Error> {
        let Header { name, element, shape, .. } = header;
        let movement = Movement::of_chain(&Chain::new(), element.width(), shape, header, order);
        Ok(Unplanned {
            name: name.clone(),
            element: element.clone(),
            inputs: vec![0],
            in_order: None,
            movement: movement.map_err(|error| Error::of(name, error))?,
            out_shape: shape.clone(),
            // Bytes without a header say of no order that it is theirs.
            out_order: Order::RowMajor,
            annotations: Annotations::default(),
        })
    }

    /// A tensor of a program whose inputs are these, the job's from `first` on.
    fn assembled(
        output: &Assembled<'_>,
        inputs: &[JobInput],
        first: usize,
    ) -> Result<Unplanned, Error> {
        let arrangements: Vec<Arrangement<'_>> = inputs.iter().map(JobInput::arrangement).collect();
        let refused = |error| Error::of(output.name, error);
        let movement =
            Movement::of_tensor(output.program, output.tensor, &arrangements).map_err(refused)?;
        // What others are made of may be of any type.
        let read: BTreeSet<usize> = movement.inputs().iter().map(|(input, _)| *input).collect();
        for given in output.program.tensors() {
            if let Made::Given(input) = given.made
                && read.contains(&input)
            {
                inputs[input].check(&output.element, given).map_err(refused)?;
            }
        }
        Ok(Unplanned {
            name: output.name.to_owned(),
            element: output.element.clone(),
            inputs: (first..first + inputs.len()).collect(),
            in_order: None,
            out_shape: movement.out_shape().clone(),
            movement,
            out_order: Order::RowMajor,
            annotations: Annotations::default(),
        })
    }

    /// The chunks that are asked for, or else those of the source where the operators bring them.
    fn chunking(&self, format: &Format, options: &PlanOptions) -> Result<Chunking, Error> {
        if !format.is_folder() {
            return match options.chunks.as_ref().or(options.shards.as_ref()) {
                None => Ok(Chunking::default()),
                Some(_) => {
                    let why = format!("format {} has no chunks", format.name());
                    Err(Error::from(Problem::Chunks(why)))
                }
            };
        }
        let sizes = self.out_shape.sizes();
        let refused = |why: String| Error::from(Problem::Chunks(why)).within(&self.name);
        let brought = self.movement.chunk();
        let all = || sizes.iter().map(|size| (*size).max(1)).collect::<Vec<_>>();
        let chunk = match &options.chunks {
            None => brought,
            Some(asked) => {
                let otherwise = brought.unwrap_or_else(all);
                Some(asked.of("chunks", sizes, &otherwise).map_err(refused)?)
            }
        };
        let shard = match &options.shards {
            None => None,
            Some(asked) => {
                let otherwise = chunk.clone().unwrap_or_else(all);
                Some(asked.of("shards", sizes, &otherwise).map_err(refused)?)
            }
        };
        // All of an axis is as many chunks as it takes.
        let shard = match (shard, &chunk) {
            (Some(shard), Some(chunk)) => {
                Some(whole_chunks(&shard, chunk, sizes).map_err(refused)?)
            }
            (shard, _) => shard,
        };
        Ok(Chunking { chunk, shard })
    }

    fn described<'a>(&'a self, chunking: &'a Chunking) -> Described<'a> {
        Described {
            chunk: chunking.chunk.as_deref(),
            shard: chunking.shard.as_deref(),
            annotations: Some(&self.annotations),
            ..Described::new(&self.name, &self.element, &self.out_shape, self.out_order)
        }
    }

    fn planned(
        self,
        at_once: Option<Vec<usize>>,
        resources: Resources<'_>,
    ) -> Result<TensorJob, Error> {
        let io_plan = self.movement.io_plan(at_once.as_deref(), resources);
        let io_plan = io_plan.map_err(|error| error.within(&self.name))?;
        let Unplanned { name, element, inputs, in_order, movement, out_shape, out_order, .. } =
            self;
        Ok(TensorJob {
            name,
            element,
            inputs,
            in_order,
            movement,
            io_plan,
            out_shape,
            out_order,
            at_once,
        })
    }
}

/// The sizes of a tensor's chunks and shards, where something is said of them.
#[derive(Clone, Debug, Default)]
struct Chunking {
    chunk: Option<Vec<usize>>,
    shard: Option<Vec<usize>>,
}

/// A shard that reaches to the end of an axis, and no further than chunks do.
///
/// # Errors
/// That one would be too large, as a message.
fn whole_chunks(shard: &[usize], chunk: &[usize], sizes: &[usize]) -> Result<Vec<usize>, String> {
    let axes = shard.iter().zip(chunk).zip(sizes);
    axes.map(|((shard, chunk), size)| match shard >= size {
        true => shard
            .checked_next_multiple_of(*chunk)
            .ok_or_else(|| format!("a shard of {shard} in chunks of {chunk} is too large")),
        false => Ok(*shard),
    })
    .collect()
}
