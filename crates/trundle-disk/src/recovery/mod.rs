//! What earlier runs to the same output have left, and whether one of them can be resumed.

pub(crate) mod identity;
pub(crate) mod journal;

use std::path::Path;

use trundle::Fingerprint;
use trundle_formats::{Leftover, LeftoverState, Output, TemporaryFile, TemporaryName, leftovers};

use crate::error::{Error, Problem};
use crate::plan::job::Job;
use crate::plan::tasks::groups;
use crate::recovery::identity::JobIdentity;
use crate::recovery::journal::{Opening, Progress, SourceIdentity};

/// The tag by which another run finds the files of a run again: one to the output that `output_tag`
/// stands for, with buffers of `budget` bytes.
pub(crate) fn tag(job: &JobIdentity, output_tag: &str, budget: usize) -> String {
    format!("{output_tag}-{:016x}", (job, budget).fingerprint() as u64)
}

impl JobIdentity {
    /// The journal of an earlier run of the same job, from the same sources; `None` if there is none. Its
    /// progress is the default if nothing is noted that would have to be done again.
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
                let why = format!(
                    "it was begun by version {version} of trundle, which may work differently"
                );
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

/// What stands for an output in the names of the files of its runs.
pub(crate) fn output_tag(path: &Path) -> String {
    Output::tag(path)
}

/// Checks that no other run writes the output, whatever it makes: none but the one of the tag `own`.
/// Of two that each make their files first and look then, at most one goes on.
pub(crate) fn check_alone(
    folder: &Path,
    output_tag: &str,
    path: &Path,
    own: Option<&str>,
) -> Result<(), Error> {
    let is_run = |left: &Leftover| {
        left.state == LeftoverState::InUse && !is_check(left) && own != Some(&left.tag)
    };
    // A folder that cannot be listed has no file that could be found again.
    let left = leftovers(folder, Some(output_tag)).unwrap_or_default();
    if left.iter().any(is_run) {
        return Err(Error::file(path, trundle_formats::Problem::Busy));
    }
    Ok(())
}

/// Removes what earlier runs to the same output left, unless they still go on: that which is `meant`.
pub(crate) fn forget(folder: &Path, output_tag: &str, meant: fn(&Leftover) -> bool) {
    let left = leftovers(folder, Some(output_tag)).unwrap_or_default();
    for left in left.iter().filter(|left| meant(left)) {
        // What cannot be removed is in nobody's way.
        let _ = left.remove();
    }
}

/// Whether it is of a run, and not a result that is whole, nor of tasks, which may be done another day.
pub(crate) fn is_unfinished(left: &Leftover) -> bool {
    left.state != LeftoverState::Finished && !left.is_planned()
}

/// Whether it is of a run that only looked whether the output can be written.
pub(crate) fn is_check(left: &Leftover) -> bool {
    left.files.iter().all(|file| file.ending == "check")
}

/// The key of what a pass writes for the next one, which ends its name.
pub(crate) fn key_of_pass(pass: usize) -> String {
    format!("{PASS}{pass}")
}

/// How these keys begin.
const PASS: &str = "pass";

/// Removes what lies between the passes of the run of a tag.
pub(crate) fn remove_intermediates(folder: &Path, tag: &str) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = TemporaryName::parse(&entry.file_name());
        if name.is_some_and(|name| name.tag() == tag && name.ending.starts_with(PASS)) {
            // What cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Checks that what an earlier run noted is there.
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
        return Err(refused("it was cut into other tiles than it would be now"));
    }
    is_there("part", job.skeleton.bytes())?;
    let groups = groups(job);
    let more = || refused("the journal counts more than the job has to do");
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
