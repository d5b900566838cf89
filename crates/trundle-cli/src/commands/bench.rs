//! `trundle bench`: the operators beside a copy on this machine.

use std::io::Write;
use std::path::Path;

use trundle_bench::{Record, Selection, Settings, Suite, list};
use trundle_formats::Output;

use crate::args::BenchArgs;
use crate::device;
use crate::failure::Failure;
use crate::job::write_with;
use crate::memory;
use crate::progress::Progress;
use crate::say::print;

/// Times cases in turn with a copy, and shows the results.
///
/// # Errors
/// If there is no such case, no memory, a file cannot be written, or a result is wrong.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let suites = Selection::new(&args.words, !args.all && !args.list).of(trundle_bench::suites())?;
    if args.list {
        return print(&list(&suites));
    }
    if let Some(device) = device::open(args.device.device)? {
        if args.svg.is_some() || args.json.is_some() {
            return Err(Failure::usage("--svg and --json are for --device cpu"));
        }
        memory::check(trundle_bench::needed_bytes(&suites) as u64, None)?;
        return device.timed(&suites, args.rounds, &mut |text| print(text));
    }
    let files = [&args.svg, &args.json].map(Option::as_deref);
    let streamed = files.iter().flatten().filter(|path| **path == Path::new("-")).count();
    if streamed > 1 {
        return Err(Failure::usage("--svg and --json cannot both be stdout"));
    }
    for path in files.into_iter().flatten() {
        Output::check(path, args.force)?;
    }
    memory::check(trundle_bench::needed_bytes(&suites) as u64, None)?;
    let settings =
        Settings { large_pages: args.large_pages, ..Settings::new(args.threads, args.rounds) };
    let record = measure(&suites, settings)?;
    if streamed == 0 {
        print(&record.table())?;
    }
    if let Some(path) = &args.svg {
        write_with(path, args.force, |output| output.write_all(record.svg().as_bytes()))?;
    }
    if let Some(path) = &args.json {
        let text = record.to_json()?;
        write_with(path, args.force, |output| output.write_all(text.as_bytes()))?;
    }
    Ok(())
}

fn measure(suites: &[Suite], settings: Settings) -> Result<Record, Failure> {
    let progress = Progress::counting(false);
    progress.phase("timing", suites.iter().map(|suite| suite.cases.len()).sum());
    let mut done = 0;
    let record = trundle_bench::run(suites, settings, &mut |_, _| {
        done += 1;
        progress.at(done);
    })?;
    progress.finish();
    Ok(record)
}
