//! Cuts the output of a pass into boxes, called tiles. A seam is an index at which the position in a source jumps.

use std::ops::Range;

use trundle::lowering::{Backend, Device};
use trundle_core::program::Program;

use crate::plan::growth::Growth;
use crate::plan::location::{Bounds, Location, boxes, elements};
use crate::plan::seams::{all_seams, out_sizes};
use crate::plan::storage::Rates;

/// A box of a pass's output, with the boxes of the inputs that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) out: Bounds,
    /// The index and the box of each input that is read.
    pub(crate) sources: Vec<(usize, Bounds)>,
}

trundle::internal::fingerprint!(struct Tile { out, sources });

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) unit: usize,
    /// The maximum size in bytes of a tile: its sources, its output and the plans of its spans.
    pub(crate) bytes: usize,
}

/// The memory for a tile that reads one input: its entry in the list of tiles, and its task.
const TILE_BYTES: usize = 256;

/// The maximum memory for the plan and the I/O requests of a span: the part of a tile in one chunk of the output.
pub(crate) const SPAN_BYTES: usize = 4 << 10;

/// The number of spans of a tile that do not count against the budget.
pub(crate) const LEAST_SPANS: usize = 256;

/// The list of tiles gets the fraction 1 / `LISTS_SHARE` of the budget.
const LISTS_SHARE: usize = 32;

/// This many tiles are allowed even if the budget is too small for their list.
const LEAST_TILES: usize = 1 << 14;

/// Returns the smallest budget whose share for the list of tiles is enough for a pass that reads and writes `bytes` in
/// all. A smaller budget makes the tiles smaller and the list longer.
pub(crate) fn least_bytes(bytes: u64) -> u64 {
    ((bytes as f64) * (LISTS_SHARE * TILE_BYTES) as f64).sqrt() as u64
}

impl Budget {
    /// Returns the largest number of elements in a tile's output, if its sources together have the same number.
    fn elements(self) -> usize {
        self.bytes / 2 / self.unit.max(1)
    }

    pub(crate) fn most_tiles(self) -> usize {
        (self.bytes / LISTS_SHARE / TILE_BYTES).max(LEAST_TILES)
    }

    /// Returns whether the budget is enough for the elements of a tile and for the plans of its spans in `to`.
    pub(crate) fn holds(self, tile: &Tile, to: &Location) -> bool {
        let plans = tile.count_plans(to).saturating_sub(LEAST_SPANS).saturating_mul(SPAN_BYTES);
        tile.elements().saturating_mul(self.unit).saturating_add(plans) <= self.bytes
    }
}

impl Tile {
    /// Makes the tile for the box `out` of the output. Returns `None` if its sources are not boxes, see
    /// [`Program::source_bounds`].
    pub(crate) fn of(program: &Program, out: Bounds) -> Option<Tile> {
        let sources = program
            .source_bounds(program.outputs()[0], &out, &Device::default().budget())
            .ok()??;
        let sources = sources.into_iter().enumerate();
        let read = sources.filter_map(|(input, source)| Some((input, source?)));
        Some(Tile { sources: read.filter(|(_, source)| elements(source) > 0).collect(), out })
    }

    /// Returns the number of elements of the output and of all sources.
    pub(crate) fn elements(&self) -> usize {
        elements(&self.out).saturating_add(self.source_elements())
    }

    pub(crate) fn source_elements(&self) -> usize {
        let read = self.sources.iter().map(|(_, source)| elements(source));
        read.fold(0, usize::saturating_add)
    }

    /// Returns the number of elements that are read. Chunks count as a whole, even if the tile needs only a part.
    pub(crate) fn covered(&self, from: &[&Location]) -> usize {
        let covered = self.sources.iter().map(|(input, source)| from[*input].covered(source));
        covered.fold(0, usize::saturating_add)
    }

