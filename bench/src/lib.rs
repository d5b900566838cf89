//! Measures the speed of movements. Each is first verified against its index maps, and then timed alternately with a
//! copy of the same bytes. Results are fractions of the copy's speed, because bytes per second depend more on the
//! machine and on other programs.
//!
//! A *case* is one movement of one tensor. A *suite* is a group of similar cases. A *round* measures the
//! time of a movement and of its copies once.
#![forbid(unsafe_code)]

mod beside;
mod case;
mod copy;
mod device;
mod error;
mod machine;
mod measure;
mod plot;
mod record;
#[cfg(feature = "rivals")]
mod rivals;
mod selection;
mod suites;
mod table;

pub use beside::{Beside, beside_copies};
pub use case::{Against, Bars, Case, Suite, TimedCall};
pub use device::{DeviceRecord, in_turn, run_on};
pub use error::Error;
pub use machine::MachineRecord;
pub use record::{CaseRecord, Record, RivalRecord, SuiteRecord};
pub use selection::{Selection, list};
pub use suites::all as suites;
pub use table::{head, suite_head};

use measure::Buffers;

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The maximum number of threads, also for copies.
    pub threads: usize,
    /// How often each case is timed.
    pub rounds: usize,
    /// Whether to request large pages (2 MiB on x86-64) for the tensors.
    pub large_pages: bool,
}

impl Settings {
    /// Creates settings with `threads` threads (default: as many as the library uses) and `rounds` rounds.
    pub fn new(threads: Option<usize>, rounds: usize) -> Settings {
        let threads = threads.unwrap_or_else(|| trundle::Machine::detect().threads);
        Settings { threads, rounds, large_pages: false }
    }
}

/// Returns how many bytes [`run`] allocates for `suites`. All cases share two buffers.
pub fn needed_bytes(suites: &[Suite]) -> usize {
    2 * most_bytes(suites)
}

fn most_bytes(suites: &[Suite]) -> usize {
    suites.iter().flat_map(|suite| &suite.cases).map(Case::bytes).max().unwrap_or(0)
}

/// Verifies and times every case of `suites`, and passes each finished case to `watch`.
///
/// # Errors
/// [`Error::Wrong`] if an element of an output is wrong; [`Error::Memory`] if [`needed_bytes`] cannot be
/// allocated; [`Error::Plan`] or [`Error::Run`] if a case is invalid.
pub fn run(
    suites: &[Suite],
    settings: Settings,
    watch: &mut dyn FnMut(&Suite, &CaseRecord),
) -> Result<Record, Error> {
    let Settings { threads, rounds, large_pages } = settings;
    let mut buffers = Buffers::new(most_bytes(suites), large_pages)?;
    let mut records = Vec::with_capacity(suites.len());
    for suite in suites {
        let mut cases = Vec::with_capacity(suite.cases.len());
        for case in &suite.cases {
            let record = measure::measure(case, &mut buffers, threads, rounds)?;
            #[cfg(feature = "rivals")]
            let record = CaseRecord { rivals: rivals::measure(case, threads, rounds)?, ..record };
            watch(suite, &record);
            cases.push(record);
        }
        records.push(SuiteRecord::new(suite.name, suite.about, suite.bars, cases));
    }
    Ok(Record {
        machine: MachineRecord::detect(),
        device: None,
        threads: Some(threads),
        rounds,
        large_pages,
        suites: records,
    })
}
