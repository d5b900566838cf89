//! The tensors of a call, in ONNX Runtime's memory.

use std::marker::PhantomData;
use std::ptr::null_mut;

use ort_sys::{OrtTensorTypeAndShapeInfo, OrtValue};
use trundle::Shape;
use trundle_models::{Data, ElementType, InputView};

use crate::api::Api;
use crate::element::element_of;
use crate::failure::{Failure, Result};

pub(crate) struct Input<'a> {
    pub(crate) element: ElementType,
    pub(crate) shape: Shape,
    /// Empty for strings.
    pub(crate) bytes: &'a [u8],
    api: Api,
    value: *const OrtValue,
}

pub(crate) struct Output<'a> {
    element: ElementType,
    /// The size in bytes; 0 for strings.
    bytes: usize,
    api: Api,
    value: *mut OrtValue,
    call: PhantomData<&'a mut [u8]>,
}

impl<'a> Input<'a> {
    /// # Safety
    /// `value` must be an input of a call that outlives the returned value.
    pub(crate) unsafe fn new(api: Api, value: *const OrtValue) -> Result<Input<'a>> {
        // SAFETY: `value` is a live input by the contract of this function, and nothing writes to inputs during a
        // call.
        let (element, shape, bytes) = unsafe {
            let (element, shape) = described(api, value)?;
            let bytes = match bytes_of(element, &shape)? {
                0 => &[],
                bytes => std::slice::from_raw_parts(memory(api, value.cast_mut())?, bytes),
            };
            (element, shape, bytes)
        };
        Ok(Input { element, shape, bytes, api, value })
    }

    /// What the plan may depend on.
    pub(crate) fn view(&self) -> InputView<'_> {
        InputView { sizes: self.shape.sizes(), bytes: self.bytes }
    }

    pub(crate) fn data(&self) -> Result<Data> {
        match self.element {
            ElementType::Fixed(_) => Ok(Data::Bytes(self.bytes.to_vec().into())),
            ElementType::String => Ok(Data::Strings(self.strings()?.into())),
        }
    }

    pub(crate) fn strings(&self) -> Result<Vec<String>> {
        // SAFETY: the value is a string input of this call.
        unsafe { read_strings(self.api, self.value, self.shape.elements()) }
    }

    /// The int64 elements of a tensor with at most one axis.
    pub(crate) fn list(&self, what: &str) -> Result<Vec<i64>> {
        let rank = self.shape.rank();
        if rank > 1 {
            return Err(Failure(format!("{what} must have at most 1 axis, got {rank}")));
        }
        Ok(self.numbers())
    }

    pub(crate) fn numbers(&self) -> Vec<i64> {
        let (numbers, _) = self.bytes.as_chunks();
        numbers.iter().map(|bytes| i64::from_ne_bytes(*bytes)).collect()
    }
}

impl Output<'_> {
    /// # Safety
    /// `value` must be an output of this type and shape, of a call that outlives the returned value. Nothing else may
    /// access it.
    pub(crate) unsafe fn new<'a>(
        api: Api,
        value: *mut OrtValue,
        element: ElementType,
        shape: &Shape,
    ) -> Result<Output<'a>> {
        Ok(Output { element, bytes: bytes_of(element, shape)?, api, value, call: PhantomData })
    }

    /// The output's memory; empty for strings. Unused bits after packed elements are cleared.
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        if self.bytes == 0 {
            return Ok(&mut []);
        }
        let is_packed =
            matches!(self.element, ElementType::Fixed(dtype) if dtype.packing().is_some());
        // SAFETY: the output has `self.bytes` bytes, and only this value accesses it.
        unsafe {
            let start = memory(self.api, self.value)?;
            if is_packed {
                start.add(self.bytes - 1).write(0);
            }
            Ok(std::slice::from_raw_parts_mut(start, self.bytes))
        }
    }

    pub(crate) fn put(&mut self, given: &[&str]) -> Result<()> {
        // SAFETY: the value is a string output of this call with no other user.
        unsafe { write_strings(self.api, self.value, given) }
    }
}

