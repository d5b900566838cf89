//! The names and parameters of operators, as data. The chain language, the commands and the keys of the plan cache
//! are generated from them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;

use super::Op;

/// The name and the parameters of an operator. An example of a call is `roll(shift=[-1, 2], axes=[0, 1])`.
///
/// Law: `Display` prints an operator as a call. [`Declaration::op`] makes an equal operator from the arguments of
/// this call.
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
    /// The parameters, in the order of positional arguments. If there is a single parameter, it takes all positional
    /// arguments.
    pub parameters: &'static [Parameter],
    pub(super) make: Option<Make>,
}

/// A function that makes an operator from one list for each parameter.
type Make = fn(&[&[i64]]) -> Op;

/// A parameter of an operator.
#[derive(Debug)]
pub struct Parameter {
    /// The name of the parameter in calls.
    pub name: &'static str,
    /// The kind of the argument.
    pub kind: Kind,
    /// The default value; `None` if the argument is required.
    pub default: Option<&'static [i64]>,
    /// The help text.
    pub summary: &'static str,
}

/// The kind of the argument of a parameter.
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
    /// A list of pairs of integers, such as `[[0, 0], [1, 2]]`. It is stored without the inner brackets.
    Pairs,
    /// One of the words in the list. It is stored as the index of the word.
    Word(&'static [&'static str]),
    /// A number that has the element type of the tensor. It is stored as the list of a [`Scalar`](super::Scalar).
    Value,
    /// The names of any number of tensors.
    Tensors,
    /// The names of two tensors: the tensor to update, and the updates.
    TwoTensors,
    /// Lengths or indices, as a list or as a tensor. There may be as many as the data has elements.
    Numbers,
}

impl Kind {
    /// Whether the argument is one integer, one number or one word.
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
    /// Returns `None` for operators that have a parameter for lengths, indices or tensors.
    pub fn op(&self, arguments: &[impl AsRef<[i64]>]) -> Option<Op> {
        let arguments: Vec<&[i64]> = arguments.iter().map(AsRef::as_ref).collect();
        self.make.map(|make| make(&arguments))
    }

    /// Writes a call of the operator. `arguments` has one argument for each parameter.
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
                // `transpose(2, 0, 1)`: a single optional parameter needs no name.
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

/// A field of an operator that can be converted to and from a list of integers.
pub(super) trait Argument {
    fn of(list: &[i64]) -> Self;
    fn list(&self) -> &[i64];
}

impl Argument for i64 {
    fn of(list: &[i64]) -> i64 {
        list.first().copied().unwrap_or_default()
    }

    fn list(&self) -> &[i64] {
        std::slice::from_ref(self)
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

/// Defines the [`Declaration`] of an operator.
macro_rules! declaration {
    (
        $(#[doc = $summary:literal])+
        $name:literal, $example:literal, $make:expr, {
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
    };
}

/// Declares an operator whose fields are integers and lists of integers, in the order of its parameters.
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
            $name, $example, Some(|arguments| {
                let mut arguments = arguments.iter();
                $(let $field = arguments.next().copied().unwrap_or_default();)*
                $op { $($field: super::declaration::Argument::of($field)),* }.into()
            }), {
                $($(#[doc = $text])+ $field: $kind $(($words))? $(= $default)?,)*
            }
        }

        impl $op {
            /// Name and parameters of the operator.
            pub const DECLARATION: &'static super::Declaration = &DECLARATION;
        }

        impl std::fmt::Display for $op {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                DECLARATION.print(&[$(super::declaration::Argument::list(&self.$field)),*], f)
            }
        }
    };
}
