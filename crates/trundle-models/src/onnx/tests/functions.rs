//! Functions in the model file.

use super::super::proto::Function;
use super::*;
use crate::ValueId;

fn function(name: &str, input: &[&str], output: &[&str], node: Vec<Node>) -> Function {
    Function {
        name: name.to_owned(),
        domain: "own".to_owned(),
        input: strings(input),
        output: strings(output),
        node,
        opset_import: vec![opset("", 17)],
        ..Function::default()
    }
}

fn call(name: &str, input: &[&str], output: &[&str], attributes: Vec<Attribute>) -> Node {
    Node { domain: "own".to_owned(), ..node(name, input, output, attributes) }
}

fn with(functions: Vec<Function>, nodes: Vec<Node>) -> Proto {
    Proto { functions, ..model(17, nodes, FLOAT) }
}

/// Name, operator, inputs and outputs of each node.
fn written(model: &Proto) -> Vec<String> {
    let ids =
        |ids: Vec<ValueId>| ids.iter().map(|id| id.0.to_string()).collect::<Vec<_>>().join(",");
    let line = |node: &crate::Node| {
        let inputs = ids(node.inputs.iter().flatten().copied().collect());
        let outputs = ids(node.outputs.clone());
        format!("{} {:?} {inputs} -> {outputs}", node.name, node.operator)
    };
    read(model).unwrap().nodes.iter().map(line).collect()
}

#[test]
fn a_call_is_written_out() {
    let body = vec![
        Node { name: "last".to_owned(), ..node("Flatten", &["t"], &["b"], vec![]) },
        node("Transpose", &["a"], &["t"], vec![]),
    ];
    let model = with(
        vec![function("F", &["a"], &["b"], body)],
        vec![
            Node { name: "one".to_owned(), ..call("F", &["x"], &["y"], vec![]) },
            call("F", &["y"], &["z"], vec![]),
        ],
    );
    assert_eq!(
        written(&model),
        [
            "one/t Transpose { order: Given([]) } 0 -> 3",
            "one/last Flatten { axis: 1 } 3 -> 1",
            "z/t Transpose { order: Given([]) } 1 -> 4",
            "z/last Flatten { axis: 1 } 4 -> 2",
        ]
    );
}

#[test]
fn attributes_are_those_of_the_call_or_the_default() {
    let perm = |name| reference(name, attribute_type::INTS, "order");
    let inner = Function {
        attribute: strings(&["order"]),
        attribute_proto: vec![int("axis", 2)],
        ..function(
            "Inner",
            &["a"],
            &["b"],
            vec![
                node("Transpose", &["a"], &["t"], vec![perm("perm")]),
                node("Flatten", &["t"], &["b"], vec![reference("axis", 2, "axis")]),
            ],
        )
    };
    let outer = Function {
        attribute: strings(&["order"]),
        ..function(
            "Outer",
            &["a"],
            &["b"],
            vec![call("Inner", &["a"], &["b"], vec![perm("order")])],
        )
    };
    let model = with(
        vec![outer, inner],
        vec![
            call("Outer", &["x"], &["p"], vec![ints("order", &[1, 0])]),
            // It has neither a default nor a value.
            call("Outer", &["p"], &["q"], vec![]),
            call("Inner", &["q"], &["y"], vec![int("axis", 0)]),
        ],
    );
    assert_eq!(
        written(&model),
        [
            "p/b/t Transpose { order: Given([1, 0]) } 0 -> 4",
            "p/b/b Flatten { axis: 2 } 4 -> 1",
            "q/b/t Transpose { order: Given([]) } 1 -> 5",
            "q/b/b Flatten { axis: 2 } 5 -> 2",
            "y/t Transpose { order: Given([]) } 2 -> 6",
            "y/b Flatten { axis: 0 } 6 -> 3",
        ]
    );
}

#[test]
fn inputs_and_outputs_may_be_left_out() {
    let body = nodes("b = Squeeze(a, axes) c = Identity(a)");
    let model = with(
        vec![function("F", &["a", "axes"], &["b", "c"], body)],
        vec![call("F", &["x"], &["", "y"], vec![])],
    );
    let model = Proto {
        graph: Some(Graph { output: vec![value("y", FLOAT)], ..model.graph.unwrap() }),
        ..model
    };
    assert_eq!(
        written(&model),
        ["y/b Squeeze { axes: None, keeps_others: false } 0 -> 2", "y/c Identity 0 -> 1"]
    );
}

#[test]
fn an_output_may_be_an_input_or_another_output() {
    let body = nodes("t = Transpose(a)");
    let model = with(
        vec![function("F", &["a"], &["a", "t", "t"], body)],
        vec![call("F", &["x"], &["p", "q", "r"], vec![])],
    );
    assert_eq!(
        written(&model),
        ["p/t Transpose { order: Given([]) } 0 -> 2", "p/a Identity 0 -> 1", "p/t Identity 2 -> 3"]
    );
}

#[test]
fn a_body_has_the_opset_that_its_function_says() {
    let of = |version: Option<i64>| {
        let body = nodes("b = Squeeze<axes = [0]>(a)");
        let opset_import = version.map(|version| opset("ai.onnx", version)).into_iter().collect();
        let function = Function { opset_import, ..function("F", &["a"], &["b"], body) };
        read(&with(vec![function], vec![call("F", &["x"], &["y"], vec![])]))
    };
    assert!(of(Some(11)).is_ok());
    let refused = r#"Squeeze "y/b": Squeeze of opset 13 has no attribute "axes""#;
    assert_eq!(of(Some(13)).unwrap_err().to_string(), refused);
    let refused = r#"Squeeze "y/b": Squeeze of opset 17 has no attribute "axes""#;
    assert_eq!(of(None).unwrap_err().to_string(), refused);
}

