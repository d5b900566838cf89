//! Lists of integers, from the file, or from a tensor whose elements are traced to a constant or input.

use std::fmt;

use trundle_core::ops::Indices;
use trundle_core::program::{Made, TensorId};
use trundle_core::{DType, Shape};
use trundle_formats::StoredDType;

use super::element::{Number, is_float, is_integer, number};
use super::site::Site;
use crate::problem::{Checked, Problem, wrong};
use crate::{ElementType, Floats, IntegerTypes, Integers};

pub(super) const MOST_ENTRIES: usize = 1 << 24;

/// The largest number of steps from tensors to the sources of their elements, in all lists. A small file can have many
/// lists at the end of many nodes.
const MOST_STEPS: usize = 1 << 26;

#[derive(Debug)]
pub(super) struct List<T> {
    pub(super) entries: Vec<T>,
    /// Whether the parameter is a scalar. Otherwise it is a list.
    pub(super) scalar: bool,
}

impl Site<'_, '_> {
    /// `what` names the parameter in messages (`order`, `axes`).
    pub(super) fn integers(&mut self, what: &str, from: &Integers) -> Checked<List<i64>> {
        let List { entries, scalar } = self.wide_integers(what, from)?;
        let narrow = |entry: i128| {
            i64::try_from(entry).map_err(|_| {
                Problem::from(format!("{what} entry {entry} is out of range: it is over i64"))
            })
        };
        Ok(List { entries: entries.into_iter().map(narrow).collect::<Checked<_>>()?, scalar })
    }

    pub(super) fn list(&mut self, what: &str, from: &Integers) -> Checked<Vec<i64>> {
        let List { entries, scalar } = self.integers(what, from)?;
        if scalar { Err(not_a_list(what)) } else { Ok(entries) }
    }

    /// The default is for an omitted list.
    pub(super) fn list_or(
        &mut self,
        what: &str,
        from: Option<&Integers>,
        otherwise: impl IntoIterator<Item = i64>,
    ) -> Checked<Vec<i64>> {
        from.map_or_else(|| Ok(otherwise.into_iter().collect()), |from| self.list(what, from))
    }

    /// The parameter must have exactly one entry.
    pub(super) fn single(&mut self, what: &str, from: &Integers) -> Checked<i64> {
        let entries = self.integers(what, from)?.entries;
        let [entry] = entries[..] else {
            return wrong!("{what} must have one entry, got {}", entries.len());
        };
        Ok(entry)
    }

    /// Entries may be too large for i64.
    pub(super) fn wide_integers(&mut self, what: &str, from: &Integers) -> Checked<List<i128>> {
        let (input, types) = match from {
            Integers::Given(entries) => {
                let entries = entries.iter().copied().map(i128::from).collect();
                return Ok(List { entries, scalar: false });
            }
            Integers::Input { input, types } => (*input, *types),
        };
        let fits = |element| accepted(element, types);
        let list = self.numbers(what, input, fits, words(types))?;
        let whole = |entry: Option<Number>| whole(what, entry);
        let entries = list.entries.into_iter().map(whole).collect::<Checked<_>>()?;
        Ok(List { entries, scalar: list.scalar })
    }

    pub(super) fn floats(&mut self, what: &str, from: &Floats) -> Checked<Vec<f64>> {
        let input = match from {
            Floats::Given(entries) => return Ok(entries.clone()),
            Floats::Input(input) => *input,
        };
        let fits = |element| match element {
            ElementType::Fixed(dtype) if is_float(dtype) => Some(dtype),
            _ => None,
        };
        let float = |entry: Option<Number>| match entry {
            Some(Number::Float(entry)) => Ok(entry),
            _ => wrong!("{what} entries are not floats"),
        };
        let list = self.numbers(what, input, fits, "a float type")?;
        list.entries.into_iter().map(float).collect()
    }

    /// The input must have exactly one entry, an integer or a float.
    pub(super) fn number(&mut self, what: &str, input: usize) -> Checked<Number> {
        let fits = |element| accepted(element, IntegerTypes::Numbers);
        let entries = self.numbers(what, input, fits, words(IntegerTypes::Numbers))?.entries;
        match entries[..] {
            [Some(entry)] => Ok(entry),
            _ => wrong!("{what} must be one number, got {}", entries.len()),
        }
    }

