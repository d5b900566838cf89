//! Calls with invalid arguments return a status and a message, and write nothing.

use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance};

use super::*;

#[track_caller]
fn refused(status: trundle_status, words: &str, call: impl FnOnce(*mut c_void) -> trundle_status) {
    let mut out = Guarded::new(256);
    assert_refused(call(out.start()), status, words);
    out.assert_untouched();
}

/// Transposes with invalid arguments, so the data is never read.
fn transpose(
    from: *const trundle_tensor_desc,
    data: *const c_void,
    order: &[i64],
    to: *const trundle_tensor_desc,
    out: *mut c_void,
) -> trundle_status {
    // SAFETY: invalid arguments are rejected before a dangling pointer is dereferenced.
    unsafe { trundle_transpose(from, data, order.as_ptr(), order.len(), to, out) }
}

/// A pointer to aligned, readable memory.
fn data() -> *const c_void {
    static DATA: [u64; 32] = [0; 32];
    DATA.as_ptr().cast()
}

#[test]
fn null_pointers_are_refused() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 2]);
    let no_sizes = trundle_tensor_desc { sizes: null(), ..desc };
    let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
    refused(null_pointer, "data_desc is a null", |out| transpose(null(), data(), &[], &desc, out));
    refused(null_pointer, "out_desc is a null", |out| transpose(&desc, data(), &[], null(), out));
    refused(null_pointer, "data_desc->sizes is a null", |out| {
        transpose(&no_sizes, data(), &[], &desc, out)
    });
    refused(null_pointer, "data is a null", |out| transpose(&desc, null(), &[], &desc, out));
    refused(null_pointer, "out is a null", |_| transpose(&desc, data(), &[], &desc, null_mut()));
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        refused(null_pointer, "order is a null", |out| {
            trundle_transpose(&desc, data(), null(), 2, &desc, out)
        });
        refused(null_pointer, "shift is a null", |out| {
            trundle_roll(&desc, data(), null(), 1, [0].as_ptr(), 1, &desc, out)
        });
        refused(null_pointer, "axes is a null", |out| {
            trundle_roll(&desc, data(), [0].as_ptr(), 1, null(), 1, &desc, out)
        });
        refused(null_pointer, "axes is a null", |out| {
            trundle_flip(&desc, data(), null(), 1, &desc, out)
        });
        refused(null_pointer, "lengths is a null", |out| {
            trundle_reverse_sequence(&desc, data(), null(), 2, 0, 1, &desc, out)
        });
        let rows = packed(TRUNDLE_DTYPE_U32, &[2, 1]);
        refused(null_pointer, "lengths_desc is a null", |out| {
            trundle_reverse_subsequences(&desc, data(), null(), data(), 1, &desc, out)
        });
        refused(null_pointer, "lengths is a null", |out| {
            trundle_reverse_subsequences(&desc, data(), &rows, null(), 1, &desc, out)
        });
        let mut number = 7;
        refused(null_pointer, "name is a null", |_| trundle_dtype_from_name(null(), &mut number));
        refused(null_pointer, "out is a null", |_| {
            trundle_dtype_from_name(c"f32".as_ptr(), null_mut())
        });
        assert_eq!(number, 7);
    }
}

