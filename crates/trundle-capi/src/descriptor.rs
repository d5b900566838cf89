//! Descriptions of tensors.

use std::fmt::Display;

use trundle::{DType, DTypeError, Error, Layout, Shape, TensorView, TensorViewMut, Width};

use super::dtype::{element, number_of_element, trundle_dtype};
use super::error::{Failure, Result};
use super::memory::{CallerMemory, Reach, entries, value};
use super::status::TRUNDLE_ERROR_RANK;

/// The element type, the sizes and the strides of a tensor.
///
/// A tensor's data pointer is the address of the element at index 0 of every axis. With a negative stride, the tensor
/// also covers memory before this address.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trundle_tensor_desc {
    /// One of TRUNDLE_DTYPE_*.
    pub dtype: trundle_dtype,
    /// The number of axes; 0 for a single element.
    pub rank: u32,
    /// The sizes of the axes, the outermost first: `rank` entries. A size may be 0.
    pub sizes: *const u64,
    /// The distance between neighbours along each axis, in elements: `rank` entries. A stride may be negative; a stride
    /// of 0 repeats elements. NULL stands for a row-major tensor without gaps.
    pub strides_elems: *const i64,
}

/// The contents of a description, before its sizes and strides are checked. [`Descriptor::read`] returns equal results
/// for equal contents, so they are part of the key of the plan cache.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Described<'a> {
    dtype: trundle_dtype,
    sizes: &'a [u64],
    strides_elems: Option<&'a [i64]>,
}

impl Described<'_> {
    /// Reads the description of `argument`.
    ///
    /// # Safety
    /// As [`Descriptor::read`].
    #[inline(always)]
    pub(crate) unsafe fn read(argument: &str, desc: *const trundle_tensor_desc) -> Result<Self> {
        let name = format_args!("{argument}_desc");
        // SAFETY: the caller guarantees a valid description, whose lists have `rank` entries.
        unsafe {
            let desc = value(name, desc)?;
            // An unknown type means that the description is probably uninitialized, so its pointers must not be used.
            element(name, desc.dtype)?;
            let rank = checked_rank(name, desc.rank)?;
            let sizes = entries(format_args!("{name}->sizes"), desc.sizes, rank)?;
            let strides = desc.strides_elems;
            let strides_elems = match strides.is_null() {
                true => None,
                false => Some(entries(format_args!("{name}->strides_elems"), strides, rank)?),
            };
            Ok(Described { dtype: desc.dtype, sizes, strides_elems })
        }
    }
}

/// The maximum rank. A tensor with elements has at most 62 axes of more than one element. A higher rank is probably
/// uninitialized; its lists of sizes and strides do not exist.
const MOST_AXES: u32 = 256;

/// A checked description of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct Descriptor {
    argument: &'static str,
    dtype: DType,
    width: Width,
    /// The layout of the tensor in a buffer that begins at the start of `reach`.
    layout: Layout,
    reach: Reach,
    /// The required alignment of the data pointer, in bytes.
    alignment: usize,
}

impl Descriptor {
    /// Reads and checks the description of `argument`.
    ///
    /// # Safety
    /// If `desc` is aligned and not null, it points to a description. The pointers in the description point to `rank`
    /// entries each.
    pub(crate) unsafe fn read(
        argument: &'static str,
        desc: *const trundle_tensor_desc,
    ) -> Result<Descriptor> {
        // SAFETY: the caller guarantees a valid description.
        let read = unsafe { Described::read(argument, desc)? };
        let element = element(argument, read.dtype)?;
        Descriptor::new(argument, element, &shape_of(read.sizes)?, read.strides_elems)
    }

