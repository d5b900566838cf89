//! If: only the branch that is taken matters.

use trundle_core::Shape;

use super::*;
use crate::{Data, Given};

/// A model `(x, bool c) => (y)`. In its nodes, THEN and ELSE stand for branches that transpose and copy x.
fn conditional(nodes: &str) -> Proto {
    let nodes = nodes.replace("THEN", "then_branch = () => (r) { r = Transpose(x) }");
    let nodes = nodes.replace("ELSE", "else_branch = () => (x) { }");
    whole(&format!("(x, bool c) => (y) {{ {nodes} }}"))
}

/// Runs a model on an `x` with the elements 0, 1, 2, ... If the condition is an input, it is `condition`.
fn run(proto: &Proto, sizes: &[usize], condition: Option<u8>) -> Result<(Vec<usize>, Vec<f32>)> {
    run_counting(proto, sizes, condition.map(|condition| Data::Bytes(vec![condition].into())))
}

/// Exporters write torch's `x.squeeze(1)` with unknown sizes like this: a squeeze if the axis has size 1, otherwise a
/// copy.
#[test]
fn a_condition_computed_from_shapes_selects_a_branch() {
    let proto = whole(
        "(x) => (y) {
            s = Shape(x)  one = Constant<value_int = 1>()  n = Gather(s, one)  is = Equal(n, one)
            y = If<
                then_branch = () => (r) { axes = Constant<value_ints = [1]>() r = Squeeze(x, axes) },
                else_branch = () => (r) { r = Identity(x) }
            >(is)
        }",
    );
    assert_eq!(run(&proto, &[2, 1, 2], None).unwrap(), (vec![2, 2], vec![0.0, 1.0, 2.0, 3.0]));
    // This branch is not taken.
    let four = vec![0.0, 1.0, 2.0, 3.0];
    assert_eq!(run(&proto, &[1, 2, 2], None).unwrap(), (vec![1, 2, 2], four));
    let nodes = kinds(&read(&proto).unwrap()).join(" ");
    assert_eq!(nodes, "Shape Constant Gather Equal Constant If");
}

#[test]
fn a_condition_from_an_input_needs_its_elements() {
    let proto = conditional("y = If<THEN, ELSE>(c)");
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().1, [0.0, 2.0, 1.0, 3.0]);
    assert_eq!(run(&proto, &[2, 2], Some(0)).unwrap().1, [0.0, 1.0, 2.0, 3.0]);
    let read = read(&proto).unwrap();
    let given = [(); 2].map(|()| Given { shape: Shape::default(), data: None });
    let refused = read.resolve(&given).unwrap_err().to_string();
    assert!(refused.starts_with("If \"y\": its cond depend on the elements of"), "{refused}");
}

#[test]
fn errors_in_the_taken_branch_are_reported() {
    let proto = conditional(
        "z = If<
            then_branch = () => (r) { a = Transpose<perm = [0, 0]>(x) r = Transpose(a) },
            else_branch = () => (r) { b = Transpose<perm = [0, 0]>(x) r = Transpose(b) }
        >(c)
        y = Transpose(z)",
    );
    let refused = |condition| run(&proto, &[2, 2], Some(condition)).unwrap_err();
    assert!(refused(1).to_string().starts_with("Transpose \"z/then/a\": "), "{}", refused(1));
    assert!(refused(0).to_string().starts_with("Transpose \"z/else/b\": "), "{}", refused(0));
}

#[test]
fn branches_nest_in_branches_and_functions() {
    let inner = |input: &str| {
        let inner = "q = If<
            then_branch = () => (r) { r = Transpose(IN) },
            else_branch = () => (r) { r = Flatten<axis = 0>(IN) }
        >(c)";
        inner.replace("IN", input)
    };
    let (turned, same) = (inner("t"), inner("x"));
    let outer = format!(
        "y = If<
            then_branch = () => (q) {{ t = Transpose(x) {turned} }},
            else_branch = () => (q) {{ {same} }}
        >(c)"
    );
    let proto = conditional(&outer);
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().1, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run(&proto, &[2, 2], Some(0)).unwrap().0, [1, 4]);
    // The same within a function that is called twice, with a transposition in between.
    let proto = whole(&format!(
        "(x, bool c) => (z) {{ m = own.F(x, c) n = Transpose(m) z = own.F(n, c) }}
        F(x, c) => (y) {{ {outer} }}"
    ));
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().1, [0.0, 2.0, 1.0, 3.0]);
}

