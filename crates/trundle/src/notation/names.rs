//! The axis names of a tensor, and how the stages of a chain change them.
//!
//! Names come from the tensor's file and from patterns in the chain. Operators have only axis indices: when a stage is
//! parsed, its names are replaced by indices.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use trundle_core::ops::{Declaration, Kind, Parameter, Rot90, Transpose};
use trundle_core::{Op, Shape};

use super::error::{Fault, quoted};
use super::similar::most_similar;

/// The axis names of a tensor. When a chain is parsed, the names of the result replace them.
///
/// ```
/// use std::collections::BTreeSet;
/// use std::convert::Infallible;
/// use std::sync::Arc;
///
/// use trundle::notation::{AxisNames, Unfilled};
/// use trundle::{Chain, Shape};
///
/// let text = "time lat lon -> lat lon time | roll(shift=1, dim=lon)";
/// let read = |_: &Unfilled, _: &str| -> Result<_, Infallible> { unreachable!("no lengths") };
/// let wind = ["time", "lat", "lon"].map(|name| Some(name.to_owned()));
/// let chain = Chain::parse_named(text, &mut AxisNames::of(&wind), read)?;
/// assert_eq!(chain.to_string(), "transpose(1, 2, 0) | roll(shift=[1], axes=[1])");
///
/// // The same chain, for an array of the same data set that has only the last axis.
/// let all: BTreeSet<String> = wind.iter().flatten().cloned().collect();
/// let mut names = AxisNames::of(&wind[2..]).among(&Arc::new(all));
/// let chain = Chain::parse_named(text, &mut names, read)?;
/// assert_eq!(chain.to_string(), "roll(shift=[1], axes=[0])");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AxisNames {
    pub(super) axes: Vec<Axis>,
    /// The axis names of other tensors of the same chain.
    elsewhere: Arc<BTreeSet<String>>,
    /// The names of parts of axes that this tensor lacks, from a pattern.
    pub(super) gone: BTreeSet<String>,
    /// Whether every name is accepted, because the tensor is not known yet.
    any: bool,
    /// The first name in the chain that another tensor has and this one lacks.
    pub(super) lacked: Option<String>,
}

/// One axis, or an unknown number of axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    One {
        /// The name in the file.
        in_file: Option<String>,
        /// The name in an earlier pattern.
        given: Option<String>,
    },
    /// An unknown number of unknown axes.
    Rest,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Given {
    /// Integers, or axis indices.
    Integers(Vec<i64>),
    /// Axis names.
    Names(Vec<String>),
}

/// Returns the keywords that give a parameter by axis names, the usual one first. Empty if the parameter is not an
/// axis.
pub fn dim_words(parameter: &Parameter) -> &'static [&'static str] {
    match (parameter.kind, parameter.name) {
        (Kind::Axes, _) => &["dims", "dim"],
        (Kind::Axis, "axis") => &["dim", "dims"],
        (Kind::Axis, _) => &["batch_dim"],
        _ => &[],
    }
}

/// The reason why axis names do not fit a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    /// The message, in one line.
    pub message: String,
    /// A correction, in one line.
    pub suggestion: Option<String>,
    /// The wrong name, if there is one.
    pub(super) name: Option<String>,
}

impl std::error::Error for NameError {}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.suggestion.as_ref().map_or(Ok(()), |suggestion| write!(f, "\n  {suggestion}"))
    }
}

impl NameError {
    pub(super) fn new(name: &str, message: impl Into<String>) -> NameError {
        NameError { message: message.into(), suggestion: None, name: Some(name.to_owned()) }
    }

    pub(super) fn suggest(self, suggestion: impl Into<String>) -> NameError {
        NameError { suggestion: Some(suggestion.into()), ..self }
    }

    pub(super) fn at(self, span: Range<usize>) -> Fault {
        Fault::new(span, self.message).suggest_if_any(self.suggestion)
    }
}

pub(super) const UNNAMED: Axis = Axis::One { in_file: None, given: None };

