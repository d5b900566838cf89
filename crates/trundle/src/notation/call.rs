//! Calls: `roll(shift=[-1, 2], axes=[0, 1])`.

use std::num::{IntErrorKind, ParseIntError};
use std::ops::Range;
use std::str::FromStr;

use trundle_core::Op;
use trundle_core::ops::{Flip, Roll, Transpose};

use super::StageKind;
use super::cursor::{Cursor, Word};
use super::error::{Fault, quoted};
use super::lengths::{LengthsError, LengthsFile};
use super::similar::most_similar;

/// A stage that can be called: one row for each.
pub(super) struct Signature {
    name: &'static str,
    /// In the order in which arguments without a name are taken. If there is only one parameter,
    /// it takes all of them.
    parameters: &'static [&'static str],
    pub(super) example: &'static str,
    build: fn(&Arguments<'_>) -> Result<StageKind, Fault>,
}

const SIGNATURES: [Signature; 4] = [
    Signature {
        name: "flip",
        parameters: &["axes"],
        example: "flip(axes=[1])",
        build: |given| Ok(Flip::new(&given.integers("axes")?).into()),
    },
    Signature {
        name: "reverse",
        parameters: &["axis", "lengths", "batch_axis"],
        example: "reverse(axis=1, lengths=lens.npy)",
        build: reverse,
    },
    Signature {
        name: "roll",
        parameters: &["shift", "axes"],
        example: "roll(shift=[-1, 2], axes=[0, 1])",
        build: |given| Ok(Roll::new(&given.integers("shift")?, &given.integers("axes")?).into()),
    },
    Signature {
        name: "transpose",
        parameters: &["order"],
        example: "transpose(2, 0, 1)",
        build: |given| {
            let order = given.get("order").map(|_| given.integers("order")).transpose()?;
            Ok(Transpose::new(&order.unwrap_or_default()).into())
        },
    },
];

fn reverse(given: &Arguments<'_>) -> Result<StageKind, Fault> {
    let axis = given.integer("axis")?;
    let batch_axis = given.get("batch_axis").map(|_| given.integer("batch_axis")).transpose()?;
    let lengths = given.required("lengths")?;
    if let Some(file) = lengths.as_file() {
        return Ok(StageKind::ReverseByFile {
            axis,
            batch_axis,
            file: file.to_owned(),
            file_span: lengths.span.clone(),
        });
    }
    let words = lengths.words();
    let values = words.iter().map(|word| integer("lengths", word)).collect::<Result<_, _>>()?;
    let op: Op = LengthsFile::list(values).reverse(axis, batch_axis).map_err(|error| {
        let span = match &error {
            LengthsError::OutOfRange { index, .. } => words[*index].span.clone(),
            LengthsError::NotAList { .. } => lengths.span.clone(),
        };
        Fault::new(span, error.to_string())
    })?;
    Ok(op.into())
}

impl Signature {
    /// The row of this name.
    pub(super) fn of(name: &str) -> Option<&'static Signature> {
        SIGNATURES.iter().find(|signature| signature.name == name)
    }

    /// The name that was perhaps meant.
    pub(super) fn similar_to(name: &str) -> Option<&'static str> {
        most_similar(name, SIGNATURES.iter().map(|signature| signature.name))
    }

    /// All names, to be read.
    pub(super) fn names() -> String {
        SIGNATURES.map(|signature| signature.name).join(", ")
    }

    /// Reads the parentheses and what is in them. The stage began at `start`.
    pub(super) fn read(
        &'static self,
        cursor: &mut Cursor<'_>,
        start: usize,
    ) -> Result<StageKind, Fault> {
        let (mut unnamed, mut named) = (Vec::new(), Vec::new());
        separated(cursor, |cursor| {
            let name = argument_name(cursor);
            let value = Value::read(cursor)?;
            match name {
                Some(name) => named.push((name, value)),
                None if named.is_empty() => unnamed.push(value),
                None => {
                    let message = "argument without a name after one with a name";
                    return Err(
                        Fault::new(value.span, message).suggest(format!("write {}", self.example))
                    );
                }
            }
            Ok(())
        })?;
        let call = start..cursor.at();
        (self.build)(&Arguments::bind(self, call, unnamed, named)?)
    }

    /// Which parameter a name is.
    fn parameter(&self, name: &Word<'_>) -> Result<usize, Fault> {
        self.parameters.iter().position(|parameter| *parameter == name.text).ok_or_else(|| {
            let suggestion = match most_similar(name.text, self.parameters.iter().copied()) {
                Some(similar) => format!("did you mean \"{similar}\"?"),
                None => format!("write {}", self.example),
            };
            let message = format!("{} has no argument {}", self.name, quoted(name.text));
            Fault::new(name.span.clone(), message).suggest(suggestion)
        })
    }
}

