//! How one tensor gets from file to file: at once, or in passes of tiles.
//!
//! Two passes are one pass with a file in another order: between them the elements are in chunks, one for
//! each band of the output. The first pass moves nothing but that; the second is the movement itself,
//! from chunks that are each one run. Every file is row-major here: a column-major one is a movement that
//! begins, or ends, with all axes inverted. Where that leaves every element where it stands, it is copied
//! and the header says so.

use std::ops::Range;

use trundle::lowering::Pass;
use trundle::ops::Transpose;
use trundle::{Chain, IndexMap, Op, Plan, Shape, Width};
use trundle_formats::Order;

use crate::Storage;
use crate::error::{Error, Problem};
use crate::plan::location::{Location, elements, unit};
use crate::plan::tiling::{self, Budget, SPAN_BYTES, Tile, bands, bands_in_place, chunks, tiles};

/// A tensor's movement between files, in which both are contiguous and row-major: a column-major
/// file is one whose axes are inverted first, or last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Movement {
    /// The maps of one operator after another, from the shape in the source file to that in the
    /// output.
    pub(crate) steps: Vec<IndexMap>,
    /// The steps, as few passes as they compose to.
    passes: Vec<Pass>,
    pub(crate) width: Width,
}

trundle::fingerprint!(struct Movement { steps, passes, width });

/// How it is moved.
#[derive(Debug)]
pub(crate) enum IoPlan {
    /// All of it is read, moved in memory and written.
    Whole,
    /// Tile by tile.
    Tiled(Vec<FilePass>),
}

trundle::fingerprint!(enum IoPlan { "whole" Whole, "tiled" Tiled(passes) });

/// A pass over files.
#[derive(Clone, Debug)]
pub(crate) struct FilePass {
    /// Which steps of the movement it does; none if it only puts elements where the next pass finds
    /// them.
    pub(crate) steps: Range<usize>,
    /// From the output of the pass to its source, without reshapes at either end.
    pub(crate) map: IndexMap,
    pub(crate) from: Location,
    pub(crate) to: Location,
    pub(crate) tiles: Vec<Tile>,
    /// What it asks of the disk.
    pub(crate) traffic: Traffic,
}

trundle::fingerprint!(struct FilePass { steps, map, from, to, tiles } except { traffic });

/// What an I/O plan asks of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

/// What a movement may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources<'a> {
    /// The bytes of all buffers together.
    pub(crate) budget: usize,
    pub(crate) storage: &'a Storage,
}

/// The share of the memory, as its inverse, for the lists of tiles and for the plans of spans.
const LISTS_SHARE: usize = 16;

/// Tiles may have so many spans in little memory too.
const LEAST_SPANS: usize = 256;

/// Two passes have to be so many times as quick as one, since they take twice the bytes and the
/// space for a temporary file, which is certain, while how quick they are is not.
const MARGIN: f64 = 1.25;

/// A tensor of fewer bytes is read whole.
const SMALL_BYTES: usize = 32 << 20;

impl Movement {
    /// The movement of `chain`, from a tensor of `shape` in one order to one in the other.
    pub(crate) fn new(
        chain: &Chain,
        width: Width,
        shape: &Shape,
        from: Order,
        to: Order,
    ) -> Result<Movement, trundle::PlanError> {
        let mut steps = Vec::new();
        let inverted = |shape: &Shape| Op::from(Transpose::new(&[])).index_map(shape);
        if from == Order::ColumnMajor {
            let sizes: Vec<usize> = shape.iter().rev().copied().collect();
            steps.push(inverted(&Shape::new(sizes)?)?);
        }
        steps.extend(chain.steps(shape)?);
        if to == Order::ColumnMajor {
            let out = steps.last().map_or(shape, IndexMap::out_shape).clone();
            steps.push(inverted(&out)?);
        }
        if steps.is_empty() {
            steps.push(IndexMap::identity(shape));
        }
        let passes = IndexMap::fuse(steps.iter().cloned())?;
        Ok(Movement { steps, passes, width })
    }

    pub(crate) fn in_shape(&self) -> &Shape {
        self.steps[0].in_shape()
    }

    pub(crate) fn out_shape(&self) -> &Shape {
        self.steps[self.steps.len() - 1].out_shape()
    }

