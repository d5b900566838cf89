//! The request of a front end, as plain data. The plan of numbered tasks stores it as JSON.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use trundle::BitOrder;
use trundle::notation::Given;
use trundle_disk::{ChunkSizes, Storage};
use trundle_formats::{Codecs, Format, Shown, StoredDType, is_url};

use crate::memory;
use crate::numbers::{Bytes, Sizes};

/// Work on files, with its destination and limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Request {
    /// The input files; `-` is stdin. Only a join accepts several files, and may name the same file more than once.
    pub inputs: Vec<PathBuf>,
    /// Properties that the files do not state themselves.
    pub described: Description,
    /// The name of a tensor, or a pattern of names. `None` selects all tensors.
    pub tensor: Option<String>,
    /// The operation.
    pub work: Work,
    /// The output.
    pub output: Destination,
    /// The limits on threads and memory, and the kind of storage.
    pub resources: Resources,
}

impl Request {
    /// Creates a request for all tensors, without an output, limits, and a description of the files.
    pub fn new(inputs: Vec<PathBuf>, work: Work) -> Request {
        let (output, resources) = (Destination::default(), Resources::default());
        Request { inputs, described: Description::default(), tensor: None, work, output, resources }
    }
}

/// An operation on files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Work {
    /// Apply operators to the tensors of a file.
    Chain {
        /// The operators.
        operators: Operators,
        /// Whether to leave out the tensors that the request does not name, instead of copying them.
        only: bool,
        /// Whether to move the elements even if a column-major header would be enough.
        row_major: bool,
    },
    /// Join the tensors of several files.
    Join {
        /// The axis along which they are joined.
        along: Along,
    },
    /// Split the tensors of a file into several files.
    Split {
        /// The axis along which they are split.
        axis: Axis,
        /// The sizes of the parts.
        parts: Parts,
    },
    /// Change the axis order of the tensors of a file.
    Relayout {
        /// The rules, such as `conv*.weight: o i h w -> o h w i`.
        rules: Vec<String>,
        /// Files with one rule on each line.
        rule_files: Vec<PathBuf>,
    },
}

impl Work {
    /// Creates the work of a chain. Tensors that the request does not name are copied.
    pub fn chain(operators: Operators) -> Work {
        Work::Chain { operators, only: false, row_major: false }
    }
}

/// The operators of a chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Operators {
    /// No operator. The file is only converted to another format or order.
    Convert,
    /// A chain in the chain language.
    Chain(String),
    /// One operator.
    Call {
        /// The operator's name in the chain language.
        operator: String,
        /// An argument for each parameter; an empty list for lengths or indices.
        arguments: Vec<Argument>,
        /// The lengths or indices: a list, or the name of a file.
        numbers: String,
    },
}

/// The argument of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// Integers, or the indices of axes.
    Integers(Vec<i64>),
    /// The names of axes.
    Names(Vec<String>),
}

impl Argument {
    pub(crate) fn given(&self) -> Given {
        match self {
            Argument::Integers(integers) => Given::Integers(integers.clone()),
            Argument::Names(names) => Given::Names(names.clone()),
        }
    }
}

/// The axis along which tensors are joined.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Along {
    /// An existing axis.
    Axis(Axis),
    /// A new axis at this index, and its name if it has one.
    New(i64, Option<String>),
}

/// An axis of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Axis {
    /// The index of the axis. A negative index counts from the end.
    Number(i64),
    /// The name of the axis.
    Name(String),
}

/// The sizes of the parts along an axis.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Parts {
    /// This number of parts, as equal as possible. The first ones are longer by one if needed.
    Count(usize),
    /// The size of each part.
    Sizes(Sizes),
}

impl Parts {
    pub(crate) fn count(&self) -> usize {
        match self {
            Parts::Count(count) => *count,
            Parts::Sizes(sizes) => sizes.sizes.len(),
        }
    }
}

/// Properties of a file that the file does not state itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// The format, regardless of the file extension.
    pub format: Option<Written<&'static Format>>,
    /// The element type.
    pub dtype: Option<Written<StoredDType>>,
    /// The axis sizes.
    pub shape: Option<Sizes>,
    /// The offset of the data in a raw file.
    pub offset: Option<Bytes>,
    /// The bit order of elements smaller than a byte.
    pub bit_order: Option<Written<BitOrder>>,
}

/// The output of a request: its path, format and encoding, and how it is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Destination {
    /// The path, or `-` for stdout. Several outputs need a placeholder for their numbers. Only reports can do without a
    /// path.
    pub path: Option<PathBuf>,
    /// The format, regardless of the file extension.
    pub format: Option<Written<&'static Format>>,
    /// The chunk sizes (default: the source's).
    pub chunks: Option<Written<ChunkSizes>>,
    /// The shard sizes (default: the source's if `chunks` is not set).
    pub shards: Option<Written<ChunkSizes>>,
    /// The codecs of the chunks (default: the source's).
    pub codecs: Option<Written<Codecs>>,
    /// Whether to copy chunks encoded, and to refuse work that would decode them.
    pub metadata_only: bool,
    /// Whether to replace an existing output.
    pub overwrite: bool,
    /// Whether to read the output back and compare it with the input.
    pub verify: bool,
    /// Whether to continue an interrupted run.
    pub resume: bool,
    /// The place in an existing Zarr store. `None` writes a new file.
    #[serde(default)]
    pub addition: Option<Written<Addition>>,
    /// The attributes that may differ between joined files, and between the tensors and the arrays of an existing store.
    /// The output has the values of the store or of the first file.
    #[serde(default)]
    pub ignored_attributes: Vec<String>,
}

