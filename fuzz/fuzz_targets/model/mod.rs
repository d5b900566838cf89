//! Checks for models of all dialects.

use std::collections::HashSet;

use trundle_core::{Shape, Width};
use trundle_models::{
    Constant, Data, Dimension, ElementType, Given, Input, Model, Node, Operator, PartialShape,
    PlannedModel, ValueId,
};

/// The largest number of elements of an input, and of all written tensors together. Larger cases only take
/// longer.
const MOST_ELEMENTS: usize = 1 << 14;

/// Checks the reader's guarantees, and that a run gives the same elements as evaluating each alone.
pub(crate) fn check(model: &Model) {
    check_values(model);
    check_names(model);
    for node in model.all_nodes() {
        if let Operator::Constant(constant) = &node.operator {
            check_constant(constant);
        }
    }
    run(model);
}

/// Each is defined once, before it is used.
fn check_values(model: &Model) {
    let mut values = Values::default();
    model.inputs.iter().for_each(|input| values.give(input.value));
    values.check(&model.nodes);
    assert!(model.outputs.iter().all(|output| values.known.contains(&output.value)));
    assert!(values.given.iter().all(|value| value.0 < model.values));
}

/// The values seen so far in the order of nodes.
#[derive(Default)]
struct Values {
    given: HashSet<ValueId>,
    /// The values in scope. They include the values of enclosing bodies, but not of other bodies at the
    /// same level.
    known: HashSet<ValueId>,
}

impl Values {
    fn give(&mut self, value: ValueId) {
        assert!(self.given.insert(value) && self.known.insert(value), "{value:?} is given twice");
    }

    fn check(&mut self, nodes: &[Node]) {
        for node in nodes {
            assert!(
                node.inputs.iter().flatten().all(|value| self.known.contains(value)),
                "{node:?}"
            );
            for body in node.bodies() {
                body.inputs.iter().for_each(|input| self.give(input.value));
                self.check(&body.nodes);
                let mut outputs = body.outputs.iter();
                assert!(outputs.all(|output| self.known.contains(&output.value)), "{node:?}");
                let own = body.inputs.iter().map(|input| &input.value);
                own.chain(body.nodes.iter().flat_map(|node| &node.outputs))
                    .for_each(|value| assert!(self.known.remove(value)));
            }
            node.outputs.iter().for_each(|value| self.give(*value));
        }
    }
}

fn check_names(model: &Model) {
    let inputs: HashSet<&str> = model.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(inputs.len(), model.inputs.len());
    let outputs: HashSet<&str> = model.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(outputs.len(), model.outputs.len());
}

/// Checks that a constant has as many elements as its shape.
fn check_constant(constant: &Constant) {
    match (constant.element, &constant.data) {
        (ElementType::Fixed(dtype), Data::Bytes(bytes)) => {
            assert_eq!(constant.shape.bytes(dtype), Ok(bytes.len()));
        }
        (ElementType::String, Data::Strings(strings)) => {
            assert_eq!(constant.shape.elements(), strings.len());
        }
        (element, data) => panic!("{element} in {data:?}"),
    }
}

/// A small shape that the model allows.
fn shape_of(input: &Input) -> Option<Shape> {
    let PartialShape::Ranked(dimensions) = &input.shape else { return Shape::new([2, 3]).ok() };
    let size = |dimension: &Dimension| match dimension {
        Dimension::Fixed(size) => *size,
        Dimension::Between { least, most } => most.map_or(3, |most| most.min(3)).max(*least),
        Dimension::Named(name) => 1 + name.len() % 3,
    };
    let shape = Shape::new(dimensions.iter().map(size).collect::<Vec<_>>()).ok()?;
    (shape.elements() <= MOST_ELEMENTS).then_some(shape)
}

/// Elements differ as far as the type allows. Some are small numbers.
fn data_of(input: &Input, shape: &Shape) -> Option<Data> {
    match input.element {
        ElementType::Fixed(dtype) => {
            let bytes = shape.bytes(dtype).ok()?;
            let width = Width::from(dtype).units();
            let byte = |at: usize| if at % width == 0 { at / width % 251 } else { 0 };
            let mut bytes: Vec<u8> =
                (0..bytes).map(|at| u8::try_from(byte(at)).unwrap_or(0)).collect();
            // Unused bits must be 0.
            if let (Some(last), Some(_)) = (bytes.last_mut(), dtype.packing()) {
                *last = 0;
            }
            Some(Data::Bytes(bytes.into()))
        }
        ElementType::String => {
            let strings: Vec<String> = (0..shape.elements()).map(|text| text.to_string()).collect();
            Some(Data::Strings(strings.into()))
        }
    }
}

fn run(model: &Model) {
    let Some(shapes) = model.inputs.iter().map(shape_of).collect::<Option<Vec<_>>>() else {
        return;
    };
    let inputs = model.inputs.iter().zip(&shapes);
    let Some(data) = inputs.map(|(input, shape)| data_of(input, shape)).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let given: Vec<Given<'_>> = shapes
        .iter()
        .zip(&data)
        .map(|(shape, data)| Given { shape: shape.clone(), data: Some(data) })
        .collect();
    let Ok(resolved) = model.resolve(&given) else { return };
    // `planned` has been simplified, `resolved` has not.
    let Ok(planned) = PlannedModel::new(resolved.clone(), Some(1)) else { return };
    let _ = (model.to_string(), planned.to_string());
    let written = planned.passes().iter().map(|pass| resolved.shape(pass.target).elements());
    if written.fold(0usize, usize::saturating_add) > MOST_ELEMENTS {
        return;
    }
    let outputs = planned.run(&data, &mut |_| ()).expect("the inputs fit");
    for (id, output) in resolved.outputs().iter().zip(&outputs) {
        assert_eq!(resolved.first_difference(*id, &data, output), None, "{model}\n{planned}");
    }
}
