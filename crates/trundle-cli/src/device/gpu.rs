//! The interface of all GPU backends.

use serde_json::Value;
use trundle::lowering::Backend;
use trundle::{Program, Result as Moved};
use trundle_bench::{DeviceRecord, Record, Suite, run_on};
use trundle_files::failure::Failure;
use trundle_gpu::{GpuMove, LaunchSummary};

use super::planned::{planned, report, text};
use super::{Device, case};
use crate::say::{Label, say_as};

/// Functions of GPU backends that [`Backend`] does not have.
pub(super) trait Gpu: Backend<Buffer: Sized> + Clone {
    fn record(&self) -> DeviceRecord;
    fn copy(&self, src: &Self::Buffer, dst: &mut Self::Buffer) -> Moved<()>;
    fn read(&self, buffer: &Self::Buffer) -> Moved<Vec<u8>>;
    fn wait(&self) -> Moved<()>;
    fn gpu_move(plan: &Self::Plan) -> &GpuMove;
    fn launches(plan: &Self::Plan) -> Moved<Vec<LaunchSummary>>;
    /// Describes the kernels that are compiled for a plan. Empty if the backend has only kernels for any move.
    fn specialised(plan: &Self::Plan) -> Vec<String>;
    /// The reason why kernels could not be compiled, once.
    fn take_warning() -> Option<String>;
}

/// Implements [`Gpu`] by inherent methods with the same names.
macro_rules! gpu {
    ($gpu:ty, $by:literal, $specialised:expr, $take_warning:expr) => {
        impl Gpu for $gpu {
            fn record(&self) -> DeviceRecord {
                let (by, name) = ($by.to_owned(), self.name().to_owned());
                DeviceRecord { by, name, emulated: self.is_emulated() }
            }

            fn copy(&self, src: &Self::Buffer, dst: &mut Self::Buffer) -> Moved<()> {
                <$gpu>::copy(self, src, dst)
            }

            fn read(&self, buffer: &Self::Buffer) -> Moved<Vec<u8>> {
                <$gpu>::read(self, buffer)
            }

            fn wait(&self) -> Moved<()> {
                <$gpu>::wait(self)
            }

            fn gpu_move(plan: &Self::Plan) -> &GpuMove {
                plan.gpu_move()
            }

            fn launches(plan: &Self::Plan) -> Moved<Vec<LaunchSummary>> {
                plan.launches()
            }

            fn specialised(plan: &Self::Plan) -> Vec<String> {
                $specialised(plan)
            }

            fn take_warning() -> Option<String> {
                $take_warning()
            }
        }
    };
}

#[cfg(feature = "wgpu")]
gpu!(trundle_wgpu::Wgpu, "wgpu", |_| Vec::new(), || None);
#[cfg(feature = "cuda")]
gpu!(trundle_cuda::Cuda, "cuda", trundle_cuda::CudaPlan::specialised, trundle_cuda::take_warning);

impl<G: Gpu> Device for G {
    fn planned(&self, program: &Program) -> Result<String, Failure> {
        text(&planned(self, program)?)
    }

    fn report(&self, program: &Program) -> Result<Value, Failure> {
        report(&planned(self, program)?)
    }

    fn timed(
        &self,
        suites: &[Suite],
        rounds: usize,
        done: &mut dyn FnMut(),
    ) -> Result<Record, Failure> {
        run_on(self.record(), suites, rounds, &mut |case| {
            let record = case::timed(self, case, rounds)?;
            if let Some(warning) = G::take_warning() {
                say_as(Label::Warning, &warning);
            }
            done();
            Ok(record)
        })
    }
}
