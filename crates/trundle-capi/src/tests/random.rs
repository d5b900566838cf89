//! Random operators and chains of every type, called and planned, against the oracle.

use std::ffi::{CString, c_void};
use std::fmt::Debug;
use std::ptr::null_mut;

use proptest::prelude::{Strategy, any};
use trundle::ops::PadMode;
use trundle::{Chain, DType, Layout, Packing, Width};
use trundle_testing::cases::{LayoutNumbers, buffer_bytes, chains, layouts, shapes};
use trundle_testing::shapings::shaping_chains;
use trundle_testing::{Naive, PlainOp, everything, holds, indices, read_elements, write_elements};

use super::plans::Owned;
use super::*;

pub(super) const CASES: u32 = 4_000;

/// A tensor with the lists of its description.
pub(super) struct Tensor {
    pub(super) buffer: Guarded,
    /// Offset and strides are in units of `width`.
    pub(super) layout: Layout,
    width: Width,
    dtype: trundle_dtype,
    sizes: Vec<u64>,
    strides: Vec<i64>,
}

impl Tensor {
    /// `elements` is a layout of one-byte elements, which is scaled to the width.
    pub(super) fn new(number: trundle_dtype, dtype: DType, elements: &Layout) -> Tensor {
        let width = Width::from(dtype);
        let units = width.units().cast_signed();
        let strides = elements.strides_bytes();
        let in_units: Vec<isize> = strides.iter().map(|stride| stride * units).collect();
        // The element at index 0 of every axis begins a byte, or a group of three.
        let group = width.packing().map_or(1, Packing::group);
        let offset = elements.offset_bytes().next_multiple_of(group);
        let whole = buffer_bytes(elements, 1);
        let moved = if whole == 0 { 0 } else { offset - elements.offset_bytes() };
        let bytes = width.bytes((whole + moved) * width.units());
        Tensor {
            buffer: Guarded::new(bytes),
            layout: Layout::strided(elements.shape(), offset * width.units(), &in_units).unwrap(),
            width,
            dtype: number,
            sizes: elements.shape().iter().map(|size| *size as u64).collect(),
            strides: strides.iter().map(|stride| *stride as i64).collect(),
        }
    }

    pub(super) fn desc(&self) -> trundle_tensor_desc {
        strided(self.dtype, &self.sizes, &self.strides)
    }

    pub(super) fn data(&mut self) -> *mut c_void {
        let at = self.width.bytes(self.layout.offset_bytes());
        if self.buffer.bytes == 0 { null_mut() } else { self.buffer.at(at) }
    }

    /// One byte for a sub-byte element.
    pub(super) fn elements(&self) -> Vec<Vec<u8>> {
        let bytes = self.buffer.content();
        let Some(packing) = self.width.packing() else {
            let elements = read_elements(&self.layout, self.width.units(), bytes);
            return elements.into_iter().map(<[u8]>::to_vec).collect();
        };
        let indices = indices(self.layout.shape().sizes()).into_iter();
        indices.map(|index| vec![packing.get(bytes, self.layout.offset_of(&index))]).collect()
    }

    /// Overwrites the buffer during the call, so that a read of it gives wrong elements.
    pub(super) fn hidden_while(&mut self, call: impl FnOnce()) {
        let content = self.buffer.content().to_vec();
        self.buffer.content_mut().fill(0x77);
        call();
        self.buffer.content_mut().copy_from_slice(&content);
    }

    pub(super) fn write(&mut self, elements: &[impl AsRef<[u8]>]) {
        let (layout, bytes) = (&self.layout, self.buffer.content_mut());
        let Some(packing) = self.width.packing() else {
            return write_elements(layout, elements, bytes);
        };
        for (index, element) in indices(layout.shape().sizes()).iter().zip(elements) {
            packing.set(bytes, layout.offset_of(index), element.as_ref()[0]);
        }
    }
}

/// Every named type, and others wider than a register.
pub(super) fn dtypes() -> Vec<(trundle_dtype, DType)> {
    let mut all = Vec::new();
    for dtype in DType::NAMED.iter().copied().chain([0, 1, 3, 12, 33].map(DType::Bytes)) {
        let name = CString::new(dtype.to_string()).unwrap();
        let mut number = 0;
        // SAFETY: both pointers are valid.
        assert_ok(unsafe { trundle_dtype_from_name(name.as_ptr(), &mut number) });
        all.push((number, dtype));
    }
    all
}

