//! The PTX of the kernels.

/// Minimum compute capability, times ten.
pub(crate) const LEAST_CAPABILITY: u32 = 75;

/// Output of `kernels/build.py` for this capability and later ones, with a terminating zero.
pub(crate) const TEXT: &str = concat!(include_str!("../kernels/kernels.ptx"), "\0");
