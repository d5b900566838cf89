//! Describes decided work, as text for people and as JSON for programs.

use std::path::Path;

use serde_json::{Value, json};
use trundle::lowering::{AxisMap, Layer, Move};
use trundle::tuning::{self, Used};
use trundle::{Chain, Layout, Plan, PlanError, Program, ProgramPlan, Shape};
use trundle_disk::{Job, TensorJob, Wanted};
use trundle_formats::{ChunkedTensor, Header, Order, Shown};

use crate::addition;
use crate::decide::{Decided, Decision};
use crate::failure::Failure;
use crate::forecast::{bytes, counted, destination, first_lines, sentence, tensors};
use crate::join::Tensor;
use crate::left_out;
use crate::moves::move_report;
use crate::names::{listed, shown_path};
use crate::numbers::readable;
use crate::relayout::{Relaid, in_words};
use crate::request::BIT_ORDERS;
use crate::run::{add, not_kept};
use crate::undecoded;

impl Decided {
    /// Describes the work: a sentence and a line for each tensor, with `verbose` also every pass.
    ///
    /// # Errors
    /// If the moves in memory cannot be planned.
    pub fn plan_text(&self, verbose: bool) -> Result<String, Failure> {
        let (job, file) = (&self.jobs[0], &self.opened[0]);
        let mut text = match &self.decision {
            Decision::Chain { .. } => {
                let each = self.decision.wanted().into_iter().zip(job.tensors());
                let lines = each.map(|(wanted, tensor)| {
                    let Header { name, element, shape, .. } = &file.headers()[wanted.index];
                    let (name, dtype) = (Shown(name), element.name());
                    format!("  {name}: {dtype} {shape} -> {}", tensor.out_shape())
                });
                self.summary(&tensors(job), lines)
            }
            Decision::Join(joined) => self.summary(&tensors(job), joined.lines()),
            Decision::Relayout(relaid) => {
                self.summary(&in_words(relaid.counts()), self.relaid_lines(relaid))
            }
            Decision::Split(parted) => {
                let outputs = self.jobs.iter().enumerate().map(|(part, job)| {
                    let output = match self.outputs.get(part) {
                        Some(path) => destination(path, self.format),
                        None => format!("part {part}"),
                    };
                    format!("  {output}: {}", sentence(&tensors(job), job))
                });
                let (tensors, outputs) = (lines_text(parted.lines(file)), lines_text(outputs));
                tensors + &outputs + &self.undecoded_line() + &self.verify_line()
            }
        };
        if verbose {
            text.push_str(&self.stages()?);
            let kept = match self.decision {
                Decision::Join(_) => Vec::new(),
                _ => self.decision.kept(),
            };
            let is_listed = |index: usize| kept.get(index) != Some(&true);
            let files = self.jobs.iter().map(|job| files_text(job, is_listed));
            text.push_str(&files.collect::<Vec<_>>().join("\n"));
        }
        Ok(text)
    }

    fn summary(&self, what: &str, lines: impl IntoIterator<Item = String>) -> String {
        let job = &self.jobs[0];
        format!("{}\n{}{}", sentence(what, job), lines_text(lines), self.destination_lines(job))
    }

    /// Describes the work as JSON: an object for each tensor that operators are applied to, or a single one for other
    /// work.
    ///
    /// # Errors
    /// The errors of [`Decided::plan_text`].
    pub fn plan_reports(&self) -> Result<Vec<Value>, Failure> {
        let mut reports = self.work_reports()?;
        let undecoded = self.options.undecoded.iter();
        let undecoded = undecoded.map(|index| &*self.opened[0].undecoded()[*index].header.name);
        let undecoded: Vec<&str> = undecoded.collect();
        if !undecoded.is_empty() {
            reports.iter_mut().for_each(|report| report["copied_as_stored"] = json!(undecoded));
        }
        Ok(reports)
    }

