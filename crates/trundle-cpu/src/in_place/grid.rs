//! Divides the axes of a tensor into parts. A cell has one part of each axis.

use trundle_core::{Along, InPlace, InPlaceAxis, greatest_common_divisor};

#[derive(Clone, Copy, Debug)]
pub(super) struct CellSize {
    /// Minimum size: locating smaller cells takes too long. Cells of whole axes may be smaller.
    pub(super) least: usize,
    pub(super) most: usize,
    /// Length of contiguous runs in transposed cells: several cache lines, so that hardware prefetchers work.
    pub(super) run: usize,
}

/// The number of parts is at most 1/`LISTED_PART` of the tensor's bytes, or `LEAST_LISTED` if that is more.
const LISTED_PART: usize = 1024;
const LEAST_LISTED: usize = 4096;

/// Maximum length of a transposed cell along an axis.
const MOST_STEPS: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The start of each part, then the size of the axis.
    pub(super) begin: Vec<usize>,
    /// For each part, the part of the source axis that moves to it.
    pub(super) read_at: Vec<usize>,
}

impl Parts {
    pub(super) fn count(&self) -> usize {
        self.read_at.len()
    }

    pub(super) fn steps(&self, part: usize) -> usize {
        self.begin[part + 1] - self.begin[part]
    }

    fn whole(len: usize) -> Parts {
        Parts { begin: vec![0, len], read_at: vec![0] }
    }

    /// Makes parts of length `steps` (the last may be shorter). Part i reads part i + `shift`, modulo their number.
    fn even(len: usize, steps: usize, shift: usize) -> Parts {
        let count = len.div_ceil(steps);
        let begin = (0..count).map(|part| part * steps).chain([len]).collect();
        let read_at = (0..count).map(|part| (part + shift) % count).collect();
        Parts { begin, read_at }
    }

    /// Divides `0..middle` and `middle..len`, each into parts of at most `steps` that are symmetric around its centre.
    /// A part reads itself or, if `is_flipped`, its mirror image.
    fn mirrored(len: usize, middle: usize, steps: usize, is_flipped: bool) -> Parts {
        let mut parts = Parts { begin: vec![0], read_at: Vec::new() };
        for (first, end) in [(0, middle), (middle, len)] {
            if first == end {
                continue;
            }
            let before = parts.count();
            let half = (end - first) / 2;
            let from_end = |at: &usize| first + end - at;
            let mut cuts: Vec<usize> = (first..first + half).step_by(steps).skip(1).collect();
            let middle = [first + half, end - half];
            let behind: Vec<usize> = cuts.iter().rev().map(from_end).collect();
            cuts.extend(middle.into_iter().filter(|at| *at > first && *at < end));
            cuts.extend(behind);
            cuts.dedup();
            parts.begin.extend(cuts);
            parts.begin.push(end);
            let count = parts.begin.len() - 1 - before;
            let read_at = |part: usize| before + if is_flipped { count - 1 - part } else { part };
            parts.read_at.extend((0..count).map(read_at));
        }
        parts
    }
}

/// Divides the axes so that the source of every cell is a cell too. Returns `None` if cells would be larger than `size`
/// allows, or too many parts.
pub(super) fn parts_of(work: &InPlace, size: CellSize) -> Option<Vec<Parts>> {
    let axes = work.axes();
    let mut parts: Vec<Option<Parts>> = vec![None; axes.len()];
    let lengths = Lengths::of(axes);
    let all: usize = axes.iter().map(|axis| axis.len).product();
    let most_listed = (all / LISTED_PART).max(LEAST_LISTED);
    // The parts so far, and the bytes of a cell.
    let (mut listed, mut bytes) = (0, 1);
    for at in (0..axes.len()).rev() {
        if parts[at].is_some() {
            continue;
        }
        let orbit = orbit_of(|axis| axes[axis].from, at);
        let len = axes[at].len;
        let least = lengths.as_ref().map_or(size.least, |lengths| lengths.least(at, size));
        let mut steps = steps_of(axes, &orbit, bytes, CellSize { least, ..size })?;
        if lengths.as_ref().is_some_and(|lengths| lengths.are_apart(at)) {
            steps = 1;
        }
        // The lists have an entry for each part, so stop before they become too long.
        listed += orbit.len() * len.div_ceil(steps);
        if listed > most_listed {
            return None;
        }
        for each in &orbit {
            parts[*each] = Some(cut(axes, &orbit, *each, steps));
        }
        let exponent = u32::try_from(orbit.len()).ok()?;
        bytes = bytes.checked_mul(steps.min(len).checked_pow(exponent)?)?;
    }
    let parts: Vec<Parts> = parts.into_iter().flatten().collect();
    (bytes <= size.most).then_some(parts)
}

