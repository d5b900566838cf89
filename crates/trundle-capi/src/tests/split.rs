//! Splits of a tensor into parts.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use proptest::prelude::any;
use trundle_testing::cases::{layouts, shapes};
use trundle_testing::{holds, indices};

use super::plans::Owned;
use super::random::{CASES, Tensor, drawn, dtypes, fill};
use super::*;

#[test]
fn every_part_has_its_elements() {
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

#[test]
fn what_does_not_fit_is_refused_before_any_part_is_written() {
    let desc = packed(TRUNDLE_DTYPE_F32, &[2, 3]);
    let (one, two) = (packed(TRUNDLE_DTYPE_F32, &[2, 1]), packed(TRUNDLE_DTYPE_F32, &[2, 2]));
    let mut data = Guarded::of(&[1; 24]);
    let mut out = Guarded::new(64);
    let (from, to) = (data.start(), out.start());
    let at = |byte: usize| to.wrapping_byte_add(byte);
    let output = |desc: *const trundle_tensor_desc, data| trundle_output { desc, data };
    let split = |outputs: &[trundle_output], axis| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_split(&desc, from, outputs.as_ptr(), outputs.len(), axis) }
    };
    let (first, second) = (output(&one, at(0)), output(&two, at(8)));
    let ints = packed(TRUNDLE_DTYPE_I32, &[2, 2]);
    let folded = strided(TRUNDLE_DTYPE_F32, &[2, 2], &[1, 1]);
    let longer = packed(TRUNDLE_DTYPE_F32, &[3, 2]);
    let (shape, null_pointer) = (TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_NULL_POINTER);
    let adds = "the parts together and the axis that is split must have equal sizes";
    let within = from.wrapping_byte_add(20);
    for (status, words, refused) in [
        (shape, format!("{adds}, got 2 and 3"), &|| split(&[first, output(&one, at(8))], 1)),
        (shape, format!("{adds}, got 4 and 3"), &|| split(&[second, output(&two, at(24))], 1)),
        (shape, "outputs[1]: out must have shape [2, 2], got [3, 2]".into(), &|| {
            split(&[first, output(&longer, at(8))], 1)
        }),
        (shape, "outputs[0]: out must have shape [2, 3], got [2, 1]".into(), &|| {
            split(&[first, second], 0)
        }),
        (TRUNDLE_ERROR_AXIS, "axis 2 is out of range for rank 2".into(), &|| {
            split(&[first, second], 2)
        }),
        (TRUNDLE_ERROR_NUMBER, "the number of parts 0".into(), &|| split(&[], 1)),
        (
            TRUNDLE_ERROR_DTYPE,
            "outputs[1]: out must have element type f32, got i32".into(),
            &|| split(&[first, output(&ints, at(8))], 1),
        ),
        (null_pointer, "outputs[1]: out_desc is a null".into(), &|| {
            split(&[first, output(null(), at(8))], 1)
        }),
        (null_pointer, "outputs[1]: out is a null".into(), &|| {
            split(&[first, output(&two, null_mut())], 1)
        }),
        (TRUNDLE_ERROR_MISALIGNED, "outputs[0]: out is 0x".into(), &|| {
            split(&[output(&one, at(2)), second], 1)
        }),
        (TRUNDLE_ERROR_SELF_OVERLAP, "outputs[1]: ".into(), &|| {
            split(&[first, output(&folded, at(8))], 1)
        }),
        (TRUNDLE_ERROR_OVERLAP, "overlaps data at 0x".into(), &|| {
            split(&[first, output(&two, within)], 1)
        }),
        (TRUNDLE_ERROR_OVERLAP, "outputs[0]: out at 0x".into(), &|| {
            split(&[output(&one, at(20)), second], 1)
        }),
        (TRUNDLE_ERROR_OVERLAP, "outputs[1]: out at 0x".into(), &|| {
            split(&[first, output(&two, at(4))], 1)
        }),
        (TRUNDLE_ERROR_OVERLAP, "overlaps out at 0x".into(), &|| {
            split(&[second, output(&one, at(8))], 1)
        }),
    ] as [(_, String, &dyn Fn() -> _); 15]
    {
        assert_eq!(refused(), status, "{words}: {}", last_message());
        assert!(last_message().contains(&words), "{words}: {}", last_message());
    }
    // SAFETY: as above.
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
    let outputs = [output(&one, at(0)), output(&two, own.at(32))];
    // SAFETY: the buffer has room for two outputs.
    let refused = unsafe {
        list.write(outputs);
        trundle_split(&desc, from, list.cast(), 2, 1)
    };
    assert_eq!(refused, TRUNDLE_ERROR_OVERLAP, "{}", last_message());
    assert!(last_message().contains("outputs[1]: out at 0x"), "{}", last_message());
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

