//! Plans of gathers and scatters along an axis or at indices of several axes.

use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance};

use super::plans::Owned;
use super::*;

/// Plans a scatter to rows of a matrix.
fn scattering(
    desc: &trundle_tensor_desc,
    rows: &[i64],
    part: &trundle_tensor_desc,
    out: &trundle_tensor_desc,
) -> Owned {
    let sizes = [rows.len() as u64, 1];
    let at = packed(TRUNDLE_DTYPE_I64, &sizes);
    // SAFETY: every pointer is valid for its description.
    Owned::new(|plan| unsafe {
        trundle_scatter_nd_plan(desc, &at, rows.as_ptr().cast(), part, out, plan)
    })
}

#[test]
fn indices_are_read_when_a_plan_is_made() {
    let desc = packed(TRUNDLE_DTYPE_U16, &[2, 3]);
    let (along, pairs) = (packed(TRUNDLE_DTYPE_I32, &[2, 2]), packed(TRUNDLE_DTYPE_I64, &[3, 2]));
    let (square, row) = (packed(TRUNDLE_DTYPE_U16, &[2, 2]), packed(TRUNDLE_DTYPE_U16, &[3]));
    let mut each = [2i32, -3, 0, 1];
    let mut both = [0i64, 2, -1, -1, 1, 0];
    let (each_at, both_at) = (each.as_ptr().cast(), both.as_ptr().cast());
    // SAFETY: every pointer is valid for its description.
    let [elements, nd, put_elements, put_nd] = unsafe {
        [
            Owned::new(|plan| {
                trundle_gather_elements_plan(&desc, &along, each_at, -1, &square, plan)
            }),
            Owned::new(|plan| trundle_gather_nd_plan(&desc, &pairs, both_at, 0, &row, plan)),
            Owned::new(|plan| {
                trundle_scatter_elements_plan(&desc, &along, each_at, &square, 1, &desc, plan)
            }),
            Owned::new(|plan| trundle_scatter_nd_plan(&desc, &pairs, both_at, &row, &desc, plan)),
        ]
    };
    each.fill(99);
    both.fill(99);
    assert_eq!((each, both), ([99; 4], [99; 6]));

    let mut data = Guarded::of(&bytes!(u16: 1, 2, 3, 4, 5, 6));
    let mut updates = Guarded::of(&bytes!(u16: 7, 8, 9, 10));
    let mut out = Guarded::new(8);
    assert_ok(elements.run(data.start(), out.start()));
    out.assert_is(&bytes!(u16: 3, 1, 4, 5));
    assert!(elements.words().starts_with("1 move, 8 bytes\nfrom input 0 to output 0: "));
    let mut out = Guarded::new(6);
    assert_ok(nd.run_inputs(&[data.start()], out.start()));
    out.assert_is(&bytes!(u16: 3, 6, 4));
    assert!(nd.words().starts_with("1 move, 6 bytes\nfrom input 0 to output 0: "));

    let mut out = Guarded::new(12);
    let inputs = [data.start().cast_const(), updates.start()];
    assert_ok(put_elements.run_inputs(&inputs, out.start()));
    out.assert_is(&bytes!(u16: 8, 2, 7, 9, 10, 6));
    let words = put_elements.words();
    assert!(words.starts_with("from input 0 to output 0: 1 pass over memory\n"), "{words}");
    assert!(
        words.ends_with("\nfrom input 1 to output 0: 4 x 2 bytes, each to its place"),
        "{words}"
    );
    assert_ok(put_nd.run_inputs(&inputs, out.start()));
    out.assert_is(&bytes!(u16: 1, 2, 7, 9, 5, 8));
    assert!(put_nd.words().contains("from input 1 to output 0: 3 x 2 bytes"));
}

