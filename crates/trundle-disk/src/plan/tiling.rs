//! The boxes that a pass over a file takes one after another.

use std::ops::Range;

use trundle::IndexMap;
use trundle::lowering::AxisMap;

use crate::Storage;
use crate::plan::location::{Bounds, Chunks, Location, elements};

/// A box of the output, and the box of the source that it is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) out: Bounds,
    pub(crate) source: Bounds,
}

trundle::fingerprint!(struct Tile { out, source });

/// What tiles of a pass have to fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// The bytes of an element in memory.
    pub(crate) unit: usize,
    /// The bytes of a tile, of its source and its output together.
    pub(crate) bytes: usize,
}

/// Tiles of fewer bytes are not worth a round of reading, moving and writing.
const LEAST_BYTES: usize = 16 << 20;

/// Where requests take less than this share of the time, fewer of them are no gain.
const FEW_REQUESTS: f64 = 0.01;

/// The bytes of a tile in memory, with the task that it becomes.
const TILE_BYTES: usize = 256;

/// The bytes that a plan of a span takes at most, with the requests for it.
pub(crate) const SPAN_BYTES: usize = 4 << 10;

/// The share of the budget, as its inverse, that the list of tiles may take.
const LISTS_SHARE: usize = 32;

/// So many tiles there may be in little memory too.
const LEAST_TILES: usize = 1 << 14;

/// The budget that holds the list of the tiles that so many bytes are cut into.
pub(crate) fn least_bytes(bytes: u64) -> u64 {
    ((bytes as f64) * (LISTS_SHARE * TILE_BYTES) as f64).sqrt() as u64
}

impl Budget {
    /// The elements of a tile that is as large as its source.
    fn elements(self) -> usize {
        self.bytes / 2 / self.unit.max(1)
    }

    /// More tiles than this would themselves be what fills the memory.
    fn most_tiles(self) -> usize {
        (self.bytes / LISTS_SHARE / TILE_BYTES).max(LEAST_TILES)
    }

    fn holds(self, tile: &Tile) -> bool {
        tile.elements().saturating_mul(self.unit) <= self.bytes
    }
}

impl Tile {
    /// The box `out` of the output of `map`; `None` if what it reads is no box, see
    /// [`IndexMap::source_bounds`].
    fn of(map: &IndexMap, out: Bounds) -> Option<Tile> {
        let source = map.restrict(&out).ok()?.source_bounds()?;
        Some(Tile { out, source })
    }

    /// The elements of both boxes.
    pub(crate) fn elements(&self) -> usize {
        elements(&self.out).saturating_add(elements(&self.source))
    }

    /// How many runs are read, and how many written, if all spans have as many as the first.
    pub(crate) fn runs(&self, from: &Location, to: &Location) -> (usize, usize) {
        let of_one = |span: &Bounds| to.count_spans(&self.out) * to.runs(span).count();
        let written = to.spans(&self.out).first().map_or(0, of_one);
        (from.runs(&self.source).count(), written)
    }
}

/// Tiles for a pass between two contiguous tensors, as long in both as fits the budget: grown axis by
/// axis from a single element, each time along the one that saves most of the time that the storage
/// takes for an element. `None` if there are none that fit.
pub(crate) fn tiles(map: &IndexMap, budget: Budget, storage: &Storage) -> Option<Vec<Tile>> {
    let sizes = map.out_shape().sizes();
    let growth = Growth {
        map,
        from: Location::RowMajor { sizes: map.in_shape().to_vec() },
        to: Location::RowMajor { sizes: sizes.to_vec() },
        stretches: (0..sizes.len()).map(|axis| longest(&seams(map, axis))).collect(),
        budget,
        storage,
    };
    let steps = growth.grown()?;
    let seams = (0..steps.len()).map(|axis| seams(map, axis));
    fitting(map, boxes(&cuts(seams.zip(steps), budget)?), budget)
}

/// Bands that are one run each of a contiguous tensor of the output's shape, cut where the source
/// jumps; `None` if there are none that fit.
pub(crate) fn bands(map: &IndexMap, budget: Budget) -> Option<Vec<Tile>> {
    let whole: Bounds = map.out_shape().iter().map(|size| 0..*size).collect();
    let steps = band_steps(&whole, budget.elements())?;
    let seams = (0..steps.len()).map(|axis| seams(map, axis));
    fitting(map, boxes(&cuts(seams.zip(steps), budget)?), budget)
}

/// Bands of a box that stay in place.
pub(crate) fn bands_in_place(within: &[Range<usize>], budget: Budget) -> Option<Vec<Tile>> {
    let steps = band_steps(within, budget.elements())?;
    let seams = within.iter().map(|range| vec![range.start, range.end]);
    let boxes = boxes(&cuts(seams.zip(steps), budget)?);
    Some(boxes.into_iter().map(|out| Tile { source: out.clone(), out }).collect())
}

