//! The Python package `trundle`. Converts arguments to operations, and arrays to memory with sizes and strides. The
//! crate `trundle` moves the elements.
//!
//! `unsafe` is allowed only in modules that call numpy, DLPack libraries, a GPU driver or the system.

// Docstrings for Python are not Markdown.
#![allow(clippy::doc_markdown)]

mod apart;
#[allow(unsafe_code)]
mod array;
mod array_like;
mod assembled;
mod chain;
mod chain_plan;
#[allow(unsafe_code)]
mod device;
#[allow(unsafe_code)]
mod direct_gather;
#[allow(unsafe_code)]
mod dlpack;
mod error;
mod functions;
#[allow(unsafe_code)]
mod gpu;
#[allow(unsafe_code)]
mod handler;
mod integer_array;
mod lazy;
mod library;
mod memory;
mod model;
mod moved;
mod numbers;
#[allow(unsafe_code)]
mod onnxruntime;
mod operation;
mod plan_on;
#[cfg(feature = "zarr")]
mod python_store;
#[allow(unsafe_code)]
mod recycled;
#[allow(unsafe_code)]
mod run;
mod stores;
mod tensor;
#[allow(unsafe_code)]
mod torch;
mod traced;
mod tuning;

use pyo3::pymodule;

// Not tested on free-threaded Python, where importing this enables the GIL.
#[pymodule(gil_used = true)]
mod _trundle {
    use pyo3::prelude::*;

    use super::array::find_numpy;
    #[pymodule_export]
    use super::chain::{Chain, chain, chain_stages};
    #[pymodule_export]
    use super::chain_plan::Plan;
    #[pymodule_export]
    use super::dlpack::Export;
    #[pymodule_export]
    use super::functions::axes::{moveaxis, permute_dims, rot90, swapaxes, transpose};
    #[pymodule_export]
    use super::functions::copies::{ascontiguousarray, copyto, rearrange};
    #[pymodule_export]
    use super::functions::gathers::{put_along_axis, take, take_along_axis};
    #[pymodule_export]
    use super::functions::joins::{concatenate, stack};
    #[pymodule_export]
    use super::functions::paddings::pad;
    #[pymodule_export]
    use super::functions::repeats::{broadcast_to, repeat, sliding_window_view, tile};
    #[pymodule_export]
    use super::functions::reversals::{flip, reverse_sequence, reverse_subsequences};
    #[pymodule_export]
    use super::functions::rolls::{fftshift, ifftshift, roll};
    #[pymodule_export]
    use super::functions::splits::split;
    #[pymodule_export]
    use super::model::{Model, ModelPlan};
    #[pymodule_export]
    use super::onnxruntime::onnx_library;
    #[cfg(feature = "zarr")]
    #[pymodule_export]
    use super::python_store::StoreAddress;
    #[pymodule_export]
    use super::stores::{
        Stop, add_to, discard_tasks, finish_tasks, missing_tasks, plan_tasks, run_program, run_task,
    };
    #[pymodule_export]
    use super::tuning::tune;

    #[allow(non_upper_case_globals)]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[cfg(feature = "zarr")]
    #[pymodule_export]
    const UNFINISHED: &str = trundle_formats::bucket::UNFINISHED;
    #[cfg(feature = "zarr")]
    #[pymodule_export]
    const ADDING: &str = trundle_formats::bucket::ADDING;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        find_numpy(module.py())
    }
}
