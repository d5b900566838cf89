//! Inputs, outputs, names and the order of nodes.

use super::super::proto::Dimension as Dim;
use super::*;
use crate::ValueId;

fn identity(input: &str, output: &str) -> Node {
    node("Identity", &[input], &[output], vec![])
}

fn graph(model: &mut Proto) -> &mut Graph {
    model.graph.as_mut().unwrap()
}

#[test]
fn inputs_have_the_names_types_and_shapes_of_the_file() {
    let dim = |dim_value, dim_param: Option<&str>| Dim {
        dim_value,
        dim_param: dim_param.map(str::to_owned),
    };
    let dims = vec![
        dim(Some(2), None),
        dim(Some(0), None),
        dim(None, Some("batch")),
        dim(None, None),
        dim(None, Some("")),
        dim(Some(-1), None),
    ];
    let mut proto = model(17, nodes("y = Concat<axis = 0>(a, b, c)"), 1);
    graph(&mut proto).input = vec![
        shaped("a", 22, Some(TensorShape { dim: dims })),
        shaped("b", 8, Some(TensorShape::default())),
        shaped("c", 1, None),
    ];
    let read = read(&proto).unwrap();
    let inputs: Vec<String> = read
        .inputs
        .iter()
        .map(|input| format!("{} {} {} {}", input.name, input.element, input.shape, input.value.0))
        .collect();
    assert_eq!(inputs, ["a i4 [2, 0, batch, ?, ?, ?] 0", "b string [] 1", "c f32 [...] 2"]);
    assert_eq!((read.name.as_str(), read.dialect.as_str()), ("test", "ONNX, opset 17"));
    assert_eq!(read.values, 4);

    let below = TensorShape { dim: vec![dim(Some(-2), None)] };
    graph(&mut proto).input[0] = shaped("a", 1, Some(below));
    assert_eq!(refusal(&proto), r#"input "a" has an axis of size -2"#);
}

#[test]
fn inputs_and_outputs_other_than_tensors_are_refused() {
    let some = || Some(vec![1, 2, 3].into());
    for (r#type, kind) in [
        (Type { sequence: some(), ..Type::default() }, "sequence"),
        (Type { map: some(), ..Type::default() }, "map"),
        (Type { opaque: some(), ..Type::default() }, "opaque"),
        (Type { sparse_tensor: some(), ..Type::default() }, "sparse tensor"),
        (Type { optional: some(), ..Type::default() }, "optional"),
    ] {
        let info = |name: &str| ValueInfo { name: name.to_owned(), r#type: Some(r#type.clone()) };
        let of = format!("is of {kind} type, only tensors are supported");
        let mut proto = model(17, vec![identity("x", "y")], FLOAT);
        graph(&mut proto).input = vec![info("x")];
        assert_eq!(refusal(&proto), format!(r#"input "x" {of}"#));
        let mut proto = model(17, vec![identity("x", "y")], FLOAT);
        graph(&mut proto).output = vec![info("y")];
        assert_eq!(refusal(&proto), format!(r#"output "y" {of}"#));
    }
    let mut proto = model(17, vec![identity("x", "y")], FLOAT);
    graph(&mut proto).input = vec![ValueInfo { name: "x".to_owned(), r#type: None }];
    assert_eq!(refusal(&proto), r#"input "x" has no type"#);
    graph(&mut proto).input = vec![value("x", 0)];
    assert_eq!(refusal(&proto), r#"input "x" has no element type"#);
}

/// In old files, every initializer is also an input.
#[test]
fn an_input_with_an_initializer_is_not_required() {
    let data = Tensor { int64_data: vec![2, 3], ..tensor("shape", INT64, &[2]) };
    let mut proto = model(17, nodes("y = Reshape(x, shape)"), FLOAT);
    assert_eq!(read(&proto).unwrap().inputs.len(), 2);
    graph(&mut proto).initializer = vec![data];
    let read = read(&proto).unwrap();
    assert_eq!(read.inputs.len(), 1);
    assert_eq!(read.inputs[0].name, "x");
    assert_eq!(kinds(&read), ["Initializer", "Reshape"]);
    assert_eq!(read.nodes[1].inputs, [Some(ValueId(1)), Some(ValueId(0))]);
}

#[test]
fn nodes_are_sorted_topologically() {
    let nodes = nodes("y = Flatten(c)  c = Squeeze(b)  a = Identity(x)  b = Transpose(a)");
    let mut proto = model(17, nodes, FLOAT);
    graph(&mut proto).output = vec![value("y", FLOAT)];
    assert_eq!(kinds(&read(&proto).unwrap()), ["Identity", "Transpose", "Squeeze", "Flatten"]);
}

#[test]
fn a_valid_order_of_nodes_is_kept() {
    let nodes = nodes("a = Flatten(x)  b = Squeeze(x)  c = Identity(b)  d = Transpose(a)");
    let read = read(&model(17, nodes, FLOAT)).unwrap();
    assert_eq!(kinds(&read), ["Flatten", "Squeeze", "Identity", "Transpose"]);
}

#[test]
fn cycles_are_refused() {
    let named = |name: &str, node: Node| Node { name: name.to_owned(), ..node };
    let concat = |inputs: &[&str], output| node("Concat", inputs, &[output], vec![int("axis", 0)]);
    let nodes = vec![
        // This node follows the cycle.
        named("after", identity("b", "y")),
        named("p", concat(&["x", "c"], "b")),
        named("q", identity("b", "c")),
    ];
    let mut proto = model(17, nodes, FLOAT);
    graph(&mut proto).output = vec![value("y", FLOAT)];
    let refused = refusal(&proto);
    let on_cycle = [r#"Concat "p""#, r#"Identity "q""#];
    assert!(on_cycle.iter().any(|node| refused.starts_with(node)), "{refused}");
    assert!(
        refused.contains(": it is part of a cycle: \"p\" reads \"q\" reads \"p\""),
        "{refused}"
    );

    let itself = model(17, vec![concat(&["x", "y"], "y")], FLOAT);
    let expected = r#"Concat "y": it is part of a cycle: "y" reads "y""#;
    assert_eq!(refusal(&itself), expected);
}

#[test]
fn a_long_chain_out_of_order_is_read() {
    let nodes = (0..20_000).rev();
    let nodes = nodes.map(|n| identity(&format!("t{n}"), &format!("t{}", n + 1))).collect();
    let mut proto = model(17, nodes, FLOAT);
    graph(&mut proto).input = vec![value("t0", FLOAT)];
    graph(&mut proto).output = vec![value("t20000", FLOAT)];
    assert_eq!(read(&proto).unwrap().nodes.len(), 20_000);
}

#[test]
fn duplicate_and_undefined_names_are_refused() {
    fn byte(name: &str) -> Tensor {
        Tensor { raw_data: vec![1].into(), ..tensor(name, 2, &[1]) }
    }

    type Change = dyn Fn(&mut Graph);
    let cases: [(&Change, &str); 11] = [
        (&|graph| graph.node.push(identity("x", "y")), r#"Identity "y": "y" is produced twice"#),
        (&|graph| graph.node.push(identity("y", "x")), r#"Identity "x": "x" is produced twice"#),
        (&|graph| graph.input.push(value("x", FLOAT)), r#"input "x": "x" is produced twice"#),
        (
            &|graph| graph.initializer = vec![byte("w"), byte("w")],
            r#"initializer "w": "w" is produced twice"#,
        ),
        (&|graph| graph.initializer = vec![byte("y")], r#"Identity "y": "y" is produced twice"#),
        (
            &|graph| graph.node[0].input = strings(&["z"]),
            r#"Identity "y": it reads "z", which no node produces"#,
        ),
        (&|graph| graph.output.push(value("z", FLOAT)), r#"no node produces output "z""#),
        (&|graph| graph.output.push(value("", FLOAT)), r#"no node produces output """#),
        (&|graph| graph.output.push(value("y", FLOAT)), r#"output "y" is there twice"#),
        (&|graph| graph.input.push(value("", FLOAT)), "an input has no name"),
        (
            &|graph| graph.sparse_initializer.push(vec![].into()),
            "sparse initializers are not supported",
        ),
    ];
    for (change, expected) in cases {
        let mut proto = model(17, vec![identity("x", "y")], FLOAT);
        change(graph(&mut proto));
        assert_eq!(refusal(&proto), expected);
    }
}

#[test]
fn an_output_may_be_an_input() {
    let mut proto = model(17, vec![identity("x", "y")], FLOAT);
    graph(&mut proto).output.push(value("x", FLOAT));
    let read = read(&proto).unwrap();
    assert_eq!(read.outputs[1].value, read.inputs[0].value);
}

#[test]
fn unknown_versions_are_refused() {
    let of = |ir_version, opset_import| {
        let proto =
            Proto { ir_version, opset_import, ..model(17, vec![identity("x", "y")], FLOAT) };
        read(&proto).map(|model| model.dialect).map_err(|error| error.to_string())
    };
    let refused = |message: &str| Err(message.to_owned());
    let newest = |what: &str| Err(format!("the model is of {what}, the newest known"));
    assert_eq!(of(Some(14), vec![opset("", 28)]), Ok("ONNX, opset 28".to_owned()));
    assert_eq!(of(Some(15), vec![opset("", 28)]), newest("IR version 15, which is newer than 14"));
    assert_eq!(of(Some(14), vec![opset("", 29)]), newest("opset 29, which is newer than 28"));
    assert_eq!(of(Some(2), vec![]), Ok("ONNX, opset 1".to_owned()));
    assert_eq!(of(Some(3), vec![]), refused("the model imports no opset"));
    assert_eq!(
        of(Some(8), vec![opset("", 0)]),
        refused("the model is of opset 0, which does not exist")
    );
    assert_eq!(of(None, vec![opset("", 17)]), refused("not an ONNX model: it has no ir_version"));
    let both = vec![opset("ai.onnx", 13), opset("", 13), opset("com.microsoft", 1)];
    assert_eq!(of(Some(8), both), Ok("ONNX, opset 13".to_owned()));
    assert_eq!(
        of(Some(8), vec![opset("ai.onnx", 13), opset("", 14)]),
        refused(r#"the model imports the opsets 13 and 14 of domain """#)
    );
    assert_eq!(
        of(Some(8), vec![opset("com.microsoft", 1)]),
        refused(r#"Identity "y": the model imports no opset of ai.onnx"#)
    );
}
