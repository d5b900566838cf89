//! Plans the passes of a tensor from files to a file: whole in memory, or in passes of tiles.
//!
//! A pass that reads one file may become two with an intermediate between them. The intermediate has one chunk for
//! each band of the output. The first pass only sorts elements into these chunks; the second moves them, and reads
//! each chunk in one run. All other files are row-major, except for chunked outputs, whose tiles have whole chunks if
//! the memory allows. A movement that changes no position is a copy; the header describes the rest.

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

/// The plan for one tensor.
#[derive(Debug)]
pub(crate) enum IoPlan {
    /// Read it whole, move it in memory, write it.
    Whole,
    /// Tile by tile, in passes.
    Tiled(Vec<FilePass>),
}

trundle::internal::fingerprint!(enum IoPlan { "whole" Whole, "tiled" Tiled(passes) });

#[derive(Clone, Debug)]
pub(crate) struct FilePass {
    /// The tensor of the movement's program that the pass writes; `None` for the first of two passes, which only sorts
    /// elements into an intermediate.
    pub(crate) target: Option<TensorId>,
    /// The program of the pass: its inputs are read, its only output is written.
    pub(crate) program: Program,
    pub(crate) reads: Vec<FileRead>,
    pub(crate) to: Location,
    pub(crate) tiles: Vec<Tile>,
    pub(crate) traffic: Traffic,
}

trundle::internal::fingerprint!(struct FilePass { target, program, reads, to, tiles } except { traffic });

#[derive(Clone, Debug)]
pub(crate) struct FileRead {
    /// The tensor of the movement's program.
    pub(crate) of: TensorId,
    pub(crate) file: ReadFrom,
    pub(crate) from: Location,
}

trundle::internal::fingerprint!(struct FileRead { of, file, from });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// The file of this input of the movement.
    Input(usize),
    /// The output of this pass.
    Pass(usize),
}

trundle::internal::fingerprint!(enum ReadFrom { "input" Input(index), "pass" Pass(index) });

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// Bytes read and written for parts of chunks that wait for the other parts; included above.
    pub(crate) waiting: u64,
    /// The picoseconds of decoding on one core.
    pub(crate) decoding: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources<'a> {
    /// The bytes of all buffers.
    pub(crate) budget: usize,
    pub(crate) rates: &'a Rates,
}

/// The fraction of the memory for lists of tiles and plans of spans is 1 over this.
const LISTS_SHARE: usize = 16;

/// Two passes must be this many times as fast as one: their additional disk space is certain, the estimated time is
/// not.
const MARGIN: f64 = 1.25;

/// Tensors smaller than this are read whole.
pub(crate) const SMALL_BYTES: usize = 32 << 20;

impl Movement {
    /// Returns the fastest plan within the resources, for a row-major output or chunks of these sizes.
    ///
    /// # Errors
    /// [`Problem::Memory`] if no plan fits.
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
            // Tiles are read and written concurrently; a whole tensor is not.
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

    /// Like [`Movement::io_plan`], but always in tiles.
    ///
    /// # Errors
    /// As [`Movement::io_plan`].
    pub(crate) fn tiled_plan(&self, resources: Resources<'_>) -> Result<IoPlan, Error> {
        let (needed, limit) = (self.whole_bytes(), resources.budget as u64);
        let plan = self.tiled(None, resources).map(IoPlan::Tiled);
        plan.ok_or_else(|| Error::from(Problem::Memory { needed, limit }))
    }

    /// Estimates the bytes that would be enough.
    fn least_bytes(&self, chunk: Option<&[usize]>, resources: Resources<'_>) -> u64 {
        let whole = self.whole_bytes();
        // Planning with more memory than this would itself exceed the limit.
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
                // Chunks of the output are boxes along the output's own axes.
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

    /// The destination of a pass: the chunks of the output if the pass writes it with its own axes.
    fn location_of(&self, pass: &MovementPass, chunk: Option<&[usize]>) -> Location {
        let sizes = pass.program.tensor(pass.program.outputs()[0]).shape.sizes();
        let is_output = pass.target == self.output() && sizes == self.out_shape().sizes();
        match chunk.filter(|_| is_output) {
            Some(chunk) => Location::Chunks(Chunks::packed(sizes, chunk)),
            None => Location::row_major(sizes),
        }
    }

    /// Plans a final pass that cuts a row-major intermediate into chunks.
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

struct TiledPass<'a> {
    movement: &'a Movement,
    pass: &'a MovementPass,
    /// The program of the pass, with the target's axes as requested.
    program: &'a Program,
    /// The index of its first pass over files.
    at: usize,
    budget: Budget,
}

impl TiledPass<'_> {
    /// Returns one pass over files, or two with an intermediate if that is clearly faster.
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
        // If no growth fits, bands keep the number of tiles small.
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

    /// The number of trailing axes of `shape` that belong to a chunk; 0 if the tensor is not chunked, or has other axes
    /// in this pass.
    fn chunk_axes(&self, of: TensorId, shape: &Shape) -> usize {
        let own = self.movement.in_chunks.iter().find(|own| own.given == of);
        own.filter(|own| shape.ends_with(&own.sizes)).map_or(0, |own| own.sizes.len())
    }

    /// For each axis of the output, the edges of written chunks, or else of read chunks.
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

    /// Plans two passes: the first one makes the elements of each output band contiguous.
    fn two_passes(&self, read: &FileRead, to: Location) -> Option<Vec<FilePass>> {
        // Half of the budget, so that bands are moved while others are read and written.
        let budget = Budget { bytes: self.budget.bytes / 2, ..self.budget };
        let program = self.program;
        let second = bands(program, &to, to.edges(), budget)?;
        let (chunks, around) = chunks(&second)?;
        // Each tile of the first pass can have a span in every chunk.
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

/// Returns a program that copies its only tensor.
fn kept(shape: &Shape, width: Width) -> Option<Program> {
    let mut kept = Program::new();
    let id = kept.given(shape.clone(), width).ok()?;
    kept.output(id).ok()?;
    Some(kept)
}

/// Returns the single pass, unless two are faster by [`MARGIN`].
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

    /// Returns passes and seconds for a transpose of 64 MiB of bytes within 2 MiB.
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
            let out = movement.out_shape().elements();
            let written: usize =
                passes.last().unwrap().tiles.iter().map(|tile| elements(&tile.out)).sum();
            assert_eq!(written, out);
        }
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn what_is_dear_to_decode_is_decoded_fewer_times() {
        // The number of passes, and how often a chunk is decoded, for a decoding cost per byte.
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
        // Finds the request time at which the choice changes by bisection.
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
        // Away from that point the choice does not change again.
        for times in [2.0, 4.0, 16.0] {
            assert_eq!((taken(one / times).0, taken(two * times).0), (1, 2), "{times}");
        }
    }
}
