//! Reads and writes string tensors.

use std::ptr::null_mut;

use ort_sys::OrtValue;

use crate::api::Api;
use crate::failure::{Failure, Result};

/// Reads the `count` strings of a tensor.
///
/// # Safety
/// `value` must be a string tensor of the current call.
pub(crate) unsafe fn read(api: Api, value: *const OrtValue, count: usize) -> Result<Vec<String>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let (mut bytes, mut starts) = (0, vec![0; count]);
    // SAFETY: `value` is valid by the contract of this function.
    api.check(unsafe { (api.functions().GetStringTensorDataLength)(value, &mut bytes) })?;
    let mut all = vec![0u8; bytes];
    // SAFETY: as above, and both buffers have the sizes passed.
    let read = unsafe {
        let read = api.functions().GetStringTensorContent;
        read(value, all.as_mut_ptr().cast(), bytes, starts.as_mut_ptr(), count)
    };
    api.check(read)?;
    let ends = starts.iter().skip(1).copied().chain([bytes]);
    let text = |(place, (start, end)): (usize, (&usize, usize))| {
        let text = all.get(*start..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.map(str::to_owned).ok_or_else(|| Failure(format!("element {place} is no UTF-8")))
    };
    starts.iter().zip(ends).enumerate().map(text).collect()
}

/// Writes the strings of a tensor. `texts` must have as many as the tensor.
///
/// # Safety
/// `value` must be a string tensor of the current call with no other user.
pub(crate) unsafe fn write(api: Api, value: *mut OrtValue, texts: &[&str]) -> Result<()> {
    for (place, text) in texts.iter().enumerate() {
        let mut room = null_mut();
        // SAFETY: `value` is valid by the contract of this function, and the buffer has the requested size,
        // `text.len()`.
        unsafe {
            let resized = api.functions().GetResizedStringTensorElementBuffer;
            api.check(resized(value, place, text.len(), &mut room))?;
            room.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
    }
    Ok(())
}
