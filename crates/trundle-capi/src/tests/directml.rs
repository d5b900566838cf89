//! The crate `trundle` tests DirectML's rules.

use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance};

use super::*;

const SIZES: [u32; 4] = [1, 1, 3, 4];
const ROWS: [u32; 4] = [1, 1, 3, 1];

fn tensor(dtype: trundle_dtype, sizes: &[u32], bytes: u64) -> TRUNDLE_BUFFER_TENSOR_DESC {
    TRUNDLE_BUFFER_TENSOR_DESC {
        DataType: dtype,
        DimensionCount: sizes.len().try_into().unwrap(),
        Sizes: sizes.as_ptr(),
        Strides: null(),
        TotalTensorSizeInBytes: bytes,
    }
}

fn run(
    input: &TRUNDLE_BUFFER_TENSOR_DESC,
    lengths: &TRUNDLE_BUFFER_TENSOR_DESC,
    output: &TRUNDLE_BUFFER_TENSOR_DESC,
    level: trundle_feature_level,
    buffers: (*const c_void, *const c_void, *mut c_void),
) -> trundle_status {
    let desc = TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC {
        InputTensor: input,
        SequenceLengthsTensor: lengths,
        OutputTensor: output,
        Axis: 3,
    };
    // SAFETY: every pointer is valid for its description, or the call rejects it.
    unsafe { trundle_directml_reverse_subsequences(&desc, level, buffers.0, buffers.1, buffers.2) }
}

#[test]
fn the_first_example_of_the_documentation() {
    let data = tensor(TRUNDLE_DTYPE_F32, &SIZES, 48);
    let rows = tensor(TRUNDLE_DTYPE_U32, &ROWS, 12);
    let numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(|number| number as f32);
    let lengths = [2u32, 4, 3];
    for level in [0, 0x2100, 0x3100, TRUNDLE_FEATURE_LEVEL_4_0, 0x6400] {
        let mut out = Guarded::new(48);
        let buffers = (numbers.as_ptr().cast(), lengths.as_ptr().cast(), out.start());
        assert_ok(run(&data, &rows, &data, level, buffers));
        out.assert_is(&bytes!(f32: 2.0, 1.0, 3.0, 4.0, 8.0, 7.0, 6.0, 5.0, 11.0, 10.0, 9.0, 12.0));
    }
}

#[test]
fn strides_are_read_and_gaps_of_the_output_are_kept() {
    let data = TRUNDLE_BUFFER_TENSOR_DESC {
        Strides: [0, 0, 0, 1].as_ptr(),
        ..tensor(TRUNDLE_DTYPE_U8, &SIZES, 4)
    };
    let rows = TRUNDLE_BUFFER_TENSOR_DESC {
        Strides: [0; 4].as_ptr(),
        ..tensor(TRUNDLE_DTYPE_U64, &ROWS, 8)
    };
    let to = TRUNDLE_BUFFER_TENSOR_DESC {
        Strides: [99, 99, 5, 1].as_ptr(),
        ..tensor(TRUNDLE_DTYPE_U8, &SIZES, 14)
    };
    let (bytes, length) = (*b"abcd", [3u64]);
    let mut out = Guarded::of(b"..............");
    let buffers = (bytes.as_ptr().cast(), length.as_ptr().cast(), out.start());
    assert_ok(run(&data, &rows, &to, 0, buffers));
    out.assert_is(b"cbad.cbad.cbad");
}

