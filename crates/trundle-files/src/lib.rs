//! Tensors moved from files to files, for any front end: the program `trundle`, and `trundle.zarr` of the Python package.
//!
//! A front end makes a [`Request`](request::Request), which [`decide`](decide::decide) turns into a
//! [`Decided`](decide::Decided): run, reported, or cut into numbered tasks ([`tasks`]).
#![forbid(unsafe_code)]

mod axes;
mod coordinates;
pub mod decide;
pub mod failure;
pub mod forecast;
pub mod input;
mod join;
mod left_out;
pub mod memory;
pub mod moves;
pub mod names;
mod numbered_name;
pub mod numbers;
mod operation;
pub mod output;
mod relayout;
pub mod report;
pub mod request;
mod rule;
pub mod run;
mod selection;
mod split;
pub mod tasks;
