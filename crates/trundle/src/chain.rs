//! Chains: sequences of operators, which run in one pass over memory if possible.

mod open;

use std::fmt;
use std::mem;
use std::ops::Range;
use std::str::FromStr;

use trundle_core::ops::{Operand, Scalar};
use trundle_core::program::{Made, TensorId};
use trundle_core::{DType, Error, IndexMap, Op, Program, Shape, TensorViewMut, Width, check_sizes};

use crate::functions::moved_in_place;
use crate::notation::{
    self, AxisNames, NotationError, NumbersFile, Snippet, Stage, StageKind, Unfilled, quoted,
};
use crate::plan::PlanError;
pub use open::{OpenChain, Slot};

/// A sequence of operators that are applied to a tensor in order. An empty chain leaves a tensor unchanged.
///
/// ```
/// use trundle::Chain;
/// use trundle_core::{Shape, ops::{Flip, Transpose}};
///
/// let chain: Chain = "flip(axes=[2]) | h w c -> c h w".parse()?;
/// assert_eq!(chain, Chain::new().then(Flip::new(&[2])).then(Transpose::new(&[2, 0, 1])));
/// let image = Shape::new([480, 640, 3])?;
/// assert_eq!(chain.out_shape(&image)?.sizes(), [3, 480, 640]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Chain {
    ops: Vec<Op>,
    /// The parsed string, or an equivalent one, for error messages.
    text: String,
    /// The range of each operator in `text`, in bytes.
    spans: Vec<Range<usize>>,
    /// The axis names of the result; `None` if the last operators were not parsed.
    names: Option<AxisNames>,
}

impl Chain {
    /// Returns a chain without operators.
    pub fn new() -> Chain {
        Chain::default()
    }

    /// Appends an operator.
    #[must_use]
    pub fn then(mut self, op: impl Into<Op>) -> Chain {
        let op = op.into();
        if !self.text.is_empty() {
            self.text.push_str(" | ");
        }
        let start = self.text.len();
        self.text.push_str(&format!("{op:#}"));
        self.spans.push(start..self.text.len());
        self.ops.push(op);
        self.names = None;
        self
    }

    /// Parses a chain from a string in the [chain language](notation).
    ///
    /// Calls `read_numbers` for each argument that names a file; it returns the lengths or indices in the file.
    ///
    /// # Errors
    /// [`ParseError::Notation`] if `text` does not parse or if lengths are out of range; [`ParseError::Read`]
    /// if `read_numbers` fails.
    pub fn parse<E>(
        text: &str,
        read_numbers: impl FnMut(&Unfilled, &str) -> Result<NumbersFile, E>,
    ) -> Result<Chain, ParseError<E>> {
        Chain::parse_named(text, &mut AxisNames::unknown(), read_numbers)
    }

    /// Parses a chain for a tensor whose axes have the names `names`.
    ///
    /// Replaces `names` by the axis names of the result. Leaves out the stages that do not change this tensor because
    /// it lacks some of their axes, see [`AxisNames::among`].
    ///
    /// # Errors
    /// The errors of [`Chain::parse`], and [`ParseError::Notation`] for an unknown axis name or for a stage that does
    /// not fit these names.
    pub fn parse_named<E>(
        text: &str,
        names: &mut AxisNames,
        mut read_numbers: impl FnMut(&Unfilled, &str) -> Result<NumbersFile, E>,
    ) -> Result<Chain, ParseError<E>> {
        let (mut is_checked, mut failed) = (false, None);
        let mut fill = |kind| match kind {
            StageKind::ByFile { unfilled, file, file_span } => {
                let fault = notation::Fault::new(file_span.clone(), "");
                // The whole text is checked before the first file is read.
                let checked = match mem::replace(&mut is_checked, true) {
                    true => Ok(()),
                    false => notation::parse_named(text, &mut AxisNames::any()).map(drop),
                };
                let op = checked
                    .map_err(ParseError::Notation)
                    .and_then(|()| filled(text, &unfilled, file, file_span, &mut read_numbers));
                op.map(StageKind::Op).map_err(|error| {
                    failed = Some(error);
                    fault
                })
            }
            op => Ok(op),
        };
        let stages = notation::parse_filled(text, names, &mut fill);
        if let Some(error) = failed {
            return Err(error);
        }
        let mut chain = Chain { text: text.to_owned(), ..Chain::default() };
        for Stage { kind, span } in stages.map_err(ParseError::Notation)? {
            if let StageKind::Op(op) = kind {
                chain.ops.push(op);
                chain.spans.push(span);
            }
        }
        chain.names = Some(names.clone());
        Ok(chain)
    }

