//! Unrolls loops and scans, whose number of iterations is known when the model is resolved.

use trundle_core::program::TensorId;
use trundle_core::{DType, Shape, normalize_axis};

use super::builder::Builder;
use super::graph::Iterations;
use super::site::Site;
use super::slices::cut;
use crate::problem::{Checked, wrong};
use crate::{Body, Constant, IntegerTypes, Integers, PartialShape, ScanAxis};

/// A loop's first inputs are iteration count and condition; its body's are index and condition.
const CONTROLS: usize = 2;

/// Loop. Without a condition input, the condition that the body returns is ignored.
///
/// Source: ONNX's Loop, opset 25.
pub(super) fn repeat(site: &mut Site, body: &Body) -> Checked<Vec<TensorId>> {
    let (has_most, condition) = (site.input(0).is_ok(), site.input(1).ok());
    let carried = site.inputs_from(CONTROLS)?;
    if !has_most && condition.is_none() {
        return wrong!("it has neither M nor cond, so it would never end");
    }
    let most = if has_most { Some(trip_count(site)?) } else { None };
    if let (Some(most), None) = (most, condition) {
        site.builder.check_iterations(body, most)?;
    }

    let stacks = body.outputs.len().saturating_sub(1 + carried.len());
    let stacks = vec![ScanAxis { axis: 0, is_backward: false }; stacks];
    let mut iterations = Iterations::new(body, carried, &stacks);
    let mut goes_on = match condition {
        Some(condition) => condition,
        None => site.builder.constant(&Constant::of(DType::Boolean, Shape::default(), vec![1]))?,
    };
    while most.is_none_or(|most| iterations.done < most)
        && (condition.is_none() || site.is_true(goes_on)?)
    {
        let Iterations { done, carried, .. } = &iterations;
        let given = given(body, *done, goes_on, carried, site.builder)?;
        let [next] = iterations.run(&given, site.builder)?[..] else {
            return wrong!("its body does not state the condition to continue");
        };
        goes_on = next;
    }
    let first =
        |carried: &[TensorId], builder: &mut Builder| given(body, 0, goes_on, carried, builder);
    iterations.outputs(first, site.builder)
}

/// The largest number of iterations of a loop, from its input M.
fn trip_count(site: &mut Site) -> Checked<usize> {
    let most = site.single("M", &Integers::Input { input: 0, types: IntegerTypes::I64 })?;
    Ok(usize::try_from(most.max(0)).unwrap_or(usize::MAX))
}

/// Iteration index, condition, and carried values.
fn given(
    body: &Body,
    iteration: usize,
    goes_on: TensorId,
    carried: &[TensorId],
    builder: &mut Builder,
) -> Checked<Vec<TensorId>> {
    // Some bodies declare a list of one element.
    let shape = match body.inputs.first().map(|input| &input.shape) {
        Some(PartialShape::Ranked(sizes)) if sizes.len() == 1 => Shape::new([1])?,
        _ => Shape::default(),
    };
    let number = (iteration as u64).to_le_bytes().to_vec();
    let number = builder.constant(&Constant::of(DType::I64, shape, number))?;
    Ok([&[number, goes_on], carried].concat())
}

/// Scan.
///
/// Source: ONNX's Scan, opset 25.
pub(super) fn scan(
    site: &mut Site,
    body: &Body,
    cuts: &[ScanAxis],
    stacks: &[ScanAxis],
) -> Checked<Vec<TensorId>> {
    let mut carried = site.inputs_from(0)?;
    let builder = &mut *site.builder;
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
    let count = common_size(&scanned)?;
    builder.check_iterations(body, count)?;
    let mut iterations = Iterations::new(body, carried, stacks);
    while iterations.done < count {
        let parts = scanned.iter().map(|scanned| scanned.part(iterations.done, builder));
        let parts = parts.collect::<Checked<Vec<_>>>()?;
        let given = [&iterations.carried[..], &parts].concat();
        iterations.run(&given, builder)?;
    }
    let first = |carried: &[TensorId], builder: &mut Builder| {
        let parts = scanned.iter().enumerate().map(|(number, scanned)| {
            scanned.unknown_part(&format!("scan input {number}"), builder)
        });
        Ok([carried, &parts.collect::<Checked<Vec<_>>>()?].concat())
    };
    iterations.outputs(first, builder)
}

fn common_size(scanned: &[Scanned]) -> Checked<usize> {
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

/// Each iteration gets one slice.
struct Scanned {
    tensor: TensorId,
    shape: Shape,
    /// The axis, which is not negative.
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

    /// The shape of a slice: the tensor's shape without the axis.
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

    /// A slice with unknown elements, for a scan without iterations.
    fn unknown_part(&self, name: &str, builder: &mut Builder) -> Checked<TensorId> {
        builder.unknown(name, builder.element(self.tensor), &self.part_shape()?)
    }
}
