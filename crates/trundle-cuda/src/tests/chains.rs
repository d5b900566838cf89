//! Compares random chains with the CPU backend.

use proptest::strategy::Strategy;
use proptest::test_runner::TestCaseError;
use trundle::lowering::{Backend, Runner};
use trundle::{Chain, Plan, Shape, Width};
use trundle_testing::cases::any_widths;
use trundle_testing::shapings::{ShapingChain, shaping_chains};
use trundle_testing::{everything, holds, noise};

use super::devices::{FIRST, device};
use super::moves::part;
use crate::Cuda;

/// Source and destination begin `shift` bytes after a multiple of 16.
pub(super) fn check_against_cpu(
    gpu: &Cuda,
    given: &ShapingChain,
    width: Width,
    shift: [usize; 2],
) -> Result<(), String> {
    let refused = |refusal: &dyn std::fmt::Display| format!("refused: {refusal}");
    let shape = Shape::new(&given.shape[..]).map_err(|error| refused(&error))?;
    let chain = given.ops.iter().cloned().fold(Chain::new(), Chain::then);
    let plan = Plan::row_major(&chain, width, &shape, Some(1)).map_err(|error| refused(&error))?;
    let src = noise(width.bytes(shape.elements() * width.units()));
    let before = noise(shift[1] + width.bytes(plan.out_shape().elements() * width.units()) + 5);
    let mut expected = before.clone();
    plan.run(&src, &mut expected[shift[1]..]).map_err(|error| refused(&error))?;

    let runner = Runner::chain(gpu.clone(), plan.moves()).map_err(|error| refused(&error))?;
    let buffer_of = |bytes: &[u8]| gpu.buffer_of(bytes).map_err(|error| refused(&error));
    let around = buffer_of(&[&vec![0; shift[0]], &src[..]].concat())?;
    let dst = buffer_of(&before)?;
    let from = part(gpu, &around, shift[0], src.len());
    let mut to = part(gpu, &dst, shift[1], before.len() - shift[1]);
    runner.run(&[&from], &mut [&mut to]).map_err(|error| refused(&error))?;
    match gpu.read(&dst).map_err(|error| refused(&error))? == expected {
        true => Ok(()),
        false => Err(format!("{chain} of {shape}, {width}, is not as on the CPU\n{runner:?}")),
    }
}

#[test]
fn random_chains_match_the_cpu() {
    let Some(gpu) = device(FIRST) else { return };
    let cases = if everything() { 10_000 } else { 500 };
    let shift =
        || (0..4usize, 0..16usize).prop_map(|(turn, shift)| if turn == 0 { shift } else { 0 });
    let given = (shaping_chains(3000, 5), any_widths(), shift(), shift());
    holds(cases, &given, |(chain, width, src, dst)| {
        check_against_cpu(&gpu, &chain, width, [src, dst]).map_err(TestCaseError::fail)
    });
}
