//! `trundle plan`.

use std::path::Path;

use serde_json::{Value, json};
use trundle::lowering::{AxisMap, Block, Cut, CutAt, Layer, Loop, Move, Run, Source};
use trundle::tuning::{self, Used};
use trundle::{Chain, Layout, Plan, PlanError, ProgramPlan, Shape};
use trundle_disk::{Job, TensorJob};
use trundle_formats::{Format, Header, Order, Output, Shown, TensorFile};

use super::info::described;
use super::{join, relayout, split};
use crate::args::{DryRunArgs, MeansArgs, PlanCommand, PlannedArgs};
use crate::axes;
use crate::device::{self, Device};
use crate::failure::Failure;
use crate::forecast::{counted, destination, first_lines, sentence, tensors};
use crate::input::Input;
use crate::job::{self, not_kept};
use crate::numbers::readable;
use crate::operation::Operation;
use crate::say::{print, print_json};
use crate::selection::Choice;
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
    if device.is_some() && (numbering.tasks.is_some() || means.json) {
        return Err(Failure::usage("--tasks and --json are for --device cpu"));
    }
    let format = dry.format(operation.input.path())?;
    dry.check_output(format)?;
    let Decided { mut opened, format, choice, job } = decided(operation, planned, means)?;
    opened.iter_mut().try_for_each(TensorFile::read_on)?;
    if let Some(plan) = &numbering.tasks {
        return tasks::begin(plan, &mut opened, &job, operation, planned);
    }
    let file = &opened[0];
    let wanted = choice.wanted();
    if dry.quiet {
        return Ok(());
    }
    let headers: Vec<&Header> = wanted.iter().map(|each| &file.headers()[each.index]).collect();
    if let Some(device) = device.as_deref() {
        let is_moved = |(number, _): &(usize, &TensorJob)| choice.is_moved(wanted[*number].index);
        for (number, tensor) in job.tensors().iter().enumerate().filter(is_moved) {
            let Some(moved) = choice.moved(wanted[number].index) else { continue };
            let inputs = inputs(&wanted[number], headers[number], &opened);
            print(&planned_on(device, &moved.chain, &inputs, tensor)?)?;
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

/// How one tensor would be moved on a device: from row-major to row-major, in its memory.
fn planned_on(
    device: &dyn Device,
    chain: &Chain,
    inputs: &[&Header],
    tensor: &TensorJob,
) -> Result<String, Failure> {
    let (header, element) = (inputs[0], tensor.element());
    let named = |failure: Failure| failure.within(&header.name);
    let shapes: Vec<Shape> = inputs.iter().map(|input| input.shape.clone()).collect();
    let program = chain.program_with(&shapes, element.width(), |number| element.of_number(number));
    let program = program.map_err(|error| named(Failure::from(PlanError::from(error))))?;
    let (name, dtype, to) = (Shown(&header.name), header.element.name(), tensor.out_shape());
    let plan = device.planned(&program).map_err(named)?;
    Ok(format!("{name}: {dtype} {} to {to}, {plan}\n", header.shape))
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
    let shapes: Vec<Shape> = inputs.iter().map(|input| input.shape.clone()).collect();
    let program = chain.program_with(&shapes, width, |number| element.of_number(number));
    let program = program.map_err(|error| named(Failure::from(PlanError::from(error))))?;
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
        let PlannedTensor { inputs, plan, tensor, .. } = self;
        let (header, to) = (inputs[0], tensor.out_shape());
        let (name, element) = (Shown(&header.name), header.element.name());
        let from: Vec<String> = inputs.iter().map(|input| input.shape.to_string()).collect();
        let from = from.join(", ");
        match plan {
            InMemory::Chain(plan) => format!("{name}: {element} {from} to {to}\n{plan}\n"),
            InMemory::Program(plan) => format!("{name}: {element} {from} to {to}\n{plan}\n"),
        }
    }

    fn report(&self, operation: &Operation, job: &Job) -> Value {
        let PlannedTensor { inputs, tensor, chain, plan } = self;
        let header = inputs[0];
        let operators: Vec<String> = chain.ops().iter().map(|op| format!("{op:#}")).collect();
        let plan = match plan {
            InMemory::Chain(plan) => plan,
            InMemory::Program(plan) => {
                return json!({
                    "file": operation.input.path().to_string_lossy(),
                    "tensor": described(header),
                    "others": inputs[1..].iter().map(|other| described(other)).collect::<Vec<_>>(),
                    "out_shape": tensor.out_shape().sizes(),
                    "chain": operators,
                    "passes": tensor.passes(),
                    "bytes_read": plan.moved_bytes(),
                    "bytes_written": plan.moved_bytes(),
                    "scratch_bytes": plan.scratch_bytes(),
                    "files": files_report(tensor, job),
                });
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
        json!({
            "file": operation.input.path().to_string_lossy(),
            "tensor": described(header),
            "out_shape": plan.out_shape().sizes(),
            "chain": operators,
            "passes": plan.passes().len(),
            "bytes_read": bytes,
            "bytes_written": bytes,
            "scratch_bytes": plan.scratch_bytes(),
            "stages": stages.collect::<Vec<_>>(),
            "tuning": tuning::used().tuning.to_string(),
            "tuning_source": tuning::used().source.to_string(),
            "files": files_report(tensor, job),
        })
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

fn move_report(work: &Move) -> Value {
    json!({
        "width": work.width(),
        "bytes": work.moved_bytes(),
        "blocks": work.blocks().iter().map(block_report).collect::<Vec<_>>(),
    })
}

fn block_report(block: &Block) -> Value {
    json!({
        "src_offset": block.src_offset,
        "dst_offset": block.dst_offset,
        "loops": block.loops.iter().map(loop_report).collect::<Vec<_>>(),
    })
}

fn loop_report(each: &Loop) -> Value {
    let (len, dst_stride) = (each.len, each.dst_stride);
    match &each.src {
        Source::Affine { stride } => {
            json!({"len": len, "src_stride": stride, "dst_stride": dst_stride})
        }
        Source::Cut(cut) => json!({"len": len, "dst_stride": dst_stride, "cut": cut_report(cut)}),
    }
}

fn cut_report(cut: &Cut) -> Value {
    let at = match &cut.at {
        CutAt::Constant(at) => json!(at),
        CutAt::Table(table) => json!({"start": table.start, "per_length": table.per_length}),
    };
    json!({"at": at, "runs": [run_report(&cut.first), run_report(&cut.second)]})
}

fn run_report(run: &Run) -> Value {
    json!({
        "src_offset": run.src_offset,
        "src_per_length": run.src_per_length,
        "src_stride": run.src_stride,
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
