//! `trundle plan`.

use std::path::Path;

use serde_json::{Value, json};
use trundle::lowering::{AxisMap, Layer, Move};
use trundle::tuning::{self, Used};
use trundle::{Chain, Layout, Plan, PlanError, Program, ProgramPlan, Shape};
use trundle_disk::{Job, TensorJob};
use trundle_formats::{Format, Header, Order, Output, Shown, StoredDType, TensorFile};

use super::info::described;
use super::{join, relayout, split};
use crate::args::{DryRunArgs, MeansArgs, PlanCommand, PlannedArgs};
use crate::axes;
use crate::coordinates;
use crate::device::{self, Device};
use crate::failure::Failure;
use crate::forecast::{counted, destination, first_lines, sentence, tensors};
use crate::input::Input;
use crate::job::{self, not_kept};
use crate::left_out;
use crate::moves::move_report;
use crate::numbers::readable;
use crate::operation::Operation;
use crate::say::{print, print_json};
use crate::selection::{Choice, listed};
use crate::tasks;

/// Says what would be done, without reading the data: a sentence, or every stage.
///
/// # Errors
/// What the movement itself would refuse.
pub(crate) fn run(command: PlanCommand) -> Result<(), Failure> {
    match command {
        PlanCommand::Operator(command) => plan_chain(&command.operation()?, &command.rest),
        PlanCommand::Apply { operation, planned } => plan_chain(&operation.operation()?, &planned),
        PlanCommand::Convert { operation, planned } => {
            plan_chain(&operation.operation()?, &planned)
        }
        PlanCommand::Concat { asked, means, dry } => join::plan(&asked.join(), &means, &dry),
        PlanCommand::Stack { asked, means, dry } => join::plan(&asked.join(), &means, &dry),
        PlanCommand::Split { asked, means, dry } => split::plan(&asked, &means, &dry),
        PlanCommand::Relayout { asked, means, dry } => relayout::plan(&asked, &means, &dry),
    }
}

/// One chain, on each tensor that it is meant for.
fn plan_chain(operation: &Operation, planned: &PlannedArgs) -> Result<(), Failure> {
    let PlannedArgs { planning, dry, numbering, device } = planned;
    let means = &planning.means;
    let device = device::open(device.device)?;
    if device.is_some() && numbering.tasks.is_some() {
        return Err(Failure::usage(
            "--tasks is for --device cpu: what a device does are launches, which --json lists",
        ));
    }
    let Decided { mut opened, format, choice, job } = decided(operation, planned, means)?;
    dry.check_output(Some(format))?;
    opened.iter_mut().try_for_each(TensorFile::read_on)?;
    if let Some(plan) = &numbering.tasks {
        return tasks::begin(plan, &mut opened, &job, operation, planned);
    }
    let file = &opened[0];
    let wanted = choice.wanted();
    coordinates::warn(operation, file.headers(), &choice, planning, dry.quiet);
    if dry.quiet {
        return Ok(());
    }
    let headers: Vec<&Header> = wanted.iter().map(|each| &file.headers()[each.index]).collect();
    if let Some(device) = device.as_deref() {
        let is_moved = |(number, _): &(usize, &TensorJob)| choice.is_moved(wanted[*number].index);
        for (number, tensor) in job.tensors().iter().enumerate().filter(is_moved) {
            let Some(moved) = choice.moved(wanted[number].index) else { continue };
            let inputs = inputs(&wanted[number], headers[number], &opened);
            let planned = OnDevice { inputs, tensor, chain: &moved.chain, device };
            match means.json {
                true => print_json(&planned.report(operation)?)?,
                false => print(&planned.text()?)?,
            }
        }
        return Ok(());
    }
    if !means.json && !dry.verbose {
        return print(&brief(&job, &headers, format, dry));
    }
    let mut plans = Vec::with_capacity(wanted.len());
    let is_moved = |number: usize| choice.is_moved(wanted[number].index);
    for (number, tensor) in job.tensors().iter().enumerate() {
        let (Some(moved), header) = (choice.moved(wanted[number].index), headers[number]) else {
            continue;
        };
        let inputs = inputs(&wanted[number], header, &opened);
        let plan = plan(&moved.chain, &inputs, tensor, means.threads)?;
        plans.push(PlannedTensor { inputs, tensor, chain: &moved.chain, plan });
    }
    if means.json {
        let mut reports = plans.iter().map(|planned| planned.report(operation, &job));
        return reports.try_for_each(|report| print_json(&report));
    }
    print(&format!("{}\n", brief(&job, &headers, format, dry)))?;
    for planned in plans {
        print(&planned.text())?;
    }
    print(&tuning_text())?;
    print(&files_text(&job, is_moved))
}

