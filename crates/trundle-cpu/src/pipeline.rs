//! Plans that run one after another, each on what the one before it gave.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, TryLockError};

use trundle_core::{Error, Result};

use crate::stop::Stop;
use crate::{Plan, execute};

/// Bytes that may be the padding of an element, which is no value.
type Bytes = [MaybeUninit<u8>];

/// The passes of a chain. Between two of them the elements lie packed in a scratch buffer, which
/// is allocated when the pipeline is made and used again in every run.
#[derive(Debug)]
pub struct Pipeline {
    plans: Vec<Plan>,
    /// The scratch buffers, unless a run has them.
    scratch: Mutex<Option<Scratch>>,
    /// Whether it has been seen that every element is given once.
    pub(crate) is_bijection: AtomicBool,
}

/// Two buffers, for passes that read the one and write the other. Only their capacity is used.
#[derive(Debug, Default)]
struct Scratch {
    read: Vec<u8>,
    written: Vec<u8>,
}

impl Pipeline {
    /// One plan or more. Every destination but the last and every source but the first must be
    /// packed.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the memory has no room for what lies between two passes.
    ///
    /// # Panics
    /// If there is no plan, or if one reads bytes that the one before it does not write.
    pub fn new(plans: Vec<Plan>) -> Result<Pipeline> {
        assert!(!plans.is_empty(), "a pipeline has one plan or more");
        for pair in plans.windows(2) {
            let (gives, takes) = (&pair[0], &pair[1]);
            // Every byte is written: as many are as there are, each once, as a move promises. Nothing
            // else keeps a pass from reading what is left in the scratch buffers, or is not initialised.
            assert!(
                gives.moved_bytes == gives.dst_bytes && takes.src_bytes <= gives.dst_bytes,
                "a pass reads {} bytes, the one before it writes {} of {}",
                takes.src_bytes,
                gives.moved_bytes,
                gives.dst_bytes
            );
        }
        let pipeline =
            Pipeline { plans, scratch: Mutex::new(None), is_bijection: AtomicBool::new(false) };
        let scratch = pipeline.new_scratch()?;
        pipeline.put_back(scratch);
        Ok(pipeline)
    }

    /// The plans, in the order in which they run.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// The bytes of the scratch buffers.
    pub fn scratch_bytes(&self) -> usize {
        let between = self.plans.len() - 1;
        self.most_between() * between.min(2)
    }

    /// The bytes of the largest of what lies between two passes.
    fn most_between(&self) -> usize {
        let between = self.plans.len() - 1;
        self.plans[..between].iter().map(|plan| plan.dst_bytes).max().unwrap_or(0)
    }

    /// Moves the elements from `src` to `dst`. Bytes of `dst` that no element covers are left as
    /// they are, and so are bits beside packed elements. It does not allocate, unless it runs on several threads at once and has several
    /// passes.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a buffer is shorter than the planned layouts; nothing has been
    /// written then. [`Error::TooLarge`] if several threads run it at once, it has several passes,
    /// and the memory has no room for what lies between them once more.
    pub fn run(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        // SAFETY: all bytes are initialised.
        unsafe { self.run_whole(src, dst, &Stop::never()) }
    }

    /// [`Pipeline::run`] as long as `go_on` says so. It is asked before each part of the work, from
    /// some microseconds to some milliseconds apart, by whichever thread takes that part, several at
    /// once. A no counts for all threads: none begins another part, and what they have begun ends
    /// before this returns.
    ///
    /// # Errors
    /// As [`Pipeline::run`], and [`Error::Stopped`] if `go_on` said no: any bytes of `dst` may have
    /// been written then, and others not.
    pub fn run_while(
        &self,
        src: &[u8],
        dst: &mut [u8],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        // SAFETY: all bytes are initialised.
        unsafe { self.run_whole(src, dst, &Stop::when_not(go_on)) }
    }

