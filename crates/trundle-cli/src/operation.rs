//! What a command asks for: a file, and a chain of operators.

use std::path::{Path, PathBuf};

use trundle::notation::LengthsFile;
use trundle::ops::{Flip, Roll, Transpose};
use trundle::{Chain, Op};
use trundle_formats::TensorFile;

use crate::args::{ApplyArgs, FlipArgs, ReverseArgs, RollArgs, TransposeArgs};
use crate::failure::Failure;
use crate::numbers::Numbers;

/// A chain, and the file whose tensors it is applied to.
pub(crate) struct Operation {
    pub input: PathBuf,
    pub chain: Chain,
    /// Whether the user wrote the chain, so that errors show the place in it.
    pub written: bool,
}

impl Operation {
    fn one(input: &Path, op: impl Into<Op>) -> Operation {
        Operation { input: input.to_owned(), chain: Chain::new().then(op), written: false }
    }
}

impl TransposeArgs {
    /// What these arguments ask for.
    pub(crate) fn operation(&self) -> Operation {
        let order = self.order.as_ref().map_or(&[][..], |Numbers(order)| order);
        Operation::one(&self.input, Transpose::new(order))
    }
}

impl RollArgs {
    /// What these arguments ask for.
    pub(crate) fn operation(&self) -> Operation {
        Operation::one(&self.input, Roll::new(&self.shift.0, &self.axes.0))
    }
}

impl FlipArgs {
    /// What these arguments ask for.
    pub(crate) fn operation(&self) -> Operation {
        Operation::one(&self.input, Flip::new(&self.axes.0))
    }
}

impl ReverseArgs {
    /// What these arguments ask for.
    ///
    /// # Errors
    /// If the lengths cannot be read, or are of no use for a reversal.
    pub(crate) fn operation(&self) -> Result<Operation, Failure> {
        let op = lengths(&self.lengths, &self.input)?
            .reverse(self.axis, self.batch_axis)
            .map_err(Failure::refused)?;
        Ok(Operation::one(&self.input, op))
    }
}

impl ApplyArgs {
    /// What these arguments ask for.
    ///
    /// # Errors
    /// If the chain is not of the language, or names lengths that cannot be read.
    pub(crate) fn operation(&self) -> Result<Operation, Failure> {
        let chain = Chain::parse(&self.chain, |file| read_lengths(file, &self.input))?;
        Ok(Operation { input: self.input.clone(), chain, written: true })
    }
}

/// The lengths that the command line gives: a list, or the name of a file.
fn lengths(text: &str, input: &Path) -> Result<LengthsFile, Failure> {
    if text.trim().is_empty() {
        return Ok(LengthsFile::list(Vec::new()));
    }
    let number = |entry: &str| entry.trim().parse().map_err(|_| entry.trim().to_owned());
    match text.split(',').map(number).collect::<Result<_, _>>() {
        Ok(values) => Ok(LengthsFile::list(values)),
        Err(entry) if text.contains(',') && !Path::new(text).exists() => Err(Failure::usage(
            format!("lengths entry \"{entry}\" is not an integer, and there is no file \"{text}\""),
        )),
        Err(_) => read_lengths(text, input),
    }
}

/// The lengths in a file of one tensor of integers; `input` is the file of the data.
fn read_lengths(file: &str, input: &Path) -> Result<LengthsFile, Failure> {
    if file == "-" && input == Path::new("-") {
        return Err(Failure::usage("stdin holds either the tensor to move or the lengths"));
    }
    let mut opened = TensorFile::open(Path::new(file))?;
    let [header] = opened.headers() else {
        let tensors = opened.headers().len();
        return Err(Failure::refused(format!("{file}: lengths are one tensor, got {tensors}")));
    };
    let header = header.clone();
    let bytes = opened.load(0, &mut |_| ())?;
    let layout = header.layout()?;
    let width = header.element.dtype().width();
    let value = |number| {
        let index = header.shape.unravel(number);
        header.element.integer(&bytes[layout.offset_of(&index)..][..width])
    };
    // Ends at the first element that is no integer: there may be 2^62 of an empty type.
    let values: Option<Vec<i128>> = (0..header.shape.elements()).map(value).collect();
    let name = header.element.name();
    let values = values
        .ok_or_else(|| Failure::refused(format!("{file}: lengths are integers, got {name}")))?;
    Ok(LengthsFile::new(header.shape, values)?)
}
