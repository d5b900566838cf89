//! Values that own something: they are moved, never copied and never dropped.

use std::sync::atomic::Ordering;

use trundle_core::{Error, Result};

use crate::Pipeline;
use crate::stop::Stop;

impl Pipeline {
    /// Moves the values of a vector to their new places: none is cloned, none is dropped. Nothing
    /// of T's own code runs, so a value may be anything: a `String`, a `Box`, a lock.
    ///
    /// The plans must move elements of T's size and give every one of them once. The first call
    /// tries that out on numbers of the same size, which takes about as long again.
    ///
    /// # Errors
    /// [`Error::SizesDiffer`] for a vector of another length, [`Error::WidthMismatch`] if elements
    /// would be torn apart, [`Error::NotABijection`] if some would be lost or given twice,
    /// [`Error::TooLarge`] if the memory has no room for the result. `values` are as they were then.
    pub fn run_owned<T>(&self, values: &mut Vec<T>) -> Result<()> {
        self.check_whole::<T>()?;
        let plans = self.plans();
        let (src_bytes, last) = (plans[0].src_bytes, &plans[plans.len() - 1]);
        if size_of_val(values.as_slice()) != src_bytes {
            return Err(Error::SizesDiffer {
                left: "the bytes of the values",
                right: "the bytes that are moved",
                left_size: size_of_val(values.as_slice()),
                right_size: src_bytes,
            });
        }
        if size_of::<T>() == 0 {
            return Ok(());
        }
        if last.moved_bytes != src_bytes || last.dst_bytes != src_bytes {
            return Err(Error::NotABijection);
        }
        if !self.is_bijection.load(Ordering::Relaxed) {
            self.check_bijection(values.len(), size_of::<T>())?;
            self.is_bijection.store(true, Ordering::Relaxed);
        }
        let mut moved: Vec<T> = Vec::new();
        moved.try_reserve_exact(values.len()).map_err(|_| too_large(src_bytes))?;
        // SAFETY: the source is valid for its bytes and the vector for as many that it has reserved.
        // Until the run is over, also if it panics, `values` owns all values and `moved` none. Then
        // `moved` holds each once, since the plans are a bijection of whole elements.
        unsafe {
            let src = std::slice::from_raw_parts(values.as_ptr().cast(), src_bytes);
            let dst = std::slice::from_raw_parts_mut(moved.as_mut_ptr().cast(), src_bytes);
            self.run_bytes(src, dst, &Stop::never())?;
            moved.set_len(values.len());
            values.set_len(0);
        }
        *values = moved;
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
            self.run(&labels, &mut moved)?;
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
                _ => return Err(Error::NotABijection),
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
    Error::TooLarge { what: format!("a buffer of {bytes} bytes for the values") }
}
