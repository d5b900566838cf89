//! The Python package `trundle`: arguments as numpy takes them become operations, arrays become
//! memory with sizes and strides, and the crate `trundle` does the rest.
//!
//! What calls numpy, libraries behind DLPack, a GPU's driver or the system, what follows their pointers, and what
//! stands before the functions that PyO3 makes, is in the modules that allow `unsafe`; no other does.

// Documentation of what Python sees is Python's, not Markdown.
#![allow(clippy::doc_markdown)]

mod apart;
#[allow(unsafe_code)]
mod array;
mod array_like;
mod assembled;
mod chain;
mod chain_plan;
#[allow(unsafe_code)]
mod dlpack;
mod error;
mod functions;
#[allow(unsafe_code)]
mod gpu;
#[allow(unsafe_code)]
mod handler;
#[allow(unsafe_code)]
mod hinted;
mod integer_array;
mod keywords;
mod lazy;
#[allow(unsafe_code)]
mod lent;
mod library;
mod memory;
mod model;
mod moved;
mod numbers;
#[allow(unsafe_code)]
mod onnxruntime;
mod operation;
#[allow(unsafe_code)]
mod place;
mod plan_on;
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

#[pymodule(gil_used = false)]
mod _trundle {
    use pyo3::prelude::*;

    use super::array::find_numpy;
    use super::functions::{
        axes, copies, gathers, joins, paddings, repeats, reversals, rolls, splits,
    };
    use super::hinted::add_hinted;

    #[pymodule_export]
    use super::chain::{Chain, chain, chain_stages};
    #[pymodule_export]
    use super::chain_plan::Plan;
    #[pymodule_export]
    use super::dlpack::Export;
    // Its keywords are the sizes of axes, whatever they are called.
    #[pymodule_export]
    use super::functions::copies::rearrange;
    #[pymodule_export]
    use super::model::{Model, ModelPlan};
    #[pymodule_export]
    use super::onnxruntime::onnx_library;
    #[pymodule_export]
    use super::stores::{
        Stop, discard_tasks, finish_tasks, missing_tasks, plan_tasks, run_program, run_task,
    };
    #[pymodule_export]
    use super::tuning::tune;

    #[allow(non_upper_case_globals)]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        find_numpy(module.py())?;
        add_hinted!(module, axes::permute_dims)?;
        add_hinted!(module, axes::transpose)?;
        add_hinted!(module, axes::rot90)?;
        add_hinted!(module, axes::moveaxis)?;
        add_hinted!(module, axes::swapaxes)?;
        add_hinted!(module, copies::ascontiguousarray)?;
        add_hinted!(module, copies::copyto)?;
        add_hinted!(module, gathers::take)?;
        add_hinted!(module, gathers::take_along_axis)?;
        add_hinted!(module, gathers::put_along_axis)?;
        add_hinted!(module, paddings::pad)?;
        add_hinted!(module, repeats::broadcast_to)?;
        add_hinted!(module, repeats::repeat)?;
        add_hinted!(module, repeats::sliding_window_view)?;
        add_hinted!(module, repeats::tile)?;
        add_hinted!(module, joins::concatenate)?;
        add_hinted!(module, joins::stack)?;
        add_hinted!(module, reversals::flip)?;
        add_hinted!(module, reversals::reverse_sequence)?;
        add_hinted!(module, reversals::reverse_subsequences)?;
        add_hinted!(module, rolls::fftshift)?;
        add_hinted!(module, rolls::ifftshift)?;
        add_hinted!(module, rolls::roll)?;
        add_hinted!(module, splits::split)
    }
}