    /// Makes the description of a tensor with these strides in elements; without strides, it is row-major without gaps.
    pub(crate) fn new(
        argument: &'static str,
        (dtype, width): (DType, Width),
        shape: &Shape,
        strides_elems: Option<&[i64]>,
    ) -> Result<Descriptor> {
        let from_zero = match strides_elems {
            Some(strides) => strided(shape, width.units(), strides)?,
            None => Layout::row_major(shape, width.units())?,
        };
        let (reach, first_unit) = reach_of(width, &from_zero)?;
        let layout = Layout::strided(shape, first_unit, from_zero.strides_bytes())?;
        Ok(Descriptor { argument, dtype, width, layout, reach, alignment: alignment(dtype) })
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn check_one_of(&self, expected: &[DType]) -> Result<()> {
        if expected.contains(&self.dtype) {
            return Ok(());
        }
        let (argument, expected, got) = (self.argument, expected.to_vec(), self.dtype);
        Err(DTypeError::DTypeMismatch { argument, expected, got }.into())
    }

    pub(crate) fn width(&self) -> Width {
        self.width
    }

    pub(crate) fn number(&self) -> Option<trundle_dtype> {
        number_of_element(self.dtype, self.width)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the tensor is row-major without gaps.
    pub(crate) fn is_dense(&self) -> bool {
        let Ok(dense) = Layout::row_major(self.layout.shape(), self.width.units()) else {
            return false;
        };
        let strides = dense.strides_bytes().iter().zip(self.layout.strides_bytes());
        // Other strides do not matter.
        let has_none = self.layout.shape().elements() == 0;
        let mut strides = strides.zip(self.layout.shape().iter());
        has_none || strides.all(|((dense, own), size)| *size < 2 || dense == own)
    }

    /// The memory of the tensor whose element at index 0 of every axis is at `data`.
    #[inline]
    pub(crate) fn memory(&self, data: *const u8) -> Result<CallerMemory> {
        CallerMemory::new(self.argument, data.cast_mut(), self.reach, self.alignment)
    }

    /// Returns a read-only view of the tensor in `memory`.
    ///
    /// # Safety
    /// As [`CallerMemory::read`].
    pub(crate) unsafe fn view<'a>(&self, memory: &CallerMemory) -> Result<TensorView<'a>> {
        // SAFETY: the caller guarantees what [`CallerMemory::read`] requires.
        let bytes = unsafe { memory.read() };
        let layout = self.layout.clone();
        Ok(match self.width.packing() {
            None => TensorView::new(bytes, self.dtype, layout),
            Some(packing) => TensorView::sub_byte(bytes, self.dtype, packing.order(), layout),
        }?)
    }

    /// Returns a writable view of the tensor in `memory`.
    ///
    /// # Safety
    /// As [`CallerMemory::write`].
    pub(crate) unsafe fn view_mut<'a>(&self, memory: &CallerMemory) -> Result<TensorViewMut<'a>> {
        // SAFETY: the caller guarantees what [`CallerMemory::write`] requires.
        let bytes = unsafe { memory.write() };
        let layout = self.layout.clone();
        Ok(match self.width.packing() {
            None => TensorViewMut::new(bytes, self.dtype, layout),
            Some(packing) => TensorViewMut::sub_byte(bytes, self.dtype, packing.order(), layout),
        }?)
    }
}

/// Checks a rank before sizes are read.
#[inline]
pub(crate) fn checked_rank(argument: impl Display, rank: u32) -> Result<usize> {
    if rank > MOST_AXES {
        return Err(bad_rank(&argument, rank));
    }
    Ok(rank as usize)
}

#[cold]
fn bad_rank(argument: &dyn Display, rank: u32) -> Failure {
    let message = format!("{argument} has rank {rank}, the limit is {MOST_AXES}");
    Failure::new(TRUNDLE_ERROR_RANK, message)
}

pub(crate) fn sizes_of(shape: &Shape) -> impl ExactSizeIterator<Item = u64> {
    shape.iter().map(|size| *size as u64)
}

pub(crate) fn shape_of<T: Copy + TryInto<usize>>(sizes: &[T]) -> Result<Shape> {
    // A size that does not fit becomes `usize::MAX`, which `Shape::new` rejects.
    let sizes: Vec<usize> =
        sizes.iter().map(|size| (*size).try_into().unwrap_or(usize::MAX)).collect();
    Ok(Shape::new(sizes)?)
}

/// Makes a layout whose element at index 0 of every axis is at offset 0. Strides of axes with at most one element are
/// ignored.
fn strided(shape: &Shape, width: usize, strides_elems: &[i64]) -> Result<Layout> {
    let too_large = || {
        Error::too_large(format!(
            "shape {shape} with strides {strides_elems:?} of {width}-byte elements"
        ))
    };
    let in_bytes = |(stride, size): (&i64, &usize)| {
        if *size < 2 || shape.elements() == 0 {
            return Some(0);
        }
        isize::try_from(*stride).ok()?.checked_mul(isize::try_from(width).ok()?)
    };
    let strides: Option<Vec<isize>> =
        strides_elems.iter().zip(shape.iter()).map(in_bytes).collect();
    Ok(Layout::strided(shape, 0, &strides.ok_or_else(too_large)?)?)
}

/// The reach of a tensor, and the offset in it of the element at index 0 of every axis, which is at offset 0 in
/// `layout`. The offset is in bytes, or in elements for sub-byte elements.
fn reach_of(width: Width, layout: &Layout) -> Result<(Reach, usize)> {
    let units = layout.span(width.units())?;
    // The element at index 0 begins a group, so sub-byte elements before it take whole groups.
    let (group, group_bytes) =
        width.packing().map_or((1, 1), |packing| (packing.group(), packing.group_bytes()));
    let groups = units.start.unsigned_abs().div_ceil(group);
    let (before, end) = (groups * group_bytes, width.bytes(units.end.unsigned_abs()));
    let bytes = before.checked_add(end).filter(|bytes| *bytes <= isize::MAX.unsigned_abs());
    let Some(bytes) = bytes else {
        let what = format!("{} with strides {:?}", layout.shape(), layout.strides_bytes());
        return Err(Error::too_large(format!("shape {what} in bytes")).into());
    };
    Ok((Reach { before, bytes }, groups * group))
}

fn alignment(dtype: DType) -> usize {
    match (dtype, dtype.width()) {
        (DType::Bytes(_), _) => 1,
        (DType::Complex64, _) | (_, 4) => align_of::<u32>(),
        (DType::Complex128, _) | (_, 8) => align_of::<u64>(),
        (_, 2) => align_of::<u16>(),
        _ => 1,
    }
}
