//! How one tensor gets from files to a file: at once, or in passes of tiles.
//!
//! A pass from one file may be two, with a file in another order between them: there the elements are in
//! chunks, one for each band of the output. The first pass moves nothing but that; the second is the
//! movement itself, from chunks that are each one run. Every other file is row-major here, but an output in
//! chunks: its tiles are of whole chunks as far as the memory allows. Where a movement leaves every element
//! where it stands, it is copied and the header says so.

use std::collections::BTreeMap;

use trundle::{Shape, Width};
use trundle_core::program::{Definition, Made, Program, TensorId};

use crate::error::{Error, Problem};
use crate::plan::location::{Chunks, Location, elements, file_bytes, unit};
use crate::plan::movement::{Movement, MovementPass};
use crate::plan::rates::Rates;
use crate::plan::seams::edges;
use crate::plan::tiling::{
    self, Budget, LEAST_SPANS, SPAN_BYTES, Tile, bands, bands_in_place, chunks, tiles,
};

/// How it is moved.
#[derive(Debug)]
pub(crate) enum IoPlan {
    /// All of it is read, moved in memory and written.
    Whole,
    /// Tile by tile.
    Tiled(Vec<FilePass>),
}

trundle::internal::fingerprint!(enum IoPlan { "whole" Whole, "tiled" Tiled(passes) });

/// A pass over files.
#[derive(Clone, Debug)]
pub(crate) struct FilePass {
    /// Which tensor of the movement's program it writes; none if it only puts elements where the next
    /// pass finds them.
    pub(crate) target: Option<TensorId>,
    /// What it does: its inputs are what it reads, its only output what it writes.
    pub(crate) program: Program,
    /// What each of its inputs is.
    pub(crate) reads: Vec<FileRead>,
    pub(crate) to: Location,
    pub(crate) tiles: Vec<Tile>,
    /// What it asks of the disk.
    pub(crate) traffic: Traffic,
}

trundle::internal::fingerprint!(struct FilePass { target, program, reads, to, tiles } except { traffic });

/// What a pass over files reads.
#[derive(Clone, Debug)]
pub(crate) struct FileRead {
    /// Which tensor of the movement's program it is.
    pub(crate) of: TensorId,
    pub(crate) file: ReadFrom,
    pub(crate) from: Location,
}

trundle::internal::fingerprint!(struct FileRead { of, file, from });

/// A file that a pass reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// What the movement's input of this index is in.
    Input(usize),
    /// What the pass of this index wrote.
    Pass(usize),
}

trundle::internal::fingerprint!(enum ReadFrom { "input" Input(index), "pass" Pass(index) });

/// What an I/O plan asks of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// Of the bytes that are read and written, those of chunks that wait for their other parts.
    pub(crate) waiting: u64,
    /// The picoseconds of a core in codecs that decode what is read.
    pub(crate) decoding: u64,
}

/// What a movement may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources<'a> {
    /// The bytes of all buffers together.
    pub(crate) budget: usize,
    pub(crate) rates: &'a Rates,
}

/// The share of the memory, as its inverse, for the lists of tiles and for the plans of spans.
const LISTS_SHARE: usize = 16;

/// Two passes have to be so many times as quick as one, since they take twice the bytes and the
/// space for a temporary file, which is certain, while how quick they are is not.
const MARGIN: f64 = 1.25;

/// A tensor of fewer bytes is read whole.
pub(crate) const SMALL_BYTES: usize = 32 << 20;

impl Movement {
    /// The best I/O plan that the resources allow, to a row-major file or to chunks of these sizes.
    ///
    /// # Errors
    /// [`Problem::Memory`] if none does.
    pub(crate) fn io_plan(
        &self,
        chunk: Option<&[usize]>,
        resources: Resources<'_>,
    ) -> Result<IoPlan, Error> {
        let (read, written) = self.file_bytes_of_ends();
        if written == 0 {
            return Ok(IoPlan::Tiled(Vec::new()));
        }
        let both = read.saturating_add(written);
        let is_small = both <= SMALL_BYTES as u64;
        let fits = |bytes: u64| bytes <= resources.budget as u64;
        let fits_whole = fits(self.whole_bytes()) && chunk.is_none();
        if is_small && fits_whole {
            return Ok(IoPlan::Whole);
        }
        let tiled = self.tiled(chunk, resources);
        if fits_whole && !is_small {
            // What is moved in tiles is read while others are written.
            let requests = self.inputs().len() as u64 + 1;
            let whole = 1.1 * resources.rates.seconds(both, requests, self.decoding());
            let is_better = tiled.as_ref().is_none_or(|passes| {
                passes.iter().map(|pass| pass.seconds(resources.rates)).sum::<f64>() > whole
            });
            if is_better {
                return Ok(IoPlan::Whole);
            }
        }
        tiled.map(IoPlan::Tiled).ok_or_else(|| {
            let (needed, limit) = (self.least_bytes(chunk, resources), resources.budget as u64);
            Error::from(Problem::Memory { needed, limit })
        })
    }