    fn work_reports(&self) -> Result<Vec<Value>, Failure> {
        let Decided { decision, jobs, opened, inputs, .. } = self;
        let job = &jobs[0];
        let with_passes = |(mut report, tensor): (Value, &TensorJob)| {
            report["passes"] = passes_report(tensor);
            with_chunks(report, tensor)
        };
        let first = self.first_path().to_string_lossy();
        Ok(match decision {
            Decision::Chain { .. } => {
                let planned = self.moved().into_iter().map(|moved| {
                    let plan = moved.in_memory(self.options.threads)?;
                    Ok(moved.planned_report(&plan, job))
                });
                return planned.collect();
            }
            Decision::Join(joined) => {
                let parts = joined.part_paths(inputs).map(|path| path.to_string_lossy());
                let each = joined.tensors.iter().map(Tensor::report).zip(job.tensors());
                vec![json!({
                    "files": parts.collect::<Vec<_>>(),
                    "tensors": each.map(with_passes).collect::<Vec<_>>(),
                    "cost": cost_report(job),
                })]
            }
            Decision::Split(parted) => {
                let outputs = jobs.iter().enumerate().map(|(part, job)| {
                    json!({
                        "file": self.outputs.get(part).map(|path| path.to_string_lossy()),
                        "tensors": job.tensors().iter().map(part_report).collect::<Vec<_>>(),
                        "cost": cost_report(job),
                    })
                });
                vec![json!({
                    "file": first,
                    "tensors": parted.report(&opened[0]),
                    "outputs": outputs.collect::<Vec<_>>(),
                })]
            }
            Decision::Relayout(relaid) => {
                let headers = opened[0].headers();
                let each = relaid.fates.iter().zip(headers).zip(job.tensors());
                let each = each.map(|((fate, header), tensor)| {
                    let mut report = json!({
                        "name": header.name,
                        "dtype": header.element.name(),
                        "shape": tensor.out_shape().sizes(),
                    });
                    add(&mut report, fate.report());
                    with_passes((report, tensor))
                });
                vec![json!({
                    "file": first,
                    "tensors": each.collect::<Vec<_>>(),
                    "files": cost_report(job),
                })]
            }
        })
    }

    /// Returns the tensors that operators are applied to; empty if the work is not a chain.
    pub fn moved(&self) -> Vec<MovedTensor<'_>> {
        let Decision::Chain { choice, .. } = &self.decision else { return Vec::new() };
        let wanted = self.decision.wanted();
        let each = wanted.iter().zip(self.jobs[0].tensors());
        let moved = each.filter_map(|(wanted, tensor)| {
            let moved = choice.fates.moved(wanted.index)?;
            let inputs = self.headers_of(wanted);
            Some(MovedTensor { file: self.first_path(), inputs, tensor, chain: &moved.chain })
        });
        moved.collect()
    }

    fn headers_of(&self, wanted: &Wanted<'_>) -> Vec<&Header> {
        let others = wanted.others.iter().filter_map(|other| match other {
            trundle_disk::Input::Tensor { file, index } => {
                Some(&self.opened[*file].headers()[*index])
            }
            trundle_disk::Input::Constant(_) => None,
        });
        std::iter::once(&self.opened[0].headers()[wanted.index]).chain(others).collect()
    }

    /// Describes every pass of the moves in memory, after an empty line.
    fn stages(&self) -> Result<String, Failure> {
        let mut text = "\n".to_owned();
        for moved in self.moved() {
            text.push_str(&match moved.in_memory(self.options.threads)? {
                InMemory::Chain(plan) => format!("{}\n{plan}\n", moved.title()),
                InMemory::Program(plan) => format!("{}\n{plan}\n", moved.title()),
            });
        }
        match self.decision {
            Decision::Chain { .. } => Ok(text + &tuning_text()),
            _ => Ok(text),
        }
    }

    pub(crate) fn relaid_lines(&self, relaid: &Relaid) -> Vec<String> {
        let out_shapes: Vec<&Shape> =
            self.jobs[0].tensors().iter().map(TensorJob::out_shape).collect();
        relaid.lines(self.opened[0].headers(), &out_shapes)
    }

    fn destination_lines(&self, job: &Job) -> String {
        let mut lines = encoded_line(job) + &self.undecoded_line();
        if let Some(output) = self.outputs.first() {
            lines.push_str(&match self.existing {
                Some(_) => format!("  into {}, which is added to\n", shown_path(output)),
                None => format!("  {}\n", destination(output, self.format)),
            });
        }
        lines.push_str(&lines_text(job.tensors().iter().filter_map(addition::line)));
        let chunks = job.tensors().iter().filter_map(chunks_line);
        lines.push_str(&lines_text(chunks));
        if job.codecs_not_kept().next().is_some() {
            lines.push_str(&format!("  {}\n", not_kept(job.codecs_not_kept())));
        }
        if !job.left_out().metadata.is_empty() {
            let keys = listed(job.left_out().metadata.iter());
            lines.push_str(&format!("  the format stores no metadata; left out: {keys}\n"));
        }
        for line in left_out::lines(job.left_out()) {
            lines.push_str(&format!("  {line}\n"));
        }
        lines + &self.verify_line()
    }

    fn undecoded_line(&self) -> String {
        undecoded::line(&self.opened[0], &self.options.undecoded)
    }

    /// Describes the verification in one line; empty if there is none.
    fn verify_line(&self) -> String {
        if !self.request.output.verify {
            return String::new();
        }
        let bytes = self.jobs.iter().map(bytes).sum();
        format!("  then {} are read back and compared\n", readable(bytes))
    }
}

