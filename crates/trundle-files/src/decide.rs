//! Turns a request into a decision: opens its files and plans its jobs. Runs, reports and task plans start from a
//! [`Decided`] request.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trundle_disk::{Job, PlanOptions, Source, Storage, Wanted};
use trundle_formats::{Format, Shown, TensorFile};

use crate::addition::Existing;
use crate::axes::Metadata;
use crate::coordinates;
use crate::failure::{Failure, Setting};
use crate::input::{Input, sources};
use crate::join::{self, Files, Joined};
use crate::memory;
use crate::numbered_name::numbered;
use crate::operation::Operation;
use crate::output::format_like;
use crate::relayout::{self, Relaid};
use crate::request::{Request, Resources, StorageChoice, Work, Written};
use crate::rule::rules;
use crate::selection::Choice;
use crate::split::{self, Parted};

/// A request whose files are open and whose jobs are planned.
pub struct Decided {
    pub(crate) request: Request,
    /// All inputs. The first one holds the tensors that are moved.
    pub(crate) inputs: Vec<Input>,
    pub(crate) opened: Vec<TensorFile>,
    /// The store to which the output is added.
    pub(crate) existing: Option<Existing>,
    pub(crate) decision: Decision,
    pub(crate) format: &'static Format,
    /// One path for each job; empty if the request does not name an output.
    pub(crate) outputs: Vec<PathBuf>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) options: PlanOptions,
    pub(crate) untrue: Vec<String>,
}

pub(crate) enum Decision {
    Chain { operation: Arc<Operation>, choice: Choice },
    Join(Joined),
    Split(Parted),
    Relayout(Relaid),
}

type Decide<'a> = Box<dyn Fn(&[Input], &[TensorFile], &Format) -> Result<Decision, Failure> + 'a>;

/// Opens the files of a request and plans its jobs.
///
/// # Errors
/// Everything that can be known without reading the data: an unreadable input, an operation that does not fit a tensor,
/// an output that must not be overwritten, or a memory limit that is too low.
pub fn decide(request: Request) -> Result<Decided, Failure> {
    decide_again(request, true)
}

/// Like [`decide`], but an existing output is an error only if `checks_outputs` is true.
pub(crate) fn decide_again(request: Request, checks_outputs: bool) -> Result<Decided, Failure> {
    let (inputs, decide) = inputs_of(&request)?;
    let to = &request.output;
    let outputs = match (&to.path, &request.work) {
        (Some(path), Work::Split { parts, .. }) => numbered(path, parts.count())?,
        (Some(path), _) => vec![path.clone()],
        (None, _) => Vec::new(),
    };
    outputs.iter().try_for_each(|path| to.check_verified(path))?;
    if !to.ignored_attributes.is_empty()
        && to.addition.is_none()
        && !matches!(request.work, Work::Join { .. })
    {
        let why = "--ignore-attrs belongs to concat, stack, --append and --region, which compare attributes";
        return Err(Failure::usage(why));
    }
    let existing = Existing::open(&request, &inputs)?;
    let format = match (outputs.first(), &existing) {
        (_, Some(existing)) => Some(existing.format),
        (Some(path), None) => to.format_at(path, inputs[0].path())?,
        (None, None) => to.stated_format(),
    };
    if to.metadata_only && (to.chunks.is_some() || to.shards.is_some() || to.codecs.is_some()) {
        let why = "metadata only: the output keeps the source's chunks, shards and codec, so they cannot be chosen";
        return Err(Failure::usage(why));
    }
    let is_relayout = matches!(request.work, Work::Relayout { .. });
    let keeps_record = |format: &Format| match outputs.first() {
        Some(path) if is_relayout => relayout::keeps_record(format, path),
        _ => Ok(()),
    };
    format.map_or(Ok(()), keeps_record)?;
    let copies_texts = request.copies_texts();
    let opened = inputs.iter().map(|input| input.open_to_copy(copies_texts));
    let mut opened = opened.collect::<Result<Vec<TensorFile>, Failure>>()?;
    let format = match format {
        Some(format) => format,
        None if !outputs.is_empty() => opened[0].format(),
        None if is_relayout => relayout::keeping().next().unwrap_or(opened[0].format()),
        None => format_like(&opened[0]),
    };
    keeps_record(format)?;
    if checks_outputs && existing.is_none() {
        outputs.iter().try_for_each(|path| to.check_writable(path, format))?;
    }
    let paths = inputs.iter().map(Input::path).chain(outputs.iter().map(PathBuf::as_path));
    let resources = request.resources.among(paths).share();
    let mut decided = decide(&inputs, &opened, format);
    let copies = |file: &TensorFile| file.undecoded().iter().any(|tensor| tensor.holds_texts);
    if decided.is_err() && opened.iter().any(copies) {
        // The work may be possible if strings are decoded.
        for (file, input) in opened.iter_mut().zip(&inputs).filter(|(file, _)| copies(file)) {
            *file = input.open()?;
        }
        decided = decide(&inputs, &opened, format);
    }
    let decision = decided?;
    drop(decide);
    let of_texts = memory::of_texts(&opened, resources.max_mem);
    let (memory_bytes, row_major) = match (&decision, &request.work) {
        (Decision::Chain { operation, choice }, Work::Chain { row_major, .. }) => {
            (choice.held_bytes(operation, resources.max_mem)?, *row_major)
        }
        _ => (0, false),
    };
    let mut options = PlanOptions {
        row_major,
        chunks: Written::value_of(&to.chunks),
        shards: Written::value_of(&to.shards),
        codecs: Written::value_of(&to.codecs),
        metadata_only: to.metadata_only,
        undecoded: decision.undecoded(),
        ..plan_options(memory_bytes.saturating_add(of_texts), &resources)?
    };
    let (metadata, untrue) = decision.metadata(&opened[0]);
    let mut files: Vec<&TensorFile> = opened.iter().collect();
    let mut jobs = decision.jobs(&files, format, &metadata, &options);
    if let (Some(existing), Ok([job])) = (&existing, jobs.as_deref()) {
        options.addition = Some(existing.places(job, &request)?);
        files.push(&existing.file);
        jobs = decision.jobs(&files, format, &metadata, &options);
    }
    let jobs = jobs.map_err(|failure| match &decision {
        Decision::Chain { .. } if request.tensor.is_some() && decision.kept().contains(&true) => {
            failure
                .with_setting(Setting::Only, "leaves out the tensors that --tensor does not name")
        }
        _ => failure,
    })?;
    let mut of_jobs = jobs.iter().flat_map(Job::tensors);
    if let Some(tensor) = of_jobs.find(|tensor| tensor.element().holds_texts())
        && format.chunks().is_none()
    {
        let (name, format) = (Shown(tensor.name()), format.name());
        return Err(Failure::refused(format!(
            "a file of format {format} cannot hold tensor \"{name}\": it has strings of variable length"
        )));
    }
    Ok(Decided {
        request,
        inputs,
        opened,
        existing,
        decision,
        format,
        outputs,
        jobs,
        options,
        untrue,
    })
}

