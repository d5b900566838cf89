//! Elements followed through a graph to where they stand.

use trundle_core::Shape;

use crate::{Data, ElementType, Graph, Made, Tensor, TensorId};

/// One step from an element, counted in row-major order, towards where it stands: the tensor that
/// its own is made of, and its number there. `None` for what is given, or held by the file.
pub(crate) fn followed(
    tensors: &[Tensor],
    id: TensorId,
    number: usize,
) -> Option<(TensorId, usize)> {
    let tensor = &tensors[id.0];
    match &tensor.made {
        Made::Given(_) | Made::Constant(_) => None,
        Made::Moved { from, map } => {
            let source = map.source_of(&tensor.shape.unravel(number));
            Some((*from, ravel(&source, map.in_shape())))
        }
        Made::Joined { axis, parts } => {
            let mut index = tensor.shape.unravel(number);
            for part in parts {
                let shape = &tensors[part.0].shape;
                if index[*axis] < shape[*axis] {
                    return Some((*part, ravel(&index, shape)));
                }
                index[*axis] -= shape[*axis];
            }
            // The sizes of the parts add up to the tensor's.
            None
        }
    }
}

/// The number of an index in row-major order.
fn ravel(index: &[usize], shape: &Shape) -> usize {
    index.iter().zip(shape.iter()).fold(0, |number, (i, size)| number * size + i)
}

impl Graph {
    /// The first index at which `data`, taken for a tensor, is not the element that the graph makes
    /// of `inputs`; `None` if there is no such index. Every element is followed by itself, which
    /// takes its time.
    pub fn first_difference(
        &self,
        tensor: TensorId,
        inputs: &[Data],
        data: &Data,
    ) -> Option<Vec<usize>> {
        let Tensor { element, shape, .. } = &self.tensors[tensor.0];
        let differs = |number: &usize| {
            let (mut id, mut at) = (tensor, *number);
            while let Some(next) = followed(&self.tensors, id, at) {
                (id, at) = next;
            }
            let source = match &self.tensors[id.0].made {
                Made::Given(input) => inputs.get(*input),
                Made::Constant(constant) => Some(&constant.data),
                Made::Moved { .. } | Made::Joined { .. } => None,
            };
            !source.is_some_and(|source| same(*element, (source, at), (data, *number)))
        };
        (0..shape.elements()).find(differs).map(|number| shape.unravel(number))
    }
}

/// Whether two elements of one type are there, and are the same.
fn same(element: ElementType, one: (&Data, usize), other: (&Data, usize)) -> bool {
    match (element, one, other) {
        (ElementType::String, (Data::Strings(one), at), (Data::Strings(other), number)) => {
            one.get(at).is_some_and(|text| other.get(number) == Some(text))
        }
        (ElementType::Fixed(dtype), (Data::Bytes(one), at), (Data::Bytes(other), number)) => {
            if let Some(packing) = dtype.packing() {
                let get = |bytes: &[u8], at: usize| {
                    (packing.bytes(at + 1) <= bytes.len()).then(|| packing.get(bytes, at))
                };
                return get(one, at).is_some_and(|bits| get(other, number) == Some(bits));
            }
            let width = dtype.width();
            let get = |bytes: &[u8], at: usize| {
                bytes.get(at * width..(at + 1) * width).map(<[u8]>::to_vec)
            };
            get(one, at).is_some_and(|bytes| get(other, number) == Some(bytes))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trundle_core::{DType, IndexMap, Shape};

    use super::*;

    /// Elements of [2, 3] with the second row before the first, twice along the last axis.
    fn graph(element: ElementType) -> Graph {
        let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
        let roll = trundle_core::ops::Roll::new(&[1], &[0]);
        let map: IndexMap = roll.index_map(&shape(&[2, 3])).unwrap();
        let tensor = |sizes: &[usize], made| Tensor {
            element,
            shape: shape(sizes),
            made,
            name: String::new(),
        };
        let parts = vec![TensorId(1), TensorId(1)];
        Graph {
            tensors: vec![
                tensor(&[2, 3], Made::Given(0)),
                tensor(&[2, 3], Made::Moved { from: TensorId(0), map }),
                tensor(&[2, 6], Made::Joined { axis: 1, parts }),
            ],
            outputs: vec![TensorId(2)],
        }
    }

    #[test]
    fn the_first_wrong_element_is_found() {
        let bytes = |bytes: &[u8]| Data::Bytes(bytes.to_vec().into());
        let texts =
            |texts: &str| Data::Strings(texts.chars().map(String::from).collect::<Arc<_>>());
        for (element, input, right, wrong) in [
            (
                ElementType::Fixed(DType::U8),
                bytes(&[1, 2, 3, 4, 5, 6]),
                bytes(&[4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3]),
                bytes(&[4, 5, 6, 4, 5, 6, 1, 2, 0, 1, 2, 0]),
            ),
            (
                ElementType::Fixed(DType::U4),
                bytes(&[0x21, 0x43, 0x65]),
                bytes(&[0x54, 0x46, 0x65, 0x21, 0x13, 0x32]),
                bytes(&[0x54, 0x46, 0x65, 0x21, 0x10, 0x32]),
            ),
            (ElementType::String, texts("abcdef"), texts("defdefabcabc"), texts("defdefabxabc")),
        ] {
            let graph = graph(element);
            let inputs = [input];
            assert_eq!(graph.first_difference(TensorId(2), &inputs, &right), None);
            assert_eq!(graph.first_difference(TensorId(2), &inputs, &wrong), Some(vec![1, 2]));
            assert_eq!(graph.first_difference(TensorId(2), &[], &right), Some(vec![0, 0]));
        }
    }
}
