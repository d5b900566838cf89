//! If: only the branch that is taken matters.

use trundle_core::Shape;

use super::*;
use crate::{Data, Given};

fn graph(name: &str, node: Vec<Node>, outputs: &[&str]) -> Attribute {
    let output = outputs.iter().map(|name| value(name, FLOAT)).collect();
    graph_attribute(name, Graph { node, output, ..Graph::default() })
}

fn branches(then: (Vec<Node>, &[&str]), otherwise: (Vec<Node>, &[&str])) -> Vec<Attribute> {
    vec![graph("then_branch", then.0, then.1), graph("else_branch", otherwise.0, otherwise.1)]
}

fn transpose(input: &str, output: &str) -> Node {
    node("Transpose", &[input], &[output], vec![])
}

/// The inputs are `x`, and the boolean `c` if a node reads it.
fn conditional(nodes: Vec<Node>) -> Proto {
    let mut proto = model(17, nodes, FLOAT);
    let graph = proto.graph.as_mut().unwrap();
    if !graph.input.iter().any(|input| input.name == "x") {
        graph.input.push(value("x", FLOAT));
    }
    for input in graph.input.iter_mut().filter(|input| input.name == "c") {
        *input = value("c", BOOL);
    }
    proto
}

/// Runs a model on an `x` with the elements 0, 1, 2, ... If the condition is an input, it is `condition`.
fn run(proto: &Proto, sizes: &[usize], condition: Option<u8>) -> Result<(Vec<usize>, Vec<f32>)> {
    run_counting(proto, sizes, condition.map(|condition| Data::Bytes(vec![condition].into())))
}

/// Exporters write torch's `x.squeeze(1)` with unknown sizes like this: a squeeze if the axis has size 1, otherwise a
/// copy.
fn squeeze_if_one() -> Proto {
    let squeezed = nodes("axes = Constant<value_ints = [1]>() r = Squeeze(x, axes)");
    let same = nodes("r = Identity(x)");
    conditional(vec![
        node("Shape", &["x"], &["s"], vec![]),
        node("Constant", &[], &["one"], vec![int("value_int", 1)]),
        node("Gather", &["s", "one"], &["n"], vec![]),
        node("Equal", &["n", "one"], &["is"], vec![]),
        node("If", &["is"], &["y"], branches((squeezed, &["r"]), (same, &["r"]))),
    ])
}

#[test]
fn a_condition_that_shapes_say_takes_its_branch() {
    let proto = squeeze_if_one();
    assert_eq!(run(&proto, &[2, 1, 2], None).unwrap(), (vec![2, 2], vec![0.0, 1.0, 2.0, 3.0]));
    // This branch is not taken.
    let four = vec![0.0, 1.0, 2.0, 3.0];
    assert_eq!(run(&proto, &[1, 2, 2], None).unwrap(), (vec![1, 2, 2], four));
    let nodes = kinds(&read(&proto).unwrap()).join(" ");
    assert_eq!(nodes, "Shape Constant Gather Equal Constant If");
}

#[test]
fn a_condition_that_is_given_must_be_known() {
    let then = (nodes("t = Transpose(x)"), &["t"][..]);
    let otherwise = (vec![], &["x"][..]);
    let proto = conditional(vec![node("If", &["c"], &["y"], branches(then, otherwise))]);
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().1, [0.0, 2.0, 1.0, 3.0]);
    assert_eq!(run(&proto, &[2, 2], Some(0)).unwrap().1, [0.0, 1.0, 2.0, 3.0]);
    let read = read(&proto).unwrap();
    let given = [(); 2].map(|()| Given { shape: Shape::default(), data: None });
    let refused = read.resolve(&given).unwrap_err().to_string();
    assert!(refused.starts_with("If \"y\": its cond depend on the elements of"), "{refused}");
}

#[test]
fn what_is_wrong_in_the_branch_that_is_taken_is_said() {
    let wrong = |name: &str| {
        let order = vec![ints("perm", &[0, 0])];
        vec![node("Transpose", &["x"], &[name], order), transpose(name, "r")]
    };
    let proto = |first: &str, other: &str| {
        let attributes = branches((wrong(first), &["r"]), (wrong(other), &["r"]));
        conditional(vec![node("If", &["c"], &["y"], attributes), transpose("y", "z")])
    };
    let refused = |condition| run(&proto("a", "b"), &[2, 2], Some(condition)).unwrap_err();
    assert!(refused(1).to_string().starts_with("Transpose \"y/then/a\": "), "{}", refused(1));
    assert!(refused(0).to_string().starts_with("Transpose \"y/else/b\": "), "{}", refused(0));
}

#[test]
fn branches_are_within_branches_and_functions() {
    let inner = |input: &str| {
        let then = (vec![transpose(input, "r")], &["r"][..]);
        let otherwise = (vec![node("Flatten", &[input], &["r"], vec![int("axis", 0)])], &["r"][..]);
        node("If", &["c"], &["q"], branches(then, otherwise))
    };
    let then = (vec![transpose("x", "t"), inner("t")], &["q"][..]);
    let otherwise = (vec![inner("x")], &["q"][..]);
    let outer = node("If", &["c"], &["y"], branches(then, otherwise));
    let proto = conditional(vec![outer.clone()]);
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().1, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run(&proto, &[2, 2], Some(0)).unwrap().0, [1, 4]);

    let function = super::super::proto::Function {
        name: "F".to_owned(),
        domain: "own".to_owned(),
        input: strings(&["x", "c"]),
        output: strings(&["y"]),
        node: vec![outer],
        opset_import: vec![opset("", 17)],
        ..Default::default()
    };
    let call = |input: &str, output: &str| Node {
        domain: "own".to_owned(),
        ..node("F", &[input, "c"], &[output], vec![])
    };
    let mut proto = conditional(vec![call("x", "m"), transpose("m", "n"), call("n", "z")]);
    proto.functions.push(function);
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().1, [0.0, 2.0, 1.0, 3.0]);
}

