//! `trundle run`, and `trundle plan` of a model.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use trundle::Shape;
use trundle_formats::{Element, NamedTensor, Output, Shown, check_output, is_steering, stage};
use trundle_models::{Data, ElementType, Given, Graph, Model, Program, Tensor, TensorId};

use crate::args::{ModelArgs, RunArgs};
use crate::failure::Failure;
use crate::memory;
use crate::model_input::{ModelInput, given};
use crate::numbers::readable;
use crate::progress::Progress;
use crate::say::{print, print_json, say};
use crate::selection::shown_path;

/// An output of a model, in the form in which it is written.
struct Written {
    name: String,
    path: PathBuf,
    element: Element,
    /// The model's name of the type.
    dtype: String,
    /// The shape of the tensor, and that of the file, which differs for packed elements.
    shape: Shape,
    bytes: bytes::Bytes,
}

/// Runs a model on files, and writes its outputs.
///
/// # Errors
/// Everything that can be known before is checked before anything is written; nothing is left of
/// outputs that failed.
pub(crate) fn run(run: &RunArgs) -> Result<(), Failure> {
    let start = Instant::now();
    let model = Model::open(&run.model.model)?;
    let paths = out_paths(&model, &run.out_dir);
    check_outputs(&paths, &run.out_dir, run.force)?;
    let inputs = given(&model, &run.model.inputs, true, run.max_mem)?;
    let graph = model.graph(&known(&inputs))?;
    let program = Program::new(graph.clone(), run.model.threads)?;
    check_memory(&program, &inputs, run)?;

    let progress = Progress::new(run.quiet);
    let total: usize = program.stages().iter().map(trundle_models::Stage::moved_bytes).sum();
    progress.stage("moving", total);
    let data: Vec<Data> = inputs.iter().filter_map(|input| input.data.clone()).collect();
    let moving = Instant::now();
    let mut done = 0;
    let outputs = program.run(&data, &mut |bytes| {
        done += bytes as u64;
        progress.at(done);
    })?;
    let move_seconds = moving.elapsed().as_secs_f64();
    let mut written = Vec::with_capacity(outputs.len());
    for (((output, path), id), data) in
        model.outputs.iter().zip(paths).zip(&program.graph().outputs).zip(outputs)
    {
        let tensor = &program.graph().tensors[id.0];
        if run.verify {
            verify(&graph, *id, &inputs, &data, &output.name)?;
        }
        written.push(Written::of(&output.name, path, tensor, data)?);
    }
    write_all(&written, run, &progress)?;
    progress.finish();
    report(&written, &program, run, start.elapsed().as_secs_f64(), move_seconds)
}

/// Prints the graph of a model, the passes it takes, and what each does.
///
/// # Errors
/// What running it would refuse.
pub(crate) fn plan(args: &ModelArgs) -> Result<(), Failure> {
    let model = Model::open(&args.model)?;
    let inputs = given(&model, &args.inputs, false, None)?;
    let program = Program::new(model.graph(&known(&inputs))?, args.threads)?;
    if args.json {
        return print_json(&plan_report(&model, &program));
    }
    print(&format!("{model}\n\n{program}\n"))
}

fn known(inputs: &[ModelInput]) -> Vec<Given<'_>> {
    let mut known = Vec::with_capacity(inputs.len());
    for input in inputs {
        known.push(Given { shape: input.shape.clone(), data: input.data.as_ref() });
    }
    known
}

/// Where each output goes: a file of its name, which stays within the folder.
fn out_paths(model: &Model, folder: &Path) -> Vec<PathBuf> {
    let mut taken = HashSet::new();
    let mut paths = Vec::with_capacity(model.outputs.len());
    for output in &model.outputs {
        let safe = |c: char| if is_steering(c) || "/\\:".contains(c) { '_' } else { c };
        let name: String = output.name.chars().map(safe).take(200).collect();
        let name = if name.trim_matches('.').is_empty() { format!("output{name}") } else { name };
        let mut file = format!("{name}.npy");
        let mut number = 1;
        while !taken.insert(file.clone()) {
            number += 1;
            file = format!("{name}_{number}.npy");
        }
        paths.push(folder.join(file));
    }
    paths
}

fn check_outputs(paths: &[PathBuf], folder: &Path, force: bool) -> Result<(), Failure> {
    if !folder.exists() {
        return Ok(());
    }
    if !folder.is_dir() {
        return Err(Failure::usage(format!("{}: not a folder", shown_path(folder))));
    }
    paths.iter().try_for_each(|path| Ok(check_output(path, force)?))
}

fn check_memory(program: &Program, inputs: &[ModelInput], run: &RunArgs) -> Result<(), Failure> {
    let given: usize = inputs.iter().map(|input| input.bytes).sum();
    memory::check((given as u64).saturating_add(program.bytes() as u64), run.max_mem)
}

