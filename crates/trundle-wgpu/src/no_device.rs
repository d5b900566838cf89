//! The error returned when no device can be opened.

use std::fmt;

/// No usable device: the graphics APIs searched and the adapters found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice {
    /// Graphics APIs searched: all that this program was built for.
    pub interfaces: Vec<String>,
    /// Adapters found, each with the reason why it is not used.
    pub found: Vec<String>,
}

impl std::error::Error for NoDevice {}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = match &self.interfaces[..] {
            [] => "no interface".to_owned(),
            interfaces => interfaces.join(", "),
        };
        write!(f, "no GPU can be used: trundle searched by {asked}")?;
        match &self.found[..] {
            [] => f.write_str(", and found none"),
            found => write!(f, ", and found {}", found.join("; ")),
        }
    }
}
