//! Buffers above the maximum window of many devices.

use trundle::{Chain, Plan, Shape};
use trundle_core::Backend;
use trundle_testing::noise;

use super::device;

/// A common maximum in bytes.
const BOUND: usize = 128 << 20;

/// Runs a chain on a tensor above the limit and compares it with the CPU.
fn check_against_cpu(chain: &str, sizes: &[usize], width: usize, launches: usize) {
    let Some(device) = device() else { return };
    let device = device.with_windows(BOUND);
    let (chain, shape): (Chain, _) = (chain.parse().unwrap(), Shape::new(sizes).unwrap());
    let plan = Plan::row_major(&chain, width, &shape, None).unwrap();
    let [work] = plan.moves() else { panic!("{chain} is one move") };
    let some = noise(1 << 20);
    let mut src: Vec<u8> = some.iter().copied().cycle().take(work.src_bytes()).collect();
    // Makes all parts of the source different.
    src.chunks_mut(some.len()).zip(0..).for_each(|(part, number)| part[number as usize] ^= number);
    assert!(src.len() > BOUND);
    let mut expected = vec![0; work.dst_bytes()];
    plan.run(&src, &mut expected).unwrap();

    let planned = device.plan(work);
    assert!(planned.launches().unwrap().len() >= launches, "{planned}");
    let buffer = device.buffer_of(&src).unwrap();
    let mut dst = device.buffer(work.dst_bytes()).unwrap();
    device.run(&planned, &buffer, &mut dst).unwrap();
    assert!(device.read(&dst).unwrap() == expected, "{planned}");
}

#[test]
fn a_transpose_is_moved_between_windows() {
    check_against_cpu("transpose(1, 0)", &[6001, 5900], 4, 4);
}

#[test]
fn a_roll_is_moved_between_windows() {
    check_against_cpu("roll(shift=[70, -3], axes=[0, 1])", &[12_001, 12_001], 1, 2);
}

#[test]
fn one_run_is_moved_between_windows() {
    check_against_cpu("flip(axes=[0])", &[2, 70_000_000], 1, 2);
}

#[test]
fn rows_at_indices_are_read_from_several_windows() {
    let indices: Vec<String> = (0..40u64).map(|row| (row * 7919 % 36_000).to_string()).collect();
    let chain = format!("take(indices=[{}], axis=0)", indices.join(", "));
    check_against_cpu(&chain, &[36_000, 4000], 1, 2);
}