    /// The indices that an input holds, in any shape.
    pub(super) fn indices(&mut self, input: usize) -> Checked<Indices> {
        let tensor = self.input(input)?;
        let (element, shape) = (self.builder.element(tensor), self.builder.shape(tensor).clone());
        let types = IntegerTypes::Integers;
        let dtype = accepted(element, types).ok_or_else(|| {
            format!("indices may not be of type {element}, only {}", words(types))
        })?;
        let signed = |at: usize, entry: Option<Number>| match entry {
            Some(Number::Integer(entry)) => i64::try_from(entry).map_err(|_| {
                Problem::from(format!("index {entry} at {:?} is over i64", shape.unravel(at)))
            }),
            _ => wrong!("indices are not integers"),
        };
        let element = StoredDType::little_endian(dtype);
        let count = shape.elements();
        if self.builder.is_iterating() {
            self.spend("indices", count)?;
        }
        // Most indices are constants or inputs.
        if let Some(elements) = self.builder.elements(tensor) {
            let bytes = elements.bytes();
            let values: Vec<i64> = match dtype {
                DType::I64 => {
                    bytes.as_chunks().0.iter().map(|at| i64::from_le_bytes(*at)).collect()
                }
                DType::I32 => {
                    let chunks = bytes.as_chunks().0.iter();
                    chunks.map(|at| i32::from_le_bytes(*at).into()).collect()
                }
                _ => (0..count)
                    .map(|at| signed(at, number(&element, bytes, at)))
                    .collect::<Checked<_>>()?,
            };
            return Ok(Indices::new(shape, values)?);
        }
        if count > MOST_ENTRIES {
            return wrong!("there are {count} indices, over the limit of {MOST_ENTRIES}");
        }
        let values = (0..count).map(|at| {
            let entry = self.entry("indices", tensor, at, &element, true)?;
            signed(at, entry)
        });
        let values = values.collect::<Checked<Vec<i64>>>()?;
        Ok(Indices::new(shape, values)?)
    }

    /// The input's type must satisfy `fits`; `types` describes this in messages.
    fn numbers(
        &mut self,
        what: &str,
        input: usize,
        fits: impl Fn(ElementType) -> Option<DType>,
        types: &str,
    ) -> Checked<List<Option<Number>>> {
        let tensor = self.input(input)?;
        let (element, shape) = (self.builder.element(tensor), self.builder.shape(tensor).clone());
        let dtype = fits(element)
            .ok_or_else(|| format!("{what} may not be of type {element}, only {types}"))?;
        if shape.rank() > 1 {
            return wrong!("{what} must be a list or a scalar, got shape {shape}");
        }
        let count = shape.elements();
        if count > MOST_ENTRIES {
            return wrong!("{what} has {count} entries, over the limit of {MOST_ENTRIES}");
        }
        let element = StoredDType::little_endian(dtype);
        let entries = (0..count)
            .map(|at| self.entry(what, tensor, at, &element, true))
            .collect::<Checked<_>>()?;
        Ok(List { entries, scalar: shape.rank() == 0 })
    }

    /// The shape and the numbers of a tensor, all of which must come from constants.
    pub(super) fn constant_numbers(
        &mut self,
        what: &str,
        tensor: TensorId,
        dtype: DType,
    ) -> Checked<(Shape, Vec<Number>)> {
        let shape = self.builder.shape(tensor).clone();
        let element = StoredDType::little_endian(dtype);
        // In a part of a larger model, integers from inputs are sizes and axes.
        let may_be_input = self.builder.model.is_part && is_integer(dtype);
        let one = |at: usize| {
            let found = self.entry(what, tensor, at, &element, may_be_input)?;
            found.ok_or_else(|| format!("its {what} are not numbers").into())
        };
        let numbers = (0..shape.elements()).map(one).collect::<Checked<_>>()?;
        Ok((shape, numbers))
    }

