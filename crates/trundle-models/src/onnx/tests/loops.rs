//! Loop.

use trundle_core::Shape;

use super::*;
use crate::{Data, Given};

/// Returns the sizes and elements of the first output. The input x has these sizes and the elements 0, 1, 2, ...; the
/// other inputs are scalars with these bytes.
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

/// A node for a body: passes the condition on, so the body does not end the loop.
const CONTINUES: &str = "still = Identity(goes)";

/// A model whose loop carries x, called c in its body and d after it. Its first inputs are `ends`, and the other inputs
/// of the model are `others`.
fn carrying(others: &str, ends: &str, body: &str) -> Proto {
    whole(&format!(
        "(x{others}) => (y) {{
            two = Constant<value_int = 2>()
            y = Loop<body = (int64 i, bool goes, c) => (bool still, d) {{ {body} }}>({ends}, x)
        }}"
    ))
}

/// Collects the rows of x, last row first.
const ROWS_BACKWARD: &str = "(x) => (y) {
    sizes = Shape<end = 1>(x)  first = Constant<value_ints = [0]>()
    one = Constant<value_int = 1>()  n = Squeeze(sizes)  last = Sub(n, one)
    none = Slice(x, first, first)
    y = Loop<body = (int64 i, bool goes, c) => (bool still, d) {
        still = Identity(goes)  at = Sub(last, i)  row = Gather(x, at)
        rows = Unsqueeze(row, first)  d = Concat<axis = 0>(c, rows)
    }>(n, , none)
}";

#[test]
fn iterations_of_a_loop_build_up_a_tensor() {
    let proto = whole(ROWS_BACKWARD);
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
fn an_omitted_m_or_cond_does_not_end_a_loop() {
    let turns = |others: &str, ends: &str, still: &str| {
        carrying(others, ends, &format!("{still} d = Transpose(c)"))
    };
    let three = 3i64.to_le_bytes();
    let turned = (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let stops = "zero = Constant<value_int = 0>() still = Cast<to = 9>(zero)";
    let (m, go, both) = (", int64 m", ", bool go", ", int64 m, bool go");
    // Only M is given, so the loop ignores the condition that the body returns.
    assert_eq!(run(&turns(m, "m, ", stops), &[2, 3], &[&three]).unwrap(), turned);
    assert_eq!(run(&turns(m, "m, ", CONTINUES), &[2, 3], &[&three]).unwrap(), turned);
    // Only cond is given. The body stops after at most one iteration.
    assert_eq!(run(&turns(go, ", go", stops), &[2, 3], &[&[1]]).unwrap(), turned);
    assert_eq!(run(&turns(go, ", go", stops), &[2, 3], &[&[0]]).unwrap().0, [2, 3]);
    // Both M and cond are given.
    let both = turns(both, "m, go", CONTINUES);
    assert_eq!(run(&both, &[2, 3], &[&three, &[1]]).unwrap(), turned);
    assert_eq!(run(&both, &[2, 3], &[&three, &[0]]).unwrap().0, [2, 3]);
    assert_eq!(run(&both, &[2, 3], &[&(-1i64).to_le_bytes(), &[1]]).unwrap().0, [2, 3]);
    let expected = "Loop \"y\": it has neither M nor cond, so it would never end";
    assert_eq!(refused(&turns("", ", ", CONTINUES), &[2, 3], &[]), expected);
}

/// `while x.size(0) > 1`: concatenates the halves side by side.
#[test]
fn a_condition_is_computed_from_carried_shapes() {
    let proto = whole(
        "(x) => (y) {
            one = Constant<value_int = 1>()
            rows = Shape<end = 1>(x)  row = Squeeze(rows)  is = Greater(row, one)
            y = Loop<body = (int64 i, bool goes, c) => (bool still, d) {
                a, b = Split<axis = 0>(c)  d = Concat<axis = 1>(a, b)
                left = Shape<end = 1>(d)  number = Squeeze(left)  still = Greater(number, one)
            }>(, is, x)
        }",
    );
    let expected = vec![0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0];
    assert_eq!(run(&proto, &[8, 1], &[]).unwrap(), (vec![1, 8], expected));
    assert_eq!(run(&proto, &[1, 8], &[]).unwrap().0, [1, 8]);
    let odd = refused(&proto, &[6, 1], &[]);
    let expected = "Split \"y/body/a\" in iteration 1: size 3 cannot be split into 2 equal parts";
    assert_eq!(odd, expected);
}

/// Stacks row `i` of x. The body declares `i` and `row` as given here.
fn stacking(number: &str, row: &str) -> Proto {
    whole(&format!(
        "(x, int64 m) => (y) {{
            y = Loop<body = ({number}, bool goes) => (bool still, {row}) {{
                still = Identity(goes)  row = Gather(x, i)
            }}>(m)
        }}"
    ))
}

