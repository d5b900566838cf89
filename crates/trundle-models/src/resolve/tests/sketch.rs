//! Builds and resolves small models, and evaluates outputs element by element.

use std::sync::Arc;

use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{DType, Shape};

use crate::constant::Elements;
use crate::{
    Constant, Data, ElementType, Error, Given, Input, IntegerTypes, Integers, Model, Node,
    Operator, Output, PartialShape, ResolvedModel, Result, ValueId,
};

/// A tensor of u64, in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tagged {
    pub(super) sizes: Vec<usize>,
    pub(super) tags: Vec<u64>,
}

impl Tagged {
    /// `first`, `first + 1`, and so on.
    pub(super) fn counting(sizes: &[usize], first: u64) -> Tagged {
        let tags = (first..).take(sizes.iter().product()).collect();
        Tagged { sizes: sizes.to_vec(), tags }
    }

    /// `at` returns the element at each index.
    pub(super) fn of(sizes: &[usize], mut at: impl FnMut(&[usize]) -> u64) -> Tagged {
        let mut tags = Vec::new();
        let count: usize = sizes.iter().product();
        for number in 0..count {
            let mut rest = number;
            let mut index = vec![0; sizes.len()];
            for axis in (0..sizes.len()).rev() {
                index[axis] = rest % sizes[axis];
                rest /= sizes[axis];
            }
            tags.push(at(&index));
        }
        Tagged { sizes: sizes.to_vec(), tags }
    }

    pub(super) fn at(&self, index: &[usize]) -> u64 {
        assert_eq!(index.len(), self.sizes.len());
        let mut number = 0;
        for (i, size) in index.iter().zip(&self.sizes) {
            assert!(i < size, "{index:?} lies outside {:?}", self.sizes);
            number = number * size + i;
        }
        self.tags[number]
    }

    pub(super) fn constant(&self) -> Constant {
        let bytes: Vec<u8> = self.tags.iter().flat_map(|tag| tag.to_le_bytes()).collect();
        constant(DType::U64, &self.sizes, bytes)
    }
}

pub(super) fn constant(dtype: DType, sizes: &[usize], bytes: Vec<u8>) -> Constant {
    Constant {
        element: ElementType::Fixed(dtype),
        shape: Shape::new(sizes).unwrap(),
        data: Data::Bytes(bytes.into()),
    }
}

/// A scalar if `sizes` is empty.
pub(super) fn i64s(sizes: &[usize], entries: &[i64]) -> Constant {
    let bytes = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    constant(DType::I64, sizes, bytes)
}

pub(super) fn f32s(sizes: &[usize], entries: &[f32]) -> Constant {
    let bytes = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    constant(DType::F32, sizes, bytes)
}

pub(super) fn strings(sizes: &[usize], strings: &[&str]) -> Constant {
    let strings: Arc<[String]> = strings.iter().copied().map(String::from).collect();
    Constant {
        element: ElementType::String,
        shape: Shape::new(sizes).unwrap(),
        data: Data::Strings(strings),
    }
}

pub(super) fn given(entries: &[i64]) -> Integers {
    Integers::Given(entries.to_vec())
}

pub(super) fn from_input(input: usize, types: IntegerTypes) -> Integers {
    Integers::Input { input, types }
}

/// A model under construction. Its first values are its inputs.
pub(super) struct Sketch {
    pub(super) model: Model,
    pub(super) data: Vec<Constant>,
}

impl Sketch {
    /// The model does not state the shapes of inputs.
    pub(super) fn new(data: &[Constant]) -> Sketch {
        let inputs = data
            .iter()
            .enumerate()
            .map(|(number, constant)| Input {
                name: format!("x{number}"),
                element: constant.element,
                shape: PartialShape::Unknown,
                value: ValueId(number),
            })
            .collect();
        let model = Model {
            name: "sketch".into(),
            dialect: "none".into(),
            inputs,
            outputs: Vec::new(),
            nodes: Vec::new(),
            values: data.len(),
            is_part: false,
        };
        Sketch { model, data: data.to_vec() }
    }

    /// The node's outputs become outputs of the model.
    pub(super) fn node(
        &mut self,
        operator: Operator,
        inputs: &[usize],
        outputs: usize,
    ) -> Vec<usize> {
        let first = self.model.values;
        self.model.values += outputs;
        let outputs: Vec<ValueId> = (first..first + outputs).map(ValueId).collect();
        let named =
            outputs.iter().map(|value| Output { name: format!("y{}", value.0), value: *value });
        self.model.outputs.extend(named);
        let number = self.model.nodes.len();
        self.model.nodes.push(Node {
            name: format!("n{number}"),
            kind: "Kind".into(),
            operator,
            inputs: inputs.iter().map(|input| Some(ValueId(*input))).collect(),
            outputs: outputs.clone(),
        });
        outputs.into_iter().map(|value| value.0).collect()
    }

