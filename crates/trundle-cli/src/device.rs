//! Moves on a GPU, where the program is built for one.

use trundle::Program;
use trundle_bench::Suite;

use crate::args::DeviceName;
use crate::failure::Failure;

/// A GPU that was asked for.
pub(crate) trait Device {
    /// How a program would be moved, as text: every pass, down to launches.
    ///
    /// # Errors
    /// If the device has no memory for what is filled in.
    fn planned(&self, program: &Program) -> Result<String, Failure>;

    /// Times cases in turn with a copy on the device, after each is held against what the CPU makes, and tells `say` of
    /// each.
    ///
    /// # Errors
    /// If a result is wrong, or the device has no memory.
    fn timed(
        &self,
        suites: &[Suite],
        rounds: usize,
        say: &mut dyn FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure>;
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

#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod gpu {
    use std::fmt::Write as _;
    use std::time::Instant;

    use trundle::lowering::{Backend, PlannedProgram};
    use trundle::{Plan, Program, Result as Moved, Shape, Width};
    use trundle_bench::{Case, Suite};

    use super::{Device, Failure};

    /// What backends for GPUs have beside that.
    trait Gpu: Backend<Buffer: Sized> + Clone {
        fn name(&self) -> &str;
        fn copy(&self, src: &Self::Buffer, dst: &mut Self::Buffer) -> Moved<()>;
        fn read(&self, buffer: &Self::Buffer) -> Moved<Vec<u8>>;
        fn wait(&self) -> Moved<()>;
    }

    macro_rules! gpu {
        ($gpu:ty, $buffer:ty) => {
            impl Gpu for $gpu {
                fn name(&self) -> &str {
                    <$gpu>::name(self)
                }

                fn copy(&self, src: &$buffer, dst: &mut $buffer) -> Moved<()> {
                    <$gpu>::copy(self, src, dst)
                }

                fn read(&self, buffer: &$buffer) -> Moved<Vec<u8>> {
                    <$gpu>::read(self, buffer)
                }

                fn wait(&self) -> Moved<()> {
                    <$gpu>::wait(self)
                }
            }
        };
    }

    #[cfg(feature = "wgpu")]
    gpu!(trundle_wgpu::Wgpu, trundle_wgpu::DeviceBuffer);
    #[cfg(feature = "cuda")]
    gpu!(trundle_cuda::Cuda, trundle_cuda::CudaBuffer);

    impl<G: Gpu> Device for G {
        fn planned(&self, program: &Program) -> Result<String, Failure> {
            let planned = PlannedProgram::new(self.clone(), program).map_err(Failure::running)?;
            let passes = planned.passes().len();
            let plural = if passes == 1 { "" } else { "es" };
            let mut text = format!("{passes} pass{plural} over memory");
            for (number, pass) in planned.passes().iter().enumerate() {
                for part in &pass.parts {
                    let plan = planned.plans_of(part).to_string().replace('\n', "\n  ");
                    let written = write!(text, "\npass {number}\n  {plan}");
                    written.map_err(Failure::running)?;
                }
            }
            Ok(text)
        }

        fn timed(
            &self,
            suites: &[Suite],
            rounds: usize,
            say: &mut dyn FnMut(&str) -> Result<(), Failure>,
        ) -> Result<(), Failure> {
            say(&format!("on {}, in turn with a copy there\n", self.name()))?;
            say("copy of  GB/s   of copy  case\n")?;
            for suite in suites {
                for case in &suite.cases {
                    let [copy, moved] = seconds_of(self, case, rounds)?;
                    let rate = |seconds: f64| 2e-9 * case.bytes() as f64 / seconds;
                    say(&format!(
                        "{:7.1}  {:5.1}  {:7.2}  {}/{} {} {}\n",
                        rate(copy),
                        rate(moved),
                        copy / moved,
                        suite.name,
                        case.name,
                        case.dtype,
                        case.shape()
                    ))?;
                }
            }
            Ok(())
        }
    }

    /// The least seconds of a copy and of the movement.
    fn seconds_of<G: Gpu>(gpu: &G, case: &Case, rounds: usize) -> Result<[f64; 2], Failure> {
        let (shape, width) = (Shape::new(&case.sizes[..])?, Width::from(case.dtype));
        let plan = Plan::row_major(&case.chain, width, &shape, None)?;
        let bytes: Vec<u8> = (0..case.bytes() as u64)
            .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8)
            .collect();
        let mut expected = vec![0; width.bytes(plan.out_shape().elements() * width.units())];
        plan.run(&bytes, &mut expected)?;
        let runner = trundle::lowering::Runner::chain(gpu.clone(), plan.moves())?;
        let src = gpu.buffer_of(&bytes)?;
        let mut dst = gpu.buffer(expected.len())?;
        let mut copied = gpu.buffer(bytes.len())?;
        runner.run(&[&src], &mut [&mut dst])?;
        if gpu.read(&dst)? != expected {
            return Err(Failure::running(format!("{} is not as on the CPU", case.name)));
        }
        let mut least = [f64::INFINITY; 2];
        for _ in 0..rounds {
            let copy = |copied: &mut G::Buffer| gpu.copy(&src, copied);
            least[0] = least[0].min(seconds(|| copy(&mut copied).and_then(|()| gpu.wait()))?);
            let moved = || runner.run(&[&src], &mut [&mut dst]).and_then(|()| gpu.wait());
            least[1] = least[1].min(seconds(moved)?);
        }
        Ok(least)
    }

    fn seconds(work: impl FnOnce() -> trundle::Result<()>) -> Result<f64, Failure> {
        let begin = Instant::now();
        work()?;
        Ok(begin.elapsed().as_secs_f64())
    }
}
