//! Finds metadata that the output of a job cannot keep.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use trundle_core::DType;
use trundle_formats::{
    Annotations, Format, Header, TYPED_KEY, TensorFile, ngff, of_groups_only_in_hdf5,
};

use crate::plan::input::{JobInput, JobTensor};
use crate::plan::tensor_job::Unplanned;

/// Metadata that an output does not keep. Each attribute has the number of tensors that lose it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Keys of the file's metadata.
    pub metadata: Vec<String>,
    /// Attributes of tensors.
    pub attributes: BTreeMap<String, usize>,
    /// Axis names.
    pub axis_names: BTreeSet<String>,
    /// Tensors with nonzero fill values.
    pub fill_values: BTreeSet<String>,
    /// Metadata that the reader of the input ignores, and how often it occurs.
    pub unread: BTreeMap<String, usize>,
    /// Tensors that lose their compression.
    pub compressed: BTreeSet<String>,
    /// Tensors without compression that lose their chunks.
    pub chunked: BTreeSet<String>,
    /// Axes that lose their unlimited size.
    pub unlimited: BTreeSet<String>,
    /// Keys of OME-NGFF metadata older than version 0.4, which a Zarr store of version 3 cannot have.
    pub outdated_ngff: Vec<String>,
    /// Tensors of type bfloat16 in a Zarr output. zarr-python does not know this type.
    pub bfloat16: BTreeSet<String>,
}

impl LeftOut {
    /// Compares the metadata of a job's inputs with what an output of `format` can keep.
    pub(crate) fn of(
        files: &[&TensorFile],
        inputs: &[JobInput],
        tensors: &[Unplanned],
        format: &Format,
        metadata: &[(String, String)],
    ) -> LeftOut {
        let mut left = LeftOut::default();
        for unread in files.iter().flat_map(|file| file.unread()) {
            *left.unread.entry(unread.clone()).or_default() += 1;
        }
        if !format.keeps_metadata() {
            let keys = metadata.iter().map(|(key, _)| key);
            left.metadata = keys.filter(|key| *key != TYPED_KEY).cloned().collect();
        }
        if !format.keeps_attributes_of_hdf5() {
            left.add_attributes(of_groups_only_in_hdf5(metadata));
        }
        for (name, annotations) in tensors.iter().map(Unplanned::annotated) {
            for unread in &annotations.unread {
                *left.unread.entry(unread.clone()).or_default() += 1;
            }
            if !format.keeps_annotations() {
                left.add(name, annotations);
            } else if !format.keeps_attributes_of_hdf5() {
                left.add_attributes(annotations.only_in_hdf5());
            }
        }
        if format.leaves_out_chunks() {
            let read = inputs.iter().filter_map(JobInput::tensor);
            read.for_each(|JobTensor { header, .. }| left.add_chunks(header));
        }
        if format.is_folder() {
            left.outdated_ngff = ngff::outdated(metadata);
            let of_bf16 = tensors.iter().filter(|tensor| tensor.dtype() == DType::BF16);
            left.bfloat16 = of_bf16.map(|tensor| tensor.annotated().0.to_owned()).collect();
        }
        left
    }

    fn add(&mut self, name: &str, annotations: &Annotations) {
        self.add_attributes(annotations.attribute_names());
        self.axis_names.extend(annotations.dimension_names.iter().flatten().cloned());
        if annotations.fill.as_ref().is_some_and(|fill| fill.iter().any(|byte| *byte != 0)) {
            self.fill_values.insert(name.to_owned());
        }
    }

    fn add_attributes(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            *self.attributes.entry(name).or_default() += 1;
        }
    }

    fn add_chunks(&mut self, header: &Header) {
        let Header { name, shape, chunk, unlimited, .. } = header;
        let Some(chunk) = chunk else { return };
        if header.decoding_picoseconds > 0 {
            self.compressed.insert(name.clone());
        } else if shape.iter().zip(chunk).any(|(size, chunk)| size > chunk) {
            self.chunked.insert(name.clone());
        }
        let names = &header.annotations.dimension_names;
        for axis in (0..unlimited.len()).filter(|axis| unlimited[*axis]) {
            let axis_name = names.get(axis).cloned().flatten();
            self.unlimited.insert(axis_name.unwrap_or_else(|| format!("axis {axis} of {name}")));
        }
    }
}
