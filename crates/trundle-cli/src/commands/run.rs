//! `trundle run`, and `trundle plan` of a model.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use trundle::Shape;
use trundle::lowering::Move;
use trundle_files::failure::Failure;
use trundle_files::forecast::counted;
use trundle_files::memory;
use trundle_files::names::shown_path;
use trundle_files::numbers::readable;
use trundle_formats::{
    NamedTensor, Output, Shown, StoredDType, TensorFile, TensorHint, begin_finishing, check_output,
    is_steering, overlaps, stage,
};
use trundle_models::{Data, ElementType, Given, Model, PlannedModel, ResolvedModel, Verifier};

use super::partition;
use crate::args::{ModelArgs, RunArgs};
use crate::foreign::of_model;
use crate::model_input::{ModelInput, given};
use crate::model_job::{FileOutcome, FileOutput};
use crate::progress::Progress;
use crate::say::{Label, print, print_json, say, say_as};
use crate::{model_forecast, model_job};

/// An output, encoded as its file stores it.
struct Written {
    output: FileOutput,
    element: StoredDType,
    shape: Shape,
    bytes: bytes::Bytes,
}

/// Runs a model on files and writes its outputs. If the memory is not enough, it moves in tiles from files to files.
///
/// # Errors
/// If an input or output does not fit; this is checked before anything is written. After a failure, nothing
/// is kept except work that `--resume` can continue.
pub(crate) fn run(run: &RunArgs) -> Result<(), Failure> {
    let start = Instant::now();
    let model = open(&run.model).map_err(of_model)?;
    let paths = out_paths(&model, &run.out_dir);
    let mut inputs = given(&model.inputs, &run.model.inputs, true, run.max_mem)?;
    for ModelInput { file, path, .. } in &inputs {
        for what in file.iter().flat_map(TensorFile::unread) {
            let (path, what) = (shown_path(path), Shown(what));
            let why = "left out because trundle does not read them";
            say_as(Label::Warning, &format!("{path}: {why}: {what}"));
        }
    }
    check_outputs(&paths, &run.out_dir, run.force)?;
    let bytes: usize = inputs.iter().map(|input| input.bytes).sum();
    if memory::fits(bytes as u64, run.max_mem) {
        let mut each = inputs.iter_mut().zip(&model.inputs);
        each.try_for_each(|(input, of_model)| input.load(of_model.element))?;
    }
    let (resolved, planned) = planned(&model, &inputs, &run.model)?;
    let needed = (bytes as u64).saturating_add(planned.peak_bytes() as u64);
    let named = model.outputs.iter().zip(resolved.outputs()).zip(paths);
    let outputs = named
        .map(|((output, id), path)| FileOutput { name: output.name.clone(), tensor: *id, path })
        .collect();
    let ran = Ran { resolved: &resolved, run, progress: Progress::new(run.quiet) };
    let (outputs, outcome) =
        match memory::fits(needed, run.max_mem) || !model_job::is_possible(&resolved) {
            true => {
                memory::check(needed, run.max_mem)?;
                ran.in_memory(&inputs, outputs, &planned)?
            }
            false => {
                drop(planned);
                ran.in_parts(&mut inputs, outputs)?
            }
        };
    ran.progress.finish();
    ran.report(&outputs, &outcome, start.elapsed().as_secs_f64())
}

struct Ran<'a> {
    resolved: &'a ResolvedModel,
    run: &'a RunArgs,
    progress: Progress,
}

type Made = (Vec<(FileOutput, usize)>, FileOutcome);