/// The chunks that the sources of tiles are, if no two of them have a part in common; and the box
/// around them.
pub(crate) fn chunks(tiles: &[Tile]) -> Option<(Chunks, Bounds)> {
    let rank = tiles.first()?.source.len();
    let mut cuts = Vec::with_capacity(rank);
    for axis in 0..rank {
        let mut along: Vec<Range<usize>> =
            tiles.iter().map(|tile| tile.source[axis].clone()).collect();
        along.sort_unstable_by_key(|range| (range.start, range.end));
        along.dedup();
        if along.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return None;
        }
        let mut at: Vec<usize> = along.iter().flat_map(|range| [range.start, range.end]).collect();
        at.dedup();
        cuts.push(at);
    }
    let around = cuts.iter().map(|cuts| cuts[0]..cuts[cuts.len() - 1]).collect();
    Some((Chunks::new(cuts), around))
}

struct Growth<'a> {
    map: &'a IndexMap,
    from: Location,
    to: Location,
    /// For each axis of the output the longest stretch over which the source does not jump.
    stretches: Vec<Range<usize>>,
    budget: Budget,
    storage: &'a Storage,
}

impl Growth<'_> {
    /// The steps along each axis of the output. Where one step more along any axis gains nothing,
    /// many along one may: rows whose lengths differ are read with all their neighbours or whole.
    /// So it is also begun with each axis as long as fits.
    fn grown(&self) -> Option<Vec<usize>> {
        let single = vec![1; self.stretches.len()];
        let begins = (0..single.len()).filter_map(|axis| {
            let mut long = single.clone();
            long[axis] = self.size(axis);
            while self.cost(&long).is_none() {
                long[axis] = long[axis].min(self.stretches[axis].len() + 1) / 2;
                if long[axis] <= 1 {
                    return None;
                }
            }
            Some(long)
        });
        let grown = std::iter::once(single.clone())
            .chain(begins)
            .filter_map(|begin| self.grown_from(begin));
        let (_, steps) = grown.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let even = |(axis, step): (usize, &usize)| {
            let stretch = if *step > self.stretches[axis].len() {
                self.size(axis)
            } else {
                self.stretches[axis].len()
            };
            stretch.div_ceil(stretch.div_ceil(*step))
        };
        Some(steps.iter().enumerate().map(even).collect())
    }

    /// The seconds for each element of the longest tile that these steps grow to, and its steps.
    fn grown_from(&self, begin: Vec<usize>) -> Option<(f64, Vec<usize>)> {
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
        Some((cost, steps))
    }

    fn size(&self, axis: usize) -> usize {
        self.map.out_shape()[axis]
    }

    /// A step grown by `more / of`: up to the end of the stretch first, then to all of the axis.
    fn longer(&self, axis: usize, step: usize, more: usize, of: usize) -> Option<usize> {
        let stretch = self.stretches[axis].len();
        match step {
            _ if step >= self.size(axis) => None,
            _ if step >= stretch => Some(self.size(axis)),
            _ => Some((step + step * more / of).max(step + 1).min(stretch)),
        }
    }

    fn tile(&self, steps: &[usize]) -> Option<Tile> {
        let out = steps
            .iter()
            .enumerate()
            .map(|(axis, step)| {
                let stretch = &self.stretches[axis];
                if *step > stretch.len() {
                    0..self.size(axis)
                } else {
                    stretch.start..stretch.start + step
                }
            })
            .collect();
        Tile::of(self.map, out)
    }

    /// The seconds for each element of a tile of these steps; `None` if it does not fit.
    fn cost(&self, steps: &[usize]) -> Option<f64> {
        let tile = self.tile(steps)?;
        let (bytes, requests) = self.traffic(&tile);
        let seconds = self.storage.seconds(bytes, requests);
        self.budget.holds(&tile).then_some(seconds / elements(&tile.out) as f64)
    }

    fn traffic(&self, tile: &Tile) -> (u64, u64) {
        let (read, written) = tile.runs(&self.from, &self.to);
        let moved = (elements(&tile.out) + elements(&tile.source)) * self.budget.unit;
        (moved as u64, (read + written) as u64)
    }

    /// Whether longer tiles would gain nothing, and are not too many.
    fn is_enough(&self, steps: &[usize]) -> bool {
        let Some(tile) = self.tile(steps) else { return false };
        let (bytes, requests) = self.traffic(&tile);
        let share = self.storage.seconds(0, requests) / self.storage.seconds(bytes, requests);
        let tiles = self.map.out_shape().elements() / elements(&tile.out).max(1);
        let are_few = tiles <= self.budget.most_tiles() / 2;
        bytes >= 2 * LEAST_BYTES as u64 && share < FEW_REQUESTS && are_few
    }
}

