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
    pub(crate) sizes: Vec<usize>,
    /// Its elements; nothing where they are texts.
    pub(crate) bytes: &'a [u8],
    api: Api,
    value: *const OrtValue,
}

/// An output of a call.
pub(crate) struct Output<'a> {
    pub(crate) element: ElementType,
    sizes: Vec<usize>,
    api: Api,
    value: *mut OrtValue,
    call: PhantomData<&'a mut [u8]>,
}

impl<'a> Input<'a> {
    /// # Safety
    /// The value is an input of a call that lasts as long as this.
    pub(crate) unsafe fn new(api: Api, value: *const OrtValue) -> Result<Input<'a>> {
        // SAFETY: the contract is the same. Nobody writes to inputs while a call of theirs goes on.
        let (element, sizes, bytes) = unsafe {
            let (element, sizes) = described(api, value)?;
            let bytes = match memory(api, value.cast_mut(), element, &sizes)? {
                Some((start, bytes)) => std::slice::from_raw_parts(start, bytes),
                None => &[],
            };
            (element, sizes, bytes)
        };
        Ok(Input { element, sizes, bytes, api, value })
    }

    /// What a plan is made for.
    pub(crate) fn lent(&self) -> Lent<'_> {
        Lent { sizes: &self.sizes, bytes: self.bytes }
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
        unsafe { texts::read(self.api, self.value, self.sizes.iter().product()) }
    }

    /// Its elements, which must be of int64: a list, or one that stands for it.
    pub(crate) fn list(&self, what: &str) -> Result<Vec<i64>> {
        if self.sizes.len() > 1 {
            let rank = self.sizes.len();
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

impl<'a> Output<'a> {
    /// # Safety
    /// The value is an output of a call that lasts as long as this, and nothing else is made of it.
    pub(crate) unsafe fn new(api: Api, value: *mut OrtValue) -> Result<Output<'a>> {
        // SAFETY: the contract is the same.
        let (element, sizes) = unsafe { described(api, value)? };
        Ok(Output { element, sizes, api, value, call: PhantomData })
    }

    /// Refuses any other element type than this, which is what will be written.
    pub(crate) fn check(&self, element: ElementType) -> Result<()> {
        match self.element == element {
            true => Ok(()),
            false => Err(Failure(format!(
                "is of {element}, but the graph says that it is of {}",
                self.element
            ))),
        }
    }

    /// Its memory; nothing where it is of texts. Bits beside packed elements are 0.
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        // SAFETY: it is an output of this call, and only this is made of it.
        let memory = unsafe { memory(self.api, self.value, self.element, &self.sizes)? };
        let Some((start, bytes)) = memory else { return Ok(&mut []) };
        let is_packed =
            matches!(self.element, ElementType::Fixed(dtype) if dtype.packing().is_some());
        // SAFETY: the same; ONNX Runtime has so many bytes there.
        unsafe {
            if is_packed {
                start.add(bytes - 1).write(0);
            }
            Ok(std::slice::from_raw_parts_mut(start, bytes))
        }
    }

    /// Makes texts its elements.
    pub(crate) fn put(&mut self, given: &[&str]) -> Result<()> {
        // SAFETY: it is an output of this call, which nobody else uses; `check` has seen that it is of texts.
        unsafe { texts::write(self.api, self.value, given) }
    }
}

/// What a value is: the type of its elements, and its shape.
///
/// # Safety
/// The value is a tensor of a call.
unsafe fn described(api: Api, value: *const OrtValue) -> Result<(ElementType, Vec<usize>)> {
    let mut info = null_mut();
    // SAFETY: the contract is the same. What is told is ours, and freed once.
    unsafe {
        api.check((api.functions().GetTensorTypeAndShape)(value, &mut info))?;
        let told = type_of(api, info).and_then(|element| Ok((element, dimensions(api, info)?)));
        (api.functions().ReleaseTensorTypeAndShapeInfo)(info);
        let (number, sizes) = told?;
        let size =
            |size: &i64| usize::try_from(*size).map_err(|_| Failure(format!("has size {size}")));
        Ok((element_of(number)?, sizes.iter().map(size).collect::<Result<_>>()?))
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

/// Where the elements of a value are, and how many bytes; `None` for no bytes, and for texts.
///
/// # Safety
/// The value is a tensor of a call, of this type and shape.
unsafe fn memory(
    api: Api,
    value: *mut OrtValue,
    element: ElementType,
    sizes: &[usize],
) -> Result<Option<(*mut u8, usize)>> {
    let ElementType::Fixed(dtype) = element else { return Ok(None) };
    let bytes = Shape::new(sizes)?.bytes(dtype)?;
    if bytes == 0 {
        return Ok(None);
    }
    let mut start: *mut c_void = null_mut();
    // SAFETY: the contract is the same.
    api.check(unsafe { (api.functions().GetTensorMutableData)(value, &mut start) })?;
    match start.is_null() {
        true => Err(Failure("has no memory".to_owned())),
        false => Ok(Some((start.cast(), bytes))),
    }
}
