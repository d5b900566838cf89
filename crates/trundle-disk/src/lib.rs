#![forbid(unsafe_code)]
mod device;
mod error;
mod place;
mod positioned;
mod tiling;
mod transfer;
mod way;
pub use device::Device;
pub use error::{Error, Problem};
