//! Parts of the program `trundle`: what `view` and `demo` draw.
#![forbid(unsafe_code)]

pub mod phantom;
pub mod picture;
pub mod slice;