impl Ran<'_> {
    fn in_memory(
        &self,
        inputs: &[ModelInput],
        outputs: Vec<FileOutput>,
        planned: &PlannedModel,
    ) -> Result<Made, Failure> {
        let Ran { resolved, run, progress } = self;
        self.check_resume(inputs, &outputs)?;
        progress.phase("moving", planned.moved_bytes());
        let data: Vec<Data> = inputs.iter().filter_map(|input| input.data.clone()).collect();
        let moving = Instant::now();
        let mut done = 0;
        let moved = planned.run(&data, &mut |bytes| {
            done += bytes as u64;
            progress.at(done);
        });
        let moved = moved.map_err(of_model)?;
        let move_seconds = moving.elapsed().as_secs_f64();
        let mut written = Vec::with_capacity(outputs.len());
        for (output, data) in outputs.into_iter().zip(moved) {
            written.push(Written::of(output, resolved, data)?);
        }
        let verifier = run.verify.then(|| Verifier::new(resolved, &data));
        in_folder(&run.out_dir, || write_all(&written, run, verifier.as_ref(), progress))?;
        let outputs = written.into_iter().map(|each| (each.output, each.bytes.len())).collect();
        let passes = planned.passes().len();
        Ok((outputs, FileOutcome { passes, move_seconds, resumed: false }))
    }

    /// Moves from files to files, in tiles that fit into the memory.
    fn in_parts(
        &self,
        inputs: &mut [ModelInput],
        outputs: Vec<FileOutput>,
    ) -> Result<Made, Failure> {
        let Ran { resolved, run, progress } = self;
        inputs.iter_mut().for_each(ModelInput::unload);
        self.check_resume(inputs, &outputs)?;
        let outcome =
            in_folder(&run.out_dir, || model_job::run(resolved, inputs, &outputs, run, progress))?;
        let bytes = |output: &FileOutput| resolved.program().tensor(output.tensor).bytes();
        let bytes: Vec<usize> = outputs.iter().map(bytes).collect();
        Ok((outputs.into_iter().zip(bytes).collect(), outcome))
    }

    /// Refuses `--resume` if an output replaces an input that is in memory, because no journal records whether the
    /// earlier run has already replaced it.
    fn check_resume(&self, inputs: &[ModelInput], outputs: &[FileOutput]) -> Result<(), Failure> {
        let is_read = |path: &Path| {
            let mut inputs = inputs.iter().filter(|input| input.data.is_some());
            inputs.any(|input| overlaps(path, &input.path))
        };
        let mut outputs = outputs.iter().filter(|_| self.run.resume);
        let replaced = outputs.find(|output| is_read(&output.path));
        replaced.map_or(Ok(()), |output| Err(Failure::maybe_done(&output.path)))
    }

    fn report(
        &self,
        outputs: &[(FileOutput, usize)],
        outcome: &FileOutcome,
        seconds: f64,
    ) -> Result<(), Failure> {
        let Ran { resolved, run, .. } = self;
        let FileOutcome { passes, move_seconds, resumed } = outcome;
        if run.model.json {
            let output = |(output, bytes): &(FileOutput, usize)| {
                json!({
                    "name": output.name,
                    "file": output.path.to_string_lossy(),
                    "dtype": resolved.element(output.tensor).to_string(),
                    "shape": resolved.shape(output.tensor).sizes(),
                    "bytes": bytes,
                })
            };
            let mut report = json!({
                "outputs": outputs.iter().map(output).collect::<Vec<_>>(),
                "passes": passes,
                "seconds": seconds,
                "move_seconds": move_seconds,
                "resumed": resumed,
            });
            if run.verify {
                report["verified"] = true.into();
            }
            return print_json(&report);
        }
        if run.quiet {
            return Ok(());
        }
        for (output, bytes) in outputs {
            say(&format!(
                "{}: {} {}, {}{}",
                shown_path(&output.path),
                resolved.element(output.tensor),
                resolved.shape(output.tensor),
                readable(*bytes as u64),
                if run.verify { ", verified" } else { "" },
            ));
        }
        let resumed = if *resumed { ", resumed" } else { "" };
        say(&format!("{}, {seconds:.2} s{resumed}", counted(*passes, "pass")));
        Ok(())
    }
}

/// Reports the passes of a model. `verbose` adds its graph, and every pass in detail.
///
/// # Errors
/// If running the model would be refused.
pub(crate) fn plan(args: &ModelArgs, verbose: bool) -> Result<(), Failure> {
    if !Model::is_known(&args.model) {
        let file = shown_path(&args.model);
        return Err(Failure::usage(format!(
            "{file}: not a model (.xml or .onnx); to plan a move of a file, name the operation first: trundle plan transpose {file} ..."
        )));
    }
    let model = match open(args) {
        Err(refused @ trundle_models::Error::Unsupported(_)) => {
            return partition::plan(args, refused, verbose);
        }
        model => model.map_err(of_model)?,
    };
    let inputs = given(&model.inputs, &args.inputs, false, None)?;
    let (_, planned) = planned(&model, &inputs, args)?;
    if args.json {
        return print_json(&plan_report(&model, &planned));
    }
    let brief = model_forecast::forecast(&model, &planned);
    print(&if verbose { format!("{brief}\n{model}\n\n{planned}\n") } else { brief })
}

