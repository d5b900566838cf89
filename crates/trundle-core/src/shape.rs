//! Shapes, axes and permutations.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};

use crate::Width;

refusals! {
    /// The errors of sizes, axes and ranges.
    ShapeError {
        /// An axis is outside `-rank..rank`, or outside `0..rank` if negative axes are not allowed.
        AxisOutOfRange {
            /// The name of the argument.
            argument: &'static str,
            /// The axis, as the caller gave it.
            axis: i64,
            /// The rank of the tensor.
            rank: usize,
            /// Whether negative axes are allowed.
            negative_allowed: bool,
        } => "{argument} {axis} is out of range{}", axes_of(*rank, *negative_allowed);
        /// An axis occurs twice in a list of axes that must be different.
        RepeatedAxis {
            /// The name of the argument.
            argument: &'static str,
            /// The axis.
            axis: i64,
        } => "{argument} has axis {axis} twice";
        /// Two arguments must have the same number of entries, but have different numbers.
        SizesDiffer {
            /// The first argument.
            left: &'static str,
            /// The second argument, or the object that the first is compared with.
            right: &'static str,
            /// The number of entries of the first.
            left_size: usize,
            /// The number of entries of the second.
            right_size: usize,
        } => "{left} and {right} must have the same length, got {left_size} and {right_size}";
        /// A tensor does not have the required shape.
        ShapeMismatch {
            /// The name of the argument with the tensor.
            argument: &'static str,
            /// The required shape.
            expected: Shape,
            /// The actual shape.
            got: Shape,
        } => "{argument} must have shape {expected}, got {got}";
        /// The shapes of a reshape have different numbers of elements.
        ElementsDiffer {
            /// The current shape.
            from: Shape,
            /// The requested shape.
            to: Shape,
        } => "shape {from} has {}, but shape {to} has {}", elements_of(from.elements()), to.elements();
        /// The sizes of a reshape do not have the shape's number of elements, or have -1 more than once.
        SizesDoNotFit {
            /// The current shape.
            shape: Shape,
            /// The requested sizes. -1 is a size to be inferred.
            sizes: Vec<i64>,
        } => "sizes {sizes:?} have {}", elements_compared(shape, sizes);
        /// A tensor with shape `shape` cannot be broadcast to `sizes`.
        SizesDoNotBroadcast {
            /// The current shape.
            shape: Shape,
            /// The requested sizes.
            sizes: Vec<i64>,
        } => "shape {shape} cannot be broadcast to {sizes:?}";
        /// The batch axis and the sequence axis are the same.
        SameAxis {
            /// The first argument.
            left: &'static str,
            /// The second argument.
            right: &'static str,
            /// The axis that both arguments name, counted from the front.
            axis: usize,
        } => "{left} and {right} must differ, both are axis {axis}";
        /// A size or a stride exceeds the address space.
        TooLarge {
            /// A description of the shape, layout or table that is too large.
            what: String,
        } => "{what} is too large to be addressed";
        /// A range of indices runs backwards or reaches outside its axis.
        RangeOutOfBounds {
            /// The range.
            range: Range<usize>,
            /// The size of the axis.
            size: usize,
        } => "bounds {range:?} do not lie within an axis of size {size}";
    }
}

fn axes_of(rank: usize, negative_allowed: bool) -> String {
    let least = if negative_allowed { format!("-{rank}") } else { "0".to_owned() };
    match rank.checked_sub(1) {
        Some(last) => format!(" for rank {rank}: expected {least}..={last}"),
        None => ": the tensor has rank 0 and no axes".to_owned(),
    }
}

fn elements_compared(shape: &Shape, sizes: &[i64]) -> String {
    let elements = shape.elements();
    let inferred = sizes.iter().filter(|size| **size == -1).count();
    let have = match (known_elements(sizes), inferred) {
        (_, 2..) => {
            return format!(
                "-1 more than once: only one size can be inferred from the {} of shape {shape}",
                elements_of(elements)
            );
        }
        (None, _) => "more elements than can be counted".to_owned(),
        (Some(known), 0) => elements_of(known),
        (Some(0), _) => "no elements, whatever the value of -1".to_owned(),
        (Some(known), _) => format!("a multiple of {}", elements_of(known)),
    };
    format!("{have}, but shape {shape} has {elements}")
}

