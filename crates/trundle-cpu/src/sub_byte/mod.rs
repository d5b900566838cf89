//! Elements of less than a byte: boxes of them are unpacked to bytes in a second-level cache, moved
//! there by a plan like any other, and packed again.
//!
//! What stays together in whole groups has become bytes before (`trundle-core`'s moves): here is
//! only what does not.

mod buffers;
mod codec;
mod elements;
mod execute;
mod plan;
mod rows;
mod run;
mod side;

pub(crate) use execute::run_parts;
pub(crate) use plan::SubByteSteps;
