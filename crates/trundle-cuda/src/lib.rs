//! Moves on NVIDIA's GPUs, by CUDA: between the caller's pointers and on the caller's streams, or as a
//! [`Backend`](trundle_core::Backend) with buffers of its own. How a move is done is decided by the crate trundle-gpu.
//!
//! The driver is loaded when a device is opened, and nothing else of CUDA is needed: the kernels, `kernels/*.h`, are
//! compiled to PTX that is checked in, which `kernels/build.py` makes. The tests compile the same text for the host, where a
//! block's threads are a loop and every access to memory is checked.
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
#![allow(unsafe_code)]

mod backend;
mod buffer;
mod device;
mod divisor;
mod driver;
#[cfg(test)]
mod host;
mod kernel;
mod launch;
mod no_device;
mod numbers;
mod parameters;
mod plan;
mod prepared;
mod ptx;
mod rows;
#[cfg(test)]
mod tests;

pub use buffer::CudaBuffer;
pub use device::{Cuda, DeviceBytes};
pub use no_device::NoDevice;
pub use plan::CudaPlan;
