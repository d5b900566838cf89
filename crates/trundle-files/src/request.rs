//! What a front end asks for, as plain data. A plan of tasks stores a request as JSON.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use trundle::BitOrder;
use trundle::notation::Given;
use trundle_disk::{ChunkSizes, Storage};
use trundle_formats::{Codecs, Format, StoredDType, is_url};

use crate::memory;
use crate::numbers::{Bytes, Sizes};

/// Work on files, where its result goes, and what it may use.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Request {
    /// The files: several for a join, where one may be there several times, else one. `-` is stdin.
    pub inputs: Vec<PathBuf>,
    /// What the files do not say themselves.
    pub described: Description,
    /// Which tensor of several, or a pattern for their names; all without it.
    pub tensor: Option<String>,
    /// What is done.
    pub work: Work,
    /// Where the result goes.
    pub output: Destination,
    /// What the work may use.
    pub resources: Resources,
}

impl Request {
    /// A request for some work on all tensors of files that describe themselves, without an output and without limits.
    pub fn new(inputs: Vec<PathBuf>, work: Work) -> Request {
        let (output, resources) = (Destination::default(), Resources::default());
        Request { inputs, described: Description::default(), tensor: None, work, output, resources }
    }
}

/// What is done with files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Work {
    /// Operators are applied to the tensors of a file.
    Chain {
        /// What is done to its tensors.
        operators: Operators,
        /// Leaves out the tensors that the request does not name, instead of copying them.
        only: bool,
        /// Moves the elements even where a header that says column-major is enough.
        row_major: bool,
    },
    /// The tensors of several files become one.
    Join {
        /// The axis along which the tensors follow each other.
        along: Along,
        /// Attributes that may differ: the values of the first file are written.
        ignored_attributes: Vec<String>,
    },
    /// The tensors of a file are cut into several files.
    Split {
        /// The axis along which the tensors are cut.
        axis: Axis,
        /// How long the parts are.
        parts: Parts,
    },
    /// The tensors of a file get another order of axes.
    Relayout {
        /// Rules: `conv*.weight: o i h w -> o h w i`.
        rules: Vec<String>,
        /// Files with a rule on each line.
        rule_files: Vec<PathBuf>,
    },
}

impl Work {
    /// Operators for the tensors of a file.
    pub fn chain(operators: Operators) -> Work {
        Work::Chain { operators, only: false, row_major: false }
    }
}

/// The operators of a chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Operators {
    /// None: the file is only written in another format or order.
    Convert,
    /// A chain in its language.
    Chain(String),
    /// One operator.
    Call {
        /// Its name, as the chain language has it.
        operator: String,
        /// An argument for each of its parameters; an empty list for lengths or indices.
        arguments: Vec<Argument>,
        /// Its lengths or indices: a list, or the name of a file.
        numbers: String,
    },
}

/// The argument of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// Integers, or axes by their numbers.
    Integers(Vec<i64>),
    /// Axes by their names.
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

/// The axis along which tensors follow each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Along {
    /// One that they have.
    Axis(Axis),
    /// A new one, and its name if it has one.
    New(i64, Option<String>),
}

/// An axis of a tensor.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Axis {
    /// By its number; a negative one counts from the end.
    Number(i64),
    /// By its name.
    Name(String),
}

/// How long the parts of an axis are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Parts {
    /// So many, of which the first are longer by one if the axis is not a multiple of that.
    Count(usize),
    /// These sizes.
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

/// What a file does not say itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// Its format, whatever its name ends with.
    pub format: Option<Written<&'static Format>>,
    /// The type of its elements.
    pub dtype: Option<Written<StoredDType>>,
    /// The sizes of its axes.
    pub shape: Option<Sizes>,
    /// Where raw data begins.
    pub offset: Option<Bytes>,
    /// How elements of less than a byte are packed.
    pub bit_order: Option<Written<BitOrder>>,
}

/// Where a result goes, and how it is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Destination {
    /// The file, `-` for stdout, or a path with a place for numbers if there are several. A plan needs none.
    pub path: Option<PathBuf>,
    /// Its format, whatever its name ends with.
    pub format: Option<Written<&'static Format>>,
    /// The sizes of chunks; those of the source without them.
    pub chunks: Option<Written<ChunkSizes>>,
    /// The sizes of shards.
    pub shards: Option<Written<ChunkSizes>>,
    /// How chunks are compressed; as in the source without it.
    pub codecs: Option<Written<Codecs>>,
    /// Copies chunks as they are encoded, and refuses what cannot be moved so.
    pub metadata_only: bool,
    /// Replaces an output that exists.
    pub overwrite: bool,
    /// Reads the output back and compares it with the input.
    pub verify: bool,
    /// Continues what an interrupted run left.
    pub resume: bool,
}

/// What work may use.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resources {
    /// How many threads; as many as the machine has without it.
    pub threads: Option<usize>,
    /// How much memory; a quarter of the free memory without it.
    pub max_mem: Option<Bytes>,
    /// What the files are on; found out without it.
    pub storage: Option<StorageChoice>,
    /// How many tasks at once share the threads and the memory. A plan of tasks stores the share.
    pub sharing: Option<NonZeroUsize>,
}

impl Resources {
    /// Limits, each of which may be missing.
    pub fn new(
        threads: Option<usize>,
        max_mem: Option<Bytes>,
        storage: Option<StorageChoice>,
    ) -> Resources {
        Resources { threads, max_mem, storage, sharing: None }
    }

    /// The share of one of the tasks that run at once.
    pub(crate) fn share(self) -> Resources {
        let Some(count) = self.sharing.map(NonZeroUsize::get) else { return self };
        let threads = self.threads.unwrap_or_else(|| trundle::Machine::detect().threads);
        Resources {
            threads: Some(threads.div_ceil(count)),
            max_mem: Some(Bytes(memory::share(self.max_mem, count))),
            ..self
        }
    }

    /// The resources of work on these files: if one of them is in a bucket, all are taken to be.
    pub(crate) fn among<'a>(self, files: impl IntoIterator<Item = &'a Path>) -> Resources {
        let in_bucket = || files.into_iter().any(is_url);
        let bucket = || in_bucket().then_some(StorageChoice::Kind(Storage::BUCKET));
        Resources { storage: self.storage.or_else(bucket), ..self }
    }
}

/// What files are on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum StorageChoice {
    /// This kind.
    Kind(Storage),
    /// It is measured, and what earlier measurements found is forgotten.
    Measure,
}

/// A value with the text that it was read from. The text is what a stored request holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    text: String,
    /// What the text means.
    pub value: T,
}

impl<T: Clone> Written<T> {
    /// The value, if there is one.
    pub(crate) fn value_of(written: &Option<Written<T>>) -> Option<T> {
        written.as_ref().map(|written| written.value.clone())
    }
}

/// Values that are read from texts.
pub trait FromText: Sized {
    /// Reads a text.
    ///
    /// # Errors
    /// Why it is not one of these values.
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
}

fn bit_order(text: &str) -> Result<BitOrder, String> {
    let known = BIT_ORDERS.into_iter().find(|(name, _)| *name == text);
    known.map(|(_, order)| order).ok_or_else(|| "unknown bit order".to_owned())
}
