//! The journal of a run, which a later run reads to resume the work.
//!
//! A journal is a text file next to the output. The first line identifies the job and its sources; every other line
//! states the progress. Only complete lines count: a line is written after everything that it states is on the disk.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trundle_formats::{Begin, Blob, BlobIdentity, Sequential, TemporaryName};

use crate::blob_store::BlobStore;
use crate::error::{Error, Problem};
use crate::plan::job::Job;
use crate::plan::storage::Rates;
use crate::recovery::identity::{Hex, JobIdentity};

pub(crate) const ENDING: &str = "journal";

/// The largest journal that is read, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The first line of a journal. Its field names must stay compatible with earlier journals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The version of trundle. Other versions may plan the same job differently.
    pub(crate) version: String,
    #[serde(rename = "asked")]
    pub(crate) job: JobIdentity,
    pub(crate) sources: Vec<SourceIdentity>,
    /// The resources for which the tiles were chosen.
    #[serde(rename = "room")]
    pub(crate) budget: usize,
    pub(crate) rates: Rates,
    pub(crate) tiles: Hex,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceIdentity {
    pub(crate) bytes: u64,
    /// The time of the last modification, in nanoseconds since 1970.
    pub(crate) modified: u128,
    samples: Hex,
}

/// The progress of a run: the number of completed groups, and of completed batches in the next group. Later progress is
/// greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Progress {
    #[serde(rename = "stages")]
    pub(crate) groups: usize,
    pub(crate) batches: usize,
}

impl Opening {
    pub(crate) fn of(job: &Job, identity: JobIdentity, sources: Vec<SourceIdentity>) -> Opening {
        Opening {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            job: identity,
            sources,
            budget: job.budget,
            rates: job.rates,
            tiles: job.tiles(),
        }
    }
}

impl SourceIdentity {
    /// Identifies a source; `None` if another process could not open it again.
    pub(crate) fn of(blob: &dyn Blob) -> io::Result<Option<SourceIdentity>> {
        let identity = blob.identity()?;
        Ok(identity.map(|BlobIdentity { bytes, modified, samples }| SourceIdentity {
            bytes,
            modified,
            samples: Hex::of(&samples),
        }))
    }
}

#[derive(Debug)]
pub(crate) struct Journal {
    blob: Box<dyn Blob>,
}

impl Journal {
    pub(crate) fn begin(
        store: &dyn BlobStore,
        folder: &Path,
        opening: &Opening,
        begin: Begin,
    ) -> Result<Journal, Error> {
        let blob = store.open(ENDING, begin).map_err(|problem| Error::file(folder, problem))?;
        let journal = Journal { blob };
        if begin == Begin::Anew {
            journal.append(opening).map_err(writing)?;
        } else {
            let text = Sequential::new(&*journal.blob).take(MOST_BYTES);
            let end = read_lines(BufReader::new(text)).map_err(writing)?.end;
            journal.blob.resize(end).map_err(writing)?;
        }
        Ok(journal)
    }

    pub(crate) fn note(&self, progress: Progress) -> Result<(), Error> {
        Ok(self.append(&progress).map_err(writing)?)
    }

    fn append(&self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(line).map_err(io::Error::other)?;
        line.push(b'\n');
        self.blob.write_all_at(&line, self.blob.bytes()?)?;
        self.blob.sync()
    }
}

fn writing(source: io::Error) -> Problem {
    Problem::Io { doing: "write the journal", source }
}

#[derive(Debug)]
pub(crate) struct JournalContents {
    pub(crate) tag: String,
    pub(crate) opening: Opening,
    pub(crate) progress: Progress,
}

/// Returns the journals of runs to the output with this tag, and their contents; `None` for one that cannot be read.
///
/// Empty journals are omitted: their runs were killed after they had created the file, and before they wrote anything
/// to the output.
pub(crate) fn find(folder: &Path, output_tag: &str) -> Vec<(PathBuf, Option<JournalContents>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = TemporaryName::parse(&entry.file_name())?;
            let is_of_output = name.output == output_tag && name.ending == ENDING;
            let is_empty = entry.metadata().is_ok_and(|found| found.len() == 0);
            (is_of_output && !is_empty).then(|| (entry.path(), read(&entry.path(), name.tag())))
        })
        .collect()
}

fn read(path: &Path, tag: String) -> Option<JournalContents> {
    let text = BufReader::new(File::open(path).ok()?.take(MOST_BYTES));
    let Lines { opening, progress, .. } = read_lines(text).ok()?;
    Some(JournalContents { tag, opening: opening?, progress })
}

