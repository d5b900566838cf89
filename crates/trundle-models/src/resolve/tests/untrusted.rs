//! Malformed models, which no reader should produce, and small files that state large sizes.

use trundle_core::{DType, Shape};

use super::sketch::{Sketch, Tagged, constant, from_input, given, i64s, strings};
use crate::{
    Dimension, Error, Given, IntegerTypes, Model, Operator, Output, PartialShape, Parts, ValueId,
    ZeroSize,
};

fn data() -> Sketch {
    Sketch::new(&[Tagged::counting(&[2, 3], 0).constant()])
}

fn message(sketch: &Sketch) -> String {
    sketch.resolve().unwrap_err().to_string()
}

#[test]
fn nodes_with_invalid_inputs_or_outputs_are_refused() {
    let refused = |operator, inputs: &[usize], outputs, change: fn(&mut Model), says: &str| {
        let mut sketch = data();
        sketch.node(operator, inputs, outputs);
        change(&mut sketch.model);
        assert_eq!(message(&sketch), says);
    };
    let (identity, concat) = (|| Operator::Identity, || Operator::Concat { axis: 0 });
    for unknown in [7, 1] {
        let says = "Kind \"n0\": no earlier node produces what it reads as input 0";
        refused(identity(), &[unknown], 1, |_| (), says);
    }
    let says = "Kind (node 0): input 0 is missing";
    refused(identity(), &[], 1, |model| model.nodes[0].name.clear(), says);
    refused(concat(), &[], 1, |_| (), "Kind \"n0\": input 0 is missing");
    let says = "Kind \"n0\": input 1 is missing";
    refused(concat(), &[0, 0], 1, |model| model.nodes[0].inputs[1] = None, says);
    for outputs in [0, 2] {
        let says =
            format!("Kind \"n0\": wrong number of outputs: it produces 1, but lists {outputs}");
        refused(identity(), &[0], outputs, |_| (), &says);
    }
    let says = "Kind \"n0\": its output 0 is produced twice";
    refused(identity(), &[0], 1, |model| model.nodes[0].outputs = vec![ValueId(0)], says);
    let beyond = |model: &mut Model| {
        model.outputs.push(Output { name: "y".into(), value: ValueId(usize::MAX) });
    };
    refused(identity(), &[0], 1, beyond, "no node produces output \"y\"");

    let mut sketch = Sketch::new(&[i64s(&[], &[0]), i64s(&[], &[0])]);
    sketch.model.inputs[1].value = ValueId(0);
    assert_eq!(message(&sketch), "input \"x1\" is given twice");

    let mut sketch = data();
    sketch.model.values = usize::MAX;
    assert!(sketch.resolve().is_ok());
}

#[test]
fn constants_must_match_their_shape_and_type() {
    let claims = |mut constant: crate::Constant, sizes: &[usize]| {
        constant.shape = Shape::new(sizes).unwrap();
        let mut sketch = Sketch::new(&[]);
        sketch.node(Operator::Constant(constant), &[], 1);
        message(&sketch)
    };
    assert_eq!(
        claims(i64s(&[1], &[0]), &[2]),
        "Kind \"n0\": its shape [2] of i64 is 16 bytes, but it holds 8"
    );
    assert_eq!(
        claims(strings(&[1], &["a"]), &[3]),
        "Kind \"n0\": its shape [3] of string is 3 strings, but it holds 1"
    );
    assert!(claims(i64s(&[1], &[0]), &[1 << 62]).contains("too large"));
    let mut mixed = strings(&[2], &["a", "b"]);
    mixed.element = crate::ElementType::Fixed(DType::U8);
    assert!(claims(mixed, &[2]).contains("its type is u8, but it holds strings"));
}

