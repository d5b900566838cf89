//! `trundle task` runs numbered tasks of a plan, and `trundle finish` completes the output.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;
use trundle_disk::Problem;
use trundle_files::failure::{Failure, Setting};
use trundle_files::names::shown_path;
use trundle_files::tasks::{Joined, PlanFile};

use crate::args::{FinishArgs, TaskArgs};
use crate::progress::Progress;
use crate::say::{print_json, say};

/// Environment variables of schedulers for the task number.
const NUMBERS: [&str; 2] = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"];

/// The time between two checks for unfinished tasks of earlier stages.
const WAIT: Duration = Duration::from_millis(500);

/// Runs tasks of a plan.
///
/// # Errors
/// If the input of a task is missing, has changed or cannot be read, or if the output cannot be written.
pub(crate) fn run(args: &TaskArgs) -> Result<(), Failure> {
    let numbers = if args.array { vec![number_of_array()?] } else { args.numbers.clone() };
    let plan = PlanFile::read(&args.plan)?;
    plan.go_there()?;
    let progress = Progress::new(args.quiet || args.json);
    let done = plan.join(args.threads, |joined| {
        let Joined { job, mut sources, .. } = joined;
        let mut done = Vec::with_capacity(numbers.len());
        for number in &numbers {
            let is_new = loop {
                match job.run(*number, &mut sources, &progress) {
                    Err(error) if is_early(&error) && args.wait => sleep(WAIT),
                    Err(error) if is_early(&error) => {
                        return Err(
                            Failure::from(error).with_setting(Setting::Wait, "waits for them")
                        );
                    }
                    done => break done?,
                }
            };
            done.push(is_new);
        }
        Ok(done)
    })?;
    progress.finish();
    let is_finished = done.is_none();
    let done = done.unwrap_or_else(|| vec![false; numbers.len()]);
    for (number, is_new) in numbers.iter().zip(&done) {
        if args.json {
            print_json(&json!({ "task": number, "done": true, "before": !is_new }))?;
        } else if !args.quiet {
            let file = shown_path(&args.plan);
            say(&match (is_new, is_finished) {
                (true, _) => format!("{file}: task {number} is done"),
                (_, true) => {
                    format!("{file}: task {number} was done before, and the output is complete")
                }
                _ => format!("{file}: task {number} was done before"),
            });
        }
    }
    Ok(())
}

/// Whether tasks of an earlier stage are not finished.
fn is_early(error: &trundle_disk::Error) -> bool {
    matches!(*error.problem, Problem::MissingTasks(_))
}

fn number_of_array() -> Result<usize, Failure> {
    let given = NUMBERS.iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
    let Some((name, number)) = given else {
        let names = NUMBERS.join(" nor ");
        return Err(Failure::usage(format!("--array: neither {names} is set")));
    };
    number
        .parse()
        .map_err(|_| Failure::usage(format!("--array: {name} is {number:?}, not a task number")))
}

/// Completes the output of a plan and gives it its name.
///
/// # Errors
/// If tasks are not finished, or if the output cannot be renamed.
pub(crate) fn finish(args: &FinishArgs) -> Result<(), Failure> {
    let plan = PlanFile::read(&args.plan)?;
    plan.go_there()?;
    let progress = Progress::new(args.quiet || args.json);
    let output = plan.join(None, |joined| {
        joined.job.finish(&progress)?;
        Ok(joined.output.to_owned())
    })?;
    progress.finish();
    if args.json {
        return print_json(&json!({ "finished": true, "before": output.is_none() }));
    }
    if !args.quiet {
        say(&match &output {
            Some(output) => format!("{}: finished", shown_path(output)),
            None => format!("{}: was finished before", shown_path(&args.plan)),
        });
    }
    Ok(())
}
