//! The C functions with any descriptions over memory that holds what they describe: refused with a
//! message and not one byte written, or moved as the oracle says and nothing else touched.
//!
//! Memory is honest. Each tensor lies in a buffer of exactly its size, or somewhere in an arena that
//! all of them share, so that they overlap; where a description reaches beyond all memory, the
//! pointer leads nowhere and the call must be refused.
#![no_main]

#[allow(dead_code, unused_imports, reason = "the whole library, of which this calls a part")]
#[path = "../../crates/trundle-capi/src/lib.rs"]
mod capi;

use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::ptr::{null, null_mut, without_provenance_mut};

use capi::*;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use trundle::{DType, Width};
use trundle_testing::{Naive, PlainOp, indices};

/// More is not allocated for one tensor.
const MOST_BYTES: i128 = 1 << 14;
/// No process has more; the library refuses what reaches further.
const ALL_MEMORY: i128 = 1 << 57;
/// The oracle is not asked about more elements; without bytes, or read again, there may be any
/// number. Nor is it about none, beside which sizes may multiply beyond all numbers.
const MOST_ELEMENTS: i128 = 1 << 14;
const ARENA_BYTES: usize = 1 << 12;

/// What memory is filled with before a call.
fn pattern(position: usize) -> u8 {
    (position.wrapping_mul(0x9E37_79B9) >> 13) as u8
}

/// A tensor as it is described, and what a plain reading makes of that.
struct Tensor {
    desc: trundle_tensor_desc,
    sizes: Vec<u64>,
    strides: Option<Vec<i64>>,
}

impl Tensor {
    fn any(bytes: &mut Unstructured<'_>, dtype: trundle_dtype, like: &[u64]) -> Result<Tensor> {
        let sizes = match bytes.int_in_range(0..=7)? {
            0..=5 => like.to_vec(),
            6 => any_sizes(bytes)?,
            _ => like.iter().map(|size| size ^ 1).collect(),
        };
        let strides = any_strides(bytes, &sizes)?;
        let dtype = if bytes.ratio(1, 64)? { bytes.arbitrary()? } else { dtype };
        let rank = sizes.len() as u32;
        let rank = if bytes.ratio(1, 64)? { rank | 1 << bytes.int_in_range(9..=31)? } else { rank };
        let mut tensor = Tensor {
            desc: trundle_tensor_desc { dtype, rank, sizes: null(), strides_elems: null() },
            sizes,
            strides,
        };
        if !bytes.ratio(1, 128)? {
            tensor.desc.sizes = tensor.sizes.as_ptr();
        }
        if let Some(strides) = &tensor.strides {
            tensor.desc.strides_elems = strides.as_ptr();
        }
        Ok(tensor)
    }

    fn width(&self) -> Option<Width> {
        // SAFETY: the name of a type is a C string, if there is one.
        let name = unsafe {
            let name = trundle_dtype_name(self.desc.dtype);
            if name.is_null() {
                return None;
            }
            CStr::from_ptr(name).to_str().ok()?
        };
        if name == "bytes" {
            return Some(Width::Bytes((self.desc.dtype - TRUNDLE_DTYPE_BYTES) as usize));
        }
        DType::from_name(name).map(Width::from).ok()
    }

    fn elements(&self) -> Option<i128> {
        if self.sizes.contains(&0) {
            return Some(0);
        }
        self.sizes.iter().try_fold(1i128, |count, size| count.checked_mul((*size).into()))
    }

    /// Strides in elements, also of a packed tensor.
    fn steps(&self) -> Option<Vec<i128>> {
        if let Some(strides) = &self.strides {
            return Some(strides.iter().copied().map(i128::from).collect());
        }
        let mut steps = vec![0; self.sizes.len()];
        let mut step = 1i128;
        for (axis, size) in self.sizes.iter().enumerate().rev() {
            steps[axis] = step;
            step = step.checked_mul((*size).into())?;
        }
        Some(steps)
    }

