//! Makes the skeleton of a new file.

use trundle_core::{DType, Width};
use trundle_hdf5::{ELEMENT_BYTES, NewChunks, NewDataset, NewFile};

use super::FORMAT;
use super::codecs::filters;
use super::texts::check_nul;
use crate::chunked::{bytes_of_chunks, usable};
use crate::codecs::Codec;
use crate::names::check_relative;
use crate::skeleton::{check_names, chunk_of, is_whole};
use crate::stored_dtype::ByteOrder;
use crate::texts::Texts;
use crate::{
    AXES_KEY, ChunkFormat, ChunkedTensor, Codecs, Described, FileSkeleton, Problem, StoredDType,
    attributes,
};

pub(super) fn hdf5(
    tensors: &[Described<'_>],
    metadata: &[(String, String)],
) -> Result<FileSkeleton, Problem> {
    skeleton(tensors, metadata, false)
}

pub(super) fn netcdf(
    tensors: &[Described<'_>],
    metadata: &[(String, String)],
) -> Result<FileSkeleton, Problem> {
    skeleton(tensors, metadata, true)
}

/// Creates the skeleton: all metadata, followed by contiguous data, and then by the data in chunks.
fn skeleton(
    tensors: &[Described<'_>],
    metadata: &[(String, String)],
    is_netcdf: bool,
) -> Result<FileSkeleton, Problem> {
    check_names(FORMAT.name, tensors)?;
    let mut datasets = tensors.iter().map(dataset).collect::<Result<Vec<NewDataset>, Problem>>()?;
    let is_path = |path: &str| {
        path.split('/').all(|part| !part.is_empty() && part != "." && !part.contains('\0'))
    };
    let names: Vec<&str> = tensors.iter().map(|tensor| tensor.name).collect();
    let (mut groups, of_root) = attributes::split_groups(metadata, &names, is_path);
    // The metadata of a file with a single whole tensor belongs to the dataset, except for the record of axes.
    let of_dataset = |(key, _): &(String, String)| is_whole(tensors) && key != AXES_KEY;
    let (of_dataset, of_root): (Vec<_>, Vec<_>) = of_root.into_iter().partition(of_dataset);
    for dataset in &mut datasets {
        let mut own = attributes::of_metadata_without_objects(&of_dataset);
        own.append(&mut dataset.attributes);
        dataset.attributes = own;
    }
    groups.insert(String::new(), attributes::of_metadata_without_objects(&of_root));
    let each = tensors.iter().zip(&datasets);
    let each = each.map(|(tensor, dataset)| chunked(tensor, dataset));
    let mut chunked = each.collect::<Result<Vec<Option<ChunkedTensor>>, Problem>>()?;
    let file = NewFile::of(datasets, &groups, is_netcdf)?;
    let mut skeleton = FileSkeleton::default();
    let mut between = file.metadata;
    let (in_chunks, contiguous): (Vec<usize>, Vec<usize>) =
        (0..tensors.len()).partition(|at| chunked[*at].is_some());
    // The elements of contiguous strings have their place among the spans, but are written like a chunk.
    let texts = in_chunks.iter().filter_map(|at| Some((file.data[*at], chunked[*at].as_ref()?)));
    let texts = texts.filter(|(_, tensor)| tensor.is_contiguous);
    let texts_end = texts.map(|(begin, tensor)| {
        begin + (tensor.sizes.iter().product::<usize>() * ELEMENT_BYTES) as u64
    });
    let texts_end = texts_end.max().unwrap_or(0);
    for at in &contiguous {
        let room = file.data[*at] - skeleton.bytes() - between.len() as u64;
        between.resize(between.len() + room as usize, 0);
        if !between.is_empty() {
            skeleton.push(std::mem::take(&mut between))?;
        }
        skeleton.push_data(tensors[*at].bytes()?)?;
    }
    let left = texts_end.saturating_sub(skeleton.bytes() + between.len() as u64);
    between.resize(between.len() + left as usize, 0);
    if !between.is_empty() {
        skeleton.push(between)?;
    }
    for at in &in_chunks {
        if let Some(tensor) = chunked[*at].take() {
            skeleton.push_chunked(ChunkedTensor { index_offset: file.data[*at], ..tensor })?;
        }
    }
    skeleton.sort_tensors(&[contiguous, in_chunks].concat());
    Ok(skeleton)
}

/// Returns the chunks of a dataset, if it has any.
fn chunked(tensor: &Described<'_>, dataset: &NewDataset) -> Result<Option<ChunkedTensor>, Problem> {
    let (sizes, holds_texts) = (tensor.shape.to_vec(), tensor.element.holds_texts());
    let chunk = match &dataset.chunks {
        Some(NewChunks { chunk, .. }) => usable(chunk)?,
        None if holds_texts => sizes.iter().map(|size| (*size).max(1)).collect(),
        None => return Ok(None),
    };
    let count = bytes_of_chunks(tensor.shape, &chunk, 1);
    let most = ChunkFormat::Hdf5.most_chunks();
    if let Some(count) = count.filter(|count| *count > most) {
        let why =
            format!("it would have {count} chunks, the limit is {most}: give larger --chunks");
        return Err(tensor.refused(FORMAT.name, why));
    }
    Ok(Some(ChunkedTensor {
        format: ChunkFormat::Hdf5,
        path: dataset.path.clone(),
        sizes,
        chunk,
        shard: None,
        order: None,
        codecs: codecs(tensor).unwrap_or(Codecs(Vec::new())),
        dtype: dataset.dtype.clone(),
        width: tensor.element.width().units(),
        annotations: tensor.annotations.cloned().unwrap_or_default(),
        undecoded: None,
        index_offset: 0,
        place: None,
        is_contiguous: dataset.chunks.is_none(),
        holds_texts,
    }))
}

/// Returns the codecs of the chunks; `None` for the default. HDF5 has no checksums of strings.
fn codecs(tensor: &Described<'_>) -> Option<Codecs> {
    let mut codecs = tensor.codecs.cloned()?;
    let holds_texts = tensor.element.holds_texts();
    codecs.0.retain(|codec| !holds_texts || *codec != Codec::Fletcher32);
    Some(codecs)
}

/// Returns the chunks of a tensor; `None` if its data is contiguous. A chunk is not longer than an axis that cannot
/// grow.
fn chunks(tensor: &Described<'_>, max_sizes: &[u64]) -> Result<Option<NewChunks>, Problem> {
    let refused = |why: String| tensor.refused(FORMAT.name, why);
    let (sizes, width) = (tensor.shape.sizes(), stored_width(tensor.element));
    let codecs = codecs(tensor).filter(|codecs| !codecs.is_none());
    let filters =
        codecs.as_ref().map_or(Ok(Vec::new()), |codecs| filters(codecs, width)).map_err(refused)?;
    let most = ChunkFormat::Hdf5.default_chunk_bytes();
    let holds_texts = tensor.element.holds_texts();
    // The elements of contiguous strings are held in memory.
    let is_long = holds_texts && tensor.bytes()? > most;
    let default = || codecs.as_ref().map(|_| chunk_of(sizes, width, most));
    let chunk =
        tensor.chunk.map(<[usize]>::to_vec).or_else(default).filter(|chunk| !chunk.is_empty());
    let chunk = chunk.or_else(|| is_long.then(|| chunk_of(sizes, width, most)));
    let Some(chunk) = chunk else { return Ok(None) };
    let fitted = chunk.iter().zip(sizes).enumerate().map(|(axis, (chunk, size))| {
        let size = (*size as u64).max(max_sizes.get(axis).copied().unwrap_or(0)).max(1);
        (*chunk as u64).min(size)
    });
    Ok(Some(NewChunks { chunk: fitted.collect(), filters }))
}

fn dataset(tensor: &Described<'_>) -> Result<NewDataset, Problem> {
    let refused = |why: &str| tensor.refused(FORMAT.name, why);
    check_relative(tensor.name).map_err(|why| refused(&format!("its name {why}")))?;
    let element = tensor.element;
    let bytes = tensor.shape.bytes(Width::Bytes(stored_width(element)))?;
    let dtype = type_name(element).ok_or_else(|| {
        refused(&format!("HDF5 has no elements of type {}", element.name_with_fields()))
    })?;
    let annotations = tensor.annotations.cloned().unwrap_or_default();
    let chunks = chunks(tensor, &annotations.max_sizes)?;
    Ok(NewDataset {
        path: tensor.name.to_owned(),
        shape: tensor.shape.iter().map(|size| *size as u64).collect(),
        dtype,
        bytes: bytes as u64,
        chunks,
        max_sizes: annotations.max_sizes,
        dimension_names: annotations.dimension_names,
        dimension_lengths: annotations.dimension_lengths,
        attributes: attributes::object(&annotations.attributes).unwrap_or_default(),
        fill: match annotations.fill {
            Some(fill) if element.holds_texts() => {
                let text = text(&fill)?;
                check_nul(&text).map_err(|why| refused(&format!("its fill value: {why}")))?;
                Some(text)
            }
            fill => fill,
        },
    })
}

/// Returns the string with a number.
fn text(number: &[u8]) -> Result<Vec<u8>, Problem> {
    let texts = Texts::shared();
    let text = texts.table().texts(number).map_err(Problem::writing)?.concat();
    Ok(text)
}

/// Returns the width of an element in the file.
fn stored_width(element: &StoredDType) -> usize {
    if element.holds_texts() { ELEMENT_BYTES } else { element.width().units() }
}

/// Returns the name of an element type in HDF5, if there is one.
fn type_name(element: &StoredDType) -> Option<String> {
    if element.holds_texts() {
        return Some(element.name().to_owned());
    }
    let dtype = element.dtype();
    let descr = element.descr().trim_matches('\'');
    if let DType::Bytes(_) = dtype {
        // Strings with one byte for each character, and uninterpreted bytes.
        let is_plain = descr.starts_with("|S") || descr.starts_with("|V");
        return is_plain.then(|| descr.to_owned());
    }
    let order = if element.is_big_endian() { ByteOrder::Big } else { ByteOrder::Little };
    // Times are stored like integers, but are a different type. Other types are stored as their bits.
    let is_plain = *element == StoredDType::ordered(dtype, order);
    match dtype {
        DType::BF16 => (order == ByteOrder::Little).then(|| "bf16".to_owned()),
        DType::Boolean | DType::F16 | DType::F32 | DType::F64 => is_plain.then(|| descr.to_owned()),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => is_plain.then(|| descr.to_owned()),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => is_plain.then(|| descr.to_owned()),
        DType::Complex64 | DType::Complex128 => is_plain.then(|| descr.to_owned()),
        _ => None,
    }
}
