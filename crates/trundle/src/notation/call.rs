//! Parses calls: `roll(shift=[-1, 2], axes=[0, 1])`.

use std::ptr;

use trundle_core::Op;
use trundle_core::ops::{
    Concat, DECLARATIONS, Declaration, FftShift, IfftShift, Kind, Operand, Parameter, Slice,
    SliceScatter, Stack,
};

use super::Fill;
use super::arguments::{Arguments, Value, integer, separated};
use super::cursor::{Cursor, Word};
use super::error::{Fault, quoted};
use super::names::{AxisNames, Given, dim_words};
use super::numbers::{NumbersError, NumbersFile, Unfilled};
use super::similar::most_similar;
use super::stage::{Read, StageKind};

pub(super) fn declared(name: &str) -> Option<&'static Declaration> {
    DECLARATIONS.into_iter().find(|declared| declared.name == name)
}

pub(super) fn similar_to(name: &str) -> Option<&'static str> {
    most_similar(name, DECLARATIONS.iter().map(|declared| declared.name))
}

pub(super) fn names() -> String {
    DECLARATIONS.map(|declared| declared.name).join(", ")
}

/// Returns the operator that a roll by this word stands for: `half` or `-half` of the size of each axis.
///
/// ```
/// use trundle::notation::half_roll;
///
/// assert_eq!(half_roll("half").map(|declared| declared.name), Some("fftshift"));
/// assert_eq!(half_roll("-half").map(|declared| declared.name), Some("ifftshift"));
/// assert!(half_roll("2").is_none());
/// ```
pub fn half_roll(word: &str) -> Option<&'static Declaration> {
    match word {
        "half" => Some(FftShift::DECLARATION),
        "-half" => Some(IfftShift::DECLARATION),
        _ => None,
    }
}

/// `start` is the start of the stage.
pub(super) fn read<'a>(
    declared: &'static Declaration,
    cursor: &mut Cursor<'a>,
    start: usize,
) -> Result<Arguments<'a>, Fault> {
    let (mut unnamed, mut named) = (Vec::new(), Vec::new());
    separated(cursor, |cursor| {
        let name = argument_name(cursor);
        let value = Value::read(cursor)?;
        match name {
            Some(name) => named.push((name, value)),
            None if named.is_empty() => unnamed.push(value),
            None => {
                let message = "argument without a name after an argument with a name";
                let example = format!("write {}", declared.example);
                return Err(Fault::new(value.span, message).suggest(example));
            }
        }
        Ok(())
    })?;
    let call = start..cursor.at();
    Arguments::bind(declared, call, unnamed, named)
}

/// Converts a call to a stage, fills it, and updates the axis names.
pub(super) fn stage(
    arguments: &Arguments<'_>,
    names: &mut AxisNames,
    fill: &mut Fill<'_>,
) -> Result<Read, Fault> {
    let given = arguments.given()?;
    if is_scatter(arguments.declared) && pair(arguments)?[0] != Operand::Previous {
        names.forget();
    }
    let is_name = |given: &Given| matches!(given, Given::Names(_));
    let is_by_number = !given.iter().any(is_name);
    let resolved = names.resolve(arguments.declared, &given);
    let Some(numbers) = resolved.map_err(|error| arguments.misnamed(error))? else {
        return Ok(Read { kind: None, is_by_number });
    };
    let kind = fill(kind(arguments, &numbers)?)?;
    if let StageKind::Op(op) = &kind {
        names.follow(op, &numbers);
    }
    Ok(Read { kind: Some(kind), is_by_number })
}

/// `integers` has the values of the call's parameters.
fn kind(arguments: &Arguments<'_>, integers: &[Vec<i64>]) -> Result<StageKind, Fault> {
    let has = |kind| arguments.declared.parameters.iter().any(|each| each.kind == kind);
    match arguments.declared.op(integers) {
        Some(op @ Op::Pad(_)) => match arguments.span_of(2) {
            Some(span) => Err(Fault::new(span, "value goes with mode=\"constant\"")),
            None => Ok(op.into()),
        },
        Some(op) => Ok(op.into()),
        None if has(Kind::Numbers) => with_numbers(arguments, integers),
        None => of_several(arguments, integers),
    }
}