#[test]
fn misaligned_pointers_are_refused() {
    let sizes = [2, 2, 2];
    let desc = packed(TRUNDLE_DTYPE_F32, &sizes[..2]);
    let misaligned = TRUNDLE_ERROR_MISALIGNED;
    refused(misaligned, "not a multiple of 4", |out| {
        transpose(&desc, data().wrapping_byte_add(2), &[], &desc, out)
    });
    refused(misaligned, "out is 0x", |out| {
        transpose(&desc, data(), &[], &desc, out.wrapping_byte_add(1))
    });
    refused(misaligned, "data_desc is 0x", |out| {
        transpose((&raw const desc).wrapping_byte_add(1), data(), &[], &desc, out)
    });
    let odd = trundle_tensor_desc { sizes: sizes.as_ptr().wrapping_byte_add(4), ..desc };
    refused(misaligned, "out_desc->sizes is 0x", |out| transpose(&desc, data(), &[], &odd, out));
    let odd = trundle_tensor_desc { strides_elems: without_provenance(9), ..desc };
    refused(misaligned, "data_desc->strides_elems is 0x9", |out| {
        transpose(&odd, data(), &[], &desc, out)
    });
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        refused(misaligned, "order is 0x3, which is not a multiple of 8", |out| {
            trundle_transpose(&desc, data(), without_provenance(3), 2, &desc, out)
        });
        let rows = packed(TRUNDLE_DTYPE_U64, &[2, 1]);
        let lengths = data().wrapping_byte_add(4);
        refused(misaligned, "lengths is 0x", |out| {
            trundle_reverse_subsequences(&desc, data(), &rows, lengths, 1, &desc, out)
        });
    }
    // Opaque elements of the same size need no alignment.
    let opaque = packed(TRUNDLE_DTYPE_BYTES + 4, &[2, 2]);
    let mut out = Guarded::new(17);
    assert_ok(transpose(&opaque, data().wrapping_byte_add(1), &[], &opaque, out.at(1)));
    out.assert_is(&[&[GUARD][..], &[0; 16]].concat());
}

#[test]
fn too_high_ranks_and_too_long_lists_are_refused() {
    let desc = packed(TRUNDLE_DTYPE_U8, &[1]);
    for rank in [257, u32::MAX] {
        let lying = trundle_tensor_desc { rank, ..desc };
        let words = format!("data_desc has rank {rank}, the limit is 256");
        refused(TRUNDLE_ERROR_RANK, &words, |out| transpose(&lying, data(), &[], &desc, out));
    }
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        for len in [(1 << 16) + 1, usize::MAX] {
            let words = format!("order has {len} entries, the limit is 65536");
            refused(TRUNDLE_ERROR_RANK, &words, |out| {
                trundle_transpose(&desc, data(), [0].as_ptr(), len, &desc, out)
            });
        }
        refused(
            TRUNDLE_ERROR_SHAPE,
            "has 18446744073709551615 entries, but the batch axis has size 1",
            |out| {
                trundle_reverse_sequence(&desc, data(), [0].as_ptr(), usize::MAX, 0, 0, &desc, out)
            },
        );
    }
    let sizes = [1; 256];
    let high = packed(TRUNDLE_DTYPE_U8, &sizes);
    let mut out = Guarded::new(1);
    assert_ok(transpose(&high, data(), &[], &high, out.start()));
    out.assert_is(&[0]);
}

#[test]
fn unknown_types_are_refused() {
    let desc = packed(TRUNDLE_DTYPE_U8, &[1]);
    for dtype in [0, -1, 14, 99, i32::MIN] {
        let unknown = trundle_tensor_desc { dtype, ..desc };
        let words = format!("out_desc has element type {dtype}, which is not a TRUNDLE_DTYPE_*");
        refused(TRUNDLE_ERROR_UNKNOWN_DTYPE, &words, |out| {
            transpose(&desc, data(), &[], &unknown, out)
        });
    }
}

#[test]
fn sizes_and_strides_that_overflow_are_refused() {
    let too_large = TRUNDLE_ERROR_TOO_LARGE;
    for (sizes, strides, words) in [
        (vec![u64::MAX], None, "too large to be addressed"),
        (vec![1 << 32, 1 << 32], None, "too large to be addressed"),
        (vec![1 << 62], None, "shape [4611686018427387904] of 4-byte elements"),
        (vec![2, 2], Some(vec![i64::MAX, 1]), "too large to be addressed"),
        (vec![2, 2], Some(vec![i64::MIN, 1]), "too large to be addressed"),
        (vec![2, 2], Some(vec![i64::MAX / 4, i64::MAX / 4]), "too large to be addressed"),
        (vec![2, 2], Some(vec![1 << 60, -1 << 60]), "too large to be addressed"),
        // Without overflow, but larger than any memory.
        (vec![1 << 56], None, "exceeds the address space"),
        (vec![2], Some(vec![1 << 56]), "exceeds the address space"),
        (vec![2], Some(vec![-1 << 60]), "reaches below address 0"),
    ] {
        let desc = match &strides {
            Some(strides) => strided(TRUNDLE_DTYPE_F32, &sizes, strides),
            None => packed(TRUNDLE_DTYPE_F32, &sizes),
        };
        refused(too_large, words, |out| transpose(&desc, data(), &[], &desc, out));
    }
    let desc = packed(TRUNDLE_DTYPE_BYTES + (1 << 30), &[1 << 31, 1 << 3]);
    refused(too_large, "of 1073741824-byte elements", |out| {
        transpose(&desc, data(), &[], &desc, out)
    });
}

