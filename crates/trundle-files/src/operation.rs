//! The operators of a request, resolved to a chain for each tensor.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use trundle::notation::{AxisNames, Given, NumbersFile, Unfilled};
use trundle::ops::{DECLARATIONS, Declaration, Kind, Operand};
use trundle::{Chain, Shape, normalize_axis};
use trundle_formats::{Format, Header, Problem, Shown, TensorFile};

use crate::failure::Failure;
use crate::forecast::counted;
use crate::input::Input;
use crate::memory;
use crate::request::{Argument, Description, Operators, Request};

/// The operators of a request, before they are resolved for a tensor.
pub(crate) struct Operation {
    requested: Requested,
    /// The most memory in bytes of the lengths and indices while they are converted to a chain.
    pub numbers_bytes: u64,
    /// Whether the user wrote the chain as text, so that errors show the position in it.
    pub written: bool,
}

/// The form in which the operators were requested.
enum Requested {
    /// The same chain for all tensors. The single length of a reversal is repeated as often as a tensor needs.
    Chain { chain: Arc<Chain>, one: Option<OneLength> },
    /// A chain in the chain language, the numbers from the files that it names, and the chain for tensors without axis
    /// names.
    Written {
        text: String,
        numbers: HashMap<String, NumbersFile>,
        unnamed: Result<Arc<Chain>, Failure>,
    },
    /// One operator with axes by name, and its lengths or indices.
    Call { declared: &'static Declaration, given: Vec<Given>, numbers: Option<UnresolvedNumbers> },
}

struct UnresolvedNumbers {
    read: NumbersFile,
    /// The single length, if there is only one. It is repeated as often as a tensor needs.
    one: Option<i128>,
}

/// A reversal with the same length for all rows.
#[derive(Clone, Copy, Debug)]
struct OneLength {
    length: i128,
    axis: i64,
    batch_axis: Option<i64>,
}

impl Requested {
    fn of(chain: Chain, one: Option<OneLength>) -> Requested {
        Requested::Chain { chain: Arc::new(chain), one }
    }
}

impl OneLength {
    /// Returns `None` if the operator is not a reversal.
    fn of(length: i128, unfilled: &Unfilled) -> Option<OneLength> {
        let &Unfilled::Reverse { axis, batch_axis } = unfilled else { return None };
        Some(OneLength { length, axis, batch_axis })
    }

    /// Counts the lengths that a tensor of this shape needs. `None` if the tensor does not have the axes.
    fn count(self, shape: &Shape) -> Option<usize> {
        let axis_of = |axis| normalize_axis("axis", axis, shape.rank()).ok();
        let axis = axis_of(self.axis)?;
        match self.batch_axis {
            Some(batch_axis) => Some(shape[axis_of(batch_axis)?]),
            None => {
                let others = shape.iter().enumerate().filter(|(other, _)| *other != axis);
                Some(others.fold(1, |count, (_, size)| count.saturating_mul(*size)))
            }
        }
    }

    /// # Errors
    /// If the lengths need more memory than is free, or the length is not valid.
    fn chain(self, shape: &Shape) -> Result<Arc<Chain>, Failure> {
        let count = self.count(shape).unwrap_or(1);
        memory::check(BYTES_A_NUMBER.saturating_mul(count as u64), None)?;
        let OneLength { length, axis, batch_axis } = self;
        let unfilled = Unfilled::Reverse { axis, batch_axis };
        let op = unfilled.fill(NumbersFile::list(vec![length; count]));
        Ok(Arc::new(Chain::new().then(op.map_err(Failure::refused)?)))
    }
}

impl Operation {
    /// Parses the operators of a request. Also returns all input files: first the one whose tensors are moved, then the
    /// files that the chain names, in the order of its inputs.
    ///
    /// # Errors
    /// If the chain cannot be parsed, the description of a file is inconsistent, or lengths or indices cannot be read
    /// or do not fit the operator.
    pub(crate) fn of(
        request: &Request,
        operators: &Operators,
    ) -> Result<(Operation, Vec<Input>), Failure> {
        let path = request.only_input()?;
        if let Operators::Chain(text) = operators {
            return Operation::written(path, &request.described, text);
        }
        let inputs = vec![request.described.of(path)?];
        let operation = match operators {
            Operators::Call { operator, arguments, numbers } => {
                Operation::call(path, declared(operator, arguments)?, arguments, numbers)?
            }
            _ => Operation::made(Requested::of(Chain::new(), None)),
        };
        Ok((operation, inputs))
    }

