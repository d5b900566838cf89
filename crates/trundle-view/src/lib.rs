//! Draws slices of tensors, in a terminal or as PNG.
//!
//! A [`Slice`] selects the [`DrawnAxes`] of a tensor, and [`Pixels`] hold the elements along them. A [`Drawing`] holds
//! the [`Picture`] and describes how to read it.
#![forbid(unsafe_code)]

mod phantom;
mod picture;
mod pixels;
mod slice;

pub use phantom::volume as phantom;
pub use picture::Picture;
pub use picture::draw::{Drawing, MOST_SIDE};
pub use picture::png::write as write_png;
pub use picture::terminal::{Palette, render};
pub use pixels::{PICTURE_BYTES, Pixels, has_numbers};
pub use slice::{AxisNames, DrawnAxes, Slice, SliceError};
