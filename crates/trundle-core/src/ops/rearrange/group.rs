//! The axes on the sides of a pattern.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{PatternFault, Side};

/// An entry on one side of a pattern: one axis of the tensor, or several axes for `...`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// `...`: any number of axes that the pattern does not name.
    Ellipsis,
    /// `h`, `(h w)` or `1`: the axes that are merged into this one, the outermost first; none for `1`.
    Merged(Vec<Part>),
}

crate::fingerprint!(enum Group { "ellipsis" Ellipsis, "merged" Merged(parts) });

/// A part of a merged axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// A named axis.
    Axis(String),
    /// `...` within parentheses, on the right side: all axes of the ellipsis.
    Ellipsis,
}

crate::fingerprint!(enum Part { "axis" Axis(name), "ellipsis" Ellipsis });

impl Group {
    /// Creates a group of a single named axis.
    pub fn axis(name: &str) -> Group {
        Group::Merged(vec![Part::Axis(name.to_owned())])
    }

    pub(super) fn parts(&self) -> &[Part] {
        match self {
            Group::Ellipsis => &[Part::Ellipsis],
            Group::Merged(parts) => parts,
        }
    }

    /// The name, if the group is a single named axis.
    pub fn as_axis(&self) -> Option<&str> {
        match self {
            Group::Merged(parts) => match &parts[..] {
                [Part::Axis(name)] => Some(name),
                _ => None,
            },
            Group::Ellipsis => None,
        }
    }
}

/// A name consists of letters, digits and `_`, begins with a letter and does not end with `_`.
pub(super) fn is_name(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || c == '_')
        && word.starts_with(char::is_alphabetic)
        && !word.ends_with('_')
}

/// Parts are counted over all groups.
pub(super) fn part_indices(
    groups: &[Group],
    side: Side,
) -> Result<BTreeMap<&Part, usize>, PatternFault> {
    let mut indices = BTreeMap::new();
    for (index, part) in groups.iter().flat_map(Group::parts).enumerate() {
        let repeated = indices.insert(part, index).is_some();
        match part {
            Part::Axis(name) if !is_name(name) => {
                return Err(PatternFault::BadName { name: name.clone() });
            }
            Part::Axis(name) if repeated => {
                return Err(PatternFault::RepeatedAxis { name: name.clone(), side });
            }
            Part::Ellipsis if repeated => return Err(PatternFault::RepeatedEllipsis { side }),
            _ => {}
        }
    }
    Ok(indices)
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Group::Ellipsis => f.write_str("..."),
            Group::Merged(parts) => match &parts[..] {
                [] => f.write_str("1"),
                [Part::Axis(name)] => f.write_str(name),
                parts => write!(f, "({})", Spaced(parts)),
            },
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Axis(name) => f.write_str(name),
            Part::Ellipsis => f.write_str("..."),
        }
    }
}

pub(super) struct Spaced<'a, T>(pub(super) &'a [T]);

impl<T: fmt::Display> fmt::Display for Spaced<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, entry) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(" ")?;
            }
            entry.fmt(f)?;
        }
        Ok(())
    }
}
