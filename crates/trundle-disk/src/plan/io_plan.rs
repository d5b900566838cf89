//! Plans how to move a tensor from files to a file: in memory as a whole, or in passes of tiles.
//!
//! Two passes with an intermediate can replace a pass that reads one file. [`bands`] cuts the output into bands, and
//! the intermediate has one chunk for the source of each band. The first pass only sorts elements into these chunks.
//! The second pass reads each chunk in one contiguous read, and moves its elements.
//!
//! Any other intermediate is row-major. The tiles of a chunked output have whole chunks if the memory allows. If a
//! movement changes no position in the file, it is a copy; only the output's header states another order of the axes.

use std::collections::BTreeMap;
use std::sync::Arc;

use trundle::{Shape, Width};
use trundle_core::program::{Definition, Made, Program, TensorId};

use crate::error::{Error, Problem};
use crate::plan::location::{Bounds, Location, elements, file_bytes, unit};
use crate::plan::movement::{Movement, MovementPass};
use crate::plan::seams::edges;
use crate::plan::storage::Rates;
use crate::plan::tiling::{
    self, Budget, LEAST_SPANS, SPAN_BYTES, Tile, bands, bands_in_place, chunks, tiles,
};

#[derive(Clone, Debug)]
pub(crate) struct FilePass {
    /// The tensor of the movement's program that the pass writes. `None` if the pass only sorts elements into an
    /// intermediate, or only cuts an intermediate into chunks.
    pub(crate) target: Option<TensorId>,
    pub(crate) program: Arc<Program>,
    pub(crate) reads: Vec<FileRead>,
    pub(crate) to: Location,
    pub(crate) tiles: Vec<Tile>,
    /// Whether the pass has a single tile with the whole tensor. Elements then stay packed in memory as in their file.
    pub(crate) is_whole: bool,
    pub(crate) traffic: Traffic,
}

trundle::internal::fingerprint!(struct FilePass { target, program, reads, to, tiles, is_whole } except { traffic });

#[derive(Clone, Debug)]
pub(crate) struct FileRead {
    pub(crate) of: TensorId,
    pub(crate) file: ReadFrom,
    pub(crate) from: Location,
}

trundle::internal::fingerprint!(struct FileRead { of, file, from });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// The file of the movement's input with this index.
    Input(usize),
    /// The output of the pass with this index.
    Pass(usize),
}

trundle::internal::fingerprint!(enum ReadFrom { "input" Input(index), "pass" Pass(index) });

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// The bytes of parts of incomplete chunks, which are written to a temporary file and read again. `bytes_read` and
    /// `bytes_written` include them.
    pub(crate) waiting: u64,
    pub(crate) decoding: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources<'a> {
    pub(crate) budget: usize,
    pub(crate) rates: &'a Rates,
}

/// Lists of tiles and plans of spans get the fraction 1 / `LISTS_SHARE` of the memory. A span is the part of a tile in
/// one chunk of the output.
const LISTS_SHARE: usize = 16;

/// The planner chooses two passes only if one pass would take this many times as long. Two passes certainly need more
/// disk space, but their time is only an estimate.
const MARGIN: f64 = 1.25;

/// If a movement reads and writes at most this many bytes, it is done in memory as a whole if the limit allows.
pub(crate) const SMALL_BYTES: usize = 32 << 20;

impl Movement {
    /// Returns the passes of the fastest plan within the resources. The output has chunks of the sizes `chunk`, or is
    /// row-major if `chunk` is `None`.
    ///
    /// # Errors
    /// [`Problem::Memory`] if no plan fits.
    pub(crate) fn io_plan(
        &self,
        chunk: Option<&[usize]>,
        resources: Resources<'_>,
    ) -> Result<Vec<FilePass>, Error> {
        let (read, written) = self.file_bytes_of_ends();
        if written == 0 {
            return Ok(Vec::new());
        }
        let is_small = read.saturating_add(written) <= SMALL_BYTES as u64;
        let fits_whole = self.whole_bytes() <= resources.budget as u64 && chunk.is_none();
        if is_small && fits_whole {
            return Ok(vec![self.whole_pass()]);
        }
        let tiled = self.tiled(chunk, resources);
        if fits_whole {
            // While a tile is moved, other tiles are read and written. A whole tensor is read, moved and written in
            // turn.
            let whole = self.whole_pass();
            let most_seconds = 1.1 * whole.seconds(resources.rates);
            if tiled.as_ref().is_none_or(|passes| seconds(passes, resources.rates) > most_seconds) {
                return Ok(vec![whole]);
            }
        }
        tiled.ok_or_else(|| {
            let (needed, limit) = (self.least_bytes(chunk, resources), resources.budget as u64);
            Error::from(Problem::Memory { needed, limit })
        })
    }

