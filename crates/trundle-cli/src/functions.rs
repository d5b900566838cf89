//! Commands as functions, for programs that this one is a part of: nothing is said on stdout or stderr, no signal
//! is handled, and the current folder stays as it is, so that all paths have to be absolute.

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use trundle_disk::Observer;
use trundle_formats::Shown;

use crate::args::{Cli, Command, MeansArgs, PlanCommand, PlannedArgs};
use crate::commands::plan::{Decided, decided};
use crate::failure::{Failure, Hint};
use crate::input::sources;
use crate::memory;
use crate::numbers::Bytes;
use crate::operation::Operation;
use crate::tasks::{Joined, PlanFile, task_options};

pub use crate::failure::SystemError;

/// Why a command failed.
#[derive(Debug)]
pub struct Failed {
    /// The exit code that the program would have: 1 failed while running, 2 wrong usage, 3 input refused.
    pub code: u8,
    /// The message.
    pub message: String,
    /// What the system said, where it refused something.
    pub system: Option<SystemError>,
}

/// The options of the program that functions have as keyword arguments, and how these are written.
const KEYWORDS: [(&str, &str); 7] = [
    ("--tensor NAME", "tensor=NAME"),
    ("--force", "overwrite=True"),
    ("--max-mem SIZE", "max_mem=SIZE"),
    ("--chunks SIZES", "chunks=SIZES"),
    ("--shards SIZES", "shards=SIZES"),
    ("--codec CODEC", "codec=CODEC"),
    ("--task-size SIZE", "task_size=SIZE"),
];

/// The keyword argument that is this option of the program, if there is one.
fn keyword(option: &str) -> Option<&'static str> {
    let name = |option: &str| option.split(' ').next().map(str::to_owned);
    KEYWORDS.iter().find(|(known, _)| name(known) == name(option)).map(|(_, keyword)| *keyword)
}

/// The message and its hints, with keyword arguments in place of options. A hint on an option that functions do not have
/// is left out.
impl From<Failure> for Failed {
    fn from(failure: Failure) -> Failed {
        let code = failure.code();
        let (mut message, hints, system) = failure.into_parts();
        for Hint { option, text } in hints {
            match option.map(keyword) {
                None => message.push_str(&format!("; {text}")),
                Some(Some(keyword)) => message.push_str(&format!("; {keyword} {text}")),
                Some(None) => {}
            }
        }
        Failed { code, message, system }
    }
}

/// Begins an output that is written by numbered tasks, and gives their plan, as `trundle plan --tasks` writes
/// it. The arguments are those behind `trundle plan`: `apply IN CHAIN -o OUT ...`. `sharing` tasks at once share the
/// memory and the threads.
///
/// # Errors
/// [`Failed`] as the command.
pub fn plan(arguments: &[String], sharing: NonZeroUsize) -> Result<String, Failed> {
    let command: Vec<String> =
        ["plan"].into_iter().map(str::to_owned).chain(arguments.iter().cloned()).collect();
    let (operation, planned) = parsed(&command)?;
    let means = &share(&planned.planning.means, sharing.get());
    let Decided { mut opened, job, .. } = decided(&operation, &planned, means)?;
    let Some(output) = &planned.dry.output else {
        return Err(Failure::usage("an output is missing").into());
    };
    let sources = sources(&mut opened, operation.inputs());
    let options = task_options(&planned.dry, &planned.numbering);
    let text = |tasks| PlanFile::new(PathBuf::new(), command, means.max_mem, tasks).text();
    Ok(job.begin_tasks(&sources, output, options, text)?)
}

/// Returns the share of one of `count` tasks that run at once.
fn share(means: &MeansArgs, count: usize) -> MeansArgs {
    let threads = means.threads.unwrap_or_else(|| trundle::Machine::detect().threads);
    MeansArgs {
        threads: Some(threads.div_ceil(count)),
        max_mem: Some(Bytes(memory::share(means.max_mem, count))),
        ..means.clone()
    }
}

