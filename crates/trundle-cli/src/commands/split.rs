//! `trundle split`, and `trundle plan split`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use trundle::ops::Slice;
use trundle::{Chain, normalize_axis};
use trundle_disk::{Job, Source, TensorJob, Wanted};
use trundle_formats::{Format, Header, Shown, TensorFile};

use super::plan::{cost_report, files_text, passes_report};
use crate::args::{ChunkArgs, DryRunArgs, MeansArgs, SplitArgs, WriteArgs};
use crate::axes;
use crate::failure::Failure;
use crate::forecast::{destination, first_lines, sentence, tensors};
use crate::input::Input;
use crate::job;
use crate::numbered_name::numbered;
use crate::numbers::readable;
use crate::say::{print, print_json};
use crate::selection::{cannot_keep, select, shown_path};

/// Cuts the tensors of a file, and says so.
///
/// # Errors
/// Everything that can be known before is checked before anything is written, and no output appears before all are
/// whole; nothing is left of outputs that failed but what `--resume` can go on with.
pub(crate) fn run(
    asked: &SplitArgs,
    writing: &WriteArgs,
    means: &MeansArgs,
) -> Result<(), Failure> {
    let start = Instant::now();
    let input = asked.input()?;
    let paths = numbered(&writing.output, asked.count())?;
    let format = job::output_format(&paths[0], writing.to, input.path())?;
    let mut file = input.open()?;
    let format = format.unwrap_or(file.format());
    paths.iter().try_for_each(|path| job::check_output_at(path, format, writing))?;
    let means = &means.among(paths.iter().map(PathBuf::as_path).chain([input.path()]));
    let split = Split::of(&file, input.path(), asked)?;
    let (metadata, untrue) = split.metadata(&file);
    let jobs = split.jobs(&file, format, &metadata, means, &writing.chunking)?;
    let outputs = jobs.into_iter().zip(paths).collect();
    let left_out = split.left_out(&file);
    let source = Source { file: &mut file, path: input.path() };
    let mut outcome = job::run_jobs(outputs, &mut [source], writing, means.json)?;
    outcome.left_out = left_out;
    outcome.untrue = untrue;
    job::report(&outcome, writing, means.json, start.elapsed().as_secs_f64())
}

/// Prints what would become of the tensors, without reading their data.
///
/// # Errors
/// What the movement itself would refuse, but for what the data alone tells.
pub(crate) fn plan(asked: &SplitArgs, means: &MeansArgs, dry: &DryRunArgs) -> Result<(), Failure> {
    let input = asked.input()?;
    let paths = dry.output.as_ref().map(|output| numbered(output, asked.count())).transpose()?;
    let format = match paths.as_deref() {
        Some([first, ..]) => job::output_format(first, dry.to, input.path())?,
        _ => dry.to,
    };
    let paths = paths.unwrap_or_default();
    let mut file = input.open()?;
    paths.iter().try_for_each(|path| dry.check_output_at(path, format))?;
    file.read_on()?;
    let format = format.unwrap_or(job::format_like(&file));
    let means = &means.among(paths.iter().map(PathBuf::as_path).chain([input.path()]));
    let split = Split::of(&file, input.path(), asked)?;
    let (metadata, _) = split.metadata(&file);
    let jobs = split.jobs(&file, format, &metadata, means, &dry.chunking)?;
    if dry.quiet {
        return Ok(());
    }
    if means.json {
        let outputs = jobs.iter().enumerate().map(|(part, job)| {
            json!({
                "file": paths.get(part).map(|path| path.to_string_lossy()),
                "tensors": job.tensors().iter().map(tensor_report).collect::<Vec<_>>(),
                "cost": cost_report(job),
            })
        });
        return print_json(&json!({
            "file": input.path().to_string_lossy(),
            "tensors": split.report(&file),
            "outputs": outputs.collect::<Vec<_>>(),
        }));
    }
    let mut text = String::new();
    first_lines(split.lines(&file)).for_each(|line| text.push_str(&format!("{line}\n")));
    let outputs = jobs.iter().enumerate().map(|(part, job)| {
        let place = match paths.get(part) {
            Some(path) => destination(path, format),
            None => format!("part {part}"),
        };
        format!("  {place}: {}", sentence(&tensors(job), job))
    });
    first_lines(outputs).for_each(|line| text.push_str(&format!("{line}\n")));
    if dry.verify {
        let each = jobs.iter().flat_map(Job::tensors).map(TensorJob::out_bytes);
        text.push_str(&format!("  then {} are read back and compared\n", readable(each.sum())));
    }
    if dry.verbose {
        jobs.iter().for_each(|job| text.push_str(&format!("\n{}", files_text(job, |_| true))));
    }
    print(&text)
}