impl Written {
    fn of(name: &str, path: PathBuf, tensor: &Tensor, data: Data) -> Result<Written, Failure> {
        let (element, bytes) = match (data, tensor.element) {
            (Data::Bytes(bytes), ElementType::Fixed(dtype)) => (Element::new(dtype), bytes),
            (Data::Strings(texts), _) => {
                let of_texts = Element::of_texts(texts.iter().map(String::as_str));
                let (element, bytes) = of_texts.ok_or_else(|| {
                    Failure::refused(format!(
                        "output {}: a text ends with NUL, which .npy does not keep",
                        Shown(name)
                    ))
                })?;
                (element, bytes.into())
            }
            (Data::Bytes(_), ElementType::String) => {
                return Err(Failure::running(format!(
                    "output {}: numbers where texts are due",
                    Shown(name)
                )));
            }
        };
        let dtype = tensor.element.to_string();
        let (name, shape) = (name.to_owned(), tensor.shape.clone());
        Ok(Written { name, path, element, dtype, shape, bytes })
    }

    fn named(&self) -> NamedTensor<'_> {
        let Written { name, element, shape, bytes, .. } = self;
        NamedTensor { name, element, shape, bytes }
    }

    fn report(&self) -> Value {
        json!({
            "name": self.name,
            "file": self.path.to_string_lossy(),
            "dtype": self.dtype,
            "shape": self.shape.sizes(),
            "bytes": self.bytes.len(),
        })
    }
}

/// Writes every output beside its place, then lets all of them appear.
fn write_all(written: &[Written], run: &RunArgs, progress: &Progress) -> Result<(), Failure> {
    let folder = &run.out_dir;
    let existed = folder.exists();
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::running(format!("{}: cannot create the folder: {error}", shown_path(folder)))
    })?;
    write_into_folder(written, run, progress).inspect_err(|_| {
        if !existed {
            // It is empty, unless somebody else has put something there.
            let _ = std::fs::remove_dir(folder);
        }
    })
}

fn write_into_folder(
    written: &[Written],
    run: &RunArgs,
    progress: &Progress,
) -> Result<(), Failure> {
    let total = written.iter().map(|output| output.bytes.len()).sum();
    progress.stage("writing", total);
    let mut staged: Vec<Output> = Vec::with_capacity(written.len());
    let mut before = 0;
    for output in written {
        let path = &output.path;
        staged.push(stage(path, &[output.named()], &[], run.force, &mut |bytes| {
            progress.at(before + bytes);
        })?);
        before += output.bytes.len() as u64;
    }
    staged.into_iter().try_for_each(|output| Ok(output.finish()?))
}

/// Follows each element of an output back through the graph as the model states it, not as the
/// program has simplified it, one operator after another, and compares it with the one that is
/// written.
fn verify(
    graph: &Graph,
    id: TensorId,
    inputs: &[ModelInput],
    data: &Data,
    name: &str,
) -> Result<(), Failure> {
    let data_of: Vec<Data> = inputs.iter().filter_map(|input| input.data.clone()).collect();
    match graph.first_difference(id, &data_of, data) {
        None => Ok(()),
        Some(index) => Err(Failure::running(format!(
            "output {}: verification failed: the element at {index:?} is not the one it should \
             be; nothing was written",
            Shown(name)
        ))),
    }
}

fn report(
    written: &[Written],
    program: &Program,
    run: &RunArgs,
    seconds: f64,
    move_seconds: f64,
) -> Result<(), Failure> {
    let passes = program.stages().len();
    if run.model.json {
        let mut report = json!({
            "outputs": written.iter().map(Written::report).collect::<Vec<_>>(),
            "passes": passes,
            "seconds": seconds,
            "move_seconds": move_seconds,
        });
        if run.verify {
            report["verified"] = true.into();
        }
        return print_json(&report);
    }
    if run.quiet {
        return Ok(());
    }
    for output in written {
        say(&format!(
            "{}: {} {}, {}{}",
            shown_path(&output.path),
            output.dtype,
            output.shape,
            readable(output.bytes.len() as u64),
            if run.verify { ", verified" } else { "" },
        ));
    }
    let plural = if passes == 1 { "" } else { "es" };
    say(&format!("{passes} pass{plural}, {seconds:.2} s"));
    Ok(())
}

fn plan_report(model: &Model, program: &Program) -> Value {
    let graph = program.graph();
    let stages = program.stages().iter().map(|stage| {
        let tensor = &graph.tensors[stage.tensor.0];
        json!({
            "writes": graph.name(stage.tensor),
            "dtype": tensor.element.to_string(),
            "shape": tensor.shape.sizes(),
            "fused": stage.fused.iter().map(|id| json!({
                "name": graph.name(*id),
                "is_roll_of_slices": program.rolls().contains(id),
            })).collect::<Vec<_>>(),
            "parts": stage.parts.iter().map(|part| json!({
                "from": graph.name(part.from),
                "blocks": part.work.blocks().len(),
                "bytes": part.work.moved_bytes(),
            })).collect::<Vec<_>>(),
            "bytes": stage.moved_bytes(),
        })
    });
    json!({
        "model": model.name,
        "dialect": model.dialect,
        "operators": model.nodes.iter().map(|node| json!({
            "name": node.name,
            "kind": node.kind,
        })).collect::<Vec<_>>(),
        "stages": stages.collect::<Vec<_>>(),
        "passes": program.stages().len(),
        "bytes": program.stages().iter().map(trundle_models::Stage::moved_bytes).sum::<usize>(),
    })
}
