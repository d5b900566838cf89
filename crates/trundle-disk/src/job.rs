//! A movement from a file to a file, decided: what becomes of each tensor, and where it goes.

use std::path::Path;

use trundle::{Chain, PlanError, Shape};
use trundle_formats::{Described, Format, Frame, Header, Order, TensorFile};

use crate::Device;
use crate::error::Error;
use crate::identity::Asked;
use crate::known::Known;
use crate::way::{Means, Movement, Traffic, Way};

/// A tensor of a file, and what is to become of it.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Its number among the headers of the file.
    pub index: usize,
    /// What is done to it. A chain without operators copies it as it stands, column-major too where
    /// the output's format can state that, whatever the [options](Options::row_major) say.
    pub chain: &'a Chain,
}

/// What a movement may use.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The bytes of memory that the process may have allocated.
    pub max_bytes: u64,
    /// What the disk takes; if it matters and is not given, what was found out before, or else by a
    /// short probe.
    pub device: Option<Device>,
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
    pub(crate) frame: Frame,
    pub(crate) room: usize,
    pub(crate) device: Device,
    pub(crate) threads: Option<usize>,
    /// Whether the source has checksums of its data.
    is_checked: bool,
    /// By what it is known again.
    pub(crate) asked: Asked,
}

/// One tensor of it.
#[derive(Debug)]
pub struct TensorJob {
    pub(crate) header: Header,
    pub(crate) index: usize,
    pub(crate) movement: Movement,
    pub(crate) way: Way,
    out_shape: Shape,
    out_order: Order,
}

/// What a job asks of the disk and of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Bytes written to files.
    pub bytes_written: u64,
    /// How many runs of neighbouring bytes are read.
    pub reads: u64,
    /// How many are written.
    pub writes: u64,
    /// The most bytes of files that are there only while the job runs.
    pub temporary_bytes: u64,
    /// The bytes of the buffers.
    pub buffer_bytes: u64,
    /// The seconds that it takes, by the device's model.
    pub seconds: f64,
}

/// What the program takes beside the buffers of a job: threads' own buffers, headers, plans.
const OVERHEAD_BYTES: u64 = 6 << 20;

/// Where requests take less than this share of the time, it does not matter how long one takes.
const SMALL_SHARE: f64 = 0.05;

impl Options {
    /// The bytes that the buffers may have.
    fn room(&self) -> usize {
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
        options: &Options,
    ) -> Result<Job, Error> {
        let begun: Vec<Begun> = wanted
            .iter()
            .map(|each| Begun::new(file, each, format, options.row_major))
            .collect::<Result<_, _>>()?;
        let frame = {
            let described: Vec<Described<'_>> = begun.iter().map(Begun::described).collect();
            format
                .frame(&described, metadata)
                .map_err(|problem| Error::file(Path::new("the output"), problem))?
        };
        let room = options.room();
        let tensors = |device: &Device| -> Result<Vec<TensorJob>, Error> {
            let means = Means { room, device };
            begun.iter().cloned().map(|each| each.decided(means)).collect()
        };
        let mut device = options.device.unwrap_or(Device::SSD);
        let mut decided = tensors(&device)?;
        if options.device.is_none()
            && !requests_are_few(&decided, &device)
            && let Some(source) = file.file()
            && let Some(found) = Known::of_user().device(source, || Device::probe(source))
        {
            device = found;
            decided = tensors(&device)?;
        }
        let asked = Asked::of(&begun, format, &frame);
        let (threads, is_checked) = (options.threads, file.has_checksums());
        Ok(Job { tensors: decided, frame, room, device, threads, is_checked, asked })
    }

    /// The same job as one that was begun with these means.
    pub(crate) fn with_means(self, room: usize, device: Device) -> Result<Job, Error> {
        let means = Means { room, device: &device };
        let again = |tensor: TensorJob| {
            let TensorJob { header, index, movement, out_shape, out_order, .. } = tensor;
            Begun { header, index, movement, out_shape, out_order }.decided(means)
        };
        let tensors = self.tensors.into_iter().map(again).collect::<Result<_, _>>()?;
        Ok(Job { tensors, room, device, ..self })
    }

    /// Its tensors, in the order of the output.
    pub fn tensors(&self) -> &[TensorJob] {
        &self.tensors
    }

    /// The bytes of the output.
    pub fn bytes(&self) -> u64 {
        self.frame.bytes()
    }

