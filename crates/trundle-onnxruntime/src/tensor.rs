//! The tensors of a call, in the memory of ONNX Runtime.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

use ort_sys::{OrtTensorTypeAndShapeInfo, OrtValue};
use trundle::Shape;
use trundle_models::{Data, ElementType, Lent};

use crate::api::Api;
use crate::element::element_of;
use crate::failure::{Failure, Result};
use crate::texts;

/// An input of a call.
pub(crate) struct Input<'a> {
    pub(crate) element: ElementType,
    pub(crate) shape: Shape,
    /// Its elements; nothing where they are texts.
    pub(crate) bytes: &'a [u8],
    api: Api,
    value: *const OrtValue,
}

/// An output of a call.
pub(crate) struct Output<'a> {
    element: ElementType,
    /// How many bytes it has; 0 where it is of texts.
    bytes: usize,
    api: Api,
    value: *mut OrtValue,
    call: PhantomData<&'a mut [u8]>,
}

impl<'a> Input<'a> {
    /// # Safety
    /// The value is an input of a call that lasts as long as this.
    pub(crate) unsafe fn new(api: Api, value: *const OrtValue) -> Result<Input<'a>> {
        // SAFETY: the contract is the same. Nobody writes to inputs while a call of theirs goes on.
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

    /// What a plan is made for.
    pub(crate) fn lent(&self) -> Lent<'_> {
        Lent { sizes: self.shape.sizes(), bytes: self.bytes }
    }

    /// Its elements as those of a model, copied.
    pub(crate) fn data(&self) -> Result<Data> {
        match self.element {
            ElementType::Fixed(_) => Ok(Data::Bytes(self.bytes.to_vec().into())),
            ElementType::String => Ok(Data::Strings(self.texts()?.into())),
        }
    }

    /// Its elements, which are texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>> {
        // SAFETY: it is an input of texts, of this call.
        unsafe { texts::read(self.api, self.value, self.shape.elements()) }
    }

    /// Its elements, which must be of int64: a list, or one that stands for it.
    pub(crate) fn list(&self, what: &str) -> Result<Vec<i64>> {
        let rank = self.shape.rank();
        if rank > 1 {
            return Err(Failure(format!("{what} must have at most 1 axis, got {rank}")));
        }
        Ok(self.numbers())
    }

    /// Its elements, which must be of int64.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        let (numbers, _) = self.bytes.as_chunks();
        numbers.iter().map(|bytes| i64::from_ne_bytes(*bytes)).collect()
    }
}

impl Output<'_> {
    /// # Safety
    /// The value is an output of a call that lasts as long as this, of this type and shape, and nothing else is made of it.
    pub(crate) unsafe fn new<'a>(
        api: Api,
        value: *mut OrtValue,
        element: ElementType,
        shape: &Shape,
    ) -> Result<Output<'a>> {
        Ok(Output { element, bytes: bytes_of(element, shape)?, api, value, call: PhantomData })
    }

    /// Its memory; nothing where it is of texts. Bits beside packed elements are 0.
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        if self.bytes == 0 {
            return Ok(&mut []);
        }
        let is_packed =
            matches!(self.element, ElementType::Fixed(dtype) if dtype.packing().is_some());
        // SAFETY: it is an output of this call, of so many bytes, and only this is made of it.
        unsafe {
            let start = memory(self.api, self.value)?;
            if is_packed {
                start.add(self.bytes - 1).write(0);
            }
            Ok(std::slice::from_raw_parts_mut(start, self.bytes))
        }
    }

    /// Makes texts its elements.
    pub(crate) fn put(&mut self, given: &[&str]) -> Result<()> {
        // SAFETY: it is an output of this call, of texts, which nobody else uses.
        unsafe { texts::write(self.api, self.value, given) }
    }
}

/// What a value is: the type of its elements, and its shape.
///
/// # Safety
/// The value is a tensor of a call.
unsafe fn described(api: Api, value: *const OrtValue) -> Result<(ElementType, Shape)> {
    let mut info = null_mut();
    // SAFETY: the contract is the same. What is told is ours, and freed once.
    unsafe {
        api.check((api.functions().GetTensorTypeAndShape)(value, &mut info))?;
        let told = type_of(api, info).and_then(|element| Ok((element, dimensions(api, info)?)));
        (api.functions().ReleaseTensorTypeAndShapeInfo)(info);
        let (number, sizes) = told?;
        let size = |size| usize::try_from(size).map_err(|_| Failure(format!("has size {size}")));
        let sizes = sizes.into_iter().map(size).collect::<Result<Vec<_>>>()?;
        Ok((element_of(number)?, Shape::new(sizes)?))
    }
}

/// The number of an element type.
///
/// # Safety
/// The pointer leads to what ONNX Runtime says of a tensor.
pub(crate) unsafe fn type_of(api: Api, info: *const OrtTensorTypeAndShapeInfo) -> Result<i32> {
    let mut number = 0;
    // SAFETY: the contract is the same. The number may be none of the values that the enumeration has here.
    let told = unsafe { (api.functions().GetTensorElementType)(info, (&raw mut number).cast()) };
    api.check(told)?;
    Ok(number)
}

/// The sizes, below 0 where they are not known.
///
/// # Safety
/// The same.
pub(crate) unsafe fn dimensions(
    api: Api,
    info: *const OrtTensorTypeAndShapeInfo,
) -> Result<Vec<i64>> {
    let mut rank = 0;
    // SAFETY: the contract is the same; there is room for what is told.
    unsafe {
        api.check((api.functions().GetDimensionsCount)(info, &mut rank))?;
        let mut sizes = vec![0; rank];
        api.check((api.functions().GetDimensions)(info, sizes.as_mut_ptr(), rank))?;
        Ok(sizes)
    }
}

/// How many bytes the elements of a tensor have; 0 for texts.
fn bytes_of(element: ElementType, shape: &Shape) -> Result<usize> {
    match element {
        ElementType::Fixed(dtype) => Ok(shape.bytes(dtype)?),
        ElementType::String => Ok(0),
    }
}

/// Where the elements of a value are.
///
/// # Safety
/// The value is a tensor of a call, which has elements that are no texts.
unsafe fn memory(api: Api, value: *mut OrtValue) -> Result<*mut u8> {
    let mut start: *mut c_void = null_mut();
    // SAFETY: the contract is the same.
    api.check(unsafe { (api.functions().GetTensorMutableData)(value, &mut start) })?;
    match start.is_null() {
        true => Err(Failure("has no memory".to_owned())),
        false => Ok(start.cast()),
    }
}
