//! Axis patterns: `h w c -> c h w`.

use std::collections::HashMap;
use std::ops::Range;

use trundle_core::ops::Transpose;

use super::cursor::{Cursor, Word, is_name_char};
use super::error::{Fault, quoted};
use super::similar::most_similar;

const ARROWS: [&str; 2] = ["->", "→"];

const ONLY_REORDERS: &str = "a pattern only reorders axes: each name stands once on both sides";

/// Reads a stage that has an arrow, up to its `|` or the end; `None` if it has none.
pub(super) fn split(cursor: &mut Cursor<'_>) -> Option<Result<Transpose, Fault>> {
    let rest = cursor.rest();
    let end = rest.find('|').unwrap_or(rest.len());
    let (at, arrow) = first_arrow(&rest[..end])?;
    let left = cursor.take(at);
    let arrow = cursor.take(arrow.len());
    let right = cursor.take(end - arrow.text.len() - at);
    Some(transpose(&left, &arrow, &right))
}

fn first_arrow(text: &str) -> Option<(usize, &'static str)> {
    ARROWS.into_iter().filter_map(|arrow| Some((text.find(arrow)?, arrow))).min()
}

/// The transpose from the names on the left to those on the right.
fn transpose(left: &Word<'_>, arrow: &Word<'_>, right: &Word<'_>) -> Result<Transpose, Fault> {
    let (from, to) = (names(left)?, names(right)?);
    if from.is_empty() && to.is_empty() {
        return Err(Fault::new(arrow.span.clone(), "pattern without axis names")
            .suggest("name the axes, as in h w c -> c h w"));
    }
    let sources = positions(&from, "left")?;
    let targets = positions(&to, "right")?;
    if let Some(missing) = to.iter().find(|name| !sources.contains_key(name.text)) {
        return Err(lone(missing, "right", "left", &from));
    }
    if let Some(missing) = from.iter().find(|name| !targets.contains_key(name.text)) {
        return Err(lone(missing, "left", "right", &to));
    }
    let order: Vec<i64> = to.iter().filter_map(|name| sources.get(name.text).copied()).collect();
    Ok(Transpose::new(&order))
}

/// Where each name stands in its list.
fn positions<'a>(names: &[Word<'a>], side: &str) -> Result<HashMap<&'a str, i64>, Fault> {
    let mut positions = HashMap::with_capacity(names.len());
    for (position, name) in (0..).zip(names) {
        if positions.insert(name.text, position).is_some() {
            let message = format!("axis {} stands twice on the {side}", quoted(name.text));
            return Err(Fault::new(name.span.clone(), message).suggest(ONLY_REORDERS));
        }
    }
    Ok(positions)
}

/// The fault that a name stands on one side only.
fn lone(name: &Word<'_>, side: &str, other: &str, others: &[Word<'_>]) -> Fault {
    let message =
        format!("axis {} stands on the {side}, but not on the {other}", quoted(name.text));
    let suggestion = match most_similar(name.text, others.iter().map(|other| other.text)) {
        Some(similar) => format!("did you mean {}?", quoted(similar)),
        None => ONLY_REORDERS.to_owned(),
    };
    Fault::new(name.span.clone(), message).suggest(suggestion)
}

/// The names of one side, between which there is space.
fn names<'a>(side: &Word<'a>) -> Result<Vec<Word<'a>>, Fault> {
    let mut cursor = Cursor::new(side.text);
    let mut names = Vec::new();
    loop {
        cursor.skip_space();
        let word = cursor.take_while(|c| !c.is_whitespace());
        if word.text.is_empty() {
            return Ok(names);
        }
        let begin = side.span.start + word.span.start;
        let word = Word { text: word.text, span: begin..begin + word.text.len() };
        match not_a_name(&word) {
            Some(fault) => return Err(fault),
            None => names.push(word),
        }
    }
}

/// What keeps a word from being the name of an axis.
fn not_a_name(word: &Word<'_>) -> Option<Fault> {
    let at = |begin: usize, part: &str| -> Range<usize> {
        let begin = word.span.start + begin;
        begin..begin + part.len()
    };
    for ellipsis in ["...", "…"] {
        if let Some(begin) = word.text.find(ellipsis) {
            return Some(
                Fault::new(at(begin, ellipsis), format!("\"{ellipsis}\" is not possible here"))
                    .suggest("name every axis"),
            );
        }
    }
    if let Some((begin, arrow)) = first_arrow(word.text) {
        return Some(
            Fault::new(at(begin, arrow), "second arrow in one pattern")
                .suggest("put \"|\" between two patterns"),
        );
    }
    if let Some((begin, c)) = word.text.char_indices().find(|(_, c)| !is_name_char(*c)) {
        let span = at(begin, &word.text[begin..begin + c.len_utf8()]);
        return Some(match c {
            '(' | ')' => Fault::new(span, "parentheses are not possible here")
                .suggest("a pattern only reorders axes, it neither splits nor merges them"),
            _ => {
                let c = quoted(c.encode_utf8(&mut [0; 4]));
                Fault::new(span, format!("{c} is not possible in the name of an axis"))
                    .suggest("names are letters, digits and \"_\", with space between them")
            }
        });
    }
    if word.text.starts_with(char::is_numeric) {
        let message = format!("axis {} begins with a digit", quoted(word.text));
        return Some(
            Fault::new(word.span.clone(), message)
                .suggest("a pattern only reorders axes and names every one, also those of size 1"),
        );
    }
    None
}
