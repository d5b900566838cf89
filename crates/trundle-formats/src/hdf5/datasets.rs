//! Reads the datasets of a file as tensors.

use std::sync::Arc;

use trundle_core::Shape;
use trundle_hdf5::{ASCII_STRING, Dataset, Hdf5File, STRING};

use super::codecs;
use super::data::Bytes;
use super::texts::{ChunkedTexts, FileTexts, StoredTexts, UnchunkedTexts};
use crate::chunked::{
    self, ChunkedArray, ChunkedFile, Chunks, Data, Unstored, bytes_of_chunks, too_large, usable,
};
use crate::contents::Listing;
use crate::names::check_unique;
use crate::texts::{NUMBER_BYTES, Texts};
use crate::{
    Annotations, Blob, Encoding, Header, Problem, StoredDType, TensorHint, Unreadable, attributes,
};

/// The datasets while offsets are assigned to them.
#[derive(Default)]
struct AssignedDatasets {
    headers: Vec<Header>,
    chunked: Vec<Option<usize>>,
    unstored: Vec<(u64, Unstored)>,
    arrays: Vec<(u64, Box<dyn ChunkedArray>)>,
    /// The next free offsets. Offsets of chunks are relative until the size of all other data is known.
    unstored_end: u64,
    chunks_end: u64,
}

/// Returns the contents of a file with these datasets.
pub(super) fn read(
    blob: Arc<dyn Blob>,
    bytes: u64,
    own_name: &str,
    mut file: Hdf5File,
    hint: &TensorHint,
) -> Result<ChunkedFile, Problem> {
    let mut unreadable: Vec<Unreadable> = file
        .unreadable
        .into_iter()
        .map(|each| Unreadable { name: each.path, problem: each.error.into() })
        .collect();
    let texts = FileTexts {
        file: Arc::new(Bytes { blob: Arc::clone(&blob), bytes }),
        strings: Arc::new(file.strings),
        texts: Texts::shared(),
    };
    let mut assigned = AssignedDatasets { unstored_end: bytes, ..AssignedDatasets::default() };
    for dataset in file.datasets {
        let name = dataset.path.clone();
        if let Err(problem) = assigned.add(dataset, &texts) {
            unreadable.push(Unreadable { name, problem });
        }
    }
    let AssignedDatasets { mut headers, chunked, unstored, mut arrays, unstored_end, chunks_end } =
        assigned;
    if headers.is_empty() {
        return Err(match unreadable.pop() {
            None => Problem::Unsupported(format!("\"{own_name}\" holds no dataset")),
            Some(last) => last.into_problem(),
        });
    }
    let names = headers.iter().map(|header| &header.name[..]);
    check_unique(names).map_err(|name| Problem::Malformed(format!("\"{name}\" is there twice")))?;
    let end = unstored_end.checked_add(chunks_end).filter(|end| *end <= i64::MAX as u64);
    let end =
        end.ok_or_else(|| Problem::unsupported("more bytes in chunks than a file can have"))?;
    arrays.iter_mut().for_each(|(begin, _)| *begin += unstored_end);
    for (header, _) in headers.iter_mut().zip(&chunked).filter(|(_, array)| array.is_some()) {
        header.data_offset = header.data_offset.map(|begin| begin + unstored_end);
    }
    let headers = hint.apply_to_chunked(&headers)?;
    let chunks = Chunks::new(arrays, end);
    let data = Data { file: blob, bytes, unstored, chunks_begin: unstored_end, chunks };
    let of_root = file.groups.remove("").unwrap_or_default();
    let of_root = attributes::to_metadata_without_objects(of_root);
    let metadata = attributes::with_groups(of_root, &file.groups);
    let attribute = |(group, name): (String, String)| match group.is_empty() {
        true => format!("attribute {name}"),
        false => format!("attribute {name} of {group}"),
    };
    let unread = file.unheld.into_iter().map(attribute).collect();
    Ok(ChunkedFile { listing: Listing { headers, metadata, unread, unreadable }, chunked, data })
}