fn elements_of(count: usize) -> String {
    if count == 1 { "1 element".to_owned() } else { format!("{count} elements") }
}

/// `None` if the product overflows.
pub(crate) fn known_elements(sizes: &[i64]) -> Option<usize> {
    let known = || sizes.iter().filter(|size| **size >= 0);
    if known().any(|size| *size == 0) {
        return Some(0);
    }
    known().try_fold(1usize, |count, size| count.checked_mul(usize::try_from(*size).ok()?))
}

/// Checks that two arguments have the same number of entries.
///
/// # Errors
/// [`ShapeError::SizesDiffer`] if the numbers differ.
#[inline]
pub fn check_sizes(
    (left, left_size): (&'static str, usize),
    (right, right_size): (&'static str, usize),
) -> Result<(), ShapeError> {
    match left_size == right_size {
        true => Ok(()),
        false => Err(ShapeError::SizesDiffer { left, right, left_size, right_size }),
    }
}

/// Checks that a tensor has the required shape.
///
/// # Errors
/// [`ShapeError::ShapeMismatch`] if it has another shape.
pub fn check_shape(
    argument: &'static str,
    expected: &Shape,
    got: &Shape,
) -> Result<(), ShapeError> {
    match expected == got {
        true => Ok(()),
        false => {
            let (expected, got) = (expected.clone(), got.clone());
            Err(ShapeError::ShapeMismatch { argument, expected, got })
        }
    }
}

/// The sizes of a tensor's axes, the outermost first. The number of elements fits an `isize`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Shape(Vec<usize>);

crate::fingerprint!(struct Shape(sizes));

impl Shape {
    /// Creates a shape from its sizes, the outermost first. Without sizes, it has rank 0 and one element.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if a size or the product of all sizes exceeds `isize::MAX`.
    pub fn new(sizes: impl Into<Vec<usize>>) -> Result<Shape, ShapeError> {
        let sizes = sizes.into();
        let limit = isize::MAX.unsigned_abs();
        let within = |count: &usize| *count <= limit;
        let elements = if sizes.contains(&0) {
            Some(0)
        } else {
            sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size))
        };
        if elements.as_ref().is_some_and(within) && sizes.iter().all(within) {
            Ok(Shape(sizes))
        } else {
            Err(ShapeError::TooLarge { what: format!("shape {}", Brackets(&sizes)) })
        }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements: the product of the sizes, or 1 for rank 0.
    pub fn elements(&self) -> usize {
        // If a size is 0, the product of the other sizes may overflow.
        if self.0.contains(&0) { 0 } else { self.0.iter().product() }
    }

    /// The number of bytes of a contiguous tensor of this shape, with elements of `width`.
    ///
    /// # Errors
    /// [`ShapeError::TooLarge`] if the number exceeds `isize::MAX`.
    pub fn bytes(&self, width: impl Into<Width>) -> Result<usize, ShapeError> {
        let width = match width.into() {
            Width::Bytes(width) => width,
            Width::SubByte(packing) => return Ok(packing.bytes(self.elements())),
        };
        self.elements()
            .checked_mul(width)
            .filter(|bytes| *bytes <= isize::MAX.unsigned_abs())
            .ok_or_else(|| ShapeError::TooLarge {
                what: format!("shape {self} of {width}-byte elements"),
            })
    }

    /// The sizes of the axes, the outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.0
    }

    /// Converts the row-major number of an element to its index.
    ///
    /// # Panics
    /// If the shape has no elements.
    pub fn unravel(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut index = vec![0; self.rank()];
        for (i, size) in index.iter_mut().zip(&self.0).rev() {
            (*i, rest) = (rest % size, rest / size);
        }
        index
    }

    /// Converts the index of an element to its row-major number.
    ///
    /// Law: `ravel(unravel(number))` is `number`.
    pub fn ravel(&self, index: &[usize]) -> usize {
        row_major_number(&self.0, index)
    }

    /// Advances `index` to the next index in row-major order. After the last index, sets it to the first index and
    /// returns false.
    ///
    /// # Panics
    /// If `index` does not have one entry for each axis.
    pub fn advance(&self, index: &mut [usize]) -> bool {
        assert_eq!(index.len(), self.rank(), "one index for each axis");
        advance(&self.0, index)
    }

    /// Calls `visit` with every index of the shape, in row-major order.
    pub fn for_each_index(&self, visit: impl FnMut(&[usize])) {
        for_each_index(&self.0, visit);
    }
}

