//! Each version of each operator.

use trundle_core::Shape;

use super::*;
use crate::Given;
use crate::tests::cases;

/// Describes the last node, or returns the error.
fn read_as(version: i64, node: Node) -> String {
    match read(&model(version, vec![node], FLOAT)) {
        Ok(model) => format!("{:?}", model.nodes.last().expect("there is a node").operator),
        Err(error) => error.to_string(),
    }
}

fn described(node: &str) -> String {
    read_as(17, nodes(node).remove(0))
}

#[test]
fn each_operator_is_read_in_each_of_its_versions() {
    for (case, expected) in cases(include_str!("operators.txt")) {
        let (versions, node) = case.split_once("  ").unwrap();
        let (first, last) = versions.split_once('-').unwrap_or((versions, versions));
        for version in first.parse().unwrap()..=last.parse().unwrap() {
            let found = read_as(version, nodes(node).remove(0));
            assert_eq!(found, expected, "opset {version}: {node}");
        }
    }
}

#[test]
fn a_single_omitted_input_is_missing() {
    let omitted = node("Transpose", &[""], &["y"], vec![]);
    assert_eq!(read_as(13, omitted), r#"Transpose "y": input 0 (data) is missing"#);
}

#[test]
fn constant_of_shape() {
    let of = |attributes| read_as(9, node("ConstantOfShape", &["shape"], &["y"], attributes));
    let value = |tensor| vec![tensor_attribute("value", tensor)];
    let filled = of(vec![]);
    assert!(filled.starts_with("Filled { sizes: Input { input: 0, types: I64 }"), "{filled}");
    assert!(filled.contains("Fixed(F32)") && filled.contains("Bytes([0, 0, 0, 0])"), "{filled}");
    let filled = of(value(i64s("", &[7])));
    assert!(filled.contains("Fixed(I64)"), "{filled}");
    assert!(filled.contains("Bytes([7, 0, 0, 0, 0, 0, 0, 0])"), "{filled}");
    let refused = of(value(tensor("", INT64, &[1])));
    assert!(refused.starts_with(r#"its value"#), "{refused}");
}

/// In old opsets, the value of a pad is a float attribute. In the graph, it has the type of the data.
#[test]
fn the_value_of_an_old_pad_has_the_type_of_its_data() {
    let bytes = |elem_type| {
        // The data's operator comes after the pad in the file.
        let nodes = nodes("y = Pad<pads = [0, 1], value = -1.5>(t) t = Identity(x)");
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
fn an_einsum_that_only_permutes_axes_is_a_transpose() {
    let read = |equation: &str, inputs: &str| {
        described(&format!("y = Einsum<equation = \"{equation}\">({inputs})"))
    };
    let found = read("abc -> acb", "x");
    assert!(found.contains("Transpose { order: Given([0, 2, 1]) }"), "{found}");
    for equation in ["abc->ab", "aac->aca", "abc->abd", "abc", "...a->a...", "->"] {
        assert!(read(equation, "x").contains("Einsum (1 node), which computes"), "{equation}");
    }
    assert!(read("ab,bc->ac", "x, x").contains("Einsum (1 node), which computes"));
}

#[test]
fn computing_operators_are_refused_with_the_supported_ones() {
    let all = "CenterCropPad, Concat, Constant, ConstantOfShape, DepthToSpace, Dropout, Einsum, Expand, EyeLike, Flatten, Gather, \
               GatherElements, GatherND, Identity, If, Loop, Pad, Range, Reshape, Resize, ReverseSequence, Scan, Scatter, \
               ScatterElements, ScatterND, Shape, Size, Slice, SpaceToDepth, Split, Squeeze, TensorScatter, Tile, \
               Transpose, Trilu, Unsqueeze, Upsample";
    for (node, refusal) in [
        ("[conv1] y = Conv(x)", r#"Conv "conv1": not supported: Conv (1 node), which computes"#),
        (
            "y = com.microsoft.Transpose(x)",
            r#"Transpose "y": not supported: Transpose of domain com.microsoft (1 node), which is not known"#,
        ),
    ] {
        assert_eq!(described(node), format!("{refusal}; supported: {all}"));
    }
    let upsample = nodes(r#"y = Upsample<mode = "linear">(x, scales)"#).remove(0);
    let refused = read_as(9, upsample);
    assert!(refused.contains("Upsample in mode linear (1 node), which computes"), "{refused}");
    assert_eq!(described("y = ai.onnx.Identity(x)"), "Identity");
}

#[test]
fn unsupported_operators_are_listed_with_counts() {
    let mut all = nodes(
        r#"t = Transpose(x)
           s = NonZero(t)
           c = Conv(t)
           r = Relu(c)
           d = Conv(r)
           g = Compress(d, s)
           k = Resize<mode = "nearest">(g)
           l = Resize<mode = "cubic">(k)
           z = Upsample<mode = "linear">(l)
           i = SequenceLength(z)"#,
    );
    all.push(node("a\u{1b}[31mb", &["i"], &["y"], vec![]));
    let refused = refusal(&model(17, all, FLOAT));
    let expected = "NonZero \"s\": not supported: Conv (2 nodes), Relu (1 node), Resize in mode cubic (1 node), \
                    Upsample in mode linear (1 node), which compute; \
                    Compress (1 node), which moves elements but is not implemented; \
                    NonZero (1 node), whose output shape depends on its elements; \
                    SequenceLength (1 node), which holds graphs or lists of tensors; \
                    a\\u{1b}[31mb (1 node), which is not known; supported: CenterCropPad, ";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn the_list_of_operators_is_sorted() {
    let names: Vec<&str> = super::super::operators::OPERATORS.iter().map(|row| row.name).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn unknown_and_mistyped_attributes_are_refused() {
    let of = |name, r#type| node("Flatten", &["x"], &["y"], vec![attribute(name, r#type)]);
    for (node, expected) in [
        (
            node("Flatten", &["x"], &["y"], vec![graph_attribute("then_branch", Graph::default())]),
            r#"Flatten of opset 17 has no attribute "then_branch""#,
        ),
        (of("axis", attribute_type::UNDEFINED), r#"attribute "axis" has no value of its type"#),
        (of("axis", 99), r#"attribute "axis" is of type 99, but must be INT"#),
    ] {
        assert_eq!(read_as(17, node), format!(r#"Flatten "y": {expected}"#));
    }
}

/// If the type is stated, a missing value means 0. The first version of the format had no types.
#[test]
fn attributes_may_lack_their_value_or_their_type() {
    let of = |attribute| node("Flatten", &["x"], &["y"], vec![attribute]);
    assert_eq!(read_as(9, of(attribute("axis", attribute_type::INT))), "Flatten { axis: 0 }");
    let untyped = Attribute { r#type: attribute_type::UNDEFINED, ..int("axis", 2) };
    assert_eq!(read_as(9, of(untyped)), "Flatten { axis: 2 }");
}
