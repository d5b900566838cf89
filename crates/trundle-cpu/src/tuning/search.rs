//! Searches for the fastest tuning record of a machine, by measuring.
//!
//! The best record cannot be computed from latencies, fill buffers and cache sizes. The search moves tensors with each
//! candidate in turn, on the same buffers, so that all see the same state of the machine. Only times of one round (a
//! measurement with every candidate) are compared. Each movement is measured on small and on large pages, because the
//! fastest settings can differ; a candidate must not be slower on either.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use trundle_core::ops::{Flip, Roll, Transpose};
use trundle_core::{Backend, Error, IndexMap, Layout, Move, Op, Result, Shape};
use trundle_kernels::{Level, LinesTogether, Packed, Tuning};

use super::{NO_CACHE_FOLDER, built_in, kept, kept_path, used};
use crate::backend::zeros;
use crate::{Cpu, Machine, Plan, Simd};

/// Bytes per buffer: about twice the largest streaming threshold, so that the data is not cached.
const BYTES: usize = 64 << 20;

/// Number of rounds for each case, in comparisons and in the final check.
const ROUNDS: usize = 3;
const LAST_ROUNDS: usize = 7;

/// A record must be faster than the best one by this factor. Smaller differences are noise.
const LEAST_GAIN: f64 = 1.02;

/// Progress of the search.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Describes the current measurement, for users.
    pub what: &'static str,
    /// Number of finished measurements.
    pub done: usize,
    /// Number of all measurements.
    pub total: usize,
}

/// The speed of a movement before and after tuning.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Describes the movement.
    pub name: &'static str,
    /// Speed with the built-in record, in bytes read and written per second: the mean of small and large pages.
    pub before: f64,
    /// Speed with the tuned record. Equal to `before` if the search found nothing faster for this kind of movement.
    pub after: f64,
    /// Speed of a copy of as many bytes, measured alternately with the movement.
    pub copy: f64,
    shows: Shows,
    /// How many times faster it is after tuning, on small and on large pages.
    gains: [f64; 2],
}

/// The result of the search.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The record that was found for this machine.
    pub tuning: Tuning,
    /// The built-in record for this machine.
    pub built_in: Tuning,
    /// The speed of some movements with both records.
    pub trials: Vec<Trial>,
}

impl Tuned {
    /// Stores the record in a file and returns its path. Processes that start later use the record.
    ///
    /// # Errors
    /// Fails if the file cannot be written or no cache folder is known.
    pub fn keep(&self) -> io::Result<PathBuf> {
        let path = kept_path().ok_or_else(|| {
            io::Error::other(format!("cannot choose a folder for it: {NO_CACHE_FOLDER}"))
        })?;
        kept::write(&path, &self.text())?;
        Ok(path)
    }

    /// Returns the record as text. `TRUNDLE_TUNING` can name a file with this text.
    pub fn text(&self) -> String {
        let (cpu, cores) = (&used().cpu, Machine::cores());
        let version = env!("CARGO_PKG_VERSION");
        let numbers = self.tuning.to_string().replace(' ', "\n");
        format!("# trundle {version}, tuned on {cpu}, {cores} cores\n{numbers}\n")
    }
}

/// Searches for the fastest record of this machine.
///
/// This process does not use the record. [`Tuned::keep`] stores it for later processes. `go_on` receives the progress.
/// If `go_on` returns false, the search stops and returns `None`.
///
/// # Errors
/// [`TooLarge`](trundle_core::ShapeError::TooLarge) if four buffers of 64 MiB cannot be allocated.
pub fn tune(go_on: &mut dyn FnMut(Progress) -> bool) -> Result<Option<Tuned>> {
    match tune_with(1, go_on) {
        Err(Error::Stopped) => Ok(None),
        found => found.map(Some),
    }
}

/// [`tune`] with axis sizes divided by `share`, for tests.
///
/// # Errors
/// As [`tune`], and [`Error::Stopped`] if `go_on` returns false.
fn tune_with(share: usize, go_on: &mut dyn FnMut(Progress) -> bool) -> Result<Tuned> {
    // Default settings, whatever this process's environment says.
    let (threads, simd) = (Machine::cores(), Simd::detect());
    let machine = Machine { threads, simd, ..Machine::detect().clone() };
    let mut search = Search::new(machine, share)?;
    let (built_in, _) = built_in::for_cpu(&used().cpu, search.machine.l3_bytes);
    let mut steps = Steps { done: 0, total: search.steps(), go_on };
    let found = search.best(built_in, &mut steps)?;
    let mut trials = search.trials(built_in, found, &mut steps)?;
    // For each kind of movement, use the new settings unless they are slower than the built-in ones on some pages.
    let mut tuning = built_in;
    tuning.streaming_bytes = found.streaming_bytes;
    for shows in [Shows::Runs, Shows::Reversed, Shows::Transposes] {
        let of_kind = trials.iter().filter(|trial| trial.shows == shows);
        let gains = of_kind.map(|trial| trial.gains).collect::<Vec<_>>();
        if least(&mean_gains(&gains)) >= 1.0 {
            tuning = with_part(tuning, shows, &found);
        } else {
            let dropped = trials.iter_mut().filter(|trial| trial.shows == shows);
            dropped.for_each(|trial| trial.after = trial.before);
        }
    }
    Ok(Tuned { tuning, built_in, trials })
}