/// The axis that a length table reverses.
struct Lengths<'a> {
    axis: usize,
    steps: usize,
    /// Strides of the table.
    strides: &'a [isize],
    /// Whether the lengths do not vary along this axis or after it. Cells then have length 1 along this axis.
    is_outside: bool,
}

impl<'a> Lengths<'a> {
    fn of(axes: &'a [InPlaceAxis]) -> Option<Lengths<'a>> {
        axes.iter().enumerate().find_map(|(at, axis)| match &axis.along {
            Along::Reversed(table) => {
                let is_outside = table.strides[at..].iter().all(|stride| *stride == 0);
                Some(Lengths { axis: at, steps: axis.len, strides: &table.strides, is_outside })
            }
            _ => None,
        })
    }

    /// Returns the minimum size of a cell from axis `at` on. It leaves room for a reversed axis before it.
    fn least(&self, at: usize, size: CellSize) -> usize {
        let leaves_room = !self.is_outside && at > self.axis;
        if leaves_room { size.least.min(size.most / self.steps).max(1) } else { size.least }
    }

    /// Whether the indices of an axis have different lengths, and so must be in different cells.
    fn are_apart(&self, at: usize) -> bool {
        self.is_outside && self.strides[at] != 0
    }
}

/// Returns the axes that read each other in a cycle.
pub(super) fn orbit_of(from: impl Fn(usize) -> usize, at: usize) -> Vec<usize> {
    let others = std::iter::successors(Some(from(at)), |next| Some(from(*next)));
    std::iter::once(at).chain(others.take_while(|next| *next != at)).collect()
}

/// Returns the length of the parts of an orbit's axes. Along the axes after them, a cell has `bytes` bytes.
fn steps_of(axes: &[InPlaceAxis], orbit: &[usize], bytes: usize, size: CellSize) -> Option<usize> {
    let axis = &axes[orbit[0]];
    let len = axis.len;
    let exponent = u32::try_from(orbit.len()).ok()?;
    let whole = len.checked_pow(exponent).and_then(|steps| steps.checked_mul(bytes));
    let room = (size.least / bytes).max(1);
    if orbit.len() == 1 {
        let fits = whole.is_some_and(|whole| whole <= size.most);
        return Some(match &axis.along {
            Along::Kept | Along::Flipped | Along::FlippedParts { .. } => len.min(room),
            Along::Rolled { .. } | Along::Reversed(_) if len <= room || fits => len,
            Along::Rolled { shift } => {
                let together = greatest_common_divisor(len, *shift);
                (1..=together.min(room)).rev().find(|steps| together.is_multiple_of(*steps))?
            }
            Along::Reversed(_) => 1,
        });
    }
    let is_uncut = |at: &usize| matches!(axes[*at].along, Along::Kept | Along::Flipped);
    if whole.is_some_and(|whole| whole <= size.least.max(size.most / 4)) {
        return Some(len);
    }
    let square = (size.least / bytes).isqrt();
    let steps = (size.run / bytes).max(square).clamp(1, MOST_STEPS).min(len);
    let cell = steps.checked_pow(exponent)?.checked_mul(bytes)?;
    let steps = if cell <= size.most { steps } else { 1 };
    orbit.iter().all(is_uncut).then_some(steps)
}

fn cut(axes: &[InPlaceAxis], orbit: &[usize], at: usize, steps: usize) -> Parts {
    let axis = &axes[at];
    let len = axis.len;
    if steps >= len {
        return Parts::whole(len);
    }
    let is_flipped = axis.along == Along::Flipped;
    match &axis.along {
        Along::Rolled { shift } => Parts::even(len, steps, shift / steps),
        Along::FlippedParts { at } => Parts::mirrored(len, *at, steps, true),
        _ if orbit.iter().any(|at| axes[*at].along == Along::Flipped) => {
            Parts::mirrored(len, len, steps, is_flipped)
        }
        _ => Parts::even(len, steps, 0),
    }
}