    /// Whether every element stays where it is in the file.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(&self.passes[..], [only] if stripped(&only.map).is_identity())
    }

    /// The bytes that the tensor fills in the source file, and in the output.
    pub(crate) fn file_bytes_of_ends(&self) -> (u64, u64) {
        (self.file_bytes(self.in_shape()), self.file_bytes(self.out_shape()))
    }

    fn file_bytes(&self, shape: &Shape) -> u64 {
        self.width.bytes(shape.elements().saturating_mul(self.width.units())) as u64
    }

    /// The best I/O plan that the resources allow.
    ///
    /// # Errors
    /// [`Problem::Memory`] if none does.
    pub(crate) fn io_plan(&self, resources: Resources<'_>) -> Result<IoPlan, Error> {
        let (read, written) = self.file_bytes_of_ends();
        if written == 0 {
            return Ok(IoPlan::Tiled(Vec::new()));
        }
        let both = read.saturating_add(written);
        let is_small = both <= SMALL_BYTES as u64;
        let fits = |bytes: u64| bytes <= resources.budget as u64;
        let fits_whole = fits(self.whole_bytes());
        if is_small && fits_whole {
            return Ok(IoPlan::Whole);
        }
        let tiled = self.tiled(resources);
        if fits_whole && !is_small {
            // What is moved in tiles is read while others are written.
            let whole = 1.1 * resources.storage.seconds(both, 2);
            let is_better = tiled.as_ref().is_none_or(|passes| {
                passes.iter().map(|pass| pass.seconds(resources.storage)).sum::<f64>() > whole
            });
            if is_better {
                return Ok(IoPlan::Whole);
            }
        }
        tiled.map(IoPlan::Tiled).ok_or_else(|| {
            let (needed, limit) = (self.least_bytes(resources), resources.budget as u64);
            Error::from(Problem::Memory { needed, limit })
        })
    }

    /// About the bytes that would be enough where the resources are not.
    fn least_bytes(&self, resources: Resources<'_>) -> u64 {
        let whole = self.whole_bytes();
        // Planning more to find out would itself take more than the resources.
        let most = resources.budget.saturating_mul(4).max(64);
        let mut budget = resources.budget;
        while let Some(more) = budget.checked_add(1).and_then(usize::checked_next_power_of_two)
            && more <= most
            && (more as u64) < whole
        {
            if self.tiled(Resources { budget: more, ..resources }).is_some() {
                return more as u64;
            }
            budget = more;
        }
        whole.min(tiling::least_bytes(whole).max(budget as u64))
    }

    /// The bytes of memory for all of it at once: both ends, and what is between passes, as
    /// [`Plan::scratch_bytes`] counts it.
    pub(crate) fn whole_bytes(&self) -> u64 {
        let (read, written) = self.file_bytes_of_ends();
        let between = &self.passes[..self.passes.len() - 1];
        let largest = between.iter().map(|pass| self.file_bytes(pass.map.out_shape())).max();
        let scratch = largest.unwrap_or(0).saturating_mul(between.len().min(2) as u64);
        read.saturating_add(written).saturating_add(scratch)
    }

    /// How many times its elements go through memory if they are there at once.
    pub(crate) fn whole_passes(&self) -> usize {
        self.passes.len()
    }

    /// The plan for all of it at once; it holds what lies between passes.
    pub(crate) fn plan(&self, threads: Option<usize>) -> Result<Plan, Error> {
        let layout = |shape: &Shape| trundle::Layout::row_major(shape, self.width.units());
        let (src, dst) = (layout(self.in_shape())?, layout(self.out_shape())?);
        Ok(Plan::of_passes(self.passes.clone(), self.width, &src, &dst, threads)?)
    }

    fn tiled(&self, resources: Resources<'_>) -> Option<Vec<FilePass>> {
        let budget = Budget {
            unit: unit(self.width),
            bytes: resources.budget - resources.budget / LISTS_SHARE,
        };
        let mut passes = Vec::new();
        for pass in &self.passes {
            passes.extend(tiled_pass(pass, self.width, budget, resources.storage)?);
        }
        Some(passes)
    }
}

/// A map between contiguous tensors without the reshapes at its ends, which move nothing.
fn stripped(map: &IndexMap) -> IndexMap {
    let map = map.without_source_reshape().unwrap_or_else(|| map.clone());
    map.without_output_reshape().unwrap_or(map)
}

/// One pass over files for `pass`, or two with a file between them if those take clearly less time.
fn tiled_pass(
    pass: &Pass,
    width: Width,
    budget: Budget,
    storage: &Storage,
) -> Option<Vec<FilePass>> {
    let map = stripped(&pass.map);
    let contiguous = |shape: &Shape| Location::RowMajor { sizes: shape.to_vec() };
    let (from, to) = (contiguous(map.in_shape()), contiguous(map.out_shape()));
    // Where tiles do not grow, bands are at least few enough.
    let one = tiles(&map, budget, storage).or_else(|| bands(&map, budget)).map(|tiles| {
        let (map, steps) = (map.clone(), pass.stages.clone());
        vec![FilePass::new(steps, map, (from.clone(), to.clone()), tiles, width)]
    });
    let two = two_passes(pass, &map, (from, to), budget, width);
    quicker(one, two, storage)
}

