//! What an operator of several tensors takes.

use std::fmt;

/// One of the tensors that an operator takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    /// What the operator before gives; of the first, the tensor without a name. It is written `_`.
    Previous,
    /// The tensor of this name, which whoever applies the operator has.
    Named(String),
}

crate::fingerprint!(enum Operand {
    "previous" Previous,
    "named" Named(name),
});

impl Operand {
    /// The operand that is written so.
    pub fn new(written: &str) -> Operand {
        match written {
            "_" => Operand::Previous,
            name => Operand::Named(name.to_owned()),
        }
    }
}

impl fmt::Display for Operand {
    /// As a chain has it, in quotes if its name is no word.
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

/// Several of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Operands(pub(super) Vec<Operand>);

crate::fingerprint!(struct Operands(operands));

impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operands: Vec<String> = self.0.iter().map(Operand::to_string).collect();
        f.write_str(&operands.join(", "))
    }
}
