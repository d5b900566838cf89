//! Runs several moves between buffers in order, on any backend.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, TryLockError};

use trundle_core::program::Tiles;
use trundle_core::{Backend, LayoutError, Move, PassPlan, Result};

use crate::internal::few::with_list;

/// A buffer of a [`Runner`]: its kind, and its index among the buffers of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BufferId {
    /// A buffer of the caller that steps read.
    Input(usize),
    /// A buffer that the runner owns and fills when it is created.
    Constant(usize),
    /// A buffer that the runner owns. Some steps write it, and later steps read it.
    Temporary(usize),
    /// A buffer of the caller that steps write.
    Output(usize),
}

impl fmt::Display for BufferId {
    /// Writes the kind and the index: `input 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BufferId::Input(index) => write!(f, "input {index}"),
            BufferId::Constant(index) => write!(f, "constant {index}"),
            BufferId::Temporary(index) => write!(f, "temporary {index}"),
            BufferId::Output(index) => write!(f, "output {index}"),
        }
    }
}

/// One step of a [`Runner`], from one buffer to another. Several steps may write parts of one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<Work> {
    /// The buffer that the step reads.
    pub source: BufferId,
    /// The buffer that the step writes.
    pub target: BufferId,
    /// The move, or its plan.
    pub work: Work,
}

/// The work of a step before planning.
#[derive(Clone, Debug)]
pub enum Moves {
    /// One move, planned with the runner.
    One(Move),
    /// A whole tensor, tile by tile. Each tile is planned when it is moved.
    Tiles(Tiles),
}

impl Moves {
    /// The smallest sizes of source and target, in bytes.
    fn bytes(&self) -> [usize; 2] {
        match self {
            Moves::One(work) => [work.src_bytes(), work.dst_bytes()],
            Moves::Tiles(tiles) => [tiles.src_bytes(), tiles.dst_bytes()],
        }
    }

    fn moved_bytes(&self) -> usize {
        match self {
            Moves::One(work) => work.moved_bytes(),
            Moves::Tiles(tiles) => tiles.dst_bytes(),
        }
    }
}

/// The planned work of a step.
#[non_exhaustive]
pub enum Plans<B: Backend> {
    /// One plan.
    One(B::Plan),
    /// One plan for each tile, made when the tile is moved, and then dropped.
    Tiles(Tiles),
    /// One plan for all steps to the same target. It writes the whole target from the listed sources.
    Pass(Box<dyn PassPlan<B::Buffer>>, Vec<BufferId>),
    /// No plan: this step is part of the [`Plans::Pass`] of another step to the same target.
    Along,
}

impl<B: Backend> Plans<B> {
    /// The plan, if it is for this step alone.
    pub fn one(&self) -> Option<&B::Plan> {
        match self {
            Plans::One(plan) => Some(plan),
            Plans::Tiles(_) | Plans::Pass(..) | Plans::Along => None,
        }
    }
}

impl<B: Backend> fmt::Display for Plans<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plans::One(plan) => plan.fmt(f),
            Plans::Tiles(_) => f.write_str("in tiles; each is planned when it is moved"),
            Plans::Pass(plan, _) => plan.fmt(f),
            Plans::Along => f.write_str("together with the step that it surrounds"),
        }
    }
}

/// The bytes of temporary buffers that these steps need.
pub(crate) fn temporary_bytes(steps: &[Step<Moves>], constants: &[Vec<u8>]) -> usize {
    slots(steps, &uses(steps, constants)).1.iter().sum()
}

/// A function that returns whether a run continues; `None` if the run cannot be stopped.
type GoOn<'a> = Option<&'a (dyn Fn() -> bool + Sync)>;

/// Runs a list of moves in order, any number of times.
///
/// Temporary buffers are allocated once, and share memory if their lifetimes do not overlap.
pub struct Runner<B: Backend> {
    backend: B,
    steps: Vec<Step<Plans<B>>>,
    /// For [`Runner::run_new`], one entry for each step.
    lives: Vec<Life>,
    least_bytes: Vec<(BufferId, usize)>,
    /// The size in bytes of each temporary buffer.
    sizes: Vec<usize>,
    constants: Vec<Box<B::Buffer>>,
    /// `None` while a run uses them.
    temporaries: Mutex<Option<Temporaries<B>>>,
}

