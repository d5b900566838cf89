//! The program `trundle`.
#![forbid(unsafe_code)]

mod args;
mod axes;
mod commands;
mod failure;
mod forecast;
mod help;
mod input;
mod job;
mod memory;
mod model_input;
mod numbers;
mod operation;
mod phantom;
mod picture;
mod pixels;
mod progress;
mod rule;
mod say;
mod selection;
mod shown;
mod signals;
mod slice;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    signals::clean_up_when_stopped();
    match numbers::check_environment().and_then(|()| dispatch(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say::say(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Transpose { operation, moving } => job::run(&operation.operation()?, &moving),
        Command::Roll { operation, moving } => job::run(&operation.operation()?, &moving),
        Command::Reverse { operation, moving } => job::run(&operation.operation()?, &moving),
        Command::Flip { operation, moving } => job::run(&operation.operation()?, &moving),
        Command::Apply { operation, moving } => job::run(&operation.operation()?, &moving),
        Command::Relayout { asked, writing, means } => {
            commands::relayout::run(&asked, &writing, &means)
        }
        Command::Plan { operation: Some(operation), .. } => commands::plan::run(operation),
        Command::Plan { model: Some(model), verbose, .. } => commands::run::plan(&model, verbose),
        Command::Plan { .. } => Err(Failure::usage(
            "what is to be planned is missing: a model, or an operation such as transpose",
        )),
        Command::Run(run) => commands::run::run(&run),
        Command::Info(info) => commands::info::run(&info),
        Command::View(view) => commands::view::run(&view),
        Command::Clean(clean) => commands::clean::run(&clean),
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::Bench(bench) => commands::bench::run(&bench),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man { command } => commands::shell::man(&command),
    }
}