    pub(crate) fn decoding(&self, from: &[&Location]) -> u64 {
        let decoding = self.sources.iter().map(|(input, source)| from[*input].decoding(source));
        decoding.fold(0, u64::saturating_add)
    }

    /// Returns the number of plans of the tile: one for each pair of a written chunk and a source.
    pub(crate) fn count_plans(&self, to: &Location) -> usize {
        to.count_spans(&self.out).saturating_mul(self.sources.len().max(1))
    }

    /// Returns the number of read and of written runs, assuming that all spans are like the first.
    pub(crate) fn runs(&self, from: &[&Location], to: &Location) -> (usize, usize) {
        let of_one = |span: &Bounds| to.count_spans(&self.out) * to.runs(span).count();
        let written = to.first_span(&self.out).as_ref().map_or(0, of_one);
        let read = self.sources.iter().map(|(input, source)| from[*input].runs(source).count());
        (read.sum(), written)
    }
}

/// Cuts the output into tiles of about the size that [`Growth`] finds. Cuts are made at seams, and preferably at the
/// indices in `edges`, which has a list for each axis of the output. Returns `None` if no tiles fit the budget.
pub(crate) fn tiles(
    program: &Program,
    (from, to): (&[&Location], &Location),
    edges: &[Vec<usize>],
    budget: Budget,
    rates: &Rates,
) -> Option<Vec<Tile>> {
    let seams = all_seams(program);
    let edges_of = |axis: usize| edges_of(edges, axis);
    let steps = Growth::new(program, (from, to), &seams, edges_of, budget, rates).grown()?;
    let axes = seams.into_iter().zip(steps).enumerate();
    let axes = axes.map(|(axis, (seams, step))| Axis { seams, step, edges: edges_of(axis) });
    fitting(program, cut_boxes(axes, budget)?, to, budget)
}

fn edges_of(edges: &[Vec<usize>], axis: usize) -> &[usize] {
    edges.get(axis).map_or(&[], |edges| edges)
}

/// Cuts the output into bands: boxes that would be contiguous if the output were stored row-major. Cuts are made at
/// seams, and preferably at `edges`. Returns `None` if no bands fit the budget.
pub(crate) fn bands(
    program: &Program,
    to: &Location,
    edges: &[Vec<usize>],
    budget: Budget,
) -> Option<Vec<Tile>> {
    let whole: Bounds = out_sizes(program).iter().map(|size| 0..*size).collect();
    let steps = band_steps(&whole, budget.elements())?;
    let axes = all_seams(program).into_iter().zip(steps).enumerate();
    let axes = axes.map(|(axis, (seams, step))| Axis { seams, step, edges: edges_of(edges, axis) });
    fitting(program, cut_boxes(axes, budget)?, to, budget)
}

/// Cuts a box into bands for a pass that does not reorder elements: the source of each band is the same box.
pub(crate) fn bands_in_place(within: &[Range<usize>], budget: Budget) -> Option<Vec<Tile>> {
    let steps = band_steps(within, budget.elements())?;
    let axes = within.iter().map(|range| vec![range.start, range.end]).zip(steps);
    let axes = axes.map(|(seams, step)| Axis { seams, step, edges: &[] });
    let boxes = cut_boxes(axes, budget)?;
    Some(boxes.into_iter().map(|out| Tile { sources: vec![(0, out.clone())], out }).collect())
}

/// Returns the sources of single-input tiles as the chunks of a location, and the box around them. `None` if two
/// sources overlap along an axis but are not equal there.
pub(crate) fn chunks(tiles: &[Tile]) -> Option<(Location, Bounds)> {
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
    Some((Location::chunks(cuts), around))
}

struct Axis<'a> {
    /// The mandatory cuts, including both ends.
    seams: Vec<usize>,
    step: usize,
    /// The preferred cuts, in ascending order.
    edges: &'a [usize],
}

/// Returns the cuts of an axis: at its seams, and where a part would be longer than `step`. An axis of at most `step`
/// indices has no cuts, even if it has seams.
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