    /// Parses a chain in the chain language, and returns it with the files that it reads.
    fn written(
        path: &Path,
        described: &Description,
        text: &str,
    ) -> Result<(Operation, Vec<Input>), Failure> {
        let (mut numbers_bytes, mut numbers) = (0, HashMap::new());
        let read = |unfilled: &Unfilled, file: &str| {
            let own = (unfilled.argument(), file);
            let read = read_numbers(own, path, BYTES_A_KEPT_NUMBER, &mut numbers_bytes)?;
            numbers.insert(file.to_owned(), read.clone());
            Ok(read)
        };
        // Check only the syntax. Axis names are resolved later, for each tensor.
        let chain = Chain::parse_named(text, &mut AxisNames::any(), read)?;
        let others = named_files(&chain, path)?;
        let unnamed = Chain::parse(text, known(&numbers)).map(Arc::new).map_err(Failure::refused);
        let paths = [path].into_iter().chain(others.iter().map(Path::new));
        let inputs = described.of_all(&paths.collect::<Vec<_>>())?;
        let text = text.to_owned();
        let operation = Operation::made(Requested::Written { text, numbers, unnamed });
        Ok((Operation { numbers_bytes, written: true, ..operation }, inputs))
    }

    fn call(
        input: &Path,
        declared: &'static Declaration,
        arguments: &[Argument],
        text: &str,
    ) -> Result<Operation, Failure> {
        let integers = |argument: &Argument| match argument {
            Argument::Integers(integers) => Some(integers.clone()),
            Argument::Names(_) => None,
        };
        let integers = arguments.iter().map(integers).collect::<Option<Vec<_>>>();
        if let Some(op) = integers.as_ref().and_then(|integers| declared.op(integers)) {
            return Ok(Operation::made(Requested::of(Chain::new().then(op), None)));
        }
        let parameter = declared.parameters.iter().find(|each| each.kind == Kind::Numbers);
        let each = if integers.is_some() { BYTES_A_NUMBER } else { BYTES_A_KEPT_NUMBER };
        let mut numbers_bytes = 0;
        let read = parameter
            .map(|parameter| self::numbers((parameter.name, text), input, each, &mut numbers_bytes))
            .transpose()?;
        let one = text.trim().parse().ok();
        let requested = match (integers, read) {
            (Some(integers), Some(read)) => {
                let unfilled = Unfilled::of(declared, &integers);
                let op = unfilled.fill(read).map_err(Failure::refused)?;
                let one = one.and_then(|length| OneLength::of(length, &unfilled));
                Requested::of(Chain::new().then(op), one)
            }
            (_, read) => Requested::Call {
                declared,
                given: arguments.iter().map(Argument::given).collect(),
                numbers: read.map(|read| UnresolvedNumbers { read, one }),
            },
        };
        Ok(Operation { numbers_bytes, ..Operation::made(requested) })
    }

    /// Returns whether tensors without the named axes are left unchanged.
    pub(crate) fn is_by_name(&self) -> bool {
        matches!(self.requested, Requested::Written { .. } | Requested::Call { .. })
    }

    fn made(requested: Requested) -> Operation {
        Operation { requested, numbers_bytes: 0, written: false }
    }

