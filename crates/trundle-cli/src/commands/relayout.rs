//! `trundle relayout`, and `trundle plan relayout`.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use trundle::Shape;
use trundle_disk::{Job, Source, Wanted};
use trundle_formats::{FORMATS, Format, Header, Output, Shown, TensorFile};

use super::plan::{cost_report, files_text, passes_report};
use crate::args::{ChunkArgs, DryRunArgs, MeansArgs, RelayoutArgs, WriteArgs};
use crate::axes::{Axes, Record};
use crate::failure::Failure;
use crate::forecast::{self, first_lines, sentence};
use crate::job::{self, Outcome};
use crate::rule::{Rule, assigned, rules};
use crate::say::{print, print_json, say};
use crate::selection::{cannot_keep, shown_path};

/// What becomes of a tensor.
#[derive(Clone, Copy, Debug)]
enum Fate<'a> {
    /// No rule names it.
    Copied,
    /// Its axes are what its rule makes of them.
    Already(&'a Rule),
    /// They will be.
    Moved(&'a Rule),
}

/// What becomes of all tensors of a file.
struct Relayout<'a> {
    fates: Vec<Fate<'a>>,
    /// The metadata of the output.
    metadata: Vec<(String, String)>,
}

/// Moves the tensors that rules name, copies the others, and says so.
///
/// # Errors
/// Everything that can be known before is checked before the data is read; nothing is left of an
/// output that failed but what `--resume` can go on with.
pub(crate) fn run(
    asked: &RelayoutArgs,
    writing: &WriteArgs,
    means: &MeansArgs,
) -> Result<(), Failure> {
    let start = Instant::now();
    let rules = rules(asked)?;
    let input = asked.described.of(&asked.input)?;
    let format = job::output_format(&writing.output, writing.to, input.path())?;
    format.map_or(Ok(()), |format| keeps_record(format, &writing.output))?;
    job::check_streams(writing, means.json)?;
    let mut file = input.open()?;
    let format = format.unwrap_or(file.format());
    keeps_record(format, &writing.output)?;
    Output::check_as(format, &writing.output, writing.force)?;
    check_all_is_kept(&file, input.path())?;
    let relayout = Relayout::of(&file, &rules).map_err(|failure| within(input.path(), failure))?;
    let between = means.between(input.path(), Some(&writing.output));
    let job = relayout.job(&file, format, &between, &writing.chunking)?;
    let out_shapes = shapes(&job);
    let source = Source { file: &mut file, path: input.path() };
    let outcome = job::run_job(job, &mut [source], writing, means.json)?;
    let told: Vec<Told<'_>> = relayout.told(file.headers(), &out_shapes).collect();
    let seconds = start.elapsed().as_secs_f64();
    if means.json {
        return print_json(&report(&told, outcome, seconds));
    }
    job::warn_of_metadata(&outcome, &writing.output);
    job::warn_of_codecs(&outcome, &writing.output);
    if !writing.quiet {
        say_outcome(&told, &outcome, &writing.output, seconds);
    }
    Ok(())
}

/// Prints what would become of each tensor that a rule names, without reading the data.
///
/// # Errors
/// What the movement itself would refuse.
pub(crate) fn plan(
    asked: &RelayoutArgs,
    means: &MeansArgs,
    dry: &DryRunArgs,
) -> Result<(), Failure> {
    let rules = rules(asked)?;
    let input = asked.described.of(&asked.input)?;
    let format = dry.format(input.path())?;
    if let (Some(format), Some(output)) = (format, &dry.output) {
        keeps_record(format, output)?;
    }
    let mut file = input.open()?;
    dry.check_output(format)?;
    file.read_on()?;
    check_all_is_kept(&file, input.path())?;
    let relayout = Relayout::of(&file, &rules).map_err(|failure| within(input.path(), failure))?;
    let format = format.or_else(|| keeping().next()).unwrap_or(file.format());
    let between = means.between(input.path(), dry.output.as_deref());
    let job = relayout.job(&file, format, &between, &dry.chunking)?;
    if dry.quiet {
        return Ok(());
    }
    let out_shapes = shapes(&job);
    let told: Vec<Told<'_>> = relayout.told(file.headers(), &out_shapes).collect();
    if means.json {
        let tensors = told.iter().zip(job.tensors()).map(|(told, tensor)| {
            let mut report = told.report();
            report["passes"] = passes_report(tensor);
            report
        });
        return print_json(&json!({
            "file": input.path().to_string_lossy(),
            "tensors": tensors.collect::<Vec<_>>(),
            "files": cost_report(&job),
        }));
    }
    let mut text = format!("{}\n", sentence(&counted(&told), &job));
    lines(&told).for_each(|line| text.push_str(&format!("{line}\n")));
    text.push_str(&dry.lines(&job, format));
    if !dry.verbose {
        return print(&text);
    }
    text.push('\n');
    let is_moved = |number: usize| matches!(relayout.fates[number], Fate::Moved(_));
    text.push_str(&files_text(&job, is_moved));
    print(&text)
}

