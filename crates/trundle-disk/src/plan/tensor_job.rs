//! Plans one tensor of a job.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::ops::Range;

use trundle::ops::Scalar;
use trundle::{Chain, PlanError, Shape};
use trundle_core::program::Made;
use trundle_core::{IndexMap, Line, Piece};
use trundle_formats::{
    Annotations, ChunkFormat, ChunkedTensor, Codecs, Described, Encoding, Format, Order, Place,
    StoredDType, UndecodedTensor,
};

use crate::error::{Error, Problem};
use crate::plan::chunk_sizes::ChunkSizes;
use crate::plan::encoded::{EncodedChunks, UNDECODED_CHUNK_BYTES};
use crate::plan::input::{JobInput, JobTensor};
use crate::plan::io_plan::{FilePass, Resources};
use crate::plan::job::{Assembled, Cost, PlanOptions};
use crate::plan::kept_chunks::{Inherited, fewer, smaller};
use crate::plan::location::unit;
use crate::plan::movement::{Arrangement, Movement};
use crate::plan::storage::Rates;

/// A planned tensor of a job.
#[derive(Clone, Debug)]
pub struct TensorJob {
    pub(crate) name: String,
    pub(crate) element: StoredDType,
    /// For each input of the movement, the index of the job's input.
    pub(crate) inputs: Vec<usize>,
    /// The element order of the source; `None` if the source is chunked, or if there are several sources.
    in_order: Option<Order>,
    pub(crate) movement: Movement,
    /// The file passes; empty if the tensor has no elements.
    pub(crate) file_passes: Vec<FilePass>,
    pub(crate) out_shape: Shape,
    pub(crate) out_order: Order,
    /// The chunks of the output; `None` if the output is not chunked.
    chunked: Option<Box<ChunkedTensor>>,
    /// The mapping from output chunks to encoded source chunks; `None` if chunks are decoded.
    encoded: Option<EncodedChunks>,
    /// The tensor if it is copied without decoding. The movement then has one byte for each chunk.
    undecoded: Option<Box<UndecodedTensor>>,
}

impl TensorJob {
    /// Makes a tensor without file passes that has these inputs of the job.
    fn unplanned(
        name: &str,
        element: &StoredDType,
        inputs: Range<usize>,
        movement: Movement,
        out_shape: Shape,
    ) -> TensorJob {
        TensorJob {
            name: name.to_owned(),
            element: element.clone(),
            inputs: inputs.collect(),
            in_order: None,
            movement,
            file_passes: Vec::new(),
            out_shape,
            out_order: Order::RowMajor,
            chunked: None,
            encoded: None,
            undecoded: None,
        }
    }

    /// Plans the file passes for these resources, and replaces earlier plans.
    pub(crate) fn planned(self, resources: Resources<'_>) -> Result<TensorJob, Error> {
        // Tiles would take memory for each chunk, and chunks are copied without them.
        let file_passes = if self.is_undecoded() && self.units() > 0 {
            vec![self.movement.whole_pass()]
        } else {
            let planned =
                self.movement.io_plan(self.chunked().map(ChunkedTensor::at_once), resources);
            planned.map_err(|error| error.within(&self.name))?
        };
        Ok(TensorJob { file_passes, ..self })
    }

    /// Changes the job to decode and encode chunks instead of copying them, unless they cannot be decoded.
    pub(crate) fn decoding(self) -> TensorJob {
        let encoded = self.encoded.filter(|_| self.undecoded.is_some());
        TensorJob { encoded, ..self }
    }

    /// Returns whether the tensor is copied without decoding, because it cannot be decoded.
    pub fn is_undecoded(&self) -> bool {
        self.undecoded.is_some()
    }

    /// Returns the name of the tensor in the output.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the element type.
    pub fn element(&self) -> &StoredDType {
        &self.element
    }

