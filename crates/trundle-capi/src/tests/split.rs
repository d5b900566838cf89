use std::ffi::c_void;
use std::ptr::{null, null_mut};

use proptest::prelude::any;
use trundle_testing::cases::{layouts, shapes};
use trundle_testing::{holds, indices};

use super::plans::Owned;
use super::random::{CASES, Tensor, drawn, dtypes, fill};
use super::*;

#[test]
fn every_part_of_a_split_has_its_elements() {
    let dtypes = dtypes();
    let cuts = proptest::collection::vec((any::<proptest::sample::Index>(), layouts()), 0..4);
    let ways = (layouts(), any::<bool>(), drawn());
    let cases = (shapes(60), any::<proptest::sample::Index>(), cuts, ways);
    holds(CASES, &cases, |(shape, axis, cuts, (from, planned, (pick, seed, ones)))| {
        if shape.is_empty() {
            return Ok(());
        }
        let (axis, (number, dtype)) = (axis.index(shape.len()), dtypes[pick.index(dtypes.len())]);
        let mut ends: Vec<usize> = cuts.iter().map(|(cut, _)| cut.index(shape[axis] + 1)).collect();
        ends.sort_unstable();
        ends.push(shape[axis]);
        let mut data = Tensor::new(number, dtype, &from.source(&shape, 1));
        fill(data.buffer.content_mut(), seed);
        let elements = data.elements();
        // Gaps in each part must not change.
        let (mut parts, mut right, mut start) = (Vec::new(), Vec::new(), 0);
        for (at, end) in ends.iter().enumerate() {
            let mut sizes = shape.clone();
            sizes[axis] = end - start;
            let to = cuts.get(at).map_or(&from, |(_, to)| to);
            let fresh = || {
                let mut part = Tensor::new(number, dtype, &to.destination(&sizes, 1));
                match ones {
                    true => part.buffer.content_mut().fill(0xff),
                    false => fill(part.buffer.content_mut(), !seed),
                }
                part
            };
            let element = |mut index: Vec<usize>| {
                index[axis] += start;
                elements[data.layout.shape().ravel(&index)].clone()
            };
            let own: Vec<Vec<u8>> = indices(&sizes).into_iter().map(element).collect();
            let mut expected = fresh();
            expected.write(&own);
            right.push(expected);
            parts.push(fresh());
            start = *end;
        }
        let descs: Vec<_> = parts.iter().map(Tensor::desc).collect();
        let outputs: Vec<trundle_output> = parts
            .iter_mut()
            .zip(&descs)
            .map(|(part, desc)| trundle_output { desc, data: part.data() })
            .collect();
        let axis = (axis.cast_signed() - if ones { 0 } else { shape.len().cast_signed() }) as i64;
        let (read, count) = (data.desc(), outputs.len());
        // SAFETY: every pointer is valid for its description.
        unsafe {
            if planned {
                let outs: Vec<_> = outputs.iter().map(|output| output.data).collect();
                let plan =
                    Owned::new(|plan| trundle_split_plan(&read, descs.as_ptr(), count, axis, plan));
                assert_ok(plan.run_outputs(data.data(), &outs));
            } else {
                assert_ok(trundle_split(&read, data.data(), outputs.as_ptr(), count, axis));
            }
        }
        for (part, right) in parts.iter().zip(&right) {
            assert_eq!(part.elements(), right.elements(), "{dtype} {shape:?} at {ends:?}");
            part.buffer.assert_is(right.buffer.content());
        }
        Ok(())
    });
}

#[test]
fn parts_may_lie_in_one_buffer_in_any_order() {
    // The first column comes after the others.
    let desc = packed(TRUNDLE_DTYPE_U8, &[2, 3]);
    let (sizes, one) = ([2, 1], [2, 2]);
    let (narrow, wide) = (packed(TRUNDLE_DTYPE_U8, &sizes), packed(TRUNDLE_DTYPE_U8, &one));
    let mut data = Guarded::of(b"abcdef");
    let mut out = Guarded::of(b"......");
    let outputs = [
        trundle_output { desc: &raw const narrow, data: out.at(4) },
        trundle_output { desc: &raw const wide, data: out.at(0) },
    ];
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe { trundle_split(&desc, data.start(), outputs.as_ptr(), 2, -1) });
    out.assert_is(b"bcefad");
}