fn open(args: &ModelArgs) -> trundle_models::Result<Model> {
    Model::open_with(&args.model, args.links())
}

fn planned(
    model: &Model,
    inputs: &[ModelInput],
    args: &ModelArgs,
) -> Result<(ResolvedModel, PlannedModel), Failure> {
    let refused = |error| of_model(error).within(&shown_path(&args.model).to_string());
    let mut known = Vec::with_capacity(inputs.len());
    for ModelInput { shape, data, .. } in inputs {
        known.push(Given { shape: shape.clone(), data: data.as_ref() });
    }
    let resolved = model.resolve(&known).map_err(refused)?;
    let planned = PlannedModel::new(resolved.clone(), args.threads).map_err(refused)?;
    Ok((resolved, planned))
}

/// Each file is named after its output, and always within the folder.
fn out_paths(model: &Model, folder: &Path) -> Vec<PathBuf> {
    let mut taken = HashSet::new();
    // The last number added to each name, so that many equal names do not take quadratic time.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut paths = Vec::with_capacity(model.outputs.len());
    for output in &model.outputs {
        let is_reserved = |c: char| cfg!(windows) && r#"<>"|?*"#.contains(c);
        let safe =
            |c: char| if is_steering(c) || "/\\:".contains(c) || is_reserved(c) { '_' } else { c };
        let name: String = output.name.chars().map(safe).take(200).collect();
        let name = if name.trim_matches('.').is_empty() { format!("output{name}") } else { name };
        let mut file = format!("{name}.npy");
        let number = numbers.entry(name.clone()).or_insert(1);
        while !taken.insert(as_distinguished(&file)) {
            *number += 1;
            file = format!("{name}_{number}.npy");
        }
        paths.push(folder.join(file));
    }
    paths
}

/// Returns the part of a file name that the usual file system of the platform uses to distinguish files.
fn as_distinguished(file: &str) -> String {
    if cfg!(any(windows, target_os = "macos")) { file.to_lowercase() } else { file.to_owned() }
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

impl Written {
    fn of(output: FileOutput, model: &ResolvedModel, data: Data) -> Result<Written, Failure> {
        let name = Shown(&output.name);
        let (element, bytes) = match (data, model.element(output.tensor)) {
            (Data::Bytes(bytes), ElementType::Fixed(dtype)) => {
                (StoredDType::little_endian(dtype), bytes)
            }
            (Data::Strings(strings), _) => {
                let of_strings = StoredDType::of_strings(strings.iter().map(String::as_str));
                let (element, bytes) = of_strings.ok_or_else(|| {
                    Failure::refused(format!(
                        "output {name}: a string ends with NUL, which .npy cannot store"
                    ))
                })?;
                (element, bytes.into())
            }
            (Data::Bytes(_), ElementType::String) => {
                let message = format!("output {name}: numbers where strings are expected");
                return Err(Failure::running(message));
            }
        };
        let shape = model.shape(output.tensor).clone();
        Ok(Written { output, element, shape, bytes })
    }

    fn named(&self) -> NamedTensor<'_> {
        let Written { output, element, shape, bytes } = self;
        NamedTensor { name: &output.name, element, shape, bytes }
    }

    /// Reads the unfinished file back, and traces each element through the original model, one operator after another,
    /// without the simplifications of the run.
    fn verify(
        &self,
        file: &Output,
        verifier: &Verifier<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Failure> {
        let hint = match self.element.holds_strings() {
            true => TensorHint::default(),
            false => TensorHint::of(&self.element, &self.shape),
        };
        let mut file = file.read_back(&hint)?;
        let differs = |what: &str| {
            Failure::running(format!(
                "output {:?}: verification failed: {what}; the output was not kept",
                self.output.name
            ))
        };
        match file.headers() {
            [header] if header.shape == self.shape && header.element == self.element => {}
            _ => return Err(differs("the file has another type or shape")),
        }
        let mut compared = Compared {
            written: self,
            verifier,
            elements: 0,
            waiting: Vec::new(),
            difference: None,
        };
        file.copy_to(0, &mut compared, progress)?;
        compared.compare(true);
        match compared.difference {
            Some(index) => Err(differs(&format!("the element at {index:?} is wrong"))),
            None if compared.elements == self.shape.elements() => Ok(()),
            None => Err(differs("elements are missing in the file")),
        }
    }
}

const COMPARED_BYTES: usize = 4 << 20;

/// A writer that compares the bytes of a file with the expected elements.
struct Compared<'a> {
    written: &'a Written,
    verifier: &'a Verifier<'a>,
    elements: usize,
    waiting: Vec<u8>,
    difference: Option<Vec<usize>>,
}

