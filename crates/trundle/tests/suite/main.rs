//! Tests of the public functions, chains and plans.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod chains;
mod chains_of_several;
mod einops;
mod functions;
mod in_place;
mod program_plans;
mod repeated;
mod runner;
mod typed;
mod types;
