//! The `trundle` program: arguments, messages, exit codes. The Python package uses this library for its own `trundle`
//! program.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod device;
mod foreign;
mod help;
mod model_forecast;
mod model_input;
mod model_job;
mod numbers;
mod operator;
mod panics;
mod progress;
mod say;
mod signals;

use std::ffi::OsString;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use trundle_files::failure::Failure;
use trundle_formats::{Shown, is_steering};

use crate::args::{Cli, Command};
use crate::help::Detail;
pub use crate::panics::report_panics;

/// Runs the program and returns its exit code. The first argument is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_short = arguments.len() <= 1 || arguments.iter().any(|argument| argument == "-h");
    let mut program = help::program(if is_short { Detail::Own } else { Detail::All });
    let parsed = program.try_get_matches_from_mut(&arguments).and_then(|matches| {
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut program))
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refuse(error, &arguments),
    };
    signals::clean_up_when_stopped();
    // `--max-mem` does not count memory that codecs have freed, so it must return to the system.
    trundle::internal::give_freed_memory_back();
    trundle_files::memory::count_program();
    match numbers::check_environment().and_then(|()| dispatch(cli.command)) {
        Ok(()) => 0,
        Err(failure) if failure.is_unread() => {
            signals::end_unread();
            failure.code()
        }
        Err(failure) if failure.is_reported() => failure.code(),
        Err(failure) => {
            say::say_failure(&failure);
            failure.code()
        }
    }
}

/// Prints a usage error or the requested help, and returns the exit code.
fn refuse(mut error: clap::Error, arguments: &[OsString]) -> u8 {
    let unexpected = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if error.kind() == ErrorKind::UnknownArgument => {
            (!argument.starts_with('-')).then(|| argument.clone())
        }
        _ => None,
    };
    let operators = help::OPERATORS.iter().map(|(declared, _)| declared.name);
    let mut moves = operators.chain(["apply", "convert", "relayout", "split"]);
    if let Some(argument) = unexpected
        && arguments.get(1).is_some_and(|command| moves.any(|name| name == command))
    {
        let is_output = |argument: &OsString| {
            let text = argument.to_string_lossy();
            text == "--output" || text.starts_with("--output=") || text.starts_with("-o")
        };
        let tip = match arguments.iter().any(is_output) {
            true => "this command takes one input at a time".to_owned(),
            false => format!("the result goes to -o: '-o {}'", Shown(argument)),
        };
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let removed = Some(&ContextValue::String("--workers".to_owned()));
    if error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::InvalidArg) == removed {
        error.remove(ContextKind::SuggestedArg);
        let tip = "use --threads N on one machine; 'plan --tasks' divides the work among processes and machines";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    // A file name may have control characters, which clap prints unchanged.
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue, ContextKind::InvalidSubcommand]
    {
        if let Some(ContextValue::String(given)) = error.get(kind) {
            let shown = ContextValue::String(Shown(given).to_string());
            error.insert(kind, shown);
        }
    }
    let is_hostile = |text: &OsString| text.to_string_lossy().contains(is_steering);
    if error.use_stderr() && arguments.iter().any(is_hostile) {
        say::say(error.render().to_string().trim_end());
    } else {
        // Write errors are ignored, as in clap.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Moving(command) => commands::work::run(command),
        Command::Plan { operation: Some(operation), .. } => commands::plan::run(operation),
        Command::Plan { model: Some(model), verbose, .. } => commands::run::plan(&model, verbose),
        Command::Plan { .. } => {
            Err(Failure::usage("nothing to plan: name a model, or an operation such as transpose"))
        }
        Command::Run(run) => commands::run::run(&run),
        Command::Fuse(fuse) => commands::fuse::run(&fuse),
        Command::Info(info) => commands::info::run(&info),
        Command::Cmp(cmp) => commands::cmp::run(&cmp),
        Command::View(view) => commands::view::run(&view),
        Command::Task(task) => commands::task::run(&task),
        Command::Finish(finish) => commands::task::finish(&finish),
        Command::Clean(clean) => commands::clean::run(&clean),
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::Bench(bench) => commands::bench::run(&bench),
        Command::Tune(tune) => commands::tune::run(&tune),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man { dir: Some(dir), .. } => commands::shell::man_files(&dir),
        Command::Man { command, .. } => commands::shell::man(&command),
    }
}