    /// Plans as [`Movement::io_plan`], but in tiles even if the whole tensor fits.
    ///
    /// # Errors
    /// [`Problem::Memory`] if no plan fits.
    pub(crate) fn tiled_plan(&self, resources: Resources<'_>) -> Result<Vec<FilePass>, Error> {
        let (needed, limit) = (self.whole_bytes(), resources.budget as u64);
        let plan = self.tiled(None, resources);
        plan.ok_or_else(|| Error::from(Problem::Memory { needed, limit }))
    }

    /// Returns the pass that moves the whole tensor in memory.
    pub(crate) fn whole_pass(&self) -> FilePass {
        let all = |id: TensorId| -> Bounds {
            self.program.tensor(id).shape.iter().map(|size| 0..*size).collect()
        };
        let given = self.program.tensors().iter().enumerate().filter_map(|(at, tensor)| {
            let Made::Given(input) = tensor.made else { return None };
            let from = Location::stored(&tensor.shape, 0, self.decoding_of(TensorId(at)));
            Some(FileRead { of: TensorId(at), file: ReadFrom::Input(input), from })
        });
        let sources = self.inputs().into_iter().map(|(input, id)| (input, all(id)));
        let sources = sources.filter(|(_, source)| elements(source) > 0).collect();
        let tiles = vec![Tile { out: all(self.output()), sources }];
        let (target, program, to) =
            (Some(self.output()), self.program.clone(), Location::row_major(self.out_shape()));
        let pass = FilePass::new(self.width(), target, program, given.collect(), to, tiles);
        FilePass { is_whole: true, ..pass }
    }

    /// Estimates a sufficient budget in bytes.
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
                // A tile can have whole chunks of the output only if the pass has the output's own axes.
                (Some(chunk), Some(program)) if pass.target == self.output() => {
                    let last = |mut plain: Vec<FilePass>| {
                        let before = passes.len() + plain.len() - 1;
                        let last = self.pass_into_chunks(chunk, before, budget, resources.rates)?;
                        plain.push(last);
                        Some(plain)
                    };
                    let direct = tiled(program, Location::packed(self.out_shape(), chunk));
                    quicker(direct, plain.and_then(last), resources.rates)
                }
                _ => plain,
            };
            passes.extend(planned?);
            written.insert(pass.target, passes.len() - 1);
        }
        Some(passes)
    }

    /// Returns the destination of a pass: chunks if the pass writes the output and its program has the output's own
    /// axes, otherwise row-major.
    fn location_of(&self, pass: &MovementPass, chunk: Option<&[usize]>) -> Location {
        let sizes = pass.program.tensor(pass.program.outputs()[0]).shape.sizes();
        let is_output = pass.target == self.output() && sizes == self.out_shape().sizes();
        match chunk.filter(|_| is_output) {
            Some(chunk) => Location::packed(sizes, chunk),
            None => Location::row_major(sizes),
        }
    }

    fn pass_into_chunks(
        &self,
        chunk: &[usize],
        before: usize,
        budget: Budget,
        rates: &Rates,
    ) -> Option<FilePass> {
        let sizes = self.out_shape().sizes();
        let kept = kept(self.out_shape(), self.width())?;
        let (from, to) = (Location::row_major(sizes), Location::packed(sizes, chunk));
        let tiles = tiles(&kept, (&[&from], &to), to.edges(), budget, rates)
            .or_else(|| bands(&kept, &to, to.edges(), budget))?;
        let read = FileRead { of: self.output(), file: ReadFrom::Pass(before), from };
        Some(FilePass::new(self.width(), None, kept, vec![read], to, tiles))
    }
}

struct TiledPass<'a> {
    movement: &'a Movement,
    pass: &'a MovementPass,
    /// [`MovementPass::program`], whose output can have other axes than the target, or [`MovementPass::in_shape`].
    program: &'a Arc<Program>,
    /// The index of the first file pass of this pass.
    at: usize,
    budget: Budget,
}

