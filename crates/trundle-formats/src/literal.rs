//! Parses Python literals, such as the header of an .npy file.

use std::fmt;

/// The deepest nesting of brackets: Python's own limit.
const MAX_DEPTH: usize = 200;

/// A Python literal of a kind that describes element types. It is displayed like Python's `repr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    Str(String),
    Int(i64),
    Bool(bool),
    None,
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    what: String,
    /// The number of characters before the error.
    at: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}", self.what, self.at)
    }
}

impl Literal {
    /// Parses a text that is one literal, with optional white space around it.
    pub(crate) fn parse(text: &str) -> Result<Literal, SyntaxError> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.skip_space();
        match parser.peek() {
            None => Ok(value),
            Some(_) => Err(parser.expected("the end")),
        }
    }
}

impl Literal {
    /// Returns the literal as JSON, with tuples as lists; `None` if it has values that element types do not have.
    #[cfg(feature = "zarr")]
    pub(crate) fn to_json(&self) -> Option<serde_json::Value> {
        Some(match self {
            Literal::Str(text) => text.as_str().into(),
            Literal::Int(number) => (*number).into(),
            Literal::Tuple(items) | Literal::List(items) => {
                items.iter().map(Literal::to_json).collect::<Option<Vec<_>>>()?.into()
            }
            _ => return None,
        })
    }
}

