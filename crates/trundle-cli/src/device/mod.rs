//! Moves elements on a GPU, if the program is built with support for one.

#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod case;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod gpu;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod planned;

use serde_json::Value;
use trundle::Program;
use trundle_bench::{Record, Suite};
use trundle_files::failure::Failure;

use crate::args::DeviceName;

pub(crate) trait Device {
    /// Describes in words every pass of a program, with its launches.
    ///
    /// # Errors
    /// If the device does not have enough memory for fill values or kernel tables.
    fn planned(&self, program: &Program) -> Result<String, Failure>;

    /// Describes the same as a JSON value.
    ///
    /// # Errors
    /// As [`Device::planned`].
    fn report(&self, program: &Program) -> Result<Value, Failure>;

    /// Verifies each case against the CPU's result, and times it alternately with a copy on the device. Calls `done`
    /// after each case.
    ///
    /// # Errors
    /// If a result is wrong, or the device does not have enough memory.
    fn timed(
        &self,
        suites: &[Suite],
        rounds: usize,
        done: &mut dyn FnMut(),
    ) -> Result<Record, Failure>;
}

/// Opens the requested device. Returns `None` for the CPU.
///
/// # Errors
/// If there is no such GPU, or this program is built without support for it. The message lists where it searched.
pub(crate) fn open(name: DeviceName) -> Result<Option<Box<dyn Device>>, Failure> {
    match name {
        DeviceName::Cpu => Ok(None),
        DeviceName::Wgpu => wgpu().map(Some),
        DeviceName::Cuda => cuda().map(Some),
    }
}

/// Opens the best GPU of the system. `TRUNDLE_GPU=emulated` also allows one that the CPU emulates.
#[cfg(feature = "wgpu")]
fn wgpu() -> Result<Box<dyn Device>, Failure> {
    use trundle_wgpu::{Choice, Wgpu};

    let emulated = std::env::var_os("TRUNDLE_GPU").is_some_and(|gpu| gpu == "emulated");
    let choice = if emulated { Choice::GpuOrEmulated } else { Choice::Gpu };
    match Wgpu::open(choice) {
        Ok(gpu) => Ok(Box::new(gpu)),
        Err(refusal) if refusal.found.is_empty() => Err(Failure::running(&refusal)),
        Err(refusal) => {
            Err(Failure::running(&refusal).with_hint("TRUNDLE_GPU=emulated allows an emulated one"))
        }
    }
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Result<Box<dyn Device>, Failure> {
    Err(not_built("wgpu"))
}

/// Opens the first GPU. Compiles kernels when a move is planned, so that `bench` measures the kernels that `plan` lists,
/// unless `TRUNDLE_SPECIALISE` requests another time.
#[cfg(feature = "cuda")]
fn cuda() -> Result<Box<dyn Device>, Failure> {
    use trundle_cuda::{Cuda, Specialise};

    let gpu = Cuda::new(0).map_err(Failure::running)?;
    match std::env::var_os("TRUNDLE_SPECIALISE") {
        None => Ok(Box::new(gpu.specialise(Specialise::Now))),
        Some(_) => Ok(Box::new(gpu)),
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Box<dyn Device>, Failure> {
    Err(not_built("cuda"))
}

#[cfg(not(all(feature = "wgpu", feature = "cuda")))]
fn not_built(feature: &str) -> Failure {
    Failure::running(format!(
        "--device {feature} needs a program that is built with it; \
         build it with `cargo install --path crates/trundle-cli --features {feature}`"
    ))
}
