//! An output held against what the operators say, element by element.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use trundle_core::DType;

use crate::follow::{Ends, followed};
use crate::{Data, ElementType, Graph, Made, TensorId};

/// How many elements a thread follows at least.
const LEAST_SHARE: usize = 4096;

/// A graph, asked where elements come from: each is followed back through it, one movement after
/// another, to the input or constant that it comes from. Nothing of how a program runs is used.
pub struct Verifier<'a> {
    graph: &'a Graph,
    inputs: &'a [Data],
    ends: Ends,
}

impl Graph {
    /// The first index at which `output` is not what tensor `id` holds there. `None` if all are.
    ///
    /// # Panics
    /// If `inputs` or `output` have fewer elements than their tensors.
    pub fn first_difference(
        &self,
        id: TensorId,
        inputs: &[Data],
        output: &Data,
    ) -> Option<Vec<usize>> {
        let elements = self.tensors[id.0].shape.elements();
        Verifier::new(self, inputs).first_difference(id, 0..elements, output)
    }
}

impl<'a> Verifier<'a> {
    /// A verifier of what a graph makes of these inputs.
    pub fn new(graph: &'a Graph, inputs: &'a [Data]) -> Verifier<'a> {
        Verifier { graph, inputs, ends: Ends::of(&graph.tensors) }
    }

    /// The first index at which an output is not what tensor `id` holds there, among those of its
    /// elements, counted in row-major order, that are in `range`; they are all that `part` holds,
    /// packed ones from the first bit on. `None` if all are.
    ///
    /// # Panics
    /// If the inputs have fewer elements than their tensors, or `part` has fewer than `range`.
    pub fn first_difference(
        &self,
        id: TensorId,
        range: Range<usize>,
        part: &Data,
    ) -> Option<Vec<usize>> {
        let tensor = &self.graph.tensors[id.0];
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = range.len().div_ceil(threads).max(LEAST_SHARE);
        let first = AtomicUsize::new(usize::MAX);
        std::thread::scope(|scope| {
            for begin in range.clone().step_by(share) {
                let (first, range) = (&first, range.clone());
                scope.spawn(move || {
                    for number in begin..range.end.min(begin + share) {
                        let (source, at) = self.origin(id, number);
                        let data = match &self.graph.tensors[source.0].made {
                            Made::Given(input) => &self.inputs[*input],
                            Made::Constant(constant) => &constant.data,
                            Made::Moved { .. } | Made::Joined { .. } => part,
                        };
                        if !same(tensor.element, (data, at), (part, number - range.start)) {
                            first.fetch_min(number, Ordering::Relaxed);
                            return;
                        }
                    }
                });
            }
        });
        let first = first.into_inner();
        range.contains(&first).then(|| tensor.shape.unravel(first))
    }

    /// Where the element of this number of a tensor comes from: an input or a constant, and the
    /// number of the element there.
    fn origin(&self, id: TensorId, number: usize) -> (TensorId, usize) {
        let mut at = (id, number);
        while let Some(next) = followed(&self.graph.tensors, &self.ends, at.0, at.1) {
            at = next;
        }
        at
    }
}

/// Whether two elements are the same, bit for bit.
fn same(element: ElementType, (left, i): (&Data, usize), (right, j): (&Data, usize)) -> bool {
    match (left, right, element) {
        (Data::Strings(left), Data::Strings(right), _) => left[i] == right[j],
        (Data::Bytes(left), Data::Bytes(right), ElementType::Fixed(dtype)) => {
            bits(dtype, left, i) == bits(dtype, right, j)
        }
        _ => false,
    }
}

/// The bytes of an element, or the byte of one that is packed.
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
    use trundle_core::{DType, Shape};

    use super::*;
    use crate::Tensor;

    #[test]
    fn the_first_element_that_differs_is_found() {
        for dtype in [DType::U16, DType::U4] {
            let element = ElementType::Fixed(dtype);
            let shape = Shape::new([2, 4]).unwrap();
            let map = Roll::new(&[1], &[1]).index_map(&shape).unwrap();
            let tensor = |made| Tensor { element, shape: shape.clone(), made, name: "t".into() };
            let tensors =
                vec![tensor(Made::Given(0)), tensor(Made::Moved { from: TensorId(0), map })];
            let graph = Graph { tensors, outputs: vec![TensorId(1)] };
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
                |output| graph.first_difference(TensorId(1), std::slice::from_ref(&given), &output);
            assert_eq!(differs(bytes([3, 0, 1, 2, 7, 4, 5, 6])), None);
            assert_eq!(differs(bytes([3, 0, 1, 2, 7, 4, 6, 5])), Some(vec![1, 2]));
            assert_eq!(differs(bytes([2, 0, 1, 2, 7, 4, 6, 5])), Some(vec![0, 0]));
        }
    }
}
