//! The node for which a kernel is created.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use ort_sys::{OrtKernelInfo, OrtStatusPtr, OrtTypeInfo};
use trundle_models::ElementType;

use crate::api::Api;
use crate::element::element_of;
use crate::failure::{Failure, Result};
use crate::tensor::type_of;

type Count = unsafe extern "system" fn(*const OrtKernelInfo, *mut usize) -> OrtStatusPtr;

type TypeInfo =
    unsafe extern "system" fn(*const OrtKernelInfo, usize, *mut *mut OrtTypeInfo) -> OrtStatusPtr;

pub(crate) struct Node {
    api: Api,
    info: *const OrtKernelInfo,
}

impl Node {
    /// # Safety
    /// `info` must be the pointer that ONNX Runtime passes to kernel creation. The value may be used only
    /// during that call.
    pub(crate) unsafe fn new(api: Api, info: *const OrtKernelInfo) -> Node {
        Node { api, info }
    }

    /// The names of operator and node, for messages.
    pub(crate) fn label(&self, operator: &CStr) -> String {
        let name = self.sized_bytes(|info, out, size| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (self.api.functions().KernelInfo_GetNodeName)(info, out, size) }
        });
        let operator = operator.to_string_lossy();
        match name.map(|name| String::from_utf8_lossy(&name).into_owned()) {
            Ok(name) if !name.is_empty() => format!("trundle.{operator} {name:?}"),
            _ => format!("trundle.{operator}"),
        }
    }

    /// The bytes of a string attribute, which need not be UTF-8.
    ///
    /// # Errors
    /// If the attribute is missing.
    pub(crate) fn text(&self, name: &CStr) -> Result<Vec<u8>> {
        let bytes = self.sized_bytes(|info, out, size| {
            let get = self.api.functions().KernelInfoGetAttribute_string;
            // SAFETY: `out` has room for `size` bytes.
            unsafe { get(info, name.as_ptr(), out, size) }
        });
        bytes.map_err(|failure| failure.of_attribute(name))
    }

    /// An integer attribute.
    ///
    /// # Errors
    /// If the attribute is missing.
    pub(crate) fn number(&self, name: &CStr) -> Result<i64> {
        // SAFETY: the node info belongs to the current call.
        let number = self.api.get(0, |api, number| unsafe {
            (api.KernelInfoGetAttribute_int64)(self.info, name.as_ptr(), number)
        });
        number.map_err(|failure| failure.of_attribute(name))
    }

    /// The element types of the inputs.
    ///
    /// # Errors
    /// If an input is omitted or has an unknown type.
    pub(crate) fn input_types(&self) -> Result<Vec<ElementType>> {
        let functions = self.api.functions();
        let count = self.count(functions.KernelInfo_GetInputCount)?;
        let of = |number| {
            let element = self.element_type(functions.KernelInfo_GetInputTypeInfo, number);
            element.map_err(|failure| failure.of("input", number))
        };
        (0..count).map(of).collect()
    }

    /// The output types that the graph states; `None` for an unread output or an unknown type.
    pub(crate) fn output_types(&self) -> Result<Vec<Option<ElementType>>> {
        let functions = self.api.functions();
        let count = self.count(functions.KernelInfo_GetOutputCount)?;
        let of = |number| self.element_type(functions.KernelInfo_GetOutputTypeInfo, number).ok();
        Ok((0..count).map(of).collect())
    }

    fn count(&self, get: Count) -> Result<usize> {
        // SAFETY: the node info belongs to the current call.
        self.api.get(0, |_, count| unsafe { get(self.info, count) })
    }

    fn element_type(&self, get: TypeInfo, number: usize) -> Result<ElementType> {
        let mut info = null_mut();
        // SAFETY: the node info belongs to the current call. The type info is owned and freed once.
        unsafe {
            self.api.check(get(self.info, number, &mut info))?;
            let number = self.number_of_type(info);
            (self.api.functions().ReleaseTypeInfo)(info);
            element_of(number?)
        }
    }

    /// The type number of a tensor.
    ///
    /// # Safety
    /// `info` must be a valid type info.
    unsafe fn number_of_type(&self, info: *const OrtTypeInfo) -> Result<i32> {
        let mut tensor = null();
        // SAFETY: `info` is valid by the contract of this function, and the tensor info is part of it.
        unsafe {
            self.api.check((self.api.functions().CastTypeInfoToTensorInfo)(info, &mut tensor))?;
            match tensor.is_null() {
                true => Err(Failure("is not a tensor".to_owned())),
                false => type_of(self.api, tensor),
            }
        }
    }

    /// Calls a function for the size of its text, then to fill a buffer. Removes the terminating zero.
    fn sized_bytes(
        &self,
        call: impl Fn(*const OrtKernelInfo, *mut c_char, &mut usize) -> OrtStatusPtr,
    ) -> Result<Vec<u8>> {
        let mut size = 0;
        self.api.check(call(self.info, null_mut(), &mut size))?;
        let mut bytes = vec![0u8; size];
        self.api.check(call(self.info, bytes.as_mut_ptr().cast(), &mut size))?;
        bytes.truncate(size.saturating_sub(1));
        Ok(bytes)
    }
}
