//! Movement-only parts of models.

use std::collections::HashMap;
use std::path::Path;

use trundle_core::Shape;

use super::*;
use crate::onnx::proto::{Dimension, StringEntry};
use crate::onnx::{Partition, Subgraph};
use crate::{Given, Links, PlannedModel};

fn partition(model: &Proto) -> Result<Partition> {
    Partition::read_bytes(model.encode_to_vec(), Path::new("."), Links::Within)
}

fn sized(name: &str, dims: &[&str]) -> ValueInfo {
    let dim = dims.iter().map(|dim| match dim.parse() {
        Ok(size) => Dimension { dim_value: Some(size), dim_param: None },
        Err(_) => Dimension { dim_value: None, dim_param: Some((*dim).to_owned()) },
    });
    shaped(name, FLOAT, Some(TensorShape { dim: dim.collect() }))
}

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// Splits a tensor into heads, computes, and joins the heads, for every batch size. The last reshape's sizes come from
/// the shape of the computed tensor.
fn heads() -> Proto {
    let sizes = Tensor { int64_data: vec![0, 6, 2, 4], ..tensor("sizes", INT64, &[4]) };
    let rest = Tensor { int64_data: vec![6, 8], ..tensor("rest", INT64, &[2]) };
    let zero = Tensor { int64_data: vec![0], ..tensor("zero", INT64, &[1]) };
    let nodes = nodes(
        "r = Relu(x)  split = Reshape(r, sizes)
         heads = Transpose<perm = [0, 2, 1, 3]>(split)  soft = Softmax(heads)
         back = Transpose<perm = [0, 2, 1, 3]>(soft)  all = Shape(soft)
         batch = Gather(all, zero)  whole = Concat<axis = 0>(batch, rest)
         joined = Reshape(back, whole)  flat = Flatten(joined)  y = Add(flat, flat)",
    );
    let mut all = model(17, nodes, FLOAT);
    let graph = all.graph.as_mut().unwrap();
    graph.initializer = vec![sizes, rest, zero];
    graph.input = vec![sized("x", &["batch", "6", "8"])];
    graph.value_info = vec![
        sized("r", &["batch", "6", "8"]),
        sized("heads", &["n", "2", "6", "4"]),
        sized("soft", &["n", "2", "6", "4"]),
    ];
    all
}

#[test]
fn a_subgraph_holds_movements_between_computations() {
    let partition = partition(&heads()).unwrap();
    let others: Vec<_> = partition.others().collect();
    assert_eq!(others, [("Add", 1), ("Relu", 1), ("Softmax", 1)]);
    let [split, join] = partition.subgraphs() else { panic!("{partition:?}") };
    assert_eq!(split.operators, ["Reshape \"split\"", "Transpose \"heads\""]);
    assert_eq!(
        (&split.inputs[..], &split.outputs[..]),
        (&strings(&["r"])[..], &strings(&["heads"])[..])
    );
    assert_eq!(split.written, ["heads"]);
    assert_eq!(join.operators, ["Transpose \"back\"", "Reshape \"joined\"", "Flatten \"flat\""]);
    assert_eq!(
        (&join.inputs[..], &join.outputs[..]),
        (&strings(&["soft"])[..], &strings(&["flat"])[..])
    );
    assert_eq!(join.written, ["back"]);
    assert_eq!((partition.name(), partition.nodes(), partition.views()), ("test", 11, 0));

    // Outputs of a subgraph determine named sizes of the next one.
    let mut sizes = partition.sizes(&[("x", shape(&[3, 6, 8]))]).unwrap();
    let moved = |subgraph: &Subgraph, sizes: &_, expected: &[usize]| {
        let model = partition.model(subgraph, &subgraph.outputs, sizes).unwrap();
        let given = model.static_shapes().unwrap().into_iter();
        let given: Vec<_> = given.map(|shape| Given { shape, data: None }).collect();
        let planned = PlannedModel::new(model.resolve(&given).unwrap(), Some(1)).unwrap();
        let output = planned.model().outputs()[0];
        assert_eq!(planned.model().shape(output), &shape(expected));
        assert_eq!((planned.passes().len(), planned.moved_bytes()), (1, 3 * 48 * 4));
    };
    moved(split, &sizes, &[3, 2, 6, 4]);
    assert!(partition.model(join, &join.outputs, &sizes).unwrap().static_shapes().is_err());
    partition.add_sizes("heads", &shape(&[3, 2, 6, 4]), &mut sizes);
    moved(join, &sizes, &[3, 48]);
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let partition = partition(&heads()).unwrap();
    let refused =
        |name, sizes: &[usize]| partition.sizes(&[(name, shape(sizes))]).unwrap_err().to_string();
    assert_eq!(refused("x", &[3, 6, 7]), "input \"x\" is [batch, 6, 8], and [3, 6, 7] is given");
    assert_eq!(refused("x", &[3, 6]), "input \"x\" is [batch, 6, 8], and [3, 6] is given");
    assert_eq!(refused("z", &[3]), "the model has no input \"z\"");
    let split = &partition.subgraphs()[0];
    let mut all = heads();
    all.graph.as_mut().unwrap().value_info.clear();
    let untyped = self::partition(&all).unwrap();
    let error = untyped.model(split, &split.outputs, &HashMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "the model does not state the type of \"r\"");
}

