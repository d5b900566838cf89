//! The Python package `trundle`: arguments as numpy takes them become operations, arrays become
//! memory with sizes and strides, and the crate `trundle` does the rest.
//!
//! What calls numpy, libraries behind DLPack or the system, and what follows their pointers, is in
//! the modules that allow `unsafe`; no other does.

// Documentation of what Python sees is Python's, not Markdown.
#![allow(clippy::doc_markdown)]

#[allow(unsafe_code)]
mod array;
mod array_like;
mod chain;
#[allow(unsafe_code)]
mod dlpack;
mod error;
mod functions;
#[allow(unsafe_code)]
mod handler;
mod keywords;
mod lengths;
mod memory;
mod moved;
mod numbers;
mod operation;
#[allow(unsafe_code)]
mod recycled;
#[allow(unsafe_code)]
mod run;
mod tensor;
mod traced;

use pyo3::pymodule;

#[pymodule(gil_used = false)]
mod _trundle {
    #[pymodule_export]
    use super::chain::{Chain, Plan, chain};
    #[pymodule_export]
    use super::dlpack::Export;
    #[pymodule_export]
    use super::functions::axes::{moveaxis, permute_dims, swapaxes, transpose};
    #[pymodule_export]
    use super::functions::copies::{ascontiguousarray, copyto, rearrange};
    #[pymodule_export]
    use super::functions::reversals::{flip, reverse_sequence, reverse_subsequences};
    #[pymodule_export]
    use super::functions::rolls::{fftshift, ifftshift, roll};

    #[allow(non_upper_case_globals)]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
