//! A Zarr store that is being written, as one sequence of bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use trundle_zarr::{
    ArrayWriter, Error, Folder, NewArray, Object, ObjectStore, UndecodedArray, ZarrArray,
    create_groups,
};

use super::codecs;
use crate::chunked::{BoxPosition, Recent, copy_box, part_of_chunk, read_box};
use crate::format::NewFolder;
use crate::lock::lock;
use crate::shared::WrittenFiles;
use crate::temporary_file::wait_for_end;
use crate::{Blob, ChunkedTensor, EncodedChunk, FileSkeleton, Problem, attributes};

/// The decoded shards or chunks of all arrays, one after the other. Each has only the part inside the tensor, see
/// [`ChunkedTensor`].
///
/// A chunk that is written by one call goes directly to the codecs. Parts of chunks wait in an unnamed temporary file
/// until the chunk is complete.
#[derive(Debug)]
pub(super) struct NewStore {
    arrays: Vec<Array>,
    end: u64,
    parts: Parts,
    recent: Recent,
    is_remote: bool,
    /// The list of written files, if several processes write the store.
    shared: Option<Arc<WrittenFiles>>,
}

#[derive(Debug)]
struct Array {
    begin: u64,
    sizes: Vec<usize>,
    /// The sizes of a shard, or of a chunk without shards.
    chunk: Vec<usize>,
    /// The bytes of the fill value, for elements beyond the end of the tensor.
    fill: Vec<u8>,
    writer: Writer,
    /// The array opened for reading; `None` until it is needed.
    written: Mutex<Option<Arc<ZarrArray>>>,
}

#[derive(Debug)]
enum Writer {
    /// Encodes chunks, or copies encoded ones.
    Encoding(Box<ArrayWriter>),
    /// Only copies encoded chunks.
    Copying(Box<UndecodedArray>),
}

struct Chunk<'a> {
    array: &'a Array,
    index: Vec<usize>,
    begin: u64,
    bytes: usize,
}

impl NewStore {
    /// Creates the store for the tensors of `skeleton`. If several processes write it, another one must have created it
    /// with all metadata.
    ///
    /// # Errors
    /// [`Problem`] if the metadata cannot be written.
    pub(super) fn begin(new: NewFolder<'_>, skeleton: &FileSkeleton) -> Result<NewStore, Problem> {
        let beside = |path: &Path| path.parent().unwrap_or(Path::new(".")).to_owned();
        let (objects, beside, shared): (Arc<dyn ObjectStore>, _, _) = match new {
            NewFolder::Alone(path) => (Arc::new(Folder::new(path)), beside(path), None),
            NewFolder::Shared { folder, made_in, written } => {
                (Arc::new(Folder::shared(folder, made_in)), beside(folder), Some(written))
            }
            #[cfg(feature = "s3")]
            NewFolder::Bucket(output, written) => (output, std::env::temp_dir(), written),
        };
        let is_group = skeleton.chunked().iter().all(|tensor| !tensor.path.is_empty());
        if is_group && shared.is_none() {
            let of_group =
                |(path, text): &(String, String)| (path.clone(), attributes::of_text(text));
            let groups = skeleton.groups().iter().map(of_group).collect();
            let (undecoded, new): (Vec<_>, Vec<_>) =
                skeleton.chunked().iter().partition(|tensor| tensor.undecoded.is_some());
            let undecoded =
                undecoded.into_iter().filter_map(|tensor| undecoded_array(&objects, tensor));
            let undecoded = undecoded.collect::<Result<Vec<_>, _>>().map_err(written)?;
            let new: Vec<NewArray> = new.into_iter().map(new_array).collect();
            create_groups(&*objects, &groups, &new, &undecoded).map_err(written)?;
        }
        let tensors = skeleton.chunked().iter().zip(skeleton.data_offsets());
        let arrays = tensors.map(|(tensor, begin)| {
            let writer = Writer::new(&objects, tensor, shared.is_none()).map_err(written)?;
            Ok(Array {
                begin: *begin,
                sizes: tensor.sizes.clone(),
                chunk: tensor.at_once().to_vec(),
                fill: tensor.fill(),
                writer,
                written: Mutex::default(),
            })
        });
        let arrays = arrays.collect::<Result<_, Problem>>()?;
        let parts = Parts { beside: beside.into(), chunks: Mutex::default() };
        let (end, recent, is_remote) = (skeleton.bytes(), Recent::default(), objects.is_remote());
        Ok(NewStore { arrays, end, parts, recent, is_remote, shared })
    }

    fn find(&self, offset: u64) -> Chunk<'_> {
        self.array(offset).around(offset)
    }

    fn array(&self, offset: u64) -> &Array {
        &self.arrays[self.arrays.partition_point(|array| array.begin <= offset) - 1]
    }
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
        codecs: codecs::to_metadata(&tensor.codecs, tensor.width),
        dtype: tensor.dtype.clone(),
        dimension_names: tensor.annotations.dimension_names.clone(),
        attributes: attributes::of_text(&tensor.annotations.attributes),
        fill: tensor.fill(),
    }
}