/// Plans a split along the last axis.
fn splitting(desc: &trundle_tensor_desc, outs: &[trundle_tensor_desc]) -> Owned {
    // SAFETY: every pointer is valid for its description.
    Owned::new(|plan| unsafe { trundle_split_plan(desc, outs.as_ptr(), outs.len(), -1, plan) })
}

#[test]
fn a_planned_split_is_run_to_several_outputs() {
    let (sizes, turned) = ([2, 2], [1, 2]);
    let desc = packed(TRUNDLE_DTYPE_U16, &[2, 3]);
    let one = packed(TRUNDLE_DTYPE_U16, &[2, 1]);
    let two = strided(TRUNDLE_DTYPE_U16, &sizes, &turned);
    let plan = splitting(&desc, &[two, one]);
    let words = plan.words();
    assert!(words.starts_with("from input 0 to output 0: 1 pass over memory\n"), "{words}");
    assert!(words.contains("\n\nfrom input 0 to output 1: 1 pass over memory\n"), "{words}");
    for first in [1, 11] {
        let numbers: Vec<u16> = (first..first + 6).collect();
        let [a, b, c, d, e, f] = numbers[..] else { panic!("six") };
        let mut data = Guarded::of(&bytes!(u16: a, b, c, d, e, f));
        let (mut left, mut right) = (Guarded::new(8), Guarded::new(4));
        assert_ok(plan.run_outputs(data.start(), &[left.start(), right.start()]));
        left.assert_is(&bytes!(u16: a, d, b, e));
        right.assert_is(&bytes!(u16: c, f));
    }
    // A single part is the whole tensor.
    let plan = splitting(&desc, &[desc]);
    let (mut data, mut out) = (Guarded::of(&bytes!(u16: 1, 2, 3, 4, 5, 6)), Guarded::new(12));
    assert_ok(plan.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 1, 2, 3, 4, 5, 6));
    // The function also runs other plans with one output.
    // SAFETY: every pointer is valid for its description.
    let plan = Owned::new(|plan| unsafe { trundle_flip_plan(&desc, [1].as_ptr(), 1, &desc, plan) });
    assert_ok(plan.run_outputs(data.start(), &[out.start()]));
    out.assert_is(&bytes!(u16: 3, 2, 1, 6, 5, 4));
    let none = packed(TRUNDLE_DTYPE_U16, &[2, 0]);
    let plan = splitting(&none, &[none; 3]);
    assert_ok(plan.run_outputs(null(), &[null_mut(); 3]));
}

