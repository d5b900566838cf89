//! C functions with arbitrary descriptions of memory. A call must either fail with a message and write nothing, or move
//! elements as the oracle does and write nothing else.
//!
//! The memory is valid. Each tensor is in a buffer of exactly its size, or somewhere in a shared arena, in
//! which tensors may overlap. If a description extends beyond all memory, the pointer is invalid, and the
//! call must fail.
#![no_main]

#[allow(dead_code, unused_imports, reason = "the whole library, of which this calls a part")]
#[path = "../../../crates/trundle-capi/src/lib.rs"]
mod capi;
mod operator;
mod tensor_memory;
mod several;
mod tensor;

use std::ffi::{CStr, c_void};
use std::ops::Range;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use trundle::Width;
use trundle_testing::Naive;

use crate::capi::*;
use crate::operator::{Operator, Way};
use crate::tensor_memory::{ARENA_BYTES, MOST_BYTES, TensorMemory, TooMuch};
use crate::several::Several;
use crate::tensor::{Tensor, any_sizes, elements};

/// The limit for the oracle. Without bytes, or with shared bytes, there may be any number of elements. Empty tensors
/// are skipped, because the product of their other sizes may overflow.
const MOST_ELEMENTS: i128 = 1 << 14;

/// The memory before a call.
fn pattern(position: usize) -> u8 {
    (position.wrapping_mul(0x9E37_79B9) >> 13) as u8
}

const DTYPES: [trundle_dtype; 14] = [
    TRUNDLE_DTYPE_U1,
    TRUNDLE_DTYPE_I2,
    TRUNDLE_DTYPE_U3,
    TRUNDLE_DTYPE_NF4,
    TRUNDLE_DTYPE_U8,
    TRUNDLE_DTYPE_F16,
    TRUNDLE_DTYPE_F32,
    TRUNDLE_DTYPE_F64,
    TRUNDLE_DTYPE_COMPLEX128,
    TRUNDLE_DTYPE_BYTES,
    TRUNDLE_DTYPE_BYTES + 1,
    TRUNDLE_DTYPE_BYTES + 3,
    TRUNDLE_DTYPE_BYTES + 4,
    TRUNDLE_DTYPE_BYTES + 33,
];

