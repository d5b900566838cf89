//! Plans: chains that are planned once and run many times.

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use trundle_core::{IndexMap, Layout, Move, Result, Shape, Width};

use crate::chain::{Chain, ChainError};
use crate::in_place::{InPlacePlan, not_in_place, usual_scratch};
use crate::lower::{ChainPass, chain_passes};
use crate::lowering::{CpuPlan, Device, Runner};
use crate::planned::run_in_turn;

/// A chain that is planned for one element width, one source layout and one destination layout.
///
/// If the plan has several passes, each pass except the last writes an intermediate tensor. [`Plan::run`] does not
/// allocate memory for these tensors, but [`Plan::run_slice`] and similar methods do.
///
/// `{plan}` prints the operators, the index map, the [`Move`] and the [`CpuPlan`] of each pass.
///
/// ```
/// use trundle::{Chain, Layout, Plan, Shape};
///
/// let chain: Chain = "flip(axes=[2]) | h w c -> c h w".parse()?;
/// let shape = Shape::new([2, 2, 3])?;
/// let plan = Plan::row_major(&chain, 1, &shape, None)?;
/// let bgr = [1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
/// let mut rgb = [0u8; 12];
/// plan.run(&bgr, &mut rgb)?;
/// assert_eq!(rgb, [3, 6, 9, 12, 2, 5, 8, 11, 1, 4, 7, 10]);
/// assert_eq!(plan.passes().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Clones share the memory for the intermediate tensors. If two runs overlap in time, the second allocates its own.
#[derive(Clone, Debug)]
pub struct Plan {
    chain: Chain,
    passes: Vec<ChainPass>,
    moves: Vec<Move>,
    width: Width,
    src: Layout,
    dst: Layout,
    runner: Arc<Runner<Device>>,
}

/// The reason why a chain could not be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// An operator does not fit its input shape.
    Chain(ChainError),
    /// A layout does not fit the chain, or cannot be addressed or written.
    Layout(trundle_core::Error),
}

impl std::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PlanError::Chain(error) => Some(error),
            PlanError::Layout(error) => Some(error),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Chain(error) => error.fmt(f),
            PlanError::Layout(error) => error.fmt(f),
        }
    }
}

impl From<ChainError> for PlanError {
    fn from(error: ChainError) -> PlanError {
        PlanError::Chain(error)
    }
}

impl<E: Into<trundle_core::Error>> From<E> for PlanError {
    fn from(error: E) -> PlanError {
        PlanError::Layout(error.into())
    }
}

impl Plan {
    /// Plans `chain` for a source with layout `src` and a destination with layout `dst`.
    ///
    /// `src` must have a shape that the first operator accepts, and `dst` the shape of the result. `width` is the
    /// element width: a number of bytes, a packing or a [`DType`](crate::DType). `threads` is the maximum number of
    /// threads; `None` means [the default](crate::threads).
    ///
    /// # Errors
    /// [`PlanError::Chain`] for an operator that does not fit its input shape, takes several tensors or has a constant;
    /// for the last two, use a [`ProgramPlan`](crate::ProgramPlan). [`PlanError::Layout`] if `dst` has another shape
    /// than the result or has overlapping elements, or if there is not enough memory for the intermediate tensors.
    pub fn new(
        chain: &Chain,
        width: impl Into<Width>,
        src: &Layout,
        dst: &Layout,
        threads: Option<usize>,
    ) -> Result<Plan, PlanError> {
        Plan::of(chain, width.into(), src, Some(dst), threads)
    }

