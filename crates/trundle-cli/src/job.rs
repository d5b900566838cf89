//! A movement from a file to a file: asked for, decided, carried out, reported.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use trundle_disk::{Finished, Job, LeftOut, PlanOptions, RunOptions, Source, Storage, TensorJob};
use trundle_formats::{FORMATS, Format, Output, Problem, Shown, TensorFile, is_url};

use crate::args::{ChunkArgs, MeansArgs, MoveArgs, StorageArg, WriteArgs};
use crate::axes;
use crate::coordinates;
use crate::failure::Failure;
use crate::forecast::{counted, first_lines};
use crate::input::{Input, sources};
use crate::left_out;
use crate::memory;
use crate::numbers::{Bytes, readable};
use crate::operation::Operation;
use crate::progress::Progress;
use crate::say::{print_json, say};
use crate::selection::{Choice, listed, shown_path};
use crate::signals;

/// What a movement came to.
pub(crate) struct Outcome {
    /// The most passes that a tensor took.
    pub passes: usize,
    /// Seconds for moving alone, without reading and writing.
    pub move_seconds: f64,
    /// Whether the output was read back and found to be what was read.
    pub verified: bool,
    /// Whether it went on with what an earlier run had left.
    pub resumed: bool,
    /// Whether the header alone says the new order of the axes.
    pub by_header: bool,
    /// The bytes that are read from files.
    pub bytes_read: u64,
    /// The bytes that are written to them.
    pub bytes_written: u64,
    /// One entry for each tensor of the output, as `--json` has it.
    pub outputs: Vec<serde_json::Value>,
    /// How many tensors of the input are not in the output.
    pub left_out: usize,
    /// The metadata that the output's format has no place for.
    pub lost: LeftOut,
    /// The keys of metadata that would be false in the output, which does not have them.
    pub untrue: Vec<String>,
    /// The codecs of the source that the output does not have, each with what is in its place.
    pub codecs_not_kept: Vec<String>,
    /// The tensors whose attributes are those of the first file, and others in another.
    pub attributes_differ: Vec<String>,
}

/// Moves a file's tensors to another file, and says so.
///
/// # Errors
/// Everything that can be known before is checked before the data is read; nothing is left of an
/// output that failed but what `--resume` can go on with.
pub(crate) fn run(operation: &Operation, moving: &MoveArgs) -> Result<(), Failure> {
    let start = Instant::now();
    check_streams(&moving.writing, moving.planning.means.json)?;
    let outcome = carry_out(operation, moving)?;
    let (writing, json) = (&moving.writing, moving.planning.means.json);
    report(&outcome, writing, json, start.elapsed().as_secs_f64())
}

/// Says what a movement came to.
///
/// # Errors
/// If stdout does not take it.
pub(crate) fn report(
    outcome: &Outcome,
    writing: &WriteArgs,
    json: bool,
    seconds: f64,
) -> Result<(), Failure> {
    if json {
        return print_json(&report_of(outcome, seconds));
    }
    warn_of_metadata(outcome, &writing.output);
    warn_of_codecs(outcome, &writing.output);
    warn_of_attributes(outcome, &writing.output);
    if writing.quiet {
        return Ok(());
    }
    let file = shown_output(&writing.output);
    let several = outcome.outputs.len() > 1;
    let files: BTreeSet<Option<&str>> =
        outcome.outputs.iter().map(|output| output["file"].as_str()).collect();
    let moved = || outcome.outputs.iter().filter(|output| output["kept"].is_null());
    let lines = moved().map(|output| {
        let name = output["name"].as_str().filter(|_| outcome.outputs.len() > files.len());
        let file = shown_output(Path::new(output["file"].as_str().unwrap_or_default()));
        format!(
            "{file}: {}{} {}, {}{}",
            name.map(|name| format!("{} ", Shown(name))).unwrap_or_default(),
            output["dtype"].as_str().unwrap_or_default(),
            output["shape"],
            readable(output["bytes"].as_u64().unwrap_or_default()),
            if several { String::new() } else { how(outcome, seconds) },
        )
    });
    first_lines(lines).for_each(|line| say(&line));
    let (moved, tensors) = (moved().count(), outcome.outputs.len());
    if files.len() > 1 {
        let files = counted(files.len(), "file");
        say(&format!("{file}: {files}{}", how(outcome, seconds)));
    } else if tensors != 1 {
        let kept = match tensors - moved {
            0 => String::new(),
            1 => ", 1 of them kept as it is,".to_owned(),
            kept => format!(", {kept} of them kept as they are,"),
        };
        say(&format!("{file}: {tensors} tensors{kept}{}", how(outcome, seconds)));
    }
    Ok(())
}

