//! Times moves on one thread with each instruction set of this machine, alternately, and marks each case that a
//! wider set makes slower.
//!
//! Usage: `sets [words]`. Only cases whose `name width sizes` contains one of the words are timed.
#![allow(clippy::print_stdout, reason = "the times are for its user")]

use std::hint::black_box;
use std::time::Instant;

use trundle_core::ops::{Flip, Roll, Transpose};
use trundle_core::{Backend, Layout, Move, Op, Result, Shape};
use trundle_cpu::{Cpu, Machine, Simd};

/// A wider set is marked if it takes more than this many times as long.
const SLOWER: f64 = 1.05;

const ROUNDS: usize = 9;

/// Short moves are repeated for this long, so that the time to read the clock is negligible.
const TURN_SECONDS: f64 = 50e-6;

/// The sizes of single pictures.
const BYTES: [usize; 5] = [1 << 10, 16 << 10, 256 << 10, 4 << 20, 50 << 20];

/// The lengths of planes and rows in batches of this size.
const SHORT: [usize; 9] = [8, 9, 17, 32, 40, 100, 224, 500, 4000];
const BATCH_BYTES: usize = 256 << 10;

struct Case {
    name: &'static str,
    width: usize,
    sizes: Vec<usize>,
    op: Op,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name, width, sizes: &[usize], op| {
        cases.push(Case { name, width, sizes: sizes.to_vec(), op });
    };
    let transpose = |order: &[i64]| Op::from(Transpose::new(order));
    for width in [1, 2, 4, 8] {
        for channels in 2..=8 {
            let single = BYTES.map(|bytes| [1, bytes / channels / width]);
            let batches = SHORT.map(|plane| [BATCH_BYTES / channels / width / plane, plane]);
            for [batch, plane] in single.into_iter().chain(batches) {
                let to_planes = transpose(&[0, 2, 1]);
                add("pixels to planes", width, &[batch, plane, channels], to_planes.clone());
                add("planes to pixels", width, &[batch, channels, plane], to_planes);
            }
        }
    }
    for width in [1, 2, 3, 4, 6, 8, 12, 16] {
        for row in SHORT {
            let sizes = [BATCH_BYTES / width / row, row];
            add("roll", width, &sizes, Roll::new(&[3], &[1]).into());
            add("flip", width, &sizes, Flip::new(&[1]).into());
            add("transpose", width, &sizes, transpose(&[1, 0]));
        }
    }
    cases.retain(|case| !case.sizes.contains(&0));
    cases
}

impl Case {
    fn text(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        format!("{:16}  {} {}", self.name, self.width, sizes.join("x"))
    }
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let sets: Vec<Simd> = Simd::available().collect();
    let names: Vec<String> = sets.iter().map(|set| format!("{set:>10}")).collect();
    println!("{:35} {}   (us)", "", names.join(" "));
    let mut slower = 0;
    for case in cases() {
        let text = case.text();
        if words.is_empty() || words.iter().any(|word| text.contains(word)) {
            let (seconds, kernel) = time(&case, &sets)?;
            let is_slower = (1..seconds.len())
                .any(|wide| seconds[..wide].iter().any(|narrow| seconds[wide] > narrow * SLOWER));
            let times: Vec<String> =
                seconds.iter().map(|seconds| format!("{:10.2}", seconds * 1e6)).collect();
            let mark = if is_slower { "slower" } else { "" };
            println!("{text:35} {}   {kernel:20} {mark}", times.join(" "));
            slower += usize::from(is_slower);
        }
    }
    println!("{slower} cases are slower with a wider set");
    Ok(())
}

/// Returns the shortest time with each set, and the kernel of the widest.
fn time(case: &Case, sets: &[Simd]) -> Result<(Vec<f64>, &'static str)> {
    let shape = Shape::new(case.sizes.as_slice())?;
    let map = case.op.index_map(&shape)?;
    let layout = |shape| Layout::row_major(shape, case.width);
    let (from, to) = (layout(map.in_shape())?, layout(map.out_shape())?);
    let work = Move::new(&map, case.width, &from, &to, 64)?;
    let planned = |simd: &Simd| {
        let machine = Machine { simd: *simd, threads: 1, ..Machine::detect().clone() };
        let cpu = Cpu::with_machine(machine);
        let plan = cpu.plan(&work);
        (cpu, plan)
    };
    let plans: Vec<_> = sets.iter().map(planned).collect();
    let bytes = shape.bytes(case.width)?;
    let (src, mut dst) = (vec![7; bytes], vec![1; bytes]);
    let (mut least, mut repeats) = (vec![f64::INFINITY; sets.len()], 1);
    for round in 0..=ROUNDS {
        for ((cpu, plan), least) in plans.iter().zip(&mut least) {
            let start = Instant::now();
            for _ in 0..repeats {
                cpu.run(plan, black_box(&src), black_box(&mut dst))?;
            }
            *least = least.min(start.elapsed().as_secs_f64() / f64::from(repeats));
        }
        if round == 0 {
            let longest = least.iter().copied().fold(0.0, f64::max);
            repeats = (TURN_SECONDS / longest).ceil() as u32;
        }
    }
    let kernel = plans.last().and_then(|(_, plan)| plan.steps().first()).map(|step| step.kernel);
    Ok((least, kernel.map_or("", |kernel| kernel.name)))
}
