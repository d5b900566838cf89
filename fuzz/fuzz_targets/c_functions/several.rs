//! Calls with several inputs or outputs: parameters, C functions, and the oracle's results.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use trundle::ops::PadMode;
use trundle_testing::{Naive, indices};

use crate::capi::*;
use crate::operator::any_axis;
use crate::tensor::{Tensor, any_size, any_sizes};

pub(crate) enum Several {
    Concatenate { axis: i64 },
    Split { axis: i64 },
    Pad { widths: Vec<i64>, mode: trundle_pad_mode },
    Gather { axis: i64 },
    GatherElements { axis: i64 },
    GatherNd { batch_axes: u32 },
    ScatterElements { axis: i64 },
    ScatterNd,
}

pub(crate) struct Tensors {
    /// All parts of a concatenation; otherwise the data, followed by a value or by indices and updates.
    pub(crate) read: Vec<Tensor>,
    pub(crate) written: Vec<Tensor>,
}

/// The elements of a tensor: for each, its bytes, or one byte with its bits.
type Elements = Vec<Vec<u8>>;

fn changed(sizes: &[u64], axis: i64, size: u64) -> Vec<u64> {
    let mut sizes = sizes.to_vec();
    if let Ok(axis) = trundle::normalize_axis("axis", axis, sizes.len()) {
        sizes[axis] = size;
    }
    sizes
}

impl Several {
    pub(crate) fn any(
        bytes: &mut Unstructured<'_>,
        dtype: trundle_dtype,
        sizes: &[u64],
    ) -> Result<(Several, Tensors)> {
        let rank = sizes.len();
        let axis = any_axis(bytes, rank as i64)?;
        let index = if bytes.arbitrary()? { TRUNDLE_DTYPE_I32 } else { TRUNDLE_DTYPE_I64 };
        let kind = bytes.int_in_range(0..=7)?;
        if kind < 2 {
            let count = if bytes.ratio(1, 16)? { 0 } else { bytes.int_in_range(1..=3)? };
            let own = (0..count).map(|_| any_size(bytes)).collect::<Result<Vec<u64>>>()?;
            let sum = own.iter().fold(0, |sum: u64, size| sum.wrapping_add(*size));
            let part = |size: &u64| changed(sizes, axis, *size);
            let parts = own.iter().map(|size| Tensor::any(bytes, dtype, &part(size)));
            let parts = parts.collect::<Result<Vec<Tensor>>>()?;
            let whole = vec![Tensor::any(bytes, dtype, &part(&sum))?];
            return Ok(match kind {
                0 => (Several::Concatenate { axis }, Tensors { read: parts, written: whole }),
                _ => (Several::Split { axis }, Tensors { read: whole, written: parts }),
            });
        }
        let data = Tensor::any(bytes, dtype, sizes)?;
        if kind == 2 {
            let count = *bytes.choose(&[1, 2, 2 * rank, 3])?;
            let widths = (0..count).map(|_| bytes.int_in_range(-1..=40)).map(|width| {
                // Most are small.
                width.map(|width: i64| if width > 30 { width << 40 } else { width.min(3) })
            });
            let widths = widths.collect::<Result<Vec<i64>>>()?;
            let mode = bytes.int_in_range(-1..=5)?;
            let value = Tensor::of_one(data.desc.dtype);
            let pairs = pairs(&widths, rank);
            let out = sizes.iter().zip(&pairs).map(|(size, [before, behind])| {
                size.wrapping_add_signed(before.wrapping_add(*behind))
            });
            let out = Tensor::any(bytes, dtype, &out.collect::<Vec<u64>>())?;
            let tensors = Tensors { read: vec![data, value], written: vec![out] };
            return Ok((Several::Pad { widths, mode }, tensors));
        }
        let mut own = any_sizes(bytes)?;
        own.truncate(2);
        let along = changed(sizes, axis, any_size(bytes)?);
        let batch = if kind == 5 { bytes.int_in_range(0..=rank.min(2))? } else { 0 };
        let together = bytes.int_in_range(0..=rank - batch)?;
        let positions = [&sizes[..batch], &own].concat();
        let at = [&positions[..], &[together as u64]].concat();
        let slices = [&positions[..], &sizes[batch + together..]].concat();
        let front = trundle::normalize_axis("axis", axis, rank).unwrap_or(0);
        let behind = sizes.get(front + 1..).unwrap_or_default();
        let taken = [&sizes[..front.min(rank)], &own, behind].concat();
        let (call, at, part) = match kind {
            3 => (Several::Gather { axis }, own, taken),
            4 => (Several::GatherElements { axis }, along.clone(), along),
            5 => (Several::GatherNd { batch_axes: batch as u32 }, at, slices),
            6 => (Several::ScatterElements { axis }, along.clone(), along),
            _ => (Several::ScatterNd, at, slices),
        };
        let at = Tensor::any(bytes, index, &at)?;
        let part = Tensor::any(bytes, dtype, &part)?;
        Ok(match kind {
            3..=5 => (call, Tensors { read: vec![data, at], written: vec![part] }),
            _ => {
                let out = Tensor::any(bytes, dtype, sizes)?;
                (call, Tensors { read: vec![data, at, part], written: vec![out] })
            }
        })
    }