/// The body may read the output of a node after the loop in the file.
#[test]
fn a_body_reads_values_of_the_outer_graph() {
    let proto = whole(
        "(x) => (y) {
            m = Constant<value_int = 1>()
            y = Loop<body = (int64 i, bool goes, c) => (bool still, d) {
                still = Identity(goes)  d = Concat<axis = 0>(c, turned)
            }>(m, , x)
            turned = Transpose(x)
        }",
    );
    let expected = vec![0.0, 1.0, 2.0, 3.0, 0.0, 2.0, 1.0, 3.0];
    assert_eq!(run(&proto, &[2, 2], &[]).unwrap(), (vec![4, 2], expected));
}

/// Some exporters declare the iteration number as a list.
#[test]
fn the_iteration_number_has_the_stated_rank() {
    let two = 2i64.to_le_bytes();
    assert_eq!(run(&stacking("int64[1] i", "row"), &[3, 2], &[&two]).unwrap().0, [2, 1, 2]);
}

#[test]
fn outputs_of_iterations_are_stacked() {
    let [none, one, two, four] = [0i64, 1, 2, 4].map(i64::to_le_bytes);
    let proto = stacking("int64 i", "row");
    let two_rows = (vec![2, 2], vec![0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run(&proto, &[3, 2], &[&two]).unwrap(), two_rows);
    assert_eq!(run(&proto, &[3, 2], &[&one]).unwrap(), (vec![1, 2], vec![0.0, 1.0]));
    let beyond = refused(&proto, &[3, 2], &[&four]);
    assert!(beyond.starts_with("Gather \"y/body/row\" in iteration 3: "), "{beyond}");
    // The stacked tensor has the name of the output.
    let shapes = [Shape::new([3, 2]).unwrap(), Shape::default()];
    let (x, m) = (Data::Bytes(vec![0; 24].into()), Data::Bytes(two.to_vec().into()));
    let given = shapes.into_iter().zip([&x, &m]);
    let given: Vec<_> = given.map(|(shape, data)| Given { shape, data: Some(data) }).collect();
    let resolved = read(&proto).unwrap().resolve(&given).unwrap();
    assert_eq!(resolved.name(resolved.outputs()[0]), "y");
    // Without iterations, the result has the stated shape, or the shape that a first iteration would give.
    assert_eq!(run(&proto, &[3, 2], &[&none]).unwrap(), (vec![0, 2], vec![]));
    let declared = stacking("int64 i", "float[2] row");
    assert_eq!(run(&declared, &[0, 2], &[&none]).unwrap().0, [0, 2]);
    let unknown = refused(&proto, &[0, 2], &[&none]);
    let expected = "Gather \"y/body/row\" in iteration 0: ";
    assert!(unknown.contains("it has no iteration") && unknown.contains(expected), "{unknown}");
}

#[test]
fn stacked_shapes_and_carried_types_must_not_change() {
    // Sizes and type must be as in the first iteration.
    let taken = whole(
        "(x) => (y) {
            first = Constant<value_ints = [0]>()  m = Constant<value_int = 2>()
            y = Loop<body = (int64 i, bool goes) => (bool still, rows) {
                still = Identity(goes)  to = Unsqueeze(i, first)  rows = Slice(x, first, to)
            }>(m)
        }",
    );
    assert_eq!(
        refused(&taken, &[3], &[]),
        "Loop \"y\": stacked output 0 is f32 [0] in iteration 0, but f32 [1] in iteration 1"
    );
    // Carried tensors may change their sizes, but not their type.
    for (carried, gives, expected) in [
        ("c", "int64 i", "carried value 0 is of type f32, but of i64 after iteration 0"),
        ("int64 c", "int64 c", "input 2 of its body must be of type i64, got f32"),
    ] {
        let proto = whole(&format!(
            "(x) => (y) {{
                m = Constant<value_int = 2>()
                y = Loop<body = (int64 i, bool goes, {carried}) => (bool still, {gives}) {{
                    {CONTINUES}
                }}>(m, , x)
            }}"
        ));
        assert_eq!(refused(&proto, &[3], &[]), format!("Loop \"y\": {expected}"));
    }
}