/// The header of a tensor, and of those that its chain names.
fn inputs<'a>(
    wanted: &trundle_disk::Wanted,
    header: &'a Header,
    opened: &'a [TensorFile],
) -> Vec<&'a Header> {
    let others = wanted.others.iter().filter_map(|other| match other {
        trundle_disk::Input::Tensor { file, index } => Some(&opened[*file].headers()[*index]),
        trundle_disk::Input::Constant(_) => None,
    });
    std::iter::once(header).chain(others).collect()
}

/// One tensor of a file, and what would move it: from row-major to row-major, in a device's memory.
struct OnDevice<'a> {
    /// As those of a [`PlannedTensor`].
    inputs: Vec<&'a Header>,
    tensor: &'a TensorJob,
    chain: &'a Chain,
    device: &'a dyn Device,
}

impl OnDevice<'_> {
    fn text(&self) -> Result<String, Failure> {
        let title = title(&self.inputs, self.tensor);
        let plan = self.device.planned(&self.program()?).map_err(|failure| self.named(failure))?;
        Ok(format!("{title}, {plan}\n"))
    }

    fn report(&self, operation: &Operation) -> Result<Value, Failure> {
        let OnDevice { inputs, tensor, chain, device } = self;
        let mut report = tensor_report(operation, inputs, chain, tensor.out_shape());
        let plan = device.report(&self.program()?).map_err(|failure| self.named(failure))?;
        add(&mut report, plan);
        Ok(report)
    }

    fn program(&self) -> Result<Program, Failure> {
        let OnDevice { inputs, tensor, chain, .. } = self;
        program(chain, inputs, tensor.element()).map_err(|failure| self.named(failure))
    }

    fn named(&self, failure: Failure) -> Failure {
        failure.within(&self.inputs[0].name)
    }
}

/// The program of a chain, for tensors of these shapes.
fn program(chain: &Chain, inputs: &[&Header], element: &StoredDType) -> Result<Program, Failure> {
    let shapes: Vec<Shape> = inputs.iter().map(|input| input.shape.clone()).collect();
    let program = chain.program_with(&shapes, element.width(), |number| element.of_number(number));
    program.map_err(|error| Failure::from(PlanError::from(error)))
}

/// Which tensor becomes which.
fn title(inputs: &[&Header], tensor: &TensorJob) -> String {
    let (name, element) = (Shown(&inputs[0].name), inputs[0].element.name());
    let from: Vec<String> = inputs.iter().map(|input| input.shape.to_string()).collect();
    format!("{name}: {element} {} to {}", from.join(", "), tensor.out_shape())
}

/// What the reports of all plans of a tensor begin with.
fn tensor_report(
    operation: &Operation,
    inputs: &[&Header],
    chain: &Chain,
    out_shape: &Shape,
) -> Value {
    let mut report = json!({
        "file": operation.input.path().to_string_lossy(),
        "tensor": described(inputs[0]),
    });
    if !chain.is_map() {
        report["others"] = inputs[1..].iter().map(|other| described(other)).collect();
    }
    report["out_shape"] = json!(out_shape.sizes());
    report["chain"] = operators(chain).into();
    report
}

/// The operators of a chain, as a chain has them.
fn operators(chain: &Chain) -> Vec<String> {
    chain.ops().iter().map(|op| format!("{op:#}")).collect()
}

/// Adds the fields of one object to another.
fn add(report: &mut Value, more: Value) {
    if let (Some(report), Value::Object(more)) = (report.as_object_mut(), more) {
        report.extend(more);
    }
}

