//! Runs jobs: reads the sources, moves their elements and writes the output.

mod batches;
mod checkpoint;
mod checksums;
mod comparison;
mod context;
mod counterpart;
mod encoded;
mod executor;
#[cfg(test)]
pub(crate) mod faulty_store;
mod numbered;
mod origin;
mod prepared_task;
mod read_back;
mod sample;
mod transfer;
mod verify;

use std::io;
use std::path::Path;

use trundle_formats::{Begin, Blob, Output, Sequential, begin_finishing};

use crate::blob_store::{BlobStore, RunFiles};
use crate::error::{Error, Problem, temporary, writing};
use crate::plan::job::Job;
use crate::recovery::identity::JobIdentity;
use crate::recovery::journal::{Journal, Opening, Progress, SourceIdentity};
use crate::recovery::{
    check_alone, check_files, forget, is_check, is_unfinished, remove_intermediates, tag,
};
use crate::run::checkpoint::Checkpoint;
use crate::run::comparison::check_temporary;
use crate::run::context::Context;
use crate::run::executor::{Executor, LARGE_BYTES};

pub use comparison::{Difference, compare};
pub use context::{Observer, Outcome, RunOptions, Source};
pub use encoded::are_undecoded_alike;
pub use numbered::{NumberedJob, TaskOptions, TaskPlan};
pub use sample::{Sample, Steps};

/// The least size in bytes of an output whose run can be resumed; 1 in unit tests.
const RESUMABLE_BYTES: u64 = if cfg!(test) { 1 } else { LARGE_BYTES / 4 };