#[test]
fn an_output_that_overlaps_an_input_is_refused() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 2]);
    for (data_at, out_at) in [(0, 0), (0, 12), (12, 0), (4, 0), (0, 4)] {
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps data at 0x", |out| {
            transpose(
                &desc,
                out.wrapping_byte_add(data_at),
                &[],
                &desc,
                out.wrapping_byte_add(out_at),
            )
        });
    }
    // With negative strides: the data pointer is at the start of the output, the data before it.
    let backward = strided(TRUNDLE_DTYPE_F32, &[2, 2], &[-2, -1]);
    refused(TRUNDLE_ERROR_OVERLAP, "overlaps data at 0x", |out| {
        transpose(&backward, out.wrapping_byte_add(28), &[], &desc, out.wrapping_byte_add(16))
    });
    // A tensor in the gaps of another one overlaps it.
    let (rows, gaps) = ([2, 2], [4, 1]);
    let spread = strided(TRUNDLE_DTYPE_F32, &rows, &gaps);
    refused(TRUNDLE_ERROR_OVERLAP, "overlaps data at 0x", |out| {
        transpose(&spread, out, &[], &spread, out.wrapping_byte_add(8))
    });
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        let rows = packed(TRUNDLE_DTYPE_U32, &[2, 1]);
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps lengths at 0x", |out| {
            let lengths = out.wrapping_byte_add(12);
            trundle_reverse_subsequences(&desc, data(), &rows, lengths, 1, &desc, out)
        });
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps lengths at 0x", |out| {
            trundle_reverse_sequence(&desc, data(), out.cast(), 2, 0, 1, &desc, out)
        });
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps order at 0x", |out| {
            trundle_transpose(&desc, data(), out.cast(), 2, &desc, out)
        });
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps shift at 0x", |out| {
            trundle_roll(&desc, data(), out.cast(), 1, [0].as_ptr(), 1, &desc, out)
        });
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps axes at 0x", |out| {
            trundle_roll(&desc, data(), [0].as_ptr(), 1, out.cast(), 1, &desc, out)
        });
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps axes at 0x", |out| {
            trundle_flip(&desc, data(), out.cast(), 1, &desc, out)
        });
    }
}

#[test]
fn an_output_that_overlaps_itself_is_refused() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 2]);
    for strides in [[0, 1], [1, 1], [1, -1], [0, 0]] {
        let folded = strided(TRUNDLE_DTYPE_F32, &[2, 2], &strides);
        refused(TRUNDLE_ERROR_SELF_OVERLAP, "would write some byte twice", |out| {
            transpose(&desc, data(), &[], &folded, out.wrapping_byte_add(16))
        });
        // Elements of an input may overlap.
        let mut out = Guarded::new(16);
        let data = data().wrapping_byte_add(16);
        assert_ok(transpose(&folded, data, &[], &desc, out.start()));
        out.assert_is(&[0; 16]);
    }
}

