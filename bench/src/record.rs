//! Results of a run, which can be stored in a file.

use serde::{Deserialize, Serialize};

use crate::case::{Bars, shape_text};
use crate::device::DeviceRecord;
use crate::error::Error;
use crate::machine::MachineRecord;

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The machine.
    pub machine: MachineRecord,
    /// The device, if the run was not on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceRecord>,
    /// The number of threads, if the run was on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// How often each case was timed.
    pub rounds: usize,
    /// Whether the tensors were on large pages.
    #[serde(default)]
    pub large_pages: bool,
    /// The suites.
    pub suites: Vec<SuiteRecord>,
}

/// The results of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteRecord {
    /// The name.
    pub name: String,
    /// What the cases have in common.
    pub about: String,
    /// The promised minimum speeds.
    pub bars: Bars,
    /// The geometric mean of the cases' fractions.
    pub mean: f64,
    /// The smallest fraction.
    pub least: f64,
    /// The cases.
    pub cases: Vec<CaseRecord>,
}

/// The results of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// The name.
    pub name: String,
    /// The element type.
    pub dtype: String,
    /// The sizes of the tensor, outermost first.
    pub sizes: Vec<usize>,
    /// The operators, as the text of a chain.
    pub chain: String,
    /// The number of bytes written, and also read.
    pub bytes: usize,
    /// The speed as a fraction of the faster of two copies: the median over the rounds of the ratio of their times.
    pub of_copy: f64,
    /// The same relative to other operators on the same tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_single: Option<f64>,
    /// The median time of a run in seconds.
    pub seconds: f64,
    /// The median time of the copy in seconds.
    pub copy_seconds: f64,
    /// The promised time in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_ns: Option<f64>,
    /// The plan's kernels.
    pub kernels: String,
    /// Other libraries on the same case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<RivalRecord>,
}

/// Another library on a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RivalRecord {
    /// The library.
    pub name: String,
    /// The speed as a fraction of the copy's.
    pub of_copy: f64,
}

impl Record {
    /// Returns the record as JSON, with a line for each case, so that diffs are readable.
    ///
    /// # Errors
    /// [`Error::Record`], which does not occur for a record of [`run`](crate::run).
    pub fn to_json(&self) -> Result<String, Error> {
        let mut suites = Vec::with_capacity(self.suites.len());
        for suite in &self.suites {
            let cases = suite.cases.iter().map(serde_json::to_string);
            let cases = cases.collect::<Result<Vec<_>, _>>()?.join(",\n");
            let head = serde_json::to_string(&SuiteRecord { cases: Vec::new(), ..suite.clone() })?;
            suites.push(in_place_of_none(&head, &cases));
        }
        let head = serde_json::to_string(&Record { suites: Vec::new(), ..self.clone() })?;
        Ok(in_place_of_none(&head, &suites.join(",\n")) + "\n")
    }

    /// Reads a record that [`Record::to_json`] has written.
    ///
    /// # Errors
    /// [`Error::Record`] if `text` is not a record.
    pub fn from_json(text: &str) -> Result<Record, Error> {
        Ok(serde_json::from_str(text)?)
    }

    /// Whether every suite reaches its promised speeds.
    pub fn keeps_promises(&self) -> bool {
        self.suites.iter().all(SuiteRecord::keeps_promises)
    }
}

impl SuiteRecord {
    /// Creates the record of at least one case.
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

    /// Whether the suite reaches its promised speeds.
    pub fn keeps_promises(&self) -> bool {
        let at_least = |value: f64, bar: Option<f64>| bar.is_none_or(|bar| value >= bar);
        at_least(self.mean, self.bars.mean)
            && at_least(self.least, self.bars.least)
            && self.cases.iter().all(CaseRecord::is_in_time)
    }
}

impl CaseRecord {
    /// Returns the speed that counts: relative to the reference operators if there are any, otherwise to the copy.
    pub fn fraction(&self) -> f64 {
        self.of_single.unwrap_or(self.of_copy)
    }

    /// Whether the time is at most the promised time, if any.
    pub fn is_in_time(&self) -> bool {
        self.most_ns.is_none_or(|most| self.seconds * 1e9 <= most)
    }

