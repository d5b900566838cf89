//! The errors of parsing, which show the chain with carets under the fault.

use std::fmt;
use std::ops::Range;

/// The reason why a string is not a chain.
///
/// Prints several lines: the message, the chain with carets under the fault, and a suggestion if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotationError {
    /// The message, in one line.
    pub message: String,
    /// The whole string.
    pub text: String,
    /// The range of the fault in `text`, in bytes; empty if something is missing.
    pub span: Range<usize>,
    /// A correction, in one line.
    pub suggestion: Option<String>,
}

impl NotationError {
    /// Creates an error about `text`, which may contain more than the chain.
    pub fn new(message: impl Into<String>, text: &str, span: Range<usize>) -> NotationError {
        Fault::new(span, message).within(text)
    }
}

impl std::error::Error for NotationError {}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, Snippet { text: &self.text, span: &self.span })?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "\n  {suggestion}"),
            None => Ok(()),
        }
    }
}

/// A [`NotationError`] without its text.
#[derive(Debug)]
pub(crate) struct Fault {
    message: String,
    span: Range<usize>,
    suggestion: Option<String>,
}

impl Fault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Fault {
        Fault { message: message.into(), span, suggestion: None }
    }

    #[must_use]
    pub(crate) fn suggest(self, suggestion: impl Into<String>) -> Fault {
        Fault { suggestion: Some(suggestion.into()), ..self }
    }

    #[must_use]
    pub(super) fn suggest_if_any(self, suggestion: Option<String>) -> Fault {
        Fault { suggestion, ..self }
    }

    pub(crate) fn within(self, text: &str) -> NotationError {
        NotationError {
            message: self.message,
            text: text.to_owned(),
            span: self.span,
            suggestion: self.suggestion,
        }
    }
}

/// Quotes, escapes and truncates a word of the user for a message.
pub(crate) fn quoted(word: &str) -> String {
    const MOST_CHARS: usize = 40;
    match word.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{:?}...", &word[..end]),
        None => format!("{word:?}"),
    }
}

/// Prints two lines below a message: the line of `text` where `span` begins, and carets under it.
///
/// Each character is assumed to take one column; a tab in the line becomes a tab before the carets. A long line is
/// truncated on both sides. Prints nothing if `text` is blank.
pub(crate) struct Snippet<'a> {
    pub(crate) text: &'a str,
    pub(crate) span: &'a Range<usize>,
}

impl fmt::Display for Snippet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_BEFORE: usize = 60;
        const MOST_MARKED: usize = 60;
        const MOST_AFTER: usize = 30;
        let upto = self.text.get(..self.span.start).unwrap_or_default();
        let from = self.text.get(self.span.start..).unwrap_or_default();
        let line_before = upto.rsplit('\n').next().unwrap_or_default();
        let line_from = from.split('\n').next().unwrap_or_default();
        if self.text.trim().is_empty() {
            return Ok(());
        }
        let (marked, after) =
            line_from.split_at_checked(self.span.len()).unwrap_or((line_from, ""));

        let before = last_chars(line_before, MOST_BEFORE);
        let is_cut = marked.chars().nth(MOST_MARKED).is_some();
        let marked = first_chars(marked, MOST_MARKED);
        let after = if is_cut { String::new() } else { first_chars(after, MOST_AFTER) };
        let indent: String = before.chars().map(|c| if c == '\t' { c } else { ' ' }).collect();
        let carets = "^".repeat(marked.chars().count().max(1));
        write!(f, "\n  {before}{marked}{after}\n  {indent}{carets}")
    }
}

fn first_chars(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => line[..end].chars().map(printable).chain("...".chars()).collect(),
        None => line.chars().map(printable).collect(),
    }
}

fn last_chars(line: &str, most: usize) -> String {
    match line.char_indices().rev().nth(most) {
        Some((begin, first)) => {
            let kept = &line[begin + first.len_utf8()..];
            "...".chars().chain(kept.chars().map(printable)).collect()
        }
        None => line.chars().map(printable).collect(),
    }
}

/// Replaces control characters, which would move the cursor.
fn printable(c: char) -> char {
    if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Range<usize>) -> String {
        Snippet { text, span: &span }.to_string()
    }

    #[test]
    fn carets_stand_under_the_span_by_characters_and_tabs() {
        assert_eq!(shown("ab cd ef", 3..5), "\n  ab cd ef\n     ^^");
        assert_eq!(shown("äö→ ü x", 8..10), "\n  äö→ ü x\n      ^");
        assert_eq!(shown("a\tb", 2..3), "\n  a\tb\n   \t^");
        assert_eq!(shown("ab", 2..2), "\n  ab\n    ^");
        assert_eq!(shown("", 0..0), "");
        assert_eq!(shown(" \n", 2..2), "");
        assert_eq!(shown("a\n \nb", 3..3), "\n   \n   ^");
        assert_eq!(shown("a ... b", 2..5), "\n  a ... b\n    ^^^");
    }

    #[test]
    fn only_the_line_of_the_span_is_shown() {
        assert_eq!(shown("one\ntwo\nthree", 5..6), "\n  two\n   ^");
        assert_eq!(shown("one\ntwo", 2..6), "\n  one\n    ^");
        assert_eq!(shown("one\ntwo", 3..3), "\n  one\n     ^");
        assert_eq!(shown("a\u{1b}[2J\rb", 6..7), "\n  a\u{fffd}[2J\u{fffd}b\n        ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_span() {
        let line = "x".repeat(100) + "yy" + &"z".repeat(100);
        assert_eq!(
            shown(&line, 100..102),
            format!("\n  ...{}yy{}...\n  {}^^", "x".repeat(60), "z".repeat(30), " ".repeat(63))
        );
        assert_eq!(
            shown(&line, 0..202),
            format!("\n  {}...\n  {}", "x".repeat(60), "^".repeat(63))
        );
    }

    #[test]
    fn a_span_outside_the_text_is_shown_without_a_panic() {
        assert_eq!(shown("aä", 2..9), "\n  \n  ^");
    }
}