type Temporaries<B> = Vec<Box<<B as Backend>::Buffer>>;

impl<B: Backend> Runner<B> {
    /// Plans the moves of `steps`. `constants` are the bytes of the constant buffers.
    ///
    /// The first run allocates the temporary buffers.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory for the constants.
    ///
    /// # Panics
    /// If a step writes an input, a constant, or a buffer that an earlier step reads. If a step reads bytes that no
    /// earlier step writes. If no step reads one of the temporary buffers.
    pub fn new(backend: B, steps: &[Step<Moves>], constants: &[Vec<u8>]) -> Result<Runner<B>> {
        let uses = uses(steps, constants);
        let (slots, sizes) = slots(steps, &uses);
        let slot_of = |id| slots.get(&id).map_or(id, |slot| BufferId::Temporary(*slot));
        let mut passes = pass_plans(&backend, steps);
        let plan = |(at, step): (usize, &Step<Moves>)| Step {
            source: slot_of(step.source),
            target: slot_of(step.target),
            work: match (passes.remove(&at), &step.work) {
                (Some(plans), _) => plans,
                (None, Moves::One(work)) => Plans::One(backend.plan(work)),
                (None, Moves::Tiles(tiles)) => Plans::Tiles(tiles.clone()),
            },
        };
        let planned = steps.iter().enumerate().map(plan).collect();
        let life = |(at, step): (usize, &Step<Moves>)| Life {
            target_bytes: uses[&step.target].bytes,
            ends_source: slots.contains_key(&step.source)
                && uses[&step.source].last_read == Some(at),
        };
        let lives = steps.iter().enumerate().map(life).collect();
        let is_callers = |id: &BufferId| matches!(id, BufferId::Input(_) | BufferId::Output(_));
        let least_bytes = uses.iter().filter(|(id, _)| is_callers(id));
        let least_bytes = least_bytes.map(|(id, each)| (*id, each.bytes)).collect();
        let constants = constants.iter().map(|bytes| backend.buffer_of(bytes));
        let constants = constants.collect::<Result<_>>()?;
        let temporaries = Mutex::new(None);
        Ok(Runner { backend, steps: planned, lives, least_bytes, sizes, constants, temporaries })
    }

    /// Plans a sequence of moves from one input to one output. Each move reads the whole result of the previous one.
    ///
    /// Allocates the temporary buffers.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory for the temporary
    /// buffers.
    ///
    /// # Panics
    /// As [`Runner::new`], and if there are no `moves`.
    pub fn chain(backend: B, moves: &[Move]) -> Result<Runner<B>> {
        assert!(!moves.is_empty(), "a chain has one move or more");
        if let [work] = moves {
            return Ok(Runner::single(backend, work));
        }
        let steps = moves.iter().enumerate().map(|(number, work)| Step {
            source: number.checked_sub(1).map_or(BufferId::Input(0), BufferId::Temporary),
            target: match number + 1 == moves.len() {
                true => BufferId::Output(0),
                false => BufferId::Temporary(number),
            },
            work: Moves::One(work.clone()),
        });
        let runner = Runner::new(backend, &steps.collect::<Vec<_>>(), &[])?;
        runner.allocate()?;
        Ok(runner)
    }

    pub(crate) fn allocate(&self) -> Result<()> {
        self.put_back(self.new_temporaries()?);
        Ok(())
    }

    /// A fast path for one move, because most small calls have one.
    fn single(backend: B, work: &Move) -> Runner<B> {
        let (source, target) = (BufferId::Input(0), BufferId::Output(0));
        let plan = Plans::One(backend.plan(work));
        let [src_bytes, dst_bytes] = [work.src_bytes(), work.dst_bytes()];
        Runner {
            backend,
            steps: vec![Step { source, target, work: plan }],
            lives: vec![Life { target_bytes: dst_bytes, ends_source: false }],
            least_bytes: vec![(source, src_bytes), (target, dst_bytes)],
            sizes: Vec::new(),
            constants: Vec::new(),
            temporaries: Mutex::new(Some(Vec::new())),
        }
    }

