//! No device can be opened.

use std::fmt;

/// Why no device can be opened: what was looked for, and what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice {
    /// The interfaces to GPUs that were asked: those for which this program was built.
    pub interfaces: Vec<String>,
    /// What they know, each with why it is not used.
    pub found: Vec<String>,
}

impl std::error::Error for NoDevice {}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = match &self.interfaces[..] {
            [] => "no interface".to_owned(),
            interfaces => interfaces.join(", "),
        };
        write!(f, "no GPU can be used: looked for one by {asked}")?;
        match &self.found[..] {
            [] => f.write_str(", and there is none"),
            found => write!(f, ", and found {}", found.join("; ")),
        }
    }
}
