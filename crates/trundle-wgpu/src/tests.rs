//! Tests on any device, including emulated ones. Without a device, they are skipped with a note, or fail with
//! `TRUNDLE_GPU=required`.

mod chains;
mod conformance;
mod examples;
mod large;
mod plan;
mod refusals;
mod translations;

use std::borrow::Cow;
use std::sync::OnceLock;

use trundle_testing::{Flush, TestBuffer};

use crate::{Choice, DeviceBuffer, NoDevice, Wgpu};
use trundle_core::Backend;

fn device() -> Option<Wgpu> {
    static DEVICE: OnceLock<Result<Wgpu, NoDevice>> = OnceLock::new();
    match DEVICE.get_or_init(|| Wgpu::open(Choice::GpuOrEmulated)) {
        Ok(device) => Some(device.clone()),
        Err(refusal) => {
            let required = std::env::var_os("TRUNDLE_GPU").is_some_and(|gpu| gpu == "required");
            assert!(!required, "{refusal}");
            println!("skipped: {refusal}");
            None
        }
    }
}

impl TestBuffer<Wgpu> for DeviceBuffer {
    type Owner = Box<DeviceBuffer>;

    fn holding(device: &Wgpu, bytes: &[u8], _: Flush, _: &dyn Fn() -> String) -> Box<DeviceBuffer> {
        device.buffer_of(bytes).expect("the device has memory for a test")
    }

    fn bytes(&self, device: &Wgpu) -> Cow<'_, [u8]> {
        Cow::Owned(device.read(self).expect("the device works"))
    }
}
