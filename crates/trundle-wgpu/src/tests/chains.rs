//! Compares random chains with the CPU backend.

use proptest::test_runner::TestCaseError;
use trundle::lowering::Runner;
use trundle::{Chain, DType, Plan, ProgramPlan, Shape, Width};
use trundle_core::Backend;
use trundle_testing::cases::any_widths;
use trundle_testing::shapings::{ShapingChain, shaping_chains};
use trundle_testing::{everything, holds, noise};

use super::device;
use crate::{DeviceBuffer, Wgpu};

fn check_against_cpu(device: &Wgpu, given: &ShapingChain, width: Width) -> Result<(), String> {
    let refused = |refusal: &dyn std::fmt::Display| format!("refused: {refusal}");
    let shape = Shape::new(&given.shape[..]).map_err(|error| refused(&error))?;
    let chain = given.ops.iter().cloned().fold(Chain::new(), Chain::then);
    let plan = Plan::row_major(&chain, width, &shape, Some(1)).map_err(|error| refused(&error))?;
    let src = noise(width.bytes(shape.elements() * width.units()));
    let before = noise(width.bytes(plan.out_shape().elements() * width.units()) + 5);
    let mut expected = before.clone();
    plan.run(&src, &mut expected).map_err(|error| refused(&error))?;

    let runner = Runner::chain(device.clone(), plan.moves()).map_err(|error| refused(&error))?;
    let buffer = |bytes: &[u8]| device.buffer_of(bytes).map_err(|error| refused(&error));
    let (src, mut dst) = (buffer(&src)?, buffer(&before)?);
    runner.run(&[&src], &mut [&mut dst]).map_err(|error| refused(&error))?;
    match device.read(&dst).map_err(|error| refused(&error))? == expected {
        true => Ok(()),
        false => Err(format!("{chain} of {shape}, {width}, is not as on the CPU\n{runner:?}")),
    }
}

/// Several tensors and a constant become one output, with the budget of a GPU.
#[test]
fn programs_of_several_tensors_match_the_cpu() {
    let Some(device) = device() else { return };
    let chains = [
        "concat(_, b, axis=0) | transpose(1, 0)",
        "pad(2, value=7) | roll(shift=[1, -3], axes=[0, 1])",
        "stack(_, b, axis=1) | flip(axes=[0, 1]) | a b c -> c (a b)",
    ];
    let shape = Shape::new([33, 47]).unwrap();
    for text in chains {
        let chain: Chain = text.parse().unwrap();
        let inputs = vec![shape.clone(); chain.inputs().len()];
        let program = chain.program(&inputs, DType::F32).unwrap();
        let bytes: Vec<Vec<u8>> =
            (0..inputs.len()).map(|at| noise(4 * shape.elements() + at).split_off(at)).collect();
        let on_cpu = ProgramPlan::row_major(&program, None).unwrap();
        let inputs: Vec<&[u8]> = bytes.iter().map(|bytes| &bytes[..]).collect();
        let expected = on_cpu.run_new(&inputs, |_| ()).unwrap();
        let on_gpu = ProgramPlan::on(device.clone(), &program, &device.budget()).unwrap();
        let buffers: Vec<_> = bytes.iter().map(|bytes| device.buffer_of(bytes).unwrap()).collect();
        let inputs: Vec<&DeviceBuffer> = buffers.iter().map(|buffer| &**buffer).collect();
        let made = on_gpu.run_new(&inputs, |_| ()).unwrap();
        assert_eq!(device.read(&made[0]).unwrap(), *expected[0], "{text}");
    }
}

#[test]
fn random_chains_match_the_cpu() {
    let Some(device) = device() else { return };
    let cases = if everything() { 10_000 } else { 500 };
    let small = device.clone().with_windows(1);
    holds(cases, &(shaping_chains(3000, 5), any_widths(), 0..4u8), |(chain, width, turn)| {
        let device = if turn == 0 { &small } else { &device };
        check_against_cpu(device, &chain, width).map_err(TestCaseError::fail)
    });
}