    /// The steps, in execution order.
    pub fn steps(&self) -> &[Step<Plans<B>>] {
        &self.steps
    }

    /// The backend that runs the moves.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The size of all temporary buffers, in bytes.
    pub fn temporary_bytes(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Moves the elements of `inputs` to `outputs`.
    ///
    /// Bytes of `outputs` outside the elements stay unchanged, and so do bits that sub-byte elements do not use.
    ///
    /// A run allocates the plans of tiles. The first run also allocates the temporary buffers, and so does a run while
    /// another thread uses the same runner.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`] if a buffer is missing or too short for the steps. In this case, `outputs` are
    /// unchanged.
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory for temporary buffers.
    #[inline]
    pub fn run(&self, inputs: &[&B::Buffer], outputs: &mut [&mut B::Buffer]) -> Result<()> {
        self.run_by(inputs, outputs, None)
    }

    /// Runs as [`Runner::run`] until all steps are finished or `go_on` returns false, see [`Backend::run_while`].
    ///
    /// # Errors
    /// The errors of [`Runner::run`], and [`Error::Stopped`](crate::Error::Stopped) if `go_on` returned false. In this
    /// case, `outputs` may be partly written.
    pub fn run_while(
        &self,
        inputs: &[&B::Buffer],
        outputs: &mut [&mut B::Buffer],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        self.run_by(inputs, outputs, Some(go_on))
    }

    /// Runs as [`Runner::run`], but to new buffers; returns the outputs by their indices.
    ///
    /// Each buffer is allocated before its first write, and each temporary buffer is freed after its last read, to keep
    /// the peak of memory use low. `done` is called with the index of each completed step.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`] if an input is missing or too short for the steps,
    /// [`ShapeError::TooLarge`](crate::ShapeError::TooLarge) if there is not enough memory for a buffer.
    pub fn run_new(
        &self,
        inputs: &[&B::Buffer],
        mut done: impl FnMut(usize),
    ) -> Result<BTreeMap<usize, Box<B::Buffer>>> {
        self.check(inputs, None)?;
        let mut buffers: BTreeMap<BufferId, Box<B::Buffer>> = BTreeMap::new();
        for (at, (step, life)) in self.steps.iter().zip(&self.lives).enumerate() {
            let target = buffers.remove(&step.target);
            let mut target = target.map_or_else(|| self.backend.buffer(life.target_bytes), Ok)?;
            let source = self.given(step.source, inputs).unwrap_or_else(|| &buffers[&step.source]);
            self.step(step, source, inputs, &mut target, None)?;
            buffers.insert(step.target, target);
            if life.ends_source {
                buffers.remove(&step.source);
            }
            done(at);
        }
        let output = |(id, buffer)| match id {
            BufferId::Output(number) => Some((number, buffer)),
            _ => None,
        };
        Ok(buffers.into_iter().filter_map(output).collect())
    }

    #[inline]
    fn run_by(
        &self,
        inputs: &[&B::Buffer],
        outputs: &mut [&mut B::Buffer],
        go_on: GoOn<'_>,
    ) -> Result<()> {
        // A fast path for one move, because most small calls have one. The backend checks the buffers.
        if let [Step { source: BufferId::Input(0), target: BufferId::Output(0), work }] =
            &self.steps[..]
            && let Plans::One(work) = work
            && let ([src], [dst]) = (inputs, &mut *outputs)
        {
            return self.run_plan(work, src, dst, go_on);
        }
        self.check(inputs, Some(outputs))?;
        self.with_temporaries(|temporaries| {
            let mut buffers = self.buffers(inputs, temporaries, outputs);
            self.steps.iter().try_for_each(|step| {
                let (src, dst) = buffers.ends(step);
                self.step(step, src, inputs, dst, go_on)
            })
        })
    }

    /// Returns `None` if the buffer is neither an input nor a constant.
    fn given<'a>(&'a self, id: BufferId, inputs: &[&'a B::Buffer]) -> Option<&'a B::Buffer> {
        match id {
            BufferId::Input(index) => Some(inputs[index]),
            BufferId::Constant(index) => Some(&self.constants[index]),
            BufferId::Temporary(_) | BufferId::Output(_) => None,
        }
    }

    fn step(
        &self,
        step: &Step<Plans<B>>,
        src: &B::Buffer,
        inputs: &[&B::Buffer],
        dst: &mut B::Buffer,
        go_on: GoOn<'_>,
    ) -> Result<()> {
        match &step.work {
            Plans::One(plan) => self.run_plan(plan, src, dst, go_on),
            Plans::Tiles(tiles) => {
                let mut tiles = tiles.clone();
                tiles
                    .try_for_each(|tile| self.run_plan(&self.backend.plan(&tile?), src, dst, go_on))
            }
            Plans::Pass(plan, sources) => {
                // Only the step's own source may have been written by earlier steps; see `pass_plans`.
                with_list(
                    sources.len(),
                    || src,
                    |list| {
                        for (source, id) in list.iter_mut().zip(sources) {
                            *source = self.given(*id, inputs).unwrap_or(src);
                        }
                        plan.run_while(list, dst, go_on.unwrap_or(&|| true))
                    },
                )
            }
            Plans::Along => Ok(()),
        }
    }

    #[inline]
    fn run_plan(
        &self,
        plan: &B::Plan,
        src: &B::Buffer,
        dst: &mut B::Buffer,
        go_on: GoOn<'_>,
    ) -> Result<()> {
        match go_on {
            None => self.backend.run(plan, src, dst),
            Some(go_on) => self.backend.run_while(plan, src, dst, go_on),
        }
    }

    fn buffers<'a, 'b>(
        &'a self,
        inputs: &'a [&'a B::Buffer],
        temporaries: &'a mut [Box<B::Buffer>],
        outputs: &'a mut [&'b mut B::Buffer],
    ) -> Buffers<'a, 'b, B> {
        Buffers { inputs, constants: &self.constants, temporaries, outputs }
    }

