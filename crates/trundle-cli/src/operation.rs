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
        let listed = self.lengths.split(',').map(|entry| entry.trim().parse().ok()).collect();
        let lengths = match listed {
            Some(values) => LengthsFile::list(values),
            None => read_lengths(&self.lengths)?,
        };
        let op = lengths.reverse(self.axis, self.batch_axis).map_err(Failure::refused)?;
        Ok(Operation::one(&self.input, op))
    }
}

impl ApplyArgs {
    /// What these arguments ask for.
    ///
    /// # Errors
    /// If the chain is not of the language, or names lengths that cannot be read.
    pub(crate) fn operation(&self) -> Result<Operation, Failure> {
        let chain = Chain::parse(&self.chain, read_lengths)?;
        Ok(Operation { input: self.input.clone(), chain, written: true })
    }
}

/// The lengths in a file of one tensor of integers.
fn read_lengths(file: &str) -> Result<LengthsFile, Failure> {
    let mut opened = TensorFile::open(Path::new(file))?;
    let [header] = opened.headers() else {
        let tensors = opened.headers().len();
        return Err(Failure::refused(format!("{file}: lengths are one tensor, got {tensors}")));
    };
    let header = header.clone();
    let bytes = opened.load(0, &mut |_| ())?;
    let layout = header.layout()?;
    let width = header.element.dtype().width();
    let mut values = Some(Vec::new());
    header.shape.for_each_index(|index| {
        let value = header.element.integer(&bytes[layout.offset_of(index)..][..width]);
        values = values.take().and_then(|mut values: Vec<i128>| {
            values.push(value?);
            Some(values)
        });
    });
    let name = header.element.name();
    let values = values
        .ok_or_else(|| Failure::refused(format!("{file}: lengths are integers, got {name}")))?;
    Ok(LengthsFile::new(header.shape, values)?)
}