    /// Which input has the indices.
    pub(crate) fn indices(&self) -> Option<usize> {
        let has_none = matches!(
            self,
            Several::Concatenate { .. } | Several::Split { .. } | Several::Pad { .. }
        );
        (!has_none).then_some(1)
    }

    /// Calls the function, or makes a plan and runs it.
    ///
    /// # Safety
    /// All pointers must match their descriptions. Otherwise the call must be one that fails.
    pub(crate) unsafe fn call(
        &self,
        is_planned: bool,
        tensors: &Tensors,
        read: &[*mut c_void],
        written: &[*mut c_void],
    ) -> trundle_status {
        let descs: Vec<trundle_tensor_desc> = tensors.read.iter().map(|each| each.desc).collect();
        let outs: Vec<trundle_tensor_desc> = tensors.written.iter().map(|each| each.desc).collect();
        let inputs: Vec<*const c_void> = read.iter().map(|each| each.cast_const()).collect();
        let mut plan = null_mut();
        // SAFETY: the caller passes pointers that match, or descriptions that are rejected.
        unsafe {
            let (made, inputs) = match self {
                Several::Concatenate { axis } if is_planned => {
                    let (first, count) = (descs.as_ptr(), descs.len());
                    let made = trundle_concatenate_plan(first, count, *axis, &outs[0], &mut plan);
                    (made, &inputs[..])
                }
                Several::Pad { widths, mode } if is_planned => {
                    let (first, len, value) = (widths.as_ptr(), widths.len(), inputs[1]);
                    let (from, to) = (&descs[0], &outs[0]);
                    let made = trundle_pad_plan(from, first, len, *mode, value, to, &mut plan);
                    (made, &inputs[..1])
                }
                Several::Gather { axis } if is_planned => {
                    let (from, at, to) = (&descs[0], &descs[1], &outs[0]);
                    let made = trundle_gather_plan(from, at, inputs[1], *axis, to, &mut plan);
                    (made, &inputs[..1])
                }
                _ => return self.call_at_once(&descs, &outs, &inputs, written),
            };
            assert_eq!(made == TRUNDLE_OK, !plan.is_null());
            let (first, count) = (inputs.as_ptr(), inputs.len());
            let status = match made {
                TRUNDLE_OK => {
                    let refused = trundle_plan_run_inputs(plan, first, count + 1, null_mut());
                    assert_ne!(refused, TRUNDLE_OK);
                    let mut needed = 0;
                    let status = trundle_plan_describe(plan, null_mut(), 0, &mut needed);
                    assert!(status == TRUNDLE_OK && needed > 1);
                    match inputs {
                        [one] => trundle_plan_run(plan, *one, written[0]),
                        [_, _] => trundle_plan_run_all(plan, first, count, written.as_ptr(), 1),
                        _ => trundle_plan_run_inputs(plan, first, count, written[0]),
                    }
                }
                refused => refused,
            };
            trundle_plan_free(plan);
            status
        }
    }

