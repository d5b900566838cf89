//! What is known of a node before it runs.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use ort_sys::{
    ONNXTensorElementDataType, OrtOpAttrType, OrtShapeInferContext, OrtTensorTypeAndShapeInfo,
};
use trundle_models::ElementType;

use crate::api::Api;
use crate::element::{element_of, number_of};
use crate::failure::{Failure, Result};
use crate::tensor::{dimensions, type_of};

/// A node of which ONNX Runtime asks what its outputs will be.
pub(crate) struct Inference {
    api: Api,
    context: *const OrtShapeInferContext,
}

/// An input of a node.
pub(crate) struct Known {
    pub(crate) element: ElementType,
    pub(crate) sizes: Vec<usize>,
}

impl Inference {
    /// # Safety
    /// The pointer is what ONNX Runtime calls an operator with, and this is used within that call.
    pub(crate) unsafe fn new(api: Api, context: *const OrtShapeInferContext) -> Inference {
        Inference { api, context }
    }

    /// What is known of all inputs.
    ///
    /// # Errors
    /// As [`Inference::input`].
    pub(crate) fn inputs(&self) -> Result<Vec<Known>> {
        let mut count = 0;
        let get = self.api.functions().ShapeInferContext_GetInputCount;
        // SAFETY: the context is that of this call.
        self.api.check(unsafe { get(self.context, &mut count) })?;
        (0..count).map(|number| self.input(number)).collect()
    }

    /// What is known of an input.
    ///
    /// # Errors
    /// If one of its sizes is not known, or none: then it is shown without axes, as a scalar is.
    pub(crate) fn input(&self, number: usize) -> Result<Known> {
        let info = self.info(number)?;
        // SAFETY: it is of this call.
        let (element, sizes) =
            unsafe { (element_of(type_of(self.api, info)?)?, dimensions(self.api, info)?) };
        let sizes: Option<Vec<usize>> = sizes.iter().map(|size| (*size).try_into().ok()).collect();
        match sizes {
            Some(sizes) if !sizes.is_empty() => Ok(Known { element, sizes }),
            _ => Err(Failure("of unknown shape".to_owned())),
        }
    }

    /// The bytes of an attribute.
    pub(crate) fn text(&self, name: &CStr) -> Result<Vec<u8>> {
        let functions = self.api.functions();
        let (mut attribute, mut size) = (null(), 0);
        // SAFETY: the context is that of this call; there is room for as many bytes as is said. The first time that is
        // refused, with the room that is needed.
        unsafe {
            let get = functions.ShapeInferContext_GetAttribute;
            self.api.check(get(self.context, name.as_ptr(), &mut attribute))?;
            let kind = OrtOpAttrType::ORT_OP_ATTR_STRING;
            let read = functions.ReadOpAttr;
            let _ = self.api.check(read(attribute, kind, null_mut(), 0, &mut size));
            let mut text = vec![0u8; size];
            self.api.check(read(attribute, kind, text.as_mut_ptr().cast(), size, &mut size))?;
            // Of 1.17 and some later the 0 behind the text is part of it. No chain ends with one, and of a model that does
            // nothing is said.
            while text.last() == Some(&0) {
                text.pop();
            }
            Ok(text)
        }
    }

    /// Says that an output is what an input is, sizes with names too.
    pub(crate) fn same(&self, output: usize, input: usize) -> Result<()> {
        let info = self.info(input)?;
        // SAFETY: it is of this call.
        let sizes = unsafe { dimensions(self.api, info)? };
        let mut names: Vec<*const c_char> = vec![null(); sizes.len()];
        // SAFETY: the same; there is room for as many names.
        let named = unsafe {
            let get = self.api.functions().GetSymbolicDimensions;
            get(info, names.as_mut_ptr(), names.len())
        };
        self.api.check(named)?;
        // SAFETY: a name is a text, or there is none.
        let is_named = |name: *const c_char| unsafe { !name.is_null() && *name != 0 };
        let is_known = sizes.iter().zip(names).all(|(size, name)| *size >= 0 || is_named(name));
        match is_known && !sizes.is_empty() {
            true => self.set(output, info),
            false => Err(Failure("of unknown shape".to_owned())),
        }
    }

    /// Says what an output is.
    pub(crate) fn output(
        &self,
        number: usize,
        element: ElementType,
        sizes: &[usize],
    ) -> Result<()> {
        let unknown = || Failure("ONNX Runtime has no such type".to_owned());
        let element = number_of(element).ok_or_else(unknown)?;
        let sizes = sizes.iter().map(|size| i64::try_from(*size).map_err(|_| unknown()));
        let sizes = sizes.collect::<Result<Vec<_>>>()?;
        let functions = self.api.functions();
        let mut info = null_mut();
        // SAFETY: what is made is ours, and freed once. The number is one of the enumeration's.
        unsafe {
            self.api.check((functions.CreateTensorTypeAndShapeInfo)(&mut info))?;
            let element = std::mem::transmute::<i32, ONNXTensorElementDataType>(element);
            let typed = self.api.check((functions.SetTensorElementType)(info, element));
            let rank = sizes.len();
            let shaped = self.api.check((functions.SetDimensions)(info, sizes.as_ptr(), rank));
            // None of the sizes has a name, which 1.17 wants to be said.
            let mut names = vec![c"".as_ptr(); rank];
            let named = (functions.SetSymbolicDimensions)(info, names.as_mut_ptr(), rank);
            let said = typed.and(shaped).and(self.api.check(named));
            let set = said.and_then(|()| self.set(number, info));
            (functions.ReleaseTensorTypeAndShapeInfo)(info);
            set
        }
    }

    fn info(&self, number: usize) -> Result<*mut OrtTensorTypeAndShapeInfo> {
        let mut info = null_mut();
        let get = self.api.functions().ShapeInferContext_GetInputTypeShape;
        // SAFETY: the context is that of this call, and so is what is told.
        self.api.check(unsafe { get(self.context, number, &mut info) })?;
        Ok(info)
    }

    fn set(&self, number: usize, info: *const OrtTensorTypeAndShapeInfo) -> Result<()> {
        let set = self.api.functions().ShapeInferContext_SetOutputTypeShape;
        // SAFETY: the context is that of this call; what is known is copied.
        self.api.check(unsafe { set(self.context, number, info) })
    }
}
