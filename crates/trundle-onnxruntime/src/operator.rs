//! Operators, and their C callbacks.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use ort_sys::{
    ONNXTensorElementDataType, OrtApi, OrtCustomOp, OrtCustomOpInputOutputCharacteristic,
    OrtKernelContext, OrtKernelInfo, OrtMemType, OrtShapeInferContext, OrtStatusPtr,
};

use crate::api::{Api, VERSION};
use crate::context::Context;
use crate::failure::{Result, guarded};
use crate::inference::Inference;
use crate::node::Node;
use crate::pool::Pool;

/// The operator of a node. Several threads may run it at the same time.
pub(crate) trait Operator: Sized + Sync {
    const NAME: &'static CStr;
    const INPUTS: &'static [Port];
    /// The kind of the output, or of each output.
    const OUTPUT: Port;

    fn new(node: &Node) -> Result<Self>;

    fn run(&self, context: &Context) -> Result<()>;

    /// Declares the known types and shapes of the outputs. Unknown types and shapes are not an error.
    fn infer(inference: &Inference) -> Result<()>;
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Port {
    Any,
    Int64,
    AnyNumber,
}

/// The operator of a node, as ONNX Runtime stores it.
struct Kernel<O> {
    api: Api,
    label: String,
    operator: O,
}

/// An operator's table of callbacks, followed by the functions of its ONNX Runtime, which some callbacks do not
/// receive.
#[repr(C)]
pub(crate) struct Declared {
    pub(crate) op: OrtCustomOp,
    pub(crate) api: Api,
}

impl Declared {
    /// Returns the functions of the ONNX Runtime that registered an operator.
    ///
    /// # Safety
    /// `op` must point to a [`Declared`] that [`Domain::of`](crate::domain::Domain::of) has registered.
    pub(crate) unsafe fn api_of(op: *const OrtCustomOp) -> Api {
        // SAFETY: the table is the first field of a `Declared`, by the contract of this function. A
        // registered one is never freed.
        unsafe { (*op.cast::<Declared>()).api }
    }
}

/// A table without callbacks.
// SAFETY: the struct consists of a number and nullable function pointers.
const NOTHING: OrtCustomOp = unsafe { MaybeUninit::zeroed().assume_init() };

pub(crate) const fn custom_op<O: Operator>() -> OrtCustomOp {
    OrtCustomOp {
        version: VERSION,
        GetName: Some(name::<O>),
        GetExecutionProviderType: Some(provider),
        GetInputType: Some(input_type::<O>),
        GetInputTypeCount: Some(input_count::<O>),
        GetOutputType: Some(output_type::<O>),
        GetOutputTypeCount: Some(one_output),
        KernelDestroy: Some(destroy::<O>),
        GetInputCharacteristic: Some(input_characteristic::<O>),
        GetOutputCharacteristic: Some(output_characteristic::<O>),
        GetInputMemoryType: Some(memory_type),
        // A model may have only constants.
        GetVariadicInputMinArity: Some(zero),
        GetVariadicInputHomogeneity: Some(zero),
        GetVariadicOutputMinArity: Some(one),
        GetVariadicOutputHomogeneity: Some(zero),
        CreateKernelV2: Some(create::<O>),
        KernelComputeV2: Some(compute::<O>),
        InferOutputShapeFn: Some(infer::<O>),
        GetStartVersion: Some(one),
        GetEndVersion: Some(last_version),
        ..NOTHING
    }
}

impl Port {
    fn element_type(self) -> ONNXTensorElementDataType {
        match self {
            Port::Any | Port::AnyNumber => {
                ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED
            }
            Port::Int64 => ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
        }
    }

