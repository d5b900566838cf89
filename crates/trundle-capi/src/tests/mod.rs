//! The C functions, called as C calls them.

mod allocation;
mod chains;
mod directml;
mod in_place;
mod indexed;
mod models;
mod one_shot;
mod operators;
mod plans;
mod random;
mod refusals;
mod split;
mod threads;

use std::ffi::{CStr, c_void};
use std::ptr::null;

use super::*;

/// Fills new buffers and their guards.
const GUARD: u8 = 0xA5;
const GUARD_BYTES: usize = 64;

/// A buffer between guard bytes, aligned to 16 bytes.
struct Guarded {
    memory: Vec<u128>,
    bytes: usize,
}

impl Guarded {
    fn new(bytes: usize) -> Guarded {
        let whole = (bytes + 2 * GUARD_BYTES).div_ceil(size_of::<u128>());
        Guarded { memory: vec![u128::from_ne_bytes([GUARD; 16]); whole], bytes }
    }

    fn of(content: &[u8]) -> Guarded {
        let mut buffer = Guarded::new(content.len());
        buffer.content_mut().copy_from_slice(content);
        buffer
    }

    fn at(&mut self, byte: usize) -> *mut c_void {
        (&raw mut self.content_mut()[byte..]).cast()
    }

    fn start(&mut self) -> *mut c_void {
        self.at(0)
    }

    fn all(&self) -> &[u8] {
        let bytes = size_of_val(&self.memory[..]);
        // SAFETY: any bytes are valid for plain numbers.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), bytes) }
    }

    fn content(&self) -> &[u8] {
        &self.all()[GUARD_BYTES..GUARD_BYTES + self.bytes]
    }

    fn content_mut(&mut self) -> &mut [u8] {
        let bytes = size_of_val(&self.memory[..]);
        // SAFETY: any bytes are valid for plain numbers.
        let all: &mut [u8] =
            unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), bytes) };
        &mut all[GUARD_BYTES..GUARD_BYTES + self.bytes]
    }

    #[track_caller]
    fn assert_is(&self, content: &[u8]) {
        assert_eq!(self.content(), content);
        let end = GUARD_BYTES + self.bytes;
        let around = self.all()[..GUARD_BYTES].iter().chain(&self.all()[end..]);
        assert!(around.copied().all(|byte| byte == GUARD), "written outside the output");
    }

    #[track_caller]
    fn assert_untouched(&self) {
        assert!(self.all().iter().all(|byte| *byte == GUARD), "written");
    }
}

/// The bytes of numbers in native order.
macro_rules! bytes {
    ($type:ty: $($number:expr),* $(,)?) => {
        [$(<$type>::to_ne_bytes($number)),*].concat()
    };
}
use bytes;

/// A description of a row-major tensor without gaps.
fn packed(dtype: trundle_dtype, sizes: &[u64]) -> trundle_tensor_desc {
    let rank = sizes.len().try_into().unwrap();
    trundle_tensor_desc { dtype, rank, sizes: sizes.as_ptr(), strides_elems: null() }
}

fn strided(dtype: trundle_dtype, sizes: &[u64], strides: &[i64]) -> trundle_tensor_desc {
    assert_eq!(sizes.len(), strides.len());
    trundle_tensor_desc { strides_elems: strides.as_ptr(), ..packed(dtype, sizes) }
}

fn last_message() -> String {
    // SAFETY: the pointer is a C string.
    unsafe { CStr::from_ptr(trundle_last_error()) }.to_str().unwrap().to_owned()
}

#[track_caller]
fn assert_refused(got: trundle_status, status: trundle_status, words: &str) {
    assert_eq!(got, status, "{words}: {}", last_message());
    assert!(last_message().contains(words), "{words}: {}", last_message());
}

#[track_caller]
fn assert_ok(status: trundle_status) {
    assert_eq!(status, TRUNDLE_OK, "{}", last_message());
}