/// Names the metadata that the output does not have, also to those who want to hear of nothing else.
pub(crate) fn warn_of_metadata(outcome: &Outcome, output: &Path) {
    let (file, keys) = (shown_output(output), outcome.metadata_left_out());
    for line in left_out::lines(&outcome.lost) {
        say(&format!("warning: {file}: {line}"));
    }
    if keys.is_empty() {
        return;
    }
    let axes = match keys.iter().any(|key| *key == axes::KEY) {
        true => {
            "; without the record of axes in it, relayout cannot tell what it has already moved"
        }
        false => "",
    };
    let keys = listed(keys.iter());
    let why = match outcome.lost.metadata.is_empty() {
        true => "metadata about the axis order no longer applies",
        false => "the format keeps no metadata",
    };
    say(&format!("warning: {file}: {why}; left out: {keys}{axes}"));
}

/// Names the codecs of the source that the output does not have, also to those who want to hear of nothing
/// else.
pub(crate) fn warn_of_codecs(outcome: &Outcome, output: &Path) {
    if !outcome.codecs_not_kept.is_empty() {
        let (file, codecs) = (shown_output(output), not_kept(outcome.codecs_not_kept.iter()));
        say(&format!("warning: {file}: {codecs}"));
    }
}

/// Names the tensors whose attributes are not the same in all files, also to those who want to hear of nothing else.
fn warn_of_attributes(outcome: &Outcome, output: &Path) {
    if !outcome.attributes_differ.is_empty() {
        let (file, names) = (shown_output(output), listed(outcome.attributes_differ.iter()));
        say(&format!(
            "warning: {file}: attributes that are not the same in all files are those of the first: {names}"
        ));
    }
}

/// That codecs are not kept.
pub(crate) fn not_kept(codecs: impl Iterator<Item = impl AsRef<str>>) -> String {
    let codecs: Vec<String> = codecs.map(|codec| Shown(codec.as_ref()).to_string()).collect();
    format!("codecs of the source are not kept: {}", codecs.join("; "))
}

/// What messages call an output.
fn shown_output(path: &Path) -> String {
    match path == Path::new("-") {
        true => "stdout".to_owned(),
        false => shown_path(path).to_string(),
    }
}

/// Writes a file, whole or not at all.
///
/// # Errors
/// If it exists, and `force` does not say to overwrite it, or if it cannot be written.
pub(crate) fn write_with(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut output = Output::create(path, force)?;
    write(&mut output).map_err(|error| {
        let file = if path == Path::new("-") { "stdout".into() } else { path.to_string_lossy() };
        let problem = Problem::Io { doing: "write", source: error };
        trundle_formats::Error { file: file.into_owned(), problem }
    })?;
    Ok(output.finish()?)
}

