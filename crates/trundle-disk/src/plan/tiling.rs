//! The boxes that a pass over a file takes one after another.

use std::ops::Range;

use trundle::lowering::{Backend, Device};
use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{AxisMap, Piece};

use crate::Storage;
use crate::plan::location::{Bounds, Chunks, Location, elements};
use crate::plan::movement::InChunks;

/// A box of the output of a pass, and the boxes of its inputs that it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) out: Bounds,
    /// The inputs that it reads, each with the box that is read of it.
    pub(crate) sources: Vec<(usize, Bounds)>,
}

trundle::fingerprint!(struct Tile { out, sources });

/// What tiles of a pass have to fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// The bytes of an element in memory.
    pub(crate) unit: usize,
    /// The bytes of a tile, of its sources and its output together.
    pub(crate) bytes: usize,
}

/// Tiles of fewer bytes are not worth a round of reading, moving and writing.
const LEAST_BYTES: usize = 16 << 20;

/// Where requests take less than this share of the time, fewer of them are no gain.
const FEW_REQUESTS: f64 = 0.01;

/// The bytes of a tile in memory, with the task that it becomes: of one that is read from one input.
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
    /// The box `out` of the output of a pass; `None` if what it reads are no boxes, see
    /// [`Program::source_bounds`].
    fn of(program: &Program, out: Bounds) -> Option<Tile> {
        let sources = program
            .source_bounds(program.outputs()[0], &out, &Device::default().budget())
            .ok()??;
        let sources = sources.into_iter().enumerate();
        let read = sources.filter_map(|(input, source)| Some((input, source?)));
        Some(Tile { sources: read.filter(|(_, source)| elements(source) > 0).collect(), out })
    }

    /// The elements of all boxes.
    pub(crate) fn elements(&self) -> usize {
        elements(&self.out).saturating_add(self.source_elements())
    }

    /// The elements that are read.
    pub(crate) fn source_elements(&self) -> usize {
        let read = self.sources.iter().map(|(_, source)| elements(source));
        read.fold(0, usize::saturating_add)
    }

    /// How many runs are read, and how many written, if all spans have as many as the first.
    pub(crate) fn runs(&self, from: &[&Location], to: &Location) -> (usize, usize) {
        let of_one = |span: &Bounds| to.count_spans(&self.out) * to.runs(span).count();
        let written = to.spans(&self.out).first().map_or(0, of_one);
        let read = self.sources.iter().map(|(input, source)| from[*input].runs(source).count());
        (read.sum(), written)
    }
}

/// What a pass reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// Where the elements of each input are.
    pub(crate) from: &'a [&'a Location],
    /// How many of the last axes of each input are a chunk's, which is read whole for any element of it;
    /// none where the input is not in chunks.
    pub(crate) chunk_axes: &'a [usize],
    /// For each axis of the output where along it other chunks are read, rising.
    pub(crate) edges: &'a [Vec<usize>],
}

impl Sources<'_> {
    /// The elements that are read for a tile, with those of its chunks that it does not need.
    pub(crate) fn covered(&self, tile: &Tile) -> usize {
        let of_one = |(input, source): &(usize, Bounds)| {
            let Location::RowMajor { sizes } = self.from[*input] else { return elements(source) };
            let outer = source.len() - self.chunk_axes[*input].min(source.len());
            let of_chunk: usize = sizes[outer..].iter().product();
            elements(&source[..outer]).saturating_mul(of_chunk)
        };
        tile.sources.iter().map(of_one).fold(0, usize::saturating_add)
    }
}

/// Tiles for a pass between contiguous tensors, as long in all as fits the budget: grown axis by
/// axis from a single element, each time along the one that saves most of the time that the storage
/// takes for an element. `None` if there are none that fit.
pub(crate) fn tiles(
    program: &Program,
    sources: Sources<'_>,
    budget: Budget,
    storage: &Storage,
) -> Option<Vec<Tile>> {
    let sizes = out_sizes(program);
    let to = Location::RowMajor { sizes: sizes.to_vec() };
    let seams = all_seams(program);
    let stretches: Vec<Range<usize>> = seams.iter().map(|seams| longest(seams)).collect();
    // The longest chunk of a stretch: others end where an axis does, or at a seam.
    let grid = |(axis, stretch): (usize, &Range<usize>)| {
        let edges = sources.edges.get(axis).map_or(&[][..], |edges| edges);
        let chunks = edges.windows(2).map(|pair| pair[0]..pair[1]);
        let within =
            chunks.filter(|chunk| chunk.start >= stretch.start && chunk.end <= stretch.end);
        within.rev().max_by_key(Range::len)
    };
    let grids = stretches.iter().enumerate().map(grid).collect();
    let growth = Growth { program, sizes, sources, to, stretches, grids, budget, storage };
    let steps = growth.grown()?;
    let edges = (0..steps.len()).map(|axis| sources.edges.get(axis).map_or(&[][..], |edges| edges));
    let axes = seams.into_iter().zip(steps).zip(edges);
    let axes = axes.map(|((seams, step), edges)| Axis { seams, step, edges });
    fitting(program, boxes(&cuts(axes, budget)?), budget)
}