/// A movement used to compare records.
struct TuningCase {
    name: &'static str,
    work: Move,
    /// The part of the record that it measures.
    shows: Shows,
}

/// The part of a record that a case measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Runs,
    Reversed,
    Transposes,
}

/// Returns `tuning` with one part taken from `other`.
fn with_part(tuning: Tuning, shows: Shows, other: &Tuning) -> Tuning {
    match shows {
        Shows::Runs => Tuning {
            run_level: other.run_level,
            rolled_level: other.rolled_level,
            run_ahead: other.run_ahead,
            run_pages: other.run_pages,
            ..tuning
        },
        Shows::Reversed => Tuning {
            reversed_level: other.reversed_level,
            reversed_ahead: other.reversed_ahead,
            ..tuning
        },
        Shows::Transposes => {
            let others = Tuning { streaming_bytes: tuning.streaming_bytes, ..*other };
            let others = with_part(others, Shows::Runs, &tuning);
            with_part(others, Shows::Reversed, &tuning)
        }
    }
}

/// Reports the progress of the search.
struct Steps<'a> {
    done: usize,
    total: usize,
    go_on: &'a mut dyn FnMut(Progress) -> bool,
}

impl Steps<'_> {
    /// # Errors
    /// [`Error::Stopped`] if `go_on` returns false.
    fn next(&mut self, what: &'static str) -> Result<()> {
        self.done += 1;
        let goes_on = (self.go_on)(Progress { what, done: self.done - 1, total: self.total });
        if goes_on { Ok(()) } else { Err(Error::Stopped) }
    }
}

struct Search {
    machine: Machine,
    cases: Vec<TuningCase>,
    /// On small and on large pages.
    pages: [Buffers; 2],
}

/// The source and the destination of the measured movements.
struct Buffers {
    src: Box<[u8]>,
    dst: Box<[u8]>,
}

impl Buffers {
    /// # Errors
    /// [`TooLarge`](trundle_core::ShapeError::TooLarge) if they cannot be allocated.
    fn new(bytes: usize, allocate: impl Fn(usize) -> Result<Box<[u8]>>) -> Result<Buffers> {
        let (mut src, mut dst) = (allocate(bytes)?, allocate(bytes)?);
        // Before the first write, all pages are one physical page of zeros.
        src.fill(1);
        dst.fill(2);
        Ok(Buffers { src, dst })
    }
}