fn tensor_report(tensor: &TensorJob) -> Value {
    json!({
        "name": tensor.name(),
        "shape": tensor.out_shape().sizes(),
        "passes": passes_report(tensor),
    })
}

impl SplitArgs {
    /// How many parts there are to be.
    fn count(&self) -> usize {
        let of_sizes = || self.sizes.as_ref().map(|sizes| sizes.sizes.len());
        self.parts.or_else(of_sizes).unwrap_or_default()
    }

    /// The file that is cut.
    ///
    /// # Errors
    /// If it is stdin, or there are to be no parts.
    fn input(&self) -> Result<Input, Failure> {
        if self.input == Path::new("-") {
            return Err(Failure::usage(
                "stdin can be read once, and each part reads what is cut: write it to a file first",
            ));
        }
        if self.count() == 0 {
            return Err(Failure::usage("--sizes has no sizes"));
        }
        self.described.of(&self.input)
    }

    /// The sizes of the parts of an axis.
    ///
    /// # Errors
    /// If they cannot make up its size, as a message.
    fn sizes_of(&self, axis: usize, size: usize) -> Result<Vec<usize>, String> {
        if let Some(parts) = self.parts {
            if parts > size {
                return Err(format!("axis {axis} of size {size} does not make {parts} parts"));
            }
            let longer = |part: usize| usize::from(part < size % parts);
            return Ok((0..parts).map(|part| size / parts + longer(part)).collect());
        }
        let Some(asked) = &self.sizes else { return Ok(Vec::new()) };
        let mut sizes = asked.sizes.clone();
        let is_given = |(part, _): &(usize, &usize)| Some(*part) != asked.free;
        let given = sizes.iter().enumerate().filter(is_given).map(|(_, size)| *size);
        let sum = given.fold(0, usize::saturating_add);
        match asked.free {
            Some(free) if sum <= size => sizes[free] = size - sum,
            None if sum == size => {}
            _ => return Err(format!("the sizes add up to {sum}, and axis {axis} has size {size}")),
        }
        Ok(sizes)
    }

    /// What becomes of a tensor.
    ///
    /// # Errors
    /// If it does not have the axis that is asked for, or not of such a size.
    fn fate_of(&self, header: &Header) -> Result<Fate, Failure> {
        let axis = match &self.dim {
            Some(name) => axes::called(header, name)?,
            None => {
                let axis = self.axis.unwrap_or_default();
                Some(normalize_axis("axis", axis, header.shape.rank())?)
            }
        };
        let Some(axis) = axis else { return Ok(Fate::Kept) };
        let sizes = self.sizes_of(axis, header.shape[axis]).map_err(Failure::refused)?;
        let slices = Slice::parts(&header.shape, axis.cast_signed() as i64, sizes.iter().copied())?;
        Ok(Fate::Cut { axis, sizes, slices })
    }
}

/// What becomes of a tensor of the file.
#[derive(Clone, Debug)]
enum Fate {
    /// Its parts along an axis go to an output each.
    Cut { axis: usize, sizes: Vec<usize>, slices: Vec<Slice> },
    /// It is in every output.
    Kept,
    /// It is in none.
    LeftOut,
}

impl Fate {
    /// What a part has of it, if it has something: done by this chain, or as it is.
    fn of_part(&self, part: usize) -> Option<Option<Chain>> {
        match self {
            Fate::LeftOut => None,
            Fate::Kept => Some(None),
            Fate::Cut { slices, .. } => Some(Some(Chain::new().then(slices[part].clone()))),
        }
    }
}

/// What becomes of the tensors of a file.
struct Split {
    /// Of each tensor.
    fates: Vec<Fate>,
    parts: usize,
}