/// What a movement came to, as `--json` has it.
pub(crate) fn report_of(outcome: &Outcome, seconds: f64) -> serde_json::Value {
    let mut report = json!({
        "outputs": outcome.outputs,
        "passes": outcome.passes,
        "seconds": seconds,
        "move_seconds": outcome.move_seconds,
        "bytes_read": outcome.bytes_read,
        "bytes_written": outcome.bytes_written,
        "resumed": outcome.resumed,
    });
    if outcome.verified {
        report["verified"] = true.into();
    }
    if outcome.left_out > 0 {
        report["left_out"] = outcome.left_out.into();
    }
    let metadata = outcome.metadata_left_out();
    if !metadata.is_empty() {
        report["metadata_left_out"] = json!(metadata);
    }
    if let Some(left_out) = left_out::report(&outcome.lost) {
        report["tensor_metadata_left_out"] = left_out;
    }
    if !outcome.attributes_differ.is_empty() {
        report["attributes_differ"] = json!(outcome.attributes_differ);
    }
    if !outcome.codecs_not_kept.is_empty() {
        report["codecs_not_kept"] = json!(outcome.codecs_not_kept);
    }
    report
}

/// In how many passes and seconds it was done, and what else there is to say of it.
pub(crate) fn how(outcome: &Outcome, seconds: f64) -> String {
    format!(
        " in {}, {seconds:.2} s{}{}{}{}",
        counted(outcome.passes, "pass"),
        if outcome.resumed { ", resumed" } else { "" },
        if outcome.verified { ", verified" } else { "" },
        match outcome.left_out {
            0 => String::new(),
            count => format!("; {} left out", counted(count, "tensor")),
        },
        if outcome.by_header {
            "; the elements stay where they are and the header says column-major (--row-major moves them)"
        } else {
            ""
        },
    )
}

/// stdout holds either the tensor or the report, and cannot be read back.
///
/// # Errors
/// If it should do both, or be read back.
pub(crate) fn check_streams(writing: &WriteArgs, json: bool) -> Result<(), Failure> {
    let streamed = writing.output == Path::new("-");
    if streamed && json {
        return Err(Failure::usage("--json and -o - cannot both write to stdout"));
    }
    if streamed && stdout().is_terminal() {
        return Err(Failure::usage("-o - puts the tensor's bytes on stdout, which is a terminal"));
    }
    if streamed && writing.verify {
        return Err(Failure::usage("--verify reads the output back, which stdout cannot do"));
    }
    if writing.verify && is_special(&writing.output) {
        let output = shown_path(&writing.output);
        return Err(Failure::usage(format!(
            "{output}: --verify reads the output back, which only a file can do"
        )));
    }
    Ok(())
}

/// Whether there is something that is neither a file nor a folder, as a device or a pipe.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Moves a file's tensors to another file.
///
/// # Errors
/// As [`run`].
pub(crate) fn carry_out(operation: &Operation, moving: &MoveArgs) -> Result<Outcome, Failure> {
    let (writing, planning) = (&moving.writing, &moving.planning);
    let format = output_format(&writing.output, writing.to, operation.input.path())?;
    let mut opened = operation.open()?;
    let format = format.unwrap_or(opened[0].format());
    check_output(format, writing)?;
    let choice = Choice::of(operation, &opened, planning, format)?;
    coordinates::warn(operation, opened[0].headers(), &choice, planning, writing.quiet);
    let (metadata, untrue) = axes::still_true(&opened[0], &choice);
    let wanted = choice.wanted();
    let means = &planning.means;
    let paths = operation.inputs().map(Input::path);
    let means = &means.among(paths.chain([&*writing.output]));
    let held = choice.held_bytes(operation, means)?;
    let job = decide(held, means, planning.row_major, &writing.chunking, |options| {
        let files: Vec<&TensorFile> = opened.iter().collect();
        Job::new(&files, &wanted, format, &metadata, options)
    });
    let job = job.map_err(|failure| {
        match planning.tensor.is_none() || wanted.iter().all(|each| choice.is_moved(each.index)) {
            true => failure,
            false => failure.with_option("--only", "leaves out what --tensor does not name"),
        }
    })?;
    let kept: Vec<bool> = wanted.iter().map(|each| !choice.is_moved(each.index)).collect();
    let mut sources = sources(&mut opened, operation.inputs());
    let mut outcome = run_job(job, &mut sources, writing, planning.means.json)?;
    for (output, kept) in outcome.outputs.iter_mut().zip(kept) {
        if kept {
            output["kept"] = true.into();
        }
    }
    outcome.left_out = choice.left_out;
    outcome.untrue = untrue;
    Ok(outcome)
}

