//! Changes the order of the axes of tensors, by rules for their names.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use trundle::Shape;
use trundle_disk::Wanted;
use trundle_formats::{FORMATS, Format, Header, Shown, TensorFile};

use crate::axes::{Axes, Record};
use crate::failure::Failure;
use crate::forecast::counted;
use crate::names::shown_path;
use crate::rule::{Rule, assigned};
use crate::undecoded;

#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Copied,
    /// Its axes are already in the order of its rule.
    Already(Arc<Rule>),
    Moved(Arc<Rule>),
}

pub(crate) struct Relaid {
    pub(crate) fates: Vec<Fate>,
    /// The tensors that are [copied without decoding](undecoded::kept).
    pub(crate) undecoded: Vec<usize>,
    pub(crate) metadata: Vec<(String, String)>,
}

pub(crate) fn keeping() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.is_written() && format.keeps_metadata())
}

pub(crate) fn keeps_record(format: &Format, output: &Path) -> Result<(), Failure> {
    if format.keeps_metadata() {
        return Ok(());
    }
    let keeping: Vec<&str> =
        keeping().filter_map(|format| format.endings().first().copied()).collect();
    Err(Failure::usage(format!(
        "{}: .{} cannot store metadata, which relayout needs to record the axes: write a .{} file",
        shown_path(output),
        format.name(),
        keeping.join(" or .")
    )))
}

impl Relaid {
    /// Applies the rules to a file and its record of axes.
    ///
    /// # Errors
    /// If a tensor in the file cannot be read, or the rules do not fit the tensors, each other, or the record.
    pub(crate) fn of(
        file: &TensorFile,
        path: &Path,
        rules: &[Arc<Rule>],
        format: &Format,
    ) -> Result<Relaid, Failure> {
        let is_named = |header: &Header| Ok(rules.iter().any(|rule| rule.is_for(&header.name)));
        let undecoded = undecoded::kept(file, path, format, is_named).map_err(|failure| {
            failure.with_hint("`trundle convert` with --only and --tensor makes a file without it")
        })?;
        let relaid = Relaid::of_headers(file, rules, undecoded);
        relaid.map_err(|failure| failure.within(&path.to_string_lossy()))
    }

    fn of_headers(
        file: &TensorFile,
        rules: &[Arc<Rule>],
        undecoded: Vec<usize>,
    ) -> Result<Relaid, Failure> {
        let mut record = Record::of(file.metadata()).map_err(Failure::refused)?;
        let headers = file.headers();
        let mut fates = Vec::with_capacity(headers.len());
        for (header, rule) in headers.iter().zip(assigned(rules, headers)?) {
            let fate = match rule {
                None => Fate::Copied,
                Some(rule) => fate(header, rule, record.axes(&header.name).as_ref())?,
            };
            if let Fate::Moved(rule) = &fate {
                record.note(&header.name, &rule.to);
            }
            fates.push(fate);
        }
        let metadata = record.within(file.metadata());
        Ok(Relaid { fates, undecoded, metadata })
    }

    pub(crate) fn wanted(&self) -> Vec<Wanted<'_>> {
        let wanted = self.fates.iter().enumerate().map(|(index, fate)| {
            let chain = match fate {
                Fate::Moved(rule) => Some(&rule.chain),
                Fate::Copied | Fate::Already(_) => None,
            };
            Wanted { index, chain, others: &[] }
        });
        wanted.collect()
    }

    pub(crate) fn lines(&self, headers: &[Header], out_shapes: &[&Shape]) -> Vec<String> {
        let each = self.fates.iter().zip(headers).zip(out_shapes);
        each.filter_map(|((fate, header), out_shape)| fate.line(header, out_shape)).collect()
    }

    /// Counts the tensors that are moved, that already have the order, and that no rule names.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let mut counts = [0, 0, self.undecoded.len()];
        for fate in &self.fates {
            counts[match fate {
                Fate::Moved(_) => 0,
                Fate::Already(_) => 1,
                Fate::Copied => 2,
            }] += 1;
        }
        counts
    }
}

pub(crate) fn in_words([moved, already, copied]: [usize; 3]) -> String {
    let already = match already {
        0 => String::new(),
        count => format!(", {count} already in this order"),
    };
    format!("{} moved{already}, {copied} copied", counted(moved, "tensor"))
}

impl Fate {
    /// Describes the tensor in one line. `None` if no rule names the tensor.
    fn line(&self, header: &Header, out_shape: &Shape) -> Option<String> {
        let Header { name, element, shape, .. } = header;
        let (name, dtype) = (Shown(name), element.name());
        match self {
            Fate::Copied => None,
            Fate::Already(rule) => Some(format!("  {name}  {dtype}  is {} already", rule.to)),
            Fate::Moved(rule) => {
                let (from, to) = (&rule.from, &rule.to);
                Some(format!("  {name}  {dtype}  {from} {shape} -> {to} {out_shape}"))
            }
        }
    }

    pub(crate) fn report(&self) -> Value {
        let (done, axes) = match self {
            Fate::Copied => ("copied", None),
            Fate::Already(rule) => ("already", Some(&rule.to)),
            Fate::Moved(rule) => ("moved", Some(&rule.to)),
        };
        let mut report = json!({ "relayout": done });
        if let Some(axes) = axes {
            report["axes"] = axes.to_string().into();
        }
        report
    }
}

/// Decides what is done with a tensor that a rule names. `known` are its recorded axes, if there are any.
fn fate(header: &Header, rule: Arc<Rule>, known: Option<&Axes>) -> Result<Fate, Failure> {
    match known {
        Some(axes) if axes.agree_with(&rule.to) => return Ok(Fate::Already(rule)),
        Some(axes) if !axes.agree_with(&rule.from) => {
            return Err(Failure::refused(format!(
                "{}: its axes are recorded as \"{}\", but the rule turns \"{}\" into \"{}\"",
                Shown(&header.name),
                Shown(axes),
                rule.from,
                rule.to
            )));
        }
        _ => {}
    }
    rule.check(header)?;
    let is_moved = !rule.from.agree_with(&rule.to);
    Ok(if is_moved { Fate::Moved(rule) } else { Fate::Already(rule) })
}
