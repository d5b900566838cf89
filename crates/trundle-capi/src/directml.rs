//! DirectML's form of reverse_subsequences.
#![allow(non_snake_case, reason = "these are DirectML's names")]

use std::ffi::c_void;

use trundle::Packing;
use trundle::directml::{BufferTensorDesc, Error, FeatureLevel, ReverseSubsequencesOperatorDesc};

use super::descriptor::{Descriptor, checked_rank, shape_of};
use super::dtype::{element, trundle_dtype};
use super::error::{Failure, Result, guarded};
use super::memory::{CallerMemory, check_pointer, entries, value};
use super::status::{
    TRUNDLE_ERROR_BUFFER_SIZE, TRUNDLE_ERROR_FEATURE_LEVEL, status_of, trundle_status,
};

/// One of TRUNDLE_FEATURE_LEVEL_*, or any other DML_FEATURE_LEVEL. Another level has the ranks and types of the highest
/// listed level below it.
pub type trundle_feature_level = u32;

/// No feature level: all types and ranks that the operator supports.
pub const TRUNDLE_FEATURE_LEVEL_NONE: trundle_feature_level = 0;
/// DML_FEATURE_LEVEL_2_1: rank 4; types f32 f16 i32 i16 i8 u32 u16 u8; lengths of type u32.
pub const TRUNDLE_FEATURE_LEVEL_2_1: trundle_feature_level = 0x2100;
/// DML_FEATURE_LEVEL_3_0: also rank 5.
pub const TRUNDLE_FEATURE_LEVEL_3_0: trundle_feature_level = 0x3000;
/// DML_FEATURE_LEVEL_4_0: ranks 1 to 8.
pub const TRUNDLE_FEATURE_LEVEL_4_0: trundle_feature_level = 0x4000;
/// DML_FEATURE_LEVEL_5_0: also types f64 i64 u64, and lengths of type u64.
pub const TRUNDLE_FEATURE_LEVEL_5_0: trundle_feature_level = 0x5000;

/// A tensor at the start of a buffer: DirectML's DML_BUFFER_TENSOR_DESC.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TRUNDLE_BUFFER_TENSOR_DESC {
    /// One of TRUNDLE_DTYPE_*, optionally plus one of TRUNDLE_BIT_ORDER_*. The numbers of DML_TENSOR_DATA_TYPE are
    /// the same.
    pub DataType: trundle_dtype,
    /// The number of axes.
    pub DimensionCount: u32,
    /// The sizes of the axes, the outermost first: `DimensionCount` entries.
    pub Sizes: *const u32,
    /// The distance between neighbours along each axis, in elements: `DimensionCount` entries. A stride of 0 repeats
    /// elements. NULL stands for a row-major tensor without gaps.
    pub Strides: *const u32,
    /// The size of the buffer in bytes.
    pub TotalTensorSizeInBytes: u64,
}

/// DirectML's DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC {
    /// The elements to reverse.
    pub InputTensor: *const TRUNDLE_BUFFER_TENSOR_DESC,
    /// The lengths, of type u32 or u64, with the sizes of the input, but size 1 on `Axis`.
    pub SequenceLengthsTensor: *const TRUNDLE_BUFFER_TENSOR_DESC,
    /// The result, with the sizes, the type and the bit order of the input.
    pub OutputTensor: *const TRUNDLE_BUFFER_TENSOR_DESC,
    /// The axis along which elements are reversed; less than the rank of the input.
    pub Axis: u32,
}

/// Reverses the first elements of each row along `Axis`, and copies the others. Each row has its own length, the number
/// of elements to reverse; a length greater than the size of the axis reverses the whole row. A row consists of the
/// elements with the same indices on all other axes. Same as DirectML's DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC.
///
/// - `desc`: the tensors and the axis of the operator.
/// - `feature_level`: one of TRUNDLE_FEATURE_LEVEL_*. The call fails if the level does not support the operator; see
///   trundle_directml_check_reverse_subsequences().
/// - `input`, `lengths`, `output`: the first bytes of the buffers. Only bytes that the tensors cover are accessed.
///
/// Returns the errors of trundle_directml_check_reverse_subsequences().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_directml_reverse_subsequences(
    desc: *const TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC,
    feature_level: trundle_feature_level,
    input: *const c_void,
    lengths: *const c_void,
    output: *mut c_void,
) -> trundle_status {
    // SAFETY: pointer arguments are valid as trundle.h requires; the output overlaps no other memory.
    guarded(|| unsafe {
        let operator = read_operator(desc)?;
        check(&operator, feature_level)?;
        let input = memory("InputTensor", &operator.input_tensor, input)?;
        let lengths = memory("SequenceLengthsTensor", &operator.sequence_lengths_tensor, lengths)?;
        let output = memory("OutputTensor", &operator.output_tensor, output)?;
        output.check_apart(&input)?;
        output.check_apart(&lengths)?;
        check_lists_apart(&operator, &output)?;
        Ok(operator.run(input.read(), lengths.read(), output.write())?)
    })
}

/// Checks a description without moving elements. With a feature level, it also checks that DirectML supports the ranks
/// and types at this level, that no size is 0, that a tensor has at most 2^32 - 1 elements, and that every
/// TotalTensorSizeInBytes is at least the size from trundle_directml_minimum_buffer_bytes().
///
/// - `desc`: the tensors and the axis of the operator.
/// - `feature_level`: one of TRUNDLE_FEATURE_LEVEL_*.
///
/// Returns TRUNDLE_ERROR_FEATURE_LEVEL, TRUNDLE_ERROR_BUFFER_SIZE, TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE or
/// TRUNDLE_ERROR_DTYPE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_directml_check_reverse_subsequences(
    desc: *const TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC,
    feature_level: trundle_feature_level,
) -> trundle_status {
    guarded(|| {
        // SAFETY: pointer arguments are valid as trundle.h requires.
        let operator = unsafe { read_operator(desc)? };
        check(&operator, feature_level)
    })
}