#[test]
fn what_a_split_is_run_on_is_checked_each_time() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 4]);
    let half = packed(TRUNDLE_DTYPE_U32, &[2, 2]);
    let plan = splitting(&desc, &[half; 2]);
    let (mut data, mut out) = (Guarded::new(32), Guarded::new(64));
    let (from, to) = (data.start().cast_const(), out.start());
    let at = |byte: usize| to.wrapping_byte_add(byte);
    let read = from.wrapping_byte_add(16).cast_mut();
    let shape = TRUNDLE_ERROR_SHAPE;
    for (status, words, from, outputs) in [
        (shape, "the plan is for 2 outputs, and is run on 0", from, &[][..]),
        (shape, "the plan is for 2 outputs, and is run on 1", from, &[to]),
        (shape, "the plan is for 2 outputs, and is run on 3", from, &[to, at(16), at(32)]),
        (TRUNDLE_ERROR_NULL_POINTER, "data is a null", null(), &[to, at(16)]),
        (TRUNDLE_ERROR_NULL_POINTER, "outputs[1]: out is a null", from, &[to, null_mut()]),
        (TRUNDLE_ERROR_MISALIGNED, "outputs[0]: out is 0x", from, &[at(2), at(20)]),
        (TRUNDLE_ERROR_OVERLAP, "overlaps data at 0x", from, &[to, read]),
        (TRUNDLE_ERROR_OVERLAP, "outputs[1]: out at 0x", from, &[to, at(12)]),
        (TRUNDLE_ERROR_OVERLAP, "outputs[0]: out at 0x", from, &[at(12), to]),
    ] {
        assert_eq!(plan.run_outputs(from, outputs), status, "{words}: {}", last_message());
        assert!(last_message().contains(words), "{words}: {}", last_message());
    }
    assert_eq!(plan.run(from, to), shape);
    assert_eq!(last_message(), "the plan is for 2 outputs, and is run on 1");
    assert_eq!(plan.run_inputs(&[from; 2], to), shape);
    assert_eq!(last_message(), "the plan is for 1 input, and is run on 2");
    let list = [to, at(16)];
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    let listed = |plan, list, count| unsafe { trundle_plan_run_outputs(plan, from, list, count) };
    assert_eq!(listed(null(), list.as_ptr(), 2), TRUNDLE_ERROR_NULL_POINTER);
    assert_eq!(listed(plan.0, null(), 2), TRUNDLE_ERROR_NULL_POINTER);
    let odd = list.as_ptr().wrapping_byte_add(1);
    assert_eq!(listed(plan.0, odd, 2), TRUNDLE_ERROR_MISALIGNED);
    assert_eq!(listed(plan.0, list.as_ptr(), 65537), TRUNDLE_ERROR_RANK);
    out.assert_untouched();
    // The list is in the memory of an output.
    let mut own = Guarded::of(&[0; 64]);
    let within = own.at(32).cast::<*mut c_void>();
    let list = [own.at(0), own.at(24)];
    // SAFETY: the buffer has room for two pointers.
    unsafe { within.cast::<[*mut c_void; 2]>().write(list) };
    assert_eq!(listed(plan.0, within, 2), TRUNDLE_ERROR_OVERLAP);
    assert!(last_message().contains("outputs[1]: out at 0x"), "{}", last_message());
    assert!(last_message().contains("overlaps outputs at 0x"), "{}", last_message());
    // SAFETY: as above.
    assert_eq!(unsafe { within.cast::<[*mut c_void; 2]>().read() }, list);
}

#[test]
fn what_is_no_split_is_not_planned() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 4]);
    let (half, column) = (packed(TRUNDLE_DTYPE_U32, &[2, 2]), packed(TRUNDLE_DTYPE_U32, &[2, 1]));
    let ints = packed(TRUNDLE_DTYPE_I32, &[2, 2]);
    let folded = strided(TRUNDLE_DTYPE_U32, &[2, 2], &[1, 1]);
    let mut kept = std::ptr::without_provenance_mut(8);
    let plan = &raw mut kept;
    let split = |outs: &[trundle_tensor_desc], axis| {
        // SAFETY: invalid pointers are rejected before they are dereferenced.
        unsafe { trundle_split_plan(&desc, outs.as_ptr(), outs.len(), axis, plan) }
    };
    for (status, words, outs, axis) in [
        (TRUNDLE_ERROR_NUMBER, "the number of parts 0", &[][..], 1),
        (TRUNDLE_ERROR_AXIS, "axis 2 is out of range", &[half; 2], 2),
        (TRUNDLE_ERROR_SHAPE, "must have equal sizes, got 3 and 4", &[half, column], 1),
        (TRUNDLE_ERROR_SHAPE, "outputs[0]: out must have shape [2, 4]", &[half; 2], 0),
        (TRUNDLE_ERROR_DTYPE, "outputs[1]: out must have element type u32", &[half, ints], 1),
        (TRUNDLE_ERROR_SELF_OVERLAP, "outputs[1]: ", &[half, folded], 1),
    ] {
        assert_eq!(split(outs, axis), status, "{words}: {}", last_message());
        assert!(last_message().contains(words), "{words}: {}", last_message());
    }
    let (null_pointer, two) = (TRUNDLE_ERROR_NULL_POINTER, [half; 2]);
    // SAFETY: as above.
    unsafe {
        assert_eq!(trundle_split_plan(null(), two.as_ptr(), 2, 1, plan), null_pointer);
        assert_eq!(trundle_split_plan(&desc, null(), 2, 1, plan), null_pointer);
        assert_eq!(trundle_split_plan(&desc, two.as_ptr(), 2, 1, null_mut()), null_pointer);
        assert_eq!(trundle_split_plan(&desc, null(), 65537, 1, plan), TRUNDLE_ERROR_RANK);
    }
    assert_eq!(kept.addr(), 8);
}
