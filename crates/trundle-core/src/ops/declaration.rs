//! What an operator is called and which parameters it has, as data. Front ends are made from it: the
//! chain language, the program's commands, the keys of plans.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;

use super::Op;

/// An operator as it is called: `roll(shift=[-1, 2], axes=[0, 1])`.
///
/// Law: an operator prints as a call from which [`Declaration::op`] makes an equal one.
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
    /// As the chain language and the program have it.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// A call of it.
    pub example: &'static str,
    /// In the order in which arguments without a name are taken. If there is only one parameter, it
    /// takes all of them.
    pub parameters: &'static [Parameter],
    pub(super) make: Option<Make>,
}

/// Makes an operator from the list of each parameter.
type Make = fn(&[&[i64]]) -> Op;

/// What an operator is told.
#[derive(Debug)]
pub struct Parameter {
    /// As calls have it.
    pub name: &'static str,
    /// What is given for it.
    pub kind: Kind,
    /// What stands for it where it is left out; `None` if it must be given.
    pub default: Option<&'static [i64]>,
    /// What it says, as the program's help has it.
    pub summary: &'static str,
}

/// What is given for a parameter.
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
    /// Pairs of integers, one after another: `[[0, 0], [1, 2]]`.
    Pairs,
    /// One of these words; as an integer, which one it is.
    Word(&'static [&'static str]),
    /// A number of the tensor's type, as the list of a [`Scalar`](super::Scalar).
    Value,
    /// Several tensors, by their names.
    Tensors,
    /// Two tensors, by their names: the one that is updated, and the updates.
    TwoTensors,
    /// Lengths or indices, of which there may be as many as elements: a list, or a tensor.
    Numbers,
}

impl Kind {
    /// Whether it is one integer, one number or one word.
    pub fn is_single(self) -> bool {
        matches!(self, Kind::Axis | Kind::Integer | Kind::Word(_) | Kind::Value)
    }

    /// Whether it is names of tensors.
    pub fn is_tensors(self) -> bool {
        matches!(self, Kind::Tensors | Kind::TwoTensors)
    }
}

impl Declaration {
    /// The operator with these arguments, one for each parameter, a single integer as a list of
    /// one. `None` for an operator with lengths, which may come as a tensor, and one of several tensors.
    pub fn op(&self, arguments: &[impl AsRef<[i64]>]) -> Option<Op> {
        let arguments: Vec<&[i64]> = arguments.iter().map(AsRef::as_ref).collect();
        self.make.map(|make| make(&arguments))
    }

    /// Writes the call with these arguments, one for each parameter.
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
                // `transpose(2, 0, 1)`: what may be left out needs no name where it is alone.
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
    /// Where it is: there is one for each operator.
    fn hash<H: Hasher>(&self, state: &mut H) {
        ptr::from_ref(self).hash(state);
    }
}

/// A field of an operator, as the list of integers that calls have for it.
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

/// The [`Declaration`] of an operator: its name, an example, how it is made, and its parameters in the
/// order of a call, each with its kind, its default if it has one, and what it says.
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

/// Declares an operator whose fields are integers and lists of integers, in the order of a call: its
/// [`Declaration`], how it is made by one, how it prints, and its fingerprint.
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
            /// Its name and its parameters.
            pub const DECLARATION: &'static super::Declaration = &DECLARATION;
        }

        impl std::fmt::Display for $op {
            /// As a call of the chain language.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                DECLARATION.print(&[$(super::declaration::Argument::list(&self.$field)),*], f)
            }
        }
    };
}