#[test]
fn rows_are_put_between_gaps_again_and_again() {
    let (sizes, part_sizes) = ([3, 3], [2, 3]);
    let (spread, turned) = ([4, 1], [1, 2]);
    let desc = packed(TRUNDLE_DTYPE_U8, &sizes);
    let out_desc = strided(TRUNDLE_DTYPE_U8, &sizes, &spread);
    let rows = packed(TRUNDLE_DTYPE_U8, &part_sizes);
    let plan = scattering(&desc, &[-1, 0], &rows, &out_desc);
    assert!(plan.words().contains(": 2 x 3 bytes, each to its place"), "{}", plan.words());
    let (mut data, mut updates) = (Guarded::of(b"abcdefghi"), Guarded::of(b"uvwxyz"));
    let mut out = Guarded::of(b"...........");
    for _ in 0..2 {
        assert_ok(plan.run_inputs(&[data.start().cast_const(), updates.start()], out.start()));
        out.assert_is(b"xyz.def.uvw");
        out.content_mut().fill(b'.');
    }
    // Updates with transposed strides.
    let columns = strided(TRUNDLE_DTYPE_U8, &part_sizes, &turned);
    let plan = scattering(&desc, &[-1, 0], &columns, &out_desc);
    assert!(plan.words().contains(": 6 x 1 bytes, each to its place"), "{}", plan.words());
    assert_ok(plan.run_inputs(&[data.start().cast_const(), updates.start()], out.start()));
    out.assert_is(b"vxz.def.uwy");
    // Elements that share bytes need a table with an entry for each element.
    let nibbles = packed(TRUNDLE_DTYPE_U4, &sizes);
    let part = packed(TRUNDLE_DTYPE_U4, &part_sizes);
    let plan = scattering(&nibbles, &[1, 2], &part, &nibbles);
    let (mut data, mut updates) =
        (Guarded::of(&[0x21, 0x43, 0x65, 0x87, 0x09]), Guarded::of(&[0xba, 0xdc, 0xfe]));
    let mut out = Guarded::of(&[0x11, 0x11, 0x11, 0x11, 0x11]);
    assert_ok(plan.run_inputs(&[data.start().cast_const(), updates.start()], out.start()));
    out.assert_is(&[0x21, 0xa3, 0xcb, 0xed, 0x1f]);
}

#[test]
fn what_a_scatter_is_run_on_is_checked_each_time() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 2]);
    let (sizes, apart) = ([2, 2], [3, 1]);
    let gaps = strided(TRUNDLE_DTYPE_U32, &sizes, &apart);
    let part = packed(TRUNDLE_DTYPE_U32, &[1, 2]);
    for out_desc in [desc, gaps] {
        let plan = scattering(&desc, &[1], &part, &out_desc);
        let (mut data, mut updates, mut out) =
            (Guarded::new(16), Guarded::new(8), Guarded::new(48));
        let (from, new, to) =
            (data.start().cast_const(), updates.start().cast_const(), out.start());
        let odd = updates.at(2).cast_const();
        let within = to.wrapping_byte_add(12).cast_const();
        for (status, words, inputs, to) in [
            (TRUNDLE_ERROR_SHAPE, "the plan is for 2 inputs, and is run on 1", &[from][..], to),
            (TRUNDLE_ERROR_SHAPE, "the plan is for 2 inputs, and is run on 0", &[], to),
            (TRUNDLE_ERROR_SHAPE, "2 inputs, and is run on 3", &[from, new, new], to),
            (TRUNDLE_ERROR_NULL_POINTER, "inputs[0]: data is a null", &[null(), new], to),
            (TRUNDLE_ERROR_NULL_POINTER, "inputs[1]: updates is a null", &[from, null()], to),
            (TRUNDLE_ERROR_NULL_POINTER, "out is a null", &[from, new], null_mut()),
            (TRUNDLE_ERROR_MISALIGNED, "inputs[1]: updates is 0x", &[from, odd], to),
            (TRUNDLE_ERROR_OVERLAP, "overlaps data at 0x", &[within, new], to),
            (TRUNDLE_ERROR_OVERLAP, "overlaps updates at 0x", &[from, within], to),
        ] {
            assert_eq!(plan.run_inputs(inputs, to), status, "{words}: {}", last_message());
            assert!(last_message().contains(words), "{words}: {}", last_message());
        }
        assert_eq!(plan.run(from, to), TRUNDLE_ERROR_SHAPE);
        assert_eq!(plan.run_outputs(from, &[to]), TRUNDLE_ERROR_SHAPE);
        assert!(last_message().contains("for 2 inputs, and is run on 1"), "{}", last_message());
        out.assert_untouched();
        // Both inputs may share memory.
        let plan = scattering(&desc, &[-2], &part, &out_desc);
        assert_ok(plan.run_inputs(&[from, from], to));
    }
}

