//! Makes the skeleton of a new store.

use std::collections::BTreeSet;

use trundle_core::DType;
use trundle_json::FILL_VALUE;
use trundle_zarr::{MOST_ARRAYS, NewArray};

use super::new_store::{NewStore, new_array};
use super::{NAME, codecs};
use crate::format::NewFolder;
use crate::literal::Literal;
use crate::names::check_relative;
use crate::skeleton::{self, chunk_bytes, chunk_of, is_whole};
use crate::stored_dtype::numpy_kind;
use crate::{
    Annotations, Blob, ChunkFormat, ChunkedTensor, Described, FileSkeleton, Problem, StoredDType,
    attributes, ngff,
};

const MOST_CHUNKS: usize = 1 << 20;

/// The longest name of a file or folder in bytes.
const NAME_BYTES: usize = 255;

/// Creates the skeleton of a store. A tensor that is the only content of its file becomes a root array with the file's
/// metadata as attributes. Other tensors become arrays in a group, with their names as paths. Tensors with a place are
/// written to arrays that exist.
pub(super) fn skeleton(
    tensors: &[Described<'_>],
    metadata: &[(String, String)],
) -> Result<FileSkeleton, Problem> {
    if tensors.is_empty() {
        return Err(Problem::unsupported("a Zarr store without arrays"));
    }
    if tensors.len() > MOST_ARRAYS {
        let count = tensors.len();
        return Err(Problem::Unsupported(format!("{count} arrays, the limit is {MOST_ARRAYS}")));
    }
    let is_whole = is_whole(tensors);
    let mut skeleton = FileSkeleton::default();
    if tensors.iter().any(|tensor| tensor.place.is_some()) {
        for tensor in tensors {
            let path = tensor.place.map_or(tensor.name, |place| &place.path);
            skeleton.push_chunked(chunked(tensor, path.to_owned())?)?;
        }
        return Ok(skeleton);
    }
    if !is_whole {
        check_names(tensors)?;
        let names: Vec<&str> = tensors.iter().map(|tensor| tensor.name).collect();
        let (mut groups, of_root) = attributes::split_groups(metadata, &names, is_group);
        groups.insert(String::new(), attributes::of_metadata(&of_root));
        let of_group = |(path, own)| (path, attributes::to_text(&ngff::written(own)));
        skeleton.set_groups(groups.into_iter().map(of_group).collect());
    }
    for tensor in tensors {
        let path = if is_whole { String::new() } else { tensor.name.to_owned() };
        let mut chunked = chunked(tensor, path)?;
        if chunked.holds_texts {
            // xarray cannot open a store with this attribute of strings.
            let mut own = attributes::of_text(&chunked.annotations.attributes);
            if own.remove(FILL_VALUE).is_some() {
                chunked.annotations.attributes = attributes::to_text(&own);
            }
        }
        if is_whole {
            let mut all = attributes::of_metadata(metadata);
            all.extend(attributes::of_text(&chunked.annotations.attributes));
            chunked.annotations.attributes = attributes::to_text(&all);
        }
        checked(&chunked).check().map_err(|error| tensor.refused(NAME, error.to_string()))?;
        skeleton.push_chunked(chunked)?;
    }
    Ok(skeleton)
}

/// Returns the array to check. The numbers of strings are checked instead of the strings.
fn checked(tensor: &ChunkedTensor) -> NewArray {
    let new = new_array(tensor);
    if tensor.holds_texts { NewArray { dtype: "uint64".to_owned(), ..new } } else { new }
}

fn is_group(path: &str) -> bool {
    let is_name = |part: &str| {
        part.chars().any(|c| c != '.') && part != "zarr.json" && part.len() <= NAME_BYTES
    };
    check_relative(path).is_ok() && path.split('/').all(is_name)
}

pub(super) fn begin(new: NewFolder<'_>, skeleton: &FileSkeleton) -> Result<Box<dyn Blob>, Problem> {
    Ok(Box::new(NewStore::begin(new, skeleton)?))
}

/// Checks that all names are valid as paths of arrays in one store.
fn check_names(tensors: &[Described<'_>]) -> Result<(), Problem> {
    let names: BTreeSet<&str> = tensors.iter().map(|tensor| tensor.name).collect();
    for tensor in tensors {
        let refused = |why: &str| Err(tensor.refused(NAME, why));
        if let Err(why) = check_relative(tensor.name) {
            return refused(&format!("its name {why}"));
        }
        // The rules are "Node names" of Zarr version 3. It also reserves names that begin with "__", but xarray uses
        // `__xarray_dataarray_variable__` for unnamed arrays, so these are allowed.
        if tensor.name.split('/').any(|part| part.chars().all(|c| c == '.')) {
            return refused("a part of its name is empty or consists of dots only");
        }
        if tensor.name.split('/').any(|part| part.len() > NAME_BYTES) {
            return refused(&format!("a part of its name has more than {NAME_BYTES} bytes"));
        }
        if tensor.name.split('/').any(|part| part == "zarr.json") {
            return refused("the format reserves the name zarr.json");
        }
        let around = format!("{}/", tensor.name);
        let within = names.range(&around[..]..).next().filter(|name| name.starts_with(&around));
        if let Some(within) = within {
            return refused(&format!("\"{within}\" would be an array within it"));
        }
    }
    skeleton::check_names(NAME, tensors)
}

fn chunked(tensor: &Described<'_>, path: String) -> Result<ChunkedTensor, Problem> {
    let element = tensor.element;
    if element.holds_texts() && tensor.chunk_order.is_some() {
        let why = "strings of variable length are not written in another order of axes";
        return Err(tensor.refused(NAME, why));
    }
    let dtype = type_name(element).ok_or_else(|| {
        tensor.refused(NAME, format!("Zarr has no elements of type {}", element.name_with_fields()))
    })?;
    let width = element.width().units();
    let sizes = tensor.shape.to_vec();
    let chunk = match (tensor.chunk, tensor.shard) {
        (Some(chunk), _) => chunk.to_vec(),
        (None, Some(shard)) => part_of(shard, width),
        (None, None) => chunk_of(&sizes, width, ChunkFormat::Zarr.default_chunk_bytes()),
    };
    let shard = tensor.shard.filter(|_| !element.holds_texts()).map(<[usize]>::to_vec);
    let is_empty = sizes.contains(&0);
    let many =
        sizes.iter().zip(&chunk).position(|(size, chunk)| size.div_ceil(*chunk) > MOST_CHUNKS);
    if let Some(axis) = many.filter(|_| !is_empty) {
        let (count, most) = (sizes[axis].div_ceil(chunk[axis]), MOST_CHUNKS);
        let why = format!("along axis {axis} it would have {count} chunks, over {most}");
        return Err(tensor.refused(NAME, why));
    }
    let codecs = tensor.codecs.cloned().unwrap_or_default();
    if tensor.place.is_none() {
        codecs::check(&codecs, chunk_bytes(&chunk, width))
            .map_err(|why| tensor.refused(NAME, why))?;
    }
    let annotations = tensor.annotations.cloned().unwrap_or_default();
    // Every axis of a Zarr array can grow.
    let annotations = Annotations { max_sizes: Vec::new(), ..annotations };
    let order = tensor.chunk_order.map(<[usize]>::to_vec);
    let undecoded = tensor.undecoded.map(str::to_owned);
    Ok(ChunkedTensor {
        format: ChunkFormat::Zarr,
        path,
        sizes,
        chunk,
        shard,
        order,
        codecs,
        dtype,
        width,
        annotations,
        undecoded,
        index_offset: 0,
        place: tensor.place.cloned(),
        is_contiguous: false,
        holds_texts: element.holds_texts(),
    })
}

/// Returns Zarr's name for an element type, if it has one.
fn type_name(element: &StoredDType) -> Option<String> {
    let dtype = element.dtype();
    let of_numpy = element.descr().trim_matches('\'');
    if element.holds_texts() {
        return Some("string".to_owned());
    }
    if of_numpy.starts_with('[') {
        return Some(Literal::parse(of_numpy).ok()?.to_json()?.to_string());
    }
    if ["<U", "<M8", "<m8", "|S", "|V"].iter().any(|kind| of_numpy.starts_with(kind)) {
        return Some(of_numpy.to_owned());
    }
    let is_plain = element.descr() == StoredDType::little_endian(dtype).descr();
    let kind = match numpy_kind(dtype) {
        Some('b') => return is_plain.then(|| "bool".to_owned()),
        Some('i') => "int",
        Some('u') => "uint",
        Some('f') => "float",
        Some('c') => "complex",
        _ if dtype == DType::BF16 => "bfloat",
        _ => return None,
    };
    is_plain.then(|| format!("{kind}{}", 8 * dtype.width()))
}

/// Returns the default sizes of the chunks in a shard, which divide it evenly.
fn part_of(shard: &[usize], width: usize) -> Vec<usize> {
    let mut chunk = shard.to_vec();
    let even = |chunk: &[usize]| {
        let even =
            (0..chunk.len()).filter(|axis| chunk[*axis] > 0 && chunk[*axis].is_multiple_of(2));
        even.max_by_key(|axis| chunk[*axis])
    };
    while chunk_bytes(&chunk, width) > ChunkFormat::Zarr.default_chunk_bytes()
        && let Some(axis) = even(&chunk)
    {
        chunk[axis] /= 2;
    }
    chunk
}
