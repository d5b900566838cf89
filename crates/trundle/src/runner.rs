//! Moves between several buffers, one after another, on any backend.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, TryLockError};

use trundle_core::{Backend, Error, Move, Result};

/// One of the buffers of a [`Runner`], of each kind counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferId {
    /// Lent by the caller of a run, who has filled it.
    Input(usize),
    /// Of the runner's own, for what some steps write and later ones read.
    Temporary(usize),
    /// Lent by the caller of a run, to be written.
    Output(usize),
}

/// One move of a [`Runner`]. A buffer that is put together from several others takes several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<Work> {
    /// The buffer that is read.
    pub source: BufferId,
    /// The buffer that is written.
    pub target: BufferId,
    /// What is moved, or how.
    pub work: Work,
}

/// Moves that run in turn, as often as wanted. What lies between them is allocated when the runner
/// is made; two temporary buffers of which one is read for the last time before the other is
/// written are one.
pub struct Runner<B: Backend> {
    backend: B,
    steps: Vec<Step<B::Plan>>,
    /// The least bytes of each input and output.
    lent: Vec<(BufferId, usize)>,
    /// The bytes of each temporary buffer.
    sizes: Vec<usize>,
    /// The temporary buffers, unless a run has them.
    temporaries: Mutex<Option<Temporaries<B>>>,
}

type Temporaries<B> = Vec<Box<<B as Backend>::Buffer>>;

impl<B: Backend> Runner<B> {
    /// Plans the moves of `steps`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the memory has no room for the temporary buffers.
    ///
    /// # Panics
    /// If a step writes an input, or a buffer that was read before it, or reads bytes that those
    /// before it do not write, or if a temporary buffer is never read.
    pub fn new(backend: B, steps: &[Step<&Move>]) -> Result<Runner<B>> {
        let uses = uses(steps);
        let (slots, sizes) = slots(steps, &uses);
        let slot_of = |id| slots.get(&id).map_or(id, |slot| BufferId::Temporary(*slot));
        let plan = |step: &Step<&Move>| Step {
            source: slot_of(step.source),
            target: slot_of(step.target),
            work: backend.plan(step.work),
        };
        let planned = steps.iter().map(plan).collect();
        let lent = uses.iter().filter(|(id, _)| !slots.contains_key(id));
        let lent = lent.map(|(id, each)| (*id, each.bytes)).collect();
        let temporaries = Mutex::new(None);
        let runner = Runner { backend, steps: planned, lent, sizes, temporaries };
        let temporaries = runner.new_temporaries()?;
        runner.put_back(temporaries);
        Ok(runner)
    }

    /// Moves that each take all of what the one before gives, from one input to one output.
    ///
    /// # Errors
    /// As [`Runner::new`].
    ///
    /// # Panics
    /// As [`Runner::new`], and if there is no move.
    pub fn chain(backend: B, moves: &[Move]) -> Result<Runner<B>> {
        assert!(!moves.is_empty(), "a chain has one move or more");
        let steps = moves.iter().enumerate().map(|(number, work)| Step {
            source: number.checked_sub(1).map_or(BufferId::Input(0), BufferId::Temporary),
            target: match number + 1 == moves.len() {
                true => BufferId::Output(0),
                false => BufferId::Temporary(number),
            },
            work,
        });
        Runner::new(backend, &steps.collect::<Vec<_>>())
    }

    /// The steps, in the order in which they run.
    pub fn steps(&self) -> &[Step<B::Plan>] {
        &self.steps
    }

