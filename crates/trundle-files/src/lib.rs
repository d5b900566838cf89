//! Moves tensors from files to files, for any front end: the `trundle` program, or Python's `trundle.zarr`.
//!
//! A front end builds a [`Request`](request::Request). [`decide`](decide::decide) turns it into
//! a [`Decided`](decide::Decided), which can be run, reported, or divided into numbered tasks ([`tasks`]).
#![forbid(unsafe_code)]

pub mod addition;
mod axes;
mod coordinates;
pub mod decide;
pub mod failure;
mod fates;
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
mod undecoded;
