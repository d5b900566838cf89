//! Runs plans on values of any type, which are moved as bytes and never cloned or dropped.
//!
//! A trial run on numbers first proves that the plan moves every element exactly once.

use std::ptr::slice_from_raw_parts_mut;

use trundle_core::{Error, MoveError, Result, check_sizes};

use crate::Plan;
use crate::cancellation::Cancellation;
use crate::slices::raw;

impl Plan {
    /// Moves all `values` to their new positions in `moved`, whose previous contents are dropped. `values` is empty
    /// afterwards. No value is cloned or dropped, so `T` can be any type, such as `String`, `Box` or a lock.
    ///
    /// # Errors
    /// The errors of [`Plan::check_owned`], and [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if there
    /// is not enough memory for `moved`. After an error, `values` is unchanged.
    pub fn run_owned<T>(&self, values: &mut Vec<T>, moved: &mut Vec<T>) -> Result<()> {
        self.check_owned::<T>(values.len())?;
        moved.clear();
        if size_of::<T>() == 0 {
            moved.append(values);
            return Ok(());
        }
        let bytes = size_of_val(values.as_slice());
        moved.try_reserve_exact(values.len()).map_err(|_| too_large(bytes))?;
        // SAFETY: `moved` has capacity for all values. During the run, `values` owns all of them and `moved` owns
        // none, even if the run panics. After the run, `moved` holds each value once, because the plan is a bijection
        // of whole elements.
        unsafe {
            let dst = slice_from_raw_parts_mut(moved.as_mut_ptr().cast(), bytes);
            self.run_raw(raw(values), dst, &Cancellation::never())?;
            moved.set_len(values.len());
            values.set_len(0);
        }
        Ok(())
    }

    /// Checks that the plan moves `len` values of `T`, each exactly once. The first call runs the plan on numbers of
    /// the same size, which takes about as long as moving the values.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) if the plan is for another number of bytes,
    /// [`DTypeError::WidthMismatch`](trundle_core::DTypeError::WidthMismatch) if the plan would split values,
    /// [`MoveError::NotABijection`] if some values would be lost or duplicated,
    /// [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if there is not enough memory for the
    /// numbers.
    pub fn check_owned<T>(&self, len: usize) -> Result<()> {
        self.check_whole::<T>()?;
        let bytes = len.saturating_mul(size_of::<T>());
        check_sizes(
            ("the bytes of the values", bytes),
            ("the bytes that are moved", self.src_bytes),
        )?;
        if size_of::<T>() == 0 || self.is_bijection.get() {
            return Ok(());
        }
        if self.moved_bytes != bytes || self.dst_bytes != bytes {
            return Err(MoveError::NotABijection.into());
        }
        self.check_bijection(len, size_of::<T>())?;
        self.is_bijection.set();
        Ok(())
    }

    /// Checks that every element is moved exactly once, by moving element numbers.
    fn check_bijection(&self, elements: usize, width: usize) -> Result<()> {
        let bytes = elements * width;
        let mut labels = zeroes(bytes, bytes)?;
        let mut moved = zeroes(bytes, bytes)?;
        let mut numbers: Vec<usize> = zeroes(elements, elements * size_of::<usize>())?;
        // If an element is too small for its number, each trial moves one digit.
        let digit_bytes = width.min(size_of::<usize>());
        for digit in 0..size_of::<usize>().div_ceil(digit_bytes) {
            let (from, to) = (digit * digit_bytes, (digit + 1) * digit_bytes);
            let digit = from..to.min(size_of::<usize>());
            for (number, label) in labels.chunks_exact_mut(width).enumerate() {
                label[..digit.len()].copy_from_slice(&number.to_le_bytes()[digit.clone()]);
            }
            self.run_slice_into(&labels, &mut moved)?;
            for (number, label) in numbers.iter_mut().zip(moved.chunks_exact(width)) {
                let mut bytes = usize::to_le_bytes(*number);
                bytes[digit.clone()].copy_from_slice(&label[..digit.len()]);
                *number = usize::from_le_bytes(bytes);
            }
        }
        let mut given: Vec<bool> = zeroes(elements, elements)?;
        for number in numbers {
            match given.get_mut(number) {
                Some(given) if !*given => *given = true,
                _ => return Err(MoveError::NotABijection.into()),
            }
        }
        Ok(())
    }
}

fn zeroes<T: Default + Clone>(len: usize, bytes: usize) -> Result<Vec<T>> {
    let mut zeroes = Vec::new();
    zeroes.try_reserve_exact(len).map_err(|_| too_large(bytes))?;
    zeroes.resize(len, T::default());
    Ok(zeroes)
}

fn too_large(bytes: usize) -> Error {
    Error::too_large(format!("a buffer of {bytes} bytes for the values"))
}
