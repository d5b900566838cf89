//! Plans jobs: decides how each tensor goes from file to file before anything is written.

pub(crate) mod chunk_sizes;
mod codec_memory;
pub(crate) mod encoded;
mod growth;
pub(crate) mod input;
pub(crate) mod io_plan;
pub(crate) mod job;
mod kept_chunks;
pub(crate) mod left_out;
pub(crate) mod location;
mod measurements;
pub(crate) mod movement;
pub(crate) mod numbered;
mod seams;
pub(crate) mod storage;
pub(crate) mod tasks;
pub(crate) mod tensor_job;
pub(crate) mod tiling;
