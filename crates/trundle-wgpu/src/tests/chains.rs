//! Random chains, beside the CPU.

use proptest::strategy::Strategy;
use proptest::test_runner::TestCaseError;
use trundle::lowering::Runner;
use trundle::{Chain, Plan, Shape, Width};
use trundle_core::{Backend, BitOrder, Packing};
use trundle_testing::cases::widths;
use trundle_testing::shapings::{ShapingChain, shaping_chains};
use trundle_testing::{everything, holds, noise};

use super::device;
use crate::Wgpu;

/// The width of elements: bytes, or packed.
fn any_width() -> impl Strategy<Value = Width> {
    let packings: Vec<Packing> = (1..8)
        .flat_map(|bits| BitOrder::ALL.map(|order| Packing::new(bits, order)))
        .flatten()
        .collect();
    (widths(), 0..5 * packings.len()).prop_map(move |(bytes, packing)| {
        packings.get(packing).map_or(Width::Bytes(bytes), |packing| Width::SubByte(*packing))
    })
}

fn is_as_on_the_cpu(device: &Wgpu, given: &ShapingChain, width: Width) -> Result<(), String> {
    let refused = |refusal: &dyn std::fmt::Display| format!("refused: {refusal}");
    let shape = Shape::new(&given.shape[..]).map_err(|error| refused(&error))?;
    let chain = given.ops.iter().cloned().fold(Chain::new(), Chain::then);
    let plan = Plan::row_major(&chain, width, &shape, Some(1)).map_err(|error| refused(&error))?;
    let src = noise(width.bytes(shape.elements() * width.units()));
    let before = noise(width.bytes(plan.out_shape().elements() * width.units()) + 5);
    let mut expected = before.clone();
    plan.run(&src, &mut expected).map_err(|error| refused(&error))?;

    let runner = Runner::chain(device.clone(), plan.moves()).map_err(|error| refused(&error))?;
    let held = |bytes: &[u8]| device.buffer_of(bytes).map_err(|error| refused(&error));
    let (src, mut dst) = (held(&src)?, held(&before)?);
    runner.run(&[&src], &mut [&mut dst]).map_err(|error| refused(&error))?;
    match device.read(&dst).map_err(|error| refused(&error))? == expected {
        true => Ok(()),
        false => Err(format!("{chain} of {shape}, {width}, is not as on the CPU\n{runner:?}")),
    }
}

/// Ten thousand where everything is tested.
#[test]
fn random_chains_are_as_on_the_cpu() {
    let Some(device) = device() else { return };
    let cases = if everything() { 10_000 } else { 500 };
    let small = device.clone().with_windows(1);
    holds(cases, &(shaping_chains(3000, 5), any_width(), 0..4u8), |(chain, width, turn)| {
        let device = if turn == 0 { &small } else { &device };
        is_as_on_the_cpu(device, &chain, width).map_err(TestCaseError::fail)
    });
}