#[test]
fn types_may_have_an_order_of_bits() {
    let (sizes, rows) = ([1, 1, 3, 3], tensor(TRUNDLE_DTYPE_U32, &ROWS, 12));
    let lengths = [2u32, 3, 1];
    let high = tensor(TRUNDLE_DTYPE_I4 + TRUNDLE_BIT_ORDER_HIGH_FIRST, &sizes, 5);
    let input = [0x12u8, 0x34, 0x56, 0x78, 0x9f];
    let mut out = Guarded::of(&[0; 5]);
    let buffers = (input.as_ptr().cast(), lengths.as_ptr().cast(), out.start());
    assert_ok(run(&high, &rows, &high, 0, buffers));
    out.assert_is(&[0x21, 0x36, 0x54, 0x78, 0x90]);
    // As a stream, nine elements of 3 bits fill 4 bytes and not 6.
    let stream = tensor(TRUNDLE_DTYPE_U3 + TRUNDLE_BIT_ORDER_LOW_FIRST, &sizes, 4);
    let input = [0x88u8, 0xc6, 0xfa, 0x05];
    let mut out = Guarded::of(&[0; 4]);
    let buffers = (input.as_ptr().cast(), lengths.as_ptr().cast(), out.start());
    assert_ok(run(&stream, &rows, &stream, 0, buffers));
    out.assert_is(&[0x81, 0xca, 0xf9, 0x05]);
    let low = tensor(TRUNDLE_DTYPE_I4, &sizes, 5);
    let wrong = tensor(TRUNDLE_DTYPE_F16 + TRUNDLE_BIT_ORDER_LOW_FIRST, &sizes, 18);
    let split = tensor(TRUNDLE_DTYPE_U3, &sizes, 4);
    for (data, to, level, status, words) in [
        (&high, &low, 0, TRUNDLE_ERROR_DTYPE, "OutputTensor must hold elements of type i4"),
        (&wrong, &wrong, 0, TRUNDLE_ERROR_DTYPE, "f16 are not packed low first"),
        (&split, &split, 0, TRUNDLE_ERROR_BUFFER_SIZE, "InputTensor needs 6 bytes"),
        (&high, &high, 0x6400, TRUNDLE_ERROR_FEATURE_LEVEL, "InputTensor has element type i4"),
    ] {
        let mut out = Guarded::new(32);
        let buffers = (input.as_ptr().cast(), lengths.as_ptr().cast(), out.start());
        assert_refused(run(data, &rows, to, level, buffers), status, words);
        out.assert_untouched();
    }
}

#[test]
fn a_level_refuses_what_the_operator_allows() {
    let data = tensor(TRUNDLE_DTYPE_F64, &SIZES, 96);
    let rows = tensor(TRUNDLE_DTYPE_U64, &ROWS, 24);
    let (numbers, lengths) = ([0u64; 12], [0u64; 3]);
    for (level, words) in [
        (0x2100, "InputTensor has element type f64: DML_FEATURE_LEVEL_2_1 supports"),
        (0x4fff, "DML_FEATURE_LEVEL_4_0 supports"),
        (0x2000, "feature level 0x2000 has no reverse subsequences: DML_FEATURE_LEVEL_2_1"),
        (1, "feature level 0x1 has no reverse subsequences"),
    ] {
        let mut out = Guarded::new(96);
        let buffers = (numbers.as_ptr().cast(), lengths.as_ptr().cast(), out.start());
        let status = run(&data, &rows, &data, level, buffers);
        assert_eq!(status, TRUNDLE_ERROR_FEATURE_LEVEL);
        assert!(last_message().contains(words), "{}", last_message());
        out.assert_untouched();
        assert_ok(run(&data, &rows, &data, 0x5000, buffers));
        out.assert_is(&[0; 96]);
    }
}