/// The element type and shape of a tensor.
///
/// # Safety
/// `value` must be a tensor of the current call.
unsafe fn described(api: Api, value: *const OrtValue) -> Result<(ElementType, Shape)> {
    let mut info = null_mut();
    // SAFETY: `value` is valid by the contract of this function. The info is owned and freed once.
    unsafe {
        api.check((api.functions().GetTensorTypeAndShape)(value, &mut info))?;
        let result = type_of(api, info).and_then(|element| Ok((element, dimensions(api, info)?)));
        (api.functions().ReleaseTensorTypeAndShapeInfo)(info);
        let (number, sizes) = result?;
        let size = |size| usize::try_from(size).map_err(|_| Failure(format!("has size {size}")));
        let sizes = sizes.into_iter().map(size).collect::<Result<Vec<_>>>()?;
        Ok((element_of(number)?, Shape::new(sizes)?))
    }
}

/// The type number of a tensor.
///
/// # Safety
/// `info` must be a valid tensor info.
pub(crate) unsafe fn type_of(api: Api, info: *const OrtTensorTypeAndShapeInfo) -> Result<i32> {
    // SAFETY: `info` is valid by the contract of this function. The number is read as an integer because the
    // enumeration may not have it.
    api.get(0, |api, number| unsafe { (api.GetTensorElementType)(info, (&raw mut *number).cast()) })
}

/// The sizes of a tensor; unknown sizes are negative.
///
/// # Safety
/// `info` must be a valid tensor info.
pub(crate) unsafe fn dimensions(
    api: Api,
    info: *const OrtTensorTypeAndShapeInfo,
) -> Result<Vec<i64>> {
    let mut rank = 0;
    // SAFETY: `info` is valid by the contract of this function, and `sizes` has one slot per axis.
    unsafe {
        api.check((api.functions().GetDimensionsCount)(info, &mut rank))?;
        let mut sizes = vec![0; rank];
        api.check((api.functions().GetDimensions)(info, sizes.as_mut_ptr(), rank))?;
        Ok(sizes)
    }
}

/// Returns the size of a tensor in bytes; 0 for strings.
fn bytes_of(element: ElementType, shape: &Shape) -> Result<usize> {
    match element {
        ElementType::Fixed(dtype) => Ok(shape.bytes(dtype)?),
        ElementType::String => Ok(0),
    }
}

/// The address of a tensor's elements.
///
/// # Safety
/// `value` must be a tensor of the current call, not of strings.
unsafe fn memory(api: Api, value: *mut OrtValue) -> Result<*mut u8> {
    // SAFETY: `value` is valid by the contract of this function.
    let start =
        api.get(null_mut(), |api, start| unsafe { (api.GetTensorMutableData)(value, start) })?;
    match start.is_null() {
        true => Err(Failure("has no memory".to_owned())),
        false => Ok(start.cast()),
    }
}

/// Reads `count` strings.
///
/// # Safety
/// `value` must be a string tensor of the current call.
unsafe fn read_strings(api: Api, value: *const OrtValue, count: usize) -> Result<Vec<String>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: `value` is valid by the contract of this function.
    let bytes =
        api.get(0, |api, bytes| unsafe { (api.GetStringTensorDataLength)(value, bytes) })?;
    let (mut all, mut starts) = (vec![0u8; bytes], vec![0; count]);
    // SAFETY: `value` is valid by the contract of this function, and both buffers have the sizes passed.
    let read = unsafe {
        let read = api.functions().GetStringTensorContent;
        read(value, all.as_mut_ptr().cast(), bytes, starts.as_mut_ptr(), count)
    };
    api.check(read)?;
    let ends = starts.iter().skip(1).copied().chain([bytes]);
    let text = |(index, (start, end)): (usize, (&usize, usize))| {
        let text = all.get(*start..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.map(str::to_owned).ok_or_else(|| Failure(format!("element {index} is not UTF-8")))
    };
    starts.iter().zip(ends).enumerate().map(text).collect()
}

/// Writes the strings of a tensor. `strings` must have as many strings as the tensor.
///
/// # Safety
/// `value` must be a string tensor of the current call with no other user.
unsafe fn write_strings(api: Api, value: *mut OrtValue, strings: &[&str]) -> Result<()> {
    for (index, text) in strings.iter().enumerate() {
        let mut room = null_mut();
        // SAFETY: `value` is valid by the contract of this function, and the buffer has the requested size,
        // `text.len()`.
        unsafe {
            let resized = api.functions().GetResizedStringTensorElementBuffer;
            api.check(resized(value, index, text.len(), &mut room))?;
            room.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
    }
    Ok(())
}
