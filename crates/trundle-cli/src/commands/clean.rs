//! `trundle clean`: lists and removes leftovers of interrupted runs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};
use trundle_files::failure::Failure;
use trundle_files::forecast::counted;
use trundle_files::names::shown_path;
use trundle_files::numbers::readable;
use trundle_formats::{Leftover, LeftoverState, Removal, Shown, is_url, leftovers};

use crate::args::CleanArgs;
use crate::say::{print, print_json};

/// The leftovers of one output, and whether they were removed.
struct LeftoverReport<'a> {
    left: &'a Leftover,
    /// Whether `--resume` could continue finished work.
    is_resumable: bool,
    age: Option<u64>,
    is_removed: bool,
}

/// Lists the leftovers in a folder. With `--force`, removes the leftovers that no process uses.
///
/// # Errors
/// If the folder cannot be read, or a leftover cannot be removed.
pub(crate) fn run(args: &CleanArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    let failed = |error| Failure::running(format!("{}: cannot list: {error}", shown_path(folder)));
    if !is_url(folder) && folder.metadata().map_err(failed)?.is_file() {
        let name = shown_path(folder);
        return Err(Failure::usage(format!("{name}: is a file, expected a folder")));
    }
    let left = leftovers(folder, None).map_err(failed)?;
    let (mut reports, mut failure) = (Vec::with_capacity(left.len()), None);
    for each in &left {
        let mut one = LeftoverReport::of(each);
        if args.force && is_removable(each.state) {
            match each.remove() {
                Removal::Removed => one.is_removed = true,
                // Another run has resumed this work in the meantime.
                Removal::InUse => {}
                Removal::Failed(path, error) => {
                    let text = format!("{}: cannot remove: {error}", shown_path(&path));
                    failure.get_or_insert(Failure::running(text));
                }
            }
        }
        reports.push(one);
    }
    match args.json {
        true => print_json(&report(folder, &reports))?,
        false => print(&text(folder, &reports, args.force))?,
    }
    failure.map_or(Ok(()), Err)
}

fn is_removable(state: LeftoverState) -> bool {
    use LeftoverState::{Finished, InBucket, Interrupted};

    matches!(state, Interrupted | Finished | InBucket)
}

impl LeftoverReport<'_> {
    fn of(left: &Leftover) -> LeftoverReport<'_> {
        let age = left.modified().and_then(|time| SystemTime::now().duration_since(time).ok());
        LeftoverReport {
            left,
            is_resumable: left.state == LeftoverState::Interrupted && is_resumable(left),
            age: age.map(|age| age.as_secs()),
            is_removed: false,
        }
    }

    fn state(&self) -> &'static str {
        match self.left.state {
            LeftoverState::InUse => "in use",
            LeftoverState::Interrupted => "interrupted",
            LeftoverState::Finished => "finished",
            LeftoverState::Unknown | LeftoverState::InBucket => "unknown",
        }
    }

    /// One line for the output, and one for each of its files.
    fn lines(&self) -> String {
        let LeftoverReport { left, is_resumable, age, is_removed } = self;
        let what = match (left.state, is_removed) {
            (_, true) => "removed",
            (LeftoverState::InUse, _) => "in use by a running process",
            (LeftoverState::Unknown, _) => "may be in use (the system cannot tell)",
            (LeftoverState::InBucket, _) => {
                "unfinished or still being written (a bucket cannot tell)"
            }
            (LeftoverState::Finished, _) => "finished, but a file with its name already existed",
            (LeftoverState::Interrupted, _) if *is_resumable => {
                "interrupted (--resume continues it)"
            }
            (LeftoverState::Interrupted, _) => "interrupted",
        };
        let age = age.map(|seconds| format!(", {} old", duration(seconds))).unwrap_or_default();
        let bytes = readable(left.bytes());
        let mut text = format!("{}: {what}, {bytes}{age}\n", Shown(&left.output));
        for file in &left.files {
            text.push_str(&format!("  {}  {}\n", shown_path(&file.path), readable(file.bytes)));
        }
        text
    }

    fn report(&self) -> Value {
        let LeftoverReport { left, is_resumable, age, is_removed } = self;
        let files = left
            .files
            .iter()
            .map(|file| json!({ "file": file.path.to_string_lossy(), "bytes": file.bytes }));
        json!({
            "output": left.output,
            "state": self.state(),
            "resumable": is_resumable,
            "bytes": left.bytes(),
            "age_seconds": age,
            "files": files.collect::<Vec<_>>(),
            "removed": is_removed,
        })
    }
}

fn text(folder: &Path, reports: &[LeftoverReport<'_>], force: bool) -> String {
    if reports.is_empty() {
        return format!("{}: nothing to clean\n", shown_path(folder));
    }
    let mut text: String = reports.iter().map(LeftoverReport::lines).collect();
    let is_removable = |each: &LeftoverReport<'_>| is_removable(each.left.state);
    if force {
        text.push_str(&format!("{} removed\n", readable(bytes(reports, |each| each.is_removed))));
    } else if reports.iter().any(is_removable) {
        text.push_str(&format!("--force removes {}\n", readable(bytes(reports, is_removable))));
    }
    text
}

fn bytes(reports: &[LeftoverReport<'_>], is_counted: impl Fn(&LeftoverReport<'_>) -> bool) -> u64 {
    reports.iter().filter(|each| is_counted(each)).map(|each| each.left.bytes()).sum()
}

fn report(folder: &Path, reports: &[LeftoverReport<'_>]) -> Value {
    json!({
        "folder": folder.to_string_lossy(),
        "left": reports.iter().map(LeftoverReport::report).collect::<Vec<_>>(),
        "bytes": bytes(reports, |_| true),
        "removed_bytes": bytes(reports, |each| each.is_removed),
    })
}

/// The first line of a journal only describes the job.
fn is_resumable(left: &Leftover) -> bool {
    if left.is_half_appended() {
        return true;
    }
    let has = |ending: &str| left.files.iter().find(|file| file.ending == ending);
    let has_noted = |path: &Path| {
        File::open(path).is_ok_and(|file| {
            let mut lines = BufReader::new(file);
            (0..2).all(|_| lines.skip_until(b'\n').is_ok_and(|bytes| bytes > 0))
        })
    };
    has("part").is_some() && has("journal").is_some_and(|file| has_noted(&file.path))
}

fn duration(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    counted(usize::try_from(count).unwrap_or(usize::MAX), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_in_one_unit() {
        let printed = [0, 1, 119, 120, 7199, 7200, 172_799, 172_800].map(duration);
        let expected = [
            "0 seconds",
            "1 second",
            "119 seconds",
            "2 minutes",
            "119 minutes",
            "2 hours",
            "47 hours",
            "2 days",
        ];
        assert_eq!(printed, expected);
    }
}
