use std::ffi::c_char;
use std::ptr::{null, null_mut, without_provenance_mut};

use super::*;

/// The status and the message for a chain of u8.
fn planned(chain: &CStr, sizes: &[u64], out_sizes: &[u64]) -> (trundle_status, String) {
    let mut plan = null_mut();
    let (from, to) = (packed(TRUNDLE_DTYPE_U8, sizes), packed(TRUNDLE_DTYPE_U8, out_sizes));
    // SAFETY: every pointer is valid for its description.
    let status = unsafe { trundle_chain_plan(chain.as_ptr(), &from, &to, &mut plan) };
    assert_eq!(status == TRUNDLE_OK, !plan.is_null());
    // SAFETY: no thread is running the plan.
    unsafe { trundle_plan_free(plan) };
    (status, if status == TRUNDLE_OK { String::new() } else { last_message() })
}

fn out_sizes(chain: &CStr, sizes: &[u64]) -> Vec<u64> {
    let (desc, mut rank) = (packed(TRUNDLE_DTYPE_F32, sizes), 0);
    let mut found = vec![u64::MAX; 8];
    // SAFETY: every pointer is valid for its description.
    unsafe {
        assert_ok(trundle_chain_out_sizes(chain.as_ptr(), &desc, null_mut(), 0, &mut rank));
        let (first, capacity) = (found.as_mut_ptr(), rank);
        assert_ok(trundle_chain_out_sizes(chain.as_ptr(), &desc, first, capacity, &mut rank));
        assert_eq!(rank, capacity);
    }
    assert!(found[rank as usize..].iter().all(|size| *size == u64::MAX));
    found.truncate(rank as usize);
    found
}

#[test]
fn a_chain_is_planned_and_run() {
    let mut data = Guarded::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let mut out = Guarded::new(12);
    let (from, to) = (packed(TRUNDLE_DTYPE_U8, &[2, 2, 3]), packed(TRUNDLE_DTYPE_U8, &[3, 2, 2]));
    let mut text = c"flip(axes=[2]) | h w c -> c h w".to_owned().into_bytes_with_nul();
    let mut plan = null_mut();
    // SAFETY: every pointer is valid for its description.
    unsafe {
        assert_ok(trundle_chain_plan(text.as_ptr().cast(), &from, &to, &mut plan));
        // The plan no longer needs the text.
        text.fill(b'x');
        assert_ok(trundle_plan_run(plan, data.start(), out.start()));
        trundle_plan_free(plan);
    }
    out.assert_is(&[3, 6, 9, 12, 2, 5, 8, 11, 1, 4, 7, 10]);
}

#[test]
fn several_threads_run_a_chain_of_several_passes() {
    let text = c"reverse(axis=0, batch_axis=1, lengths=[2, 3]) | \
                 reverse(axis=0, batch_axis=1, lengths=[3, 2]) | \
                 reverse(axis=0, batch_axis=1, lengths=[2, 3])";
    let desc = packed(TRUNDLE_DTYPE_U8, &[3, 2]);
    let mut plan = null_mut();
    // SAFETY: every pointer is valid for its description.
    assert_ok(unsafe { trundle_chain_plan(text.as_ptr(), &desc, &desc, &mut plan) });
    // SAFETY: the plan was made.
    let shared = unsafe { &*plan };
    assert_eq!(shared.chain().passes().len(), 3);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                let rows = [1, 10, 2, 20, 3, 30].map(|number| number + thread);
                for _ in 0..200 {
                    let mut out = [0u8; 6];
                    let (data, to) = (rows.as_ptr().cast(), out.as_mut_ptr().cast());
                    // SAFETY: both buffers fit the plan's descriptions.
                    assert_ok(unsafe { trundle_plan_run(shared, data, to) });
                    assert_eq!(out, [1, 10, 3, 30, 2, 20].map(|number| number + thread));
                }
            });
        }
    });
    // SAFETY: no thread is running the plan.
    unsafe { trundle_plan_free(plan) };
}

#[test]
fn output_sizes_of_a_chain_are_returned() {
    assert_eq!(out_sizes(c"h w c -> c h w", &[4, 6, 3]), [3, 4, 6]);
    assert_eq!(out_sizes(c"(h p) (w q) c -> (h w) (p q c), p=2, q=3", &[4, 6, 3]), [4, 18]);
    assert_eq!(out_sizes(c"tile(2, 1) | reshape(-1)", &[4, 6]), [48]);
    assert_eq!(out_sizes(c"slice(starts=[3], stops=[3], axes=[0])", &[4, 6]), [0, 6]);
    assert!(out_sizes(c"reshape()", &[1, 1]).is_empty());
    assert_eq!(out_sizes(c"a -> 1 a 1 1 1 1 1 1", &[5]), [1, 5, 1, 1, 1, 1, 1, 1]);
    // No element is moved, so the sizes may exceed any memory.
    assert_eq!(out_sizes(c"a b -> (b a)", &[1 << 30, 1 << 30]), [1 << 60]);
}

