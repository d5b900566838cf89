//! Random graphs, run in as few passes as they need, against each element followed by itself.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Transpose};
use trundle_core::{DType, IndexMap, Op, Shape};
use trundle_models::{Constant, Data, ElementType, Graph, Made, Program, Tensor, TensorId};
use trundle_testing::choices::Choices;

const U16: ElementType = ElementType::Fixed(DType::U16);

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// What is chosen here.
trait Cases {
    /// A movement of a tensor of this shape.
    fn map(&mut self, of: &Shape) -> IndexMap;

    /// Two inputs and a constant, and tensors made of them.
    fn graph(&mut self) -> Graph;

    /// This tensor and others that go with it along one axis.
    fn joined(&mut self, tensors: &[Tensor], first: TensorId) -> (Shape, Made);
}

impl Cases for Choices {
    fn map(&mut self, of: &Shape) -> IndexMap {
        let axis = self.below(of.rank());
        let signed = i64::try_from(axis).unwrap();
        let op: Op = match self.below(8) {
            0 | 1 => {
                let to = self.sizes(of.elements());
                return IndexMap::reshape(of, &shape(&to)).unwrap();
            }
            2 => {
                let mut bounds: Vec<_> = of.iter().map(|size| 0..*size).collect();
                bounds[axis].end -= self.below(of[axis]);
                bounds[axis].start = self.below(bounds[axis].end);
                return IndexMap::identity(of).restrict(&bounds).unwrap();
            }
            3 | 4 => {
                let mut order: Vec<i64> = (0i64..).take(of.rank()).collect();
                order.rotate_left(axis);
                Transpose::new(&order).into()
            }
            5 => Roll::new(&[i64::try_from(self.below(9)).unwrap() - 4], &[signed]).into(),
            6 => Flip::new(&[signed]).into(),
            _ => {
                let mut rows = of.sizes().to_vec();
                rows[axis] = 1;
                let lengths = (0..rows.iter().product()).map(|_| self.below(7) as u64);
                ReverseSubsequences::dense(signed, shape(&rows), lengths.collect::<Vec<_>>()).into()
            }
        };
        op.index_map(of).unwrap()
    }

    fn graph(&mut self) -> Graph {
        let mut graph = Graph { tensors: Vec::new(), outputs: Vec::new() };
        let add = |graph: &mut Graph, shape: Shape, made: Made| {
            let name = format!("t{}", graph.tensors.len());
            graph.tensors.push(Tensor { element: U16, shape, made, name });
        };
        for number in 0..2 {
            let elements = [24, 36, 60, 17][self.below(4)];
            add(&mut graph, shape(&self.sizes(elements)), Made::Given(number));
        }
        let pad = Bytes::from_static(&[0xfe, 0xca]);
        let constant = Constant { element: U16, shape: Shape::default(), data: Data::Bytes(pad) };
        add(&mut graph, Shape::default(), Made::Constant(constant));
        for _ in 0..1 + self.below(10) {
            let from = TensorId(self.below(graph.tensors.len()));
            let of = graph.tensors[from.0].shape.clone();
            let (shape, made) = if of.rank() == 0 {
                let to = shape(&self.sizes(6));
                (to.clone(), Made::Moved { from, map: IndexMap::broadcast(&to) })
            } else if self.below(3) == 0 {
                self.joined(&graph.tensors, from)
            } else {
                let map = self.map(&of);
                (map.out_shape().clone(), Made::Moved { from, map })
            };
            add(&mut graph, shape, made);
        }
        let last = graph.tensors.len() - 1;
        graph.outputs = vec![TensorId(last), TensorId(self.below(last + 1)), TensorId(last)];
        graph
    }

    fn joined(&mut self, tensors: &[Tensor], first: TensorId) -> (Shape, Made) {
        let mut sizes = tensors[first.0].shape.sizes().to_vec();
        let axis = self.below(sizes.len());
        let mut parts = vec![first];
        for (number, other) in tensors.iter().enumerate() {
            let mut alike = other.shape.iter().zip(&sizes).enumerate();
            let fits =
                other.shape.rank() == sizes.len() && alike.all(|(k, (a, b))| k == axis || a == b);
            if fits && self.below(2) == 0 && sizes[axis] < 50 {
                sizes[axis] += other.shape[axis];
                parts.push(TensorId(number));
            }
        }
        (shape(&sizes), Made::Joined { axis, parts })
    }
}

/// The element of a tensor at an index, by going back from tensor to tensor.
fn element(graph: &Graph, inputs: &[Vec<u16>], mut id: TensorId, index: &[usize]) -> u16 {
    let mut index = index.to_vec();
    loop {
        let tensor = &graph.tensors[id.0];
        let number = index.iter().zip(tensor.shape.iter()).fold(0, |n, (i, size)| n * size + i);
        match &tensor.made {
            Made::Given(input) => return inputs[*input][number],
            Made::Constant(_) => return 0xcafe,
            Made::Moved { from, map } => {
                index = map.source_of(&index);
                id = *from;
            }
            Made::Joined { axis, parts } => {
                for part in parts {
                    id = *part;
                    let size = graph.tensors[part.0].shape[*axis];
                    if index[*axis] < size {
                        break;
                    }
                    index[*axis] -= size;
                }
            }
        }
    }
}

