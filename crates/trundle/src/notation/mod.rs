//! The chain language. A chain consists of stages, separated by `|`; each is an operator.
//!
//! ```text
//! chain    = stage { "|" stage }
//! stage    = pattern | call
//! pattern  = side ( "->" | "→" ) side { "," name "=" size }
//! side     = { name | "1" | "..." | "(" { name | "1" | "..." } ")" }
//! call     = name "(" [ argument { "," argument } ] ")"
//! argument = [ name "=" ] ( integer | number | list | file | axis | tensor )
//! list     = "[" [ integer { "," integer } | axis { "," axis } ] "]"      or with "(" and ")"
//! file     = a word without space , ) | or any text in " or '
//! axis     = the name of an axis, as a file
//! number   = an integer, or a decimal number as Rust reads it; "nan", "inf", "true", "false"
//! tensor   = "_", what the stages before give, or the name of another tensor, as a file
//! ```
//!
//! A pattern such as `b (h p1) (w p2) c -> b (h w) (p1 p2 c), p1=16, p2=16` names the axes of the tensor on the
//! left side. The right side has the same names in the order and groups of the result, as in `einops.rearrange`:
//!
//! | written | on the left | on the right |
//! |---|---|---|
//! | `h` | an axis | the same axis, in any position |
//! | `(h p1)` | an axis that is split into h (the outer axis) and p1 | an axis into which h and p1 are merged |
//! | `...` or `…` | any number of axes, also none; not in parentheses | the same axes; in parentheses, they are merged |
//! | `1` or `()` | an axis of size 1, which is removed | a new axis of size 1 |
//! | `, p1=16` after the pattern | the size of p1; if an axis is split, all sizes except one must be given | |
//!
//! Each name occurs once on each side: a pattern cannot repeat elements (use `tile`) or reduce axes. Names consist of
//! letters, digits and `_`, begin with a letter and do not end with `_`. A pattern that only permutes axes is a
//! [`Transpose`](trundle_core::ops::Transpose), any other pattern is a [`Rearrange`](trundle_core::ops::Rearrange).
//!
//! [`DECLARATIONS`](trundle_core::ops::DECLARATIONS) lists the calls, their arguments and the order of unnamed
//! arguments. Details:
//!
//! - `reverse` is a [`ReverseSequence`](trundle_core::ops::ReverseSequence) if it has a batch axis.
//! - The unnamed arguments of a call with a single parameter are one list: `transpose(2, 0, 1)`.
//! - One integer in place of a list is a list of one integer. Integers have 64 bits.
//! - `axis` and `axes` are synonyms and take axis numbers. `dim`, `dims` and `batch_dim` take axis names, and an
//!   argument without a name takes either. The names come from the tensor's file ([`AxisNames`]) and from earlier
//!   patterns.
//! - `roll(half, axes)` is `fftshift(axes)`, and `roll(-half, axes)` is `ifftshift(axes)`.
//! - `concat`, `stack` and scatters (`put_along_axis`, `scatter_nd`, `slice_scatter`) take names of tensors as unnamed
//!   arguments. `_` is the result of the previous stages; every stage after the first must take it. In the first stage,
//!   `_` is the chain's unnamed input. If the first stage lacks `_`, all inputs of the chain have names.
//!
//! `Display` prints an [`Op`](crate::Op) as a stage that parses to an equal operator. Exceptions: `{:#}`
//! abbreviates long lists of lengths, lengths with a shape are printed as a list, and a
//! [`Rearrange`](trundle_core::ops::Rearrange) that only permutes axes parses as a transpose.
//!
//! `docs/chains.md` describes the language for users of the program.

mod arguments;
mod call;
mod cursor;
mod error;
mod names;
mod numbers;
mod pattern;
mod pattern_match;
mod side;
mod similar;
mod stage;

use std::ops::Range;

pub use call::half_roll;
pub use error::NotationError;
pub use names::{AxisNames, Given, NameError, dim_words};
pub use numbers::{NumbersError, NumbersFile, Unfilled};
pub use pattern::AxisPattern;
pub use similar::most_similar;
pub use stage::{Stage, StageKind};
use trundle_core::ops::Operand;

use cursor::Cursor;
pub(crate) use error::{Fault, Snippet, quoted};
pub(crate) use pattern::misfit;
use stage::Read;

/// Parses a chain into at least one stage, in the order of application.
///
/// The time is proportional to the length of `text`. With axis names, it is also proportional to the number of axes.
///
/// # Errors
/// [`NotationError`] for the first fault in `text`.
pub fn parse(text: &str) -> Result<Vec<Stage>, NotationError> {
    parse_named(text, &mut AxisNames::unknown())
}

/// Parses a chain for a tensor with the given axis names, and replaces `names` by the names of the result.
///
/// Leaves out the stages that do not change this tensor because it lacks some of their axes, see [`AxisNames::among`].
///
/// # Errors
/// [`NotationError`] for the first fault in `text`, for an unknown axis name, and for a stage that does not fit these
/// names.
pub fn parse_named(text: &str, names: &mut AxisNames) -> Result<Vec<Stage>, NotationError> {
    parse_filled(text, names, &mut Ok)
}

