//! How far a run is, and what stays of its files if it ends early.

use std::time::{Duration, Instant};

use trundle_formats::Output;

use crate::error::Error;
use crate::recovery::journal::{Journal, Progress};
use crate::store::Store;

/// How often it is noted how far the run is. In the tests of this crate, whenever there is something
/// to note.
const NOTE_EVERY: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 500 });

/// How far a run is, and whether its files are kept if it ends early.
pub(crate) struct Checkpoint<'a> {
    /// `None` of a stream.
    output: Option<&'a mut Output>,
    store: &'a dyn Store,
    /// `None` if no later run can go on with this one.
    journal: Option<Journal>,
    progress: Progress,
    /// When it was last noted how far the run is, and how far it was.
    noted: (Instant, Progress),
    is_kept: bool,
}

impl<'a> Checkpoint<'a> {
    /// Of a run that begins at `progress`.
    pub(crate) fn new(
        output: Option<&'a mut Output>,
        store: &'a dyn Store,
        journal: Option<Journal>,
        progress: Progress,
    ) -> Checkpoint<'a> {
        let noted = (Instant::now(), progress);
        Checkpoint { output, store, journal, progress, noted, is_kept: false }
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// The run is so far now, unless an earlier run was further: what is done once more counts as
    /// done.
    pub(crate) fn reached(&mut self, progress: Progress) {
        self.progress = self.progress.max(progress);
    }

    /// Whether there is something to note, and it is time or has to be `now`.
    pub(crate) fn is_due(&self, now: bool) -> bool {
        let (noted, before) = self.noted;
        let is_time = now || noted.elapsed() >= NOTE_EVERY;
        self.journal.is_some() && is_time && self.progress != before
    }

    /// Notes how far the run is. All that it counts has to be on the disk.
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

    /// Whether the output and all that the store has stay if the run ends early.
    pub(crate) fn keep(&mut self, kept: bool) {
        self.is_kept = kept;
        if let Some(output) = &mut self.output {
            output.keep(kept);
        }
        self.store.keep(kept);
    }
}
