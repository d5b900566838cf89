//! Tensors as callers describe them.

use std::fmt::Display;

use trundle::{DType, Error, Layout, Shape, TensorView, TensorViewMut, Width};

use super::dtype::{element, number_of_element, trundle_dtype};
use super::error::{Failure, Result};
use super::memory::{Memory, Reach, entries, value};
use super::status::TRUNDLE_ERROR_RANK;

/// What a tensor is: its element type, its sizes, and where its elements lie.
///
/// The data that goes with it points at the element at index 0 of every axis; negative strides
/// reach before it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trundle_tensor_desc {
    /// One of TRUNDLE_DTYPE_*.
    pub dtype: trundle_dtype,
    /// The number of axes; 0 for a single element.
    pub rank: u32,
    /// The size of each axis, the outermost first: `rank` entries. A size may be 0.
    pub sizes: *const u64,
    /// The distance between neighbours along each axis, in elements: `rank` entries, which may be
    /// negative, and 0 to read the same elements again. NULL: packed, row-major.
    pub strides_elems: *const i64,
}

/// A description as the caller's memory has it, followed but not checked: of two that are equal in all
/// of it [`Descriptor::read`] makes the same.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Described<'a> {
    dtype: trundle_dtype,
    sizes: &'a [u64],
    strides_elems: Option<&'a [i64]>,
}

impl Described<'_> {
    /// What `desc` says; `None` if it is one that [`Descriptor::read`] refuses to follow.
    ///
    /// # Safety
    /// As [`Descriptor::read`].
    #[inline(always)]
    pub(crate) unsafe fn read(desc: *const trundle_tensor_desc) -> Option<Self> {
        // SAFETY: the contract is the same, and the rank is the caller's word.
        unsafe {
            let desc = value("", desc).ok()?;
            // Nothing is followed of one that was never set.
            element("", desc.dtype).ok()?;
            let rank = checked_rank("", desc.rank).ok()?;
            let sizes = entries("", desc.sizes, rank).ok()?;
            let strides_elems = match desc.strides_elems.is_null() {
                true => None,
                false => Some(entries("", desc.strides_elems, rank).ok()?),
            };
            Some(Described { dtype: desc.dtype, sizes, strides_elems })
        }
    }
}

/// A higher rank is refused: no tensor that has elements has more than 62 axes of more than one,
/// so this leaves room for four times as many. Higher ones come from memory that was never set,
/// and the sizes that they promise are not there.
const MOST_AXES: u32 = 256;

/// A tensor's description, checked.
#[derive(Clone, Debug)]
pub(crate) struct Descriptor {
    argument: &'static str,
    dtype: DType,
    width: Width,
    /// In a buffer that begins where `reach` does.
    layout: Layout,
    reach: Reach,
    /// What its address is a multiple of.
    alignment: usize,
}

impl Descriptor {
    /// What `desc` says of `argument`.
    ///
    /// # Safety
    /// A pointer that is not null and aligned leads to a description, and those in there lead to
    /// `rank` entries.
    pub(crate) unsafe fn read(
        argument: &'static str,
        desc: *const trundle_tensor_desc,
    ) -> Result<Descriptor> {
        let name = format_args!("{argument}_desc");
        // SAFETY: the contract is the same.
        let desc = unsafe { value(name, desc)? };
        let element = element(name, desc.dtype)?;
        let rank = checked_rank(name, desc.rank)?;
        // SAFETY: the rank is the caller's word.
        let sizes = unsafe { entries(format_args!("{name}->sizes"), desc.sizes, rank)? };
        let shape = shape_of(sizes)?;
        if desc.strides_elems.is_null() {
            return Descriptor::new(argument, element, &shape, None);
        }
        // SAFETY: the same.
        let strides =
            unsafe { entries(format_args!("{name}->strides_elems"), desc.strides_elems, rank)? };
        Descriptor::new(argument, element, &shape, Some(strides))
    }

    /// A tensor of `shape` with these strides, in elements, or packed and row-major.
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

    /// What a move must know of the elements.
    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// What C calls the elements.
    pub(crate) fn number(&self) -> Option<trundle_dtype> {
        number_of_element(self.dtype, self.width)
    }

