//! Formats results as text.

use std::fmt::Write as _;

use crate::Settings;
use crate::device::DeviceRecord;
use crate::machine::MachineRecord;
use crate::record::{CaseRecord, Record, SuiteRecord};

/// Why results may be below the promised minimum.
const IF_BELOW: &str = "\n\
    The aims are for a machine that does nothing else: other programs, and neighbours of a virtual\n\
    machine, make every number worse. Run it again when the machine is idle, with more --rounds.\n";

impl Record {
    /// Returns a table of the suites and cases, and a summary.
    pub fn table(&self) -> String {
        let Record { machine, device, rounds, large_pages, .. } = self;
        let mut text = match (device, self.threads) {
            (Some(device), _) => head_of_device(device, *rounds),
            (None, threads) => {
                let threads = threads.unwrap_or_default();
                head(machine, &Settings { threads, rounds: *rounds, large_pages: *large_pages })
            }
        };
        for suite in &self.suites {
            text.push_str(&suite_head(&suite.name, &suite.about));
            for case in &suite.cases {
                let _ = writeln!(text, "{}", case.row(false));
            }
        }
        text + &self.summary()
    }

    /// Returns the mean and the promised minimum of each suite, and possible reasons for a mean below its minimum.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "\n{:<18} {:>5} {:>9} {:>5} {:>9} {:>5}\n",
            "suite", "cases", "geo. mean", "aim", "least", "aim"
        );
        for suite in &self.suites {
            let _ = writeln!(text, "{}", suite.summary_row());
        }
        if !self.keeps_promises() {
            text.push_str(IF_BELOW);
        }
        text
    }

    /// Returns the tables for docs/speed.md: the suites, and the times of small calls.
    pub fn markdown(&self) -> String {
        let (timed, compared): (Vec<_>, Vec<_>) =
            self.suites.iter().partition(|suite| suite.is_timed());
        let mut text = String::from(
            "| suite | cases | geometric mean | least |\n\
             |---|---|---|---|\n",
        );
        for suite in compared {
            let _ = writeln!(
                text,
                "| {} | {} | {:.2} | {:.2} |",
                suite.about,
                suite.cases.len(),
                suite.mean,
                suite.least
            );
        }
        for suite in timed {
            let _ = write!(text, "\n| {} | tensor | time |\n|---|---|---|\n", suite.name);
            for case in &suite.cases {
                let _ = writeln!(
                    text,
                    "| {} | {} {} | {} |",
                    case.name,
                    case.dtype,
                    case.shape(),
                    readable_time(case.seconds)
                );
            }
        }
        text
    }
}

impl SuiteRecord {
    /// Whether the reference is single operators instead of a copy.
    pub(crate) fn is_of_single(&self) -> bool {
        self.cases.iter().any(|case| case.of_single.is_some())
    }

    /// Whether times are promised instead of fractions.
    pub(crate) fn is_timed(&self) -> bool {
        self.cases.iter().any(|case| case.most_ns.is_some())
    }

    fn summary_row(&self) -> String {
        let bar = |bar: Option<f64>| bar.map_or("-".to_owned(), |bar| format!("{bar:.2}"));
        let late = self.cases.iter().filter(|case| !case.is_in_time()).count();
        let note = match (self.keeps_promises(), late) {
            (true, _) => String::new(),
            (false, 0) => "  below its aim".to_owned(),
            (false, late) => format!("  {late} took longer than aimed at"),
        };
        format!(
            "{:<18} {:>5} {:>9.2} {:>5} {:>9.2} {:>5}{note}",
            self.name,
            self.cases.len(),
            self.mean,
            bar(self.bars.mean),
            self.least,
            bar(self.bars.least),
        )
    }
}

impl CaseRecord {
    /// Returns the case as a row under [`suite_head`], and a row for each rival.
    pub fn row(&self, with_kernels: bool) -> String {
        let mut row = format!(
            "  {:<34} {:>9} {:<17} {:>8.2} {:>6.1} {:>6.1} {:>8}",
            self.name,
            self.dtype,
            self.shape(),
            self.fraction(),
            self.gigabytes_per_second(),
            self.copy_gigabytes_per_second(),
            readable_time(self.seconds),
        );
        if self.of_single.is_some() {
            row.push_str("  of single");
        }
        if let Some(most) = self.most_ns {
            let _ = write!(row, "  aim: {most:.0} ns");
        }
        if with_kernels {
            let _ = write!(row, "  {}", self.kernels);
        }
        for rival in &self.rivals {
            let _ = write!(row, "\n    {:<60} {:>8.2}", rival.name, rival.of_copy);
        }
        row
    }
}

/// Returns the machine, the settings, and the meaning of the columns.
pub fn head(machine: &MachineRecord, settings: &Settings) -> String {
    let Settings { threads, rounds, large_pages } = *settings;
    let pages = if large_pages { ", tensors on large pages" } else { "" };
    let tuning = match machine.tuning.as_str() {
        "" => String::new(),
        tuning => format!("tuning: {tuning}\n"),
    };
    format!(
        "{machine}\n{tuning}\
         {threads} thread{}, medians of {rounds} round{}{pages}. Fractions are of the speed of the fastest\n\
         parallel copy of the same bytes, timed in turn; GB/s are read and written.\n",
        if threads == 1 { "" } else { "s" },
        if rounds == 1 { "" } else { "s" },
    )
}

fn head_of_device(device: &DeviceRecord, rounds: usize) -> String {
    let DeviceRecord { by, name, emulated } = device;
    let emulated = match emulated {
        true => "The CPU emulates this device: no number says anything of a GPU.\n",
        false => "",
    };
    format!(
        "{by}: {name}\n{emulated}\
         Medians of {rounds} round{}. Fractions are of the speed of the device's own copy of the\n\
         same bytes, timed in turn; GB/s are read and written.\n",
        if rounds == 1 { "" } else { "s" },
    )
}

/// Returns the title of a suite and the headings of the columns.
pub fn suite_head(name: &str, about: &str) -> String {
    format!(
        "\n{name}: {about}\n  {:<34} {:>9} {:<17} {:>8} {:>6} {:>6} {:>8}\n",
        "case", "type", "sizes", "fraction", "GB/s", "copy", "time"
    )
}

fn readable_time(seconds: f64) -> String {
    match seconds {
        ..1e-6 => format!("{:.0} ns", seconds * 1e9),
        ..1e-3 => format!("{:.1} us", seconds * 1e6),
        ..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}