/// Bands that are one run each of a contiguous tensor of the output's shape, cut where a source
/// jumps; `None` if there are none that fit.
pub(crate) fn bands(program: &Program, budget: Budget) -> Option<Vec<Tile>> {
    let whole: Bounds = out_sizes(program).iter().map(|size| 0..*size).collect();
    let steps = band_steps(&whole, budget.elements())?;
    let axes = all_seams(program).into_iter().zip(steps);
    let axes = axes.map(|(seams, step)| Axis { seams, step, edges: &[] });
    fitting(program, boxes(&cuts(axes, budget)?), budget)
}

fn out_sizes(program: &Program) -> &[usize] {
    program.tensor(program.outputs()[0]).shape.sizes()
}

/// Bands of a box that stay in place.
pub(crate) fn bands_in_place(within: &[Range<usize>], budget: Budget) -> Option<Vec<Tile>> {
    let steps = band_steps(within, budget.elements())?;
    let axes = within.iter().map(|range| vec![range.start, range.end]).zip(steps);
    let axes = axes.map(|(seams, step)| Axis { seams, step, edges: &[] });
    let boxes = boxes(&cuts(axes, budget)?);
    Some(boxes.into_iter().map(|out| Tile { sources: vec![(0, out.clone())], out }).collect())
}

