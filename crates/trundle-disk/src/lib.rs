//! Tensors moved from file to file, of any size, within a given amount of memory.
//!
//! `plan` decides how, `run` carries it out, `recovery` lets a later run go on with what an earlier
//! one has left.
#![forbid(unsafe_code)]

mod error;
mod plan;
mod recovery;
mod run;
mod store;

pub use error::{Error, Problem};
pub use plan::chunk_sizes::ChunkSizes;
pub use plan::input::Input;
pub use plan::job::{Assembled, Cost, Job, PlanOptions, Wanted};
pub use plan::left_out::LeftOut;
pub use plan::numbered::Stage;
pub use plan::storage::Storage;
pub use plan::tensor_job::TensorJob;
pub use run::{
    Difference, Finished, NumberedJob, Observer, Outcome, RunOptions, Sample, Source, Steps,
    TaskOptions, TaskPlan, compare,
};
pub use trundle_core::program::{Program, TensorId};
