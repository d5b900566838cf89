//! Finds metadata that the output of a job cannot keep.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use trundle_core::{DType, Shape};
use trundle_formats::{
    Annotations, FILL_VALUE, FileSkeleton, Format, Header, TYPED_KEY, TensorFile, ngff,
    of_groups_only_in_hdf5,
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
    /// Axes that can no longer grow, and the size to which they could.
    pub growing: BTreeMap<String, u64>,
    /// Keys of OME-NGFF metadata older than version 0.4, which a Zarr store of version 3 cannot have.
    pub outdated_ngff: Vec<String>,
    /// Tensors of type bfloat16 in a Zarr output. zarr-python does not know this type.
    pub bfloat16: BTreeSet<String>,
}

impl LeftOut {
    /// Compares the metadata of a job's inputs with what an output of `format` can keep.
    pub(crate) fn of(
        files: &[&TensorFile],
        tensors: &[Unplanned],
        format: &Format,
        metadata: &[(String, String)],
    ) -> LeftOut {
        let mut left = LeftOut::unread_of(files);
        if !format.keeps_metadata() {
            let keys = metadata.iter().map(|(key, _)| key);
            left.metadata = keys.filter(|key| *key != TYPED_KEY).cloned().collect();
        }
        if !format.keeps_attributes_of_hdf5() {
            left.add_attributes(of_groups_only_in_hdf5(metadata));
        }
        for Unplanned { job, annotations, .. } in tensors {
            for unread in &annotations.unread {
                *left.unread.entry(unread.clone()).or_default() += 1;
            }
            if !format.keeps_annotations() {
                left.add(&job.name, annotations);
            } else if !format.keeps_attributes_of_hdf5() {
                left.add_attributes(annotations.only_in_hdf5());
            }
        }
        if format.is_folder() {
            // Readers of Zarr refuse this attribute of strings.
            let texts = tensors.iter().filter(|tensor| tensor.job.element.holds_texts());
            let names = texts.flat_map(|tensor| tensor.annotations.attribute_names());
            left.add_attributes(names.filter(|name| name == FILL_VALUE));
            left.outdated_ngff = ngff::outdated(metadata);
            let jobs = tensors.iter().map(|tensor| &tensor.job);
            let of_bf16 = jobs.filter(|job| job.element.dtype() == DType::BF16);
            left.bfloat16 = of_bf16.map(|job| job.name.clone()).collect();
        }
        left
    }

    /// Returns the parts of the files that their readers ignore.
    pub(crate) fn unread_of(files: &[&TensorFile]) -> LeftOut {
        let mut left = LeftOut::default();
        for unread in files.iter().flat_map(|file| file.unread()) {
            *left.unread.entry(unread.clone()).or_default() += 1;
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

    /// Adds the chunks, the compression and the unlimited axes that an HDF5 output with the layout `skeleton` loses.
    pub(crate) fn add_chunks(
        &mut self,
        inputs: &[JobInput],
        tensors: &[Unplanned],
        skeleton: &FileSkeleton,
    ) {
        for (at, Unplanned { job, annotations, .. }) in tensors.iter().enumerate() {
            let written = skeleton.chunked_tensor(at).filter(|tensor| !tensor.is_contiguous());
            let written = written.map(|_| (annotations, &job.out_shape));
            let read = job.inputs.iter().filter_map(|input| inputs[*input].tensor());
            read.for_each(|JobTensor { header, .. }| self.add_chunks_of(header, written));
        }
    }

    /// `written` has the annotations and the shape of the result; `None` if the result is contiguous.
    fn add_chunks_of(&mut self, header: &Header, written: Option<(&Annotations, &Shape)>) {
        let Header { name, shape, chunk, annotations, .. } = header;
        // A scalar of HDF5 has no chunks.
        let Some(chunk) = chunk.as_ref().filter(|chunk| !chunk.is_empty()) else { return };
        if written.is_none() && header.decoding_picoseconds > 0 {
            self.compressed.insert(name.clone());
        } else if written.is_none() && shape.iter().zip(chunk).any(|(size, chunk)| size > chunk) {
            self.chunked.insert(name.clone());
        }
        // The name of each axis that can grow, and the size to which it can grow.
        let growing = |of: &Annotations, shape: &Shape| -> Vec<(usize, Option<String>, u64)> {
            let name = |axis: usize| of.dimension_names.get(axis).cloned().flatten();
            let axes = of.max_sizes.iter().zip(shape.iter()).enumerate();
            let axes = axes.filter(|(_, (most, size))| **most > **size as u64);
            axes.map(|(axis, (most, _))| (axis, name(axis), *most)).collect()
        };
        let kept = written.map(|(of, shape)| growing(of, shape)).unwrap_or_default();
        let lost = growing(annotations, shape);
        // An axis without a name cannot be found again, so the axes with the same limit are counted.
        let count = |axes: &[(usize, Option<String>, u64)], name: &Option<String>, most: u64| {
            let is_same = |other: &Option<String>| name.is_none() || other == name;
            axes.iter().filter(|(_, other, own)| *own == most && is_same(other)).count()
        };
        for (axis, name_of_axis, most) in &lost {
            if count(&kept, name_of_axis, *most) >= count(&lost, name_of_axis, *most) {
                continue;
            }
            let axis_name =
                name_of_axis.clone().unwrap_or_else(|| format!("axis {axis} of {name}"));
            if annotations.is_unlimited(*axis) {
                self.unlimited.insert(axis_name);
            } else {
                self.growing.insert(axis_name, *most);
            }
        }
    }
}