fn lengths_tensor(
    lengths: &[u64],
    shape: &[usize],
    axis: usize,
    wide: bool,
    numbers: &LayoutNumbers,
) -> Tensor {
    let mut rows = shape.to_vec();
    rows[axis] = 1;
    let (number, dtype) =
        if wide { (TRUNDLE_DTYPE_U64, DType::U64) } else { (TRUNDLE_DTYPE_U32, DType::U32) };
    let mut tensor = Tensor::new(number, dtype, &numbers.destination(&rows, 1));
    let narrow = |length: u64| u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes().to_vec();
    let bytes = |length: &u64| if wide { length.to_ne_bytes().to_vec() } else { narrow(*length) };
    tensor.write(&lengths.iter().map(bytes).collect::<Vec<_>>());
    tensor
}

pub(super) fn indices_tensor(
    values: &[i64],
    sizes: &[usize],
    wide: bool,
    numbers: &LayoutNumbers,
) -> Tensor {
    let (number, dtype) =
        if wide { (TRUNDLE_DTYPE_I64, DType::I64) } else { (TRUNDLE_DTYPE_I32, DType::I32) };
    let mut tensor = Tensor::new(number, dtype, &numbers.destination(sizes, 1));
    let narrow = |value: i64| i32::try_from(value).unwrap().to_ne_bytes().to_vec();
    let bytes = |value: &i64| if wide { value.to_ne_bytes().to_vec() } else { narrow(*value) };
    tensor.write(&values.iter().map(bytes).collect::<Vec<_>>());
    tensor
}

fn call(
    op: &PlainOp,
    data: &mut Tensor,
    out: &mut Tensor,
    planned: bool,
    lengths: (&LayoutNumbers, bool),
) {
    let shape: Vec<usize> = data.layout.shape().sizes().to_vec();
    let (from, to, src, dst) = (data.desc(), out.desc(), data.data(), out.data());
    let list = |list: &[i64]| (list.as_ptr(), list.len());
    // SAFETY: every pointer is valid for its description.
    unsafe {
        match op {
            PlainOp::Roll { shift, axes } => {
                let ((shift, shift_len), (axes, axes_len)) = (list(shift), list(axes));
                if planned {
                    let plan = Owned::new(|plan| {
                        trundle_roll_plan(&from, shift, shift_len, axes, axes_len, &to, plan)
                    });
                    return assert_ok(plan.run(src, dst));
                }
                assert_ok(trundle_roll(&from, src, shift, shift_len, axes, axes_len, &to, dst));
            }
            PlainOp::Transpose { order } => {
                let (order, order_len) = list(order);
                if planned {
                    let plan = Owned::new(|plan| {
                        trundle_transpose_plan(&from, order, order_len, &to, plan)
                    });
                    return assert_ok(plan.run(src, dst));
                }
                assert_ok(trundle_transpose(&from, src, order, order_len, &to, dst));
            }
            PlainOp::Rot90 { .. } => unreachable!("C has no function for it"),
            PlainOp::Flip { axes } => {
                let (axes, axes_len) = list(axes);
                if planned {
                    let plan =
                        Owned::new(|plan| trundle_flip_plan(&from, axes, axes_len, &to, plan));
                    return assert_ok(plan.run(src, dst));
                }
                assert_ok(trundle_flip(&from, src, axes, axes_len, &to, dst));
            }
            PlainOp::ReverseSubsequences { axis, lengths: each } => {
                let from_front = trundle::normalize_axis("axis", *axis, shape.len()).unwrap();
                let (numbers, wide) = lengths;
                let mut table = lengths_tensor(each, &shape, from_front, wide, numbers);
                let (desc, lengths) = (table.desc(), table.data());
                let axis = from_front.try_into().unwrap();
                if planned {
                    let plan = Owned::new(|plan| {
                        trundle_reverse_subsequences_plan(&from, &desc, lengths, axis, &to, plan)
                    });
                    return table.hidden_while(|| assert_ok(plan.run(src, dst)));
                }
                assert_ok(trundle_reverse_subsequences(&from, src, &desc, lengths, axis, &to, dst));
            }
            PlainOp::ReverseSequence { axis, batch_axis, lengths } => {
                let (axis, batch) = (*axis, *batch_axis);
                let mut each: Vec<i64> =
                    lengths.iter().map(|length| (*length).try_into().unwrap()).collect();
                let (lengths, count) = list(&each);
                if planned {
                    let plan = Owned::new(|plan| {
                        trundle_reverse_sequence_plan(&from, lengths, count, axis, batch, &to, plan)
                    });
                    each.fill(-1);
                    return assert_ok(plan.run(src, dst));
                }
                let (length, to) = (lengths, &raw const to);
                assert_ok(trundle_reverse_sequence(
                    &from, src, length, count, axis, batch, to, dst,
                ));
            }
        }
    }
}