    /// Returns the names that the patterns of a parsed chain give to the axes of a result with this many axes; `None`
    /// for an axis without a name, or with the name of another axis. Empty if no axis has a name.
    ///
    /// ```
    /// use trundle::Chain;
    ///
    /// let chain: Chain = "z y x -> x y z | windows(size=[2], step=[1], axes=[0])".parse()?;
    /// let names = ["x", "y", "z"].map(|name| Some(name.to_owned()));
    /// assert_eq!(chain.names_from_patterns(4), [&names[..], &[None]].concat());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names_from_patterns(&self, rank: usize) -> Vec<Option<String>> {
        self.names.as_ref().map_or_else(Vec::new, |names| names.given_by_patterns(rank))
    }

    /// The operators, in order of application.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns the tensors that the chain takes as inputs.
    ///
    /// If the first operator uses [`Operand::Previous`], which is `_` in the chain language, the list begins with it.
    /// Then it has each named tensor once, in the order of first use.
    pub fn inputs(&self) -> Vec<&Operand> {
        let mut inputs: Vec<&Operand> = Vec::new();
        let first = self.ops.first().map_or(&[Operand::Previous][..], Op::operands);
        if first.contains(&Operand::Previous) {
            inputs.push(&Operand::Previous);
        }
        let named = self.ops.iter().flat_map(Op::operands);
        for operand in named.filter(|operand| **operand != Operand::Previous) {
            if !inputs.contains(&operand) {
                inputs.push(operand);
            }
        }
        inputs
    }

    /// Returns whether the chain only moves the elements of one tensor.
    ///
    /// If it does, [`Chain::steps`] succeeds for every shape that fits.
    pub fn is_map(&self) -> bool {
        self.ops.iter().all(Op::is_map)
    }

    /// Returns one index map for each operator, for an input of `shape`.
    ///
    /// # Errors
    /// [`ChainError`] for the first operator that does not fit its input shape, takes several tensors, or uses
    /// a constant.
    pub fn steps(&self, shape: &Shape) -> Result<Vec<IndexMap>, ChainError> {
        let mut steps: Vec<IndexMap> = Vec::with_capacity(self.ops.len());
        for (stage, op) in self.ops.iter().enumerate() {
            let input = steps.last().map_or(shape, IndexMap::out_shape);
            steps.push(op.index_map(input).map_err(|source| self.error(stage, input, source))?);
        }
        Ok(steps)
    }

    /// Applies the operators to `data` within its memory, in as few passes as possible.
    ///
    /// `data` becomes a view of the result. See [`transpose_in_place`](crate::transpose_in_place).
    ///
    /// ```
    /// use trundle::{Chain, Shape, TensorViewMut};
    ///
    /// let chain: Chain = "roll(shift=[1], axes=[0]) | flip(axes=[1])".parse()?;
    /// let mut numbers = [1, 2, 3, 4];
    /// chain.move_in_place(&mut TensorViewMut::from_slice(&mut numbers, &Shape::new([2, 2])?)?)?;
    /// assert_eq!(numbers, [4, 3, 2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanError::Chain`] for an operator that does not fit. [`PlanError::Layout`] if the result has another number
    /// of elements, or another shape while `data` is not row-major.
    pub fn move_in_place<T: Copy + 'static>(
        &self,
        data: &mut TensorViewMut<'_, T>,
    ) -> Result<(), PlanError> {
        Ok(moved_in_place(&self.steps(data.shape())?, data)?)
    }

    /// Composes all operators into one map for a tensor of `shape`.
    ///
    /// Returns `None` if an operator does not fit its input shape, takes several tensors, or uses a constant.
    pub fn index_map(&self, shape: &Shape) -> Option<IndexMap> {
        let steps = self.steps(shape).ok()?;
        steps.iter().try_fold(IndexMap::identity(shape), |all, step| all.then(step).ok())
    }

    /// Returns, for each axis of the result, the number of the corresponding axis of the first input.
    ///
    /// Returns `None` if the chain splits, merges, inserts or drops axes, or does not fit these shapes.
    pub fn axes_kept(&self, inputs: impl AsRef<[Shape]>) -> Option<Vec<usize>> {
        // The index map of an empty tensor does not distinguish its axes, so sizes of 0 become 1.
        let not_empty = |shape: &Shape| {
            let sizes: Vec<usize> = shape.iter().map(|size| (*size).max(1)).collect();
            Shape::new(sizes).ok()
        };
        let shapes: Option<Vec<Shape>> = inputs.as_ref().iter().map(not_empty).collect();
        let program = self.shapes(shapes?).ok()?;
        axes_kept(&program, program.outputs()[0])
    }

    /// Converts the chain to a program, for [inputs](Chain::inputs) with these shapes and this element type.
    ///
    /// The program has at least one tensor for each operator; the last tensor is the only output. To find the source of
    /// an output element, apply the index maps of the operators to its index, from the last operator to the first.
    ///
    /// ```
    /// use trundle::{Chain, DType, ProgramPlan, Shape};
    ///
    /// let chain: Chain = "concat(a, b, axis=0) | pad(width=1, value=9) | flip(0)".parse()?;
    /// let program = chain.program([Shape::new([2])?, Shape::new([1])?], DType::U8)?;
    /// let plan = ProgramPlan::row_major(&program, None)?;
    /// let mut out = [0; 5];
    /// plan.run(&[&[1, 2], &[3]], &mut out)?;
    /// assert_eq!(out, [9, 3, 2, 1, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ChainError`] if the number of shapes differs from the number of inputs. Otherwise, for the first operator that
    /// does not fit its inputs, has a constant that the type cannot represent, or makes a tensor that is too large to
    /// address.
    pub fn program(
        &self,
        inputs: impl AsRef<[Shape]>,
        dtype: DType,
    ) -> Result<Program, ChainError> {
        self.program_with(inputs, dtype.into(), |number| number.native_element(dtype, dtype))
    }

    /// Converts the chain to a program as [`Chain::program`] does, for a width instead of an element type.
    ///
    /// `constant` converts an operator's constant, such as the value of a padding, to the bytes of one element.
    ///
    /// # Errors
    /// As [`Chain::program`], and the errors of `constant`.
    pub fn program_with(
        &self,
        inputs: impl AsRef<[Shape]>,
        width: Width,
        constant: impl FnMut(Scalar) -> Result<Vec<u8>, Error>,
    ) -> Result<Program, ChainError> {
        let (mut program, given) = self.given(inputs.as_ref(), width)?;
        let made = self.add_to(&mut program, &given, constant)?;
        let shape = program.tensor(made).shape.clone();
        program.with_output(made).map_err(|source| self.error(0, &shape, source))
    }

    fn given(
        &self,
        inputs: &[Shape],
        width: Width,
    ) -> Result<(Program, Vec<TensorId>), ChainError> {
        let mut program = Program::new();
        let given = |shape: &Shape| {
            let given = program.given(shape.clone(), width);
            given.map_err(|source| self.error(0, shape, source))
        };
        let given = inputs.iter().map(given).collect::<Result<Vec<_>, _>>()?;
        Ok((program, given))
    }

    /// Adds the operators of the chain to a program, and returns the tensor of the result.
    ///
    /// `inputs` has a tensor for each of the [inputs](Chain::inputs) of the chain, all of one width. `constant`
    /// converts an operator's constant to the bytes of one element.
    ///
    /// # Errors
    /// As [`Chain::program`], and the errors of `constant`.
    pub fn add_to(
        &self,
        program: &mut Program,
        inputs: &[TensorId],
        mut constant: impl FnMut(Scalar) -> Result<Vec<u8>, Error>,
    ) -> Result<TensorId, ChainError> {
        self.made(program, inputs, |program, op, operands| {
            program.made_by(op, operands, &mut constant)
        })
    }

    /// Counts the indices that the chain's scatters keep in memory, for [inputs](Chain::inputs) with these shapes.
    ///
    /// The lists of indices in the chain itself are not counted. See [`Program::indices_of_update`].
    ///
    /// # Errors
    /// As [`Chain::program`].
    pub fn indices_of_updates(&self, inputs: impl AsRef<[Shape]>) -> Result<usize, ChainError> {
        let mut indices = 0usize;
        let (mut program, given) = self.given(inputs.as_ref(), NO_BYTES)?;
        self.made(&mut program, &given, |program, op, operands| {
            if let [base, ..] = operands
                && let Some(targets) = op.targets(&program.tensor(*base).shape)?
            {
                indices = indices.saturating_add(Program::indices_of_update(&targets));
            }
            program.made_by(op, operands, |_| Ok(Vec::new()))
        })?;
        Ok(indices)
    }

    /// Calls `make` for each operator, to add its result to the program. Returns the last result.
    fn made(
        &self,
        program: &mut Program,
        inputs: &[TensorId],
        mut make: impl FnMut(&mut Program, &Op, &[TensorId]) -> Result<TensorId, Error>,
    ) -> Result<TensorId, ChainError> {
        let names = self.inputs();
        check_sizes(
            ("the list of tensors", inputs.len()),
            ("the list of the chain's inputs", names.len()),
        )
        .map_err(|error| self.error(0, &Shape::default(), error.into()))?;
        let mut last = inputs.first().copied().unwrap_or_default();
        for (stage, op) in self.ops.iter().enumerate() {
            let given = |operand: &Operand| match names.iter().position(|name| *name == operand) {
                Some(at) if *operand != Operand::Previous => inputs[at],
                _ => last,
            };
            let operands: Vec<TensorId> = op.operands().iter().map(given).collect();
            let input = operands.first().map(|first| program.tensor(*first).shape.clone());
            let made = make(program, op, &operands);
            last = made.map_err(|source| self.error(stage, &input.unwrap_or_default(), source))?;
        }
        Ok(last)
    }

    fn shapes(&self, inputs: impl AsRef<[Shape]>) -> Result<Program, ChainError> {
        self.program_with(inputs, NO_BYTES, |_| Ok(Vec::new()))
    }

    /// Returns the shape of the result, for [inputs](Chain::inputs) with these shapes.
    ///
    /// # Errors
    /// As [`Chain::program`].
    pub fn out_shape(&self, inputs: impl AsRef<[Shape]>) -> Result<Shape, ChainError> {
        let program = self.shapes(inputs)?;
        Ok(program.tensor(program.outputs()[0]).shape.clone())
    }

    fn error(&self, stage: usize, input: &Shape, source: Error) -> ChainError {
        let mut error = ChainError {
            stage,
            input: input.clone(),
            source: Box::new(source),
            text: self.text.clone(),
            span: self.spans.get(stage).cloned().unwrap_or_default(),
            suggestion: None,
        };
        let written = &self.text[error.span.clone()];
        if let Some((fault, range, suggestion)) = notation::misfit(written, &error.source, input) {
            let start = error.span.start;
            error.source = Box::new(Error::Pattern(Box::new(fault)));
            error.span = start + range.start..start + range.end;
            error.suggestion = suggestion;
        }
        error
    }
}