    /// Checks the sizes of the buffers. If `outputs` is `None`, checks only the inputs.
    fn check(&self, inputs: &[&B::Buffer], outputs: Option<&[&mut B::Buffer]>) -> Result<()> {
        for (id, needed) in &self.least_bytes {
            let (argument, buffer) = match (*id, outputs) {
                (BufferId::Input(number), _) => ("data", inputs.get(number).copied()),
                (BufferId::Output(number), Some(outputs)) => {
                    ("out", outputs.get(number).map(|output| &**output))
                }
                _ => continue,
            };
            let bytes = buffer.map_or(0, |buffer| self.backend.bytes_of(buffer));
            if buffer.is_none() || bytes < *needed {
                let end = needed.cast_signed();
                return Err(
                    LayoutError::OutOfBounds { argument, first: 0, end, buffer: bytes }.into()
                );
            }
        }
        Ok(())
    }

    fn with_temporaries<T>(
        &self,
        run: impl FnOnce(&mut [Box<B::Buffer>]) -> Result<T>,
    ) -> Result<T> {
        let kept = self.lock_temporaries().and_then(|mut locked| locked.take());
        let mut temporaries = kept.map_or_else(|| self.new_temporaries(), Ok)?;
        let outcome = run(&mut temporaries);
        self.put_back(temporaries);
        outcome
    }

    /// Locks the temporary buffers without waiting: if the process was forked during a run, the lock is never released
    /// in the child.
    fn lock_temporaries(&self) -> Option<MutexGuard<'_, Option<Temporaries<B>>>> {
        match self.temporaries.try_lock() {
            Ok(locked) => Some(locked),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn put_back(&self, temporaries: Temporaries<B>) {
        if let Some(mut locked) = self.lock_temporaries() {
            *locked = Some(temporaries);
        }
    }

    fn new_temporaries(&self) -> Result<Temporaries<B>> {
        self.sizes.iter().map(|bytes| self.backend.buffer(*bytes)).collect()
    }
}

impl<B: Backend> fmt::Debug for Runner<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for Step { source, target, work } in &self.steps {
            list.entry(&format_args!("{source:?} to {target:?}: {work}"));
        }
        list.finish()
    }
}