/// Returns whether the operator is a scatter: it writes elements of one tensor over elements of another.
fn is_scatter(declared: &Declaration) -> bool {
    declared.parameters.iter().any(|parameter| parameter.kind == Kind::TwoTensors)
}

fn pair(given: &Arguments<'_>) -> Result<[Operand; 2], Fault> {
    let (names, Declaration { name, example, .. }) = (given.required(0)?, given.declared);
    let operands = names.operands(given.declared.parameters[0].name)?;
    operands.try_into().map_err(|operands: Vec<Operand>| {
        let message = format!("{name} takes 2 tensors, got {}", operands.len());
        Fault::new(names.span.clone(), message).suggest(format!("write {example}"))
    })
}

fn of_several(given: &Arguments<'_>, integers: &[Vec<i64>]) -> Result<StageKind, Fault> {
    if let ([_, starts, stops, axes, steps], true) = (integers, is_scatter(given.declared)) {
        let slice = Slice::new(starts, stops, axes, steps);
        return Ok(SliceScatter::new(pair(given)?, slice).into());
    }
    let names = given.required(0)?;
    let operands = names.operands(given.declared.parameters[0].name)?;
    if operands.is_empty() {
        return Err(Fault::new(names.span.clone(), "no tensor is named")
            .suggest(format!("write {}", given.declared.example)));
    }
    let axis = integers.last().and_then(|axis| axis.first()).copied().unwrap_or_default();
    Ok(match ptr::eq(given.declared, Stack::DECLARATION) {
        true => Stack::new(operands, axis).into(),
        false => Concat::new(operands, axis).into(),
    })
}

fn with_numbers(given: &Arguments<'_>, integers: &[Vec<i64>]) -> Result<StageKind, Fault> {
    let unfilled = match is_scatter(given.declared) {
        true => Unfilled::of_two(given.declared, pair(given)?, integers),
        false => Unfilled::of(given.declared, integers),
    };
    let parameters = given.declared.parameters;
    let at = parameters.iter().position(|each| each.kind == Kind::Numbers).unwrap_or_default();
    let numbers = given.required(at)?;
    if let Some(file) = numbers.as_file() {
        let (file, file_span) = (file.to_owned(), numbers.span.clone());
        return Ok(StageKind::ByFile { unfilled, file, file_span });
    }
    let (words, name) = (numbers.words(), parameters[at].name);
    let values = words.iter().map(|word| integer(name, word)).collect::<Result<_, _>>()?;
    let op = unfilled.fill(NumbersFile::list(values)).map_err(|error| {
        let span = match &error {
            NumbersError::OutOfRange { index, .. } => words[*index].span.clone(),
            NumbersError::NotAList { .. } => numbers.span.clone(),
        };
        Fault::new(span, error.to_string())
    })?;
    Ok(op.into())
}

/// Finds a parameter by name. Returns its index, and whether the argument has axis names.
///
/// `axis` and `axes` are synonyms; `dim` and `dims` take axis names for the same parameter.
pub(super) fn parameter(declared: &Declaration, name: &Word<'_>) -> Result<(usize, bool), Fault> {
    let position = |name| declared.parameters.iter().position(|parameter| parameter.name == name);
    let by_number = position(name.text).or(match name.text {
        "axis" => position("axes"),
        "axes" => position("axis"),
        _ => None,
    });
    let is_named = |parameter: &Parameter| dim_words(parameter).contains(&name.text);
    let by_name = declared.parameters.iter().position(is_named);
    let found = by_number.map(|at| (at, false)).or(by_name.map(|at| (at, true)));
    found.ok_or_else(|| {
        let suggestion = match similar_parameter(declared, name.text) {
            Some(similar) => format!("did you mean \"{similar}\"?"),
            None => format!("write {}", declared.example),
        };
        let message = format!("{} does not have an argument {}", declared.name, quoted(name.text));
        Fault::new(name.span.clone(), message).suggest(suggestion)
    })
}

fn similar_parameter(declared: &Declaration, name: &str) -> Option<&'static str> {
    most_similar(name, declared.parameters.iter().map(|parameter| parameter.name))
}

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