/// The element width of programs that serve only to compute shapes.
const NO_BYTES: Width = Width::Bytes(0);

/// Makes the operator of a stage whose lengths or indices are in a file.
fn filled<E>(
    text: &str,
    unfilled: &Unfilled,
    file: String,
    file_span: Range<usize>,
    mut read_numbers: impl FnMut(&Unfilled, &str) -> Result<NumbersFile, E>,
) -> Result<Op, ParseError<E>> {
    let argument = unfilled.argument();
    match read_numbers(unfilled, &file).map(|numbers| unfilled.fill(numbers)) {
        Ok(Ok(op)) => Ok(op),
        Ok(Err(error)) => {
            let message = format!("{argument} in {}: {error}", quoted(&file));
            Err(ParseError::Notation(notation::Fault::new(file_span, message).within(text)))
        }
        Err(error) => {
            Err(ParseError::Read { argument, error, file, text: text.to_owned(), span: file_span })
        }
    }
}

/// Returns, for each axis of a tensor, the corresponding axis of the first input; `None` if an axis has none.
fn axes_kept(program: &Program, id: TensorId) -> Option<Vec<usize>> {
    let tensor = program.tensor(id);
    match &tensor.made {
        Made::Given(0) => Some((0..tensor.shape.rank()).collect()),
        Made::Given(_) | Made::Fill(_) => None,
        Made::Joined { parts, .. } => parts.iter().find_map(|part| axes_kept(program, *part)),
        Made::Moved { from, map } => {
            let before = axes_kept(program, *from)?;
            // The map of an empty tensor does not distinguish its axes.
            let kept = map.axes_kept().filter(|_| map.in_shape().elements() > 0)?;
            Some(kept.into_iter().map(|axis| before[axis]).collect())
        }
    }
}