impl Job {
    /// Moves the tensors of `sources` to a new file at `path`, or to stdout if `path` is `-`. The job must have been
    /// planned for these sources. The output gets its name only when it is complete.
    ///
    /// # Errors
    /// [`Error`] if a file cannot be read or written, the disk is full, a source changes during the run, verification
    /// fails, or another process writes the same output. After an error of reading or writing, the files for a resume
    /// remain. If a complete output cannot be renamed, it remains under another name, which is in the error.
    pub fn run(
        self,
        sources: &mut [Source<'_>],
        path: &Path,
        options: RunOptions,
        observer: &dyn Observer,
    ) -> Result<Outcome, Error> {
        let finished = self.prepare(sources, path, options, observer)?;
        Finished::finish(vec![finished], observer)
    }

    /// Like [`Job::run`], but without the last step: the output is complete, and gets its name when it is
    /// [finished](Finished::finish). Until then, another run can resume it if it is resumable.
    ///
    /// # Errors
    /// The errors of [`Job::run`].
    pub fn prepare(
        self,
        sources: &mut [Source<'_>],
        path: &Path,
        options: RunOptions,
        observer: &dyn Observer,
    ) -> Result<Finished, Error> {
        let Some(folder) = Output::folder(path) else {
            return self.run_to_stream(sources, path, options, observer);
        };
        let job = self.decoding(|tensor| options.verify && !tensor.verifies_encoded());
        job.prepare_in(&folder, sources, path, options, observer)
    }

    fn prepare_in(
        self,
        folder: &Path,
        sources: &mut [Source<'_>],
        path: &Path,
        options: RunOptions,
        observer: &dyn Observer,
    ) -> Result<Finished, Error> {
        let identity = sources_identity(sources)?;
        let output_tag = Output::tag(path);
        check_alone(folder, &output_tag, path, None)?;
        let job_identity = (options.resume || self.is_resumable()).then(|| JobIdentity::of(&self));
        let found = match job_identity.as_ref().filter(|_| options.resume) {
            Some(job_identity) => job_identity.found(folder, &output_tag, identity.as_deref())?,
            None => None,
        };
        let is_in_place = sources.iter().any(|source| source.is_replaced_by(path));
        if options.resume && found.is_none() && is_in_place {
            return Err(Error::of(path.display(), Problem::MaybeDone));
        }
        let found = found.filter(|(_, progress)| *progress != Progress::default());
        let (job, progress) = match &found {
            Some((opening, progress)) => {
                (self.with_resources(opening.budget, opening.rates)?, *progress)
            }
            None => (self, Progress::default()),
        };
        // Other runs to this output must not use the same files, even without file locks.
        let tag = match &job_identity {
            Some(job_identity) => tag(job_identity, &output_tag, job.budget),
            None => Output::new_tag(path),
        };
        let begin = if found.is_some() { Begin::Resumed } else { Begin::Anew };
        if let Some((opening, progress)) = &found {
            check_files(&job, folder, &tag, opening, *progress)?;
        } else {
            // The size in a stream's header is not trusted until the data was read.
            if identity.is_some() {
                check_space(folder, "", job.space())?;
            }
            forget(folder, &output_tag, is_unfinished);
        }
        let mut output = match &job.addition {
            Some(request) => Output::create_addition(job.format, path, &tag, request)?,
            None => Output::create_as(job.format, path, options.overwrite, &tag, begin)?,
        };
        check_alone(folder, &output_tag, path, Some(&tag))?;
        let target = output.blob(&job.skeleton)?;
        let journal = identity.clone().zip(job_identity).filter(|_| job.is_resumable());
        let journal =
            journal.map(|(sources, job_identity)| Opening::of(&job, job_identity, sources));
        let store = RunFiles::new(folder.to_owned(), tag.clone());
        let journal =
            journal.map(|opening| Journal::begin(&store, folder, &opening, begin)).transpose()?;
        let context = Context {
            job: &job,
            path,
            target: &*target,
            store: &store,
            folder: Some(folder),
            options,
            observer,
            moving: None,
        };
        let checkpoint = Checkpoint::new(Some(&mut output), &store, journal, progress);
        let mut executor = Executor::new(context, begin, checkpoint);
        let resumed = begin == Begin::Resumed;
        if resumed {
            executor.keep(true);
            observer.resumable(true);
        }
        let done = executor.run(sources).and_then(|()| {
            // A run that ends before this point can be resumed.
            target.sync().map_err(writing(path))?;
            check_unchanged(sources, identity.as_deref())
        });
        let is_of_use = |error: &Error| {
            !matches!(*error.problem, Problem::SourceChanged(_) | Problem::Different(_))
        };
        if done.as_ref().is_err_and(|error| !is_of_use(error)) {
            executor.keep(false);
            observer.resumable(false);
        }
        let move_seconds = executor.into_move_seconds();
        done?;
        // A run that was stopped right after its last pass has not removed its intermediates.
        if resumed {
            remove_intermediates(folder, &tag);
            forget(folder, &output_tag, is_check);
        }
        let outcome = Outcome { move_seconds, verified: options.verify, resumed };
        Ok(Finished { output, store, outcome, is_in_place })
    }

    /// Runs a job whose output is a stream, through an unnamed file.
    fn run_to_stream(
        self,
        sources: &mut [Source<'_>],
        path: &Path,
        options: RunOptions,
        observer: &dyn Observer,
    ) -> Result<Finished, Error> {
        if self.format.is_folder() {
            // Returns the error that a Zarr store cannot be a stream.
            Output::check_as(self.format, path, options.overwrite)?;
        }
        let mut output = Output::create(path, options.overwrite)?;
        if sources.iter().all(|source| source.file.blob().is_some()) {
            check_temporary(self.space())?;
        }
        let folder = std::env::temp_dir();
        let store = RunFiles::new(folder.clone(), String::new());
        let file = tempfile::tempfile_in(&folder).map_err(temporary(None))?;
        let whole = file.try_clone().map_err(temporary(None))?;
        let target = self.skeleton.blob(file, &folder);
        let target = &*target.map_err(|problem| Error::file(&folder, problem))?;
        let context = Context {
            job: &self,
            path,
            target,
            store: &store,
            folder: None,
            options,
            observer,
            moving: None,
        };
        let checkpoint = Checkpoint::none(&store);
        let mut executor = Executor::new(context, Begin::Anew, checkpoint);
        executor.run(sources)?;
        let move_seconds = executor.into_move_seconds();
        io::copy(&mut Sequential::new(&whole as &dyn Blob), &mut output).map_err(writing(path))?;
        let outcome = Outcome { move_seconds, verified: options.verify, ..Outcome::default() };
        Ok(Finished { output, store, outcome, is_in_place: false })
    }

    fn space(&self) -> u64 {
        // The size of encoded chunks is not known.
        self.skeleton.unchunked_bytes() + self.cost().temporary_bytes
    }

    /// Returns whether the output is large enough and not in chunks, and no input needs unpacking.
    fn is_resumable(&self) -> bool {
        let in_place = self.tensors_read().all(|tensor| tensor.header.data_offset.is_some());
        in_place && !self.skeleton.has_chunks() && self.skeleton.bytes() >= RESUMABLE_BYTES
    }
}

/// A job whose output is complete but does not have its final name yet.
#[derive(Debug)]
pub struct Finished {
    output: Output,
    /// The store of the journal, which remains until the output is renamed.
    store: RunFiles,
    outcome: Outcome,
    is_in_place: bool,
}

impl Finished {
    /// Renames each output to its final name, and returns one outcome for all jobs.
    ///
    /// A signal that arrives after the first step has no effect. A kill or a power failure can come between any two
    /// steps, and a later run with [`RunOptions::resume`] must never move data in place twice. So the order of the
    /// steps is:
    ///
    /// 1. All outputs are synced, so that no later step takes long. A kill leaves the journals and unchanged sources: a
    ///    later run resumes every output.
    /// 2. For each output, the journal is removed, then the output is renamed. Outputs that replace a source come last.
    ///    A kill before the first of them leaves all sources unchanged: a later run resumes the outputs that have a
    ///    journal, and makes the others again.
    /// 3. An output that replaces a source has no journal when it is renamed. If a kill comes between the removal of
    ///    its journal and the end of the process, a later run cannot know whether the source was moved, and
    ///    [refuses](Problem::MaybeDone). So an existing journal proves that its output was not renamed, and the source
    ///    can be read again. If a power failure undoes the removal, but not the renaming, the source does not match the
    ///    journal, and the later run refuses too.
    ///
    /// # Errors
    /// [`Error`] if an output cannot be renamed. It remains under another name, which is in the error.
    pub fn finish(mut all: Vec<Finished>, observer: &dyn Observer) -> Result<Outcome, Error> {
        all.iter_mut().try_for_each(|each| each.output.sync())?;
        begin_finishing().map_err(|source| {
            Error::from(Problem::Io { doing: "rename the finished files", source })
        })?;
        observer.resumable(false);
        all.sort_by_key(|each| each.is_in_place);
        let mut joint = Outcome { verified: true, ..Outcome::default() };
        for Finished { mut output, store, outcome, .. } in all {
            output.keep(false);
            store.keep(false);
            drop(store);
            output.finish()?;
            joint.move_seconds += outcome.move_seconds;
            joint.verified &= outcome.verified;
            joint.resumed |= outcome.resumed;
        }
        Ok(joint)
    }
}

/// Identifies the sources; `None` if another run could not open one of them again, for example a stream.
fn sources_identity(sources: &[Source<'_>]) -> Result<Option<Vec<SourceIdentity>>, Error> {
    let mut identities = Vec::with_capacity(sources.len());
    for source in sources {
        let Some(identity) = source.identity()? else { return Ok(None) };
        identities.push(identity);
    }
    Ok(Some(identities))
}

fn check_unchanged(sources: &[Source<'_>], before: Option<&[SourceIdentity]>) -> Result<(), Error> {
    for (source, before) in sources.iter().zip(before.unwrap_or_default()) {
        if source.identity()?.as_ref() != Some(before) {
            let changed = "its size or its modification time has changed";
            return Err(Error::of(source.path.display(), Problem::SourceChanged(changed)));
        }
    }
    Ok(())
}

/// Checks that the disk of `folder` has enough free space. Messages append `what` to the folder.
fn check_space(folder: &Path, what: &str, needed: u64) -> Result<(), Error> {
    match free_space(folder) {
        Some(available) if needed > available => {
            let folder = format!("{}{what}", folder.display());
            Err(Error::of(folder, Problem::Space { needed, available }))
        }
        _ => Ok(()),
    }
}

/// Returns the bytes that this user can still store on the disk of `folder`, if the system reports them.
#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(windows)]
fn free_space(folder: &Path) -> Option<u64> {
    fs4::available_space(folder).ok()
}

#[cfg(test)]
mod tests;
