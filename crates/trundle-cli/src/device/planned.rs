//! Reports of moves that are planned for a device.

use serde_json::{Value, json};
use trundle::lowering::{PlannedPart, Step};
use trundle::{Program, ProgramPlan};
use trundle_files::failure::Failure;
use trundle_files::forecast::counted;
use trundle_files::moves::{block_report, move_report};
use trundle_gpu::{GpuBlock, LaunchSummary, Pattern, WORKGROUP, Window};

use super::gpu::Gpu;

/// Plans `program` on a device.
///
/// # Errors
/// If the device does not have enough memory for fill values.
pub(super) fn planned<G: Gpu>(gpu: &G, program: &Program) -> Result<ProgramPlan<G>, Failure> {
    ProgramPlan::on(gpu.clone(), program, &gpu.budget()).map_err(Failure::running)
}

/// Describes every pass with its launches.
///
/// # Errors
/// If the device does not have enough memory for the tables of its kernels.
pub(super) fn text<G: Gpu>(plan: &ProgramPlan<G>) -> Result<String, Failure> {
    let mut text = format!("{} over memory", counted(plan.passes().len(), "pass"));
    for (number, pass) in plan.passes().iter().enumerate() {
        text.push_str(&format!("\npass {number}"));
        for part in &pass.parts {
            let Step { source, target, work } = &plan.runner().steps()[part.step];
            // Checks that the plan can be launched.
            work.one().map(G::launches).transpose().map_err(Failure::running)?;
            let work = work.to_string().replace('\n', "\n  ");
            text.push_str(&format!("\n  from {source} to {target}: {work}"));
        }
    }
    Ok(text)
}

/// Reports the passes as JSON.
///
/// # Errors
/// As [`text`].
pub(super) fn report<G: Gpu>(plan: &ProgramPlan<G>) -> Result<Value, Failure> {
    let bytes = plan.moved_bytes();
    let mut stages = Vec::new();
    for pass in plan.passes() {
        let steps = pass.parts.iter().map(|part| step_report(plan, part));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        stages.push(json!({ "bytes": pass.bytes, "steps": steps }));
    }
    Ok(json!({
        "passes": plan.passes().len(),
        "bytes_read": bytes,
        "bytes_written": bytes,
        "scratch_bytes": plan.scratch_bytes(),
        "device": plan.runner().backend().record(),
        "stages": stages,
    }))
}

/// A move in tiles has no plan yet, because each tile is planned when it is moved.
fn step_report<G: Gpu>(plan: &ProgramPlan<G>, part: &PlannedPart) -> Result<Value, Failure> {
    let Step { source, target, work } = &plan.runner().steps()[part.step];
    Ok(json!({
        "from": source.to_string(),
        "to": target.to_string(),
        "move": plan.move_of(part).map(move_report),
        "plan": work.one().map(plan_report::<G>).transpose()?,
    }))
}

fn plan_report<G: Gpu>(plan: &G::Plan) -> Result<Value, Failure> {
    let launches = G::launches(plan).map_err(Failure::running)?;
    let blocks = G::gpu_move(plan).blocks().iter().map(gpu_block_report);
    let mut report = json!({
        "blocks": blocks.collect::<Vec<_>>(),
        "launches": launches.iter().map(launch_report).collect::<Vec<_>>(),
    });
    let specialised = G::specialised(plan);
    if !specialised.is_empty() {
        report["specialised"] = specialised.into();
    }
    Ok(report)
}

/// The loops of a block, and how they are distributed over invocations.
fn gpu_block_report(of: &GpuBlock) -> Value {
    let mut report = block_report(&of.block);
    report["width"] = of.width.into();
    if let Some(packing) = of.access.packing() {
        report["bits"] = packing.bits().into();
    }
    report["access"] = of.access.to_string().into();
    match of.pattern {
        Pattern::Runs => report["pattern"] = "runs".into(),
        Pattern::Gather => report["pattern"] = "gather".into(),
        Pattern::Tiles { across, along } => {
            report["pattern"] = "tiles".into();
            report["across"] = across.into();
            report["along"] = along.into();
        }
    }
    report
}

fn launch_report(launch: &LaunchSummary) -> Value {
    let mut report = json!({
        "block": launch.block,
        "kernel": launch.kernel,
        "workgroups": launch.workgroups,
        "invocations": WORKGROUP,
        "reads": span_report(launch.reads.start, launch.reads.len()),
        "writes": span_report(launch.writes.start, launch.writes.len()),
    });
    if let Some(windows) = launch.windows {
        let [src, dst] = windows.map(|Window { offset, bytes }| span_report(offset, bytes));
        report["windows"] = json!({ "src": src, "dst": dst });
    }
    report
}

fn span_report(offset: usize, bytes: usize) -> Value {
    json!({ "offset": offset, "bytes": bytes })
}