/// A loop in a branch in a loop, all in a function. The inner loop appends the elements of row i one by one.
#[test]
fn loops_nest_in_loops_branches_and_functions() {
    let nodes = "
        flat = Constant<value_ints = [-1]>()  first = Constant<value_ints = [0]>()
        one = Constant<value_int = 1>()  three = Constant<value_int = 3>()
        row_major = Reshape(x, flat)  none = Slice(row_major, first, first)
        y = Loop<body = (int64 i, bool goes, c) => (bool still, d) {
            still = Identity(goes)  is = Equal(i, one)  is_not = Not(is)
            d = If<
                then_branch = () => (g) {
                    m = Add(i, one)
                    g = Loop<body = (int64 j, bool within, e) => (bool within, f) {
                        row = Gather(x, i)  element = Gather(row, j)
                        elements = Unsqueeze(element, first)  f = Concat<axis = 0>(e, elements)
                    }>(m, , c)
                },
                else_branch = () => (c) { }
            >(is_not)
        }>(three, , none)";
    let expected = (vec![4], vec![0.0, 6.0, 7.0, 8.0]);
    let proto = whole(&format!("(x) => (y) {{ {nodes} }}"));
    assert_eq!(run(&proto, &[3, 3], &[]).unwrap(), expected);
    let proto = whole(&format!("(x) => (z) {{ z = own.F(x) }} F(x) => (y) {{ {nodes} }}"));
    assert_eq!(run(&proto, &[3, 3], &[]).unwrap(), expected);
}

#[test]
fn computing_operators_in_bodies_are_counted() {
    let mut proto = carrying("", "two, ", "still = Identity(goes) d = Conv(c)");
    proto.graph.as_mut().unwrap().node.push(node("Conv", &["y"], &["z"], vec![]));
    let message = refusal(&proto);
    assert!(message.contains("not supported: Conv (2 nodes), which computes"), "{message}");
    assert_eq!(
        refused(&carrying("", "two, ", "still = Identity(goes) d = Neg(c)"), &[2], &[]),
        "Neg \"y/body/d\" in iteration 0: not supported: Neg (1 node), which computes: arithmetic is supported only on shapes and constants"
    );
}

#[test]
fn invalid_loops_are_refused() {
    let whole = |nodes: &str| {
        let body = "body = (int64 i, bool goes, c) => (bool still, c) { still = Identity(goes) }";
        let nodes = nodes.replace("BODY", body);
        super::text::whole(&format!("(x) => (y) {{ m = Constant<value_int = 2>() {nodes} }}"))
    };
    // Inputs of a body are not visible outside, nor outputs of the loop inside.
    for (nodes, expected) in [
        ("y = Loop(m, , x)", "Loop \"y\": attribute \"body\" is missing"),
        (
            "y = Loop<BODY, axis = 0>(m, , x)",
            "Loop \"y\": Loop of opset 17 has no attribute \"axis\"",
        ),
        (
            "y, z = Loop<BODY>(m, , x, x)",
            "Loop \"y\", body: wrong number of inputs: it takes 3, but is given 4",
        ),
        (
            "y, z = Loop<BODY>(m, , x)",
            "Loop \"y\", body: wrong number of outputs: it gives 2, expected 3",
        ),
        (
            "y = Loop<body = (int64 i, bool goes, c) => (bool still, c) { }>(m, , x)",
            "Loop \"y\", body: no node produces its output \"still\"",
        ),
        (
            "y = Loop<body = (int64 i, bool goes, x) => (bool goes, x) { }>(m, , x)",
            "Loop \"y\", body: \"x\" is produced twice",
        ),
        (
            "y = Loop<BODY>(m, , x) z = Transpose(c)",
            "Transpose \"z\": it reads \"c\", which no node produces",
        ),
        (
            "y = Loop<body = (int64 i, bool goes, c) => (bool goes, d) { d = Concat<axis = 0>(c, y) }>(m, , x)",
            "Loop \"y\": it is part of a cycle: \"y\" reads \"y\"",
        ),
    ] {
        assert_eq!(refusal(&whole(nodes)), expected);
    }
    let mut sequence = whole("y = Loop<BODY>(m, , x)");
    let body = sequence.graph.as_mut().unwrap().node[1].attribute[0].g.as_mut().unwrap();
    body.input[2].r#type = Some(Type { sequence: Some(vec![].into()), ..Type::default() });
    assert_eq!(
        refusal(&sequence),
        "Loop \"y\", body: input \"c\" is of sequence type, only tensors are supported"
    );
    for (nodes, sizes, expected) in [
        ("y = Loop<BODY>(m, , )", &[2][..], "input 2 is missing"),
        ("y = Loop<BODY>(x, , x)", &[], "M may not be of type f32, only i64"),
        ("y = Loop<BODY>(, m, x)", &[], "cond must be of type boolean, got i64"),
    ] {
        assert_eq!(refused(&whole(nodes), sizes, &[]), format!("Loop \"y\": {expected}"));
    }
}

