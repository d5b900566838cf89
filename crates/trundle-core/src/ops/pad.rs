//! numpy's `pad` in the modes that pad with elements of the tensor.

use alloc::vec::Vec;
use core::fmt;

use super::declaration::Argument;
use super::error::count_of;
use super::{PadConstant, Scalar};
use crate::shape::check_sizes;
use crate::{AxisMap, IndexMap, Line, Op, OpError, Piece, Result, Shape, ShapeError, Table};

/// Pads the tensor along its axes with its own elements.
///
/// Source: the documentation of numpy's `pad`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pad {
    width: Vec<i64>,
    mode: PadMode,
}

crate::fingerprint!(struct Pad { width, mode });

declaration! {
    /// Pad the tensor with a constant or with its own elements (numpy.pad)
    Pad, "pad", "pad(width=[[0, 0], [1, 2]], mode=\"edge\")", Some(pad), {
        /// Elements to add before and after each axis; one pair or one number applies to all axes
        width: Pairs,
        /// Padding: a constant, the edge element, a mirror image without or with the edge, or the opposite end
        mode: Word(&WORDS) = [PadMode::CONSTANT],
        /// The constant (default: 0)
        value: Value = [],
    }
}

fn pad(arguments: &[&[i64]]) -> Op {
    let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
    match PadMode::of_number(argument(1).first().copied().unwrap_or_default()) {
        Some(mode) => Pad::new(argument(0), mode).into(),
        None => PadConstant::new(argument(0), Scalar::of_list(argument(2))).into(),
    }
}

/// The elements used for padding, with the row `abcd` padded by three on each side as an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PadMode {
    /// `aaa abcd ddd`
    Edge,
    /// `dcb abcd cba`
    Reflect,
    /// `cba abcd dcb`
    Symmetric,
    /// `bcd abcd abc`
    Wrap,
}

crate::fingerprint!(enum PadMode {
    "edge" Edge,
    "reflect" Reflect,
    "symmetric" Symmetric,
    "wrap" Wrap,
});

impl PadMode {
    const ALL: [PadMode; 4] = [PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap];

    pub(super) const CONSTANT: i64 = 0;

    /// The mode with this index in the list of names; `None` for `constant`.
    fn of_number(number: i64) -> Option<PadMode> {
        let number = usize::try_from(number.checked_sub(1)?).ok()?;
        PadMode::ALL.get(number).copied()
    }

    /// The number of output indices after which the source indices repeat.
    fn period(self, size: usize) -> Option<usize> {
        match self {
            // Every mode repeats a single element.
            _ if size == 1 => None,
            PadMode::Edge => None,
            PadMode::Reflect => Some(2 * (size - 1)),
            PadMode::Symmetric => Some(2 * size),
            PadMode::Wrap => Some(size),
        }
    }

    /// The source index for position `at`, relative to the first element of an axis of `size`, which is not 0.
    fn source(self, at: isize, size: isize) -> isize {
        let mirrored = |period: isize, last: isize| {
            let within = at.rem_euclid(period);
            within.min(last - within)
        };
        match self {
            PadMode::Reflect if size > 1 => mirrored(2 * size - 2, 2 * size - 2),
            PadMode::Edge | PadMode::Reflect => at.clamp(0, size - 1),
            PadMode::Symmetric => mirrored(2 * size, 2 * size - 1),
            PadMode::Wrap => at.rem_euclid(size),
        }
    }
}

impl fmt::Display for PadMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WORDS[*self as usize + 1])
    }
}

const WORDS: [&str; 5] = ["constant", "edge", "reflect", "symmetric", "wrap"];

/// Axes with more periods than this use a table with an entry for each index, others have pieces.
const MOST_PIECES: usize = 1 << 12;

/// The limit of table entries is needed because a file may have any sizes.
const MOST_ENTRIES: usize = 1 << 28;

impl Pad {
    /// Adds elements before and after the tensor along each axis.
    ///
    /// `width` has one pair of numbers for each axis, one pair for all axes, or one number for both sides of all axes.
    pub fn new(width: &[i64], mode: PadMode) -> Pad {
        Pad { width: width.to_vec(), mode }
    }

