//! Any sequence of operators, in one pass where one is enough.

mod open;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use trundle_core::ops::{Operand, Scalar};
use trundle_core::program::{Made, TensorId};
use trundle_core::{DType, Error, IndexMap, Op, Program, Shape, Width};

use crate::notation::{
    self, AxisNames, NotationError, NumbersFile, Snippet, StageKind, Unfilled, quoted,
};
pub use open::{OpenChain, Slot};

/// Operators to be applied one after another; none of them leave a tensor as it is.
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
    /// The chain as it was written, for errors.
    text: String,
    /// Where each operator stands in `text`, in bytes.
    spans: Vec<Range<usize>>,
}

impl Chain {
    /// No operator: every element stays where it is.
    pub fn new() -> Chain {
        Chain::default()
    }

    /// This chain, and then `op`.
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
        self
    }

    /// The chain that `text` says in the language of [`notation`]; `read_numbers` gives the
    /// lengths or indices that are in the file of a name.
    ///
    /// # Errors
    /// [`ParseError::Notation`] if `text` is not of the language, or if lengths are out of range;
    /// [`ParseError::Read`] with what `read_numbers` refuses.
    pub fn parse<E>(
        text: &str,
        read_numbers: impl FnMut(&Unfilled, &str) -> Result<NumbersFile, E>,
    ) -> Result<Chain, ParseError<E>> {
        Chain::parse_named(text, &mut AxisNames::unknown(), read_numbers)
    }

    /// The chain that `text` says for a tensor whose axes have these names, which are then those of the result:
    /// stages that do nothing to such a tensor are left out.
    ///
    /// # Errors
    /// As [`Chain::parse`]; also [`ParseError::Notation`] for a name that no axis has, and for a stage that cannot be
    /// said of this tensor.
    pub fn parse_named<E>(
        text: &str,
        names: &mut AxisNames,
        mut read_numbers: impl FnMut(&Unfilled, &str) -> Result<NumbersFile, E>,
    ) -> Result<Chain, ParseError<E>> {
        let mut chain = Chain { text: text.to_owned(), ..Chain::default() };
        for stage in notation::parse_named(text, names).map_err(ParseError::Notation)? {
            let op = match stage.kind {
                StageKind::Op(op) => op,
                StageKind::ByFile { unfilled, file, file_span } => {
                    let argument = unfilled.argument();
                    match read_numbers(&unfilled, &file).map(|numbers| unfilled.fill(numbers)) {
                        Ok(Ok(op)) => op,
                        Ok(Err(error)) => {
                            let message = format!("{argument} in {}: {error}", quoted(&file));
                            let fault = notation::Fault::new(file_span, message);
                            return Err(ParseError::Notation(fault.within(text)));
                        }
                        Err(error) => {
                            let (text, span) = (text.to_owned(), file_span);
                            return Err(ParseError::Read { argument, error, file, text, span });
                        }
                    }
                }
            };
            chain.ops.push(op);
            chain.spans.push(stage.span);
        }
        Ok(chain)
    }

    /// The operators, in the order in which they are applied.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The tensors that it takes: first the one without a name, unless its first operator does without it, then each
    /// name once, in the order of the text.
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

    /// Whether it moves the elements of one tensor, and puts nothing beside them: whether it has [`Chain::steps`].
    pub fn is_map(&self) -> bool {
        self.ops.iter().all(Op::is_map)
    }

    /// The index map of each operator by itself: nothing composed.
    ///
    /// # Errors
    /// [`ChainError`] for the first operator that does not fit the shape it is given, or takes several tensors or a
    /// constant.
    pub fn steps(&self, shape: &Shape) -> Result<Vec<IndexMap>, ChainError> {
        let mut steps: Vec<IndexMap> = Vec::with_capacity(self.ops.len());
        for (stage, op) in self.ops.iter().enumerate() {
            let input = steps.last().map_or(shape, IndexMap::out_shape);
            steps.push(op.index_map(input).map_err(|source| self.error(stage, input, source))?);
        }
        Ok(steps)
    }

    /// What all operators do to a tensor of `shape`, as one map; `None` if they do not fit.
    pub fn index_map(&self, shape: &Shape) -> Option<IndexMap> {
        let steps = self.steps(shape).ok()?;
        steps.iter().try_fold(IndexMap::identity(shape), |all, step| all.then(step).ok())
    }

    /// For each axis of the result the axis of the first of tensors of these shapes that it is, if the chain only moves
    /// elements along axes and the axes themselves: `None` if it splits, merges, puts in or leaves out axes,
    /// or does not fit.
    pub fn axes_kept(&self, inputs: impl AsRef<[Shape]>) -> Option<Vec<usize>> {
        // Where there are no elements, maps do not tell axes apart.
        let not_empty = |shape: &Shape| {
            let sizes: Vec<usize> = shape.iter().map(|size| (*size).max(1)).collect();
            Shape::new(sizes).ok()
        };
        let shapes: Option<Vec<Shape>> = inputs.as_ref().iter().map(not_empty).collect();
        let (program, made) = self.shapes(&shapes?).ok()?;
        axes_kept(&program, made)
    }

    /// The chain as a program: its [inputs](Chain::inputs), of these shapes and this type, at least a tensor for each
    /// operator, and the last of them as the only output.
    ///
    /// Law: the origin of an element is its source by the index maps of the operators, asked from
    /// the last to the first.
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
    /// [`ChainError`] for the first operator that does not fit what it is given, has a number that is not of the
    /// type, or gives a tensor that is too large to be addressed; and if there is not one shape for each input.
    pub fn program(
        &self,
        inputs: impl AsRef<[Shape]>,
        dtype: DType,
    ) -> Result<Program, ChainError> {
        let (program, made) =
            self.program_of(inputs.as_ref(), dtype.into(), |value| value.element(dtype, dtype))?;
        let whole =
            |source| self.error(0, inputs.as_ref().first().unwrap_or(&Shape::default()), source);
        program.with_output(made).map_err(whole)
    }

    /// Adds to a program what the chain makes of tensors of it, one for each of its [inputs](Chain::inputs), all of one
    /// width. `constant` gives a buffer of one element that is a number.
    ///
    /// # Errors
    /// As [`Chain::program`], and what `constant` refuses.
    pub fn add_to(
        &self,
        program: &mut Program,
        inputs: &[TensorId],
        mut constant: impl FnMut(Scalar) -> Result<Vec<u8>, Error>,
    ) -> Result<TensorId, ChainError> {
        let names = self.inputs();
        if names.len() != inputs.len() {
            let (left, right) = ("the tensors", "the inputs of the chain");
            let (left_size, right_size) = (inputs.len(), names.len());
            let error = Error::SizesDiffer { left, right, left_size, right_size };
            return Err(self.error(0, &Shape::default(), error));
        }
        let mut last = inputs.first().copied().unwrap_or_default();
        for (stage, op) in self.ops.iter().enumerate() {
            let given = |operand: &Operand| match names.iter().position(|name| *name == operand) {
                Some(at) if *operand != Operand::Previous => inputs[at],
                _ => last,
            };
            let operands: Vec<TensorId> = op.operands().iter().map(given).collect();
            let input = operands.first().map(|first| program.tensor(*first).shape.clone());
            let made = program.made_by(op, &operands, &mut constant);
            last = made.map_err(|source| self.error(stage, &input.unwrap_or_default(), source))?;
        }
        Ok(last)
    }

    fn program_of(
        &self,
        inputs: &[Shape],
        width: Width,
        constant: impl FnMut(Scalar) -> Result<Vec<u8>, Error>,
    ) -> Result<(Program, TensorId), ChainError> {
        let mut program = Program::new();
        let given = |shape: &Shape| {
            let given = program.given(shape.clone(), width);
            given.map_err(|source| self.error(0, shape, source))
        };
        let given = inputs.iter().map(given).collect::<Result<Vec<_>, _>>()?;
        let made = self.add_to(&mut program, &given, constant)?;
        Ok((program, made))
    }

    /// The same of elements of any type, for the shapes alone.
    fn shapes(&self, inputs: &[Shape]) -> Result<(Program, TensorId), ChainError> {
        self.program_of(inputs, Width::Bytes(0), |_| Ok(Vec::new()))
    }

    /// The shape of what the chain makes of tensors of these shapes, one for each of its [inputs](Chain::inputs).
    ///
    /// # Errors
    /// As [`Chain::program`].
    pub fn out_shape(&self, inputs: impl AsRef<[Shape]>) -> Result<Shape, ChainError> {
        if let ([shape], true) = (inputs.as_ref(), self.is_map()) {
            let steps = self.steps(shape)?;
            return Ok(steps.last().map_or(shape, IndexMap::out_shape).clone());
        }
        let (program, made) = self.shapes(inputs.as_ref())?;
        Ok(program.tensor(made).shape.clone())
    }

    fn error(&self, stage: usize, input: &Shape, source: Error) -> ChainError {
        let mut error = ChainError {
            stage,
            input: input.clone(),
            source: Box::new(source),
            text: self.text.clone(),
            // A chain without operators has no place to show.
            span: self.spans.get(stage).cloned().unwrap_or_default(),
            suggestion: None,
        };
        let written = &self.text[error.span.clone()];
        if let Some((fault, place, suggestion)) = notation::misfit(written, &error.source, input) {
            let start = error.span.start;
            error.source = Box::new(Error::Pattern(Box::new(fault)));
            error.span = start + place.start..start + place.end;
            error.suggestion = suggestion;
        }
        error
    }
}

