use std::ops::Range;

use super::error::{Fault, quoted};

/// A part of the string, and its range in bytes.
#[derive(Clone, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    /// In bytes, at a character boundary.
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Without trailing space.
    pub(super) fn since(&self, start: usize) -> Range<usize> {
        start..start + self.text[start..self.at].trim_end().len()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Empty at the end of the text.
    pub(super) fn here(&self) -> Range<usize> {
        self.at..self.at + self.peek().map_or(0, char::len_utf8)
    }

    pub(super) fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    pub(super) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> Word<'a> {
        let rest = self.rest();
        self.take(rest.find(|c| !belongs(c)).unwrap_or(rest.len()))
    }

    /// The bytes must end at a character boundary.
    pub(super) fn take(&mut self, bytes: usize) -> Word<'a> {
        let span = self.at..self.at + bytes;
        self.at = span.end;
        Word { text: &self.text[span.clone()], span }
    }

    /// Consumes the given number of bytes and returns a cursor over them.
    pub(super) fn take_apart(&mut self, bytes: usize) -> Cursor<'a> {
        let at = self.at;
        self.at += bytes;
        Cursor { text: &self.text[..self.at], at }
    }

    /// May be empty.
    pub(super) fn name(&mut self) -> Word<'a> {
        self.take_while(is_name_char)
    }

    pub(super) fn expected(&self, wanted: &str) -> Fault {
        let got = match self.peek() {
            Some(c) => quoted(c.encode_utf8(&mut [0; 4])),
            None => "the end of the chain".to_owned(),
        };
        Fault::new(self.here(), format!("expected {wanted}, got {got}"))
    }
}

pub(super) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
