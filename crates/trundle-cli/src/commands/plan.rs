//! `trundle plan`.

use serde_json::{Value, json};
use trundle::{AxisMap, Block, Layer, Move, Plan, RaggedLoop, Run};
use trundle_formats::Header;

use super::info::{described, read_on};
use crate::args::{PlanArgs, PlanCommand};
use crate::failure::Failure;
use crate::job;
use crate::operation::Operation;
use crate::say::{print, print_json};
use crate::selection::select;

/// Prints every stage of what would be done, without reading the data.
///
/// # Errors
/// What the movement itself would refuse.
pub(crate) fn run(command: PlanCommand) -> Result<(), Failure> {
    let (operation, planning) = asked(command)?;
    let file = operation.input.open()?;
    read_on(operation.input.path(), &file)?;
    let chosen = select(operation.input.path(), file.headers(), planning.tensor.as_deref())?;
    let mut plans = Vec::with_capacity(chosen.len());
    for header in chosen.into_iter().map(|index| &file.headers()[index]) {
        plans.push((header, job::plan(&operation, header, planning.threads)?));
    }
    for (header, plan) in plans {
        if planning.json {
            print_json(&report(&operation, header, &plan))?;
        } else {
            print(&text(header, &plan))?;
        }
    }
    Ok(())
}

fn asked(command: PlanCommand) -> Result<(Operation, PlanArgs), Failure> {
    Ok(match command {
        PlanCommand::Transpose { operation, planning } => (operation.operation()?, planning),
        PlanCommand::Roll { operation, planning } => (operation.operation()?, planning),
        PlanCommand::Reverse { operation, planning } => (operation.operation()?, planning),
        PlanCommand::Flip { operation, planning } => (operation.operation()?, planning),
        PlanCommand::Apply { operation, planning } => (operation.operation()?, planning),
    })
}

fn text(header: &Header, plan: &Plan) -> String {
    let name = header.element.name();
    let (from, to) = (&header.shape, plan.out_shape());
    format!("{}: {name} {from} to {to}\n{plan}\n", header.name)
}

fn report(operation: &Operation, header: &Header, plan: &Plan) -> Value {
    let operators: Vec<String> = operation.chain.ops().iter().map(ToString::to_string).collect();
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
    })
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
    let loops = block.loops.iter().map(
        |each| json!({"len": each.len, "src_stride": each.src_stride, "dst_stride": each.dst_stride}),
    );
    json!({
        "src_offset": block.src_offset,
        "dst_offset": block.dst_offset,
        "loops": loops.collect::<Vec<_>>(),
        "ragged": block.ragged.as_ref().map(ragged_report),
    })
}

fn ragged_report(ragged: &RaggedLoop) -> Value {
    json!({
        "len": ragged.len,
        "dst_stride": ragged.dst_stride,
        "cut_start": ragged.cut_start,
        "cut_per_length": ragged.cut_per_length,
        "runs": [run_report(&ragged.first), run_report(&ragged.second)],
    })
}

fn run_report(run: &Run) -> Value {
    json!({
        "src_offset": run.src_offset,
        "src_per_length": run.src_per_length,
        "src_stride": run.src_stride,
    })
}

fn cpu_report(plan: &trundle::CpuPlan) -> Value {
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