/// For each axis of a tensor the axis of the first input that it is.
fn axes_kept(program: &Program, id: TensorId) -> Option<Vec<usize>> {
    let tensor = program.tensor(id);
    match &tensor.made {
        Made::Given(0) => Some((0..tensor.shape.rank()).collect()),
        Made::Given(_) | Made::Fill(_) => None,
        Made::Joined { parts, .. } => parts.iter().find_map(|part| axes_kept(program, *part)),
        Made::Moved { from, map } => {
            let before = axes_kept(program, *from)?;
            Some(map.axes_kept()?.into_iter().map(|axis| before[axis]).collect())
        }
    }
}

impl PartialEq for Chain {
    /// The same operators, however they were written.
    fn eq(&self, other: &Chain) -> bool {
        self.ops == other.ops
    }
}

impl Eq for Chain {}

impl FromStr for Chain {
    type Err = NotationError;

    /// As [`Chain::parse`], where lengths are lists: no file is read.
    fn from_str(text: &str) -> Result<Chain, NotationError> {
        Chain::parse(text, |_, _| Err(())).map_err(|error| match error {
            ParseError::Notation(error) => error,
            ParseError::Read { argument, file, text, span, .. } => {
                let message = format!("{argument} in {}: no file is read here", quoted(&file));
                notation::Fault::new(span, message)
                    .suggest(format!("write a list, as {argument}=[2, 4, 3]"))
                    .within(&text)
            }
        })
    }
}

