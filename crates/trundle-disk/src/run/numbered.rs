//! Runs a job as numbered tasks, in any processes that can access its files, and in any order within a stage. A task
//! can be repeated, also concurrently or after an early end, without changing the result.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trundle::Width;
use trundle_formats::{Begin, Blob, Joined, Output, Problem as FileProblem, SharedOutput};

use crate::Storage;
use crate::blob_store::BlobStore;
use crate::error::{Error, Problem, writing};
use crate::plan::job::Job;
use crate::plan::numbered::{NumberedTask, Stage, numbered};
use crate::plan::tasks::{TaskGroup, groups};
use crate::plan::tensor_job::TensorJob;
use crate::recovery::identity::JobIdentity;
use crate::recovery::journal::{Opening, SourceIdentity};
use crate::recovery::{check_alone, forget, is_check, is_unfinished, key_of_pass};
use crate::run::checkpoint::Checkpoint;
use crate::run::context::{Context, Observer, RunOptions, Source};
use crate::run::executor::Executor;
use crate::run::{check_space, check_unchanged, sources_identity};

/// A plan of numbered tasks. Other processes use it to plan the same job again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskPlan {
    opening: Opening,
    tag: String,
    /// Identifies the file that exists under the output's final name, if there is one.
    output: Option<String>,
    overwrite: bool,
    verify: bool,
    /// The decoding and the encoding threads of each process, limited by the memory.
    decoders: Option<usize>,
    encoders: Option<usize>,
    task_bytes: u64,
    stages: Vec<Stage>,
}

impl TaskPlan {
    /// Returns the stages of tasks, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> usize {
        self.stages.iter().map(|stage| stage.tasks).sum()
    }

    /// Returns the folder of the shared files, for an output at `path`. It is removed when the tasks are finished.
    pub fn folder(&self, path: &Path) -> PathBuf {
        SharedOutput::work_folder(path, &self.tag)
    }

    /// Removes the unfinished output at `path` and the shared files of the tasks.
    ///
    /// # Errors
    /// [`Error`] if a task is running.
    pub fn discard(&self, path: &Path) -> Result<(), Error> {
        Ok(SharedOutput::discard(path, &self.tag)?)
    }

    /// Returns the storage model for which the job was planned, so that it is not measured again.
    pub fn storage(&self) -> Storage {
        self.opening.rates.storage
    }
}

/// The options of tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskOptions {
    /// Whether to replace an existing output.
    pub overwrite: bool,
    /// Whether each task reads its output back and compares it with its input. Chunks are then decoded even if they
    /// could be copied.
    pub verify: bool,
    /// The approximate number of bytes that each task writes; `None` for the default.
    pub bytes: Option<u64>,
}

/// A job that is divided into tasks, and its shared output.
#[derive(Debug)]
pub struct NumberedJob {
    job: Job,
    path: PathBuf,
    plan: TaskPlan,
    output: SharedOutput,
    groups: Vec<TaskGroup>,
    tasks: Vec<NumberedTask>,
}