    pub(super) fn spend(&mut self, what: &str, steps: usize) -> Checked<()> {
        self.builder.steps = self.builder.steps.saturating_add(steps);
        if self.builder.steps > MOST_STEPS {
            return wrong!(
                "the {what} and the lists before it take more than {MOST_STEPS} steps to read, \
                 which is the limit"
            );
        }
        Ok(())
    }

    /// Traces element `at` (row-major) to its known value; `None` if it is not a number.
    fn entry(
        &mut self,
        what: &str,
        tensor: TensorId,
        at: usize,
        element: &StoredDType,
        may_be_input: bool,
    ) -> Checked<Option<Number>> {
        let (id, at) = self.holder(what, tensor, at)?;
        if !may_be_input && self.builder.is_input(id) {
            return Err(Problem::Computes);
        }
        let Some(elements) = self.builder.elements(id) else {
            let name = self.builder.called(id);
            return wrong!(
                "its {what} depend on the elements of input {name:?}, which are not given"
            );
        };
        Ok(number(element, elements.bytes(), at))
    }

    /// Traces element `at` (row-major) to the tensor that holds it, and its index there.
    fn holder(&mut self, what: &str, tensor: TensorId, at: usize) -> Checked<(TensorId, usize)> {
        let (mut id, mut at) = (tensor, at);
        loop {
            let tensor = self.builder.program.tensor(id);
            let cost = match &tensor.made {
                Made::Given(_) | Made::Fill(_) => 1,
                Made::Moved { map, .. } => 1 + map.in_shape().rank() + tensor.shape.rank(),
                Made::Joined { .. } => 1 + tensor.shape.rank(),
            };
            self.spend(what, cost)?;
            match self.builder.program.source_of(id, at) {
                Some(next) => (id, at) = next,
                None => return Ok((id, at)),
            }
        }
    }
}

/// A list for messages, truncated if it is long.
pub(super) struct Listed<'a>(pub(super) &'a [i64]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 16;
        match self.0.get(..MOST) {
            Some(first) if self.0.len() > MOST => {
                write!(f, "{first:?} and {} more", self.0.len() - MOST)
            }
            _ => write!(f, "{:?}", self.0),
        }
    }
}

/// Converts entries that must not be negative, such as sizes.
pub(super) fn unsigned(what: &str, entries: &[i64]) -> Checked<Vec<usize>> {
    let entry = |entry: &i64| {
        let negative = || format!("{what} may not be negative, got {entry}").into();
        usize::try_from(*entry).map_err(|_| negative())
    };
    entries.iter().map(entry).collect()
}

pub(super) fn not_a_list(what: &str) -> Problem {
    format!("{what} must be a list, got a scalar").into()
}

fn whole(what: &str, number: Option<Number>) -> Checked<i128> {
    match number {
        Some(Number::Integer(entry)) => Ok(entry),
        // An integral float up to 2^126 is exact in i128; no valid entry is larger.
        Some(Number::Float(entry)) if entry.fract() == 0.0 && entry.abs() <= 2f64.powi(126) => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within i128")]
            let entry = entry as i128;
            Ok(entry)
        }
        Some(Number::Float(entry)) => {
            wrong!("{what} entry {entry} is not a whole number within range")
        }
        None => wrong!("{what} entries are not numbers"),
    }
}

/// The [`DType`], if `types` allows it.
fn accepted(element: ElementType, types: IntegerTypes) -> Option<DType> {
    let ElementType::Fixed(dtype) = element else { return None };
    let fits = match types {
        IntegerTypes::I64 => dtype == DType::I64,
        IntegerTypes::I32OrI64 => matches!(dtype, DType::I32 | DType::I64),
        IntegerTypes::Integers => is_integer(dtype),
        IntegerTypes::Numbers => is_integer(dtype) || is_float(dtype),
        IntegerTypes::Mask => is_integer(dtype) || dtype == DType::Boolean,
    };
    fits.then_some(dtype)
}

/// Describes the allowed types in messages.
fn words(types: IntegerTypes) -> &'static str {
    match types {
        IntegerTypes::I64 => "i64",
        IntegerTypes::I32OrI64 => "i32 or i64",
        IntegerTypes::Integers => "an integer type",
        IntegerTypes::Numbers => "an integer or float type",
        IntegerTypes::Mask => "boolean or an integer type",
    }
}
