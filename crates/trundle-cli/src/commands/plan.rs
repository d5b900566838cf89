//! `trundle plan`.

use trundle_files::decide::{Decided, decide};
use trundle_files::failure::Failure;
use trundle_files::request::{Chained, Request, Work};

use super::work::warn;
use crate::args::{DryRunArgs, MeansArgs, PlanCommand, PlannedArgs};
use crate::device::{self, Device};
use crate::say::{print, print_json};

/// Says what would be done, without reading the data: a sentence, or every stage.
///
/// # Errors
/// What the movement itself would refuse.
pub(crate) fn run(command: PlanCommand) -> Result<(), Failure> {
    match command {
        PlanCommand::Operator(command) => {
            let (chained, planned) = command.chained();
            plan_chain(chained, planned)
        }
        PlanCommand::Apply { operation, planned } => plan_chain(operation.chained(), planned),
        PlanCommand::Convert { operation, planned } => plan_chain(operation.chained(), planned),
        PlanCommand::Concat { asked, means, dry } => plan(asked.work(), &means, dry),
        PlanCommand::Stack { asked, means, dry } => plan(asked.work(), &means, dry),
        PlanCommand::Split { asked, means, dry } => plan(asked.work(), &means, dry),
        PlanCommand::Relayout { asked, means, dry } => plan(asked.work(), &means, dry),
    }
}

/// Work that is not a chain.
fn plan(work: Work, means: &MeansArgs, dry: DryRunArgs) -> Result<(), Failure> {
    let (quiet, verbose) = (dry.quiet, dry.verbose);
    let decided = decided(work, means, dry)?;
    say(&decided, quiet, verbose, means.json)
}

/// One chain, on each tensor that it is meant for.
fn plan_chain(chained: Chained, planned: PlannedArgs) -> Result<(), Failure> {
    let PlannedArgs { planning, dry, numbering, device } = planned;
    let (quiet, verbose, json) = (dry.quiet, dry.verbose, planning.means.json);
    let device = device::open(device.device)?;
    if device.is_some() && numbering.tasks.is_some() {
        return Err(Failure::usage(
            "--tasks is for --device cpu: what a device does are launches, which --json lists",
        ));
    }
    let decided = decided(planning.work(chained), &planning.means, dry)?;
    if let Some(path) = &numbering.tasks {
        let written = decided.begin_tasks_at(path, numbering.task_size)?;
        return match (json, quiet) {
            (true, _) => print_json(&written.report(path)),
            (_, true) => Ok(()),
            _ => print(&written.lines(path)),
        };
    }
    if !json {
        warn(&decided, quiet);
    }
    match device.as_deref() {
        Some(device) if !quiet => on_device(&decided, device, json),
        _ => say(&decided, quiet, verbose, json),
    }
}

fn decided(work: Work, means: &MeansArgs, dry: DryRunArgs) -> Result<Decided, Failure> {
    let mut request = Request::new(work);
    request.output = dry.destination();
    request.resources = means.resources();
    let mut decided = decide(request)?;
    decided.read_on()?;
    Ok(decided)
}

fn say(decided: &Decided, quiet: bool, verbose: bool, json: bool) -> Result<(), Failure> {
    match (quiet, json) {
        (true, _) => Ok(()),
        (_, true) => decided.plan_reports()?.iter().try_for_each(print_json),
        _ => print(&decided.plan_text(verbose)?),
    }
}

/// The moves of a chain in a device's memory, from row-major to row-major.
fn on_device(decided: &Decided, device: &dyn Device, json: bool) -> Result<(), Failure> {
    for moved in decided.moved() {
        let program = moved.program()?;
        if json {
            let plan = device.report(&program).map_err(|failure| moved.named(failure))?;
            print_json(&moved.report(plan))?;
        } else {
            let plan = device.planned(&program).map_err(|failure| moved.named(failure))?;
            print(&format!("{}, {plan}\n", moved.title()))?;
        }
    }
    Ok(())
}