    /// The map for a tensor of this shape. In the output, both widths are added to each size.
    ///
    /// # Errors
    /// [`ShapeError::SizesDiffer`] for a wrong number of widths, [`OpError::NumberOutOfRange`] for a negative
    /// width, [`OpError::EmptyAxisPadded`] for padding along an axis without elements, [`ShapeError::TooLarge`] if
    /// the result cannot be addressed, or if a padded axis needs a table with more than 2^28 entries.
    pub fn index_map(&self, shape: &Shape) -> Result<IndexMap> {
        let widths = widths(&self.width, shape)?;
        let too_large = || ShapeError::TooLarge { what: format!("shape {shape} by {self}") };
        let (mut sizes, mut axes) = (Vec::new(), Vec::new());
        for (axis, (size, [before, behind])) in shape.iter().zip(widths).enumerate() {
            if *size == 0 && before + behind > 0 {
                return Err(OpError::EmptyAxisPadded { axis, width: before.max(behind) }.into());
            }
            let padded = size.checked_add(before).and_then(|padded| padded.checked_add(behind));
            let padded = padded.filter(|padded| *padded <= isize::MAX as usize);
            let padded = padded.ok_or_else(too_large)?;
            let map = padded_axis((axis, shape.rank()), self.mode, *size, before, padded);
            axes.push(map.ok_or_else(too_large)?);
            sizes.push(padded);
        }
        Ok(IndexMap::new(Shape::new(sizes)?, shape.clone(), axes))
    }
}

impl fmt::Display for Pad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.mode as i64 + 1;
        DECLARATION.print(&[Argument::list(&self.width), &[mode], &[]], f)
    }
}

