//! Descriptions of tensors, interpreted independently of the library.

use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::ptr::null;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use trundle::{BitOrder, DType, Width};
use trundle_testing::indices;

use crate::capi::*;

/// A description of a tensor, with the lists that it points to.
pub(crate) struct Tensor {
    pub(crate) desc: trundle_tensor_desc,
    pub(crate) sizes: Vec<u64>,
    pub(crate) strides: Option<Vec<i64>>,
}

impl Tensor {
    pub(crate) fn any(
        bytes: &mut Unstructured<'_>,
        dtype: trundle_dtype,
        like: &[u64],
    ) -> Result<Tensor> {
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

    /// Its description is not passed to C.
    pub(crate) fn of_one(dtype: trundle_dtype) -> Tensor {
        let desc = trundle_tensor_desc { dtype, rank: 0, sizes: null(), strides_elems: null() };
        Tensor { desc, sizes: vec![], strides: None }
    }

    /// The tensor must have been accepted.
    pub(crate) fn shape(&self) -> Vec<usize> {
        self.sizes.iter().map(|size| *size as usize).collect()
    }

    pub(crate) fn width(&self) -> Option<Width> {
        let number = self.desc.dtype;
        let orders = [
            (TRUNDLE_BIT_ORDER_LOW_FIRST, BitOrder::LowFirst),
            (TRUNDLE_BIT_ORDER_HIGH_FIRST, BitOrder::HighFirst),
            (TRUNDLE_BIT_ORDER_SPLIT, BitOrder::Split),
        ];
        let added = orders.into_iter().find(|(bits, _)| number & 0xf000 == *bits);
        let added = added.filter(|_| number < TRUNDLE_DTYPE_BYTES);
        // SAFETY: the name of a type is a C string or null.
        let name = unsafe {
            let name = trundle_dtype_name(number - added.map_or(0, |(bits, _)| bits));
            if name.is_null() {
                return None;
            }
            CStr::from_ptr(name).to_str().ok()?
        };
        if name == "bytes" {
            return Some(Width::Bytes((self.desc.dtype - TRUNDLE_DTYPE_BYTES) as usize));
        }
        let dtype = DType::from_name(name).ok()?;
        let Some((_, order)) = added else { return Some(dtype.into()) };
        dtype.packing()?.with_order(order).map(Width::SubByte)
    }

    pub(crate) fn elements(&self) -> Option<i128> {
        if self.sizes.contains(&0) {
            return Some(0);
        }
        self.sizes.iter().try_fold(1i128, |count, size| count.checked_mul((*size).into()))
    }

    /// The strides in elements, also of a packed tensor.
    pub(crate) fn steps(&self) -> Option<Vec<i128>> {
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

    /// The bytes relative to the all-zero index; `None` if 128 bits overflow.
    pub(crate) fn reach(&self) -> Option<Range<i128>> {
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
        // The range is from the start of the first element's group to the end of the last element's group.
        Some(
            first.div_euclid(group).checked_mul(bytes)?
                ..last.checked_add(group - 1)? / group * bytes,
        )
    }

    /// Relative to the all-zero index, in units and in row-major order.
    pub(crate) fn offsets(&self) -> Vec<i128> {
        let units = self.width().map_or(0, |width| width.units() as i128);
        let steps = self.steps().unwrap_or_default();
        let sizes: Vec<usize> = self.sizes.iter().map(|size| *size as usize).collect();
        let offset = |index: Vec<usize>| {
            index.iter().zip(&steps).map(|(i, step)| *i as i128 * step * units).sum()
        };
        indices(&sizes).into_iter().map(offset).collect()
    }
}

pub(crate) fn any_sizes(bytes: &mut Unstructured<'_>) -> Result<Vec<u64>> {
    let rank = if bytes.ratio(1, 64)? { 300 } else { bytes.int_in_range(0..=5)? };
    (0..rank).map(|_| any_size(bytes)).collect()
}

pub(crate) fn any_size(bytes: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match bytes.int_in_range(0..=31)? {
        0 => 0,
        1 => bytes.arbitrary()?,
        2 => 1 << bytes.int_in_range(0..=63)?,
        3..=8 => 1,
        _ => bytes.int_in_range(2..=7)?,
    })
}

pub(crate) fn any_strides(bytes: &mut Unstructured<'_>, sizes: &[u64]) -> Result<Option<Vec<i64>>> {
    Ok(match bytes.int_in_range(0..=7)? {
        0..=2 => None,
        3 => Some(sizes.iter().map(|_| bytes.arbitrary()).collect::<Result<_>>()?),
        4 => Some(sizes.iter().map(|_| bytes.int_in_range(-9..=9)).collect::<Result<_>>()?),
        // Nested axes in some order, with gaps, some of them backward.
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

/// For each element, its bytes, or one byte with its bits.
///
/// # Safety
/// The memory at `pointer` must contain the tensor.
pub(crate) unsafe fn elements(tensor: &Tensor, pointer: *mut c_void) -> Vec<Vec<u8>> {
    let (Some(reach), Some(width)) = (tensor.reach(), tensor.width()) else { return vec![] };
    let (start, length) = (reach.start as isize, (reach.end - reach.start) as usize);
    if length == 0 {
        return tensor.offsets().iter().map(|_| vec![]).collect();
    }
    // SAFETY: the caller guarantees that the memory holds the tensor, which covers `reach`.
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
