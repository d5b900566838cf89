//! Scan.

use super::loops::{TypedName, body, looping, refused, run};
use super::*;

const A: TypedName<'_> = ("a", FLOAT);
const B: TypedName<'_> = ("b", FLOAT);
const C: TypedName<'_> = ("c", FLOAT);

/// A Scan of x without carried values, whose body returns each part unchanged.
fn parts(attributes: Vec<Attribute>) -> Proto {
    let within = body(&[A], vec![], &[A]);
    let attributes = [vec![within, int("num_scan_inputs", 1)], attributes].concat();
    looping(vec![node("Scan", &["x"], &["y"], attributes)], &[])
}

#[test]
fn parts_are_cut_and_stacked_along_axes() {
    let of = |attributes| run(&parts(attributes), &[2, 3], &[]).unwrap();
    let [one, backward] = [1, 1].map(|entry| [entry]);
    assert_eq!(of(vec![]).1, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let rows_back = [3.0, 4.0, 5.0, 0.0, 1.0, 2.0];
    assert_eq!(of(vec![ints("scan_input_directions", &backward)]).1, rows_back);
    assert_eq!(of(vec![ints("scan_output_directions", &backward)]).1, rows_back);
    let turned = (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(of(vec![ints("scan_input_axes", &one)]), turned);
    assert_eq!(of(vec![ints("scan_output_axes", &one)]), turned);
    assert_eq!(of(vec![ints("scan_output_axes", &[-1])]), turned);
    let both = vec![ints("scan_input_axes", &[-1]), ints("scan_output_axes", &one)];
    assert_eq!(of(both.clone()).1, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let mirrored = [both, vec![ints("scan_input_directions", &backward)]].concat();
    assert_eq!(of(mirrored).1, [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
}

/// Concatenates each row with the previous row.
fn beside_the_last(outputs: &[&str]) -> Proto {
    let within = body(
        &[C, A],
        nodes("b = Concat<axis = 0>(c, a) next = Identity(a)"),
        &[("next", FLOAT), B],
    );
    looping(
        vec![
            node("Constant", &[], &["zero"], vec![int("value_int", 0)]),
            node("Gather", &["x", "zero"], &["row"], vec![]),
            node("Scan", &["row", "x"], outputs, vec![within, int("num_scan_inputs", 1)]),
            node("Identity", &["y"], &["z"], vec![]),
        ],
        &[],
    )
}

#[test]
fn states_are_carried() {
    let stacked = run(&beside_the_last(&["", "y"]), &[3, 1], &[]).unwrap();
    assert_eq!(stacked, (vec![3, 2], vec![0.0, 0.0, 0.0, 1.0, 1.0, 2.0]));
    let state = run(&beside_the_last(&["y", ""]), &[3, 1], &[]).unwrap();
    assert_eq!(state, (vec![1], vec![2.0]));
}

#[test]
fn a_scan_of_nothing_stacks_nothing() {
    assert_eq!(run(&parts(vec![]), &[0, 3], &[]).unwrap().0, [0, 3]);
    let turned = vec![ints("scan_input_axes", &[1]), ints("scan_output_axes", &[1])];
    assert_eq!(run(&parts(turned), &[2, 0], &[]).unwrap().0, [2, 0]);
    // Without parts, the elements of a part are unknown.
    let sizes = nodes("b = Reshape(x, a)");
    let within = body(&[("a", INT64)], sizes, &[B]);
    let nodes = vec![
        node(
            "Constant",
            &[],
            &["lists"],
            vec![tensor_attribute("value", tensor("", INT64, &[0, 1]))],
        ),
        node("Scan", &["lists"], &["y"], vec![within, int("num_scan_inputs", 1)]),
    ];
    let unknown = refused(&looping(nodes, &[]), &[2], &[]);
    assert!(
        unknown.starts_with("Scan \"y\": it has no iteration")
            && unknown.contains("depend on the elements of input \"scan input 0\""),
        "{unknown}"
    );
}

#[test]
fn several_inputs_have_as_many_parts() {
    let within = || body(&[A, B], nodes("c = Concat<axis = 0>(a, b)"), &[C]);
    let of = |axes: &[i64]| {
        let attributes = vec![within(), int("num_scan_inputs", 2), ints("scan_input_axes", axes)];
        looping(vec![node("Scan", &["x", "x"], &["y"], attributes)], &[])
    };
    let both = run(&of(&[0, 1]), &[2, 2], &[]).unwrap();
    assert_eq!(both, (vec![2, 4], vec![0.0, 1.0, 0.0, 2.0, 2.0, 3.0, 1.0, 3.0]));
    assert_eq!(
        refused(&of(&[0, 1]), &[2, 3], &[]),
        "Scan \"y\": scan input 0 has 2 parts along its axis, but scan input 1 has 3"
    );
    assert_eq!(
        refused(&of(&[0, 2]), &[2, 2], &[]),
        "Scan \"y\": scan input 1: axis 2 is out of range for rank 2: expected -2..=1"
    );
}

#[test]
fn what_is_no_scan_is_refused() {
    let within = || body(&[A], vec![], &[A]);
    let of = |opset: i64, attributes: Vec<Attribute>| {
        let mut proto = looping(vec![node("Scan", &["x"], &["y"], attributes)], &[]);
        proto.opset_import[0].version = opset;
        refusal(&proto)
    };
    let count = |count| int("num_scan_inputs", count);
    for (opset, attributes, expected) in [
        (7, vec![within(), count(1)], "opset 7 has no Scan: it exists from opset 8 on"),
        (8, vec![within(), count(1)], "Scan of opset 8, which has batches, is not supported"),
        (9, vec![count(1)], "attribute \"body\" is missing"),
        (9, vec![within()], "attribute \"num_scan_inputs\" is missing"),
        (
            9,
            vec![within(), count(0)],
            "num_scan_inputs is 0, expected 1 to 1, its number of inputs",
        ),
        (
            9,
            vec![within(), count(2)],
            "num_scan_inputs is 2, expected 1 to 1, its number of inputs",
        ),
        (
            11,
            vec![within(), count(1), ints("scan_input_axes", &[0, 0])],
            "scan_input_axes has 2 entries, expected 1",
        ),
        (
            25,
            vec![within(), count(1), ints("scan_output_directions", &[2])],
            "scan_output_directions has 2, expected 0 or 1",
        ),
        (
            25,
            vec![within(), count(1), ints("directions", &[0])],
            "Scan of opset 25 has no attribute \"directions\"",
        ),
    ] {
        assert_eq!(of(opset, attributes), format!("Scan \"y\": {expected}"));
    }
    let states = node("Scan", &["x", "x", "x"], &["y"], vec![within(), count(1)]);
    assert_eq!(
        refusal(&looping(vec![states], &[])),
        "Scan \"y\": too few outputs: it has 1, but 2 for its states alone"
    );
    let rank = refused(&parts(vec![ints("scan_output_axes", &[2])]), &[2, 2], &[]);
    assert_eq!(rank, "Scan \"y\": axis 2 is out of range for rank 2: expected -2..=1");
}

#[test]
fn scans_that_are_long_are_bounded() {
    let long = refused(&parts(vec![ints("scan_input_axes", &[1])]), &[0, 1 << 40], &[]);
    assert!(
        long.starts_with(
            "Scan \"y\": 1099511627776 iterations, and those up to here, come to more"
        ),
        "{long}"
    );
}
