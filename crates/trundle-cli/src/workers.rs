//! A movement that several processes of this machine do, as numbered tasks.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use trundle_disk::{Job, NumberedJob, Observer, Source, Stage, TaskOptions, TaskPlan};
use trundle_formats::{Leftover, Output, is_url, leftovers, overlaps};

use crate::PROGRAM;
use crate::args::{MeansArgs, WriteArgs};
use crate::failure::Failure;
use crate::functions::parsed;
use crate::job::Outcome;
use crate::memory;
use crate::numbers::Bytes;
use crate::progress::Progress;
use crate::signals;
use crate::tasks::{PlanFile, here};

/// How often a task is begun, if it ends by a signal, as of a system that has no more memory.
const TRIES: usize = 3;

/// The name of the plan in the folder that the tasks share.
const PLAN: &str = "plan.json";

/// What one of so many workers may use.
pub(crate) fn share(means: &MeansArgs, count: usize) -> MeansArgs {
    MeansArgs {
        threads: Some(threads_of(means.threads, count)),
        max_mem: Some(Bytes(memory::share(means.max_mem, count))),
        ..means.clone()
    }
}

/// How many threads each of so many workers has.
fn threads_of(all: Option<usize>, workers: usize) -> usize {
    all.unwrap_or_else(|| trundle::Machine::detect().threads).div_ceil(workers)
}

