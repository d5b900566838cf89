//! A Zarr store that is being written, as one sequence of bytes.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use trundle_zarr::{
    ArrayWriter, Error, Folder, NewArray, Object, ObjectStore, UndecodedArray, ZarrArray,
    create_groups,
};

use super::codecs;
use crate::chunked::{ChunkWriter, NewChunks, WrittenArray, read_box};
use crate::format::NewFolder;
use crate::lock::lock;
use crate::shared::WrittenFiles;
use crate::temporary_file::wait_for_end;
use crate::{Blob, ChunkedTensor, EncodedChunk, FileSkeleton, Problem, attributes};

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
    written: Mutex<Option<Arc<ZarrArray>>>,
    /// The list of written files, if several processes write the store.
    shared: Option<Arc<WrittenFiles>>,
}

#[derive(Debug)]
enum Writer {
    /// Encodes chunks, or copies encoded ones.
    Encoding(Box<ArrayWriter>),
    /// Only copies encoded chunks.
    Copying(Box<UndecodedArray>),
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
        let (objects, beside, shared): (Arc<dyn ObjectStore>, _, _) = match new {
            NewFolder::Alone(path) => (Arc::new(Folder::new(path)), beside(path), None),
            NewFolder::Shared { folder, made_in, written } => {
                (Arc::new(Folder::shared(folder, made_in)), beside(folder), Some(written))
            }
            NewFolder::Bucket(output, written) => (output, std::env::temp_dir(), written),
        };
        let is_group = skeleton.chunked().all(|tensor| !tensor.path.is_empty());
        if is_group && shared.is_none() {
            let of_group =
                |(path, text): &(String, String)| (path.clone(), attributes::of_text(text));
            let groups = skeleton.groups().iter().map(of_group).collect();
            let (undecoded, new): (Vec<_>, Vec<_>) =
                skeleton.chunked().partition(|tensor| tensor.undecoded.is_some());
            let undecoded =
                undecoded.into_iter().filter_map(|tensor| undecoded_array(&objects, tensor));
            let undecoded = undecoded.collect::<Result<Vec<_>, _>>().map_err(written)?;
            let new: Vec<NewArray> = new.into_iter().map(new_array).collect();
            create_groups(&*objects, &groups, &new, &undecoded).map_err(written)?;
        }
        let arrays = skeleton.chunked_at().map(|(begin, tensor)| {
            let writer = Writer::new(&objects, tensor, shared.is_none()).map_err(written)?;
            Ok(WrittenArray {
                begin,
                sizes: tensor.sizes.clone(),
                chunk: tensor.at_once().to_vec(),
                fill: tensor.fill(),
                writer: Array { writer, written: Mutex::default(), shared: shared.clone() },
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
        codecs: codecs::to_metadata(&tensor.codecs, tensor.width),
        dtype: tensor.dtype.clone(),
        dimension_names: tensor.annotations.dimension_names.clone(),
        attributes: attributes::of_text(&tensor.annotations.attributes),
        fill: tensor.fill(),
    }
}

/// Returns the array of a tensor that is copied without decoding; `None` for other tensors.
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

impl ChunkWriter for Array {
    fn write_chunk(&self, index: &[usize], bytes: &[u8]) -> io::Result<()> {
        let written = self.encoder()?.write(&long(index), bytes)?;
        if let (Some((path, bytes)), Some(shared)) = (written, &self.shared) {
            shared.note(path, bytes);
        }
        Ok(())
    }

    fn read_chunk(
        &self,
        _index: &[usize],
        begin: &[usize],
        lens: &[usize],
        out: &mut [u8],
    ) -> io::Result<()> {
        let written = self.written()?;
        // `written` reads the chunks within a shard one at a time.
        let axes = begin.iter().zip(&written.chunk);
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
            Writer::Copying(array) => array.write_encoded(&long(index), chunk).map_err(Error::from),
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