impl PartialEq for Chain {
    /// Compares the operators, not the strings.
    fn eq(&self, other: &Chain) -> bool {
        self.ops == other.ops
    }
}

impl Eq for Chain {}

impl FromStr for Chain {
    type Err = NotationError;

    /// Parses a chain like [`Chain::parse`], but without files: lengths and indices must be lists.
    fn from_str(text: &str) -> Result<Chain, NotationError> {
        Chain::parse(text, |_, _| Err(())).map_err(|error| match error {
            ParseError::Notation(error) => error,
            ParseError::Read { argument, file, text, span, .. } => {
                let message =
                    format!("{argument} in {}: chains do not read files here", quoted(&file));
                notation::Fault::new(span, message)
                    .suggest(format!("write a list such as {argument}=[2, 4, 3]"))
                    .within(&text)
            }
        })
    }
}

impl fmt::Display for Chain {
    /// Writes the operators as stages of the chain language; `{:#}` abbreviates long lists of lengths.
    ///
    /// Without `#`, the output parses to an equal chain. Exceptions are the empty chain, operators that are not in
    /// the chain language (`gather_nd`), lengths that are a tensor, and indices with several axes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (stage, op) in self.ops.iter().enumerate() {
            if stage > 0 {
                f.write_str(" | ")?;
            }
            op.fmt(f)?;
        }
        Ok(())
    }
}

