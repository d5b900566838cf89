//! Parses one side of a pattern: `b (h p1) ...`.

use std::ops::Range;

use trundle_core::ops::{Group, Part};

use super::cursor::{Cursor, Word, is_name_char};
use super::error::{Fault, quoted};
use super::pattern::{ONLY_REARRANGES, first_arrow};

const ELLIPSES: [&str; 2] = ["...", "…"];

const NAMES: &str = "a name starts with a letter, continues with letters, digits and inner \"_\", and names are separated by spaces";

#[derive(Default)]
pub(super) struct WrittenSide<'a> {
    pub(super) groups: Vec<Group>,
    /// The range of each group, with its parentheses.
    pub(super) spans: Vec<Range<usize>>,
    /// The names and ellipses of all groups.
    words: Vec<Word<'a>>,
}

impl<'a> WrittenSide<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<WrittenSide<'a>, Fault> {
        let mut side = WrittenSide::default();
        // The parts so far in an open parenthesis, and its range.
        let mut open: Option<(Vec<Part>, Range<usize>)> = None;
        loop {
            cursor.skip_space();
            let here = cursor.here();
            if here.is_empty() {
                return match open {
                    Some((_, begin)) => Err(Fault::new(begin, "\"(\" is never closed")),
                    None => Ok(side),
                };
            }
            if cursor.eat('(') {
                if open.replace((Vec::new(), here.clone())).is_some() {
                    return Err(Fault::new(here, "parentheses in parentheses")
                        .suggest("list all parts in one group, as in (a b c)"));
                }
            } else if cursor.eat(')') {
                let Some((parts, begin)) = open.take() else {
                    return Err(Fault::new(here, "\")\" was never opened"));
                };
                side.push(Group::Merged(parts), begin.start..here.end);
            } else {
                let word = cursor.take_while(|c| !c.is_whitespace() && !matches!(c, '(' | ')'));
                let part = part(&word)?;
                let span = word.span.clone();
                if part.is_some() {
                    side.words.push(word);
                }
                match (&mut open, part) {
                    (Some((parts, _)), part) => parts.extend(part),
                    (None, Some(Part::Ellipsis)) => side.push(Group::Ellipsis, span),
                    (None, part) => side.push(Group::Merged(part.into_iter().collect()), span),
                }
            }
        }
    }

    fn push(&mut self, group: Group, span: Range<usize>) {
        self.groups.push(group);
        self.spans.push(span);
    }

    pub(super) fn span(&self) -> Option<Range<usize>> {
        Some(self.spans.first()?.start..self.spans.last()?.end)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.words.iter().map(|word| word.text).filter(|text| !ELLIPSES.contains(text))
    }

    pub(super) fn spans_of<'b>(&'b self, name: &'b str) -> impl Iterator<Item = Range<usize>> + 'b {
        self.words.iter().filter(move |word| word.text == name).map(|word| word.span.clone())
    }

    pub(super) fn ellipses(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let is_ellipsis = |word: &&Word<'_>| ELLIPSES.contains(&word.text);
        self.words.iter().filter(is_ellipsis).map(|word| word.span.clone())
    }
}

/// Returns `None` for the part `1`.
fn part(word: &Word<'_>) -> Result<Option<Part>, Fault> {
    if ELLIPSES.contains(&word.text) {
        return Ok(Some(Part::Ellipsis));
    }
    if word.text.bytes().all(|byte| byte.is_ascii_digit()) {
        return one(word);
    }
    match not_a_name(word) {
        Some(fault) => Err(fault),
        None => Ok(Some(Part::Axis(word.text.to_owned()))),
    }
}

/// Returns `None` for 1, and a fault for any other number.
fn one(word: &Word<'_>) -> Result<Option<Part>, Fault> {
    if word.text.trim_start_matches('0') == "1" {
        return Ok(None);
    }
    let message = format!("the only number allowed in a pattern is 1, got {}", quoted(word.text));
    Err(Fault::new(word.span.clone(), message).suggest(ONLY_REARRANGES))
}

fn not_a_name(word: &Word<'_>) -> Option<Fault> {
    let at = |begin: usize, part: &str| -> Range<usize> {
        let begin = word.span.start + begin;
        begin..begin + part.len()
    };
    for ellipsis in ELLIPSES {
        if let Some(begin) = word.text.find(ellipsis) {
            let message = format!("\"{ellipsis}\" in the name of an axis");
            return Some(
                Fault::new(at(begin, ellipsis), message)
                    .suggest(format!("write spaces around \"{ellipsis}\"")),
            );
        }
    }
    if let Some((begin, arrow)) = first_arrow(word.text) {
        return Some(
            Fault::new(at(begin, arrow), "a pattern has only one arrow")
                .suggest("put \"|\" between two patterns"),
        );
    }
    if let Some((begin, c)) = word.text.char_indices().find(|(_, c)| !is_name_char(*c)) {
        let c = &word.text[begin..begin + c.len_utf8()];
        let message = format!("{} is not allowed in the name of an axis", quoted(c));
        return Some(Fault::new(at(begin, c), message).suggest(NAMES));
    }
    let what = if word.text.starts_with('_') {
        "begins with \"_\""
    } else if word.text.ends_with('_') {
        "ends with \"_\""
    } else if !word.text.starts_with(char::is_alphabetic) {
        "begins with a digit"
    } else {
        return None;
    };
    let message = format!("axis {} {what}", quoted(word.text));
    Some(Fault::new(word.span.clone(), message).suggest(NAMES))
}
