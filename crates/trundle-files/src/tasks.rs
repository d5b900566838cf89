//! Files that contain a plan of numbered tasks, for clusters and job arrays.
//!
//! A plan contains the request and the task division. Each task plans the job of the request again.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trundle_disk::{NumberedJob, Source, TaskOptions, TaskPlan, TensorJob};
use trundle_formats::{Output, Shown, is_within};

use crate::decide::{Decided, decide_again};
use crate::failure::Failure;
use crate::forecast::counted;
use crate::memory;
use crate::names::shown_path;
use crate::numbers::{Bytes, readable};
use crate::output::write_with;
use crate::request::{Request, StorageChoice, Work};

const VERSION: u64 = 2;

/// The largest size of a plan file in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// A plan of numbered tasks.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlanFile {
    trundle_tasks: u64,
    /// The folder from which relative paths in the request start; empty if all paths are absolute.
    folder: PathBuf,
    /// The request, with the memory limit and the kind of storage of each task.
    request: Request,
    tasks: TaskPlan,
}

impl Decided {
    /// Creates the unfinished output and its numbered tasks, and writes the plan to `path`. Each task writes about
    /// `bytes` bytes. Relative paths in the request start from the current folder.
    ///
    /// # Errors
    /// If the work cannot be divided into tasks, or the output or the plan cannot be written.
    pub fn begin_tasks_at(self, path: &Path, bytes: Option<Bytes>) -> Result<PlanFile, Failure> {
        let force = self.request.output.overwrite;
        Output::check(path, force)?;
        let inputs = self.inputs.iter().map(crate::input::Input::path);
        for other in inputs.chain(self.outputs.iter().map(PathBuf::as_path)) {
            if is_within(path, other) {
                let (plan, other) = (shown_path(path), shown_path(other));
                return Err(Failure::usage(format!(
                    "{plan}: the plan file cannot be inside {other}"
                )));
            }
        }
        let folder = here()?;
        self.begin_tasks(folder, bytes, |plan| {
            let text = plan.text()?;
            write_with(path, force, |out| std::io::Write::write_all(out, text.as_bytes()))?;
            Ok(plan)
        })
    }

    /// Creates the unfinished output and its numbered tasks, and passes the plan to `keep`. If `keep` fails, the output
    /// is removed. Each task writes about `bytes` bytes.
    ///
    /// # Errors
    /// If the work cannot be divided into tasks, or the output cannot be created. The error of `keep` is also returned.
    pub fn begin_tasks<T>(
        mut self,
        folder: PathBuf,
        bytes: Option<Bytes>,
        keep: impl FnOnce(PlanFile) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut request = self.request.clone();
        let output = output(&request)?;
        let options = TaskOptions {
            overwrite: request.output.overwrite,
            verify: request.output.verify,
            bytes: bytes.map(|Bytes(bytes)| bytes),
        };
        request.resources.max_mem = Some(Bytes(self.options.max_bytes));
        request.resources.sharing = None;
        let [job] = &*std::mem::take(&mut self.jobs) else {
            return Err(Failure::refused("a task plan has one output"));
        };
        // The strings of a process are unknown in another one.
        let is_divided =
            |tensor: &&TensorJob| tensor.element().holds_texts() && tensor.passes() > 1;
        if let Some(tensor) = job.tensors().iter().find(is_divided) {
            let why = "strings of variable length cannot be moved in two stages of tasks";
            let name = Shown(tensor.name());
            return Err(Failure::refused(format!("\"{name}\": {why}"))
                .with_hint("with a larger --max-mem, one stage may be enough"));
        }
        job.begin_tasks(&self.sources(), &output, options, |tasks| {
            request.resources.storage = Some(StorageChoice::Kind(tasks.storage()));
            keep(PlanFile { trundle_tasks: VERSION, folder, request, tasks })
        })
    }
}

fn output(request: &Request) -> Result<PathBuf, Failure> {
    if request.output.addition.is_some() {
        return Err(Failure::refused("--append and --region cannot be divided into tasks"));
    }
    if !matches!(request.work, Work::Chain { .. }) {
        return Err(Failure::refused(
            "concat, stack, split and relayout cannot be divided into tasks",
        ));
    }
    request.output.path.clone().ok_or_else(|| Failure::usage("an output is missing"))
}

