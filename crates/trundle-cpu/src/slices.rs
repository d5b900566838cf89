//! Plans run on slices of any type, and into memory that is not initialised yet.

use std::mem::MaybeUninit;
use std::ptr::{slice_from_raw_parts, slice_from_raw_parts_mut};

use trundle_core::{Error, Result};

use crate::stop::Stop;
use crate::{Plan, execute};

impl Plan {
    /// Moves the elements of `src` to `dst`, for a plan that moves whole elements of T.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a slice is shorter than the planned layouts,
    /// [`Error::WidthMismatch`] if the plan would tear elements apart; nothing has been written
    /// then.
    pub fn run_slice_into<T: Copy>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        self.check_whole::<T>()?;
        let bytes = size_of_val(dst);
        let dst = slice_from_raw_parts_mut(dst.as_mut_ptr().cast(), bytes);
        // SAFETY: a shared and a unique reference cannot overlap. Whole elements of `src`, which
        // are Copy, are written over whole elements of `dst`, so both hold values of T throughout.
        // No elements share bytes.
        unsafe { self.run_raw(raw(src), dst, &Stop::never()) }
    }

    /// The same into a new vector, for a destination without gaps.
    ///
    /// # Errors
    /// As [`Plan::run_slice_into`], and [`Error::SizesDiffer`] if the destination has gaps.
    pub fn run_slice<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        self.check_whole::<T>()?;
        // SAFETY: elements of T stay whole, and none share bytes.
        unsafe { self.run_whole(src) }
    }

    /// The same for bytes, also where elements share them: bits behind the last element are 0.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if `src` is too short, [`Error::SizesDiffer`] if the destination has
    /// gaps.
    pub fn run_to_vec(&self, src: &[u8]) -> Result<Vec<u8>> {
        // SAFETY: all bytes of `src` are initialised.
        unsafe { self.run_whole(src) }
    }

    /// Moves the elements of `src` into a new vector.
    ///
    /// # Safety
    /// They stay whole, and where elements share bytes, T is u8.
    unsafe fn run_whole<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        let elements = self.moved_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        // Every byte of the destination is written: as many are as there are, each once.
        if self.moved_bytes != self.dst_bytes {
            return Err(Error::SizesDiffer {
                left: "the bytes of the destination",
                right: "the bytes that are moved",
                left_size: self.dst_bytes,
                right_size: self.moved_bytes,
            });
        }
        let mut moved: Vec<T> = Vec::with_capacity(elements);
        if self.shares_bytes() {
            // Elements that share bytes are written beside what is there.
            moved.spare_capacity_mut().fill(MaybeUninit::zeroed());
        }
        let dst = slice_from_raw_parts_mut(moved.as_mut_ptr().cast(), self.dst_bytes);
        // SAFETY: the vector has reserved these bytes: whole elements. After the run, all of them
        // have been written from elements of `src`. Where elements share bytes they are zeros.
        unsafe {
            self.run_raw(raw(src), dst, &Stop::never())?;
            moved.set_len(elements);
        }
        Ok(moved)
    }

    /// Checks that elements of T stay whole. Those that share bytes do not.
    pub(crate) fn check_whole<T>(&self) -> Result<()> {
        let got = size_of::<T>();
        let rest = self.grain_bytes.checked_rem(got).unwrap_or(self.grain_bytes);
        if rest > 0 || self.shares_bytes() {
            return Err(Error::WidthMismatch { moved: self.grain_bytes, got });
        }
        Ok(())
    }

    /// Checks both buffers, and moves the elements, unless `stop` is now.
    ///
    /// # Safety
    /// `src` is valid for reads and `dst` for writes, nobody else writes to either meanwhile, and
    /// they do not overlap. Where elements share bytes, all bytes are initialised.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], and [`Error::Stopped`].
    #[inline]
    pub(crate) unsafe fn run_raw(
        &self,
        src: *const [u8],
        dst: *mut [u8],
        stop: &Stop<'_>,
    ) -> Result<()> {
        check_buffer("data", self.src_bytes, src.len())?;
        check_buffer("out", self.dst_bytes, dst.len())?;
        // SAFETY: both are long enough; the rest by the caller.
        unsafe { execute::run(self, src.cast(), dst.cast(), stop) };
        stop.outcome()
    }
}

/// The bytes of a slice, of which some may be padding, which is no value.
pub(crate) fn raw<T>(slice: &[T]) -> *const [u8] {
    slice_from_raw_parts(slice.as_ptr().cast(), size_of_val(slice))
}

/// Checks that a buffer holds what a plan reaches.
#[inline]
fn check_buffer(argument: &'static str, needed: usize, buffer: usize) -> Result<()> {
    if buffer >= needed {
        return Ok(());
    }
    Err(Error::OutOfBounds { argument, first: 0, end: needed.cast_signed(), buffer })
}