/// The complete and valid lines of a journal, up to the first invalid or incomplete line.
struct Lines {
    opening: Option<Opening>,
    progress: Progress,
    /// The end of the last valid line, as an offset in bytes.
    end: u64,
}

fn read_lines(mut text: impl BufRead) -> io::Result<Lines> {
    let mut lines = Lines { opening: None, progress: Progress::default(), end: 0 };
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = text.read_until(b'\n', &mut line)?;
        let Some(own) = line.strip_suffix(b"\n") else { return Ok(lines) };
        match lines.opening {
            None => match serde_json::from_slice(own) {
                Ok(opening) => lines.opening = Some(opening),
                Err(_) => return Ok(lines),
            },
            Some(_) => match serde_json::from_slice(own) {
                Ok(progress) => lines.progress = progress,
                Err(_) => return Ok(lines),
            },
        }
        lines.end += bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    const OPENING: &str = concat!(
        r#"{"version":"0.1.0","asked":{"tensors":"00","movements":"11","output":"22"},"#,
        r#""sources":[{"bytes":1200,"modified":1795000000123456789,"samples":"33"}],"room":100000,"#,
        r#""rates":{"storage":{"bytes_per_second":1.5e9,"request_seconds":0.0001,"in_flight":8},"#,
        r#""coders":2},"tiles":"44"}"#,
    );

    fn reached(groups: usize, batches: usize) -> Progress {
        Progress { groups, batches }
    }

    /// Returns a journal, and for each of its lines the end in bytes and the progress.
    fn journal() -> (Vec<u8>, Vec<(usize, Progress)>) {
        let mut text = format!("{OPENING}\n").into_bytes();
        let mut ends = vec![(text.len(), Progress::default())];
        for progress in [reached(0, 9), reached(0, 10), reached(1, 0), reached(1, 123)] {
            serde_json::to_writer(&mut text, &progress).unwrap();
            text.push(b'\n');
            ends.push((text.len(), progress));
        }
        (text, ends)
    }

    /// Returns the progress after a resumed run has added a line to a journal that was cut at `end`.
    fn progress_after_append(text: &[u8], end: u64) -> Progress {
        let mut text = text[..end as usize].to_vec();
        serde_json::to_writer(&mut text, &reached(7, 7)).unwrap();
        text.push(b'\n');
        read_lines(&text[..]).unwrap().progress
    }

    #[test]
    fn a_truncated_journal_counts_its_complete_lines() {
        let (text, ends) = journal();
        for length in 0..=text.len() {
            let found = read_lines(&text[..length]).unwrap();
            let last = ends.iter().rfind(|(end, _)| *end <= length);
            assert_eq!(found.opening.is_some(), last.is_some(), "{length} bytes");
            let (end, progress) = last.copied().unwrap_or_default();
            assert_eq!((found.end, found.progress), (end as u64, progress), "{length} bytes");
            if found.opening.is_some() {
                assert_eq!(
                    progress_after_append(&text, found.end),
                    reached(7, 7),
                    "{length} bytes"
                );
            }
        }
    }

    #[test]
    fn a_journal_that_lost_a_byte_never_claims_more_progress() {
        let (text, ends) = journal();
        for at in 0..text.len() {
            let mut less = text.clone();
            less.remove(at);
            let found = read_lines(&less[..]).unwrap();
            if found.opening.is_none() {
                assert!(at < ends[0].0, "byte {at}");
                continue;
            }
            assert!(found.progress <= reached(1, 123), "byte {at}: {:?}", found.progress);
            let before = ends.iter().rfind(|(end, _)| *end <= at).map(|(_, progress)| *progress);
            assert!(found.progress >= before.unwrap_or_default() || at > ends[3].0, "byte {at}");
            assert_eq!(progress_after_append(&less, found.end), reached(7, 7), "byte {at}");
        }
    }

    #[test]
    fn a_storage_is_read_back_unchanged() {
        for n in 1..1000 {
            let storage = Storage {
                bytes_per_second: 1e9 / f64::from(n),
                request_seconds: f64::from(n).sqrt() * 1e-5,
                in_flight: 8,
            };
            let text = serde_json::to_string(&storage).unwrap();
            assert_eq!(serde_json::from_str::<Storage>(&text).unwrap(), storage, "{text}");
        }
    }
}