impl AssignedDatasets {
    fn add(&mut self, dataset: Dataset, texts: &FileTexts) -> Result<(), Problem> {
        let Dataset { path, shape, dtype, width, data, attributes, max_sizes, .. } = dataset;
        let holds_texts = [STRING, ASCII_STRING].contains(&&*dtype);
        let annotations = Annotations {
            dimension_names: dataset.dimension_names,
            dimension_lengths: dataset.dimension_lengths,
            max_sizes: if max_sizes.iter().all(|most| *most == 0) { Vec::new() } else { max_sizes },
            attributes: attributes::to_text(&attributes),
            fill: match dataset.fill {
                Some(fill) if holds_texts => Some(texts.numbers(&fill).map_err(Problem::reading)?),
                fill => fill,
            },
            is_whole: false,
            unread: dataset.unheld.iter().map(|name| format!("attribute {name}")).collect(),
        };
        let header = match holds_texts {
            true => {
                let shape = Shape::new(usable(&shape)?)?;
                Header::row_major(path, StoredDType::of_texts(&dtype), shape, None)?
            }
            false => chunked::header(path, &dtype, width, &shape)?,
        };
        let header = Header { annotations, ..header };
        let bytes = header.data_bytes as u64;
        let unchunked = |stored| {
            let (of, elements) = (texts.clone(), bytes / NUMBER_BYTES as u64);
            Unstored::Converted(Box::new(UnchunkedTexts { of, stored, elements }), bytes)
        };
        let (mut decoding_picoseconds, mut encoding) = (0, None);
        let (offset, chunk, array) = match data {
            trundle_hdf5::Data::At(offset) if holds_texts => {
                (self.assign_offset(unchunked(StoredTexts::At(offset)))?, None, None)
            }
            trundle_hdf5::Data::At(offset) => (offset, None, None),
            trundle_hdf5::Data::InMemory(data) if holds_texts => {
                (self.assign_offset(unchunked(StoredTexts::InMemory(data)))?, None, None)
            }
            trundle_hdf5::Data::InMemory(data) => {
                (self.assign_offset(Unstored::InMemory(data))?, None, None)
            }
            trundle_hdf5::Data::Filled(element) => {
                let element = match holds_texts {
                    true => texts.numbers(&element).map_err(Problem::reading)?,
                    false => element,
                };
                (self.assign_offset(Unstored::Filled(element, bytes))?, None, None)
            }
            trundle_hdf5::Data::Chunked(array) => {
                let chunk = usable(&array.chunk)?;
                let begin = self.chunks_end;
                decoding_picoseconds = array.decoding_picoseconds();
                let decoding_bytes = array.decoding_bytes();
                encoding = Some(Encoding { decoding_bytes, ..codecs::encoding(&array.filters()) });
                let array: Box<dyn ChunkedArray> = match holds_texts {
                    true => Box::new(ChunkedTexts { of: texts.clone(), chunked: array }),
                    false => array,
                };
                let all = bytes_of_chunks(&header.shape, &chunk, array.chunk_bytes());
                let end = all.and_then(|bytes| bytes.checked_add(begin)).ok_or_else(too_large)?;
                self.chunks_end = end;
                self.arrays.push((begin, array));
                (begin, Some(chunk), Some(self.arrays.len() - 1))
            }
        };
        let data_offset = Some(offset);
        self.headers.push(Header { data_offset, chunk, encoding, decoding_picoseconds, ..header });
        self.chunked.push(array);
        Ok(())
    }

    fn assign_offset(&mut self, unstored: Unstored) -> Result<u64, Problem> {
        let begin = self.unstored_end;
        let end = begin.checked_add(unstored.bytes()).filter(|end| *end <= i64::MAX as u64);
        self.unstored_end = end.ok_or_else(|| {
            Problem::unsupported("more bytes that were never written than a file can have")
        })?;
        // Data without bytes is never read.
        if end > Some(begin) {
            self.unstored.push((begin, unstored));
        }
        Ok(begin)
    }
}