    /// Returns the shape of the output.
    pub fn out_shape(&self) -> &Shape {
        self.undecoded.as_ref().map_or(&self.out_shape, |undecoded| &undecoded.header.shape)
    }

    /// Returns the chunks of the output; `None` if the output is not chunked.
    pub fn chunked(&self) -> Option<&ChunkedTensor> {
        self.chunked.as_deref()
    }

    /// Returns the order of the elements in the output.
    pub fn out_order(&self) -> Order {
        self.out_order
    }

    /// Returns whether elements keep their positions and only the header changes, to state another order of axes.
    pub fn is_by_header(&self) -> bool {
        self.movement.is_copy() && self.in_order.is_some_and(|order| order != self.out_order)
    }

    /// Returns whether the data of the output has the source's bytes in the same order.
    pub fn is_copy(&self) -> bool {
        self.movement.is_copy()
    }

    /// Returns the number of encoded chunks that are copied; `None` if the tensor is decoded.
    pub fn encoded_chunks(&self) -> Option<usize> {
        self.encoded().map(EncodedChunks::count)
    }

    pub(crate) fn encoded(&self) -> Option<&EncodedChunks> {
        self.encoded.as_ref().filter(|_| !self.file_passes.is_empty())
    }

    /// Returns whether copied chunks can be verified: the elements must be readable in one pass.
    pub(crate) fn verifies_encoded(&self) -> bool {
        self.file_passes.len() == 1
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.file_passes.iter().any(|pass| pass.is_whole)
    }

    /// Returns the size of the output in bytes; 0 for a tensor that is copied without decoding, because its size is not
    /// known.
    pub fn out_bytes(&self) -> u64 {
        if self.is_undecoded() { 0 } else { self.units() }
    }

    /// Returns the bytes that the movement writes. A tensor that is copied without decoding has one for each chunk.
    pub(crate) fn units(&self) -> u64 {
        self.movement.file_bytes_of_ends().1
    }

    /// Returns the size of the output in bytes, with an assumed size of chunks that are copied without decoding.
    pub(crate) fn assumed_bytes(&self) -> u64 {
        let of_chunk = if self.is_undecoded() { UNDECODED_CHUNK_BYTES } else { 1 };
        self.units().saturating_mul(of_chunk)
    }

    /// Returns the number of passes over the elements.
    pub fn passes(&self) -> usize {
        match self.encoded() {
            Some(_) => 1,
            None if self.is_whole() => self.movement.whole_passes,
            None => self.file_passes.len(),
        }
    }

    /// Returns, for each file pass, the number of tiles and the mean bytes of a contiguous read and of a contiguous
    /// write. Empty if the tensor is moved as a whole.
    pub fn tiles(&self) -> Vec<(usize, u64, u64)> {
        let mean = |bytes: u64, runs: u64| bytes / runs.max(1);
        let pass = |pass: &FilePass| {
            let traffic = pass.traffic;
            let read = mean(traffic.bytes_read, traffic.reads);
            (pass.tiles.len(), read, mean(traffic.bytes_written, traffic.writes))
        };
        self.file_passes.iter().filter(|pass| !pass.is_whole).map(pass).collect()
    }