#[test]
fn arguments_that_do_not_fit_the_tensors_are_refused() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 3]);
    let same_width = packed(TRUNDLE_DTYPE_I32, &[3, 2]);
    let turned = packed(TRUNDLE_DTYPE_F32, &[3, 2]);
    let to = |desc: &trundle_tensor_desc, order: &'static [i64]| {
        let (from, to) = (packed(TRUNDLE_DTYPE_F32, &[2, 3]), *desc);
        move |out| transpose(&from, data(), order, &to, out)
    };
    refused(TRUNDLE_ERROR_DTYPE, "out must have element type f32, got i32", to(&same_width, &[]));
    refused(TRUNDLE_ERROR_SHAPE, "out must have shape [3, 2], got [2, 3]", to(&desc, &[]));
    refused(TRUNDLE_ERROR_SHAPE, "order and the shape", to(&turned, &[1]));
    refused(TRUNDLE_ERROR_AXIS, "order has axis 1 twice", to(&turned, &[1, 1]));
    refused(TRUNDLE_ERROR_AXIS, "order entry -1 is out of range", to(&turned, &[0, -1]));
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        refused(
            TRUNDLE_ERROR_SHAPE,
            "shift and axes must have the same length, got 2 and 1",
            |out| trundle_roll(&desc, data(), [0, 0].as_ptr(), 2, [0].as_ptr(), 1, &desc, out),
        );
        refused(TRUNDLE_ERROR_AXIS, "axis 2 is out of range for rank 2: expected -2..=1", |out| {
            trundle_roll(&desc, data(), [0].as_ptr(), 1, [2].as_ptr(), 1, &desc, out)
        });
        refused(TRUNDLE_ERROR_LENGTH, "length 3 at index 1 is out of range", |out| {
            trundle_reverse_sequence(&desc, data(), [2, 3, 2].as_ptr(), 3, 0, 1, &desc, out)
        });
        // Lengths of the wrong shape are not read: their pointer dangles.
        let nowhere = without_provenance(8);
        let reverse = |lengths: trundle_tensor_desc, axis, status, words| {
            refused(status, words, |out| {
                trundle_reverse_subsequences(&desc, data(), &lengths, nowhere, axis, &desc, out)
            });
        };
        let rows = packed(TRUNDLE_DTYPE_U32, &[2, 1]);
        reverse(rows, 2, TRUNDLE_ERROR_AXIS, "axis 2 is out of range for rank 2: expected 0..=1");
        reverse(rows, u32::MAX, TRUNDLE_ERROR_AXIS, "axis 4294967295 is out of range");
        reverse(rows, 0, TRUNDLE_ERROR_SHAPE, "lengths must have shape [1, 3], got [2, 1]");
        let signed = packed(TRUNDLE_DTYPE_I32, &[2, 1]);
        let words = "lengths must have element type u32 or u64, got i32";
        reverse(signed, 1, TRUNDLE_ERROR_DTYPE, words);
        refused(TRUNDLE_ERROR_SHAPE, "out must have shape [2, 3], got [3, 2]", |out| {
            trundle_reverse_subsequences(&desc, data(), &rows, nowhere, 1, &turned, out)
        });
        let scalar = packed(TRUNDLE_DTYPE_U32, &[]);
        refused(TRUNDLE_ERROR_AXIS, "the tensor has rank 0", |out| {
            trundle_reverse_subsequences(&scalar, data(), &scalar, nowhere, 0, &scalar, out)
        });
    }
}

