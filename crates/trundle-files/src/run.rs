//! Runs decided work, and describes the result.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use trundle_disk::{Finished, Job, Observer, PlanOptions, RunOptions, Source, TensorJob};
use trundle_formats::Shown;

use crate::decide::{Decided, Decision};
use crate::failure::{Failure, Setting};
use crate::forecast::{counted, first_lines};
use crate::names::listed;
use crate::numbers::readable;
use crate::output::shown_output;
use crate::{addition, axes, left_out, relayout};

/// The result of decided work.
#[non_exhaustive]
pub struct Outcome {
    output: String,
    /// A JSON object for each output tensor, for `--json`.
    pub outputs: Vec<Value>,
    /// The largest number of passes of a tensor.
    pub passes: usize,
    /// The number of bytes that were written.
    pub bytes_written: u64,
    /// The time, and whether the output was verified or resumed.
    pub ran: trundle_disk::Outcome,
    /// Whether elements keep their positions and only the header states the new axis order.
    by_header: bool,
    left_out: usize,
    /// Warnings, which are printed even with `--quiet`: metadata and codecs that the output lacks, and attributes that
    /// differ between the inputs.
    pub warnings: Vec<String>,
    more: Value,
    /// The lines about tensors that relayout rules name, and [`relayout::Relaid::counts`].
    relaid: Option<(Vec<String>, [usize; 3])>,
}

impl Decided {
    /// Runs the work. If there are several outputs, none gets its name before all are complete.
    ///
    /// # Errors
    /// If a file cannot be read or written, or a verification fails. Unfinished outputs are removed, unless a later run
    /// can resume them.
    pub fn run(mut self, observer: &dyn Observer) -> Result<Outcome, Failure> {
        if self.outputs.is_empty() {
            return Err(Failure::usage("an output is missing"));
        }
        let mut outcome = self.outcome();
        let Decided { decision, options, jobs, outputs, request, .. } = self;
        let mut sources = crate::input::sources(&mut self.opened, &self.inputs);
        let existing = self.existing.as_mut();
        let existing = existing.map(|own| Source { file: &mut own.file, path: own.input.path() });
        if let Decision::Join(joined) = &decision {
            // A comparison does not write, so these options do not apply.
            let (chunks, shards, codecs, undecoded) = (None, None, None, Vec::new());
            let options = PlanOptions {
                chunks,
                shards,
                codecs,
                undecoded,
                metadata_only: false,
                addition: None,
                ..options
            };
            joined.check_kept(&mut sources, &options, observer)?;
        }
        let options = RunOptions {
            overwrite: request.output.overwrite,
            verify: request.output.verify,
            // An addition begins again: it was not complete.
            resume: request.output.resume && existing.is_none(),
        };
        sources.extend(existing);
        let jobs = jobs.into_iter().zip(outputs).collect();
        outcome.ran = run_jobs(jobs, &mut sources, options, observer)?;
        Ok(outcome)
    }

    /// Returns the outcome without the fields that are known only after the run.
    fn outcome(&self) -> Outcome {
        let Decided { jobs, outputs, decision, .. } = self;
        let all = || jobs.iter().zip(outputs);
        let described = all().flat_map(|(job, path)| {
            job.tensors().iter().map(|tensor| described(tensor, path)).collect::<Vec<_>>()
        });
        let mut described: Vec<Value> = described.collect();
        let mut relaid = None;
        if let Decision::Relayout(own) = decision {
            let each = described.iter_mut().zip(&own.fates);
            each.for_each(|(output, fate)| add(output, fate.report()));
            relaid = Some((self.relaid_lines(own), own.counts()));
        } else {
            let kept = described.iter_mut().zip(decision.kept()).filter(|(_, is_kept)| *is_kept);
            kept.for_each(|(output, _)| output["kept"] = true.into());
        }
        let is_by_header = |job: &Job| matches!(job.tensors(), [only] if only.is_by_header());
        let output = shown_output(self.request.output.path.as_deref().unwrap_or(Path::new("")));
        let (warnings, more) = self.losses(&output);
        Outcome {
            outputs: described,
            passes: jobs.iter().flat_map(Job::tensors).map(TensorJob::passes).max().unwrap_or(0),
            bytes_written: jobs.iter().map(|job| job.cost().bytes_written).sum(),
            ran: trundle_disk::Outcome::default(),
            by_header: jobs.iter().all(is_by_header),
            left_out: decision.left_out(&self.opened),
            warnings,
            more,
            relaid,
            output,
        }
    }

