//! Prepares a case, verifies it, and times it alternately with a copy.

use std::hint::black_box;
use std::time::{Duration, Instant};

use trundle::internal::prefer_large_pages;
use trundle::{Chain, Plan, PlanError, Result, Shape, TensorView, TensorViewMut};

use crate::case::{Against, Case, TimedCall};
use crate::copy::Copy;
use crate::error::Error;
use crate::record::{CaseRecord, rounded, rounded_time};

/// Shorter moves are repeated, so that reading the clock is negligible.
const LEAST_TIME: Duration = Duration::from_millis(1);

/// Two tensors that all cases share, so that the system has mapped their pages.
#[derive(Debug)]
pub(crate) struct Buffers {
    src: Vec<u8>,
    dst: Vec<u8>,
}

impl Buffers {
    /// Allocates two buffers of `bytes` bytes. They begin where large allocations do (on Linux, 16 bytes after the
    /// start of a cache line), like most arrays of users. Large pages are requested before anything is written.
    pub(crate) fn new(bytes: usize, large_pages: bool) -> Result<Buffers, Error> {
        let buffer = || -> Result<Vec<u8>, Error> {
            let mut buffer = Vec::new();
            buffer.try_reserve_exact(bytes).map_err(|_| Error::Memory { bytes })?;
            if large_pages {
                prefer_large_pages(buffer.spare_capacity_mut());
            }
            Ok(buffer)
        };
        let (mut src, mut dst) = (buffer()?, buffer()?);
        scatter(&mut src, bytes);
        dst.resize(bytes, 1);
        Ok(Buffers { src, dst })
    }
}

/// Fills `buffer` up to `bytes` bytes with values that reveal misplaced elements.
fn scatter(buffer: &mut Vec<u8>, bytes: usize) {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    while buffer.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let rest = (bytes - buffer.len()).min(8);
        buffer.extend_from_slice(&state.to_ne_bytes()[..rest]);
    }
}

struct Subject<'a> {
    case: &'a Case,
    shape: Shape,
    plan: Plan,
}

