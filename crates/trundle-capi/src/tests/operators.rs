//! Cases that `random.rs` does not draw.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::*;

#[test]
fn elements_are_rolled() {
    let desc = packed(TRUNDLE_DTYPE_U16, &[2, 3]);
    let mut data = Guarded::of(&bytes!(u16: 1, 2, 3, 4, 5, 6));
    let mut out = Guarded::new(12);
    let mut roll = |shift: &[i64], axes: &[i64]| {
        // SAFETY: every pointer is valid for its description.
        assert_ok(unsafe {
            let (shift, shift_len) = (shift.as_ptr(), shift.len());
            let (axes, axes_len) = (axes.as_ptr(), axes.len());
            trundle_roll(&desc, data.start(), shift, shift_len, axes, axes_len, &desc, out.start())
        });
        out.content().to_vec()
    };
    assert_eq!(roll(&[1], &[-1]), bytes!(u16: 3, 1, 2, 6, 4, 5));
    assert_eq!(roll(&[1], &[0, 1]), bytes!(u16: 6, 4, 5, 3, 1, 2));
    assert_eq!(roll(&[i64::MIN, i64::MIN], &[1, 1]), bytes!(u16: 2, 3, 1, 5, 6, 4));
    assert_eq!(roll(&[], &[]), bytes!(u16: 1, 2, 3, 4, 5, 6));
}

#[test]
fn writing_a_part_of_a_packed_tensor_keeps_its_neighbours() {
    let (sizes, strides) = ([2, 3], [4, 1]);
    let (data_desc, part) =
        (packed(TRUNDLE_DTYPE_U4, &sizes), strided(TRUNDLE_DTYPE_U4, &sizes, &strides));
    let mut data = Guarded::of(&[0x10, 0x32, 0x54]);
    let mut large = Guarded::of(&[0xff; 4]);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe {
        trundle_roll(&data_desc, data.start(), null(), 0, null(), 0, &part, large.start())
    });
    large.assert_is(&[0x10, 0xf2, 0x43, 0xf5]);
    // Only the third column.
    let sizes = [2, 1];
    let (data_desc, part) =
        (packed(TRUNDLE_DTYPE_U4, &sizes), strided(TRUNDLE_DTYPE_U4, &sizes, &strides));
    let mut data = Guarded::of(&[0x98]);
    // SAFETY: every pointer is valid for its description; the column begins a byte.
    assert_ok(unsafe { trundle_flip(&data_desc, data.start(), null(), 0, &part, large.at(1)) });
    large.assert_is(&[0x10, 0xf8, 0x43, 0xf9]);
}

#[test]
fn negative_strides_reach_before_the_data_and_the_output() {
    let (sizes, turned) = ([2, 3], [3, 2]);
    // Both axes reversed, with a gap of one element between rows of the output.
    let from = strided(TRUNDLE_DTYPE_F32, &sizes, &[-3, -1]);
    let to = strided(TRUNDLE_DTYPE_F32, &turned, &[-3, 1]);
    let mut data = Guarded::of(&bytes!(u32: 1, 2, 3, 4, 5, 6));
    let mut out = Guarded::of(&bytes!(u32: 9, 9, 9, 9, 9, 9, 9, 9));
    // SAFETY: every pointer is valid for its description: the first elements are the sixth and the seventh in
    // memory.
    assert_ok(unsafe { trundle_transpose(&from, data.at(20), null(), 0, &to, out.at(24)) });
    out.assert_is(&bytes!(u32: 4, 1, 9, 5, 2, 9, 6, 3));
}

#[test]
fn negative_strides_reach_packed_elements_before_the_data() {
    // Nine elements, backward from the first element of the fifth byte.
    let (sizes, backward) = ([9], [-1]);
    let from = strided(TRUNDLE_DTYPE_U4, &sizes, &backward);
    let to = packed(TRUNDLE_DTYPE_U4, &sizes);
    let mut data = Guarded::of(&[0x21, 0x43, 0x65, 0x87, 0x09]);
    let mut out = Guarded::of(&[0; 5]);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe { trundle_roll(&from, data.at(4), null(), 0, null(), 0, &to, out.start()) });
    out.assert_is(&[0x89, 0x67, 0x45, 0x23, 0x01]);
    // Eight elements of 3 bits fill three bytes.
    let from = strided(TRUNDLE_DTYPE_U3, &sizes, &backward);
    let to = packed(TRUNDLE_DTYPE_U3, &sizes);
    let mut data = Guarded::of(&[0xb1, 0x1b, 0x0f, 0x40, 0, 0]);
    let mut out = Guarded::of(&[0; 6]);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe { trundle_roll(&from, data.at(3), null(), 0, null(), 0, &to, out.start()) });
    // 1, then 7 6 5 4 1 0 3, then 2.
    out.assert_is(&[0x79, 0x13, 0x78, 0x80, 0, 0]);
}

#[test]
fn packed_elements_of_other_bit_orders_are_moved() {
    let sizes = [3, 3];
    let high = packed(TRUNDLE_DTYPE_I4 + TRUNDLE_BIT_ORDER_HIGH_FIRST, &sizes);
    let mut data = Guarded::of(&[0x12, 0x34, 0x56, 0x78, 0x9f]);
    let mut out = Guarded::of(&[0; 5]);
    // SAFETY: every pointer is valid for its description.
    unsafe {
        assert_ok(trundle_transpose(&high, data.start(), null(), 0, &high, out.start()));
        out.assert_is(&[0x14, 0x72, 0x58, 0x36, 0x90]);
        let low = packed(TRUNDLE_DTYPE_I4, &sizes);
        let status = trundle_transpose(&high, data.start(), null(), 0, &low, out.start());
        assert_eq!(status, TRUNDLE_ERROR_DTYPE);
    }
    // Nine elements of 3 bits as a stream fill 4 bytes, not 6.
    let stream = packed(TRUNDLE_DTYPE_U3 + TRUNDLE_BIT_ORDER_LOW_FIRST, &sizes);
    let mut data = Guarded::of(&[0x88, 0xc6, 0xfa, 0x05]);
    let mut out = Guarded::of(&[0; 4]);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe { trundle_transpose(&stream, data.start(), null(), 0, &stream, out.start()) });
    // 0 1 2, 3 4 5, 6 7 5 become 0 3 6, 1 4 7, 2 5 5.
    out.assert_is(&[0x98, 0xc3, 0xab, 0x05]);
}