    /// The bytes that it covers, from the element at index 0 of every axis; `None` if numbers of
    /// 128 bits have no room for them.
    fn reach(&self) -> Option<Range<i128>> {
        let width = self.width()?;
        let units = width.units() as i128;
        if self.elements()? == 0 || units == 0 {
            return Some(0..0);
        }
        let (mut first, mut last) = (0i128, 0i128);
        for (size, step) in self.sizes.iter().zip(self.steps()?) {
            let along = i128::from(size - 1).checked_mul(step)?.checked_mul(units)?;
            let end = if along < 0 { &mut first } else { &mut last };
            *end = end.checked_add(along)?;
        }
        last = last.checked_add(units)?;
        let Some(packing) = width.packing() else { return Some(first..last) };
        let (group, bytes) = (packing.group() as i128, packing.group_bytes() as i128);
        // Groups that begin before the first element, and those that it and the rest begin.
        Some(
            first.div_euclid(group).checked_mul(bytes)?
                ..last.checked_add(group - 1)? / group * bytes,
        )
    }

    /// The units from the element at index 0 of every axis to each, in row-major order.
    fn offsets(&self) -> Vec<i128> {
        let units = self.width().map_or(0, |width| width.units() as i128);
        let steps = self.steps().unwrap_or_default();
        let sizes: Vec<usize> = self.sizes.iter().map(|size| *size as usize).collect();
        let offset = |index: Vec<usize>| {
            index.iter().zip(&steps).map(|(i, step)| *i as i128 * step * units).sum()
        };
        indices(&sizes).into_iter().map(offset).collect()
    }
}

fn any_sizes(bytes: &mut Unstructured<'_>) -> Result<Vec<u64>> {
    let rank = if bytes.ratio(1, 64)? { 300 } else { bytes.int_in_range(0..=5)? };
    (0..rank).map(|_| any_size(bytes)).collect()
}

fn any_size(bytes: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match bytes.int_in_range(0..=31)? {
        0 => 0,
        1 => bytes.arbitrary()?,
        2 => 1 << bytes.int_in_range(0..=63)?,
        3..=8 => 1,
        _ => bytes.int_in_range(2..=7)?,
    })
}

fn any_strides(bytes: &mut Unstructured<'_>, sizes: &[u64]) -> Result<Option<Vec<i64>>> {
    Ok(match bytes.int_in_range(0..=7)? {
        0..=2 => None,
        3 => Some(sizes.iter().map(|_| bytes.arbitrary()).collect::<Result<_>>()?),
        4 => Some(sizes.iter().map(|_| bytes.int_in_range(-9..=9)).collect::<Result<_>>()?),
        // Packed in some order of axes, some of them backward, with gaps.
        _ => {
            let mut strides = vec![0i64; sizes.len()];
            let mut axes: Vec<usize> = (0..sizes.len()).collect();
            let mut extent = 1i64;
            while !axes.is_empty() {
                let axis = axes.swap_remove(bytes.choose_index(axes.len())?);
                let gap = i64::from(bytes.int_in_range(0..=8u8)?.saturating_sub(6));
                let stride = extent.wrapping_add(gap);
                strides[axis] = if bytes.ratio(1, 4)? { stride.wrapping_neg() } else { stride };
                extent = stride.wrapping_mul(sizes[axis].max(1) as i64);
            }
            Some(strides)
        }
    })
}

/// The memory of one tensor.
struct Place {
    pointer: *mut c_void,
    /// What is owned, if it does not lie in the arena.
    own: Vec<u64>,
}

/// What cannot be tried: memory that exists, but is more than a case may have.
struct TooMuch;