/// The errors of runs are in `plans.rs`: a call makes a plan and runs it.
#[test]
fn outputs_that_do_not_fit_are_refused_before_any_write() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 3]);
    let (one, two) = (packed(TRUNDLE_DTYPE_F32, &[2, 1]), packed(TRUNDLE_DTYPE_F32, &[2, 2]));
    let ints = packed(TRUNDLE_DTYPE_I32, &[2, 2]);
    let folded = strided(TRUNDLE_DTYPE_F32, &[2, 2], &[1, 1]);
    let longer = packed(TRUNDLE_DTYPE_F32, &[3, 2]);
    let mut data = Guarded::of(&[1; 24]);
    let mut out = Guarded::new(64);
    let (from, at) = (data.start(), [0, 8, 24].map(|byte| out.at(byte)));
    let output = |desc: *const trundle_tensor_desc, data| trundle_output { desc, data };
    let (first, second) = (output(&one, at[0]), output(&two, at[1]));
    let (shape, null_pointer) = (TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_NULL_POINTER);
    for (status, words, outputs, axis) in [
        (shape, "must have the same length, got 2 and 3", &[first, output(&one, at[1])][..], 1),
        (shape, "must have the same length, got 4 and 3", &[second, output(&two, at[2])], 1),
        (
            shape,
            "outputs[1]: out must have shape [2, 2], got [3, 2]",
            &[first, output(&longer, at[1])],
            1,
        ),
        (shape, "outputs[0]: out must have shape [2, 3], got [2, 1]", &[first, second], 0),
        (TRUNDLE_ERROR_AXIS, "axis 2 is out of range for rank 2", &[first, second], 2),
        (TRUNDLE_ERROR_NUMBER, "the number of parts 0", &[], 1),
        (
            TRUNDLE_ERROR_DTYPE,
            "outputs[1]: out must have element type f32, got i32",
            &[first, output(&ints, at[1])],
            1,
        ),
        (null_pointer, "outputs[1]: out_desc is a null", &[first, output(null(), at[1])], 1),
        (null_pointer, "outputs[1]: out is a null", &[first, output(&two, null_mut())], 1),
        (TRUNDLE_ERROR_SELF_OVERLAP, "outputs[1]: ", &[first, output(&folded, at[1])], 1),
        (TRUNDLE_ERROR_OVERLAP, "overlaps out at 0x", &[second, output(&one, at[1])], 1),
    ] {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        let refused = unsafe { trundle_split(&desc, from, outputs.as_ptr(), outputs.len(), axis) };
        assert_refused(refused, status, words);
    }
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        assert_eq!(trundle_split(&desc, null(), [first, second].as_ptr(), 2, 1), null_pointer);
        assert_eq!(trundle_split(null(), from, [first, second].as_ptr(), 2, 1), null_pointer);
        assert_eq!(trundle_split(&desc, from, null(), 2, 1), null_pointer);
        let many = trundle_split(&desc, from, [first].as_ptr(), 65537, 1);
        assert_eq!(many, TRUNDLE_ERROR_RANK);
    }
    out.assert_untouched();
    data.assert_is(&[1; 24]);
    // The list is in the memory of an output.
    let mut own = Guarded::new(64);
    let list = own.at(16).cast::<[trundle_output; 2]>();
    let outputs = [output(&one, at[0]), output(&two, own.at(32))];
    // SAFETY: the buffer has room for two outputs.
    let refused = unsafe {
        list.write(outputs);
        trundle_split(&desc, from, list.cast(), 2, 1)
    };
    assert_refused(refused, TRUNDLE_ERROR_OVERLAP, "outputs[1]: out at 0x");
    out.assert_untouched();
}

#[test]
fn parts_without_elements_need_no_memory() {
    let (desc, none) = (packed(TRUNDLE_DTYPE_U16, &[2]), packed(TRUNDLE_DTYPE_U16, &[0]));
    let mut data = Guarded::of(&bytes!(u16: 1, 2));
    let mut out = Guarded::new(4);
    let empty = trundle_output { desc: &raw const none, data: null_mut::<c_void>() };
    let whole = trundle_output { desc: &raw const desc, data: out.start() };
    // SAFETY: every pointer is valid for its description.
    unsafe {
        let outputs = [empty, whole, empty];
        assert_ok(trundle_split(&desc, data.start(), outputs.as_ptr(), 3, 0));
        assert_ok(trundle_split(&none, null(), [empty; 2].as_ptr(), 2, 0));
    }
    out.assert_is(&bytes!(u16: 1, 2));
}