/// A job, and what it was decided by.
pub(crate) struct Decided<'a> {
    /// First the file whose tensors are moved.
    pub(crate) opened: Vec<TensorFile>,
    format: &'static Format,
    choice: Choice<'a>,
    pub(crate) job: Job,
}

/// Decides what is planned, by these means.
///
/// # Errors
/// What the movement itself would refuse.
pub(crate) fn decided<'a>(
    operation: &'a Operation,
    planned: &PlannedArgs,
    means: &MeansArgs,
) -> Result<Decided<'a>, Failure> {
    let PlannedArgs { planning, dry, .. } = planned;
    let format = dry.format(operation.input.path())?;
    let opened = operation.open()?;
    let format = format.unwrap_or(job::format_like(&opened[0]));
    let choice = Choice::of(operation, &opened, planning, format)?;
    let (metadata, _) = axes::still_true(&opened[0], &choice);
    let wanted = choice.wanted();
    let row_major = planning.row_major;
    let means = &means.among(operation.inputs().map(Input::path).chain(dry.output.as_deref()));
    let held = choice.held_bytes(operation, means)?;
    let job = job::decide(held, means, row_major, &dry.chunking, |options| {
        let files: Vec<&TensorFile> = opened.iter().collect();
        Job::new(&files, &wanted, format, &metadata, options)
    })?;
    Ok(Decided { opened, format, choice, job })
}

/// The numbers that kernels and tiles take from the machine.
fn tuning_text() -> String {
    let Used { tuning, source, .. } = tuning::used();
    let numbers = tuning.to_string();
    let numbers: Vec<&str> = numbers.split(' ').collect();
    let lines: String = numbers.chunks(5).map(|some| format!("  {}\n", some.join(" "))).collect();
    format!("tuning: {}\n{lines}", Shown(source))
}

/// One tensor of a file, and what is done to it.
struct PlannedTensor<'a> {
    /// The header of the tensor, and of those that the chain names.
    inputs: Vec<&'a Header>,
    tensor: &'a TensorJob,
    chain: &'a Chain,
    plan: InMemory,
}

/// How it would be done in memory.
enum InMemory {
    Chain(Box<Plan>),
    /// What takes several tensors, or a constant.
    Program(Box<ProgramPlan>),
}

impl DryRunArgs {
    /// Checks that the output could be written in `format`, as the movement itself would.
    ///
    /// # Errors
    /// If it exists and may not be overwritten, or has no folder.
    pub(crate) fn check_output(&self, format: Option<&Format>) -> Result<(), Failure> {
        let output = self.output.as_ref();
        output.map_or(Ok(()), |output| self.check_output_at(output, format))
    }

    /// The same of an output at this path.
    ///
    /// # Errors
    /// As [`DryRunArgs::check_output`].
    pub(crate) fn check_output_at(
        &self,
        path: &Path,
        format: Option<&Format>,
    ) -> Result<(), Failure> {
        match format {
            Some(format) => Ok(Output::check_as(format, path, self.force)?),
            None => Ok(Output::check(path, self.force)?),
        }
    }

    /// The format of the output; none if nothing is said of it, which is then the input's.
    ///
    /// # Errors
    /// If its ending is that of no format.
    pub(crate) fn format(&self, input: &Path) -> Result<Option<&'static Format>, Failure> {
        match &self.output {
            Some(output) => job::output_format(output, self.to, input),
            None => Ok(self.to),
        }
    }

    /// Where the output would go and what would follow, as lines; none if nothing is said of it.
    pub(crate) fn lines(&self, job: &Job, format: &Format) -> String {
        let mut lines = encoded_line(job);
        if let Some(output) = &self.output {
            lines.push_str(&format!("  {}\n", destination(output, format)));
        }
        if job.codecs_not_kept().next().is_some() {
            lines.push_str(&format!("  {}\n", not_kept(job.codecs_not_kept())));
        }
        if !job.left_out().metadata.is_empty() {
            let keys = listed(job.left_out().metadata.iter());
            lines.push_str(&format!("  the format keeps no metadata; left out: {keys}\n"));
        }
        left_out::lines(job.left_out())
            .iter()
            .for_each(|line| lines.push_str(&format!("  {line}\n")));
        if self.verify {
            let bytes = readable(job.tensors().iter().map(TensorJob::out_bytes).sum());
            lines.push_str(&format!("  then {bytes} are read back and compared\n"));
        }
        lines
    }
}

