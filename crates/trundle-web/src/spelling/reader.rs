//! Reads an expression of Python, as far as chains need it.

use crate::question::Refusal;

use super::call::{Argument, Value};
use super::fault;

/// What a comma separates between brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// `...`
    Rest,
    /// `None`: a new axis.
    New,
    At(i64),
    /// `start:stop:step`
    Slice([Option<i64>; 3]),
}

impl Item {
    pub(super) fn takes_an_axis(self) -> bool {
        !matches!(self, Item::Rest | Item::New)
    }
}

pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0 }
    }

    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    pub(super) fn at(&mut self) -> usize {
        self.rest();
        self.at
    }

    pub(super) fn peeks(&mut self, expected: char) -> bool {
        self.rest().starts_with(expected)
    }

    pub(super) fn eats(&mut self, expected: char) -> bool {
        self.eats_text(expected.encode_utf8(&mut [0; 4]))
    }

    fn eats_text(&mut self, expected: &str) -> bool {
        let is_next = self.rest().starts_with(expected);
        self.at += if is_next { expected.len() } else { 0 };
        is_next
    }

    pub(super) fn expect(&mut self, expected: char) -> Result<(), Refusal> {
        match self.eats(expected) {
            true => Ok(()),
            false => Err(self.expected(&format!("\"{expected}\""))),
        }
    }

    pub(super) fn end(&mut self) -> Result<(), Refusal> {
        match self.rest() {
            "" => Ok(()),
            _ => Err(self.expected("the end, a method or an index")),
        }
    }

    pub(super) fn expected(&mut self, what: &str) -> Refusal {
        let start = self.at();
        let next = self.text[start..].chars().next().map_or(0, char::len_utf8);
        fault(self.text, start..start + next, format!("expected {what}"))
    }

    /// Makes the error for the text from `start` to here.
    pub(super) fn fault(&self, start: usize, message: impl Into<String>) -> Refusal {
        fault(self.text, start..self.at, message)
    }

    pub(super) fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        self.at += if starts { end } else { 0 };
        starts.then_some(name)
    }

    fn integer(&mut self) -> Option<i64> {
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let sign = rest.len() - digits.len();
        let end = sign + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let number = rest[..end].parse().ok()?;
        self.at += end;
        Some(number)
    }

    /// Reads arguments and the bracket that closes them.
    pub(super) fn arguments(&mut self, close: char) -> Result<Vec<Argument>, Refusal> {
        let mut arguments = Vec::new();
        while !self.eats(close) {
            let before = self.at;
            let keyword = self.name().filter(|_| self.eats('='));
            if keyword.is_none() {
                self.at = before;
                if arguments.iter().any(|each: &Argument| each.keyword.is_some()) {
                    return Err(self.expected("a keyword, because there is one before"));
                }
            }
            let value = self.value()?;
            arguments.push(Argument { keyword: keyword.map(str::to_owned), value });
            if !self.eats(',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(arguments)
    }

    fn value(&mut self) -> Result<Value, Refusal> {
        for (open, close) in [('(', ')'), ('[', ']')] {
            if self.eats(open) {
                let start = self.at;
                let values = self.arguments(close)?;
                if values.iter().any(|each| each.keyword.is_some()) {
                    return Err(self.fault(start, "a list has no keywords"));
                }
                return Ok(Value::List(values.into_iter().map(|each| each.value).collect()));
            }
        }
        for quote in ['"', '\''] {
            if self.eats(quote) {
                let rest = &self.text[self.at..];
                let end = rest.find(quote).ok_or_else(|| self.expected("a quote at the end"))?;
                self.at += end + 1;
                return Ok(Value::Text(rest[..end].to_owned()));
            }
        }
        if let Some(number) = self.integer() {
            return Ok(Value::Integer(number));
        }
        match self.name() {
            Some("None") => Ok(Value::Nothing),
            Some(name) => Ok(Value::Text(name.to_owned())),
            None => Err(self.expected("a number, a list or a string")),
        }
    }

    /// Reads the items of an index and the bracket that closes it.
    pub(super) fn index_items(&mut self) -> Result<Vec<Item>, Refusal> {
        let mut items = Vec::new();
        while !self.eats(']') {
            let start = self.at();
            if self.eats_text("...") {
                if items.contains(&Item::Rest) {
                    return Err(self.fault(start, "\"...\" is there twice"));
                }
                items.push(Item::Rest);
            } else if self.eats_text("None") || self.eats_text("np.newaxis") {
                items.push(Item::New);
            } else {
                items.push(self.index_item()?);
            }
            if !self.eats(',') && !self.peeks(']') {
                return Err(self.expected("\",\" or \"]\""));
            }
        }
        Ok(items)
    }

    fn index_item(&mut self) -> Result<Item, Refusal> {
        let first = self.integer();
        if !self.eats(':') {
            return first.map(Item::At).ok_or_else(|| self.expected("a slice or an integer"));
        }
        let stop = self.integer();
        let start = self.at();
        let step = if self.eats(':') { self.integer() } else { None };
        if step == Some(0) {
            return Err(self.fault(start, "a step of 0"));
        }
        Ok(Item::Slice([first, stop, step]))
    }
}
