//! Random chains, beside the CPU.

use proptest::strategy::Strategy;
use proptest::test_runner::TestCaseError;
use trundle::lowering::Runner;
use trundle::{Chain, Plan, Shape, Width};
use trundle_testing::cases::any_widths;
use trundle_testing::shapings::{ShapingChain, shaping_chains};
use trundle_testing::{everything, holds, noise};

use crate::host::Host;

/// Buffers begin `shift` bytes behind a multiple of 16, the source and the destination.
fn is_as_on_the_cpu(
    host: Host,
    given: &ShapingChain,
    width: Width,
    shift: [usize; 2],
) -> Result<(), String> {
    let refused = |refusal: &dyn std::fmt::Display| format!("refused: {refusal}");
    let shape = Shape::new(&given.shape[..]).map_err(|error| refused(&error))?;
    let chain = given.ops.iter().cloned().fold(Chain::new(), Chain::then);
    let plan = Plan::row_major(&chain, width, &shape, Some(1)).map_err(|error| refused(&error))?;
    let src = noise(width.bytes(shape.elements() * width.units()));
    let before = noise(width.bytes(plan.out_shape().elements() * width.units()) + 5);
    let mut expected = before.clone();
    plan.run(&src, &mut expected).map_err(|error| refused(&error))?;

    let runner = Runner::chain(host, plan.moves()).map_err(|error| refused(&error))?;
    let (mut src, mut dst) = (Shifted::new(&src, shift[0]), Shifted::new(&before, shift[1]));
    runner.run(&[src.bytes()], &mut [dst.bytes()]).map_err(|error| refused(&error))?;
    match dst.bytes() == expected {
        true => Ok(()),
        false => Err(format!("{chain} of {shape}, {width}, is not as on the CPU\n{runner:?}")),
    }
}

/// Bytes that begin at a chosen distance behind a multiple of 16.
struct Shifted {
    around: Vec<u8>,
    begin: usize,
    len: usize,
}

impl Shifted {
    fn new(bytes: &[u8], shift: usize) -> Shifted {
        let mut around = vec![0; bytes.len() + 32];
        let begin = around.as_ptr().addr().next_multiple_of(16) - around.as_ptr().addr() + shift;
        around[begin..begin + bytes.len()].copy_from_slice(bytes);
        Shifted { around, begin, len: bytes.len() }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.around[self.begin..self.begin + self.len]
    }
}

/// Ten thousand where everything is tested.
#[test]
fn random_chains_are_as_on_the_cpu() {
    let Some(host) = Host::new() else { return };
    let cases = if everything() { 10_000 } else { 500 };
    let shift =
        || (0..4usize, 0..16usize).prop_map(|(turn, shift)| if turn == 0 { shift } else { 0 });
    let given = (shaping_chains(3000, 5), any_widths(), shift(), shift());
    holds(cases, &given, |(chain, width, src, dst)| {
        is_as_on_the_cpu(host, &chain, width, [src, dst]).map_err(TestCaseError::fail)
    });
}
