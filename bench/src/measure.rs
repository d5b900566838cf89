//! One case: prepared, verified, and timed in turn with a copy.

use std::time::{Duration, Instant};

use trundle_core::{Backend, IndexMap, Layout, Move, Result, Shape};
use trundle_cpu::Cpu;

use crate::cases::Case;
use crate::copy::Copy;
use crate::options::Options;

/// What one case took.
pub(crate) struct Measured {
    /// The number of bytes that are written (and as many are read).
    pub(crate) bytes: usize,
    /// The kernels of the plan.
    pub(crate) kernels: String,
    /// The best time of the movement.
    pub(crate) time: Duration,
    /// The best time of the copy.
    pub(crate) copy: Duration,
    /// The median over rounds of copy time by movement time, both of the same round.
    pub(crate) median_of_copy: f64,
}

impl Measured {
    /// The speed as a fraction of the copy's.
    pub(crate) fn of_copy(&self) -> f64 {
        self.median_of_copy
    }

    /// Bytes read and written, in 10^9 a second.
    pub(crate) fn gigabytes_per_second(&self) -> f64 {
        2.0 * self.bytes as f64 / self.time.as_secs_f64() / 1e9
    }
}

/// Prepares, verifies and times a case.
pub(crate) fn measure(case: &Case, options: &Options) -> Result<Measured> {
    let width = case.dtype.width();
    let shape = Shape::new(case.sizes)?;
    let mut maps = vec![IndexMap::identity(&shape)];
    for op in &case.ops {
        let last = maps.last().map_or(&shape, IndexMap::out_shape).clone();
        maps.push(op.index_map(&last)?);
    }
    let passes = IndexMap::fuse(maps.clone())?;
    assert_eq!(passes.len(), 1, "{} takes one pass", case.name);
    let map = &passes[0].map;
    let src_layout = Layout::row_major(map.in_shape(), width)?;
    let dst_layout = Layout::row_major(map.out_shape(), width)?;
    let work = Move::new(map, width, &src_layout, &dst_layout)?;
    let cpu = Cpu::new(Some(options.threads));
    let plan = cpu.plan(&work);
    let bytes = work.moved_bytes();
    let copy = Copy::of(&cpu, bytes, options.threads)?;
    let src = scattered_bytes(bytes);
    let mut dst = vec![0u8; bytes];

    cpu.run(&plan, &src, &mut dst)?;
    verify(case, &maps, &src, &dst, width);

    let mut best = [Duration::MAX; 2];
    let mut fractions = Vec::new();
    for _ in 0..options.rounds {
        let streamed = timed(|| copy.streamed(&cpu, &src, &mut dst))?;
        let move_time = timed(|| cpu.run(&plan, &src, &mut dst))?;
        let system = timed(|| {
            copy.system(&src, &mut dst);
            Ok(())
        })?;
        let copy_time = streamed.min(system);
        best = [best[0].min(move_time), best[1].min(copy_time)];
        fractions.push(copy_time.as_secs_f64() / move_time.as_secs_f64());
    }
    fractions.sort_by(f64::total_cmp);
    Ok(Measured {
        bytes,
        kernels: kernels(&plan),
        time: best[0],
        copy: best[1],
        median_of_copy: fractions[fractions.len() / 2],
    })
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// The names of a plan's kernels, each once.
fn kernels(plan: &trundle_cpu::Plan) -> String {
    let mut names: Vec<&str> = plan
        .steps()
        .iter()
        .flat_map(|step| {
            std::iter::once(step.kernel.name)
                .chain(step.ragged.iter().map(|ragged| ragged.second.name))
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

/// Bytes that a misplaced element would not match.
fn scattered_bytes(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut all = Vec::with_capacity(bytes.next_multiple_of(8));
    while all.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.extend_from_slice(&state.to_ne_bytes());
    }
    all.truncate(bytes);
    all
}

/// Compares elements with what the operators' maps say, one after another, not composed: every
/// element of the first and the last rows, and a scatter of the others.
///
/// # Panics
/// If an element is not where it belongs.
fn verify(case: &Case, maps: &[IndexMap], src: &[u8], dst: &[u8], width: usize) {
    const NEAR_ENDS: usize = 20_000;
    const SCATTER: usize = 997;
    let out_shape = maps.last().map(IndexMap::out_shape).cloned().unwrap_or_default();
    let elements = out_shape.elements();
    let ends = (0..elements.min(NEAR_ENDS)).chain(elements.saturating_sub(NEAR_ENDS)..elements);
    for number in ends.chain((0..elements).step_by(SCATTER)) {
        let mut index = out_shape.unravel(number);
        for map in maps.iter().rev() {
            index = map.source_of(&index);
        }
        let in_shape = maps[0].in_shape();
        let source = index.iter().zip(in_shape.iter()).fold(0, |at, (i, size)| at * size + i);
        assert_eq!(
            dst[number * width..][..width],
            src[source * width..][..width],
            "{}: element {number} of the output",
            case.name
        );
    }
}
