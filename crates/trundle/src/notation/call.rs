//! Calls: `roll(shift=[-1, 2], axes=[0, 1])`.

use trundle_core::Op;
use trundle_core::ops::{Flip, Reshape, Roll, Slice, Tile, Transpose};

use super::StageKind;
use super::arguments::{Arguments, Value, integer, separated};
use super::cursor::{Cursor, Word};
use super::error::{Fault, quoted};
use super::lengths::{LengthsError, LengthsFile};
use super::similar::most_similar;

/// A stage that can be called: one row for each.
pub(super) struct Signature {
    pub(super) name: &'static str,
    /// In the order in which arguments without a name are taken. If there is only one parameter,
    /// it takes all of them.
    pub(super) parameters: &'static [&'static str],
    pub(super) example: &'static str,
    build: fn(&Arguments<'_>) -> Result<StageKind, Fault>,
}

const SIGNATURES: [Signature; 7] = [
    Signature {
        name: "flip",
        parameters: &["axes"],
        example: "flip(axes=[1])",
        build: |given| Ok(Flip::new(&given.integers("axes")?).into()),
    },
    Signature {
        name: "reshape",
        parameters: &["sizes"],
        example: "reshape(2, -1, 4)",
        build: |given| Ok(Reshape::new(&given.integers_or_none("sizes")?).into()),
    },
    Signature {
        name: "reverse",
        parameters: &["axis", "lengths", "batch_axis"],
        example: "reverse(axis=1, lengths=lens.npy)",
        build: reverse,
    },
    Signature {
        name: "roll",
        parameters: &["shift", "axes"],
        example: "roll(shift=[-1, 2], axes=[0, 1])",
        build: |given| Ok(Roll::new(&given.integers("shift")?, &given.integers("axes")?).into()),
    },
    Signature {
        name: "slice",
        parameters: &["starts", "stops", "axes", "steps"],
        example: "slice(starts=[0], stops=[5], axes=[1], steps=[2])",
        build: |given| {
            let (starts, stops) = (given.integers("starts")?, given.integers("stops")?);
            let (axes, steps) = (given.integers_or_none("axes")?, given.integers_or_none("steps")?);
            Ok(Slice::new(&starts, &stops, &axes, &steps).into())
        },
    },
    Signature {
        name: "tile",
        parameters: &["repeats"],
        example: "tile(2, 1)",
        build: |given| Ok(Tile::new(&given.integers_or_none("repeats")?).into()),
    },
    Signature {
        name: "transpose",
        parameters: &["order"],
        example: "transpose(2, 0, 1)",
        build: |given| Ok(Transpose::new(&given.integers_or_none("order")?).into()),
    },
];

fn reverse(given: &Arguments<'_>) -> Result<StageKind, Fault> {
    let axis = given.integer("axis")?;
    let batch_axis = given.get("batch_axis").map(|_| given.integer("batch_axis")).transpose()?;
    let lengths = given.required("lengths")?;
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

impl Signature {
    /// The row of this name.
    pub(super) fn of(name: &str) -> Option<&'static Signature> {
        SIGNATURES.iter().find(|signature| signature.name == name)
    }

    /// The name that was perhaps meant.
    pub(super) fn similar_to(name: &str) -> Option<&'static str> {
        most_similar(name, SIGNATURES.iter().map(|signature| signature.name))
    }

    /// All names, to be read.
    pub(super) fn names() -> String {
        SIGNATURES.map(|signature| signature.name).join(", ")
    }

    /// Reads the parentheses and what is in them. The stage began at `start`.
    pub(super) fn read(
        &'static self,
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
                    return Err(
                        Fault::new(value.span, message).suggest(format!("write {}", self.example))
                    );
                }
            }
            Ok(())
        })?;
        let call = start..cursor.at();
        (self.build)(&Arguments::bind(self, call, unnamed, named)?)
    }

    /// Which parameter a name is. `axis` and `axes` are one, whichever of them the stage has.
    pub(super) fn parameter(&self, name: &Word<'_>) -> Result<usize, Fault> {
        let position = |name| self.parameters.iter().position(|parameter| *parameter == name);
        let other = match name.text {
            "axis" => position("axes"),
            "axes" => position("axis"),
            _ => None,
        };
        position(name.text).or(other).ok_or_else(|| {
            let suggestion = match self.similar_parameter(name.text) {
                Some(similar) => format!("did you mean \"{similar}\"?"),
                None => format!("write {}", self.example),
            };
            let message = format!("{} has no argument {}", self.name, quoted(name.text));
            Fault::new(name.span.clone(), message).suggest(suggestion)
        })
    }

    /// The parameter that was perhaps meant: one that looks alike, or that others call so.
    fn similar_parameter(&self, name: &str) -> Option<&'static str> {
        let parameters = || self.parameters.iter().copied();
        let is_axis = |parameter: &str| matches!(parameter, "axis" | "axes");
        most_similar(name, parameters()).or_else(|| match name {
            "dim" | "dims" => parameters().find(|parameter| is_axis(parameter)),
            _ => None,
        })
    }
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