/// A position in a text. Each method reads one item and moves past it.
struct Parser<'a> {
    text: &'a str,
    /// The number of bytes before the position.
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Reads `wanted` if it comes next, and returns whether it did.
    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|next| !belongs(next)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn skip_space(&mut self) {
        self.take_while(|next| matches!(next, ' ' | '\t' | '\n' | '\r' | '\x0c'));
    }

    fn error(&self, what: impl Into<String>) -> SyntaxError {
        SyntaxError { what: what.into(), at: self.text[..self.at].chars().count() }
    }

    fn expected(&self, wanted: &str) -> SyntaxError {
        match self.peek() {
            Some(found) => self.error(format!("expected {wanted}, found {found:?}")),
            None => self.error(format!("expected {wanted}, found the end")),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Literal, SyntaxError> {
        self.skip_space();
        if depth > MAX_DEPTH {
            return Err(
                self.error(format!("brackets are nested more than {MAX_DEPTH} levels deep"))
            );
        }
        match self.peek() {
            Some('(') => self.tuple(depth),
            Some('[') => Ok(Literal::List(self.values(']', depth)?.0)),
            Some('{') => self.dict(depth),
            Some('\'' | '"') => self.string(),
            Some('+' | '-' | '0'..='9') => self.int(),
            _ => self.word(),
        }
    }

    /// Reads an opening bracket, comma-separated items, and `close`. Returns whether there was a comma.
    fn items(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), SyntaxError>,
    ) -> Result<bool, SyntaxError> {
        self.next();
        let mut comma = false;
        loop {
            self.skip_space();
            if self.eat(close) {
                return Ok(comma);
            }
            item(self)?;
            self.skip_space();
            if self.eat(',') {
                comma = true;
            } else if self.eat(close) {
                return Ok(comma);
            } else {
                return Err(self.expected(&format!("',' or '{close}'")));
            }
        }
    }

    /// Reads the values in brackets. Also returns whether there was a comma.
    fn values(&mut self, close: char, depth: usize) -> Result<(Vec<Literal>, bool), SyntaxError> {
        let mut values = Vec::new();
        let comma = self.items(close, |parser| {
            values.push(parser.value(depth + 1)?);
            Ok(())
        })?;
        Ok((values, comma))
    }

    /// Reads a tuple, or a single value in brackets without a comma.
    fn tuple(&mut self, depth: usize) -> Result<Literal, SyntaxError> {
        let (mut items, comma) = self.values(')', depth)?;
        match items.len() {
            1 if !comma => Ok(items.remove(0)),
            _ => Ok(Literal::Tuple(items)),
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Literal, SyntaxError> {
        let mut entries = Vec::new();
        self.items('}', |parser| {
            let key = parser.value(depth + 1)?;
            parser.skip_space();
            if !parser.eat(':') {
                return Err(parser.expected("':'"));
            }
            entries.push((key, parser.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Literal::Dict(entries))
    }

    fn word(&mut self) -> Result<Literal, SyntaxError> {
        let start = self.at;
        match self.take_while(|next| next.is_ascii_alphanumeric()) {
            "True" => Ok(Literal::Bool(true)),
            "False" => Ok(Literal::Bool(false)),
            "None" => Ok(Literal::None),
            // Python 2 writes this letter before a Unicode string.
            "u" | "U" if matches!(self.peek(), Some('\'' | '"')) => self.string(),
            _ => {
                self.at = start;
                Err(self.expected("a value"))
            }
        }
    }

    fn int(&mut self) -> Result<Literal, SyntaxError> {
        let start = self.at;
        if matches!(self.peek(), Some('+' | '-')) {
            self.next();
        }
        let digits = self.take_while(|next| next.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.expected("a digit"));
        }
        if digits.len() > 1 && digits.starts_with('0') {
            // Octal in Python 2, and an error in Python 3.
            return Err(self.error(format!("expected no leading 0, found {digits}")));
        }
        let number = &self.text[start..self.at];
        let value = number
            .parse()
            .map_err(|_| self.error(format!("{number} is not within the range of i64")))?;
        // Python 2 writes an L after a long integer.
        self.eat('L');
        Ok(Literal::Int(value))
    }

    fn string(&mut self) -> Result<Literal, SyntaxError> {
        let quote = self.next();
        let mut value = String::new();
        loop {
            match self.next() {
                next if next == quote => return Ok(Literal::Str(value)),
                Some('\\') => value.extend(self.escape()?),
                Some('\n') | None => return Err(self.expected("the end of a string")),
                Some(next) => value.push(next),
            }
        }
    }

    /// Reads an escape sequence after its backslash; `None` if it continues the line.
    fn escape(&mut self) -> Result<Option<char>, SyntaxError> {
        let char = match self.peek() {
            Some('\n') => {
                self.next();
                return Ok(None);
            }
            Some(same @ ('\\' | '\'' | '"')) => same,
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some('x') => return self.code(2).map(Some),
            Some('u') => return self.code(4).map(Some),
            Some('U') => return self.code(8).map(Some),
            _ => return Err(self.expected("an escape sequence")),
        };
        self.next();
        Ok(Some(char))
    }

    /// Reads a character code of exactly `digits` hexadecimal digits, after its letter.
    fn code(&mut self, digits: usize) -> Result<char, SyntaxError> {
        self.next();
        let code = self
            .rest()
            .get(..digits)
            .filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .ok_or_else(|| self.expected(&format!("{digits} hexadecimal digits")))?;
        let char = u32::from_str_radix(code, 16)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| self.error(format!("{code} is not a character")))?;
        self.at += digits;
        Ok(char)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Str(text) => write_string(f, text),
            Literal::Int(value) => value.fmt(f),
            Literal::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Literal::None => f.write_str("None"),
            Literal::Tuple(items) if items.len() == 1 => write!(f, "({},)", items[0]),
            Literal::Tuple(items) => write!(f, "({})", joined(items)),
            Literal::List(items) => write!(f, "[{}]", joined(items)),
            Literal::Dict(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{key}: {value}"));
                write!(f, "{{{}}}", joined(entries))
            }
        }
    }
}

fn joined(items: impl IntoIterator<Item: fmt::Display>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    write!(f, "{quote}")?;
    for char in text.chars() {
        match char {
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            _ if char == quote => write!(f, "\\{char}")?,
            _ if is_printable(char) => write!(f, "{char}")?,
            '\0'..='\u{ff}' => write!(f, "\\x{:02x}", u32::from(char))?,
            '\u{100}'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(char))?,
            _ => write!(f, "\\U{:08x}", u32::from(char))?,
        }
    }
    write!(f, "{quote}")
}

/// Returns whether a character is printed as itself, by the rule that Rust and Python share. It is tested in second
/// position, because `escape_debug` escapes a combining mark in first position.
fn is_printable(char: char) -> bool {
    matches!(char, '\'' | '"') || ['a', char].iter().collect::<String>().escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Literal::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn literals_are_parsed_as_in_python() {
        for (text, repr) in [
            ("'a'", "'a'"),
            ("\"a'b\"", "\"a'b\""),
            (r#"'\'"'"#, r#"'\'"'"#),
            (r"'\x41\u00e9\U0001f600\\\n\t\r'", r"'Aé😀\\\n\t\r'"),
            (r"'\a\b\f\v\x7f\xad'", r"'\x07\x08\x0c\x0b\x7f\xad'"),
            (r"'\u2028\U000e0001'", r"'\u2028\U000e0001'"),
            ("'e\u{301}'", "'e\u{301}'"),
            ("'a\\\nb'", "'ab'"),
            ("u'a'", "'a'"),
            ("-12", "-12"),
            ("+3L", "3"),
            ("()", "()"),
            ("(1)", "1"),
            ("(1,)", "(1,)"),
            ("( 1 ,\n2)", "(1, 2)"),
            ("[True, False,None,]", "[True, False, None]"),
            ("{}", "{}"),
            (" {'a': 1, 'b' : [(2,)], }\n", "{'a': 1, 'b': [(2,)]}"),
        ] {
            assert_eq!(Literal::parse(text).unwrap().to_string(), repr, "{text}");
        }
    }

    #[test]
    fn wrong_literals_are_refused_with_the_position() {
        for (text, message) in [
            ("", "expected a value, found the end at character 0"),
            ("{'a'", "expected ':', found the end at character 4"),
            ("{'é' 1}", "expected ':', found '1' at character 5"),
            ("[1 2]", "expected ',' or ']', found '2' at character 3"),
            ("(,)", "expected a value, found ',' at character 1"),
            ("'ab", "expected the end of a string, found the end at character 3"),
            ("1 2", "expected the end, found '2' at character 2"),
            ("Truey", "expected a value, found 'T' at character 0"),
            ("__import__('os')", "expected a value, found '_' at character 0"),
            ("b'a'", "expected a value, found 'b' at character 0"),
            (r"'\q'", "expected an escape sequence, found 'q' at character 2"),
            (r"'\x4é'", "expected 2 hexadecimal digits, found '4' at character 3"),
            (r"'\x+4'", "expected 2 hexadecimal digits, found '+' at character 3"),
            (r"'\ud800'", "d800 is not a character at character 3"),
            ("-", "expected a digit, found the end at character 1"),
            ("007", "expected no leading 0, found 007 at character 3"),
            ("0x10", "expected the end, found 'x' at character 1"),
            (
                "99999999999999999999",
                "99999999999999999999 is not within the range of i64 at character 20",
            ),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
    }

    #[test]
    fn the_nesting_of_brackets_is_limited() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Literal::parse(&nested(MAX_DEPTH)).is_ok());
        for open in ["[", "(", "{1:"] {
            let expected = format!("brackets are nested more than {MAX_DEPTH} levels deep");
            assert!(error(&open.repeat(1 << 20)).starts_with(&expected));
        }
    }
}