impl Search {
    fn new(machine: Machine, share: usize) -> Result<Search> {
        use Shows::{Reversed, Runs, Transposes};
        let transposed = |order: &[i64]| Op::from(Transpose::new(order));
        let rolled = |shifts: &[i64], axes: &[i64]| Op::from(Roll::new(shifts, axes));
        let cases: [(&'static str, Shows, usize, &[usize], Op); 14] = [
            ("rows rolled", Runs, 4, &[4096, 4095], rolled(&[5, -300], &[0, 1])),
            ("a long run rolled", Runs, 1, &[BYTES - 8], rolled(&[12_345], &[0])),
            ("rows in another order", Runs, 4, &[250, 125, 512], transposed(&[1, 0, 2])),
            ("f32 flipped", Reversed, 4, &[4093, 4099], Flip::new(&[1]).into()),
            ("u16 flipped", Reversed, 2, &[BYTES / 2 - 8], Flip::new(&[0]).into()),
            ("f32 matrix", Transposes, 4, &[4088, 4104], transposed(&[])),
            ("f32 matrix, powers of two", Transposes, 4, &[4096, 4096], transposed(&[])),
            ("f32, five axes", Transposes, 4, &[28, 28, 48, 28, 15], transposed(&[1, 3, 0, 4, 2])),
            ("f32, four axes", Transposes, 4, &[40, 97, 42, 97], transposed(&[2, 0, 3, 1])),
            ("f32, inverted", Transposes, 4, &[32, 15, 15, 15, 5, 30], transposed(&[])),
            ("f64 matrix", Transposes, 8, &[2900, 2888], transposed(&[])),
            ("u16 matrix", Transposes, 2, &[5800, 5784], transposed(&[])),
            (
                "u16 pictures to channels last",
                Transposes,
                2,
                &[8, 64, 56, 1160],
                transposed(&[0, 2, 3, 1]),
            ),
            ("u8 matrix, powers of two", Transposes, 1, &[8192, 8192], transposed(&[])),
        ];
        let case = |(name, shows, width, sizes, op): (_, _, _, &[usize], _)| {
            let sizes = sizes.iter().map(|size| (size / share).max(4.min(*size)));
            let work = movement(&op, width, &sizes.collect::<Vec<_>>())?;
            Ok(TuningCase { name, work, shows })
        };
        let cases = cases.into_iter().map(case).collect::<Result<Vec<TuningCase>>>()?;
        let cpu = Cpu::default();
        let bytes = cases.iter().map(|case| case.work.moved_bytes()).max().unwrap_or(0);
        // Where the system uses large pages for all buffers, both are the same.
        let small = Buffers::new(bytes, zeros)?;
        let large = Buffers::new(bytes, |bytes| cpu.buffer(bytes))?;
        Ok(Search { machine, cases, pages: [small, large] })
    }

    /// Returns the number of measurements: the cases of each comparison, the streaming threshold, and the trials.
    fn steps(&self) -> usize {
        let cases = |shows| self.cases.iter().filter(|case| case.shows == shows).count();
        let compared: usize = comparisons().iter().map(|each| cases(each.shows)).sum();
        compared + 1 + self.cases.len()
    }

    /// Returns the best record, starting from the built-in one.
    fn best(&mut self, built_in: Tuning, steps: &mut Steps<'_>) -> Result<Tuning> {
        let mut best = built_in;
        for comparison in comparisons() {
            let tried = (comparison.records)(&best, self.machine.l3_bytes);
            best = self.best_of(best, &tried, &comparison, steps)?;
        }
        steps.next("results that stay in the caches")?;
        best.streaming_bytes = self.streaming_bytes(best)?;
        Ok(best)
    }

    /// Returns the fastest record for the cases that measure it: `first` unless another is faster by [`LEAST_GAIN`], and
    /// not slower on small or large pages.
    fn best_of(
        &mut self,
        first: Tuning,
        others: &[Tuning],
        comparison: &Comparison,
        steps: &mut Steps<'_>,
    ) -> Result<Tuning> {
        let mut records = vec![first];
        records.extend(others.iter().filter(|other| **other != first));
        let machine = &self.machine;
        let mut gains = vec![Vec::new(); records.len()];
        for case in self.cases.iter().filter(|case| case.shows == comparison.shows) {
            steps.next(comparison.what)?;
            let plans: Vec<Plan> =
                records.iter().map(|record| planned(machine, *record, &case.work)).collect();
            let [small, large] = in_turn(&plans, ROUNDS, &mut self.pages)?;
            for (gains, (on_small, on_large)) in gains.iter_mut().zip(small.iter().zip(&large)) {
                gains.push([ratio(&small[0], on_small), ratio(&large[0], on_large)]);
            }
        }
        let mut best = (first, LEAST_GAIN);
        for (record, gains) in records.iter().zip(gains).skip(1) {
            let on_pages = mean_gains(&gains);
            let gain = geometric_mean(on_pages.into_iter());
            if gain > best.1 && least(&on_pages) >= 1.0 {
                best = (*record, gain);
            }
        }
        Ok(best.0)
    }

    /// Returns the least size of results that are streamed: between the largest tried size at which streaming is not
    /// faster, and the next one.
    fn streaming_bytes(&mut self, tuning: Tuning) -> Result<usize> {
        const SIDES: [usize; 4] = [1016, 1448, 2040, 2888];
        let bytes = self.pages[0].src.len();
        for side in SIDES.into_iter().rev().filter(|side| 4 * side * side <= bytes) {
            let work = movement(&Transpose::new(&[]).into(), 4, &[side, side])?;
            let with = |streaming_bytes| Tuning { streaming_bytes, ..tuning };
            let plans =
                [with(usize::MAX), with(0)].map(|tuning| planned(&self.machine, tuning, &work));
            let times = in_turn(&plans, 2 * LAST_ROUNDS, &mut self.pages)?;
            if least(&times.map(|times| ratio(&times[0], &times[1]))) < LEAST_GAIN {
                // The next size, twice as large, was faster with streaming, unless this is the largest one.
                let most = tuning.streaming_bytes.max(4 * side * side);
                return Ok((4 * side * side * 3 / 2).min(most));
            }
        }
        // Streaming was faster at all sizes.
        Ok(tuning.streaming_bytes.min(4 * SIDES[0] * SIDES[0] / 2))
    }

    fn trials(
        &mut self,
        before: Tuning,
        after: Tuning,
        steps: &mut Steps<'_>,
    ) -> Result<Vec<Trial>> {
        let mut trials = Vec::with_capacity(self.cases.len());
        for case in &self.cases {
            steps.next("before and after")?;
            let bytes = case.work.moved_bytes();
            let copy = movement(&Flip::new(&[]).into(), 1, &[bytes])?;
            let plans = [
                planned(&self.machine, before, &case.work),
                planned(&self.machine, after, &case.work),
                planned(&self.machine, after, &copy),
            ];
            let times = in_turn(&plans, LAST_ROUNDS, &mut self.pages)?;
            let speed = |plan: usize| {
                let seconds = times.each_ref().map(|times| median(times[plan].clone()));
                4.0 * bytes as f64 / (seconds[0] + seconds[1])
            };
            trials.push(Trial {
                name: case.name,
                before: speed(0),
                after: speed(1),
                copy: speed(2),
                shows: case.shows,
                gains: times.each_ref().map(|times| ratio(&times[0], &times[1])),
            });
        }
        Ok(trials)
    }
}

struct Comparison {
    what: &'static str,
    shows: Shows,
    /// Returns the records to compare with the best one so far, for a last-level cache of this size.
    records: fn(&Tuning, usize) -> Vec<Tuning>,
}

/// Returns the comparisons in order: whole records first, then single settings.
fn comparisons() -> Vec<Comparison> {
    let compare = |what, shows, records| Comparison { what, shows, records };
    vec![
        compare("transposes as other machines do them", Shows::Transposes, |best, l3_bytes| {
            // Only the settings for transposes of other machines.
            let all = built_in::all(l3_bytes).into_iter();
            all.map(|other| with_part(*best, Shows::Transposes, &other)).collect()
        }),
        compare("prefetch level of columns", Shows::Transposes, |best, _| {
            vec![Tuning { transpose_level: other(best.transpose_level), ..*best }]
        }),
        compare("columns packed before the transpose", Shows::Transposes, |best, _| {
            let with = |packed| Tuning { packed, ..*best };
            [Packed::Never, Packed::Narrow, Packed::All].map(with).to_vec()
        }),
        compare("tiles of a transpose", Shows::Transposes, |best, _| {
            let tiles = [(512, 256), (1 << 10, 256), (2 << 10, 512)];
            let with = |(tile_bytes, tile_rows)| Tuning { tile_bytes, tile_rows, ..*best };
            tiles.map(with).to_vec()
        }),
        compare("columns of a tile", Shows::Transposes, |best, _| {
            [256, 1024, 4096].map(|tile_columns| Tuning { tile_columns, ..*best }).to_vec()
        }),
        compare("how cache lines are written", Shows::Transposes, |best, _| {
            let lines = [LinesTogether::One, LinesTogether::Aligned, LinesTogether::Two];
            let with = |lines_together| Tuning { lines_together, ..*best };
            let column_bytes_ahead = (8 << 10) - best.column_bytes_ahead;
            let mut records = lines.map(with).to_vec();
            records.push(Tuning { column_bytes_ahead, ..*best });
            records
        }),
        compare("which rows are combined", Shows::Transposes, |best, _| {
            let with = |short_row_bytes| Tuning { short_row_bytes, ..*best };
            [63, 256, 512].map(with).to_vec()
        }),
        compare("which rows of 1 and 2 bytes are combined", Shows::Transposes, |best, _| {
            let with = |narrow_short_row_bytes| Tuning { narrow_short_row_bytes, ..*best };
            [63, 256, 512].map(with).to_vec()
        }),
        compare("copies and rolls", Shows::Runs, |best, _| {
            let mut records = Vec::new();
            for run_pages in [1, 4] {
                for run_level in [Level::L1, Level::L2] {
                    for run_ahead in [2 << 10, 4 << 10, 16 << 10] {
                        let rolled_level = run_level;
                        let record = Tuning { run_level, rolled_level, run_ahead, ..*best };
                        records.push(Tuning { run_pages, ..record });
                    }
                }
            }
            records
        }),
        compare("prefetch level of rolled rows", Shows::Runs, |best, _| {
            vec![Tuning { rolled_level: other(best.rolled_level), ..*best }]
        }),
        compare("rows read backwards", Shows::Reversed, |best, _| {
            let mut records = Vec::new();
            for reversed_level in [Level::L1, Level::L2] {
                for reversed_ahead in [2 << 10, 4 << 10, 8 << 10] {
                    records.push(Tuning { reversed_level, reversed_ahead, ..*best });
                }
            }
            records
        }),
    ]
}

fn other(level: Level) -> Level {
    match level {
        Level::L1 => Level::L2,
        Level::L2 => Level::L1,
    }
}

/// Makes the move of an operator on row-major tensors with elements of `width` bytes.
fn movement(op: &Op, width: usize, sizes: &[usize]) -> Result<Move> {
    let map: IndexMap = op.index_map(&Shape::new(sizes)?)?;
    let src = Layout::row_major(map.in_shape(), width)?;
    let dst = Layout::row_major(map.out_shape(), width)?;
    Move::new(&map, width, &src, &dst, 64)
}

fn planned(machine: &Machine, tuning: Tuning, work: &Move) -> Plan {
    Cpu::with_machine(Machine { tuning, ..machine.clone() }).plan(work)
}

/// Returns the seconds of each plan in each round, on small and on large pages. Each round starts with a different plan,
/// and with an untimed run, because the first run is slower.
fn in_turn(plans: &[Plan], rounds: usize, pages: &mut [Buffers; 2]) -> Result<[Vec<Vec<f64>>; 2]> {
    let cpu = Cpu::default();
    let mut times = [(); 2].map(|()| vec![Vec::with_capacity(rounds); plans.len()]);
    for round in 0..rounds {
        for (times, Buffers { src, dst }) in times.iter_mut().zip(&mut *pages) {
            let order = (0..plans.len()).map(|at| (at + round) % plans.len());
            let first = round % plans.len();
            cpu.run(&plans[first], src, dst)?;
            for at in order {
                let start = Instant::now();
                cpu.run(&plans[at], src, dst)?;
                times[at].push(start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(times)
}

/// Returns how many times faster `times` are than `others`, as the median over rounds.
fn ratio(others: &[f64], times: &[f64]) -> f64 {
    median(times.iter().zip(others).map(|(time, other)| other / time).collect())
}

/// Returns the geometric means on small and on large pages.
fn mean_gains(gains: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|pages| geometric_mean(gains.iter().map(|gains| gains[pages])))
}

fn least(values: &[f64; 2]) -> f64 {
    values[0].min(values[1])
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(1.0)
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.fold((0.0, 0.0), |(sum, count), value| (sum + f64::ln(value), count + 1.0));
    f64::exp(sum / f64::max(count, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_a_record_and_reports_each_comparison() {
        let mut reports = Vec::new();
        let tuned = tune_with(512, &mut |progress| {
            reports.push((progress.what, progress.done, progress.total));
            true
        });
        let tuned = tuned.unwrap();
        let counts = reports.iter().map(|(_, done, total)| (*done, *total));
        assert!(counts.eq((0..reports.len()).map(|done| (done, reports.len()))), "{reports:?}");
        assert_eq!(tuned.tuning.to_string().parse(), Ok(tuned.tuning));
        assert!(
            tuned.trials.iter().all(|trial| trial.before.min(trial.after).min(trial.copy) > 0.0)
        );
        let names: Vec<&str> = tuned.trials.iter().map(|trial| trial.name).collect();
        assert_eq!((names.len(), names[0]), (14, "rows rolled"));
    }

    #[test]
    fn a_search_stops_when_the_callback_returns_false() {
        let mut calls = 0;
        let stopped = tune_with(512, &mut |_| {
            calls += 1;
            calls < 3
        });
        assert_eq!(stopped.unwrap_err(), Error::Stopped);
        assert_eq!(calls, 3);
    }

    #[test]
    fn only_the_numbers_that_a_case_measures_are_replaced() {
        let (one, other) = (
            Tuning::of_cache(1 << 20),
            Tuning {
                streaming_bytes: 1,
                run_ahead: 64,
                reversed_ahead: 128,
                tile_rows: 16,
                ..Tuning::of_cache(1 << 20)
            },
        );
        let parts = [Shows::Runs, Shows::Reversed, Shows::Transposes];
        let parts = parts.map(|shows| with_part(one, shows, &other));
        assert_eq!(parts.map(|part| part.run_ahead), [64, 4096, 4096]);
        assert_eq!(parts.map(|part| part.reversed_ahead), [4096, 128, 4096]);
        assert_eq!(parts.map(|part| part.tile_rows), [256, 256, 16]);
        assert!(parts.iter().all(|part| part.streaming_bytes == one.streaming_bytes));
    }
}
