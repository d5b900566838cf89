//! Scans: a body run for each index of an axis.

use trundle_core::program::TensorId;
use trundle_core::{Shape, normalize_axis};

use super::builder::Builder;
use super::iterations::{Iterations, Run};
use super::site::{Values, all, read};
use super::slices::cut;
use crate::problem::{Checked, wrong};
use crate::{Body, Node, ScanAxis};

/// Scan.
///
/// Source: ONNX's Scan, opset 25.
pub(super) fn scan(
    node: &Node,
    body: &Body,
    (cuts, stacks): (&[ScanAxis], &[ScanAxis]),
    run: Run,
    values: &mut Values,
    builder: &mut Builder,
) -> Checked<Vec<TensorId>> {
    let mut carried = all(&read(node, values)?, 0)?;
    let Some(states) = carried.len().checked_sub(cuts.len()) else {
        return wrong!("it scans {} inputs, and has {}", cuts.len(), carried.len());
    };
    let scanned = carried.split_off(states);
    let scanned = scanned.into_iter().zip(cuts).enumerate();
    let scanned: Vec<Scanned> = scanned
        .map(|(number, (tensor, cut))| {
            Scanned::new(tensor, *cut, builder)
                .map_err(|problem| format!("scan input {number}: {problem}").into())
        })
        .collect::<Checked<_>>()?;
    let count = iterations(&scanned)?;
    builder.check_iterations(body, count)?;
    let mut iterations = Iterations::new(body, run, carried, stacks);
    while iterations.done() < count {
        let parts = scanned.iter().map(|scanned| scanned.part(iterations.done(), builder));
        let parts = parts.collect::<Checked<Vec<_>>>()?;
        let given = [iterations.carried(), &parts].concat();
        iterations.run(&given, values, builder)?;
    }
    let first = |carried: &[TensorId], builder: &mut Builder| {
        let parts = scanned.iter().enumerate().map(|(number, scanned)| {
            scanned.unknown_part(&format!("scan input {number}"), builder)
        });
        Ok([carried, &parts.collect::<Checked<Vec<_>>>()?].concat())
    };
    iterations.outputs(first, values, builder)
}

fn iterations(scanned: &[Scanned]) -> Checked<usize> {
    let Some(first) = scanned.first() else {
        return wrong!("it scans no inputs, and has no number of iterations");
    };
    for (number, other) in scanned.iter().enumerate() {
        if other.size() != first.size() {
            return wrong!(
                "scan input 0 has {} parts along its axis, but scan input {number} has {}",
                first.size(),
                other.size()
            );
        }
    }
    Ok(first.size())
}

/// A tensor with one slice for each iteration.
struct Scanned {
    tensor: TensorId,
    shape: Shape,
    /// Not negative.
    axis: usize,
    is_backward: bool,
}

impl Scanned {
    fn new(tensor: TensorId, cut: ScanAxis, builder: &Builder) -> trundle_core::Result<Scanned> {
        let shape = builder.shape(tensor).clone();
        let axis = normalize_axis("axis", cut.axis, shape.rank())?;
        Ok(Scanned { tensor, shape, axis, is_backward: cut.is_backward })
    }

    fn size(&self) -> usize {
        self.shape[self.axis]
    }

    /// The shape of a slice: without the axis.
    fn part_shape(&self) -> Checked<Shape> {
        let (before, after) = (&self.shape[..self.axis], &self.shape[self.axis + 1..]);
        Ok(Shape::new([before, after].concat())?)
    }

    fn part(&self, iteration: usize, builder: &mut Builder) -> Checked<TensorId> {
        let index = if self.is_backward { self.size() - 1 - iteration } else { iteration };
        let mut ranges: Vec<_> = self.shape.iter().map(|size| 0..*size).collect();
        ranges[self.axis] = index..index + 1;
        let part = builder.moved(self.tensor, cut(&self.shape, &ranges)?)?;
        builder.reshaped(part, &self.part_shape()?)
    }

    /// A placeholder for a slice if there is no iteration.
    fn unknown_part(&self, name: &str, builder: &mut Builder) -> Checked<TensorId> {
        builder.unknown(name, builder.element(self.tensor), &self.part_shape()?)
    }
}
