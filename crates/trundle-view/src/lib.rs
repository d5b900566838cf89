//! Pictures of slices of tensors, in a terminal or as PNG.
//!
//! A [`Slice`] says which [`DrawnAxes`] of a tensor a picture has. [`Pixels`] are the elements along
//! them, a [`Drawing`] is the [`Picture`] of those.
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
