//! Operators of trundle in ONNX Runtime: of the domain `trundle`, version 1, registered over its C functions.
//!
//! A library exports a function of ONNX Runtime's name, `RegisterCustomOps`, that calls [`register`]. Nothing is linked: all
//! functions come with the call.
//!
//! | operator | inputs | attributes | output |
//! |---|---|---|---|
//! | `Move` | any number, of any types | `model`: the bytes of an ONNX model of movements, whose inputs need no types | as many as the model has |
//! | `Roll` | `data`, `shift` and `axes` of int64 | | as Roll-7 of OpenVINO |
//! | `ReverseSubsequences` | `data`, `lengths` of int64 | `axis` | as that of DirectML |
//! | `Chain` | `data` | `chain`: a text of the chain language | what the chain makes |
//!
//! A call goes through four modules. `context.rs` is what a kernel is called with, `tensor.rs` its inputs and outputs as
//! slices; the operator finds a plan that it has made before or makes one; the plan runs on the threads of the session
//! (`pool.rs`). Whatever fails on the way, panics too, becomes a status (`failure.rs`).
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
mod texts;

use std::ffi::CStr;

pub use ort_sys::{OrtApiBase, OrtSessionOptions, OrtStatusPtr};

use api::Api;
use domain::Domain;
use failure::guarded;

/// The domain of the operators.
const DOMAIN: &CStr = c"trundle";

/// Adds the operators to the options of a session, as `RegisterCustomOps` of a library does.
///
/// # Safety
/// The pointers are those that ONNX Runtime calls `RegisterCustomOps` with.
pub unsafe fn register(options: *mut OrtSessionOptions, base: *const OrtApiBase) -> OrtStatusPtr {
    // SAFETY: the contract is the same.
    let api = match unsafe { Api::of_base(base) } {
        Ok(api) => api,
        Err(status) => return status,
    };
    guarded(api, "trundle", || {
        let domain = Domain::of(api)?;
        // SAFETY: the options are the caller's, and the domain is never freed.
        api.check(unsafe { (api.functions().AddCustomOpDomain)(options, domain.pointer()) })
    })
}