impl Axis {
    pub(super) fn in_file(&self) -> Option<&str> {
        match self {
            Axis::One { in_file, .. } => in_file.as_deref(),
            Axis::Rest => None,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let both = match self {
            Axis::One { in_file, given } if in_file == given => [given.as_deref(), None],
            Axis::One { in_file, given } => [given.as_deref(), in_file.as_deref()],
            Axis::Rest => [None, None],
        };
        both.into_iter().flatten()
    }
}

impl AxisNames {
    /// Creates the names of an unknown tensor, whose axes get names only from patterns.
    pub fn unknown() -> AxisNames {
        AxisNames {
            axes: vec![Axis::Rest],
            elsewhere: Arc::default(),
            gone: BTreeSet::new(),
            any: false,
            lacked: None,
        }
    }

    /// Creates names to check the syntax of a chain before a tensor is known. Every name is accepted, and its index is
    /// arbitrary.
    pub fn any() -> AxisNames {
        AxisNames { any: true, ..AxisNames::unknown() }
    }

    /// Creates names from a list with one entry for each axis; `None` for an axis without a name.
    pub fn of(axes: &[Option<String>]) -> AxisNames {
        let one = |in_file: &Option<String>| Axis::One { in_file: in_file.clone(), given: None };
        AxisNames { axes: axes.iter().map(one).collect(), ..AxisNames::unknown() }
    }

    /// Adds the axis names of other tensors to which the same chain is applied.
    ///
    /// If all axes of this tensor have names, stages ignore names that only other tensors have.
    #[must_use]
    pub fn among(self, names: &Arc<BTreeSet<String>>) -> AxisNames {
        AxisNames { elsewhere: names.clone(), ..self }
    }

    /// Replaces the axis names of a call by indices. Returns `None` if the tensor lacks the axes, so that the call does
    /// not change it.
    ///
    /// # Errors
    /// [`NameError`] for an unknown or ambiguous name, and for a call that needs an axis that the tensor lacks.
    pub fn resolve(
        &mut self,
        declared: &Declaration,
        given: &[Given],
    ) -> Result<Option<Vec<Vec<i64>>>, NameError> {
        let mut numbers = Vec::with_capacity(given.len());
        let mut has: Vec<bool> = Vec::new();
        for (parameter, given) in declared.parameters.iter().zip(given) {
            let names = match given {
                Given::Integers(integers) => {
                    numbers.push(integers.clone());
                    continue;
                }
                Given::Names(names) => names,
            };
            let indices = self.indices_of(names)?;
            let lacks = |name: &String| {
                let message = format!(
                    "the tensor has no axis {}, which this stage needs with the others",
                    quoted(name)
                );
                NameError::new(name, message)
            };
            match (parameter.kind, &indices[..]) {
                (Kind::Axis, [None]) if parameter.default.is_none() => return Ok(None),
                (Kind::Axis, [None]) => return Err(lacks(&names[0])),
                (Kind::Axes, [None, ..]) if indices.iter().all(Option::is_none) => return Ok(None),
                (Kind::Axes, _) => {
                    let lacked = indices.iter().position(Option::is_none);
                    if let Some(lacked) = lacked
                        && ptr::eq(declared, Rot90::DECLARATION)
                    {
                        return Err(lacks(&names[lacked]));
                    }
                    has = indices.iter().map(Option::is_some).collect();
                }
                _ => {}
            }
            if ptr::eq(declared, Transpose::DECLARATION)
                && indices.iter().flatten().any(|at| *at < 0)
            {
                let message = "the number of axes is unknown here";
                return Err(NameError::new(&names[0], message).suggest("write a pattern"));
            }
            numbers.push(indices.into_iter().flatten().collect());
        }
        if has.contains(&false) {
            check_for_all(declared, given)?;
            for (parameter, list) in declared.parameters.iter().zip(&mut numbers) {
                if parameter.kind == Kind::Integers && list.len() == has.len() {
                    let mut has = has.iter();
                    list.retain(|_| has.next().copied().unwrap_or(true));
                }
            }
        }
        Ok(Some(numbers))
    }

