//! The inputs of a job: tensors of files, and constants.

use std::io::Cursor;

use bytes::Bytes;
use trundle::internal::{check_shape, check_sizes};
use trundle::{DTypeError, Shape, Width};
use trundle_core::program::Definition;
use trundle_formats::{Header, Order, StoredDType, TensorFile, UndecodedTensor};

use crate::plan::movement::Arrangement;

/// An input of a program.
#[derive(Clone, Debug)]
pub enum Input {
    /// A tensor of a file.
    Tensor {
        /// The index of the file among the job's files.
        file: usize,
        /// The index of the tensor among the file's headers.
        index: usize,
    },
    /// The bytes of elements in memory, row-major and little-endian.
    Constant(Bytes),
}

#[derive(Clone, Debug)]
pub(crate) enum JobInput {
    Tensor(Box<JobTensor>),
    Constant(Cursor<Bytes>),
}

#[derive(Clone, Debug)]
pub(crate) struct JobTensor {
    pub(crate) file: usize,
    pub(crate) index: usize,
    pub(crate) header: Header,
    pub(crate) is_swapped: bool,
    /// Whether the file has a checksum of the tensor's data.
    pub(crate) is_checked: bool,
}

trundle::internal::fingerprint!(struct JobTensor { file, index, header, is_swapped } except { is_checked });

impl JobTensor {
    pub(crate) fn of(files: &[&TensorFile], file: usize, index: usize) -> JobTensor {
        let header = files[file].headers()[index].clone();
        JobTensor { file, index, header, is_swapped: false, is_checked: false }
    }

    /// Makes an input for a tensor of the first file that is copied without decoding: one byte for each chunk.
    ///
    /// # Errors
    /// If there are too many chunks.
    pub(crate) fn undecoded(tensor: &UndecodedTensor) -> trundle::Result<JobTensor> {
        let header = &tensor.header;
        let chunk = header.chunk.as_deref().unwrap_or_default();
        let counts = header.shape.iter().zip(chunk).map(|(size, chunk)| size.div_ceil(*chunk));
        let shape = Shape::new(counts.collect::<Vec<_>>())?;
        let chunk = Some(vec![1; shape.rank()]);
        let header = Header { data_bytes: shape.elements(), shape, chunk, ..header.clone() };
        Ok(JobTensor { file: 0, index: 0, header, is_swapped: false, is_checked: false })
    }

    /// Checks the type and the width of the elements.
    ///
    /// # Errors
    /// If the type or the width differs.
    pub(crate) fn check_type(&self, element: &StoredDType, width: Width) -> trundle::Result<()> {
        let stored = &self.header.element;
        if stored.dtype() != element.dtype() {
            let (expected, got) = (vec![element.dtype()], stored.dtype());
            return Err(DTypeError::DTypeMismatch { argument: "an input", expected, got }.into());
        }
        if stored.width() != width {
            return Err(DTypeError::WidthsDiffer { expected: width, got: stored.width() }.into());
        }
        Ok(())
    }
}

impl JobInput {
    /// Makes an input for an output with elements of type `element`. If the file has another byte order, readers swap
    /// the bytes.
    pub(crate) fn new(input: &Input, files: &[&TensorFile], element: &StoredDType) -> JobInput {
        match *input {
            Input::Constant(ref bytes) => JobInput::Constant(Cursor::new(bytes.clone())),
            Input::Tensor { file, index } => {
                let tensor = JobTensor::of(files, file, index);
                let is_swapped = tensor.header.element != *element;
                let is_checked = files[file].has_crc32();
                JobInput::Tensor(Box::new(JobTensor { is_swapped, is_checked, ..tensor }))
            }
        }
    }

    /// Checks the input against its definition in a program.
    ///
    /// # Errors
    /// If the shape or the type differs.
    pub(crate) fn check(&self, element: &StoredDType, given: &Definition) -> trundle::Result<()> {
        match self {
            JobInput::Tensor(tensor) => {
                check_shape("an input", &given.shape, &tensor.header.shape)?;
                tensor.check_type(element, given.width)
            }
            JobInput::Constant(bytes) => Ok(check_sizes(
                ("a constant (in bytes)", bytes.get_ref().len()),
                ("its input", given.bytes()),
            )?),
        }
    }

    pub(crate) fn arrangement(&self) -> Arrangement<'_> {
        match self.tensor() {
            Some(tensor) => Arrangement::from(&tensor.header),
            None => Arrangement::from(Order::RowMajor),
        }
    }

    pub(crate) fn tensor(&self) -> Option<&JobTensor> {
        match self {
            JobInput::Tensor(tensor) => Some(tensor),
            JobInput::Constant(_) => None,
        }
    }
}
