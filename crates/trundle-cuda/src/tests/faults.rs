//! Faults of a device, which the emulated device detects and the next wait reports.

use trundle_core::{Backend, Error, Result};

use super::devices::{FAILING, OnStream, emulated};
use super::moves::{part, roll};
use crate::{Cuda, CudaBuffer, DeviceBytes};

fn check_failed<T: std::fmt::Debug>(outcome: Result<T>) {
    let message = "an illegal memory access was encountered".to_owned();
    assert_eq!(outcome.unwrap_err(), Error::DeviceFailed { message });
}

fn lengthened(gpu: &Cuda, buffer: &CudaBuffer) -> CudaBuffer {
    // SAFETY: none; the emulated device must detect the violation.
    unsafe { gpu.borrowed(DeviceBytes { bytes: 8000, ..buffer.device_bytes() }) }
}

/// One test, because the next wait on the device reports a fault.
#[test]
fn accesses_to_missing_memory_are_detected() {
    let Some(gpu) = emulated(FAILING) else { return };
    let plan = gpu.plan(&roll());
    let [short, mut whole] = [gpu.buffer(7984), gpu.buffer(8000)].map(Result::unwrap);

    let mut long = lengthened(&gpu, &short);
    gpu.run(&plan, &long, &mut whole).unwrap();
    check_failed(gpu.wait());
    gpu.run(&plan, &whole, &mut long).unwrap();
    check_failed(gpu.read(&whole));
    gpu.wait().unwrap();

    let dropped = gpu.buffer(8000).unwrap();
    let stale = part(&gpu, &dropped, 0, 8000);
    gpu.run(&plan, &stale, &mut whole).unwrap();
    drop(dropped);
    gpu.wait().unwrap();
    gpu.run(&plan, &stale, &mut whole).unwrap();
    check_failed(gpu.wait());

    // Memory that is not yet allocated in the order of its stream.
    let other = OnStream::new(&gpu);
    let early = other.gpu.buffer(8000).unwrap();
    let here = part(&gpu, &early, 0, 8000);
    gpu.run(&plan, &here, &mut whole).unwrap();
    check_failed(gpu.wait());
    other.gpu.wait().unwrap();
    gpu.run(&plan, &here, &mut whole).unwrap();
    gpu.wait().unwrap();
}
