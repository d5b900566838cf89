//! Implements [`Backend`](trundle_core::Backend) for NVIDIA GPUs, by CUDA. Moves run on the caller's streams and
//! memory, or on buffers of this crate. The crate trundle-gpu plans the moves.
//!
//! The driver is loaded when a device is opened. The CUDA toolkit is not needed, because the repository contains the
//! PTX of kernels for any move (`kernels/*.h`), which `kernels/build.py` generates. If NVRTC is installed, kernels for
//! one plan are compiled at run time ([`Specialise`]); they have not run on a GPU yet. Unless a GPU is required, tests use an
//! emulated driver (`emulated/`), which runs the same sources on the CPU, the threads of a block one after another, and
//! checks every memory access.
//!
//! On an NVIDIA H200, all results of the kernels for any move are right, but their speed is below the goals
//! (docs/gpu.md).
//!
//! ```no_run
//! use trundle_core::ops::Roll;
//! use trundle_core::{Backend, Layout, Move, Op, Shape};
//! use trundle_cuda::Cuda;
//!
//! let gpu = Cuda::new(0)?;
//! let shape = Shape::new([4096, 4096])?;
//! let layout = Layout::row_major(&shape, 4)?;
//! let roll = Move::new(&Op::from(Roll::new(&[1], &[0])).index_map(&shape)?, 4, &layout, &layout, 64)?;
//! let plan = gpu.plan(&roll);
//! println!("{plan}");
//! let src = gpu.buffer_of(&vec![0; roll.src_bytes()])?;
//! let mut dst = gpu.buffer(roll.dst_bytes())?;
//! gpu.run(&plan, &src, &mut dst)?;
//! let rolled: Vec<u8> = gpu.read(&dst)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If a move runs on the caller's stream and memory, nothing is copied or allocated, and the call does not wait:
//!
//! ```no_run
//! # use trundle_core::{Backend, Move, Result};
//! # use trundle_cuda::{Cuda, CudaPlan, DeviceBytes};
//! # fn moved(gpu: &Cuda, plan: &CudaPlan, stream: *mut std::ffi::c_void, [src, dst]: [DeviceBytes; 2]) -> Result<()> {
//! // SAFETY: the stream belongs to this device and still exists. Both ranges are valid until the stream has finished
//! // the move, and they do not overlap.
//! let (gpu, src, mut dst) = unsafe {
//!     let gpu = gpu.on(stream);
//!     let [src, dst] = [src, dst].map(|memory| gpu.borrowed(memory));
//!     (gpu, src, dst)
//! };
//! gpu.run(plan, &src, &mut dst)
//! # }
//! ```
#![allow(unsafe_code)]

mod backend;
mod buffer;
mod context;
mod device;
mod device_bytes;
mod divisor;
mod failure;
mod kernel;
mod launch;
mod no_device;
mod numbers;
mod parameters;
mod plan;
mod prepared;
mod ptx;
mod rows;
mod specialised;
mod staging;
mod stream;
#[cfg(test)]
mod tests;
mod tile_shape;

pub use buffer::CudaBuffer;
pub use device::Cuda;
pub use device_bytes::DeviceBytes;
pub use no_device::NoDevice;
pub use plan::CudaPlan;
pub use specialised::{Specialise, search_nvrtc_in, take_warning};