#[test]
fn what_cannot_be_planned_is_refused_with_its_numbers() {
    let desc = packed(TRUNDLE_DTYPE_U32, &[2, 3]);
    let (square, row) = (packed(TRUNDLE_DTYPE_U32, &[2, 2]), packed(TRUNDLE_DTYPE_U32, &[2]));
    let at = packed(TRUNDLE_DTYPE_I64, &[2, 2]);
    let folded = strided(TRUNDLE_DTYPE_U32, &[2, 3], &[0, 1]);
    let nowhere: *const c_void = without_provenance(8);
    let (good, wrong) = ([0i64; 4], [0i64, 1, 1, 3]);
    let (good, wrong) = (good.as_ptr().cast(), wrong.as_ptr().cast());
    let mut kept = std::ptr::without_provenance_mut(8);
    let plan = &raw mut kept;
    let (axis, shape, index) = (TRUNDLE_ERROR_AXIS, TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_INDEX);
    let (number, dtype) = (TRUNDLE_ERROR_NUMBER, TRUNDLE_ERROR_DTYPE);
    let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        let elements = |indices, axis, out: &trundle_tensor_desc| {
            trundle_gather_elements_plan(&desc, &at, indices, axis, out, plan)
        };
        let nd = |indices, batch, out: &trundle_tensor_desc| {
            trundle_gather_nd_plan(&desc, &at, indices, batch, out, plan)
        };
        let put_elements = |indices, new: &trundle_tensor_desc, axis, out: &trundle_tensor_desc| {
            trundle_scatter_elements_plan(&desc, &at, indices, new, axis, out, plan)
        };
        let put_nd = |indices, new: &trundle_tensor_desc, out: &trundle_tensor_desc| {
            trundle_scatter_nd_plan(&desc, &at, indices, new, out, plan)
        };
        let untyped = |data: *const trundle_tensor_desc, out: *mut *mut trundle_plan| {
            trundle_scatter_nd_plan(data, &at, good, &row, &desc, out)
        };
        for (status, words, refused) in [
            (axis, "axis 2 is out of range for rank 2", &|| elements(nowhere, 2, &square)),
            (shape, "out must have shape [2, 2], got [2, 3]", &|| elements(nowhere, 1, &desc)),
            (null_pointer, "indices is a null", &|| elements(null(), 1, &square)),
            (index, "index 3 at [1, 1] is out of range", &|| elements(wrong, 1, &square)),
            (number, "the size of the last axis of the indices 2", &|| nd(nowhere, 1, &row)),
            (shape, "out must have shape [2], got [2, 2]", &|| nd(nowhere, 0, &square)),
            (null_pointer, "indices is a null", &|| nd(null(), 0, &row)),
            (index, "index 3 at [1, 1] is out of range", &|| nd(wrong, 0, &row)),
            (axis, "axis -3 is out of range", &|| put_elements(nowhere, &square, -3, &desc)),
            (shape, "updates must have shape [2, 2], got [2]", &|| {
                put_elements(nowhere, &row, 1, &desc)
            }),
            (dtype, "updates must have element type u32, got i64", &|| {
                put_elements(nowhere, &at, 1, &desc)
            }),
            (shape, "out must have shape [2, 3], got [2, 2]", &|| {
                put_elements(nowhere, &square, 1, &square)
            }),
            (null_pointer, "indices is a null", &|| put_elements(null(), &square, 1, &desc)),
            (index, "index 3 at [1, 1]", &|| put_elements(wrong, &square, 1, &desc)),
            (TRUNDLE_ERROR_SELF_OVERLAP, "would write some byte twice", &|| {
                put_elements(good, &square, 1, &folded)
            }),
            (shape, "updates must have shape [2], got [2, 2]", &|| put_nd(nowhere, &square, &desc)),
            (null_pointer, "indices is a null", &|| put_nd(null(), &row, &desc)),
            (index, "index 3 at [1, 1] is out of range", &|| put_nd(wrong, &row, &desc)),
            (TRUNDLE_ERROR_SELF_OVERLAP, "would write some byte twice", &|| {
                put_nd(good, &row, &folded)
            }),
            (null_pointer, "data_desc is a null", &|| untyped(null(), plan)),
            (null_pointer, "plan is a null", &|| untyped(&raw const desc, null_mut())),
        ] as [(_, _, &dyn Fn() -> _); 21]
        {
            assert_eq!(refused(), status, "{words}: {}", last_message());
            assert!(last_message().contains(words), "{words}: {}", last_message());
        }
        let refused = trundle_gather_elements_plan(&desc, &square, nowhere, 1, &square, plan);
        assert_eq!(refused, dtype);
        assert_eq!(trundle_gather_nd_plan(&desc, &square, nowhere, 0, &row, plan), dtype);
        assert_eq!(trundle_scatter_nd_plan(&desc, &square, nowhere, &row, &desc, plan), dtype);
    }
    assert_eq!(kept.addr(), 8);
}

