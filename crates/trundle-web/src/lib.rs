//! The library of the page in `web/`, compiled to WebAssembly.
//!
//! JavaScript asks a question as JSON, and gets an answer as JSON. The crates of the program `trundle` parse, plan and
//! explain; JavaScript only draws.
//!
//! The library exports three functions. JavaScript gets a buffer from [`request_buffer`], writes the question and the
//! bytes of a dropped file into it, calls [`answer`], and reads the answer. The functions are declared by hand, and not
//! with wasm-bindgen, because only text passes between JavaScript and Rust (docs/dependencies.md has the reasons).
//!
//! ```text
//! {"chain": "roll(half, dim=lon)", "shape": [6, 12], "names": ["lat", "lon"], "dtype": "f32"}
//! {"file": "volume.npy", "bytes": 4224}
//! ```
// Rust calls the export of a function unsafe, because another function could have its name. There is no unsafe block.
#![allow(unsafe_code)]

mod elements;
mod explanation;
mod opened;
mod question;
mod snippets;
mod spelling;

use std::sync::{Mutex, PoisonError};

use question::Question;
use serde_json::Value;

/// The bytes that JavaScript writes, and the last answer.
static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<String> = Mutex::new(String::new());

/// Returns the start of a buffer of this many bytes, to which JavaScript writes the question and the file.
#[unsafe(no_mangle)]
pub extern "C" fn request_buffer(bytes: usize) -> *mut u8 {
    let mut request = REQUEST.lock().unwrap_or_else(PoisonError::into_inner);
    request.clear();
    request.resize(bytes, 0);
    request.as_mut_ptr()
}

/// Answers the question in the first `question_bytes` bytes of the buffer, and returns where the answer starts.
#[unsafe(no_mangle)]
pub extern "C" fn answer(question_bytes: usize) -> *const u8 {
    let request = std::mem::take(&mut *REQUEST.lock().unwrap_or_else(PoisonError::into_inner));
    let mut answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
    *answer = answer_to(&request, question_bytes).to_string();
    answer.as_ptr()
}

/// Returns the size of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer_bytes() -> usize {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).len()
}

fn answer_to(request: &[u8], question_bytes: usize) -> Value {
    let (question, file) = request.split_at_checked(question_bytes).unwrap_or((request, &[]));
    let answer = match Question::read(question) {
        Ok(Question::Chain(question)) => explanation::of(&question),
        Ok(Question::File(question)) => opened::of(&question, file),
        Err(refusal) => Err(refusal),
    };
    answer.unwrap_or_else(|refusal| refusal.to_json())
}

#[cfg(test)]
mod tests;