/// A tensor that operators are applied to.
pub struct MovedTensor<'a> {
    file: &'a Path,
    /// The headers of the tensor and of the other tensors that the chain names.
    inputs: Vec<&'a Header>,
    tensor: &'a TensorJob,
    chain: &'a Chain,
}

enum InMemory {
    Chain(Box<Plan>),
    /// The plan of a chain with several tensors or a constant.
    Program(Box<ProgramPlan>),
}

impl MovedTensor<'_> {
    /// Builds the program that the operators form.
    ///
    /// # Errors
    /// If the operators do not fit the tensors.
    pub fn program(&self) -> Result<Program, Failure> {
        let element = self.tensor.element();
        let shapes: Vec<Shape> = self.inputs.iter().map(|input| input.shape.clone()).collect();
        let of_number = |number| element.of_number(number);
        let program = self.chain.program_with(&shapes, element.width(), of_number);
        program.map_err(|error| self.named(Failure::from(PlanError::from(error))))
    }

    /// Adds the name of the tensor to a failure.
    pub fn named(&self, failure: Failure) -> Failure {
        failure.within(&self.inputs[0].name)
    }

    /// Formats the name, the element type, and the shapes before and after the operators.
    pub fn title(&self) -> String {
        let (name, element) = (Shown(&self.inputs[0].name), self.inputs[0].element.name());
        let from: Vec<String> = self.inputs.iter().map(|input| input.shape.to_string()).collect();
        format!("{name}: {element} {} to {}", from.join(", "), self.out_shape())
    }

    /// Returns the shape of the result of the operators, which can be a part of an existing array.
    fn out_shape(&self) -> Shape {
        let place = self.tensor.chunked().and_then(ChunkedTensor::place);
        let sizes = place.map(|place| {
            let ends = place.begin.iter().zip(&place.end);
            ends.map(|(begin, end)| end - begin).collect::<Vec<_>>()
        });
        let part = sizes.and_then(|sizes| Shape::new(sizes).ok());
        part.unwrap_or_else(|| self.tensor.out_shape().clone())
    }

    /// Combines the tensor, its operators, and the fields of `plan` in a JSON object.
    pub fn report(&self, plan: Value) -> Value {
        let mut report = json!({
            "file": self.file.to_string_lossy(),
            "tensor": header_report(self.inputs[0]),
        });
        if !self.chain.is_map() {
            report["others"] = self.inputs[1..].iter().map(|other| header_report(other)).collect();
        }
        report["out_shape"] = json!(self.out_shape().sizes());
        report["chain"] = self.operators().into();
        add(&mut report, plan);
        report
    }

    fn operators(&self) -> Vec<String> {
        self.chain.ops().iter().map(|op| format!("{op:#}")).collect()
    }

    /// Plans the move in memory to a contiguous output in the axis order of the file.
    fn in_memory(&self, threads: Option<usize>) -> Result<InMemory, Failure> {
        let MovedTensor { inputs, tensor, chain, .. } = self;
        let width = tensor.element().width();
        let dst = match tensor.out_order() {
            Order::RowMajor => Layout::row_major(&self.out_shape(), width.units())?,
            Order::ColumnMajor => Layout::column_major(&self.out_shape(), width.units())?,
        };
        let layouts = inputs.iter().map(|input| input.layout()).collect::<Result<Vec<_>, _>>()?;
        if chain.is_map() {
            let plan = Plan::new(chain, width, &layouts[0], &dst, threads);
            return plan
                .map(|plan| InMemory::Chain(Box::new(plan)))
                .map_err(|error| self.named(Failure::from(error)));
        }
        let plan = ProgramPlan::new(&self.program()?, &layouts, &dst, threads)?;
        Ok(InMemory::Program(Box::new(plan)))
    }

    fn planned_report(&self, plan: &InMemory, job: &Job) -> Value {
        let (passes, bytes, scratch_bytes) = match plan {
            InMemory::Chain(plan) => {
                let bytes = plan.moves().iter().map(Move::moved_bytes).sum();
                (plan.passes().len(), bytes, plan.scratch_bytes())
            }
            InMemory::Program(plan) => {
                (self.tensor.passes(), plan.moved_bytes(), plan.scratch_bytes())
            }
        };
        let mut report = json!({
            "passes": passes,
            "bytes_read": bytes,
            "bytes_written": bytes,
            "scratch_bytes": scratch_bytes,
        });
        if let InMemory::Chain(plan) = plan {
            report["stages"] = self.stages_report(plan);
            report["tuning"] = tuning::used().tuning.to_string().into();
            report["tuning_source"] = tuning::used().source.to_string().into();
        }
        report["files"] = files_report(self.tensor, job);
        self.report(report)
    }

    fn stages_report(&self, plan: &Plan) -> Value {
        let operators = self.operators();
        let each = plan.passes().iter().zip(plan.moves()).zip(plan.cpu_plans());
        let stages = each.map(|((pass, work), cpu_plan)| {
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
        });
        stages.collect()
    }
}