impl Compared<'_> {
    /// Compares the received bytes as whole elements, if there are enough or the file ends (`is_end`).
    fn compare(&mut self, is_end: bool) {
        let element = &self.written.element;
        let (group, group_bytes) = match element.width().packing() {
            Some(packing) => (packing.group(), packing.group_bytes()),
            None => (1, element.width().units()),
        };
        let whole = match is_end {
            true => self.waiting.len(),
            false if self.waiting.len() < COMPARED_BYTES.max(group_bytes) => return,
            false => self.waiting.len() / group_bytes * group_bytes,
        };
        let rest = self.waiting.split_off(whole);
        let bytes = std::mem::replace(&mut self.waiting, rest);
        let left = self.written.shape.elements() - self.elements;
        let count = left.min(whole.div_ceil(group_bytes.max(1)) * group);
        if self.difference.is_some() || count == 0 {
            return;
        }
        if is_end && !self.ends_in_zeros(&bytes, count) {
            self.difference = Some(self.written.shape.unravel(self.elements + count - 1));
            return;
        }
        let data = if element.holds_strings() {
            let strings = element.strings(&bytes);
            strings.map(|strings| Data::Strings(strings.into()))
        } else {
            let mut bytes = bytes;
            element.make_little_endian(&mut bytes);
            Some(Data::Bytes(bytes.into()))
        };
        let range = self.elements..self.elements + count;
        self.difference = match data {
            Some(data) => self.verifier.first_difference(self.written.output.tensor, range, &data),
            None => Some(self.written.shape.unravel(self.elements)),
        };
        self.elements += count;
    }

    fn ends_in_zeros(&self, bytes: &[u8], count: usize) -> bool {
        let Some(packing) = self.written.element.width().packing() else { return true };
        let room = bytes.len() * 8 / packing.bits();
        (count..room).all(|unused| packing.get(bytes, unused) == 0)
    }
}

impl Write for Compared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        self.compare(false);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn in_folder<T>(folder: &Path, write: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let existed = folder.exists();
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::running(format!("{}: cannot create the folder: {error}", shown_path(folder)))
    })?;
    write().inspect_err(|_| {
        if !existed {
            // Fails if other files or resumable work are in the folder.
            let _ = std::fs::remove_dir(folder);
        }
    })
}

/// Verifies all outputs in temporary files before it renames any.
fn write_all(
    written: &[Written],
    run: &RunArgs,
    verifier: Option<&Verifier<'_>>,
    progress: &Progress,
) -> Result<(), Failure> {
    let total = written.iter().map(|each| each.bytes.len()).sum();
    progress.phase("writing", total);
    let mut staged: Vec<Output> = Vec::with_capacity(written.len());
    let mut before = 0;
    for each in written {
        let path = &each.output.path;
        staged.push(stage(path, &[each.named()], &[], run.force, &mut |bytes| {
            progress.at(before + bytes);
        })?);
        before += each.bytes.len() as u64;
    }
    if let Some(verifier) = verifier {
        progress.phase("verifying", total);
        let mut before = 0;
        for (each, file) in written.iter().zip(&staged) {
            each.verify(file, verifier, &mut |bytes| progress.at(before + bytes))?;
            before += each.bytes.len() as u64;
        }
    }
    staged.iter_mut().try_for_each(Output::sync)?;
    begin_finishing().map_err(Failure::running)?;
    staged.into_iter().try_for_each(|output| Ok(output.finish()?))
}

