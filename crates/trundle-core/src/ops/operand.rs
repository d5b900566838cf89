use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

/// A tensor that an operator takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    /// The result of the previous operator, or for the first operator the unnamed input. Written as `_`.
    Previous,
    /// A tensor that the caller provides by name.
    Named(String),
}

crate::fingerprint!(enum Operand {
    "previous" Previous,
    "named" Named(name),
});

impl Operand {
    /// Parses an operand: `_` or a name.
    pub fn new(written: &str) -> Operand {
        match written {
            "_" => Operand::Previous,
            name => Operand::Named(name.to_owned()),
        }
    }
}

impl fmt::Display for Operand {
    /// The name is in quotes if it has special characters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Previous => f.write_str("_"),
            Operand::Named(name) => {
                let ends = |c: char| c.is_whitespace() || ",()[]|=".contains(c);
                let starts = name.starts_with(|c: char| c.is_alphabetic() || "_./".contains(c));
                match starts && !name.contains(ends) {
                    true => f.write_str(name),
                    false if name.contains('"') => write!(f, "'{name}'"),
                    false => write!(f, "\"{name}\""),
                }
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Operands(pub(super) Vec<Operand>);

crate::fingerprint!(struct Operands(operands));

impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operands: Vec<String> = self.0.iter().map(Operand::to_string).collect();
        f.write_str(&operands.join(", "))
    }
}