/// Returns the options of a job that holds `memory_bytes` bytes of memory throughout.
///
/// # Errors
/// If the memory limit is lower than `memory_bytes` plus the minimum.
pub fn plan_options(memory_bytes: u64, resources: &Resources) -> Result<PlanOptions, Failure> {
    let Resources { threads, max_mem, storage, .. } = *resources;
    memory::check(memory_bytes.saturating_add(memory::least()), max_mem)?;
    let storage = match storage {
        Some(StorageChoice::Kind(storage)) => Some(storage),
        Some(StorageChoice::Measure) => {
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
    let held_bytes = memory::beside(memory_bytes, max_bytes);
    Ok(PlanOptions { max_bytes, held_bytes, storage, threads, ..PlanOptions::default() })
}

impl Request {
    /// Returns whether strings of variable length are copied without decoding if the work does not move them. They are
    /// not if the output has only tensors that the request names, or if they are added to a store or compared with it.
    fn copies_texts(&self) -> bool {
        self.output.addition.is_none()
            && match &self.work {
                Work::Chain { only, .. } => !only,
                Work::Join { .. } | Work::Split { .. } => self.tensor.is_none(),
                Work::Relayout { .. } => true,
            }
    }

    /// Returns the input of a command that takes exactly one file.
    pub(crate) fn only_input(&self) -> Result<&Path, Failure> {
        match &self.inputs[..] {
            [input] => Ok(input),
            inputs => {
                Err(Failure::usage(format!("this command takes 1 file, got {}", inputs.len())))
            }
        }
    }
}

/// Returns the inputs of a request, and the function that decides about their tensors after they are opened.
fn inputs_of(request: &Request) -> Result<(Vec<Input>, Decide<'_>), Failure> {
    let named = request.tensor.as_deref();
    Ok(match &request.work {
        Work::Chain { operators, only, .. } => {
            let (operation, inputs) = Operation::of(request, operators)?;
            let operation = Arc::new(operation);
            let decide: Decide<'_> = Box::new(move |inputs, opened, format| {
                let choice = Choice::of(&operation, inputs, opened, named, *only, format)?;
                Ok(Decision::Chain { operation: Arc::clone(&operation), choice })
            });
            (inputs, decide)
        }
        Work::Join { along } => {
            let (files, inputs) = Files::of(request)?;
            let ignored = &request.output.ignored_attributes;
            let decide: Decide<'_> = Box::new(move |inputs, opened, format| {
                let joined = files.clone().joined(inputs, opened, named, along, ignored, format);
                joined.map(Decision::Join)
            });
            (inputs, decide)
        }
        Work::Split { axis, parts } => {
            let decide: Decide<'_> = Box::new(move |inputs, opened, format| {
                let parted = Parted::of(&opened[0], inputs[0].path(), named, axis, parts, format);
                parted.map(Decision::Split)
            });
            (vec![split::input(request, parts)?], decide)
        }
        Work::Relayout { .. } if named.is_some() => {
            return Err(Failure::usage("relayout selects tensors by its rules"));
        }
        Work::Relayout { rules: given, rule_files } => {
            let rules = rules(given, rule_files)?;
            let decide: Decide<'_> = Box::new(move |inputs, opened, format| {
                let relaid = Relaid::of(&opened[0], inputs[0].path(), &rules, format);
                relaid.map(Decision::Relayout)
            });
            (vec![request.described.of(request.only_input()?)?], decide)
        }
    })
}