fn within(file: &Path, failure: Failure) -> Failure {
    failure.within(&file.to_string_lossy())
}

/// Checks that nothing is lost of which nothing but the name can be told.
fn check_all_is_kept(file: &TensorFile, input: &Path) -> Result<(), Failure> {
    file.unreadable().first().map_or(Ok(()), |tensor| Err(cannot_keep(input, tensor)))
}

/// The formats of outputs that have a place for the record of the axes.
fn keeping() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.is_written() && format.keeps_metadata())
}

/// Checks that the record of the axes has a place in the output.
fn keeps_record(format: &Format, output: &Path) -> Result<(), Failure> {
    if format.keeps_metadata() {
        return Ok(());
    }
    let keeping: Vec<&str> =
        keeping().filter_map(|format| format.endings().first().copied()).collect();
    Err(Failure::usage(format!(
        "{}: .{} cannot store metadata, where relayout records the axes: write a .{} file",
        shown_path(output),
        format.name(),
        keeping.join(" or .")
    )))
}

fn shapes(job: &Job) -> Vec<Shape> {
    job.tensors().iter().map(|tensor| tensor.out_shape().clone()).collect()
}

impl<'a> Relayout<'a> {
    /// What the rules make of a file, by its own record of the axes.
    ///
    /// # Errors
    /// If the rules do not fit the tensors, each other, or the record.
    fn of(file: &TensorFile, rules: &'a [Rule]) -> Result<Relayout<'a>, Failure> {
        let mut record = Record::of(file.metadata()).map_err(Failure::refused)?;
        let headers = file.headers();
        let mut fates = Vec::with_capacity(headers.len());
        for (header, rule) in headers.iter().zip(assigned(rules, headers)?) {
            let fate = match rule {
                None => Fate::Copied,
                Some(rule) => fate(header, rule, record.axes(&header.name).as_ref())?,
            };
            if let Fate::Moved(rule) = fate {
                record.note(&header.name, &rule.to);
            }
            fates.push(fate);
        }
        let metadata = record.within(file.metadata());
        Ok(Relayout { fates, metadata })
    }

    fn job(
        &self,
        file: &TensorFile,
        format: &'static Format,
        means: &MeansArgs,
        chunking: &ChunkArgs,
    ) -> Result<Job, Failure> {
        let chain = |fate: &Fate<'a>| match fate {
            Fate::Moved(rule) => Some(&rule.chain),
            Fate::Copied | Fate::Already(_) => None,
        };
        let wanted: Vec<Wanted<'_>> = self
            .fates
            .iter()
            .enumerate()
            .map(|(index, fate)| Wanted { index, chain: chain(fate), others: &[] })
            .collect();
        job::decide(0, means, false, chunking, |options| {
            Job::new(&[file], &wanted, format, &self.metadata, options)
        })
    }

    /// What there is to say of each tensor.
    fn told(
        &self,
        headers: &'a [Header],
        out_shapes: &'a [Shape],
    ) -> impl Iterator<Item = Told<'a>> {
        let tensors = self.fates.iter().zip(headers).zip(out_shapes);
        tensors.map(|((fate, header), out_shape)| Told { fate: *fate, header, out_shape })
    }
}