#[test]
fn inputs_that_do_not_fit_together_are_refused() {
    let (two, three) = (packed(TRUNDLE_DTYPE_F32, &[2, 2]), packed(TRUNDLE_DTYPE_F32, &[2, 3]));
    let out_desc = packed(TRUNDLE_DTYPE_F32, &[2, 5]);
    let input = |desc: *const trundle_tensor_desc| trundle_input { desc, data: data() };
    let refused =
        |inputs: &[trundle_input], axis, to: &trundle_tensor_desc, status, words: &str| {
            refused(status, words, |out| {
                // SAFETY: invalid pointers are rejected before they are dereferenced.
                unsafe { trundle_concatenate(inputs.as_ptr(), inputs.len(), axis, to, out) }
            });
        };
    let both = [input(&two), input(&three)];
    refused(&[], 0, &out_desc, TRUNDLE_ERROR_NUMBER, "the number of parts 0 is out of range");
    let words = "a part must have shape [2, 2], got [2, 3]";
    refused(&both, 0, &out_desc, TRUNDLE_ERROR_SHAPE, words);
    refused(&both, 2, &out_desc, TRUNDLE_ERROR_AXIS, "axis 2 is out of range for rank 2");
    let words = "out must have shape [2, 5], got [2, 3]";
    refused(&both, 1, &three, TRUNDLE_ERROR_SHAPE, words);
    let ints = packed(TRUNDLE_DTYPE_I32, &[2, 3]);
    let words = "inputs[1]: data must have element type f32, got i32";
    refused(&[both[0], input(&ints)], 1, &out_desc, TRUNDLE_ERROR_DTYPE, words);
    let int_out = packed(TRUNDLE_DTYPE_I32, &[2, 5]);
    let words = "out must have element type f32, got i32";
    refused(&both, 1, &int_out, TRUNDLE_ERROR_DTYPE, words);
    let words = "inputs[1]: data_desc is a null pointer";
    refused(&[both[0], input(null())], 1, &out_desc, TRUNDLE_ERROR_NULL_POINTER, words);
    let words = "inputs[0]: data is a null pointer";
    let nothing = trundle_input { data: null(), ..both[0] };
    refused(&[nothing, both[1]], 1, &out_desc, TRUNDLE_ERROR_NULL_POINTER, words);
    let odd = trundle_input { data: data().wrapping_byte_add(2), ..both[1] };
    refused(&[both[0], odd], 1, &out_desc, TRUNDLE_ERROR_MISALIGNED, "inputs[1]: data is 0x");
    let folded = strided(TRUNDLE_DTYPE_F32, &[2, 5], &[1, 1]);
    let words = "would write some byte twice";
    refused(&both, 1, &folded, TRUNDLE_ERROR_SELF_OVERLAP, words);
    super::refusals::refused(TRUNDLE_ERROR_OVERLAP, "out at 0x", |out| {
        let within = trundle_input { data: out.wrapping_byte_add(36), ..both[1] };
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_concatenate([both[0], within].as_ptr(), 2, 1, &out_desc, out) }
    });
    super::refusals::refused(TRUNDLE_ERROR_OVERLAP, "overlaps inputs at 0x", |out| {
        let inputs: *mut trundle_input = out.cast();
        // SAFETY: the buffer has room, and the call fails before it writes.
        unsafe {
            let before = inputs.cast::<[u8; 2 * size_of::<trundle_input>()]>().read();
            inputs.cast::<[trundle_input; 2]>().write(both);
            let status = trundle_concatenate(inputs, 2, 1, &out_desc, out);
            inputs.cast::<[u8; 2 * size_of::<trundle_input>()]>().write(before);
            status
        }
    });
    super::refusals::refused(TRUNDLE_ERROR_RANK, "inputs has 65537 entries", |out| {
        // SAFETY: the buffer has room, and the call fails before it writes.
        unsafe { trundle_concatenate(both.as_ptr(), 65537, 1, &out_desc, out) }
    });
}

#[test]
fn invalid_widths_modes_and_values_of_pads_are_refused() {
    let (desc, out_desc) = (packed(TRUNDLE_DTYPE_F32, &[2, 3]), packed(TRUNDLE_DTYPE_F32, &[4, 5]));
    let pad = |widths: &[i64], mode, value, to: &trundle_tensor_desc, status, words: &str| {
        refused(status, words, |out| {
            let (first, len) = (widths.as_ptr(), widths.len());
            // SAFETY: invalid pointers are rejected before they are dereferenced.
            unsafe { trundle_pad(&desc, data(), first, len, mode, value, to, out) }
        });
    };
    let nowhere = without_provenance(8);
    for mode in [TRUNDLE_PAD_CONSTANT, TRUNDLE_PAD_EDGE] {
        let shape = TRUNDLE_ERROR_SHAPE;
        pad(&[1, 1, 1], mode, nowhere, &out_desc, shape, "must have the same length, got 3 and 4");
        pad(&[], mode, nowhere, &out_desc, shape, "must have the same length, got 0 and 4");
        pad(&[2], mode, nowhere, &out_desc, shape, "out must have shape [6, 7], got [4, 5]");
        let words = "width -1 is out of range";
        pad(&[1, -1], mode, nowhere, &out_desc, TRUNDLE_ERROR_NUMBER, words);
        pad(&[i64::MAX], mode, nowhere, &out_desc, TRUNDLE_ERROR_TOO_LARGE, "");
    }
    let words = "mode 5 is out of range: expected one of TRUNDLE_PAD_*";
    pad(&[1], 5, nowhere, &out_desc, TRUNDLE_ERROR_NUMBER, words);
    pad(&[1], -1, nowhere, &out_desc, TRUNDLE_ERROR_NUMBER, "mode -1 is out of range");
    let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
    pad(&[1], TRUNDLE_PAD_CONSTANT, null(), &out_desc, null_pointer, "value is a null pointer");
    let odd = data().wrapping_byte_add(1);
    pad(&[1], TRUNDLE_PAD_CONSTANT, odd, &out_desc, TRUNDLE_ERROR_MISALIGNED, "value is 0x");
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps value at 0x", |out| {
            let value = out.wrapping_byte_add(76);
            trundle_pad(&desc, data(), [1].as_ptr(), 1, 0, value, &out_desc, out)
        });
        refused(TRUNDLE_ERROR_OVERLAP, "overlaps widths at 0x", |out| {
            let words: *mut i64 = out.cast();
            words.write(1);
            let status = trundle_pad(&desc, data(), words, 1, 1, null(), &out_desc, out);
            words.write(i64::from_ne_bytes([GUARD; 8]));
            status
        });
        let empty = packed(TRUNDLE_DTYPE_F32, &[2, 0]);
        refused(TRUNDLE_ERROR_SHAPE, "axis 1", |out| {
            let to = packed(TRUNDLE_DTYPE_F32, &[4, 2]);
            trundle_pad(&empty, data(), [1].as_ptr(), 1, TRUNDLE_PAD_WRAP, null(), &to, out)
        });
    }
}