pub(crate) fn for_each_index(sizes: &[usize], mut visit: impl FnMut(&[usize])) {
    if sizes.contains(&0) {
        return;
    }
    let mut index = vec![0; sizes.len()];
    loop {
        visit(&index);
        if !advance(sizes, &mut index) {
            return;
        }
    }
}

/// [`Shape::advance`] for a list of sizes.
fn advance(sizes: &[usize], index: &mut [usize]) -> bool {
    for (i, size) in index.iter_mut().zip(sizes).rev() {
        *i += 1;
        if *i < *size {
            return true;
        }
        *i = 0;
    }
    false
}

pub(crate) fn steps_to(index: &[usize], strides: &[isize]) -> isize {
    index.iter().zip(strides).map(|(i, stride)| i.cast_signed() * stride).sum()
}

pub(crate) fn row_major_number(sizes: &[usize], index: &[usize]) -> usize {
    index.iter().zip(sizes).fold(0, |number, (i, size)| number * size + i)
}

/// The row-major strides in entries, 0 along axes of size 1.
pub(crate) fn row_major_strides(sizes: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; sizes.len()];
    let mut entries = 1;
    if !sizes.contains(&0) {
        for axis in (0..sizes.len()).rev().filter(|axis| sizes[*axis] > 1) {
            strides[axis] = entries;
            entries *= sizes[axis].cast_signed();
        }
    }
    strides
}

impl<const N: usize> TryFrom<[usize; N]> for Shape {
    type Error = ShapeError;

    fn try_from(sizes: [usize; N]) -> Result<Shape, ShapeError> {
        Shape::new(sizes)
    }
}

impl AsRef<[Shape]> for Shape {
    fn as_ref(&self) -> &[Shape] {
        core::slice::from_ref(self)
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Brackets(&self.0).fmt(f)
    }
}

struct Brackets<'a>(&'a [usize]);

impl fmt::Display for Brackets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0).finish()
    }
}

/// Counts an axis from the front; a negative axis counts from the end.
///
/// # Errors
/// [`ShapeError::AxisOutOfRange`] with the name `argument` if the axis is outside `-rank..rank`.
pub fn normalize_axis(argument: &'static str, axis: i64, rank: usize) -> Result<usize, ShapeError> {
    let from_front = if axis < 0 { i128::from(axis) + rank as i128 } else { i128::from(axis) };
    usize::try_from(from_front)
        .ok()
        .filter(|front| *front < rank)
        .ok_or(ShapeError::AxisOutOfRange { argument, axis, rank, negative_allowed: true })
}

/// [`normalize_axis`] for axes that must be different.
pub(crate) fn normalize_distinct_axes(
    argument: &'static str,
    axes: &[i64],
    rank: usize,
) -> Result<Vec<usize>, ShapeError> {
    let mut fronts = Vec::with_capacity(axes.len());
    for axis in axes {
        let front = normalize_axis(argument, *axis, rank)?;
        if fronts.contains(&front) {
            return Err(ShapeError::RepeatedAxis { argument: "axes", axis: *axis });
        }
        fronts.push(front);
    }
    Ok(fronts)
}

/// A permutation of axes: `out.shape[i] == in.shape[order[i]]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permutation(Vec<usize>);

crate::fingerprint!(struct Permutation(order));