    /// Describes what the output does not keep, as warnings and as fields of the report.
    fn losses(&self, output: &str) -> (Vec<String>, Value) {
        let read: u64 = self.jobs.iter().map(|job| job.cost().bytes_read).sum();
        let mut more = json!({ "bytes_read": read });
        let lost = self.jobs[0].left_out();
        let mut warnings = left_out::lines(lost);
        let keys: Vec<&String> = lost.metadata.iter().chain(&self.untrue).collect();
        if !keys.is_empty() {
            let axes = match keys.iter().any(|key| *key == axes::KEY) {
                true => {
                    "; without the recorded axes, relayout cannot tell which tensors it has already moved"
                }
                false => "",
            };
            let why = match lost.metadata.is_empty() {
                true => "metadata about the axis order no longer applies",
                false => "the format stores no metadata",
            };
            warnings.push(format!("{why}; left out: {}{axes}", listed(keys.iter())));
            more["metadata_left_out"] = json!(keys);
        }
        if let Some(left_out) = left_out::report(lost) {
            more["tensor_metadata_left_out"] = left_out;
        }
        let differ = match &self.decision {
            Decision::Join(joined) => joined.attributes_differ(),
            _ => Vec::new(),
        };
        let codecs: BTreeSet<&str> = self.jobs.iter().flat_map(Job::codecs_not_kept).collect();
        if !codecs.is_empty() {
            warnings.push(not_kept(codecs.iter()));
            more["codecs_not_kept"] = json!(codecs);
        }
        if !differ.is_empty() {
            more["attributes_differ"] = json!(differ);
            let names = listed(differ.iter());
            warnings.push(format!(
                "attributes differ between the files; the output has the values of the first file: {names}"
            ));
        }
        (warnings.into_iter().map(|warning| format!("{output}: {warning}")).collect(), more)
    }
}

/// Runs jobs on the same files, each with its own output. No output gets its name before all are complete.
///
/// # Errors
/// The errors of [`Decided::run`].
pub fn run_jobs(
    jobs: Vec<(Job, PathBuf)>,
    sources: &mut [Source<'_>],
    options: RunOptions,
    observer: &dyn Observer,
) -> Result<trundle_disk::Outcome, Failure> {
    let watched = Watched { observer, is_resumable: AtomicBool::new(false) };
    let prepared =
        jobs.into_iter().map(|(job, path)| job.prepare(sources, &path, options, &watched));
    let prepared = prepared.collect::<Result<Vec<Finished>, _>>();
    let done = prepared.and_then(|prepared| Finished::finish(prepared, &watched));
    done.map_err(|error| match watched.is_resumable.load(Ordering::Relaxed) {
        true => Failure::from(error).with_setting(Setting::Resume, "continues it"),
        false => Failure::from(error),
    })
}

/// Records whether a later run could resume the work, and forwards all calls.
struct Watched<'a> {
    observer: &'a dyn Observer,
    is_resumable: AtomicBool,
}

impl Observer for Watched<'_> {
    fn phase(&self, name: &str, bytes: u64) {
        self.observer.phase(name, bytes);
    }

    fn advance(&self, bytes: u64) {
        self.observer.advance(bytes);
    }

    fn is_stopped(&self) -> bool {
        self.observer.is_stopped()
    }

    fn resumable(&self, is: bool) {
        self.is_resumable.store(is, Ordering::Relaxed);
        self.observer.resumable(is);
    }
}

