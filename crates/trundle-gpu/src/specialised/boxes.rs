//! The pattern for short runs that lie in another order in the source.

use trundle_core::greatest_common_divisor;

use super::SpecialisedKernel;
use super::body::{Body, Memory};
use super::digits::Digits;
use super::nest::Nest;
use super::word::Word;

const THREADS: usize = 256;

/// The number of runs of a box that follow each other in the destination, and in the source.
const RUNS: usize = 8;

/// Runs of this many bytes and more are a stream. On an H200, both patterns are equally fast for runs of 256 bytes.
const LONG: usize = 128;

/// A block of threads moves a box of runs, without shared memory. The box has several neighbours in the source and in
/// the destination, so that the block uses whole lines of memory on both sides.
pub(super) fn boxes(nest: &Nest) -> Option<SpecialisedKernel> {
    let unit = unit(nest);
    let last = nest.loops().len().checked_sub(1)?;
    let stride = |at: usize| nest.loops()[at].affine_stride().map(isize::unsigned_abs);
    let loops = (0..=last).filter(|at| stride(*at).is_some());
    let second = loops.min_by_key(|at| stride(*at))?;
    if unit < 8 || !(32..LONG).contains(&nest.width) || second == last {
        return None;
    }
    let lens = nest.loops().iter().map(|each| each.len);
    let extents: Vec<usize> = lens
        .clone()
        .enumerate()
        .map(|(at, len)| if at == last || at == second { len.min(RUNS) } else { 1 })
        .collect();
    let counts: Vec<usize> =
        lens.zip(&extents).map(|(len, extent)| len.div_ceil(*extent)).collect();
    let mut body = Body::default();
    let origin = nest.box_steps(&mut body, &counts, &extents, false);
    let sizes = [nest.width / unit, extents[last], extents[second]];
    let digits = Digits::of(&mut body, &sizes, THREADS);
    let turns = digits.turns();
    let mut read = Vec::new();
    for turn in 0..turns {
        let turn = Word::from(turn as u32);
        let own = digits.at(&mut body, &turn);
        let mut steps = origin.clone();
        let mut is_within = digits.is_number(&turn, turns);
        for (at, digit) in [(last, &own[1]), (second, &own[2])] {
            let step = body.word("i", steps[at].clone() + digit.clone());
            let len = Word::from(nest.loops()[at].len as u32);
            if !nest.loops()[at].len.is_multiple_of(extents[at]) || !digits.is_full(turns) {
                is_within = is_within.and(step.clone().less(len.clone()));
            }
            // Elsewhere, reads another element.
            steps[at] =
                if is_within.is_always() { step } else { body.word("i", step.min(len - 1)) };
        }
        let from = nest.src_at(&mut body, &steps, None) + own[0].clone() * unit as u32;
        let to = nest.dst_at(&steps) + own[0].clone() * unit as u32;
        let to = body.word("to", to);
        let words = body.load("v", Memory::Source, unit as u32, from);
        read.push((is_within, to, words));
    }
    for (is_within, to, words) in read {
        body.when(is_within, |body| body.store(Memory::Destination, unit as u32, to, words));
    }
    Some(SpecialisedKernel {
        name: format!("boxes of {} x {} runs by {unit} bytes", extents[last], extents[second]),
        blocks: u32::try_from(counts.iter().product::<usize>()).ok()?,
        threads: THREADS as u32,
        shared_bytes: 0,
        reads_lengths: nest.reads_lengths(),
        body: body.finish(),
    })
}

/// The alignment of all positions on both sides and of the size of a run, at most 16.
fn unit(nest: &Nest) -> usize {
    let unit = greatest_common_divisor(nest.element_unit(), nest.width);
    let begin = nest.src_begin.unsigned_abs();
    let loops = (0..nest.loops().len()).map(|at| nest.src_unit_of(at, true));
    loops.fold(greatest_common_divisor(unit, begin), greatest_common_divisor)
}