    /// Returns the chain for a tensor. An empty chain leaves the tensor unchanged.
    ///
    /// `among` contains the axis names of all chosen tensors if there are several.
    ///
    /// # Errors
    /// If a name does not match exactly one axis, or the chain needs more memory than is free.
    pub(crate) fn chain_for(
        &self,
        header: &Header,
        among: Option<&Arc<BTreeSet<String>>>,
    ) -> Result<Arc<Chain>, Failure> {
        let (shape, names_in_file) = (&header.shape, &header.annotations.dimension_names);
        let names = || {
            let unnamed = vec![None; shape.rank()];
            let names =
                AxisNames::of(if names_in_file.is_empty() { &unnamed } else { names_in_file });
            match among {
                Some(among) => names.among(among),
                None => names,
            }
        };
        match &self.requested {
            Requested::Chain { chain, one } => {
                match one.filter(|one| one.count(shape).is_some_and(|count| count != 1)) {
                    None => Ok(Arc::clone(chain)),
                    Some(one) => one.chain(shape),
                }
            }
            // A scalar among several tensors is excluded here: without axes, it is left unchanged.
            Requested::Written { unnamed, .. }
                if names_in_file.is_empty() && !(shape.rank() == 0 && among.is_some()) =>
            {
                unnamed.clone()
            }
            Requested::Written { text, numbers, .. } => {
                let chain = Chain::parse_named(text, &mut names(), known(numbers));
                chain.map(Arc::new).map_err(Failure::refused)
            }
            Requested::Call { declared, given, numbers: own } => {
                let numbers = names().resolve(declared, given).map_err(Failure::refused)?;
                let Some(numbers) = numbers else { return Ok(Arc::default()) };
                if let Some(op) = declared.op(&numbers) {
                    return Ok(Arc::new(Chain::new().then(op)));
                }
                let unfilled = Unfilled::of(declared, &numbers);
                let lacks = || {
                    Failure::usage(format!("{} needs its {}", declared.name, unfilled.argument()))
                };
                let own = own.as_ref().ok_or_else(lacks)?;
                if let Some(one) = own.one.and_then(|length| OneLength::of(length, &unfilled)) {
                    return one.chain(shape);
                }
                let op = unfilled.fill(own.read.clone()).map_err(Failure::refused)?;
                Ok(Arc::new(Chain::new().then(op)))
            }
        }
    }
}

/// Returns a reader of the lengths and indices that the first parse has read.
fn known(
    numbers: &HashMap<String, NumbersFile>,
) -> impl Fn(&Unfilled, &str) -> Result<NumbersFile, Failure> {
    |_, file| numbers.get(file).cloned().ok_or_else(|| Failure::refused("no such file"))
}

/// Finds the operator with this name and this number of arguments.
///
/// # Errors
/// If there is no such operator, or the operator takes several tensors.
fn declared(name: &str, arguments: &[Argument]) -> Result<&'static Declaration, Failure> {
    let is_meant = |declared: &&Declaration| {
        let takes_tensors = declared.parameters.iter().any(|each| each.kind.is_tensors());
        declared.name == name && declared.parameters.len() == arguments.len() && !takes_tensors
    };
    DECLARATIONS.into_iter().find(is_meant).ok_or_else(|| {
        let (name, count) = (Shown(name), counted(arguments.len(), "argument"));
        Failure::usage(format!("no operator on one tensor is called {name} and takes {count}"))
    })
}

/// Returns the tensor files that a chain names, except for its main input.
///
/// # Errors
/// If the chain does not use its main input, or two tensors would come from stdin.
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
        return Err(Failure::usage(format!("{input}: the chain does not use the input"))
            .with_hint(format!("write \"_\" for it, as in concat(_, {}, axis=0)", Shown(file))));
    }
    if input == Path::new("-") && files.iter().any(|file| file == "-") {
        return Err(Failure::usage("stdin can supply only one tensor, not two"));
    }
    Ok(files)
}

