//! By what a job is known again, so that no run goes on with another one's work.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use trundle::{Fingerprint, Shape};
use trundle_formats::{Format, Frame, Header, Order};

use crate::job::{Begun, Job};
use crate::stage::{Stage, stages};
use crate::way::{Movement, Way};

/// To be raised when the same tiles and batches mean something else in a file between two passes,
/// in an output or in a journal. That others are cut is seen without it.
const TILING: u32 = 1;

/// What is asked of a job: all that decides a byte of its output, but the source's bytes. Fingerprints
/// are derived from every field of what they are of: see [`Fingerprint`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// Which tensors of the source: their names, types, shapes, orders and places.
    tensors: Hex,
    /// What is done to them, with every parameter and table.
    movements: Hex,
    /// The format with all that stands beside the data: names, types, shapes, metadata.
    output: Hex,
}

/// A fingerprint as the digits of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hex(String);

trundle::fingerprint!(struct Asked { tensors, movements, output });
trundle::fingerprint!(struct Hex(digits));

impl Hex {
    pub(crate) fn of(what: &impl Fingerprint) -> Hex {
        Hex(format!("{:032x}", what.fingerprint()))
    }
}

impl Asked {
    /// What the tensors of a job and its output ask for.
    pub(crate) fn of(begun: &[Begun], format: &Format, frame: &Frame) -> Asked {
        let mut tensors: Vec<(&Header, usize)> = Vec::new();
        let mut movements: Vec<&Movement> = Vec::new();
        let mut shapes: Vec<(&Shape, Order)> = Vec::new();
        for Begun { header, index, movement, out_shape, out_order } in begun {
            tensors.push((header, *index));
            movements.push(movement);
            shapes.push((out_shape, *out_order));
        }
        Asked {
            tensors: Hex::of(&tensors),
            movements: Hex::of(&movements),
            output: Hex::of(&(format.name(), (frame, shapes))),
        }
    }

    /// How another job differs; `None` if it is the same.
    pub(crate) fn difference(&self, other: &Asked) -> Option<Difference> {
        let Asked { tensors, movements, output } = other;
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
        (!differ.is_empty()).then_some(Difference(differ))
    }
}

/// In what two jobs differ.
#[derive(Debug)]
pub(crate) struct Difference(Vec<&'static str>);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl Job {
    /// How its tensors are cut: what the numbers of a journal count, and where in the files between
    /// passes the elements stand.
    pub(crate) fn tiles(&self) -> Hex {
        let ways: Vec<&Way> = self.tensors.iter().map(|tensor| &tensor.way).collect();
        let stages: Vec<(Stage, Vec<Range<usize>>)> = stages(self)
            .into_iter()
            .map(|stage| {
                let batches = stage.batches(self);
                (stage, batches)
            })
            .collect();
        Hex::of(&(TILING, (ways, stages)))
    }
}

#[cfg(test)]
mod tests;
