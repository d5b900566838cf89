//! Plans of numbered tasks, as files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trundle_disk::{Job, NumberedJob, Source, Stage, TaskOptions, TaskPlan};
use trundle_formats::{Output, TensorFile, is_within};

use crate::args::{DryRunArgs, MeansArgs, NumberingArgs, PlannedArgs, StorageArg};
use crate::commands::plan::{Decided, decided};
use crate::failure::Failure;
use crate::forecast::counted;
use crate::functions::parsed;
use crate::input::{Input, sources};
use crate::job::write_with;
use crate::memory;
use crate::numbers::{Bytes, readable};
use crate::operation::Operation;
use crate::say::{print, print_json};
use crate::selection::shown_path;

/// The version of the form of these files.
const VERSION: u32 = 1;

/// No plan is longer than this: it holds a command, and a few numbers.
const MOST_BYTES: u64 = 16 << 20;

/// A plan of numbered tasks: the command that says what is moved, which each task decides again, and what
/// was decided.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlanFile {
    /// The version of the form.
    trundle_tasks: u32,
    /// The folder that the paths in the command count from.
    folder: PathBuf,
    /// Its arguments.
    command: Vec<String>,
    /// The bytes of memory that a task may use.
    max_mem: u64,
    /// What was decided.
    pub tasks: TaskPlan,
}

/// Begins the output of a job that was planned, and writes its tasks to `plan`.
///
/// # Errors
/// If the job cannot be done in tasks, or one of the two cannot be written.
pub(crate) fn begin(
    plan: &Path,
    opened: &mut [TensorFile],
    job: &Job,
    operation: &Operation,
    planned: &PlannedArgs,
) -> Result<(), Failure> {
    let PlannedArgs { planning, dry, numbering, .. } = planned;
    let Some(output) = &dry.output else { return Err(Failure::usage("--tasks needs -o")) };
    Output::check(plan, dry.force)?;
    for other in operation.inputs().map(Input::path).chain([&**output]) {
        if is_within(plan, other) {
            let (plan, other) = (shown_path(plan), shown_path(other));
            return Err(Failure::usage(format!("{plan}: the plan cannot be within {other}")));
        }
    }
    let command: Vec<String> = crate::arguments()?.into_iter().skip(1).collect();
    let (folder, means) = (here()?, &planning.means);
    let sources = sources(opened, operation.inputs());
    let options = task_options(dry, numbering);
    let written = job.begin_tasks(&sources, output, options, |tasks| {
        PlanFile::new(folder, command, means.max_mem, tasks).written(plan, dry.force)
    })?;
    match (means.json, dry.quiet) {
        (true, _) => print_json(&written.report(plan)),
        (_, true) => Ok(()),
        _ => print(&written.lines(plan)),
    }
}

impl PlanFile {
    /// A plan of a command given in a folder, whose tasks may use so much memory.
    pub(crate) fn new(
        folder: PathBuf,
        command: Vec<String>,
        max_mem: Option<Bytes>,
        tasks: TaskPlan,
    ) -> PlanFile {
        let max_mem = memory::limit(max_mem);
        PlanFile { trundle_tasks: VERSION, folder, command, max_mem, tasks }
    }

    /// Its arguments.
    pub(crate) fn command(&self) -> &[String] {
        &self.command
    }

