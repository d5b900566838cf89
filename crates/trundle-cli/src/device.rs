//! Moves on a GPU, where the program is built for one.

use crate::args::DeviceName;
use crate::failure::Failure;

/// A GPU that was asked for.
pub(crate) struct Device {
    #[cfg(feature = "wgpu")]
    pub(crate) gpu: trundle_wgpu::Wgpu,
    #[cfg(not(feature = "wgpu"))]
    never: std::convert::Infallible,
}

#[cfg(not(feature = "wgpu"))]
impl Device {
    /// Opens what was asked for; the CPU is none.
    ///
    /// # Errors
    /// If it is a GPU, for which this program is not built.
    pub(crate) fn open(name: DeviceName) -> Result<Option<Device>, Failure> {
        match name {
            DeviceName::Cpu => Ok(None),
            DeviceName::Wgpu => Err(Failure::running(
                "--device wgpu needs a program that is built for GPUs: looked for none; \
                 build it with `cargo install --path crates/trundle-cli --features wgpu`",
            )),
        }
    }

    /// How a program would be moved, as text.
    ///
    /// # Errors
    /// None: there is no such device.
    pub(crate) fn planned(&self, _: &trundle::Program) -> Result<String, Failure> {
        match self.never {}
    }

    /// Times cases on it, as text.
    ///
    /// # Errors
    /// None: there is no such device.
    pub(crate) fn timed(
        &self,
        _: &[trundle_bench::Suite],
        _: usize,
        _: &mut dyn FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.never {}
    }
}

#[cfg(feature = "wgpu")]
mod gpu {
    use std::fmt::Write as _;
    use std::time::Instant;

    use trundle::lowering::{Backend, PlannedProgram};
    use trundle::{Plan, Program, Shape, Width};
    use trundle_bench::{Case, Suite};
    use trundle_wgpu::{Choice, DeviceBuffer, Wgpu};

    use super::{Device, DeviceName, Failure};

    impl Device {
        /// Opens what was asked for; the CPU is none. `TRUNDLE_GPU=emulated` allows a GPU that the CPU emulates.
        ///
        /// # Errors
        /// If there is none, with what was looked for.
        pub(crate) fn open(name: DeviceName) -> Result<Option<Device>, Failure> {
            if name == DeviceName::Cpu {
                return Ok(None);
            }
            let emulated = std::env::var_os("TRUNDLE_GPU").is_some_and(|gpu| gpu == "emulated");
            let choice = if emulated { Choice::GpuOrEmulated } else { Choice::Gpu };
            let opened = Wgpu::open(choice).map_err(|refusal| {
                let failure = Failure::running(&refusal);
                match refusal.found.is_empty() {
                    true => failure,
                    false => failure.with_hint("TRUNDLE_GPU=emulated allows one that is emulated"),
                }
            });
            opened.map(|gpu| Some(Device { gpu }))
        }

        /// How a program would be moved, as text: every pass, down to launches.
        ///
        /// # Errors
        /// If the device has no memory for what is filled in.
        pub(crate) fn planned(&self, program: &Program) -> Result<String, Failure> {
            let planned =
                PlannedProgram::new(self.gpu.clone(), program).map_err(Failure::running)?;
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

        /// Times cases in turn with a copy on the device, after each is held against what the CPU makes, and tells `say` of
        /// each.
        ///
        /// # Errors
        /// If a result is wrong, or the device has no memory.
        pub(crate) fn timed(
            &self,
            suites: &[Suite],
            rounds: usize,
            say: &mut dyn FnMut(&str) -> Result<(), Failure>,
        ) -> Result<(), Failure> {
            say(&format!("on {}, in turn with a copy there\n", self.gpu.name()))?;
            say("copy of  GB/s   of copy  case\n")?;
            for suite in suites {
                for case in &suite.cases {
                    let [copy, moved] = self.seconds(case, rounds)?;
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

        /// The least seconds of a copy and of the movement.
        fn seconds(&self, case: &Case, rounds: usize) -> Result<[f64; 2], Failure> {
            let gpu = &self.gpu;
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
                let copy = |copied: &mut DeviceBuffer| gpu.copy(&src, copied);
                least[0] = least[0].min(seconds(|| copy(&mut copied).and_then(|()| gpu.wait()))?);
                let moved = || runner.run(&[&src], &mut [&mut dst]).and_then(|()| gpu.wait());
                least[1] = least[1].min(seconds(moved)?);
            }
            Ok(least)
        }
    }

    fn seconds(work: impl FnOnce() -> trundle::Result<()>) -> Result<f64, Failure> {
        let begin = Instant::now();
        work()?;
        Ok(begin.elapsed().as_secs_f64())
    }
}