impl Place {
    fn any(
        bytes: &mut Unstructured<'_>,
        tensor: &Tensor,
        arena: &mut [u64],
    ) -> Result<std::result::Result<Place, TooMuch>> {
        let nowhere = |address| Place { pointer: without_provenance_mut(address), own: vec![] };
        let known = tensor.width().is_some();
        let reach = match tensor.reach() {
            Some(reach) if known && (reach.end - reach.start) <= MOST_BYTES => reach,
            // Beyond all memory, or of no type: to be refused before it is touched.
            Some(reach) if known && reach.end - reach.start <= ALL_MEMORY => {
                return Ok(Err(TooMuch));
            }
            _ => return Ok(Ok(nowhere(4096))),
        };
        if bytes.ratio(1, 64)? {
            return Ok(Ok(Place { pointer: null_mut(), own: vec![] }));
        }
        let (before, length) = (-reach.start as usize, (reach.end - reach.start) as usize);
        let off = if bytes.ratio(1, 16)? { bytes.int_in_range(1..=7)? } else { 0 };
        if length + off <= ARENA_BYTES && bytes.ratio(1, 3)? {
            let at = bytes.int_in_range(0..=(ARENA_BYTES - length - off) / 8)? * 8 + off;
            let pointer = arena.as_mut_ptr().cast::<u8>().wrapping_add(at + before).cast();
            return Ok(Ok(Place { pointer, own: vec![] }));
        }
        let mut own = vec![0u64; (length + off).div_ceil(8)];
        // The end is that of the allocation, where the sanitizer sees what goes beyond.
        let slack = own.len() * 8 - length;
        let at = if off > 0 { off } else { slack / 8 * 8 };
        let pointer = own.as_mut_ptr().cast::<u8>().wrapping_add(at + before).cast();
        Ok(Ok(Place { pointer, own }))
    }
}

/// An operator with its lists, which lie in allocations of their own.
enum Operator {
    Roll { shift: Vec<i64>, axes: Vec<i64> },
    Transpose { order: Vec<i64> },
    Flip { axes: Vec<i64> },
    ReverseSubsequences { axis: u32 },
    ReverseSequence { lengths: Vec<i64>, axis: i64, batch_axis: i64 },
}

fn any_axis(bytes: &mut Unstructured<'_>, rank: i64) -> Result<i64> {
    if bytes.ratio(1, 32)? {
        bytes.arbitrary()
    } else {
        bytes.int_in_range(-rank..=rank - (rank > 0) as i64)
    }
}

fn any_order(bytes: &mut Unstructured<'_>, rank: i64) -> Result<Vec<i64>> {
    let mut axes: Vec<i64> = (0..rank).collect();
    let mut order = Vec::new();
    while !axes.is_empty() {
        order.push(axes.swap_remove(bytes.choose_index(axes.len())?));
    }
    if bytes.ratio(1, 16)? {
        order.push(any_axis(bytes, rank)?);
    }
    if bytes.ratio(1, 8)? {
        order.clear();
    }
    Ok(order)
}

