//! Reports of moves that are planned for a device.

use serde_json::{Value, json};
use trundle::lowering::{PlannedPart, Plans};
use trundle::{Program, ProgramPlan};
use trundle_files::failure::Failure;
use trundle_files::forecast::counted;
use trundle_files::moves::{block_report, move_report};
use trundle_gpu::{GpuBlock, LaunchSummary, Pattern, WORKGROUP, Window};

use super::gpu::Gpu;

pub(super) struct Planned<'a, G: Gpu> {
    gpu: &'a G,
    program: ProgramPlan<G>,
}

impl<G: Gpu> Planned<'_, G> {
    /// Plans `program` on a device.
    ///
    /// # Errors
    /// If the device does not have enough memory for fill values.
    pub(super) fn on<'a>(gpu: &'a G, program: &Program) -> Result<Planned<'a, G>, Failure> {
        let program =
            ProgramPlan::on(gpu.clone(), program, &gpu.budget()).map_err(Failure::running)?;
        Ok(Planned { gpu, program })
    }

    /// Describes every pass with its launches.
    ///
    /// # Errors
    /// If the device does not have enough memory for the tables of its kernels.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let passes = self.program.passes();
        let mut text = format!("{} over memory", counted(passes.len(), "pass"));
        for (number, pass) in passes.iter().enumerate() {
            text.push_str(&format!("\npass {number}"));
            for part in &pass.parts {
                let step = &self.program.runner().steps()[part.step];
                let plans = self.plans(part)?.to_string().replace('\n', "\n  ");
                text.push_str(&format!("\n  from {} to {}: {plans}", step.source, step.target));
            }
        }
        Ok(text)
    }

    /// Reports the passes as JSON.
    ///
    /// # Errors
    /// As [`Planned::text`].
    pub(super) fn report(&self) -> Result<Value, Failure> {
        let bytes = self.program.moved_bytes();
        let mut stages = Vec::new();
        for pass in self.program.passes() {
            let steps = pass.parts.iter().map(|part| self.step_report(part));
            let steps = steps.collect::<Result<Vec<_>, _>>()?;
            stages.push(json!({ "bytes": pass.bytes, "steps": steps }));
        }
        Ok(json!({
            "passes": self.program.passes().len(),
            "bytes_read": bytes,
            "bytes_written": bytes,
            "scratch_bytes": self.program.scratch_bytes(),
            "device": self.gpu.record(),
            "stages": stages,
        }))
    }

    /// Checks that the plans of a part can be launched, and returns them.
    fn plans(&self, part: &PlannedPart) -> Result<&Plans<G>, Failure> {
        let plans = self.program.plans_of(part);
        plans.one().map_or(Ok(()), |plan| G::launches(plan).map(drop)).map_err(Failure::running)?;
        Ok(plans)
    }

    /// A move in tiles has no plan yet, because each tile is planned when it is moved.
    fn step_report(&self, part: &PlannedPart) -> Result<Value, Failure> {
        let step = &self.program.runner().steps()[part.step];
        let plan = step.work.one().map(plan_report::<G>).transpose()?;
        Ok(json!({
            "from": step.source.to_string(),
            "to": step.target.to_string(),
            "move": self.program.move_of(part).map(move_report),
            "plan": plan,
        }))
    }
}

fn plan_report<G: Gpu>(plan: &G::Plan) -> Result<Value, Failure> {
    let launches = G::launches(plan).map_err(Failure::running)?;
    let blocks = G::gpu_move(plan).blocks().iter().map(gpu_block_report);
    Ok(json!({
        "blocks": blocks.collect::<Vec<_>>(),
        "launches": launches.iter().map(launch_report).collect::<Vec<_>>(),
    }))
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
