//! Times cases in turn with a copy of the same bytes, after verifying each against the plain
//! reading of its index maps. Fractions of copy are what counts: bytes per second say more about
//! the machine and its neighbours.
//!
//! `cargo run --release -p trundle-bench -- [--threads N] [--rounds N] [--json FILE] [WORDS...]`
//! times the cases whose names hold one of the words, or all.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cases;
mod copy;
mod measure;
mod options;
mod report;

use std::process::ExitCode;

use crate::options::Options;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Times every wanted case; true if each that has a bar is at it or above.
fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    report::print_head(options);
    let mut results = Vec::new();
    for case in cases::cases().into_iter().filter(|case| options.wants(case.name)) {
        let result = measure::measure(&case, options)?;
        report::print_row(&case, &result);
        results.push((case, result));
    }
    report::print_means(&results);
    if let Some(file) = &options.json {
        std::fs::write(file, report::json(&results, options))?;
    }
    Ok(results.iter().all(|(case, result)| case.bar.is_none_or(|bar| result.of_copy() >= bar)))
}