impl Split {
    /// What is asked for of the tensors of a file.
    ///
    /// # Errors
    /// If it cannot be done to one that is meant, or what is meant cannot be read.
    fn of(file: &TensorFile, path: &Path, asked: &SplitArgs) -> Result<Split, Failure> {
        let (headers, name) = (file.headers(), asked.tensor.as_deref());
        let is_meant = |own: &str| name.is_none_or(|name| name == own);
        if let Some(tensor) = file.unreadable().iter().find(|tensor| is_meant(&tensor.name)) {
            let failure = cannot_keep(path, tensor);
            return Err(match name {
                Some(_) => failure,
                None => {
                    failure.with_option("--tensor NAME", "leaves it out, where NAME may be '*'")
                }
            });
        }
        let mut fates = vec![Fate::LeftOut; headers.len()];
        for index in select(path, headers, name)? {
            let header = &headers[index];
            fates[index] = asked.fate_of(header).map_err(|failure| {
                let failure = failure.within(&header.name);
                match headers.len() {
                    1 => failure,
                    _ => failure.with_option("--tensor NAME", "picks others"),
                }
            })?;
        }
        if let Some(dim) = &asked.dim
            && !fates.iter().any(|fate| matches!(fate, Fate::Cut { .. }))
        {
            let (file, dim) = (shown_path(path), Shown(dim));
            return Err(Failure::refused(format!("{file}: no axis is called \"{dim}\"")));
        }
        Ok(Split { fates, parts: asked.count() })
    }

    /// A job for each part.
    ///
    /// # Errors
    /// If the format cannot hold a result, or the memory is not enough.
    fn jobs(
        &self,
        file: &TensorFile,
        format: &'static Format,
        metadata: &[(String, String)],
        means: &MeansArgs,
        chunking: &ChunkArgs,
    ) -> Result<Vec<Job>, Failure> {
        let job = |part: usize| {
            let fates = self.fates.iter().enumerate();
            let chains: Vec<(usize, Option<Chain>)> =
                fates.filter_map(|(index, fate)| Some((index, fate.of_part(part)?))).collect();
            let wanted: Vec<Wanted<'_>> = chains
                .iter()
                .map(|(index, chain)| Wanted { index: *index, chain: chain.as_ref(), others: &[] })
                .collect();
            job::decide(0, means, false, chunking, |options| {
                Job::new(&[file], &wanted, format, metadata, options)
            })
        };
        (0..self.parts).map(job).collect()
    }

    /// The metadata of the outputs, and the keys of what is left out of it since it would be false.
    fn metadata(&self, file: &TensorFile) -> (Vec<(String, String)>, Vec<String>) {
        let fate = |(fate, header): (&Fate, &Header)| match fate {
            Fate::LeftOut => axes::Fate::LeftOut,
            _ => axes::Fate::kept(header.shape.rank()),
        };
        let fates: Vec<axes::Fate> = self.fates.iter().zip(file.headers()).map(fate).collect();
        axes::still_true_of(file, &fates)
    }

    /// How many tensors of the file are in no output.
    fn left_out(&self, file: &TensorFile) -> usize {
        let is_out = |fate: &&Fate| matches!(fate, Fate::LeftOut);
        self.fates.iter().filter(is_out).count() + file.unreadable().len()
    }

    /// What becomes of the tensors, for people.
    fn lines(&self, file: &TensorFile) -> impl Iterator<Item = String> {
        const MOST: usize = 4;
        let line = |(fate, header): (&Fate, &Header)| {
            let (name, dtype, shape) = (Shown(&header.name), header.element.name(), &header.shape);
            let (axis, sizes) = match fate {
                Fate::Cut { axis, sizes, .. } => (axis, sizes),
                Fate::Kept => return Some(format!("{name}: {dtype} {shape}, in each")),
                Fate::LeftOut => return None,
            };
            let mut shown: Vec<String> = sizes.iter().take(MOST).map(usize::to_string).collect();
            if sizes.len() > MOST {
                shown.push(format!("{} more", sizes.len() - MOST));
            }
            Some(format!("{name}: {dtype} {shape} along axis {axis} -> {}", shown.join(" + ")))
        };
        self.fates.iter().zip(file.headers()).filter_map(line)
    }

    /// The same, for programs.
    fn report(&self, file: &TensorFile) -> Vec<Value> {
        let report = |(fate, header): (&Fate, &Header)| {
            let (axis, sizes) = match fate {
                Fate::Cut { axis, sizes, .. } => (Some(axis), Some(sizes)),
                Fate::Kept => (None, None),
                Fate::LeftOut => return None,
            };
            let (name, dtype) = (&header.name, header.element.name());
            Some(json!({ "name": name, "dtype": dtype, "axis": axis, "sizes": sizes }))
        };
        self.fates.iter().zip(file.headers()).filter_map(report).collect()
    }
}
