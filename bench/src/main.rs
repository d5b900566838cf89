//! The benchmarks as a program of their own. `trundle bench` runs the same cases.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use trundle_bench::{MachineRecord, Record, Selection, Settings, head, list, suite_head};

/// Measure the time of each movement, alternately with the fastest parallel copy of the same bytes, after
/// verifying the movement's result
#[derive(Debug, Parser)]
#[command(name = "trundle-bench", max_term_width = 100)]
struct Args {
    /// Only cases whose `suite/name type sizes` contains one of these words
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Only a few cases of each suite
    #[arg(long, conflicts_with = "words")]
    short: bool,
    /// Only list the cases
    #[arg(long)]
    list: bool,
    /// Number of threads (default: the number of cores)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// How often each case is timed
    #[arg(long, value_name = "N", default_value = "7")]
    rounds: NonZeroUsize,
    /// Use large pages for the tensors, as numpy and trundle do for their results
    #[arg(long)]
    large_pages: bool,
    /// Write the record to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the plot to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Show this record instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "short", "threads", "rounds", "large_pages"])]
    from: Option<PathBuf>,
    /// Print tables for docs/speed.md
    #[arg(long)]
    markdown: bool,
    /// Exit with code 1 if a result is below its promised minimum
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

/// Returns false if a checked result is below its promised minimum.
fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let record = match &args.from {
        Some(file) => Record::from_json(&std::fs::read_to_string(file)?)?,
        None => {
            let selection = Selection::new(&args.words, args.short);
            let suites = selection.of(trundle_bench::suites())?;
            if args.list {
                print!("{}", list(&suites));
                return Ok(true);
            }
            measure(args, &suites)?
        }
    };
    match (args.markdown, args.from.is_some()) {
        (true, _) => print!("{}", record.markdown()),
        (false, true) => print!("{}", record.table()),
        (false, false) => print!("{}", record.summary()),
    }
    if let Some(file) = &args.json {
        std::fs::write(file, record.to_json()?)?;
    }
    if let Some(file) = &args.svg {
        std::fs::write(file, record.svg())?;
    }
    Ok(!args.check || record.keeps_promises())
}

/// Prints each result as soon as its case is finished.
fn measure(args: &Args, suites: &[trundle_bench::Suite]) -> Result<Record, trundle_bench::Error> {
    let settings = Settings {
        large_pages: args.large_pages,
        ..Settings::new(args.threads.map(NonZeroUsize::get), args.rounds.get())
    };
    print!("{}", head(&MachineRecord::detect(), &settings));
    let mut last = "";
    trundle_bench::run(suites, settings, &mut |suite, case| {
        if suite.name != std::mem::replace(&mut last, suite.name) {
            print!("{}", suite_head(suite.name, suite.about));
        }
        println!("{}", case.row(true));
    })
}
