//! Commands that move tensors from files to files.

use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use trundle_files::addition::finish_earlier;
use trundle_files::decide::{Decided, decide};
use trundle_files::failure::Failure;
use trundle_files::names::shown_path;
use trundle_files::request::{Request, Work};

use crate::args::{Front, MoveArgs, MovingCommand, WritingArgs};
use crate::progress::Progress;
use crate::say::{Label, print_json, say, say_as};
use crate::signals;

/// Runs a command that moves tensors, and prints the result.
///
/// # Errors
/// If an input or output does not fit; all are checked before data is read. After a failure, nothing is
/// kept except work that `--resume` can continue.
pub(crate) fn run(command: MovingCommand<MoveArgs, WritingArgs>) -> Result<(), Failure> {
    let start = Instant::now();
    let (request, Front { json, quiet, .. }) = command.request();
    check_streams(&request, json)?;
    if finish_earlier(&request)? {
        if json {
            return print_json(&json!({ "resumed": true, "outputs": [] }));
        }
        let output = request.output.path.as_deref().unwrap_or(Path::new(""));
        if !quiet {
            say(&format!("{}: the interrupted append is finished", shown_path(output)));
        }
        return Ok(());
    }
    let decided = decide(request)?;
    if !json {
        warn(&decided, quiet);
    }
    signals::set_stop_message(decided.writes_store().then_some(signals::STORE));
    let progress = Progress::of_report(json, quiet);
    let outcome = decided.run(&progress)?;
    progress.finish();
    let seconds = start.elapsed().as_secs_f64();
    if json {
        return print_json(&outcome.report(seconds));
    }
    outcome.warnings.iter().for_each(|warning| say_as(Label::Warning, warning));
    if !quiet {
        outcome.lines(seconds).iter().for_each(|line| say(line));
    }
    Ok(())
}

pub(crate) fn warn(decided: &Decided, quiet: bool) {
    if !quiet {
        decided.notes().iter().for_each(|note| say(&format!("note: {note}")));
    }
    decided.warnings().iter().for_each(|warning| say_as(Label::Warning, warning));
}

/// A tensor is not written to a terminal, nor to the stream that gets the report.
fn check_streams(request: &Request, json: bool) -> Result<(), Failure> {
    // A split needs several outputs, so it is refused elsewhere.
    let is_split = matches!(request.work, Work::Split { .. });
    if is_split || request.output.path.as_deref() != Some(Path::new("-")) {
        return Ok(());
    }
    if json {
        return Err(Failure::usage("--json and -o - cannot both write to stdout"));
    }
    if stdout().is_terminal() {
        return Err(Failure::usage(
            "-o - writes the tensor's bytes to stdout, which is a terminal: redirect it",
        ));
    }
    Ok(())
}
