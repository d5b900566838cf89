//! Moves on NVIDIA's GPUs, by CUDA, as a [`Backend`](trundle_core::Backend): on the caller's streams and between the caller's
//! pointers, or buffers of its own. How a move is done is decided by the crate trundle-gpu.
//!
//! The driver is loaded when a device is opened, and nothing else of CUDA is needed: the kernels, `kernels/*.h`, are
//! compiled to PTX that is checked in, which `kernels/build.py` makes. The tests run on an emulated driver, `emulated/`, which
//! has the same text compiled for the host, where a block's threads are a loop and every access to memory is checked.
//!
//! **No part of it has been run on a device yet**: what the tests say of the kernels they say of their text.
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
//! Between memory that is there, on a stream that is there, nothing is copied, allocated or waited for:
//!
//! ```no_run
//! # use trundle_core::{Backend, Move, Result};
//! # use trundle_cuda::{Cuda, CudaPlan, DeviceBytes};
//! # fn moved(gpu: &Cuda, plan: &CudaPlan, stream: *mut std::ffi::c_void, [src, dst]: [DeviceBytes; 2]) -> Result<()> {
//! // SAFETY: the stream is of this device, and lives; both are there until it has done this, and do not overlap.
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
