//! Tensors moved from file to file, of any size, within a given amount of memory.
#![forbid(unsafe_code)]

mod device;
mod error;
mod identity;
mod job;
mod journal;
mod known;
mod left;
mod place;
mod positioned;
mod read_back;
mod run;
mod slot;
mod stage;
mod sums;
mod tiling;
mod transfer;
mod way;
mod work;

pub use device::Device;
pub use error::{Error, Problem};
pub use job::{Cost, Job, Options, TensorJob, Wanted};
pub use run::{Conduct, Outcome, Watch};
