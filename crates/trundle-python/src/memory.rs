//! The memory of arrays, which own it.

use std::ops::Range;

use smallvec::SmallVec;
use trundle::{Layout, Result, Shape, ShapeError};

use crate::device::ArrayDevice;

/// Most tensors need no allocation.
pub(crate) type PerAxis<T> = SmallVec<[T; 5]>;

/// The bytes from the first to the last element of a tensor. Bytes between elements may belong to other arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) start: *mut u8,
    pub(crate) bytes: usize,
    pub(crate) device: ArrayDevice,
}

impl Extent {
    /// Returns the extent, for use on the CPU.
    ///
    /// # Panics
    /// If the extent is on a GPU; plans for the CPU are only made for memory on the CPU.
    #[inline]
    pub(crate) fn on_cpu(self) -> Extent {
        assert!(
            matches!(self.device, ArrayDevice::Cpu),
            "the CPU cannot read memory on {}",
            self.device
        );
        self
    }
}

/// The memory of a tensor, with its layout.
#[derive(Clone, Debug)]
pub(crate) struct ArrayMemory {
    /// The element at index 0 of every axis. With negative strides, other elements are before it.
    pub(crate) first: *mut u8,
    pub(crate) sizes: PerAxis<isize>,
    /// The strides, in bytes.
    pub(crate) strides: PerAxis<isize>,
    /// The size of an element in bytes.
    pub(crate) width: usize,
    pub(crate) device: ArrayDevice,
}

/// What a plan depends on: a part of the key of plan caches.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct LayoutKey<'a> {
    sizes: &'a [isize],
    strides: &'a [isize],
    width: usize,
    /// `None` for the CPU.
    ordinal: Option<u32>,
}

impl ArrayMemory {
    /// All properties except the address.
    pub(crate) fn layout_key(&self) -> LayoutKey<'_> {
        let ArrayMemory { first: _, sizes, strides, width, device } = self;
        LayoutKey { sizes, strides, width: *width, ordinal: device.ordinal() }
    }

    /// A row-major tensor without gaps at the start of an extent.
    pub(crate) fn contiguous(at: Extent, sizes: &[isize], width: usize) -> ArrayMemory {
        let mut strides: PerAxis<isize> = SmallVec::from_elem(0, sizes.len());
        let mut stride = width.cast_signed();
        for (axis, size) in sizes.iter().enumerate().rev() {
            strides[axis] = stride;
            // Strides of an empty tensor are not used.
            stride = stride.wrapping_mul(*size);
        }
        let Extent { start: first, device, .. } = at;
        ArrayMemory { first, sizes: SmallVec::from_slice(sizes), strides, width, device }
    }

    /// Adds an axis to an array without axes, for functions that need one as in numpy.
    pub(crate) fn with_an_axis(&mut self) {
        if self.sizes.is_empty() {
            self.new_axes_in_front(1);
        }
    }

    pub(crate) fn new_axes_in_front(&mut self, count: usize) {
        self.sizes.insert_many(0, std::iter::repeat_n(1, count));
        self.strides.insert_many(0, std::iter::repeat_n(self.width.cast_signed(), count));
    }

    /// Whether the elements are row-major and without gaps.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut stride = self.width.cast_signed();
        self.sizes.iter().zip(&self.strides).rev().all(|(size, own)| {
            let fits = *size == 1 || *own == stride;
            stride = stride.wrapping_mul(*size);
            fits
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.sizes.contains(&0)
    }

    /// `usize::MAX` if it overflows.
    pub(crate) fn contiguous_bytes(&self) -> usize {
        contiguous_bytes(&self.sizes, self.width)
    }

    /// The bytes of all elements, relative to `first`.
    #[inline]
    fn reach(&self) -> Range<isize> {
        if self.is_empty() {
            return 0..0;
        }
        let (mut begin, mut end) = (0isize, self.width.cast_signed());
        for (size, stride) in self.sizes.iter().zip(&self.strides) {
            let last = stride.wrapping_mul(size - 1);
            begin = begin.wrapping_add(last.min(0));
            end = end.wrapping_add(last.max(0));
        }
        begin..end
    }

    #[inline]
    pub(crate) fn extent(&self) -> Extent {
        let reach = self.reach();
        Extent {
            start: self.first.wrapping_offset(reach.start),
            bytes: (reach.end - reach.start).cast_unsigned(),
            device: self.device,
        }
    }

    /// True also for tensors that interleave without a common byte.
    pub(crate) fn may_overlap(&self, other: &ArrayMemory) -> bool {
        let (own, other) = (self.extent(), other.extent());
        let (begin, other_begin) = (own.start.addr(), other.start.addr());
        own.bytes > 0
            && other.bytes > 0
            && begin < other_begin.wrapping_add(other.bytes)
            && other_begin < begin.wrapping_add(own.bytes)
    }

    /// Whether both have the same extent, possibly with different strides.
    pub(crate) fn is_in_place(&self, other: &ArrayMemory) -> bool {
        let (own, other) = (self.extent(), other.extent());
        (own.start, own.bytes) == (other.start, other.bytes)
    }

    fn shape(&self) -> Result<Shape, ShapeError> {
        // Sizes are not negative.
        Shape::new(self.sizes.iter().map(|size| size.unsigned_abs()).collect::<Vec<usize>>())
    }

    /// Relative to the start of [`ArrayMemory::extent`].
    pub(crate) fn layout(&self) -> Result<Layout> {
        let before = self.reach().start.unsigned_abs();
        Layout::strided(&self.shape()?, before, &self.strides)
    }
}

/// `usize::MAX` if it overflows.
pub(crate) fn contiguous_bytes(sizes: &[isize], width: usize) -> usize {
    if sizes.contains(&0) {
        return 0;
    }
    sizes.iter().fold(width, |bytes, size| bytes.saturating_mul(size.unsigned_abs()))
}