/// Returns the array of a tensor that is copied as it is stored; `None` for other tensors.
fn undecoded_array(
    objects: &Arc<dyn ObjectStore>,
    tensor: &ChunkedTensor,
) -> Option<Result<UndecodedArray, Error>> {
    let document = tensor.undecoded.clone()?;
    Some(UndecodedArray::new(objects, &tensor.path, document))
}

impl Writer {
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
            return Ok(Writer::Copying(Box::new(array)));
        }
        let writer = match is_new {
            true => ArrayWriter::create(objects, &new_array(tensor)),
            false => ArrayWriter::join(objects, &new_array(tensor)),
        };
        Ok(Writer::Encoding(Box::new(writer?)))
    }
}

fn written(error: Error) -> Problem {
    match error {
        Error::Io(error) => Problem::writing(error),
        other => other.into(),
    }
}

impl Array {
    fn around(&self, offset: u64) -> Chunk<'_> {
        // `outer` is the number of indices in the chunk along earlier axes, `inner` the number in the tensor along
        // later axes.
        let width = self.fill.len();
        let mut rest = (offset - self.begin) as usize / width.max(1);
        let (mut outer, mut first, mut index) = (1, 0, Vec::with_capacity(self.sizes.len()));
        for (axis, (size, chunk)) in self.sizes.iter().zip(&self.chunk).enumerate() {
            let inner: usize = self.sizes[axis + 1..].iter().product();
            let at = rest / (outer * inner) / chunk;
            let begin = at * chunk;
            rest -= outer * begin * inner;
            first += outer * begin * inner;
            outer *= (*chunk).min(size - begin);
            index.push(at);
        }
        let begin = self.begin + (first * width) as u64;
        Chunk { array: self, index, begin, bytes: outer * width }
    }

    /// Returns the writer of chunks that are encoded.
    ///
    /// # Errors
    /// If the array only copies chunks.
    fn encoder(&self) -> io::Result<&ArrayWriter> {
        match &self.writer {
            Writer::Encoding(writer) => Ok(writer),
            Writer::Copying(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn written(&self) -> Result<Arc<ZarrArray>, Error> {
        let mut written = lock(&self.written);
        if let Some(array) = &*written {
            return Ok(Arc::clone(array));
        }
        let array = Arc::new(self.encoder()?.written()?);
        *written = Some(Arc::clone(&array));
        Ok(array)
    }
}

impl Chunk<'_> {
    /// Writes the chunk, all of whose elements are in `bytes`.
    fn write(&self, bytes: &[u8], shared: Option<&WrittenFiles>) -> io::Result<()> {
        let Array { sizes, chunk, fill, .. } = self.array;
        let (_, lens) = part_of_chunk(&self.index, chunk, sizes);
        let mut whole = Cow::from(bytes);
        if lens != *chunk {
            let origin = vec![0; lens.len()];
            let mut padded = zeros(chunk.iter().product::<usize>() * fill.len())?;
            if fill.iter().any(|byte| *byte != 0) {
                padded
                    .chunks_exact_mut(fill.len())
                    .for_each(|element| element.copy_from_slice(fill));
            }
            let (from, to) = (
                BoxPosition { sizes: &lens, at: &origin },
                BoxPosition { sizes: chunk, at: &origin },
            );
            copy_box(&lens, fill.len(), (bytes, from), (&mut padded, to));
            whole = padded.into();
        }
        let written = self.array.encoder()?.write(&long(&self.index), &whole)?;
        if let (Some((path, bytes)), Some(shared)) = (written, shared) {
            shared.note(path, bytes);
        }
        Ok(())
    }

    fn read(&self) -> Result<Vec<u8>, Error> {
        let Array { sizes, chunk, .. } = self.array;
        let written = self.array.written()?;
        let (begin, lens) = part_of_chunk(&self.index, chunk, sizes);
        // `written` reads the chunks within a shard one at a time.
        let axes = begin.iter().zip(&written.chunk);
        let first: Vec<u64> = axes.map(|(begin, chunk)| *begin as u64 / chunk).collect();
        let mut bytes = zeros(self.bytes)?;
        read_box(&*written, (&first, 0), &lens, &mut bytes)?;
        Ok(bytes)
    }
}

fn zeros(bytes: usize) -> io::Result<Vec<u8>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

impl Blob for NewStore {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.end)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.end || buffer.is_empty() {
            return Ok(0);
        }
        let chunk = self.find(offset);
        self.recent.read(chunk.begin, offset, buffer, || chunk.read().map_err(io::Error::from))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if offset >= self.end || bytes.is_empty() {
            return Ok(0);
        }
        let chunk = self.find(offset);
        let left = chunk.bytes - (offset - chunk.begin) as usize;
        let own = &bytes[..bytes.len().min(left)];
        let written = match own.len() == chunk.bytes {
            true => chunk.write(own, self.shared.as_deref()),
            false => self.parts.add(&chunk, own, offset).and_then(|whole| match whole {
                Some(whole) => chunk.write(&whole, self.shared.as_deref()),
                None => Ok(()),
            }),
        };
        if written.is_err() {
            wait_for_end();
        }
        written.map(|()| own.len())
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
        let written = match &self.array(tensor).writer {
            Writer::Encoding(writer) => writer.write_encoded(&long(index), chunk),
            Writer::Copying(array) => array.write_encoded(&long(index), chunk).map_err(Error::from),
        };
        if written.is_err() {
            wait_for_end();
        }
        let (path, bytes) = written?;
        if let Some(shared) = &self.shared {
            shared.note(path, bytes);
        }
        Ok(())
    }

    fn encoded_chunk(&self, tensor: u64, index: &[usize]) -> io::Result<Option<EncodedChunk>> {
        match &self.array(tensor).writer {
            Writer::Copying(array) => Ok(array.encoded(&long(index))?.map(EncodedChunk::from)),
            Writer::Encoding(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Does nothing: files get their space when they are written.
    fn resize(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    /// Checks that all chunks are complete. Their files are synced when the store is finished.
    fn sync(&self) -> io::Result<()> {
        match self.parts.chunks().covered.first_key_value() {
            None => Ok(()),
            Some((begin, bytes)) => {
                Err(io::Error::other(format!("the chunk at byte {begin} has {bytes} bytes only")))
            }
        }
    }

    fn takes_whole(&self) -> bool {
        true
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn expect_readers(&self, readers: usize) {
        self.recent.expect_readers(readers);
    }
}

#[derive(Debug)]
struct Parts {
    beside: Box<Path>,
    chunks: Mutex<IncompleteChunks>,
}

#[derive(Debug, Default)]
struct IncompleteChunks {
    /// The temporary file, with each part at its offset in the sequence.
    file: Option<Arc<File>>,
    /// The bytes present of each incomplete chunk, by the offset of the chunk.
    covered: BTreeMap<u64, usize>,
}

impl Parts {
    fn chunks(&self) -> MutexGuard<'_, IncompleteChunks> {
        lock(&self.chunks)
    }

    fn file(&self) -> io::Result<Arc<File>> {
        let mut chunks = self.chunks();
        if let Some(file) = &chunks.file {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(tempfile::tempfile_in(&self.beside)?);
        chunks.file = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Adds a part of a chunk, and returns the whole chunk if this was the last part.
    fn add(&self, chunk: &Chunk<'_>, bytes: &[u8], offset: u64) -> io::Result<Option<Vec<u8>>> {
        let file = self.file()?;
        file.write_all_at(bytes, offset)?;
        {
            // Count after the write, so that the thread that adds the last part finds all others.
            let mut chunks = self.chunks();
            let covered = chunks.covered.entry(chunk.begin).or_default();
            *covered += bytes.len();
            if *covered < chunk.bytes {
                return Ok(None);
            }
            chunks.covered.remove(&chunk.begin);
        }
        let mut whole = zeros(chunk.bytes)?;
        file.read_exact_at(&mut whole, chunk.begin)?;
        release(&file, chunk.begin, chunk.bytes as u64);
        Ok(Some(whole))
    }
}

/// Frees the disk space of a range, if the file system can.
fn release(file: &File, offset: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::FallocateFlags;

        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(file, flags, offset, bytes);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunked::{counts, indices};

    #[test]
    fn every_byte_is_one_of_its_chunk() {
        for (sizes, chunk) in [
            (&[5, 7, 9][..], &[2, 3, 4][..]),
            (&[6, 4], &[6, 4]),
            (&[10], &[3]),
            (&[3, 5], &[9, 1]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let objects: Arc<dyn ObjectStore> = Arc::new(Folder::new(folder.path()));
            let new = NewArray {
                path: String::new(),
                shape: long(sizes),
                chunk: long(chunk),
                shard: None,
                order: (0..sizes.len()).collect(),
                codecs: Vec::new(),
                dtype: "uint16".to_owned(),
                dimension_names: Vec::new(),
                attributes: trundle_zarr::Attributes::new(),
                fill: vec![0; 2],
            };
            let writer = ArrayWriter::create(&objects, &new).unwrap();
            let writer = Writer::Encoding(Box::new(writer));
            let (sizes, chunk) = (sizes.to_vec(), chunk.to_vec());
            let array =
                Array { begin: 8, sizes, chunk, fill: new.fill, writer, written: Mutex::default() };
            let mut offset = 8;
            for index in indices(&counts(&array.sizes, &array.chunk)) {
                let (_, lens) = part_of_chunk(&index, &array.chunk, &array.sizes);
                let bytes = 2 * lens.iter().product::<usize>();
                for at in offset..offset + bytes as u64 {
                    let found = array.around(at);
                    assert_eq!((&found.index, found.begin, found.bytes), (&index, offset, bytes));
                }
                offset += bytes as u64;
            }
            assert_eq!(offset, 8 + 2 * array.sizes.iter().product::<usize>() as u64);
        }
    }
}