impl TiledPass<'_> {
    /// Returns one file pass, or two with an intermediate if two are clearly faster.
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
            let from = Location::stored(&given.shape, chunk_axes, self.movement.decoding_of(*of));
            FileRead { of: *of, file: file_of(*of), from }
        };
        let reads: Vec<FileRead> = self.pass.reads.iter().zip(given).map(read).collect();
        // If no tile size fits the budget, bands keep the number of tiles small.
        let from: Vec<&Location> = reads.iter().map(|read| &read.from).collect();
        let edges = self.edges(&to);
        let tiles = tiles(program, (&from, &to), &edges, self.budget, rates);
        let (width, target) = (self.movement.width(), Some(self.pass.target));
        let one = tiles.or_else(|| bands(program, &to, &edges, self.budget)).map(|tiles| {
            let (reads, to) = (reads.clone(), to.clone());
            vec![FilePass::new(width, target, program.clone(), reads, to, tiles)]
        });
        let two = match &reads[..] {
            [only] => self.two_passes(only, to),
            _ => None,
        };
        quicker(one, two, rates)
    }

    /// Returns how many trailing axes of `shape` are axes within a chunk; 0 if the tensor is not chunked, or if this
    /// pass reads it with other axes.
    fn chunk_axes(&self, of: TensorId, shape: &Shape) -> usize {
        let own = self.movement.in_chunks.iter().find(|own| own.given == of);
        own.filter(|own| shape.ends_with(&own.sizes)).map_or(0, |own| own.sizes.len())
    }

    /// Returns, for each axis of the output, the edges of the written chunks, or else of the read chunks.
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

    /// Plans two passes. The first one makes each band of the output contiguous.
    fn two_passes(&self, read: &FileRead, to: Location) -> Option<Vec<FilePass>> {
        // Use half of the budget, so that one band is moved while others are read and written.
        let budget = Budget { bytes: self.budget.bytes / 2, ..self.budget };
        let program = self.program;
        let second = bands(program, &to, to.edges(), budget)?;
        let (intermediate, around) = chunks(&second)?;
        // Each tile of the first pass can write to every chunk.
        let most = (budget.bytes / LISTS_SHARE / SPAN_BYTES).max(LEAST_SPANS);
        if intermediate.count() > most {
            return None;
        }
        let first = bands_in_place(&around, budget)?;
        let input = program.tensors().iter().find(|each| matches!(each.made, Made::Given(_)))?;
        let kept = kept(&input.shape, input.width)?;
        let between =
            FileRead { file: ReadFrom::Pass(self.at), from: intermediate.clone(), ..*read };
        let (width, target) = (self.movement.width(), Some(self.pass.target));
        Some(vec![
            FilePass::new(width, None, kept, vec![read.clone()], intermediate, first),
            FilePass::new(width, target, program.clone(), vec![between], to, second),
        ])
    }
}

impl FilePass {
    fn new(
        width: Width,
        target: Option<TensorId>,
        program: Arc<Program>,
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
        FilePass { target, program, reads, to, tiles, is_whole: false, traffic }
    }

    pub(crate) fn seconds(&self, rates: &Rates) -> f64 {
        let Traffic { bytes_read, bytes_written, reads, writes, decoding, .. } = self.traffic;
        rates.seconds(bytes_read + bytes_written, reads + writes, decoding)
    }

    pub(crate) fn bytes(&self, width: Width, elements: usize) -> usize {
        if self.is_whole { file_bytes(width, elements) } else { elements * unit(width) }
    }

    pub(crate) fn tile_bytes(&self, width: Width, tile: &Tile) -> usize {
        let sources = tile.sources.iter().map(|(_, source)| self.bytes(width, elements(source)));
        sources.fold(self.bytes(width, elements(&tile.out)), usize::saturating_add)
    }
}

fn kept(shape: &Shape, width: Width) -> Option<Arc<Program>> {
    let mut kept = Program::new();
    let id = kept.given(shape.clone(), width).ok()?;
    kept.output(id).ok()?;
    Some(Arc::new(kept))
}

/// Returns the single pass, unless two passes are faster by the factor [`MARGIN`].
fn quicker(
    one: Option<Vec<FilePass>>,
    two: Option<Vec<FilePass>>,
    rates: &Rates,
) -> Option<Vec<FilePass>> {
    match (one, two) {
        (Some(one), Some(two)) if seconds(&one, rates) > MARGIN * seconds(&two, rates) => Some(two),
        (Some(one), _) => Some(one),
        (None, two) => two,
    }
}

fn seconds(passes: &[FilePass], rates: &Rates) -> f64 {
    passes.iter().map(|pass| pass.seconds(rates)).sum()
}

#[cfg(test)]
mod tests {
    use trundle::{Chain, Width};
    use trundle_formats::Order;

    use super::*;
    use crate::Storage;
    use crate::plan::movement::Arrangement;

    const SSD: Rates = Rates { storage: Storage::SSD, coders: 1 };

