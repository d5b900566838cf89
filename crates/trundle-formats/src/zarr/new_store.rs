//! A Zarr store that is being written, as one sequence of bytes.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use trundle_zarr::{
    ArrayWriter, Error, Folder, NewArray, NewShape, Object, ObjectStore, TextArray, UndecodedArray,
    ZarrArray, create_groups, reshaped,
};

use super::codecs;
use super::texts::ZarrTexts;
use crate::addition::{CHUNKS, Changed, Record};
use crate::chunked::{
    BoxPosition, ChunkWriter, ChunkedArray, NewChunks, WrittenArray, copy_box, part_of_chunk,
    read_box, zeros,
};
use crate::format::NewFolder;
use crate::lock::lock;
use crate::shared::WrittenFiles;
use crate::temporary_file::wait_for_end;
use crate::texts::Texts;
use crate::{Blob, ChunkedTensor, EncodedChunk, FileSkeleton, Place, Problem, Shown, attributes};

/// The decoded shards or chunks of all arrays, one after the other.
#[derive(Debug)]
pub(super) struct NewStore {
    chunks: NewChunks<Array>,
    end: u64,
    is_remote: bool,
}

#[derive(Debug)]
struct Array {
    writer: Writer,
    /// The array opened for reading; `None` until it is needed.
    written: Mutex<Option<Arc<dyn ChunkedArray>>>,
    /// The list of written files, if several processes write the store.
    shared: Option<Arc<WrittenFiles>>,
    /// The part of an existing array that is written or compared; `None` for a new array.
    part: Option<Part>,
}

#[derive(Debug)]
struct Part {
    place: Place,
    /// The array in the store; `None` if it cannot be decoded.
    existing: Option<Box<dyn ChunkedArray>>,
    sizes: Vec<usize>,
}

#[derive(Debug)]
enum Writer {
    /// Encodes chunks, or copies encoded ones.
    Encoding(Box<ArrayWriter>),
    /// Encodes chunks of strings, or copies encoded ones.
    OfTexts(Arc<ZarrTexts>),
    /// Only copies encoded chunks.
    Copying(Box<UndecodedArray>),
    /// Writes nothing, because the chunks are compared with an existing array. If the array cannot be decoded,
    /// reads its encoded chunks.
    Comparing(Option<Box<UndecodedArray>>),
}