/// Why the arguments of a function, or of a plan, are not understood: the value of an option that a function has as a
/// keyword argument is named as that.
fn not_understood(error: &clap::Error) -> Failure {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).and_then(|option| keyword(option));
    let argument = argument.and_then(|keyword| keyword.split('=').next());
    let value = context(ContextKind::InvalidValue);
    if let (Some(argument), Some(value), Some(why)) = (argument, value, error.source()) {
        return Failure::usage(format!("{argument} is \"{}\": {}", Shown(value), Shown(why)));
    }
    let text = error.to_string();
    let said = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    Failure::usage(format!("the command is not understood: {said}"))
}

/// What a command of a plan asks for.
///
/// # Errors
/// If it is not understood.
pub(crate) fn parsed(command: &[String]) -> Result<(Operation, PlannedArgs), Failure> {
    let arguments = ["trundle"].into_iter().chain(command.iter().map(String::as_str));
    let cli = Cli::try_parse_from(arguments).map_err(|error| not_understood(&error))?;
    let Command::Plan { operation: Some(command), .. } = cli.command else {
        return Err(Failure::refused("the command of the plan plans nothing"));
    };
    match command {
        PlanCommand::Operator(command) => Ok((command.operation()?, command.rest)),
        PlanCommand::Apply { operation, planned } => Ok((operation.operation()?, planned)),
        PlanCommand::Convert { operation, planned } => Ok((operation.operation()?, planned)),
        PlanCommand::Concat { .. } | PlanCommand::Stack { .. } => {
            Err(Failure::refused("concat and stack are not done in tasks".to_owned()))
        }
        PlanCommand::Split { .. } => Err(Failure::refused("split is not done in tasks".to_owned())),
        PlanCommand::Relayout { .. } => {
            Err(Failure::refused("relayout is not done in tasks".to_owned()))
        }
    }
}

/// Does something with the job of a plan; `None` if it is finished.
fn joined<T>(
    plan: &str,
    threads: Option<usize>,
    work: impl FnOnce(Joined<'_>) -> Result<T, trundle_disk::Error>,
) -> Result<Option<T>, Failed> {
    let plan = PlanFile::parse(plan)?;
    plan.check_here()?;
    Ok(plan.join(threads, |joined| work(joined).map_err(Failure::from))?)
}

/// An observer that shows nothing, and stops a run when the flag is set.
struct Stoppable<'a>(&'a AtomicBool);

impl Observer for Stoppable<'_> {
    fn phase(&self, _: &str, _: u64) {}

    fn advance(&self, _: u64) {}

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does a task of a plan, with so many threads, and says whether it was not done before. Setting `stop` ends it early.
///
/// # Errors
/// [`Failed`] as `trundle task`, or if it is stopped.
pub fn task(
    plan: &str,
    number: usize,
    threads: Option<usize>,
    stop: &AtomicBool,
) -> Result<bool, Failed> {
    let done = joined(plan, threads, |Joined { job, mut sources, .. }| {
        job.run(number, &mut sources, &Stoppable(stop))
    })?;
    Ok(done.unwrap_or(false))
}

/// The tasks of a plan that are not done.
///
/// # Errors
/// [`Failed`] if what was done cannot be read.
pub fn missing(plan: &str) -> Result<Vec<usize>, Failed> {
    Ok(joined(plan, None, |joined| joined.job.missing())?.unwrap_or_default())
}

/// Lets the output of a plan appear, and says whether it had not before. Setting `stop` ends it early.
///
/// # Errors
/// [`Failed`] as `trundle finish`, or if it is stopped.
pub fn finish(plan: &str, stop: &AtomicBool) -> Result<bool, Failed> {
    Ok(joined(plan, None, |joined| joined.job.finish(&Stoppable(stop)))?.is_some())
}

/// Removes what the tasks of a plan have done, whatever has become of what they read.
///
/// # Errors
/// [`Failed`] if one is being done.
pub fn discard(plan: &str) -> Result<(), Failed> {
    let plan = PlanFile::parse(plan)?;
    plan.check_here()?;
    let (_, planned) = parsed(plan.command())?;
    let output = planned.dry.output.ok_or_else(|| Failure::refused("the plan has no output"))?;
    Ok(plan.tasks.discard(&output).map_err(Failure::from)?)
}