#[test]
fn lengths_of_stride_zero_are_repeated() {
    let (sizes, rows) = ([2, 4], [2, 1]);
    let desc = packed(TRUNDLE_DTYPE_U8, &sizes);
    let lengths_desc = strided(TRUNDLE_DTYPE_U64, &rows, &[0, 99]);
    let mut data = Guarded::of(b"abcdefgh");
    let mut lengths = Guarded::of(&bytes!(u64: 3));
    let mut out = Guarded::new(8);
    let mut reverse = |lengths: *const c_void| {
        // SAFETY: every pointer is valid for its description.
        assert_ok(unsafe {
            let (data, out) = (data.start(), out.start());
            trundle_reverse_subsequences(&desc, data, &lengths_desc, lengths, 1, &desc, out)
        });
        out.content().to_vec()
    };
    assert_eq!(reverse(lengths.start()), b"cbadgfeh");
    // Above the size of the axis, also if truncation to 32 bits would give 1.
    for length in [4, 5, (1 << 32) + 1, u64::MAX] {
        assert_eq!(reverse((&raw const length).cast()), b"dcbahgfe");
    }
}

#[test]
fn a_single_element_needs_no_sizes() {
    let scalar = trundle_tensor_desc {
        dtype: TRUNDLE_DTYPE_F64,
        rank: 0,
        sizes: null(),
        strides_elems: null(),
    };
    let mut data = Guarded::of(&bytes!(f64: -0.0));
    let mut out = Guarded::new(8);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe {
        trundle_roll(&scalar, data.start(), null(), 0, null(), 0, &scalar, out.start())
    });
    out.assert_is(&bytes!(f64: -0.0));
}

#[test]
fn an_empty_tensor_needs_no_memory_and_allows_any_strides() {
    let (sizes, turned) = ([0, u64::MAX >> 1], [u64::MAX >> 1, 0]);
    let desc = strided(TRUNDLE_DTYPE_F32, &sizes, &[i64::MIN, i64::MAX]);
    let turned = packed(TRUNDLE_DTYPE_F32, &turned);
    // SAFETY: the tensors have no elements, so any pointer is valid.
    assert_ok(unsafe { trundle_transpose(&desc, null(), null(), 0, &turned, null_mut()) });
    let misaligned = std::ptr::without_provenance_mut(1);
    // SAFETY: the tensors have no elements, so any pointer is valid.
    assert_ok(unsafe { trundle_transpose(&desc, misaligned, null(), 0, &turned, misaligned) });
}

#[test]
fn axes_of_size_1_allow_any_strides() {
    let sizes = [1, 2, 1];
    let desc = strided(TRUNDLE_DTYPE_U32, &sizes, &[i64::MIN, 1, i64::MAX]);
    let mut data = Guarded::of(&bytes!(u32: 1, 2));
    let mut out = Guarded::new(8);
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe { trundle_flip(&desc, data.start(), [1].as_ptr(), 1, &desc, out.start()) });
    out.assert_is(&bytes!(u32: 2, 1));
}

#[test]
fn data_and_output_may_share_a_buffer_without_overlap() {
    // The first half is read, the second half written.
    let mut both = Guarded::of(b"abcd....");
    let desc = packed(TRUNDLE_DTYPE_U8, &[4]);
    let (data, out) = (both.at(0), both.at(4));
    // SAFETY: every pointer is valid for its description, and the halves do not overlap.
    assert_ok(unsafe { trundle_flip(&desc, data, [0].as_ptr(), 1, &desc, out) });
    both.assert_is(b"abcddcba");
}

#[test]
fn names_and_numbers_of_types_match() {
    let mut number = -1;
    for (name, expected, known) in [
        (c"f32", TRUNDLE_DTYPE_F32, c"f32"),
        (c"boolean", TRUNDLE_DTYPE_BOOLEAN, c"boolean"),
        (c"complex128", TRUNDLE_DTYPE_COMPLEX128, c"complex128"),
        (c"bytes12", TRUNDLE_DTYPE_BYTES + 12, c"bytes"),
    ] {
        // SAFETY: both pointers are valid.
        assert_ok(unsafe { trundle_dtype_from_name(name.as_ptr(), &mut number) });
        assert_eq!(number, expected);
        // SAFETY: the name of a type is a C string.
        assert_eq!(unsafe { CStr::from_ptr(trundle_dtype_name(number)) }, known);
    }
    for name in [c"f31", c"", c"string", c"bytes99999999999", c"\xff"] {
        // SAFETY: the name is a C string, and the number is a local variable.
        let status = unsafe { trundle_dtype_from_name(name.as_ptr(), &mut number) };
        assert_eq!(status, TRUNDLE_ERROR_UNKNOWN_DTYPE, "{name:?}");
        assert_eq!(number, TRUNDLE_DTYPE_BYTES + 12);
    }
}

#[test]
fn the_version_equals_the_package_version() {
    // SAFETY: the version is a C string.
    let version = unsafe { CStr::from_ptr(trundle_version()) };
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}
