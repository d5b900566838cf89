//! A movement from a file to a file, decided: what becomes of each tensor, and where it goes.

use std::path::Path;

use trundle::{Chain, PlanError, Shape};
use trundle_formats::{Described, FileSkeleton, Format, Header, Order, TensorFile};

use crate::Storage;
use crate::error::Error;
use crate::plan::io_plan::{FilePass, IoPlan, Movement, Resources, Traffic};
use crate::plan::location::unit;
use crate::plan::measurements::Measurements;

/// A tensor of a file, and what is to become of it.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Its index among the headers of the file.
    pub index: usize,
    /// What is done to it. A chain without operators copies it as it stands, column-major too where
    /// the output's format can state that, whatever the [options](PlanOptions::row_major) say.
    pub chain: &'a Chain,
}

/// What a movement may use.
#[derive(Clone, Copy, Debug)]
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
}

/// A movement from a file to a file that is decided but not begun.
#[derive(Debug)]
pub struct Job {
    pub(crate) tensors: Vec<TensorJob>,
    /// The name of the output's format.
    pub(crate) format: &'static str,
    pub(crate) skeleton: FileSkeleton,
    /// The bytes that all buffers may take together.
    pub(crate) budget: usize,
    pub(crate) storage: Storage,
    pub(crate) threads: Option<usize>,
    /// Whether the source has checksums of its data.
    is_checked: bool,
}

/// One tensor of it.
#[derive(Debug)]
pub struct TensorJob {
    pub(crate) header: Header,
    pub(crate) index: usize,
    pub(crate) movement: Movement,
    pub(crate) io_plan: IoPlan,
    pub(crate) out_shape: Shape,
    pub(crate) out_order: Order,
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
        format: &Format,
        metadata: &[(String, String)],
        options: &PlanOptions,
    ) -> Result<Job, Error> {
        let unplanned: Vec<Unplanned> = wanted
            .iter()
            .map(|each| Unplanned::new(file, each, format, options.row_major))
            .collect::<Result<_, _>>()?;
        let skeleton = {
            let described: Vec<Described<'_>> =
                unplanned.iter().map(Unplanned::described).collect();
            format
                .skeleton(&described, metadata)
                .map_err(|problem| Error::file(Path::new("the output"), problem))?
        };
        let budget = options.budget();
        let tensors = |storage: &Storage| -> Result<Vec<TensorJob>, Error> {
            let resources = Resources { budget, storage };
            unplanned.iter().cloned().map(|each| each.planned(resources)).collect()
        };
        let mut storage = options.storage.unwrap_or(Storage::SSD);
        let mut decided = tensors(&storage)?;
        if options.storage.is_none()
            && !requests_are_few(&decided, &storage)
            && let Some(source) = file.file()
            && let Some(found) = Measurements::of_user().storage(source, || Storage::probe(source))
        {
            storage = found;
            decided = tensors(&storage)?;
        }
        Ok(Job {
            tensors: decided,
            format: format.name(),
            skeleton,
            budget,
            storage,
            threads: options.threads,
            is_checked: file.has_crc32(),
        })
    }

    /// The same job with the resources of one that was begun before.
    pub(crate) fn with_resources(self, budget: usize, storage: Storage) -> Result<Job, Error> {
        let resources = Resources { budget, storage: &storage };
        let again = |tensor: TensorJob| {
            let TensorJob { header, index, movement, out_shape, out_order, .. } = tensor;
            Unplanned { header, index, movement, out_shape, out_order }.planned(resources)
        };
        let tensors = self.tensors.into_iter().map(again).collect::<Result<_, _>>()?;
        Ok(Job { tensors, budget, storage, ..self })
    }

    /// Its tensors, in the order of the output.
    pub fn tensors(&self) -> &[TensorJob] {
        &self.tensors
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
            let bytes = tensor.header.data_bytes as u64;
            if tensor.header.data_offset.is_none() {
                held += bytes;
            } else if self.is_checked {
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
    /// What the file says of it.
    pub fn header(&self) -> &Header {
        &self.header
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
        self.movement.is_copy() && self.out_order != self.header.order
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
            let Traffic { bytes_read, bytes_written, reads, writes } = traffic;
            (pass.tiles.len(), mean(bytes_read, reads), mean(bytes_written, writes))
        };
        passes.iter().map(pass).collect()
    }

    fn cost(&self, storage: &Storage) -> Cost {
        let unit = unit(self.movement.width);
        match &self.io_plan {
            IoPlan::Whole => {
                let (read, written) = self.movement.file_bytes_of_ends();
                let (bytes_read, bytes_written) = (read, written);
                let buffer_bytes = self.movement.whole_bytes();
                let seconds = storage.seconds(read + written, 2);
                Cost {
                    bytes_read,
                    bytes_written,
                    reads: 1,
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

fn requests_are_few(tensors: &[TensorJob], storage: &Storage) -> bool {
    let (mut all, mut requests) = (0.0, 0.0);
    for tensor in tensors {
        let cost = tensor.cost(storage);
        all += cost.seconds;
        requests += storage.seconds(0, cost.reads + cost.writes);
        // Two passes are there because requests would else be many.
        if let IoPlan::Tiled(passes) = &tensor.io_plan
            && passes.iter().any(|pass| pass.steps.is_empty())
        {
            return false;
        }
    }
    requests <= SMALL_SHARE * all
}

/// A tensor whose I/O plan is not decided yet.
#[derive(Clone, Debug)]
struct Unplanned {
    header: Header,
    index: usize,
    movement: Movement,
    out_shape: Shape,
    out_order: Order,
}

impl Unplanned {
    fn new(
        file: &TensorFile,
        wanted: &Wanted<'_>,
        format: &Format,
        row_major: bool,
    ) -> Result<Unplanned, Error> {
        let header = file.headers()[wanted.index].clone();
        let width = header.element.width();
        let named = |error: PlanError| Error::of(&header.name, error);
        let out_shape =
            wanted.chain.out_shape(&header.shape).map_err(|error| named(error.into()))?;
        let movement = |to: Order| {
            Movement::new(wanted.chain, width, &header.shape, header.order, to).map_err(named)
        };
        let mut unplanned = Unplanned {
            movement: movement(Order::RowMajor)?,
            index: wanted.index,
            out_order: Order::RowMajor,
            out_shape,
            header: header.clone(),
        };
        let row_major = row_major && !wanted.chain.ops().is_empty();
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

    fn described(&self) -> Described<'_> {
        Described {
            name: &self.header.name,
            element: &self.header.element,
            shape: &self.out_shape,
            order: self.out_order,
        }
    }

    fn planned(self, resources: Resources<'_>) -> Result<TensorJob, Error> {
        let io_plan =
            self.movement.io_plan(resources).map_err(|error| error.within(&self.header.name))?;
        let Unplanned { header, index, movement, out_shape, out_order } = self;
        Ok(TensorJob { header, index, movement, io_plan, out_shape, out_order })
    }
}
