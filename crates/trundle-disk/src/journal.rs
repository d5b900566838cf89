//! What a run has done so far, for a later one that goes on with it.
//!
//! A journal is a file of lines beside the output. The first says what is being done and to what;
//! each of the others how far it is. A line counts if it is whole: it is written after all that it
//! speaks of is on the disk.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use trundle_formats::{Begin, TemporaryName, Unfinished};

use crate::Device;
use crate::error::{Error, Problem};

/// What the names of journals end with.
pub(crate) const ENDING: &str = "journal";

/// A journal has few lines of moderate length; what is larger is none.
const MOST_BYTES: u64 = 1 << 30;

/// What is being done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The version of this program, since others may cut tiles otherwise.
    pub(crate) version: String,
    /// All that the plan follows from, as a text.
    pub(crate) plan: String,
    pub(crate) source: Identity,
    /// What the tiles were chosen by.
    pub(crate) room: usize,
    pub(crate) device: Device,
    /// Whether sums are kept.
    pub(crate) verify: bool,
}

/// By what a source is known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: u128,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Stages that are done.
    pub(crate) stages: usize,
    /// Batches of the next one that are done.
    pub(crate) batches: usize,
    /// The sums of its tensors so far.
    pub(crate) sums: Vec<u64>,
}

impl Identity {
    /// That of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Identity> {
        let metadata = file.metadata()?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Identity { bytes: metadata.len(), modified: modified.as_nanos() })
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Unfinished,
}

impl Journal {
    /// Begins one, or goes on with the one that is there.
    pub(crate) fn begin(
        folder: &Path,
        tag: &str,
        opening: &Opening,
        begin: Begin,
    ) -> Result<Journal, Error> {
        let file = Unfinished::tagged(folder, tag, ENDING, begin, None)
            .map_err(|problem| Error::file(folder, problem))?;
        let mut journal = Journal { file };
        if begin == Begin::Anew {
            journal.append(opening).map_err(writing)?;
        } else {
            let end = last_line_end(journal.file.file()).map_err(writing)?;
            journal.file.file().set_len(end).map_err(writing)?;
        }
        Ok(journal)
    }

    /// Notes how far it is, on the disk.
    pub(crate) fn note(&mut self, progress: &Progress) -> Result<(), Error> {
        Ok(self.append(progress).map_err(writing)?)
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        use std::io::Seek;

        let mut line = serde_json::to_vec(line).map_err(io::Error::other)?;
        line.push(b'\n');
        let mut file = self.file.file();
        file.seek(io::SeekFrom::End(0))?;
        file.write_all(&line)?;
        file.sync_data()
    }

    /// [`Unfinished::keep`].
    pub(crate) fn keep(&mut self, kept: bool) {
        self.file.keep(kept);
    }
}

fn writing(source: io::Error) -> Problem {
    Problem::Io { doing: "write the journal", source }
}

/// What a journal says.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) tag: String,
    pub(crate) opening: Opening,
    pub(crate) progress: Progress,
}

/// The journals in `folder` of runs to the output that `output_tag` stands for, with those that
/// cannot be read.
pub(crate) fn find(folder: &Path, output_tag: &str) -> Vec<(PathBuf, Option<Found>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = TemporaryName::parse(&entry.file_name())?;
            let is_of_output = name.output == output_tag && name.ending == ENDING;
            is_of_output.then(|| (entry.path(), read(&entry.path(), name.tag())))
        })
        .collect()
}

fn read(path: &Path, tag: String) -> Option<Found> {
    let file = File::open(path).ok()?;
    let mut lines = BufReader::new(file.take(MOST_BYTES)).split(b'\n');
    let opening = serde_json::from_slice(&lines.next()?.ok()?).ok()?;
    let mut progress = Progress::default();
    // A last line that is not whole does not count.
    while let Some(Ok(line)) = lines.next() {
        match serde_json::from_slice(&line) {
            Ok(further) => progress = further,
            Err(_) => break,
        }
    }
    Some(Found { tag, opening, progress })
}

/// Where the last whole line ends.
fn last_line_end(mut file: &File) -> io::Result<u64> {
    use std::io::Seek;

    file.seek(io::SeekFrom::Start(0))?;
    let length = file.metadata()?.len();
    let (mut end, mut at) = (0, 0);
    for line in BufReader::new(file.take(MOST_BYTES)).split(b'\n') {
        let line = line?;
        at += line.len() as u64 + 1;
        if at <= length && serde_json::from_slice::<serde_json::Value>(&line).is_ok() {
            end = at;
        }
    }
    Ok(end)
}