/// Parses the lengths or indices of `argument`: a list, or the name of a file.
///
/// Adds `each` bytes a number to `memory_bytes`.
fn numbers(
    (argument, text): (&'static str, &str),
    input: &Path,
    each: u64,
    memory_bytes: &mut u64,
) -> Result<NumbersFile, Failure> {
    if text.trim().is_empty() {
        return Ok(NumbersFile::list(Vec::new()));
    }
    let number = |entry: &str| entry.trim().parse().map_err(|_| entry.trim().to_owned());
    match text.split(',').map(number).collect::<Result<_, _>>() {
        Ok(values) => Ok(NumbersFile::list(values)),
        Err(entry) if !names_a_file(text) => Err(Failure::usage(format!(
            "{argument} entry \"{}\" is not an integer, and the file \"{}\" does not exist",
            Shown(entry),
            Shown(text)
        ))),
        Err(_) => read_numbers((argument, text), input, each, memory_bytes),
    }
}

/// Returns whether a text is the name of a file, which need not exist.
fn names_a_file(text: &str) -> bool {
    let path = Path::new(text);
    text == "-" || path.exists() || Format::of_ending(path).is_some()
}

/// The memory in bytes of a length or an index: an `i128` as read, and three `u64` in the operator and the table of the
/// move.
const BYTES_A_NUMBER: u64 = (size_of::<i128>() + 3 * size_of::<u64>()) as u64;

/// The same if it is also kept for other tensors.
const BYTES_A_KEPT_NUMBER: u64 = BYTES_A_NUMBER + size_of::<i128>() as u64;

/// Reads lengths or indices from a text file: integers separated by commas or white space.
///
/// Adds `each` bytes a number to `memory_bytes`.
fn read_text(
    (argument, file): (&'static str, &str),
    each: u64,
    memory_bytes: &mut u64,
) -> Result<NumbersFile, Failure> {
    let cannot = |error| Failure::running(format!("{}: cannot read: {error}", Shown(file)));
    let bytes = fs::metadata(file).map_err(cannot)?.len();
    // A number takes at least two bytes: a digit and a separator.
    *memory_bytes += bytes + each.saturating_mul(bytes / 2 + 1);
    memory::check(*memory_bytes, None)?;
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

/// Reads lengths or indices from a file that contains one integer tensor. `input` is the file whose tensors are moved.
///
/// Adds `each` bytes a number to `memory_bytes`.
fn read_numbers(
    (argument, file): (&'static str, &str),
    input: &Path,
    each: u64,
    memory_bytes: &mut u64,
) -> Result<NumbersFile, Failure> {
    if file == "-" && input == Path::new("-") {
        let message = format!("stdin can supply the tensor or the {argument}, not both");
        return Err(Failure::usage(message));
    }
    if Path::new(file).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt")) {
        return read_text((argument, file), each, memory_bytes);
    }
    let mut opened = match TensorFile::open(Path::new(file)) {
        Err(error)
            if matches!(error.problem, Problem::HintMissing(_) | Problem::UnknownEnding { .. }) =>
        {
            let file = Shown(file);
            return Err(Failure::usage(format!(
                "{file}: give {argument} as a list, an .npy file or a .txt file"
            )));
        }
        opened => opened?,
    };
    let [header] = opened.headers() else {
        let tensors = opened.headers().len();
        return Err(Failure::refused(format!(
            "{}: {argument} must be one tensor, got {tensors}",
            Shown(file)
        )));
    };
    let header = header.clone();
    let elements = header.shape.elements();
    let name = header.element.name();
    let no_integers =
        || Failure::refused(format!("{}: {argument} must be integers, got {name}", Shown(file)));
    let width = header.element.dtype().width();
    // A tensor of a zero-width type may have 2^62 elements in a small file.
    if width == 0 && elements > 0 {
        return Err(no_integers());
    }
    *memory_bytes += header.data_bytes as u64 + each.saturating_mul(elements as u64);
    memory::check(*memory_bytes, None)?;
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
