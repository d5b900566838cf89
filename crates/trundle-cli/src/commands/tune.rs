//! `trundle tune`: searches for the fastest tuning values on this machine.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use trundle::tuning::{self, Trial, Tuned, Tuning};
use trundle_files::failure::Failure;
use trundle_files::memory;
use trundle_files::names::shown_path;
use trundle_files::output::write_with;
use trundle_formats::Output;

use crate::args::TuneArgs;
use crate::progress::Progress;
use crate::say::{print, print_json};

/// The four buffers of [`tuning::tune`].
const NEEDED_BYTES: u64 = 256 << 20;

/// Searches for the best tuning record of this machine and stores it, or deletes the stored record.
///
/// # Errors
/// If the memory is not enough, or the record cannot be stored.
pub(crate) fn run(args: &TuneArgs) -> Result<(), Failure> {
    if args.forget {
        return forget(args.json);
    }
    match &args.output {
        Some(path) => Output::check(path, args.force)?,
        // Fails before the search, not after it.
        None if !args.dry_run && tuning::kept_path().is_none() => {
            let why = tuning::NO_CACHE_FOLDER;
            let text = format!("cannot choose a folder for the record: {why}; use -o FILE");
            return Err(Failure::usage(text));
        }
        None => {}
    }
    memory::check(NEEDED_BYTES, None)?;
    let progress = Progress::counting(args.quiet || args.json);
    let mut begun = false;
    let tuned = tuning::tune(&mut |step| {
        if !std::mem::replace(&mut begun, true) {
            progress.phase("comparing", step.total);
        }
        progress.at(step.done as u64);
        true
    })?;
    progress.finish();
    let Some(tuned) = tuned else { return Ok(()) };
    let file = match &args.output {
        Some(path) => {
            let text = tuned.text();
            write_with(path, args.force, |output| output.write_all(text.as_bytes()))?;
            if path == Path::new("-") {
                return Ok(());
            }
            Some(path.clone())
        }
        None if args.dry_run => None,
        None => {
            let failed = |error| Failure::running(format!("cannot store the record: {error}"));
            Some(tuned.keep().map_err(failed)?)
        }
    };
    if args.json {
        return print_json(&report(&tuned, file.as_deref()));
    }
    print(&text(&tuned, file.as_deref()))
}

fn forget(json: bool) -> Result<(), Failure> {
    let failed = |error| Failure::running(format!("cannot delete the record: {error}"));
    let was_kept = tuning::forget().map_err(failed)?;
    if json {
        let path = tuning::kept_path().map(|path| path.to_string_lossy().into_owned());
        return print_json(&json!({ "forgotten": was_kept, "path": path }));
    }
    print(match was_kept {
        true => "the record was deleted\n",
        false => "no record is stored\n",
    })
}

fn text(tuned: &Tuned, file: Option<&Path>) -> String {
    let mut text = format!("{:<32} {:>9} {:>9} {:>8}\n", "", "built in", "tuned", "of copy");
    for Trial { name, before, after, copy, .. } in &tuned.trials {
        let (slow, fast) = (before / 1e9, after / 1e9);
        text.push_str(&format!("{name:<32} {slow:>9.1} {fast:>9.1} {:>8.2}\n", after / copy));
    }
    text.push_str("GB/s, read and written\n\n");
    text.push_str(&changes(&tuned.built_in, &tuned.tuning));
    text.push_str(&match file {
        Some(path) => format!("written to {}\n", shown_path(path)),
        None => "nothing is kept\n".to_owned(),
    });
    text
}

/// Lists the values of `after` that differ, one a line.
fn changes(before: &Tuning, after: &Tuning) -> String {
    let (before, after) = (before.to_string(), after.to_string());
    let changed = before.split(' ').zip(after.split(' ')).filter(|(before, after)| before != after);
    let lines: String = changed
        .map(|(before, after)| {
            let before = before.split_once('=').map_or("", |(_, value)| value);
            format!("{after} (built in: {before})\n")
        })
        .collect();
    if lines.is_empty() { "the built-in values are the fastest\n".to_owned() } else { lines }
}

fn report(tuned: &Tuned, file: Option<&Path>) -> Value {
    let trials = tuned.trials.iter().map(|Trial { name, before, after, copy, .. }| {
        json!({
            "name": name,
            "built_in_bytes_per_second": before.round(),
            "tuned_bytes_per_second": after.round(),
            "copy_bytes_per_second": copy.round(),
        })
    });
    json!({
        "cpu": tuning::used().cpu.to_string(),
        "built_in": tuned.built_in.to_string(),
        "tuning": tuned.tuning.to_string(),
        "file": file.map(Path::to_string_lossy),
        "trials": trials.collect::<Vec<_>>(),
    })
}