impl fmt::Display for Chain {
    /// The operators as stages of the chain language; `{:#}` cuts long lists of lengths off.
    ///
    /// Law: what a chain prints as gives it, unless it has no operator or lengths of several axes.
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

/// Why a text gives no chain. It prints as several lines, with a caret under the place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError<E> {
    /// The text is not of the chain language, or the lengths are out of range.
    Notation(NotationError),
    /// Lengths or indices could not be read.
    Read {
        /// Which of them: `lengths` or `indices`.
        argument: &'static str,
        /// Why not.
        error: E,
        /// The name of the file.
        file: String,
        /// The whole chain.
        text: String,
        /// Where the name stands in `text`, in bytes.
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

/// Why an operator of a chain does not fit the shape it is given. It prints as several lines: the
/// message, the chain with carets under the place, and a suggestion where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainError {
    /// Which operator, counted from 0.
    pub stage: usize,
    /// The shape it is given.
    pub input: Shape,
    /// What the operator says.
    pub source: Box<Error>,
    /// The whole chain as it was written.
    pub text: String,
    /// Where in `text`, in bytes: the operator, or the part of a pattern that does not fit.
    pub span: Range<usize>,
    /// What to write instead, in one line.
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
mod tests {
    use proptest::prelude::*;
    use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences, Roll, Transpose};

    use super::*;
    use crate::Plan;
    use crate::lowering::ChainPass;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes).unwrap()
    }

    fn chain(text: &str) -> Chain {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn axes_are_kept_unless_they_are_split_merged_or_put_in() {
        for sizes in [[3, 4, 5], [1, 4, 1], [1, 1, 1], [3, 0, 5], [0, 0, 0]] {
            let kept = |text: &str| chain(text).axes_kept(shape(&sizes));
            assert_eq!(kept("transpose(2, 0, 1)"), Some(vec![2, 0, 1]), "{sizes:?}");
            assert_eq!(kept("transpose(2,0,1) | roll(shift=1, axes=0)"), Some(vec![2, 0, 1]));
            assert_eq!(kept("transpose(2,0,1) | transpose(2,0,1)"), Some(vec![1, 2, 0]));
            assert_eq!(kept("flip(axes=[0, 2]) | a b c -> b a c"), Some(vec![1, 0, 2]));
            assert_eq!(kept("a b c -> (a b) c"), None, "{sizes:?}");
            assert_eq!(kept("a b c -> a (b c)"), None);
        }
        let kept = |text: &str| chain(text).axes_kept(shape(&[3, 4, 5]));
        assert_eq!(kept("rot90(k=1, axes=[0, 1])"), Some(vec![1, 0, 2]));
        assert_eq!(kept("slice(starts=[1], stops=[3], axes=[1])"), Some(vec![0, 1, 2]));
        assert_eq!(kept("reverse(axis=1, batch_axis=0, lengths=[1, 2, 3])"), Some(vec![0, 1, 2]));
        assert_eq!(kept("transpose(0, 1)"), None, "it does not fit");
    }

    /// For each output index of `shape` after the chain, the source index by one map after
    /// another.
    fn sources(maps: &[IndexMap], out_shape: &Shape) -> Vec<Vec<usize>> {
        let mut sources = Vec::new();
        out_shape.for_each_index(|index| {
            let source = maps.iter().rev().fold(index.to_vec(), |index, map| map.source_of(&index));
            sources.push(source);
        });
        sources
    }

    /// The index maps of the operators, one for each.
    fn steps(chain: &Chain, shape: &Shape) -> Vec<IndexMap> {
        let mut shape = shape.clone();
        let step = |op: &Op| {
            let map = op.index_map(&shape).unwrap();
            shape = map.out_shape().clone();
            map
        };
        chain.ops().iter().map(step).collect()
    }

    /// The law of [`Plan::passes`]; the passes between row-major tensors.
    fn check_passes(chain: &Chain, shape: &Shape) -> Vec<ChainPass> {
        let plan = Plan::row_major(chain, 2, shape, Some(1)).unwrap();
        let (passes, steps) = (plan.passes().to_vec(), steps(chain, shape));
        let out_shape = chain.out_shape(shape).unwrap();
        let maps: Vec<IndexMap> = passes.iter().map(|pass| pass.map.clone()).collect();
        assert_eq!(maps.last().unwrap().out_shape(), &out_shape);
        assert_eq!(sources(&maps, &out_shape), sources(&steps, &out_shape), "{chain}");
        let mut reached = 0;
        for pass in &passes {
            assert_eq!(pass.stages.start, reached);
            reached = pass.stages.end;
        }
        assert_eq!(reached, steps.len());
        check_program(chain, shape, &maps);
        passes
    }

    /// The law of [`Chain::program`].
    fn check_program(chain: &Chain, shape: &Shape, maps: &[IndexMap]) {
        let program = chain.program(shape, DType::Bytes(2)).unwrap();
        let [output] = program.outputs() else { panic!("one output") };
        for (element, source) in sources(maps, &chain.out_shape(shape).unwrap()).iter().enumerate()
        {
            let (input, at) = program.origin(*output, element);
            assert_eq!((input.0, &shape.unravel(at)), (0, source), "{chain}");
        }
    }

    #[test]
    fn a_program_that_cannot_be_is_refused_where_it_stands() {
        let large = shape(&[isize::MAX.unsigned_abs() / 2]);
        let refused =
            |chain: &Chain, width| chain.program(&large, DType::Bytes(width)).unwrap_err();
        assert_eq!(refused(&Chain::new(), 4).span, 0..0);
        assert_eq!(chain("flip(0)").program(&large, DType::U8).unwrap().tensors().len(), 2);
        let error = refused(&chain("flip(0) | flip(1)"), 1);
        assert_eq!((error.stage, error.span), (1, 10..17));
    }

    #[test]
    fn an_empty_chain_is_one_pass_that_moves_nothing() {
        let passes = check_passes(&Chain::new(), &shape(&[2, 3]));
        assert_eq!(passes, [ChainPass { stages: 0..0, map: IndexMap::identity(&shape(&[2, 3])) }]);
        assert_eq!(Chain::new().to_string(), "");
    }

    #[test]
    fn what_composes_is_one_pass() {
        let text = "flip(axes=[2]) | h w c -> c h w | roll(shift=[1, 5], axes=[0, -1])";
        let passes = check_passes(&chain(text), &shape(&[2, 3, 4]));
        assert_eq!(passes.len(), 1);
        assert_eq!(passes[0].stages, 0..3);
        assert_eq!(passes[0].map.out_shape(), &shape(&[4, 2, 3]));
        assert_eq!(passes[0].map.source_of(&[0, 0, 2]), [0, 0, 0]);
        let text =
            "roll(shift=[-1, -1], axes=[1, 2]) | b (h p) (w q) c -> (b h w) (p q) c, p=2, q=2";
        let passes = check_passes(&chain(text), &shape(&[2, 4, 6, 3]));
        assert_eq!(passes.len(), 1);
    }

    #[test]
    fn what_does_not_compose_takes_another_pass() {
        let reverse = "reverse(axis=1, batch_axis=0, lengths=[2, 4, 3])";
        let text = format!("flip(1) | {reverse} | roll(shift=1, axes=1) | flip(0) | {reverse}");
        let passes = check_passes(&chain(&text), &shape(&[3, 5]));
        let stages: Vec<_> = passes.into_iter().map(|pass| pass.stages).collect();
        assert_eq!(stages, [0..3, 3..5]);
    }

    #[test]
    fn what_is_moved_and_moved_back_takes_no_pass() {
        let [first, second] = ["2, 4", "5, 3"]
            .map(|lengths| format!("reverse(1, batch_axis=0, lengths=[{lengths}])"));
        let text = format!("{first} | {second} | {second} | {first}");
        let passes = check_passes(&chain(&text), &shape(&[2, 5]));
        assert_eq!(passes.len(), 1);
        assert!(passes[0].map.is_identity() && passes[0].stages == (0..4));
    }

    #[test]
    fn lengths_are_read_from_files() {
        let text = "reverse(1, rows.npy) | reverse(1, batch_axis=0, lengths='list')";
        let mut asked = Vec::new();
        let parsed = Chain::parse(text, |_, file| {
            asked.push(file.to_owned());
            match file {
                "rows.npy" => Ok(NumbersFile::new(shape(&[2, 1]), vec![9, 1]).unwrap()),
                "list" => Ok(NumbersFile::list(vec![0, 2])),
                _ => Err("no such file"),
            }
        });
        let expected = Chain::new()
            .then(ReverseSubsequences::dense(1, shape(&[2, 1]), [9, 1]))
            .then(ReverseSequence::new(1, 0, [0, 2]));
        assert_eq!(parsed.unwrap(), expected);
        assert_eq!(asked, ["rows.npy", "list"]);
        check_passes(&expected, &shape(&[2, 3]));
    }

    #[test]
    fn lengths_that_are_refused_are_shown_in_the_chain() {
        let parse = |text: &str, lengths: Result<NumbersFile, &'static str>| {
            Chain::parse(text, |_, _| lengths.clone()).unwrap_err().to_string()
        };
        assert_eq!(
            parse("flip(0) | reverse(1, lens.npy)", Err("no such file")),
            "lengths in \"lens.npy\": no such file\n  \
               flip(0) | reverse(1, lens.npy)\n  \
             \u{20}                    ^^^^^^^^"
        );
        assert_eq!(
            parse("reverse(1, lens.npy)", Ok(NumbersFile::list(vec![1, -2]))),
            "lengths in \"lens.npy\": length -2 at index 1 is out of range: \
             expected 0..=18446744073709551615\n  \
               reverse(1, lens.npy)\n  \
             \u{20}          ^^^^^^^^"
        );
        assert_eq!(
            "reverse(1, l)".parse::<Chain>().unwrap_err().to_string(),
            "lengths in \"l\": no file is read here\n  \
               reverse(1, l)\n  \
             \u{20}          ^\n  \
               write a list, as lengths=[2, 4, 3]"
        );
        assert!(matches!(
            Chain::parse("flop(1)", |_, _| Err(())),
            Err(ParseError::Notation(error)) if error.span == (0..4)
        ));
    }

    #[test]
    fn an_operator_that_does_not_fit_is_shown_in_the_chain() {
        let text = "h w -> w h | flip( axes=[2] ) | flip(0)";
        let error = chain(text).steps(&shape(&[2, 3])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "stage 2 does not fit shape [3, 2]: axis 2 is out of range for rank 2: \
             expected -2..=1\n  \
               h w -> w h | flip( axes=[2] ) | flip(0)\n  \
             \u{20}            ^^^^^^^^^^^^^^^^"
        );
        assert_eq!(error.stage, 1);
        assert_eq!(chain(text).out_shape(shape(&[2, 3])).unwrap_err(), error);
    }

    #[test]
    fn a_shape_that_a_pattern_refuses_is_shown_in_the_pattern() {
        for (text, sizes, expected) in [
            (
                "flip(0) | b (h p1) (w p2) c -> b (h w) (p1 p2 c), p1=16, p2=16",
                &[2, 64, 50, 3][..],
                "stage 2 does not fit shape [2, 64, 50, 3]: axis \"(w p2)\" of size 50 does not \
                 split into p2 = 16\n  \
                   flip(0) | b (h p1) (w p2) c -> b (h w) (p1 p2 c), p1=16...\n  \
                 \u{20}                  ^^^^^^\n  \
                   the nearest sizes that split are 48 and 64",
            ),
            (
                "(h p) -> h p, p=16",
                &[5],
                "stage 1 does not fit shape [5]: axis \"(h p)\" of size 5 does not split into \
                 p = 16\n  \
                   (h p) -> h p, p=16\n  \
                   ^^^^^\n  \
                   the least size that splits is 16",
            ),
            (
                "(h p) -> h p, h=2, p=16",
                &[30],
                "stage 1 does not fit shape [30]: axis \"(h p)\" of size 30 does not split into \
                 h = 2, p = 16\n  \
                   (h p) -> h p, h=2, p=16\n  \
                   ^^^^^\n  \
                   they multiply to 32: leave one of them to the shape",
            ),
            (
                "(h p) -> h p, p=0",
                &[0],
                "stage 1 does not fit shape [0]: axis \"(h p)\" of size 0 leaves open what h is \
                 beside p = 0\n  \
                   (h p) -> h p, p=0\n  \
                   ^^^^^\n  \
                   give the size of \"h\" too",
            ),
            (
                "h w -> w h, w=3",
                &[2, 4],
                "stage 1 does not fit shape [2, 4]: axis \"w\" of size 4 must have w = 3\n  \
                   h w -> w h, w=3\n  \
                 \u{20} ^\n  \
                   leave the size of \"w\" to the shape",
            ),
            (
                "h w () -> h w",
                &[2, 4, 3],
                "stage 1 does not fit shape [2, 4, 3]: axis \"1\" of size 3 must have size 1\n  \
                   h w () -> h w\n  \
                 \u{20}   ^^\n  \
                   write a name in place of 1 if the axis may have another size",
            ),
            (
                "flip(0) | h w -> w h",
                &[2, 4, 3],
                "stage 2 does not fit shape [2, 4, 3]: the pattern is for 2 axes, and shape \
                 [2, 4, 3] has 3\n  \
                   flip(0) | h w -> w h\n  \
                 \u{20}         ^^^\n  \
                   write \"...\" on both sides for the axes that have no name",
            ),
            (
                "a (b c) ... -> a b c ..., b=2",
                &[2],
                "stage 1 does not fit shape [2]: the pattern is for 2 or more axes, and shape [2] \
                 has 1\n  \
                   a (b c) ... -> a b c ..., b=2\n  \
                   ^^^^^^^^^^^",
            ),
            (
                "-> 1",
                &[2],
                "stage 1 does not fit shape [2]: the pattern is for 0 axes, and shape [2] has 1\n  \
                   -> 1\n  \
                   ^^\n  \
                   write \"...\" on both sides for the axes that have no name",
            ),
        ] {
            let error = chain(text).out_shape(shape(sizes)).unwrap_err().to_string();
            assert_eq!(error, expected, "\n{error}");
        }
    }

    #[test]
    fn a_chain_that_was_built_is_shown_as_it_would_be_written() {
        let built = chain(" flip(1) ").then(Transpose::new(&[0, 0])).then(Flip::new(&[0]));
        assert_eq!(built.to_string(), "flip(axes=[1]) | transpose(0, 0) | flip(axes=[0])");
        assert_eq!(
            built.steps(&shape(&[2, 3])).unwrap_err().to_string(),
            "stage 2 does not fit shape [2, 3]: order has axis 0 twice\n   \
               flip(1)  | transpose(0, 0) | flip(axes=[0])\n  \
             \u{20}           ^^^^^^^^^^^^^^^"
        );
    }

    /// An operator that fits every shape of three axes of size 3.
    fn fitting_op() -> impl Strategy<Value = Op> {
        let axes = || proptest::collection::vec(-3..3i64, 0..4);
        let length = 0..=4u64;
        prop_oneof![
            proptest::sample::subsequence(vec![0, 1, -1], 0..=3)
                .prop_map(|axes| Flip::new(&axes).into()),
            (-4..5i64, axes()).prop_map(|(shift, axes)| Roll::new(&[shift], &axes).into()),
            Just(vec![0, 1, 2i64]).prop_shuffle().prop_map(|order| Transpose::new(&order).into()),
            Just(Transpose::new(&[]).into()),
            (-3..3i64, proptest::collection::vec(length, 9))
                .prop_map(|(axis, lengths)| ReverseSubsequences::new(axis, lengths).into()),
            (0..3i64, 1..3i64, proptest::collection::vec(0..=3i128, 3)).prop_map(
                |(axis, further, lengths)| {
                    ReverseSequence::new(axis, (axis + further) % 3, lengths).into()
                }
            ),
        ]
    }

    fn fitting_chain() -> impl Strategy<Value = Chain> {
        proptest::collection::vec(fitting_op(), 0..6)
            .prop_map(|ops| ops.into_iter().fold(Chain::new(), Chain::then))
    }

    proptest! {
        #[test]
        fn passes_do_what_the_operators_do_one_after_another(chain in fitting_chain()) {
            check_passes(&chain, &shape(&[3, 3, 3]));
        }

        #[test]
        fn what_a_chain_prints_as_gives_it(chain in fitting_chain()) {
            prop_assume!(!chain.ops().is_empty());
            prop_assert_eq!(chain.to_string().parse::<Chain>().unwrap(), chain);
        }
    }
}