impl Permutation {
    /// Creates a permutation from `order`, which must have each of `0..rank` once, without negative axes.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`], [`ShapeError::AxisOutOfRange`] or [`ShapeError::RepeatedAxis`], with the name
    /// `order`, if it is not a permutation.
    pub fn new(order: &[i64], rank: usize) -> Result<Permutation, ShapeError> {
        check_sizes(("order", order.len()), ("the shape of the tensor", rank))?;
        let mut seen = vec![false; rank];
        let mut axes = Vec::with_capacity(rank);
        for &entry in order {
            let axis = usize::try_from(entry).ok().filter(|axis| *axis < rank).ok_or(
                ShapeError::AxisOutOfRange {
                    argument: "order entry",
                    axis: entry,
                    rank,
                    negative_allowed: false,
                },
            )?;
            if core::mem::replace(&mut seen[axis], true) {
                return Err(ShapeError::RepeatedAxis { argument: "order", axis: entry });
            }
            axes.push(axis);
        }
        Ok(Permutation(axes))
    }

    /// The permutation `rank - 1, ..., 1, 0`.
    pub fn inverting(rank: usize) -> Permutation {
        Permutation((0..rank).rev().collect())
    }

    /// The order: entry i is the source axis of output axis i.
    pub fn order(&self) -> &[usize] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn sizes_whose_product_overflows_are_refused() {
        let half = 1 << (usize::BITS / 2);
        for sizes in [vec![usize::MAX], vec![half, half], vec![isize::MAX as usize, 2]] {
            assert!(matches!(Shape::new(sizes), Err(ShapeError::TooLarge { .. })));
        }
        assert_eq!(
            Shape::new([1 << (usize::BITS - 2), 1 << (usize::BITS - 2), 0]).unwrap().elements(),
            0
        );
        assert!(Shape::new([0, usize::MAX]).is_err());
        assert!(Shape::new([1 << (usize::BITS - 4)]).unwrap().bytes(16).is_err());
    }

    #[test]
    fn indices_run_through_a_shape_in_row_major_order() {
        let collect = |sizes: &[usize]| {
            let mut all = Vec::new();
            Shape::new(sizes).unwrap().for_each_index(|index| all.push(index.to_vec()));
            all
        };
        assert_eq!(collect(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(collect(&[]), [[0; 0]]);
        assert_eq!(collect(&[2, 0]), [[0; 2]; 0]);
        let shape = Shape::new([2, 3, 4]).unwrap();
        for (number, index) in collect(&shape).iter().enumerate() {
            assert_eq!(shape.unravel(number), *index);
            let mut next = index.clone();
            assert_eq!(shape.advance(&mut next), number + 1 < 24);
            assert_eq!(next, shape.unravel((number + 1) % 24));
        }
    }

    #[test]
    fn axes_are_normalized_or_refused_with_both_numbers() {
        assert_eq!(normalize_axis("axis", -2, 2).unwrap(), 0);
        assert_eq!(normalize_axis("axis", 1, 2).unwrap(), 1);
        let message = |axis, rank| normalize_axis("axis", axis, rank).unwrap_err().to_string();
        assert_eq!(message(2, 2), "axis 2 is out of range for rank 2: expected -2..=1");
        assert_eq!(message(-3, 2), "axis -3 is out of range for rank 2: expected -2..=1");
        assert_eq!(
            message(i64::MIN, 1),
            format!("axis {} is out of range for rank 1: expected -1..=0", i64::MIN)
        );
        assert_eq!(message(0, 0), "axis 0 is out of range: the tensor has rank 0 and no axes");
    }

    #[test]
    fn an_order_holds_each_axis_once() {
        assert_eq!(Permutation::new(&[2, 0, 1], 3).unwrap().order(), [2, 0, 1]);
        let message = |order: &[i64], rank| Permutation::new(order, rank).unwrap_err().to_string();
        assert_eq!(message(&[0, 0], 2), "order has axis 0 twice");
        assert_eq!(
            message(&[0, -1], 2),
            "order entry -1 is out of range for rank 2: expected 0..=1"
        );
        assert_eq!(
            message(&[0, 1], 3),
            "order and the shape of the tensor must have the same length, got 2 and 3"
        );
    }
}