impl Outcome {
    /// Describes the result for people. `seconds` is the total time.
    pub fn lines(&self, seconds: f64) -> Vec<String> {
        let (file, how) = (&self.output, self.how(seconds));
        if let Some((lines, counts)) = &self.relaid {
            let last = format!("{file}: {}{how}", relayout::in_words(*counts));
            return first_lines(lines.iter().cloned()).chain([last]).collect();
        }
        let several = self.outputs.len() > 1;
        let files: BTreeSet<Option<&str>> =
            self.outputs.iter().map(|output| output["file"].as_str()).collect();
        let is_moved =
            |output: &&Value| output["kept"].is_null() && output["copied_as_stored"].is_null();
        let moved = || self.outputs.iter().filter(is_moved);
        let lines = moved().map(|output| {
            let name = output["name"].as_str().filter(|_| self.outputs.len() > files.len());
            let file = shown_output(Path::new(output["file"].as_str().unwrap_or_default()));
            format!(
                "{file}: {}{} {}, {}{}",
                name.map(|name| format!("{} ", Shown(name))).unwrap_or_default(),
                output["dtype"].as_str().unwrap_or_default(),
                output["shape"],
                readable(output["bytes"].as_u64().unwrap_or_default()),
                if several { "" } else { &how },
            )
        });
        let mut lines: Vec<String> = first_lines(lines).collect();
        let (moved, tensors) = (moved().count(), self.outputs.len());
        if files.len() > 1 {
            lines.push(format!("{file}: {}{how}", counted(files.len(), "file")));
        } else if tensors != 1 {
            let kept = match tensors - moved {
                0 => String::new(),
                kept => format!(", {kept} copied unchanged,"),
            };
            lines.push(format!("{file}: {tensors} tensors{kept}{how}"));
        }
        lines
    }

    /// Describes the result as JSON.
    pub fn report(&self, seconds: f64) -> Value {
        let mut report = json!({
            "outputs": self.outputs,
            "passes": self.passes,
            "seconds": seconds,
            "move_seconds": self.ran.move_seconds,
            "bytes_read": self.more["bytes_read"],
            "bytes_written": self.bytes_written,
            "resumed": self.ran.resumed,
        });
        if self.ran.verified {
            report["verified"] = true.into();
        }
        if self.left_out > 0 {
            report["left_out"] = self.left_out.into();
        }
        add(&mut report, self.more.clone());
        if let Some((_, [moved, already, copied])) = self.relaid {
            report["moved"] = moved.into();
            report["already"] = already.into();
            report["copied"] = copied.into();
        }
        report
    }

    fn how(&self, seconds: f64) -> String {
        format!(
            " in {}, {seconds:.2} s{}{}{}{}",
            counted(self.passes, "pass"),
            if self.ran.resumed { ", resumed" } else { "" },
            if self.ran.verified { ", verified" } else { "" },
            match self.left_out {
                0 => String::new(),
                count => format!("; {} left out", counted(count, "tensor")),
            },
            if self.by_header {
                "; the elements stay where they are and the header says column-major (--row-major moves them)"
            } else {
                ""
            },
        )
    }
}

pub(crate) fn not_kept(codecs: impl Iterator<Item = impl AsRef<str>>) -> String {
    let codecs: Vec<String> = codecs.map(|codec| Shown(codec.as_ref()).to_string()).collect();
    format!("codecs of the source are not kept: {}", codecs.join("; "))
}

pub(crate) fn add(report: &mut Value, more: Value) {
    if let (Some(report), Value::Object(more)) = (report.as_object_mut(), more) {
        report.extend(more);
    }
}

fn described(tensor: &TensorJob, file: &Path) -> Value {
    let mut described = json!({
        "name": tensor.name(),
        "file": file.to_string_lossy(),
        "dtype": tensor.element().name(),
        "shape": tensor.out_shape().sizes(),
        "bytes": tensor.out_bytes(),
    });
    if tensor.is_undecoded() {
        // The size of encoded chunks is not known.
        described["bytes"] = Value::Null;
        described["copied_as_stored"] = true.into();
    }
    if let Some(place) = addition::report(tensor) {
        add(&mut described, place);
    }
    described
}
