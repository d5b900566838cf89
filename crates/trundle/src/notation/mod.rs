//! The chain language: stages separated by `|`.
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
//! A pattern such as `b (h p1) (w p2) c -> b (h w) (p1 p2 c), p1=16, p2=16` names the axes of the
//! tensor on the left and says on the right what becomes of them, as `einops.rearrange` does:
//!
//! | written | on the left | on the right |
//! |---|---|---|
//! | `h` | an axis | the same axis, perhaps elsewhere |
//! | `(h p1)` | an axis that splits into h and p1, h the outer one | h and p1 merged |
//! | `...` or `…` | any number of axes, perhaps none; not in parentheses | the same axes; merged in parentheses |
//! | `1` or `()` | an axis of size 1, which goes | an axis of size 1 that is put in |
//! | `, p1=16` after the pattern | the size of p1; of each axis that splits, all sizes but one are needed | |
//!
//! The same names stand on both sides, each once: nothing is repeated (`tile` does that), and
//! nothing reduced. Names are letters, digits and `_`, with a letter first and no `_` last. A
//! pattern that only puts axes in another order is a [`Transpose`](trundle_core::ops::Transpose),
//! any other a [`Rearrange`](trundle_core::ops::Rearrange).
//!
//! The calls, their arguments and the order in which those go without a name are
//! [`DECLARATIONS`](trundle_core::ops::DECLARATIONS). `reverse` is a
//! [`ReverseSequence`](trundle_core::ops::ReverseSequence) if it has a batch axis. Of a call with a
//! single argument, as `transpose(2, 0, 1)`, all that has no name is one list.
//! Where a list is wanted, one integer is a list of one. Integers are of 64 bits. `axis` and `axes`
//! are the same argument, whichever of them a call has. In their place `dim` and `dims` take axes by their
//! names, and so does `batch_dim`: names are those of the tensor's file ([`AxisNames`]), and those that a pattern
//! before gives.
//!
//! `concat`, `stack` and what puts one tensor into another (`put_along_axis`, `scatter_nd`, `slice_scatter`) take tensors by their
//! names, all that have no argument's name. `_` is what the stages before give, and has to be one of them; in the first stage it is the tensor without a name that the chain is applied to. A first stage
//! without it takes none.
//!
//! Law: what an [`Op`] prints as is a stage that gives an equal operator, unless it has more
//! lengths than it prints, or lengths with a shape of their own, which print as a list, or is a
//! [`Rearrange`](trundle_core::ops::Rearrange) that a transpose would do for.
//!
//! `docs/chains.md` is about the same for those who use the program.

mod arguments;
mod call;
mod cursor;
mod error;
mod names;
mod numbers;
mod pattern;
mod placed;
mod side;
mod similar;
mod stage;

use std::ops::Range;

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

/// The stages of a chain, one at least, in the order in which they are applied.
///
/// # Errors
/// [`NotationError`] with the first place that is not of the language. Takes time in proportion to
/// the text, and of stages that name axes to the number of axes.
pub fn parse(text: &str) -> Result<Vec<Stage>, NotationError> {
    parse_named(text, &mut AxisNames::unknown())
}

/// The stages of a chain for a tensor whose axes have these names, in the order in which they are applied: none
/// that do nothing to it. The names are then those of the result.
///
/// # Errors
/// As [`parse`]; also for a name that no axis has, and for a stage that cannot be said of this tensor.
pub fn parse_named(text: &str, names: &mut AxisNames) -> Result<Vec<Stage>, NotationError> {
    stages(text, names).map_err(|fault| fault.within(text))
}

fn stages(text: &str, names: &mut AxisNames) -> Result<Vec<Stage>, Fault> {
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
        let read = stage(&mut cursor, names)?;
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
    Fault::new(bar, "empty stage").suggest("drop this \"|\", or write a stage beside it")
}

/// Checks that a stage behind others takes what they give.
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
    let message = "this stage does not take what the stages before give";
    Err(Fault::new(span.clone(), message).suggest("\"_\" among its tensors is that"))
}

/// Why a stage cannot be for a tensor that has fewer axes than others.
fn by_number(span: Range<usize>, lacked: &str) -> Fault {
    let lacked = quoted(lacked);
    let message = format!("there is no axis {lacked}, and this stage has axes by their numbers");
    Fault::new(span, message)
        .suggest("by their names, as in dims=[lat, lon], it is for tensors of fewer axes too")
}

/// Reads one stage. A name with a parenthesis is a call, anything else a pattern.
fn stage(cursor: &mut Cursor<'_>, names: &mut AxisNames) -> Result<Read, Fault> {
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
        // An axis may have the name of a stage: `roll (h w) -> h roll w`.
        if alone || !pattern::has_arrow_after_parentheses(cursor.rest()) {
            *cursor = end;
            return call::stage(&given?, names);
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
            Fault::new(name.span, format!("stage {} lacks its parentheses", quoted(name.text)))
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
