//! The questions of the page, and refusals.

use std::fmt::Display;
use std::ops::Range;

use serde_json::{Value, json};
use trundle::notation::NotationError;
use trundle::ops::Operand;
use trundle::{ChainError, DTypeError, Error, ParseError, PlanError, Shape};

use crate::explanation::name_of;

pub(crate) enum Question {
    Chain(ChainQuestion),
    File(FileQuestion),
}

/// A question about a chain and a tensor.
pub(crate) struct ChainQuestion {
    pub(crate) chain: String,
    pub(crate) shape: Vec<u64>,
    /// The names of the axes; empty for an axis without a name.
    pub(crate) names: Vec<String>,
    pub(crate) dtype: String,
    /// The shapes of the other tensors that the chain names. Others have the shape of the first tensor.
    pub(crate) others: Vec<(String, Vec<u64>)>,
    /// Whether the tensor is column-major, as in a Fortran-order file.
    pub(crate) column_major: bool,
}

/// A question about a file.
pub(crate) struct FileQuestion {
    pub(crate) file: String,
    /// The size of the file. The page may send only its beginning.
    pub(crate) bytes: u64,
}

impl Question {
    /// Reads a question. A missing field is empty.
    pub(crate) fn read(json: &[u8]) -> Result<Question, Refusal> {
        let question: Value = serde_json::from_slice(json)
            .map_err(|error| format!("the question cannot be read: {error}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let each = |value: &Value| value.as_array().cloned().unwrap_or_default();
        // A negative size or a fraction is also refused as too large.
        let size = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
        let sizes = |value: &Value| each(value).iter().map(size).collect::<Vec<_>>();
        if let Some(file) = question["file"].as_str() {
            let (file, bytes) = (file.to_owned(), size(&question["bytes"]));
            return Ok(Question::File(FileQuestion { file, bytes }));
        }
        let others = question["others"].as_object().into_iter().flatten();
        Ok(Question::Chain(ChainQuestion {
            chain: text(&question["chain"]),
            shape: sizes(&question["shape"]),
            names: each(&question["names"]).iter().map(text).collect(),
            dtype: text(&question["dtype"]),
            others: others.map(|(name, shape)| (name.clone(), sizes(shape))).collect(),
            column_major: question["column_major"] == true,
        }))
    }
}

/// The reason why there is no answer, in the words of the program.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) text: String,
    /// The range of the fault in the chain, in UTF-16 code units, because JavaScript counts them.
    span: Option<Range<usize>>,
    /// The names of the tensors that the chain takes, if it could be parsed.
    inputs: Vec<String>,
}

impl Refusal {
    fn at(error: &impl Display, text: &str, span: &Range<usize>) -> Refusal {
        let units = |end: usize| text.get(..end).unwrap_or(text).encode_utf16().count();
        let span = Some(units(span.start)..units(span.end));
        Refusal { span, ..error.to_string().into() }
    }

    /// Adds the tensors that the chain takes, so that the page can ask for their shapes.
    pub(crate) fn about(self, operands: &[&Operand]) -> Refusal {
        Refusal {
            inputs: operands.iter().map(|operand| name_of(operand).to_owned()).collect(),
            ..self
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let span = self.span.as_ref().map(|span| [span.start, span.end]);
        json!({ "error": self.text, "span": span, "inputs": self.inputs })
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Refusal {
        Refusal { text, span: None, inputs: Vec::new() }
    }
}

impl From<NotationError> for Refusal {
    fn from(error: NotationError) -> Refusal {
        Refusal::at(&error, &error.text, &error.span)
    }
}

impl From<ChainError> for Refusal {
    fn from(error: ChainError) -> Refusal {
        Refusal::at(&error, &error.text, &error.span)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        error.to_string().into()
    }
}

impl From<DTypeError> for Refusal {
    fn from(error: DTypeError) -> Refusal {
        error.to_string().into()
    }
}

impl From<PlanError> for Refusal {
    fn from(error: PlanError) -> Refusal {
        match error {
            PlanError::Chain(error) => error.into(),
            other => other.to_string().into(),
        }
    }
}

impl From<ParseError<String>> for Refusal {
    fn from(error: ParseError<String>) -> Refusal {
        match &error {
            ParseError::Notation(error) => error.clone().into(),
            ParseError::Read { text, span, .. } => Refusal::at(&error, text, span),
            _ => error.to_string().into(),
        }
    }
}

/// Converts sizes that a person typed to a shape.
pub(crate) fn shape_of(sizes: &[u64]) -> Result<Shape, Refusal> {
    let size = |size: &u64| {
        usize::try_from(*size)
            .map_err(|_| format!("a size of {size} is over {}, the most on this page", usize::MAX))
    };
    let sizes = sizes.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    Shape::new(sizes).map_err(|error| error.to_string().into())
}
