//! Moves tensors of any size from file to file within a memory limit.
//!
//! The module `plan` decides how to move each tensor, `run` moves it, and `recovery` resumes interrupted runs.
#![forbid(unsafe_code)]

mod blob_store;
mod error;
mod plan;
mod recovery;
mod run;
mod together;

pub use error::{Error, Problem};
pub use plan::chunk_sizes::ChunkSizes;
pub use plan::input::Input;
pub use plan::job::{Addition, Assembled, Cost, Job, PlanOptions, Wanted};
pub use plan::left_out::LeftOut;
pub use plan::numbered::Stage;
pub use plan::storage::Storage;
pub use plan::tensor_job::TensorJob;
pub use run::{
    Difference, Finished, NumberedJob, Observer, Outcome, RunOptions, Sample, Source, Steps,
    TaskOptions, TaskPlan, are_undecoded_alike, compare,
};
pub use trundle_core::program::{Program, TensorId};