/// The chunks that the sources of tiles with one input are, if no two of them have a part in common;
/// and the box around them.
pub(crate) fn chunks(tiles: &[Tile]) -> Option<(Chunks, Bounds)> {
    let sources: Vec<&Bounds> =
        tiles.iter().flat_map(|tile| &tile.sources).map(|(_, source)| source).collect();
    let rank = sources.first()?.len();
    let mut cuts = Vec::with_capacity(rank);
    for axis in 0..rank {
        let mut along: Vec<Range<usize>> =
            sources.iter().map(|source| source[axis].clone()).collect();
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
    program: &'a Program,
    /// The sizes of its output.
    sizes: &'a [usize],
    sources: Sources<'a>,
    to: Location,
    /// For each axis of the output the longest stretch over which the source does not jump, and a chunk
    /// of it, if it is of chunks.
    stretches: Vec<Range<usize>>,
    grids: Vec<Option<Range<usize>>>,
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
            match &self.grids[axis] {
                Some(chunk) if *step >= chunk.len() => *step,
                _ => stretch.div_ceil(stretch.div_ceil(*step)),
            }
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
        self.sizes[axis]
    }

    /// A step grown by `more / of`: up to the end of the stretch first, then to all of the axis.
    fn longer(&self, axis: usize, step: usize, more: usize, of: usize) -> Option<usize> {
        let stretch = self.stretches[axis].len();
        match step {
            _ if step >= self.size(axis) => None,
            _ if step >= stretch => Some(self.size(axis)),
            _ => {
                let longer = (step + step * more / of).max(step + 1).min(stretch);
                // A part of one more chunk would cost as much as all of it.
                match &self.grids[axis] {
                    Some(chunk) if longer > chunk.len() && longer < stretch => {
                        let whole = longer / chunk.len() * chunk.len();
                        Some(if whole > step { whole } else { step + chunk.len() }.min(stretch))
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
                    0..self.size(axis)
                } else {
                    // Where a chunk begins, if there is room for it.
                    let begin = self.grids[axis].as_ref().map_or(stretch.start, |grid| grid.start);
                    let begin = begin.min(stretch.end - step);
                    begin..begin + step
                }
            })
            .collect();
        Tile::of(self.program, out)
    }

    /// The seconds for each element of a tile of these steps; `None` if it does not fit.
    fn cost(&self, steps: &[usize]) -> Option<f64> {
        let tile = self.tile(steps)?;
        let (bytes, requests) = self.traffic(&tile);
        let seconds = self.storage.seconds(bytes, requests);
        self.budget.holds(&tile).then_some(seconds / elements(&tile.out) as f64)
    }

    fn traffic(&self, tile: &Tile) -> (u64, u64) {
        let (read, written) = tile.runs(self.sources.from, &self.to);
        let moved = (elements(&tile.out) + self.sources.covered(tile)) * self.budget.unit;
        (moved as u64, (read + written) as u64)
    }

    /// Whether longer tiles would gain nothing, and are not too many.
    fn is_enough(&self, steps: &[usize]) -> bool {
        let Some(tile) = self.tile(steps) else { return false };
        let (bytes, requests) = self.traffic(&tile);
        let share = self.storage.seconds(0, requests) / self.storage.seconds(bytes, requests);
        let tiles = self.sizes.iter().product::<usize>() / elements(&tile.out).max(1);
        let are_few = tiles <= self.budget.most_tiles() / 2;
        bytes >= 2 * LEAST_BYTES as u64 && share < FEW_REQUESTS && are_few
    }
}

/// For each axis of the output of a pass where along it a source jumps, between 0 and its size.
fn all_seams(program: &Program) -> Vec<Vec<usize>> {
    seams_with(program, &|_, _| None)
}

/// For each axis of the output of a program where along it other chunks are read, of the inputs that are
/// in chunks, or a source jumps.
pub(crate) fn edges(program: &Program, in_chunks: &[InChunks]) -> Vec<Vec<usize>> {
    seams_with(program, &|id, axis| {
        let own = in_chunks.iter().find(|own| own.tensor == id)?;
        let (size, chunk) = (program.tensor(id).shape[axis], own.sizes[axis]);
        let edges = (chunk..size).step_by(chunk);
        Some(if edges.len() <= MOST_EDGES { edges.collect() } else { Vec::new() })
    })
}

/// Where so many chunks begin along an axis, tiles are not cut at their edges.
const MOST_EDGES: usize = 1 << 16;

/// What seams a tensor has along an axis, where they are not sought in what it is made of.
type Known<'a> = dyn Fn(TensorId, usize) -> Option<Vec<usize>> + 'a;

fn seams_with(program: &Program, known: &Known<'_>) -> Vec<Vec<usize>> {
    let output = program.outputs()[0];
    let seams = |(axis, size): (usize, &usize)| {
        let mut at = vec![0, *size];
        add_seams(program, output, axis, &mut MOST_ASKED.clone(), known, &mut at);
        at.sort_unstable();
        at.dedup();
        at
    };
    out_sizes(program).iter().enumerate().map(seams).collect()
}

/// Seams are sought in so many tensors at most: one that is joined of others again and again is met as
/// often.
const MOST_ASKED: usize = 1 << 12;

/// Adds where along an axis of a tensor what it is made of jumps. Where one part ends and the next
/// begins is no such place: a box may well have something of both.
fn add_seams(
    program: &Program,
    id: TensorId,
    axis: usize,
    left: &mut usize,
    known: &Known<'_>,
    seams: &mut Vec<usize>,
) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    if let Some(known) = known(id, axis) {
        return seams.extend(known);
    }
    match &program.tensor(id).made {
        Made::Given(_) | Made::Fill(_) => {}
        Made::Joined { axis: along, parts } => {
            let mut begin = 0;
            for part in parts {
                let mut own = Vec::new();
                add_seams(program, *part, axis, left, known, &mut own);
                seams.extend(own.iter().map(|at| at + begin));
                if axis == *along {
                    begin += program.tensor(*part).shape[axis];
                }
            }
        }
        Made::Moved { from, map } => {
            let last = map.layers().last().and_then(|layer| layer.axes()).unwrap_or_default();
            let size = map.out_shape()[axis];
            for (source, read) in last.iter().enumerate().filter(|(_, read)| read.axis() == axis) {
                let pieces = match read {
                    AxisMap::Segments { pieces, .. } => pieces.clone(),
                    AxisMap::Affine { line, .. } => [Piece { end: size, line: *line }].into(),
                    AxisMap::Ragged { .. } => continue,
                };
                let mut inner = Vec::new();
                if map.layers().len() == 1 {
                    add_seams(program, *from, source, left, known, &mut inner);
                }
                seams_of_pieces(&pieces, &inner, seams);
            }
        }
    }
}

