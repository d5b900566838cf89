//! What is known of a node before it runs.

use std::ffi::{CStr, CString, c_char};
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
    pub(crate) sizes: Vec<Size>,
}

/// The size of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Fixed(usize),
    /// One size, the same wherever the name stands.
    Named(String),
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
    /// If nothing is known of one of its sizes, or it has none: then it is shown without axes, as a scalar is.
    pub(crate) fn input(&self, number: usize) -> Result<Known> {
        let info = self.info(number)?;
        // SAFETY: it is of this call.
        let (element, sizes) =
            unsafe { (element_of(type_of(self.api, info)?)?, dimensions(self.api, info)?) };
        let mut names: Vec<*const c_char> = vec![null(); sizes.len()];
        let get = self.api.functions().GetSymbolicDimensions;
        // SAFETY: it is of this call, and there is room for as many names.
        self.api.check(unsafe { get(info, names.as_mut_ptr(), names.len()) })?;
        let size = |(size, name): (&i64, *const c_char)| match usize::try_from(*size) {
            Ok(size) => Ok(Size::Fixed(size)),
            Err(_) if name.is_null() => Err(unknown()),
            // SAFETY: it is a text, of this call.
            Err(_) => match unsafe { CStr::from_ptr(name) }.to_str() {
                Ok("") | Err(_) => Err(unknown()),
                Ok(name) => Ok(Size::Named(name.to_owned())),
            },
        };
        let sizes: Vec<Size> = sizes.iter().zip(names).map(size).collect::<Result<_>>()?;
        if sizes.is_empty() { Err(unknown()) } else { Ok(Known { element, sizes }) }
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

    /// Says that an output is what an input is.
    pub(crate) fn same(&self, output: usize, input: usize) -> Result<()> {
        let known = self.input(input)?;
        self.output(output, known.element, &known.sizes)
    }

    /// Says what an output is.
    pub(crate) fn output(&self, number: usize, element: ElementType, sizes: &[Size]) -> Result<()> {
        let element = number_of(element).ok_or_else(unknown)?;
        let (mut numbers, mut names) = (Vec::new(), Vec::new());
        for size in sizes {
            let (number, name) = match size {
                Size::Fixed(size) => (i64::try_from(*size).map_err(|_| unknown())?, ""),
                Size::Named(name) => (-1, &name[..]),
            };
            numbers.push(number);
            names.push(CString::new(name).map_err(|_| unknown())?);
        }
        let functions = self.api.functions();
        let mut info = null_mut();
        // SAFETY: what is made is ours, and freed once. The number is one of the enumeration's.
        unsafe {
            self.api.check((functions.CreateTensorTypeAndShapeInfo)(&mut info))?;
            let element = std::mem::transmute::<i32, ONNXTensorElementDataType>(element);
            let typed = self.api.check((functions.SetTensorElementType)(info, element));
            let rank = sizes.len();
            let shaped = self.api.check((functions.SetDimensions)(info, numbers.as_ptr(), rank));
            // 1.17 wants names of all sizes, also of those that have none.
            let mut names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
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

/// What is not known is not said.
pub(crate) fn unknown() -> Failure {
    Failure("not known before it runs".to_owned())
}
