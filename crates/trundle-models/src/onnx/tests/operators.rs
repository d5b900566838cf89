//! Each operator in each of its versions.

use trundle_core::Shape;

use super::*;
use crate::Given;

/// Describes the last node of the model that was read, or the refusal.
pub(super) fn read_as(version: i64, node: Node) -> String {
    match read(&model(version, vec![node], FLOAT)) {
        Ok(model) => format!("{:?}", model.nodes.last().expect("there is a node").operator),
        Err(error) => error.to_string(),
    }
}

/// Checks `(first opset, last opset, node, expected description)`.
pub(super) fn check(cases: Vec<(i64, i64, Node, &str)>) {
    for (first, last, node, expected) in cases {
        for version in first..=last {
            let found = read_as(version, node.clone());
            assert_eq!(found, expected, "opset {version}, {node:?}");
        }
    }
}

#[test]
fn transpose() {
    let of = |attributes| node("Transpose", &["x"], &["y"], attributes);
    check(vec![
        (1, 28, of(vec![]), "Transpose { order: Given([]) }"),
        (1, 28, of(vec![ints("perm", &[1, 0])]), "Transpose { order: Given([1, 0]) }"),
        (
            13,
            13,
            of(vec![int("perm", 1)]),
            r#"Transpose "y": attribute "perm" is of type INT, but must be INTS"#,
        ),
        (
            13,
            13,
            node("Transpose", &["x", "z"], &["y"], vec![]),
            r#"Transpose "y": it has 2 inputs, and takes 1: data"#,
        ),
        (
            13,
            13,
            node("Transpose", &["x"], &["y", "z"], vec![]),
            r#"Transpose "y": it lists 2 outputs, but produces one"#,
        ),
        (
            13,
            13,
            node("Transpose", &[""], &["y"], vec![]),
            r#"Transpose "y": input 0 (data) is missing"#,
        ),
    ]);
}

#[test]
fn reverse_sequence() {
    let of = |attributes| node("ReverseSequence", &["x", "lengths"], &["y"], attributes);
    let lengths = "ReverseSequence { lengths: Input { input: 1, types: I64 }";
    check(vec![
        (10, 28, of(vec![]), &format!("{lengths}, batch_axis: 1, sequence_axis: 0 }}")),
        (
            10,
            28,
            of(vec![int("batch_axis", 0), int("time_axis", 1)]),
            &format!("{lengths}, batch_axis: 0, sequence_axis: 1 }}"),
        ),
        (
            10,
            28,
            of(vec![int("batch_axis", 0)]),
            r#"ReverseSequence "y": batch_axis is 0 and time_axis 0, expected 0 and 1 or 1 and 0"#,
        ),
        (
            10,
            28,
            of(vec![int("time_axis", -2)]),
            r#"ReverseSequence "y": batch_axis is 1 and time_axis -2, expected 0 and 1 or 1 and 0"#,
        ),
    ]);
    assert_eq!(
        read_as(9, of(vec![])),
        r#"ReverseSequence "y": opset 9 has no ReverseSequence, it came with opset 10"#
    );
}