#[test]
fn invalid_indices_of_a_gather_are_refused() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 3]);
    let at = packed(TRUNDLE_DTYPE_I64, &[2]);
    let out_desc = packed(TRUNDLE_DTYPE_F32, &[2, 2]);
    let gather =
        |at: trundle_tensor_desc, indices, axis, to: &trundle_tensor_desc, status, words: &str| {
            refused(status, words, |out| {
                // SAFETY: invalid pointers are rejected before they are dereferenced.
                unsafe { trundle_gather(&desc, data(), &at, indices, axis, to, out) }
            });
        };
    let nowhere = without_provenance(8);
    gather(at, nowhere, 2, &out_desc, TRUNDLE_ERROR_AXIS, "axis 2 is out of range for rank 2");
    let words = "indices must have element type i32 or i64, got u32";
    let unsigned = packed(TRUNDLE_DTYPE_U32, &[2]);
    gather(unsigned, nowhere, 1, &out_desc, TRUNDLE_ERROR_DTYPE, words);
    let words = "out must have shape [2, 3], got [2, 2]";
    gather(at, nowhere, 0, &out_desc, TRUNDLE_ERROR_SHAPE, words);
    gather(at, null(), 1, &out_desc, TRUNDLE_ERROR_NULL_POINTER, "indices is a null pointer");
    for wrong in [3, -4, i64::MIN, i64::MAX] {
        let indices = [0, wrong];
        let words = format!("index {wrong} at [1] is out of range");
        gather(at, indices.as_ptr().cast(), 1, &out_desc, TRUNDLE_ERROR_INDEX, &words);
    }
    let too_large = packed(TRUNDLE_DTYPE_I64, &[1 << 40, 1 << 40]);
    gather(too_large, nowhere, 1, &out_desc, TRUNDLE_ERROR_TOO_LARGE, "");
    refused(TRUNDLE_ERROR_OVERLAP, "overlaps indices at 0x", |out| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_gather(&desc, data(), &at, out.wrapping_byte_add(8), 1, &out_desc, out) }
    });
}