/// Carries a job out by so many workers, each of which may use `means`.
///
/// # Errors
/// If a task cannot be done. What was done stays, and `--resume` goes on with it.
pub(crate) fn run(
    (count, means): (usize, &MeansArgs),
    job: Job,
    sources: &[Source<'_>],
    writing: &WriteArgs,
) -> Result<Outcome, Failure> {
    let output = &writing.output;
    let progress =
        if means.json { Progress::events(writing.quiet) } else { Progress::new(writing.quiet) };
    let options = TaskOptions { overwrite: writing.force, verify: writing.verify, bytes: None };
    let (mut earlier, others) = earlier(output);
    // Of an output that was finished and taken away, a run that was killed just then leaves a plan of nothing.
    let goes_on = |plan: &Plan| writing.resume && !job.is_gone(&plan.file.tasks, output);
    let plan = match earlier.take_if(|plan| goes_on(plan)) {
        Some(plan) if writing.verify && !plan.file.tasks.verifies() => {
            return Err(Failure::usage(
                "what was done is not verified: go on without --verify, or begin anew without --resume",
            ));
        }
        Some(plan) => plan,
        None if writing.resume && sources.iter().any(|source| overlaps(output, source.path)) => {
            return Err(Failure::maybe_done(output));
        }
        None => {
            // Those of earlier workers, which nobody goes on with.
            if let Some(earlier) = earlier.filter(|_| is_url(output)) {
                earlier.file.tasks.discard(output)?;
            }
            others.iter().for_each(|left| drop(left.remove()));
            begin(&job, sources, output, options, means)?
        }
    };
    let (resumed, verified) = (plan.is_earlier, plan.file.tasks.verifies());
    let tasks = &plan.file.tasks;
    let mut outcome = Outcome { verified, resumed, ..Outcome::of(&job, output) };
    if let Some(job) = job.join_tasks(tasks, sources, output)? {
        outcome = Outcome { verified, resumed, ..Outcome::of(job.job(), output) };
        let workers = Workers { count, plan: tasks, output, means };
        signals::when_stopped(Some(signals::RESUMABLE));
        let done = workers.run(&job, &progress);
        signals::when_stopped(None);
        done.map_err(|failure| {
            failure
                .with_option("--resume", "with the same command continues: what was done is kept")
        })?;
        job.finish(&progress)?;
    }
    progress.finish();
    Ok(outcome)
}

/// Begins the output, and notes the plan among what the tasks share.
fn begin(
    job: &Job,
    sources: &[Source<'_>],
    output: &Path,
    options: TaskOptions,
    means: &MeansArgs,
) -> Result<Plan, Failure> {
    // What reports to somebody is for this process.
    let is_told =
        |argument: &String| !["--json", "--quiet", "-q", "--resume"].contains(&&**argument);
    let command = crate::arguments()?.into_iter().skip(1).filter(is_told);
    let command: Vec<String> = ["plan".to_owned()].into_iter().chain(command).collect();
    parsed(&command)?;
    let folder = here()?;
    let file = job.begin_tasks(sources, output, options, |tasks| {
        let tasks_folder = tasks.folder(output);
        // Beside a bucket there is none yet.
        std::fs::create_dir_all(&tasks_folder)
            .map_err(|error| Failure::running(format!("cannot write the plan: {error}")))?;
        PlanFile::new(folder, command, means.max_mem, tasks)
            .written(&tasks_folder.join(PLAN), false)
    })?;
    Ok(Plan { file, is_earlier: false })
}

/// The plan of workers, and whether an earlier run made it.
struct Plan {
    file: PlanFile,
    is_earlier: bool,
}

/// This program, to be started once more.
fn program() -> io::Result<Command> {
    match PROGRAM.get().map(Vec::as_slice) {
        Some([program, arguments @ ..]) => {
            let mut command = Command::new(program);
            command.args(arguments);
            Ok(command)
        }
        _ => std::env::current_exe().map(Command::new),
    }
}

/// What workers have left that were to write the same output: the plan of one, and all of it.
fn earlier(output: &Path) -> (Option<Plan>, Vec<Leftover>) {
    let folder = Output::folder(output);
    let left = folder.and_then(|folder| leftovers(&folder, Some(&Output::tag(output))).ok());
    let plan = |left: &Leftover| {
        let folder = left.files.iter().find(|file| file.ending == "tasks")?;
        PlanFile::read(&folder.path.join(PLAN)).ok()
    };
    let (mut first, mut all) = (None, Vec::new());
    for left in left.into_iter().flatten() {
        if let Some(file) = plan(&left) {
            first.get_or_insert(Plan { file, is_earlier: true });
            all.push(left);
        }
    }
    (first, all)
}

/// Processes that do the tasks of a plan.
struct Workers<'a> {
    count: usize,
    plan: &'a TaskPlan,
    output: &'a Path,
    means: &'a MeansArgs,
}

impl Workers<'_> {
    fn run(&self, job: &NumberedJob, progress: &Progress) -> Result<(), Failure> {
        let missing = job.missing()?;
        let stages = self.plan.stages();
        for (number, stage) in stages.iter().enumerate() {
            let name = match stages.len() {
                1 => "moving".to_owned(),
                all => format!("pass {} of {all}", number + 1),
            };
            Observer::phase(progress, &name, stage.bytes);
            let left = missing.iter().copied().filter(|task| stage.numbers().contains(task));
            self.run_stage(stage, left.collect(), progress)?;
        }
        Ok(())
    }

    /// Does the tasks of a stage that are left.
    fn run_stage(
        &self,
        stage: &Stage,
        left: Vec<usize>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let share = stage.bytes / (stage.tasks as u64).max(1);
        progress.advance(share * (stage.tasks - left.len()) as u64);
        let plan = self.plan.folder(self.output).join(PLAN);
        let queue = Mutex::new(left.into_iter());
        let failed: Mutex<Option<Failure>> = Mutex::new(None);
        let work = || {
            loop {
                if failed.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                    return;
                }
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(number) = next else { return };
                match self.run_task(&plan, number) {
                    Ok(()) => progress.advance(share),
                    Err(failure) => {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(failure);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.count {
                // Where no more threads can be had, fewer workers do it.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Does a task in a process of its own.
    fn run_task(&self, plan: &PathBuf, number: usize) -> Result<(), Failure> {
        let run = || {
            program()?
                .arg("task")
                .arg(plan)
                .args([&number.to_string(), "--quiet"])
                .args(self.means.threads.map(|threads| format!("--threads={threads}")))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .output()
        };
        let mut tries = 0;
        let ended = loop {
            tries += 1;
            let ended = run()
                .map_err(|error| Failure::running(format!("cannot start a worker: {error}")))?;
            let is_killed = ended.status.code().is_none();
            if !is_killed || tries == TRIES {
                break ended;
            }
        };
        match ended.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&ended.stderr);
                let said = said.trim().trim_start_matches("error: ");
                let why = if said.is_empty() { ended.status.to_string() } else { said.to_owned() };
                Err(Failure::of_process(ended.status.code(), format!("task {number}: {why}")))
            }
        }
    }
}
