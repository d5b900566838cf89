//! No device can be used.

use std::fmt;

/// Why no device can be used: what was looked for, and what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice {
    /// Which device was asked for: the first is 0.
    pub ordinal: usize,
    /// The names by which NVIDIA's driver is looked for.
    pub libraries: &'static [&'static str],
    /// What there is in its place.
    pub found: String,
}

impl std::error::Error for NoDevice {}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoDevice { ordinal, libraries, found } = self;
        let libraries = libraries.join(", ");
        write!(
            f,
            "no CUDA device can be used: looked for device {ordinal} by {libraries}, and {found}"
        )
    }
}
