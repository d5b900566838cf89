//! Compares plans that write rows and the fill around them with two separate moves.

use std::collections::BTreeSet;

use trundle_core::program::{Made, Read};
use trundle_core::{
    Backend, DTypeError, Error, Layout, LayoutError, Move, PassPlan, Program, Shape,
};
use trundle_cpu::{CATALOGUE, Cpu, Machine, Simd};
use trundle_testing::choices::Choices;
use trundle_testing::{Flush, Guarded, everything, noise};

use crate::common::{check_all_reached, streaming};

/// The two moves of a padded tensor: its rows and the fill.
struct Padded {
    rows: Move,
    around: Move,
}

impl Padded {
    /// Each source row of elements of `width` bytes is followed by a gap of `gap` bytes.
    fn of(sizes: &[usize], widths: &[[usize; 2]], width: usize, gap: usize) -> Padded {
        let shape = Shape::new(sizes).unwrap();
        let mut program = Program::new();
        let given = program.given(shape.clone(), width).unwrap();
        let fill = program.fill(width, &vec![0; width]).unwrap();
        let padded = program.padded(given, widths, fill).unwrap();
        program.output(padded).unwrap();
        let passes = program.passes(&mut Cpu::default().budget());
        let [pass] = &passes[..] else { panic!("one pass pads") };
        let of = |is_fill: bool| {
            let is_it =
                |read: &&Read| matches!(program.tensor(read.from).made, Made::Fill(_)) == is_fill;
            let read = pass.reads.iter().find(is_it).unwrap();
            let regions = read.regions.as_ref().unwrap();
            let src = match is_fill {
                true => Layout::row_major(regions.shape(), width).unwrap(),
                false => with_gaps(&shape, width, gap),
            };
            Move::of_regions(regions, width, &src).unwrap()
        };
        Padded { rows: of(false), around: of(true) }
    }

    /// Computes both moves, one element at a time.
    fn expected(&self, src: &[u8], fill: &[u8]) -> Vec<u8> {
        let mut dst = vec![0; self.rows.dst_bytes().max(self.around.dst_bytes())];
        for (work, src) in [(&self.rows, src), (&self.around, fill)] {
            work.for_each_pair(|from, to| {
                dst[to..][..work.width()].copy_from_slice(&src[from..][..work.width()]);
            });
        }
        dst
    }

    fn plan<T: Copy + 'static>(&self, cpu: &Cpu) -> Option<Box<dyn PassPlan<[T]>>> {
        cpu.plan_slices(&[&self.rows, &self.around])
    }
}

fn with_gaps(shape: &Shape, width: usize, gap: usize) -> Layout {
    let mut strides = Vec::new();
    let mut stride = width;
    for size in shape.sizes().iter().rev() {
        strides.insert(0, stride.cast_signed());
        stride = stride * size + if strides.len() == 1 { gap } else { 0 };
    }
    Layout::strided(shape, 0, &strides).unwrap()
}

/// Always uses streaming stores.
fn streaming_cpu(simd: Simd, threads: usize) -> Cpu {
    Cpu::with_machine(Machine { simd, threads, tuning: streaming(0), ..Machine::detect().clone() })
}