impl NewStore {
    /// Creates the store for the tensors of `skeleton`. If several processes write it, another one must have created it
    /// with all metadata.
    ///
    /// # Errors
    /// [`Problem`] if the metadata cannot be written.
    pub(super) fn begin(new: NewFolder<'_>, skeleton: &FileSkeleton) -> Result<NewStore, Problem> {
        #[cfg(windows)]
        if matches!(&new, NewFolder::Alone(_) | NewFolder::Shared { .. }) {
            check_names(skeleton)?;
        }
        let beside = |path: &Path| path.parent().unwrap_or(Path::new(".")).to_owned();
        let existing: Option<Arc<dyn ObjectStore>> = match &new {
            NewFolder::Addition { folder, store, request } => {
                let existing = Folder::new(store);
                let changed = changed(&existing, Some(store), skeleton)?;
                Record::new(request, changed).write(folder)?;
                Some(Arc::new(existing))
            }
            NewFolder::BucketAddition(addition) => {
                let objects = addition.objects();
                addition.set_changed(changed(&*objects, None, skeleton)?);
                Some(objects)
            }
            _ => None,
        };
        let (objects, beside, shared): (Arc<dyn ObjectStore>, _, _) = match new {
            NewFolder::Alone(path) => (Arc::new(Folder::new(path)), beside(path), None),
            NewFolder::Shared { folder, made_in, written } => {
                (Arc::new(Folder::shared(folder, made_in)), beside(folder), Some(written))
            }
            NewFolder::Addition { folder, .. } => {
                let chunks = folder.join(CHUNKS);
                std::fs::create_dir(&chunks).map_err(Problem::writing)?;
                (Arc::new(Folder::new(&chunks)), folder.to_owned(), None)
            }
            NewFolder::BucketAddition(addition) => {
                let chunks = addition.chunks();
                (Arc::new(Folder::new(&chunks)), beside(&chunks), None)
            }
            NewFolder::Bucket(output, written) => (output, std::env::temp_dir(), written),
        };
        let is_group =
            existing.is_none() && skeleton.chunked().all(|tensor| !tensor.path.is_empty());
        if is_group && shared.is_none() {
            let of_group =
                |(path, text): &(String, String)| (path.clone(), attributes::of_text(text));
            let groups = skeleton.groups().iter().map(of_group).collect();
            let (undecoded, new): (Vec<_>, Vec<_>) = skeleton
                .chunked()
                .partition(|tensor| tensor.undecoded.is_some() || tensor.holds_texts);
            let undecoded =
                undecoded.into_iter().filter_map(|tensor| undecoded_array(&objects, tensor));
            let undecoded = undecoded.collect::<Result<Vec<_>, _>>().map_err(written)?;
            let new: Vec<NewArray> = new.into_iter().map(new_array).collect();
            create_groups(&*objects, &groups, &new, &undecoded).map_err(written)?;
        }
        let arrays = skeleton.chunked_at().map(|(begin, tensor)| {
            let writer = match &existing {
                Some(existing) => Writer::into_existing(&objects, existing, tensor),
                None => Writer::new(&objects, tensor, shared.is_none()),
            };
            let writer = writer.map_err(written)?;
            let part = tensor
                .place
                .clone()
                .zip(existing.as_ref())
                .map(|(place, existing)| Part::new(place, existing, tensor));
            let part = part.transpose().map_err(written)?;
            Ok(WrittenArray {
                begin,
                sizes: tensor.sizes.clone(),
                chunk: tensor.at_once().to_vec(),
                fill: tensor.fill(),
                writer: Array { writer, written: Mutex::default(), shared: shared.clone(), part },
            })
        });
        let chunks = NewChunks::new(arrays.collect::<Result<_, Problem>>()?, &beside);
        Ok(NewStore { chunks, end: skeleton.bytes(), is_remote: objects.is_remote() })
    }
}

/// Checks that Windows can store the arrays and groups as folders, and distinguishes their names.
#[cfg(windows)]
fn check_names(skeleton: &FileSkeleton) -> Result<(), Problem> {
    let mut known = std::collections::BTreeMap::new();
    let arrays = skeleton.chunked().map(|tensor| &tensor.path);
    for path in arrays.chain(skeleton.groups().iter().map(|(path, _)| path)) {
        let refused =
            |why: String| Problem::CannotHold { format: super::NAME, tensor: path.clone(), why };
        let names = path.split('/').filter(|name| !name.is_empty());
        if let Some(why) = names.clone().find_map(crate::names::refused_by_windows) {
            return Err(refused(why.to_owned()));
        }
        // Windows ignores the case of names: two folders would be one.
        for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
            let folder = &path[..end];
            let other = known.entry(folder.to_lowercase()).or_insert(folder);
            if *other != folder {
                return Err(refused(format!(
                    "its path differs from \"{other}\" only in case, which Windows ignores"
                )));
            }
        }
    }
    Ok(())
}

pub(super) fn long(sizes: &[usize]) -> Vec<u64> {
    sizes.iter().map(|size| *size as u64).collect()
}