impl Job {
    /// Creates the output at `path` for tasks, and passes the plan of the tasks to `keep`.
    ///
    /// The output does not have its final name until the tasks are [finished](NumberedJob::finish). If `keep` fails,
    /// the output is removed; if the process ends before `keep` returns, the next run to the same path removes it.
    ///
    /// # Errors
    /// [`Error`] if the output cannot be created or another process writes it, if an input can only be read
    /// sequentially, or if elements are smaller than a byte; and the error of `keep`.
    pub fn begin_tasks<T, E: From<Error>>(
        &self,
        sources: &[Source<'_>],
        path: &Path,
        options: TaskOptions,
        keep: impl FnOnce(TaskPlan) -> Result<T, E>,
    ) -> Result<T, E> {
        let (output, plan) = self.begun(sources, path, options)?;
        let kept = keep(plan.clone());
        let noted = output.note_planned().map_err(writing(path));
        drop(output);
        if kept.is_err() || noted.is_err() {
            plan.discard(path)?;
        }
        noted?;
        kept
    }

    fn begun(
        &self,
        sources: &[Source<'_>],
        path: &Path,
        options: TaskOptions,
    ) -> Result<(SharedOutput, TaskPlan), Error> {
        let TaskOptions { overwrite, verify, bytes } = options;
        let no_file = || {
            let why = "tasks write a file or a store, not a stream".to_owned();
            Error::of(path.display(), Problem::Tasks(why))
        };
        let folder = Output::folder(path).ok_or_else(no_file)?;
        let sources = self.check_for_tasks(sources)?;
        let (job, task_bytes) = self.for_tasks(bytes)?;
        let job = job.decoding(|_| verify);
        let (job_identity, output_tag) = (JobIdentity::of(&job), Output::tag(path));
        check_alone(&folder, &output_tag, path, None)?;
        forget(&folder, &output_tag, is_unfinished);
        let groups = groups(&job);
        let own = |group: &TaskGroup| match group.pass {
            (pass, passes) if pass + 1 < passes => group.intermediate_bytes(&job, pass),
            _ => 0,
        };
        let between: u64 = groups.iter().map(own).sum();
        check_space(&folder, "", between + job.skeleton.unchunked_bytes())?;
        let (stages, _) = numbered(&job, &groups, task_bytes);
        let output = SharedOutput::begin(job.format, path, overwrite, &job.skeleton)?;
        let plan = TaskPlan {
            opening: Opening::of(&job, job_identity, sources),
            tag: output.tag().to_owned(),
            output: output.id(),
            overwrite,
            verify,
            decoders: job.decoders,
            encoders: job.encoders,
            task_bytes,
            stages,
        };
        let reserved = groups.iter().try_for_each(|group| reserve(group, &job, &output));
        if let Err(error) = reserved {
            drop(output);
            plan.discard(path)?;
            return Err(writing(path)(error));
        }
        Ok((output, plan))
    }

    fn joined(&self, plan: &TaskPlan, path: &Path) -> Result<Joined, Error> {
        let TaskPlan { tag, output, overwrite, .. } = plan;
        Ok(SharedOutput::join(self.format, path, *overwrite, tag, output.as_deref())?)
    }

    /// Joins the tasks of `plan`, which must be for the same job. Returns `None` if they are finished.
    ///
    /// # Errors
    /// [`Error`] if the job or a source has changed, or the shared files no longer exist.
    pub fn join_tasks(
        self,
        plan: &TaskPlan,
        sources: &[Source<'_>],
        path: &Path,
    ) -> Result<Option<NumberedJob>, Error> {
        let refused = |why: String| Error::of(path.display(), Problem::Tasks(why));
        let joined = self.joined(plan, path)?;
        let output = match joined {
            Joined::Begun(output) => output,
            Joined::Finished => {
                // Files that cannot be removed do no harm, and another process may be removing them.
                let _ = plan.discard(path);
                return Ok(None);
            }
            Joined::Gone if sources.iter().any(|source| source.is_replaced_by(path)) => {
                return Err(refused(GONE_IN_PLACE.to_owned()));
            }
            Joined::Gone => return Err(refused(GONE.to_owned())),
        };
        let Opening { version, job: planned, sources: before, budget, rates, tiles } =
            &plan.opening;
        if version != env!("CARGO_PKG_VERSION") {
            return Err(refused(format!("was planned by trundle {version}")));
        }
        if let Some(difference) = planned.difference(&JobIdentity::of(&self)) {
            return Err(refused(format!("differs from the plan: {difference}")));
        }
        let found = self.check_for_tasks(sources)?;
        for ((now, before), source) in found.iter().zip(before).zip(sources) {
            if now != before {
                let changed = "it has changed since the tasks were planned";
                return Err(Error::of(source.path.display(), Problem::SourceChanged(changed)));
            }
        }
        let mut job = match (self.budget, self.rates) == (*budget, *rates) {
            true => self,
            false => self.with_resources(*budget, *rates)?,
        }
        .decoding(|_| plan.verify);
        (job.decoders, job.encoders) = (plan.decoders, plan.encoders);
        let groups = groups(&job);
        let (stages, tasks) = numbered(&job, &groups, plan.task_bytes);
        if job.tiles() != *tiles || stages != plan.stages {
            return Err(refused("would now be cut into different tasks".to_owned()));
        }
        let (path, plan) = (path.to_owned(), plan.clone());
        Ok(Some(NumberedJob { job, path, plan, output, groups, tasks }))
    }

    /// Identifies the sources. Fails if tasks cannot read them, or cannot write the output.
    fn check_for_tasks(&self, sources: &[Source<'_>]) -> Result<Vec<SourceIdentity>, Error> {
        let is_packed = |tensor: &&TensorJob| matches!(tensor.movement.width(), Width::SubByte(_));
        if let Some(tensor) = self.tensors.iter().find(is_packed) {
            let why = "two tasks cannot write elements that share a byte".to_owned();
            return Err(Error::of(tensor.name(), Problem::Tasks(why)));
        }
        if self.skeleton.has_chunks() && !self.format.is_folder() {
            let why = "tasks cannot write chunks to one HDF5 file: give --chunks none, or write a .zarr store";
            return Err(Error::from(Problem::Tasks(why.to_owned())));
        }
        let in_place = self.tensors_read().all(|tensor| tensor.header.data_offset.is_some());
        sources_identity(sources)?.filter(|_| in_place).ok_or_else(|| {
            let why = "tasks read at any position, which streams and compressed files do not allow, and compare the ETag or the time of a file on a server";
            Error::from(Problem::Tasks(why.to_owned()))
        })
    }
}

impl NumberedJob {
    /// Returns the job, divided into tasks.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Runs a task unless it is already done. Returns whether the task ran.
    ///
    /// # Errors
    /// [`Error`] if there is no such task, or tasks of an earlier stage are not done, and in the cases of [`Job::run`].
    pub fn run(
        &self,
        number: usize,
        sources: &mut [Source<'_>],
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        let refused = |why: String| Error::of(self.path.display(), Problem::Tasks(why));
        let Some(task) = self.tasks.get(number) else {
            let count = self.tasks.len();
            return Err(refused(format!(
                "task {number} does not exist: the plan has {count}, numbered from 0"
            )));
        };
        if self.noted(number)?.is_some() {
            return Ok(false);
        }
        let earlier = self.plan.stages.iter().take_while(|stage| stage.numbers().end <= number);
        let missing = self.missing_of(earlier.flat_map(Stage::numbers))?;
        if !missing.is_empty() {
            return Err(Error::of(self.path.display(), Problem::MissingTasks(missing)));
        }
        let done = self.done(number, task, sources, observer);
        // If the task was already done, another process may have finished the job during this run.
        match done {
            Err(_) if self.is_finished() => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn done(
        &self,
        number: usize,
        task: &NumberedTask,
        sources: &mut [Source<'_>],
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let group = &self.groups[task.group];
        let target = self.output.blob(&self.job.skeleton)?;
        let store = WorkFiles { output: &self.output, tensor: group.tasks[0].tensor };
        let context = self.context(&*target, &store, self.plan.verify, observer);
        let checkpoint = Checkpoint::none(&store);
        let mut executor = Executor::new(context, Begin::Resumed, checkpoint);
        executor.run_part(sources, group, task.part.clone(), number == 0)?;
        // The next pass reads the intermediates, so they must be on the disk and closed before the task counts as done.
        executor.sync_intermediates()?;
        drop(executor);
        check_unchanged(sources, Some(&self.plan.opening.sources))?;
        let io = writing(&self.path);
        target.sync().map_err(&io)?;
        self.output.sync().map_err(&io)?;
        let line = |(path, bytes): (String, u64)| format!("{bytes} {path}\n");
        let text: String = self.output.written().into_iter().map(line).collect();
        self.output.note(&key_of_task(number), &text).map_err(&io)
    }

    fn context<'a>(
        &'a self,
        target: &'a dyn Blob,
        store: &'a dyn BlobStore,
        verify: bool,
        observer: &'a dyn Observer,
    ) -> Context<'a> {
        let options = RunOptions { overwrite: self.plan.overwrite, verify, resume: false };
        let folder = self.path.parent();
        let (job, path) = (&self.job, &*self.path);
        Context { job, path, target, store, folder, options, observer, moving: None }
    }

    fn noted(&self, number: usize) -> Result<Option<String>, Error> {
        self.output.noted(&key_of_task(number)).map_err(|source| {
            Error::of(self.path.display(), Problem::Io { doing: "read the notes of tasks", source })
        })
    }

    /// Returns the numbers of the tasks that are not done, or whose output no longer exists.
    ///
    /// # Errors
    /// [`Error`] if the records of done tasks cannot be read.
    pub fn missing(&self) -> Result<Vec<usize>, Error> {
        self.missing_of(0..self.tasks.len())
    }

    fn missing_of(&self, numbers: impl Iterator<Item = usize>) -> Result<Vec<usize>, Error> {
        let mut missing = Vec::new();
        if !self.output.is_there() {
            return Err(Error::of(self.path.display(), Problem::Tasks(GONE.to_owned())));
        }
        for number in numbers {
            let Some(noted) = self.noted(number)? else {
                missing.push(number);
                continue;
            };
            let is_there = |line: &str| match line.split_once(' ') {
                Some((bytes, path)) => {
                    bytes.parse().is_ok_and(|bytes| self.output.has(path, bytes))
                }
                None => false,
            };
            if !noted.lines().all(is_there) {
                self.output.unnote(&key_of_task(number));
                missing.push(number);
            }
        }
        Ok(missing)
    }

    fn is_finished(&self) -> bool {
        let joined = self.job.joined(&self.plan, &self.path);
        matches!(joined, Ok(Joined::Finished))
    }

    /// Renames the output when all tasks are done, and removes the shared files.
    ///
    /// # Errors
    /// [`Error`] if a task is running or not done, or if the output cannot be renamed. All files then remain.
    pub fn finish(self, observer: &dyn Observer) -> Result<(), Error> {
        let missing = self.missing()?;
        if !missing.is_empty() {
            return Err(Error::of(self.path.display(), Problem::MissingTasks(missing)));
        }
        {
            let target = self.output.blob(&self.job.skeleton)?;
            let store = WorkFiles { output: &self.output, tensor: 0 };
            let context = self.context(&*target, &store, false, observer);
            let checkpoint = Checkpoint::none(&store);
            Executor::new(context, Begin::Resumed, checkpoint).finish()?;
        }
        self.output.finish()?;
        // Remove the files of processes that ended while they checked whether the output can be written.
        if let Some(folder) = Output::folder(&self.path) {
            forget(&folder, &Output::tag(&self.path), is_check);
        }
        Ok(())
    }
}

const GONE: &str = "the results of earlier tasks are gone: plan the tasks again";

const GONE_IN_PLACE: &str = "the results of earlier tasks are gone, and the output is the input, which they may \
                             have moved already: check the file before you plan the tasks again";

/// Creates the intermediate that a pass writes, unless the pass is the last one.
fn reserve(group: &TaskGroup, job: &Job, output: &SharedOutput) -> io::Result<()> {
    let (pass, passes) = group.pass;
    if pass + 1 == passes {
        return Ok(());
    }
    let file = output.work_file(&key_of(group.tasks[0].tensor, &key_of_pass(pass)))?;
    Blob::resize(&file, group.intermediate_bytes(job, pass))
}

fn key_of(tensor: usize, key: &str) -> String {
    format!("{tensor}-{key}")
}

fn key_of_task(number: usize) -> String {
    format!("task-{number}")
}

struct WorkFiles<'a> {
    output: &'a SharedOutput,
    tensor: usize,
}

impl BlobStore for WorkFiles<'_> {
    fn open(&self, key: &str, _: Begin) -> Result<Box<dyn Blob>, FileProblem> {
        let file = self.output.work_file(&key_of(self.tensor, key));
        Ok(Box::new(file.map_err(|source| FileProblem::Io { doing: "open", source })?))
    }

    fn unnamed(&self) -> io::Result<Box<dyn Blob>> {
        Ok(Box::new(tempfile::tempfile()?))
    }

    fn keep(&self, _: bool) {}

    fn remove(&self, _: &str) {}
}