    pub(crate) fn cost(&self, rates: &Rates) -> Cost {
        if let Some(encoded) = self.encoded() {
            // The encoded size is not known; the decoded size is an estimate, if it is known.
            let (count, bytes) = (encoded.count() as u64, self.out_bytes());
            return Cost {
                bytes_read: bytes,
                bytes_written: bytes,
                reads: count,
                writes: count,
                seconds: rates.seconds(2 * bytes, 2 * count, 0),
                ..Cost::default()
            };
        }
        let (mut cost, width) = (Cost::default(), self.movement.width());
        for (index, pass) in self.file_passes.iter().enumerate() {
            let traffic = pass.traffic;
            cost.bytes_read += traffic.bytes_read;
            cost.bytes_written += traffic.bytes_written;
            cost.reads += traffic.reads;
            cost.writes += traffic.writes;
            cost.seconds += pass.seconds(rates);
            cost.temporary_bytes += traffic.waiting;
            if index + 1 < self.file_passes.len() {
                cost.temporary_bytes += traffic.bytes_written;
            }
            let largest = pass.tiles.iter().map(|tile| pass.tile_bytes(width, tile)).max();
            let whole_bytes = if pass.is_whole { self.movement.scratch_bytes } else { 0 };
            cost.buffer_bytes = cost.buffer_bytes.max(largest.unwrap_or(0) as u64 + whole_bytes);
        }
        cost
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Unplanned {
    pub(crate) job: TensorJob,
    /// The index map of the chain; `None` if there are several sources, or if the byte order changes.
    map: Option<IndexMap>,
    /// The default chunk sizes, if the caller gave them.
    chunk: Option<Vec<usize>>,
    /// The chunk sizes of the single source along the axes of the output; `None` if the output has other axes.
    source_chunk: Option<Vec<usize>>,
    /// The encoding of the single source, as the format keeps it, with its axes in the order of the output.
    encoding: Option<Encoding>,
    /// The format of the output may be unable to keep them.
    pub(crate) annotations: Annotations,
    /// The axis names from the patterns of the chain, if the source has none.
    names: Vec<Option<String>>,
    /// The place in an existing store.
    place: Option<Place>,
}

impl Unplanned {
    /// Applies `chain` to `inputs`, which are the job's inputs from index `first` on; the first is the main one.
    /// Without an `order`, the output is row-major, or column-major if its header can state that and no element moves.
    /// With an `order`, the output has this order, although no header states it.
    pub(crate) fn of_chain(
        inputs: &[JobInput],
        first: usize,
        chain: &Chain,
        format: &Format,
        order: Option<Order>,
    ) -> Result<Unplanned, Error> {
        let tensors: Vec<&JobTensor> = inputs.iter().filter_map(JobInput::tensor).collect();
        let [tensor, others @ ..] = &tensors[..] else { unreachable!("a tensor of a file") };
        let header = &tensor.header;
        let (width, element) = (header.element.width(), format.element_as_written(&header.element));
        let named = |error: PlanError| Error::of(&header.name, error);
        for other in others {
            other
                .check_type(&element, width)
                .map_err(|error| named(error.into()).within(&other.header.name))?;
        }
        let shapes: Vec<Shape> = tensors.iter().map(|each| each.header.shape.clone()).collect();
        let out_shape = chain.out_shape(&shapes).map_err(|error| named(error.into()))?;
        let given: Vec<(&Shape, Arrangement<'_>)> =
            shapes.iter().zip(inputs.iter().map(JobInput::arrangement)).collect();
        let constant = |value: Scalar| element.of_number(value);
        let movement =
            |to: Order| Movement::of_chain(chain, width, &given, to, constant).map_err(named);
        let axes = chain.axes_kept(&shapes);
        let is_one = others.is_empty() && chain.is_map();
        let map = chain.index_map(&header.shape);
        let can_state =
            is_one && format.states_column_major() && width.packing().is_none() && order.is_none();
        let (mut moved, mut out_order) =
            (movement(order.unwrap_or(Order::RowMajor))?, Order::RowMajor);
        if can_state && !moved.is_copy() {
            let column_major = movement(Order::ColumnMajor)?;
            if column_major.is_copy() {
                (moved, out_order) = (column_major, Order::ColumnMajor);
            }
        }
        let own = first..first + inputs.len();
        let job = TensorJob {
            in_order: (is_one && header.chunk.is_none()).then_some(header.order),
            out_order,
            ..TensorJob::unplanned(&header.name, &element, own, moved, out_shape)
        };
        let source_chunk = header.chunk.as_ref().zip(axes.as_ref());
        let source_chunk = source_chunk
            .and_then(|(chunk, axes)| axes.iter().map(|axis| chunk.get(*axis).copied()).collect());
        let encoding = header.encoding.as_ref().map(|encoding| encoding.of_axes(axes.as_deref()));
        let encoding = encoding.and_then(|encoding| format.encoding(&encoding, &job.element));
        let names = match header.annotations.dimension_names.is_empty() {
            true => chain.names_from_patterns(job.out_shape.rank()),
            false => Vec::new(),
        };
        let mut annotations = header.annotations.of_axes(axes.as_deref());
        // The elements of a longer dimension are not moved.
        let coordinates = map.as_ref().and_then(IndexMap::coordinates).unwrap_or_default();
        let lengths = annotations.dimension_lengths.iter_mut();
        for (length, axis) in lengths.zip(axes.iter().flatten()) {
            let identity = vec![Piece { end: header.shape[*axis], line: Line::IDENTITY }];
            if coordinates.get(*axis) != Some(&Some(identity)) {
                *length = 0;
            }
        }
        Ok(Unplanned {
            job,
            map: map.filter(|_| others.is_empty() && !tensor.is_swapped),
            chunk: None,
            source_chunk,
            encoding,
            annotations,
            names,
            place: None,
        })
    }

    /// Changes the tensor to the part of an existing array that contains it. `existing` is the array as an input of the
    /// job, with the index `at` if it is needed.
    ///
    /// # Errors
    /// If the array cannot be read around the tensor.
    pub(crate) fn place(
        &mut self,
        place: &Place,
        existing: &JobTensor,
        at: usize,
    ) -> Result<bool, Error> {
        self.place = Some(place.clone());
        self.names = Vec::new();
        if self.is_undecoded() {
            return Ok(false);
        }
        self.map = None;
        let (shape, from) = (&existing.header.shape, Arrangement::from(&existing.header));
        let bounds = (&*place.begin, &*place.end);
        let (moved, is_read) =
            self.job.movement.clone().placed((shape, from), bounds, &place.part())?;
        self.job.out_shape = moved.out_shape().clone();
        self.job.movement = moved;
        self.job.in_order = None;
        if is_read {
            self.job.inputs.push(at);
        }
        self.encoding = existing.header.encoding.clone();
        self.annotations = Annotations {
            fill: existing.header.annotations.fill.clone(),
            ..Annotations::default()
        };
        Ok(is_read)
    }

    /// Makes a tensor that is copied without decoding, from the job's input `input` at index `at`.
    pub(crate) fn undecoded(
        tensor: &UndecodedTensor,
        input: &JobInput,
        at: usize,
        format: &Format,
    ) -> Result<Unplanned, Error> {
        if !format.is_folder() {
            let why =
                format!("trundle cannot decode it, so format {} cannot hold it", format.name());
            return Err(Error::from(Problem::Chunks(why)).within(&tensor.header.name));
        }
        let inputs = std::slice::from_ref(input);
        let mut own = Unplanned::of_chain(inputs, at, &Chain::new(), format, None)?;
        own.job.undecoded = Some(Box::new(tensor.clone()));
        Ok(own)
    }

    /// Makes a tensor of a program. The program's inputs are the job's inputs from index `first` on.
    pub(crate) fn assembled(
        output: &Assembled<'_>,
        inputs: &[JobInput],
        first: usize,
        format: &Format,
    ) -> Result<Unplanned, Error> {
        let arrangements: Vec<Arrangement<'_>> = inputs.iter().map(JobInput::arrangement).collect();
        let refused = |error| Error::of(output.name, error);
        let movement =
            Movement::of_tensor(output.program, output.tensor, &arrangements).map_err(refused)?;
        // Inputs of the program's other tensors may have any type.
        let read: BTreeSet<usize> = movement.inputs().iter().map(|(input, _)| *input).collect();
        for given in output.program.tensors() {
            if let Made::Given(input) = given.made
                && read.contains(&input)
            {
                inputs[input].check(&output.element, given).map_err(refused)?;
            }
        }
        let (own, out_shape) = (first..first + inputs.len(), movement.out_shape().clone());
        let job = TensorJob::unplanned(output.name, &output.element, own, movement, out_shape);
        let encoding = output.encoding.as_ref();
        Ok(Unplanned {
            job,
            map: None,
            chunk: output.chunk.clone(),
            source_chunk: None,
            encoding: encoding.and_then(|encoding| format.encoding(encoding, &output.element)),
            annotations: output.annotations.clone(),
            names: Vec::new(),
            place: None,
        })
    }

    /// Gives the axes of tensors without axis names the names from the patterns of their chains, unless axes of different
    /// sizes would share a name.
    pub(crate) fn name_axes(tensors: &mut [Unplanned]) {
        let mut sizes: HashMap<String, BTreeSet<usize>> = HashMap::new();
        for Unplanned { job, annotations, names, .. } in &*tensors {
            for names in [&annotations.dimension_names, names] {
                for (name, size) in names.iter().zip(job.out_shape().iter()) {
                    let sizes = name.clone().map(|name| sizes.entry(name).or_default());
                    sizes.map(|sizes| sizes.insert(*size));
                }
            }
        }
        for Unplanned { annotations, names, .. } in tensors {
            if !names.is_empty() && names.iter().flatten().all(|name| sizes[name].len() == 1) {
                annotations.dimension_names = mem::take(names);
            }
        }
    }

    pub(crate) fn codecs_not_kept(&self) -> &[String] {
        self.encoding.as_ref().map_or(&[], |encoding| &encoding.not_kept)
    }

    pub(crate) fn is_undecoded(&self) -> bool {
        self.job.is_undecoded()
    }

    pub(crate) fn axes(&self) -> (&str, &Shape, &[Option<String>]) {
        (&self.job.name, &self.job.out_shape, &self.annotations.dimension_names)
    }

    /// Chooses chunks, shards and codecs as `options` request, otherwise the source's if they still fit. The options
    /// must be [allowed](check_chunk_options).
    pub(crate) fn chunking(
        &self,
        format: &Format,
        options: &PlanOptions,
    ) -> Result<Chunking, Error> {
        let is_contiguous = options.chunks.as_ref().is_some_and(ChunkSizes::is_none);
        let Some(chunk_format) = format.chunks().filter(|_| !is_contiguous) else {
            return Ok(Chunking::default());
        };
        if let (Some(place), false) = (&self.place, self.is_undecoded()) {
            let codecs = self.encoding.as_ref().map(|encoding| encoding.codecs.clone());
            let (chunk, shard) = (Some(place.chunk.clone()), place.shard.clone());
            return Ok(Chunking { chunk, shard, order: None, codecs });
        }
        if options.metadata_only || self.is_undecoded() {
            return Ok(self.chunking_as_stored());
        }
        let (sizes, names) = (self.job.out_shape.sizes(), &self.annotations.dimension_names);
        let refused = |why: String| Error::from(Problem::Chunks(why)).within(&self.job.name);
        let brought = self.chunk_brought(chunk_format);
        let all = || sizes.iter().map(|size| (*size).max(1)).collect::<Vec<_>>();
        let chunk = match &options.chunks {
            None => brought,
            Some(requested) => {
                let otherwise = brought.clone().unwrap_or_else(all);
                requested.of("chunks", sizes, names, &otherwise).map_err(refused)?.or(brought)
            }
        };
        let shard = match &options.shards {
            Some(requested) if requested.is_none() => None,
            None if options.chunks.is_some() => None,
            None => self.shard_brought(chunk.as_deref()),
            Some(requested) => {
                let otherwise = chunk.clone().unwrap_or_else(all);
                requested.of("shards", sizes, names, &otherwise).map_err(refused)?
            }
        };
        // A shard that spans an axis is extended to whole chunks.
        let shard = match (shard, &chunk) {
            (Some(shard), Some(chunk)) => {
                Some(whole_chunks(&shard, chunk, sizes).map_err(refused)?)
            }
            (shard, _) => shard,
        };
        let kept = self.encoding.as_ref().map(|encoding| &encoding.codecs);
        let codecs = options.codecs.as_ref().or(kept).cloned();
        Ok(Chunking { chunk, shard, order: None, codecs })
    }

    /// Returns the chunk sizes that an output of `format` inherits; `None` if no source is in chunks.
    fn chunk_brought(&self, format: ChunkFormat) -> Option<Vec<usize>> {
        let (sizes, movement) = (self.job.out_shape.sizes(), &self.job.movement);
        if let Some(chunk) = &self.chunk {
            return Some(fewer(chunk.clone(), sizes, format.most_chunks()));
        }
        let of_source = || Some(self.source_chunk.as_ref()?.iter().copied().map(Some).collect());
        let inherited: Inherited = of_source().or_else(|| movement.chunk())?;
        // In HDF5, a chunk may be longer than an axis that can grow.
        let can_grow = |axis: usize| {
            let most = self.annotations.max_sizes.get(axis);
            format == ChunkFormat::Hdf5 && most.is_some_and(|most| *most > sizes[axis] as u64)
        };
        let axes = inherited.iter().zip(sizes).enumerate();
        let chunk = axes.map(|(axis, (chunk, size))| match chunk {
            Some(chunk) if can_grow(axis) => *chunk,
            chunk => chunk.unwrap_or(*size).min(*size).max(1),
        });
        let most = format.default_chunk_bytes().max(movement.in_chunk_bytes());
        let chunk = smaller(chunk.collect(), &inherited, unit(movement.width()), most);
        Some(fewer(chunk, sizes, format.most_chunks()))
    }

    /// Returns the chunks of the single source, with its order of the elements in a chunk. A chunk may be longer than
    /// an axis.
    fn chunking_as_stored(&self) -> Chunking {
        let chunk = || -> Option<Vec<usize>> {
            let [source] = &self.job.movement.in_chunks[..] else { return None };
            let kept =
                self.map.as_ref().filter(|_| self.job.out_shape.elements() > 0)?.axes_kept()?;
            kept.iter().map(|axis| source.sizes.get(*axis).copied()).collect()
        };
        let (Some(encoding), Some(chunk)) = (self.encoding.clone(), chunk()) else {
            return Chunking::default();
        };
        let Encoding { shard, order, codecs, .. } = encoding;
        // The order depends only on axes along which a chunk has several elements.
        let is_row_major =
            |order: &Vec<usize>| order.iter().filter(|axis| chunk[**axis] > 1).is_sorted();
        let order = order.filter(|order| !is_row_major(order));
        Chunking { chunk: Some(chunk), shard, order, codecs: Some(codecs) }
    }

    /// Returns the shards of the source if they are multiples of `chunk`, shortened to the sizes of the axes.
    fn shard_brought(&self, chunk: Option<&[usize]>) -> Option<Vec<usize>> {
        let (shard, chunk) = (self.encoding.as_ref()?.shard.as_ref()?, chunk?);
        let axes = shard.iter().zip(chunk).zip(self.job.out_shape.iter());
        let fitted = axes.map(|((shard, chunk), size)| match shard.is_multiple_of(*chunk) {
            true => size.max(&1).checked_next_multiple_of(*chunk).map(|all| all.min(*shard)),
            false => None,
        });
        fitted.collect()
    }

    pub(crate) fn described<'a>(&'a self, chunking: &'a Chunking) -> Described<'a> {
        Described {
            chunk: chunking.chunk.as_deref(),
            shard: chunking.shard.as_deref(),
            chunk_order: chunking.order.as_deref(),
            codecs: chunking.codecs.as_ref(),
            annotations: Some(&self.annotations),
            undecoded: self.job.undecoded.as_ref().map(|undecoded| &*undecoded.document),
            place: self.place.as_ref(),
            ..Described::new(
                &self.job.name,
                &self.job.element,
                &self.job.out_shape,
                self.job.out_order,
            )
        }
    }

    pub(crate) fn planned(
        self,
        chunked: Option<&ChunkedTensor>,
        inputs: &[JobInput],
        resources: Resources<'_>,
        metadata_only: bool,
    ) -> Result<TensorJob, Error> {
        let encoded = self.encoded(chunked, inputs);
        let chunked = chunked.cloned().map(Box::new);
        let mut job = TensorJob { chunked, ..self.job };
        job.encoded = match encoded {
            // Without elements there is nothing to copy.
            Err(why) if (metadata_only || job.is_undecoded()) && job.out_shape.elements() > 0 => {
                let what = if metadata_only { "metadata only" } else { "cannot be copied" };
                let why = format!("{what}: {why}");
                return Err(Error::from(Problem::Chunks(why)).within(&job.name));
            }
            encoded => encoded.ok(),
        };
        job.planned(resources)
    }

    /// Returns the mapping from output chunks to encoded source chunks.
    ///
    /// # Errors
    /// Returns a message with the reason if the chunks cannot be copied.
    fn encoded(
        &self,
        chunked: Option<&ChunkedTensor>,
        inputs: &[JobInput],
    ) -> Result<EncodedChunks, String> {
        let several = || "it is not made of one source's chunks only".to_owned();
        let ([input], Some(map), Some(chunked)) = (&self.job.inputs[..], &self.map, chunked) else {
            return Err(several());
        };
        let source = inputs[*input].tensor().ok_or_else(several)?;
        EncodedChunks::of(map, &source.header, chunked)
    }
}

/// Checks that a file of `format` can have the requested chunks.
///
/// # Errors
/// [`Error`] with the reason if it cannot.
pub(crate) fn check_chunk_options(format: &Format, options: &PlanOptions) -> Result<(), Error> {
    let PlanOptions { chunks, shards, codecs, metadata_only, .. } = options;
    let (name, is_none) = (format.name(), chunks.as_ref().is_some_and(ChunkSizes::is_none));
    let is_requested = chunks.is_some() || shards.is_some() || codecs.is_some();
    let why = match format.chunks() {
        Some(ChunkFormat::Zarr) if is_none => {
            "a Zarr store has chunks: -1 is a chunk for the whole axis".to_owned()
        }
        Some(ChunkFormat::Zarr) => return Ok(()),
        _ if *metadata_only => {
            format!("metadata only: format {name} has no chunks to copy")
        }
        None if is_requested => format!("format {name} has no chunks"),
        Some(ChunkFormat::Hdf5) if shards.is_some() => "HDF5 has no shards".to_owned(),
        Some(ChunkFormat::Hdf5) if is_none && codecs.as_ref().is_some_and(|own| !own.is_none()) => {
            "contiguous data has no codecs: leave out --codec or --chunks none".to_owned()
        }
        None | Some(ChunkFormat::Hdf5) => return Ok(()),
    };
    Err(Error::from(Problem::Chunks(why)))
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Chunking {
    chunk: Option<Vec<usize>>,
    shard: Option<Vec<usize>>,
    /// The order of the axes within a chunk; `None` if it is row-major.
    order: Option<Vec<usize>>,
    codecs: Option<Codecs>,
}

/// Extends shards that span an axis to whole chunks.
///
/// # Errors
/// Returns a message if a shard would be too large.
fn whole_chunks(shard: &[usize], chunk: &[usize], sizes: &[usize]) -> Result<Vec<usize>, String> {
    let axes = shard.iter().zip(chunk).zip(sizes);
    axes.map(|((shard, chunk), size)| match shard >= size {
        true => shard
            .checked_next_multiple_of(*chunk)
            .ok_or_else(|| format!("a shard of {shard} in chunks of {chunk} is too large")),
        false => Ok(*shard),
    })
    .collect()
}