    /// The disk that it was decided for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it asks for.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let mut held = 0;
        for tensor in &self.tensors {
            let each = tensor.cost(&self.device);
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
                cost.seconds += self.device.seconds(bytes, 0);
            }
        }
        // What is compressed is unpacked first, to a file of its own.
        cost.bytes_read += held;
        cost.bytes_written += held;
        cost.temporary_bytes += held;
        cost.seconds += self.device.seconds(2 * held, 0);
        if self.frame.needs_checksums() {
            cost.bytes_read +=
                self.frame.data_bytes().iter().map(|bytes| *bytes as u64).sum::<u64>();
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
        match &self.way {
            Way::Whole => self.movement.whole_passes(),
            Way::Tiled(passes) => passes.len(),
        }
    }

    /// For each pass over files how many tiles it has, and the bytes of its runs: of one that is
    /// read, and of one that is written, on average. None if the tensor is read whole.
    pub fn tiles(&self) -> Vec<(usize, u64, u64)> {
        let Way::Tiled(passes) = &self.way else { return Vec::new() };
        let mean = |bytes: u64, runs: u64| bytes / runs.max(1);
        let pass = |pass: &crate::way::FilePass| {
            let traffic = pass.traffic;
            let Traffic { bytes_read, bytes_written, reads, writes } = traffic;
            (pass.tiles.len(), mean(bytes_read, reads), mean(bytes_written, writes))
        };
        passes.iter().map(pass).collect()
    }

    fn cost(&self, device: &Device) -> Cost {
        let unit = crate::way::unit(self.movement.width);
        match &self.way {
            Way::Whole => {
                let (read, written) = self.movement.file_bytes_of_ends();
                let (bytes_read, bytes_written) = (read, written);
                let buffer_bytes = self.movement.whole_bytes();
                let seconds = device.seconds(read + written, 2);
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
            Way::Tiled(passes) => {
                let mut cost = Cost::default();
                for (number, pass) in passes.iter().enumerate() {
                    let traffic = pass.traffic;
                    cost.bytes_read += traffic.bytes_read;
                    cost.bytes_written += traffic.bytes_written;
                    cost.reads += traffic.reads;
                    cost.writes += traffic.writes;
                    cost.seconds += pass.seconds(device);
                    if number + 1 < passes.len() {
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

fn requests_are_few(tensors: &[TensorJob], device: &Device) -> bool {
    let (mut all, mut requests) = (0.0, 0.0);
    for tensor in tensors {
        let cost = tensor.cost(device);
        all += cost.seconds;
        requests += device.seconds(0, cost.reads + cost.writes);
        // Two passes are there because requests would else be many.
        if let Way::Tiled(passes) = &tensor.way
            && passes.iter().any(|pass| pass.stages.is_empty())
        {
            return false;
        }
    }
    requests <= SMALL_SHARE * all
}

/// A tensor whose way is not decided yet.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(crate) header: Header,
    pub(crate) index: usize,
    pub(crate) movement: Movement,
    pub(crate) out_shape: Shape,
    pub(crate) out_order: Order,
}

impl Begun {
    fn new(
        file: &TensorFile,
        wanted: &Wanted<'_>,
        format: &Format,
        row_major: bool,
    ) -> Result<Begun, Error> {
        let header = file.headers()[wanted.index].clone();
        let width = header.element.width();
        let named = |error: PlanError| Error::of(&header.name, error);
        let out_shape =
            wanted.chain.out_shape(&header.shape).map_err(|error| named(error.into()))?;
        let movement = |to: Order| {
            Movement::new(wanted.chain, width, &header.shape, header.order, to).map_err(named)
        };
        let mut begun = Begun {
            movement: movement(Order::RowMajor)?,
            index: wanted.index,
            out_order: Order::RowMajor,
            out_shape,
            header: header.clone(),
        };
        let row_major = row_major && !wanted.chain.ops().is_empty();
        let can_state = format.states_column_major() && width.packing().is_none() && !row_major;
        if can_state && !begun.movement.is_copy() {
            let stated = movement(Order::ColumnMajor)?;
            if stated.is_copy() {
                begun = Begun { movement: stated, out_order: Order::ColumnMajor, ..begun };
            }
        }
        Ok(begun)
    }

    fn described(&self) -> Described<'_> {
        Described {
            name: &self.header.name,
            element: &self.header.element,
            shape: &self.out_shape,
            order: self.out_order,
        }
    }

    fn decided(self, means: Means<'_>) -> Result<TensorJob, Error> {
        let way = self.movement.way(means).map_err(|error| error.within(&self.header.name))?;
        let Begun { header, index, movement, out_shape, out_order } = self;
        Ok(TensorJob { header, index, movement, way, out_shape, out_order })
    }
}