    /// The bytes of the temporary buffers.
    pub fn temporary_bytes(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Moves the elements of `inputs` to `outputs`. Bytes of these that no element covers are left
    /// as they are, and so are bits beside packed elements. It does not allocate, unless it runs
    /// on several threads at once and has temporary buffers.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a buffer is missing, or shorter than what the steps reach; nothing
    /// has been written then. [`Error::TooLarge`] if several threads run it at once, and the memory
    /// has no room for the temporary buffers once more.
    #[inline]
    pub fn run(&self, inputs: &[&B::Buffer], outputs: &mut [&mut B::Buffer]) -> Result<()> {
        self.run_by(inputs, outputs, |plan, src, dst| self.backend.run(plan, src, dst))
    }

    /// [`Runner::run`] as long as `go_on` says so, which is asked as
    /// [`Backend::run_while`] says.
    ///
    /// # Errors
    /// As [`Runner::run`], and [`Error::Stopped`] if `go_on` said no: any elements may have been
    /// written then, and others not.
    pub fn run_while(
        &self,
        inputs: &[&B::Buffer],
        outputs: &mut [&mut B::Buffer],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let run = |plan: &_, src: &_, dst: &mut _| self.backend.run_while(plan, src, dst, go_on);
        self.run_by(inputs, outputs, run)
    }

    /// Runs every step as `run` does.
    #[inline]
    fn run_by(
        &self,
        inputs: &[&B::Buffer],
        outputs: &mut [&mut B::Buffer],
        run: impl Fn(&B::Plan, &B::Buffer, &mut B::Buffer) -> Result<()>,
    ) -> Result<()> {
        // One move between two buffers, which the backend checks: small calls are such.
        if let [Step { source: BufferId::Input(0), target: BufferId::Output(0), work }] =
            &self.steps[..]
            && let ([src], [dst]) = (inputs, &mut *outputs)
        {
            return run(work, src, dst);
        }
        self.check(inputs, outputs)?;
        self.with_temporaries(|temporaries| {
            let mut buffers = Buffers::<B> { inputs, temporaries, outputs };
            self.steps.iter().try_for_each(|step| {
                let (src, dst) = buffers.ends(step);
                run(&step.work, src, dst)
            })
        })
    }

    /// Checks the buffers that the caller lends.
    fn check(&self, inputs: &[&B::Buffer], outputs: &[&mut B::Buffer]) -> Result<()> {
        for (id, needed) in &self.lent {
            let (argument, lent) = match *id {
                BufferId::Input(number) => ("data", inputs.get(number).copied()),
                BufferId::Output(number) => ("out", outputs.get(number).map(|output| &**output)),
                BufferId::Temporary(_) => continue,
            };
            let buffer = lent.map_or(0, |lent| self.backend.bytes_of(lent));
            if lent.is_none() || buffer < *needed {
                let end = needed.cast_signed();
                return Err(Error::OutOfBounds { argument, first: 0, end, buffer });
            }
        }
        Ok(())
    }

    /// Calls `run` with the temporary buffers.
    fn with_temporaries<T>(
        &self,
        run: impl FnOnce(&mut [Box<B::Buffer>]) -> Result<T>,
    ) -> Result<T> {
        let kept = self.place().and_then(|mut place| place.take());
        let mut temporaries = kept.map_or_else(|| self.new_temporaries(), Ok)?;
        let outcome = run(&mut temporaries);
        self.put_back(temporaries);
        outcome
    }

    /// The place of the temporary buffers, unless another run is just there. In a process that was
    /// forked from one with such a run it is there for ever, so nobody waits.
    fn place(&self) -> Option<MutexGuard<'_, Option<Temporaries<B>>>> {
        match self.temporaries.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn put_back(&self, temporaries: Temporaries<B>) {
        if let Some(mut place) = self.place() {
            *place = Some(temporaries);
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

/// The buffers of one run.
struct Buffers<'a, 'b, B: Backend> {
    inputs: &'a [&'a B::Buffer],
    temporaries: &'a mut [Box<B::Buffer>],
    outputs: &'a mut [&'b mut B::Buffer],
}

impl<B: Backend> Buffers<'_, '_, B> {
    /// What a step reads and what it writes, which are two.
    fn ends(&mut self, step: &Step<B::Plan>) -> (&B::Buffer, &mut B::Buffer) {
        use BufferId::{Input, Output, Temporary};
        match (step.source, step.target) {
            (Input(src), Temporary(dst)) => (self.inputs[src], &mut self.temporaries[dst]),
            (Input(src), Output(dst)) => (self.inputs[src], self.outputs[dst]),
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
            (_, Input(_)) => unreachable!("no step writes an input"),
        }
    }
}

/// Two elements of a slice.
fn two<T>(slice: &mut [T], src: usize, dst: usize) -> (&T, &mut T) {
    let Ok([src, dst]) = slice.get_disjoint_mut([src, dst]) else {
        unreachable!("no step writes what it reads")
    };
    (src, dst)
}

/// What the steps do with a buffer.
#[derive(Default)]
struct Use {
    /// The least bytes that it has.
    bytes: usize,
    /// How many of them are written: each once, as moves promise.
    written: usize,
    /// The last step that reads it.
    last_read: Option<usize>,
}

/// What all steps do with each buffer.
///
/// # Panics
/// If one reads what was not written before, or writes in vain.
fn uses(steps: &[Step<&Move>]) -> BTreeMap<BufferId, Use> {
    let mut uses: BTreeMap<BufferId, Use> = BTreeMap::new();
    for (number, Step { source, target, work }) in steps.iter().enumerate() {
        let is_there = uses.contains_key(source);
        let read = uses.entry(*source).or_default();
        if matches!(source, BufferId::Input(_)) {
            read.bytes = read.bytes.max(work.src_bytes());
        } else {
            assert!(
                is_there && read.written >= read.bytes && work.src_bytes() <= read.bytes,
                "a step reads {} bytes of {source:?}, of which those before it write {} of {}",
                work.src_bytes(),
                read.written,
                read.bytes
            );
        }
        read.last_read = Some(number);
        assert!(!matches!(target, BufferId::Input(_)), "a step writes {target:?}");
        let written = uses.entry(*target).or_default();
        assert!(written.last_read.is_none(), "a step writes {target:?}, which was read before");
        written.bytes = written.bytes.max(work.dst_bytes());
        written.written += work.moved_bytes();
    }
    for (id, each) in &uses {
        let is_used = each.last_read.is_some() || matches!(id, BufferId::Output(_));
        assert!(is_used, "no step reads {id:?}");
    }
    uses
}

/// Where the temporary buffers are, and the bytes of these places: one that is read for the last
/// time leaves its place to those that are written after it.
fn slots(
    steps: &[Step<&Move>],
    uses: &BTreeMap<BufferId, Use>,
) -> (BTreeMap<BufferId, usize>, Vec<usize>) {
    let (mut slots, mut sizes, mut free) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (number, Step { source, target, .. }) in steps.iter().enumerate() {
        if matches!(target, BufferId::Temporary(_)) && !slots.contains_key(target) {
            let bytes = uses[target].bytes;
            // The smallest that is large enough, else the largest.
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
        let flip = Move::new(&map, 1, &layout, &layout).unwrap();
        let runner = Runner::chain(Device::default(), &[flip.clone(), flip.clone(), flip]).unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let place = runner.temporaries.lock().unwrap();
            scope.spawn(|| {
                let mut moved = [0; 5];
                runner.run(&[b"abcde"], &mut [&mut moved]).unwrap();
                sender.send(moved).unwrap();
            });
            let moved = receiver.recv_timeout(Duration::from_secs(60));
            // A run that waits goes on, and the test fails.
            drop(place);
            assert_eq!(moved.unwrap(), *b"edcba");
        });
    }
}