/// What becomes of a tensor that a rule names, whose axes are `known` or as the rule says.
fn fate<'a>(header: &Header, rule: &'a Rule, known: Option<&Axes>) -> Result<Fate<'a>, Failure> {
    match known {
        Some(axes) if axes.agree_with(&rule.to) => return Ok(Fate::Already(rule)),
        Some(axes) if !axes.agree_with(&rule.from) => {
            return Err(Failure::refused(format!(
                "{}: its axes are recorded as \"{}\", and the rule makes \"{}\" of \"{}\"",
                Shown(&header.name),
                Shown(axes),
                rule.to,
                rule.from
            )));
        }
        _ => {}
    }
    rule.check(header)?;
    let is_moved = !rule.from.agree_with(&rule.to);
    Ok(if is_moved { Fate::Moved(rule) } else { Fate::Already(rule) })
}

/// What becomes of a tensor, for people and for programs.
struct Told<'a> {
    fate: Fate<'a>,
    header: &'a Header,
    out_shape: &'a Shape,
}

impl Told<'_> {
    /// A line, unless the tensor is copied.
    fn line(&self) -> Option<String> {
        let Header { name, element, shape, .. } = self.header;
        let (name, dtype) = (Shown(name), element.name());
        match self.fate {
            Fate::Copied => None,
            Fate::Already(rule) => Some(format!("  {name}  {dtype}  is {} already", rule.to)),
            Fate::Moved(Rule { from, to, .. }) => {
                let out_shape = self.out_shape;
                Some(format!("  {name}  {dtype}  {from} {shape} -> {to} {out_shape}"))
            }
        }
    }

    fn report(&self) -> Value {
        let (done, axes) = match self.fate {
            Fate::Copied => ("copied", None),
            Fate::Already(rule) => ("already", Some(&rule.to)),
            Fate::Moved(rule) => ("moved", Some(&rule.to)),
        };
        let mut report = json!({
            "name": self.header.name,
            "dtype": self.header.element.name(),
            "shape": self.out_shape.sizes(),
            "relayout": done,
        });
        if let Some(axes) = axes {
            report["axes"] = axes.to_string().into();
        }
        report
    }
}

/// How many tensors are moved, are as they should be, and are copied.
fn counts(told: &[Told<'_>]) -> [usize; 3] {
    let mut counts = [0; 3];
    for each in told {
        counts[match each.fate {
            Fate::Moved(_) => 0,
            Fate::Already(_) => 1,
            Fate::Copied => 2,
        }] += 1;
    }
    counts
}

fn counted(told: &[Told<'_>]) -> String {
    let [moved, already, copied] = counts(told);
    let already = match already {
        0 => String::new(),
        count => format!(", {count} as asked already"),
    };
    format!("{} moved{already}, {copied} copied", forecast::counted(moved, "tensor"))
}

/// A line for each tensor that a rule names, but not thousands.
fn lines(told: &[Told<'_>]) -> impl Iterator<Item = String> {
    first_lines(told.iter().filter_map(Told::line))
}

/// What was done, for people.
fn say_outcome(told: &[Told<'_>], outcome: &Outcome, output: &Path, seconds: f64) {
    lines(told).for_each(|line| say(&line));
    say(&format!("{}: {}{}", shown_path(output), counted(told), job::how(outcome, seconds)));
}

/// The same for programs, of all tensors.
fn report(told: &[Told<'_>], outcome: Outcome, seconds: f64) -> Value {
    let [moved, already, copied] = counts(told);
    let mut report = job::report_of(&outcome, seconds);
    report["moved"] = moved.into();
    report["already"] = already.into();
    report["copied"] = copied.into();
    let outputs = outcome.outputs.into_iter().zip(told).map(|(mut output, told)| {
        if let (Value::Object(output), Value::Object(told)) = (&mut output, told.report()) {
            output.extend(told);
        }
        output
    });
    report["outputs"] = outputs.collect();
    report
}