    /// [`Pipeline::run`] on slices of any type, for plans that move whole elements of it.
    ///
    /// # Errors
    /// As [`Pipeline::run`], and [`Error::WidthMismatch`] if the plan would tear elements apart.
    pub fn run_slice_into<T: Copy>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        self.check_whole::<T>()?;
        // SAFETY: no elements share bytes.
        unsafe { self.run_whole(src, dst, &Stop::never()) }
    }

    /// [`Pipeline::run`] on slices whose elements stay whole.
    ///
    /// # Safety
    /// They do, and where the elements of a plan share bytes, T is u8.
    unsafe fn run_whole<T: Copy>(&self, src: &[T], dst: &mut [T], stop: &Stop<'_>) -> Result<()> {
        // SAFETY: both are valid for their sizes in bytes. Whole elements of `src`, which are
        // Copy, are written over whole elements of `dst`, so both hold values of T throughout.
        unsafe {
            let (src_bytes, dst_bytes) = (size_of_val(src), size_of_val(dst));
            let src = std::slice::from_raw_parts(src.as_ptr().cast(), src_bytes);
            let dst = std::slice::from_raw_parts_mut(dst.as_mut_ptr().cast(), dst_bytes);
            self.run_bytes(src, dst, stop)
        }
    }

    /// [`Pipeline::run`] into a new vector, for a destination without gaps. Bits behind the last of packed
    /// elements are 0.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if `src` is too short, [`Error::SizesDiffer`] if the destination has
    /// gaps.
    pub fn run_to_vec(&self, src: &[u8]) -> Result<Vec<u8>> {
        // SAFETY: all bytes are initialised.
        unsafe { self.run_whole_to_vec(src) }
    }

    /// [`Pipeline::run_to_vec`] for elements of any type.
    ///
    /// # Errors
    /// As [`Pipeline::run_to_vec`], and [`Error::WidthMismatch`] if the plan would tear elements
    /// apart.
    pub fn run_slice<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        self.check_whole::<T>()?;
        // SAFETY: no elements share bytes.
        unsafe { self.run_whole_to_vec(src) }
    }

    /// [`Pipeline::run_to_vec`] for elements that stay whole.
    ///
    /// # Safety
    /// They do, and where the elements of a plan share bytes, T is u8.
    unsafe fn run_whole_to_vec<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        let last = &self.plans[self.plans.len() - 1];
        let elements = last.moved_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        // Every byte of the destination is written: as many are as there are, each once.
        if last.moved_bytes != last.dst_bytes {
            return Err(Error::SizesDiffer {
                left: "the bytes of the destination",
                right: "the bytes that are moved",
                left_size: last.dst_bytes,
                right_size: last.moved_bytes,
            });
        }
        let mut moved: Vec<T> = Vec::with_capacity(elements);
        // SAFETY: the source is valid for its bytes and the vector for those it has reserved: whole
        // elements. After the run, all of them have been written from elements of `src`.
        unsafe {
            let src = std::slice::from_raw_parts(src.as_ptr().cast(), size_of_val(src));
            let dst: &mut Bytes =
                std::slice::from_raw_parts_mut(moved.as_mut_ptr().cast(), last.dst_bytes);
            if last.shares_bytes() {
                dst.fill(MaybeUninit::new(0));
            }
            self.run_bytes(src, dst, &Stop::never())?;
            moved.set_len(elements);
        }
        Ok(moved)
    }

    /// Checks that elements of a slice stay whole in every pass. Those that share bytes do not.
    pub(crate) fn check_whole<T>(&self) -> Result<()> {
        let got = size_of::<T>();
        let torn = |plan: &&Plan| {
            let rest = plan.grain_bytes.checked_rem(got).unwrap_or(plan.grain_bytes);
            rest > 0 || plan.shares_bytes()
        };
        match self.plans.iter().find(torn) {
            Some(plan) => Err(Error::WidthMismatch { moved: plan.grain_bytes, got }),
            None => Ok(()),
        }
    }

    /// Checks every buffer, and runs the plans in turn.
    ///
    /// # Safety
    /// Where elements of a plan share bytes, all bytes are initialised.
    pub(crate) unsafe fn run_bytes(
        &self,
        src: &Bytes,
        dst: &mut Bytes,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let last = self.plans.len() - 1;
        check_buffer("data", self.plans[0].src_bytes, src.len())?;
        check_buffer("out", self.plans[last].dst_bytes, dst.len())?;
        if last == 0 {
            // SAFETY: by the caller.
            return unsafe { run_plan(&self.plans[0], src, dst, stop) };
        }
        let mut scratch = match self.take_scratch() {
            Some(scratch) => scratch,
            None => self.new_scratch()?,
        };
        // SAFETY: by the caller.
        let outcome = unsafe { self.run_through(&mut scratch, src, dst, stop) };
        self.put_back(scratch);
        outcome
    }

    /// Runs several plans in turn. A plan is begun only when the one before it has written all that
    /// it reads.
    ///
    /// # Safety
    /// As [`Pipeline::run_bytes`].
    unsafe fn run_through(
        &self,
        scratch: &mut Scratch,
        src: &Bytes,
        dst: &mut Bytes,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let last = self.plans.len() - 1;
        // SAFETY: by the caller; scratch buffers are filled where elements share bytes.
        unsafe {
            run_plan(&self.plans[0], src, scratch.written.spare_capacity_mut(), stop)?;
            for plan in &self.plans[1..last] {
                std::mem::swap(&mut scratch.read, &mut scratch.written);
                let (read, written) = (&mut scratch.read, &mut scratch.written);
                run_plan(plan, read.spare_capacity_mut(), written.spare_capacity_mut(), stop)?;
            }
            run_plan(&self.plans[last], scratch.written.spare_capacity_mut(), dst, stop)
        }
    }

    /// The place of the scratch buffers, unless another run is just there. In a process that was
    /// forked from one with such a run it is there for ever, so nobody waits.
    fn scratch_place(&self) -> Option<MutexGuard<'_, Option<Scratch>>> {
        match self.scratch.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn take_scratch(&self) -> Option<Scratch> {
        self.scratch_place()?.take()
    }

    fn put_back(&self, scratch: Scratch) {
        if let Some(mut place) = self.scratch_place() {
            *place = Some(scratch);
        }
    }

    /// Buffers for the largest of what lies between two passes: none for one pass, one for two.
    fn new_scratch(&self) -> Result<Scratch> {
        let between = self.plans.len() - 1;
        let most = self.most_between();
        let packed = self.plans.iter().any(Plan::shares_bytes);
        let buffer = |needed: bool| {
            let mut buffer = Vec::new();
            let bytes = if needed { most } else { 0 };
            buffer.try_reserve_exact(bytes).map_err(|_| Error::TooLarge {
                what: format!("a buffer of {bytes} bytes between two passes"),
            })?;
            if packed {
                // Elements that share bytes are written beside what is there.
                buffer.resize(bytes, 0);
                buffer.clear();
            }
            Ok(buffer)
        };
        Ok(Scratch { read: buffer(between > 1)?, written: buffer(between > 0)? })
    }
}

