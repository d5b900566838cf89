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
    /// The least bytes of each input.
    inputs: Vec<usize>,
    /// The least bytes of each output.
    outputs: Vec<usize>,
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
        check_order(steps);
        let (slots, sizes) = slots(steps);
        let slot_of = |id| match id {
            BufferId::Temporary(_) => BufferId::Temporary(slots[&id]),
            lent => lent,
        };
        let plan = |step: &Step<&Move>| Step {
            source: slot_of(step.source),
            target: slot_of(step.target),
            work: backend.plan(step.work),
        };
        let planned = steps.iter().map(plan).collect();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for step in steps {
            for (id, bytes) in
                [(step.source, step.work.src_bytes()), (step.target, step.work.dst_bytes())]
            {
                match id {
                    BufferId::Input(number) => reach(&mut inputs, number, bytes),
                    BufferId::Output(number) => reach(&mut outputs, number, bytes),
                    BufferId::Temporary(_) => {}
                }
            }
        }
        let temporaries = Mutex::new(None);
        let runner = Runner { backend, steps: planned, inputs, outputs, sizes, temporaries };
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
    /// As [`Runner::new`].
    pub fn chain(backend: B, moves: &[Move]) -> Result<Runner<B>> {
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
    /// [`Error::SizesDiffer`] for another number of buffers, [`Error::OutOfBounds`] if one is
    /// shorter than what the steps reach; nothing has been written then. [`Error::TooLarge`] if
    /// several threads run it at once, and the memory has no room for the temporary buffers once
    /// more.
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

    /// Runs all steps of a [chain](Runner::chain) but the last, for which `last` is called, with
    /// its plan and with what it reads.
    #[inline]
    pub(crate) fn run_to<T>(
        &self,
        input: &B::Buffer,
        last: impl FnOnce(&B::Plan, &B::Buffer) -> Result<T>,
    ) -> Result<T> {
        let (end, firsts) = self.steps.split_last().unwrap_or_else(|| unreachable!());
        if firsts.is_empty() {
            return last(&end.work, input);
        }
        self.with_temporaries(|temporaries| {
            let mut buffers = Buffers::<B> { inputs: &[input], temporaries, outputs: &mut [] };
            for step in firsts {
                let (src, dst) = buffers.ends(step);
                self.backend.run(&step.work, src, dst)?;
            }
            last(&end.work, buffers.source(end.source))
        })
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
        self.check("data", &self.inputs, inputs.iter().copied())?;
        self.check("out", &self.outputs, outputs.iter().map(|output| &**output))?;
        self.with_temporaries(|temporaries| {
            let mut buffers = Buffers::<B> { inputs, temporaries, outputs };
            self.steps.iter().try_for_each(|step| {
                let (src, dst) = buffers.ends(step);
                run(&step.work, src, dst)
            })
        })
    }

    /// Checks the buffers that the caller lends as inputs, or as outputs.
    fn check<'a>(
        &self,
        argument: &'static str,
        needed: &[usize],
        buffers: impl ExactSizeIterator<Item = &'a B::Buffer>,
    ) -> Result<()>
    where
        B: 'a,
    {
        if buffers.len() != needed.len() {
            return Err(Error::SizesDiffer {
                left: argument,
                right: "the buffers that are moved between",
                left_size: buffers.len(),
                right_size: needed.len(),
            });
        }
        for (buffer, needed) in buffers.zip(needed) {
            let (buffer, end) = (self.backend.bytes_of(buffer), needed.cast_signed());
            if buffer < *needed {
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
    fn source(&self, id: BufferId) -> &B::Buffer {
        match id {
            BufferId::Input(number) => self.inputs[number],
            BufferId::Temporary(number) => &self.temporaries[number],
            BufferId::Output(number) => self.outputs[number],
        }
    }

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

/// Notes that buffer `number` has so many bytes at least.
fn reach(least: &mut Vec<usize>, number: usize, bytes: usize) {
    least.resize(least.len().max(number + 1), 0);
    least[number] = least[number].max(bytes);
}

/// What the steps so far have done with a buffer.
#[derive(Default)]
struct Progress {
    /// The least bytes that it has.
    bytes: usize,
    /// How many of them were written: each once, as moves promise.
    written: usize,
    is_read: bool,
}

/// Checks that every step reads what was written before, and that nothing is written in vain.
///
/// # Panics
/// If not.
fn check_order(steps: &[Step<&Move>]) {
    let mut buffers: BTreeMap<BufferId, Progress> = BTreeMap::new();
    for Step { source, target, work } in steps {
        if !matches!(source, BufferId::Input(_)) {
            let read = buffers.entry(*source).or_default();
            assert!(
                read.written >= read.bytes && work.src_bytes() <= read.bytes,
                "a step reads {} bytes of {source:?}, of which those before it write {} of {}",
                work.src_bytes(),
                read.written,
                read.bytes
            );
            read.is_read = true;
        }
        assert!(!matches!(target, BufferId::Input(_)), "a step writes {target:?}");
        let written = buffers.entry(*target).or_default();
        assert!(!written.is_read, "a step writes {target:?}, which was read before");
        written.bytes = written.bytes.max(work.dst_bytes());
        written.written += work.moved_bytes();
    }
    for (id, buffer) in buffers {
        let is_used = buffer.is_read || matches!(id, BufferId::Output(_));
        assert!(is_used, "no step reads {id:?}");
    }
}

/// Where the temporary buffers are, and the bytes of these places: one that is read for the last
/// time leaves its place to those that are written after it.
fn slots(steps: &[Step<&Move>]) -> (BTreeMap<BufferId, usize>, Vec<usize>) {
    let (mut bytes, mut last_read) = (BTreeMap::new(), BTreeMap::new());
    for (number, step) in steps.iter().enumerate() {
        let most: &mut usize = bytes.entry(step.target).or_default();
        *most = step.work.dst_bytes().max(*most);
        last_read.insert(step.source, number);
    }
    let (mut slots, mut sizes, mut free) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        if matches!(step.target, BufferId::Temporary(_)) && !slots.contains_key(&step.target) {
            let bytes = bytes[&step.target];
            // The smallest that is large enough, else the largest.
            let fit = |slot: usize| (sizes[slot] < bytes, bytes.abs_diff(sizes[slot]));
            let best = (0..free.len()).min_by_key(|at| fit(free[*at]));
            let slot = best.map_or(sizes.len(), |at| free.swap_remove(at));
            reach(&mut sizes, slot, bytes);
            slots.insert(step.target, slot);
        }
        if matches!(step.source, BufferId::Temporary(_)) && last_read[&step.source] == number {
            free.push(slots[&step.source]);
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
    use crate::Device;

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
