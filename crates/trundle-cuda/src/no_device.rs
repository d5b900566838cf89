//! The error if no device can be used.

use std::fmt;

/// The requested CUDA device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice {
    /// The index of the requested device, counted from 0.
    pub ordinal: usize,
    /// The names of the driver library that were tried.
    pub libraries: &'static [&'static str],
    /// The reason, such as the driver's error or an unsupported compute capability.
    pub found: String,
}

impl std::error::Error for NoDevice {}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoDevice { ordinal, libraries, found } = self;
        let libraries = libraries.join(", ");
        write!(
            f,
            "no CUDA device can be used: trundle searched for device {ordinal} by {libraries}, and {found}"
        )
    }
}
