//! The chain language: stages separated by `|`.
//!
//! ```text
//! chain    = stage { "|" stage }
//! stage    = pattern | call
//! pattern  = name { name } ( "->" | "→" ) name { name }        the same names on both sides
//! call     = name "(" [ argument { "," argument } ] ")"
//! argument = [ name "=" ] ( integer | list | file )
//! list     = "[" [ integer { "," integer } ] "]"               or with "(" and ")"
//! file     = a word without space , ) | or any text in " or '
//! ```
//!
//! A pattern such as `h w c -> c h w` names the axes and puts them in another order. The calls are
//!
//! | call | operator | arguments without a name |
//! |---|---|---|
//! | `flip(axes=[1])` | [`Flip`](trundle_core::ops::Flip) | axes, as many as one likes |
//! | `reverse(axis=1, lengths=lens.npy)` | [`ReverseSubsequences`](trundle_core::ops::ReverseSubsequences) | axis, lengths |
//! | `reverse(axis=1, lengths=[2, 4], batch_axis=0)` | [`ReverseSequence`](trundle_core::ops::ReverseSequence) | axis, lengths |
//! | `roll(shift=[-1, 2], axes=[0, 1])` | [`Roll`](trundle_core::ops::Roll) | shift, axes |
//! | `transpose(2, 0, 1)`, `transpose()` | [`Transpose`](trundle_core::ops::Transpose) | the order |
//!
//! Where a list is wanted, one integer is a list of one. Axes and shifts are 64-bit integers.
//!
//! Law: what an [`Op`] prints as is a stage that gives an equal operator, unless it has more
//! lengths than it prints, or lengths with a shape of their own, which print as a list.

mod arguments;
mod call;
mod cursor;
mod error;
mod lengths;
mod pattern;
mod side;
mod similar;

use std::ops::Range;

pub use error::NotationError;
pub use lengths::{LengthsError, LengthsFile};
use trundle_core::Op;

use call::Signature;
use cursor::Cursor;
pub(crate) use error::{Fault, Snippet, quoted};
pub(crate) use pattern::misfit;

/// One stage of a chain, and where it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// In bytes.
    pub span: Range<usize>,
    /// What it does.
    pub kind: StageKind,
}

/// What a stage does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StageKind {
    /// An operator with all its parameters.
    Op(Op),
    /// A reversal whose lengths are in a file.
    ReverseByFile {
        /// The axis that is reversed.
        axis: i64,
        /// The axis that has one length for each index.
        batch_axis: Option<i64>,
        /// The name of the file.
        file: String,
        /// Where the name stands in the text, in bytes.
        file_span: Range<usize>,
    },
}

impl<T: Into<Op>> From<T> for StageKind {
    fn from(operator: T) -> StageKind {
        StageKind::Op(operator.into())
    }
}

/// The stages of a chain, one at least, in the order in which they are applied.
///
/// # Errors
/// [`NotationError`] with the first place that is not of the language. Takes time in proportion to
/// the text.
pub fn parse(text: &str) -> Result<Vec<Stage>, NotationError> {
    stages(text).map_err(|fault| fault.within(text))
}

fn stages(text: &str) -> Result<Vec<Stage>, Fault> {
    let mut cursor = Cursor::new(text);
    let mut stages = Vec::new();
    cursor.skip_space();
    if cursor.peek().is_none() {
        return Err(Fault::new(cursor.here(), "empty chain").suggest(HOW_TO_WRITE_A_STAGE));
    }
    loop {
        if cursor.peek() == Some('|') {
            return Err(empty_stage(cursor.here()));
        }
        let start = cursor.at();
        let kind = stage(&mut cursor)?;
        stages.push(Stage { span: cursor.since(start), kind });

        cursor.skip_space();
        let bar = cursor.here();
        if bar.is_empty() {
            return Ok(stages);
        }
        if !cursor.eat('|') {
            return Err(cursor.expected("\"|\" or the end after a stage"));
        }
        cursor.skip_space();
        if cursor.peek().is_none() {
            return Err(empty_stage(bar));
        }
    }
}

const HOW_TO_WRITE_A_STAGE: &str =
    "a stage is a call such as transpose(2, 0, 1), or a pattern such as h w c -> c h w";

fn empty_stage(bar: Range<usize>) -> Fault {
    Fault::new(bar, "empty stage").suggest("drop this \"|\", or write a stage beside it")
}

/// Reads one stage. A name with a parenthesis is a call, anything else a pattern.
fn stage(cursor: &mut Cursor<'_>) -> Result<StageKind, Fault> {
    let mut ahead = cursor.clone();
    let name = ahead.name();
    let name_end = ahead.at();
    ahead.skip_space();
    let called = !name.text.is_empty() && ahead.peek() == Some('(');
    let signature = Signature::of(name.text);
    if let Some(signature) = signature.filter(|_| called) {
        let read = signature.read(&mut ahead, cursor.at());
        let end = ahead.clone();
        ahead.skip_space();
        let alone = read.is_ok() && matches!(ahead.peek(), None | Some('|'));
        // An axis may have the name of a stage: `roll (h w) -> h roll w`.
        if alone || !pattern::has_arrow_after_parentheses(cursor.rest()) {
            *cursor = end;
            return read;
        }
    }
    if let Some(op) = pattern::read(cursor) {
        return Ok(StageKind::Op(op?));
    }

    let rest = cursor.rest();
    let whole = rest[..rest.find('|').unwrap_or(rest.len())].trim_end();
    let alone = cursor.at() + whole.len() == name_end;
    Err(match signature {
        Some(signature) => {
            Fault::new(name.span, format!("stage {} lacks its parentheses", quoted(name.text)))
                .suggest(format!("write {}", signature.example))
        }
        None if called || alone => unknown_stage(&name),
        None => {
            let span = cursor.at()..cursor.at() + whole.len();
            Fault::new(span, "this is neither a call nor a pattern").suggest(HOW_TO_WRITE_A_STAGE)
        }
    })
}

fn unknown_stage(name: &cursor::Word<'_>) -> Fault {
    let suggestion = match Signature::similar_to(name.text) {
        Some(known) => format!("did you mean \"{known}\"?"),
        None => {
            format!("the stages are {}, or a pattern such as h w c -> c h w", Signature::names())
        }
    };
    Fault::new(name.span.clone(), format!("unknown stage {}", quoted(name.text)))
        .suggest(suggestion)
}

#[cfg(test)]
mod tests;