/// Computes the size of the smallest buffer for a tensor: the bytes of (dot(Sizes - 1, Strides) + 1) elements, rounded
/// up to a multiple of 4. TotalTensorSizeInBytes is ignored. Same as DirectML's DMLCalcBufferTensorSize, but with 64
/// bits.
///
/// - `desc`: the tensor.
/// - `bytes`: receives the size in bytes.
///
/// Returns only the common errors, such as TRUNDLE_ERROR_TOO_LARGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trundle_directml_minimum_buffer_bytes(
    desc: *const TRUNDLE_BUFFER_TENSOR_DESC,
    bytes: *mut u64,
) -> trundle_status {
    guarded(|| {
        check_pointer("bytes", bytes)?;
        // SAFETY: pointer arguments are valid as trundle.h requires.
        unsafe { bytes.write(read_tensor("desc", desc)?.minimum_buffer_bytes()?) };
        Ok(())
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match &error {
            Error::Operator(error) => status_of(error),
            Error::BufferTooSmall { .. } => TRUNDLE_ERROR_BUFFER_SIZE,
            _ => TRUNDLE_ERROR_FEATURE_LEVEL,
        };
        Failure::new(status, error.to_string())
    }
}

/// Reads the description of an operator.
///
/// # Safety
/// As [`read_tensor`], for the description and its tensors.
unsafe fn read_operator<'a>(
    desc: *const TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC,
) -> Result<ReverseSubsequencesOperatorDesc<'a>> {
    // SAFETY: the caller guarantees valid descriptions.
    unsafe {
        let desc = value("desc", desc)?;
        Ok(ReverseSubsequencesOperatorDesc {
            input_tensor: read_tensor("InputTensor", desc.InputTensor)?,
            sequence_lengths_tensor: read_tensor(
                "SequenceLengthsTensor",
                desc.SequenceLengthsTensor,
            )?,
            output_tensor: read_tensor("OutputTensor", desc.OutputTensor)?,
            axis: desc.Axis,
        })
    }
}

/// Reads the description of `argument`.
///
/// # Safety
/// If the pointer is aligned and not null, it points to a description. Each pointer in the description points to
/// `DimensionCount` entries, and no thread writes to the entries during `'a`.
unsafe fn read_tensor<'a>(
    argument: &str,
    desc: *const TRUNDLE_BUFFER_TENSOR_DESC,
) -> Result<BufferTensorDesc<'a>> {
    // SAFETY: the caller guarantees a description at an aligned pointer that is not null.
    let desc = unsafe { value(argument, desc)? };
    let (data_type, width) = element(argument, desc.DataType)?;
    let bit_order = width.packing().map(Packing::order);
    let rank = checked_rank(argument, desc.DimensionCount)?;
    // SAFETY: the caller guarantees `DimensionCount` entries.
    let list =
        |member, first| unsafe { entries(format_args!("{argument}->{member}"), first, rank) };
    let sizes = list("Sizes", desc.Sizes)?;
    let strides = if desc.Strides.is_null() { None } else { Some(list("Strides", desc.Strides)?) };
    let total_tensor_size_in_bytes = desc.TotalTensorSizeInBytes;
    Ok(BufferTensorDesc { data_type, bit_order, sizes, strides, total_tensor_size_in_bytes })
}

fn check(
    operator: &ReverseSubsequencesOperatorDesc<'_>,
    feature_level: trundle_feature_level,
) -> Result<()> {
    if feature_level == TRUNDLE_FEATURE_LEVEL_NONE {
        return Ok(operator.check(None)?);
    }
    let Some(level) = FeatureLevel::from_number(feature_level) else {
        let least = FeatureLevel::Level2_1;
        let message = format!(
            "feature level {feature_level:#x} has no reverse subsequences: {least} ({:#x}) is the \
             first",
            least.number()
        );
        return Err(Failure::new(TRUNDLE_ERROR_FEATURE_LEVEL, message));
    };
    Ok(operator.check(Some(level))?)
}

fn memory(
    argument: &'static str,
    tensor: &BufferTensorDesc<'_>,
    buffer: *const c_void,
) -> Result<CallerMemory> {
    let strides: Option<Vec<i64>> =
        tensor.strides.map(|strides| strides.iter().copied().map(i64::from).collect());
    let shape = shape_of(tensor.sizes)?;
    let element = (tensor.data_type, tensor.width()?);
    Descriptor::new(argument, element, &shape, strides.as_deref())?.memory(buffer.cast())
}

/// Checks that no list of sizes or strides overlaps the output.
fn check_lists_apart(
    operator: &ReverseSubsequencesOperatorDesc<'_>,
    output: &CallerMemory,
) -> Result<()> {
    for tensor in
        [&operator.input_tensor, &operator.sequence_lengths_tensor, &operator.output_tensor]
    {
        output.check_apart(&CallerMemory::of("Sizes", tensor.sizes))?;
        output.check_apart(&CallerMemory::of("Strides", tensor.strides.unwrap_or_default()))?;
    }
    Ok(())
}