pub(super) fn new_array(tensor: &ChunkedTensor) -> NewArray {
    NewArray {
        path: tensor.path.clone(),
        shape: long(&tensor.sizes),
        chunk: long(&tensor.chunk),
        shard: tensor.shard.as_deref().map(long),
        order: tensor.order.clone().unwrap_or_else(|| (0..tensor.sizes.len()).collect()),
        // Strings do not have a fixed width.
        codecs: codecs::to_metadata(
            &tensor.codecs,
            if tensor.holds_texts { 1 } else { tensor.width },
        ),
        dtype: tensor.dtype.clone(),
        dimension_names: tensor.annotations.dimension_names.clone(),
        attributes: attributes::of_text(&tensor.annotations.attributes),
        fill: tensor.fill(),
    }
}

/// Returns the array of a tensor that is copied without decoding, or that consists of strings; `None` for other tensors.
fn undecoded_array(
    objects: &Arc<dyn ObjectStore>,
    tensor: &ChunkedTensor,
) -> Option<Result<UndecodedArray, Error>> {
    let document = match &tensor.undecoded {
        None if tensor.holds_texts => match fill_text(tensor) {
            Ok(fill) => TextArray::document(&new_array(tensor), &fill),
            Err(error) => return Some(Err(error.into())),
        },
        undecoded => undecoded.clone()?,
    };
    Some(UndecodedArray::new(objects, &tensor.path, document))
}