#[test]
fn a_branch_may_have_initializers_and_several_outputs() {
    let mut proto = conditional(
        "y, z = If<
            then_branch = () => (r, x) { r = Reshape(x, sizes) },
            else_branch = () => (x, r) { r = Transpose(x) }
        >(c)",
    );
    let order = Tensor { int64_data: vec![4], ..tensor("sizes", INT64, &[1]) };
    let then = &mut proto.graph.as_mut().unwrap().node[0].attribute[0];
    then.g.as_mut().unwrap().initializer.push(order);
    assert_eq!(run(&proto, &[2, 2], Some(1)).unwrap().0, [4]);
    assert_eq!(run(&proto, &[2, 2], Some(0)).unwrap().1, [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn invalid_if_nodes_are_refused() {
    for (nodes, expected) in [
        ("y = If(c)", "If \"y\": attribute \"then_branch\" is missing"),
        ("y = If<THEN>(c)", "If \"y\": attribute \"else_branch\" is missing"),
        ("y = If<THEN, ELSE, axis = 0>(c)", "If \"y\": If of opset 17 has no attribute \"axis\""),
        (
            "y = If<THEN, else_branch = (x) => (x) { }>(c)",
            "If \"y\", else_branch: wrong number of inputs: it takes 1, but is given 0",
        ),
        (
            "y = If<THEN, else_branch = () => () { }>(c)",
            "If \"y\", else_branch: wrong number of outputs: it gives 0, expected 1",
        ),
        (
            "y = If<THEN, else_branch = () => (nothing) { }>(c)",
            "If \"y\", else_branch: no node produces its output \"nothing\"",
        ),
        (
            "y = If<then_branch = () => (x) { x = Transpose(x) }, ELSE>(c)",
            "Transpose \"y/then/x\": \"x\" is produced twice",
        ),
        (
            "y = If<then_branch = () => (r) { r = Conv(x) }, ELSE>(c)",
            "Conv \"r\": not supported: Conv (1 node), which computes",
        ),
        ("y = If<THEN, ELSE>(c, x)", "If \"y\": it has 2 inputs, but takes one: cond"),
        (
            "y = If<THEN, ELSE>(c) z = Transpose(r)",
            "Transpose \"z\": it reads \"r\", which no node produces",
        ),
    ] {
        let refused = refusal(&conditional(nodes));
        assert!(refused.starts_with(expected), "{refused}");
    }
    let mut hollow = conditional("y = If<THEN, ELSE>(c)");
    hollow.graph.as_mut().unwrap().node[0].attribute[0].g = None;
    assert_eq!(refusal(&hollow), "If \"y\": attribute \"then_branch\" holds no graph");
    let number = conditional("y = If<THEN, ELSE>(x)");
    let refused = run(&number, &[], Some(0)).unwrap_err().to_string();
    assert_eq!(refused, "If \"y\": cond must be of type boolean, got f32");
}

/// Names of nested nodes begin with the name of the outer node.
#[test]
fn the_total_length_of_nested_names_is_bounded() {
    let named = |nodes: &str, length: usize| {
        let mut proto = conditional(nodes);
        proto.graph.as_mut().unwrap().node[0].name = "n".repeat(length);
        proto
    };
    let inner: String = (0..100).map(|number| format!("t{number} = Transpose(x) ")).collect();
    let many = format!("y = If<then_branch = () => (t0) {{ {inner} }}, ELSE>(c)");
    assert!(read(&named(&many, 1 << 10)).is_ok());
    let refused = refusal(&named(&many, 1 << 20));
    let expected = "the names of the nodes that others are within take over 64 MiB";
    assert!(refused.ends_with(expected), "{}", &refused[refused.len() - 200..]);
    let (same, outputs) = (["x"; 40].join(", "), (0..40).map(|number| format!("y{number}")));
    let outputs = outputs.collect::<Vec<_>>().join(", ");
    let branches = ["then", "else"].map(|name| format!("{name}_branch = () => ({same}) {{ }}"));
    let wide = format!("{outputs} = If<{}>(c) y = Identity(y0)", branches.join(", "));
    assert!(refusal(&named(&wide, 1 << 20)).ends_with(expected));
}

/// The decoder limits how deeply graphs may be nested.
#[test]
fn branches_that_are_too_deep_are_refused() {
    let nested = |depth: usize| {
        let empty = "() => (x) { }";
        let mut nodes = format!("y0 = If<then_branch = {empty}, else_branch = {empty}>(c)");
        for level in 0..depth {
            let then = format!("then_branch = () => (y{level}) {{ {nodes} }}");
            nodes = format!("y{} = If<{then}, else_branch = {empty}>(c)", level + 1);
        }
        conditional(&format!("{nodes} y = Identity(y{depth})"))
    };
    assert_eq!(run(&nested(20), &[2], Some(1)).unwrap().1, [0.0, 1.0]);
    // Without optimization, the decoder needs more stack than the thread of a test has.
    let read = move || refusal(&nested(1000));
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(read).unwrap();
    let refused = thread.join().unwrap();
    assert!(refused.starts_with("not an ONNX model: "), "{refused}");
}