#[test]
fn invalid_chains_are_shown_with_carets() {
    for (text, message) in [
        (
            c"flip(axes=[2]) | tanspose(2,0,1)",
            "unknown stage \"tanspose\"\n  flip(axes=[2]) | tanspose(2,0,1)\n  \
             \u{20}                ^^^^^^^^\n  did you mean \"transpose\"?",
        ),
        (
            c"reverse(axis=1, lengths=lens.npy)",
            "lengths in \"lens.npy\": chains do not read files here\n  reverse(axis=1, lengths=lens.npy)\n  \
             \u{20}                       ^^^^^^^^\n  write a list such as lengths=[2, 4, 3]",
        ),
        (c"flip(0) \xff\xff", "chain is not UTF-8: only the first 8 of its 10 bytes are valid"),
    ] {
        assert_eq!(planned(text, &[2, 3], &[2, 3]), (TRUNDLE_ERROR_CHAIN, message.to_owned()));
        let (desc, mut rank) = (packed(TRUNDLE_DTYPE_U8, &[2, 3]), 7);
        // SAFETY: every pointer is valid for its description.
        let refused =
            unsafe { trundle_chain_out_sizes(text.as_ptr(), &desc, null_mut(), 0, &mut rank) };
        assert_eq!((refused, last_message(), rank), (TRUNDLE_ERROR_CHAIN, message.to_owned(), 7));
    }
    for text in [c"", c" \n", c"|", c"flip(0) |", c"(((((((", c"a -> b", c"\x01", c"\xe2\x86"] {
        assert_eq!(planned(text, &[2, 3], &[2, 3]).0, TRUNDLE_ERROR_CHAIN, "{text:?}");
    }
}

#[test]
fn a_stage_that_does_not_fit_is_shown_in_the_chain() {
    let (status, message) = planned(c"h w -> w h | flip(2)", &[2, 3], &[3, 2]);
    assert_eq!(status, TRUNDLE_ERROR_AXIS);
    let shown = "stage 2 does not fit shape [3, 2]: axis 2 is out of range for rank 2: expected \
                 -2..=1\n  h w -> w h | flip(2)\n  \u{20}            ^^^^^^^";
    assert_eq!(message, shown);
    for (text, expected, words) in [
        (c"transpose(0, 0)", TRUNDLE_ERROR_AXIS, "order has axis 0 twice"),
        (c"h w c -> c h w", TRUNDLE_ERROR_SHAPE, "the pattern is for 3 axes"),
        (c"(h p) w -> h p w, p=4", TRUNDLE_ERROR_SHAPE, "does not split into p = 4"),
        (c"reshape(4)", TRUNDLE_ERROR_SHAPE, "have 4 elements, but shape [2, 3] has 6"),
        (c"broadcast(4, 3)", TRUNDLE_ERROR_SHAPE, "cannot be broadcast to [4, 3]"),
        (c"roll(shift=[1, 2], axes=[0])", TRUNDLE_ERROR_SHAPE, "must have the same length"),
        (
            c"slice(starts=[0], stops=[0], axes=[0]) | pad([[1, 0], [0, 0]], wrap)",
            TRUNDLE_ERROR_SHAPE,
            "axis 0 has no elements",
        ),
        (c"reverse(axis=0, batch_axis=1, lengths=[1, 2, 3])", TRUNDLE_ERROR_LENGTH, "length 3 at"),
        (c"reshape(-2, 3)", TRUNDLE_ERROR_NUMBER, "size -2 is out of range"),
        (c"tile(9223372036854775807, 2)", TRUNDLE_ERROR_TOO_LARGE, "too large to be addressed"),
    ] {
        let (status, message) = planned(text, &[2, 3], &[2, 3]);
        assert_eq!(status, expected, "{text:?}: {message}");
        assert!(message.contains(words) && message.contains('^'), "{text:?}: {message}");
        let desc = packed(TRUNDLE_DTYPE_U8, &[2, 3]);
        let (mut sizes, mut rank) = ([7; 4], 7);
        // SAFETY: every pointer is valid for its description.
        let refused = unsafe {
            trundle_chain_out_sizes(text.as_ptr(), &desc, sizes.as_mut_ptr(), 4, &mut rank)
        };
        assert_eq!((refused, last_message()), (expected, message));
        assert_eq!((sizes, rank), ([7; 4], 7));
    }
}

