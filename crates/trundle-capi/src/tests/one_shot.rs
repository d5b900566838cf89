//! A cached plan is used only if all arguments are equal, and all checks still run.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::*;

#[derive(Clone, Debug)]
struct Arguments {
    op: Op,
    dtype: [trundle_dtype; 2],
    sizes: [Vec<u64>; 2],
    strides: [Option<Vec<i64>>; 2],
}

#[derive(Clone, Debug)]
enum Op {
    Transpose(Vec<i64>),
    Roll(Vec<i64>, Vec<i64>),
    Flip(Vec<i64>),
}

impl Arguments {
    fn new(op: Op) -> Arguments {
        let square = vec![4, 4];
        let dtype = [TRUNDLE_DTYPE_U16; 2];
        Arguments { op, dtype, sizes: [square.clone(), square], strides: [None, None] }
    }

    fn descs(&self) -> [trundle_tensor_desc; 2] {
        [0, 1].map(|side| {
            let desc = packed(self.dtype[side], &self.sizes[side]);
            let strides = self.strides[side].as_deref();
            trundle_tensor_desc { strides_elems: strides.map_or(null(), <[_]>::as_ptr), ..desc }
        })
    }

    fn run(&self, data: *const c_void, out: *mut c_void) -> trundle_status {
        let [from, to] = self.descs();
        let (from, to) = (&raw const from, &raw const to);
        // SAFETY: every pointer is valid for its description, or the call rejects it.
        unsafe {
            match &self.op {
                Op::Transpose(order) => {
                    trundle_transpose(from, data, order.as_ptr(), order.len(), to, out)
                }
                Op::Roll(shift, axes) => {
                    let (shift, shifts) = (shift.as_ptr(), shift.len());
                    trundle_roll(from, data, shift, shifts, axes.as_ptr(), axes.len(), to, out)
                }
                Op::Flip(axes) => trundle_flip(from, data, axes.as_ptr(), axes.len(), to, out),
            }
        }
    }

    fn outcome(&self) -> (trundle_status, Vec<u8>) {
        let mut data = Guarded::of(&(0..=255).collect::<Vec<u8>>());
        let mut out = Guarded::new(256);
        let status = self.run(data.at(64), out.at(64));
        (status, out.content().to_vec())
    }
}

/// Calls that differ from each other in one argument; some are invalid.
fn calls() -> Vec<Arguments> {
    let lists: [&[i64]; 6] = [&[], &[0], &[1], &[-1], &[0, 1], &[1, 0]];
    let mut ops = Vec::new();
    for one in lists {
        ops.push(Op::Transpose(one.to_vec()));
        ops.push(Op::Flip(one.to_vec()));
        ops.extend(lists.map(|other| Op::Roll(one.to_vec(), other.to_vec())));
    }
    // Longer lists than the cache stores in a key.
    for last in [1, 2] {
        let mut shift = vec![0; 60];
        shift[59] = last;
        ops.push(Op::Roll(shift, vec![0; 60]));
    }
    let mut calls: Vec<Arguments> = ops.iter().cloned().map(Arguments::new).collect();
    let [turned, rolled, flipped] =
        [Op::Transpose(vec![1, 0]), Op::Roll(vec![1, 2], vec![0, 1]), Op::Flip(vec![1])];
    for op in [turned, rolled, flipped] {
        let call = Arguments::new(op);
        for dtype in [
            TRUNDLE_DTYPE_I16,
            TRUNDLE_DTYPE_F32,
            TRUNDLE_DTYPE_U8,
            TRUNDLE_DTYPE_BYTES + 2,
            TRUNDLE_DTYPE_BYTES + 3,
            TRUNDLE_DTYPE_U4,
            TRUNDLE_DTYPE_U4 + TRUNDLE_BIT_ORDER_HIGH_FIRST,
            0,
        ] {
            calls.push(Arguments { dtype: [dtype; 2], ..call.clone() });
            calls.push(Arguments { dtype: [TRUNDLE_DTYPE_U16, dtype], ..call.clone() });
        }
        for sizes in [&[4, 3][..], &[3, 4], &[2, 8], &[4], &[4, 4, 1], &[0, 4], &[1 << 63, 4]] {
            let sizes = sizes.to_vec();
            let back = sizes.iter().copied().rev().collect();
            calls.push(Arguments { sizes: [sizes.clone(), sizes.clone()], ..call.clone() });
            calls.push(Arguments { sizes: [sizes.clone(), back], ..call.clone() });
            calls.push(Arguments { sizes: [vec![4, 4], sizes], ..call.clone() });
        }
        for strides in [[4, 1], [1, 4], [5, 1], [-4, 1], [4, -1], [0, 1], [1, 1], [i64::MAX, 1]] {
            let strides = Some(strides.to_vec());
            calls.push(Arguments { strides: [strides.clone(), None], ..call.clone() });
            calls.push(Arguments { strides: [None, strides], ..call.clone() });
        }
    }
    calls
}

