//! Calls: `roll(shift=[-1, 2], axes=[0, 1])`.

use trundle_core::Op;
use trundle_core::ops::{DECLARATIONS, Declaration, Kind, Parameter};

use super::StageKind;
use super::arguments::{Arguments, Value, integer, separated};
use super::cursor::{Cursor, Word};
use super::error::{Fault, quoted};
use super::lengths::{LengthsError, LengthsFile};
use super::similar::most_similar;

/// The operator that is called so.
pub(super) fn declared(name: &str) -> Option<&'static Declaration> {
    DECLARATIONS.into_iter().find(|declared| declared.name == name)
}

/// The name that was perhaps meant.
pub(super) fn similar_to(name: &str) -> Option<&'static str> {
    most_similar(name, DECLARATIONS.iter().map(|declared| declared.name))
}

/// All names, to be read.
pub(super) fn names() -> String {
    DECLARATIONS.map(|declared| declared.name).join(", ")
}

/// Reads the parentheses and what is in them. The stage began at `start`.
pub(super) fn read(
    declared: &'static Declaration,
    cursor: &mut Cursor<'_>,
    start: usize,
) -> Result<StageKind, Fault> {
    let (mut unnamed, mut named) = (Vec::new(), Vec::new());
    separated(cursor, |cursor| {
        let name = argument_name(cursor);
        let value = Value::read(cursor)?;
        match name {
            Some(name) => named.push((name, value)),
            None if named.is_empty() => unnamed.push(value),
            None => {
                let message = "argument without a name after one with a name";
                let example = format!("write {}", declared.example);
                return Err(Fault::new(value.span, message).suggest(example));
            }
        }
        Ok(())
    })?;
    let call = start..cursor.at();
    stage(&Arguments::bind(declared, call, unnamed, named)?)
}

fn stage(given: &Arguments<'_>) -> Result<StageKind, Fault> {
    let parameters = given.declared.parameters.iter().enumerate();
    let integers = |(number, parameter): (usize, &Parameter)| match parameter.kind {
        Kind::Lengths => Ok(Vec::new()),
        _ => given.integers(number),
    };
    let integers = parameters.map(integers).collect::<Result<Vec<_>, _>>()?;
    match given.declared.op(&integers) {
        Some(op) => Ok(op.into()),
        None => reverse(given, &integers),
    }
}

/// A reversal, by lengths that are listed or in a file.
fn reverse(given: &Arguments<'_>, integers: &[Vec<i64>]) -> Result<StageKind, Fault> {
    let at = |name| {
        given.declared.parameters.iter().position(|each| each.name == name).unwrap_or_default()
    };
    let axis = integers[at("axis")].first().copied().unwrap_or_default();
    let batch_axis = integers[at("batch_axis")].first().copied();
    let lengths = given.required(at("lengths"))?;
    if let Some(file) = lengths.as_file() {
        return Ok(StageKind::ReverseByFile {
            axis,
            batch_axis,
            file: file.to_owned(),
            file_span: lengths.span.clone(),
        });
    }
    let words = lengths.words();
    let values = words.iter().map(|word| integer("lengths", word)).collect::<Result<_, _>>()?;
    let op: Op = LengthsFile::list(values).reverse(axis, batch_axis).map_err(|error| {
        let span = match &error {
            LengthsError::OutOfRange { index, .. } => words[*index].span.clone(),
            LengthsError::NotAList { .. } => lengths.span.clone(),
        };
        Fault::new(span, error.to_string())
    })?;
    Ok(op.into())
}

/// Which parameter a name is. `axis` and `axes` are one, whichever of them the stage has.
pub(super) fn parameter(declared: &Declaration, name: &Word<'_>) -> Result<usize, Fault> {
    let position = |name| declared.parameters.iter().position(|parameter| parameter.name == name);
    let other = match name.text {
        "axis" => position("axes"),
        "axes" => position("axis"),
        _ => None,
    };
    position(name.text).or(other).ok_or_else(|| {
        let suggestion = match similar_parameter(declared, name.text) {
            Some(similar) => format!("did you mean \"{similar}\"?"),
            None => format!("write {}", declared.example),
        };
        let message = format!("{} does not have an argument {}", declared.name, quoted(name.text));
        Fault::new(name.span.clone(), message).suggest(suggestion)
    })
}

/// The parameter that was perhaps meant: one that looks alike, or that others call so.
fn similar_parameter(declared: &Declaration, name: &str) -> Option<&'static str> {
    let parameters = || declared.parameters.iter().map(|parameter| parameter.name);
    let is_axis = |parameter: &&str| matches!(*parameter, "axis" | "axes");
    most_similar(name, parameters()).or_else(|| match name {
        "dim" | "dims" => parameters().find(is_axis),
        _ => None,
    })
}

/// Reads `name =` if that is next.
fn argument_name<'a>(cursor: &mut Cursor<'a>) -> Option<Word<'a>> {
    let mut ahead = cursor.clone();
    let name = ahead.name();
    ahead.skip_space();
    (!name.text.is_empty() && ahead.eat('=')).then(|| {
        ahead.skip_space();
        *cursor = ahead;
        name
    })
}