/// Where along an output axis the source jumps, between 0 and the axis's size.
fn seams(map: &IndexMap, axis: usize) -> Vec<usize> {
    let mut at = vec![0, map.out_shape()[axis]];
    let last = map.layers().last();
    for read in last.and_then(|layer| layer.axes()).unwrap_or_default() {
        match read {
            AxisMap::Segments { axis: cut, pieces } if *cut == axis => {
                at.extend(pieces.iter().map(|piece| piece.end));
            }
            _ => {}
        }
    }
    at.sort_unstable();
    at.dedup();
    at
}

fn longest(seams: &[usize]) -> Range<usize> {
    let stretches = seams.windows(2).map(|ends| ends[0]..ends[1]);
    stretches.max_by_key(Range::len).unwrap_or(0..0)
}

/// The cuts of an axis into steps, and at its seams unless a step is all of the axis.
fn cut(seams: &[usize], step: usize) -> Vec<usize> {
    let (begin, end) = (seams[0], seams[seams.len() - 1]);
    let mut cuts = vec![begin];
    if step < end - begin {
        for stretch in seams.windows(2) {
            let mut at = stretch[0];
            while at < stretch[1] {
                at = stretch[1].min(at + step);
                cuts.push(at);
            }
        }
    } else if end > begin {
        cuts.push(end);
    }
    cuts
}

/// How far a band reaches along each axis of a box: all of the last axes, a part of one, single
/// indices of those before it.
fn band_steps(within: &[Range<usize>], most: usize) -> Option<Vec<usize>> {
    let mut left = most;
    if left == 0 {
        return None;
    }
    let mut steps = vec![1; within.len()];
    for (step, range) in steps.iter_mut().zip(within).rev() {
        let bands = range.len().div_ceil(left).max(1);
        *step = range.len().div_ceil(bands).max(1);
        left /= *step;
        if bands > 1 {
            break;
        }
    }
    Some(steps)
}

/// The cuts of axes, each with its seams and the step; `None` if there were too many boxes between
/// them.
fn cuts(
    axes: impl Iterator<Item = (Vec<usize>, usize)>,
    budget: Budget,
) -> Option<Vec<Vec<usize>>> {
    let mut boxes = 1usize;
    axes.map(|(seams, step)| {
        let along = match step < seams[seams.len() - 1] - seams[0] {
            true => seams.windows(2).map(|ends| (ends[1] - ends[0]).div_ceil(step.max(1))).sum(),
            false => 1,
        };
        boxes = boxes.checked_mul(along).filter(|boxes| *boxes <= budget.most_tiles())?;
        Some(cut(&seams, step))
    })
    .collect()
}

/// The boxes between cuts, in row-major order.
fn boxes(cuts: &[Vec<usize>]) -> Vec<Bounds> {
    cuts.iter().fold(vec![Vec::new()], |boxes, cuts| {
        let ranges: Vec<Range<usize>> = cuts.windows(2).map(|ends| ends[0]..ends[1]).collect();
        boxes
            .iter()
            .flat_map(|each| {
                ranges.iter().map(|range| [&each[..], std::slice::from_ref(range)].concat())
            })
            .collect()
    })
}

/// Tiles for the boxes; those that do not fit the budget are halved until they do.
fn fitting(map: &IndexMap, boxes: Vec<Bounds>, budget: Budget) -> Option<Vec<Tile>> {
    let mut tiles = Vec::with_capacity(boxes.len());
    let mut stack = boxes;
    stack.reverse();
    while let Some(out) = stack.pop() {
        if elements(&out) == 0 {
            continue;
        }
        let tile = Tile::of(map, out.clone());
        match tile {
            Some(tile) if budget.holds(&tile) => tiles.push(tile),
            _ => {
                let [first, second] = halves(map, &out)?;
                stack.extend([second, first]);
            }
        }
        if tiles.len() + stack.len() > budget.most_tiles() {
            return None;
        }
    }
    Some(tiles)
}

/// The box cut in two along the axis where the halves read the least; `None` for one element.
fn halves(map: &IndexMap, out: &[Range<usize>]) -> Option<[Bounds; 2]> {
    let halved = |axis: usize| {
        let range = &out[axis];
        let middle = range.start + range.len() / 2;
        let half = |part: Range<usize>| -> Bounds {
            let mut half = out.to_vec();
            half[axis] = part;
            half
        };
        [half(range.start..middle), half(middle..range.end)]
    };
    let read = |halves: &[Bounds; 2]| {
        let each = |half: &Bounds| {
            Tile::of(map, half.clone()).map_or(usize::MAX, |tile| elements(&tile.source))
        };
        each(&halves[0]).saturating_add(each(&halves[1]))
    };
    // Where no half reads a box, the axis of which a single index does is cut.
    let is_ragged = |axis: usize| {
        let mut slab = out.to_vec();
        slab[axis] = slab[axis].start..slab[axis].start + 1;
        Tile::of(map, slab).is_none()
    };
    let best = (0..out.len())
        .filter(|axis| out[*axis].len() > 1)
        .map(|axis| (axis, halved(axis)))
        .min_by_key(|(axis, halves)| match read(halves) {
            usize::MAX => (usize::MAX, is_ragged(*axis)),
            elements => (elements, false),
        });
    best.map(|(_, halves)| halves)
}

