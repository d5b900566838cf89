//! Moves elements that are smaller than a byte. Boxes of elements are unpacked to bytes, moved within the second-level
//! cache by a plan for bytes, and packed again.
//!
//! If whole groups of elements stay together, `trundle-core` has already merged them into bytes. A group is the
//! smallest number of elements that fill whole bytes.

mod box_layout;
mod box_runs;
mod buffers;
mod codec;
mod elements;
mod execute;
mod groups;
mod plan;
mod rows;
mod run;

pub(crate) use execute::run_parts;
pub(crate) use plan::SubByteSteps;
