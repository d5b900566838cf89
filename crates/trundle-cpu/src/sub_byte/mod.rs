//! Moves elements that are smaller than a byte. A box of elements is unpacked, so that each element is a byte. A plan
//! for bytes moves the box within the second-level cache. Then the elements are packed again.
//!
//! If whole groups of elements stay together, `trundle-core` has already merged them into bytes, and this module is not
//! used. A group is the smallest number of elements that fill whole bytes.

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
