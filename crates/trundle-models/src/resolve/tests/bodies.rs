//! Malformed bodies, which no reader produces.

use trundle_core::DType;

use super::sketch::{Sketch, Tagged, constant, i64s};
use crate::{Body, BodyValue, Node, Operator, PartialShape, ScanAxis, ValueId};

const AHEAD: ScanAxis = ScanAxis { axis: 0, is_backward: false };

fn value(value: usize) -> BodyValue {
    BodyValue { value: ValueId(value), element: None, shape: PartialShape::Unknown }
}

/// Copies value `of` to value `to`.
fn copying(inputs: &[usize], of: usize, to: usize, outputs: &[usize]) -> Body {
    let node = Node {
        name: "copy".into(),
        kind: "Kind".into(),
        operator: Operator::Identity,
        inputs: vec![Some(ValueId(of))],
        outputs: vec![ValueId(to)],
    };
    let values = |all: &[usize]| all.iter().copied().map(value).collect();
    Body { inputs: values(inputs), nodes: vec![node], outputs: values(outputs) }
}

/// One node, on 2 x 3 elements, a count and a boolean.
fn model(operator: Operator, inputs: &[usize], outputs: usize) -> Sketch {
    let mut sketch = Sketch::new(&[
        Tagged::counting(&[2, 3], 0).constant(),
        i64s(&[], &[2]),
        constant(DType::Boolean, &[], vec![1]),
    ]);
    // Leaves room for values of bodies.
    sketch.model.values = 100;
    sketch.node(operator, inputs, outputs);
    sketch
}

fn message(operator: Operator, inputs: &[usize], outputs: usize) -> String {
    let message = model(operator, inputs, outputs).resolve().unwrap_err().to_string();
    message.strip_prefix("Kind \"n0\": ").map_or(message.clone(), str::to_owned)
}

#[test]
fn a_body_must_match_the_inputs_and_outputs_of_its_node() {
    let body = || copying(&[10, 11, 12], 12, 13, &[11, 13]);
    let run = model(Operator::Loop(body()), &[1, 2, 0], 1).run().unwrap();
    assert_eq!(run, [Tagged::counting(&[2, 3], 0)]);

    let few = copying(&[10, 11], 0, 13, &[11, 13]);
    let expected = "wrong number of inputs: its body takes 2, but is given 3";
    assert_eq!(message(Operator::Loop(few), &[1, 2, 0], 1), expected);
    let none = copying(&[10, 11, 12], 12, 13, &[]);
    let expected =
        "wrong number of outputs of its body: it gives 0, but 1 are carried on or stacked";
    assert_eq!(message(Operator::Loop(none), &[1, 2, 0], 1), expected);
    let missing = copying(&[10, 11, 12], 12, 13, &[11, 14]);
    let expected = "no node produces output 1 of its body";
    assert_eq!(message(Operator::Loop(missing), &[1, 2, 0], 1), expected);
    let expected = "wrong number of outputs: it produces 1, but lists 2";
    assert_eq!(message(Operator::Loop(body()), &[1, 2, 0], 2), expected);
    let unread = copying(&[10, 11, 12], 99, 13, &[11, 13]);
    let expected =
        "Kind \"copy\" in iteration 0: no earlier node produces what it reads as input 0";
    assert_eq!(message(Operator::Loop(unread), &[1, 2, 0], 1), expected);
}

#[test]
fn each_value_of_a_body_is_produced_once() {
    let taken = copying(&[10, 0, 12], 12, 13, &[10, 13]);
    let expected = "input 1 of its body is produced twice";
    assert_eq!(message(Operator::Loop(taken), &[1, 2, 0], 1), expected);
    let again = copying(&[10, 11, 12], 12, 12, &[11, 12]);
    let expected = "Kind \"copy\" in iteration 0: its output 0 is produced twice";
    assert_eq!(message(Operator::Loop(again), &[1, 2, 0], 1), expected);
}

#[test]
fn incomplete_bodies_and_scans_are_refused() {
    let silent = copying(&[10, 11, 12], 12, 13, &[13]);
    let expected = "its body does not state the condition to continue";
    assert_eq!(message(Operator::Loop(silent), &[1, 2, 0], 1), expected);
    let branches = || [copying(&[], 0, 13, &[13]), copying(&[], 0, 14, &[14])];
    let expected = "it has 0 inputs, but takes one: cond";
    assert_eq!(message(Operator::Choose(branches()), &[], 1), expected);
    let scan = |cuts: usize, stacks: usize| Operator::Scan {
        body: copying(&[12], 12, 13, &[13]),
        cuts: vec![AHEAD; cuts],
        stacks: vec![AHEAD; stacks],
    };
    assert_eq!(model(scan(1, 1), &[0], 1).run().unwrap(), [Tagged::counting(&[2, 3], 0)]);
    assert_eq!(message(scan(2, 1), &[0], 1), "it scans 2 inputs, and has 1");
    let expected = "it scans no inputs, and has no number of iterations";
    assert_eq!(message(scan(0, 0), &[0], 1), expected);
    let expected =
        "wrong number of outputs of its body: it gives 1, but 2 are carried on or stacked";
    assert_eq!(message(scan(1, 2), &[0], 2), expected);
    // There is an error even if there are no iterations.
    let mut empty = model(scan(1, 2), &[0], 2);
    empty.data[0] = Tagged::counting(&[0, 3], 0).constant();
    assert!(empty.resolve().is_err());
}
