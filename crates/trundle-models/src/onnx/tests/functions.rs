//! Functions in the model file.

use super::*;
use crate::ValueId;

/// A model `(x) => (y)`, and its functions.
fn calling(nodes: &str, functions: &str) -> Proto {
    whole(&format!("(x) => (y) {{ {nodes} }} {functions}"))
}

/// Name, operator, inputs and outputs of each node.
fn described_nodes(model: &Proto) -> Vec<String> {
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
fn a_call_is_inlined() {
    let model = calling(
        "[one] z = own.F(x)  y = own.F(z)",
        "F(a) => (b) { [last] b = Flatten(t)  t = Transpose(a) }",
    );
    assert_eq!(
        described_nodes(&model),
        [
            "one/t Transpose { order: Given([]) } 0 -> 3",
            "one/last Flatten { axis: 1 } 3 -> 1",
            "y/t Transpose { order: Given([]) } 1 -> 4",
            "y/last Flatten { axis: 1 } 4 -> 2",
        ]
    );
}

#[test]
fn attributes_come_from_the_call_or_the_default() {
    let mut model = calling(
        "p = own.Outer<order = [1, 0]>(x)
        q = own.Outer(p)
        y = own.Inner<axis = 0>(q)",
        "Outer(a) => (b) { b = own.Inner<order: ints = @order>(a) }
        Inner(a) => (b) {
            t = Transpose<perm: ints = @order>(a)  b = Flatten<axis: int = @axis>(t)
        }",
    );
    for function in &mut model.functions {
        function.attribute = strings(&["order"]);
    }
    model.functions[1].attribute_proto = vec![int("axis", 2)];
    assert_eq!(
        described_nodes(&model),
        [
            "p/b/t Transpose { order: Given([1, 0]) } 0 -> 4",
            "p/b/b Flatten { axis: 2 } 4 -> 1",
            // The attribute has neither a default nor a value.
            "q/b/t Transpose { order: Given([]) } 1 -> 5",
            "q/b/b Flatten { axis: 2 } 5 -> 2",
            "y/t Transpose { order: Given([]) } 2 -> 6",
            "y/b Flatten { axis: 0 } 6 -> 3",
        ]
    );
}

#[test]
fn inputs_and_outputs_may_be_left_out() {
    let model =
        calling(", y = own.F(x)", "F(a, axes) => (b, c) { b = Squeeze(a, axes)  c = Identity(a) }");
    assert_eq!(
        described_nodes(&model),
        ["y/b Squeeze { axes: None, keeps_others: false } 0 -> 2", "y/c Identity 0 -> 1"]
    );
}

#[test]
fn an_output_may_be_an_input_or_another_output() {
    let model = calling("y, q, r = own.F(x)", "F(a) => (a, t, t) { t = Transpose(a) }");
    assert_eq!(
        described_nodes(&model),
        ["y/t Transpose { order: Given([]) } 0 -> 2", "y/a Identity 0 -> 1", "y/t Identity 2 -> 3"]
    );
}

#[test]
fn a_body_uses_the_opset_of_its_function() {
    let of = |version: Option<i64>| {
        let mut model = calling("y = own.F(x)", "F(a) => (b) { b = Squeeze<axes = [0]>(a) }");
        model.functions[0].opset_import =
            version.map(|version| opset("ai.onnx", version)).into_iter().collect();
        read(&model)
    };
    assert!(of(Some(11)).is_ok());
    let refused = r#"Squeeze "y/b": Squeeze of opset 13 has no attribute "axes""#;
    assert_eq!(of(Some(13)).unwrap_err().to_string(), refused);
    let refused = r#"Squeeze "y/b": Squeeze of opset 17 has no attribute "axes""#;
    assert_eq!(of(None).unwrap_err().to_string(), refused);
}

#[test]
fn overloads_are_separate_functions() {
    let mut model = calling(
        "y = own.F(x)",
        "F(a) => (b) { b = Identity(a) }
        F(a) => (b) { b = Flatten(a) }",
    );
    model.functions[1].overload = "second".to_owned();
    model.graph.as_mut().unwrap().node[0].overload = "second".to_owned();
    assert_eq!(described_nodes(&model), ["y/b Flatten { axis: 1 } 0 -> 1"]);
}

#[test]
fn invalid_functions_are_refused() {
    let identity = "F(a) => (b) { b = Identity(a) }";
    for (nodes, functions, expected) in [
        (
            "y = own.F(x)",
            "F(a) => (b) { b = own.F(a) }",
            r#"F "y/b": the function "F" calls itself"#,
        ),
        (
            "y = own.F(x)",
            "F(a) => (b) { b = own.G(a) } G(a) => (b) { b = own.F(a) }",
            r#"F "y/b/b": the function "F" calls itself"#,
        ),
        ("y = own.F(x)", &identity.repeat(2), r#"function "F" of domain "own" is there twice"#),
        ("y = own.F<k = 1>(x)", identity, r#"F "y": the function has no attribute "k""#),
        (
            "y = own.F(x)",
            "F(a) => (b) { b = Flatten<axis: int = @k>(a) }",
            r#"Flatten "y/b": attribute "axis" refers to "k", which is not an attribute of the function"#,
        ),
        (
            "y = own.F(x, x)",
            identity,
            r#"F "y": wrong number of inputs or outputs: it has 2 and 1, the function 1 and 1"#,
        ),
        ("y = own.F(x)", "F(a) => (b) { }", r#""F": no node produces output "b" of the function"#),
        (
            "y = own.F(x)",
            "F(a) => (b) { b = Identity(x) }",
            r#"Identity "y/b": it reads "x", which no node produces"#,
        ),
    ] {
        assert_eq!(refusal(&calling(nodes, functions)), expected);
    }
    let mut own = calling("y = Identity(x)", "Pad() => () { }");
    own.functions[0].domain.clear();
    assert_eq!(refusal(&own), r#"function "Pad" has the name of an operator of ai.onnx"#);
}

/// Each function calls the next one twice: 2^60 nodes.
#[test]
fn growth_is_bounded() {
    let mut functions = "F60(a) => (b) { b = Identity(a) }".to_owned();
    for number in 0..60 {
        let next = number + 1;
        functions += &format!("F{number}(a) => (b) {{ t = own.F{next}(a)  b = own.F{next}(t) }}");
    }
    let refused = refusal(&calling("y = own.F0(x)", &functions));
    let expected = "the model's functions take over 64 MiB when they are written out";
    assert!(refused.ends_with(expected), "{refused}");
}

/// Thousands of nodes refer to one long list.
#[test]
fn growth_by_attributes_is_bounded() {
    let node = |at| format!("t{} = Transpose<perm: ints = @order>(t{at})", at + 1);
    let nodes: String = (0..2000).map(node).collect();
    let mut model = calling("y = own.F(x)", &format!("F(t0) => (t2000) {{ {nodes} }}"));
    model.functions[0].attribute = strings(&["order"]);
    let call = &mut model.graph.as_mut().unwrap().node[0];
    call.attribute = vec![ints("order", &[0; 100_000])];
    let refused = refusal(&model);
    assert!(refused.contains("take over 64 MiB"), "{refused}");
}

#[test]
fn depth_is_bounded() {
    let chain = |length: usize| {
        let next = |at| format!("F{at}(a) => (a) {{ b = own.F{}(a) }}", at + 1);
        let functions: String = (0..length).map(next).collect();
        calling("y = own.F0(x)", &format!("{functions} F{length}(a) => (a) {{ }}"))
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
    let mut model = calling(
        "p = own.F()  q = own.F()  y = Concat<axis = 0>(p, q)",
        "F() => (b) { b = Constant() }",
    );
    let data = Tensor { raw_data: vec![7; 1000].into(), ..tensor("w", 2, &[1000]) };
    model.functions[0].node[0].attribute = vec![tensor_attribute("value", data)];
    let model = read(&model).unwrap();
    let data = constant_addresses(&model);
    assert_eq!(data.len(), 2);
    assert_eq!(data[0], data[1]);
}
