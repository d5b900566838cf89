//! The names and parameters of operators, as data for the chain language, the commands and the keys of the plan cache.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ptr;

use super::Op;

/// The name and the parameters of an operator, as in `roll(shift=[-1, 2], axes=[0, 1])`.
///
/// Law: `Display` prints an operator as a call, and [`Declaration::op`] makes an equal operator from it.
///
/// ```
/// use trundle_core::ops::{DECLARATIONS, Roll};
///
/// let roll = DECLARATIONS.iter().find(|declared| declared.name == "roll").unwrap();
/// assert_eq!(roll.parameters[1].name, "axes");
/// assert_eq!(roll.op(&[[-1, 2], [0, 1]]), Some(Roll::new(&[-1, 2], &[0, 1]).into()));
/// ```
#[derive(Debug)]
pub struct Declaration {
    /// The name in the chain language and on the command line.
    pub name: &'static str,
    /// A short description.
    pub summary: &'static str,
    /// An example call.
    pub example: &'static str,
    /// The parameters, in the order of positional arguments. A single parameter takes all positional arguments.
    pub parameters: &'static [Parameter],
    pub(super) make: Option<Make>,
}

type Make = fn(&[&[i64]]) -> Op;

/// A parameter of an operator.
#[derive(Debug)]
pub struct Parameter {
    /// The name of the parameter in calls.
    pub name: &'static str,
    /// The kind of argument.
    pub kind: Kind,
    /// The default value; `None` if the argument is required.
    pub default: Option<&'static [i64]>,
    /// The help text.
    pub summary: &'static str,
}

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One axis.
    Axis,
    /// A list of axes.
    Axes,
    /// One integer.
    Integer,
    /// A list of integers.
    Integers,
    /// Pairs of integers, such as `[[0, 0], [1, 2]]`, stored without the inner brackets.
    Pairs,
    /// One of the words in the list, stored as its index.
    Word(&'static [&'static str]),
    /// A number of the tensor's type, stored as the list of a [`Scalar`](super::Scalar).
    Value,
    /// The names of several tensors.
    Tensors,
    /// The names of two tensors: the one to update, and the updates.
    TwoTensors,
    /// Lengths or indices, possibly as many as elements, as a list or a tensor.
    Numbers,
}

impl Kind {
    /// Whether the argument is a single integer, number or word.
    pub fn is_single(self) -> bool {
        matches!(self, Kind::Axis | Kind::Integer | Kind::Word(_) | Kind::Value)
    }

    /// Whether the argument is a list of tensor names.
    pub fn is_tensors(self) -> bool {
        matches!(self, Kind::Tensors | Kind::TwoTensors)
    }
}

impl Declaration {
    /// Makes the operator from one argument for each parameter. A single integer is a list with one entry.
    ///
    /// Returns `None` for operators with a parameter for lengths, indices or tensors.
    pub fn op(&self, arguments: &[impl AsRef<[i64]>]) -> Option<Op> {
        let arguments: Vec<&[i64]> = arguments.iter().map(AsRef::as_ref).collect();
        self.make.map(|make| make(&arguments))
    }

    pub(super) fn print(&self, arguments: &[&[i64]], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        let mut separator = "";
        for (parameter, argument) in self.parameters.iter().zip(arguments) {
            let Parameter { name, kind, default, .. } = parameter;
            match (kind, argument) {
                (_, []) if *default == Some(&[]) => continue,
                (Kind::Word(words), [one]) => {
                    let word = usize::try_from(*one).ok().and_then(|one| words.get(one));
                    write!(f, "{separator}{name}={:?}", word.unwrap_or(&""))?;
                }
                (Kind::Value, list) => {
                    write!(f, "{separator}{name}={}", super::Scalar::of_list(list))?;
                }
                (Kind::Pairs, pairs) if pairs.len() > 2 && pairs.len().is_multiple_of(2) => {
                    let pairs: Vec<&[i64]> = pairs.chunks(2).collect();
                    write!(f, "{separator}{name}={pairs:?}")?;
                }
                (_, [one]) if kind.is_single() => write!(f, "{separator}{name}={one}")?,
                // A single optional parameter needs no name.
                (_, list) if self.parameters.len() == 1 && default.is_some() => {
                    let list = format!("{list:?}");
                    f.write_str(list.trim_matches(['[', ']']))?;
                }
                (_, list) => write!(f, "{separator}{name}={list:?}")?,
            }
            separator = ", ";
        }
        f.write_str(")")
    }
}

impl Hash for Declaration {
    /// Hashes the address, since there is only one declaration of each operator.
    fn hash<H: Hasher>(&self, state: &mut H) {
        ptr::from_ref(self).hash(state);
    }
}

pub(super) trait Argument {
    fn of(list: &[i64]) -> Self;
    fn list(&self) -> &[i64];
}

impl Argument for i64 {
    fn of(list: &[i64]) -> i64 {
        list.first().copied().unwrap_or_default()
    }

    fn list(&self) -> &[i64] {
        core::slice::from_ref(self)
    }
}

impl Argument for Vec<i64> {
    fn of(list: &[i64]) -> Vec<i64> {
        list.to_vec()
    }

    fn list(&self) -> &[i64] {
        self
    }
}

macro_rules! declaration {
    (
        $(#[doc = $summary:literal])+
        $op:ident, $name:literal, $example:literal, $make:expr, {
            $($(#[doc = $text:literal])+ $parameter:ident: $kind:ident $(($words:expr))? $(= $default:expr)?,)*
        }
    ) => {
        static DECLARATION: super::Declaration = super::Declaration {
            name: $name,
            summary: concat!($($summary),+).trim_ascii(),
            example: $example,
            parameters: &[$(super::Parameter {
                name: stringify!($parameter),
                kind: super::Kind::$kind$(($words))?,
                default: {
                    let defaults: &[&'static [i64]] = &[$(&$default)?];
                    defaults.first().copied()
                },
                summary: concat!($($text),+).trim_ascii(),
            }),*],
            make: $make,
        };

        impl $op {
            /// Name and parameters of the operator.
            pub const DECLARATION: &'static super::Declaration = &DECLARATION;
        }
    };
}

/// The fields are integers and lists of integers, in the order of the parameters.
macro_rules! declare {
    (
        $(#[doc = $summary:literal])+
        $op:ident, $name:literal, $example:literal, {
            $($(#[doc = $text:literal])+ $field:ident: $kind:ident $(($words:expr))? $(= $default:expr)?,)*
        }
    ) => {
        crate::fingerprint!(struct $op { $($field),* });

        declaration! {
            $(#[doc = $summary])+
            $op, $name, $example, Some(|arguments| {
                let mut arguments = arguments.iter();
                $(let $field = arguments.next().copied().unwrap_or_default();)*
                $op { $($field: super::declaration::Argument::of($field)),* }.into()
            }), {
                $($(#[doc = $text])+ $field: $kind $(($words))? $(= $default)?,)*
            }
        }

        impl core::fmt::Display for $op {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                DECLARATION.print(&[$(super::declaration::Argument::list(&self.$field)),*], f)
            }
        }
    };
}