    /// The same in tiles also where the resources are enough for all of it.
    ///
    /// # Errors
    /// As [`Movement::io_plan`].
    pub(crate) fn tiled_plan(&self, resources: Resources<'_>) -> Result<IoPlan, Error> {
        let (needed, limit) = (self.whole_bytes(), resources.budget as u64);
        let plan = self.tiled(None, resources).map(IoPlan::Tiled);
        plan.ok_or_else(|| Error::from(Problem::Memory { needed, limit }))
    }

    /// About the bytes that would be enough where the resources are not.
    fn least_bytes(&self, chunk: Option<&[usize]>, resources: Resources<'_>) -> u64 {
        let whole = self.whole_bytes();
        // Planning more to find out would itself take more than the resources.
        let most = resources.budget.saturating_mul(4).max(64);
        let mut budget = resources.budget;
        while let Some(more) = budget.checked_add(1).and_then(usize::checked_next_power_of_two)
            && more <= most
            && (more as u64) < whole
        {
            if self.tiled(chunk, Resources { budget: more, ..resources }).is_some() {
                return more as u64;
            }
            budget = more;
        }
        whole.min(tiling::least_bytes(whole).max(budget as u64))
    }

    /// The best one in tiles, if there is one.
    fn tiled(&self, chunk: Option<&[usize]>, resources: Resources<'_>) -> Option<Vec<FilePass>> {
        let budget = Budget {
            unit: unit(self.width()),
            bytes: resources.budget - resources.budget / LISTS_SHARE,
        };
        let mut passes: Vec<FilePass> = Vec::new();
        let mut written = BTreeMap::new();
        for pass in &self.passes {
            let file_of = |id: TensorId| match self.program.tensor(id).made {
                Made::Given(input) => ReadFrom::Input(input),
                _ => ReadFrom::Pass(written[&id]),
            };
            let tiled = |program, to| {
                let tiled = TiledPass { movement: self, pass, program, at: passes.len(), budget };
                tiled.file_passes(to, &file_of, resources.rates)
            };
            let plain = tiled(&pass.program, self.location_of(pass, chunk));
            let planned = match (chunk, &pass.in_shape) {
                // Chunks of the output are boxes along its own axes.
                (Some(chunk), Some(program)) if pass.target == self.output() => {
                    let chunks = Chunks::packed(self.out_shape().sizes(), chunk);
                    let last = |mut plain: Vec<FilePass>| {
                        let before = passes.len() + plain.len() - 1;
                        let last = self.pass_into_chunks(chunk, before, budget, resources.rates)?;
                        plain.push(last);
                        Some(plain)
                    };
                    let direct = tiled(program, Location::Chunks(chunks));
                    quicker(direct, plain.and_then(last), resources.rates)
                }
                _ => plain,
            };
            passes.extend(planned?);
            written.insert(pass.target, passes.len() - 1);
        }
        Some(passes)
    }

    /// Where a pass writes to: to the chunks of the output, if it writes that with its axes.
    fn location_of(&self, pass: &MovementPass, chunk: Option<&[usize]>) -> Location {
        let sizes = pass.program.tensor(pass.program.outputs()[0]).shape.sizes();
        let is_output = pass.target == self.output() && sizes == self.out_shape().sizes();
        match chunk.filter(|_| is_output) {
            Some(chunk) => Location::Chunks(Chunks::packed(sizes, chunk)),
            None => Location::row_major(sizes),
        }
    }

