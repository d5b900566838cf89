//! `trundle plan` with a command: reports the work, or writes a plan of numbered tasks.

use trundle_files::decide::{Decided, decide};
use trundle_files::failure::Failure;

use super::work::warn;
use crate::args::{DryArgs, Front, MovingCommand, NumberingArgs, PlannedArgs};
use crate::device::{self, Device};
use crate::say::{print, print_json};

/// Reports what a command would do, without reading the data.
///
/// # Errors
/// If the command would be refused.
pub(crate) fn run(command: MovingCommand<PlannedArgs, DryArgs>) -> Result<(), Failure> {
    let (request, front) = command.request();
    let Front { json, quiet, verbose, numbering: NumberingArgs { tasks, task_size }, device } =
        front;
    let device = device::open(device)?;
    if device.is_some() && tasks.is_some() {
        return Err(Failure::usage(
            "--tasks works with --device cpu only; for other devices, --json lists the launches",
        ));
    }
    let mut decided = decide(request)?;
    decided.read_on()?;
    if let Some(path) = &tasks {
        let written = decided.begin_tasks_at(path, task_size)?;
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
        _ if quiet => Ok(()),
        Some(device) => on_device(&decided, device, json),
        None if json => decided.plan_reports()?.iter().try_for_each(print_json),
        None => print(&decided.plan_text(verbose)?),
    }
}

/// Reports moves in the memory of a device, between row-major tensors.
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
