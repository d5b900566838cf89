//! Parses the arguments of a call: `(shift=[-1, 2], axes=[0, 1])`.

use std::num::{IntErrorKind, ParseIntError};
use std::ops::Range;
use std::ptr;
use std::str::FromStr;

use trundle_core::ops::{Declaration, Kind, Operand, Parameter, Roll, Scalar};

use super::call;
use super::cursor::{Cursor, Word};
use super::error::{Fault, quoted};
use super::names::{Given, NameError, dim_words};
use super::similar::most_similar;

pub(super) struct Value<'a> {
    pub(super) span: Range<usize>,
    form: ArgumentForm<'a>,
}

enum ArgumentForm<'a> {
    /// An integer or a file name, depending on the parameter.
    Bare(&'a str),
    Quoted {
        /// The word with its quotes.
        written: &'a str,
        name: &'a str,
    },
    List(Vec<Word<'a>>),
    /// Lists in a list, with their ranges, and the range of the first inner opening bracket.
    Lists(Vec<(Vec<Word<'a>>, Range<usize>)>, Range<usize>),
}

fn unquoted(word: &str) -> &str {
    let within = |quote| word.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(word)
}

impl<'a> Value<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Value<'a>, Fault> {
        let start = cursor.at();
        let form = match cursor.peek() {
            Some('[' | '(') => {
                let (mut words, mut lists, mut inner) = (Vec::new(), Vec::new(), None);
                separated(cursor, |cursor| {
                    if !matches!(cursor.peek(), Some('[' | '(')) {
                        words.push(list_entry(cursor)?);
                        return Ok(());
                    }
                    let (start, mut list) = (cursor.at(), Vec::new());
                    inner.get_or_insert(cursor.here());
                    separated(cursor, |cursor| {
                        list.push(list_entry(cursor)?);
                        Ok(())
                    })?;
                    lists.push((list, start..cursor.at()));
                    Ok(())
                })?;
                match inner {
                    None => ArgumentForm::List(words),
                    Some(first) if !words.is_empty() => return Err(list_in_list(first)),
                    Some(first) => ArgumentForm::Lists(lists, first),
                }
            }
            Some(quote @ ('"' | '\'')) => {
                let written = quoted_entry(cursor, quote)?.text;
                ArgumentForm::Quoted { written, name: unquoted(written) }
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ')' | '|');
                let word = cursor.take_while(|c| !ends(c));
                if word.text.is_empty() {
                    return Err(cursor.expected("a value"));
                }
                ArgumentForm::Bare(word.text)
            }
        };
        Ok(Value { span: start..cursor.at(), form })
    }

    /// A file name is in quotes, or a word that is not an integer.
    pub(super) fn as_file(&self) -> Option<&'a str> {
        match self.form {
            ArgumentForm::Quoted { name, .. } => Some(name),
            ArgumentForm::Bare(text) => (!is_integer(text)).then_some(text),
            ArgumentForm::List(_) | ArgumentForm::Lists(..) => None,
        }
    }

    /// A single word is a list of one.
    pub(super) fn words(&self) -> Vec<Word<'a>> {
        match &self.form {
            ArgumentForm::Bare(text) | ArgumentForm::Quoted { written: text, .. } => {
                vec![Word { text, span: self.span.clone() }]
            }
            ArgumentForm::List(words) => words.clone(),
            ArgumentForm::Lists(lists, _) => {
                lists.iter().flat_map(|(words, _)| words.clone()).collect()
            }
        }
    }

    /// Whether the value is one or several names, and not integers.
    fn is_of_names(&self) -> bool {
        let words = self.words();
        !words.is_empty() && words.iter().all(|word| !is_integer(unquoted(word.text)))
    }

    pub(super) fn operands(&self, name: &str) -> Result<Vec<Operand>, Fault> {
        if let ArgumentForm::Lists(_, first) = &self.form {
            return Err(Fault::new(first.clone(), "list in a list"));
        }
        let operand = |word: Word<'a>| match is_integer(word.text) {
            false => Ok(Operand::new(unquoted(word.text))),
            true => {
                let message = format!("{name} must be names of tensors, got {}", quoted(word.text));
                Err(Fault::new(word.span, message)
                    .suggest("write the name of every other argument, as in axis=0"))
            }
        };
        self.words().into_iter().map(operand).collect()
    }

    /// Fails if the value is a list.
    fn single(&self, name: &str, kind: &str) -> Result<&'a str, Fault> {
        match &self.form {
            ArgumentForm::Bare(text) | ArgumentForm::Quoted { name: text, .. } => Ok(text),
            ArgumentForm::List(_) | ArgumentForm::Lists(..) => {
                let message = format!("{name} must be one {kind}, got a list");
                Err(Fault::new(self.span.clone(), message))
            }
        }
    }

    /// Returns the list of a [`Scalar`].
    fn value(&self, name: &str) -> Result<Vec<i64>, Fault> {
        let text = self.single(name, "number")?;
        let refused =
            |error| Fault::new(self.span.clone(), format!("{name} {error}, got {}", quoted(text)));
        text.parse().map(|value: Scalar| value.list().to_vec()).map_err(refused)
    }

    fn check_lists(&self, parameter: &Parameter) -> Result<(), Fault> {
        let ArgumentForm::Lists(lists, first) = &self.form else { return Ok(()) };
        if parameter.kind != Kind::Pairs {
            return Err(list_in_list(first.clone()));
        }
        match lists.iter().find(|(words, _)| words.len() != 2) {
            None => Ok(()),
            Some((words, span)) => {
                let (name, count) = (parameter.name, words.len());
                let message = format!("{name} must be pairs of integers, got a list of {count}");
                Err(Fault::new(span.clone(), message))
            }
        }
    }

    fn choice(&self, name: &str, words: &[&'static str]) -> Result<i64, Fault> {
        let text = self.single(name, "word")?;
        let found = (0..).zip(words).find(|(_, word)| **word == text);
        found.map(|(number, _)| number).ok_or_else(|| {
            let (words_listed, got) = (words.join(", "), quoted(text));
            let message = format!("{name} must be one of {words_listed}, got {got}");
            let similar = most_similar(text, words.iter().copied());
            let suggestion = similar.map(|similar| format!("did you mean \"{similar}\"?"));
            Fault::new(self.span.clone(), message).suggest_if_any(suggestion)
        })
    }

    fn gathered(parameter: &Parameter, values: &[Value<'a>]) -> Result<Value<'a>, Fault> {
        let mut words = Vec::with_capacity(values.len());
        for value in values {
            if let ArgumentForm::List(_) | ArgumentForm::Lists(..) = value.form {
                let entries = if parameter.kind.is_tensors() { "names" } else { "integers" };
                let name = parameter.name;
                let message = format!("{name} must be {entries} or one list, got both");
                return Err(Fault::new(value.span.clone(), message));
            }
            words.extend(value.words());
        }
        let spans = values.iter().map(|value| value.span.clone());
        let span = spans.reduce(|first, last| first.start..last.end).unwrap_or_default();
        Ok(Value { span, form: ArgumentForm::List(words) })
    }
}

fn list_entry<'a>(cursor: &mut Cursor<'a>) -> Result<Word<'a>, Fault> {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | ')' | '[' | '(' | '|');
    if let Some(quote @ ('"' | '\'')) = cursor.peek() {
        return quoted_entry(cursor, quote);
    }
    let word = cursor.take_while(|c| !ends(c));
    match cursor.peek() {
        _ if !word.text.is_empty() => Ok(word),
        Some('[' | '(') => Err(list_in_list(cursor.here())),
        _ => Err(cursor.expected("an integer")),
    }
}

fn list_in_list(span: Range<usize>) -> Fault {
    Fault::new(span, "list in a list").suggest("write one list")
}

fn quoted_entry<'a>(cursor: &mut Cursor<'a>, quote: char) -> Result<Word<'a>, Fault> {
    match cursor.rest()[1..].find(quote) {
        Some(length) => Ok(cursor.take(length + 2)),
        None => Err(Fault::new(cursor.here(), "quote is never closed")),
    }
}

