//! The error returned when no device can be used.

use std::fmt;

/// No usable CUDA device: the device requested and the reason for the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice {
    /// Requested device index, from 0.
    pub ordinal: usize,
    /// Library names under which the driver was searched.
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