#[test]
fn invalid_indices_and_updates_of_scatters_are_refused() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 3]);
    let at = packed(TRUNDLE_DTYPE_I64, &[2, 2]);
    let (new, pair) = (packed(TRUNDLE_DTYPE_F32, &[2, 2]), packed(TRUNDLE_DTYPE_F32, &[2]));
    let nowhere: *const c_void = without_provenance(8);
    let along = |at: &trundle_tensor_desc, indices, new: &trundle_tensor_desc, axis, to, out| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_scatter_elements(&desc, data(), at, indices, new, data(), axis, to, out) }
    };
    let nd = |at: &trundle_tensor_desc, indices, new: &trundle_tensor_desc, updates, out| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_scatter_nd(&desc, data(), at, indices, new, updates, &desc, out) }
    };
    let (axis, shape, index) = (TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_INDEX);
    let to: *const trundle_tensor_desc = &raw const desc;
    refused(axis, "axis 2 is out of range for rank 2", |out| along(&at, nowhere, &new, 2, to, out));
    let turned = packed(TRUNDLE_DTYPE_F32, &[3, 2]);
    let words = "out must have shape [2, 3], got [3, 2]";
    refused(shape, words, |out| along(&at, nowhere, &new, 1, &turned, out));
    let words = "updates must have shape [2, 2], got [2]";
    refused(shape, words, |out| along(&at, nowhere, &pair, 1, to, out));
    let words = "indices must have element type i32 or i64, got f32";
    refused(TRUNDLE_ERROR_DTYPE, words, |out| along(&new, nowhere, &new, 1, to, out));
    let ints = packed(TRUNDLE_DTYPE_I32, &[2, 2]);
    let words = "updates must have element type f32, got i32";
    refused(TRUNDLE_ERROR_DTYPE, words, |out| along(&at, nowhere, &ints, 1, to, out));
    let row = packed(TRUNDLE_DTYPE_I64, &[2]);
    let words =
        "the shape of the indices and the shape of the data must have the same length, got 1 and 2";
    refused(shape, words, |out| along(&row, nowhere, &pair, 1, to, out));
    let (more, wide) = (packed(TRUNDLE_DTYPE_I64, &[3, 1]), packed(TRUNDLE_DTYPE_F32, &[3, 1]));
    let words = "indices of shape [3, 1] reach beyond data of shape [2, 3]";
    refused(shape, words, |out| along(&more, nowhere, &wide, 1, to, out));
    for wrong in [3, -4, i64::MIN, i64::MAX] {
        let indices = [0, 1, wrong, 2];
        let words = format!("index {wrong} at [1, 0] is out of range for an axis of size 3");
        refused(index, &words, |out| along(&at, indices.as_ptr().cast(), &new, 1, to, out));
    }
    let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
    refused(null_pointer, "indices is a null", |out| along(&at, null(), &new, 1, to, out));
    refused(null_pointer, "updates is a null", |out| nd(&at, nowhere, &pair, null(), out));
    let odd = data().wrapping_byte_add(2);
    refused(TRUNDLE_ERROR_MISALIGNED, "updates is 0x", |out| nd(&at, nowhere, &pair, odd, out));
    let words = "updates must have shape [2], got [2, 2]";
    refused(shape, words, |out| nd(&at, nowhere, &new, data(), out));
    let triples = packed(TRUNDLE_DTYPE_I64, &[2, 3]);
    let number = TRUNDLE_ERROR_NUMBER;
    let words = "the size of the last axis of the indices 3 is out of range";
    refused(number, words, |out| nd(&triples, nowhere, &pair, data(), out));
    let single = packed(TRUNDLE_DTYPE_I64, &[]);
    let words = "the rank of the indices 0 is out of range";
    refused(number, words, |out| nd(&single, nowhere, &pair, data(), out));
    let indices = [0i64, 1, -3, 2];
    let words = "index -3 at [1, 0] is out of range for an axis of size 2";
    refused(index, words, |out| nd(&at, indices.as_ptr().cast(), &pair, data(), out));
    let overlap = TRUNDLE_ERROR_OVERLAP;
    refused(overlap, "overlaps updates at 0x", |out| {
        nd(&at, indices.as_ptr().cast(), &pair, out.wrapping_byte_add(20), out)
    });
    refused(overlap, "overlaps indices at 0x", |out| along(&at, out, &new, 1, to, out));
    let folded = strided(TRUNDLE_DTYPE_F32, &[2, 3], &[1, 1]);
    let indices = [0i64; 4];
    refused(TRUNDLE_ERROR_SELF_OVERLAP, "would write some byte twice", |out| {
        along(&at, indices.as_ptr().cast(), &new, 1, &raw const folded, out)
    });
    // The output cannot be the data.
    refused(overlap, "overlaps data at 0x", |out| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe {
            let indices = indices.as_ptr().cast();
            trundle_scatter_elements(&desc, out, &at, indices, &new, data(), 1, &desc, out)
        }
    });
}

