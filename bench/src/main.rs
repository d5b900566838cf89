//! The bench as a program; `trundle bench` runs the same cases.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use trundle_bench::{MachineRecord, Selection, Settings, head, suite_head};

/// Times movements in turn with the fastest parallel copy of the same bytes, after verifying each.
#[derive(Debug, Parser)]
#[command(name = "trundle-bench", max_term_width = 100)]
struct Args {
    /// Only the cases whose `suite/name type sizes` holds one of these words
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Only a few cases of each suite
    #[arg(long, conflicts_with = "words")]
    short: bool,
    /// How many threads to use; without it, as many as cores
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// How many times each case is timed
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: usize,
    /// Where the record goes
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Exit with 1 if something is below its bar
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// True unless something that was to be checked is below its bar.
fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let selection = match args {
        Args { short: true, .. } => Selection::Short,
        Args { words, .. } if words.is_empty() => Selection::All,
        Args { words, .. } => Selection::Words(words.clone()),
    };
    let suites = selection.of(trundle_bench::suites())?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let settings =
        Settings { threads: args.threads.unwrap_or(cores).max(1), rounds: args.rounds.max(1) };
    print!("{}", head(&MachineRecord::detect().to_string(), settings.threads, settings.rounds));
    let mut last = "";
    let record = trundle_bench::run(&suites, settings, &mut |suite, case| {
        if suite.name != std::mem::replace(&mut last, suite.name) {
            print!("{}", suite_head(suite.name, suite.about));
        }
        print!("{}", case.row());
    })?;
    print!("{}", record.summary());
    if let Some(file) = &args.json {
        std::fs::write(file, record.to_json())?;
    }
    Ok(!args.check || record.keeps_promises())
}