#[test]
fn a_branch_may_hold_tensors_and_give_several_outputs() {
    let order = Tensor { int64_data: vec![4], ..tensor("sizes", INT64, &[1]) };
    let mut then = graph("then_branch", nodes("r = Reshape(x, sizes)"), &["r", "x"]);
    then.g.as_mut().unwrap().initializer.push(order);
    let otherwise = graph("else_branch", nodes("r = Transpose(x)"), &["x", "r"]);
    let proto = conditional(vec![node("If", &["c"], &["y", "z"], vec![then, otherwise])]);
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().0, [4]);
    assert_eq!(run(&proto, &[2, 2], Some(0)).unwrap().1, [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn what_is_no_if_is_refused() {
    let good = || (nodes("r = Transpose(x)"), &["r"][..]);
    let both = || branches(good(), good());
    let taken = |attributes| refusal(&conditional(vec![node("If", &["c"], &["y"], attributes)]));
    let mut with_input = both();
    with_input[1].g.as_mut().unwrap().input.push(value("x", FLOAT));
    for (attributes, expected) in [
        (vec![], "If \"y\": attribute \"then_branch\" is missing"),
        (both()[..1].to_vec(), "If \"y\": attribute \"else_branch\" is missing"),
        (
            vec![attribute("then_branch", attribute_type::GRAPH)],
            "If \"y\": attribute \"then_branch\" holds no graph",
        ),
        (
            [both(), vec![int("axis", 0)]].concat(),
            "If \"y\": If of opset 17 has no attribute \"axis\"",
        ),
        (with_input, "If \"y\", else_branch: wrong number of inputs: it takes 1, but is given 0"),
        (
            branches(good(), (vec![], &[])),
            "If \"y\", else_branch: wrong number of outputs: it gives 0, expected 1",
        ),
        (
            branches(good(), (vec![], &["nothing"])),
            "If \"y\", else_branch: no node produces its output \"nothing\"",
        ),
        (
            branches((nodes("x = Transpose(x)"), &["x"]), good()),
            "Transpose \"y/then/x\": \"x\" is produced twice",
        ),
        (
            branches((nodes("r = Conv(x)"), &["r"]), good()),
            "Conv \"r\": not supported: Conv (1 node), which computes",
        ),
    ] {
        let refused = taken(attributes);
        assert!(refused.starts_with(expected), "{refused}");
    }
    let two = refusal(&conditional(vec![node("If", &["c", "x"], &["y"], both())]));
    assert_eq!(two, "If \"y\": it has 2 inputs, but takes one: cond");
    let mut leaks = conditional(vec![node("If", &["c"], &["y"], both()), transpose("r", "z")]);
    leaks.graph.as_mut().unwrap().input.retain(|input| input.name != "r");
    assert_eq!(refusal(&leaks), "Transpose \"z\": it reads \"r\", which no node produces");
    let number = conditional(vec![node("If", &["x"], &["y"], both())]);
    assert_eq!(
        run(&number, &[], None).unwrap_err().to_string(),
        "If \"y\": cond must be of type boolean, got f32"
    );
}

/// Their names begin with the name of the outer node.
#[test]
fn long_names_around_many_nodes_are_bounded() {
    let names: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
    let then = names.iter().map(|name| transpose("x", name)).collect();
    let mut proto =
        conditional(vec![node("If", &["c"], &["y"], branches((then, &["t0"]), (vec![], &["x"])))]);
    let mut named = |length: usize| {
        proto.graph.as_mut().unwrap().node[0].name = "n".repeat(length);
        proto.clone()
    };
    assert!(read(&named(1 << 10)).is_ok());
    let refused = refusal(&named(1 << 20));
    let expected = "the names of the nodes that others are within take over 64 MiB";
    assert!(refused.ends_with(expected), "{}", &refused[refused.len() - 200..]);
    let same = || (vec![], &["x"; 40][..]);
    let outputs: Vec<String> = (0..40).map(|number| format!("y{number}")).collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let mut proto = conditional(vec![node("If", &["c"], &outputs, branches(same(), same()))]);
    proto.graph.as_mut().unwrap().node[0].name = "n".repeat(1 << 20);
    assert!(refusal(&proto).ends_with(expected));
}

/// The decoder limits how deeply graphs may be nested.
#[test]
fn branches_that_are_too_deep_are_refused() {
    let nested = |depth: usize| {
        let mut inner = node("If", &["c"], &["r"], branches((vec![], &["x"]), (vec![], &["x"])));
        for level in 0..depth {
            let (name, given) = (format!("r{level}"), inner.output[0].clone());
            let then = (vec![inner], &[given.as_str()][..]);
            inner = node("If", &["c"], &[name.as_str()], branches(then, (vec![], &["x"])));
        }
        conditional(vec![inner])
    };
    assert_eq!(run(&nested(20), &[2], Some(1)).unwrap().1, [0.0, 1.0]);
    let refused = refusal(&nested(1000));
    assert!(refused.starts_with("not an ONNX model: "), "{refused}");
}
