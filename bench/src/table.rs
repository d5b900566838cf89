//! Results as text for people.

use std::fmt::Write as _;

use crate::record::{CaseRecord, Record, SuiteRecord};

impl Record {
    /// What the numbers below mean.
    pub fn head(&self) -> String {
        head(&self.machine.to_string(), self.threads, self.rounds)
    }

    /// Every suite with its cases, then the suites together.
    pub fn table(&self) -> String {
        let mut text = self.head();
        for suite in &self.suites {
            text.push_str(&suite_head(&suite.name, &suite.about));
            for case in &suite.cases {
                text.push_str(&case.row());
            }
        }
        text.push_str(&self.summary());
        text
    }

    /// The means of the suites, beside what is promised.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "\n{:<18} {:>5} {:>9} {:>6} {:>9} {:>6}\n",
            "suite", "cases", "geo. mean", "bar", "least", "bar"
        );
        for suite in &self.suites {
            let _ = writeln!(text, "{}", suite.summary_row());
        }
        text
    }
}

impl SuiteRecord {
    fn summary_row(&self) -> String {
        let bar = |bar: Option<f64>| bar.map_or("-".to_owned(), |bar| format!("{bar:.2}"));
        let late = self.cases.iter().filter(|case| !case.is_in_time()).count();
        let note = match (self.keeps_promises(), late) {
            (true, _) => "".to_owned(),
            (false, 0) => "  below".to_owned(),
            (false, late) => format!("  {late} too slow"),
        };
        format!(
            "{:<18} {:>5} {:>9.2} {:>6} {:>9.2} {:>6}{note}",
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
    /// The case as a row of a table, under [`suite_head`].
    pub fn row(&self) -> String {
        let single = self.of_single.map_or(String::new(), |single| format!("{single:.2}"));
        let bar = self.most_ns.map_or(String::new(), |most| format!(" of {most:.0} ns"));
        format!(
            "  {:<34} {:>8} {:<18} {:>7.2} {:>9} {:>8.1} {:>8.1} {:>8}{bar}  {}\n",
            self.name,
            self.dtype,
            self.shape(),
            self.of_copy,
            single,
            self.gigabytes_per_second(),
            self.copy_gigabytes_per_second(),
            readable_time(self.seconds),
            self.kernels,
        )
    }
}

/// What a run says first.
pub fn head(machine: &str, threads: usize, rounds: usize) -> String {
    format!(
        "{machine}\n\
         {threads} thread{}, medians of {rounds} round{}; of copy: the speed as a fraction of the \
         fastest parallel copy's, timed in turn\n",
        if threads == 1 { "" } else { "s" },
        if rounds == 1 { "" } else { "s" },
    )
}

/// A suite's title and the heads of its columns.
pub fn suite_head(name: &str, about: &str) -> String {
    format!(
        "\n{name}: {about}\n  {:<34} {:>8} {:<18} {:>7} {:>9} {:>8} {:>8} {:>8}  kernels\n",
        "case", "type", "sizes", "of copy", "of single", "GB/s", "copy", "time"
    )
}

/// A time in the unit that fits it.
fn readable_time(seconds: f64) -> String {
    match seconds {
        ..1e-6 => format!("{:.0} ns", seconds * 1e9),
        ..1e-3 => format!("{:.1} us", seconds * 1e6),
        ..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}