/// The place of an output in an existing Zarr store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addition {
    /// After the last element of this axis.
    Append(Axis),
    /// The ranges of these axes, which are replaced. Without an end, a range is as long as the tensor.
    Region(Vec<(Axis, usize, Option<usize>)>),
}

/// The resources that the work may use.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resources {
    /// The number of threads (default: one for each core).
    pub threads: Option<usize>,
    /// The memory limit (default: a quarter of the free memory).
    pub max_mem: Option<Bytes>,
    /// The kind of storage of the files (default: detected).
    pub storage: Option<StorageChoice>,
    /// The number of concurrent tasks that share the threads and the memory. A plan of tasks stores the memory of one
    /// task, but not the threads, which the caller of each task passes.
    pub sharing: Option<NonZeroUsize>,
}

impl Resources {
    /// Creates the limits. `None` stands for the default.
    pub fn new(
        threads: Option<usize>,
        max_mem: Option<Bytes>,
        storage: Option<StorageChoice>,
    ) -> Resources {
        Resources { threads, max_mem, storage, sharing: None }
    }

    /// Returns the limits of one of the concurrent tasks.
    pub(crate) fn share(self) -> Resources {
        let Some(count) = self.sharing.map(NonZeroUsize::get) else { return self };
        let threads = self.threads.unwrap_or_else(|| trundle::Machine::detect().threads);
        Resources {
            threads: Some(threads.div_ceil(count)),
            max_mem: Some(Bytes(memory::share(self.max_mem, count))),
            ..self
        }
    }

    /// Returns the limits for work on `files`. If any is in a bucket, the default storage is [`Storage::BUCKET`].
    pub(crate) fn among<'a>(self, files: impl IntoIterator<Item = &'a Path>) -> Resources {
        let in_bucket = || files.into_iter().any(is_url);
        let bucket = || in_bucket().then_some(StorageChoice::Kind(Storage::BUCKET));
        Resources { storage: self.storage.or_else(bucket), ..self }
    }
}

/// The kind of storage of the files.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum StorageChoice {
    /// A known kind.
    Kind(Storage),
    /// Measure the storage again, and forget earlier measurements.
    Measure,
}

/// A value with its text. A stored request contains the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    text: String,
    /// The parsed value.
    pub value: T,
}

impl<T: Clone> Written<T> {
    pub(crate) fn value_of(written: &Option<Written<T>>) -> Option<T> {
        written.as_ref().map(|written| written.value.clone())
    }
}

/// A value that is parsed from text.
pub trait FromText: Sized {
    /// Parses a text.
    ///
    /// # Errors
    /// Returns a message with the reason if the text is not such a value.
    fn from_text(text: &str) -> Result<Self, String>;
}

impl<T: FromText> FromStr for Written<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Written<T>, String> {
        Ok(Written { value: T::from_text(text)?, text: text.to_owned() })
    }
}

impl<T> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, T: FromText> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written<T>, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The bit orders and their names.
pub const BIT_ORDERS: [(&str, BitOrder); 3] = [
    ("low-first", BitOrder::LowFirst),
    ("high-first", BitOrder::HighFirst),
    ("split", BitOrder::Split),
];

macro_rules! from_text {
    ($($value:ty: $read:expr;)+) => {$(
        impl FromText for $value {
            fn from_text(text: &str) -> Result<$value, String> {
                $read(text)
            }
        }
    )+};
}

from_text! {
    &'static Format: |text| Format::named(text).ok_or_else(|| "unknown format".to_owned());
    StoredDType: StoredDType::named;
    ChunkSizes: str::parse;
    Codecs: str::parse;
    BitOrder: bit_order;
    Addition: addition;
}

impl Axis {
    fn of(text: &str) -> Axis {
        text.parse().map_or_else(|_| Axis::Name(text.to_owned()), Axis::Number)
    }
}

/// Parses `time`, the axis to append along, or the ranges `time=100:200,lat=0:50`.
fn addition(text: &str) -> Result<Addition, String> {
    if !text.contains('=') {
        return Ok(Addition::Append(Axis::of(text)));
    }
    let region = text.split(',').map(|entry| {
        let wrong = || format!("\"{}\" is not a range such as time=100:200", Shown(entry));
        let (axis, range) = entry.split_once('=').ok_or_else(wrong)?;
        let (begin, end) = range.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str, none| match text {
            "" => Ok(none),
            _ => text.parse().map(Some).map_err(|_| wrong()),
        };
        let (begin, end) = (number(begin, Some(0))?.unwrap_or_default(), number(end, None)?);
        if axis.is_empty() || end.is_some_and(|end| end < begin) {
            return Err(wrong());
        }
        Ok((Axis::of(axis), begin, end))
    });
    region.collect::<Result<_, _>>().map(Addition::Region)
}

fn bit_order(text: &str) -> Result<BitOrder, String> {
    let known = BIT_ORDERS.into_iter().find(|(name, _)| *name == text);
    known.map(|(_, order)| order).ok_or_else(|| "unknown bit order".to_owned())
}