#[test]
fn cached_calls_agree_with_calls_in_new_threads() {
    let calls = calls();
    // A new thread has an empty cache.
    let alone = |call: &Arguments| {
        let thread = || (call.outcome(), last_message());
        std::thread::scope(|scope| scope.spawn(thread).join().unwrap())
    };
    let expected: Vec<_> = calls.iter().map(alone).collect();
    assert!(expected.iter().any(|((status, _), _)| *status != TRUNDLE_OK));
    let all = || calls.iter().zip(&expected);
    // Two neighbouring calls always fit the cache together. Then all calls in reverse order.
    let pairs = all().zip(all().skip(1)).flat_map(|(one, other)| [one, other, one, other]);
    for (call, (outcome, message)) in pairs.chain(all().rev()) {
        assert_eq!(call.outcome(), *outcome, "{call:?}");
        if outcome.0 != TRUNDLE_OK {
            // Addresses differ in each run.
            let words = |text: &str| text.split("0x").next().map(str::to_owned);
            assert_eq!(words(&last_message()), words(message), "{call:?}");
        }
    }
}

#[test]
fn a_call_is_identified_by_the_values_behind_pointers() {
    let mut data = Guarded::of(&[1, 2, 3, 4, 5, 6]);
    let (mut sizes, mut shift, mut strides) = ([2, 3], [1], [3, 1]);
    let mut run = |sizes: &[u64; 2], strides: &[i64; 2], shift: &[i64; 1]| {
        let desc = strided(TRUNDLE_DTYPE_U8, sizes, strides);
        let mut out = Guarded::new(6);
        // SAFETY: every pointer is valid for its description.
        assert_ok(unsafe {
            let (data, axes, to) = (data.start(), [1].as_ptr(), packed(TRUNDLE_DTYPE_U8, sizes));
            trundle_roll(&desc, data, shift.as_ptr(), 1, axes, 1, &to, out.start())
        });
        out.content().to_vec()
    };
    assert_eq!(run(&sizes, &strides, &shift), [3, 1, 2, 6, 4, 5]);
    shift[0] = 2;
    assert_eq!(run(&sizes, &strides, &shift), [2, 3, 1, 5, 6, 4]);
    (sizes, strides) = ([3, 2], [2, 1]);
    assert_eq!(run(&sizes, &strides, &shift), [1, 2, 3, 4, 5, 6]);
    strides = [1, 3];
    assert_eq!(run(&sizes, &strides, &shift), [1, 4, 2, 5, 3, 6]);
}

#[test]
fn addresses_are_checked_in_each_call() {
    let mut data = Guarded::of(&(0..32).collect::<Vec<u8>>());
    let desc = packed(TRUNDLE_DTYPE_U16, &[4, 4]);
    let (mut out, mut list) = (Guarded::new(64), Guarded::of(&bytes!(i64: 0, 1, 0, 0)));
    let lists: [*const i64; 2] = [list.at(0), list.at(8)].map(|at| at.cast_const().cast());
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    let roll = |data, [shift, axes]: [*const i64; 2], out| unsafe {
        trundle_roll(&desc, data, shift, 1, axes, 1, &desc, out)
    };
    let at = |start: *mut c_void, byte: usize| start.wrapping_byte_add(byte);
    let (from, to) = (data.start(), out.start());
    assert_ok(roll(from, lists, to));
    out = Guarded::new(64);
    let to = out.start();
    let list = list.start();
    let [shift, axes] = lists;
    let odd = |pointer: *const i64| pointer.wrapping_byte_add(4);
    for (status, words, refused) in [
        (TRUNDLE_ERROR_NULL_POINTER, "data is", &|| roll(null(), lists, to)),
        (TRUNDLE_ERROR_NULL_POINTER, "out is", &|| roll(from, lists, null_mut())),
        (TRUNDLE_ERROR_NULL_POINTER, "shift is", &|| roll(from, [null(), axes], to)),
        (TRUNDLE_ERROR_NULL_POINTER, "axes is", &|| roll(from, [shift, null()], to)),
        (TRUNDLE_ERROR_MISALIGNED, "data is", &|| roll(at(from, 1), lists, to)),
        (TRUNDLE_ERROR_MISALIGNED, "out is", &|| roll(from, lists, at(to, 1))),
        (TRUNDLE_ERROR_MISALIGNED, "shift is", &|| roll(from, [odd(shift), axes], to)),
        (TRUNDLE_ERROR_MISALIGNED, "axes is", &|| roll(from, [shift, odd(axes)], to)),
        (TRUNDLE_ERROR_OVERLAP, "overlaps data", &|| roll(at(to, 30), lists, to)),
        (TRUNDLE_ERROR_OVERLAP, "overlaps data", &|| roll(to, lists, at(to, 30))),
        (TRUNDLE_ERROR_OVERLAP, "overlaps shift", &|| roll(from, lists, list)),
        (TRUNDLE_ERROR_OVERLAP, "overlaps axes", &|| roll(from, lists, at(list, 8))),
        (TRUNDLE_ERROR_TOO_LARGE, "data of", &|| roll(at(null_mut(), usize::MAX - 7), lists, to)),
    ] as [(_, _, &dyn Fn() -> _); 13]
    {
        assert_refused(refused(), status, words);
        out.assert_untouched();
    }
}