    /// # Safety
    /// As [`Several::call`].
    unsafe fn call_at_once(
        &self,
        descs: &[trundle_tensor_desc],
        outs: &[trundle_tensor_desc],
        read: &[*const c_void],
        written: &[*mut c_void],
    ) -> trundle_status {
        let desc = |at: usize| descs.get(at).map_or(null(), |desc| &raw const *desc);
        let to = outs.first().map_or(null(), |desc| &raw const *desc);
        let out = written.first().copied().unwrap_or(null_mut());
        let (data, at) = (desc(0), desc(1));
        // SAFETY: the caller passes pointers that match, or descriptions that are rejected.
        unsafe {
            match self {
                Several::Concatenate { axis } => {
                    let inputs: Vec<trundle_input> = descs
                        .iter()
                        .zip(read)
                        .map(|(desc, data)| trundle_input { desc, data: *data })
                        .collect();
                    trundle_concatenate(inputs.as_ptr(), inputs.len(), *axis, to, out)
                }
                Several::Split { axis } => {
                    let outputs: Vec<trundle_output> = outs
                        .iter()
                        .zip(written)
                        .map(|(desc, data)| trundle_output { desc, data: *data })
                        .collect();
                    trundle_split(data, read[0], outputs.as_ptr(), outputs.len(), *axis)
                }
                Several::Pad { widths, mode } => {
                    let (first, len) = (widths.as_ptr(), widths.len());
                    trundle_pad(data, read[0], first, len, *mode, read[1], to, out)
                }
                Several::Gather { axis } => {
                    trundle_gather(data, read[0], at, read[1], *axis, to, out)
                }
                Several::GatherElements { axis } => {
                    trundle_gather_elements(data, read[0], at, read[1], *axis, to, out)
                }
                Several::GatherNd { batch_axes } => {
                    trundle_gather_nd(data, read[0], at, read[1], *batch_axes, to, out)
                }
                Several::ScatterElements { axis } => {
                    let (part, updates) = (desc(2), read[2]);
                    trundle_scatter_elements(
                        data, read[0], at, read[1], part, updates, *axis, to, out,
                    )
                }
                Several::ScatterNd => {
                    trundle_scatter_nd(data, read[0], at, read[1], desc(2), read[2], to, out)
                }
            }
        }
    }

    /// The outputs of an accepted call, as the function's documentation defines them.
    pub(crate) fn plain(&self, tensors: &Tensors, read: &[Elements]) -> Vec<Elements> {
        let shapes: Vec<Vec<usize>> = tensors.read.iter().map(Tensor::shape).collect();
        let written: Vec<Vec<usize>> = tensors.written.iter().map(Tensor::shape).collect();
        let front = |axis: i64, rank| trundle::normalize_axis("axis", axis, rank).unwrap();
        match self {
            Several::Concatenate { axis } => {
                let axis = front(*axis, written[0].len());
                let element = |mut index: Vec<usize>| {
                    let mut part = 0;
                    while index[axis] >= shapes[part][axis] {
                        index[axis] -= shapes[part][axis];
                        part += 1;
                    }
                    read[part][number_of(&index, &shapes[part])].clone()
                };
                vec![indices(&written[0]).into_iter().map(element).collect()]
            }
            Several::Split { axis } => {
                let (axis, mut start) = (front(*axis, shapes[0].len()), 0);
                let mut parts = Vec::new();
                for shape in &written {
                    let element = |mut index: Vec<usize>| {
                        index[axis] += start;
                        read[0][number_of(&index, &shapes[0])].clone()
                    };
                    parts.push(indices(shape).into_iter().map(element).collect());
                    start += shape[axis];
                }
                parts
            }
            Several::Pad { widths, mode } => vec![padded(widths, *mode, &shapes[0], read)],
            Several::Gather { axis } => {
                let at = front(*axis, shapes[0].len());
                let taken = Naive::numbered(&shapes[0]).take(at, &shapes[1], &numbers(&read[1]));
                vec![taken.labels().iter().map(|label| read[0][*label].clone()).collect()]
            }
            Several::GatherElements { axis } => {
                let indices = along_axis(front(*axis, shapes[0].len()), &shapes, &read[1]);
                vec![indices.into_iter().map(|index| read[0][index].clone()).collect()]
            }
            Several::GatherNd { batch_axes } => {
                let indices = of_axes(*batch_axes as usize, &shapes, &read[1]);
                vec![indices.into_iter().map(|index| read[0][index].clone()).collect()]
            }
            Several::ScatterElements { axis } => {
                let indices = along_axis(front(*axis, shapes[0].len()), &shapes, &read[1]);
                vec![scattered(indices, read)]
            }
            Several::ScatterNd => vec![scattered(of_axes(0, &shapes, &read[1]), read)],
        }
    }
}