fn tuning_text() -> String {
    let used @ Used { tuning, source, .. } = tuning::used();
    let numbers = tuning.to_string();
    let numbers: Vec<&str> = numbers.split(' ').collect();
    let lines: String = numbers.chunks(5).map(|some| format!("  {}\n", some.join(" "))).collect();
    let suggestion = used.suggestion().map_or(String::new(), |text| format!("; {text}"));
    format!("tuning: {}{suggestion}\n{lines}", Shown(source))
}

fn lines_text(lines: impl IntoIterator<Item = String>) -> String {
    first_lines(lines).map(|line| line + "\n").collect()
}

/// Returns the chunks of a tensor of the output if they are encoded.
fn in_chunks(tensor: &TensorJob) -> Option<&ChunkedTensor> {
    tensor.chunked().filter(|chunked| !tensor.is_undecoded() && !chunked.is_contiguous())
}

/// Describes the chunks of a tensor of the output; `None` if it has none.
fn chunks_line(tensor: &TensorJob) -> Option<String> {
    let chunked = in_chunks(tensor).filter(|chunked| chunked.place().is_none())?;
    let annotations = chunked.annotations();
    let is_unlimited = |axis: &usize| annotations.is_unlimited(*axis);
    let name = |axis: usize| match annotations.dimension_names.get(axis) {
        Some(Some(name)) => Shown(name).to_string(),
        _ => format!("axis {axis}"),
    };
    let unlimited: Vec<String> =
        (0..chunked.chunk().len()).filter(is_unlimited).map(name).collect();
    let shard = chunked.shard().map(|shard| format!(" in shards of {shard:?}"));
    Some(format!(
        "  {}: chunks of {:?}{}, codec {}{}",
        Shown(tensor.name()),
        chunked.chunk(),
        shard.unwrap_or_default(),
        chunked.codecs(),
        match unlimited.is_empty() {
            true => String::new(),
            false => format!(", unlimited along {}", unlimited.join(", ")),
        }
    ))
}