/// Returns the sizes of a band of at most `most` elements: 1 along outer axes, part of one axis, and all of the axes
/// after it.
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

fn cut_boxes<'a>(axes: impl Iterator<Item = Axis<'a>>, budget: Budget) -> Option<Vec<Bounds>> {
    let mut count = 1usize;
    let cuts = axes.map(|axis| {
        let Axis { seams, step, .. } = &axis;
        let along = match *step < seams[seams.len() - 1] - seams[0] {
            true => seams.windows(2).map(|ends| (ends[1] - ends[0]).div_ceil(*step.max(&1))).sum(),
            false => 1,
        };
        let fits = |more: usize| count.checked_mul(more).filter(|all| *all <= budget.most_tiles());
        fits(along)?;
        // Preferred cuts can add boxes, so count again.
        let cuts = cut(&axis);
        count = fits(cuts.len() - 1)?;
        Some(cuts)
    });
    let cuts = cuts.collect::<Option<Vec<Vec<usize>>>>()?;
    Some(boxes(cuts.iter().map(|cuts| cuts.windows(2).map(|ends| ends[0]..ends[1]))))
}

/// Makes a tile of each box, and halves boxes until their tiles fit the budget.
fn fitting(
    program: &Program,
    boxes: Vec<Bounds>,
    to: &Location,
    budget: Budget,
) -> Option<Vec<Tile>> {
    let mut tiles = Vec::with_capacity(boxes.len());
    let (mut stack, mut reads) = (boxes, 0);
    stack.reverse();
    while let Some(out) = stack.pop() {
        if elements(&out) == 0 {
            continue;
        }
        let tile = Tile::of(program, out.clone());
        match tile {
            Some(tile) if budget.holds(&tile, to) => {
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

/// Halves a box along the axis for which the halves read the fewest elements. Returns `None` for a single element.
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
    // If the sources of some half are not boxes for every cut, prefer an axis on which the sources of a single index
    // are boxes.
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
    use trundle_core::program::Made;
    use trundle_formats::Order;

    use super::*;
    use crate::Storage;
    use crate::plan::movement::Movement;

    fn pass(movement: &Movement) -> Program {
        assert_eq!(movement.passes.len(), 1);
        Program::clone(&movement.passes[0].program)
    }

    fn program(chain: &str, sizes: &[usize]) -> Program {
        let chain: Chain = chain.parse().unwrap_or_else(|error| panic!("{error}"));
        let (shape, order) = (Shape::new(sizes).unwrap(), Order::RowMajor);
        pass(&Movement::of_one(&chain, Width::Bytes(4), &shape, order, order).unwrap())
    }

    fn locations(program: &Program) -> Vec<Location> {
        let given = program.tensors().iter().filter(|each| matches!(each.made, Made::Given(_)));
        given.map(|tensor| Location::row_major(&tensor.shape)).collect()
    }

    fn tiles_of(program: &Program, budget: Budget) -> Option<Vec<Tile>> {
        let from = locations(program);
        let from: Vec<&Location> = from.iter().collect();
        let to = Location::row_major(out_sizes(program));
        tiles(program, (&from, &to), &[], budget, &Rates { storage: Storage::SSD, coders: 1 })
    }

    const BUDGET: Budget = Budget { unit: 4, bytes: 64 << 20 };

    fn check(program: &Program, tiles: &[Tile], budget: Budget) {
        let total: usize = tiles.iter().map(|tile| elements(&tile.out)).sum();
        assert_eq!(total, out_sizes(program).iter().product::<usize>());
        assert!(
            tiles.iter().all(|tile| budget.holds(tile, &Location::row_major(out_sizes(program))))
        );
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
        let to = Location::row_major(out_sizes(program));
        let runs = tiles.iter().map(|tile| tile.runs(&from, &to));
        runs.fold((0, 0), |(read, written), (r, w)| (read.max(r), written.max(w)))
    }

    #[test]
    fn streamed_tiles_read_and_write_one_run_each() {
        for (chain, sizes) in [
            ("roll(shift=[5, -3], axes=[0, 1])", &[20000, 3000][..]),
            ("flip(axes=[0, 1])", &[20000, 3000]),
            ("n c h w -> n h w c", &[4000, 3, 64, 64]),
            ("roll(shift=[1], axes=[1])", &[16, 300, 12000]),
        ] {
            let program = program(chain, sizes);
            let tiles = tiles_of(&program, BUDGET).unwrap();
            check(&program, &tiles, BUDGET);
            assert_eq!(most_runs(&program, &tiles), (1, 1), "{chain}: {:?}", &tiles[..2]);
        }
    }

    #[test]
    fn a_transpose_has_square_tiles() {
        let program = program("a b -> b a", &[20000, 30000]);
        let tiles = tiles_of(&program, BUDGET).unwrap();
        check(&program, &tiles, BUDGET);
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
        let to = Location::row_major(out_sizes(&program));
        let tiles = bands(&program, &to, &[], budget).unwrap();
        check(&program, &tiles, budget);
        assert_eq!(most_runs(&program, &tiles).1, 1);
        let (location, around) = chunks(&tiles).unwrap();
        assert_eq!(around, [0..2000, 0..30000]);
        for tile in &tiles {
            assert_eq!(location.runs(&tile.sources[0].1).count(), 1);
        }
    }

    #[test]
    fn the_budget_limits_the_chunks_of_a_band() {
        let program = program("flip(axes=[0])", &[2048, 4]);
        let budget = Budget { unit: 1, bytes: 4 << 20 };
        let to = Location::packed(&[2048, 4], &[1, 1]);
        let tiles = bands(&program, &to, to.edges(), budget).unwrap();
        check(&program, &tiles, budget);
        let plans = tiles.iter().map(|tile| tile.count_plans(&to));
        assert!(plans.max() <= Some(LEAST_SPANS + budget.bytes / SPAN_BYTES));
    }

    #[test]
    fn overlapping_sources_do_not_form_chunks() {
        let program =
            program("reverse(axis=1, batch_axis=0, lengths=[100, 90, 80]) | a b -> b a", &[3, 100]);
        let to = Location::row_major(out_sizes(&program));
        let tiles = bands(&program, &to, &[], Budget { unit: 1, bytes: 330 }).unwrap();
        assert!(chunks(&tiles).is_none());
    }

    #[test]
    fn a_budget_below_two_elements_allows_no_tiles() {
        let program = program("a b -> b a", &[3, 4]);
        assert!(tiles_of(&program, Budget { unit: 8, bytes: 15 }).is_none());
        let one = tiles_of(&program, Budget { unit: 8, bytes: 16 }).unwrap();
        check(&program, &one, Budget { unit: 8, bytes: 16 });
        assert_eq!(one.len(), 12);
    }

    /// Two matrices joined vertically, the upper one flipped, the lower one rolled along both axes, then transposed.
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
    fn tiles_of_a_join_read_only_the_elements_they_need() {
        let program = joined([3000, 5000], 7000);
        // The seams are the jumps of the lower matrix, not the boundary between the matrices.
        assert_eq!(all_seams(&program), [vec![0, 30, 7000], vec![0, 3100, 8000]]);
        let tiles = tiles_of(&program, BUDGET).unwrap();
        check(&program, &tiles, BUDGET);
        let read: usize = tiles.iter().map(Tile::source_elements).sum();
        assert_eq!(read, 8000 * 7000, "nothing is read that a tile does not need");
        let both = tiles.iter().filter(|tile| tile.sources.len() == 2).count();
        assert!(both > 0 && both < tiles.len(), "{both} of {}", tiles.len());
        assert_eq!(most_runs(&program, &tiles[..1]).1, 30);
    }
}
