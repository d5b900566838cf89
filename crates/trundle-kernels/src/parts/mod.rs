//! Parts that kernels of several folders use.

pub(crate) mod line;
pub(crate) mod lines;
pub(crate) mod scratch;
pub(crate) mod writer;
