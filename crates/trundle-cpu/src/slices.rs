//! Plans run on slices of any type, and into memory that is not initialised yet.

use std::any::TypeId;
use std::mem::MaybeUninit;
use std::ptr::{slice_from_raw_parts, slice_from_raw_parts_mut};

use trundle_core::{DTypeError, Result, check_buffer, check_sizes};

use crate::Plan;
use crate::cancellation::Cancellation;
use crate::large_pages::prefer_large_pages;

/// What elements of `T` can be written to: places of `T`, and memory for it that is not initialised
/// yet.
pub trait Destination<T>: of::Destination<T> {}

impl<T, D: of::Destination<T>> Destination<T> for D {}

mod of {
    use std::mem::MaybeUninit;

    /// Only these: what is written over them is a T.
    pub trait Destination<T>: 'static {}

    impl<T: Copy + 'static> Destination<T> for T {}

    impl<T: Copy + 'static> Destination<T> for MaybeUninit<T> {}
}

impl Plan {
    /// Moves the elements of `src` to `dst`, for a plan that moves whole elements of T.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds) if a slice is shorter than the planned layouts,
    /// [`DTypeError::WidthMismatch`] if the plan would tear elements apart; nothing has been written
    /// then.
    pub fn run_slice_into<T: Copy>(&self, src: &[T], dst: &mut [T]) -> Result<()> {
        self.check_whole::<T>()?;
        // SAFETY: whole elements of T are written, which are values of it; none share bytes.
        unsafe { self.run_over(src, dst) }
    }