#[test]
fn invalid_indices_of_gather_elements_and_nd_are_refused() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 3]);
    let at = packed(TRUNDLE_DTYPE_I32, &[2, 2]);
    let (to, row) = (packed(TRUNDLE_DTYPE_F32, &[2, 2]), packed(TRUNDLE_DTYPE_F32, &[2]));
    let nowhere: *const c_void = without_provenance(8);
    let along = |at: &trundle_tensor_desc, indices, axis, to: &trundle_tensor_desc, out| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_gather_elements(&desc, data(), at, indices, axis, to, out) }
    };
    let nd = |at: &trundle_tensor_desc, indices, batch, to: &trundle_tensor_desc, out| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_gather_nd(&desc, data(), at, indices, batch, to, out) }
    };
    let (shape, index, number) = (TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_INDEX, TRUNDLE_ERROR_NUMBER);
    refused(TRUNDLE_ERROR_AXIS, "axis -3 is out of range", |out| along(&at, nowhere, -3, &to, out));
    let words = "out must have shape [2, 2], got [2, 3]";
    refused(shape, words, |out| along(&at, nowhere, 1, &desc, out));
    let floats = packed(TRUNDLE_DTYPE_F32, &[2, 2]);
    let words = "indices must have element type i32 or i64, got f32";
    refused(TRUNDLE_ERROR_DTYPE, words, |out| along(&floats, nowhere, 1, &to, out));
    refused(TRUNDLE_ERROR_DTYPE, words, |out| nd(&floats, nowhere, 0, &row, out));
    let more = packed(TRUNDLE_DTYPE_I32, &[1, 4]);
    let wide = packed(TRUNDLE_DTYPE_F32, &[1, 4]);
    let words = "indices of shape [1, 4] reach beyond data of shape [2, 3]";
    refused(shape, words, |out| along(&more, nowhere, 0, &wide, out));
    let indices = [0i32, 1, 2, -4];
    let words = "index -4 at [1, 1] is out of range for an axis of size 3";
    refused(index, words, |out| along(&at, indices.as_ptr().cast(), 1, &to, out));
    let words = "index 2 at [1, 0] is out of range for an axis of size 2";
    refused(index, words, |out| nd(&at, indices.as_ptr().cast(), 0, &row, out));
    let words = "out must have shape [2], got [2, 2]";
    refused(shape, words, |out| nd(&at, nowhere, 0, &to, out));
    refused(number, "batch axes 2 is out of range", |out| nd(&at, nowhere, 2, &row, out));
    refused(number, "batch axes 4294967295", |out| nd(&at, nowhere, u32::MAX, &row, out));
    let words = "the size of the last axis of the indices 2 is out of range";
    refused(number, words, |out| nd(&at, nowhere, 1, &row, out));
    let three = packed(TRUNDLE_DTYPE_I32, &[3, 1]);
    let words =
        "a batch axis of the tensor and the same axis of the indices must have the same length";
    refused(shape, words, |out| nd(&three, nowhere, 1, &row, out));
    let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
    refused(null_pointer, "indices is a null", |out| nd(&at, null(), 0, &row, out));
    refused(TRUNDLE_ERROR_OVERLAP, "overlaps indices at 0x", |out| along(&at, out, 1, &to, out));
}

#[test]
fn each_thread_keeps_its_own_last_message() {
    let desc = packed(TRUNDLE_DTYPE_U8, &[1]);
    refused(TRUNDLE_ERROR_AXIS, "order entry 7", |out| transpose(&desc, data(), &[7], &desc, out));
    let other_thread = std::thread::spawn(|| {
        let before = last_message();
        let desc = packed(TRUNDLE_DTYPE_U8, &[1]);
        refused(TRUNDLE_ERROR_AXIS, "order entry 8", |out| {
            transpose(&desc, data(), &[8], &desc, out)
        });
        before
    });
    assert_eq!(other_thread.join().unwrap(), "");
    let mut out = Guarded::new(1);
    assert_ok(transpose(&desc, data(), &[], &desc, out.start()));
    assert!(last_message().contains("order entry 7"));
}
