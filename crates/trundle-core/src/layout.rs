//! Layouts: the positions of a tensor's elements in a buffer of bytes.

use alloc::vec::Vec;
use core::ops::Range;

use crate::shape::{check_sizes, steps_to};
use crate::{Result, Shape, ShapeError, Width};

refusals! {
    /// The errors of layouts and their buffers.
    LayoutError {
        /// A layout reaches outside its buffer.
        OutOfBounds {
            /// The name of the argument with the buffer.
            argument: &'static str,
            /// The first byte that the layout reaches.
            first: isize,
            /// One past the last byte that the layout reaches.
            end: isize,
            /// The size of the buffer in bytes.
            buffer: usize,
        } => "{argument} reaches bytes {first}..{end}, but its buffer has {buffer} bytes";
        /// The layout of a tensor of sub-byte elements reaches outside its buffer.
        PackedOutOfBounds {
            /// The name of the argument with the buffer.
            argument: &'static str,
            /// The number of bits of an element.
            bits: usize,
            /// The first element that the layout reaches, counted from the start of the buffer.
            first: isize,
            /// One past the last element that the layout reaches.
            end: isize,
            /// The size of the buffer in bytes.
            buffer: usize,
        } => "{argument} reaches elements {first}..{end} of {bits} bits, but its buffer has {buffer} bytes";
        /// Two elements of an output layout share a byte.
        OverlappingLayout {
            /// The shape of the layout.
            shape: Shape,
            /// The strides in bytes.
            strides_bytes: Vec<isize>,
            /// The size of an element in bytes.
            width: usize,
        } => "output of shape {shape} with strides {strides_bytes:?} in bytes would write some byte twice: its elements of {width} bytes overlap";
    }
}

/// Checks that a buffer has at least `needed` bytes.
///
/// # Errors
/// [`LayoutError::OutOfBounds`] if it has fewer.
#[inline]
pub fn check_buffer(argument: &'static str, needed: usize, buffer: usize) -> Result<()> {
    if buffer >= needed {
        return Ok(());
    }
    Err(LayoutError::OutOfBounds { argument, first: 0, end: needed.cast_signed(), buffer }.into())
}

/// A strided layout: the element at `index` is at byte `offset_bytes + Σ index[axis] · strides_bytes[axis]`.
///
/// A stride may be 0 (a broadcast), negative (a reversed view), or not a multiple of the element size (a field
/// of a structured array). [`Layout::check_within`] checks that a layout fits a buffer.
///
/// The layout of sub-byte elements describes them as if each took one byte, so its offset and its strides count
/// elements.
///
/// ```
/// use trundle_core::{Layout, Shape};
///
/// // Two rows of three bytes. Each row is read backwards.
/// let layout = Layout::strided(&Shape::new([2, 3])?, 2, &[3, -1])?;
/// assert_eq!(layout.offset_of(&[1, 0]), 5);
/// assert_eq!(layout.span(1)?, 0..6);
/// # Ok::<(), trundle_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    offset_bytes: usize,
    strides_bytes: Vec<isize>,
}

crate::fingerprint!(struct Layout { shape, offset_bytes, strides_bytes });

impl Layout {
    /// A contiguous row-major layout (the last axis varies fastest) at the start of a buffer.
    ///
    /// `width` is the size of an element in bytes, or 1 for sub-byte elements: see
    /// [`Width::units`](crate::Width::units).
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if the elements take more than `isize::MAX` bytes.
    pub fn row_major(shape: &Shape, width: usize) -> Result<Layout> {
        Self::contiguous(shape, width, (0..shape.rank()).rev())
    }

    /// A contiguous column-major layout (the first axis varies fastest, as in Fortran) at the start of a buffer.
    ///
    /// `width` is as for [`Layout::row_major`].
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if the elements take more than `isize::MAX` bytes.
    pub fn column_major(shape: &Shape, width: usize) -> Result<Layout> {
        Self::contiguous(shape, width, 0..shape.rank())
    }