#[test]
fn tensors_that_do_not_fit_a_chain_are_refused() {
    let (status, message) = planned(c"h w -> w h", &[2, 3], &[2, 3]);
    assert_eq!(
        (status, &*message),
        (TRUNDLE_ERROR_SHAPE, "out must have shape [3, 2], got [2, 3]")
    );
    let twice = c"reverse(axis=0, batch_axis=1, lengths=[1, 2, 1]) | \
                  reverse(axis=0, batch_axis=1, lengths=[2, 1, 2]) | h w -> w h";
    let (status, message) = planned(twice, &[2, 3], &[2, 3]);
    assert_eq!(
        (status, &*message),
        (TRUNDLE_ERROR_SHAPE, "out must have shape [3, 2], got [2, 3]")
    );
}

#[test]
fn pointer_arguments_of_chains_are_checked() {
    let desc = packed(TRUNDLE_DTYPE_U8, &[2, 3]);
    let other = packed(TRUNDLE_DTYPE_I8, &[2, 3]);
    let folded = strided(TRUNDLE_DTYPE_U8, &[2, 3], &[0, 1]);
    let lying = trundle_tensor_desc { rank: 257, ..desc };
    let mut kept = without_provenance_mut(8);
    let (plan, text) = (&raw mut kept, c"flip(0)".as_ptr());
    let (mut sizes, mut rank) = ([7u64; 2], 7u32);
    let (first, rank_at) = (sizes.as_mut_ptr(), &raw mut rank);
    let odd = first.wrapping_byte_add(1);
    let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        let refused = |status, words: &str, got| {
            assert_refused(got, status, words);
        };
        let plan_of = trundle_chain_plan;
        refused(null_pointer, "plan is a null", plan_of(text, &desc, &desc, null_mut()));
        refused(null_pointer, "chain is a null", plan_of(null(), &desc, &desc, plan));
        refused(null_pointer, "data_desc is a null", plan_of(text, null(), &desc, plan));
        refused(null_pointer, "out_desc is a null", plan_of(text, &desc, null(), plan));
        refused(TRUNDLE_ERROR_RANK, "out_desc has rank 257", plan_of(text, &desc, &lying, plan));
        refused(TRUNDLE_ERROR_DTYPE, "out must have", plan_of(text, &desc, &other, plan));
        refused(TRUNDLE_ERROR_SELF_OVERLAP, "twice", plan_of(text, &desc, &folded, plan));

        let sizes_of = trundle_chain_out_sizes;
        refused(null_pointer, "rank is a null", sizes_of(text, &desc, first, 2, null_mut()));
        refused(null_pointer, "chain is a null", sizes_of(null(), &desc, first, 2, rank_at));
        refused(null_pointer, "data_desc is a null", sizes_of(text, null(), first, 2, rank_at));
        refused(null_pointer, "sizes is a null", sizes_of(text, &desc, null_mut(), 2, rank_at));
        refused(TRUNDLE_ERROR_MISALIGNED, "sizes is 0x", sizes_of(text, &desc, odd, 2, rank_at));
        let words = "sizes has room for 1, but 2 are needed";
        refused(TRUNDLE_ERROR_BUFFER_SIZE, words, sizes_of(text, &desc, first, 1, rank_at));
    }
    assert_eq!((kept.addr(), sizes, rank), (8, [7; 2], 7));
}

fn assembled(
    chain: &CStr,
    inputs: &[(&CStr, &[u64], &[u8])],
    out_sizes: &[u64],
) -> Result<Vec<u8>, String> {
    let names: Vec<*const c_char> = inputs.iter().map(|(name, ..)| name.as_ptr()).collect();
    let descs: Vec<trundle_tensor_desc> =
        inputs.iter().map(|(_, sizes, _)| packed(TRUNDLE_DTYPE_U8, sizes)).collect();
    let data: Vec<*const c_void> = inputs.iter().map(|(.., bytes)| bytes.as_ptr().cast()).collect();
    let (to, mut plan) = (packed(TRUNDLE_DTYPE_U8, out_sizes), null_mut());
    let count = inputs.len();
    let (text, names, descs) = (chain.as_ptr(), names.as_ptr(), descs.as_ptr());
    let mut out = vec![0; out_sizes.iter().product::<u64>() as usize];
    let (mut rank, mut sizes) = (0, [0; 8]);
    // SAFETY: every pointer is valid for its description.
    unsafe {
        if trundle_chain_plan_inputs(text, names, descs, count, &to, &mut plan) != TRUNDLE_OK {
            return Err(last_message());
        }
        let (first, room) = (sizes.as_mut_ptr(), 8);
        assert_ok(trundle_chain_out_sizes_inputs(
            text, names, descs, count, first, room, &mut rank,
        ));
        assert_ok(trundle_plan_run_inputs(plan, data.as_ptr(), count, out.as_mut_ptr().cast()));
        trundle_plan_free(plan);
    }
    assert_eq!(sizes[..rank as usize], *out_sizes);
    Ok(out)
}

