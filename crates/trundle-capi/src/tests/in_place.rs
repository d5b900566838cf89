use std::ptr::{null, null_mut};

use super::*;

/// Numbers from 0 to `count`, which the tests choose so large that the tensor is not moved through a copy.
fn numbers(count: u32) -> Guarded {
    Guarded::of(&(0..count).flat_map(u32::to_ne_bytes).collect::<Vec<u8>>())
}

#[test]
fn functions_in_place_agree_with_copies() {
    let sizes = [362, 362];
    let desc = packed(TRUNDLE_DTYPE_F32, &sizes);
    let lengths: Vec<i64> = (0..362).map(|lane| lane * 7 % 363).collect();
    let of_rows: Vec<u32> = lengths.iter().map(|length| *length as u32).collect();
    let row_sizes = [362, 1];
    let rows = packed(TRUNDLE_DTYPE_U32, &row_sizes);
    let (shift, axes, order) = ([5, -7], [0, 1], [1, 0]);
    let mut data = numbers(362 * 362);
    let mut out = Guarded::new(362 * 362 * 4);
    for number in 0..6 {
        let mut within = numbers(362 * 362);
        let (from, to, buffer) = (data.start(), out.start(), within.start());
        // SAFETY: every pointer is valid for its description.
        let statuses = unsafe {
            match number {
                0 => [
                    trundle_roll(&desc, from, shift.as_ptr(), 2, axes.as_ptr(), 2, &desc, to),
                    trundle_roll_in_place(&desc, buffer, shift.as_ptr(), 2, axes.as_ptr(), 2),
                ],
                1 => [
                    trundle_flip(&desc, from, axes.as_ptr(), 2, &desc, to),
                    trundle_flip_in_place(&desc, buffer, axes.as_ptr(), 2),
                ],
                2 => [
                    trundle_transpose(&desc, from, order.as_ptr(), 2, &desc, to),
                    trundle_transpose_in_place(&desc, buffer, order.as_ptr(), 2),
                ],
                3 => [
                    trundle_reverse_subsequences(
                        &desc,
                        from,
                        &rows,
                        of_rows.as_ptr().cast(),
                        1,
                        &desc,
                        to,
                    ),
                    trundle_reverse_subsequences_in_place(
                        &desc,
                        buffer,
                        &rows,
                        of_rows.as_ptr().cast(),
                        1,
                    ),
                ],
                4 => [
                    trundle_reverse_sequence(&desc, from, lengths.as_ptr(), 362, 0, 1, &desc, to),
                    trundle_reverse_sequence_in_place(&desc, buffer, lengths.as_ptr(), 362, 0, 1),
                ],
                _ => [
                    trundle_flip(&desc, from, [0].as_ptr(), 1, &desc, to),
                    trundle_chain_in_place(
                        c"roll(shift=[9], axes=[1]) | flip(axes=[0]) | \
                        roll(shift=[-9], axes=[1])"
                            .as_ptr(),
                        &desc,
                        buffer,
                    ),
                ],
            }
        };
        statuses.into_iter().for_each(assert_ok);
        assert!(within.content() == out.content(), "call {number}");
        within.assert_is(out.content());
    }
}

#[test]
fn a_transposed_shape_uses_the_same_memory() {
    let (sizes, turned) = ([300, 500], [500, 300]);
    let (from, to) = (packed(TRUNDLE_DTYPE_F32, &sizes), packed(TRUNDLE_DTYPE_F32, &turned));
    let (mut data, mut out) = (numbers(150_000), Guarded::new(600_000));
    // SAFETY: every pointer is valid for its description.
    unsafe {
        assert_ok(trundle_transpose(&from, data.start(), null(), 0, &to, out.start()));
        assert_ok(trundle_transpose_in_place(&from, data.start(), null(), 0));
    }
    data.assert_is(out.content());
}

#[test]
fn moves_that_cannot_be_in_place_are_refused_without_writes() {
    let (sizes, strides) = ([2, 3], [4, 1]);
    let gaps = strided(TRUNDLE_DTYPE_F32, &sizes, &strides);
    let desc = packed(TRUNDLE_DTYPE_F32, &sizes);
    let mut data = numbers(7);
    let before = data.content().to_vec();
    let buffer = data.start();
    // SAFETY: invalid arguments are rejected before a dangling pointer is dereferenced.
    unsafe {
        let status = trundle_transpose_in_place(&gaps, buffer, null(), 0);
        assert_refused(status, TRUNDLE_ERROR_SHAPE, "the result in place");
        let status = trundle_chain_in_place(c"tile(repeats=[2, 1])".as_ptr(), &desc, buffer);
        assert_refused(status, TRUNDLE_ERROR_SHAPE, "elements");
        let status = trundle_chain_in_place(c"flip(axes=[2])".as_ptr(), &desc, buffer);
        assert_refused(status, TRUNDLE_ERROR_AXIS, "^");
        let status = trundle_roll_in_place(&desc, buffer, buffer.cast(), 1, [0].as_ptr(), 1);
        assert_refused(status, TRUNDLE_ERROR_OVERLAP, "overlaps shift");
        let status = trundle_flip_in_place(&desc, null_mut(), [0].as_ptr(), 1);
        assert_refused(status, TRUNDLE_ERROR_NULL_POINTER, "data is a null");
    }
    data.assert_is(&before);
}
