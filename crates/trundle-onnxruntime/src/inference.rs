//! Type and shape inference for a node.

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use ort_sys::{ONNXTensorElementDataType, OrtOpAttrType, OrtShapeInferContext};
use trundle_models::ElementType;

use crate::api::Api;
use crate::element::{element_of, number_of};
use crate::failure::{Failure, Result};
use crate::tensor::{dimensions, type_of};

/// A node whose output types and shapes ONNX Runtime requests.
pub(crate) struct Inference {
    api: Api,
    context: *const OrtShapeInferContext,
}

pub(crate) struct Known<E = ElementType> {
    pub(crate) element: E,
    pub(crate) sizes: Vec<Size>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Fixed(usize),
    /// A symbolic size. Equal names mean equal sizes.
    Named(String),
}

impl Inference {
    /// # Safety
    /// `context` must be the context of an inference call. The value may be used only during that call.
    pub(crate) unsafe fn new(api: Api, context: *const OrtShapeInferContext) -> Inference {
        Inference { api, context }
    }

    /// The types and shapes of all inputs.
    ///
    /// # Errors
    /// As [`Inference::input`].
    pub(crate) fn inputs(&self) -> Result<Vec<Known>> {
        // SAFETY: the context belongs to the current call.
        let count = self.api.get(0, |api, count| unsafe {
            (api.ShapeInferContext_GetInputCount)(self.context, count)
        })?;
        (0..count).map(|number| self.input(number)).collect()
    }

    /// Returns the type and shape of an input.
    ///
    /// # Errors
    /// If an axis has neither a size nor a name. An input of unknown rank looks like a scalar.
    pub(crate) fn input(&self, number: usize) -> Result<Known> {
        // SAFETY: the context and the returned info belong to the current call.
        let info = self.api.get(null_mut(), |api, info| unsafe {
            (api.ShapeInferContext_GetInputTypeShape)(self.context, number, info)
        })?;
        // SAFETY: `info` belongs to the current call.
        let (element, sizes) =
            unsafe { (element_of(type_of(self.api, info)?)?, dimensions(self.api, info)?) };
        let mut names: Vec<*const c_char> = vec![null(); sizes.len()];
        let get = self.api.functions().GetSymbolicDimensions;
        // SAFETY: `info` belongs to the current call, and `names` has one slot per axis.
        self.api.check(unsafe { get(info, names.as_mut_ptr(), names.len()) })?;
        let size = |(size, name): (&i64, *const c_char)| match usize::try_from(*size) {
            Ok(size) => Ok(Size::Fixed(size)),
            Err(_) if name.is_null() => Err(unknown()),
            // SAFETY: `name` is a C string that belongs to the current call.
            Err(_) => match unsafe { CStr::from_ptr(name) }.to_str() {
                Ok("") | Err(_) => Err(unknown()),
                Ok(name) => Ok(Size::Named(name.to_owned())),
            },
        };
        let sizes: Vec<Size> = sizes.iter().zip(names).map(size).collect::<Result<_>>()?;
        if sizes.is_empty() { Err(unknown()) } else { Ok(Known { element, sizes }) }
    }

    pub(crate) fn text(&self, name: &CStr) -> Result<Vec<u8>> {
        let functions = self.api.functions();
        let (mut attribute, mut size) = (null(), 0);
        // SAFETY: the context belongs to the current call. The first read has no room and returns the size needed;
        // the second has room for that many bytes.
        unsafe {
            let get = functions.ShapeInferContext_GetAttribute;
            self.api.check(get(self.context, name.as_ptr(), &mut attribute))?;
            let kind = OrtOpAttrType::ORT_OP_ATTR_STRING;
            let read = functions.ReadOpAttr;
            let _ = self.api.check(read(attribute, kind, null_mut(), 0, &mut size));
            let mut text = vec![0u8; size];
            self.api.check(read(attribute, kind, text.as_mut_ptr().cast(), size, &mut size))?;
            // ONNX Runtime 1.17 and some later versions include the terminating zero. A chain cannot end with one, and
            // for a model, inference returns nothing anyway.
            while text.last() == Some(&0) {
                text.pop();
            }
            Ok(text)
        }
    }

    /// Declares that an output has the type and shape of an input.
    pub(crate) fn same(&self, output: usize, input: usize) -> Result<()> {
        let known = self.input(input)?;
        self.output(output, known.element, &known.sizes)
    }

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
        // SAFETY: `info` is owned and freed once. `element` is a value of the enumeration. The context belongs to the
        // current call, which copies `info`.
        unsafe {
            self.api.check((functions.CreateTensorTypeAndShapeInfo)(&mut info))?;
            let element = std::mem::transmute::<i32, ONNXTensorElementDataType>(element);
            let typed = self.api.check((functions.SetTensorElementType)(info, element));
            let rank = sizes.len();
            let shaped = self.api.check((functions.SetDimensions)(info, numbers.as_ptr(), rank));
            // Version 1.17 requires names for all sizes, which are empty for fixed sizes.
            let mut names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
            let named = (functions.SetSymbolicDimensions)(info, names.as_mut_ptr(), rank);
            let checked = typed.and(shaped).and(self.api.check(named));
            let set = checked.and_then(|()| {
                let set = functions.ShapeInferContext_SetOutputTypeShape;
                self.api.check(set(self.context, number, info))
            });
            (functions.ReleaseTensorTypeAndShapeInfo)(info);
            set
        }
    }
}

/// The error for a type or size that is unknown before the node runs. In this case, inference declares
/// nothing.
pub(crate) fn unknown() -> Failure {
    Failure("not known before it runs".to_owned())
}