    /// The same into memory that is not initialised, for a destination without gaps: all of it that
    /// the planned layout covers, which is returned, is initialised then.
    ///
    /// # Errors
    /// As [`Plan::run_slice_into`], and [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if the destination has gaps.
    pub fn run_slice_uninit<'d, T: Copy>(
        &self,
        src: &[T],
        dst: &'d mut [MaybeUninit<T>],
    ) -> Result<&'d mut [T]> {
        self.check_whole::<T>()?;
        // SAFETY: elements of T stay whole, and none share bytes.
        unsafe { self.run_whole(src, dst) }
    }

    /// The same into a new vector.
    ///
    /// # Errors
    /// As [`Plan::run_slice_uninit`].
    pub fn run_slice<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        self.check_whole::<T>()?;
        // SAFETY: elements of T stay whole, and none share bytes.
        unsafe { self.run_to_new(src) }
    }

    /// [`Plan::run_slice_into`] for buffers that are slices of elements, or of the bytes that hold
    /// them, also where elements share bytes. Elements may be written to memory that is not
    /// initialised: those that the planned layout covers are then.
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
        // SAFETY: a destination of T holds a T after one has been written over it. Whole elements of
        // T are, or any bytes over bytes, which are initialised on both sides.
        unsafe { self.run_over(src, dst) }
    }

    /// The same into a new vector, for a destination without gaps: where elements share bytes, bits
    /// behind the last element are 0.
    ///
    /// # Errors
    /// As [`Plan::run_slice_into`], and [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if the destination has gaps.
    pub fn run_to_vec<T: Copy + 'static>(&self, src: &[T]) -> Result<Vec<T>> {
        self.check_buffer_of::<T>()?;
        // SAFETY: elements of T stay whole, or T is u8, and all bytes of `src` are initialised.
        unsafe { self.run_to_new(src) }
    }

    /// Moves the elements of `src` over `dst`.
    ///
    /// # Safety
    /// What is moved, whole elements of T or bytes, is a value of D, and where elements share bytes, T and
    /// D are u8.
    #[inline]
    unsafe fn run_over<T: Copy, D>(&self, src: &[T], dst: &mut [D]) -> Result<()> {
        // SAFETY: a shared and a unique reference cannot overlap. The rest by the caller.
        unsafe { self.run_raw(raw(src), raw_mut(dst), &Cancellation::never()) }
    }

    /// Moves the elements of `src` to the front of `dst`, and returns that.
    ///
    /// # Safety
    /// They stay whole, and where elements share bytes, T is u8.
    unsafe fn run_whole<'d, T: Copy>(
        &self,
        src: &[T],
        dst: &'d mut [MaybeUninit<T>],
    ) -> Result<&'d mut [T]> {
        // Every byte of the destination is written: as many are as there are, each once.
        check_sizes(
            ("the bytes of the destination", self.dst_bytes),
            ("the bytes that are moved", self.moved_bytes),
        )?;
        let elements = self.dst_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        check_buffer("out", self.dst_bytes, size_of_val(dst))?;
        let dst = &mut dst[..elements];
        if self.shares_bytes() {
            // Elements that share bytes are written beside what is there.
            dst.fill(MaybeUninit::zeroed());
        }
        // SAFETY: whole elements of T are written over memory for them, or where elements share bytes,
        // bytes over zeros. All of this memory is: as many bytes of the move as it has.
        unsafe {
            self.run_over(src, dst)?;
            Ok(&mut *(&raw mut *dst as *mut [T]))
        }
    }

    /// Moves the elements of `src` into a new vector.
    ///
    /// # Safety
    /// As [`Plan::run_whole`].
    unsafe fn run_to_new<T: Copy>(&self, src: &[T]) -> Result<Vec<T>> {
        let elements = self.moved_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        let mut moved: Vec<T> = Vec::with_capacity(elements);
        prefer_large_pages(moved.spare_capacity_mut());
        // SAFETY: by the caller; so many elements, for which there is room, are initialised then.
        unsafe {
            let written = self.run_whole(src, moved.spare_capacity_mut())?.len();
            moved.set_len(written);
        }
        Ok(moved)
    }

    /// Checks that a buffer of T can hold the elements: bytes can hold any.
    #[inline]
    fn check_buffer_of<T: 'static>(&self) -> Result<()> {
        if TypeId::of::<T>() == TypeId::of::<u8>() { Ok(()) } else { self.check_whole::<T>() }
    }

    /// Checks that elements of T stay whole. Those that share bytes do not.
    pub(crate) fn check_whole<T>(&self) -> Result<()> {
        if self.shares_bytes() {
            return Err(
                DTypeError::WidthMismatch { moved: self.grain_bytes, got: size_of::<T>() }.into()
            );
        }
        check_whole::<T>(self.grain_bytes)
    }

    /// Checks both buffers, and moves the elements, unless `cancellation` is requested.
    ///
    /// # Safety
    /// `src` is valid for reads and `dst` for writes, nobody else writes to either meanwhile, and
    /// they do not overlap. Where elements share bytes, all bytes are initialised.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`](trundle_core::LayoutError::OutOfBounds), and [`Error::Stopped`](trundle_core::Error::Stopped).
    #[inline]
    pub(crate) unsafe fn run_raw(
        &self,
        src: *const [u8],
        dst: *mut [u8],
        cancellation: &Cancellation<'_>,
    ) -> Result<()> {
        check_buffer("data", self.src_bytes, src.len())?;
        check_buffer("out", self.dst_bytes, dst.len())?;
        // SAFETY: both are long enough; the rest by the caller.
        unsafe { self.run(src.cast(), dst.cast(), cancellation) };
        cancellation.outcome()
    }
}

/// The bytes of a slice, of which some may be padding, which is no value.
pub(crate) fn raw<T>(slice: &[T]) -> *const [u8] {
    slice_from_raw_parts(slice.as_ptr().cast(), size_of_val(slice))
}

/// The same of one that is written.
pub(crate) fn raw_mut<T>(slice: &mut [T]) -> *mut [u8] {
    let bytes = size_of_val(slice);
    slice_from_raw_parts_mut(slice.as_mut_ptr().cast(), bytes)
}

/// Checks that what stays together at multiples of so many bytes are whole elements of T.
pub(crate) fn check_whole<T>(moved: usize) -> Result<()> {
    let got = size_of::<T>();
    if moved.checked_rem(got).unwrap_or(moved) > 0 {
        return Err(DTypeError::WidthMismatch { moved, got }.into());
    }
    Ok(())
}