#[test]
fn what_has_no_elements_is_planned_without_memory() {
    let (data, at) = (packed(TRUNDLE_DTYPE_F32, &[3, 0]), packed(TRUNDLE_DTYPE_I64, &[2, 1]));
    let out = packed(TRUNDLE_DTYPE_F32, &[2, 0]);
    let indices = [i64::MAX; 2];
    // SAFETY: every pointer is valid for its description.
    let plan = Owned::new(|plan| unsafe {
        trundle_gather_nd_plan(&data, &at, indices.as_ptr().cast(), 0, &out, plan)
    });
    assert_ok(plan.run(null(), null_mut()));
    let along = packed(TRUNDLE_DTYPE_I64, &[0, 0]);
    let nothing = packed(TRUNDLE_DTYPE_F32, &[0, 0]);
    // SAFETY: as above.
    let plan = Owned::new(|plan| unsafe {
        trundle_gather_elements_plan(&data, &along, null(), 1, &nothing, plan)
    });
    assert_ok(plan.run(null(), null_mut()));
    assert_eq!(plan.words(), "0 moves, 0 bytes");
    // Without updates the output is a copy of the data.
    let (desc, none) = (packed(TRUNDLE_DTYPE_U16, &[2, 2]), packed(TRUNDLE_DTYPE_U16, &[0, 2]));
    let plan = scattering(&desc, &[], &none, &desc);
    let (mut from, mut to) = (Guarded::of(&bytes!(u16: 1, 2, 3, 4)), Guarded::new(8));
    assert_ok(plan.run_inputs(&[from.start().cast_const(), null()], to.start()));
    to.assert_is(&bytes!(u16: 1, 2, 3, 4));
}

#[test]
fn several_threads_run_one_plan_of_a_scatter() {
    let (sizes, part_sizes, turned) = ([50, 60], [20, 60], [1, 20]);
    let desc = packed(TRUNDLE_DTYPE_U32, &sizes);
    let part = strided(TRUNDLE_DTYPE_U32, &part_sizes, &turned);
    let rows: Vec<i64> = (0..20).map(|row| row * 7 % 50).collect();
    let plan = scattering(&desc, &rows, &part, &desc);
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (plan, rows) = (&plan, &rows);
            scope.spawn(move || {
                let data: Vec<u32> = (0..3000).map(|number| number + thread).collect();
                let updates: Vec<u32> = data[..1200].iter().map(|number| number + 7000).collect();
                let mut expected = data.clone();
                for (at, row) in rows.iter().enumerate() {
                    for column in 0..60 {
                        expected[*row as usize * 60 + column] = updates[column * 20 + at];
                    }
                }
                for _ in 0..50 {
                    let mut out = vec![0u32; 3000];
                    let inputs = [data.as_ptr().cast(), updates.as_ptr().cast()];
                    assert_ok(plan.run_inputs(&inputs, out.as_mut_ptr().cast()));
                    assert!(out == expected);
                }
            });
        }
    });
}