impl<'a> Subject<'a> {
    fn of(case: &'a Case, chain: &Chain, threads: usize) -> Result<Subject<'a>, PlanError> {
        let shape = Shape::new(case.sizes.as_slice())?;
        let plan = Plan::row_major(chain, case.dtype, &shape, Some(threads))?;
        Ok(Subject { case, shape, plan })
    }

    fn run(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        match self.case.call {
            TimedCall::New(call) => {
                let moved = call(&TensorView::row_major(src, self.case.dtype, &self.shape)?)?;
                dst.copy_from_slice(moved.view().bytes());
                Ok(())
            }
            _ => self.time(1, src, dst).map(drop),
        }
    }

    fn time(&self, times: usize, src: &[u8], dst: &mut [u8]) -> Result<Duration> {
        let dtype = self.case.dtype;
        match self.case.call {
            TimedCall::Planned => {
                timed(times, || self.plan.run(black_box(src), black_box(&mut *dst)))
            }
            TimedCall::Into(call) => {
                let data = TensorView::row_major(src, dtype, &self.shape)?;
                let mut out = TensorViewMut::row_major(dst, dtype, self.plan.out_shape())?;
                timed(times, || call(black_box(&data), black_box(&mut out)))
            }
            TimedCall::New(call) => {
                let data = TensorView::row_major(src, dtype, &self.shape)?;
                timed(times, || call(black_box(&data)).map(|moved| drop(black_box(moved))))
            }
        }
    }
}

pub(crate) fn timed(times: usize, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..times {
        work()?;
    }
    Ok(start.elapsed())
}

/// Returns how many repetitions take long enough to be measured.
pub(crate) fn repetitions(mut time: impl FnMut(usize) -> Result<Duration>) -> Result<usize> {
    let mut times = 1;
    loop {
        let took = time(times)?;
        if took >= LEAST_TIME {
            return Ok(times);
        }
        let missing = LEAST_TIME.as_secs_f64() / took.as_secs_f64().max(1e-9);
        times = times.saturating_mul((missing * 1.2).ceil().clamp(2.0, 1000.0) as usize);
    }
}

pub(crate) fn measure(
    case: &Case,
    buffers: &mut Buffers,
    threads: usize,
    rounds: usize,
) -> Result<CaseRecord, Error> {
    let plan_error = |source| Error::Plan { case: case.name.clone(), source: Box::new(source) };
    let run_error = |source| Error::Run { case: case.name.clone(), source };
    let subject = Subject::of(case, &case.chain, threads).map_err(plan_error)?;
    let rival = match &case.against {
        Against::Copy => None,
        Against::Chain(chain) => Some(Subject::of(case, chain, threads).map_err(plan_error)?),
    };
    let bytes = case.bytes();
    let mut copy = Copy::of(bytes, threads).map_err(plan_error)?;
    let (src, dst) = (&buffers.src[..bytes], &mut buffers.dst[..bytes]);
    copy.choose(src, dst).map_err(run_error)?;

    // The previous case's result might be correct for this case too.
    dst.fill(0);
    subject.run(src, dst).map_err(run_error)?;
    verify(case, &subject.shape, src, dst)?;

    let times = time_in_turn(&subject, rival.as_ref(), &copy, src, dst, rounds);
    let times = times.map_err(run_error)?;
    let [movement, ours, system, single] = &times;
    Ok(CaseRecord {
        of_single: rival.map(|_| fraction(movement, single)),
        most_ns: case.most_ns,
        ..CaseRecord::of(case, movement, &[ours, system], kernels(&subject.plan))
    })
}

impl CaseRecord {
    /// Creates the record of a movement, compared with the faster copy, from the times in each round.
    pub(crate) fn of(
        case: &Case,
        movement: &[f64],
        copies: &[&[f64]],
        kernels: String,
    ) -> CaseRecord {
        let fractions = copies.iter().map(|copy| fraction(movement, copy));
        let copy_seconds = copies.iter().map(|copy| median(copy.to_vec()));
        CaseRecord {
            name: case.name.clone(),
            dtype: case.dtype.to_string(),
            sizes: case.sizes.clone(),
            chain: format!("{:#}", *case.chain),
            bytes: case.bytes(),
            of_copy: fractions.fold(f64::INFINITY, f64::min),
            of_single: None,
            seconds: rounded_time(median(movement.to_vec())),
            copy_seconds: rounded_time(copy_seconds.fold(f64::INFINITY, f64::min)),
            most_ns: None,
            kernels,
            rivals: Vec::new(),
        }
    }
}

/// Returns the seconds of each round for the movement, the library's fastest copy, the system's copy, and the reference
/// movement, if any.
fn time_in_turn(
    subject: &Subject<'_>,
    rival: Option<&Subject<'_>>,
    copy: &Copy,
    src: &[u8],
    dst: &mut [u8],
    rounds: usize,
) -> Result<[Vec<f64>; 4]> {
    let repeats = repetitions(|times| subject.time(times, src, dst))?;
    let copies = repetitions(|times| timed(times, || copy.ours(src, dst)))?;
    let mut all: [Vec<f64>; 4] = Default::default();
    for _ in 0..rounds {
        let ours = timed(copies, || copy.ours(black_box(src), black_box(&mut *dst)))?;
        let movement = subject.time(repeats, src, dst)?;
        let system = timed(copies, || {
            copy.system(black_box(src), black_box(&mut *dst));
            Ok(())
        })?;
        all[0].push(movement.as_secs_f64() / repeats as f64);
        all[1].push(ours.as_secs_f64() / copies as f64);
        all[2].push(system.as_secs_f64() / copies as f64);
        if let Some(rival) = rival {
            all[3].push(rival.time(repeats, src, dst)?.as_secs_f64() / repeats as f64);
        }
    }
    Ok(all)
}

/// Returns the median over the rounds of the time in `others`, divided by the time in `times`.
pub(crate) fn fraction(times: &[f64], others: &[f64]) -> f64 {
    rounded(median(times.iter().zip(others).map(|(time, other)| other / time).collect()))
}

/// Returns the median; 0 if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn kernels(plan: &Plan) -> String {
    let steps = plan.cpu_plans().flat_map(trundle::lowering::CpuPlan::steps);
    let mut names: Vec<&str> = steps
        .flat_map(|step| {
            let second = step.ragged.iter().map(|ragged| ragged.second.name);
            std::iter::once(step.kernel.name).chain(second)
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

/// Compares elements of the output with the operators, applied one after another: all elements near both ends, and a
/// sample of the others.
fn verify(case: &Case, shape: &Shape, src: &[u8], dst: &[u8]) -> Result<(), Error> {
    const NEAR_ENDS: usize = 20_000;
    const SCATTER: usize = 997;
    let program = case.chain.program(shape, case.dtype);
    let program = program
        .map_err(|error| Error::Plan { case: case.name.clone(), source: Box::new(error.into()) })?;
    let out = program.outputs()[0];
    let (elements, width) = (program.tensor(out).shape.elements(), case.dtype.width());
    let is_moved = |from: usize, to: usize| match case.dtype.packing() {
        None => dst[to * width..][..width] == src[from * width..][..width],
        Some(packing) => packing.get(dst, to) == packing.get(src, from),
    };
    let ends = (0..elements.min(NEAR_ENDS)).chain(elements.saturating_sub(NEAR_ENDS)..elements);
    for element in ends.chain((0..elements).step_by(SCATTER)) {
        if !is_moved(program.origin(out, element).1, element) {
            return Err(Error::Wrong { case: case.name.clone(), element });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trundle::DType;
    use trundle::ops::{Flip, Transpose};

    use super::*;

    fn case(call: TimedCall) -> Case {
        Case { call, ..Case::new("case", DType::U16, &[30, 50], [Transpose::new(&[1, 0]).into()]) }
    }

    fn measured(case: &Case) -> Result<CaseRecord, Error> {
        measure(case, &mut Buffers::new(case.bytes(), false)?, 1, 3)
    }

    #[test]
    fn a_case_is_timed_with_a_copy_and_with_other_operators() {
        let record = measured(&case(TimedCall::Planned).against([Flip::new(&[1]).into()])).unwrap();
        assert_eq!((record.bytes, record.chain.as_str()), (3000, "transpose(1, 0)"));
        // Other programs may change the fractions of such a short call.
        assert!(record.copy_seconds > 0.0 && record.of_single.is_some());
        assert!(record.seconds > 0.0 && record.seconds < 1e-3, "the time of one run");
        assert!(record.kernels.contains("transposed"));
        assert_eq!(measured(&case(TimedCall::Planned)).unwrap().of_single, None);
    }

    #[test]
    fn a_wrong_result_is_not_timed() {
        let right = [
            case(TimedCall::Into(|data, out| trundle::transpose_into(data, &[], out))),
            case(TimedCall::New(|data| trundle::transpose(data, &[]))),
        ];
        right.iter().for_each(|case| drop(measured(case).unwrap()));
        let nothing = case(TimedCall::Into(|_, _| Ok(())));
        assert!(matches!(measured(&nothing), Err(Error::Wrong { element: 0, .. })));
        let in_place = case(TimedCall::New(trundle::contiguous));
        assert!(matches!(measured(&in_place), Err(Error::Wrong { element: 1, .. })));
    }

    #[test]
    fn short_calls_are_repeated_and_long_ones_are_not() {
        let each =
            |nanoseconds| move |times: usize| Ok(Duration::from_nanos(nanoseconds) * times as u32);
        let times = repetitions(each(100)).unwrap();
        assert!((10_000..30_000).contains(&times), "{times}");
        assert_eq!(repetitions(each(5_000_000)).unwrap(), 1);
    }

    #[test]
    fn a_fraction_is_the_median_of_the_rounds() {
        assert_eq!(fraction(&[2.0, 1.0, 4.0], &[1.0, 1.0, 1.0]), 0.5);
        assert_eq!(fraction(&[1.0, 3.0, 9.0], &[1.0, 1.0, 1.0]), 0.333);
    }
}