struct Buffers<'a, 'b, B: Backend> {
    inputs: &'a [&'a B::Buffer],
    constants: &'a [Box<B::Buffer>],
    temporaries: &'a mut [Box<B::Buffer>],
    outputs: &'a mut [&'b mut B::Buffer],
}

impl<B: Backend> Buffers<'_, '_, B> {
    /// Source and target of a step are always different buffers.
    fn ends(&mut self, step: &Step<Plans<B>>) -> (&B::Buffer, &mut B::Buffer) {
        use BufferId::{Constant, Input, Output, Temporary};
        match (step.source, step.target) {
            (Input(src), Temporary(dst)) => (self.inputs[src], &mut self.temporaries[dst]),
            (Input(src), Output(dst)) => (self.inputs[src], self.outputs[dst]),
            (Constant(src), Temporary(dst)) => (&self.constants[src], &mut self.temporaries[dst]),
            (Constant(src), Output(dst)) => (&self.constants[src], self.outputs[dst]),
            (Temporary(src), Output(dst)) => (&self.temporaries[src], self.outputs[dst]),
            (Output(src), Temporary(dst)) => (self.outputs[src], &mut self.temporaries[dst]),
            (Temporary(src), Temporary(dst)) => {
                let (src, dst) = two(self.temporaries, src, dst);
                (src, dst)
            }
            (Output(src), Output(dst)) => {
                let (src, dst) = two(self.outputs, src, dst);
                (src, dst)
            }
            (_, Input(_) | Constant(_)) => unreachable!("no step writes what is given"),
        }
    }
}

fn two<T>(slice: &mut [T], src: usize, dst: usize) -> (&T, &mut T) {
    let Ok([src, dst]) = slice.get_disjoint_mut([src, dst]) else {
        unreachable!("no step writes what it reads")
    };
    (src, dst)
}

/// Plans targets that several steps write, if the backend can write them in one pass.
///
/// One of the steps gets the plan, the others get [`Plans::Along`].
fn pass_plans<B: Backend>(backend: &B, steps: &[Step<Moves>]) -> BTreeMap<usize, Plans<B>> {
    let mut writers: BTreeMap<BufferId, Vec<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        writers.entry(step.target).or_default().push(at);
    }
    let mut plans = BTreeMap::new();
    for writers in writers.into_values().filter(|writers| writers.len() > 1) {
        let one = |at: &usize| match &steps[*at].work {
            Moves::One(work) => Some(work),
            Moves::Tiles(_) => None,
        };
        let Some(parts) = writers.iter().map(one).collect::<Option<Vec<_>>>() else { continue };
        let sources: Vec<BufferId> = writers.iter().map(|at| steps[*at].source).collect();
        // Steps may write at most one source of the pass. The plan runs at the step that reads this source: before this
        // step, the source may be unwritten; after it, another buffer may use its memory.
        let is_written = |id: &BufferId| matches!(id, BufferId::Temporary(_) | BufferId::Output(_));
        let mut written = (0..sources.len()).filter(|part| is_written(&sources[*part]));
        let by = written.next().unwrap_or(0);
        if written.next().is_none()
            && let Some(plan) = backend.plan_pass(&parts)
        {
            plans.extend(writers.iter().map(|at| (*at, Plans::Along)));
            plans.insert(writers[by], Plans::Pass(plan, sources));
        }
    }
    plans
}

/// Lifetimes of the buffers of a step, for a run that allocates them.
struct Life {
    target_bytes: usize,
    /// Whether the source is a temporary buffer that no later step reads.
    ends_source: bool,
}

#[derive(Default)]
struct Use {
    bytes: usize,
    /// The number of bytes of the buffer that steps write. No byte is written twice.
    written: usize,
    last_read: Option<usize>,
}