    fn contiguous(
        shape: &Shape,
        width: usize,
        fastest_first: impl Iterator<Item = usize>,
    ) -> Result<Layout> {
        shape.bytes(width)?;
        let mut strides_bytes = vec![0; shape.rank()];
        // An empty tensor needs no strides, and the product of its nonzero sizes may overflow a stride.
        if shape.elements() > 0 {
            let mut stride = width.cast_signed();
            for axis in fastest_first {
                strides_bytes[axis] = stride;
                stride *= shape[axis].cast_signed();
            }
        }
        Ok(Layout { shape: shape.clone(), offset_bytes: 0, strides_bytes })
    }

    /// A layout with any strides in bytes, one for each axis.
    ///
    /// The element at index 0, 0, ..., 0 begins `offset_bytes` bytes after the start of the buffer.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] if the number of strides differs from the number of axes.
    pub fn strided(shape: &Shape, offset_bytes: usize, strides_bytes: &[isize]) -> Result<Layout> {
        check_sizes(("strides", strides_bytes.len()), ("the shape of the tensor", shape.rank()))?;
        Ok(Layout { shape: shape.clone(), offset_bytes, strides_bytes: strides_bytes.to_vec() })
    }

    /// Reshapes the layout to another shape with the same number of elements, in row-major order.
    ///
    /// Returns `None` if the result cannot be described by strides, for example because rows with gaps between them
    /// would be merged.
    ///
    /// The n-th element in row-major order is at the same byte in both layouts.
    pub fn reshaped(&self, shape: &Shape) -> Option<Layout> {
        if self.shape.elements() != shape.elements() {
            return None;
        }
        let mut strides_bytes = vec![0; shape.rank()];
        if shape.elements() > 0 {
            // The number of elements of the current run that no axis covers yet, and the stride of the next axis.
            let mut runs = self.runs().into_iter().rev();
            let (mut left, mut stride) = (1, 0);
            for (axis, size) in shape.iter().enumerate().rev().filter(|(_, size)| **size > 1) {
                if left == 1 {
                    (left, stride) = runs.next()?;
                }
                if left % size > 0 {
                    return None;
                }
                strides_bytes[axis] = stride;
                left /= size;
                stride = stride.checked_mul(size.cast_signed())?;
            }
        }
        Some(Layout { shape: shape.clone(), offset_bytes: self.offset_bytes, strides_bytes })
    }

    /// Merges adjacent axes whose elements have one common stride. Returns the size and the stride in bytes of each
    /// run.
    ///
    /// The tensor must not be empty; axes of size 1 are omitted.
    pub fn runs(&self) -> Vec<(usize, isize)> {
        let mut runs: Vec<(usize, isize)> = Vec::with_capacity(self.strides_bytes.len());
        for (size, stride) in self.shape.iter().zip(&self.strides_bytes).filter(|(n, _)| **n > 1) {
            match runs.last_mut() {
                Some((merged, outer)) if Some(*outer) == stride.checked_mul(size.cast_signed()) => {
                    (*merged, *outer) = (*merged * size, *stride);
                }
                _ => runs.push((*size, *stride)),
            }
        }
        runs
    }

    /// The sizes of the axes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The offset of the element at index 0, 0, ..., 0, in bytes from the start of the buffer.
    pub fn offset_bytes(&self) -> usize {
        self.offset_bytes
    }

    /// The distance between neighbours along each axis, in bytes.
    pub fn strides_bytes(&self) -> &[isize] {
        &self.strides_bytes
    }

    /// The offset of the element at `index`, in bytes from the start of the buffer.
    pub fn offset_of(&self, index: &[usize]) -> usize {
        self.offset_bytes.wrapping_add_signed(steps_to(index, &self.strides_bytes))
    }

    /// Returns the range of bytes from the start of the first to the end of the last element in memory, for elements of
    /// `width` bytes. The range is empty for an empty tensor.
    ///
    /// The range may begin before the buffer: see [`Layout::check_within`].
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if a byte offset does not fit an `isize`.
    pub fn span(&self, width: usize) -> Result<Range<isize>, ShapeError> {
        if self.shape.elements() == 0 || width == 0 {
            return Ok(0..0);
        }
        let reach = || -> Option<Range<isize>> {
            let mut first = isize::try_from(self.offset_bytes).ok()?;
            let mut last = first;
            for (size, stride) in self.shape.iter().zip(&self.strides_bytes) {
                let along = stride.checked_mul((size - 1).cast_signed())?;
                let end = if along < 0 { &mut first } else { &mut last };
                *end = end.checked_add(along)?;
            }
            Some(first..last.checked_add(isize::try_from(width).ok()?)?)
        };
        reach().ok_or_else(|| ShapeError::TooLarge {
            what: format!("shape {} with strides {:?} in bytes", self.shape, self.strides_bytes),
        })
    }