    /// Returns the speed in 10^9 bytes per second, read and written bytes together.
    pub fn gigabytes_per_second(&self) -> f64 {
        2.0 * self.bytes as f64 / self.seconds / 1e9
    }

    /// Returns the copy's speed in 10^9 bytes per second, read and written bytes together.
    pub fn copy_gigabytes_per_second(&self) -> f64 {
        2.0 * self.bytes as f64 / self.copy_seconds / 1e9
    }

    /// Returns the sizes, such as `64x56x56x288`.
    pub fn shape(&self) -> String {
        shape_text(&self.sizes)
    }
}

/// Inserts lines into the empty list at the end of a JSON object.
fn in_place_of_none(object: &str, lines: &str) -> String {
    let open = object.strip_suffix("]}").unwrap_or(object);
    format!("{open}\n{lines}\n]}}")
}

/// Rounds to three digits after the point. Further digits are not reproducible.
pub(crate) fn rounded(fraction: f64) -> f64 {
    (fraction * 1e3).round() / 1e3
}

/// Rounds to four significant digits.
pub(crate) fn rounded_time(seconds: f64) -> f64 {
    let unit = 10f64.powi(seconds.max(1e-12).log10().floor() as i32 - 3);
    // Powers of ten above 1 are exact.
    (seconds / unit).round() / (1.0 / unit).round()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn case(of_copy: f64, of_single: Option<f64>, most_ns: Option<f64>) -> CaseRecord {
        CaseRecord {
            name: "transpose".to_owned(),
            dtype: "f32".to_owned(),
            sizes: vec![16, 16],
            chain: "transpose(1, 0)".to_owned(),
            bytes: 1024,
            of_copy,
            of_single,
            seconds: 120e-9,
            copy_seconds: 30e-9,
            most_ns,
            kernels: "transposed-portable".to_owned(),
            rivals: Vec::new(),
        }
    }

    fn suite(bars: Bars, cases: Vec<CaseRecord>) -> SuiteRecord {
        SuiteRecord::new("name", "about", bars, cases)
    }

    #[test]
    fn a_record_is_read_back() {
        let cases = vec![case(0.25, None, None), case(0.5, Some(1.01), Some(150.0))];
        let bars = Bars { mean: Some(0.9), least: None };
        let machine = MachineRecord::detect();
        let suites = vec![suite(bars, cases.clone()), suite(Bars::default(), cases)];
        let (device, threads) = (None, Some(2));
        let record = Record { machine, device, threads, rounds: 5, large_pages: false, suites };
        let text = record.to_json().unwrap();
        assert_eq!(Record::from_json(&text).unwrap(), record);
        assert_eq!(text.lines().filter(|line| line.starts_with("{\"name\":\"tr")).count(), 4);
        assert!(Record::from_json("{}").is_err());
    }

    #[test]
    fn a_suite_is_summarised_by_its_kind_of_comparison() {
        let of_copy = suite(Bars::default(), vec![case(0.25, None, None), case(1.0, None, None)]);
        assert_eq!((of_copy.mean, of_copy.least), (0.5, 0.25));
        let of_single = suite(Bars::default(), vec![case(0.25, Some(0.9), None)]);
        assert_eq!((of_single.mean, of_single.least), (0.9, 0.9));
    }

    #[test]
    fn a_promise_is_a_mean_a_minimum_or_a_time() {
        let kept = |mean, least, most_ns| {
            let cases = vec![case(0.5, None, most_ns), case(0.5, None, None)];
            suite(Bars { mean, least }, cases).keeps_promises()
        };
        assert!(kept(None, None, None) && kept(Some(0.5), Some(0.5), Some(120.0)));
        assert!(!kept(Some(0.51), None, None));
        assert!(!kept(None, Some(0.51), None));
        assert!(!kept(None, None, Some(119.0)));
    }

    #[test]
    fn times_have_four_digits() {
        for (seconds, expected) in
            [(0.012_345_678, 0.012_35), (51.234e-9, 51.23e-9), (1.0, 1.0), (123.456, 123.5)]
        {
            assert_eq!(rounded_time(seconds).to_string(), expected.to_string());
        }
    }
}
