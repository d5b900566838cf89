//! Parts of several kinds of kernels.

pub(crate) mod line;
pub(crate) mod lines;
pub(crate) mod scratch;
pub(crate) mod writer;
