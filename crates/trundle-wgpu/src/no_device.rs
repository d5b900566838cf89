//! The error if no device can be opened.

use std::fmt;

/// No device can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice {
    /// The graphics interfaces that were tried: those for which this program was built.
    pub interfaces: Vec<String>,
    /// The adapters that were found, each with the reason why it is not used.
    pub found: Vec<String>,
}

impl std::error::Error for NoDevice {}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let searched = match &self.interfaces[..] {
            [] => "no interface".to_owned(),
            interfaces => interfaces.join(", "),
        };
        write!(f, "no GPU can be used: trundle searched with {searched}")?;
        match &self.found[..] {
            [] => f.write_str(", and found none"),
            found => write!(f, ", and found {}", found.join("; ")),
        }
    }
}