#[test]
fn every_operator_of_every_type_agrees_with_the_oracle() {
    let dtypes = dtypes();
    let cases = (
        // C has no function for rot90.
        chains(200, 1).prop_filter("no function of C", |chain| {
            !matches!(chain.ops[..], [PlainOp::Rot90 { .. }])
        }),
        (layouts(), layouts(), layouts()),
        (any::<proptest::sample::Index>(), any::<u64>(), any::<bool>(), any::<bool>()),
    );
    holds(CASES, &cases, |(chain, (from, to, for_lengths), (pick, seed, planned, wide))| {
        let Some(op) = chain.ops.first() else { return Ok(()) };
        let ways = (dtypes[pick.index(dtypes.len())], (&from, &to), seed);
        check(&chain.shape, &chain.naive(), ways, planned, &op, |data, out| {
            call(op, data, out, planned, (&for_lengths, wide));
        });
        Ok(())
    });
}

#[test]
fn every_chain_of_every_type_agrees_with_the_oracle() {
    let dtypes = dtypes();
    let ways = (any::<proptest::sample::Index>(), any::<u64>(), any::<bool>());
    let cases = (shaping_chains(200, 4), (layouts(), layouts()), ways);
    holds(CASES, &cases, |(chain, (from, to), (pick, seed, ones))| {
        if chain.ops.is_empty() {
            return Ok(());
        }
        let built = chain.ops.iter().cloned().fold(Chain::new(), Chain::then);
        // Indices of several axes print as a list, which does not parse back.
        if !built.to_string().parse::<Chain>().is_ok_and(|read| read == built) {
            return Ok(());
        }
        let text = CString::new(built.to_string()).unwrap();
        let ways = (dtypes[pick.index(dtypes.len())], (&from, &to), seed);
        check(&chain.shape, &chain.naive, ways, ones, &text, |data, out| {
            let (from, to, text) = (data.desc(), out.desc(), text.as_ptr());
            let (mut sizes, mut rank) = ([u64::MAX; 32], u32::MAX);
            // SAFETY: every pointer is valid for its description.
            let plan = unsafe {
                let sizes = sizes.as_mut_ptr();
                assert_ok(trundle_chain_out_sizes(text, &from, sizes, 32, &mut rank));
                Owned::new(|plan| trundle_chain_plan(text, &from, &to, plan))
            };
            assert_eq!(sizes[..rank as usize], out.sizes);
            assert_ok(plan.run(data.data(), out.data()));
        });
        Ok(())
    });
}

/// A drawn type, a seed, and whether the output is filled with ones before the call.
pub(super) type Drawn = (proptest::sample::Index, u64, bool);

pub(super) fn drawn() -> impl Strategy<Value = Drawn> {
    (any::<proptest::sample::Index>(), any::<u64>(), any::<bool>())
}

#[test]
fn every_concatenation_agrees_with_a_reference() {
    let dtypes = dtypes();
    let parts = proptest::collection::vec((0..5usize, layouts()), 1..5);
    let planned = any::<bool>();
    let cases = (shapes(60), any::<proptest::sample::Index>(), parts, layouts(), drawn(), planned);
    holds(CASES, &cases, |(shape, axis, parts, to, (pick, seed, ones), planned)| {
        if shape.is_empty() {
            return Ok(());
        }
        let (axis, (number, dtype)) = (axis.index(shape.len()), dtypes[pick.index(dtypes.len())]);
        let mut tensors = Vec::new();
        for (at, (size, numbers)) in (0..).zip(&parts) {
            let mut sizes = shape.clone();
            sizes[axis] = *size;
            let mut tensor = Tensor::new(number, dtype, &numbers.source(&sizes, 1));
            fill(tensor.buffer.content_mut(), seed + at);
            tensors.push(tensor);
        }
        let mut sizes = shape.clone();
        sizes[axis] = parts.iter().map(|(size, _)| size).sum();
        let elements: Vec<_> = tensors.iter().map(Tensor::elements).collect();
        let element = |index: &Vec<usize>| {
            let (mut index, mut part) = (index.clone(), 0);
            while index[axis] >= parts[part].0 {
                index[axis] -= parts[part].0;
                part += 1;
            }
            let own = tensors[part].layout.shape();
            elements[part][own.ravel(&index)].clone()
        };
        let expected: Vec<Vec<u8>> = indices(&sizes).iter().map(element).collect();
        let descs: Vec<_> = tensors.iter().map(Tensor::desc).collect();
        let inputs: Vec<trundle_input> = tensors
            .iter_mut()
            .zip(&descs)
            .map(|(tensor, desc)| trundle_input { desc, data: tensor.data() })
            .collect();
        // Counted from the front or from the end.
        let axis = (axis.cast_signed() - if ones { 0 } else { shape.len().cast_signed() }) as i64;
        let what = format!("{dtype} {shape:?} along {axis}");
        check_written((number, dtype), (&sizes, &expected), (&to, seed, ones), &what, |out| {
            let (desc, count) = (out.desc(), inputs.len());
            // SAFETY: every pointer is valid for its description.
            unsafe {
                if planned {
                    let data: Vec<_> = inputs.iter().map(|input| input.data).collect();
                    let descs = descs.as_ptr();
                    let plan = Owned::new(|plan| {
                        trundle_concatenate_plan(descs, count, axis, &desc, plan)
                    });
                    return assert_ok(plan.run_inputs(&data, out.data()));
                }
                let inputs = inputs.as_ptr();
                assert_ok(trundle_concatenate(inputs, count, axis, &desc, out.data()));
            }
        });
        Ok(())
    });
}

