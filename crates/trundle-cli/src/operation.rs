//! What a command asks for: a file, and a chain of operators.

use std::borrow::Cow;
use std::path::Path;

use trundle::notation::LengthsFile;
use trundle::{Chain, Shape, normalize_axis};
use trundle_formats::{FORMATS, Format, Problem, Shown, TensorFile};

use crate::args::{ApplyArgs, ConvertArgs};
use crate::failure::Failure;
use crate::input::Input;
use crate::memory;

/// A chain, and the file whose tensors it is applied to.
pub(crate) struct Operation {
    pub input: Input,
    pub chain: Chain,
    /// The bytes that the lengths of its reversals take at most, while they become a chain.
    pub lengths_bytes: u64,
    /// Whether the user wrote the chain, so that errors show the place in it.
    pub written: bool,
    /// The one length that stands for as many as a tensor needs, where the chain is a reversal by
    /// it.
    one_length: Option<OneLength>,
}

/// A reversal by the same length everywhere.
#[derive(Clone, Copy, Debug)]
struct OneLength {
    length: i128,
    axis: i64,
    batch_axis: Option<i64>,
}

impl OneLength {
    /// How many lengths a tensor of this shape needs; `None` if it has no such axis.
    fn count(self, shape: &Shape) -> Option<usize> {
        let place = |axis| normalize_axis("axis", axis, shape.rank()).ok();
        let axis = place(self.axis)?;
        match self.batch_axis {
            Some(batch_axis) => Some(shape[place(batch_axis)?]),
            None => {
                let others = shape.iter().enumerate().filter(|(other, _)| *other != axis);
                Some(others.fold(1, |count, (_, size)| count.saturating_mul(*size)))
            }
        }
    }
}

impl Operation {
    /// A chain that the program made, applied to a file.
    pub(crate) fn new(input: Input, chain: Chain) -> Operation {
        Operation { input, chain, lengths_bytes: 0, written: false, one_length: None }
    }

    /// The chain for a tensor of this shape.
    ///
    /// # Errors
    /// If it takes more memory than there is.
    pub(crate) fn chain_for(&self, shape: &Shape) -> Result<Cow<'_, Chain>, Failure> {
        let Some(one) = self.one_length else { return Ok(Cow::Borrowed(&self.chain)) };
        let Some(count) = one.count(shape).filter(|count| *count != 1) else {
            return Ok(Cow::Borrowed(&self.chain));
        };
        memory::check(BYTES_A_LENGTH.saturating_mul(count as u64), None)?;
        let op = LengthsFile::list(vec![one.length; count])
            .reverse(one.axis, one.batch_axis)
            .map_err(Failure::refused)?;
        Ok(Cow::Owned(Chain::new().then(op)))
    }
}

/// A reversal along `axis` by the lengths that the command line gives.
///
/// # Errors
/// If the lengths cannot be read, or are of no use for a reversal.
pub(crate) fn reversal(
    input: Input,
    given: &str,
    axis: i64,
    batch_axis: Option<i64>,
) -> Result<Operation, Failure> {
    let mut lengths_bytes = 0;
    let op = lengths(given, input.path(), &mut lengths_bytes)?
        .reverse(axis, batch_axis)
        .map_err(Failure::refused)?;
    let one_length = given.trim().parse().ok();
    let one_length = one_length.map(|length| OneLength { length, axis, batch_axis });
    let operation = Operation::new(input, Chain::new().then(op));
    Ok(Operation { lengths_bytes, one_length, ..operation })
}

impl ApplyArgs {
    /// What these arguments ask for.
    ///
    /// # Errors
    /// If the chain is not of the language, or names lengths that cannot be read.
    pub(crate) fn operation(&self) -> Result<Operation, Failure> {
        let mut lengths_bytes = 0;
        let read = |file: &str| read_lengths(file, &self.input, &mut lengths_bytes);
        let chain = Chain::parse(&self.chain, read)?;
        let input = self.described.of(&self.input)?;
        Ok(Operation { lengths_bytes, written: true, ..Operation::new(input, chain) })
    }
}

impl ConvertArgs {
    /// What these arguments ask for: a chain that moves nothing.
    ///
    /// # Errors
    /// If what they say of the file does not go together.
    pub(crate) fn operation(&self) -> Result<Operation, Failure> {
        Ok(Operation::new(self.described.of(&self.input)?, Chain::new()))
    }
}

/// The lengths that the command line gives: a list, or the name of a file.
fn lengths(text: &str, input: &Path, held: &mut u64) -> Result<LengthsFile, Failure> {
    if text.trim().is_empty() {
        return Ok(LengthsFile::list(Vec::new()));
    }
    let number = |entry: &str| entry.trim().parse().map_err(|_| entry.trim().to_owned());
    match text.split(',').map(number).collect::<Result<_, _>>() {
        Ok(values) => Ok(LengthsFile::list(values)),
        Err(entry) if !names_a_file(text) => Err(Failure::usage(format!(
            "lengths entry \"{}\" is not an integer, and there is no file \"{}\"",
            Shown(entry),
            Shown(text)
        ))),
        Err(_) => read_lengths(text, input, held),
    }
}

/// Whether a text is meant as the name of a file, be it there or not.
fn names_a_file(text: &str) -> bool {
    let ending = Path::new(text).extension().unwrap_or_default();
    let mut endings = FORMATS.iter().flat_map(Format::endings);
    text == "-"
        || Path::new(text).exists()
        || endings.any(|known| ending.eq_ignore_ascii_case(known))
}

/// What a length takes while it becomes part of a chain: as it is read, as the operator holds it,
/// and in the table that is moved by.
const BYTES_A_LENGTH: u64 = (size_of::<i128>() + 3 * size_of::<u64>()) as u64;

/// The lengths in a file of one tensor of integers; `input` is the file of the data. What they take
/// is added to `held`.
fn read_lengths(file: &str, input: &Path, held: &mut u64) -> Result<LengthsFile, Failure> {
    if file == "-" && input == Path::new("-") {
        return Err(Failure::usage("stdin holds either the tensor to move or the lengths"));
    }
    let mut opened = match TensorFile::open(Path::new(file)) {
        Err(error) if matches!(error.problem, Problem::HintMissing(_)) => {
            return Err(Failure::usage(format!("{error}: lengths are a list, or an .npy file")));
        }
        opened => opened?,
    };
    let [header] = opened.headers() else {
        let tensors = opened.headers().len();
        return Err(Failure::refused(format!(
            "{}: lengths are one tensor, got {tensors}",
            Shown(file)
        )));
    };
    let header = header.clone();
    let elements = header.shape.elements();
    let name = header.element.name();
    let no_integers =
        || Failure::refused(format!("{}: lengths are integers, got {name}", Shown(file)));
    let width = header.element.dtype().width();
    // Of an empty type there may be 2^62.
    if width == 0 && elements > 0 {
        return Err(no_integers());
    }
    *held += header.data_bytes as u64 + BYTES_A_LENGTH.saturating_mul(elements as u64);
    memory::check(*held, None)?;
    let bytes = opened.load(0, &mut |_| ())?;
    let layout = header.layout()?;
    let mut values = Vec::new();
    values.try_reserve_exact(elements).map_err(|_| {
        let file = Shown(file);
        Failure::running(format!("{file}: cannot hold {elements} lengths: not enough memory"))
    })?;
    for number in 0..elements {
        let at = layout.offset_of(&header.shape.unravel(number));
        values.push(header.element.integer(&bytes[at..][..width]).ok_or_else(no_integers)?);
    }
    Ok(LengthsFile::new(header.shape.clone(), values)?)
}
