//! The kernels as a driver takes them.

/// Ten times the least compute capability that a device may have.
pub(crate) const LEAST_CAPABILITY: u32 = 75;

/// What `kernels/build.py` makes for this capability and all greater ones, with a zero at its end.
pub(crate) const TEXT: &str = concat!(include_str!("../kernels/kernels.ptx"), "\0");