#[test]
fn computed_gathers_and_lone_views_form_no_subgraph() {
    let nodes = nodes("a = Abs(x)  g = Gather(x, a)  f = Flatten(g)  e = Exp(f)  y = Mine(e)");
    let partition = partition(&model(17, nodes, INT64)).unwrap();
    let others: Vec<_> = partition.others().collect();
    assert_eq!(others, [("Abs", 1), ("Exp", 1), ("Gather with computed indices", 1), ("Mine", 1)]);
    assert_eq!((partition.subgraphs().len(), partition.views()), (0, 1));
}

#[test]
fn a_tensor_that_a_branch_reads_is_an_output() {
    let nodes = nodes(
        "t = Transpose(x)
        y = If<then_branch = () => (b) { b = Exp(t) }, else_branch = () => (b) { b = Abs(t) }>(c)",
    );
    let partition = partition(&model(17, nodes, FLOAT)).unwrap();
    let [only] = partition.subgraphs() else { panic!("{partition:?}") };
    assert_eq!(only.outputs, ["t"]);
}

/// Loops count as computation, even if they only move.
#[test]
fn a_tensor_that_a_loop_body_reads_is_an_output() {
    let nodes = nodes(
        "first = Constant<value_ints = [-1]>()  m = Constant<value_int = 3>()
        t = Transpose(x)  f = Flatten(t)
        l = Loop<body = (int64 i, bool goes, c) => (bool goes, d) {
            list = Reshape(t, first)  d = Concat<axis = 0>(c, list)
        }>(m, , z)
        y = Abs(f)",
    );
    let partition = partition(&model(17, nodes, FLOAT)).unwrap();
    let others: Vec<_> = partition.others().collect();
    assert_eq!(others, [("Abs", 1), ("Loop", 1)]);
    let [only] = partition.subgraphs() else { panic!("{partition:?}") };
    assert_eq!(only.outputs, ["t", "f"]);
}

#[test]
fn duplicate_outputs_and_cycles_are_refused() {
    let twice = nodes("y = Exp(x) y = Abs(x)");
    let error = partition(&model(17, twice, FLOAT)).unwrap_err();
    assert_eq!(error.to_string(), "two nodes give \"y\"");
    let itself = nodes("y = Exp(z) z = Abs(y)");
    assert!(partition(&model(17, itself, FLOAT)).is_err());
}

#[test]
fn repeated_reads_of_the_same_tensors_are_bounded() {
    let external = Tensor {
        external_data: vec![StringEntry {
            key: "location".to_owned(),
            value: "none.bin".to_owned(),
        }],
        data_location: 1,
        ..tensor("external", FLOAT, &[1 << 28])
    };
    let of = |number: usize| {
        let (read, moved) = (format!("e{number}"), format!("m{number}"));
        let concat = node("Concat", &[&read, "external"], &[&moved], vec![int("axis", 0)]);
        [
            node("Exp", &["x"], &[&read], vec![]),
            concat,
            node("Abs", &[&moved], &[&format!("a{number}")], vec![]),
        ]
    };
    let mut all = model(17, (0..3).flat_map(of).collect(), FLOAT);
    all.graph.as_mut().unwrap().initializer = vec![external];
    let error = partition(&all).unwrap_err().to_string();
    assert_eq!(error, "its 2 and more subgraphs read the same tensors too often");
}
