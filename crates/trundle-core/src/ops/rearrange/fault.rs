use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::Shape;

/// One side of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side before the arrow, which describes the input.
    Left,
    /// The side after the arrow, which describes the output.
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

refusals! {
    /// Why a pattern is wrong, or does not fit a shape.
    PatternFault {
        /// The name of an axis is not valid: it needs letters, digits and `_`, begins with a letter and does not end
        /// with `_`.
        BadName {
            /// The name.
            name: String,
        } => "{} is not the name of an axis", Quoted(name);
        /// An axis occurs twice on one side.
        RepeatedAxis {
            /// The name of the axis.
            name: String,
            /// The side.
            side: Side,
        } => "axis {} appears twice on the {side}", Quoted(name);
        /// An axis occurs on one side only.
        LoneAxis {
            /// The name of the axis.
            name: String,
            /// The side that has the axis.
            side: Side,
        } => "axis {} appears on the {side}, but not on the {}", Quoted(name), side.other();
        /// `...` occurs twice on one side.
        RepeatedEllipsis {
            /// The side.
            side: Side,
        } => "\"...\" appears twice on the {side}";
        /// `...` occurs on one side only.
        LoneEllipsis {
            /// The side that has `...`.
            side: Side,
        } => "\"...\" appears on the {side}, but not on the {}", side.other();
        /// `...` occurs in parentheses on the left, where the sizes of its axes would be ambiguous.
        MergedEllipsis => "\"...\" is in parentheses on the left";
        /// The size of an axis is given twice.
        RepeatedSize {
            /// The name of the axis.
            name: String,
        } => "the size of axis {} is given twice", Quoted(name);
        /// A size is given for an axis that the pattern does not have.
        SizeWithoutAxis {
            /// The name.
            name: String,
        } => "a size is given for axis {}, which the pattern lacks", Quoted(name);
        /// Two or more axes of one group have no size.
        TwoUnknown {
            /// The index of the group on the left side.
            group: usize,
            /// The group as a string.
            written: String,
            /// The names of the first two axes without a size.
            names: [String; 2],
        } unused group => "axis {} splits into {} and {}, and both sizes are unknown",
            Quoted(written), Quoted(&names[0]), Quoted(&names[1]);
        /// The shape and the pattern have different numbers of axes.
        Rank {
            /// The number of axes on the left side, without `...`.
            axes: usize,
            /// Whether `...` allows more axes.
            more: bool,
            /// The shape.
            shape: Shape,
        } => "the pattern is for {}, but shape {shape} has {}", axes_of(*axes, *more), shape.rank();
        /// The size of an axis is not the product of the sizes of its parts.
        DoesNotSplit {
            /// The index of the group on the left side.
            group: usize,
            /// The group as a string.
            written: String,
            /// The size of the axis.
            size: usize,
            /// The given sizes.
            known: Vec<(String, usize)>,
            /// The axis without a given size.
            unknown: Option<String>,
        } unused group => "axis {} of size {size} {}", Quoted(written), split_of(*size, known, unknown.as_deref());
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Left => "left",
            Side::Right => "right",
        })
    }
}

fn axes_of(axes: usize, more: bool) -> String {
    match (axes, more) {
        (1, false) => "1 axis".to_owned(),
        (axes, false) => format!("{axes} axes"),
        (axes, true) => format!("{axes} or more axes"),
    }
}

fn split_of(size: usize, known: &[(String, usize)], unknown: Option<&str>) -> String {
    let given = known.iter().map(|(name, size)| format!("{} = {size}", Short(name)));
    let given = given.collect::<Vec<_>>().join(", ");
    match (known, unknown) {
        ([], _) => "must have size 1".to_owned(),
        ([_], None) => format!("must have {given}"),
        (_, Some(unknown)) if size == 0 => {
            format!("does not determine {} from {given}", Short(unknown))
        }
        _ => format!("does not split into {given}"),
    }
}

/// A long word is truncated.
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
