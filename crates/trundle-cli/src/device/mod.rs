//! Moves on a GPU, where the program is built for one.

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

/// A GPU that was asked for.
pub(crate) trait Device {
    /// How a program would be moved, as text: every pass, down to launches.
    ///
    /// # Errors
    /// If the device has no memory for what is filled in, or for what its kernels read beside the source.
    fn planned(&self, program: &Program) -> Result<String, Failure>;

    /// The same for programs.
    ///
    /// # Errors
    /// As [`Device::planned`].
    fn report(&self, program: &Program) -> Result<Value, Failure>;

    /// Times cases in turn with a copy on the device, after each is held against what the CPU makes. `done` is told of
    /// each.
    ///
    /// # Errors
    /// If a result is wrong, or the device has no memory.
    fn timed(
        &self,
        suites: &[Suite],
        rounds: usize,
        done: &mut dyn FnMut(),
    ) -> Result<Record, Failure>;
}

/// Opens what was asked for; the CPU is none.
///
/// # Errors
/// If it is a GPU and there is none, with what was looked for, or this program is not built for it.
pub(crate) fn open(name: DeviceName) -> Result<Option<Box<dyn Device>>, Failure> {
    match name {
        DeviceName::Cpu => Ok(None),
        DeviceName::Wgpu => wgpu().map(Some),
        DeviceName::Cuda => cuda().map(Some),
    }
}

/// The best GPU of the system. `TRUNDLE_GPU=emulated` allows one that the CPU emulates.
#[cfg(feature = "wgpu")]
fn wgpu() -> Result<Box<dyn Device>, Failure> {
    use trundle_wgpu::{Choice, Wgpu};

    let emulated = std::env::var_os("TRUNDLE_GPU").is_some_and(|gpu| gpu == "emulated");
    let choice = if emulated { Choice::GpuOrEmulated } else { Choice::Gpu };
    match Wgpu::open(choice) {
        Ok(gpu) => Ok(Box::new(gpu)),
        Err(refusal) if refusal.found.is_empty() => Err(Failure::running(&refusal)),
        Err(refusal) => Err(Failure::running(&refusal)
            .with_hint("TRUNDLE_GPU=emulated allows one that is emulated")),
    }
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Result<Box<dyn Device>, Failure> {
    Err(not_built("wgpu"))
}

/// NVIDIA's first GPU.
#[cfg(feature = "cuda")]
fn cuda() -> Result<Box<dyn Device>, Failure> {
    let gpu = trundle_cuda::Cuda::new(0).map_err(Failure::running)?;
    Ok(Box::new(gpu))
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Box<dyn Device>, Failure> {
    Err(not_built("cuda"))
}

/// That the program has no such devices.
#[cfg(not(all(feature = "wgpu", feature = "cuda")))]
fn not_built(feature: &str) -> Failure {
    Failure::running(format!(
        "--device {feature} needs a program that is built for it: looked for none; \
         build it with `cargo install --path crates/trundle-cli --features {feature}`"
    ))
}
