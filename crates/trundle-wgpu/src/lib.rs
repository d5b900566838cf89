//! Moves elements in GPU memory, by wgpu (Vulkan, DirectX 12 or Metal). All interfaces share the kernel sources, which
//! need no optional device feature.
//!
//! [`Wgpu`] is a [`Backend`](trundle_core::Backend). It can run single moves, or be used by a `Runner` of the crate
//! trundle. The crate trundle-gpu plans the moves.
//!
//! ```no_run
//! use trundle_core::ops::Roll;
//! use trundle_core::{Backend, Layout, Move, Op, Shape};
//! use trundle_wgpu::Wgpu;
//!
//! let gpu = Wgpu::new()?;
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
#![forbid(unsafe_code)]

mod backend;
mod buffer;
mod device;
mod faults;
mod no_device;
mod parameters;
mod pipelines;
mod plan;
mod run;
mod source;
#[cfg(test)]
mod tests;

pub use buffer::DeviceBuffer;
pub use device::{Choice, Wgpu};
pub use no_device::NoDevice;
pub use plan::WgpuPlan;