/// Reads `name =` if that is next.
fn argument_name<'a>(cursor: &mut Cursor<'a>) -> Option<Word<'a>> {
    let mut ahead = cursor.clone();
    let name = ahead.name();
    ahead.skip_space();
    (!name.text.is_empty() && ahead.eat('=')).then(|| {
        ahead.skip_space();
        *cursor = ahead;
        name
    })
}

/// What an argument is given.
struct Value<'a> {
    span: Range<usize>,
    form: Form<'a>,
}

enum Form<'a> {
    /// An integer or a file, as the parameter wants it.
    Bare(&'a str),
    /// A file.
    Quoted {
        /// With the quotes.
        written: &'a str,
        name: &'a str,
    },
    List(Vec<Word<'a>>),
}

impl<'a> Value<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Value<'a>, Fault> {
        let start = cursor.at();
        let form = match cursor.peek() {
            Some('[' | '(') => {
                let mut words = Vec::new();
                separated(cursor, |cursor| {
                    words.push(list_entry(cursor)?);
                    Ok(())
                })?;
                Form::List(words)
            }
            Some(quote @ ('"' | '\'')) => {
                let rest = cursor.rest();
                let Some(length) = rest[1..].find(quote) else {
                    return Err(Fault::new(cursor.here(), "quote that is never closed"));
                };
                let written = cursor.take(length + 2).text;
                Form::Quoted { written, name: &rest[1..=length] }
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ')' | '|');
                let word = cursor.take_while(|c| !ends(c));
                if word.text.is_empty() {
                    return Err(cursor.expected("a value"));
                }
                Form::Bare(word.text)
            }
        };
        Ok(Value { span: start..cursor.at(), form })
    }

    /// The name of a file: in quotes, or a word that is no integer.
    fn as_file(&self) -> Option<&'a str> {
        match self.form {
            Form::Quoted { name, .. } => Some(name),
            Form::Bare(text) => (!is_integer(text)).then_some(text),
            Form::List(_) => None,
        }
    }

    /// The words that should be the integers of a list; one word is a list of one.
    fn words(&self) -> Vec<Word<'a>> {
        match &self.form {
            Form::Bare(text) | Form::Quoted { written: text, .. } => {
                vec![Word { text, span: self.span.clone() }]
            }
            Form::List(words) => words.clone(),
        }
    }

    /// Several integers as one list.
    fn gathered(parameter: &str, values: &[Value<'a>]) -> Result<Value<'a>, Fault> {
        let mut words = Vec::with_capacity(values.len());
        for value in values {
            if let Form::List(_) = value.form {
                let message = format!("{parameter} must be integers or one list, got both");
                return Err(Fault::new(value.span.clone(), message));
            }
            words.extend(value.words());
        }
        let spans = values.iter().map(|value| value.span.clone());
        let span = spans.reduce(|first, last| first.start..last.end).unwrap_or_default();
        Ok(Value { span, form: Form::List(words) })
    }
}

/// Reads a word that should be an integer of a list.
fn list_entry<'a>(cursor: &mut Cursor<'a>) -> Result<Word<'a>, Fault> {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | ')' | '[' | '(' | '|');
    let word = cursor.take_while(|c| !ends(c));
    match cursor.peek() {
        _ if !word.text.is_empty() => Ok(word),
        Some('[' | '(') => {
            Err(Fault::new(cursor.here(), "list in a list").suggest("write one list of integers"))
        }
        _ => Err(cursor.expected("an integer")),
    }
}

/// Reads an opening bracket, what `item` reads as often as there is something, with commas
/// between, and the closing bracket. A last comma may be left.
fn separated<'a>(
    cursor: &mut Cursor<'a>,
    mut item: impl FnMut(&mut Cursor<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let opening = cursor.here();
    let (open, close) = if cursor.peek() == Some('[') { ('[', ']') } else { ('(', ')') };
    let never_closed = || Fault::new(opening.clone(), format!("\"{open}\" that is never closed"));
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

/// The arguments of one call, each with its parameter.
struct Arguments<'a> {
    signature: &'static Signature,
    /// Where the whole call stands.
    call: Range<usize>,
    /// For each parameter, what it is given.
    values: Vec<Option<Value<'a>>>,
}

impl<'a> Arguments<'a> {
    /// Gives each argument to its parameter.
    fn bind(
        signature: &'static Signature,
        call: Range<usize>,
        mut unnamed: Vec<Value<'a>>,
        named: Vec<(Word<'a>, Value<'a>)>,
    ) -> Result<Arguments<'a>, Fault> {
        let parameters = signature.parameters;
        if let [parameter] = parameters
            && unnamed.len() > 1
        {
            unnamed = vec![Value::gathered(parameter, &unnamed)?];
        }
        if let Some(extra) = unnamed.get(parameters.len()) {
            let message = format!(
                "{} takes {} arguments, got {}",
                signature.name,
                parameters.len(),
                unnamed.len() + named.len()
            );
            return Err(Fault::new(extra.span.clone(), message)
                .suggest(format!("they are {}", parameters.join(", "))));
        }
        let mut values: Vec<_> = unnamed.into_iter().map(Some).collect();
        values.resize_with(parameters.len(), || None);
        for (name, value) in named {
            if values[signature.parameter(&name)?].replace(value).is_some() {
                let message = format!("argument {} is given twice", quoted(name.text));
                return Err(Fault::new(name.span, message));
            }
        }
        Ok(Arguments { signature, call, values })
    }

    fn get(&self, parameter: &str) -> Option<&Value<'a>> {
        let at = self.signature.parameters.iter().position(|name| *name == parameter)?;
        self.values[at].as_ref()
    }

    fn required(&self, parameter: &str) -> Result<&Value<'a>, Fault> {
        self.get(parameter).ok_or_else(|| {
            let message = format!("{} lacks the argument \"{parameter}\"", self.signature.name);
            Fault::new(self.call.clone(), message)
                .suggest(format!("write {}", self.signature.example))
        })
    }

    /// The one integer that `parameter` is given.
    fn integer(&self, parameter: &str) -> Result<i64, Fault> {
        let value = self.required(parameter)?;
        match value.form {
            Form::List(_) => {
                let message = format!("{parameter} must be one integer, got a list");
                Err(Fault::new(value.span.clone(), message))
            }
            Form::Bare(text) | Form::Quoted { written: text, .. } => {
                integer(parameter, &Word { text, span: value.span.clone() })
            }
        }
    }

    /// The list of integers that `parameter` is given.
    fn integers(&self, parameter: &str) -> Result<Vec<i64>, Fault> {
        let words = self.required(parameter)?.words();
        words.iter().map(|word| integer(parameter, word)).collect()
    }
}

/// The integer that a word is.
fn integer<T: FromStr<Err = ParseIntError>>(parameter: &str, word: &Word<'_>) -> Result<T, Fault> {
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

/// Whether a word is an integer of any size.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
