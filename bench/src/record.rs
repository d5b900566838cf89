//! What was measured, as it is kept.

use serde::{Deserialize, Serialize};

use crate::case::{Bars, shape_text};
use crate::machine::MachineRecord;

/// A run of the bench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Where it ran.
    pub machine: MachineRecord,
    /// On how many threads, the copy too.
    pub threads: usize,
    /// How many times each case was timed in turn with a copy.
    pub rounds: usize,
    /// What was timed.
    pub suites: Vec<SuiteRecord>,
}

/// A suite of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteRecord {
    /// What people ask for it by.
    pub name: String,
    /// What its cases have in common.
    pub about: String,
    /// What is promised.
    pub bars: Bars,
    /// The geometric mean of the cases' fractions.
    pub mean: f64,
    /// The least of them.
    pub least: f64,
    /// The cases that were timed.
    pub cases: Vec<CaseRecord>,
}

/// A case of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// What people would call it.
    pub name: String,
    /// The type of the elements.
    pub dtype: String,
    /// The sizes of the tensor, the outermost first.
    pub sizes: Vec<usize>,
    /// The operators, in the language of chains.
    pub chain: String,
    /// The bytes that are written (and as many are read).
    pub bytes: usize,
    /// The speed as a fraction of the copy's: the median over rounds of the times' ratio, both of
    /// the same round, held against the better of two copies.
    pub of_copy: f64,
    /// The speed as a fraction of that of other operators on the same tensor, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_single: Option<f64>,
    /// The median time of a run.
    pub seconds: f64,
    /// The median time of the copy.
    pub copy_seconds: f64,
    /// The most nanoseconds that are promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_ns: Option<f64>,
    /// The kernels of the plan.
    pub kernels: String,
}

impl Record {
    /// The record as a file holds it: one case a line.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let pretty = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push_str(&pretty);
        text.push('\n');
        text
    }

    /// Whether nothing is below its bar.
    pub fn keeps_promises(&self) -> bool {
        self.suites.iter().all(SuiteRecord::keeps_promises)
    }
}

impl SuiteRecord {
    /// The record of a suite's cases, of which there is one at least.
    pub(crate) fn new(name: &str, about: &str, bars: Bars, cases: Vec<CaseRecord>) -> SuiteRecord {
        let fractions = || cases.iter().map(CaseRecord::fraction);
        let logs: f64 = fractions().map(f64::ln).sum();
        SuiteRecord {
            name: name.to_owned(),
            about: about.to_owned(),
            bars,
            mean: rounded((logs / cases.len() as f64).exp()),
            least: rounded(fractions().fold(f64::INFINITY, f64::min)),
            cases,
        }
    }

    /// Whether nothing is below its bar.
    pub fn keeps_promises(&self) -> bool {
        let at_least = |value: f64, bar: Option<f64>| bar.is_none_or(|bar| value >= bar);
        at_least(self.mean, self.bars.mean)
            && at_least(self.least, self.bars.least)
            && self.cases.iter().all(CaseRecord::is_in_time)
    }
}

impl CaseRecord {
    /// What the case is measured by: the fraction of what it is held against.
    pub fn fraction(&self) -> f64 {
        self.of_single.unwrap_or(self.of_copy)
    }

    /// Whether the time is within what is promised, if a time is.
    pub fn is_in_time(&self) -> bool {
        self.most_ns.is_none_or(|most| self.seconds * 1e9 <= most)
    }

    /// Bytes read and written, in 10^9 a second.
    pub fn gigabytes_per_second(&self) -> f64 {
        2.0 * self.bytes as f64 / self.seconds / 1e9
    }

    /// The same of the copy.
    pub fn copy_gigabytes_per_second(&self) -> f64 {
        2.0 * self.bytes as f64 / self.copy_seconds / 1e9
    }

    /// The sizes as people write them: `64x56x56x288`.
    pub fn shape(&self) -> String {
        shape_text(&self.sizes)
    }
}

/// A fraction to three places: more are noise.
pub(crate) fn rounded(fraction: f64) -> f64 {
    (fraction * 1e3).round() / 1e3
}
