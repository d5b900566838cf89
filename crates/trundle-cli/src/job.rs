//! A movement from a file to a file: checked, planned, loaded, run, written, verified.

use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use trundle::{Layout, Plan, PlanError};
use trundle_formats::{Description, Header, NamedTensor, check_output, stage};

use crate::args::MoveArgs;
use crate::failure::Failure;
use crate::memory;
use crate::numbers::readable;
use crate::operation::Operation;
use crate::progress::Progress;
use crate::say::{print_json, say};
use crate::selection::select;
use crate::verify::{ReadBack, Verified, verify};

/// One tensor on its way.
struct Moved {
    header: Header,
    plan: Plan,
    bytes: Vec<u8>,
}

/// What a movement took.
pub(crate) struct Outcome {
    /// The most passes that a tensor took.
    pub passes: usize,
    /// Seconds for moving alone, without reading and writing.
    pub move_seconds: f64,
    /// That the output was read back and compared, if it was asked for.
    pub verified: Option<Verified>,
    /// One entry for each tensor of the output, as `--json` has it.
    pub outputs: Vec<serde_json::Value>,
}

/// Moves a file's tensors to another file, and says so.
///
/// # Errors
/// Everything that can be known before is checked before the data is read; nothing is left of an
/// output that failed.
pub(crate) fn run(operation: &Operation, moving: &MoveArgs) -> Result<(), Failure> {
    let start = Instant::now();
    check_streams(moving)?;
    let outcome = carry_out(operation, moving)?;
    let seconds = start.elapsed().as_secs_f64();
    if moving.planning.json {
        let mut report = json!({
            "outputs": outcome.outputs,
            "passes": outcome.passes,
            "seconds": seconds,
            "move_seconds": outcome.move_seconds,
        });
        if outcome.verified.is_some() {
            report["verified"] = true.into();
        }
        print_json(&report)?;
    } else if !moving.quiet {
        for output in &outcome.outputs {
            say(&format!(
                "{}: {} {}, {} in {} pass{}, {seconds:.2} s{}",
                if moving.output == Path::new("-") {
                    "stdout"
                } else {
                    output["file"].as_str().unwrap_or_default()
                },
                output["dtype"].as_str().unwrap_or_default(),
                output["shape"],
                readable(output["bytes"].as_u64().unwrap_or_default()),
                outcome.passes,
                if outcome.passes == 1 { "" } else { "es" },
                if outcome.verified.is_some() { ", verified" } else { "" },
            ));
        }
    }
    Ok(())
}

/// stdout holds either the tensor or the report, and cannot be read back.
fn check_streams(moving: &MoveArgs) -> Result<(), Failure> {
    let streamed = moving.output == Path::new("-");
    if streamed && moving.planning.json {
        return Err(Failure::usage("--json prints on stdout, where -o - puts the tensor"));
    }
    if streamed && stdout().is_terminal() {
        return Err(Failure::usage("-o - puts the tensor's bytes on stdout, which is a terminal"));
    }
    if streamed && moving.verify {
        return Err(Failure::usage("--verify reads the output back, which stdout cannot do"));
    }
    let is_special =
        |path: &Path| path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if moving.verify && is_special(&moving.output) {
        let output = moving.output.display();
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
    check_output(&moving.output, moving.force)?;
    let mut file = operation.input.open()?;
    let chosen = select(operation.input.path(), file.headers(), moving.planning.tensor.as_deref())?;
    let mut tensors = Vec::with_capacity(chosen.len());
    for index in chosen {
        let header = file.headers()[index].clone();
        let plan = plan(operation, &header, moving.planning.threads)?;
        tensors.push((index, header, plan));
    }
    let tensors_bytes: u64 =
        tensors.iter().map(|(_, header, plan)| needed(header, plan, moving.verify)).sum();
    memory::check(operation.lengths_bytes.saturating_add(tensors_bytes), moving.max_mem)?;

    let total: usize = tensors.iter().map(|(_, header, _)| header.data_bytes).sum();
    let progress = Progress::new(moving.quiet);
    let mut move_seconds = 0.0;
    let mut moved = Vec::with_capacity(tensors.len());
    progress.stage("reading", total);
    for (index, header, plan) in tensors {
        let source = file.load(index, &mut |bytes| progress.at(bytes))?;
        let start = Instant::now();
        let mut bytes = memory::zeros(out_bytes(&header, &plan)?)?;
        plan.run(&source, &mut bytes)?;
        move_seconds += start.elapsed().as_secs_f64();
        moved.push((Moved { header, plan, bytes }, moving.verify.then_some(source)));
    }
    progress.stage("writing", total);
    let named: Vec<NamedTensor<'_>> = moved.iter().map(|(tensor, _)| tensor.named()).collect();
    let output = stage(&moving.output, &named, file.metadata(), moving.force, &mut |bytes| {
        progress.at(bytes);
    })?;
    let (mut verified, threads) = (None, moving.planning.threads);
    if moving.verify {
        progress.stage("verifying", total);
        for (number, (tensor, source)) in moved.iter().enumerate() {
            let described = Description::of(&tensor.header.element, tensor.plan.out_shape());
            let file = output.read_back(&described);
            let read_back = ReadBack { name: &moving.output, file, number };
            let source = source.as_deref().unwrap_or_default();
            verified =
                Some(verify(read_back, operation, &tensor.header, source, threads, &progress)?);
        }
    }
    // Nothing appears at the output's place before it is found to be right.
    output.finish()?;
    progress.finish();
    Ok(Outcome {
        passes: moved.iter().map(|(tensor, _)| tensor.plan.passes().len()).max().unwrap_or(0),
        move_seconds,
        verified,
        outputs: moved.iter().map(|(tensor, _)| tensor.report(&moving.output)).collect(),
    })
}

/// The plan for one tensor of the file, to a packed, row-major output.
///
/// # Errors
/// If the chain does not fit the tensor.
pub(crate) fn plan(
    operation: &Operation,
    header: &Header,
    threads: Option<usize>,
) -> Result<Plan, Failure> {
    let width = header.element.width();
    let refused = |error: PlanError| match error {
        PlanError::Chain(error) if !operation.written => {
            let (name, shape) = (&header.name, &header.shape);
            Failure::refused(format!("{name} of shape {shape}: {}", error.source))
        }
        error => Failure::from(error).within(&header.name),
    };
    let out_shape =
        operation.chain.out_shape(&header.shape).map_err(|error| refused(error.into()))?;
    let dst = Layout::row_major(&out_shape, width.units())?;
    Plan::new(&operation.chain, width, &header.layout()?, &dst, threads).map_err(refused)
}

fn out_bytes(header: &Header, plan: &Plan) -> Result<usize, Failure> {
    Ok(plan.out_shape().bytes(header.element.width())?)
}

/// The bytes that loading, moving, holding and reading back a tensor takes.
fn needed(header: &Header, plan: &Plan, verify: bool) -> u64 {
    let copies = if verify { 3 } else { 2 };
    (header.data_bytes as u64).saturating_mul(copies).saturating_add(plan.scratch_bytes() as u64)
}

impl Moved {
    fn named(&self) -> NamedTensor<'_> {
        NamedTensor {
            name: &self.header.name,
            element: &self.header.element,
            shape: self.plan.out_shape(),
            bytes: &self.bytes,
        }
    }

    fn report(&self, file: &Path) -> serde_json::Value {
        json!({
            "name": self.header.name,
            "file": file.to_string_lossy(),
            "dtype": self.header.element.name(),
            "shape": self.plan.out_shape().sizes(),
            "bytes": self.bytes.len(),
        })
    }
}