#[test]
fn bad_pointers_and_buffers_are_refused() {
    let data = tensor(TRUNDLE_DTYPE_F32, &SIZES, 48);
    let rows = tensor(TRUNDLE_DTYPE_U32, &ROWS, 12);
    let (numbers, lengths) = ([0u32; 12], [0u32; 3]);
    let (input, list) = (numbers.as_ptr().cast::<c_void>(), lengths.as_ptr().cast::<c_void>());
    let mut out = Guarded::new(96);
    let (start, odd) = (out.start(), out.at(2));
    let too_small = TRUNDLE_BUFFER_TENSOR_DESC { TotalTensorSizeInBytes: 47, ..data };
    let lying = TRUNDLE_BUFFER_TENSOR_DESC { DimensionCount: u32::MAX, ..data };
    let no_sizes = TRUNDLE_BUFFER_TENSOR_DESC { Sizes: null(), ..data };
    let unknown = TRUNDLE_BUFFER_TENSOR_DESC { DataType: 0, ..data };
    let in_output = TRUNDLE_BUFFER_TENSOR_DESC { Strides: start.cast(), ..rows };
    out.content_mut()[..16].fill(0);
    let refused = |data, rows, to, buffers, status, words| {
        assert_refused(run(data, rows, to, 0, buffers), status, words);
    };
    let all = (input, list, start);
    let words = "InputTensor needs 48 bytes, but its total size is 47";
    refused(&too_small, &rows, &data, all, TRUNDLE_ERROR_BUFFER_SIZE, words);
    refused(&data, &rows, &lying, all, TRUNDLE_ERROR_RANK, "OutputTensor has rank 4294967295");
    let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
    refused(&no_sizes, &rows, &data, all, null_pointer, "InputTensor->Sizes is a null pointer");
    let words = "SequenceLengthsTensor has element type 0";
    refused(&data, &unknown, &data, all, TRUNDLE_ERROR_UNKNOWN_DTYPE, words);
    let no_lengths = (input, null(), start);
    let words = "SequenceLengthsTensor is a null pointer";
    refused(&data, &rows, &data, no_lengths, null_pointer, words);
    let misaligned = (input, list, odd);
    refused(&data, &rows, &data, misaligned, TRUNDLE_ERROR_MISALIGNED, "OutputTensor is 0x");
    let within = out.at(44).cast_const();
    for (data, rows, buffers, words) in [
        (&data, &rows, (within, list, start), "overlaps InputTensor at"),
        (&data, &rows, (input, within, start), "overlaps SequenceLengthsTensor at"),
        (&data, &in_output, all, "overlaps Strides at"),
    ] {
        refused(data, rows, data, buffers, TRUNDLE_ERROR_OVERLAP, words);
    }
    let words = "OutputTensor must have shape [1, 1, 3, 4], got [1, 1, 3, 1]";
    let too_few = tensor(TRUNDLE_DTYPE_F32, &ROWS, 48);
    refused(&data, &rows, &too_few, all, TRUNDLE_ERROR_SHAPE, words);
    let expected = [&[0; 16][..], &[GUARD; 80]].concat();
    out.assert_is(&expected);
}

#[test]
fn a_description_is_checked_without_buffers() {
    let data = tensor(TRUNDLE_DTYPE_F32, &SIZES, 48);
    let rows = tensor(TRUNDLE_DTYPE_U32, &ROWS, 12);
    let desc = TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC {
        InputTensor: &data,
        SequenceLengthsTensor: &rows,
        OutputTensor: &data,
        Axis: 3,
    };
    let check = |desc: *const TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC, level| {
        // SAFETY: every pointer is valid for its description, or the call rejects it.
        unsafe { trundle_directml_check_reverse_subsequences(desc, level) }
    };
    assert_ok(check(&desc, TRUNDLE_FEATURE_LEVEL_NONE));
    assert_ok(check(&desc, TRUNDLE_FEATURE_LEVEL_2_1));
    let along = TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC { Axis: 4, ..desc };
    assert_eq!(check(&along, TRUNDLE_FEATURE_LEVEL_NONE), TRUNDLE_ERROR_AXIS);
    let without = TRUNDLE_REVERSE_SUBSEQUENCES_OPERATOR_DESC { OutputTensor: null(), ..desc };
    assert_eq!(check(&without, TRUNDLE_FEATURE_LEVEL_NONE), TRUNDLE_ERROR_NULL_POINTER);
    assert_eq!(last_message(), "OutputTensor is a null pointer");
    assert_eq!(check(null(), TRUNDLE_FEATURE_LEVEL_NONE), TRUNDLE_ERROR_NULL_POINTER);
    assert_eq!(check(without_provenance(2), 0), TRUNDLE_ERROR_MISALIGNED);
}

#[test]
fn the_minimum_buffer_size_has_64_bits() {
    let sizes = [2, 3];
    let strides = [u32::MAX, 2];
    let desc = TRUNDLE_BUFFER_TENSOR_DESC {
        Strides: strides.as_ptr(),
        ..tensor(TRUNDLE_DTYPE_F32, &sizes, 0)
    };
    let mut bytes = 0;
    // SAFETY: every pointer is valid for its description, or the call rejects it.
    unsafe {
        assert_ok(trundle_directml_minimum_buffer_bytes(&desc, &mut bytes));
        assert_eq!(bytes, 17_179_869_200);
        let refused = trundle_directml_minimum_buffer_bytes(&desc, null_mut());
        assert_eq!(refused, TRUNDLE_ERROR_NULL_POINTER);
        let huge = tensor(TRUNDLE_DTYPE_F32, &[u32::MAX; 9], 0);
        let refused = trundle_directml_minimum_buffer_bytes(&huge, &mut bytes);
        assert_eq!((refused, bytes), (TRUNDLE_ERROR_TOO_LARGE, 17_179_869_200));
    }
}
