//! Loops that jump.

/// Jumps of a tile's rows in the destination, or of its columns in the source: where two loops that
/// are one on the other side go from one step of the outer to the next, and where a rolled loop
/// goes on at the start of its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jumps {
    /// The steps to the first jump.
    pub first: usize,
    /// The jumps that follow, in turn.
    pub following: [Jump; 2],
}

/// A jump, and what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The bytes of the jump, beside those of the step.
    pub bytes: isize,
    /// The steps to the next jump.
    pub steps: usize,
}

impl Jumps {
    /// No jump.
    pub const NONE: Jumps =
        Jumps { first: usize::MAX, following: [Jump { bytes: 0, steps: usize::MAX }; 2] };

    /// The jumps from step `start` on of a loop of `len` steps of `stride` bytes, whose start, if
    /// it is `rolled`, comes after so many steps, and which goes on in an outer loop of steps of
    /// `outer` bytes, if there is one.
    #[inline]
    pub fn of(
        len: usize,
        stride: isize,
        rolled: Option<usize>,
        outer: Option<isize>,
        start: usize,
    ) -> Jumps {
        if rolled.is_none() && outer.is_none() {
            // Small moves spare the division.
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

    /// Whether every jump is a multiple of so many bytes.
    pub(crate) fn is_multiple_of(&self, bytes: usize) -> bool {
        self.following.iter().all(|jump| jump.bytes.unsigned_abs().is_multiple_of(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of steps from `start` on, as the jumps lead to them.
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
    fn jumps_lead_to_every_step_from_anywhere() {
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
