//! What a job reads: tensors of files, and constants.

use std::io::Cursor;

use bytes::Bytes;
use trundle::{Error, Width};
use trundle_core::program::Definition;
use trundle_formats::{Format, Header, Order, StoredDType, TensorFile};

use crate::plan::movement::Arrangement;

/// Where an input of a program has its elements.
#[derive(Clone, Debug)]
pub enum Input {
    /// A tensor of a file.
    Tensor {
        /// The index of the file among those of the job.
        file: usize,
        /// Its index among the headers of the file.
        index: usize,
    },
    /// Elements in memory, as a file would hold them: row-major and little-endian.
    Constant(Bytes),
}

/// The same, with what the file says of it.
#[derive(Clone, Debug)]
pub(crate) enum JobInput {
    Tensor(Box<JobTensor>),
    Constant(Cursor<Bytes>),
}

/// A tensor of a file that a job reads.
#[derive(Clone, Debug)]
pub(crate) struct JobTensor {
    pub(crate) file: usize,
    pub(crate) index: usize,
    pub(crate) header: Header,
    /// Whether its bytes become little-endian.
    pub(crate) is_swapped: bool,
    /// Whether the file has a checksum of its data.
    pub(crate) is_checked: bool,
}

trundle::internal::fingerprint!(struct JobTensor { file, index, header, is_swapped } except { is_checked });

impl JobTensor {
    fn check(&self, element: &StoredDType, given: &Definition) -> trundle::Result<()> {
        if self.header.shape != given.shape {
            let (expected, got) = (given.shape.clone(), self.header.shape.clone());
            return Err(Error::ShapeMismatch { argument: "an input", expected, got });
        }
        self.check_type(element, given.width)
    }

    /// Checks that its elements are of this type and width.
    ///
    /// # Errors
    /// If they are not.
    pub(crate) fn check_type(&self, element: &StoredDType, width: Width) -> trundle::Result<()> {
        let stored = &self.header.element;
        if stored.dtype() != element.dtype() {
            let (expected, got) = (vec![element.dtype()], stored.dtype());
            return Err(Error::DTypeMismatch { argument: "an input", expected, got });
        }
        if stored.width() != width {
            return Err(Error::WidthsDiffer { expected: width, got: stored.width() });
        }
        Ok(())
    }
}

impl JobInput {
    /// A tensor of `file`, which is the one of this index, with elements as they stand there.
    pub(crate) fn as_it_stands(file: &TensorFile, number: usize, index: usize) -> JobInput {
        JobInput::Tensor(Box::new(JobTensor {
            file: number,
            index,
            header: file.headers()[index].clone(),
            is_swapped: false,
            is_checked: file.has_crc32(),
        }))
    }

    /// A tensor of `file`, the first of a job's, with elements as `format` has them.
    pub(crate) fn as_it_is_written(file: &TensorFile, index: usize, format: &Format) -> JobInput {
        let mut input = JobInput::as_it_stands(file, 0, index);
        if let JobInput::Tensor(tensor) = &mut input {
            let element = &tensor.header.element;
            tensor.is_swapped = format.element_as_written(element) != *element;
        }
        input
    }

    /// An input whose elements become `element`.
    pub(crate) fn new(input: &Input, files: &[&TensorFile], element: &StoredDType) -> JobInput {
        match input {
            Input::Constant(bytes) => JobInput::Constant(Cursor::new(bytes.clone())),
            Input::Tensor { file, index } => {
                let mut input = JobInput::as_it_stands(files[*file], *file, *index);
                if let JobInput::Tensor(tensor) = &mut input {
                    tensor.is_swapped = tensor.header.element != *element;
                }
                input
            }
        }
    }

    /// Checks that it is what a program knows of it, of elements that become `element`.
    ///
    /// # Errors
    /// If it is not of that shape, or its elements are of another type.
    pub(crate) fn check(&self, element: &StoredDType, given: &Definition) -> trundle::Result<()> {
        match self {
            JobInput::Tensor(tensor) => tensor.check(element, given),
            JobInput::Constant(held) if held.get_ref().len() == given.bytes() => Ok(()),
            JobInput::Constant(held) => Err(Error::SizesDiffer {
                left: "the bytes of a constant",
                right: "those of its input",
                left_size: held.get_ref().len(),
                right_size: given.bytes(),
            }),
        }
    }

    /// How its elements stand.
    pub(crate) fn arrangement(&self) -> Arrangement<'_> {
        match self.tensor() {
            Some(tensor) => Arrangement::from(&tensor.header),
            None => Arrangement::from(Order::RowMajor),
        }
    }

    /// The tensor of a file, if it is one.
    pub(crate) fn tensor(&self) -> Option<&JobTensor> {
        match self {
            JobInput::Tensor(tensor) => Some(tensor),
            JobInput::Constant(_) => None,
        }
    }
}