#[test]
fn a_chain_takes_several_tensors_by_their_names() {
    let (a, b): (&[u8], &[u8]) = (&[1, 2, 3, 4], &[5, 6]);
    let run = |chain: &CStr, out_sizes: &[u64]| {
        assembled(chain, &[(c"b", &[1, 2], b), (c"_", &[2, 2], a)], out_sizes)
    };
    assert_eq!(run(c"concat(_, b) | x y -> y x", &[2, 3]).unwrap(), [1, 3, 5, 2, 4, 6]);
    let around = run(c"concat(b, _, b) | pad([[0, 0], [1, 0]], value=9)", &[4, 3]);
    assert_eq!(around.unwrap(), [9, 5, 6, 9, 1, 2, 9, 3, 4, 9, 5, 6]);
    let only = assembled(c"stack(c, c, axis=1)", &[(c"c", &[2], &[7, 8])], &[2, 2]);
    assert_eq!(only.unwrap(), [7, 7, 8, 8]);
    assert_eq!(
        run(c"concat(_, c)", &[3, 2]).unwrap_err(),
        "the chain takes c, which is not one of the inputs"
    );
    assert_eq!(run(c"flip(0)", &[2, 2]).unwrap_err(), "the chain takes no \"b\"");
    let twice = [(c"a", &[2][..], &[1, 2][..]), (c"a", &[2], &[3, 4])];
    let twice = assembled(c"concat(a)", &twice, &[2]);
    assert_eq!(twice.unwrap_err(), "two of the inputs are called \"a\"");
    let sizes = run(c"concat(_, b, axis=1)", &[2, 3]).unwrap_err();
    assert!(sizes.starts_with("stage 1 does not fit shape [2, 2]"), "{sizes}");
    assert!(run(c"concat(_, b)", &[2, 3]).unwrap_err().starts_with("out must have shape [3, 2]"));
}

#[test]
fn a_chain_writes_one_tensor_into_another() {
    let (a, b): (&[u8], &[u8]) = (&[1, 2, 3, 4, 5, 6], &[7, 8]);
    let run = |chain: &CStr, sizes: &[u64]| {
        assembled(chain, &[(c"_", &[2, 3], a), (c"b", sizes, b)], &[2, 3])
    };
    let sliced = c"slice_scatter(_, b, starts=[0], stops=[3], axes=[1], steps=[2]) | flip(0)";
    assert!(
        run(sliced, &[1, 2]).unwrap_err().contains("updates must have shape [2, 2], got [1, 2]")
    );
    let column = c"slice_scatter(_, b, starts=-1, stops=3, axes=1) | flip(0)";
    assert_eq!(run(column, &[2, 1]).unwrap(), [4, 5, 8, 1, 2, 7]);
    let row = assembled(
        c"scatter_nd(rows, _, indices=[-1])",
        &[(c"rows", &[3, 2], a), (c"_", &[2], b)],
        &[3, 2],
    );
    assert_eq!(row.unwrap(), [1, 2, 3, 4, 7, 8]);
    let along = c"put_along_axis(_, b, indices=[4, 4], axis=0)";
    let run = |chain| assembled(chain, &[(c"_", &[6], a), (c"b", &[2], b)], &[6]);
    assert_eq!(run(along).unwrap(), [1, 2, 3, 4, 8, 6]);
    let beyond = run(c"put_along_axis(_, b, indices=[0, 6], axis=0)").unwrap_err();
    assert!(beyond.contains("index 6 at [1] is out of range for an axis of size 6"), "{beyond}");
}

#[test]
fn a_chain_pads_a_tensor_with_a_constant() {
    let (from, to) = (packed(TRUNDLE_DTYPE_U4, &[3]), packed(TRUNDLE_DTYPE_U4, &[5]));
    let (data, mut out, mut plan) = ([0x21u8, 0x03], [0u8; 3], null_mut());
    // SAFETY: every pointer is valid for its description.
    unsafe {
        let chain = c"pad(1, value=15)".as_ptr();
        assert_ok(trundle_chain_plan(chain, &from, &to, &mut plan));
        assert_ok(trundle_plan_run(plan, data.as_ptr().cast(), out.as_mut_ptr().cast()));
        trundle_plan_free(plan);
    }
    assert_eq!(out, [0x1f, 0x32, 0x0f]);
    let (status, message) = planned(c"concat(_, b)", &[2], &[4]);
    assert_eq!(status, TRUNDLE_ERROR_CHAIN);
    assert_eq!(message, "the chain takes b, which is not one of the inputs");
    let (_, message) = planned(c"pad(1, value=256)", &[2], &[4]);
    assert!(message.contains("256 is not an element of type u8"), "{message}");
    assert_eq!(out_sizes(c"pad([1, 2])", &[2, 3]), [5, 6]);
}
