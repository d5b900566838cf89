//! Finds the files that earlier runs left, and decides whether a run can be resumed.

pub(crate) mod identity;
pub(crate) mod journal;

use std::path::Path;

use trundle::Fingerprint;
use trundle_formats::{Leftover, LeftoverState, TemporaryFile, TemporaryName, leftovers};

use crate::error::{Error, Problem};
use crate::plan::job::Job;
use crate::plan::tasks::groups;
use crate::recovery::identity::JobIdentity;
use crate::recovery::journal::{Opening, Progress, SourceIdentity};

/// Returns the tag in the file names of a resumable run. It depends on the output's tag, the job, and the budget in
/// bytes.
pub(crate) fn tag(job: &JobIdentity, output_tag: &str, budget: usize) -> String {
    format!("{output_tag}-{:016x}", (job, budget).fingerprint() as u64)
}

impl JobIdentity {
    /// Returns the journal of an earlier run of the same job with the same sources. Without noted progress, the
    /// progress is the default.
    pub(crate) fn found(
        &self,
        folder: &Path,
        output_tag: &str,
        sources: Option<&[SourceIdentity]>,
    ) -> Result<Option<(Opening, Progress)>, Error> {
        let (mut other, mut begun) = (None, None);
        for (path, found) in journal::find(folder, output_tag) {
            let refused = |why: &str| Error::of(path.display(), Problem::Resume(why.to_owned()));
            let Some(found) = found else {
                other = Some(refused("the journal cannot be read"));
                continue;
            };
            let opening = found.opening;
            if let Some(difference) = opening.job.difference(self) {
                other = Some(refused(&format!("the unfinished job differs: {difference}")));
            } else if opening.version != env!("CARGO_PKG_VERSION") {
                let version = &opening.version;
                let why =
                    format!("it was started by trundle {version}, which may work differently");
                other = Some(refused(&why));
            } else if Some(&opening.sources[..]) != sources {
                other = Some(refused("a source has changed since"));
            } else if found.tag != tag(self, output_tag, opening.budget) {
                other = Some(refused("its name does not match its content"));
            } else if found.progress == Progress::default() {
                begun = Some((opening, found.progress));
            } else {
                return Ok(Some((opening, found.progress)));
            }
        }
        other.map_or(Ok(begun), Err)
    }
}

/// Checks that no run except the one with the tag `own` writes the output. Each run creates its files before it
/// checks, so at most one of two runs continues.
pub(crate) fn check_alone(
    folder: &Path,
    output_tag: &str,
    path: &Path,
    own: Option<&str>,
) -> Result<(), Error> {
    let is_run = |left: &Leftover| {
        left.state == LeftoverState::InUse && !is_check(left) && own != Some(&left.tag)
    };
    // If the folder cannot be listed, no other run can find the files of this run either.
    let left = leftovers(folder, Some(output_tag)).unwrap_or_default();
    if left.iter().any(is_run) {
        return Err(Error::file(path, trundle_formats::Problem::Busy));
    }
    Ok(())
}

/// Removes the files of earlier runs to the same output for which `meant` returns true, unless those runs are still
/// active.
pub(crate) fn forget(folder: &Path, output_tag: &str, meant: fn(&Leftover) -> bool) {
    let left = leftovers(folder, Some(output_tag)).unwrap_or_default();
    for left in left.iter().filter(|left| meant(left)) {
        // Files that cannot be removed do no harm.
        let _ = left.remove();
    }
}

/// Returns whether this is an unfinished run, and not one of planned tasks, which may continue another day, or one that
/// is moving chunks into a store.
pub(crate) fn is_unfinished(left: &Leftover) -> bool {
    left.state != LeftoverState::Finished && !left.is_planned() && !left.is_half_appended()
}

/// Returns whether this is a run that only checked whether its output can be written.
pub(crate) fn is_check(left: &Leftover) -> bool {
    left.files.iter().all(|file| file.ending == "check")
}

/// Returns the key of a pass's intermediate. The key is also the extension of its file.
pub(crate) fn key_of_pass(pass: usize) -> String {
    format!("{PASS}{pass}")
}

const PASS: &str = "pass";

pub(crate) fn remove_intermediates(folder: &Path, tag: &str) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = TemporaryName::parse(&entry.file_name());
        if name.is_some_and(|name| name.tag() == tag && name.ending.starts_with(PASS)) {
            // Files that cannot be removed do no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Checks that the files of an earlier run exist and have the expected sizes.
pub(crate) fn check_files(
    job: &Job,
    folder: &Path,
    tag: &str,
    opening: &Opening,
    progress: Progress,
) -> Result<(), Error> {
    let is_there = |ending: &str, bytes: u64| -> Result<(), Error> {
        let path = TemporaryFile::path_of(folder, tag, ending);
        let refused = |why: &str| Error::of(path.display(), Problem::Resume(why.to_owned()));
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() == bytes => Ok(()),
            Ok(_) => Err(refused("its length has changed")),
            Err(_) => Err(refused("the file is missing")),
        }
    };
    let refused = |why: &str| {
        let path = TemporaryFile::path_of(folder, tag, journal::ENDING);
        Error::of(path.display(), Problem::Resume(why.to_owned()))
    };
    if job.tiles() != opening.tiles {
        return Err(refused("it was cut into different tiles than it would be now"));
    }
    is_there("part", job.skeleton.bytes())?;
    let groups = groups(job);
    let more = || refused("the journal counts more steps than the job has");
    let Some(group) = groups.get(progress.groups) else {
        return if progress.groups == groups.len() { Ok(()) } else { Err(more()) };
    };
    if progress.batches > group.batches(job).len() {
        return Err(more());
    }
    let (pass, passes) = group.pass;
    let begun = usize::from(progress.batches > 0 && pass + 1 < passes);
    (0..pass + begun)
        .try_for_each(|pass| is_there(&key_of_pass(pass), group.intermediate_bytes(job, pass)))
}