    /// Plans `chain` as in [`Plan::new`], for a contiguous row-major destination.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn to_row_major(
        chain: &Chain,
        width: impl Into<Width>,
        src: &Layout,
        threads: Option<usize>,
    ) -> Result<Plan, PlanError> {
        Plan::of(chain, width.into(), src, None, threads)
    }

    fn of(
        chain: &Chain,
        width: Width,
        src: &Layout,
        dst: Option<&Layout>,
        threads: Option<usize>,
    ) -> Result<Plan, PlanError> {
        let steps = chain.steps(src.shape())?;
        let contiguous = || {
            let shape = steps.last().map_or(src.shape(), IndexMap::out_shape);
            Layout::row_major(shape, width.units())
        };
        let dst = dst.map_or_else(contiguous, |dst| Ok(dst.clone()))?;
        let device = Device::new(threads);
        let (passes, moves) = chain_passes(steps, width, src, &dst, &device)?;
        let runner = Arc::new(Runner::chain(device, &moves)?);
        Ok(Plan { chain: chain.clone(), passes, moves, width, src: src.clone(), dst, runner })
    }

    /// Plans `chain` as in [`Plan::new`], for a contiguous row-major source and destination.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn row_major(
        chain: &Chain,
        width: impl Into<Width>,
        shape: &Shape,
        threads: Option<usize>,
    ) -> Result<Plan, PlanError> {
        let width = width.into();
        let src = Layout::row_major(shape, width.units())?;
        Plan::to_row_major(chain, width, &src, threads)
    }

    /// Moves the elements from `src` to `dst`. The planned layouts give the positions of elements in these bytes.
    ///
    /// Bytes of `dst` outside the elements stay unchanged.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds) if a buffer is too short for its planned layout.
    /// In this case, `dst` is unchanged.
    pub fn run(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        self.runner.run(&[src], &mut [dst])
    }

    /// Runs the plan as [`Plan::run`] until it is finished or `go_on` returns false.
    ///
    /// This is for moves that a user may cancel or that have a time limit. The work is divided into parts of
    /// microseconds to milliseconds. Threads call `go_on` before each part, possibly at the same time. After it has
    /// returned false, no thread begins another part, and this function returns when the parts in progress have ended.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use trundle::{Chain, Error, Plan, Shape};
    ///
    /// let chain: Chain = "a b -> b a".parse()?;
    /// let plan = Plan::row_major(&chain, 1, &Shape::new([2000, 3000])?, None)?;
    /// let (src, mut dst) = (vec![0u8; 6_000_000], vec![0u8; 6_000_000]);
    /// let end = Instant::now() + Duration::from_secs(60);
    /// plan.run_while(&src, &mut dst, &|| Instant::now() < end)?;
    /// assert_eq!(plan.run_while(&src, &mut dst, &|| false), Err(Error::Stopped));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Plan::run`], and [`Error::Stopped`](crate::Error::Stopped) if `go_on` returned false. In this
    /// case, `dst` may be partly written.
    pub fn run_while(
        &self,
        src: &[u8],
        dst: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        self.runner.run_while(&[src], &mut [dst], go_on)
    }

    /// Moves the elements of `src` to `dst`. `T` is a type of the planned width.
    ///
    /// If the plan has several passes, this allocates the intermediate tensors.
    ///
    /// # Errors
    /// The errors of [`Plan::run`], and [`DTypeError::WidthMismatch`](crate::DTypeError::WidthMismatch) if the plan
    /// would split a `T`.
    pub fn run_slice_into<T: Copy>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        run_in_turn(self.cpu_plans(), src, CpuPlan::run_slice, |last, src| {
            last.run_slice_into(src, dst)
        })
    }

    /// Moves the elements of `src` to a new vector. `T` is a type of the planned width.
    ///
    /// If the plan has several passes, this also allocates the intermediate tensors.
    ///
    /// # Errors
    /// The errors of [`Plan::run_slice_into`], and [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) if the
    /// planned destination is not contiguous.
    pub fn run_slice<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        run_in_turn(self.cpu_plans(), src, CpuPlan::run_slice, CpuPlan::run_slice)
    }

    /// Moves the elements like [`Plan::run_slice`], but to uninitialised memory.
    ///
    /// Initialises and returns the part of `dst` that the destination layout covers.
    ///
    /// ```
    /// use trundle::{Chain, Plan, Shape};
    ///
    /// let chain: Chain = "a b -> b a".parse()?;
    /// let plan = Plan::row_major(&chain, size_of::<u32>(), &Shape::new([2, 3])?, None)?;
    /// let mut turned = Box::new_uninit_slice(6);
    /// assert_eq!(plan.run_slice_uninit(&[1u32, 2, 3, 4, 5, 6], &mut turned)?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Plan::run_slice`].
    pub fn run_slice_uninit<'d, T: Copy>(
        &self,
        src: &[T],
        dst: &'d mut [MaybeUninit<T>],
    ) -> Result<&'d mut [T]> {
        run_in_turn(self.cpu_plans(), src, CpuPlan::run_slice, |last, src| {
            last.run_slice_uninit(src, dst)
        })
    }

    /// Moves values that own memory to their new positions in the vector.
    ///
    /// No value is cloned or dropped. The plan's element width must be the size of a value, and both layouts must be
    /// contiguous.
    ///
    /// ```
    /// use trundle::{Chain, Plan, Shape};
    ///
    /// let chain: Chain = "a b -> b a".parse()?;
    /// let plan = Plan::row_major(&chain, size_of::<String>(), &Shape::new([2, 3])?, None)?;
    /// let mut words: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(String::from).into();
    /// plan.run_owned(&mut words)?;
    /// assert_eq!(words, ["a", "d", "b", "e", "c", "f"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The first call of a plan takes twice as long, because it checks that the plan moves every element exactly once.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](crate::ShapeError::SizesDiffer) for a vector of another length,
    /// [`DTypeError::WidthMismatch`](crate::DTypeError::WidthMismatch) for values of another size,
    /// [`MoveError::NotABijection`](crate::MoveError::NotABijection) if the plan would lose or repeat a value,
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory. After an error, `values` are
    /// unchanged.
    pub fn run_owned<T>(&self, values: &mut Vec<T>) -> Result<()> {
        for plan in self.cpu_plans() {
            plan.check_owned::<T>(values.len())?;
        }
        let mut moved = Vec::new();
        for plan in self.cpu_plans() {
            plan.run_owned(values, &mut moved)?;
            std::mem::swap(values, &mut moved);
        }
        Ok(())
    }

    /// Plans the same move within one buffer, so that the result replaces the source.
    ///
    /// The source and the destination layout must be equal, or neither may have gaps. `max_scratch` limits the scratch
    /// memory in bytes; `None` means a sixteenth of the tensor, but at least 1 MiB.
    ///
    /// ```
    /// use trundle::{Chain, Plan, Shape};
    ///
    /// let chain: Chain = "flip(axes=[0]) | a b -> b a".parse()?;
    /// let turn = Plan::row_major(&chain, 1, &Shape::new([2, 2])?, None)?.in_place(None)?;
    /// let mut square = [1u8, 2, 3, 4];
    /// turn.run(&mut square)?;
    /// assert_eq!(square, [3, 1, 4, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MoveError::NotInPlace`](crate::MoveError::NotInPlace) if the move needs more scratch memory than the limit, or
    /// if the result does not occupy the memory of the source.
    pub fn in_place(&self, max_scratch: Option<usize>) -> Result<InPlacePlan> {
        let bytes = self.moves.iter().map(Move::moved_bytes).max().unwrap_or(0);
        let most = max_scratch.unwrap_or_else(|| usual_scratch(bytes));
        let maps = self.chain.steps(self.src.shape());
        let maps =
            maps.unwrap_or_else(|error| unreachable!("{error}, of a chain that was planned"));
        let ends = (&self.src, &self.dst);
        let plan = InPlacePlan::new(&maps, self.width, ends, most, self.runner.backend())?;
        plan.ok_or_else(|| not_in_place(bytes, max_scratch))
    }

    /// Moves the elements within `buffer`: [in place](Plan::in_place) if possible, otherwise through a copy.
    ///
    /// Each call plans the move; for many calls, use [`Plan::in_place`].
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn run_in_place(&self, buffer: &mut [u8]) -> Result<()> {
        match self.in_place(None) {
            Ok(plan) => plan.run(buffer),
            Err(_) => {
                let before = buffer.to_vec();
                self.run(&before, buffer)
            }
        }
    }

    /// The shape of the result.
    pub fn out_shape(&self) -> &Shape {
        // A chain has at least one pass.
        self.passes[self.passes.len() - 1].map.out_shape()
    }

    /// The size in bytes of the memory for intermediate tensors; 0 for a single pass.
    pub fn scratch_bytes(&self) -> usize {
        self.runner.temporary_bytes()
    }

    /// The approximate size of the plan in bytes, including the memory for intermediate tensors.
    pub fn own_bytes(&self) -> usize {
        self.cpu_plans().map(CpuPlan::own_bytes).sum::<usize>() + self.scratch_bytes()
    }

    /// Returns the passes over memory, each with its operators and its index map.
    pub fn passes(&self) -> &[ChainPass] {
        &self.passes
    }

    /// Returns the [`Move`] of each pass: its index map as byte offsets.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Returns the [`CpuPlan`] of each pass: its kernels, tiles and tasks.
    pub fn cpu_plans(&self) -> impl ExactSizeIterator<Item = &CpuPlan> + DoubleEndedIterator {
        self.runner.steps().iter().map(|step| {
            step.work.one().unwrap_or_else(|| unreachable!("each pass of a chain is one move"))
        })
    }
}