/// A reshape to a high rank, and many transposes.
#[test]
fn the_total_number_of_axes_is_bounded() {
    let mut sketch = Sketch::new(&[Tagged::counting(&[1], 0).constant()]);
    let sizes = vec![1; 5000];
    let mut value =
        sketch.node(Operator::Reshape { sizes: given(&sizes), zero: ZeroSize::Zero }, &[0], 1)[0];
    for axis in 0..1000 {
        let mut order: Vec<i64> = (0..5000).collect();
        order.swap(axis, axis + 1);
        value = sketch.node(Operator::Transpose { order: given(&order) }, &[value], 1)[0];
    }
    let message = message(&sketch);
    assert!(message.contains("more than 2097152 axes in all"), "{message}");
}

/// A list that is rolled many times, with many readers.
#[test]
fn steps_to_lists_are_bounded() {
    let mut sketch = Sketch::new(&[i64s(&[], &[0]), i64s(&[500], &[0; 500])]);
    let mut list = 1;
    for _ in 0..3000 {
        let roll = Operator::Roll { shift: given(&[1]), axes: given(&[0]) };
        list = sketch.node(roll, &[list], 1)[0];
    }
    for _ in 0..3000 {
        let roll =
            Operator::Roll { shift: from_input(1, IntegerTypes::I64), axes: given(&[0; 500]) };
        sketch.node(roll, &[1, list], 1);
    }
    let message = message(&sketch);
    assert!(message.contains("steps to read, which is the limit"), "{message}");
}

#[test]
fn lengths_of_computed_lists_are_bounded() {
    let mut sketch = Sketch::new(&[i64s(&[], &[1])]);
    let tile = |repeats: &[i64]| Operator::Tile { repeats: given(repeats) };
    let list = sketch.node(tile(&[1 << 40]), &[0], 1)[0];
    let order = from_input(1, IntegerTypes::I64);
    sketch.node(Operator::Transpose { order }, &[0, list], 1);
    assert!(message(&sketch).contains("order has 1099511627776 entries, over the limit"));

    let mut sketch = Sketch::new(&[i64s(&[1], &[1])]);
    let mut value = 0;
    for _ in 0..70 {
        value = sketch.node(Operator::Concat { axis: 0 }, &[value, value], 1)[0];
    }
    assert!(message(&sketch).contains("too large"), "{}", message(&sketch));
}

#[test]
fn long_names_and_lists_are_shortened() {
    let mut sketch = data();
    let parts = Parts::Sizes(given(&[1, 2]));
    sketch.node(Operator::Split { axis: given(&[1]), parts }, &[0], 2);
    sketch.model.nodes[0].name = "\u{e9}".repeat(1000);
    let model = sketch.resolve().unwrap();
    let outputs = model.outputs();
    assert!(outputs.iter().all(|output| model.name(*output) == "\u{e9}".repeat(100)));
    assert_eq!(outputs.len() + 1, model.program().tensors().len());

    let mut sketch = data();
    let sizes = given(&[[-1; 2].as_slice(), &[7; 1000]].concat());
    sketch.node(Operator::Reshape { sizes, zero: ZeroSize::Zero }, &[0], 1);
    assert!(message(&sketch).contains("7, 7] and 986 more have -1 twice"), "{}", message(&sketch));
}

/// The deepest graph that a file can contain. Resolving it does not recurse.
#[test]
fn deep_graphs_are_resolved_without_recursion() {
    let mut sketch = Sketch::new(&[Tagged::counting(&[2], 0).constant(), i64s(&[1], &[1])]);
    let (mut value, mut list) = (0, 1);
    for _ in 0..100_000 {
        value = sketch.node(Operator::Flip { axes: given(&[0]) }, &[value], 1)[0];
        list = sketch.node(
            Operator::Pad {
                pads: crate::Pads::Each { begins: given(&[1]), ends: given(&[-1]) },
                axes: None,
                value: None,
            },
            &[list],
            1,
        )[0];
    }
    let roll = Operator::Roll { shift: from_input(1, IntegerTypes::I64), axes: given(&[0]) };
    sketch.node(roll, &[value, list], 1);
    assert!(sketch.resolve().is_ok());
}

fn shaped(shapes: &[&[Dimension]]) -> Sketch {
    let data: Vec<_> = shapes.iter().map(|_| i64s(&[], &[0])).collect();
    let mut sketch = Sketch::new(&data);
    for (input, shape) in sketch.model.inputs.iter_mut().zip(shapes) {
        input.shape = PartialShape::Ranked(shape.to_vec());
    }
    sketch
}