/// The widths before and after each axis, from pairs, a single pair or a single number.
///
/// # Errors
/// [`ShapeError::SizesDiffer`] for a wrong number of widths, [`OpError::NumberOutOfRange`] for a negative width.
pub fn widths(given: &[i64], shape: &Shape) -> Result<Vec<[usize; 2]>> {
    let width = |number: &i64| count_of("width", *number);
    let widths = given.iter().map(width).collect::<Result<Vec<_>, _>>()?;
    match widths[..] {
        [both] => Ok(vec![[both; 2]; shape.rank()]),
        [before, behind] => Ok(vec![[before, behind]; shape.rank()]),
        _ => {
            let sizes = ("width", widths.len());
            check_sizes(sizes, ("two entries for each axis", 2 * shape.rank()))?;
            Ok(widths.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
        }
    }
}

/// The map of one of `rank` axes, padded from `size` to `padded` elements, `before` of them in front. `None` if a table
/// would be too large or if indices would overflow.
fn padded_axis(
    (axis, rank): (usize, usize),
    mode: PadMode,
    size: usize,
    before: usize,
    padded: usize,
) -> Option<AxisMap> {
    if padded == size {
        return Some(AxisMap::identity(axis));
    }
    let (own, shift) = (size.cast_signed(), before.cast_signed());
    let once = |coordinate: isize| Line { start: coordinate, step: 0 };
    let Some(period) = mode.period(size) else {
        let pieces = [
            Piece { end: before, line: once(0) },
            Piece { end: before + size, line: Line { start: -shift, step: 1 } },
            Piece { end: padded, line: once(own - 1) },
        ];
        return Some(AxisMap::from_pieces(axis, pieces));
    };
    // The code below counts a few periods beyond both ends.
    if padded > isize::MAX.unsigned_abs() / 4 {
        return None;
    }
    if padded / period > MOST_PIECES {
        return (padded <= MOST_ENTRIES).then(|| {
            let source = |at: usize| mode.source(at.cast_signed() - shift, own).unsigned_abs();
            let indices: Vec<usize> = (0..padded).map(source).collect();
            let mut strides = vec![0; rank];
            strides[axis] = 1;
            AxisMap::Indexed { indices: Table::new(indices, 0, strides), line: Line::IDENTITY }
        });
    }
    // Where a period starts in the output. The first starts before position 0.
    let mut begin = shift.rem_euclid(period.cast_signed()) - period.cast_signed();
    let mut pieces = Vec::new();
    let end = |end: isize| usize::try_from(end).unwrap_or(0).min(padded);
    while begin < padded.cast_signed() {
        pieces.push(Piece { end: end(begin + own), line: Line { start: -begin, step: 1 } });
        // The second half of a period runs backwards from the last index, or from the one before it.
        let last = match mode {
            PadMode::Reflect => begin + 2 * (own - 1),
            PadMode::Symmetric => begin + 2 * own - 1,
            PadMode::Edge | PadMode::Wrap => begin,
        };
        begin += period.cast_signed();
        pieces.push(Piece { end: end(begin), line: Line { start: last, step: -1 } });
    }
    Some(AxisMap::from_pieces(axis, pieces))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn pad(sizes: &[usize], width: &[i64], mode: PadMode) -> Result<IndexMap> {
        Pad::new(width, mode).index_map(&Shape::new(sizes).unwrap())
    }

    fn expected(mode: PadMode, at: isize, size: isize) -> isize {
        match mode {
            PadMode::Edge => at.clamp(0, size - 1),
            PadMode::Wrap => at.rem_euclid(size),
            PadMode::Symmetric => {
                let at = at.rem_euclid(2 * size);
                at.min(2 * size - 1 - at)
            }
            PadMode::Reflect if size == 1 => 0,
            PadMode::Reflect => {
                let at = at.rem_euclid(2 * size - 2);
                at.min(2 * size - 2 - at)
            }
        }
    }

    #[test]
    fn every_index_follows_the_mode() {
        for mode in PadMode::ALL {
            for size in 1..=5usize {
                for before in 0..=13usize {
                    for behind in 0..=13usize {
                        let width = [before, behind].map(|width| i64::try_from(width).unwrap());
                        let map = pad(&[size], &width, mode).unwrap();
                        let all = (size + before + behind).cast_signed();
                        assert_eq!(map.out_shape().sizes(), [all.unsigned_abs()]);
                        for at in 0..all {
                            let own = expected(mode, at - before.cast_signed(), size.cast_signed());
                            let found = map.source_of(&[at.unsigned_abs()]);
                            assert_eq!(found, [own.unsigned_abs()], "{mode} {size} {before} {at}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_axis_repeated_many_times_is_a_table() {
        for (mode, size) in
            [(PadMode::Wrap, 2), (PadMode::Wrap, 3), (PadMode::Symmetric, 2), (PadMode::Reflect, 3)]
        {
            let map = pad(&[4, size], &[0, 1, 20_001, 20_002], mode).unwrap();
            let axes = map.layers()[0].axes().unwrap();
            assert!(matches!(axes[1], AxisMap::Indexed { .. }), "{mode} {size}");
            for at in 0..map.out_shape()[1] {
                let own = expected(mode, at.cast_signed() - 20_001, size.cast_signed());
                assert_eq!(map.source_of(&[1, at]), [1, own.unsigned_abs()], "{mode} {size} {at}");
            }
        }
    }

    /// Tensors can have huge sizes if their elements take no bytes or are repeated.
    #[test]
    fn huge_axes_are_padded_or_refused() {
        let bit = |from_top: u32| 1usize << (usize::BITS - from_top);
        for mode in [PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap] {
            for (size, before) in [(bit(3), 0), (bit(2) - 3, 2), (bit(1) - 2, 0)] {
                let refused = pad(&[size], &[before, 1], mode);
                assert!(
                    matches!(refused, Err(Error::Shape(ShapeError::TooLarge { .. }))),
                    "{mode} {size}: {refused:?}"
                );
            }
            let large = pad(&[bit(5)], &[bit(6).cast_signed() as i64, 0], mode).unwrap();
            let own = expected(mode, -bit(6).cast_signed(), bit(5).cast_signed()).unsigned_abs();
            assert_eq!(large.source_of(&[0]), [own]);
            assert_eq!(large.source_of(&[bit(5) + bit(6) - 1]), [bit(5) - 1]);
        }
    }
}