#[cfg(test)]
mod tests {
    use trundle::{Chain, Shape};

    use super::*;

    fn map(chain: &str, sizes: &[usize]) -> IndexMap {
        let chain: Chain = chain.parse().unwrap_or_else(|error| panic!("{error}"));
        let passes = chain.passes(&Shape::new(sizes).unwrap()).unwrap();
        assert_eq!(passes.len(), 1);
        passes[0].map.clone()
    }

    const ROOM: Budget = Budget { unit: 4, bytes: 64 << 20 };

    /// Every element of the output is in one tile, and every tile fits.
    fn check(map: &IndexMap, tiles: &[Tile], budget: Budget) {
        let total: usize = tiles.iter().map(|tile| elements(&tile.out)).sum();
        assert_eq!(total, map.out_shape().elements());
        assert!(tiles.iter().all(|tile| budget.holds(tile)));
        for (index, tile) in tiles.iter().enumerate() {
            let meets =
                |other: &Tile| crate::plan::location::common(&tile.out, &other.out).is_some();
            assert!(!tiles[index + 1..].iter().any(meets), "{tile:?} has a part in common");
            assert_eq!(Tile::of(map, tile.out.clone()).as_ref(), Some(tile));
        }
    }

    fn most_runs(map: &IndexMap, tiles: &[Tile]) -> (usize, usize) {
        let from = Location::RowMajor { sizes: map.in_shape().to_vec() };
        let to = Location::RowMajor { sizes: map.out_shape().to_vec() };
        let runs = tiles.iter().map(|tile| tile.runs(&from, &to));
        runs.fold((0, 0), |(read, written), (r, w)| (read.max(r), written.max(w)))
    }

    #[test]
    fn what_streams_has_long_runs_on_both_sides() {
        for (chain, sizes) in [
            ("roll(shift=[5, -3], axes=[0, 1])", &[20000, 3000][..]),
            ("flip(axes=[0, 1])", &[20000, 3000]),
            ("n c h w -> n h w c", &[4000, 3, 64, 64]),
            ("roll(shift=[1], axes=[1])", &[16, 300, 12000]),
        ] {
            let map = map(chain, sizes);
            let tiles = tiles(&map, ROOM, &Storage::SSD).unwrap();
            check(&map, &tiles, ROOM);
            assert_eq!(most_runs(&map, &tiles), (1, 1), "{chain}: {:?}", &tiles[..2]);
        }
    }

    #[test]
    fn a_transpose_has_square_tiles() {
        let map = map("a b -> b a", &[20000, 30000]);
        let tiles = tiles(&map, ROOM, &Storage::SSD).unwrap();
        check(&map, &tiles, ROOM);
        let (read, written) = most_runs(&map, &tiles);
        assert!(
            (1000..=4096).contains(&read) && (1000..=4096).contains(&written),
            "{read} {written}"
        );
    }

    #[test]
    fn bands_of_a_transpose_read_cells() {
        let map = map("roll(shift=[7], axes=[1]) | a b -> b a", &[2000, 30000]);
        let budget = Budget { unit: 4, bytes: 16 << 20 };
        let tiles = bands(&map, budget).unwrap();
        check(&map, &tiles, budget);
        assert_eq!(most_runs(&map, &tiles).1, 1);
        let (chunks, around) = chunks(&tiles).unwrap();
        assert_eq!(around, [0..2000, 0..30000]);
        let place = Location::Chunks(chunks);
        for tile in &tiles {
            assert_eq!(place.runs(&tile.source).count(), 1);
        }
    }

    #[test]
    fn sources_that_overlap_are_no_cells() {
        let map =
            map("reverse(axis=1, batch_axis=0, lengths=[100, 90, 80]) | a b -> b a", &[3, 100]);
        let tiles = bands(&map, Budget { unit: 1, bytes: 330 }).unwrap();
        assert!(chunks(&tiles).is_none());
    }

    #[test]
    fn a_room_for_less_than_an_element_has_no_tiles() {
        let map = map("a b -> b a", &[3, 4]);
        assert!(tiles(&map, Budget { unit: 8, bytes: 15 }, &Storage::SSD).is_none());
        let one = tiles(&map, Budget { unit: 8, bytes: 16 }, &Storage::SSD).unwrap();
        check(&map, &one, Budget { unit: 8, bytes: 16 });
        assert_eq!(one.len(), 12);
    }
}