#[test]
fn every_padding_agrees_with_a_reference() {
    let dtypes = dtypes();
    let widths = proptest::collection::vec([0..4usize, 0..4usize], 8);
    let ways = (layouts(), layouts(), any::<bool>());
    let cases = (shapes(60), widths, 0..5i32, 0..3usize, ways, drawn());
    // Padding multiplies the elements, so `./test` tries fewer cases.
    let count = if everything() { CASES } else { CASES / 8 };
    holds(count, &cases, |(shape, widths, mode, form, (from, to, planned), (pick, seed, ones))| {
        // A pair for each axis, one pair for all axes, or one number for all.
        let widths: Vec<[usize; 2]> = match form {
            0 => vec![widths[0]; shape.len()],
            1 => vec![[widths[0][0]; 2]; shape.len()],
            _ => (0..shape.len()).map(|axis| widths[axis % widths.len()]).collect(),
        };
        let given: Vec<i64> =
            widths.iter().flatten().map(|width| width.cast_signed() as i64).collect();
        let given = match form {
            0 if !given.is_empty() => &given[..2],
            1 if !given.is_empty() => &given[..1],
            _ => &given[..],
        };
        let (number, dtype) = dtypes[pick.index(dtypes.len())];
        let mut data = Tensor::new(number, dtype, &from.source(&shape, 1));
        fill(data.buffer.content_mut(), seed);
        let scalar = Layout::row_major(&trundle::Shape::default(), 1).unwrap();
        let mut value = Tensor::new(number, dtype, &scalar);
        fill(value.buffer.content_mut(), seed + 1);
        let sizes = shape.iter().zip(&widths).map(|(size, [before, after])| size + before + after);
        let sizes: Vec<usize> = sizes.collect();
        let elements = data.elements();
        let modes = [PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap];
        let expected: Vec<Vec<u8>> = match mode {
            TRUNDLE_PAD_CONSTANT => {
                let own = data.layout.shape();
                let element = |index: &Vec<usize>| {
                    let axes = index.iter().zip(&widths).zip(own.iter());
                    let inner: Option<Vec<usize>> = axes
                        .map(|((at, [before, _]), size)| {
                            at.checked_sub(*before).filter(|at| at < size)
                        })
                        .collect();
                    match inner {
                        Some(inner) => elements[own.ravel(&inner)].clone(),
                        None => value.elements()[0].clone(),
                    }
                };
                indices(&sizes).iter().map(element).collect()
            }
            _ if shape.iter().zip(&widths).any(|(size, width)| *size == 0 && *width != [0; 2]) => {
                return Ok(());
            }
            mode => {
                let mode = modes[mode as usize - 1];
                let padded = widths
                    .iter()
                    .enumerate()
                    .fold(Naive::numbered(&shape), |padded, (axis, width)| {
                        padded.pad(axis, *width, mode)
                    });
                padded.labels().iter().map(|label| elements[*label].clone()).collect()
            }
        };
        let what = format!("{dtype} {shape:?} by {given:?} in mode {mode}");
        check_written((number, dtype), (&sizes, &expected), (&to, seed, ones), &what, |out| {
            let (own, at) = (data.desc(), value.data());
            let at = if mode == TRUNDLE_PAD_CONSTANT { at } else { null_mut() };
            let (widths, len, desc) = (given.as_ptr(), given.len(), out.desc());
            // SAFETY: every pointer is valid for its description.
            unsafe {
                if planned {
                    let plan = Owned::new(|plan| {
                        trundle_pad_plan(&own, widths, len, mode, at, &desc, plan)
                    });
                    let run = || assert_ok(plan.run(data.data(), out.data()));
                    return value.hidden_while(run);
                }
                let (data, out) = (data.data(), out.data());
                assert_ok(trundle_pad(&own, data, widths, len, mode, at, &desc, out));
            }
        });
        Ok(())
    });
}

