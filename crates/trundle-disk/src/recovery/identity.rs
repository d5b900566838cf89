//! Identifies a job, so that no run resumes the work of another job.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use trundle::{Fingerprint, Shape};
use trundle_formats::Order;

use crate::plan::input::{JobInput, JobTensor};
use crate::plan::io_plan::FilePass;
use crate::plan::job::Job;
use crate::plan::movement::Movement;
use crate::plan::tasks::{TaskGroup, groups};
use crate::plan::tensor_job::TensorJob;

/// The version of the tiling. Increase it when the same tiles and batches get another meaning in an intermediate, an
/// output or a journal. Other tiles are detected without it.
const TILING: u32 = 3;

/// Everything that determines the bytes of a job's output, except for the data of the sources. Fingerprints include
/// every field, see [`Fingerprint`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobIdentity {
    /// The source tensors: names, types, shapes, orders and offsets.
    tensors: Hex,
    /// The operators with all their parameters and tables.
    movements: Hex,
    /// The format of the output and everything in it except the data: names, types, shapes and metadata.
    output: Hex,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hex(String);

trundle::internal::fingerprint!(struct JobIdentity { tensors, movements, output });
trundle::internal::fingerprint!(struct Hex(digits));

impl Hex {
    pub(crate) fn of(what: &impl Fingerprint) -> Hex {
        Hex(format!("{:032x}", what.fingerprint()))
    }
}

impl JobIdentity {
    pub(crate) fn of(job: &Job) -> JobIdentity {
        let mut movements: Vec<(&Movement, &[usize])> = Vec::new();
        let mut shapes: Vec<(&Shape, Order)> = Vec::new();
        for TensorJob { movement, inputs, out_shape, out_order, .. } in &job.tensors {
            movements.push((movement, inputs));
            shapes.push((out_shape, *out_order));
        }
        let tensors: Vec<&JobTensor> = job.inputs.iter().filter_map(JobInput::tensor).collect();
        let constants = job.inputs.iter().enumerate().filter_map(|(at, input)| match input {
            JobInput::Constant(bytes) => Some((at, &bytes.get_ref()[..])),
            JobInput::Tensor(_) => None,
        });
        JobIdentity {
            tensors: Hex::of(&tensors),
            movements: Hex::of(&(movements, constants.collect::<Vec<_>>())),
            output: Hex::of(&(job.format.name(), (&job.skeleton, shapes))),
        }
    }

    /// Returns how the job of `other` differs from this one; `None` if it is the same job.
    pub(crate) fn difference(&self, other: &JobIdentity) -> Option<String> {
        let JobIdentity { tensors, movements, output } = other;
        let mut differ = Vec::new();
        if self.tensors != *tensors {
            differ.push("the tensors or their types");
        }
        if self.movements != *movements {
            differ.push("the operators or their parameters");
        }
        if self.output != *output {
            differ.push("the output's format, names or metadata");
        }
        (!differ.is_empty()).then(|| differ.join("; "))
    }
}

impl Job {
    /// Fingerprints the tiling, which determines the meaning of a journal's counts and the layout of intermediates.
    pub(crate) fn tiles(&self) -> Hex {
        let passes: Vec<&[FilePass]> =
            self.tensors.iter().map(|tensor| &tensor.file_passes[..]).collect();
        let groups: Vec<(TaskGroup, Vec<Range<usize>>)> = groups(self)
            .into_iter()
            .map(|group| {
                let batches = group.batches(self);
                (group, batches)
            })
            .collect();
        Hex::of(&(TILING, (passes, groups)))
    }
}

#[cfg(test)]
mod tests;