    /// Where the elements lie in [`Descriptor::memory`].
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether it is whole bytes that follow each other, row-major.
    pub(crate) fn is_row_major(&self) -> bool {
        let contiguous = Layout::row_major(self.layout.shape(), self.width.units());
        self.width.packing().is_none() && contiguous.is_ok_and(|layout| layout == self.layout)
    }

    /// Whether the elements follow each other, row-major; also where they are less than a byte.
    pub(crate) fn is_dense(&self) -> bool {
        let Ok(dense) = Layout::row_major(self.layout.shape(), self.width.units()) else {
            return false;
        };
        let strides = dense.strides_bytes().iter().zip(self.layout.strides_bytes());
        // Along axes of one element, and in a tensor without any, nobody goes.
        let has_none = self.layout.shape().elements() == 0;
        let mut strides = strides.zip(self.layout.shape().iter());
        has_none || strides.all(|((dense, own), size)| *size < 2 || dense == own)
    }

    /// All the memory of the tensor whose element at index 0 of every axis is at `data`.
    #[inline]
    pub(crate) fn memory(&self, data: *const u8) -> Result<Memory> {
        Memory::new(self.argument, data.cast_mut(), self.reach, self.alignment)
    }

    /// The tensor in its memory, to read.
    ///
    /// # Safety
    /// As [`Memory::read`].
    pub(crate) unsafe fn view<'a>(&self, memory: &Memory) -> Result<TensorView<'a>> {
        // SAFETY: the contract is the same.
        let bytes = unsafe { memory.read() };
        let layout = self.layout.clone();
        Ok(match self.width.packing() {
            None => TensorView::new(bytes, self.dtype, layout),
            Some(packing) => TensorView::sub_byte(bytes, self.dtype, packing.order(), layout),
        }?)
    }

    /// The tensor in its memory, to write.
    ///
    /// # Safety
    /// As [`Memory::write`].
    pub(crate) unsafe fn view_mut<'a>(&self, memory: &Memory) -> Result<TensorViewMut<'a>> {
        // SAFETY: the contract is the same.
        let bytes = unsafe { memory.write() };
        let layout = self.layout.clone();
        Ok(match self.width.packing() {
            None => TensorViewMut::new(bytes, self.dtype, layout),
            Some(packing) => TensorViewMut::sub_byte(bytes, self.dtype, packing.order(), layout),
        }?)
    }
}

/// A rank that sizes can be read for.
#[inline]
pub(crate) fn checked_rank(argument: impl Display, rank: u32) -> Result<usize> {
    if rank > MOST_AXES {
        return Err(bad_rank(&argument, rank));
    }
    Ok(rank as usize)
}

#[cold]
fn bad_rank(argument: &dyn Display, rank: u32) -> Failure {
    let message = format!("{argument} has rank {rank}, of {MOST_AXES} at most");
    Failure::new(TRUNDLE_ERROR_RANK, message)
}

/// The sizes of a shape, as C has them.
pub(crate) fn sizes_of(shape: &Shape) -> impl ExactSizeIterator<Item = u64> {
    shape.iter().map(|size| *size as u64)
}

/// The shape of these sizes.
pub(crate) fn shape_of<T: Copy + TryInto<usize>>(sizes: &[T]) -> Result<Shape> {
    // No shape has a size that large, and its message says so.
    let sizes: Vec<usize> =
        sizes.iter().map(|size| (*size).try_into().unwrap_or(usize::MAX)).collect();
    Ok(Shape::new(sizes)?)
}

/// A layout with the first element at 0. Strides of axes that nobody goes along may be anything.
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

/// What a tensor covers whose `layout` has the element at index 0 of every axis at offset 0, and where
/// that element is in these bytes, as a layout counts: in bytes, or in elements if they are packed.
fn reach_of(width: Width, layout: &Layout) -> Result<(Reach, usize)> {
    let units = layout.span(width.units())?;
    // Packed elements before the first are in groups that are over where the first begins one.
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

/// What addresses of these elements are multiples of, as C has its types.
fn alignment(dtype: DType) -> usize {
    match dtype {
        DType::Bytes(_) => 1,
        DType::Complex64 => align_of::<f32>(),
        DType::Complex128 => align_of::<f64>(),
        _ => match dtype.width() {
            2 => align_of::<u16>(),
            4 => align_of::<u32>(),
            8 => align_of::<u64>(),
            _ => 1,
        },
    }
}