    /// A last pass that only cuts what the pass before it wrote row-major into chunks.
    fn pass_into_chunks(
        &self,
        chunk: &[usize],
        before: usize,
        budget: Budget,
        rates: &Rates,
    ) -> Option<FilePass> {
        let sizes = self.out_shape().sizes();
        let kept = kept(self.out_shape(), self.width())?;
        let (from, to) =
            (Location::row_major(sizes), Location::Chunks(Chunks::packed(sizes, chunk)));
        let tiles = tiles(&kept, (&[&from], &to), to.edges(), budget, rates)
            .or_else(|| bands(&kept, &to, to.edges(), budget))?;
        let read = FileRead { of: self.output(), file: ReadFrom::Pass(before), from };
        Some(FilePass::new(self.width(), None, kept, vec![read], to, tiles))
    }
}

/// A pass of a movement that is cut into tiles.
struct TiledPass<'a> {
    movement: &'a Movement,
    pass: &'a MovementPass,
    /// What it does, to its target with the axes that are wanted.
    program: &'a Program,
    /// The index of its first pass over files.
    at: usize,
    budget: Budget,
}

impl TiledPass<'_> {
    /// One pass over files, or two with a file between them if those take clearly less time.
    fn file_passes(
        &self,
        to: Location,
        file_of: &dyn Fn(TensorId) -> ReadFrom,
        rates: &Rates,
    ) -> Option<Vec<FilePass>> {
        let program = self.program;
        let given = program.tensors().iter().filter(|tensor| matches!(tensor.made, Made::Given(_)));
        let read = |(of, given): (&TensorId, &Definition)| {
            let chunk_axes = self.chunk_axes(*of, &given.shape);
            let (sizes, decoding) = (given.shape.to_vec(), self.movement.decoding_of(*of));
            let from = Location::RowMajor { sizes, chunk_axes, decoding };
            FileRead { of: *of, file: file_of(*of), from }
        };
        let reads: Vec<FileRead> = self.pass.reads.iter().zip(given).map(read).collect();
        // Where tiles do not grow, bands are at least few enough.
        let from: Vec<&Location> = reads.iter().map(|read| &read.from).collect();
        let edges = self.edges(&to);
        let tiles = tiles(program, (&from, &to), &edges, self.budget, rates);
        let one = tiles.or_else(|| bands(program, &to, &edges, self.budget)).map(|tiles| {
            let target = Some(self.pass.target);
            vec![self.file_pass(target, program.clone(), reads.clone(), to.clone(), tiles)]
        });
        let two = match &reads[..] {
            [only] => self.two_passes(only, to),
            _ => None,
        };
        quicker(one, two, rates)
    }

    /// How many of the last axes of a tensor that the pass reads as `shape` are a chunk's: none where it is
    /// not in chunks, or is seen with other axes here.
    fn chunk_axes(&self, of: TensorId, shape: &Shape) -> usize {
        let own = self.movement.in_chunks.iter().find(|own| own.given == of);
        own.filter(|own| shape.ends_with(&own.sizes)).map_or(0, |own| own.sizes.len())
    }

    /// For each axis of the output where along it other chunks are written, or else read.
    fn edges(&self, to: &Location) -> Vec<Vec<usize>> {
        if !to.edges().is_empty() {
            return to.edges().to_vec();
        }
        let Movement { program, in_chunks, passes, .. } = self.movement;
        let own = self.program;
        let is_all = passes.len() == 1
            && own.tensor(own.outputs()[0]).shape == program.tensor(program.outputs()[0]).shape;
        if in_chunks.is_empty() || !is_all {
            return Vec::new();
        }
        edges(program, in_chunks)
    }

    /// Two passes: the first one puts the elements of each band of the output next to each other.
    fn two_passes(&self, read: &FileRead, to: Location) -> Option<Vec<FilePass>> {
        // Half of the budget, so that a band is moved while others are read and written.
        let budget = Budget { bytes: self.budget.bytes / 2, ..self.budget };
        let program = self.program;
        let second = bands(program, &to, to.edges(), budget)?;
        let (chunks, around) = chunks(&second)?;
        // Each tile of the first pass could have a span of each chunk.
        let most = (budget.bytes / LISTS_SHARE / SPAN_BYTES).max(LEAST_SPANS);
        if chunks.count() > most {
            return None;
        }
        let first = bands_in_place(&around, budget)?;
        let intermediate = Location::Chunks(chunks);
        let input = program.tensors().iter().find(|each| matches!(each.made, Made::Given(_)))?;
        let kept = kept(&input.shape, input.width)?;
        let between =
            FileRead { file: ReadFrom::Pass(self.at), from: intermediate.clone(), ..*read };
        let target = Some(self.pass.target);
        Some(vec![
            self.file_pass(None, kept, vec![read.clone()], intermediate, first),
            self.file_pass(target, program.clone(), vec![between], to, second),
        ])
    }

    fn file_pass(
        &self,
        target: Option<TensorId>,
        program: Program,
        reads: Vec<FileRead>,
        to: Location,
        tiles: Vec<Tile>,
    ) -> FilePass {
        FilePass::new(self.movement.width(), target, program, reads, to, tiles)
    }
}