    /// Returns the axis index of each name; `None` for an axis that only other tensors have. Axes after an unknown
    /// number of axes have negative indices.
    fn indices_of(&mut self, names: &[String]) -> Result<Vec<Option<i64>>, NameError> {
        let rest = self.rest();
        let mut called: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, axis) in self.axes.iter().enumerate() {
            axis.names().for_each(|name| called.entry(name).or_default().push(at));
        }
        let mut lacked = None;
        let index = |name: &String| match called.get(&name[..]).map_or(&[][..], Vec::as_slice) {
            _ if self.any => Ok(Some(0)),
            [at] => {
                let number = |at: usize| at.cast_signed() as i64;
                let is_behind = rest.is_some_and(|rest| rest < *at);
                Ok(Some(number(*at) - if is_behind { number(self.axes.len()) } else { 0 }))
            }
            [_, ..] => Err(NameError::new(name, format!("two axes are called {}", quoted(name)))
                .suggest("give their numbers, as in axes=[0, 1]")),
            [] if self.is_elsewhere(name) && self.are_all_named() => {
                lacked.get_or_insert_with(|| name.clone());
                Ok(None)
            }
            [] => Err(self.not_found(name)),
        };
        let indices = names.iter().map(index).collect();
        self.lacked = self.lacked.take().or(lacked);
        indices
    }

    /// Returns whether another tensor has this axis, or the axis is part of an axis that this tensor lacks.
    pub(super) fn is_elsewhere(&self, name: &str) -> bool {
        self.elsewhere.contains(name) || self.gone.contains(name)
    }

    /// Whether there are other tensors with names.
    pub(super) fn has_others(&self) -> bool {
        !self.elsewhere.is_empty()
    }

    pub(super) fn rest(&self) -> Option<usize> {
        self.axes.iter().position(|axis| *axis == Axis::Rest)
    }

    fn not_found(&self, name: &str) -> NameError {
        let error = NameError::new(name, format!("no axis is called {}", quoted(name)));
        // A data set may have very many names.
        const MOST: usize = 100;
        let others = self.elsewhere.iter().take(MOST).map(String::as_str);
        let known: Vec<&str> = self.axes.iter().flat_map(Axis::names).chain(others).collect();
        let is_number = name.parse::<i64>().is_ok();
        match most_similar(name, known.iter().copied()) {
            Some(similar) => error.suggest(format!("did you mean {}?", quoted(similar))),
            None if is_number => error.suggest("give axis numbers by axis= or axes=[...]"),
            None if known.is_empty() => error.suggest(
                "axis names come from the file, or from an earlier pattern such as t y x -> y x t",
            ),
            None => error.suggest(format!("the axes are {self}")),
        }
    }

    /// Whether the file names every axis.
    pub(super) fn are_all_named(&self) -> bool {
        self.axes.iter().all(|axis| axis.in_file().is_some())
    }

    /// Sets the axes to unknown ones: the result has the axes of another tensor.
    pub(super) fn forget(&mut self) {
        self.axes = vec![Axis::Rest];
    }

    /// Returns the name of each axis of a tensor with this many axes; `None` for an axis without a name.
    pub fn of_axes(&self, rank: usize) -> Vec<Option<String>> {
        let mut own = self.clone();
        own.expand(rank);
        let name = |axis: &Axis| axis.names().next().map(str::to_owned);
        let names: Vec<_> = own.axes.iter().map(name).collect();
        if names.len() == rank { names } else { vec![None; rank] }
    }

    /// Returns the names from patterns for a tensor with this many axes; `None` for an axis without a name, or with the
    /// name of another axis. Empty if no axis has a name.
    pub(crate) fn given_by_patterns(&self, rank: usize) -> Vec<Option<String>> {
        let mut own = self.clone();
        own.expand(rank);
        let given = |axis: &Axis| match axis {
            Axis::One { given, .. } => given.clone(),
            Axis::Rest => None,
        };
        let names: Vec<Option<String>> = own.axes.iter().map(given).collect();
        let is_unique =
            |name: &String| names.iter().flatten().filter(|other| *other == name).count() == 1;
        let unique: Vec<_> = names.iter().map(|name| name.clone().filter(is_unique)).collect();
        match unique.len() == rank && unique.iter().any(Option::is_some) {
            true => unique,
            false => Vec::new(),
        }
    }

