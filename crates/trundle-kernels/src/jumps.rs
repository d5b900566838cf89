//! Jumps: places where the rows or columns of a tile do not continue with their stride.

/// Jumps of a tile's rows in the destination, or of its columns in the source. They occur where the tile continues
/// through an outer loop that is not contiguous there, and where a rolled loop wraps to the start of its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jumps {
    /// The number of iterations before the first jump.
    pub first: usize,
    /// The jumps, in alternation.
    pub following: [Jump; 2],
}

/// A jump and the number of iterations after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The distance in bytes, in addition to the stride.
    pub bytes: isize,
    /// The number of iterations before the next jump.
    pub steps: usize,
}

impl Jumps {
    /// No jumps.
    pub const NONE: Jumps =
        Jumps { first: usize::MAX, following: [Jump { bytes: 0, steps: usize::MAX }; 2] };

    /// Returns the jumps of a loop of `len` iterations of `stride` bytes, from iteration `start` on. If `rolled` is
    /// given, the loop wraps to its start after so many iterations. If `outer` is given, an outer loop of this stride
    /// repeats it.
    #[inline]
    pub fn of(
        len: usize,
        stride: isize,
        rolled: Option<usize>,
        outer: Option<isize>,
        start: usize,
    ) -> Jumps {
        if rolled.is_none() && outer.is_none() {
            // Small moves avoid the division.
            return Jumps::NONE;
        }
        let (all, step) = (len.cast_signed() * stride, start % len);
        let Some(before) = rolled else {
            let on = Jump { bytes: outer.unwrap_or(0) - all, steps: len };
            return Jumps { first: len - step, following: [on; 2] };
        };
        let back = Jump { bytes: -all, steps: len - before };
        let on = Jump { bytes: outer.unwrap_or(0), steps: before };
        if step < before {
            Jumps { first: before - step, following: [back, on] }
        } else {
            Jumps { first: len - step, following: [on, back] }
        }
    }

    pub(crate) fn is_multiple_of(&self, bytes: usize) -> bool {
        self.following.iter().all(|jump| jump.bytes.unsigned_abs().is_multiple_of(bytes))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn walked(all: Jumps, begin: isize, stride: isize, count: usize) -> Vec<isize> {
        let (mut offset, mut left, mut jumps) = (begin, all.first, all.following);
        let step = |_| {
            let now = offset;
            offset += stride;
            left -= 1;
            if left == 0 {
                offset += jumps[0].bytes;
                left = jumps[0].steps;
                jumps.reverse();
            }
            now
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn jumps_give_every_offset_from_any_start() {
        let (len, stride, outer) = (7usize, -3isize, 100isize);
        for rolled in [None, Some(1), Some(4), Some(6)] {
            let offset_of = |step: usize| {
                let (round, at) = (step / len, step % len);
                let back = if rolled.is_some_and(|before| at >= before) { len } else { 0 };
                round.cast_signed() * outer + (at.cast_signed() - back.cast_signed()) * stride
            };
            for start in 0..3 * len {
                let jumps = Jumps::of(len, stride, rolled, Some(outer), start);
                let expected: Vec<isize> = (start..start + 20).map(offset_of).collect();
                assert_eq!(walked(jumps, expected[0], stride, 20), expected, "{rolled:?}, {start}");
            }
        }
    }
}