    fn characteristic(self) -> OrtCustomOpInputOutputCharacteristic {
        match self {
            Port::Any | Port::Int64 => OrtCustomOpInputOutputCharacteristic::INPUT_OUTPUT_REQUIRED,
            Port::AnyNumber => OrtCustomOpInputOutputCharacteristic::INPUT_OUTPUT_VARIADIC,
        }
    }
}

/// Creates the kernel of a node.
///
/// # Safety
/// ONNX Runtime must call this function, for an operator of this crate.
unsafe extern "system" fn create<O: Operator>(
    _op: *const OrtCustomOp,
    api: *const OrtApi,
    info: *const OrtKernelInfo,
    kernel: *mut *mut c_void,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes valid pointers.
    let (api, node) = unsafe {
        let api = Api::of_pointer(api);
        (api, Node::new(api, info))
    };
    let label = node.label(O::NAME);
    guarded(api, &label.clone(), || {
        let made = Box::new(Kernel { api, label, operator: O::new(&node)? });
        // SAFETY: `kernel` has room for the pointer. ONNX Runtime passes it to `compute`, and once to `destroy`.
        unsafe { kernel.write(Box::into_raw(made).cast()) };
        Ok(())
    })
}

/// Runs a kernel.
///
/// # Safety
/// `kernel` must come from [`create`], and `context` must belong to this call.
unsafe extern "system" fn compute<O: Operator>(
    kernel: *mut c_void,
    context: *mut OrtKernelContext,
) -> OrtStatusPtr {
    // SAFETY: `kernel` comes from `create`. Threads share it without changing it.
    let (kernel, context) = unsafe {
        let kernel = &*kernel.cast::<Kernel<O>>();
        (kernel, Context::new(kernel.api, context))
    };
    guarded(kernel.api, &kernel.label, || {
        trundle::with_pool(&Pool(&context), || kernel.operator.run(&context))
    })
}

/// Frees a kernel.
///
/// # Safety
/// `kernel` must come from [`create`] and not be used afterwards.
unsafe extern "system" fn destroy<O: Operator>(kernel: *mut c_void) {
    // SAFETY: `kernel` comes from `create`, and this is its last use.
    drop(unsafe { Box::from_raw(kernel.cast::<Kernel<O>>()) });
}

/// Declares known types and shapes of outputs. Errors are ignored.
///
/// # Safety
/// `op` must be a [`Declared`] operator, and `context` must belong to this call.
unsafe extern "system" fn infer<O: Operator>(
    op: *const OrtCustomOp,
    context: *mut OrtShapeInferContext,
) -> OrtStatusPtr {
    // SAFETY: `op` is a `Declared` by the contract of this function.
    let api = unsafe { Declared::api_of(op) };
    // SAFETY: `context` belongs to this call.
    let inference = unsafe { Inference::new(api, context) };
    let _ = api.check(guarded(api, "", || O::infer(&inference)));
    OrtStatusPtr(null_mut())
}

unsafe extern "system" fn name<O: Operator>(_op: *const OrtCustomOp) -> *const c_char {
    O::NAME.as_ptr()
}

/// Null means the CPU execution provider.
unsafe extern "system" fn provider(_op: *const OrtCustomOp) -> *const c_char {
    null()
}

unsafe extern "system" fn input_type<O: Operator>(
    _op: *const OrtCustomOp,
    number: usize,
) -> ONNXTensorElementDataType {
    O::INPUTS.get(number).copied().unwrap_or(Port::Any).element_type()
}

unsafe extern "system" fn input_count<O: Operator>(_op: *const OrtCustomOp) -> usize {
    O::INPUTS.len()
}

unsafe extern "system" fn output_type<O: Operator>(
    _op: *const OrtCustomOp,
    _number: usize,
) -> ONNXTensorElementDataType {
    O::OUTPUT.element_type()
}

unsafe extern "system" fn one_output(_op: *const OrtCustomOp) -> usize {
    1
}

unsafe extern "system" fn input_characteristic<O: Operator>(
    _op: *const OrtCustomOp,
    number: usize,
) -> OrtCustomOpInputOutputCharacteristic {
    O::INPUTS.get(number).copied().unwrap_or(Port::Any).characteristic()
}

unsafe extern "system" fn output_characteristic<O: Operator>(
    _op: *const OrtCustomOp,
    _number: usize,
) -> OrtCustomOpInputOutputCharacteristic {
    O::OUTPUT.characteristic()
}

unsafe extern "system" fn memory_type(_op: *const OrtCustomOp, _number: usize) -> OrtMemType {
    OrtMemType::OrtMemTypeDefault
}

unsafe extern "system" fn zero(_op: *const OrtCustomOp) -> c_int {
    0
}

unsafe extern "system" fn one(_op: *const OrtCustomOp) -> c_int {
    1
}

unsafe extern "system" fn last_version(_op: *const OrtCustomOp) -> c_int {
    c_int::MAX
}
