//! `trundle bench`: measures the speed of the operators, relative to a copy, on this machine.

use std::io::Write;
use std::path::Path;

use trundle::tuning;
use trundle_bench::{Record, Selection, Settings, Suite, list};
use trundle_files::failure::Failure;
use trundle_files::memory;
use trundle_files::output::write_with;
use trundle_formats::Output;

use crate::args::BenchArgs;
use crate::device::{self, Device};
use crate::foreign::of_bench;
use crate::progress::Progress;
use crate::say::print;

/// Times the selected cases, alternately with a copy, and prints or writes the results.
///
/// # Errors
/// If no case is selected, if the memory is not enough, if a file cannot be written, or if a result is
/// wrong.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let suites = Selection::new(&args.words, !args.all && !args.list)
        .of(trundle_bench::suites())
        .map_err(of_bench)?;
    if args.list {
        return print(&list(&suites));
    }
    let device = device::open(args.device.device)?;
    if device.is_some() && (args.threads.is_some() || args.large_pages) {
        return Err(Failure::usage("--threads and --large-pages work with --device cpu only"));
    }
    let files = [&args.svg, &args.json].map(Option::as_deref);
    let streamed = files.iter().flatten().filter(|path| **path == Path::new("-")).count();
    if streamed > 1 {
        return Err(Failure::usage("--svg and --json cannot both write to stdout"));
    }
    for path in files.into_iter().flatten() {
        Output::check(path, args.force)?;
    }
    memory::check(trundle_bench::needed_bytes(&suites) as u64, None)?;
    let record = measure(&suites, device.as_deref(), args)?;
    if streamed == 0 {
        print(&record.table())?;
        if let Some(suggestion) = tuning::used().suggestion().filter(|_| device.is_none()) {
            print(&format!("\n{suggestion}.\n"))?;
        }
    }
    if let Some(path) = &args.svg {
        write_with(path, args.force, |output| output.write_all(record.svg().as_bytes()))?;
    }
    if let Some(path) = &args.json {
        let text = record.to_json().map_err(of_bench)?;
        write_with(path, args.force, |output| output.write_all(text.as_bytes()))?;
    }
    Ok(())
}

fn measure(
    suites: &[Suite],
    device: Option<&dyn Device>,
    args: &BenchArgs,
) -> Result<Record, Failure> {
    let progress = Progress::counting(false);
    progress.phase("timing", suites.iter().map(|suite| suite.cases.len()).sum());
    let mut cases = 0;
    let mut done = || {
        cases += 1;
        progress.at(cases);
    };
    let record = match device {
        Some(device) => device.timed(suites, args.rounds, &mut done)?,
        None => {
            let settings = Settings::new(args.threads, args.rounds);
            let settings = Settings { large_pages: args.large_pages, ..settings };
            trundle_bench::run(suites, settings, &mut |_, _| done()).map_err(of_bench)?
        }
    };
    progress.finish();
    Ok(record)
}