fn plan_report(model: &Model, planned: &PlannedModel) -> Value {
    let resolved = planned.model();
    let stages = planned.passes().iter().map(|pass| {
        json!({
            "writes": resolved.name(pass.target),
            "dtype": resolved.element(pass.target).to_string(),
            "shape": resolved.shape(pass.target).sizes(),
            "fused": pass.via.iter().map(|id| json!({
                "name": resolved.name(*id),
                "is_roll_of_slices": planned.rolls().contains(id),
            })).collect::<Vec<_>>(),
            "parts": pass.parts.iter().map(|part| {
                let work = planned.program().move_of(part);
                json!({
                    "from": resolved.name(part.from),
                    "blocks": work.map(|work| work.blocks().len()),
                    "bytes": work.map_or(pass.bytes, Move::moved_bytes),
                })
            }).collect::<Vec<_>>(),
            "bytes": pass.bytes,
        })
    });
    json!({
        "model": model.name,
        "dialect": model.dialect,
        "operators": model.all_nodes().into_iter().map(|node| json!({
            "name": node.name,
            "kind": node.kind,
        })).collect::<Vec<_>>(),
        "stages": stages.collect::<Vec<_>>(),
        "passes": planned.passes().len(),
        "bytes": planned.moved_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use trundle::DType;
    use trundle::ops::Flip;
    use trundle_models::{Program, TensorInfo};

    use trundle_formats::FileSkeleton;

    use super::*;

    fn reversed(element: ElementType) -> (ResolvedModel, Data) {
        let shape = Shape::new([5, 3]).unwrap();
        let mut program = Program::new();
        let input = match element {
            ElementType::String => program.given(shape.clone(), DType::U64),
            ElementType::Fixed(dtype) => program.given(shape.clone(), dtype),
        };
        let reversed = program.moved_by(input.unwrap(), Flip::new(&[0, 1])).unwrap();
        program.output(reversed).unwrap();
        let infos = vec![TensorInfo { element, name: "t".into() }; 2];
        let model = ResolvedModel::new(program, infos, Vec::new()).unwrap();
        let data = match element {
            ElementType::String => Data::Strings((0..15).map(|n| format!("{n}")).collect()),
            ElementType::Fixed(dtype) => {
                let bytes = shape.bytes(dtype).unwrap();
                let mut bytes: Vec<u8> = (1..).take(bytes).collect();
                if let Some(packing) = dtype.packing() {
                    // The bits after the last element are 0.
                    (15..bytes.len() * 8 / packing.bits())
                        .for_each(|unused| packing.set(&mut bytes, unused, 0));
                }
                Data::Bytes(bytes.into())
            }
        };
        (model, data)
    }

    #[test]
    fn verify_finds_every_changed_byte_of_a_file() {
        let fixed = [DType::U8, DType::U16, DType::F64, DType::BF16, DType::U4, DType::U1];
        let elements = fixed.map(ElementType::Fixed).into_iter().chain([ElementType::String]);
        for element in elements {
            let (model, data) = reversed(element);
            let planned = PlannedModel::new(model.clone(), Some(1)).unwrap();
            let inputs = [data];
            let output = planned.run(&inputs, &mut |_| ()).unwrap().remove(0);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("y.npy");
            let tensor = model.outputs()[0];
            let file_output = FileOutput { name: "y".to_owned(), tensor, path };
            let written = Written::of(file_output, &model, output).unwrap();
            let skeleton = FileSkeleton::default();
            let verifier = Verifier::new(&model, &inputs);
            let staged =
                || stage(&written.output.path, &[written.named()], &[], false, &mut |_| ());
            let verified = |file: &Output| written.verify(file, &verifier, &mut |_| ());
            let good = staged().unwrap();
            verified(&good).unwrap();

            let length = good.blob(&skeleton).unwrap().bytes().unwrap();
            let data = length - written.bytes.len() as u64;
            for (at, byte) in (data..).zip(&written.bytes) {
                let damaged = staged().unwrap();
                damaged.blob(&skeleton).unwrap().write_all_at(&[byte ^ 1], at).unwrap();
                let error = verified(&damaged).unwrap_err().to_string();
                assert!(error.contains("verification failed"), "{element}, byte {at}: {error}");
            }
            let short = staged().unwrap();
            short.blob(&skeleton).unwrap().resize(length - 1).unwrap();
            assert!(verified(&short).is_err());
            assert!(!written.output.path.exists());
        }
    }
}