impl Operator {
    fn any(bytes: &mut Unstructured<'_>, sizes: &[u64]) -> Result<Operator> {
        let rank = sizes.len() as i64;
        let list = |bytes: &mut Unstructured<'_>| {
            let count = bytes.int_in_range(0..=3)?;
            (0..count).map(|_| any_axis(bytes, rank)).collect::<Result<Vec<i64>>>()
        };
        Ok(match bytes.int_in_range(0..=4)? {
            0 => {
                let axes = list(bytes)?;
                let count =
                    if bytes.ratio(1, 4)? { bytes.int_in_range(0..=2)? } else { axes.len() };
                let shift = (0..count).map(|_| bytes.arbitrary()).collect::<Result<_>>()?;
                Operator::Roll { shift, axes }
            }
            1 => Operator::Transpose { order: any_order(bytes, rank)? },
            2 => Operator::Flip { axes: list(bytes)? },
            3 => Operator::ReverseSubsequences { axis: any_axis(bytes, rank)? as u32 },
            _ => {
                let (axis, batch_axis) = (any_axis(bytes, rank)?, any_axis(bytes, rank)?);
                let batches = trundle::normalize_axis("axis", batch_axis, sizes.len())
                    .map_or(2, |axis| sizes[axis].min(64));
                let count = if bytes.ratio(1, 16)? { 3 } else { batches };
                let lengths =
                    (0..count).map(|_| bytes.int_in_range(-1..=8)).collect::<Result<_>>()?;
                Operator::ReverseSequence { lengths, axis, batch_axis }
            }
        })
    }

    /// The sizes that the output should have.
    fn out_sizes(&self, sizes: &[u64]) -> Vec<u64> {
        match self {
            Operator::Transpose { order } if order.is_empty() => {
                sizes.iter().rev().copied().collect()
            }
            Operator::Transpose { order } => {
                let size = |axis: &i64| sizes.get(usize::try_from(*axis).ok()?).copied();
                order.iter().map(|axis| size(axis).unwrap_or(1)).collect()
            }
            _ => sizes.to_vec(),
        }
    }

    /// The operator for the oracle, once it was accepted.
    fn plain(&self, lengths: &[u64]) -> PlainOp {
        match self {
            Operator::Roll { shift, axes } => {
                PlainOp::Roll { shift: shift.clone(), axes: axes.clone() }
            }
            Operator::Transpose { order } => PlainOp::Transpose { order: order.clone() },
            Operator::Flip { axes } => PlainOp::Flip { axes: axes.clone() },
            Operator::ReverseSubsequences { axis } => {
                PlainOp::ReverseSubsequences { axis: (*axis).into(), lengths: lengths.to_vec() }
            }
            Operator::ReverseSequence { lengths, axis, batch_axis } => PlainOp::ReverseSequence {
                axis: *axis,
                batch_axis: *batch_axis,
                lengths: lengths.iter().copied().map(i128::from).collect(),
            },
        }
    }

    /// The C function, or the plan and its run.
    ///
    /// # Safety
    /// All pointers lead to what is described, or the descriptions are to be refused.
    unsafe fn call(&self, planned: bool, all: [(&Tensor, *mut c_void); 3]) -> trundle_status {
        let [(from, data), (lengths_tensor, lengths_data), (to, out)] = all;
        let (from, to, table) = (&from.desc, &to.desc, &lengths_tensor.desc);
        let mut plan = null_mut();
        // SAFETY: by the caller.
        unsafe {
            let made = match self {
                Operator::Roll { shift: s, axes: a } if planned => {
                    trundle_roll_plan(from, s.as_ptr(), s.len(), a.as_ptr(), a.len(), to, &mut plan)
                }
                Operator::Transpose { order } if planned => {
                    trundle_transpose_plan(from, order.as_ptr(), order.len(), to, &mut plan)
                }
                Operator::ReverseSubsequences { axis } if planned => {
                    trundle_reverse_subsequences_plan(
                        from,
                        table,
                        lengths_data,
                        *axis,
                        to,
                        &mut plan,
                    )
                }
                Operator::Roll { shift: s, axes: a } => {
                    return trundle_roll(
                        from,
                        data,
                        s.as_ptr(),
                        s.len(),
                        a.as_ptr(),
                        a.len(),
                        to,
                        out,
                    );
                }
                Operator::Transpose { order } => {
                    return trundle_transpose(from, data, order.as_ptr(), order.len(), to, out);
                }
                Operator::Flip { axes } => {
                    return trundle_flip(from, data, axes.as_ptr(), axes.len(), to, out);
                }
                Operator::ReverseSubsequences { axis } => {
                    return trundle_reverse_subsequences(
                        from,
                        data,
                        table,
                        lengths_data,
                        *axis,
                        to,
                        out,
                    );
                }
                Operator::ReverseSequence { lengths, axis, batch_axis } => {
                    let (first, count) = (lengths.as_ptr(), lengths.len());
                    return trundle_reverse_sequence(
                        from,
                        data,
                        first,
                        count,
                        *axis,
                        *batch_axis,
                        to,
                        out,
                    );
                }
            };
            assert_eq!(made == TRUNDLE_OK, !plan.is_null());
            let status = if made == TRUNDLE_OK { trundle_plan_run(plan, data, out) } else { made };
            trundle_plan_free(plan);
            status
        }
    }
}