/// Returns the fill value of an array of strings.
fn fill_text(tensor: &ChunkedTensor) -> io::Result<String> {
    let texts = Texts::shared();
    let text = texts.table().texts(&tensor.fill())?.concat();
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns the metadata of a store that an addition changes.
///
/// # Errors
/// If the metadata has changed since the work was planned.
fn changed(
    objects: &dyn ObjectStore,
    folder: Option<&Path>,
    skeleton: &FileSkeleton,
) -> Result<Vec<Changed>, Problem> {
    let places = skeleton.chunked().filter_map(|tensor| tensor.place.as_ref());
    let shape = |place: &Place| NewShape {
        path: place.path.clone(),
        before: long(&place.before),
        after: long(&place.after),
    };
    let arrays: Vec<NewShape> = places.map(shape).collect();
    let changed = reshaped(objects, &arrays)?.into_iter();
    Ok(changed.map(|each| Changed::new(folder, each)).collect())
}

impl Part {
    fn new(
        place: Place,
        existing: &Arc<dyn ObjectStore>,
        tensor: &ChunkedTensor,
    ) -> Result<Part, Error> {
        let sizes = tensor.sizes.clone();
        if tensor.undecoded.is_some() {
            return Ok(Part { place, existing: None, sizes });
        }
        let (array, shard): (Box<dyn ChunkedArray>, _) = if tensor.holds_texts {
            let array = UndecodedArray::open(existing, &place.path)?;
            (Box::new(ZarrTexts::new(TextArray::of(&array)?)?), None)
        } else {
            let after = long(&place.after);
            let array = ZarrArray::reshaped(&**existing, &place.path, &after, existing)?;
            let shard = array.shard.clone();
            (Box::new(array), shard)
        };
        if (array.chunk(), shard) != (&*long(&place.chunk), place.shard.as_deref().map(long)) {
            return Err(Error::Unsupported("has changed in the meantime".to_owned()));
        }
        Ok(Part { place, existing: Some(array), sizes })
    }

    /// Returns the grid position in the array of a chunk or shard of the part.
    fn index(&self, index: &[usize]) -> Vec<u64> {
        index.iter().zip(self.place.first()).map(|(at, first)| *at as u64 + first).collect()
    }

    /// Reads the box of an existing array that corresponds to a chunk of the part.
    fn read(&self, array: &dyn ChunkedArray, index: &[usize], out: &mut [u8]) -> io::Result<()> {
        let (_, lens) = part_of_chunk(index, self.place.at_once(), &self.sizes);
        let first = self.index(index).into_iter().zip(self.place.at_once()).zip(array.chunk());
        let first: Vec<u64> = first.map(|((at, size), chunk)| at * *size as u64 / chunk).collect();
        read_box(array, (&first, 0), &lens, out)
    }

    /// Checks that the chunk `bytes` has the elements of the existing array.
    fn compare(&self, array: &dyn ChunkedArray, index: &[usize], bytes: &[u8]) -> io::Result<()> {
        let chunk = self.place.at_once();
        let (_, lens) = part_of_chunk(index, chunk, &self.sizes);
        let width = bytes.len() / chunk.iter().product::<usize>();
        let mut expected = zeros(lens.iter().product::<usize>() * width)?;
        self.read(array, index, &mut expected)?;
        let (mut own, origin) = (zeros(expected.len())?, vec![0; lens.len()]);
        let (from, to) =
            (BoxPosition { sizes: chunk, at: &origin }, BoxPosition { sizes: &lens, at: &origin });
        copy_box(&lens, width, (bytes, from), (&mut own, to));
        if own == expected { Ok(()) } else { Err(self.differs()) }
    }

    fn differs(&self) -> io::Error {
        let why = format!(
            "\"{}\" differs from the array in the store and does not have the axis",
            Shown(&self.place.path)
        );
        io::Error::new(io::ErrorKind::InvalidData, why)
    }
}

impl Writer {
    /// Creates the writer of a tensor with a place in the store `existing`.
    fn into_existing(
        objects: &Arc<dyn ObjectStore>,
        existing: &Arc<dyn ObjectStore>,
        tensor: &ChunkedTensor,
    ) -> Result<Writer, Error> {
        let Some(place) = &tensor.place else {
            return Err(Error::Unsupported("has no place in the store".to_owned()));
        };
        let array = || UndecodedArray::open(existing, &place.path);
        if place.is_compared {
            let undecoded = tensor.undecoded.is_some().then(array).transpose()?;
            return Ok(Writer::Comparing(undecoded.map(Box::new)));
        }
        if tensor.holds_texts {
            let described = array()?.document;
            return Writer::of_texts(&UndecodedArray::new(objects, &place.path, described)?);
        }
        let (after, first) = (long(&place.after), place.first());
        let writer = ArrayWriter::into_existing(objects, existing, &place.path, &after, &first)?;
        Ok(Writer::Encoding(Box::new(writer)))
    }

    /// Creates the writer of an array, and writes the array's metadata if `is_new` is true.
    fn new(
        objects: &Arc<dyn ObjectStore>,
        tensor: &ChunkedTensor,
        is_new: bool,
    ) -> Result<Writer, Error> {
        if let Some(array) = undecoded_array(objects, tensor).transpose()? {
            if is_new {
                array.create()?;
            }
            return match tensor.holds_texts {
                true => Writer::of_texts(&array),
                false => Ok(Writer::Copying(Box::new(array))),
            };
        }
        let writer = match is_new {
            true => ArrayWriter::create(objects, &new_array(tensor)),
            false => ArrayWriter::join(objects, &new_array(tensor)),
        };
        Ok(Writer::Encoding(Box::new(writer?)))
    }

    fn of_texts(array: &UndecodedArray) -> Result<Writer, Error> {
        Ok(Writer::OfTexts(Arc::new(ZarrTexts::new(TextArray::of(array)?)?)))
    }
}

fn written(error: Error) -> Problem {
    match error {
        Error::Io(error) => Problem::writing(error),
        other => other.into(),
    }
}

impl Array {
    /// Returns the writer of chunks that are encoded.
    ///
    /// # Errors
    /// If the array only copies chunks.
    fn encoder(&self) -> io::Result<&ArrayWriter> {
        match &self.writer {
            Writer::Encoding(writer) => Ok(writer),
            Writer::OfTexts(_) | Writer::Copying(_) | Writer::Comparing(_) => {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }

    fn written(&self) -> Result<Arc<dyn ChunkedArray>, Error> {
        let mut written = lock(&self.written);
        if let Some(array) = &*written {
            return Ok(Arc::clone(array));
        }
        let array: Arc<dyn ChunkedArray> = match &self.writer {
            Writer::OfTexts(texts) => Arc::clone(texts) as _,
            _ => Arc::new(self.encoder()?.written()?),
        };
        *written = Some(Arc::clone(&array));
        Ok(array)
    }
}

impl ChunkWriter for Array {
    fn write_chunk(&self, index: &[usize], bytes: &[u8]) -> io::Result<()> {
        if let Some(part @ Part { place, existing: Some(array), .. }) = &self.part
            && place.is_compared
        {
            return part.compare(&**array, index, bytes);
        }
        let written = match (&self.writer, &self.part) {
            (Writer::OfTexts(texts), Some(part @ Part { existing: Some(array), .. })) => {
                let index = part.index(index);
                texts.write_chunk(&index, bytes, || Ok(array.stored_chunk(&index)?.is_some()))?
            }
            (Writer::OfTexts(texts), _) => texts.write_chunk(&long(index), bytes, || Ok(false))?,
            _ => self.encoder()?.write(&long(index), bytes)?,
        };
        if let (Some((path, bytes)), Some(shared)) = (written, &self.shared) {
            shared.note(path, bytes);
        }
        Ok(())
    }

    fn read_chunk(
        &self,
        index: &[usize],
        begin: &[usize],
        lens: &[usize],
        out: &mut [u8],
    ) -> io::Result<()> {
        match &self.part {
            Some(part @ Part { place, existing: Some(array), .. }) if place.is_compared => {
                return part.read(&**array, index, out);
            }
            Some(part) => return part.read(&*self.written()?, index, out),
            None => {}
        }
        let written = self.written()?;
        // `written` reads the chunks within a shard one at a time.
        let axes = begin.iter().zip(written.chunk());
        let first: Vec<u64> = axes.map(|(begin, chunk)| *begin as u64 / chunk).collect();
        read_box(&*written, (&first, 0), lens, out)
    }
}

impl Blob for NewStore {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.end)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.end || buffer.is_empty() {
            return Ok(0);
        }
        self.chunks.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if offset >= self.end || bytes.is_empty() {
            return Ok(0);
        }
        self.chunks.write_at(bytes, offset)
    }

    fn write_encoded_chunk(
        &self,
        tensor: u64,
        index: &[usize],
        chunk: EncodedChunk,
    ) -> io::Result<()> {
        let chunk = match chunk {
            EncodedChunk::File(file) => Object::File(file),
            EncodedChunk::Bytes(bytes) => Object::Bytes(bytes.into()),
            EncodedChunk::Elsewhere(object) => Object::Elsewhere(object),
        };
        let array = &self.chunks.array(tensor).writer;
        let written = match &array.writer {
            Writer::Encoding(writer) => writer.write_encoded(&long(index), chunk),
            Writer::OfTexts(texts) => {
                texts.array.array.write_encoded(&long(index), chunk).map_err(Error::from)
            }
            Writer::Copying(array) => array.write_encoded(&long(index), chunk).map_err(Error::from),
            Writer::Comparing(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        if written.is_err() {
            wait_for_end();
        }
        let (path, bytes) = written?;
        if let Some(shared) = &array.shared {
            shared.note(path, bytes);
        }
        Ok(())
    }

    fn encoded_chunk(&self, tensor: u64, index: &[usize]) -> io::Result<Option<EncodedChunk>> {
        match &self.chunks.array(tensor).writer.writer {
            Writer::Copying(array) | Writer::Comparing(Some(array)) => {
                Ok(array.encoded(&long(index))?.map(EncodedChunk::from))
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Does nothing: files get their space when they are written.
    fn resize(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    /// Checks that all chunks are complete. Their files are synced when the store is finished.
    fn sync(&self) -> io::Result<()> {
        self.chunks.check_complete()
    }

    fn takes_whole(&self) -> bool {
        true
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn expect_readers(&self, readers: usize) {
        self.chunks.expect_readers(readers);
    }
}
