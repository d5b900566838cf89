//! What a command asks for: a file, and operators for its tensors.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use trundle::notation::{AxisNames, Given, NumbersFile, Unfilled};
use trundle::ops::{Declaration, Kind, Operand};
use trundle::{Chain, Shape, normalize_axis};
use trundle_formats::{FORMATS, Format, Header, Problem, Shown, TensorFile};

use crate::args::{ApplyArgs, ConvertArgs};
use crate::failure::Failure;
use crate::input::Input;
use crate::memory;

/// What is done to the tensors of a file.
pub(crate) struct Operation {
    /// The file whose tensors are moved.
    pub input: Input,
    /// The files of the tensors that the chain names, in the order of its inputs.
    others: Vec<Input>,
    asked: Asked,
    /// The bytes that its lengths and indices take at most, while they become a chain.
    pub numbers_bytes: u64,
    /// Whether the user wrote the chain, so that errors show the place in it.
    pub written: bool,
}

/// What is asked for, of which a chain is made for each tensor.
enum Asked {
    /// The same for all.
    Chain(Chain),
    /// A chain as it was written, with the lengths and indices of the files that it names, and what it is for a tensor whose axes have
    /// no names.
    Written { text: String, numbers: HashMap<String, NumbersFile>, unnamed: Result<Chain, Failure> },
    /// One operator, with axes by their names, and its lengths or indices.
    Call { declared: &'static Declaration, given: Vec<Given>, numbers: Option<Numbers> },
    /// A reversal by lengths, of axes by their numbers. A single one stands for as many as a tensor needs.
    Reversal { chain: Chain, one: Option<OneLength> },
}

/// Lengths or indices that are not of a tensor yet.
struct Numbers {
    /// As they were read.
    read: NumbersFile,
    /// The one length that stands for as many as a tensor needs.
    one: Option<i128>,
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

    /// The reversal of a tensor of this shape.
    ///
    /// # Errors
    /// If it takes more memory than there is, or the length is none.
    fn chain(self, shape: &Shape) -> Result<Chain, Failure> {
        let count = self.count(shape).unwrap_or(1);
        memory::check(BYTES_A_NUMBER.saturating_mul(count as u64), None)?;
        let OneLength { length, axis, batch_axis } = self;
        let unfilled = Unfilled::Reverse { axis, batch_axis };
        let op = unfilled.fill(NumbersFile::list(vec![length; count]));
        Ok(Chain::new().then(op.map_err(Failure::refused)?))
    }
}

impl Operation {
    /// A chain that the program made, applied to a file.
    pub(crate) fn new(input: Input, chain: Chain) -> Operation {
        Operation::of(input, Asked::Chain(chain))
    }

    /// One operator with axes by their names.
    ///
    /// # Errors
    /// If the lengths cannot be read.
    pub(crate) fn call(
        input: Input,
        declared: &'static Declaration,
        given: Vec<Given>,
        numbers: &str,
    ) -> Result<Operation, Failure> {
        let parameter = declared.parameters.iter().find(|each| each.kind == Kind::Numbers);
        let mut numbers_bytes = 0;
        let numbers = match parameter {
            Some(parameter) => {
                let each = BYTES_A_KEPT_NUMBER;
                let own = (parameter.name, numbers);
                let read = self::numbers(own, input.path(), each, &mut numbers_bytes)?;
                Some(Numbers { read, one: numbers.trim().parse().ok() })
            }
            None => None,
        };
        let operation = Operation::of(input, Asked::Call { declared, given, numbers });
        Ok(Operation { numbers_bytes, ..operation })
    }

    /// Whether it may do nothing to a tensor that lacks the axes that it names.
    pub(crate) fn is_by_name(&self) -> bool {
        matches!(self.asked, Asked::Written { .. } | Asked::Call { .. })
    }

    fn of(input: Input, asked: Asked) -> Operation {
        Operation { input, others: Vec::new(), asked, numbers_bytes: 0, written: false }
    }

    /// All files that it reads: first the one whose tensors are moved.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Input> {
        std::iter::once(&self.input).chain(&self.others)
    }

    /// Opens them.
    ///
    /// # Errors
    /// If one cannot be read, is malformed, or is not what the user says of it.
    pub(crate) fn open(&self) -> Result<Vec<TensorFile>, Failure> {
        self.inputs().map(Input::open).collect()
    }