    /// Checks that all elements of this width lie within a buffer of `buffer` bytes. `argument` is the name of the
    /// tensor in errors.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`], or [`LayoutError::PackedOutOfBounds`] for sub-byte elements, if an element lies
    /// outside. [`ShapeError::TooLarge`] as in [`Layout::span`].
    pub fn check_within(
        &self,
        argument: &'static str,
        width: impl Into<Width>,
        buffer: usize,
    ) -> Result<()> {
        let width = width.into();
        let Range { start: first, end } = self.span(width.units())?;
        if first >= 0 && width.bytes(end.unsigned_abs()) <= buffer {
            return Ok(());
        }
        let Some(packing) = width.packing() else {
            return Err(LayoutError::OutOfBounds { argument, first, end, buffer }.into());
        };
        Err(LayoutError::PackedOutOfBounds { argument, bits: packing.bits(), first, end, buffer }
            .into())
    }

    /// Checks that no two elements share a byte, so that a tensor can be written with this layout. For this check,
    /// sub-byte elements take one byte each.
    ///
    /// # Errors
    /// [`LayoutError::OverlappingLayout`] if two elements share a byte, and for a few interleaved layouts of three or
    /// more axes for which the search takes too long. [`ShapeError::TooLarge`] as in [`Layout::span`].
    pub fn check_writable(&self, width: usize) -> Result<()> {
        // After this check, no sum of strides can overflow.
        self.span(width)?;
        let element = width as u128;
        let axes = self.shape.iter().zip(&self.strides_bytes).filter(|(size, _)| **size > 1).map(
            |(size, stride)| Reach {
                stride: stride.unsigned_abs() as u128,
                most: (size - 1) as u128,
            },
        );
        // A row-major layout needs no allocated list.
        if self.shape.elements() == 0 || width == 0 || nested(axes.clone(), element) {
            return Ok(());
        }
        let mut axes: Vec<Reach> = axes.collect();
        axes.sort_by_key(|axis| core::cmp::Reverse(axis.stride));
        let mut steps = MOST_SEARCH_STEPS;
        let sorted = axes.iter().copied();
        if nested(sorted, element) || !overlaps(&axes, element, &mut steps) {
            Ok(())
        } else {
            Err(LayoutError::OverlappingLayout {
                shape: self.shape.clone(),
                strides_bytes: self.strides_bytes.clone(),
                width,
            }
            .into())
        }
    }
}

const MOST_SEARCH_STEPS: usize = 1 << 20;

/// An axis, with the largest difference of two indices on it.
#[derive(Clone, Copy)]
struct Reach {
    stride: u128,
    most: u128,
}

/// Returns whether each stride is at least the extent of all axes after it. If the axes are sorted by decreasing
/// stride, this is true for every slice and permutation of a contiguous layout.
fn nested(axes: impl DoubleEndedIterator<Item = Reach>, width: u128) -> bool {
    let mut inner = width;
    axes.rev().all(|axis| {
        let steps_over = axis.stride >= inner;
        inner += axis.stride * axis.most;
        steps_over
    })
}

/// Returns whether two elements at different indices are less than `width` bytes apart. If no `steps` remain, the
/// search ends and returns true, so that the layout is refused.
///
/// It searches for a difference d ≠ 0 with |d[axis]| ≤ most and |Σ stride · d| < width. With d, -d is a solution, too,
/// so it is enough to search for a d whose first nonzero entry is positive.
fn overlaps(axes: &[Reach], width: u128, steps: &mut usize) -> bool {
    let Some((outer, inner)) = axes.split_first() else { return false };
    let reach: u128 = inner.iter().map(|axis| axis.stride * axis.most).sum();
    // The indices differ only on the inner axes.
    if overlaps(inner, width, steps) {
        return true;
    }
    // The differences on the inner axes must reduce the distance to less than the width.
    let furthest =
        (reach + width - 1).checked_div(outer.stride).unwrap_or(outer.most).min(outer.most);
    (1..=furthest).any(|difference| {
        comes_within(inner, (outer.stride * difference).cast_signed(), width.cast_signed(), steps)
    })
}

