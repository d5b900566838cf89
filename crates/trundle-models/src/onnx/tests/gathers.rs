//! Gathers and scatters in each of their versions.

use super::operators::check;
use super::*;

#[test]
fn gathers() {
    let gather = |attributes| node("Gather", &["x", "i"], &["y"], attributes);
    let along = |attributes| node("GatherElements", &["x", "i"], &["y"], attributes);
    let nd = |attributes| node("GatherND", &["x", "i"], &["y"], attributes);
    check(vec![
        (1, 28, gather(vec![]), "Gather { axis: Given([0]), batch_axes: 0, rule: CountsBack }"),
        (
            1,
            28,
            gather(vec![int("axis", -2)]),
            "Gather { axis: Given([-2]), batch_axes: 0, rule: CountsBack }",
        ),
        (
            13,
            13,
            node("Gather", &["x"], &["y"], vec![]),
            r#"Gather "y": input 1 (indices) is missing"#,
        ),
        (11, 28, along(vec![]), "GatherElements { axis: 0 }"),
        (11, 28, along(vec![int("axis", -1)]), "GatherElements { axis: -1 }"),
        (
            10,
            10,
            along(vec![]),
            r#"GatherElements "y": opset 10 has no GatherElements, it came with opset 11"#,
        ),
        (11, 28, nd(vec![]), "GatherNd { batch_axes: 0, merges_batch: false }"),
        (12, 28, nd(vec![int("batch_dims", 2)]), "GatherNd { batch_axes: 2, merges_batch: false }"),
        (
            11,
            11,
            nd(vec![int("batch_dims", 2)]),
            r#"GatherND "y": GatherND of opset 11 has no attribute "batch_dims""#,
        ),
        (
            12,
            28,
            nd(vec![int("batch_dims", -1)]),
            r#"GatherND "y": batch_dims may not be negative, got -1"#,
        ),
    ]);
}

#[test]
fn scatters() {
    let of = |kind, attributes| node(kind, &["x", "i", "u"], &["y"], attributes);
    let (first, last) = (
        "ScatterElements { axis: Given([0]), counts_back: true }",
        "ScatterElements { axis: Given([-1]), counts_back: true }",
    );
    check(vec![
        (9, 10, of("Scatter", vec![]), first),
        (9, 10, of("Scatter", vec![int("axis", -1)]), last),
        (
            11,
            28,
            of("Scatter", vec![]),
            r#"Scatter "y": opset 11 has withdrawn it: it is ScatterElements now"#,
        ),
        (11, 28, of("ScatterElements", vec![]), first),
        (11, 28, of("ScatterElements", vec![int("axis", -1)]), last),
        (16, 28, of("ScatterElements", vec![text("reduction", "none")]), first),
        (
            16,
            28,
            of("ScatterElements", vec![text("reduction", "add")]),
            r#"ScatterElements "y": reduction "add" computes, and elements are only moved here"#,
        ),
        (
            13,
            13,
            of("ScatterElements", vec![text("reduction", "none")]),
            r#"ScatterElements "y": ScatterElements of opset 13 has no attribute "reduction""#,
        ),
        (11, 28, of("ScatterND", vec![]), "ScatterNd"),
        (16, 28, of("ScatterND", vec![text("reduction", "none")]), "ScatterNd"),
        (
            18,
            28,
            of("ScatterND", vec![text("reduction", "max")]),
            r#"ScatterND "y": reduction "max" computes, and elements are only moved here"#,
        ),
        (
            13,
            13,
            of("ScatterND", vec![text("reduction", "none")]),
            r#"ScatterND "y": ScatterND of opset 13 has no attribute "reduction""#,
        ),
    ]);
}

#[test]
fn caches() {
    let of = |inputs: &[&str], attributes| node("TensorScatter", inputs, &["y"], attributes);
    let plain = "TensorScatter { axis: -2, is_circular: false }";
    check(vec![
        (24, 28, of(&["x", "u"], vec![]), plain),
        (24, 28, of(&["x", "u", "w"], vec![text("mode", "linear")]), plain),
        (
            24,
            28,
            of(&["x", "u", "w"], vec![int("axis", 1), text("mode", "circular")]),
            "TensorScatter { axis: 1, is_circular: true }",
        ),
        (
            24,
            24,
            of(&["x", "u"], vec![text("mode", "spiral")]),
            r#"TensorScatter "y": mode "spiral" is neither linear nor circular"#,
        ),
        (
            23,
            23,
            of(&["x", "u"], vec![]),
            r#"TensorScatter "y": opset 23 has no TensorScatter, it came with opset 24"#,
        ),
    ]);
}