fn try_case(bytes: &mut Unstructured<'_>) -> Result<()> {
    let dtype = *bytes.choose(&DTYPES)?;
    let sizes = any_sizes(bytes)?;
    let operator = Operator::any(bytes, &sizes)?;
    let data = Tensor::any(bytes, dtype, &sizes)?;
    let out = Tensor::any(bytes, dtype, &operator.out_sizes(&sizes))?;
    let mut rows = sizes.clone();
    if let Operator::ReverseSubsequences { axis } = operator
        && let Some(size) = rows.get_mut(axis as usize)
    {
        *size = 1;
    }
    let lengths_dtype = if bytes.arbitrary()? { TRUNDLE_DTYPE_U32 } else { TRUNDLE_DTYPE_U64 };
    let lengths = Tensor::any(bytes, lengths_dtype, &rows)?;

    let mut arena = vec![0u64; ARENA_BYTES / 8];
    let tensors = [&data, &lengths, &out];
    let mut memories = Vec::new();
    for tensor in tensors {
        match TensorMemory::any(bytes, tensor, &mut arena)? {
            Ok(memory) => memories.push(memory),
            Err(TooMuch) => return Ok(()),
        }
    }
    let fill = |memory: &mut [u64], seed: usize| {
        for (position, word) in memory.iter_mut().enumerate() {
            *word = u64::from_ne_bytes(std::array::from_fn(|i| pattern(position * 8 + i + seed)));
            // Lengths, most of them within the axes.
            if seed == 1 {
                *word &= 0x0000_0007_0000_0007;
            }
        }
    };
    memories.iter_mut().enumerate().for_each(|(seed, memory)| fill(&mut memory.own, seed));
    fill(&mut arena, 3);

    let pointers = [memories[0].pointer, memories[1].pointer, memories[2].pointer];
    let before: Vec<Vec<u64>> = memories.iter().map(|memory| memory.own.clone()).collect();
    let arena_before = arena.clone();
    let few = data.elements().is_some_and(|count| (1..=MOST_ELEMENTS).contains(&count));
    let there = |reach: Range<i128>| {
        reach.is_empty() || (reach.end - reach.start <= MOST_BYTES && !pointers[0].is_null())
    };
    let data_before = if few && data.reach().is_some_and(there) {
        // SAFETY: the reach of `data` is small and its pointer is not null, so its memory exists.
        unsafe { elements(&data, pointers[0]) }
    } else {
        vec![]
    };
    let way = *bytes.choose(&[Way::AtOnce, Way::Planned, Way::Chained])?;
    // Cases must not depend on each other.
    trundle_set_num_threads(if bytes.arbitrary()? { bytes.arbitrary()? } else { 0 });
    let call = [(&data, pointers[0]), (&lengths, pointers[1]), (&out, pointers[2])];
    // SAFETY: the tensors are in valid memory, or the call must fail without touching it.
    let status = unsafe { operator.call(way, call) };

    if status != TRUNDLE_OK {
        assert!((1..=TRUNDLE_ERROR_NUMBER).contains(&status), "{status}");
        assert_ne!(status, TRUNDLE_ERROR_INTERNAL);
        // SAFETY: the message is a C string.
        let message = unsafe { CStr::from_ptr(trundle_last_error()) };
        assert!(!message.is_empty());
        let after: Vec<&Vec<u64>> = memories.iter().map(|memory| &memory.own).collect();
        assert!(after.iter().zip(&before).all(|(after, before)| *after == before));
        assert!(arena == arena_before);
        return Ok(());
    }

    if !few {
        return Ok(());
    }
    // The inputs are unchanged, and the output equals the oracle's.
    assert!(memories[0].own == before[0] && memories[1].own == before[1]);
    let shape: Vec<usize> = data.sizes.iter().map(|size| *size as usize).collect();
    let table: Vec<u64> = match operator {
        // SAFETY: the call was accepted, so its memory is valid.
        Operator::ReverseSubsequences { .. } => unsafe { elements(&lengths, pointers[1]) }
            .iter()
            .map(|length| match length[..] {
                [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
                [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                _ => 0,
            })
            .collect(),
        _ => vec![],
    };
    let expected = operator.plain(&table).apply(&Naive::numbered(&shape));
    assert_eq!(expected.shape().iter().map(|size| *size as u64).collect::<Vec<_>>(), out.sizes[..]);
    // SAFETY: the call was accepted, so its memory is valid.
    let moved = unsafe { elements(&out, pointers[2]) };
    for (got, label) in moved.iter().zip(expected.labels()) {
        assert_eq!(*got, data_before[*label]);
    }
    put_back(&out, pointers[2], &mut memories[2].own, &before[2], &mut arena, &arena_before);
    assert!(memories[2].own == before[2] && arena == arena_before);
    Ok(())
}

/// Several inputs or several outputs.
fn try_several(bytes: &mut Unstructured<'_>) -> Result<()> {
    let dtype = *bytes.choose(&DTYPES)?;
    let sizes = any_sizes(bytes)?;
    let (call, tensors) = Several::any(bytes, dtype, &sizes)?;
    let all: Vec<&Tensor> = tensors.read.iter().chain(&tensors.written).collect();
    // A gather allocates a number for each index, a scatter one for each element.
    let is_much = |tensor: &&Tensor| {
        tensor.elements().is_some_and(|count| (1 << 20..1 << 60).contains(&count))
    };
    if call.indices().is_some() && all.iter().any(is_much) {
        return Ok(());
    }
    let mut arena = vec![0u64; ARENA_BYTES / 8];
    let mut memories = Vec::new();
    for tensor in &all {
        match TensorMemory::any(bytes, tensor, &mut arena)? {
            Ok(memory) => memories.push(memory),
            Err(TooMuch) => return Ok(()),
        }
    }
    let fill = |memory: &mut [u64], seed: usize| {
        for (position, word) in memory.iter_mut().enumerate() {
            *word = u64::from_ne_bytes(std::array::from_fn(|i| pattern(position * 8 + i + seed)));
        }
    };
    memories.iter_mut().enumerate().for_each(|(seed, memory)| fill(&mut memory.own, seed));
    fill(&mut arena, 7);
    if let Some(at) = call.indices() {
        // Indices, most of them within the axes; some are negative.
        let is_narrow = tensors.read[at].desc.dtype == TRUNDLE_DTYPE_I32;
        for word in &mut memories[at].own {
            let small = |number: u64| (number & 3) as i64 - 2;
            *word = match is_narrow {
                true => [small(*word), small(*word >> 32)]
                    .map(|number| u64::from((number as i32).cast_unsigned()))
                    .into_iter()
                    .fold(0, |word, half| word << 32 | half),
                false => small(*word).cast_unsigned(),
            };
        }
    }
    let before: Vec<Vec<u64>> = memories.iter().map(|memory| memory.own.clone()).collect();
    let arena_before = arena.clone();
    let few = all.iter().zip(&memories).all(|(tensor, memory)| {
        let there = |reach: Range<i128>| {
            reach.is_empty() || (reach.end - reach.start <= MOST_BYTES && !memory.pointer.is_null())
        };
        tensor.elements().is_some_and(|count| (1..=MOST_ELEMENTS).contains(&count))
            && tensor.reach().is_some_and(there)
    });
    let (inputs, outputs) = memories.split_at(tensors.read.len());
    let [read, written] = [inputs, outputs].map(|memories| memories.iter().map(|memory| memory.pointer));
    let (read, written): (Vec<_>, Vec<_>) = (read.collect(), written.collect());
    // SAFETY: called only if `few`; then the memory of every tensor exists.
    let elements_of = |tensors: &[Tensor], pointers: &[*mut c_void]| -> Vec<Vec<Vec<u8>>> {
        tensors.iter().zip(pointers).map(|(each, at)| unsafe { elements(each, *at) }).collect()
    };
    let elements_before = if few { elements_of(&tensors.read, &read) } else { vec![] };
    trundle_set_num_threads(if bytes.arbitrary()? { bytes.arbitrary()? } else { 0 });
    // SAFETY: the tensors are in valid memory, or the call must fail without touching it.
    let status = unsafe { call.call(bytes.arbitrary()?, &tensors, &read, &written) };

    if status != TRUNDLE_OK {
        assert!((1..=TRUNDLE_ERROR_INDEX).contains(&status), "{status}");
        assert_ne!(status, TRUNDLE_ERROR_INTERNAL);
        // SAFETY: the message is a C string.
        let message = unsafe { CStr::from_ptr(trundle_last_error()) };
        assert!(!message.is_empty());
    } else if few {
        // SAFETY: the call was accepted, so its memory is valid.
        assert!(call.plain(&tensors, &elements_before) == elements_of(&tensors.written, &written));
    }
    if status == TRUNDLE_OK {
        if !few {
            return Ok(());
        }
        let first = tensors.read.len();
        for (at, tensor) in (first..).zip(&tensors.written) {
            let (pointer, own) = (written[at - first], &mut memories[at].own);
            put_back(tensor, pointer, own, &before[at], &mut arena, &arena_before);
        }
    }
    assert!(memories.iter().zip(&before).all(|(memory, before)| memory.own == *before));
    assert!(arena == arena_before);
    Ok(())
}

/// Restores the output. Then memory is as before the call, unless something else was written.
fn put_back(
    out: &Tensor,
    pointer: *mut c_void,
    own: &mut [u64],
    own_before: &[u64],
    arena: &mut [u64],
    arena_before: &[u64],
) {
    let (Some(width), Some(reach)) = (out.width(), out.reach()) else { return };
    let (now, before) =
        if own.is_empty() { (&mut *arena, arena_before) } else { (own, own_before) };
    let base = now.as_ptr().addr() as i128;
    let parts: Vec<Range<i128>> = match width {
        // The tests of packed moves check the bits between packed elements.
        Width::SubByte(_) => vec![reach],
        Width::Bytes(units) => out.offsets().into_iter().map(|at| at..at + units as i128).collect(),
    };
    for part in parts {
        for at in part {
            let at = (pointer.addr() as i128 + at - base) as usize;
            // SAFETY: the output was accepted, so its elements lie in this memory.
            unsafe {
                let byte = before.as_ptr().cast::<u8>().add(at).read();
                now.as_mut_ptr().cast::<u8>().add(at).write(byte);
            }
        }
    }
}

fuzz_target!(|input: &[u8]| {
    // After the end of the input, values are zeros, or the case is abandoned.
    let mut bytes = Unstructured::new(input);
    let _ = match bytes.arbitrary() {
        Ok(true) => try_several(&mut bytes),
        _ => try_case(&mut bytes),
    };
});
