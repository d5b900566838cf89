//! What kernels of several kinds are made of.

pub(crate) mod line;
pub(crate) mod lines;
pub(crate) mod scratch;
pub(crate) mod writer;