    pub(super) fn follow(&mut self, op: &Op, arguments: &[Vec<i64>]) {
        let index = |axis: i64, rank: usize| {
            let axis = if axis < 0 { axis.checked_add_unsigned(rank as u64)? } else { axis };
            usize::try_from(axis).ok().filter(|axis| *axis < rank)
        };
        match (op, arguments) {
            (Op::Reshape(_), _) => self.axes = vec![Axis::Rest],
            // The axes of the indices, of any number, replace one axis.
            (Op::Take(take), _) if take.indices().shape().rank() != 1 => {
                self.axes = vec![Axis::Rest];
            }
            // New axes are in front.
            (Op::Broadcast(_), [sizes]) => match self.rest() {
                Some(rest) => {
                    self.axes.drain(..rest);
                    self.expand(sizes.len());
                }
                None => {
                    let new = sizes.len().saturating_sub(self.axes.len());
                    self.axes.splice(..0, vec![UNNAMED; new]);
                }
            },
            (Op::Stack(_), [_, axis]) => {
                let new = axis.first().and_then(|axis| index(*axis, self.axes.len() + 1));
                match new.filter(|_| self.rest().is_none()) {
                    Some(new) => self.axes.insert(new, UNNAMED),
                    None => self.axes = vec![Axis::Rest],
                }
            }
            (Op::Windows(_), [_, _, axes, _]) => match axes.len() {
                0 => self.axes = vec![Axis::Rest],
                new => self.axes.extend(vec![UNNAMED; new]),
            },
            (Op::Transpose(_), [order]) if order.is_empty() => self.axes.reverse(),
            (Op::Transpose(_), [order]) => {
                self.expand(order.len());
                let moved = |axis: &i64| Some(self.axes.get(index(*axis, order.len())?)?.clone());
                self.axes = order.iter().map(|axis| moved(axis).unwrap_or(UNNAMED)).collect();
            }
            (Op::Rot90(_), [turns, axes]) if turns.iter().any(|turns| turns % 2 != 0) => {
                let rank = self.axes.len();
                let indices = axes.iter().map(|axis| index(*axis, rank));
                match indices.collect::<Option<Vec<usize>>>().as_deref() {
                    Some([one, other]) if !self.axes.contains(&Axis::Rest) => {
                        self.axes.swap(*one, *other);
                    }
                    _ => self.axes = vec![Axis::Rest],
                }
            }
            _ => {}
        }
    }

    /// Replaces [`Axis::Rest`] by as many unnamed axes as the rank requires.
    pub(super) fn expand(&mut self, rank: usize) {
        if let Some(at) = self.rest() {
            let more = (rank + 1).saturating_sub(self.axes.len());
            self.axes.splice(at..=at, vec![UNNAMED; more]);
        }
    }
}

impl fmt::Display for AxisNames {
    /// Writes the names as `(time, lat, -)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |axis: &Axis| match axis {
            Axis::Rest => "...".to_owned(),
            one => {
                one.names().next().map_or("-".to_owned(), |name| name.escape_debug().to_string())
            }
        };
        write!(f, "({})", self.axes.iter().map(name).collect::<Vec<_>>().join(", "))
    }
}

/// Checks a call for a tensor with all axes of the call, so that an invalid call is refused for every tensor.
fn check_for_all(declared: &Declaration, given: &[Given]) -> Result<(), NameError> {
    let mut rank = 0;
    let numbers: Vec<Vec<i64>> = given
        .iter()
        .map(|given| match given {
            Given::Integers(integers) => integers.clone(),
            Given::Names(names) => {
                let begin = rank;
                rank += names.len();
                (begin..rank).map(|axis| axis.cast_signed() as i64).collect()
            }
        })
        .collect();
    let fits = |op: Op| op.index_map(&Shape::new(vec![1; rank])?);
    match declared.op(&numbers).map(fits) {
        Some(Err(error)) => {
            Err(NameError { message: error.to_string(), suggestion: None, name: None })
        }
        _ => Ok(()),
    }
}
