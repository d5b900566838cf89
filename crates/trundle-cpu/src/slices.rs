//! Runs plans on typed slices and into uninitialized memory.

use std::any::TypeId;
use std::mem::MaybeUninit;
use std::ptr::{slice_from_raw_parts, slice_from_raw_parts_mut};

use trundle_core::{DTypeError, Result, check_buffer, check_sizes};

use crate::Plan;
use crate::cancellation::Cancellation;
use crate::large_pages::prefer_large_pages;

/// The element type of a destination for `T`: `T` itself or `MaybeUninit<T>`.
pub trait Destination<T>: of::Destination<T> {}

impl<T, D: of::Destination<T>> Destination<T> for D {}

mod of {
    use std::mem::MaybeUninit;

    /// Seals [`super::Destination`]. A value stays valid if a `T` is written over it.
    pub trait Destination<T>: 'static {}

    impl<T: Copy + 'static> Destination<T> for T {}

    impl<T: Copy + 'static> Destination<T> for MaybeUninit<T> {}
}

impl Plan {
    /// Moves the elements of `src` to `dst`.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if a slice is too short for its planned
    /// layout, [`DTypeError::WidthMismatch`] if the plan would split elements of T. After an error, `dst` is unchanged.
    pub fn run_slice_into<T: Copy>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        self.check_whole::<T>()?;
        // SAFETY: only whole elements of T are written, which are valid values; none share bytes.
        unsafe { self.run_over(src, dst) }
    }

    /// Moves the elements of `src` to uninitialized memory. The destination layout must have no gaps. Returns the part
    /// of `dst` that the layout covers, which is now initialized.
    ///
    /// # Errors
    /// As [`Plan::run_slice_into`], and [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if the
    /// destination has gaps.
    pub fn run_slice_uninit<'d, T: Copy>(
        &self,
        src: &[T],
        dst: &'d mut [MaybeUninit<T>],
    ) -> Result<&'d mut [T]> {
        self.check_whole::<T>()?;
        // SAFETY: the plan moves whole elements of T, and none share bytes.
        unsafe { self.run_whole(src, dst) }
    }

    /// Moves the elements of `src` to a new vector. The destination layout must have no gaps.
    ///
    /// # Errors
    /// As [`Plan::run_slice_uninit`].
    pub fn run_slice<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        self.check_whole::<T>()?;
        // SAFETY: the plan moves whole elements of T, and none share bytes.
        unsafe { self.run_to_new(src) }
    }

    /// Moves the elements of `src` to `dst`. The slices have elements of the planned width, or bytes that hold elements
    /// of any width, including sub-byte elements. `dst` may be uninitialized; afterwards the elements that the layout
    /// covers are initialized.
    ///
    /// # Errors
    /// As [`Plan::run_slice_into`].
    #[inline]
    pub fn run_buffer_into<T: Copy + 'static, D: Destination<T>>(
        &self,
        src: &[T],
        dst: &mut [D],
    ) -> Result<()> {
        self.check_buffer_of::<D>()?;
        // SAFETY: a destination of T is valid after a T is written over it. The plan writes whole elements of T, or
        // bytes over bytes, which are initialized on both sides.
        unsafe { self.run_over(src, dst) }
    }

    /// Moves the elements of `src` to a new vector, as [`Plan::run_buffer_into`] does. The destination must have no
    /// gaps. Padding bits after the last sub-byte element are 0.
    ///
    /// # Errors
    /// As [`Plan::run_slice_into`], and [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if the
    /// destination has gaps.
    pub fn run_to_vec<T: Copy + 'static>(&self, src: &[T]) -> Result<Vec<T>> {
        self.check_buffer_of::<T>()?;
        // SAFETY: the plan moves whole elements of T, or T is u8; all bytes of `src` are initialized.
        unsafe { self.run_to_new(src) }
    }

    /// Moves the elements of `src` to `dst`, which may have another element type.
    ///
    /// # Safety
    /// The plan must move whole elements of T, or T must be u8. Every value of T must be a valid value of D. If
    /// elements share bytes, T and D must be u8.
    #[inline]
    unsafe fn run_over<T: Copy, D>(&self, src: &[T], dst: &mut [D]) -> Result<()> {
        // SAFETY: a shared and a unique reference cannot overlap. The caller guarantees that the types fit.
        unsafe { self.run_raw(raw(src), raw_mut(dst), &Cancellation::never()) }
    }

    /// Moves the elements of `src` to the front of `dst` and returns that part.
    ///
    /// # Safety
    /// The plan must move whole elements of T. If elements share bytes, T must be u8.
    unsafe fn run_whole<'d, T: Copy>(
        &self,
        src: &[T],
        dst: &'d mut [MaybeUninit<T>],
    ) -> Result<&'d mut [T]> {
        // If as many bytes are moved as the destination has, all of it is written, because none is written twice.
        check_sizes(
            ("the bytes of the destination", self.dst_bytes),
            ("the bytes that are moved", self.moved_bytes),
        )?;
        let elements = self.dst_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        check_buffer("out", self.dst_bytes, size_of_val(dst))?;
        let dst = &mut dst[..elements];
        if self.shares_bytes() {
            // Packing preserves the other bits of a byte, so they must be initialized.
            dst.fill(MaybeUninit::zeroed());
        }
        // SAFETY: the plan writes whole elements of T over memory for them, or sub-byte elements over zeroed bytes.
        // It covers all of this memory, as checked above.
        unsafe {
            self.run_over(src, dst)?;
            Ok(&mut *(&raw mut *dst as *mut [T]))
        }
    }

    /// # Safety
    /// As [`Plan::run_whole`].
    unsafe fn run_to_new<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        let elements = self.moved_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        let mut moved: Vec<T> = Vec::with_capacity(elements);
        prefer_large_pages(moved.spare_capacity_mut());
        // SAFETY: `run_whole` has the contract of this function, and returns the initialized elements.
        unsafe {
            let written = self.run_whole(src, moved.spare_capacity_mut())?.len();
            moved.set_len(written);
        }
        Ok(moved)
    }

    /// Checks that a buffer of T can hold the elements. Bytes can hold any elements.
    #[inline]
    fn check_buffer_of<T: 'static>(&self) -> Result<()> {
        if TypeId::of::<T>() == TypeId::of::<u8>() { Ok(()) } else { self.check_whole::<T>() }
    }

    /// Checks that the plan moves whole elements of T. Sub-byte elements are refused.
    pub(crate) fn check_whole<T>(&self) -> Result<()> {
        if self.shares_bytes() {
            return Err(
                DTypeError::WidthMismatch { moved: self.grain_bytes, got: size_of::<T>() }.into()
            );
        }
        check_whole::<T>(self.grain_bytes)
    }

    /// Checks the sizes of both buffers and moves the elements, unless the caller cancels the run.
    ///
    /// # Safety
    /// `src` must be valid for reads and `dst` for writes. They must not overlap, and nothing else may write to them
    /// during the run. If elements share bytes, all bytes must be initialized.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if a buffer is too short,
    /// [`Error::Stopped`](trundle_core::Error::Stopped) if the caller has cancelled the run.
    #[inline]
    pub(crate) unsafe fn run_raw(
        &self,
        src: *const [u8],
        dst: *mut [u8],
        cancellation: &Cancellation<'_>,
    ) -> Result<()> {
        check_buffer("data", self.src_bytes, src.len())?;
        check_buffer("out", self.dst_bytes, dst.len())?;
        // SAFETY: both lengths were checked; validity is the contract of this function.
        unsafe { self.run(src.cast(), dst.cast(), cancellation) };
        cancellation.outcome()
    }
}

/// Returns a slice as raw bytes, including the padding of its elements.
pub(crate) fn raw<T>(slice: &[T]) -> *const [u8] {
    slice_from_raw_parts(slice.as_ptr().cast(), size_of_val(slice))
}

pub(crate) fn raw_mut<T>(slice: &mut [T]) -> *mut [u8] {
    let bytes = size_of_val(slice);
    slice_from_raw_parts_mut(slice.as_mut_ptr().cast(), bytes)
}

pub(crate) fn check_whole<T>(moved: usize) -> Result<()> {
    let got = size_of::<T>();
    if moved.checked_rem(got).unwrap_or(moved) > 0 {
        return Err(DTypeError::WidthMismatch { moved, got }.into());
    }
    Ok(())
}
