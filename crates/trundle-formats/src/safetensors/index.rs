//! The index of a sharded checkpoint: a JSON file that names the .safetensors file of each tensor.
//!
//! An index is read as one file with the tensors that it lists, shard by shard in the order of the shards' names. A
//! warning names other tensors of a shard. Shards must be in the folder of the index or below it. The metadata of the index
//! and of its shards is merged, without the totals, which follow from the tensors.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::header::Pairs;
use super::{FORMAT, MAX_HEADER_BYTES, open_with};
use crate::concatenated::Concatenated;
use crate::contents::{Contents, Listing};
use crate::error::listed;
use crate::header::checked_offset;
use crate::names::check_unique;
use crate::source::Source;
use crate::tensor_hint::TensorHint;
use crate::uncompressed::{TrailingBytes, Uncompressed};
use crate::{AXES_KEY, Format, Header, Problem};

pub(crate) const INDEX: Format = Format {
    name: "safetensors-index",
    endings: &["safetensors.index.json"],
    begins,
    open,
    skeleton: None,
    ..FORMAT
};

/// The metadata of an index that follows from its tensors.
const TOTALS: [&str; 2] = ["total_size", "total_parameters"];

/// `EMFILE` on Linux, macOS and BSD.
const TOO_MANY_FILES: i32 = 24;

/// The number of files that are enough besides the shards.
const OTHER_FILES: usize = 64;