/// The reason why a string could not be parsed as a chain.
///
/// Prints several lines: the message, and the chain with a caret under the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError<E> {
    /// The string is not in the chain language, or lengths are out of range.
    Notation(NotationError),
    /// A file of lengths or indices could not be read.
    Read {
        /// The argument: `lengths` or `indices`.
        argument: &'static str,
        /// The caller's error.
        error: E,
        /// The file name.
        file: String,
        /// The whole string.
        text: String,
        /// The range of the file name in `text`, in bytes.
        span: Range<usize>,
    },
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for ParseError<E> {}

impl<E: fmt::Display> fmt::Display for ParseError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Notation(error) => error.fmt(f),
            ParseError::Read { argument, error, file, text, span } => {
                write!(f, "{argument} in {}: {error}{}", quoted(file), Snippet { text, span })
            }
        }
    }
}

/// The reason why an operator of a chain does not fit its input shape.
///
/// Prints several lines: the message, the chain with carets under the fault, and a suggestion if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainError {
    /// The index of the operator, from 0.
    pub stage: usize,
    /// The shape of the operator's input.
    pub input: Shape,
    /// The error of the operator.
    pub source: Box<Error>,
    /// The whole chain.
    pub text: String,
    /// The range in `text` of the operator, or of a wrong part of a pattern, in bytes.
    pub span: Range<usize>,
    /// A correction, in one line.
    pub suggestion: Option<String>,
}

impl std::error::Error for ChainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChainError { stage, input, source, text, span, suggestion } = self;
        let snippet = Snippet { text, span };
        write!(f, "stage {} does not fit shape {input}: {source}{snippet}", stage + 1)?;
        match suggestion {
            Some(suggestion) => write!(f, "\n  {suggestion}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