/// The elements of x have no influence here.
#[test]
fn an_iteration_count_from_an_input_must_be_given() {
    let read = read(&stacking("int64 i", "row")).unwrap();
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
fn endless_loops_are_refused_at_a_limit() {
    let ends = |most: Option<i64>, cond: &str| {
        let m = most.map_or(String::new(), |most| format!("m = Constant<value_int = {most}>()"));
        let first = if most.is_some() { "m" } else { "" };
        whole(&format!(
            "(x) => (y) {{
                {m} one = Constant<value_int = 1>()  true = Cast<to = 9>(one)
                y = Loop<body = (int64 i, bool goes, c) => (bool still, c) {{ {CONTINUES} }}>({first}, {cond}, x)
            }}"
        ))
    };
    let limit = "come to more than 1048576 operators, inputs and outputs, which is the limit";
    assert_eq!(
        refused(&ends(Some(1 << 60), ""), &[2], &[]),
        format!("Loop \"y\": 1152921504606846976 iterations, and those up to here, {limit}")
    );
    for most in [None, Some(i64::MAX)] {
        let expected = format!("Loop \"y\": the iterations up to here {limit}");
        assert_eq!(refused(&ends(most, "true"), &[2], &[]), expected);
    }
    assert_eq!(run(&ends(Some(100), "true"), &[2], &[]).unwrap().1, [0.0, 1.0]);
}

/// Ten iterations each.
#[test]
fn iterations_of_nested_loops_are_bounded() {
    let nested = |depth: usize| {
        let mut nodes = "y0 = Identity(x)".to_owned();
        for level in 0..depth {
            let takes = format!("(int64 i{level}, bool goes{level})");
            let body = format!("{takes} => (bool goes{level}, y{level}) {{ {nodes} }}");
            nodes = format!("y{} = Loop<body = {body}>(m)", level + 1);
        }
        whole(&format!("(x) => (y{depth}) {{ m = Constant<value_int = 10>() {nodes} }}"))
    };
    assert_eq!(run(&nested(3), &[1], &[]).unwrap().0, [10, 10, 10, 1]);
    let refused_at = refused(&nested(12), &[1], &[]);
    assert!(refused_at.ends_with("which is the limit"), "{refused_at}");
}

#[test]
fn a_tensor_that_doubles_is_bounded() {
    let doubles = |times: i64| {
        let mut proto = carrying("", "two, ", "still = Identity(goes) d = Concat<axis = 0>(c, c)");
        proto.graph.as_mut().unwrap().node[0].attribute[0].i = Some(times);
        proto
    };
    assert_eq!(run(&doubles(3), &[1], &[]).unwrap().0, [8]);
    // This is only planned, because the output is too large to be moved.
    let given = [Given { shape: Shape::new([1]).unwrap(), data: None }];
    let large = read(&doubles(50)).unwrap().resolve(&given).unwrap();
    assert_eq!(large.shape(large.outputs()[0]).sizes(), [1 << 50]);
    let too_large = refused(&doubles(100), &[1], &[]);
    assert!(too_large.contains("is too large to be addressed"), "{too_large}");
    assert!(too_large.starts_with("Concat \"y/body/d\" in iteration "), "{too_large}");
}

/// Every iteration reads the same tensor of indices.
#[test]
fn repeated_reads_of_indices_are_bounded() {
    let mut proto = whole(
        "(x) => (y) {
            m = Constant<value_int = 20000>()
            y = Loop<body = (int64 i, bool goes) => (bool goes, taken) { taken = Gather(x, indices) }>(m)
        }",
    );
    let indices = Tensor { int64_data: vec![0; 1 << 14], ..tensor("indices", INT64, &[1 << 14]) };
    proto.graph.as_mut().unwrap().initializer.push(indices);
    let refused = refused(&proto, &[2], &[]);
    assert!(
        refused.starts_with("Gather \"y/body/taken\" in iteration 4095: the indices"),
        "{refused}"
    );
}

#[test]
fn a_loop_is_printed_with_its_body() {
    let text = read(&whole(ROWS_BACKWARD)).unwrap().to_string();
    let expected = "\n  y = Loop(n, -, none)\n    given y/0, y/1, y/2:\n      y/body/still = Identity(y/1)\n      \
                    y/body/at = Sub(last, y/0)\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\n      gives y/body/still, y/body/d\n  output y: y"), "{text}");
}
