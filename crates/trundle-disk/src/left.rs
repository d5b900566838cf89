//! What earlier runs to the same output have left.

use std::fs::{File, TryLockError};
use std::path::Path;

use trundle::Fingerprint;
use trundle_formats::Unfinished;

use crate::error::{Error, Problem};
use crate::job::Job;
use crate::journal::{self, Identity, Opening, Progress};
use crate::stage::stages;

impl Job {
    /// The tag of the files of a run to the output that `output_tag` stands for, with buffers of `room`
    /// bytes: another run finds them again by it.
    pub(crate) fn tag(&self, output_tag: &str, room: usize) -> String {
        format!("{output_tag}-{:016x}", (&self.asked, room).fingerprint() as u64)
    }

    /// What an earlier run of the same job left; `None` if none did.
    pub(crate) fn found(
        &self,
        folder: &Path,
        output_tag: &str,
        identity: Option<&Identity>,
    ) -> Result<Option<(Opening, Progress)>, Error> {
        let mut other = None;
        for (path, found) in journal::find(folder, output_tag) {
            let refused = |why: &str| Error::of(path.display(), Problem::Resume(why.to_owned()));
            let Some(found) = found else {
                other = Some(refused("the journal cannot be read"));
                continue;
            };
            let opening = found.opening;
            if let Some(difference) = opening.asked.difference(&self.asked) {
                other = Some(refused(&format!("the unfinished job differs: {difference}")));
            } else if opening.version != env!("CARGO_PKG_VERSION") {
                let version = &opening.version;
                let why = format!("it was begun by version {version} of trundle, which may differ");
                other = Some(refused(&why));
            } else if Some(&opening.source) != identity {
                other = Some(refused("the source has changed since"));
            } else if found.tag != self.tag(output_tag, opening.room) {
                other = Some(refused("its name is not the one it was given"));
            } else if found.progress == Progress::default() {
                // Nothing is noted that would have to be done again.
            } else {
                return Ok(Some((opening, found.progress)));
            }
        }
        other.map_or(Ok(None), Err)
    }
}

/// What stands for an output in the names of the files of its runs.
pub(crate) fn output_tag(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    format!("{:08x}", name.as_encoded_bytes().fingerprint() as u32)
}

/// Removes what earlier runs to the same output left, unless they still go on.
pub(crate) fn forget_earlier(folder: &Path, output_tag: &str) {
    let is_of_output =
        |stem: &str| stem.strip_prefix(output_tag).is_some_and(|plan| plan.starts_with('-'));
    let goes_on = |stem: &str| {
        [journal::ENDING, "part"].iter().any(|ending| {
            let file = File::open(Unfinished::path_of(folder, stem, ending));
            let locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            file.is_ok_and(locked)
        })
    };
    remove_left(folder, |stem, _| is_of_output(stem) && !goes_on(stem));
}

/// Removes the files in `folder` of whose tags and endings `is_old` says so.
pub(crate) fn remove_left(folder: &Path, is_old: impl Fn(&str, &str) -> bool) {
    let begin = Unfinished::path_of(folder, "", "");
    let begin = begin.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let begin = begin.trim_end_matches('.');
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name
            .strip_prefix(begin)
            .and_then(|tag| tag.split_once('.'))
            .is_some_and(|(tag, end)| is_old(tag, end))
        {
            // What cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Checks that what an earlier run noted is there.
pub(crate) fn check_left(
    job: &Job,
    folder: &Path,
    tag: &str,
    opening: &Opening,
    progress: Progress,
) -> Result<(), Error> {
    let is_there = |ending: &str, bytes: u64| -> Result<(), Error> {
        let path = Unfinished::path_of(folder, tag, ending);
        let refused = |why: &str| Error::of(path.display(), Problem::Resume(why.to_owned()));
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() == bytes => Ok(()),
            Ok(_) => Err(refused("it is not as long as it was")),
            Err(_) => Err(refused("the file is missing")),
        }
    };
    let refused = |why: &str| {
        let path = Unfinished::path_of(folder, tag, journal::ENDING);
        Error::of(path.display(), Problem::Resume(why.to_owned()))
    };
    if job.tiles() != opening.tiles {
        return Err(refused("its tiles were cut otherwise than they would be now"));
    }
    is_there("part", job.frame.bytes())?;
    let stages = stages(job);
    let more = || refused("the journal says more than there is to do");
    let Some(stage) = stages.get(progress.stages) else {
        return if progress.stages == stages.len() { Ok(()) } else { Err(more()) };
    };
    if progress.batches > stage.batches(job).len() {
        return Err(more());
    }
    let (pass, passes) = stage.pass;
    let begun = usize::from(progress.batches > 0 && pass + 1 < passes);
    (0..pass + begun)
        .try_for_each(|pass| is_there(&format!("pass{pass}"), stage.between_bytes(job, pass)))
}
