//! How large the box of a block of threads is, and further settings of tiles.
//!
//! The numbers were measured on an H200.

use super::super::nest::Nest;

/// The settings of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The number of steps of each loop in a box.
    pub(super) extents: Vec<usize>,
    pub(super) threads: usize,
    /// The size of a read in bytes: 16, or the width of an element.
    pub(super) unit: usize,
    /// The number of reads that a thread has under way at once.
    pub(super) group: usize,
    /// Whether blocks follow each other along the destination only, not also along the source.
    pub(super) by_destination: bool,
    /// Whether reads fetch what follows to the second cache.
    pub(super) ahead: bool,
}

impl Settings {
    /// Halves the longest side of the box. Returns whether there is one.
    pub(super) fn halve(&mut self, source: usize) -> bool {
        let others = (0..self.extents.len()).filter(|at| *at != source);
        let longest = others.max_by_key(|at| self.extents[*at]).unwrap_or(source);
        let is_divided = self.extents[longest] > 1;
        self.extents[longest] = self.extents[longest].div_ceil(2);
        is_divided
    }
}

/// The axes of a box, and which numbers of bytes begin at multiples of 16.
pub(super) struct Shape<'a> {
    pub(super) nest: &'a Nest,
    /// The loop whose elements follow each other in the source.
    pub(super) source: usize,
    /// What rows in the source begin at multiples of.
    pub(super) source_unit: usize,
}

impl Shape<'_> {
    fn len(&self, at: usize) -> usize {
        self.nest.loops()[at].len
    }

    /// The stride of a loop in the source, if it is not cut.
    fn stride(&self, at: usize) -> Option<usize> {
        self.nest.loops()[at].affine_stride().map(isize::unsigned_abs)
    }

    /// The settings for the alignment of both sides.
    pub(super) fn settings(&self) -> Settings {
        let nest = self.nest;
        let (width, line) = (nest.width, 128 / nest.width);
        let (row, last) = (self.len(self.source) * width, self.len(nest.loops().len() - 1));
        let is_whole = last <= 320;
        if self.source_unit == 16 && nest.is_even() {
            let next = (0..nest.loops().len()).find(|at| self.stride(*at) == Some(row));
            if row < 512 && next != Some(nest.loops().len() - 1) {
                // Rows of the source are short, and lie far apart in the destination.
                let columns = 128 * line / share(self.len(self.source), line, 224 / width);
                return Settings { group: 3, ahead: true, ..self.sized([line, columns], 512, 0) };
            }
            let [by_source, by_destination] =
                if width <= 2 { [width * line, 128] } else { [2 * line, 64] };
            let threads = if width == 2 { 1024 } else { 512 };
            let ahead = match width {
                1 => true,
                2 => false,
                _ => self.has_rows_between_lines(),
            };
            let sized = self.sized([by_source, by_destination], threads, 0);
            return Settings { by_destination: true, ahead, ..sized };
        }
        let sized = |extents, threads| self.sized(extents, threads, 320);
        match (width, self.source_unit) {
            (_, 16) => Settings { group: 3, ahead: true, ..sized([line, 128], 512) },
            (4, 4) => {
                let group = if is_whole { 4 } else { 20 };
                Settings { unit: 4, group, ..sized([line, 128], 256) }
            }
            (8, 8) if is_whole => Settings { unit: 8, group: 6, ..sized([line, 128], 512) },
            (8, _) => Settings { group: 3, ahead: true, ..self.sized([2 * line, 64], 512, 0) },
            _ if last < 120 => Settings { group: 4, ahead: true, ..sized([line, 240], 512) },
            _ => {
                let ahead = width != 2 && width < 8 && !is_whole;
                Settings { group: 5, ahead, ..sized([line, 128], 256) }
            }
        }
    }

    /// Whether rows of the source begin within pairs of lines of memory.
    fn has_rows_between_lines(&self) -> bool {
        let others = (0..self.nest.loops().len()).filter(|at| *at != self.source);
        others.into_iter().any(|at| self.stride(at).is_none_or(|stride| stride % 256 != 0))
    }

    fn sized(
        &self,
        [by_source, by_destination]: [usize; 2],
        threads: usize,
        full: usize,
    ) -> Settings {
        let least = (by_source * by_destination * self.nest.width).min(32 << 10);
        Settings {
            extents: self.extents([by_source, by_destination], full, least),
            threads,
            unit: 16,
            group: 8,
            by_destination: false,
            ahead: false,
        }
    }

    /// A box with about `wanted` elements along the source and along the destination, all of the innermost loop if it
    /// has at most `full` steps, and at least about `least` bytes.
    fn extents(&self, wanted: [usize; 2], full: usize, least: usize) -> Vec<usize> {
        let count = self.nest.loops().len();
        let lens: Vec<usize> = (0..count).map(|at| self.len(at)).collect();
        let width = self.nest.width;
        let mut made = vec![1; count];
        let sides = [self.along_source(), (0..count).rev().collect()];
        for (axes, wanted) in sides.iter().zip(wanted) {
            let mut of_side = 1;
            for at in axes {
                if of_side >= wanted {
                    break;
                }
                let all = match *at {
                    at if at == self.source => 224 / width,
                    at if at == count - 1 => full,
                    _ => 0,
                };
                made[*at] = made[*at].max(share(lens[*at], wanted.div_ceil(of_side), all));
                of_side *= made[*at];
                if made[*at] < lens[*at] {
                    break;
                }
            }
        }
        for at in sides.iter().rev().flatten() {
            let bytes = |made: &[usize]| made.iter().product::<usize>() * width;
            while made[*at] < lens[*at] && bytes(&made) * 3 / 2 < least {
                let whole = bytes(&made) / made[*at] * lens[*at];
                made[*at] =
                    if whole <= 2 * least { lens[*at] } else { lens[*at].min(2 * made[*at]) };
            }
        }
        made
    }

    /// The loops that go on in the source where the one before ends.
    fn along_source(&self) -> Vec<usize> {
        let mut along = vec![self.source];
        let mut end = self.nest.width * self.len(self.source);
        while let Some(next) = (0..self.nest.loops().len())
            .find(|at| self.stride(*at) == Some(end) && !along.contains(at))
        {
            along.push(next);
            end *= self.len(next);
        }
        along
    }
}

/// About `wanted` of `len` steps, in even shares if there are few; all if they are at most `full`.
fn share(len: usize, wanted: usize, full: usize) -> usize {
    let rounded = (len + wanted / 2) / wanted;
    match len {
        _ if len <= full.max(wanted * 3 / 2) => len,
        _ if len >= 6 * wanted => wanted,
        _ => len.div_ceil(rounded.max(1)),
    }
}
