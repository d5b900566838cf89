//! A node of a graph, for which a kernel is made.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use ort_sys::{OrtKernelInfo, OrtStatusPtr, OrtTypeInfo};
use trundle_models::ElementType;

use crate::api::Api;
use crate::element::element_of;
use crate::failure::{Failure, Result};
use crate::tensor::type_of;

/// A function that says how many inputs or outputs a node has.
type Count = unsafe extern "system" fn(*const OrtKernelInfo, *mut usize) -> OrtStatusPtr;

/// A function that says of which type one is.
type TypeInfo =
    unsafe extern "system" fn(*const OrtKernelInfo, usize, *mut *mut OrtTypeInfo) -> OrtStatusPtr;

/// A node of a graph.
pub(crate) struct Node {
    api: Api,
    info: *const OrtKernelInfo,
}

impl Node {
    /// # Safety
    /// The pointer is what ONNX Runtime has a kernel made with, and this is used within that call.
    pub(crate) unsafe fn new(api: Api, info: *const OrtKernelInfo) -> Node {
        Node { api, info }
    }

    /// What messages call it: its operator, and its name if it has one.
    pub(crate) fn label(&self, operator: &CStr) -> String {
        let name = self.told(|info, out, size| {
            // SAFETY: there is room for as many bytes as `size` says.
            unsafe { (self.api.functions().KernelInfo_GetNodeName)(info, out, size) }
        });
        let operator = operator.to_string_lossy();
        match name.map(|name| String::from_utf8_lossy(&name).into_owned()) {
            Ok(name) if !name.is_empty() => format!("trundle.{operator} {name:?}"),
            _ => format!("trundle.{operator}"),
        }
    }

    /// The bytes of an attribute, which may be any.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn text(&self, name: &CStr) -> Result<Vec<u8>> {
        let told = self.told(|info, out, size| {
            let get = self.api.functions().KernelInfoGetAttribute_string;
            // SAFETY: there is room for as many bytes as `size` says.
            unsafe { get(info, name.as_ptr(), out, size) }
        });
        told.map_err(|failure| failure.of_attribute(name))
    }

    /// The number that an attribute is.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn number(&self, name: &CStr) -> Result<i64> {
        let mut number = 0;
        let get = self.api.functions().KernelInfoGetAttribute_int64;
        // SAFETY: the node is that of this call.
        let got = self.api.check(unsafe { get(self.info, name.as_ptr(), &mut number) });
        got.map(|()| number).map_err(|failure| failure.of_attribute(name))
    }

    /// The element types of its inputs.
    ///
    /// # Errors
    /// If one is left out, or of a type that is not known here.
    pub(crate) fn input_types(&self) -> Result<Vec<ElementType>> {
        let functions = self.api.functions();
        let count = self.count(functions.KernelInfo_GetInputCount)?;
        let of = |number| {
            let element = self.element_type(functions.KernelInfo_GetInputTypeInfo, number);
            element.map_err(|failure| failure.of("input", number))
        };
        (0..count).map(of).collect()
    }

    /// The element types that the graph says its outputs are of; `None` for one that nobody reads, or of a type that is not
    /// known here.
    pub(crate) fn output_types(&self) -> Result<Vec<Option<ElementType>>> {
        let functions = self.api.functions();
        let count = self.count(functions.KernelInfo_GetOutputCount)?;
        let of = |number| self.element_type(functions.KernelInfo_GetOutputTypeInfo, number).ok();
        Ok((0..count).map(of).collect())
    }

    fn count(&self, get: Count) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the node is that of this call.
        self.api.check(unsafe { get(self.info, &mut count) })?;
        Ok(count)
    }

    fn element_type(&self, get: TypeInfo, number: usize) -> Result<ElementType> {
        let mut info = null_mut();
        // SAFETY: the node is that of this call. What is told is ours, and freed once.
        unsafe {
            self.api.check(get(self.info, number, &mut info))?;
            let number = self.number_of_type(info);
            (self.api.functions().ReleaseTypeInfo)(info);
            element_of(number?)
        }
    }

    /// The number of the element type of a tensor.
    ///
    /// # Safety
    /// The pointer leads to what ONNX Runtime says of a type.
    unsafe fn number_of_type(&self, info: *const OrtTypeInfo) -> Result<i32> {
        let mut tensor = null();
        // SAFETY: the contract is the same; what is told is part of it.
        unsafe {
            self.api.check((self.api.functions().CastTypeInfoToTensorInfo)(info, &mut tensor))?;
            match tensor.is_null() {
                true => Err(Failure("is no tensor".to_owned())),
                false => type_of(self.api, tensor),
            }
        }
    }

    /// What a function tells that says how much room it needs where there is none. It ends with a 0, which is left out.
    fn told(
        &self,
        tell: impl Fn(*const OrtKernelInfo, *mut c_char, &mut usize) -> OrtStatusPtr,
    ) -> Result<Vec<u8>> {
        let mut size = 0;
        self.api.check(tell(self.info, null_mut(), &mut size))?;
        let mut told = vec![0u8; size];
        self.api.check(tell(self.info, told.as_mut_ptr().cast(), &mut size))?;
        told.truncate(size.saturating_sub(1));
        Ok(told)
    }
}
