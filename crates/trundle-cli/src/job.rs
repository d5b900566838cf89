//! A movement from a file to a file: asked for, decided, carried out, reported.

use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use trundle_disk::{Conduct, Cost, Device, Job, Options, TensorJob, Wanted};
use trundle_formats::{Format, TensorFile, check_output};

use crate::args::{DeviceArg, MeansArgs, MoveArgs, WriteArgs};
use crate::axes;
use crate::failure::Failure;
use crate::memory;
use crate::numbers::readable;
use crate::operation::Operation;
use crate::progress::Progress;
use crate::say::{print_json, say};
use crate::selection::fitting;

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
    /// What was asked of the disk.
    pub cost: Cost,
    /// One entry for each tensor of the output, as `--json` has it.
    pub outputs: Vec<serde_json::Value>,
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
    report(&outcome, moving, start.elapsed().as_secs_f64())
}

/// Says what a movement came to.
///
/// # Errors
/// If stdout does not take it.
pub(crate) fn report(outcome: &Outcome, moving: &MoveArgs, seconds: f64) -> Result<(), Failure> {
    if moving.planning.means.json {
        return print_json(&report_of(outcome, seconds));
    }
    let writing = &moving.writing;
    if writing.quiet {
        return Ok(());
    }
    let streamed = writing.output == Path::new("-");
    for output in &outcome.outputs {
        let file = if streamed { "stdout" } else { output["file"].as_str().unwrap_or_default() };
        let several = outcome.outputs.len() > 1;
        let name = output["name"].as_str().filter(|_| several);
        say(&format!(
            "{file}: {}{} {}, {}{}",
            name.map(|name| format!("{name} ")).unwrap_or_default(),
            output["dtype"].as_str().unwrap_or_default(),
            output["shape"],
            readable(output["bytes"].as_u64().unwrap_or_default()),
            if several { String::new() } else { how(outcome, seconds) },
        ));
    }
    if outcome.outputs.len() != 1 {
        let file = if streamed { "stdout".into() } else { writing.output.to_string_lossy() };
        let tensors = outcome.outputs.len();
        say(&format!("{file}: {tensors} tensors{}", how(outcome, seconds)));
    }
    Ok(())
}

/// What a movement came to, as `--json` has it.
pub(crate) fn report_of(outcome: &Outcome, seconds: f64) -> serde_json::Value {
    let mut report = json!({
        "outputs": outcome.outputs,
        "passes": outcome.passes,
        "seconds": seconds,
        "move_seconds": outcome.move_seconds,
        "bytes_read": outcome.cost.bytes_read,
        "bytes_written": outcome.cost.bytes_written,
        "resumed": outcome.resumed,
    });
    if outcome.verified {
        report["verified"] = true.into();
    }
    report
}

/// In how many passes and seconds it was done, and what else there is to say of it.
pub(crate) fn how(outcome: &Outcome, seconds: f64) -> String {
    format!(
        " in {} pass{}, {seconds:.2} s{}{}{}",
        outcome.passes,
        if outcome.passes == 1 { "" } else { "es" },
        if outcome.resumed { ", resumed" } else { "" },
        if outcome.verified { ", verified" } else { "" },
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
        return Err(Failure::usage("--json prints on stdout, where -o - puts the tensor"));
    }
    if streamed && stdout().is_terminal() {
        return Err(Failure::usage("-o - puts the tensor's bytes on stdout, which is a terminal"));
    }
    if streamed && writing.verify {
        return Err(Failure::usage("--verify reads the output back, which stdout cannot do"));
    }
    let is_special =
        |path: &Path| path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if writing.verify && is_special(&writing.output) {
        let output = writing.output.display();
        return Err(Failure::usage(format!(
            "{output}: --verify reads the output back, which only a file can do"
        )));
    }
    Ok(())
}

/// Moves a file's tensors to another file.
///
/// # Errors
/// As [`run`].
pub(crate) fn carry_out(operation: &Operation, moving: &MoveArgs) -> Result<Outcome, Failure> {
    let (writing, planning) = (&moving.writing, &moving.planning);
    check_output(&writing.output, writing.force)?;
    let mut file = operation.input.open()?;
    let format = Format::of(&writing.output)?;
    let chosen = fitting(operation, file.headers(), planning.tensor.as_deref())?;
    let metadata = axes::still_true(&file, &chosen, &operation.chain);
    let wanted: Vec<Wanted<'_>> =
        chosen.into_iter().map(|index| Wanted { index, chain: &operation.chain }).collect();
    let job = decide(operation.lengths_bytes, &planning.means, planning.row_major, |options| {
        Job::new(&file, &wanted, format, &metadata, options)
    })?;
    run_job(job, &mut file, operation.input.path(), writing, planning.means.json)
}

/// Decides a job within the memory that may be used, of which `held` bytes are taken already.
///
/// # Errors
/// If the memory is not enough, and what `decided` refuses.
pub(crate) fn decide(
    held: u64,
    means: &MeansArgs,
    row_major: bool,
    decided: impl FnOnce(&Options) -> Result<Job, trundle_disk::Error>,
) -> Result<Job, Failure> {
    memory::check(held, means.max_mem)?;
    let device = match means.device {
        Some(DeviceArg::Kind(device)) => Some(device),
        Some(DeviceArg::Measure) => {
            Device::forget_measured().map_err(|error| {
                Failure::running(format!("cannot forget what was measured of disks: {error}"))
            })?;
            None
        }
        None => None,
    };
    let options = Options {
        max_bytes: memory::limit(means.max_mem).saturating_sub(held),
        device,
        threads: means.threads,
        row_major,
    };
    Ok(decided(&options)?)
}

/// Carries a job out.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_job(
    job: Job,
    file: &mut TensorFile,
    input: &Path,
    writing: &WriteArgs,
    json: bool,
) -> Result<Outcome, Failure> {
    let WriteArgs { output, force, verify, resume, quiet } = writing;
    let conduct = Conduct { overwrite: *force, verify: *verify, resume: *resume };
    let outputs = job.tensors().iter().map(|tensor| described(tensor, output)).collect();
    let passes = job.tensors().iter().map(TensorJob::passes).max().unwrap_or(0);
    let by_header = matches!(job.tensors(), [only] if only.is_by_header());
    let cost = job.cost();
    let progress = match json {
        true => Progress::events(*quiet),
        false => Progress::new(*quiet),
    };
    let done = job.run(file, input, output, conduct, &progress);
    progress.finish();
    let done = done.map_err(|error| {
        let failure = Failure::from(error);
        if progress.is_resumable() {
            failure.with_hint("--resume goes on with it")
        } else {
            failure
        }
    })?;
    Ok(Outcome {
        passes,
        move_seconds: done.move_seconds,
        verified: done.verified,
        resumed: done.resumed,
        by_header,
        cost,
        outputs,
    })
}

fn described(tensor: &TensorJob, file: &Path) -> serde_json::Value {
    let header = tensor.header();
    json!({
        "name": header.name,
        "file": file.to_string_lossy(),
        "dtype": header.element.name(),
        "shape": tensor.out_shape().sizes(),
        "bytes": tensor.out_bytes(),
    })
}