#[test]
fn filled_rows_match_two_moves() {
    let (mut planned, mut reached) = (0, BTreeSet::new());
    for seed in 0..if everything() { 1500 } else { 500 } {
        let mut choices = Choices::of(seed);
        let width = [1, 2, 3, 4, 5, 8, 12, 16][choices.below(8)];
        let run = 64 + choices.below(if seed % 8 == 0 { 5000 } else { 400 });
        let mut sizes: Vec<usize> = (0..choices.below(3)).map(|_| 1 + choices.below(4)).collect();
        sizes.extend([8 + choices.below(80), run.div_ceil(width)]);
        let mut widths = || [choices.below(4) * choices.below(2), choices.below(4)];
        let widths: Vec<[usize; 2]> = sizes.iter().map(|_| widths()).collect();
        if widths.iter().all(|both| *both == [0, 0]) {
            continue;
        }
        let gap = width * choices.below(3) * choices.below(2);
        let padded = Padded::of(&sizes, &widths, width, gap);
        let (src, fill) = (noise(padded.rows.src_bytes()), noise(64));
        let fill = &fill[..width];
        let expected = padded.expected(&src, fill);
        for simd in Simd::available() {
            for threads in [1, 3] {
                // The fill is the first or the second source.
                let parts = if seed % 2 == 0 {
                    [&padded.around, &padded.rows]
                } else {
                    [&padded.rows, &padded.around]
                };
                let cpu = streaming_cpu(simd, threads);
                let Some(plan) = cpu.plan_pass(&parts) else { continue };
                planned += 1;
                let text = plan.to_string();
                let name = CATALOGUE.iter().map(|kernel| kernel.name);
                reached.extend(name.filter(|name| text.contains(name)));
                for flush in [Flush::Start, Flush::End] {
                    let named = |name: &str| format!("{name} of {sizes:?} {widths:?} {width}");
                    let src = Guarded::holding(&src, flush, named("the source"));
                    let sources = if seed % 2 == 0 { [fill, &src] } else { [&src, fill] };
                    let before = vec![0xa5; expected.len()];
                    let mut dst = Guarded::holding(&before, flush, named("the destination"));
                    plan.run_while(&sources, &mut dst, &|| true).unwrap();
                    assert!(*dst == expected[..], "{sizes:?} {widths:?} of {width} bytes: {plan}");
                }
            }
        }
    }
    let most = if everything() { 1000 } else { 300 };
    assert!(planned > most * Simd::available().count(), "{planned}");
    check_all_reached("filled-", &reached);
}

#[test]
fn moves_that_gain_nothing_are_not_fused() {
    let cpu = streaming_cpu(Simd::detect(), 1);
    let plan = |sizes: &[usize], widths: &[[usize; 2]]| {
        Padded::of(sizes, widths, 4, 0).plan::<u8>(&cpu).is_some()
    };
    assert!(plan(&[100, 100], &[[1, 1], [1, 1]]));
    // Single elements, rows above the limit, and more fill than rows.
    assert!(!plan(&[1000, 3], &[[0, 0], [1, 1]]));
    assert!(!plan(&[100, 20_000], &[[0, 0], [1, 1]]));
    assert!(!plan(&[100, 100], &[[100, 1], [1, 1]]));
    let padded = Padded::of(&[100, 100], &[[1, 1], [1, 1]], 4, 0);
    assert!(padded.plan::<u8>(&Cpu::with_machine(Machine::detect().clone())).is_none());
}

#[test]
fn buffers_that_are_too_short_are_refused() {
    let padded = Padded::of(&[50, 30], &[[0, 0], [1, 1]], 4, 0);
    let cpu = streaming_cpu(Simd::detect(), 1);
    let plan = padded.plan(&cpu).unwrap();
    let run =
        |src: &[u32], fill: &[u32], dst: &mut [u32]| plan.run_while(&[src, fill], dst, &|| true);
    let (src, fill) = ([7u32; 1500], [9u32]);
    let mut dst = [1u32; 1600];
    run(&src, &fill, &mut dst).unwrap();
    assert_eq!(dst[..33], [[9].as_slice(), &[7; 30], &[9], &[9]].concat());
    let mut dst = [1u32; 1600];
    let refused = [
        run(&src[1..], &fill, &mut dst),
        run(&src, &[], &mut dst),
        run(&src, &fill, &mut dst[1..]),
    ];
    assert!(
        refused
            .iter()
            .all(|result| matches!(result, Err(Error::Layout(LayoutError::OutOfBounds { .. }))))
    );
    let wide = padded.plan::<u64>(&cpu).unwrap();
    let mismatch = wide.run_while(&[&[7; 750], &[9]], &mut [1; 800], &|| true);
    assert!(
        matches!(mismatch, Err(Error::DType(DTypeError::WidthMismatch { .. }))),
        "{mismatch:?}"
    );
    assert_eq!(dst, [1; 1600]);
}
