//! Values that own something: they are moved, never copied and never dropped.
//!
//! They are moved as bytes. A plan is tried out on numbers first, which shows that it gives every
//! element once, whatever it was made from.

use std::ptr::slice_from_raw_parts_mut;

use trundle_core::{Error, MoveError, Result, check_sizes};

use crate::Plan;
use crate::cancellation::Cancellation;
use crate::slices::raw;

impl Plan {
    /// Moves all values to their new places in `moved`; what was there before is dropped. None of
    /// the values is cloned or dropped. Nothing of T's own code runs on them, so a value may be
    /// anything: a `String`, a `Box`, a lock.
    ///
    /// # Errors
    /// As [`Plan::check_owned`], and [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if the memory has no room for the values
    /// and `moved` has not either. `values` are as they were then.
    pub fn run_owned<T>(&self, values: &mut Vec<T>, moved: &mut Vec<T>) -> Result<()> {
        self.check_owned::<T>(values.len())?;
        moved.clear();
        if size_of::<T>() == 0 {
            moved.append(values);
            return Ok(());
        }
        let bytes = size_of_val(values.as_slice());
        moved.try_reserve_exact(values.len()).map_err(|_| too_large(bytes))?;
        // SAFETY: the vector has reserved as many bytes as the values have. Until the run is over,
        // also if it panics, `values` owns all values and `moved` none. Then `moved` holds each
        // once, since the plan is a bijection of whole elements.
        unsafe {
            let dst = slice_from_raw_parts_mut(moved.as_mut_ptr().cast(), bytes);
            self.run_raw(raw(values), dst, &Cancellation::never())?;
            moved.set_len(values.len());
            values.set_len(0);
        }
        Ok(())
    }

    /// Checks that the plan moves so many values of T, and gives every one of them once. The first
    /// time, that is tried out on numbers of the same size, which takes about as long as to move
    /// the values.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`](trundle_core::ShapeError::SizesDiffer) for another number of values, [`DTypeError::WidthMismatch`](trundle_core::DTypeError::WidthMismatch) if elements
    /// would be torn apart, [`MoveError::NotABijection`] if some would be lost or given twice,
    /// [`ShapeError::TooLarge`](trundle_core::ShapeError::TooLarge) if the memory has no room for the numbers.
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

    /// Checks that every one of so many elements is given once, by moving their numbers.
    fn check_bijection(&self, elements: usize, width: usize) -> Result<()> {
        let bytes = elements * width;
        let mut labels = zeroes(bytes, bytes)?;
        let mut moved = zeroes(bytes, bytes)?;
        let mut numbers: Vec<usize> = zeroes(elements, elements * size_of::<usize>())?;
        // Narrow elements hold a digit of their number at a time.
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

/// So many values of 0, for `bytes` bytes.
fn zeroes<T: Default + Clone>(len: usize, bytes: usize) -> Result<Vec<T>> {
    let mut zeroes = Vec::new();
    zeroes.try_reserve_exact(len).map_err(|_| too_large(bytes))?;
    zeroes.resize(len, T::default());
    Ok(zeroes)
}

fn too_large(bytes: usize) -> Error {
    Error::too_large(format!("a buffer of {bytes} bytes for the values"))
}