    /// Returns the number of passes and their seconds for a transpose of 64 MiB of single bytes within 2 MiB.
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn planned(request_seconds: f64) -> (usize, f64) {
        let storage = Storage { bytes_per_second: 1e9, request_seconds, in_flight: 8 };
        let rates = Rates { storage, coders: 1 };
        let chain: Chain = "a b -> b a".parse().unwrap_or_else(|error| panic!("{error}"));
        let shape = Shape::new([8192, 8192]).unwrap();
        let (from, to) = (Order::RowMajor, Order::RowMajor);
        let movement = Movement::of_one(&chain, Width::Bytes(1), &shape, from, to).unwrap();
        let passes = movement.io_plan(None, Resources { budget: 2 << 20, rates: &rates }).unwrap();
        (passes.len(), passes.iter().map(|pass| pass.seconds(&rates)).sum())
    }

    #[test]
    fn with_enough_memory_chunks_are_read_less_than_twice() {
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
            let passes = movement.io_plan(None, resources).unwrap();
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
    fn chunks_that_are_slow_to_decode_are_decoded_less_often() {
        // Returns the passes, and how often each chunk is decoded, for a decoding cost in picoseconds per byte.
        let planned = |sizes: [usize; 3], chunk: [usize; 3], budget: usize, decoding: u64| {
            let shape = Shape::new(sizes).unwrap();
            let chain = "transpose(2, 1, 0)".parse::<Chain>().unwrap();
            let from = Arrangement::InChunks { sizes: &chunk, order: None, decoding };
            let movement =
                Movement::of_one(&chain, Width::Bytes(4), &shape, from, Order::RowMajor).unwrap();
            let resources = Resources { budget, rates: &SSD };
            let passes = movement.io_plan(None, resources).unwrap();
            let read = passes.iter().filter(|pass| pass.reads[0].file == ReadFrom::Input(0));
            let decoded: u64 = read.map(|pass| pass.traffic.bytes_read).sum();
            (passes.len(), decoded / (4 * shape.elements() as u64))
        };
        let sizes = [1024, 512, 512];
        for (chunk, mebibytes, free, slow) in
            [([64, 64, 64], 32, 2, 1), ([1, 512, 512], 16, 26, 4), ([16, 128, 512], 16, 13, 2)]
        {
            assert_eq!(planned(sizes, chunk, mebibytes << 20, 0), (1, free), "{chunk:?}");
            assert_eq!(planned(sizes, chunk, mebibytes << 20, 35_000), (1, slow), "{chunk:?}");
        }
    }

    #[test]
    fn rechunking_takes_one_pass_if_both_chunks_fit() {
        for (sizes, chunk, to) in [
            ([32, 16, 1024, 1024], [1, 16, 256, 256], [32, 16, 64, 64]),
            ([32, 16, 1000, 1000], [1, 16, 250, 200], [32, 16, 125, 50]),
        ] {
            let shape = Shape::new(sizes).unwrap();
            let (chain, from) =
                (Chain::new(), Arrangement::InChunks { sizes: &chunk, order: None, decoding: 0 });
            let movement = Movement::of_one(&chain, Width::Bytes(4), &shape, from, Order::RowMajor);
            let resources = Resources { budget: 400 << 20, rates: &SSD };
            let passes = movement.unwrap().io_plan(Some(&to), resources).unwrap();
            assert_eq!(passes.len(), 1);
            let written: usize = passes[0].tiles.iter().map(|tile| elements(&tile.out)).sum();
            assert_eq!(written, shape.elements());
            let decoded = passes[0].traffic.bytes_read as usize / 4;
            assert!(decoded < 3 * shape.elements(), "{decoded} of {}", shape.elements());
        }
    }

    #[test]
    fn two_passes_are_chosen_only_if_faster_by_a_margin() {
        let (mut one, mut two) = (1e-9, 1e-2);
        assert_eq!((planned(one).0, planned(two).0), (1, 2));
        // Find the time per request at which the choice changes, by bisection.
        for _ in 0..20 {
            let between = f64::sqrt(one * two);
            match planned(between).0 {
                1 => one = between,
                _ => two = between,
            }
        }
        let ((before, slow), (behind, quick)) = (planned(one), planned(two));
        assert_eq!((before, behind), (1, 2));
        assert!((slow / quick - MARGIN).abs() < 0.01, "{slow} s against {quick} s");
        // Away from that time, the choice does not change again.
        for times in [2.0, 4.0, 16.0] {
            assert_eq!((planned(one / times).0, planned(two * times).0), (1, 2), "{times}");
        }
    }
}