/// Fills a stage whose lengths or indices are in a file; returns other stages unchanged.
pub(crate) type Fill<'a> = dyn FnMut(StageKind) -> Result<StageKind, Fault> + 'a;

/// As [`parse_named`], with each stage passed through `fill` before the axis names follow it.
pub(crate) fn parse_filled(
    text: &str,
    names: &mut AxisNames,
    fill: &mut Fill<'_>,
) -> Result<Vec<Stage>, NotationError> {
    stages(text, names, fill).map_err(|fault| fault.within(text))
}

fn stages(text: &str, names: &mut AxisNames, fill: &mut Fill<'_>) -> Result<Vec<Stage>, Fault> {
    let mut cursor = Cursor::new(text);
    let mut stages = Vec::new();
    let (mut numbered, mut is_first) = (None, true);
    cursor.skip_space();
    if cursor.peek().is_none() {
        return Err(Fault::new(cursor.here(), "the chain is empty").suggest(HOW_TO_WRITE_A_STAGE));
    }
    loop {
        if cursor.peek() == Some('|') {
            return Err(empty_stage(cursor.here()));
        }
        let start = cursor.at();
        let read = stage(&mut cursor, names, fill)?;
        let span = cursor.since(start);
        check_previous(read.kind.as_ref(), &span, is_first)?;
        is_first = false;
        if read.is_by_number {
            numbered.get_or_insert_with(|| span.clone());
        }
        stages.extend(read.kind.map(|kind| Stage { span, kind }));

        cursor.skip_space();
        let bar = cursor.here();
        if bar.is_empty() {
            return match numbered.zip(names.lacked.as_deref()) {
                None => Ok(stages),
                Some((span, lacked)) => Err(by_number(span, lacked)),
            };
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
    Fault::new(bar, "empty stage").suggest("delete this \"|\", or add the missing stage")
}

/// A stage after the first must take the result of the previous stages.
fn check_previous(
    kind: Option<&StageKind>,
    span: &Range<usize>,
    is_first: bool,
) -> Result<(), Fault> {
    let operands = match kind {
        Some(StageKind::Op(op)) => op.operands(),
        Some(StageKind::ByFile { unfilled, .. }) => unfilled.operands(),
        None => &[Operand::Previous],
    };
    if is_first || operands.contains(&Operand::Previous) {
        return Ok(());
    }
    let message = "this stage does not use the result of the previous stages";
    Err(Fault::new(span.clone(), message).suggest("write \"_\" for that result"))
}

/// The fault of a stage that has axis numbers, in a chain for several tensors, if one tensor lacks an axis.
fn by_number(span: Range<usize>, lacked: &str) -> Fault {
    let lacked = quoted(lacked);
    let message = format!("one tensor has no axis {lacked}, and this stage numbers its axes");
    Fault::new(span, message).suggest(
        "write axis names, as in dims=[lat, lon]: they also work for tensors with fewer axes",
    )
}

/// Reads one stage: a call if it begins with an operator's name and a parenthesis, otherwise a pattern.
fn stage(
    cursor: &mut Cursor<'_>,
    names: &mut AxisNames,
    fill: &mut Fill<'_>,
) -> Result<Read, Fault> {
    let mut ahead = cursor.clone();
    let name = ahead.name();
    let name_end = ahead.at();
    ahead.skip_space();
    let called = !name.text.is_empty() && ahead.peek() == Some('(');
    let declared = call::declared(name.text);
    if let Some(declared) = declared.filter(|_| called) {
        let given = call::read(declared, &mut ahead, cursor.at());
        let end = ahead.clone();
        ahead.skip_space();
        let alone = given.is_ok() && matches!(ahead.peek(), None | Some('|'));
        // An axis may have the name of an operator, as in `roll (h w) -> h roll w`.
        if alone || !pattern::has_arrow_after_parentheses(cursor.rest()) {
            *cursor = end;
            return call::stage(&given?, names, fill);
        }
    }
    if let Some(read) = pattern::read(cursor, names) {
        return read;
    }

    let rest = cursor.rest();
    let whole = rest[..rest.find('|').unwrap_or(rest.len())].trim_end();
    let alone = cursor.at() + whole.len() == name_end;
    Err(match declared {
        Some(declared) => {
            Fault::new(name.span, format!("stage {} has no parentheses", quoted(name.text)))
                .suggest(format!("write {}", declared.example))
        }
        None if called || alone => unknown_stage(&name),
        None => {
            let span = cursor.at()..cursor.at() + whole.len();
            Fault::new(span, "this is neither a call nor a pattern").suggest(HOW_TO_WRITE_A_STAGE)
        }
    })
}

fn unknown_stage(name: &cursor::Word<'_>) -> Fault {
    let suggestion = match call::similar_to(name.text) {
        Some(known) => format!("did you mean \"{known}\"?"),
        None => {
            format!("the stages are {}, or a pattern such as h w c -> c h w", call::names())
        }
    };
    Fault::new(name.span.clone(), format!("unknown stage {}", quoted(name.text)))
        .suggest(suggestion)
}

#[cfg(test)]
mod tests;