    /// Its text, as a file has it.
    ///
    /// # Errors
    /// If a path is no text.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Failure::usage(error.to_string()))
    }

    /// Itself, once it is written at a path, where another is replaced if `force` says so.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn written(self, path: &Path, force: bool) -> Result<PlanFile, Failure> {
        let text = self.text()?;
        write_with(path, force, |out| std::io::Write::write_all(out, text.as_bytes()))?;
        Ok(self)
    }

    /// Reads one.
    ///
    /// # Errors
    /// If it cannot be read, or is no such file.
    pub(crate) fn read(path: &Path) -> Result<PlanFile, Failure> {
        let shown = shown_path(path);
        let unread = |error| Failure::running(format!("{shown}: cannot read: {error}"));
        let found = fs::metadata(path).map_err(unread)?;
        if found.len() > MOST_BYTES {
            return Err(Failure::refused(format!("{shown}: is too long for a plan of tasks")));
        }
        let text = fs::read_to_string(path).map_err(unread)?;
        PlanFile::parse(&text).map_err(|failure| failure.within(&shown.to_string()))
    }

    /// Reads the text of one.
    ///
    /// # Errors
    /// If it is no such text.
    pub(crate) fn parse(text: &str) -> Result<PlanFile, Failure> {
        let no_plan =
            |why: &dyn std::fmt::Display| Failure::refused(format!("is no plan of tasks: {why}"));
        let read: PlanFile = serde_json::from_str(text).map_err(|error| no_plan(&error))?;
        match read.trundle_tasks {
            VERSION => Ok(read),
            other => Err(no_plan(&format!("it is of version {other}, not {VERSION}"))),
        }
    }

    /// Joins in the tasks, where the paths of the command lead, and gives the job with all that it reads and
    /// writes to `work`; none if the tasks are finished.
    ///
    /// # Errors
    /// If the command is not understood any more, what it reads has changed, or what was done is gone.
    pub(crate) fn join<T>(
        &self,
        threads: Option<usize>,
        work: impl FnOnce(Joined<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let (operation, planned) = parsed(&self.command).map_err(Failure::of_plan)?;
        let given = &planned.planning.means;
        let means = MeansArgs {
            threads: threads.or(given.threads),
            max_mem: Some(Bytes(self.max_mem)),
            storage: Some(StorageArg::Kind(self.tasks.storage())),
            json: given.json,
        };
        let Decided { mut opened, job, .. } = decided(&operation, &planned, &means)?;
        let output = planned.dry.output.as_ref();
        let output = output.ok_or_else(|| Failure::refused("the plan has no output"))?;
        let sources = sources(&mut opened, operation.inputs());
        let Some(job) = job.join_tasks(&self.tasks, &sources, output)? else { return Ok(None) };
        work(Joined { job, sources, output }).map(Some)
    }

    /// Goes to the folder that the paths in the command count from.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn go_there(&self) -> Result<(), Failure> {
        // A plan whose paths are absolute has no folder.
        if self.folder.as_os_str().is_empty() {
            return Ok(());
        }
        std::env::set_current_dir(&self.folder).map_err(|error| {
            let folder = shown_path(&self.folder);
            Failure::running(format!("{folder}: cannot work in the plan's folder: {error}"))
        })
    }

    /// Checks that the paths in the command lead where they did from here.
    ///
    /// # Errors
    /// If they count from another folder.
    pub(crate) fn check_here(&self) -> Result<(), Failure> {
        let is_here =
            || Some(self.folder.canonicalize().ok()? == here().ok()?.canonicalize().ok()?);
        match self.folder.as_os_str().is_empty() || is_here() == Some(true) {
            true => Ok(()),
            false => {
                let folder = shown_path(&self.folder);
                Err(Failure::usage(format!(
                    "the paths of the plan count from {folder}: go there first"
                )))
            }
        }
    }

    /// What was planned, for people.
    fn lines(&self, plan: &Path) -> String {
        let stages = self.tasks.stages();
        let (count, memory) = (self.tasks.tasks(), readable(self.max_mem));
        let plan = shown_path(plan);
        let mut text =
            format!("{plan}: {}, each within {memory} of memory\n", counted(count, "task"));
        for (number, stage) in stages.iter().enumerate() {
            let of_stages = match stages.len() {
                1 => String::new(),
                all => format!("stage {} of {all}: ", number + 1),
            };
            let bytes = readable(stage.bytes);
            let tasks = match stage.tasks {
                1 => format!("task {} writes", stage.first),
                _ => format!("tasks {}-{} write", stage.first, stage.numbers().end - 1),
            };
            text.push_str(&format!("  {of_stages}{tasks} {bytes}\n"));
        }
        if stages.len() > 1 {
            text.push_str("  a stage begins when all tasks of the one before are done\n");
        }
        text + &format!("next: trundle task {plan} N for each, then trundle finish {plan}\n")
    }

    /// The same for programs.
    fn report(&self, plan: &Path) -> serde_json::Value {
        let stage = |stage: &Stage| json!({ "first": stage.first, "tasks": stage.tasks, "bytes": stage.bytes });
        json!({
            "plan": plan.to_string_lossy(),
            "tasks": self.tasks.tasks(),
            "stages": self.tasks.stages().iter().map(stage).collect::<Vec<_>>(),
            "max_mem": self.max_mem,
        })
    }
}

/// What is said of tasks.
pub(crate) fn task_options(dry: &DryRunArgs, numbering: &NumberingArgs) -> TaskOptions {
    let bytes = numbering.task_size.map(|Bytes(bytes)| bytes);
    TaskOptions { overwrite: dry.force, verify: dry.verify, bytes }
}

/// The current folder.
///
/// # Errors
/// If the system does not tell.
pub(crate) fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::running(format!("cannot find out the current folder: {error}")))
}

/// A job whose tasks are done here, with what it reads and writes.
pub(crate) struct Joined<'a> {
    pub job: NumberedJob,
    pub sources: Vec<Source<'a>>,
    pub output: &'a Path,
}
