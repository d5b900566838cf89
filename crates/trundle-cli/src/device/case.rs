//! Measures a benchmark case on a device.

use trundle::lowering::Runner;
use trundle::{Plan, Shape, Width};
use trundle_bench::{Case, CaseRecord, in_turn};
use trundle_files::failure::Failure;

use super::gpu::Gpu;
use crate::foreign::of_bench;

/// Verifies a case against the CPU's result, and times it alternately with a copy on the device.
///
/// # Errors
/// If the result is wrong, or the device does not have enough memory.
pub(super) fn timed<G: Gpu>(gpu: &G, case: &Case, rounds: usize) -> Result<CaseRecord, Failure> {
    let named = |failure: Failure| failure.within(&case.name);
    let (shape, width) = (Shape::new(&case.sizes[..])?, Width::from(case.dtype));
    let plan = Plan::row_major(&case.chain, width, &shape, None)?;
    let runner = Runner::chain(gpu.clone(), plan.moves())?;
    let kernels = kernels(&runner).map_err(named)?;
    let bytes: Vec<u8> = (0..case.bytes() as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8)
        .collect();
    let mut expected = vec![0; width.bytes(plan.out_shape().elements() * width.units())];
    plan.run(&bytes, &mut expected)?;
    let src = gpu.buffer_of(&bytes)?;
    // At most two tensors are in host memory at once.
    drop(bytes);
    let mut dst = gpu.buffer(expected.len())?;
    let mut copied = gpu.buffer(case.bytes())?;
    runner.run(&[&src], &mut [&mut dst])?;
    if gpu.read(&dst)? != expected {
        return Err(named(Failure::running("the result differs from the CPU's")));
    }
    drop(expected);
    let record = in_turn(
        case,
        rounds,
        kernels,
        &mut |times| {
            (0..times).try_for_each(|_| runner.run(&[&src], &mut [&mut dst]))?;
            gpu.wait()
        },
        &mut |times| {
            (0..times).try_for_each(|_| gpu.copy(&src, &mut copied))?;
            gpu.wait()
        },
    );
    record.map_err(of_bench)
}

fn kernels<G: Gpu>(runner: &Runner<G>) -> Result<String, Failure> {
    let mut names = Vec::new();
    for plan in runner.steps().iter().filter_map(|step| step.work.one()) {
        names.extend(G::launches(plan)?.into_iter().map(|launch| launch.kernel));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names.join(" "))
}
