//! Times movements in turn with a copy of the same bytes, after verifying each against the plain
//! reading of its index maps. Fractions of copy are what counts: bytes per second say more about
//! the machine and its neighbours.
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
pub use case::{Against, Bars, Call, Case, Suite};
pub use device::{DeviceRecord, in_turn, run_on};
pub use error::Error;
pub use machine::MachineRecord;
pub use record::{CaseRecord, Record, RivalRecord, SuiteRecord};
pub use selection::{Selection, list};
pub use suites::all as suites;
pub use table::{head, suite_head};

use measure::Buffers;

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many threads may take part, in copies too.
    pub threads: usize,
    /// How many times each case is timed in turn with a copy.
    pub rounds: usize,
    /// Whether the tensors are on large pages (2 MiB on x86-64), where the system gives them.
    pub large_pages: bool,
}

impl Settings {
    /// So many rounds, on `threads` threads or else on as many as the library would use.
    pub fn new(threads: Option<usize>, rounds: usize) -> Settings {
        let threads = threads.unwrap_or_else(|| trundle::Machine::detect().threads);
        Settings { threads, rounds, large_pages: false }
    }
}

/// The bytes of memory that [`run`] takes for the tensors of `suites`: two buffers, which all cases
/// share.
pub fn needed_bytes(suites: &[Suite]) -> usize {
    2 * most_bytes(suites)
}

fn most_bytes(suites: &[Suite]) -> usize {
    suites.iter().flat_map(|suite| &suite.cases).map(Case::bytes).max().unwrap_or(0)
}

/// Verifies and times every case of `suites`, and tells `watch` of each that is done.
///
/// # Errors
/// [`Error::Wrong`] if an element is not where it belongs, [`Error::Memory`] if there is no room
/// for [`needed_bytes`]; else for a case that is none.
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
