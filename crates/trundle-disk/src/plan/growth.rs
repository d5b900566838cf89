//! Chooses the tile size of a pass by the estimated time.

use std::ops::Range;

use trundle_core::program::Program;

use crate::plan::location::{Location, elements};
use crate::plan::seams::{longest, out_sizes};
use crate::plan::storage::Rates;
use crate::plan::tiling::{Budget, Tile};

/// The size of a tile, in bytes, that makes the fixed cost of reading, moving and writing it negligible.
const LEAST_BYTES: usize = 16 << 20;

/// The share of the time below which larger tiles gain nothing. It is the share of requests, repeated reads of chunks,
/// and parts that wait for the rest of their chunk.
const LITTLE: f64 = 0.01;

pub(crate) struct Growth<'a> {
    program: &'a Program,
    sizes: &'a [usize],
    from: &'a [&'a Location],
    to: &'a Location,
    /// For each axis of the output, the longest range between two seams. A seam is an index at which the position in a
    /// source jumps.
    stretches: Vec<Range<usize>>,
    /// For each axis of the output, the longest chunk within that range; `None` if there is no such chunk.
    grids: Vec<Option<Range<usize>>>,
    budget: Budget,
    rates: &'a Rates,
}

impl<'a> Growth<'a> {
    pub(crate) fn new<'e>(
        program: &'a Program,
        (from, to): (&'a [&'a Location], &'a Location),
        seams: &[Vec<usize>],
        edges_of: impl Fn(usize) -> &'e [usize],
        budget: Budget,
        rates: &'a Rates,
    ) -> Growth<'a> {
        let sizes = out_sizes(program);
        let stretches: Vec<Range<usize>> = seams.iter().map(|seams| longest(seams)).collect();
        // The longest chunk within the range. Chunks at its ends may be incomplete.
        let grid = |(axis, stretch): (usize, &Range<usize>)| {
            let chunks = edges_of(axis).windows(2).map(|pair| pair[0]..pair[1]);
            let within =
                chunks.filter(|chunk| chunk.start >= stretch.start && chunk.end <= stretch.end);
            within.rev().max_by_key(Range::len)
        };
        let grids = stretches.iter().enumerate().map(grid).collect();
        Growth { program, sizes, from, to, stretches, grids, budget, rates }
    }

    /// Returns the best tile size that the search finds, as a step along each axis.
    ///
    /// The search starts from a single element. From there, it may miss long tiles, because a slightly longer tile
    /// gains nothing. So it also starts from the longest tile along each axis. These may never grow to a whole chunk,
    /// so it also starts from a whole chunk.
    pub(crate) fn grown(&self) -> Option<Vec<usize>> {
        let single = vec![1; self.stretches.len()];
        let begins = (0..single.len()).filter_map(|axis| {
            let mut long = single.clone();
            long[axis] = self.sizes[axis];
            while self.cost(&long).is_none() {
                long[axis] = long[axis].min(self.stretches[axis].len() + 1) / 2;
                if long[axis] <= 1 {
                    return None;
                }
            }
            Some(long)
        });
        let chunk = self.grids.iter().map(|chunk| chunk.as_ref().map_or(1, Range::len));
        let grown =
            [single.clone(), chunk.collect()].into_iter().chain(begins).filter_map(|begin| {
                let steps = self.to_the_end(self.even(self.grown_from(begin)?));
                Some((self.cost(&steps)?, steps))
            });
        grown.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, steps)| steps)
    }

    /// Shortens the steps so that the tiles along each axis have about equal lengths.
    fn even(&self, mut steps: Vec<usize>) -> Vec<usize> {
        for (axis, step) in steps.iter_mut().enumerate() {
            let stretch = match self.stretches[axis].len() {
                stretch if *step > stretch => self.sizes[axis],
                stretch => stretch,
            };
            let even = |all: usize, step: usize| all.div_ceil(all.div_ceil(step));
            *step = match self.grids[axis].as_ref().map(Range::len) {
                _ if *step >= stretch => stretch,
                Some(chunk) if *step < chunk => even(chunk, *step),
                Some(chunk) => even(stretch.div_ceil(chunk), *step / chunk) * chunk,
                None => even(stretch, *step),
            };
        }
        steps
    }

    /// Extends a step to the end of the range if less than a chunk would remain and the longer tile fits. Another tile
    /// for the rest would read and write the last chunks again.
    fn to_the_end(&self, mut steps: Vec<usize>) -> Vec<usize> {
        for axis in 0..steps.len() {
            let (stretch, step) = (self.stretches[axis].len(), steps[axis]);
            let chunk = self.grids[axis].as_ref().map_or(0, Range::len);
            if step < stretch && stretch - step < chunk {
                steps[axis] = stretch;
                if self.cost(&steps).is_none() {
                    steps[axis] = step;
                }
            }
        }
        steps
    }

    /// Lengthens the steps while the estimated time per element decreases.
    fn grown_from(&self, begin: Vec<usize>) -> Option<Vec<usize>> {
        let mut steps = begin;
        let mut cost = self.cost(&steps)?;
        for (more, of) in [(1, 1), (1, 2), (1, 4), (1, 8), (1, 16)] {
            while !self.is_enough(&steps) {
                let best = (0..steps.len())
                    .filter_map(|axis| {
                        let mut longer = steps.clone();
                        longer[axis] = self.longer(axis, steps[axis], more, of)?;
                        Some((self.cost(&longer)?, longer))
                    })
                    .min_by(|(one, _), (other, _)| one.total_cmp(other));
                match best {
                    Some((less, longer)) if less < cost => (cost, steps) = (less, longer),
                    _ => break,
                }
            }
        }
        Some(steps)
    }

    /// Lengthens a step by the fraction `more / of`, at most to the end of the range. A step that already reaches the
    /// end grows to the whole axis. Returns `None` if the step is already the whole axis.
    fn longer(&self, axis: usize, step: usize, more: usize, of: usize) -> Option<usize> {
        let stretch = self.stretches[axis].len();
        match step {
            _ if step >= self.sizes[axis] => None,
            _ if step >= stretch => Some(self.sizes[axis]),
            _ => {
                let longer = (step + step * more / of).max(step + 1).min(stretch);
                match &self.grids[axis] {
                    // A part of the next chunk costs as much as the whole chunk.
                    Some(chunk) if longer > chunk.len() && longer < stretch => {
                        let whole = longer / chunk.len() * chunk.len();
                        Some(if whole > step { whole } else { step + chunk.len() }.min(stretch))
                    }
                    // Within a chunk, the cost depends only on the number of parts.
                    Some(chunk) if longer < chunk.len() => {
                        let parts = chunk.len().div_ceil(longer);
                        let equal = chunk.len().div_ceil(parts);
                        let fewer = || chunk.len().div_ceil(parts - 1);
                        Some(if equal > step { equal } else { fewer() }.min(stretch))
                    }
                    _ => Some(longer),
                }
            }
        }
    }

    fn tile(&self, steps: &[usize]) -> Option<Tile> {
        let out = steps
            .iter()
            .enumerate()
            .map(|(axis, step)| {
                let stretch = &self.stretches[axis];
                if *step > stretch.len() {
                    0..self.sizes[axis]
                } else {
                    // Start at a chunk edge if the tile fits there.
                    let begin = self.grids[axis].as_ref().map_or(stretch.start, |grid| grid.start);
                    let begin = begin.min(stretch.end - step);
                    begin..begin + step
                }
            })
            .collect();
        Tile::of(self.program, out)
    }

    /// Estimates the seconds per element of a tile with these steps; `None` if the tile does not fit the budget.
    fn cost(&self, steps: &[usize]) -> Option<f64> {
        let tile = self.tile(steps)?;
        let (bytes, requests, decoding) = self.traffic(&tile);
        let seconds = self.rates.seconds(bytes, requests, decoding);
        let holds = self.budget.holds(&tile, self.to);
        holds.then_some(seconds / elements(&tile.out) as f64)
    }

    /// Returns the bytes and requests of a tile, and the picoseconds to decode its sources on one core.
    fn traffic(&self, tile: &Tile) -> (u64, u64, u64) {
        let (read, written) = tile.runs(self.from, self.to);
        // Parts of incomplete chunks are written to a temporary file and read again.
        let out = elements(&tile.out) + 2 * self.to.waiting(&tile.out);
        let moved = (out + tile.covered(self.from)) * self.budget.unit;
        (moved as u64, (read + written) as u64, tile.decoding(self.from))
    }

    /// Returns whether larger tiles would gain nothing and there are few enough tiles.
    fn is_enough(&self, steps: &[usize]) -> bool {
        let Some(tile) = self.tile(steps) else { return false };
        let (bytes, requests, decoding) = self.traffic(&tile);
        // The unavoidable cost: moving the elements of the tile, without any request.
        let used = tile.source_elements() as f64 / tile.covered(self.from).max(1) as f64;
        let own = (tile.elements() * self.budget.unit) as u64;
        let least = self.rates.seconds(own, 0, (decoding as f64 * used) as u64);
        let share = 1.0 - least / self.rates.seconds(bytes, requests, decoding);
        let tiles = self.sizes.iter().product::<usize>() / elements(&tile.out).max(1);
        let are_few = tiles <= self.budget.most_tiles() / 2;
        bytes >= 2 * LEAST_BYTES as u64 && share < LITTLE && are_few
    }
}