impl Decision {
    fn metadata(&self, first: &TensorFile) -> Metadata {
        match self {
            Decision::Chain { choice, .. } => choice.metadata(first),
            Decision::Join(joined) => joined.metadata(first),
            Decision::Split(parted) => parted.metadata(first),
            Decision::Relayout(relaid) => (relaid.metadata.clone(), Vec::new()),
        }
    }

    fn jobs(
        &self,
        files: &[&TensorFile],
        format: &'static Format,
        metadata: &[(String, String)],
        options: &PlanOptions,
    ) -> Result<Vec<Job>, Failure> {
        let of_wanted = |wanted: &[Wanted<'_>]| {
            Job::new(files, wanted, format, metadata, options).map_err(Failure::from)
        };
        match self {
            Decision::Chain { .. } | Decision::Relayout(_) => Ok(vec![of_wanted(&self.wanted())?]),
            Decision::Split(parted) => {
                (0..parted.parts).map(|part| of_wanted(&parted.wanted(part))).collect()
            }
            Decision::Join(joined) => {
                let outputs = joined.assembled();
                Ok(vec![Job::assembled(files, &outputs, format, metadata, options)?])
            }
        }
    }

    /// Returns the decoded tensors of the output; empty for a join and a split, which have several inputs or outputs.
    pub(crate) fn wanted(&self) -> Vec<Wanted<'_>> {
        match self {
            Decision::Chain { choice, .. } => {
                choice.fates.wanted(|moved| (&moved.chain, &moved.others))
            }
            Decision::Relayout(relaid) => relaid.wanted(),
            Decision::Join(_) | Decision::Split(_) => Vec::new(),
        }
    }

    /// Returns the tensors of the first input that are copied without decoding.
    pub(crate) fn undecoded(&self) -> Vec<usize> {
        match self {
            Decision::Chain { choice, .. } => choice.undecoded.clone(),
            Decision::Split(parted) => parted.undecoded.clone(),
            Decision::Relayout(relaid) => relaid.undecoded.clone(),
            Decision::Join(joined) => joined.undecoded(),
        }
    }

    /// Returns, for each tensor of the output, whether it is an unchanged copy from the first input. Empty for a split.
    pub(crate) fn kept(&self) -> Vec<bool> {
        let mut kept: Vec<bool> = match self {
            Decision::Split(_) => return Vec::new(),
            Decision::Join(joined) => joined.tensors.iter().map(join::Tensor::is_kept).collect(),
            _ => self.wanted().iter().map(|each| each.chain.is_none()).collect(),
        };
        kept.resize(kept.len() + self.undecoded().len(), true);
        kept
    }

    pub(crate) fn left_out(&self, opened: &[TensorFile]) -> usize {
        let left_out = match self {
            Decision::Join(joined) => return joined.left_out(opened),
            Decision::Relayout(_) => return 0,
            Decision::Chain { choice, .. } => choice.fates.left_out(),
            Decision::Split(parted) => parted.fates.left_out(),
        };
        left_out + opened[0].unreadable().len() - self.undecoded().len()
    }
}

impl Decided {
    /// Returns whether an output is a Zarr store. A front end must remove an unfinished store when a signal stops it.
    pub fn writes_store(&self) -> bool {
        self.jobs.iter().any(Job::writes_store)
    }

    /// Reads all input streams to the end, to detect errors in them.
    ///
    /// # Errors
    /// If a stream cannot be read, or is malformed.
    pub fn read_on(&mut self) -> Result<(), Failure> {
        Ok(self.opened.iter_mut().try_for_each(TensorFile::read_on)?)
    }

    /// Returns notes about shifts that do not move anything.
    pub fn notes(&self) -> Vec<String> {
        match &self.decision {
            Decision::Chain { choice, .. } => coordinates::notes(choice),
            _ => Vec::new(),
        }
    }

    /// Returns likely mistakes: tensors of the output that no longer fit each other along a named axis.
    pub fn warnings(&self) -> Vec<String> {
        match &self.decision {
            Decision::Chain { operation, choice } => {
                let (file, picks) = (&self.opened[0], self.request.tensor.is_some());
                coordinates::warnings(operation, file, choice, picks)
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn first_path(&self) -> &Path {
        self.inputs[0].path()
    }

    pub(crate) fn sources(&mut self) -> Vec<Source<'_>> {
        sources(&mut self.opened, &self.inputs)
    }
}