impl fmt::Display for Plan {
    /// Writes the operators, the index map, the [`Move`] and the [`CpuPlan`] of each pass.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passes = self.passes.len();
        write!(f, "{passes} pass{} over memory", if passes == 1 { "" } else { "es" })?;
        for (number, ((pass, work), plan)) in
            self.passes.iter().zip(&self.moves).zip(self.cpu_plans()).enumerate()
        {
            write!(f, "\n\npass {number}")?;
            let is_part = |pass: &ChainPass| pass.stages.is_empty() && !pass.map.is_identity();
            let before = number.checked_sub(1).map(|before| &self.passes[before]);
            let stage = pass.stages.start + 1;
            if is_part(pass) {
                f.write_str(": some of the axes, because all at once would need too many blocks")?;
            } else if pass.stages.is_empty() && passes > 1 {
                f.write_str(": a copy, because axes are split or merged across gaps in a layout")?;
            } else if before.is_some_and(is_part) {
                f.write_str(": the other axes")?;
            } else if before.is_some_and(|before| !before.stages.is_empty()) {
                write!(f, ": stage {stage} does not compose with the stages before it")?;
            }
            for op in self.chain.ops().get(pass.stages.clone()).unwrap_or_default() {
                write!(f, "\n  {op:#}")?;
            }
            for (title, text) in [
                ("index map", pass.map.to_string()),
                ("move", work.to_string()),
                ("plan", plan.to_string()),
            ] {
                write!(f, "\n{title}\n  {}", text.replace('\n', "\n  "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use trundle_core::ops::{Flip, Roll};
    use trundle_core::{Error, ShapeError};

    use super::*;

    fn plan(text: &str, sizes: &[usize]) -> Plan {
        let chain: Chain = text.parse().unwrap_or_else(|error| panic!("{error}"));
        Plan::row_major(&chain, 1, &Shape::new(sizes).unwrap(), Some(1)).unwrap()
    }

    #[test]
    fn an_error_names_its_source() {
        use std::error::Error as _;

        let chain: Chain = "flip(axes=[7])".parse().unwrap();
        let error = Plan::row_major(&chain, 1, &Shape::new([2, 3]).unwrap(), None).unwrap_err();
        let of_chain = error.source().unwrap();
        assert!(of_chain.is::<ChainError>());
        let of_operator = of_chain.source().unwrap().downcast_ref();
        assert!(matches!(
            of_operator,
            Some(Error::Shape(ShapeError::AxisOutOfRange { axis: 7, rank: 2, .. }))
        ));
    }

    #[test]
    fn several_passes_agree_with_the_single_operators() {
        let chain = "reverse(axis=0, batch_axis=1, lengths=[2, 3]) | \
                     reverse(axis=0, batch_axis=1, lengths=[3, 2]) | \
                     reverse(axis=0, batch_axis=1, lengths=[2, 3])";
        let plan = plan(chain, &[3, 2]);
        assert_eq!(plan.passes().len(), 3);
        assert_eq!(plan.scratch_bytes(), 12);
        let rows = [[1u8, 10], [2, 20], [3, 30]].concat();
        assert_eq!(plan.run_slice(&rows).unwrap(), [1, 10, 3, 30, 2, 20]);
        assert!(plan.to_string().contains("pass 2: stage 3 does not compose"));
    }

    #[test]
    fn several_passes_move_values_of_any_type() {
        let twice = "reverse(axis=0, batch_axis=1, lengths=[2, 3]) | \
                     reverse(axis=0, batch_axis=1, lengths=[3, 2])";
        let plan = |chain: &str, width: usize| {
            let chain: Chain = chain.parse().unwrap_or_else(|error| panic!("{error}"));
            Plan::row_major(&chain, width, &Shape::new([3, 2]).unwrap(), Some(1)).unwrap()
        };
        let expected = [4, 3, 0, 5, 2, 1];
        let padded: Vec<(u8, u32)> = (0..6).map(|number| (number, u32::MAX)).collect();
        let by_pairs = plan(twice, size_of::<(u8, u32)>());
        assert_eq!(by_pairs.passes().len(), 2);
        let mut into = vec![(9, 9); 6];
        by_pairs.run_slice_into(&padded, &mut into).unwrap();
        assert_eq!(by_pairs.run_slice(&padded).unwrap(), into);
        let mut memory = [MaybeUninit::uninit(); 7];
        assert_eq!(by_pairs.run_slice_uninit(&padded, &mut memory).unwrap(), into);
        assert!(by_pairs.run_slice_uninit(&padded, &mut memory[..5]).is_err());
        assert!(into.iter().map(|pair| pair.0).eq(expected));

        let words = || (0..6).map(|number| number.to_string()).collect::<Vec<_>>();
        let (mut values, by_words) = (words(), plan(twice, size_of::<String>()));
        by_words.run_owned(&mut values).unwrap();
        assert!(values.iter().map(|word| word.parse::<u8>().unwrap()).eq(expected));
        // The last pass would lose values, so none may run.
        let loses = plan(&format!("{twice} | slice(0, 2)"), size_of::<String>());
        assert!(loses.passes().len() > 1);
        let mut values = words();
        assert!(loses.run_owned(&mut values).is_err());
        assert_eq!(values, words());
    }

    #[test]
    fn many_rolled_axes_are_rolled_in_several_passes() {
        let (rank, sizes) = (13i64, [3; 13]);
        let axes: Vec<i64> = (0..rank).collect();
        let shift: Vec<i64> = (1..=rank).map(|axis| axis * 5 % 3).collect();
        let chain = Chain::new().then(Roll::new(&shift, &axes)).then(Flip::new(&[4]));
        let shape = Shape::new(sizes).unwrap();
        // Some axes are unchanged, so one pass is enough.
        assert_eq!(Plan::row_major(&chain, 4, &shape, None).unwrap().passes().len(), 1);
        let chain = Chain::new().then(Roll::new(&[1], &axes)).then(Flip::new(&[4]));
        let plan = Plan::row_major(&chain, 4, &shape, None).unwrap();
        // Two passes for the roll; the second includes the flip.
        assert_eq!(plan.passes().len(), 2);
        assert!(plan.moves().iter().all(|work| work.blocks().len() <= 128), "{plan}");
        assert!(plan.to_string().contains("pass 1: the other axes\n  roll"), "{plan}");
        let numbers: Vec<u32> = (0..shape.elements() as u32).collect();
        let moved = plan.run_slice(&numbers).unwrap();
        let mut expected = Vec::with_capacity(moved.len());
        shape.for_each_index(|index| {
            let source = |(axis, i): (usize, &usize)| {
                let i = if axis == 4 { 2 - i } else { *i };
                (i + 2) % 3
            };
            let number = index.iter().enumerate().map(source).fold(0, |number, i| number * 3 + i);
            expected.push(number as u32);
        });
        assert!(moved == expected);
        // The one-shot functions give the same result.
        let bytes: Vec<u8> = numbers.iter().map(|number| *number as u8).collect();
        let view = crate::TensorView::row_major(&bytes, crate::DType::U8, &shape).unwrap();
        let rolled = crate::flip(&crate::roll(&view, &[1], &axes).unwrap().view(), &[4]).unwrap();
        assert!(expected.iter().map(|number| *number as u8).eq(rolled.bytes().iter().copied()));
    }

    #[test]
    fn several_threads_run_one_plan_at_once() {
        let chain = "reverse(axis=0, batch_axis=1, lengths=[2, 3]) | \
                     reverse(axis=0, batch_axis=1, lengths=[3, 2])";
        let plan = plan(chain, &[3, 2]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let clone = plan.clone();
                scope.spawn(|| {
                    for _ in 0..1000 {
                        assert_eq!(plan.run_slice(b"abcdef").unwrap(), b"edafcb");
                    }
                });
                scope.spawn(move || {
                    let mut dst = [0; 6];
                    for _ in 0..1000 {
                        clone.run(b"abcdef", &mut dst).unwrap();
                        assert_eq!(dst, *b"edafcb");
                    }
                });
            }
        });
    }

    #[test]
    fn elements_of_another_width_are_refused() {
        let plan = plan("flip(axes=[0])", &[8]);
        let refused = plan.run_slice(&[1u16, 2, 3, 4]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this plan moves 1-byte elements, but the buffer has 2-byte elements"
        );
    }
}
