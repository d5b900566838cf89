//! Loop.

use trundle_core::Shape;

use super::*;
use crate::{Data, Given};

/// A name and an element type.
pub(super) type TypedName<'a> = (&'a str, i32);

/// Returns the attribute `body`: a graph with these inputs and outputs.
pub(super) fn body(
    inputs: &[TypedName<'_>],
    node: Vec<Node>,
    outputs: &[TypedName<'_>],
) -> Attribute {
    let values = |all: &[TypedName<'_>]| -> Vec<ValueInfo> {
        all.iter().map(|(name, r#type)| value(name, *r#type)).collect()
    };
    let (input, output) = (values(inputs), values(outputs));
    let graph = Graph { node, input, output, ..Graph::default() };
    graph_attribute("body", graph)
}

/// Returns a list as a constant.
pub(super) fn list(name: &str, values: &[i64]) -> Node {
    node("Constant", &[], &[name], vec![ints("value_ints", values)])
}

pub(super) fn number(name: &str, value: i64) -> Node {
    node("Constant", &[], &[name], vec![int("value_int", value)])
}

/// The inputs are a float x and `others`; the output is the first one of the last node.
pub(super) fn looping(nodes: Vec<Node>, others: &[TypedName<'_>]) -> Proto {
    let mut proto = model(17, nodes, FLOAT);
    let graph = proto.graph.as_mut().unwrap();
    let others = others.iter().map(|(name, r#type)| value(name, *r#type));
    graph.input = std::iter::once(value("x", FLOAT)).chain(others).collect();
    graph.output.truncate(1);
    proto
}

/// Returns the sizes and elements of the first output. The input x has these sizes and the elements 0, 1, 2, ...; other
/// inputs are scalars with these bytes.
pub(super) fn run(
    proto: &Proto,
    sizes: &[usize],
    others: &[&[u8]],
) -> Result<(Vec<usize>, Vec<f32>)> {
    let others: Vec<Data> = others.iter().map(|bytes| Data::Bytes(bytes.to_vec().into())).collect();
    run_counting(proto, sizes, others)
}

pub(super) fn refused(proto: &Proto, sizes: &[usize], others: &[&[u8]]) -> String {
    run(proto, sizes, others).expect_err("this model is wrong").to_string()
}

const I: TypedName<'_> = ("i", INT64);
const GOES: TypedName<'_> = ("goes", BOOL);
const STILL: TypedName<'_> = ("still", BOOL);
const C: TypedName<'_> = ("c", FLOAT);
const D: TypedName<'_> = ("d", FLOAT);

/// Copies `goes` to `still`.
fn goes_on() -> Node {
    node("Identity", &["goes"], &["still"], vec![])
}

/// Collects the rows of x, last row first.
fn rows_backward() -> Vec<Node> {
    let within = nodes(
        "still = Identity(goes)  at = Sub(last, i)  row = Gather(x, at)
         rows = Unsqueeze(row, first)  d = Concat<axis = 0>(c, rows)",
    );
    vec![
        node("Shape", &["x"], &["sizes"], vec![int("end", 1)]),
        list("first", &[0]),
        number("one", 1),
        node("Squeeze", &["sizes"], &["n"], vec![]),
        node("Sub", &["n", "one"], &["last"], vec![]),
        node("Slice", &["x", "first", "first"], &["none"], vec![]),
        node("Loop", &["n", "", "none"], &["y"], vec![body(&[I, GOES, C], within, &[STILL, D])]),
    ]
}

#[test]
fn a_loop_puts_together_what_its_iterations_make() {
    let proto = looping(rows_backward(), &[]);
    let (sizes, numbers) = run(&proto, &[3, 2], &[]).unwrap();
    assert_eq!((sizes, numbers), (vec![3, 2], vec![4.0, 5.0, 2.0, 3.0, 0.0, 1.0]));
    // There is one iteration for each row. Here, there are none.
    assert_eq!(run(&proto, &[0, 2], &[]).unwrap(), (vec![0, 2], vec![]));
    assert_eq!(run(&proto, &[1000, 1], &[]).unwrap().1[..2], [999.0, 998.0]);
    // The body's constants are moved out.
    let nodes = read(&proto).unwrap();
    assert_eq!(kinds(&nodes).last(), Some(&"Loop"));
    assert_eq!(nodes.nodes.last().unwrap().bodies()[0].nodes.len(), 5);
    assert_eq!(nodes.all_nodes().len(), nodes.nodes.len() + 5);
}

#[test]
fn what_is_left_out_does_not_end_a_loop() {
    let once = |most: &str, goes: &str, still: Vec<Node>, others: &[TypedName<'_>]| {
        let turned = node("Transpose", &["c"], &["d"], vec![]);
        let within = body(&[I, GOES, C], [still, vec![turned]].concat(), &[STILL, D]);
        looping(vec![node("Loop", &[most, goes, "x"], &["y"], vec![within])], others)
    };
    let [m, go] = [("m", INT64), ("go", BOOL)];
    let three = 3i64.to_le_bytes();
    let turned = (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    // Only M is given, so the loop ignores the condition that the body returns.
    let stops = || {
        vec![
            number("zero", 0),
            node("Cast", &["zero"], &["still"], vec![int("to", i64::from(BOOL))]),
        ]
    };
    assert_eq!(run(&once("m", "", stops(), &[m]), &[2, 3], &[&three]).unwrap(), turned);
    assert_eq!(run(&once("m", "", vec![goes_on()], &[m]), &[2, 3], &[&three]).unwrap(), turned);
    // Only cond is given. The body stops after at most one iteration.
    assert_eq!(run(&once("", "go", stops(), &[go]), &[2, 3], &[&[1]]).unwrap(), turned);
    assert_eq!(run(&once("", "go", stops(), &[go]), &[2, 3], &[&[0]]).unwrap().0, [2, 3]);
    // Both M and cond are given.
    let both = once("m", "go", vec![goes_on()], &[m, go]);
    assert_eq!(run(&both, &[2, 3], &[&three, &[1]]).unwrap(), turned);
    assert_eq!(run(&both, &[2, 3], &[&three, &[0]]).unwrap().0, [2, 3]);
    assert_eq!(run(&both, &[2, 3], &[&(-1i64).to_le_bytes(), &[1]]).unwrap().0, [2, 3]);

    let neither = once("", "", vec![goes_on()], &[]);
    let expected = "Loop \"y\": it has neither M nor cond, so it would never end";
    assert_eq!(refused(&neither, &[2, 3], &[]), expected);
}

/// `while x.size(0) > 1`: concatenates the halves side by side.
#[test]
fn a_condition_is_reckoned_from_the_shapes_of_what_is_carried() {
    let is_long = |of: &str, is: &str| {
        let [size, single] = [format!("{is}_size"), format!("{is}_single")];
        vec![
            node("Shape", &[of], &[&size], vec![int("end", 1)]),
            node("Squeeze", &[&size], &[&single], vec![]),
            node("Greater", &[&single, "one"], &[is], vec![]),
        ]
    };
    let halves = nodes("a, b = Split<axis = 0>(c) d = Concat<axis = 1>(a, b)");
    let within = body(&[I, GOES, C], [halves, is_long("d", "still")].concat(), &[STILL, D]);
    let repeated = node("Loop", &["", "is", "x"], &["y"], vec![within]);
    let nodes = [vec![number("one", 1)], is_long("x", "is"), vec![repeated]].concat();
    let proto = looping(nodes, &[]);
    let expected = vec![0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0];
    assert_eq!(run(&proto, &[8, 1], &[]).unwrap(), (vec![1, 8], expected));
    assert_eq!(run(&proto, &[1, 8], &[]).unwrap().0, [1, 8]);
    let odd = refused(&proto, &[6, 1], &[]);
    let expected = "Split \"y/body/a\" in iteration 1: size 3 cannot be split into 2 equal parts";
    assert_eq!(odd, expected);
}

/// Stacks row `i` of x.
fn stacking(declared: Option<TensorShape>) -> Proto {
    let within = nodes("still = Identity(goes) row = Gather(x, i)");
    let mut within = body(&[I, GOES], within, &[STILL, ("row", FLOAT)]);
    within.g.as_mut().unwrap().output[1] = shaped("row", FLOAT, declared);
    looping(vec![node("Loop", &["m"], &["y"], vec![within])], &[("m", INT64)])
}

fn fixed(sizes: &[i64]) -> TensorShape {
    let size =
        |size: &i64| super::super::proto::Dimension { dim_value: Some(*size), dim_param: None };
    TensorShape { dim: sizes.iter().map(size).collect() }
}

/// The body may read the output of a node after the loop in the file.
#[test]
fn a_body_reads_what_is_around_it() {
    let within = nodes("still = Identity(goes) d = Concat<axis = 0>(c, turned)");
    let within = body(&[I, GOES, C], within, &[STILL, D]);
    let nodes = vec![
        number("m", 1),
        node("Loop", &["m", "", "x"], &["y"], vec![within]),
        node("Transpose", &["x"], &["turned"], vec![]),
    ];
    let mut proto = looping(nodes, &[]);
    proto.graph.as_mut().unwrap().output = vec![value("y", FLOAT)];
    let expected = vec![0.0, 1.0, 2.0, 3.0, 0.0, 2.0, 1.0, 3.0];
    assert_eq!(run(&proto, &[2, 2], &[]).unwrap(), (vec![4, 2], expected));
}

/// Some exporters state a list.
#[test]
fn the_number_of_an_iteration_has_the_rank_that_is_stated() {
    let mut proto = stacking(None);
    let body = proto.graph.as_mut().unwrap().node[0].attribute[0].g.as_mut().unwrap();
    body.input[0] = shaped("i", INT64, Some(fixed(&[1])));
    let two = 2i64.to_le_bytes();
    assert_eq!(run(&proto, &[3, 2], &[&two]).unwrap().0, [2, 1, 2]);
}

#[test]
fn what_iterations_give_is_stacked() {
    let (two, none) = (2i64.to_le_bytes(), 0i64.to_le_bytes());
    let two_rows = (vec![2, 2], vec![0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run(&stacking(None), &[3, 2], &[&two]).unwrap(), two_rows);
    let one = 1i64.to_le_bytes();
    assert_eq!(run(&stacking(None), &[3, 2], &[&one]).unwrap(), (vec![1, 2], vec![0.0, 1.0]));
    let four = 4i64.to_le_bytes();
    let beyond = refused(&stacking(None), &[3, 2], &[&four]);
    assert!(beyond.starts_with("Gather \"y/body/row\" in iteration 3: "), "{beyond}");

    let shapes = [Shape::new([3, 2]).unwrap(), Shape::default()];
    let (x, m) = (Data::Bytes(vec![0; 24].into()), Data::Bytes(two.to_vec().into()));
    let given = shapes.into_iter().zip([&x, &m]);
    let given: Vec<_> = given.map(|(shape, data)| Given { shape, data: Some(data) }).collect();
    let resolved = read(&stacking(None)).unwrap().resolve(&given).unwrap();
    assert_eq!(resolved.name(resolved.outputs()[0]), "y");

    // Without iterations, the result has the stated shape, or the shape that a first iteration would give.
    assert_eq!(run(&stacking(None), &[3, 2], &[&none]).unwrap(), (vec![0, 2], vec![]));
    assert_eq!(run(&stacking(Some(fixed(&[2]))), &[0, 2], &[&none]).unwrap().0, [0, 2]);
    let unknown = refused(&stacking(None), &[0, 2], &[&none]);
    let expected = "Gather \"y/body/row\" in iteration 0: ";
    assert!(unknown.contains("it has no iteration") && unknown.contains(expected), "{unknown}");
}

#[test]
fn what_is_stacked_must_be_alike() {
    // Sizes and type must be as in the first iteration.
    let taken =
        nodes("still = Identity(goes)  to = Unsqueeze(i, first)  rows = Slice(x, first, to)");
    let taken = body(&[I, GOES], taken, &[STILL, ("rows", FLOAT)]);
    let nodes =
        vec![list("first", &[0]), number("m", 2), node("Loop", &["m"], &["y"], vec![taken])];
    assert_eq!(
        refused(&looping(nodes, &[]), &[3], &[]),
        "Loop \"y\": stacked output 0 is f32 [0] in iteration 0, but f32 [1] in iteration 1"
    );
    // Carried tensors may change their sizes, but not their type.
    let same = |of: TypedName<'_>| {
        let within = body(&[I, GOES, ("c", of.1)], vec![goes_on()], &[STILL, of]);
        refused(
            &looping(
                vec![number("m", 2), node("Loop", &["m", "", "x"], &["y"], vec![within])],
                &[],
            ),
            &[3],
            &[],
        )
    };
    let expected = "Loop \"y\": carried value 0 is of type f32, but of i64 after iteration 0";
    let carried = body(&[I, GOES, C], vec![goes_on()], &[STILL, I]);
    let nodes = vec![number("m", 2), node("Loop", &["m", "", "x"], &["y"], vec![carried])];
    assert_eq!(refused(&looping(nodes, &[]), &[3], &[]), expected);
    let expected = "Loop \"y\": input 2 of its body must be of type i64, got f32";
    assert_eq!(same(("c", INT64)), expected);
}

/// A loop in a branch in a loop, all in a function.
#[test]
fn loops_are_within_loops_branches_and_functions() {
    // Appends the elements of row i one by one.
    let inner = nodes(
        "row = Gather(x, i)  element = Gather(row, j)
         elements = Unsqueeze(element, first)  f = Concat<axis = 0>(e, elements)",
    );
    let (j, within) = (("j", INT64), ("within", BOOL));
    let inner = body(&[j, within, ("e", FLOAT)], inner, &[within, ("f", FLOAT)]);
    let many = vec![
        node("Add", &["i", "one"], &["m"], vec![]),
        node("Loop", &["m", "", "c"], &["g"], vec![inner]),
    ];
    let graph = |name: &str, node: Vec<Node>, given: &str| {
        let output = vec![value(given, FLOAT)];
        graph_attribute(name, Graph { node, output, ..Graph::default() })
    };
    let branches = vec![graph("then_branch", many, "g"), graph("else_branch", vec![], "c")];
    let outer = vec![
        goes_on(),
        node("Equal", &["i", "one"], &["is"], vec![]),
        node("Not", &["is"], &["is_not"], vec![]),
        node("If", &["is_not"], &["d"], branches),
    ];
    let outer = body(&[I, GOES, C], outer, &[STILL, D]);
    let nodes = vec![
        list("first", &[0]),
        number("one", 1),
        number("three", 3),
        node("Reshape", &["x", "flat"], &["row_major"], vec![]),
        node("Slice", &["row_major", "first", "first"], &["none"], vec![]),
        node("Loop", &["three", "", "none"], &["y"], vec![outer]),
    ];
    let expected = (vec![4], vec![0.0, 6.0, 7.0, 8.0]);
    let flat = list("flat", &[-1]);
    let proto = looping([vec![flat.clone()], nodes.clone()].concat(), &[]);
    assert_eq!(run(&proto, &[3, 3], &[]).unwrap(), expected);

    let function = super::super::proto::Function {
        name: "F".to_owned(),
        domain: "own".to_owned(),
        input: strings(&["x"]),
        output: strings(&["y"]),
        node: [vec![flat], nodes].concat(),
        opset_import: vec![opset("", 17)],
        ..Default::default()
    };
    let call = Node { domain: "own".to_owned(), ..node("F", &["x"], &["z"], vec![]) };
    let mut proto = looping(vec![call], &[]);
    proto.functions.push(function);
    assert_eq!(run(&proto, &[3, 3], &[]).unwrap(), expected);
}

#[test]
fn what_computes_in_a_body_is_counted() {
    let within = |operator: &str| {
        let nodes = vec![goes_on(), node(operator, &["c"], &["d"], vec![])];
        let within = body(&[I, GOES, C], nodes, &[STILL, D]);
        looping(
            vec![
                number("m", 2),
                node("Loop", &["m", "", "x"], &["l"], vec![within]),
                node("Conv", &["l"], &["y"], vec![]),
            ],
            &[],
        )
    };
    let refused_with = refusal(&within("Conv"));
    assert!(
        refused_with.contains("not supported: Conv (2 nodes), which computes"),
        "{refused_with}"
    );
    let mut proto = within("Neg");
    let graph = proto.graph.as_mut().unwrap();
    graph.node.pop();
    graph.output = vec![value("l", FLOAT)];
    assert_eq!(
        refused(&proto, &[2], &[]),
        "Neg \"l/body/d\" in iteration 0: not supported: Neg (1 node), which computes: arithmetic is supported only on shapes and constants"
    );
}

#[test]
fn what_is_no_loop_is_refused() {
    let of = |inputs: &[&str], outputs: &[&str], attributes: Vec<Attribute>| {
        refusal(&looping(vec![number("m", 2), node("Loop", inputs, outputs, attributes)], &[]))
    };
    let good = || body(&[I, GOES, C], vec![goes_on()], &[STILL, C]);
    let carries = ["m", "", "x"];
    assert_eq!(of(&carries, &["y"], vec![]), "Loop \"y\": attribute \"body\" is missing");
    assert_eq!(
        of(&carries, &["y"], vec![good(), int("axis", 0)]),
        "Loop \"y\": Loop of opset 17 has no attribute \"axis\""
    );
    assert_eq!(
        of(&["m", "", "x", "x"], &["y", "z"], vec![good()]),
        "Loop \"y\", body: wrong number of inputs: it takes 3, but is given 4"
    );
    assert_eq!(
        of(&carries, &["y", "z"], vec![good()]),
        "Loop \"y\", body: wrong number of outputs: it gives 2, expected 3"
    );
    let nothing = body(&[I, GOES, C], vec![], &[STILL, C]);
    assert_eq!(
        of(&carries, &["y"], vec![nothing]),
        "Loop \"y\", body: no node produces its output \"still\""
    );
    let twice = body(&[I, GOES, ("x", FLOAT)], vec![goes_on()], &[STILL, ("x", FLOAT)]);
    assert_eq!(of(&carries, &["y"], vec![twice]), "Loop \"y\", body: \"x\" is produced twice");
    // Inputs of a body are not visible outside, nor outputs of the loop inside.
    let leaks = vec![
        number("m", 2),
        node("Loop", &carries, &["y"], vec![good()]),
        node("Transpose", &["c"], &["z"], vec![]),
    ];
    let mut leaks = looping(leaks, &[]);
    leaks.graph.as_mut().unwrap().input.truncate(1);
    assert_eq!(refusal(&leaks), "Transpose \"z\": it reads \"c\", which no node produces");
    let own = body(
        &[I, GOES, C],
        nodes("still = Identity(goes) d = Concat<axis = 0>(c, y)"),
        &[STILL, D],
    );
    assert_eq!(
        of(&carries, &["y"], vec![own]),
        "Loop \"y\": it is part of a cycle: \"y\" reads \"y\""
    );
    let mut sequence = good();
    let info = &mut sequence.g.as_mut().unwrap().input[2];
    info.r#type = Some(Type { sequence: Some(vec![].into()), ..Type::default() });
    assert_eq!(
        of(&carries, &["y"], vec![sequence]),
        "Loop \"y\", body: input \"c\" is of sequence type, only tensors are supported"
    );
    let missing =
        looping(vec![number("m", 2), node("Loop", &["m", "", ""], &["y"], vec![good()])], &[]);
    assert_eq!(refused(&missing, &[2], &[]), "Loop \"y\": input 2 is missing");
    let floats = looping(vec![node("Loop", &["x", "", "x"], &["y"], vec![good()])], &[]);
    assert_eq!(refused(&floats, &[], &[]), "Loop \"y\": M may not be of type f32, only i64");
    let number_of =
        looping(vec![number("m", 2), node("Loop", &["", "m", "x"], &["y"], vec![good()])], &[]);
    assert_eq!(refused(&number_of, &[], &[]), "Loop \"y\": cond must be of type boolean, got i64");
}

/// The elements of x have no influence here.
#[test]
fn a_number_that_elements_say_must_be_given() {
    let proto = stacking(None);
    let read = read(&proto).unwrap();
    let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
    let given = [shape(&[3, 2]), shape(&[])].map(|shape| Given { shape, data: None });
    let unknown = read.resolve(&given).unwrap_err().to_string();
    assert_eq!(
        unknown,
        "Loop \"y\": its M depend on the elements of input \"m\", which are not given"
    );
    let (x, m) = (Data::Bytes(vec![0; 24].into()), Data::Bytes(2i64.to_le_bytes().to_vec().into()));
    let given = [
        Given { shape: shape(&[3, 2]), data: Some(&x) },
        Given { shape: shape(&[]), data: Some(&m) },
    ];
    assert_eq!(read.deciding_inputs(&given).unwrap(), [1]);
}

#[test]
fn loops_without_an_end_have_one() {
    let ends = |most: Option<i64>, cond: bool| {
        let within = body(&[I, GOES, C], vec![goes_on()], &[STILL, C]);
        let most = most.map(|most| number("m", most));
        let truth = vec![
            number("one", 1),
            node("Cast", &["one"], &["true"], vec![int("to", i64::from(BOOL))]),
        ];
        let inputs = [most.as_ref().map_or("", |_| "m"), if cond { "true" } else { "" }, "x"];
        let repeated = node("Loop", &inputs, &["y"], vec![within]);
        looping(most.into_iter().chain(truth).chain([repeated]).collect(), &[])
    };
    let limit = "come to more than 1048576 operators, inputs and outputs, which is the limit";
    assert_eq!(
        refused(&ends(Some(1 << 60), false), &[2], &[]),
        format!("Loop \"y\": 1152921504606846976 iterations, and those up to here, {limit}")
    );
    for most in [None, Some(i64::MAX)] {
        let expected = format!("Loop \"y\": the iterations up to here {limit}");
        assert_eq!(refused(&ends(most, true), &[2], &[]), expected);
    }
    assert_eq!(run(&ends(Some(100), true), &[2], &[]).unwrap().1, [0.0, 1.0]);
}

/// Ten iterations each.
#[test]
fn loops_that_multiply_are_bounded() {
    let nested = |depth: usize| {
        let mut nodes = vec![node("Identity", &["x"], &["y0"], vec![])];
        for level in 0..depth {
            let [i, goes] = ["i", "goes"].map(|name| format!("{name}{level}"));
            let [given, gives] = [level, level + 1].map(|level| format!("y{level}"));
            let within =
                body(&[(&i, INT64), (&goes, BOOL)], nodes, &[(&goes, BOOL), (&given, FLOAT)]);
            nodes = vec![node("Loop", &["m"], &[&gives], vec![within])];
        }
        looping([vec![number("m", 10)], nodes].concat(), &[])
    };
    assert_eq!(run(&nested(3), &[1], &[]).unwrap().0, [10, 10, 10, 1]);
    let refused_at = refused(&nested(12), &[1], &[]);
    assert!(refused_at.ends_with("which is the limit"), "{refused_at}");
}

#[test]
fn a_body_that_doubles_is_bounded() {
    let doubles = |times: i64, twice: Node| {
        let within = body(&[I, GOES, C], vec![goes_on(), twice], &[STILL, D]);
        looping(vec![number("m", times), node("Loop", &["m", "", "x"], &["y"], vec![within])], &[])
    };
    let twice = || node("Concat", &["c", "c"], &["d"], vec![int("axis", 0)]);
    assert_eq!(run(&doubles(3, twice()), &[1], &[]).unwrap().0, [8]);
    // This is only planned, because the output is too large to be moved.
    let shape = Shape::new([1]).unwrap();
    let given = [Given { shape, data: None }];
    let large = read(&doubles(50, twice())).unwrap().resolve(&given).unwrap();
    assert_eq!(large.shape(large.outputs()[0]).sizes(), [1 << 50]);
    let too_large = refused(&doubles(100, twice()), &[1], &[]);
    assert!(too_large.contains("is too large to be addressed"), "{too_large}");
    assert!(too_large.starts_with("Concat \"y/body/d\" in iteration "), "{too_large}");
}

/// Every iteration reads the same tensor of indices.
#[test]
fn indices_that_are_read_again_and_again_are_bounded() {
    let within = nodes("taken = Gather(x, indices)");
    let within = body(&[I, GOES], within, &[GOES, ("taken", FLOAT)]);
    let mut proto =
        looping(vec![number("m", 20_000), node("Loop", &["m"], &["y"], vec![within])], &[]);
    let indices = Tensor { int64_data: vec![0; 1 << 14], ..tensor("indices", INT64, &[1 << 14]) };
    proto.graph.as_mut().unwrap().initializer.push(indices);
    let refused = refused(&proto, &[2], &[]);
    assert!(
        refused.starts_with("Gather \"y/body/taken\" in iteration 4095: the indices"),
        "{refused}"
    );
}

#[test]
fn what_was_read_is_written_out() {
    let text = read(&looping(rows_backward(), &[])).unwrap().to_string();
    let expected = "\n  y = Loop(n, -, none)\n    given y/0, y/1, y/2:\n      y/body/still = Identity(y/1)\n      \
                    y/body/at = Sub(last, y/0)\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\n      gives y/body/still, y/body/d\n  output y: y"), "{text}");
}
