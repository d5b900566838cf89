//! Verifies outputs element by element against the operators.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle_core::DType;
use trundle_core::program::TensorId;

use crate::constant::Elements;
use crate::{Data, ElementType, ResolvedModel};

/// The smallest number of elements that a thread compares.
const LEAST_SHARE: usize = 4096;

/// Compares outputs of a model with the elements of inputs and constants that they should be equal to.
///
/// Follows each element back through the program, operator by operator, without code of the planned run.
pub struct Verifier<'a> {
    model: &'a ResolvedModel,
    inputs: &'a [Data],
}

impl ResolvedModel {
    /// The first index at which `output` differs from tensor `id`, or `None`.
    ///
    /// # Panics
    /// If `inputs` or `output` have fewer elements than their tensors.
    pub fn first_difference(
        &self,
        id: TensorId,
        inputs: &[Data],
        output: &Data,
    ) -> Option<Vec<usize>> {
        let elements = self.shape(id).elements();
        Verifier::new(self, inputs).first_difference(id, 0..elements, output)
    }
}

impl<'a> Verifier<'a> {
    /// A verifier of the model's results for these inputs.
    pub fn new(model: &'a ResolvedModel, inputs: &'a [Data]) -> Verifier<'a> {
        Verifier { model, inputs }
    }

    /// The first index at which elements `range` of an output (in row-major order) differ from tensor `id`,
    /// or `None`.
    ///
    /// `part` holds only the elements of `range`; packed elements start at its first bit.
    ///
    /// # Panics
    /// If the inputs have fewer elements than their tensors, or `part` has fewer than `range`.
    pub fn first_difference(
        &self,
        id: TensorId,
        range: Range<usize>,
        part: &Data,
    ) -> Option<Vec<usize>> {
        let (model, part) = (self.model, part.elements());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = range.len().div_ceil(threads).max(LEAST_SHARE);
        let first = AtomicUsize::new(usize::MAX);
        std::thread::scope(|scope| {
            for begin in range.clone().step_by(share) {
                let (first, range) = (&first, range.clone());
                scope.spawn(move || {
                    for at in begin..range.end.min(begin + share) {
                        let (source, element) = model.program().origin(id, at);
                        // Every origin is an input, a constant or a fill.
                        let expected = model.source(source, self.inputs).unwrap_or(part);
                        let (expected, own) = ((expected, element), (part, at - range.start));
                        if !same(model.element(id), expected, own) {
                            first.fetch_min(at, Ordering::Relaxed);
                            return;
                        }
                    }
                });
            }
        });
        let first = first.into_inner();
        range.contains(&first).then(|| model.shape(id).unravel(first))
    }
}

fn same(
    element: ElementType,
    (left, i): (Elements<'_>, usize),
    (right, j): (Elements<'_>, usize),
) -> bool {
    match (left, right, element) {
        (Elements::Strings(left), Elements::Strings(right), _) => left[i] == right[j],
        (Elements::Bytes(left), Elements::Bytes(right), ElementType::Fixed(dtype)) => {
            bits(dtype, left, i) == bits(dtype, right, j)
        }
        _ => false,
    }
}

/// The bytes of an element, or the value of a packed one.
fn bits(dtype: DType, bytes: &[u8], at: usize) -> (&[u8], u8) {
    match dtype.packing() {
        Some(packing) => (&[], packing.get(bytes, at)),
        None => (&bytes[at * dtype.width()..][..dtype.width()], 0),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use trundle_core::ops::Roll;
    use trundle_core::{DType, Program, Shape};

    use super::*;
    use crate::TensorInfo;

    #[test]
    fn the_first_element_that_differs_is_found() {
        for dtype in [DType::U16, DType::U4] {
            let element = ElementType::Fixed(dtype);
            let mut program = Program::new();
            let input = program.given(Shape::new([2, 4]).unwrap(), dtype).unwrap();
            let rolled = program.moved_by(input, Roll::new(&[1], &[1])).unwrap();
            program.output(rolled).unwrap();
            let infos = vec![TensorInfo { element, name: "t".into() }; 2];
            let model = ResolvedModel::new(program, infos, Vec::new()).unwrap();
            let bytes = |values: [u8; 8]| match dtype.packing() {
                Some(packing) => {
                    let mut bytes = vec![0; packing.bytes(8)];
                    let each = values.into_iter().enumerate();
                    each.for_each(|(at, value)| packing.set(&mut bytes, at, value));
                    Data::Bytes(bytes.into())
                }
                None => Data::Bytes(Bytes::from_iter(values.into_iter().flat_map(|v| [v, 1]))),
            };
            let given = bytes([0, 1, 2, 3, 4, 5, 6, 7]);
            let differs =
                |output| model.first_difference(rolled, std::slice::from_ref(&given), &output);
            assert_eq!(differs(bytes([3, 0, 1, 2, 7, 4, 5, 6])), None);
            assert_eq!(differs(bytes([3, 0, 1, 2, 7, 4, 6, 5])), Some(vec![1, 2]));
            assert_eq!(differs(bytes([2, 0, 1, 2, 7, 4, 6, 5])), Some(vec![0, 0]));
        }
    }
}