    /// The chain for a tensor, one of several whose axes have the names `among`, or the only one. It is without
    /// operators if nothing is done to that.
    ///
    /// # Errors
    /// If a name is not that of one axis, or if it takes more memory than there is.
    pub(crate) fn chain_for(
        &self,
        header: &Header,
        among: Option<&Arc<BTreeSet<String>>>,
    ) -> Result<Cow<'_, Chain>, Failure> {
        let (shape, stated) = (&header.shape, &header.annotations.dimension_names);
        let names = || {
            let unnamed = vec![None; shape.rank()];
            let names = AxisNames::of(if stated.is_empty() { &unnamed } else { stated });
            match among {
                Some(among) => names.among(among),
                None => names,
            }
        };
        match &self.asked {
            Asked::Chain(chain) => Ok(Cow::Borrowed(chain)),
            Asked::Reversal { chain, one } => {
                match one.filter(|one| one.count(shape).is_some_and(|count| count != 1)) {
                    None => Ok(Cow::Borrowed(chain)),
                    Some(one) => Ok(Cow::Owned(one.chain(shape)?)),
                }
            }
            // What has no axes lacks all of those that others have.
            Asked::Written { unnamed, .. }
                if stated.is_empty() && !(shape.rank() == 0 && among.is_some()) =>
            {
                unnamed.as_ref().map(Cow::Borrowed).map_err(Failure::clone)
            }
            Asked::Written { text, numbers, .. } => {
                let read = |_: &Unfilled, file: &str| {
                    numbers.get(file).cloned().ok_or_else(|| Failure::refused("no such file"))
                };
                let chain = Chain::parse_named(text, &mut names(), read);
                chain.map(Cow::Owned).map_err(Failure::refused)
            }
            Asked::Call { declared, given, numbers: own } => {
                let numbers = names().resolve(declared, given).map_err(Failure::refused)?;
                let Some(numbers) = numbers else { return Ok(Cow::Owned(Chain::new())) };
                if let Some(op) = declared.op(&numbers) {
                    return Ok(Cow::Owned(Chain::new().then(op)));
                }
                let unfilled = Unfilled::of(declared, &numbers);
                let lacks = || {
                    Failure::usage(format!("{} lacks its {}", declared.name, unfilled.argument()))
                };
                let own = own.as_ref().ok_or_else(lacks)?;
                if let (Some(length), &Unfilled::Reverse { axis, batch_axis }) =
                    (own.one, &unfilled)
                {
                    return Ok(Cow::Owned(OneLength { length, axis, batch_axis }.chain(shape)?));
                }
                let op = unfilled.fill(own.read.clone()).map_err(Failure::refused)?;
                Ok(Cow::Owned(Chain::new().then(op)))
            }
        }
    }
}

/// An operator with the lengths or indices that the command line gives, along axes by their numbers.
///
/// # Errors
/// If the numbers cannot be read, or are of no use for the operator.
pub(crate) fn with_numbers(
    input: Input,
    given: &str,
    declared: &'static Declaration,
    integers: &[Vec<i64>],
) -> Result<Operation, Failure> {
    let unfilled = Unfilled::of(declared, integers);
    let mut numbers_bytes = 0;
    let own = (unfilled.argument(), given);
    let read = numbers(own, input.path(), BYTES_A_NUMBER, &mut numbers_bytes)?;
    let op = unfilled.fill(read).map_err(Failure::refused)?;
    let chain = Chain::new().then(op);
    let asked = match unfilled {
        Unfilled::Reverse { axis, batch_axis } => {
            let one = given.trim().parse().ok();
            let one = one.map(|length| OneLength { length, axis, batch_axis });
            Asked::Reversal { chain, one }
        }
        _ => Asked::Chain(chain),
    };
    Ok(Operation { numbers_bytes, ..Operation::of(input, asked) })
}