#[test]
fn every_gather_agrees_with_the_oracle() {
    let dtypes = dtypes();
    let of_indices = (shapes(12), layouts(), any::<bool>());
    let ways = (any::<proptest::sample::Index>(), (layouts(), layouts()), drawn(), any::<bool>());
    let cases = (shapes(60), of_indices, ways);
    holds(CASES, &cases, |(shape, (own, numbers, wide), (axis, (from, to), drawn, planned))| {
        if shape.is_empty() {
            return Ok(());
        }
        let (pick, mut seed, ones) = drawn;
        let axis = axis.index(shape.len());
        let size = shape[axis].cast_signed() as i64;
        let count: usize = own.iter().product();
        if size == 0 && count > 0 {
            return Ok(());
        }
        let mut values = Vec::new();
        for _ in 0..count {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            values.push((seed >> 33).cast_signed() % (2 * size) - size);
        }
        let mut table = indices_tensor(&values, &own, wide, &numbers);
        let expected = Naive::numbered(&shape).take(axis, &own, &values);
        let ways = (dtypes[pick.index(dtypes.len())], (&from, &to), seed);
        let axis = (axis.cast_signed() - if ones { 0 } else { shape.len().cast_signed() }) as i64;
        check(&shape, &expected, ways, ones, &(&own, &values, axis), |data, out| {
            let (from, at, to) = (data.desc(), table.desc(), out.desc());
            let (data, indices, out) = (data.data(), table.data(), out.data());
            // SAFETY: every pointer is valid for its description.
            unsafe {
                if planned {
                    let plan = Owned::new(|plan| {
                        trundle_gather_plan(&from, &at, indices, axis, &to, plan)
                    });
                    return table.hidden_while(|| assert_ok(plan.run(data, out)));
                }
                assert_ok(trundle_gather(&from, data, &at, indices, axis, &to, out));
            }
        });
        Ok(())
    });
}

/// An element type, the layouts of the input and the output, and the seed of the input.
type Ways<'a> = ((trundle_dtype, DType), (&'a LayoutNumbers, &'a LayoutNumbers), u64);

/// Compares a call on random bytes with the oracle.
fn check(
    shape: &[usize],
    expected: &Naive,
    ((number, dtype), (from, to), seed): Ways<'_>,
    ones: bool,
    what: &dyn Debug,
    call: impl FnOnce(&mut Tensor, &mut Tensor),
) {
    let mut data = Tensor::new(number, dtype, &from.source(shape, 1));
    fill(data.buffer.content_mut(), seed);
    let elements = data.elements();
    let moved: Vec<&Vec<u8>> = expected.labels().iter().map(|label| &elements[*label]).collect();
    let what = format!("{dtype} {what:?}");
    check_written((number, dtype), (expected.shape(), &moved), (to, seed, ones), &what, |out| {
        call(&mut data, out);
    });
}

pub(super) fn check_written<E: AsRef<[u8]>>(
    (number, dtype): (trundle_dtype, DType),
    (shape, expected): (&[usize], &[E]),
    (to, seed, ones): (&LayoutNumbers, u64, bool),
    what: &str,
    call: impl FnOnce(&mut Tensor),
) {
    // An output may be a part of a larger tensor, whose other bits must not change.
    let fresh = || {
        let mut out = Tensor::new(number, dtype, &to.destination(shape, 1));
        match ones {
            true => out.buffer.content_mut().fill(0xff),
            false => fill(out.buffer.content_mut(), !seed),
        }
        out
    };
    let mut out = fresh();
    call(&mut out);
    let written = out.elements();
    assert!(written.iter().map(Vec::as_slice).eq(expected.iter().map(E::as_ref)), "{what}");
    let mut right = fresh();
    right.write(expected);
    out.buffer.assert_is(right.buffer.content());
}

pub(super) fn fill(bytes: &mut [u8], seed: u64) {
    let mut state = seed;
    for byte in bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
}