/// Element by element, the bytes that a tensor has, or a byte with the bits.
///
/// # Safety
/// The memory at `pointer` holds the tensor.
unsafe fn elements(tensor: &Tensor, pointer: *mut c_void) -> Vec<Vec<u8>> {
    let (Some(reach), Some(width)) = (tensor.reach(), tensor.width()) else { return vec![] };
    let (start, length) = (reach.start as isize, (reach.end - reach.start) as usize);
    if length == 0 {
        return tensor.offsets().iter().map(|_| vec![]).collect();
    }
    // SAFETY: by the caller.
    let memory =
        unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().wrapping_offset(start), length) };
    let element = |offset: i128| match width.packing() {
        None => memory[(offset - reach.start) as usize..][..width.units()].to_vec(),
        Some(packing) => {
            let before = -reach.start as usize / packing.group_bytes() * packing.group();
            vec![packing.get(memory, (before as i128 + offset) as usize)]
        }
    };
    tensor.offsets().into_iter().map(element).collect()
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
    let mut places = Vec::new();
    for tensor in tensors {
        match Place::any(bytes, tensor, &mut arena)? {
            Ok(place) => places.push(place),
            Err(TooMuch) => return Ok(()),
        }
    }
    let fill = |memory: &mut [u64], seed: usize| {
        for (position, word) in memory.iter_mut().enumerate() {
            *word = u64::from_ne_bytes(std::array::from_fn(|i| pattern(position * 8 + i + seed)));
            // Lengths that are mostly within the axes.
            if seed == 1 {
                *word &= 0x0000_0007_0000_0007;
            }
        }
    };
    places.iter_mut().enumerate().for_each(|(seed, place)| fill(&mut place.own, seed));
    fill(&mut arena, 3);

    let pointers = [places[0].pointer, places[1].pointer, places[2].pointer];
    let before: Vec<Vec<u64>> = places.iter().map(|place| place.own.clone()).collect();
    let arena_before = arena.clone();
    let few = data.elements().is_some_and(|count| (1..=MOST_ELEMENTS).contains(&count));
    let there = |reach: Range<i128>| {
        reach.is_empty() || (reach.end - reach.start <= MOST_BYTES && !pointers[0].is_null())
    };
    let data_before = if few && data.reach().is_some_and(there) {
        // SAFETY: memory is honest where it is not nowhere.
        unsafe { elements(&data, pointers[0]) }
    } else {
        vec![]
    };
    let planned = bytes.arbitrary()?;
    let call = [(&data, pointers[0]), (&lengths, pointers[1]), (&out, pointers[2])];
    // SAFETY: memory is honest, see above.
    let status = unsafe { operator.call(planned, call) };

    if status != TRUNDLE_OK {
        assert!((1..TRUNDLE_ERROR_INTERNAL).contains(&status), "{status}");
        // SAFETY: the message is a C string.
        let message = unsafe { CStr::from_ptr(trundle_last_error()) };
        assert!(!message.is_empty());
        let after: Vec<&Vec<u64>> = places.iter().map(|place| &place.own).collect();
        assert!(after.iter().zip(&before).all(|(after, before)| *after == before));
        assert!(arena == arena_before);
        return Ok(());
    }

    if !few {
        return Ok(());
    }
    // What is read has not changed, and the output is what the oracle says.
    assert!(places[0].own == before[0] && places[1].own == before[1]);
    let shape: Vec<usize> = data.sizes.iter().map(|size| *size as usize).collect();
    let table: Vec<u64> = match operator {
        // SAFETY: the call was accepted, so its memory is honest.
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
    // SAFETY: the same.
    let moved = unsafe { elements(&out, pointers[2]) };
    for (got, label) in moved.iter().zip(expected.labels()) {
        assert_eq!(*got, data_before[*label]);
    }
    check_rest(&out, pointers[2], &mut places[2].own, &before[2], &mut arena, &arena_before);
    Ok(())
}

/// Checks that nothing but the elements of the output was written: with those put back, all memory
/// is what it was.
fn check_rest(
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
        // Bits between packed elements are the business of the tests of packed moves.
        Width::Packed(_) => vec![reach],
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
    assert!(now == before);
    assert!(arena == arena_before);
}

fuzz_target!(|input: &[u8]| {
    // Where the input ends, what follows is as if it went on with zeros, or the case is given up.
    let _ = try_case(&mut Unstructured::new(input));
});