/// Reads a list in brackets or parentheses; a trailing comma is allowed.
pub(super) fn separated<'a>(
    cursor: &mut Cursor<'a>,
    mut item: impl FnMut(&mut Cursor<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let opening = cursor.here();
    let (open, close) = if cursor.peek() == Some('[') { ('[', ']') } else { ('(', ')') };
    let never_closed = || Fault::new(opening.clone(), format!("\"{open}\" is never closed"));
    cursor.eat(open);
    loop {
        cursor.skip_space();
        if cursor.eat(close) {
            return Ok(());
        }
        if matches!(cursor.peek(), None | Some('|')) {
            return Err(never_closed());
        }
        item(cursor)?;
        cursor.skip_space();
        match cursor.peek() {
            None | Some('|') => return Err(never_closed()),
            Some(c) if c == close => {}
            _ if cursor.eat(',') => {}
            _ => return Err(cursor.expected(&format!("\",\" or \"{close}\""))),
        }
    }
}

pub(super) struct Arguments<'a> {
    pub(super) declared: &'static Declaration,
    call: Range<usize>,
    /// For each parameter, its value and whether the value consists of axis names.
    values: Vec<Option<(Value<'a>, bool)>>,
}

impl<'a> Arguments<'a> {
    pub(super) fn bind(
        declared: &'static Declaration,
        call: Range<usize>,
        mut unnamed: Vec<Value<'a>>,
        named: Vec<(Word<'a>, Value<'a>)>,
    ) -> Result<Arguments<'a>, Fault> {
        let parameters = declared.parameters;
        let takes_all =
            |parameter: &Parameter| parameters.len() == 1 || parameter.kind.is_tensors();
        if let Some(parameter) = parameters.first().filter(|first| takes_all(first))
            && unnamed.len() > 1
        {
            unnamed = vec![Value::gathered(parameter, &unnamed)?];
        }
        if let Some(extra) = unnamed.get(parameters.len()) {
            let (name, most) = (declared.name, parameters.len());
            let message = format!(
                "too many arguments: {name} takes {most}, got {}",
                unnamed.len() + named.len()
            );
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            return Err(Fault::new(extra.span.clone(), message)
                .suggest(format!("they are {}", names.join(", "))));
        }
        let with_kind = |(value, parameter): (Value<'a>, &Parameter)| {
            let are_names = !dim_words(parameter).is_empty() && value.is_of_names();
            Some((value, are_names))
        };
        let mut values: Vec<_> = unnamed.into_iter().zip(parameters).map(with_kind).collect();
        values.resize_with(parameters.len(), || None);
        for (name, value) in named {
            let (number, are_names) = call::parameter(declared, &name)?;
            if values[number].replace((value, are_names)).is_some() {
                let message = format!("argument {} is given twice", quoted(name.text));
                return Err(Fault::new(name.span, message));
            }
        }
        Arguments { declared, call, values }.with_half()
    }

    /// Replaces a roll by `half` or `-half` by the operator that it stands for.
    fn with_half(mut self) -> Result<Arguments<'a>, Fault> {
        let words = match &self.values[..] {
            [Some((shift, _)), ..] if ptr::eq(self.declared, Roll::DECLARATION) => shift.words(),
            _ => Vec::new(),
        };
        let found = words.iter().find_map(|word| Some((word, call::half_roll(word.text)?)));
        let Some((word, half)) = found else { return Ok(self) };
        if words.len() > 1 {
            let message = format!("{} must be the only shift", quoted(word.text));
            return Err(Fault::new(word.span.clone(), message)
                .suggest("write a stage for each shift, as in roll(half, 0) | roll(1, 1)"));
        }
        let axes = self.required(1)?;
        if axes.words().is_empty() {
            return Err(Fault::new(axes.span.clone(), "half needs an axis")
                .suggest("fftshift() rolls all axes"));
        }
        self.values.remove(0);
        Ok(Arguments { declared: half, ..self })
    }

    /// Fails if the parameter has no value.
    pub(super) fn required(&self, number: usize) -> Result<&Value<'a>, Fault> {
        self.values[number].as_ref().map(|(value, _)| value).ok_or_else(|| {
            let Declaration { name, parameters, example, .. } = self.declared;
            let message = format!("{name} lacks the argument \"{}\"", parameters[number].name);
            Fault::new(self.call.clone(), message).suggest(format!("write {example}"))
        })
    }

    pub(super) fn span_of(&self, number: usize) -> Option<Range<usize>> {
        self.values[number].as_ref().map(|(value, _)| value.span.clone())
    }

    /// The value of each parameter, or its default; empty for lengths, indices and tensors.
    pub(super) fn given(&self) -> Result<Vec<Given>, Fault> {
        let numbers = 0..self.declared.parameters.len();
        numbers.map(|number| self.given_of(number)).collect()
    }

    fn given_of(&self, number: usize) -> Result<Given, Fault> {
        let parameter = &self.declared.parameters[number];
        let Parameter { name, kind, default, .. } = parameter;
        if let Some((value, _)) = &self.values[number] {
            value.check_lists(parameter)?;
        }
        match (&self.values[number], default) {
            (None, Some(default)) => return Ok(Given::Integers(default.to_vec())),
            _ if *kind == Kind::Numbers || kind.is_tensors() => {
                return Ok(Given::Integers(Vec::new()));
            }
            _ => {}
        }
        let are_names = self.values[number].as_ref().is_some_and(|(_, are_names)| *are_names);
        let value = self.required(number)?;
        if let Kind::Word(words) = kind {
            return Ok(Given::Integers(vec![value.choice(name, words)?]));
        }
        if *kind == Kind::Value {
            return Ok(Given::Integers(value.value(name)?));
        }
        if let ArgumentForm::List(_) = value.form
            && kind.is_single()
        {
            let one = if are_names { "the name of one axis" } else { "one integer" };
            let message = format!("{name} must be {one}, got a list");
            return Err(Fault::new(value.span.clone(), message));
        }
        let words = value.words();
        if are_names {
            let name = |word: &Word<'_>| unquoted(word.text).to_owned();
            return Ok(Given::Names(words.iter().map(name).collect()));
        }
        let integers = words.iter().map(|word| {
            let is_name = !dim_words(&self.declared.parameters[number]).is_empty()
                && word.text.starts_with(char::is_alphabetic);
            integer(name, word).map_err(|fault| match is_name {
                true => fault.suggest(format!("names go with {}=", self.dim_word(number))),
                false => fault,
            })
        });
        Ok(Given::Integers(integers.collect::<Result<_, _>>()?))
    }

    fn dim_word(&self, number: usize) -> &'static str {
        dim_words(&self.declared.parameters[number]).first().copied().unwrap_or_default()
    }

    pub(super) fn misnamed(&self, error: NameError) -> Fault {
        let names = self.values.iter().flatten().filter(|(_, are_names)| *are_names);
        let mut words = names.flat_map(|(value, _)| value.words());
        let is_it = |word: &Word<'a>| error.name.as_deref() == Some(unquoted(word.text));
        let found = words.find(is_it).map(|word| word.span);
        error.at(found.unwrap_or_else(|| self.call.clone()))
    }
}

pub(super) fn integer<T: FromStr<Err = ParseIntError>>(
    parameter: &str,
    word: &Word<'_>,
) -> Result<T, Fault> {
    word.text.parse().map_err(|error: ParseIntError| {
        let got = quoted(word.text);
        let message = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                let bits = 8 * size_of::<T>();
                format!("{parameter} {got} is out of range for a signed {bits}-bit integer")
            }
            _ => format!("{parameter} must be an integer, got {got}"),
        };
        Fault::new(word.span.clone(), message)
    })
}

/// Integers may have any size.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
