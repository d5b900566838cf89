//! Errors of patterns, alone or for a shape.

use std::fmt;

use crate::Shape;

/// One side of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the arrow: the input.
    Left,
    /// After the arrow: the output.
    Right,
}

impl Side {
    /// The other side.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// Why a pattern is rejected: because of its syntax, or for a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternFault {
    /// The name of an axis is invalid: it needs letters, digits and `_`, starting with a letter and not
    /// ending in `_`.
    BadName {
        /// The name.
        name: String,
    },
    /// An axis occurs twice on one side.
    RepeatedAxis {
        /// The name of the axis.
        name: String,
        /// The side.
        side: Side,
    },
    /// An axis occurs on one side only.
    LoneAxis {
        /// The name of the axis.
        name: String,
        /// The side that has the axis.
        side: Side,
    },
    /// `...` occurs twice on one side.
    RepeatedEllipsis {
        /// The side.
        side: Side,
    },
    /// `...` occurs on one side only.
    LoneEllipsis {
        /// The side that has it.
        side: Side,
    },
    /// `...` occurs in parentheses on the left, where the sizes of its axes would be ambiguous.
    MergedEllipsis,
    /// The size of an axis is given twice.
    RepeatedSize {
        /// The name of the axis.
        name: String,
    },
    /// A size is given for an axis that the pattern does not have.
    SizeWithoutAxis {
        /// The name.
        name: String,
    },
    /// Two or more axes of one group have no size.
    TwoUnknown {
        /// The position of the group on the left side, counted from 0.
        group: usize,
        /// The text of the group.
        written: String,
        /// The names of the first two axes.
        names: [String; 2],
    },
    /// The shape and the pattern have different numbers of axes.
    Rank {
        /// The number of axes on the left side, without `...`.
        axes: usize,
        /// Whether `...` allows more axes.
        more: bool,
        /// The shape.
        shape: Shape,
    },
    /// The size of an axis is not the product of the sizes of its parts.
    DoesNotSplit {
        /// The position of the group on the left side, counted from 0.
        group: usize,
        /// The text of the group.
        written: String,
        /// The size of the axis.
        size: usize,
        /// The given sizes.
        known: Vec<(String, usize)>,
        /// The axis without a given size.
        unknown: Option<String>,
    },
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Left => "left",
            Side::Right => "right",
        })
    }
}

impl fmt::Display for PatternFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternFault::BadName { name } => {
                write!(f, "{} is not the name of an axis", Quoted(name))
            }
            PatternFault::RepeatedAxis { name, side } => {
                write!(f, "axis {} stands twice on the {side}", Quoted(name))
            }
            PatternFault::LoneAxis { name, side } => {
                let other = side.other();
                write!(f, "axis {} stands on the {side}, but not on the {other}", Quoted(name))
            }
            PatternFault::RepeatedEllipsis { side } => {
                write!(f, "\"...\" stands twice on the {side}")
            }
            PatternFault::LoneEllipsis { side } => {
                write!(f, "\"...\" stands on the {side}, but not on the {}", side.other())
            }
            PatternFault::MergedEllipsis => {
                f.write_str("\"...\" stands in parentheses on the left")
            }
            PatternFault::RepeatedSize { name } => {
                write!(f, "the size of axis {} is given twice", Quoted(name))
            }
            PatternFault::SizeWithoutAxis { name } => {
                write!(f, "a size is given for axis {}, which the pattern lacks", Quoted(name))
            }
            PatternFault::TwoUnknown { written, names: [first, second], .. } => write!(
                f,
                "axis {} splits into {} and {}, neither of which has a size",
                Quoted(written),
                Quoted(first),
                Quoted(second)
            ),
            PatternFault::Rank { axes, more, shape } => {
                let or_more = if *more { " or more" } else { "" };
                let entries = if *axes == 1 && !more { "axis" } else { "axes" };
                write!(
                    f,
                    "the pattern is for {axes}{or_more} {entries}, and shape {shape} has {}",
                    shape.rank()
                )
            }
            PatternFault::DoesNotSplit { written, size, known, unknown, .. } => {
                write!(f, "axis {} of size {size} ", Quoted(written))?;
                let given = known.iter().map(|(name, size)| format!("{} = {size}", Short(name)));
                let given = given.collect::<Vec<_>>().join(", ");
                match (&known[..], unknown) {
                    ([], _) => f.write_str("must have size 1"),
                    ([_], None) => write!(f, "must have {given}"),
                    (_, Some(unknown)) if *size == 0 => {
                        write!(f, "leaves open what {} is beside {given}", Short(unknown))
                    }
                    _ => write!(f, "does not split into {given}"),
                }
            }
        }
    }
}

/// User input, quoted, escaped and truncated if very long.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = cut(self.0);
        write!(f, "{shown:?}{rest}")
    }
}

struct Short<'a>(&'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = cut(self.0);
        write!(f, "{shown}{rest}")
    }
}

fn cut(text: &str) -> (&str, &str) {
    const MOST_CHARS: usize = 40;
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => (&text[..end], "..."),
        None => (text, ""),
    }
}