#[test]
fn reshape() {
    let old = |attributes| node("Reshape", &["x"], &["y"], attributes);
    let new = |attributes| node("Reshape", &["x", "shape"], &["y"], attributes);
    let sizes = "Reshape { sizes: Input { input: 1, types: I64 }";
    check(vec![
        (
            1,
            4,
            old(vec![ints("shape", &[0, -1]), ints("consumed_inputs", &[0])]),
            "Reshape { sizes: Given([0, -1]), zero: Copies }",
        ),
        (1, 4, old(vec![]), r#"Reshape "y": attribute "shape" is missing"#),
        (5, 28, new(vec![]), &format!("{sizes}, zero: Copies }}")),
        (14, 28, new(vec![int("allowzero", 0)]), &format!("{sizes}, zero: Copies }}")),
        (14, 28, new(vec![int("allowzero", 1)]), &format!("{sizes}, zero: Zero }}")),
        (
            13,
            13,
            new(vec![int("allowzero", 1)]),
            r#"Reshape "y": Reshape of opset 13 has no attribute "allowzero""#,
        ),
    ]);
}

#[test]
fn squeeze_and_unsqueeze() {
    let of = |kind, inputs: &[&str], attributes| node(kind, inputs, &["y"], attributes);
    let by_input = "Input { input: 1, types: I64 }";
    check(vec![
        (1, 28, of("Squeeze", &["x"], vec![]), "Squeeze { axes: None, keeps_others: false }"),
        (
            1,
            12,
            of("Squeeze", &["x"], vec![ints("axes", &[0, -1])]),
            "Squeeze { axes: Some(Given([0, -1])), keeps_others: false }",
        ),
        (
            13,
            28,
            of("Squeeze", &["x", "axes"], vec![]),
            &format!("Squeeze {{ axes: Some({by_input}), keeps_others: false }}"),
        ),
        (13, 28, of("Squeeze", &["x", ""], vec![]), "Squeeze { axes: None, keeps_others: false }"),
        (
            1,
            12,
            of("Unsqueeze", &["x"], vec![ints("axes", &[2])]),
            "Unsqueeze { axes: Given([2]) }",
        ),
        (1, 12, of("Unsqueeze", &["x"], vec![]), r#"Unsqueeze "y": attribute "axes" is missing"#),
        (
            13,
            28,
            of("Unsqueeze", &["x", "axes"], vec![]),
            &format!("Unsqueeze {{ axes: {by_input} }}"),
        ),
        (13, 28, of("Unsqueeze", &["x"], vec![]), r#"Unsqueeze "y": input 1 (axes) is missing"#),
    ]);
}

#[test]
fn flatten_identity_and_concat() {
    let of = |kind, inputs: &[&str], attributes| node(kind, inputs, &["y"], attributes);
    check(vec![
        (1, 28, of("Flatten", &["x"], vec![]), "Flatten { axis: 1 }"),
        (1, 28, of("Flatten", &["x"], vec![int("axis", -1)]), "Flatten { axis: -1 }"),
        (1, 28, of("Identity", &["x"], vec![]), "Identity"),
        (1, 3, of("Concat", &["x", "z"], vec![]), "Concat { axis: 1 }"),
        (4, 28, of("Concat", &["x"], vec![]), r#"Concat "y": attribute "axis" is missing"#),
        (1, 28, of("Concat", &["x", "z"], vec![int("axis", 0)]), "Concat { axis: 0 }"),
        (11, 11, of("Concat", &[], vec![int("axis", 0)]), r#"Concat "y": it has no inputs"#),
        (
            11,
            11,
            of("Concat", &["x", "", "z"], vec![int("axis", 0)]),
            r#"Concat "y": input 1 is missing"#,
        ),
    ]);
}

#[test]
fn slice() {
    let old = |attributes| node("Slice", &["x"], &["y"], attributes);
    let bounds = || vec![ints("starts", &[1, 2]), ints("ends", &[3, -1])];
    let input = |input| format!("Input {{ input: {input}, types: I32OrI64 }}");
    check(vec![
        (
            1,
            9,
            old(bounds()),
            "Slice { starts: Given([1, 2]), stops: Given([3, -1]), axes: Some(Given([0, 1])), steps: None }",
        ),
        (
            1,
            9,
            old([bounds(), vec![ints("axes", &[2, 0])]].concat()),
            "Slice { starts: Given([1, 2]), stops: Given([3, -1]), axes: Some(Given([2, 0])), steps: None }",
        ),
        (1, 9, old(vec![ints("starts", &[1])]), r#"Slice "y": attribute "ends" is missing"#),
        (
            10,
            28,
            node("Slice", &["x", "s", "e"], &["y"], vec![]),
            &format!(
                "Slice {{ starts: {}, stops: {}, axes: None, steps: None }}",
                input(1),
                input(2)
            ),
        ),
        (
            10,
            28,
            node("Slice", &["x", "s", "e", "", "steps"], &["y"], vec![]),
            &format!(
                "Slice {{ starts: {}, stops: {}, axes: None, steps: Some({}) }}",
                input(1),
                input(2),
                input(4)
            ),
        ),
        (10, 28, old(bounds()), r#"Slice "y": input 1 (starts) is missing"#),
    ]);
}

#[test]
fn split() {
    let of = |inputs: &[&str], attributes| node("Split", inputs, &["y", "z"], attributes);
    let axis = |axis, parts: &str| format!("Split {{ axis: Given([{axis}]), parts: {parts} }}");
    let sizes = |types| format!("Sizes(Input {{ input: 1, types: {types} }})");
    check(vec![
        (1, 28, of(&["x"], vec![]), &axis(0, "Equal")),
        (1, 28, of(&["x"], vec![int("axis", -1)]), &axis(-1, "Equal")),
        (1, 12, of(&["x"], vec![ints("split", &[2, 3])]), &axis(0, "Sizes(Given([2, 3]))")),
        (1, 1, of(&["x", "split"], vec![]), &axis(0, &sizes("Numbers"))),
        (2, 12, of(&["x", "split"], vec![]), r#"Split "y": it has 2 inputs, and takes 1: input"#),
        (13, 28, of(&["x", "split"], vec![]), &axis(0, &sizes("I64"))),
        (18, 28, of(&["x"], vec![int("num_outputs", 2)]), &axis(0, "LastSmaller")),
        (
            18,
            28,
            of(&["x"], vec![int("num_outputs", 3)]),
            r#"Split "y": num_outputs is 3, and it has 2 outputs"#,
        ),
        (
            18,
            28,
            of(&["x", "split"], vec![int("num_outputs", 2)]),
            r#"Split "y": it says twice how large its parts are"#,
        ),
        (
            2,
            12,
            of(&["x"], vec![ints("split", &[2, -1])]),
            r#"Split "y": split has -1, expected sizes of 0 or more"#,
        ),
        (
            13,
            13,
            of(&["x"], vec![int("num_outputs", 2)]),
            r#"Split "y": Split of opset 13 has no attribute "num_outputs""#,
        ),
    ]);
}

#[test]
fn tile() {
    let number = |input| format!("Input {{ input: {input}, types: Numbers }}");
    check(vec![
        (
            1,
            5,
            node("Tile", &["x", "tiles", "axis"], &["y"], vec![]),
            &format!("TileAxis {{ repeats: {}, axis: {} }}", number(1), number(2)),
        ),
        (
            6,
            28,
            node("Tile", &["x", "repeats"], &["y"], vec![]),
            "Tile { repeats: Input { input: 1, types: I64 } }",
        ),
    ]);
}

#[test]
fn depth_and_space() {
    let of = |kind, attributes| node(kind, &["x"], &["y"], attributes);
    let block = || int("blocksize", 2);
    let mode = |mode| vec![block(), text("mode", mode)];
    check(vec![
        (1, 28, of("DepthToSpace", vec![block()]), "DepthToSpace { block: 2, order: BlocksFirst }"),
        (11, 28, of("DepthToSpace", mode("DCR")), "DepthToSpace { block: 2, order: BlocksFirst }"),
        (11, 28, of("DepthToSpace", mode("CRD")), "DepthToSpace { block: 2, order: DepthFirst }"),
        (
            10,
            10,
            of("DepthToSpace", mode("CRD")),
            r#"DepthToSpace "y": DepthToSpace of opset 10 has no attribute "mode""#,
        ),
        (
            11,
            28,
            of("DepthToSpace", mode("dcr")),
            r#"DepthToSpace "y": mode is "dcr", expected "DCR" or "CRD""#,
        ),
        (1, 28, of("SpaceToDepth", vec![block()]), "SpaceToDepth { block: 2, order: BlocksFirst }"),
        (28, 28, of("SpaceToDepth", mode("CRD")), "SpaceToDepth { block: 2, order: DepthFirst }"),
        (
            27,
            27,
            of("SpaceToDepth", mode("CRD")),
            r#"SpaceToDepth "y": SpaceToDepth of opset 27 has no attribute "mode""#,
        ),
        (
            1,
            28,
            of("SpaceToDepth", vec![int("blocksize", 0)]),
            r#"SpaceToDepth "y": blocksize is 0, expected 1 or more"#,
        ),
        (
            1,
            28,
            of("SpaceToDepth", vec![]),
            r#"SpaceToDepth "y": attribute "blocksize" is missing"#,
        ),
    ]);
}

#[test]
fn pad() {
    let of = |inputs: &[&str], attributes| node("Pad", inputs, &["y"], attributes);
    let by_input = "Pad { pads: Both(Input { input: 1, types: I64 })";
    let axes = "Some(Input { input: 3, types: I32OrI64 })";
    let zero = "Pad { pads: Both(Given([0, 1])), axes: None, value: None }";
    let minus_zero = "Pad { pads: Both(Given([0, 1])), axes: None, value: Some(Float(-0.0)) }";
    let one = "Pad { pads: Both(Given([0, 1])), axes: None, value: Some(Float(1.5)) }";
    let elements = |pads: &str, mode: &str| {
        format!("PadElements {{ pads: Both({pads}), axes: None, mode: {mode}, once: false }}")
    };
    let input = "Input { input: 1, types: I64 }";
    check(vec![
        (1, 1, of(&["x"], vec![ints("paddings", &[0, 1])]), zero),
        (2, 10, of(&["x"], vec![ints("pads", &[0, 1])]), zero),
        (2, 10, of(&["x"], vec![ints("pads", &[0, 1]), float("value", 0.0)]), zero),
        (2, 10, of(&["x"], vec![ints("pads", &[0, 1]), float("value", 1.5)]), one),
        (2, 10, of(&["x"], vec![ints("pads", &[0, 1]), float("value", -0.0)]), minus_zero),
        (2, 10, of(&["x"], vec![]), r#"Pad "y": attribute "pads" is missing"#),
        (11, 28, of(&["x", "pads"], vec![]), &format!("{by_input}, axes: None, value: None }}")),
        (
            11,
            28,
            of(&["x", "pads", "v"], vec![text("mode", "constant")]),
            &format!("{by_input}, axes: None, value: Some(Input(2)) }}"),
        ),
        (
            18,
            28,
            of(&["x", "pads", "", "axes"], vec![]),
            &format!("{by_input}, axes: {axes}, value: None }}"),
        ),
        (
            11,
            17,
            of(&["x", "pads", "", "axes"], vec![]),
            r#"Pad "y": it has 4 inputs, and takes 3: data, pads, constant_value"#,
        ),
        (
            11,
            28,
            of(&["x", "pads", "v"], vec![text("mode", "reflect")]),
            &elements(input, "Reflect"),
        ),
        (19, 28, of(&["x", "pads"], vec![text("mode", "wrap")]), &elements(input, "Wrap")),
        (
            18,
            18,
            of(&["x", "pads"], vec![text("mode", "wrap")]),
            r#"Pad "y": mode "wrap" is none of opset 18"#,
        ),
        (
            2,
            10,
            of(&["x"], vec![ints("pads", &[0, 1]), text("mode", "edge"), float("value", 1.5)]),
            &elements("Given([0, 1])", "Edge"),
        ),
        (
            19,
            19,
            of(&["x", "pads"], vec![text("mode", "symmetric")]),
            r#"Pad "y": mode "symmetric" is none of opset 19"#,
        ),
    ]);
}

#[test]
fn expand() {
    check(vec![(
        8,
        28,
        node("Expand", &["x", "shape"], &["y"], vec![]),
        "Broadcast { sizes: Input { input: 1, types: I64 }, rule: BothWays }",
    )]);
}

#[test]
fn triangles_and_ones_along_a_diagonal() {
    let trilu = |inputs: &[&str], attributes| node("Trilu", inputs, &["y"], attributes);
    let eye = |attributes| node("EyeLike", &["x"], &["y"], attributes);
    check(vec![
        (14, 28, trilu(&["x"], vec![]), "Trilu { diagonal: None, is_upper: true }"),
        (
            14,
            28,
            trilu(&["x", "k"], vec![int("upper", 0)]),
            "Trilu { diagonal: Some(Input { input: 1, types: I64 }), is_upper: false }",
        ),
        (9, 28, eye(vec![]), "Eye { sizes: OfData, diagonal: Given([0]), element: None }"),
        (
            9,
            28,
            eye(vec![int("k", -1), int("dtype", INT64.into())]),
            "Eye { sizes: OfData, diagonal: Given([-1]), element: Some(I64) }",
        ),
    ]);
}

/// The value is stated as a float, but has the data's type in the graph.
#[test]
fn the_value_of_an_old_pad_has_the_type_of_its_data() {
    let bytes = |elem_type| {
        let attributes = vec![ints("pads", &[0, 1]), float("value", -1.5)];
        // An operator produces the data, and follows the pad in the file.
        let nodes =
            vec![node("Pad", &["t"], &["y"], attributes), node("Identity", &["x"], &["t"], vec![])];
        let mut model = model(10, nodes, elem_type);
        model.graph.as_mut().unwrap().output = vec![value("y", elem_type)];
        let model = read(&model).map_err(|error| error.to_string())?;
        let given = [Given { shape: Shape::new([2]).unwrap(), data: None }];
        let resolved = model.resolve(&given).map_err(|error| error.to_string())?;
        let constant = resolved.constant_of(resolved.inputs()).unwrap();
        Ok(format!("{} {:?}", constant.element, constant.data))
    };
    assert_eq!(bytes(FLOAT), Ok("f32 Bytes([0, 0, 192, 191])".to_owned()));
    assert_eq!(bytes(10), Ok("f16 Bytes([0, 190])".to_owned()));
    assert_eq!(bytes(11), Ok("f64 Bytes([0, 0, 0, 0, 0, 0, 248, 191])".to_owned()));
    let refused = r#"Pad "y": its value is -1.5, a float, and its data i64"#;
    assert_eq!(bytes(INT64), Err(refused.to_owned()));
}

#[test]
fn an_equation_that_only_orders_axes_is_a_transposition() {
    let read = |equation: &str, inputs: &[&str]| {
        read_as(17, node("Einsum", inputs, &["y"], vec![text("equation", equation)]))
    };
    let orders = "Transpose { order: Given([0, 2, 1]) }";
    assert!(read("abc -> acb", &["x"]).contains(orders), "{}", read("abc -> acb", &["x"]));
    for equation in ["abc->ab", "aac->aca", "abc->abd", "abc", "...a->a...", "->"] {
        assert!(read(equation, &["x"]).contains("Einsum (1 node), which computes"), "{equation}");
    }
    assert!(read("ab,bc->ac", &["x", "x"]).contains("Einsum (1 node), which computes"));
}

#[test]
fn what_computes_is_refused_with_the_list_of_what_does_not() {
    let all = "CenterCropPad, Concat, Constant, ConstantOfShape, DepthToSpace, Dropout, Einsum, Expand, EyeLike, Flatten, Gather, \
               GatherElements, GatherND, Identity, If, Loop, Pad, Range, Reshape, Resize, ReverseSequence, Scan, Scatter, \
               ScatterElements, ScatterND, Shape, Size, Slice, SpaceToDepth, Split, Squeeze, TensorScatter, Tile, \
               Transpose, Trilu, Unsqueeze, Upsample";
    let named = Node { name: "conv1".to_owned(), ..node("Conv", &["x"], &["y"], vec![]) };
    assert_eq!(
        read_as(17, named.clone()),
        format!(r#"Conv "conv1": not supported: Conv (1 node), which computes; what is: {all}"#)
    );
    let foreign =
        Node { domain: "com.microsoft".to_owned(), ..node("Transpose", &["x"], &["y"], vec![]) };
    assert_eq!(
        read_as(17, foreign),
        format!(
            r#"Transpose "y": not supported: Transpose of domain com.microsoft (1 node), which is not known; what is: {all}"#
        )
    );
    let own = Node { domain: "ai.onnx".to_owned(), ..node("Identity", &["x"], &["y"], vec![]) };
    assert_eq!(read_as(17, own), "Identity");
}

#[test]
fn all_that_is_not_supported_is_named_with_its_count() {
    let nodes = vec![
        node("Transpose", &["x"], &["t"], vec![]),
        node("NonZero", &["t"], &["s"], vec![]),
        node("Conv", &["t"], &["c\n"], vec![]),
        node("Relu", &["c\n"], &["r"], vec![]),
        node("Conv", &["r"], &["d"], vec![]),
        node("Compress", &["d", "s"], &["g"], vec![]),
        node("Resize", &["g"], &["k"], vec![text("mode", "nearest")]),
        node("Resize", &["k"], &["l"], vec![text("mode", "cubic")]),
        node("Upsample", &["l"], &["z"], vec![text("mode", "linear")]),
        node("SequenceLength", &["z"], &["i"], vec![]),
        node("a\u{1b}[31mb", &["i"], &["y"], vec![]),
    ];
    let refused = refusal(&model(17, nodes, FLOAT));
    let expected = "NonZero \"s\": not supported: Conv (2 nodes), Relu (1 node), Resize in mode cubic (1 node), \
                    Upsample in mode linear (1 node), which compute; \
                    Compress (1 node), which moves elements, but not yet here; \
                    NonZero (1 node), whose sizes its elements say; \
                    SequenceLength (1 node), which holds graphs or lists of tensors; \
                    a\\u{1b}[31mb (1 node), which is not known; what is: CenterCropPad, ";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn a_node_without_an_operator_says_so() {
    assert_eq!(read_as(17, node("", &["x"], &["y"], vec![])), "node \"y\": it names no operator");
}

#[test]
fn dropout_is_what_it_is_at_inference() {
    let of = |inputs: &[&str], outputs: &[&str], attributes| {
        node("Dropout", inputs, outputs, attributes)
    };
    let ratio = || vec![float("ratio", 0.5)];
    let none = "Dropout { ratio: None, training: None }";
    let training = r#"Dropout "y": only Dropout at inference is supported: it may be training"#;
    let mask = r#"Dropout "y": the mask of Dropout is supported from opset 12 on"#;
    check(vec![
        (1, 6, of(&["x"], &["y"], [ratio(), vec![int("is_test", 1)]].concat()), none),
        (1, 6, of(&["x"], &["y"], vec![]), training),
        (7, 11, of(&["x"], &["y"], ratio()), none),
        (7, 11, of(&["x"], &["y", "mask"], ratio()), mask),
        (12, 28, of(&["x"], &["y"], vec![int("seed", 3)]), none),
        (12, 28, of(&["x"], &["y", "mask"], vec![]), none),
        (
            12,
            28,
            of(&["x", "r", "t"], &["y"], vec![]),
            "Dropout { ratio: Some(1), training: Some(Input { input: 2, types: Mask }) }",
        ),
        (
            12,
            12,
            of(&["x"], &["y", "m", "n"], vec![]),
            r#"Dropout "y": it lists 3 outputs, but produces one or two"#,
        ),
    ]);
}

#[test]
fn the_list_of_operators_is_sorted() {
    let names: Vec<&str> = super::super::operators::OPERATORS.iter().map(|row| row.name).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn attributes_that_are_not_known_are_refused() {
    let twice = vec![int("axis", 0), int("axis", 1)];
    let subgraph = Attribute { g: Some(Box::default()), ..attribute("then_branch", 5) };
    let cases = vec![
        (
            node("Identity", &["x"], &["y"], vec![int("blocked_axes", 0)]),
            r#"Identity "y": Identity of opset 17 has no attribute "blocked_axes""#,
        ),
        (
            node("Identity", &["x"], &["y"], vec![subgraph]),
            r#"Identity "y": Identity of opset 17 has no attribute "then_branch""#,
        ),
        (node("Flatten", &["x"], &["y"], twice), r#"Flatten "y": attribute "axis" is given twice"#),
        (
            node("Flatten", &["x"], &["y"], vec![reference("axis", attribute_type::INT, "a")]),
            r#"Flatten "y": attribute "axis" refers to "a", which is not an attribute of the function"#,
        ),
        (
            node("Flatten", &["x"], &["y"], vec![attribute("axis", attribute_type::UNDEFINED)]),
            r#"Flatten "y": attribute "axis" has no value of its type"#,
        ),
        (
            node("Flatten", &["x"], &["y"], vec![attribute("axis", 99)]),
            r#"Flatten "y": attribute "axis" is of type 99, but must be INT"#,
        ),
    ];
    for (node, expected) in cases {
        assert_eq!(read_as(17, node), expected);
    }
}

/// Writers may omit a value of 0 if the type is stated. The first version of the format had no types.
#[test]
fn attributes_may_lack_their_value_or_their_type() {
    let of = |attribute| node("Flatten", &["x"], &["y"], vec![attribute]);
    assert_eq!(read_as(9, of(attribute("axis", attribute_type::INT))), "Flatten { axis: 0 }");
    let untyped = Attribute { r#type: attribute_type::UNDEFINED, ..int("axis", 2) };
    assert_eq!(read_as(9, of(untyped)), "Flatten { axis: 2 }");
}