#[test]
fn overloads_are_functions_of_their_own() {
    let body = |kind| vec![node(kind, &["a"], &["b"], vec![])];
    let second = Function {
        overload: "second".to_owned(),
        ..function("F", &["a"], &["b"], body("Flatten"))
    };
    let model = with(
        vec![function("F", &["a"], &["b"], body("Identity")), second],
        vec![Node { overload: "second".to_owned(), ..call("F", &["x"], &["y"], vec![]) }],
    );
    assert_eq!(written(&model), ["y/b Flatten { axis: 1 } 0 -> 1"]);
}

#[test]
fn functions_that_make_no_sense_are_refused() {
    let calls = |name, attributes| vec![call(name, &["x"], &["y"], attributes)];
    let identity = || nodes("b = Identity(a)");
    let f = |node| function("F", &["a"], &["b"], node);
    let own = Function { domain: String::new(), ..function("Pad", &[], &[], vec![]) };
    let nested = vec![call("G", &["a"], &["b"], vec![])];
    let back = function("G", &["a"], &["b"], vec![call("F", &["a"], &["b"], vec![])]);
    let flatten = vec![node("Flatten", &["a"], &["b"], vec![reference("axis", 2, "k")])];
    for (functions, nodes, expected) in [
        (
            vec![f(vec![call("F", &["a"], &["b"], vec![])])],
            calls("F", vec![]),
            r#"F "y/b": the function "F" calls itself"#,
        ),
        (vec![f(nested), back], calls("F", vec![]), r#"F "y/b/b": the function "F" calls itself"#),
        (
            vec![f(identity()), f(identity())],
            calls("F", vec![]),
            r#"function "F" of domain "own" is there twice"#,
        ),
        (vec![own], calls("F", vec![]), r#"function "Pad" has the name of an operator of ai.onnx"#),
        (
            vec![f(identity())],
            calls("F", vec![int("k", 1)]),
            r#"F "y": the function has no attribute "k""#,
        ),
        (
            vec![f(flatten)],
            calls("F", vec![]),
            r#"Flatten "y/b": attribute "axis" refers to "k", which is not an attribute of the function"#,
        ),
        (
            vec![f(identity())],
            vec![call("F", &["x", "z"], &["y"], vec![])],
            r#"F "y": wrong number of inputs or outputs: it has 2 and 1, the function 1 and 1"#,
        ),
        (
            vec![f(vec![])],
            calls("F", vec![]),
            r#""F": no node produces output "b" of the function"#,
        ),
        (
            vec![f(nodes("b = Identity(x)"))],
            calls("F", vec![]),
            r#"Identity "y/b": it reads "x", which no node produces"#,
        ),
    ] {
        assert_eq!(refusal(&with(functions, nodes)), expected);
    }
}

/// Each function calls the next one twice: 2^60 nodes.
#[test]
fn growth_is_bounded() {
    let last = function("F60", &["a"], &["b"], nodes("b = Identity(a)"));
    let mut functions = vec![last];
    for number in 0..60 {
        let next = format!("F{}", number + 1);
        let body = vec![call(&next, &["a"], &["t"], vec![]), call(&next, &["t"], &["b"], vec![])];
        functions.push(function(&format!("F{number}"), &["a"], &["b"], body));
    }
    let refused = refusal(&with(functions, vec![call("F0", &["x"], &["y"], vec![])]));
    let expected = "the model's functions take over 64 MiB when they are written out";
    assert!(refused.ends_with(expected), "{refused}");
}

/// Thousands of nodes refer to one long list.
#[test]
fn growth_by_attributes_is_bounded() {
    let perm = || vec![reference("perm", attribute_type::INTS, "order")];
    let body = (0..2000)
        .map(|number| {
            let (from, to) = (format!("t{number}"), format!("t{}", number + 1));
            node("Transpose", &[&from], &[&to], perm())
        })
        .collect();
    let function =
        Function { attribute: strings(&["order"]), ..function("F", &["t0"], &["t2000"], body) };
    let calls = vec![call("F", &["x"], &["y"], vec![ints("order", &[0; 100_000])])];
    let refused = refusal(&with(vec![function], calls));
    assert!(refused.contains("take over 64 MiB"), "{refused}");
}

#[test]
fn depth_is_bounded() {
    let chain = |length: usize| {
        let mut functions = vec![function(&format!("F{length}"), &["a"], &["a"], vec![])];
        for number in 0..length {
            let body = vec![call(&format!("F{}", number + 1), &["a"], &["b"], vec![])];
            functions.push(function(&format!("F{number}"), &["a"], &["b"], body));
        }
        with(functions, vec![call("F0", &["x"], &["y"], vec![])])
    };
    assert!(read(&chain(63)).is_ok());
    for length in [64, 5000] {
        let refused = refusal(&chain(length));
        assert!(
            refused.ends_with("over 64 functions and graphs are within each other"),
            "{refused}"
        );
    }
}

/// A constant in a function's body is stored once, however often the function is called.
#[test]
fn constants_of_a_body_are_shared() {
    let data = Tensor { raw_data: vec![7; 1000].into(), ..tensor("w", 2, &[1000]) };
    let body = vec![node("Constant", &[], &["b"], vec![tensor_attribute("value", data)])];
    let model = with(
        vec![function("F", &[], &["b"], body)],
        vec![
            call("F", &[], &["p"], vec![]),
            call("F", &[], &["q"], vec![]),
            node("Concat", &["p", "q"], &["y"], vec![int("axis", 0)]),
        ],
    );
    let model = read(&model).unwrap();
    let data = constant_addresses(&model);
    assert_eq!(data.len(), 2);
    assert_eq!(data[0], data[1]);
}