impl PlanFile {
    /// Formats the plan as the text of a plan file.
    ///
    /// # Errors
    /// If a path is not UTF-8.
    pub fn text(&self) -> Result<String, Failure> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Failure::usage(error.to_string()))
    }

    /// Reads a plan from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a plan.
    pub fn read(path: &Path) -> Result<PlanFile, Failure> {
        let shown = shown_path(path);
        let unread = |error| Failure::running(format!("{shown}: cannot read: {error}"));
        let found = fs::metadata(path).map_err(unread)?;
        if found.len() > MOST_BYTES {
            return Err(Failure::refused(format!("{shown}: is too long for a plan of tasks")));
        }
        let text = fs::read_to_string(path).map_err(unread)?;
        PlanFile::parse(&text).map_err(|failure| failure.within(&shown.to_string()))
    }

    /// Parses the text of a plan.
    ///
    /// # Errors
    /// If the text is not a plan, or an older trundle wrote it.
    pub fn parse(text: &str) -> Result<PlanFile, Failure> {
        #[derive(Deserialize)]
        struct Version {
            trundle_tasks: u64,
        }
        let no_plan =
            |why: &dyn std::fmt::Display| Failure::refused(format!("is not a task plan: {why}"));
        let read: Version = serde_json::from_str(text).map_err(|error| no_plan(&error))?;
        match read.trundle_tasks {
            VERSION => serde_json::from_str(text).map_err(|error| no_plan(&error)),
            older if older < VERSION => Err(Failure::refused(
                "an older trundle wrote this plan; run `trundle plan --tasks` again",
            )),
            other => Err(no_plan(&format!("its version is {other}, not {VERSION}"))),
        }
    }

    /// Plans the job of the request again, and passes it to `work`. Returns `None` if all tasks are finished.
    ///
    /// A task uses `threads` threads (default: the number in the request).
    ///
    /// # Errors
    /// If an input has changed since the plan was made, or the unfinished output is missing.
    pub fn join<T>(
        &self,
        threads: Option<usize>,
        work: impl FnOnce(Joined<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let mut request = self.request.clone();
        request.resources.threads = threads.or(request.resources.threads);
        let output = output(&request).map_err(Failure::of_plan)?;
        let mut decided = decide_again(request, false).map_err(Failure::of_plan)?;
        let Some(job) = decided.jobs.pop() else { return Ok(None) };
        let sources = decided.sources();
        let Some(job) = job.join_tasks(&self.tasks, &sources, &output)? else { return Ok(None) };
        work(Joined { job, sources, output: &output }).map(Some)
    }

    /// Deletes the unfinished output, even if the inputs have changed.
    ///
    /// # Errors
    /// If a task is running.
    pub fn discard(&self) -> Result<(), Failure> {
        Ok(self.tasks.discard(&output(&self.request)?)?)
    }

    /// Changes to the folder from which relative paths in the request start.
    ///
    /// # Errors
    /// If the folder cannot be entered.
    pub fn go_there(&self) -> Result<(), Failure> {
        if self.folder.as_os_str().is_empty() {
            return Ok(());
        }
        std::env::set_current_dir(&self.folder).map_err(|error| {
            let folder = shown_path(&self.folder);
            Failure::running(format!("{folder}: cannot work in the plan's folder: {error}"))
        })
    }

    /// Checks that relative paths in the request start from the current folder.
    ///
    /// # Errors
    /// If they start from another folder.
    pub fn check_here(&self) -> Result<(), Failure> {
        let is_here =
            || Some(self.folder.canonicalize().ok()? == here().ok()?.canonicalize().ok()?);
        match self.folder.as_os_str().is_empty() || is_here() == Some(true) {
            true => Ok(()),
            false => {
                let folder = shown_path(&self.folder);
                Err(Failure::usage(format!(
                    "the plan's paths are relative to {folder}: run the command there"
                )))
            }
        }
    }

    fn max_mem(&self) -> u64 {
        memory::limit(self.request.resources.max_mem)
    }

    /// Describes the plan for people. `plan` is the path of the plan file.
    pub fn lines(&self, plan: &Path) -> String {
        let stages = self.tasks.stages();
        let (count, memory) = (self.tasks.tasks(), readable(self.max_mem()));
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
            text.push_str("  a stage starts when all tasks of the previous stage are done\n");
        }
        text + &format!("next: trundle task {plan} N for each, then trundle finish {plan}\n")
    }

    /// Describes the plan as JSON. `plan` is the path of the plan file.
    pub fn report(&self, plan: &Path) -> serde_json::Value {
        json!({
            "plan": plan.to_string_lossy(),
            "tasks": self.tasks.tasks(),
            "stages": self.tasks.stages(),
            "max_mem": self.max_mem(),
        })
    }
}

/// Returns the current folder.
///
/// # Errors
/// If the system cannot report it.
fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::running(format!("cannot find out the current folder: {error}")))
}

/// A job whose tasks this process can run, with its files.
pub struct Joined<'a> {
    /// The job.
    pub job: NumberedJob,
    /// The input files.
    pub sources: Vec<Source<'a>>,
    /// The path of the output.
    pub output: &'a Path,
}
