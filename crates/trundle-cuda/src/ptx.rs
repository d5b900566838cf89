//! The PTX of the kernels.

/// The minimum compute capability, times ten.
pub(crate) const LEAST_CAPABILITY: u32 = 75;

/// The output of `kernels/build.py`, with a terminating zero, for this compute capability and later ones.
pub(crate) const TEXT: &str = concat!(include_str!("../kernels/kernels.ptx"), "\0");