#[test]
fn random_graphs_give_what_each_element_followed_by_itself_is() {
    let (mut stages, mut tensors) = (0, 0);
    for seed in 0..6000 {
        let graph = Choices::of(seed).graph();
        let inputs: Vec<Vec<u16>> = graph.tensors[..2]
            .iter()
            .zip([0, 1000])
            .map(|(tensor, first)| (first..).take(tensor.shape.elements()).collect())
            .collect();
        let given: Vec<Data> = inputs
            .iter()
            .map(|input| Data::Bytes(input.iter().flat_map(|n| n.to_le_bytes()).collect()))
            .collect();
        let program = Program::new(graph.clone(), Some(1)).unwrap();
        let outputs = program.run(&given, &mut |_| ()).unwrap();
        assert_eq!(outputs.len(), graph.outputs.len());
        for (output, id) in outputs.iter().zip(&graph.outputs) {
            let mut expected = Vec::new();
            graph.tensors[id.0].shape.for_each_index(|index| {
                expected.extend(element(&graph, &inputs, *id, index).to_le_bytes());
            });
            let Data::Bytes(bytes) = output else { panic!("texts") };
            assert_eq!(bytes[..], expected, "seed {seed}, output {id:?} of {graph:#?}");
        }
        stages += program.stages().len();
        tensors += graph.tensors.len() - 3;
    }
    // Two outputs of each graph are written, at least, and little that is between.
    assert!(stages < 6000 * 5 / 2 && stages < tensors, "{stages} passes for {tensors} tensors");
}

#[test]
fn a_roll_written_as_slices_is_the_roll() {
    let of = shape(&[2, 56, 3]);
    let slice = |range: std::ops::Range<usize>| {
        let map = IndexMap::identity(&of).restrict(&[0..2, range, 0..3]).unwrap();
        let (shape, made) = (map.out_shape().clone(), Made::Moved { from: TensorId(0), map });
        Tensor { element: U16, shape, made, name: String::new() }
    };
    let whole = |made| Tensor { element: U16, shape: of.clone(), made, name: String::new() };
    let parts = vec![TensorId(1), TensorId(2)];
    let tensors = vec![
        whole(Made::Given(0)),
        slice(3..56),
        slice(0..3),
        whole(Made::Joined { axis: 1, parts }),
    ];
    let graph = Graph { tensors, outputs: vec![TensorId(3)] }.simplified();
    let rolled = Roll::new(&[-3], &[1]).index_map(&of).unwrap();
    assert!(matches!(&graph.tensors[3].made, Made::Moved { map, .. } if *map == rolled));
}

#[test]
fn texts_are_moved_and_repeated() {
    let tensor =
        |shape, made| Tensor { element: ElementType::String, shape, made, name: "t".into() };
    let of = shape(&[3]);
    let map = Flip::new(&[0]).index_map(&of).unwrap();
    let parts = vec![TensorId(0), TensorId(1)];
    let graph = Graph {
        tensors: vec![
            tensor(of.clone(), Made::Given(0)),
            tensor(of, Made::Moved { from: TensorId(0), map }),
            tensor(shape(&[6]), Made::Joined { axis: 0, parts }),
        ],
        outputs: vec![TensorId(2)],
    };
    let program = Program::new(graph, None).unwrap();
    let texts = ["a", "", "long"].map(str::to_owned);
    let outputs = program.run(&[Data::Strings(texts.into())], &mut |_| ()).unwrap();
    let Data::Strings(moved) = &outputs[0] else { panic!("bytes") };
    assert_eq!(moved[..], ["a", "", "long", "long", "", "a"]);
    assert_eq!(program.stages().len(), 1);
}

/// The parts of a joined tensor share a byte, and either may be written first.
#[test]
fn packed_parts_that_meet_within_a_byte_are_whole() {
    let tensor = |sizes: &[usize], made| Tensor {
        element: ElementType::Fixed(DType::U4),
        shape: shape(sizes),
        made,
        name: "t".into(),
    };
    for parts in [[0, 1], [1, 0]] {
        let of = parts.map(TensorId).to_vec();
        let graph = Graph {
            tensors: vec![
                tensor(&[3], Made::Given(0)),
                tensor(&[3], Made::Given(1)),
                tensor(&[6], Made::Joined { axis: 0, parts: of }),
            ],
            outputs: vec![TensorId(2)],
        };
        let given = [[0x21, 0xf3], [0x54, 0xf6]].map(|bytes| Data::Bytes(bytes.to_vec().into()));
        let outputs = Program::new(graph, None).unwrap().run(&given, &mut |_| ()).unwrap();
        let Data::Bytes(bytes) = &outputs[0] else { panic!("texts") };
        let expected = if parts == [0, 1] { [0x21, 0x43, 0x65] } else { [0x54, 0x16, 0x32] };
        assert_eq!(bytes[..], expected, "{parts:?}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let given = Tensor { element: U16, shape: shape(&[3]), made: Made::Given(0), name: "x".into() };
    let graph = Graph { tensors: vec![given], outputs: vec![TensorId(0)] };
    let program = Program::new(graph, None).unwrap();
    let refused = |inputs: &[Data]| program.run(inputs, &mut |_| ()).unwrap_err().to_string();
    assert_eq!(refused(&[]), "0 inputs, of 1 that are needed");
    assert_eq!(
        refused(&[Data::Bytes(Bytes::from_static(&[1, 2]))]),
        "input \"x\" of shape [3] has 6 bytes, got 2"
    );
}