impl ApplyArgs {
    /// What these arguments ask for.
    ///
    /// # Errors
    /// If the chain is not of the language, or names lengths that cannot be read.
    pub(crate) fn operation(&self) -> Result<Operation, Failure> {
        let (mut numbers_bytes, mut numbers) = (0, HashMap::new());
        let read = |unfilled: &Unfilled, file: &str| {
            let own = (unfilled.argument(), file);
            let read = read_numbers(own, &self.input, BYTES_A_KEPT_NUMBER, &mut numbers_bytes)?;
            numbers.insert(file.to_owned(), read.clone());
            Ok(read)
        };
        // Whether it is of the language is known before the names of the axes are.
        let chain = Chain::parse_named(&self.chain, &mut AxisNames::any(), read)?;
        let others = named_files(&chain, &self.input)?;
        let again = |_: &Unfilled, file: &str| {
            numbers.get(file).cloned().ok_or_else(|| Failure::refused("no such file"))
        };
        let unnamed = Chain::parse(&self.chain, again).map_err(Failure::refused);
        let paths = [&*self.input].into_iter().chain(others.iter().map(Path::new));
        let mut others = self.described.of_all(&paths.collect::<Vec<_>>())?;
        let input = others.remove(0);
        let text = self.chain.clone();
        let operation = Operation::of(input, Asked::Written { text, numbers, unnamed });
        Ok(Operation { others, numbers_bytes, written: true, ..operation })
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

/// The files that a chain names as its tensors, beside the one that it is applied to.
///
/// # Errors
/// If it is applied to none, or stdin is to hold several tensors.
fn named_files(chain: &Chain, input: &Path) -> Result<Vec<String>, Failure> {
    let (mut takes_input, mut files) = (false, Vec::new());
    for operand in chain.inputs() {
        match operand {
            Operand::Previous => takes_input = true,
            Operand::Named(file) => files.push(file.clone()),
        }
    }
    if !takes_input {
        let (input, file) = (Shown(input.display()), files.first().map_or("", String::as_str));
        return Err(Failure::usage(format!("{input}: the chain does not use it"))
            .with_hint(format!("\"_\" stands for it, as in concat(_, {}, axis=0)", Shown(file))));
    }
    if input == Path::new("-") && files.iter().any(|file| file == "-") {
        return Err(Failure::usage("stdin holds one of the tensors, not two"));
    }
    Ok(files)
}

/// The lengths or indices, as `argument` says, that the command line gives: a list, or the name of a file, each of
/// which takes so many bytes.
fn numbers(
    (argument, text): (&'static str, &str),
    input: &Path,
    each: u64,
    held: &mut u64,
) -> Result<NumbersFile, Failure> {
    if text.trim().is_empty() {
        return Ok(NumbersFile::list(Vec::new()));
    }
    let number = |entry: &str| entry.trim().parse().map_err(|_| entry.trim().to_owned());
    match text.split(',').map(number).collect::<Result<_, _>>() {
        Ok(values) => Ok(NumbersFile::list(values)),
        Err(entry) if !names_a_file(text) => Err(Failure::usage(format!(
            "{argument} entry \"{}\" is not an integer, and there is no file \"{}\"",
            Shown(entry),
            Shown(text)
        ))),
        Err(_) => read_numbers((argument, text), input, each, held),
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

/// What a length or an index takes while it becomes part of a chain: as it is read, as the operator holds it,
/// and in the table that is moved by.
const BYTES_A_NUMBER: u64 = (size_of::<i128>() + 3 * size_of::<u64>()) as u64;

/// The same where what was read is kept, for each tensor that it may be for.
const BYTES_A_KEPT_NUMBER: u64 = BYTES_A_NUMBER + size_of::<i128>() as u64;

/// Reads the lengths or indices in a text file: integers with commas or white space between them. What they take,
/// `each` so many bytes, is added to `held`.
fn read_text(
    (argument, file): (&'static str, &str),
    each: u64,
    held: &mut u64,
) -> Result<NumbersFile, Failure> {
    let cannot = |error| Failure::running(format!("{}: cannot read: {error}", Shown(file)));
    let bytes = fs::metadata(file).map_err(cannot)?.len();
    // A number takes a digit and what separates it from the next.
    *held += bytes + each.saturating_mul(bytes / 2 + 1);
    memory::check(*held, None)?;
    let text = fs::read_to_string(file).map_err(cannot)?;
    let entries = text.split(|c: char| c == ',' || c.is_whitespace());
    let number = |entry: &str| {
        let entry = Shown(entry);
        let why = || format!("{}: {argument} entry \"{entry}\" is not an integer", Shown(file));
        entry.0.parse().map_err(|_| Failure::refused(why()))
    };
    let numbers = entries.filter(|entry| !entry.is_empty()).map(number);
    numbers.collect::<Result<_, _>>().map(NumbersFile::list)
}

/// The lengths or indices in a file of one tensor of integers; `input` is the file of the data. What they take,
/// `each` so many bytes, is added to `held`.
fn read_numbers(
    (argument, file): (&'static str, &str),
    input: &Path,
    each: u64,
    held: &mut u64,
) -> Result<NumbersFile, Failure> {
    if file == "-" && input == Path::new("-") {
        let message = format!("stdin holds either the tensor to move or the {argument}");
        return Err(Failure::usage(message));
    }
    if Path::new(file).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt")) {
        return read_text((argument, file), each, held);
    }
    let mut opened = match TensorFile::open(Path::new(file)) {
        Err(error)
            if matches!(error.problem, Problem::HintMissing(_) | Problem::UnknownEnding { .. }) =>
        {
            let why = format!("{error}: {argument} are a list, an .npy file or a .txt file");
            return Err(Failure::usage(why));
        }
        opened => opened?,
    };
    let [header] = opened.headers() else {
        let tensors = opened.headers().len();
        return Err(Failure::refused(format!(
            "{}: {argument} are one tensor, got {tensors}",
            Shown(file)
        )));
    };
    let header = header.clone();
    let elements = header.shape.elements();
    let name = header.element.name();
    let no_integers =
        || Failure::refused(format!("{}: {argument} are integers, got {name}", Shown(file)));
    let width = header.element.dtype().width();
    // Of an empty type there may be 2^62.
    if width == 0 && elements > 0 {
        return Err(no_integers());
    }
    *held += header.data_bytes as u64 + each.saturating_mul(elements as u64);
    memory::check(*held, None)?;
    let bytes = opened.load(0, &mut |_| ())?;
    let layout = header.layout()?;
    let mut values = Vec::new();
    values.try_reserve_exact(elements).map_err(|_| {
        let file = Shown(file);
        Failure::running(format!("{file}: cannot hold {elements} {argument}: not enough memory"))
    })?;
    for number in 0..elements {
        let at = layout.offset_of(&header.shape.unravel(number));
        values.push(header.element.integer(&bytes[at..][..width]).ok_or_else(no_integers)?);
    }
    Ok(NumbersFile::new(header.shape.clone(), values)?)
}
