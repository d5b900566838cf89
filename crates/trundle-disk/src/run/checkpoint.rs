//! Tracks the progress of a run, and decides which files remain if it ends early.

use std::time::{Duration, Instant};

use trundle_formats::Output;

use crate::blob_store::BlobStore;
use crate::error::Error;
use crate::recovery::journal::{Journal, Progress};

/// The shortest interval between two lines of the journal; 0 in unit tests.
const NOTE_EVERY: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 500 });

pub(crate) struct Checkpoint<'a> {
    /// `None` for a stream.
    output: Option<&'a mut Output>,
    store: &'a dyn BlobStore,
    /// `None` if the run cannot be resumed.
    journal: Option<Journal>,
    progress: Progress,
    /// The time and the progress of the last line of the journal.
    noted: (Instant, Progress),
    is_kept: bool,
}

impl<'a> Checkpoint<'a> {
    pub(crate) fn none(store: &'a dyn BlobStore) -> Checkpoint<'a> {
        Checkpoint::new(None, store, None, Progress::default())
    }

    pub(crate) fn new(
        output: Option<&'a mut Output>,
        store: &'a dyn BlobStore,
        journal: Option<Journal>,
        progress: Progress,
    ) -> Checkpoint<'a> {
        let noted = (Instant::now(), progress);
        Checkpoint { output, store, journal, progress, noted, is_kept: false }
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// Advances the progress. Work that is repeated after a resume does not lower it.
    pub(crate) fn reached(&mut self, progress: Progress) {
        self.progress = self.progress.max(progress);
    }

    /// Returns whether there is progress to note, and either `now` is true or the interval has passed.
    pub(crate) fn is_due(&self, now: bool) -> bool {
        let (noted, before) = self.noted;
        let is_time = now || noted.elapsed() >= NOTE_EVERY;
        self.journal.is_some() && is_time && self.progress != before
    }

    /// Writes the progress to the journal. Its data must already be on the disk.
    pub(crate) fn note(&mut self) -> Result<(), Error> {
        if let Some(journal) = &self.journal {
            journal.note(self.progress)?;
        }
        self.noted = (Instant::now(), self.progress);
        Ok(())
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Sets whether the output and the files of the store remain if the run ends early.
    pub(crate) fn keep(&mut self, kept: bool) {
        self.is_kept = kept;
        if let Some(output) = &mut self.output {
            output.keep(kept);
        }
        self.store.keep(kept);
    }
}