/// Adds where one piece ends and the next begins, and where they read across one of the `inner` seams of what they read.
fn seams_of_pieces(pieces: &[Piece], inner: &[usize], seams: &mut Vec<usize>) {
    let mut begin = 0;
    for Piece { end, line } in pieces {
        let within = begin + 1..*end;
        let at = |seam: &usize| match line.step {
            1 => seam.cast_signed() - line.start,
            -1 => line.start - seam.cast_signed() + 1,
            _ => 0,
        };
        let across = inner.iter().map(at).filter_map(|at| usize::try_from(at).ok());
        seams.extend(across.filter(|at| within.contains(at)));
        seams.extend((begin > 0).then_some(begin));
        begin = *end;
    }
}

fn longest(seams: &[usize]) -> Range<usize> {
    let stretches = seams.windows(2).map(|ends| ends[0]..ends[1]);
    stretches.max_by_key(Range::len).unwrap_or(0..0)
}

/// An axis that is cut.
struct Axis<'a> {
    /// Where it is cut in any case, between its ends.
    seams: Vec<usize>,
    step: usize,
    /// Where it is cut rather than elsewhere, rising.
    edges: &'a [usize],
}

/// The cuts of an axis into steps, and at its seams unless a step is all of the axis.
fn cut(axis: &Axis<'_>) -> Vec<usize> {
    let Axis { seams, step, edges } = axis;
    let (begin, end) = (seams[0], seams[seams.len() - 1]);
    let mut cuts = vec![begin];
    if *step < end - begin {
        for stretch in seams.windows(2) {
            let mut at = stretch[0];
            while at < stretch[1] {
                let most = stretch[1].min(at + step);
                let edge = edges[..edges.partition_point(|edge| *edge <= most)].last();
                at = edge.copied().filter(|edge| *edge > at).unwrap_or(most);
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
fn cuts<'a>(axes: impl Iterator<Item = Axis<'a>>, budget: Budget) -> Option<Vec<Vec<usize>>> {
    let mut boxes = 1usize;
    axes.map(|axis| {
        let Axis { seams, step, .. } = &axis;
        let along = match *step < seams[seams.len() - 1] - seams[0] {
            true => seams.windows(2).map(|ends| (ends[1] - ends[0]).div_ceil(*step.max(&1))).sum(),
            false => 1,
        };
        let fits =
            |count: usize| boxes.checked_mul(count).filter(|all| *all <= budget.most_tiles());
        fits(along)?;
        // At the edges of chunks there may be more.
        let cuts = cut(&axis);
        boxes = fits(cuts.len() - 1)?;
        Some(cuts)
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
fn fitting(program: &Program, boxes: Vec<Bounds>, budget: Budget) -> Option<Vec<Tile>> {
    let mut tiles = Vec::with_capacity(boxes.len());
    let (mut stack, mut reads) = (boxes, 0);
    stack.reverse();
    while let Some(out) = stack.pop() {
        if elements(&out) == 0 {
            continue;
        }
        let tile = Tile::of(program, out.clone());
        match tile {
            Some(tile) if budget.holds(&tile) => {
                reads += tile.sources.len();
                tiles.push(tile);
            }
            _ => {
                let [first, second] = halves(program, &out)?;
                stack.extend([second, first]);
            }
        }
        if tiles.len().max(reads) + stack.len() > budget.most_tiles() {
            return None;
        }
    }
    Some(tiles)
}

/// The box cut in two along the axis where the halves read the least; `None` for one element.
fn halves(program: &Program, out: &[Range<usize>]) -> Option<[Bounds; 2]> {
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
            Tile::of(program, half.clone()).map_or(usize::MAX, |tile| tile.source_elements())
        };
        each(&halves[0]).saturating_add(each(&halves[1]))
    };
    // Where no half reads a box, the axis of which a single index does is cut.
    let is_ragged = |axis: usize| {
        let mut slab = out.to_vec();
        slab[axis] = slab[axis].start..slab[axis].start + 1;
        Tile::of(program, slab).is_none()
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
    use trundle::ops::{Flip, Roll, Transpose};
    use trundle::{Chain, Shape, Width};
    use trundle_formats::Order;

    use super::*;
    use crate::plan::movement::{Arrangement, Movement};

    /// The only pass of a movement.
    fn pass(movement: &Movement) -> Program {
        assert_eq!(movement.passes.len(), 1);
        movement.passes[0].program.clone()
    }

    fn program(chain: &str, sizes: &[usize]) -> Program {
        let chain: Chain = chain.parse().unwrap_or_else(|error| panic!("{error}"));
        let (shape, order) = (Shape::new(sizes).unwrap(), Order::RowMajor);
        pass(&Movement::of_chain(&chain, Width::Bytes(4), &shape, order, order).unwrap())
    }

    /// Where the inputs of a program are.
    fn locations(program: &Program) -> Vec<Location> {
        let given = program.tensors().iter().filter(|each| matches!(each.made, Made::Given(_)));
        given.map(|tensor| Location::RowMajor { sizes: tensor.shape.to_vec() }).collect()
    }

    fn tiles_of(program: &Program, budget: Budget) -> Option<Vec<Tile>> {
        let from = locations(program);
        let from: Vec<&Location> = from.iter().collect();
        let sources = Sources { from: &from, chunk_axes: &vec![0; from.len()], edges: &[] };
        tiles(program, sources, budget, &Storage::SSD)
    }

    const ROOM: Budget = Budget { unit: 4, bytes: 64 << 20 };

    /// Every element of the output is in one tile, and every tile fits.
    fn check(program: &Program, tiles: &[Tile], budget: Budget) {
        let total: usize = tiles.iter().map(|tile| elements(&tile.out)).sum();
        assert_eq!(total, out_sizes(program).iter().product::<usize>());
        assert!(tiles.iter().all(|tile| budget.holds(tile)));
        for (index, tile) in tiles.iter().enumerate() {
            let meets =
                |other: &Tile| crate::plan::location::common(&tile.out, &other.out).is_some();
            assert!(!tiles[index + 1..].iter().any(meets), "{tile:?} has a part in common");
            assert_eq!(Tile::of(program, tile.out.clone()).as_ref(), Some(tile));
        }
    }

    fn most_runs(program: &Program, tiles: &[Tile]) -> (usize, usize) {
        let from = locations(program);
        let from: Vec<&Location> = from.iter().collect();
        let to = Location::RowMajor { sizes: out_sizes(program).to_vec() };
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
            let program = program(chain, sizes);
            let tiles = tiles_of(&program, ROOM).unwrap();
            check(&program, &tiles, ROOM);
            assert_eq!(most_runs(&program, &tiles), (1, 1), "{chain}: {:?}", &tiles[..2]);
        }
    }

    #[test]
    fn a_transpose_has_square_tiles() {
        let program = program("a b -> b a", &[20000, 30000]);
        let tiles = tiles_of(&program, ROOM).unwrap();
        check(&program, &tiles, ROOM);
        let (read, written) = most_runs(&program, &tiles);
        assert!(
            (1000..=4096).contains(&read) && (1000..=4096).contains(&written),
            "{read} {written}"
        );
    }

    #[test]
    fn bands_of_a_transpose_read_cells() {
        let program = program("roll(shift=[7], axes=[1]) | a b -> b a", &[2000, 30000]);
        let budget = Budget { unit: 4, bytes: 16 << 20 };
        let tiles = bands(&program, budget).unwrap();
        check(&program, &tiles, budget);
        assert_eq!(most_runs(&program, &tiles).1, 1);
        let (chunks, around) = chunks(&tiles).unwrap();
        assert_eq!(around, [0..2000, 0..30000]);
        let place = Location::Chunks(chunks);
        for tile in &tiles {
            assert_eq!(place.runs(&tile.sources[0].1).count(), 1);
        }
    }

    #[test]
    fn edges_are_where_other_chunks_are_read() {
        let (sizes, chunk) = ([10, 7, 12], [4, 3, 5]);
        let chain = "roll(shift=[3, 2], axes=[0, 2]) | flip(axes=1) | transpose(2, 0, 1)";
        let chain: Chain = chain.parse().unwrap();
        let shape = Shape::new(sizes).unwrap();
        let movement = Movement::of_chain(
            &chain,
            Width::Bytes(1),
            &shape,
            Arrangement::InChunks(&chunk),
            Order::RowMajor,
        );
        let Movement { program, in_chunks, .. } = movement.unwrap();
        let found = edges(&program, &in_chunks);
        // Axis by axis: from which chunk the source of each index is.
        let sources = [
            (2, (0..12).map(|i| (i + 12 - 2) % 12).collect::<Vec<_>>()),
            (0, (0..10).map(|i| (i + 10 - 3) % 10).collect()),
            (1, (0..7).rev().collect()),
        ];
        for (axis, (source, read)) in sources.iter().enumerate() {
            let of_chunk = |i: usize| read[i] / chunk[*source];
            let jumps =
                |i: &usize| of_chunk(i - 1) != of_chunk(*i) || read[i - 1].abs_diff(read[*i]) != 1;
            let expected: Vec<usize> = std::iter::once(0)
                .chain((1..read.len()).filter(jumps))
                .chain([read.len()])
                .collect();
            assert_eq!(found[axis], expected, "axis {axis}");
        }
    }

    #[test]
    fn sources_that_overlap_are_no_cells() {
        let program =
            program("reverse(axis=1, batch_axis=0, lengths=[100, 90, 80]) | a b -> b a", &[3, 100]);
        let tiles = bands(&program, Budget { unit: 1, bytes: 330 }).unwrap();
        assert!(chunks(&tiles).is_none());
    }

    #[test]
    fn a_room_for_less_than_an_element_has_no_tiles() {
        let program = program("a b -> b a", &[3, 4]);
        assert!(tiles_of(&program, Budget { unit: 8, bytes: 15 }).is_none());
        let one = tiles_of(&program, Budget { unit: 8, bytes: 16 }).unwrap();
        check(&program, &one, Budget { unit: 8, bytes: 16 });
        assert_eq!(one.len(), 12);
    }

    /// Two matrices above each other, the lower one rolled along its rows and columns, all transposed.
    fn joined(rows: [usize; 2], columns: usize) -> Program {
        let mut program = Program::new();
        let given = |rows, program: &mut Program| {
            program.given(Shape::new([rows, columns]).unwrap(), 4).unwrap()
        };
        let above = given(rows[0], &mut program);
        let below = given(rows[1], &mut program);
        let flipped = program.moved_by(above, Flip::new(&[1])).unwrap();
        let rolled = program.moved_by(below, Roll::new(&[100, 30], &[0, 1])).unwrap();
        let both = program.joined(0, &[flipped, rolled]).unwrap();
        let turned = program.moved_by(both, Transpose::new(&[1, 0])).unwrap();
        program.output(turned).unwrap();
        pass(&Movement::of_tensor(&program, turned, &[]).unwrap())
    }

    #[test]
    fn tiles_of_a_join_read_of_each_part_what_they_need() {
        let program = joined([3000, 5000], 7000);
        // Where the part below jumps along its rows and its columns; not where it begins.
        assert_eq!(all_seams(&program), [vec![0, 30, 7000], vec![0, 3100, 8000]]);
        let tiles = tiles_of(&program, ROOM).unwrap();
        check(&program, &tiles, ROOM);
        let read: usize = tiles.iter().map(Tile::source_elements).sum();
        assert_eq!(read, 8000 * 7000, "nothing is read that a tile does not need");
        let both = tiles.iter().filter(|tile| tile.sources.len() == 2).count();
        assert!(both > 0 && both < tiles.len(), "{both} of {}", tiles.len());
        assert_eq!(most_runs(&program, &tiles[..1]).1, 30);
    }

    #[test]
    fn a_seam_is_where_pieces_end_or_read_across_one() {
        let seams = |pieces: &[(usize, isize, isize)], inner: &[usize]| {
            let line = |(end, start, step): &(usize, isize, isize)| Piece {
                end: *end,
                line: trundle_core::Line { start: *start, step: *step },
            };
            let pieces: Vec<Piece> = pieces.iter().map(line).collect();
            let mut seams = Vec::new();
            seams_of_pieces(&pieces, inner, &mut seams);
            seams
        };
        // 0 1 2 | 3 4 5 from the start, from 2 on, backwards, and every other one.
        assert_eq!(seams(&[(6, 0, 1)], &[3]), [3]);
        assert_eq!(seams(&[(4, 2, 1)], &[3]), [1]);
        assert_eq!(seams(&[(6, 5, -1)], &[2]), [4]);
        assert!(seams(&[(3, 0, 2)], &[3]).is_empty());
        // 4 5 | 0 1 2 | 3: two pieces.
        assert_eq!(seams(&[(2, 4, 1), (6, -2, 1)], &[3]), [5, 2]);
    }
}
