//! Custom operators for ONNX Runtime, in the domain `trundle`, version 1.
//!
//! A library exports ONNX Runtime's entry point `RegisterCustomOps`, which calls [`register`]. It is not linked to ONNX
//! Runtime, because the entry point receives all functions.
//!
//! | operator | inputs | attributes | output |
//! |---|---|---|---|
//! | `Move` | any number, of any types | `model`: an ONNX model of movements; its inputs need no types | the outputs of the model |
//! | `Roll` | `data`, `shift` and `axes` of int64 | | as OpenVINO defines Roll-7 |
//! | `ReverseSubsequences` | `data`, `lengths` of int64 | `axis` | as DirectML defines it |
//! | `Chain` | `data` | `chain`: a chain in the chain language, as text | the result of the chain |
//!
//! `context.rs` wraps a call, and `tensor.rs` its inputs and outputs as slices. The operator finds or makes a plan,
//! which runs on the threads of the session (`pool.rs`). An error or panic becomes a status (`failure.rs`).
#![allow(unsafe_code)]

mod api;
mod chain;
mod context;
mod domain;
mod element;
mod failure;
mod inference;
mod model;
mod node;
mod operator;
mod plans;
mod pool;
mod reverse_subsequences;
mod roll;
mod samples;
mod tensor;
#[cfg(test)]
mod tests;

use std::ffi::CStr;

pub use ort_sys::{OrtApiBase, OrtSessionOptions, OrtStatusPtr};

use api::Api;
use domain::Domain;
use failure::guarded;

const DOMAIN: &CStr = c"trundle";

/// Adds the operators to session options. Returns a status, which is NULL on success.
///
/// Call this function in a library's `RegisterCustomOps`. The domain remains valid until the process ends.
///
/// # Safety
/// ONNX Runtime must have passed both pointers to `RegisterCustomOps`.
pub unsafe fn register(options: *mut OrtSessionOptions, base: *const OrtApiBase) -> OrtStatusPtr {
    // SAFETY: `base` is valid by the contract of this function.
    let api = match unsafe { Api::of_base(base) } {
        Ok(api) => api,
        Err(status) => return status,
    };
    guarded(api, "trundle", || {
        let domain = Domain::of(api)?;
        // SAFETY: the caller owns the options, and the domain is never freed.
        api.check(unsafe { (api.functions().AddCustomOpDomain)(options, domain.0) })
    })
}