    /// Resolves the model for the shapes and the elements of its inputs.
    pub(super) fn resolve(&self) -> Result<ResolvedModel> {
        let given: Vec<Given<'_>> = self
            .data
            .iter()
            .map(|constant| Given { shape: constant.shape.clone(), data: Some(&constant.data) })
            .collect();
        self.model.resolve(&given)
    }

    pub(super) fn inputs(&self) -> Vec<Data> {
        self.data.iter().map(|input| input.data.clone()).collect()
    }

    /// All must have type u64.
    pub(super) fn run(&self) -> Result<Vec<Tagged>> {
        let (model, inputs) = (self.resolve()?, self.inputs());
        let evaluated = |output: &TensorId| {
            let sizes = model.shape(*output).to_vec();
            Tagged::of(&sizes, |index| {
                let (id, at) = followed(model.program(), *output, index);
                let data = model.source(id, &inputs).unwrap().bytes();
                u64::from_le_bytes(data[at * 8..at * 8 + 8].try_into().unwrap())
            })
        };
        Ok(model.outputs().iter().map(evaluated).collect())
    }

    /// The constant that the last output is, or the error.
    pub(super) fn last_constant(&self) -> std::result::Result<Constant, String> {
        let model = self.resolve().map_err(|error| error.to_string())?;
        match model.program().tensor(*model.outputs().last().unwrap()).made {
            Made::Given(input) => Ok(model.constant_of(input).unwrap().clone()),
            ref made => panic!("{made:?}"),
        }
    }

    pub(super) fn output_strings(&self) -> Vec<String> {
        let (model, inputs) = (self.resolve().unwrap(), self.inputs());
        let output = model.outputs()[0];
        let mut found = Vec::new();
        model.shape(output).for_each_index(|index| {
            let (id, at) = followed(model.program(), output, index);
            let Some(Elements::Strings(strings)) = model.source(id, &inputs) else { panic!() };
            found.push(strings[at].clone());
        });
        found
    }
}

/// Traces an element to the tensor that holds it, and its index there.
fn followed(program: &Program, id: TensorId, index: &[usize]) -> (TensorId, usize) {
    let tensor = program.tensor(id);
    match &tensor.made {
        Made::Given(_) | Made::Fill(_) => {
            (id, index.iter().zip(tensor.shape.iter()).fold(0, |at, (i, size)| at * size + i))
        }
        Made::Moved { from, map } => followed(program, *from, &map.source_of(index)),
        Made::Joined { axis, parts } => {
            let mut index = index.to_vec();
            for part in parts {
                let size = program.tensor(*part).shape[*axis];
                if index[*axis] < size {
                    return followed(program, *part, &index);
                }
                index[*axis] -= size;
            }
            panic!("{index:?} lies behind all parts")
        }
    }
}

/// Returns a model of one node with one output. Its inputs are data of the given sizes, and further inputs.
fn single(operator: Operator, sizes: &[usize], others: &[Constant]) -> Sketch {
    let mut data = vec![Tagged::counting(sizes, 100).constant()];
    data.extend_from_slice(others);
    let mut sketch = Sketch::new(&data);
    let inputs: Vec<usize> = (0..data.len()).collect();
    sketch.node(operator, &inputs, 1);
    sketch
}

/// Expects an operator to turn data of `sizes` into shape `to`. `source` returns the input index of each output
/// element.
#[track_caller]
pub(super) fn expect(
    operator: Operator,
    sizes: &[usize],
    others: &[Constant],
    to: &[usize],
    source: impl Fn(&[usize]) -> Vec<usize>,
) {
    let words = format!("{operator:?} of {sizes:?} with {others:?}");
    let data = Tagged::counting(sizes, 100);
    let outputs = single(operator, sizes, others).run();
    let expected = Tagged::of(to, |index| data.at(&source(index)));
    match outputs {
        Ok(outputs) => assert_eq!(outputs, [expected], "{words}"),
        Err(error) => panic!("{words}: {error}"),
    }
}

/// Expects a change of shape only.
#[track_caller]
pub(super) fn expect_shape(operator: Operator, sizes: &[usize], others: &[Constant], to: &[usize]) {
    let words = format!("{operator:?} of {sizes:?} with {others:?}");
    let outputs = single(operator, sizes, others).run().unwrap_or_else(|error| {
        panic!("{words}: {error}");
    });
    assert_eq!(outputs, [Tagged::counting(to, 100)], "{words}");
}

#[track_caller]
pub(super) fn refuse(operator: Operator, sizes: &[usize], others: &[Constant], says: &str) {
    let words = format!("{operator:?} of {sizes:?} with {others:?}");
    match single(operator, sizes, others).run() {
        Ok(outputs) => panic!("{words}: {outputs:?}"),
        Err(Error::Node { node, problem }) => {
            assert_eq!(node, "Kind \"n0\"");
            assert!(problem.contains(says), "{words}: {problem}");
        }
        Err(error) => panic!("{words}: {error:?}"),
    }
}
