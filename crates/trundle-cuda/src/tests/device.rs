//! Tests on a device. Without any they do nothing, and say so, but where `TRUNDLE_CUDA=required` says that there is one.

use std::borrow::Cow;
use std::sync::OnceLock;

use trundle_core::ops::Roll;
use trundle_core::{Backend, Error, Layout, Move, Op, Shape};
use trundle_testing::{Flush, TestBuffer, everything, noise, sub_byte, suite};

use crate::{Cuda, CudaBuffer, DeviceBytes, NoDevice};

/// The device of the tests, which all share.
fn device() -> Option<Cuda> {
    static DEVICE: OnceLock<Result<Cuda, NoDevice>> = OnceLock::new();
    match DEVICE.get_or_init(|| Cuda::new(0)) {
        Ok(device) => Some(device.clone()),
        Err(refusal) => {
            let required = std::env::var_os("TRUNDLE_CUDA").is_some_and(|cuda| cuda == "required");
            assert!(!required, "{refusal}");
            println!("skipped: {refusal}");
            None
        }
    }
}

impl TestBuffer<Cuda> for CudaBuffer {
    type Held = Box<CudaBuffer>;

    fn holding(device: &Cuda, bytes: &[u8], _: Flush, _: &dyn Fn() -> String) -> Box<CudaBuffer> {
        device.buffer_of(bytes).expect("the device has memory for a test")
    }

    fn bytes(&self, device: &Cuda) -> Cow<'_, [u8]> {
        Cow::Owned(device.read(self).expect("the device works"))
    }
}

#[test]
fn moves_are_what_the_oracle_says() {
    let Some(device) = device() else { return };
    suite::share_of_conformance(&device, 0, if everything() { 1 } else { 16 });
    sub_byte::conformance(&device);
}

#[test]
fn buffers_that_are_too_short_are_refused_before_a_launch() {
    let Some(device) = device() else { return };
    let plan = device.plan(&roll());
    let src = device.buffer_of(&[7; 7999]).unwrap();
    let mut dst = device.buffer(8000).unwrap();
    let refusal = device.run(&plan, &src, &mut dst);
    let (argument, buffer) = ("data", 7999);
    assert_eq!(refusal, Err(Error::OutOfBounds { argument, first: 0, end: 8000, buffer }));
    assert_eq!(device.read(&dst).unwrap(), vec![0; 8000]);
}

#[test]
fn the_callers_pointers_are_moved_between_wherever_they_begin() {
    let Some(device) = device() else { return };
    let work = roll();
    let plan = device.plan(&work);
    let some = noise(8016);
    let src = device.buffer_of(&some).unwrap();
    for shift in 0..16 {
        let mut expected = vec![0; 8000];
        work.for_each_pair(|from, to| {
            expected[to..to + work.width()]
                .copy_from_slice(&some[shift + from..shift + from + work.width()]);
        });
        let dst = device.buffer(8016).unwrap();
        // SAFETY: both are within their buffers, which live until what is read has been done.
        let [from, mut to] = [&*src, &*dst].map(|buffer| unsafe {
            let address = buffer.device_bytes().address + shift as u64;
            device.borrowed(DeviceBytes { address, bytes: 8000 })
        });
        device.run(&plan, &from, &mut to).unwrap();
        let made = device.read(&dst).unwrap();
        assert_eq!(made[shift..shift + 8000], expected);
        assert!(made[..shift].iter().chain(&made[shift + 8000..]).all(|byte| *byte == 0));
    }
}

fn roll() -> Move {
    let shape = Shape::new([40, 50]).unwrap();
    let layout = Layout::row_major(&shape, 4).unwrap();
    let map = Op::from(Roll::new(&[3, -7], &[0, 1])).index_map(&shape).unwrap();
    Move::new(&map, 4, &layout, &layout, 64).unwrap()
}