/// Adds the chunks of a tensor of the output to its report, if it has any, and its place in an existing store.
fn with_chunks(mut report: Value, tensor: &TensorJob) -> Value {
    if let Some(place) = addition::report(tensor) {
        report["addition"] = place;
    }
    if let Some(chunked) = in_chunks(tensor) {
        report["chunk"] = chunked.chunk().into();
        report["codec"] = chunked.codecs().to_string().into();
        if let Some(shard) = chunked.shard() {
            report["shard"] = shard.into();
        }
    }
    report
}

/// Counts the chunks that would be copied encoded; empty if there are none.
fn encoded_line(job: &Job) -> String {
    match job.tensors().iter().filter_map(TensorJob::encoded_chunks).sum() {
        0 => String::new(),
        count => format!("  encoded chunks copied: {count}\n"),
    }
}

/// Describes the reads and writes of the tensors whose index `is_listed` accepts.
fn files_text(job: &Job, is_listed: impl Fn(usize) -> bool) -> String {
    let cost = job.cost();
    let mut text = format!("files, with {} of buffers\n", readable(cost.buffer_bytes));
    for (_, tensor) in job.tensors().iter().enumerate().filter(|(number, _)| is_listed(*number)) {
        let name = Shown(tensor.name());
        let tiles = tensor.tiles();
        if let Some(count) = tensor.encoded_chunks() {
            let chunks = counted(count, "chunk");
            text.push_str(&format!("  {name}: {chunks} copied without decoding\n"));
            continue;
        }
        if tensor.is_by_header() {
            text.push_str(&format!("  {name}: copied unchanged, the header says column-major\n"));
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

fn files_report(tensor: &TensorJob, job: &Job) -> Value {
    let mut report = cost_report(job);
    report["by_header"] = tensor.is_by_header().into();
    if let Some(count) = tensor.encoded_chunks() {
        report["encoded_chunks"] = count.into();
    }
    report["passes"] = passes_report(tensor);
    with_chunks(report, tensor)
}

fn passes_report(tensor: &TensorJob) -> Value {
    let passes = tensor.tiles().into_iter().map(|(tiles, read, written)| {
        json!({ "tiles": tiles, "bytes_of_a_read": read, "bytes_of_a_write": written })
    });
    passes.collect()
}

fn cost_report(job: &Job) -> Value {
    let mut report = json!(job.cost());
    report["storage"] = json!(job.storage());
    report
}

fn part_report(tensor: &TensorJob) -> Value {
    let report = json!({
        "name": tensor.name(),
        "shape": tensor.out_shape().sizes(),
        "passes": passes_report(tensor),
    });
    with_chunks(report, tensor)
}

/// Describes a layer of an index map as JSON. `in_axes` is null for a reshape.
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

/// Describes a tensor's header as JSON, for `--json`.
pub fn header_report(header: &Header) -> Value {
    let mut report = json!({
        "name": header.name,
        "dtype": header.element.name(),
        "shape": header.shape.sizes(),
        "order": order(header),
        "bytes": header.data_bytes,
        "descr": header.element.descr(),
    });
    if let Some(name) = bit_order(header) {
        report["bit_order"] = name.into();
    }
    if let Some(chunk) = &header.chunk {
        report["chunk"] = chunk[..].into();
    }
    if let Some(encoding) = &header.encoding {
        report["codec"] = encoding.codecs.to_string().into();
        if !encoding.not_kept.is_empty() {
            report["codecs_not_kept"] = encoding.not_kept[..].into();
        }
        if let Some(shard) = &encoding.shard {
            report["shard"] = shard[..].into();
        }
        if let Some(order) = &encoding.order {
            report["chunk_order"] = order[..].into();
        }
    }
    if !header.annotations.dimension_names.is_empty() {
        report["dimension_names"] = json!(header.annotations.dimension_names);
    }
    report
}

/// Returns the name of the bit order of packed elements in `--bit-order`. `None` for elements of whole bytes.
pub fn bit_order(header: &Header) -> Option<&'static str> {
    let packing = header.element.width().packing()?;
    BIT_ORDERS.into_iter().find(|(_, order)| *order == packing.order()).map(|(name, _)| name)
}

/// Returns numpy's letter for the axis order: `C` or `F`.
pub fn order(header: &Header) -> &'static str {
    match header.order {
        Order::RowMajor => "C",
        Order::ColumnMajor => "F",
    }
}
