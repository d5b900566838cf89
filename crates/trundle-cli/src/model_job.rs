//! Runs a model in tiles from files to files, for tensors that are larger than the memory.

use std::path::PathBuf;

use trundle_disk::{Assembled, Input, Job, Outcome, RunOptions, Source, TensorJob};
use trundle_files::decide::plan_options;
use trundle_files::failure::Failure;
use trundle_files::request::Resources;
use trundle_files::run::run_jobs;
use trundle_formats::{Annotations, Format, StoredDType, TensorFile};
use trundle_models::{Data, ElementType, ResolvedModel, TensorId};

use crate::args::RunArgs;
use crate::model_input::ModelInput;
use crate::progress::Progress;

pub(crate) struct FileOutput {
    pub name: String,
    pub tensor: TensorId,
    pub path: PathBuf,
}

/// The result of writing a model's outputs to files.
pub(crate) struct FileOutcome {
    /// The total number of passes for all outputs.
    pub passes: usize,
    pub move_seconds: f64,
    /// Whether an interrupted run had already written a part.
    pub resumed: bool,
}

/// Whether all outputs have elements of a fixed size. Others cannot be moved from file to file.
pub(crate) fn is_possible(model: &ResolvedModel) -> bool {
    model.outputs().iter().all(|id| matches!(model.element(*id), ElementType::Fixed(_)))
}

/// Moves `inputs` to the files of `outputs`, which get their names only after all are complete.
///
/// # Errors
/// If memory or disk space is not enough, or if reading or writing fails.
pub(crate) fn run(
    model: &ResolvedModel,
    inputs: &mut [ModelInput],
    outputs: &[FileOutput],
    run: &RunArgs,
    progress: &Progress,
) -> Result<FileOutcome, Failure> {
    let resources = Resources::new(run.model.threads, run.max_mem, run.storage);
    let options = plan_options(held_bytes(model, inputs), &resources)?;
    let given = program_inputs(model, inputs);
    let unread = inputs.iter().filter(|input| input.data.is_none());
    let files: Vec<&TensorFile> = unread.filter_map(|input| input.file.as_ref()).collect();
    let job = |output: &FileOutput| -> Result<Job, Failure> {
        let ElementType::Fixed(dtype) = model.element(output.tensor) else {
            unreachable!("only elements of a fixed size are moved between files")
        };
        let assembled = Assembled {
            name: &output.name,
            element: StoredDType::little_endian(dtype),
            program: model.program(),
            tensor: output.tensor,
            inputs: &given,
            chunk: None,
            encoding: None,
            annotations: Annotations { is_whole: true, ..Annotations::default() },
        };
        let format = Format::of(&output.path)?;
        Ok(Job::assembled(&files, &[assembled], format, &[], &options)?)
    };
    // All jobs are planned before anything is written.
    let jobs = outputs.iter().map(job).collect::<Result<Vec<Job>, Failure>>()?;
    let passes = jobs.iter().flat_map(Job::tensors).map(TensorJob::passes).sum();
    let mut sources: Vec<Source<'_>> = Vec::new();
    for ModelInput { file, path, .. } in inputs.iter_mut().filter(|input| input.data.is_none()) {
        sources.extend(file.as_mut().map(|file| Source { file, path }));
    }
    let jobs = jobs.into_iter().zip(outputs).map(|(job, output)| (job, output.path.clone()));
    let options = RunOptions { overwrite: run.force, verify: run.verify, resume: run.resume };
    let done = run_jobs(jobs.collect(), &mut sources, options, progress)?;
    let Outcome { move_seconds, resumed, .. } = done;
    Ok(FileOutcome { passes, move_seconds, resumed })
}

fn program_inputs(model: &ResolvedModel, inputs: &[ModelInput]) -> Vec<Input> {
    let mut files = 0;
    let mut input = |input: usize| {
        let constant = model.constant_of(input).map(|constant| &constant.data);
        match constant.or_else(|| inputs.get(input)?.data.as_ref()) {
            Some(Data::Bytes(bytes)) => Input::Constant(bytes.clone()),
            // Such outputs do not depend on strings.
            Some(Data::Strings(_)) => Input::Constant(bytes::Bytes::new()),
            None => {
                files += 1;
                Input::Tensor { file: files - 1, index: 0 }
            }
        }
    };
    (0..model.program().inputs()).map(&mut input).collect()
}

/// Counts constants and small inputs, which are already in memory.
fn held_bytes(model: &ResolvedModel, inputs: &[ModelInput]) -> u64 {
    let bytes = |data: &Data| match data {
        Data::Bytes(bytes) => bytes.len(),
        Data::Strings(strings) => strings.iter().map(|text| text.len() + size_of::<String>()).sum(),
    };
    let constants = (0..model.program().inputs()).filter_map(|input| model.constant_of(input));
    let constants: usize = constants.map(|constant| bytes(&constant.data)).sum();
    let read: usize = inputs.iter().filter_map(|input| input.data.as_ref()).map(bytes).sum();
    (constants + read) as u64
}