/// Runs one plan, unless `stop` is now.
///
/// # Safety
/// Where elements share bytes, all bytes are initialised.
///
/// # Errors
/// [`Error::Stopped`].
///
/// # Panics
/// If a buffer is shorter than the planned layouts.
unsafe fn run_plan(plan: &Plan, src: &Bytes, dst: &mut Bytes, stop: &Stop<'_>) -> Result<()> {
    assert!(src.len() >= plan.src_bytes && dst.len() >= plan.dst_bytes, "buffers fit the plan");
    // SAFETY: both buffers are long enough, and a shared and a unique reference cannot overlap.
    unsafe { execute::run(plan, src.as_ptr().cast(), dst.as_mut_ptr().cast(), stop) };
    stop.outcome()
}

/// Checks that a buffer holds what a plan reaches.
pub(crate) fn check_buffer(argument: &'static str, needed: usize, buffer: usize) -> Result<()> {
    if buffer >= needed {
        return Ok(());
    }
    Err(Error::OutOfBounds { argument, first: 0, end: needed.cast_signed(), buffer })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use trundle_core::ops::Flip;
    use trundle_core::{Backend, Layout, Move, Op, Shape};

    use super::*;
    use crate::Cpu;

    #[test]
    fn no_run_waits_for_the_scratch_buffers() {
        let shape = Shape::new([5]).unwrap();
        let layout = Layout::row_major(&shape, 1).unwrap();
        let map = Op::from(Flip::new(&[0])).index_map(&shape).unwrap();
        let plan = Cpu::default().plan(&Move::new(&map, 1, &layout, &layout).unwrap());
        let pipeline = Pipeline::new(vec![plan.clone(), plan.clone(), plan]).unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let place = pipeline.scratch.lock().unwrap();
            scope.spawn(|| {
                let moved = pipeline.run_to_vec(b"abcde");
                sender.send(moved).unwrap();
            });
            let moved = receiver.recv_timeout(Duration::from_secs(60));
            // A run that waits goes on, and the test fails.
            drop(place);
            assert_eq!(moved.unwrap().unwrap(), b"edcba");
        });
    }
}
