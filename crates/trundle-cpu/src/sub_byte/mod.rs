//! Moves elements smaller than a byte. Boxes of elements are unpacked to bytes in the second-level cache, moved there
//! by an ordinary tile plan, and packed again.
//!
//! Elements that stay together in whole groups are already merged into bytes by `trundle-core`; this module handles
//! the rest.

mod box_runs;
mod buffers;
mod codec;
mod elements;
mod execute;
mod plan;
mod rows;
mod run;

pub(crate) use execute::run_parts;
pub(crate) use plan::SubByteSteps;