impl FilePass {
    fn new(
        width: Width,
        target: Option<TensorId>,
        program: Program,
        reads: Vec<FileRead>,
        to: Location,
        tiles: Vec<Tile>,
    ) -> FilePass {
        let bytes = |elements: usize| file_bytes(width, elements) as u64;
        let from: Vec<&Location> = reads.iter().map(|read| &read.from).collect();
        let traffic = tiles.iter().fold(Traffic::default(), |sum, tile| {
            let (reads, writes) = tile.runs(&from, &to);
            let waiting = bytes(to.waiting(&tile.out));
            Traffic {
                bytes_read: sum.bytes_read + bytes(tile.covered(&from)) + waiting,
                bytes_written: sum.bytes_written + bytes(elements(&tile.out)) + waiting,
                reads: sum.reads + reads as u64,
                writes: sum.writes + writes as u64,
                waiting: sum.waiting + waiting,
                decoding: sum.decoding.saturating_add(tile.decoding(&from)),
            }
        });
        FilePass { target, program, reads, to, tiles, traffic }
    }
}

/// A program whose only tensor is moved nowhere.
fn kept(shape: &Shape, width: Width) -> Option<Program> {
    let mut kept = Program::new();
    let id = kept.given(shape.clone(), width).ok()?;
    kept.output(id).ok()?;
    Some(kept)
}

/// One pass, or two if they are quicker by a [`MARGIN`].
fn quicker(
    one: Option<Vec<FilePass>>,
    two: Option<Vec<FilePass>>,
    rates: &Rates,
) -> Option<Vec<FilePass>> {
    let seconds =
        |passes: &[FilePass]| -> f64 { passes.iter().map(|pass| pass.seconds(rates)).sum() };
    match (one, two) {
        (Some(one), Some(two)) if seconds(&one) > MARGIN * seconds(&two) => Some(two),
        (Some(one), _) => Some(one),
        (None, two) => two,
    }
}

impl FilePass {
    /// The seconds that it takes.
    pub(crate) fn seconds(&self, rates: &Rates) -> f64 {
        let Traffic { bytes_read, bytes_written, reads, writes, decoding, .. } = self.traffic;
        rates.seconds(bytes_read + bytes_written, reads + writes, decoding)
    }
}

#[cfg(test)]
mod tests {
    use trundle::{Chain, Width};
    use trundle_formats::Order;

    use super::*;
    use crate::Storage;
    use crate::plan::movement::Arrangement;

    const SSD: Rates = Rates { storage: Storage::SSD, coders: 1 };

    /// How many passes a transposition of 64 MiB of bytes in 2 MiB takes, and how many seconds.
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn taken(request_seconds: f64) -> (usize, f64) {
        let storage = Storage { bytes_per_second: 1e9, request_seconds, in_flight: 8 };
        let rates = Rates { storage, coders: 1 };
        let chain: Chain = "a b -> b a".parse().unwrap_or_else(|error| panic!("{error}"));
        let shape = Shape::new([8192, 8192]).unwrap();
        let (from, to) = (Order::RowMajor, Order::RowMajor);
        let movement = Movement::of_one(&chain, Width::Bytes(1), &shape, from, to).unwrap();
        let io_plan = movement.io_plan(None, Resources { budget: 2 << 20, rates: &rates }).unwrap();
        let IoPlan::Tiled(passes) = io_plan else { panic!("it does not fit") };
        (passes.len(), passes.iter().map(|pass| pass.seconds(&rates)).sum())
    }