/// How many chunks would be copied as they are encoded, as a line; none if all are decoded.
fn encoded_line(job: &Job) -> String {
    match job.tensors().iter().filter_map(TensorJob::encoded_chunks).sum() {
        0 => String::new(),
        count => format!("  encoded chunks copied: {count}\n"),
    }
}

/// What would be done, for those who want no more than that.
fn brief(job: &Job, headers: &[&Header], format: &Format, dry: &DryRunArgs) -> String {
    let mut text = format!("{}\n", sentence(&tensors(job), job));
    let lines = job.tensors().iter().zip(headers).map(|(tensor, header)| {
        let (name, dtype, shape) = (Shown(&header.name), header.element.name(), &header.shape);
        format!("  {name}: {dtype} {shape} -> {}", tensor.out_shape())
    });
    first_lines(lines).for_each(|line| text.push_str(&format!("{line}\n")));
    text + &dry.lines(job, format)
}

/// The plan for one tensor of the file, in memory as in the files: to a packed output in the order
/// that its header will say.
fn plan(
    chain: &Chain,
    inputs: &[&Header],
    tensor: &TensorJob,
    threads: Option<usize>,
) -> Result<InMemory, Failure> {
    let (header, element) = (inputs[0], tensor.element());
    let width = element.width();
    let named = |failure: Failure| failure.within(&header.name);
    let dst = match tensor.out_order() {
        Order::RowMajor => Layout::row_major(tensor.out_shape(), width.units())?,
        Order::ColumnMajor => Layout::column_major(tensor.out_shape(), width.units())?,
    };
    let layouts = inputs.iter().map(|input| input.layout()).collect::<Result<Vec<_>, _>>()?;
    if chain.is_map() {
        let plan = Plan::new(chain, width, &layouts[0], &dst, threads);
        return plan
            .map(|plan| InMemory::Chain(Box::new(plan)))
            .map_err(|error| named(Failure::from(error)));
    }
    let program = program(chain, inputs, element).map_err(named)?;
    let plan = ProgramPlan::new(&program, &layouts, &dst, threads)?;
    Ok(InMemory::Program(Box::new(plan)))
}

/// What is done to the files for the tensors whose number says so.
pub(super) fn files_text(job: &Job, is_told: impl Fn(usize) -> bool) -> String {
    let cost = job.cost();
    let mut text = format!("files, with {} of buffers\n", readable(cost.buffer_bytes));
    for (_, tensor) in job.tensors().iter().enumerate().filter(|(number, _)| is_told(*number)) {
        let name = Shown(tensor.name());
        let tiles = tensor.tiles();
        if let Some(count) = tensor.encoded_chunks() {
            let chunks = counted(count, "chunk");
            text.push_str(&format!("  {name}: {chunks} copied as they are encoded\n"));
            continue;
        }
        if tensor.is_by_header() {
            text.push_str(&format!("  {name}: copied as it is, the header says column-major\n"));
        } else if tiles.is_empty() {
            text.push_str(&format!("  {name}: read, moved and written whole\n"));
        }
        let passes = tiles.len();
        for (number, (tiles, read, written)) in tiles.into_iter().enumerate() {
            text.push_str(&format!(
                "  {name}: pass {} of {passes}, {}, read in runs of {}, written in runs of {}\n",
                number + 1,
                counted(tiles, "tile"),
                readable(read),
                readable(written),
            ));
        }
    }
    text.push_str(&format!(
        "  {} read, {} written, {} of temporary files\n  about {:.2} s, on a disk of {}\n",
        readable(cost.bytes_read),
        readable(cost.bytes_written),
        readable(cost.temporary_bytes),
        cost.seconds,
        job.storage(),
    ));
    text
}

/// The same for programs, of one tensor.
fn files_report(tensor: &TensorJob, job: &Job) -> Value {
    let mut report = cost_report(job);
    report["by_header"] = tensor.is_by_header().into();
    if let Some(count) = tensor.encoded_chunks() {
        report["encoded_chunks"] = count.into();
    }
    report["passes"] = passes_report(tensor);
    report
}