/// Returns whether there is a d on `axes`, which may be zero, with |distance + Σ stride · d| < width; also true if no
/// `steps` remain.
fn comes_within(axes: &[Reach], distance: i128, width: i128, steps: &mut usize) -> bool {
    if *steps == 0 {
        return true;
    }
    *steps -= 1;
    let Some((outer, inner)) = axes.split_first() else { return distance.abs() < width };
    let (stride, most) = (outer.stride.cast_signed(), outer.most.cast_signed());
    let reach: i128 = inner.iter().map(|axis| (axis.stride * axis.most).cast_signed()).sum();
    if stride == 0 {
        return comes_within(inner, distance, width, steps);
    }
    let slack = reach + width - 1;
    let least = div_ceil(-distance - slack, stride).max(-most);
    let greatest = (-distance + slack).div_euclid(stride).min(most);
    (least..=greatest).any(|d| comes_within(inner, distance + stride * d, width, steps))
}

/// Rounds towards positive infinity, for a positive divisor.
fn div_ceil(dividend: i128, divisor: i128) -> i128 {
    -(-dividend).div_euclid(divisor)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    use super::*;

    fn layout(sizes: &[usize], strides: &[isize]) -> Layout {
        Layout::strided(&Shape::new(sizes).unwrap(), 0, strides).unwrap()
    }

    #[test]
    fn packed_layouts_have_the_strides_of_their_order() {
        let shape = Shape::new([2, 3, 4]).unwrap();
        assert_eq!(Layout::row_major(&shape, 2).unwrap().strides_bytes(), [24, 8, 2]);
        assert_eq!(Layout::column_major(&shape, 2).unwrap().strides_bytes(), [2, 4, 12]);
        let empty = Shape::new([1 << (usize::BITS - 24), 0, 1 << (usize::BITS - 24)]).unwrap();
        assert_eq!(Layout::row_major(&empty, 8).unwrap().span(8).unwrap(), 0..0);
    }

    #[test]
    fn spans_cover_negative_strides() {
        let reversed = Layout::strided(&Shape::new([3]).unwrap(), 8, &[-4]).unwrap();
        assert_eq!(reversed.span(4).unwrap(), 0..12);
        assert!(reversed.check_within("data", 4, 12).is_ok());
        assert!(reversed.check_within("data", 4, 11).is_err());
        assert_eq!(
            layout(&[3], &[-4]).check_within("data", 4, 100).unwrap_err().to_string(),
            "data reaches bytes -8..4, but its buffer has 100 bytes"
        );
        let far = layout(&[3, 3], &[isize::MAX, isize::MAX]);
        assert!(matches!(far.span(1), Err(ShapeError::TooLarge { .. })));
    }

    fn bytes_are_distinct(layout: &Layout, width: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut distinct = true;
        layout.shape().for_each_index(|index| {
            let at: isize =
                index.iter().zip(layout.strides_bytes()).map(|(i, s)| i.cast_signed() * s).sum();
            distinct &= (0..width.cast_signed()).all(|byte| seen.insert(at + byte));
        });
        distinct
    }

    #[test]
    fn writable_means_that_no_byte_belongs_to_two_elements() {
        for sizes in [[2, 3, 2], [4, 1, 3], [3, 3, 3], [1, 0, 5]] {
            for strides in every_index([15, 15, 8]) {
                let strides = [strides[0] - 7, strides[1] - 7, strides[2]];
                for width in [1, 2, 3] {
                    let layout = layout(&sizes, &strides);
                    assert_eq!(
                        layout.check_writable(width).is_ok(),
                        bytes_are_distinct(&layout, width),
                        "{layout:?} {width}"
                    );
                }
            }
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn an_endless_search_for_overlaps_is_refused_quickly() {
        let near = layout(&[1 << 20, 1 << 20, 1 << 20], &[1_000_003, 1_000_033, 1_000_037]);
        assert!(near.check_writable(1).is_err());
    }

    fn every_index(sizes: [usize; 3]) -> Vec<[isize; 3]> {
        let mut all = Vec::new();
        Shape::new(sizes)
            .unwrap()
            .for_each_index(|index| all.push([0, 1, 2].map(|axis| index[axis].cast_signed())));
        all
    }
}