#[derive(Deserialize)]
struct Index {
    metadata: Option<Map<String, Value>>,
    /// The name of each tensor, and the name of its shard.
    weight_map: Pairs,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// Returns whether a file begins like an index with short metadata.
fn begins(first: &[u8]) -> bool {
    const KEY: &[u8] = b"\"weight_map\"";
    first.starts_with(b"{") && first.windows(KEY.len()).any(|part| part == KEY)
}

fn open(mut source: Source, hint: &TensorHint) -> Result<Box<dyn Contents>, Problem> {
    let Index { metadata, weight_map: Pairs(pairs), unknown } = Index::read(&mut source)?;
    let mut shards: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    for (tensor, shard) in &pairs {
        shards.entry(shard).or_default().insert(tensor);
    }
    let mut metadata = metadata.unwrap_or_default();
    metadata.retain(|key, _| !TOTALS.contains(&&key[..]));
    let unread = unknown.into_iter().map(|(key, _)| key).collect();
    let mut merged = Merged { metadata, unread, ..Merged::default() };
    let number = shards.len();
    for (name, listed) in shards {
        let shard = source.open_beside(name).map_err(|problem| with_limit(problem, number))?;
        merged.push(name, &listed, shard).map_err(|problem| Problem::beside(name, problem))?;
    }
    if !merged.unlisted.is_empty() {
        let tensors = listed(&merged.unlisted);
        merged.unread.push(format!("tensors that the index does not list ({tensors})"));
    }
    let pair = |(key, value)| match value {
        Value::String(text) => (key, text),
        other => (key, other.to_string()),
    };
    let listing = Listing {
        headers: hint.apply_to_any(merged.headers)?,
        metadata: merged.metadata.into_iter().map(pair).collect(),
        unread: merged.unread,
        ..Listing::default()
    };
    let source = source.with_files(merged.names.into_keys().collect(), merged.data);
    Ok(Uncompressed::new(listing, 0, source, TrailingBytes::Ignored)?)
}

/// Adds the number of shards to the error that too many files are open.
fn with_limit(problem: Problem, shards: usize) -> Problem {
    match problem {
        Problem::Beside { file, problem } => Problem::beside(file, with_limit(*problem, shards)),
        Problem::Io { source, doing }
            if cfg!(unix) && source.raw_os_error() == Some(TOO_MANY_FILES) =>
        {
            let source = io::Error::other(format!(
                "{source}: all {shards} shards are open at once, so raise the limit with ulimit -n {}",
                (shards + OTHER_FILES).next_power_of_two()
            ));
            Problem::Io { source, doing }
        }
        other => other,
    }
}

impl Index {
    fn read(source: &mut Source) -> Result<Index, Problem> {
        let mut text = Vec::new();
        let most = MAX_HEADER_BYTES as u64;
        Read::take(source, most + 1).read_to_end(&mut text).map_err(Problem::reading)?;
        if text.len() as u64 > most {
            return Err(Problem::Unsupported(format!("the index has over {most} bytes")));
        }
        let index: Index = serde_json::from_slice(&text)
            .map_err(|error| Problem::Malformed(format!("malformed index: {error}")))?;
        check_unique(index.weight_map.0.iter().map(|(name, _)| &name[..]))
            .map_err(|name| Problem::Malformed(format!("the index lists \"{name}\" twice")))?;
        Ok(index)
    }
}

/// The listed tensors of several shards.
#[derive(Default)]
struct Merged {
    headers: Vec<Header>,
    metadata: Map<String, Value>,
    unread: Vec<String>,
    /// The tensors that the index does not list.
    unlisted: Vec<String>,
    data: Concatenated,
    /// The name of each shard by its path.
    names: BTreeMap<PathBuf, String>,
}

impl Merged {
    /// Adds the shard called `name`. The index lists the tensors `listed` for it.
    fn push(&mut self, name: &str, listed: &HashSet<&str>, shard: Source) -> Result<(), Problem> {
        let format = Format::of_ending(Path::new(name)).map(Format::name);
        if format != Some(FORMAT.name) {
            return Err(Problem::unsupported("is not a .safetensors file"));
        }
        for path in shard.files() {
            if let Some(other) = self.names.insert(path.clone(), name.to_owned()) {
                return Err(Problem::Malformed(format!("is the same file as \"{other}\"")));
            }
        }
        let (Listing { mut headers, metadata, .. }, file) =
            open_with(shard, &TensorHint::default())?.into_parts();
        for other in headers.extract_if(.., |header| !listed.contains(&header.name[..])) {
            self.unlisted.push(format!("{} of {name}", other.name));
        }
        let found: HashSet<&str> = headers.iter().map(|header| &header.name[..]).collect();
        if let Some(missing) = listed.difference(&found).min() {
            return Err(Problem::Malformed(format!(
                "has no tensor \"{missing}\", which the index says is there"
            )));
        }
        let file = file.ok_or_else(|| Problem::unsupported("is not a file"))?;
        let begin = self.data.push(name, file).map_err(Problem::reading)?;
        for header in headers {
            let offset = header.data_offset.unwrap_or_default();
            let data_offset = Some(checked_offset(&header.name, begin, offset)?);
            self.headers.push(Header { data_offset, ..header });
        }
        for (key, text) in metadata {
            match key == AXES_KEY {
                true => self.push_axes(name, listed, &text),
                false => self.push_metadata(name, key, text),
            }
        }
        Ok(())
    }

    /// Adds metadata of a shard. If the shards disagree, the first value is kept.
    fn push_metadata(&mut self, shard: &str, key: String, text: String) {
        let unread = format!("{key} of {shard}");
        match self.metadata.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Value::String(text));
            }
            Entry::Occupied(entry) if *entry.get() == Value::String(text) => {}
            Entry::Occupied(_) => self.unread.push(unread),
        }
    }

    /// Adds the record of axes of a shard to the common record.
    fn push_axes(&mut self, shard: &str, listed: &HashSet<&str>, text: &str) {
        let record = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
        let known = match self.metadata.get(AXES_KEY) {
            Some(known) => known.as_str().and_then(record),
            None => Some(Map::new()),
        };
        let (Some(mut known), Some(own)) = (known, record(text)) else {
            return self.push_metadata(shard, AXES_KEY.to_owned(), text.to_owned());
        };
        known.extend(own.into_iter().filter(|(tensor, _)| listed.contains(&tensor[..])));
        let text = Value::Object(known).to_string();
        self.metadata.insert(AXES_KEY.to_owned(), Value::String(text));
    }
}
