//! Pictures of slices of tensors, in a terminal or as PNG.
//!
//! A [`Slice`] of a tensor is a [`Plane`]: where its elements are. [`Pixels`] are those elements,
//! read from a file, a [`Drawing`] the [`Picture`] of them.
#![forbid(unsafe_code)]

mod error;
mod phantom;
mod picture;
mod pixels;
mod slice;

pub use error::Error;
pub use phantom::volume as phantom;
pub use picture::Picture;
pub use picture::draw::Drawing;
pub use picture::png::write as write_png;
pub use picture::terminal::{Palette, render};
pub use pixels::{Budget, Pixels, has_numbers};
pub use slice::{Plane, Slice, SliceError};