/// Checks that an output of this format can be written.
///
/// # Errors
/// If it exists and may not be overwritten, or has no folder.
pub(crate) fn check_output(format: &Format, writing: &WriteArgs) -> Result<(), Failure> {
    check_output_at(&writing.output, format, writing)
}

/// The same of an output at this path.
///
/// # Errors
/// As [`check_output`].
pub(crate) fn check_output_at(
    path: &Path,
    format: &Format,
    writing: &WriteArgs,
) -> Result<(), Failure> {
    // In a bucket there is what is gone on with, and nothing else.
    if writing.resume && is_url(path) {
        return Ok(());
    }
    Ok(Output::check_as(format, path, writing.force)?)
}

/// The format of an output: as it is asked for, else by its ending, .npy for what is no file. An
/// ending that no format has, and that is also the input's, is `None`: of the input's format.
///
/// # Errors
/// If the ending is unknown.
pub(crate) fn output_format(
    path: &Path,
    to: Option<&'static Format>,
    input: &Path,
) -> Result<Option<&'static Format>, Failure> {
    if let Some(format) = to.or_else(|| Format::of_ending(path)) {
        return Ok(Some(format));
    }
    if is_special(path) {
        return Ok(Some(Format::of(Path::new("-"))?));
    }
    if path.is_dir() {
        // Which is what is wrong with it, whatever its name.
        Output::check(path, true)?;
    }
    if path.extension().is_some() && path.extension() == input.extension() {
        return Ok(None);
    }
    let failure =
        |error| Failure::from(error).with_option("--to FORMAT", "says what is to be written");
    Format::of(path).map(Some).map_err(failure)
}

/// The format of an output of which nothing is said: the input's, or one that holds several tensors too
/// where that is not written.
pub(crate) fn format_like(file: &TensorFile) -> &'static Format {
    let written = || FORMATS.iter().find(|format| format.is_written() && !format.holds_one());
    Some(file.format()).filter(|format| format.is_written()).or_else(written).unwrap_or(&FORMATS[0])
}

/// Decides a job within the memory that may be used, of which `held` bytes are taken already.
///
/// # Errors
/// If the memory is not enough, and what `decided` refuses.
pub(crate) fn decide(
    held: u64,
    means: &MeansArgs,
    row_major: bool,
    chunking: &ChunkArgs,
    decided: impl FnOnce(&PlanOptions) -> Result<Job, trundle_disk::Error>,
) -> Result<Job, Failure> {
    let options = plan_options(held, means.max_mem, means.storage, means.threads)?;
    let ChunkArgs { chunks, shards, codec: codecs, metadata_only } = chunking.clone();
    let options = PlanOptions { row_major, chunks, shards, codecs, metadata_only, ..options };
    Ok(decided(&options)?)
}

/// What a job may use, of which `held` bytes of memory are taken already.
///
/// # Errors
/// If the memory is not enough for that.
pub(crate) fn plan_options(
    held: u64,
    max_mem: Option<Bytes>,
    storage: Option<StorageArg>,
    threads: Option<usize>,
) -> Result<PlanOptions, Failure> {
    memory::check(held.saturating_add(memory::least()), max_mem)?;
    let storage = match storage {
        Some(StorageArg::Kind(storage)) => Some(storage),
        Some(StorageArg::Measure) => {
            Storage::forget_measured().map_err(|error| {
                Failure::running(format!(
                    "cannot remove the remembered measurements of disks: {error}"
                ))
            })?;
            None
        }
        None => None,
    };
    let max_bytes = memory::limit(max_mem);
    let held_bytes = memory::beside(held, max_bytes);
    Ok(PlanOptions {
        max_bytes,
        held_bytes,
        storage,
        threads,
        row_major: false,
        chunks: None,
        shards: None,
        codecs: None,
        metadata_only: false,
    })
}

