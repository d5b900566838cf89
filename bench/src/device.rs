//! Times cases on a device, between buffers in its memory.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trundle::Result;

use crate::case::{Bars, Case, Suite};
use crate::error::Error;
use crate::machine::MachineRecord;
use crate::measure::repetitions;
use crate::record::{CaseRecord, Record, SuiteRecord};

/// The device of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// The backend: `wgpu` or `cuda`.
    pub by: String,
    /// The device's name.
    pub name: String,
    /// Whether the CPU emulates the device, so that the times say nothing about a GPU.
    pub emulated: bool,
}

/// Times every case of `suites` on a device. `measure` verifies a case and times it [alternately with a copy](in_turn).
/// The minimum speeds are promised only for CPUs.
///
/// # Errors
/// Returns the errors of `measure`.
pub fn run_on<E>(
    device: DeviceRecord,
    suites: &[Suite],
    rounds: usize,
    measure: &mut dyn FnMut(&Case) -> Result<CaseRecord, E>,
) -> Result<Record, E> {
    let mut record = |suite: &Suite| -> Result<SuiteRecord, E> {
        let cases = suite.cases.iter().map(&mut *measure).collect::<Result<_, E>>()?;
        Ok(SuiteRecord::new(suite.name, suite.about, Bars::default(), cases))
    };
    let suites = suites.iter().map(&mut record).collect::<Result<_, E>>()?;
    Ok(Record {
        machine: MachineRecord::detect(),
        device: Some(device),
        threads: None,
        rounds,
        large_pages: false,
        suites,
    })
}

/// Times a case alternately with a copy. `movement` and `copy` get a number of repetitions, and return after the last.
///
/// # Errors
/// [`Error::Run`] if `movement` or `copy` fails.
pub fn in_turn(
    case: &Case,
    rounds: usize,
    kernels: String,
    movement: &mut dyn FnMut(usize) -> Result<()>,
    copy: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<CaseRecord, Error> {
    let times = times_in_turn(rounds, movement, copy);
    let [movement, copy] =
        times.map_err(|source| Error::Run { case: case.name.clone(), source })?;
    Ok(CaseRecord::of(case, &movement, &[&copy], kernels))
}

fn times_in_turn(
    rounds: usize,
    movement: &mut dyn FnMut(usize) -> Result<()>,
    copy: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<[Vec<f64>; 2]> {
    let repeats = repetitions(|times| time_of(movement, times))?;
    let copies = repetitions(|times| time_of(copy, times))?;
    let mut all: [Vec<f64>; 2] = Default::default();
    for _ in 0..rounds {
        all[0].push(time_of(movement, repeats)?.as_secs_f64() / repeats as f64);
        all[1].push(time_of(copy, copies)?.as_secs_f64() / copies as f64);
    }
    Ok(all)
}

fn time_of(work: &mut dyn FnMut(usize) -> Result<()>, times: usize) -> Result<Duration> {
    let start = Instant::now();
    work(times)?;
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use trundle::DType;

    use super::*;

    fn suites() -> Vec<Suite> {
        let case = || Case { most_ns: Some(1.0), ..Case::new("copy", DType::U8, &[5, 7], []) };
        let bars = Bars { mean: Some(5.0), least: None };
        vec![Suite { name: "some", about: "about", bars, cases: vec![case(), case()] }]
    }

    fn slept(milliseconds: u64) -> impl FnMut(usize) -> Result<()> {
        move |times| {
            sleep(Duration::from_millis(milliseconds) * times as u32);
            Ok(())
        }
    }

    #[test]
    fn a_case_on_a_device_is_compared_with_a_copy_on_it() {
        let device =
            DeviceRecord { by: "wgpu".to_owned(), name: "some".to_owned(), emulated: true };
        let record = run_on(device.clone(), &suites(), 3, &mut |case| {
            in_turn(case, 3, "gather_bytes".to_owned(), &mut slept(40), &mut slept(10))
        });
        let record = record.unwrap();
        assert_eq!((record.device.as_ref(), record.threads), (Some(&device), None));
        let [suite] = &record.suites[..] else { panic!("one suite") };
        let fractions: Vec<f64> = suite.cases.iter().map(|case| case.of_copy).collect();
        assert!(fractions.iter().all(|fraction| (0.1..0.8).contains(fraction)), "{fractions:?}");
        assert!(record.keeps_promises(), "nothing is promised");
        assert_eq!(Record::from_json(&record.to_json().unwrap()).unwrap(), record);
    }

    #[test]
    fn an_error_names_the_failing_case() {
        let case = &suites()[0].cases[0];
        let mut failing = |_| Err(trundle::Error::Stopped);
        let failed = in_turn(case, 1, String::new(), &mut failing, &mut slept(0)).unwrap_err();
        assert!(failed.to_string().starts_with("copy: "), "{failed}");
    }
}