/// One pass, or two if they are quicker by a [`MARGIN`].
fn quicker(
    one: Option<Vec<FilePass>>,
    two: Option<Vec<FilePass>>,
    storage: &Storage,
) -> Option<Vec<FilePass>> {
    let seconds =
        |passes: &[FilePass]| -> f64 { passes.iter().map(|pass| pass.seconds(storage)).sum() };
    match (one, two) {
        (Some(one), Some(two)) if seconds(&one) > MARGIN * seconds(&two) => Some(two),
        (Some(one), _) => Some(one),
        (None, two) => two,
    }
}

/// Two passes: the first one puts the elements of each band of the output next to each other.
fn two_passes(
    pass: &Pass,
    map: &IndexMap,
    (from, to): (Location, Location),
    budget: Budget,
    width: Width,
) -> Option<Vec<FilePass>> {
    // Half of the budget, so that a band is moved while others are read and written.
    let budget = Budget { bytes: budget.bytes / 2, ..budget };
    let second = bands(map, budget)?;
    let (chunks, around) = chunks(&second)?;
    // Each tile of the first pass could have a span of each chunk.
    let most = (budget.bytes / LISTS_SHARE / SPAN_BYTES).max(LEAST_SPANS);
    if chunks.count() > most {
        return None;
    }
    let first = bands_in_place(&around, budget)?;
    let intermediate = Location::Chunks(chunks);
    let begin = pass.stages.start;
    let identity = IndexMap::identity(map.in_shape());
    let ends = ((from, intermediate.clone()), (intermediate, to));
    Some(vec![
        FilePass::new(begin..begin, identity, ends.0, first, width),
        FilePass::new(pass.stages.clone(), map.clone(), ends.1, second, width),
    ])
}

impl FilePass {
    fn new(
        steps: Range<usize>,
        map: IndexMap,
        (from, to): (Location, Location),
        tiles: Vec<Tile>,
        width: Width,
    ) -> FilePass {
        let bytes = |elements: usize| width.bytes(elements.saturating_mul(width.units())) as u64;
        let traffic = tiles.iter().fold(Traffic::default(), |sum, tile| {
            let (reads, writes) = tile.runs(&from, &to);
            Traffic {
                bytes_read: sum.bytes_read + bytes(elements(&tile.source)),
                bytes_written: sum.bytes_written + bytes(elements(&tile.out)),
                reads: sum.reads + reads as u64,
                writes: sum.writes + writes as u64,
            }
        });
        FilePass { steps, map, from, to, tiles, traffic }
    }

    /// The seconds that it takes.
    pub(crate) fn seconds(&self, storage: &Storage) -> f64 {
        let Traffic { bytes_read, bytes_written, reads, writes } = self.traffic;
        storage.seconds(bytes_read + bytes_written, reads + writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many passes a transposition of 64 MiB of bytes in 2 MiB takes, and how many seconds.
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn taken(request_seconds: f64) -> (usize, f64) {
        let storage = Storage { bytes_per_second: 1e9, request_seconds, in_flight: 8 };
        let chain: Chain = "a b -> b a".parse().unwrap_or_else(|error| panic!("{error}"));
        let shape = Shape::new([8192, 8192]).unwrap();
        let (from, to) = (Order::RowMajor, Order::RowMajor);
        let movement = Movement::new(&chain, Width::Bytes(1), &shape, from, to).unwrap();
        let io_plan = movement.io_plan(Resources { budget: 2 << 20, storage: &storage }).unwrap();
        let IoPlan::Tiled(passes) = io_plan else { panic!("it does not fit") };
        (passes.len(), passes.iter().map(|pass| pass.seconds(&storage)).sum())
    }

    #[test]
    fn two_passes_are_taken_only_by_a_margin() {
        let (mut one, mut two) = (1e-9, 1e-2);
        assert_eq!((taken(one).0, taken(two).0), (1, 2));
        // Where the choice changes, by halving.
        for _ in 0..20 {
            let between = f64::sqrt(one * two);
            match taken(between).0 {
                1 => one = between,
                _ => two = between,
            }
        }
        let ((before, slow), (behind, quick)) = (taken(one), taken(two));
        assert_eq!((before, behind), (1, 2));
        assert!((slow / quick - MARGIN).abs() < 0.01, "{slow} s against {quick} s");
        // Clear of that, it does not change any more.
        for times in [2.0, 4.0, 16.0] {
            assert_eq!((taken(one / times).0, taken(two * times).0), (1, 2), "{times}");
        }
    }
}