fn number_of(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |number, (at, size)| number * size + at)
}

/// Returns the widths before and after each axis.
fn pairs(widths: &[i64], rank: usize) -> Vec<[i64; 2]> {
    match widths {
        [both] => vec![[*both; 2]; rank],
        [before, behind] => vec![[*before, *behind]; rank],
        _ => (0..rank)
            .map(|axis| [2 * axis, 2 * axis + 1].map(|at| widths.get(at).copied().unwrap_or(0)))
            .collect(),
    }
}

fn padded(widths: &[i64], mode: trundle_pad_mode, shape: &[usize], read: &[Elements]) -> Elements {
    let pairs = pairs(widths, shape.len());
    let modes = [PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap];
    let width = |width: i64| usize::try_from(width).unwrap();
    if mode != TRUNDLE_PAD_CONSTANT {
        let mut naive = Naive::numbered(shape);
        for (axis, pair) in pairs.iter().enumerate() {
            naive = naive.pad(axis, pair.map(width), modes[mode as usize - 1]);
        }
        return naive.labels().iter().map(|label| read[0][*label].clone()).collect();
    }
    let sizes: Vec<usize> =
        shape.iter().zip(&pairs).map(|(size, [a, b])| size + width(*a) + width(*b)).collect();
    let element = |index: Vec<usize>| {
        let axes = index.iter().zip(&pairs).zip(shape);
        let own: Option<Vec<usize>> = axes
            .map(|((at, [before, _]), size)| at.checked_sub(width(*before)).filter(|at| at < size))
            .collect();
        own.map_or(&read[1][0], |own| &read[0][number_of(&own, shape)]).clone()
    };
    indices(&sizes).into_iter().map(element).collect()
}

/// Converts elements of type i32 or i64 to indices.
fn numbers(elements: &Elements) -> Vec<i64> {
    let number = |bytes: &Vec<u8>| match bytes[..] {
        [a, b, c, d] => i32::from_ne_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("no indices"),
    };
    elements.iter().map(number).collect()
}

fn from_front(index: i64, size: usize) -> usize {
    usize::try_from(if index < 0 { index + size as i64 } else { index }).unwrap()
}

/// The row-major index of the data element for each index.
fn along_axis(axis: usize, shapes: &[Vec<usize>], at: &Elements) -> Vec<usize> {
    let index = |(mut position, index): (Vec<usize>, i64)| {
        position[axis] = from_front(index, shapes[0][axis]);
        number_of(&position, &shapes[0])
    };
    indices(&shapes[1]).into_iter().zip(numbers(at)).map(index).collect()
}

/// The row-major index of the data element for each position.
fn of_axes(batch: usize, shapes: &[Vec<usize>], at: &Elements) -> Vec<usize> {
    let (shape, numbers) = (&shapes[0], numbers(at));
    let (together, positions) = shapes[1].split_last().unwrap();
    let mut sources = Vec::new();
    for (row, position) in indices(positions).iter().enumerate() {
        let own = numbers[row * together..][..*together].iter().zip(&shape[batch..]);
        let own: Vec<usize> = own.map(|(index, size)| from_front(*index, *size)).collect();
        for behind in indices(&shape[batch + together..]) {
            sources.push(number_of(&[&position[..batch], &own, &behind].concat(), shape));
        }
    }
    sources
}

fn scattered(indices: Vec<usize>, read: &[Elements]) -> Elements {
    let mut out = read[0].clone();
    for (index, update) in indices.into_iter().zip(&read[2]) {
        out[index] = update.clone();
    }
    out
}
