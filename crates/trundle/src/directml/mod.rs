//! DirectML's operator that reverses subsequences, with its buffer descriptors, and checks whether a feature level
//! supports them.
//!
//! Source: the documentation of `DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC` and `DML_BUFFER_TENSOR_DESC`. Members have the
//! same names here.
//!
//! ```
//! use trundle::DType;
//! use trundle::directml::{BufferTensorDesc, FeatureLevel, ReverseSubsequencesOperatorDesc};
//!
//! let tensor = |data_type, sizes, bytes| BufferTensorDesc {
//!     data_type,
//!     bit_order: None,
//!     sizes,
//!     strides: None,
//!     total_tensor_size_in_bytes: bytes,
//! };
//! let operator = ReverseSubsequencesOperatorDesc {
//!     input_tensor: tensor(DType::U8, &[1, 1, 3, 4], 12),
//!     sequence_lengths_tensor: tensor(DType::U32, &[1, 1, 3, 1], 12),
//!     output_tensor: tensor(DType::U8, &[1, 1, 3, 4], 12),
//!     axis: 3,
//! };
//! operator.check(Some(FeatureLevel::Level2_1))?;
//!
//! let input = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
//! let lengths = [2u32, 4, 3].map(u32::to_ne_bytes);
//! let mut output = [0; 12];
//! operator.run(&input, lengths.as_flattened(), &mut output)?;
//! assert_eq!(output, [2, 1, 3, 4, 8, 7, 6, 5, 11, 10, 9, 12]);
//! # Ok::<(), trundle::directml::Error>(())
//! ```

mod buffer_tensor;
mod error;
mod feature_level;
mod reverse_subsequences;
#[cfg(test)]
mod tests;

pub use buffer_tensor::BufferTensorDesc;
pub use error::{Error, Result};
pub use feature_level::FeatureLevel;
pub use reverse_subsequences::ReverseSubsequencesOperatorDesc;
