//! The elements of tensors of texts.

use std::ptr::null_mut;

use ort_sys::OrtValue;

use crate::api::Api;
use crate::failure::{Failure, Result};

/// The texts of a tensor that has so many.
///
/// # Safety
/// The value is a tensor of texts, of a call.
pub(crate) unsafe fn read(api: Api, value: *const OrtValue, count: usize) -> Result<Vec<String>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let (mut bytes, mut starts) = (0, vec![0; count]);
    // SAFETY: the contract is the same.
    api.check(unsafe { (api.functions().GetStringTensorDataLength)(value, &mut bytes) })?;
    let mut all = vec![0u8; bytes];
    // SAFETY: the same; both have the room that is said.
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

/// Makes these, which are as many as it has, the texts of a tensor.
///
/// # Safety
/// The value is a tensor of texts, of a call, which nobody else uses.
pub(crate) unsafe fn write(api: Api, value: *mut OrtValue, texts: &[&str]) -> Result<()> {
    for (place, text) in texts.iter().enumerate() {
        let mut room = null_mut();
        // SAFETY: the contract is the same. There is room for as many bytes as are asked for, the text's.
        unsafe {
            let resized = api.functions().GetResizedStringTensorElementBuffer;
            api.check(resized(value, place, text.len(), &mut room))?;
            room.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
    }
    Ok(())
}