/// Collects how the steps use each buffer.
///
/// # Panics
/// If a step reads bytes that no earlier step writes, writes an input, a constant or a buffer that was read before,
/// or if no step reads a buffer that is not an output.
fn uses(steps: &[Step<Moves>], constants: &[Vec<u8>]) -> BTreeMap<BufferId, Use> {
    let given = |id: &BufferId| matches!(id, BufferId::Input(_) | BufferId::Constant(_));
    let mut uses: BTreeMap<BufferId, Use> = BTreeMap::new();
    for (number, Step { source, target, work }) in steps.iter().enumerate() {
        let is_there = uses.contains_key(source);
        let read = uses.entry(*source).or_default();
        let [src_bytes, dst_bytes] = work.bytes();
        if let BufferId::Constant(constant) = source {
            read.written = constants.get(*constant).map_or(0, Vec::len);
            read.bytes = read.written;
        }
        if matches!(source, BufferId::Input(_)) {
            read.bytes = read.bytes.max(src_bytes);
        } else {
            assert!(
                (is_there || given(source))
                    && read.written >= read.bytes
                    && src_bytes <= read.bytes,
                "a step reads {src_bytes} bytes of {source:?}, but earlier steps write {} of {}",
                read.written,
                read.bytes
            );
        }
        read.last_read = Some(number);
        assert!(!given(target), "a step writes {target:?}");
        let written = uses.entry(*target).or_default();
        assert!(written.last_read.is_none(), "a step writes {target:?}, which was read before");
        written.bytes = written.bytes.max(dst_bytes);
        written.written += work.moved_bytes();
    }
    for (id, each) in &uses {
        let is_used = each.last_read.is_some() || matches!(id, BufferId::Output(_));
        assert!(is_used, "no step reads {id:?}");
    }
    uses
}

/// Assigns temporary buffers to slots, which are pieces of memory. Also returns the sizes of the slots in bytes.
///
/// A slot is free after the last step that reads its buffer.
fn slots(
    steps: &[Step<Moves>],
    uses: &BTreeMap<BufferId, Use>,
) -> (BTreeMap<BufferId, usize>, Vec<usize>) {
    let (mut slots, mut sizes, mut free) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (number, Step { source, target, .. }) in steps.iter().enumerate() {
        if matches!(target, BufferId::Temporary(_)) && !slots.contains_key(target) {
            let bytes = uses[target].bytes;
            // Best fit: the smallest free slot that is large enough, or else the largest.
            let fit = |slot: usize| (sizes[slot] < bytes, bytes.abs_diff(sizes[slot]));
            let best = (0..free.len()).min_by_key(|at| fit(free[*at]));
            let slot = best.map_or(sizes.len(), |at| free.swap_remove(at));
            sizes.resize(sizes.len().max(slot + 1), 0);
            sizes[slot] = bytes.max(sizes[slot]);
            slots.insert(*target, slot);
        }
        if let Some(slot) = slots.get(source)
            && uses[source].last_read == Some(number)
        {
            free.push(*slot);
        }
    }
    (slots, sizes)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use trundle_core::ops::Flip;
    use trundle_core::{Layout, Op, Shape};

    use super::*;
    use crate::lowering::Device;

    #[test]
    fn no_run_waits_for_the_temporary_buffers() {
        let shape = Shape::new([5]).unwrap();
        let layout = Layout::row_major(&shape, 1).unwrap();
        let map = Op::from(Flip::new(&[0])).index_map(&shape).unwrap();
        let flip = Move::new(&map, 1, &layout, &layout, 1).unwrap();
        let runner = Runner::chain(Device::default(), &[flip.clone(), flip.clone(), flip]).unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let locked = runner.temporaries.lock().unwrap();
            scope.spawn(|| {
                let mut moved = [0; 5];
                runner.run(&[b"abcde"], &mut [&mut moved]).unwrap();
                sender.send(moved).unwrap();
            });
            let moved = receiver.recv_timeout(Duration::from_secs(60));
            // Lets a run that waits continue, so that the test fails instead of hanging.
            drop(locked);
            assert_eq!(moved.unwrap(), *b"edcba");
        });
    }
}
