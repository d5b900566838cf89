//! Makes the skeleton of a new file.

use trundle_core::DType;
use trundle_hdf5::{NewDataset, NewFile};

use super::FORMAT;
use crate::names::check_relative;
use crate::skeleton::{check_names, is_whole};
use crate::stored_dtype::ByteOrder;
use crate::{AXES_KEY, Described, FileSkeleton, Problem, StoredDType, attributes};

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

/// Creates the skeleton: all metadata, followed by contiguous data.
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
    let file = NewFile::of(datasets, &groups, is_netcdf)?;
    let mut skeleton = FileSkeleton::default();
    let mut between = file.metadata;
    for (tensor, begin) in tensors.iter().zip(file.data) {
        let room = begin - skeleton.bytes() - between.len() as u64;
        between.resize(between.len() + room as usize, 0);
        if !between.is_empty() {
            skeleton.push(std::mem::take(&mut between))?;
        }
        skeleton.push_data(tensor.bytes()?)?;
    }
    if !between.is_empty() {
        skeleton.push(between)?;
    }
    Ok(skeleton)
}

fn dataset(tensor: &Described<'_>) -> Result<NewDataset, Problem> {
    let refused = |why: &str| tensor.refused(FORMAT.name, why);
    check_relative(tensor.name).map_err(|why| refused(&format!("its name {why}")))?;
    let element = tensor.element;
    let dtype = type_name(element)
        .ok_or_else(|| refused(&format!("HDF5 has no elements of type {}", element.name())))?;
    let annotations = tensor.annotations.cloned().unwrap_or_default();
    Ok(NewDataset {
        path: tensor.name.to_owned(),
        shape: tensor.shape.iter().map(|size| *size as u64).collect(),
        dtype,
        bytes: tensor.bytes()? as u64,
        dimension_names: annotations.dimension_names,
        attributes: attributes::object(&annotations.attributes).unwrap_or_default(),
        fill: annotations.fill,
    })
}

/// Returns the name of an element type in HDF5, if there is one.
fn type_name(element: &StoredDType) -> Option<String> {
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
