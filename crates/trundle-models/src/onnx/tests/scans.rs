//! Scan.

use super::loops::{refused, run};
use super::*;

/// A Scan of x without carried values, whose body returns each part unchanged.
fn parts(attributes: &str) -> Proto {
    whole(&format!(
        "(x) => (y) {{ y = Scan<body = (a) => (a) {{ }}, num_scan_inputs = 1{attributes}>(x) }}"
    ))
}

#[test]
fn parts_are_cut_and_stacked_along_axes() {
    let rows_back = (vec![2, 3], vec![3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
    let turned = (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let same = (vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let mirrored = (vec![2, 3], vec![2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
    for (attributes, expected) in [
        ("", &same),
        (", scan_input_directions = [1]", &rows_back),
        (", scan_output_directions = [1]", &rows_back),
        (", scan_input_axes = [1]", &turned),
        (", scan_output_axes = [1]", &turned),
        (", scan_output_axes = [-1]", &turned),
        (", scan_input_axes = [-1], scan_output_axes = [1]", &same),
        (
            ", scan_input_axes = [-1], scan_output_axes = [1], scan_input_directions = [1]",
            &mirrored,
        ),
    ] {
        assert_eq!(run(&parts(attributes), &[2, 3], &[]).unwrap(), *expected, "{attributes}");
    }
}

/// Concatenates each row with the previous row.
fn with_the_previous_row(outputs: &str) -> Proto {
    whole(&format!(
        "(x) => (z) {{
            zero = Constant<value_int = 0>()  row = Gather(x, zero)
            {outputs} = Scan<body = (c, a) => (next, b) {{
                b = Concat<axis = 0>(c, a)  next = Identity(a)
            }}, num_scan_inputs = 1>(row, x)
            z = Identity(y)
        }}"
    ))
}

#[test]
fn states_are_carried() {
    let stacked = run(&with_the_previous_row(", y"), &[3, 1], &[]).unwrap();
    assert_eq!(stacked, (vec![3, 2], vec![0.0, 0.0, 0.0, 1.0, 1.0, 2.0]));
    let state = run(&with_the_previous_row("y, "), &[3, 1], &[]).unwrap();
    assert_eq!(state, (vec![1], vec![2.0]));
}

#[test]
fn a_scan_without_parts_gives_an_empty_output() {
    assert_eq!(run(&parts(""), &[0, 3], &[]).unwrap().0, [0, 3]);
    let turned = parts(", scan_input_axes = [1], scan_output_axes = [1]");
    assert_eq!(run(&turned, &[2, 0], &[]).unwrap().0, [2, 0]);
    // Without parts, the elements of a part are unknown.
    let mut proto = whole(
        "(x) => (y) {
            y = Scan<body = (int64 a) => (b) { b = Reshape(x, a) }, num_scan_inputs = 1>(lists)
        }",
    );
    proto.graph.as_mut().unwrap().initializer.push(tensor("lists", INT64, &[0, 1]));
    let unknown = refused(&proto, &[2], &[]);
    assert!(
        unknown.starts_with("Scan \"y\": it has no iteration")
            && unknown.contains("depend on the elements of input \"scan input 0\""),
        "{unknown}"
    );
}

#[test]
fn all_inputs_must_have_equally_many_parts() {
    let of = |axes: &str| {
        whole(&format!(
            "(x) => (y) {{
                y = Scan<body = (a, b) => (c) {{ c = Concat<axis = 0>(a, b) }},
                    num_scan_inputs = 2, scan_input_axes = {axes}>(x, x)
            }}"
        ))
    };
    let both = run(&of("[0, 1]"), &[2, 2], &[]).unwrap();
    assert_eq!(both, (vec![2, 4], vec![0.0, 1.0, 0.0, 2.0, 2.0, 3.0, 1.0, 3.0]));
    assert_eq!(
        refused(&of("[0, 1]"), &[2, 3], &[]),
        "Scan \"y\": scan input 0 has 2 parts along its axis, but scan input 1 has 3"
    );
    assert_eq!(
        refused(&of("[0, 2]"), &[2, 2], &[]),
        "Scan \"y\": scan input 1: axis 2 is out of range for rank 2: expected -2..=1"
    );
}

#[test]
fn invalid_scans_are_refused() {
    for (opset, node, expected) in [
        (7, "BODY, num_scan_inputs = 1", "opset 7 has no Scan: it exists from opset 8 on"),
        (8, "BODY, num_scan_inputs = 1", "Scan of opset 8, which has batches, is not supported"),
        (9, "num_scan_inputs = 1", "attribute \"body\" is missing"),
        (9, "BODY", "attribute \"num_scan_inputs\" is missing"),
        (
            9,
            "BODY, num_scan_inputs = 0",
            "num_scan_inputs is 0, expected 1 to 1, its number of inputs",
        ),
        (
            9,
            "BODY, num_scan_inputs = 2",
            "num_scan_inputs is 2, expected 1 to 1, its number of inputs",
        ),
        (
            11,
            "BODY, num_scan_inputs = 1, scan_input_axes = [0, 0]",
            "scan_input_axes has 2 entries, expected 1",
        ),
        (
            25,
            "BODY, num_scan_inputs = 1, scan_output_directions = [2]",
            "scan_output_directions has 2, expected 0 or 1",
        ),
        (
            25,
            "BODY, num_scan_inputs = 1, directions = [0]",
            "Scan of opset 25 has no attribute \"directions\"",
        ),
    ] {
        let attributes = node.replace("BODY", "body = (a) => (a) { }");
        let mut proto = whole(&format!("(x) => (y) {{ y = Scan<{attributes}>(x) }}"));
        proto.opset_import[0].version = opset;
        assert_eq!(refusal(&proto), format!("Scan \"y\": {expected}"));
    }
    let states =
        whole("(x) => (y) { y = Scan<body = (a) => (a) { }, num_scan_inputs = 1>(x, x, x) }");
    assert_eq!(
        refusal(&states),
        "Scan \"y\": too few outputs: it has 1, but 2 for its states alone"
    );
    let rank = refused(&parts(", scan_output_axes = [2]"), &[2, 2], &[]);
    assert_eq!(rank, "Scan \"y\": axis 2 is out of range for rank 2: expected -2..=1");
}

#[test]
fn iterations_of_a_scan_are_bounded() {
    let long = refused(&parts(", scan_input_axes = [1]"), &[0, 1 << 40], &[]);
    let expected = "Scan \"y\": 1099511627776 iterations, and those up to here, come to more";
    assert!(long.starts_with(expected), "{long}");
}