/// Carries a job out.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_job(
    job: Job,
    sources: &mut [Source<'_>],
    writing: &WriteArgs,
    json: bool,
) -> Result<Outcome, Failure> {
    run_jobs(vec![(job, writing.output.clone())], sources, writing, json)
}

/// Carries out jobs of the same files, each with its output. None of these appears before all are whole.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_jobs(
    jobs: Vec<(Job, PathBuf)>,
    sources: &mut [Source<'_>],
    writing: &WriteArgs,
    json: bool,
) -> Result<Outcome, Failure> {
    let WriteArgs { force, verify, resume, quiet, .. } = writing;
    let options = RunOptions { overwrite: *force, verify: *verify, resume: *resume };
    let all: Vec<(&Job, &Path)> = jobs.iter().map(|(job, path)| (job, &**path)).collect();
    let mut outcome = Outcome::of(&all);
    let progress = match json {
        true => Progress::events(*quiet),
        false => Progress::new(*quiet),
    };
    let is_store = all.iter().any(|(job, _)| job.writes_store());
    signals::when_stopped(is_store.then_some(signals::STORE));
    let prepared =
        jobs.into_iter().map(|(job, path)| job.prepare(sources, &path, options, &progress));
    let prepared = prepared.collect::<Result<Vec<Finished>, _>>();
    let done = prepared.and_then(|prepared| Finished::finish(prepared, &progress));
    progress.finish();
    let done = done.map_err(|error| progress.failure(error))?;
    outcome.move_seconds = done.move_seconds;
    outcome.verified = done.verified;
    outcome.resumed = done.resumed;
    Ok(outcome)
}

impl Outcome {
    /// Returns the result of jobs, each with its output, without what only running them tells.
    fn of(jobs: &[(&Job, &Path)]) -> Outcome {
        let tensors = jobs.iter().flat_map(|(job, _)| job.tensors());
        let is_by_header =
            |(job, _): &(&Job, &Path)| matches!(job.tensors(), [only] if only.is_by_header());
        let costs = jobs.iter().map(|(job, _)| job.cost());
        let outputs = jobs
            .iter()
            .flat_map(|(job, output)| job.tensors().iter().map(|tensor| described(tensor, output)));
        let not_kept: BTreeSet<&str> =
            jobs.iter().flat_map(|(job, _)| job.codecs_not_kept()).collect();
        Outcome {
            passes: tensors.map(TensorJob::passes).max().unwrap_or(0),
            move_seconds: 0.0,
            verified: false,
            resumed: false,
            by_header: jobs.iter().all(is_by_header),
            bytes_read: costs.clone().map(|cost| cost.bytes_read).sum(),
            bytes_written: costs.map(|cost| cost.bytes_written).sum(),
            outputs: outputs.collect(),
            left_out: 0,
            // All jobs are of the same tensors.
            lost: jobs.first().map(|(job, _)| job.left_out().clone()).unwrap_or_default(),
            untrue: Vec::new(),
            codecs_not_kept: not_kept.into_iter().map(str::to_owned).collect(),
            attributes_differ: Vec::new(),
        }
    }

    /// The keys of the file's metadata that the output does not have.
    fn metadata_left_out(&self) -> Vec<&String> {
        self.lost.metadata.iter().chain(&self.untrue).collect()
    }
}

fn described(tensor: &TensorJob, file: &Path) -> serde_json::Value {
    json!({
        "name": tensor.name(),
        "file": file.to_string_lossy(),
        "dtype": tensor.element().name(),
        "shape": tensor.out_shape().sizes(),
        "bytes": tensor.out_bytes(),
    })
}