fn given_shapes(sketch: &Sketch, shapes: &[&[usize]]) -> Result<(), String> {
    let given: Vec<Given<'_>> = shapes
        .iter()
        .map(|sizes| Given { shape: Shape::new(*sizes).unwrap(), data: None })
        .collect();
    sketch.model.resolve(&given).map(drop).map_err(|error| {
        assert!(matches!(error, Error::Input(_)));
        error.to_string()
    })
}

#[test]
fn given_shapes_must_fit_the_model() {
    let batch = || Dimension::Named("batch".into());
    let between = Dimension::Between { least: 2, most: Some(4) };
    let sketch = shaped(&[&[batch(), Dimension::Fixed(3)], &[between, batch(), Dimension::ANY]]);
    assert_eq!(given_shapes(&sketch, &[&[5, 3], &[2, 5, 0]]), Ok(()));
    assert_eq!(given_shapes(&sketch, &[&[5, 3], &[4, 5, 9]]), Ok(()));
    for (shapes, says) in [
        ([&[5, 4][..], &[2, 5, 0][..]], "input \"x0\" must have shape [batch, 3], got [5, 4]"),
        ([&[5], &[2, 5, 0]], "input \"x0\" must have shape [batch, 3], got [5]"),
        ([&[5, 3], &[1, 5, 0]], "input \"x1\" must have shape [2..=4, batch, ?], got [1, 5, 0]"),
        ([&[5, 3], &[5, 5, 0]], "input \"x1\" must have shape [2..=4, batch, ?], got [5, 5, 0]"),
        (
            [&[5, 3], &[2, 6, 0]],
            "input \"x1\" of shape [2, 6, 0] has 6 for batch in [2..=4, batch, ?], but input \
             \"x0\" has 5",
        ),
    ] {
        assert_eq!(given_shapes(&sketch, &shapes), Err(says.into()));
    }
    assert_eq!(
        given_shapes(&sketch, &[&[5, 3]]),
        Err("wrong number of inputs: the model takes 2, got 1".into())
    );
}

#[test]
fn given_elements_must_fit_their_shape() {
    let sketch = data();
    let with = |data: &crate::Constant, sizes: [usize; 1]| {
        let given = [Given { shape: Shape::new(sizes).unwrap(), data: Some(&data.data) }];
        sketch.model.resolve(&given).unwrap_err().to_string()
    };
    assert_eq!(
        with(&constant(DType::U8, &[1], vec![0]), [2]),
        "input \"x0\": its shape [2] of u64 is 16 bytes, but it holds 1"
    );
    assert_eq!(
        with(&strings(&[1], &["a"]), [1]),
        "input \"x0\": its type is u64, but it holds strings"
    );
}

#[test]
fn shapes_that_the_model_fixes_need_not_be_given() {
    let exact = Dimension::Between { least: 4, most: Some(4) };
    let sketch = shaped(&[&[Dimension::Fixed(2), exact], &[]]);
    let shapes = sketch.model.static_shapes().unwrap();
    assert_eq!(shapes, [Shape::new([2, 4]).unwrap(), Shape::default()]);
    let open = |dimension: Dimension| {
        let sketch = shaped(&[&[], &[Dimension::Fixed(2), dimension]]);
        sketch.model.static_shapes().unwrap_err().to_string()
    };
    let says = |shape: &str| format!("input \"x1\" has no fixed shape: the model states {shape}");
    assert_eq!(open(Dimension::ANY), says("[2, ?]"));
    assert_eq!(open(Dimension::Named("n".into())), says("[2, n]"));
    assert_eq!(open(Dimension::Between { least: 1, most: Some(2) }), says("[2, 1..=2]"));
    assert!(open(Dimension::Fixed(usize::MAX)).contains("input \"x1\": shape"));
    let unknown = data();
    assert!(unknown.model.static_shapes().unwrap_err().to_string().contains("[...]"));
}