/// The passes of a tensor over files.
pub(super) fn passes_report(tensor: &TensorJob) -> Value {
    let passes = tensor.tiles().into_iter().map(|(tiles, read, written)| {
        json!({ "tiles": tiles, "bytes_of_a_read": read, "bytes_of_a_write": written })
    });
    passes.collect()
}

/// What a whole job asks for.
pub(super) fn cost_report(job: &Job) -> Value {
    let cost = job.cost();
    json!({
        "buffer_bytes": cost.buffer_bytes,
        "bytes_read": cost.bytes_read,
        "bytes_written": cost.bytes_written,
        "reads": cost.reads,
        "writes": cost.writes,
        "temporary_bytes": cost.temporary_bytes,
        "seconds": cost.seconds,
        "storage": {
            "bytes_per_second": job.storage().bytes_per_second,
            "request_seconds": job.storage().request_seconds,
            "in_flight": job.storage().in_flight,
        },
    })
}

impl PlannedTensor<'_> {
    fn text(&self) -> String {
        let title = title(&self.inputs, self.tensor);
        match &self.plan {
            InMemory::Chain(plan) => format!("{title}\n{plan}\n"),
            InMemory::Program(plan) => format!("{title}\n{plan}\n"),
        }
    }

    fn report(&self, operation: &Operation, job: &Job) -> Value {
        let PlannedTensor { inputs, tensor, chain, plan } = self;
        let mut report = tensor_report(operation, inputs, chain, tensor.out_shape());
        let operators = operators(chain);
        let plan = match plan {
            InMemory::Chain(plan) => plan,
            InMemory::Program(plan) => {
                let plan = json!({
                    "passes": tensor.passes(),
                    "bytes_read": plan.moved_bytes(),
                    "bytes_written": plan.moved_bytes(),
                    "scratch_bytes": plan.scratch_bytes(),
                    "files": files_report(tensor, job),
                });
                add(&mut report, plan);
                return report;
            }
        };
        let stages = plan.passes().iter().zip(plan.moves()).zip(plan.cpu_plans()).map(
            |((pass, work), cpu_plan)| {
                json!({
                    "operators": operators[pass.stages.clone()],
                    "index_map": {
                        "out_shape": pass.map.out_shape().sizes(),
                        "in_shape": pass.map.in_shape().sizes(),
                        "layers": pass.map.layers().iter().rev().map(layer_report).collect::<Vec<_>>(),
                    },
                    "move": move_report(work),
                    "plan": cpu_report(cpu_plan),
                })
            },
        );
        let bytes: usize = plan.moves().iter().map(Move::moved_bytes).sum();
        let plan = json!({
            "passes": plan.passes().len(),
            "bytes_read": bytes,
            "bytes_written": bytes,
            "scratch_bytes": plan.scratch_bytes(),
            "stages": stages.collect::<Vec<_>>(),
            "tuning": tuning::used().tuning.to_string(),
            "tuning_source": tuning::used().source.to_string(),
            "files": files_report(tensor, job),
        });
        add(&mut report, plan);
        report
    }
}

/// A layer of an index map; `in_axes` is null for a reshape.
fn layer_report(layer: &Layer) -> Value {
    let axes = layer.axes().map(|axes| axes.iter().map(AxisMap::to_string).collect::<Vec<_>>());
    json!({
        "out_shape": layer.out_shape().sizes(),
        "in_shape": layer.in_shape().sizes(),
        "in_axes": axes,
    })
}

fn cpu_report(plan: &trundle::lowering::CpuPlan) -> Value {
    let steps = plan.steps().iter().map(|step| {
        let mut kernels = vec![step.kernel.name];
        kernels.extend(step.ragged.iter().map(|ragged| ragged.second.name));
        kernels.dedup();
        json!({
            "kernels": kernels,
            "reason": step.kernel.reason,
            "store": step.store.to_string(),
            "width": step.width,
            "units": step.units(),
            "rows": step.row_block,
            "cols": step.col_block,
        })
    });
    json!({
        "threads": plan.threads(),
        "tasks": plan.tasks().len(),
        "steps": steps.collect::<Vec<_>>(),
    })
}
