//! What a job reads: tensors of files, and constants.

use bytes::Bytes;
use trundle_formats::{Header, StoredDType, TensorFile};

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
    Tensor(JobTensor),
    Constant(Bytes),
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

trundle::fingerprint!(struct JobTensor { file, index, header, is_swapped } except { is_checked });

impl JobInput {
    /// A tensor of `file`, which is the one of this index, with elements as they stand there.
    pub(crate) fn as_it_stands(file: &TensorFile, number: usize, index: usize) -> JobInput {
        JobInput::Tensor(JobTensor {
            file: number,
            index,
            header: file.headers()[index].clone(),
            is_swapped: false,
            is_checked: file.has_crc32(),
        })
    }

    /// An input whose elements become `element`.
    pub(crate) fn new(input: &Input, files: &[&TensorFile], element: &StoredDType) -> JobInput {
        match input {
            Input::Constant(bytes) => JobInput::Constant(bytes.clone()),
            Input::Tensor { file, index } => {
                let mut input = JobInput::as_it_stands(files[*file], *file, *index);
                if let JobInput::Tensor(tensor) = &mut input {
                    tensor.is_swapped = tensor.header.element != *element;
                }
                input
            }
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
