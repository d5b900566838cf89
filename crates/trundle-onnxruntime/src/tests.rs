//! Tests without ONNX Runtime. Python tests run the operators in a real one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::c_char;
use std::ptr::{from_ref, null, null_mut};

use ort_sys::stub::{self, Error};
use ort_sys::{OrtApi, OrtApiBase, OrtStatusPtr};
use trundle::DType;
use trundle_models::ElementType;

use crate::api::Api;
use crate::element::{element_of, number_of};
use crate::failure::{Failure, guarded};
use crate::register;

/// Only the status functions work.
static STUB: OrtApi = stub::api();

fn message(status: OrtStatusPtr) -> String {
    assert!(!status.0.is_null());
    // SAFETY: the status comes from `STUB`.
    unsafe { Error::consume_sys(status.0) }.message().to_owned()
}

unsafe extern "system" fn only_the_first_version(version: u32) -> *const OrtApi {
    if version == 1 { &raw const STUB } else { null() }
}

unsafe extern "system" fn version() -> *const c_char {
    c"1.16.3".as_ptr()
}

#[test]
fn an_older_runtime_is_refused_with_the_needed_version() {
    let base = OrtApiBase { GetApi: only_the_first_version, GetVersionString: version };
    // SAFETY: `base` is complete, and `register` does not use the options if our version is missing.
    let status = unsafe { register(null_mut(), &raw const base) };
    assert_eq!(message(status), "trundle needs ONNX Runtime 1.17 or newer, this is 1.16.3");
}

#[test]
fn failures_and_panics_become_statuses() {
    // SAFETY: `STUB` is static.
    let api = unsafe { Api::of_pointer(from_ref(&STUB)) };
    assert!(guarded(api, "node", || Ok(())).0.is_null());
    let failed = guarded(api, "node", || Err(Failure("no\0where".to_owned())));
    assert_eq!(message(failed), "node: no\\0where");
    let panicked = guarded(api, "node", || panic!("{} is wrong", 7));
    assert_eq!(message(panicked), "node: panicked: 7 is wrong");
    let failed = api.check(api.status("again")).unwrap_err();
    assert_eq!(failed.of("input", 2).0, "input 2: again");
}

#[test]
fn element_types_have_numbers() {
    for number in 1..=26 {
        let element = element_of(number).unwrap();
        let is_one_of_two = element == ElementType::Fixed(DType::Bytes(1));
        assert_eq!(number_of(element), (!is_one_of_two).then_some(number));
    }
    // These numbers differ from ONNX's numbers.
    let own = [24, 25, 26].map(|number| element_of(number).unwrap());
    assert_eq!(own, [DType::U2, DType::I2, DType::F8E8M0].map(ElementType::Fixed));
    for number in [-1, 0, 27, 1000] {
        let refused = element_of(number).unwrap_err().0;
        assert_eq!(refused, format!("ONNX Runtime's element type {number} is not supported"));
    }
}