    #[test]
    fn chunks_are_read_about_once_where_tiles_hold_some() {
        for (chain, sizes, chunk) in [
            ("transpose(1, 2, 0) | roll(shift=360, axes=1)", [365, 361, 720], [24, 90, 180]),
            ("roll(shift=100, axes=2) | flip(axes=[0, 1])", [365, 361, 720], [24, 90, 180]),
            ("flip(axes=0) | transpose(2, 1, 0)", [1000, 300, 301], [1, 300, 301]),
            ("transpose(2, 1, 0)", [1000, 300, 301], [1000, 10, 10]),
        ] {
            let chain: Chain = chain.parse().unwrap_or_else(|error| panic!("{error}"));
            let shape = Shape::new(sizes).unwrap();
            let movement = Movement::of_one(
                &chain,
                Width::Bytes(4),
                &shape,
                Arrangement::InChunks { sizes: &chunk, order: None, decoding: 0 },
                Order::RowMajor,
            );
            let movement = movement.unwrap();
            let resources = Resources { budget: 64 << 20, rates: &SSD };
            let IoPlan::Tiled(passes) = movement.io_plan(None, resources).unwrap() else {
                panic!("it does not fit")
            };
            let stored = movement.file_bytes_of_ends().0;
            let read = passes.iter().find(|pass| pass.reads[0].file == ReadFrom::Input(0));
            let decoded = read.unwrap().traffic.bytes_read;
            assert!(
                decoded < 2 * stored,
                "{chain}: {decoded} of {stored}, {} passes",
                passes.len()
            );
            // Each element is written once.
            let out = movement.out_shape().elements();
            let written: usize =
                passes.last().unwrap().tiles.iter().map(|tile| elements(&tile.out)).sum();
            assert_eq!(written, out);
        }
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn what_is_dear_to_decode_is_decoded_fewer_times() {
        // How many passes it takes, and how often a chunk is decoded, by what decoding a byte takes.
        let taken = |sizes: [usize; 3], chunk: [usize; 3], budget: usize, decoding: u64| {
            let shape = Shape::new(sizes).unwrap();
            let chain = "transpose(2, 1, 0)".parse::<Chain>().unwrap();
            let from = Arrangement::InChunks { sizes: &chunk, order: None, decoding };
            let movement =
                Movement::of_one(&chain, Width::Bytes(4), &shape, from, Order::RowMajor).unwrap();
            let resources = Resources { budget, rates: &SSD };
            let IoPlan::Tiled(passes) = movement.io_plan(None, resources).unwrap() else {
                panic!("it does not fit")
            };
            let read = passes.iter().filter(|pass| pass.reads[0].file == ReadFrom::Input(0));
            let decoded: u64 = read.map(|pass| pass.traffic.bytes_read).sum();
            (passes.len(), decoded / (4 * shape.elements() as u64))
        };
        let sizes = [1024, 512, 512];
        for (chunk, mebibytes, free, dear) in
            [([64, 64, 64], 32, 2, 1), ([1, 512, 512], 16, 26, 4), ([16, 128, 512], 16, 13, 2)]
        {
            assert_eq!(taken(sizes, chunk, mebibytes << 20, 0), (1, free), "{chunk:?}");
            assert_eq!(taken(sizes, chunk, mebibytes << 20, 35_000), (1, dear), "{chunk:?}");
        }
    }

    #[test]
    fn other_chunks_are_one_pass_where_both_fit() {
        for (sizes, chunk, to) in [
            ([32, 16, 1024, 1024], [1, 16, 256, 256], [32, 16, 64, 64]),
            ([32, 16, 1000, 1000], [1, 16, 250, 200], [32, 16, 125, 50]),
        ] {
            let shape = Shape::new(sizes).unwrap();
            let (chain, from) =
                (Chain::new(), Arrangement::InChunks { sizes: &chunk, order: None, decoding: 0 });
            let movement = Movement::of_one(&chain, Width::Bytes(4), &shape, from, Order::RowMajor);
            let resources = Resources { budget: 400 << 20, rates: &SSD };
            let io_plan = movement.unwrap().io_plan(Some(&to), resources).unwrap();
            let IoPlan::Tiled(passes) = io_plan else { panic!("it does not fit") };
            assert_eq!(passes.len(), 1);
            let written: usize = passes[0].tiles.iter().map(|tile| elements(&tile.out)).sum();
            assert_eq!(written, shape.elements());
            let decoded = passes[0].traffic.bytes_read as usize / 4;
            assert!(decoded < 3 * shape.elements(), "{decoded} of {}", shape.elements());
        }
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
