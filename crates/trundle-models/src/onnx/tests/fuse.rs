//! Rewritten models, with single nodes for movement-only subgraphs.

use std::path::Path;

use super::*;
use crate::onnx::proto::{Dimension, StringEntry};
use crate::onnx::{Fused, Partition, read_typed};
use crate::{Data, ElementType, Given, Links, PlannedModel};
use trundle_core::{DType, Shape};

const F32: ElementType = ElementType::Fixed(DType::F32);
const I64: ElementType = ElementType::Fixed(DType::I64);

fn fused_bytes(bytes: Vec<u8>) -> Result<Fused> {
    Partition::read_bytes(bytes, Path::new("."), Links::Within)?.fused()
}

fn fused(model: &Proto) -> Fused {
    fused_bytes(model.encode_to_vec()).unwrap()
}

fn decoded(fused: &Fused) -> Proto {
    Proto::decode(&fused.file.concat()[..]).unwrap()
}

fn kinds(model: &Proto) -> Vec<&str> {
    model.graph.as_ref().unwrap().node.iter().map(|node| &node.op_type[..]).collect()
}

fn moves(model: &Proto) -> Vec<&Node> {
    let nodes = &model.graph.as_ref().unwrap().node;
    nodes
        .iter()
        .filter(|node| (&node.op_type[..], &node.domain[..]) == ("Move", "trundle"))
        .collect()
}

/// Runs the model inside a node. Each input is a type, a shape and its elements.
fn run(node: &Node, inputs: &[(ElementType, &[usize], Vec<u8>)]) -> Vec<(Shape, Vec<u8>)> {
    let types: Vec<ElementType> = inputs.iter().map(|(element, ..)| *element).collect();
    let bytes = node.attribute[0].s.clone().unwrap().to_vec();
    let model = read_typed(bytes, &types).unwrap();
    let data: Vec<Data> =
        inputs.iter().map(|(.., bytes)| Data::Bytes(bytes.clone().into())).collect();
    let given = inputs.iter().zip(&data);
    let given: Vec<Given<'_>> = given
        .map(|((_, sizes, _), data)| Given { shape: Shape::new(*sizes).unwrap(), data: Some(data) })
        .collect();
    let planned = PlannedModel::new(model.resolve(&given).unwrap(), Some(1)).unwrap();
    let outputs = planned.run(&data, &mut |_| ()).unwrap();
    let shapes = planned.model().outputs().iter().map(|id| planned.model().shape(*id).clone());
    let bytes = outputs.into_iter().map(|data| match data {
        Data::Bytes(bytes) => bytes.to_vec(),
        Data::Strings(_) => panic!("strings"),
    });
    shapes.zip(bytes).collect()
}

fn floats_of(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(|value| (value as f32).to_le_bytes()).collect()
}

/// Makes these tensors initializers instead of inputs.
fn with_initializers(mut all: Proto, tensors: Vec<Tensor>) -> Proto {
    let graph = all.graph.as_mut().unwrap();
    graph.input.retain(|input| tensors.iter().all(|tensor| tensor.name != input.name));
    graph.initializer = tensors;
    all
}

/// Computes and then rolls along the last axis, in the form that exporters write.
fn roll() -> Proto {
    let nodes = nodes(
        "r = Relu(x)  a = Slice(r, one, end, axis)  b = Slice(r, zero, one, axis)
         c = Concat<axis = -1>(a, b)  t = Transpose(c)  y = Exp(t)",
    );
    let tensors =
        vec![i64s("zero", &[0]), i64s("one", &[1]), i64s("end", &[i64::MAX]), i64s("axis", &[1])];
    with_initializers(model(17, nodes, FLOAT), tensors)
}

#[test]
fn a_movement_only_subgraph_becomes_one_node() {
    let all = fused(&roll());
    let model = decoded(&all);
    assert_eq!(kinds(&model), ["Relu", "Move", "Exp"]);
    let [only] = moves(&model)[..] else { panic!("{model:?}") };
    assert_eq!((&only.input[..], &only.output[..]), (&strings(&["r"])[..], &strings(&["t"])[..]));
    assert_eq!(only.name, "trundle_move_0");
    let graph = model.graph.as_ref().unwrap();
    // Initializers that only the slices read are inside the new node.
    assert!(graph.initializer.is_empty(), "{:?}", graph.initializer);
    let [info] = &graph.value_info[..] else { panic!("{:?}", graph.value_info) };
    let declared = info.r#type.as_ref().unwrap().tensor.as_ref().unwrap();
    assert_eq!((&info.name[..], declared.elem_type, &declared.shape), ("t", FLOAT, &None));
    let import = model.opset_import.last().unwrap();
    assert_eq!((&import.domain[..], import.version), ("trundle", 1));

    let [summary] = &all.nodes[..] else { panic!("{:?}", all.nodes) };
    assert_eq!((summary.operators.len(), summary.written), (4, 4));
    assert_eq!((all.unchanged, all.refused.len(), all.is_external), (0, 0, false));

    let moved = run(only, &[(F32, &[2, 3], floats_of(0..6))]);
    assert_eq!(moved, [(Shape::new([3, 2]).unwrap(), floats_of([1, 4, 2, 5, 0, 3]))]);
    let again = fused(&model);
    assert!(again.nodes.is_empty());
    assert_eq!(again.file.concat(), all.file.concat());
}

#[test]
fn unknown_fields_and_other_nodes_stay_byte_for_byte() {
    // Fields that no version of the format has, in the model, the graph and a node.
    let unknown = [0xfa, 0x7f, 3, b'a', b'b', b'c'];
    let mut all = roll();
    let graph = all.graph.take().unwrap();
    let mut relu = graph.node[0].encode_to_vec();
    relu.extend(unknown);
    let mut own = Vec::new();
    let field = |number: u8, bytes: &[u8]| {
        [&[number << 3 | 2][..], &[u8::try_from(bytes.len()).unwrap()][..], bytes].concat()
    };
    own.extend(field(1, &relu));
    own.extend(unknown);
    own.extend(Graph { node: graph.node[1..].to_vec(), ..graph }.encode_to_vec());
    let mut bytes = all.encode_to_vec();
    prost::encoding::encode_key(7, prost::encoding::WireType::LengthDelimited, &mut bytes);
    prost::encoding::encode_varint(own.len() as u64, &mut bytes);
    bytes.extend(&own);
    bytes.extend(unknown);

    let all = fused_bytes(bytes).unwrap();
    assert_eq!(all.nodes.len(), 1);
    let file = all.file.concat();
    let has = |bytes: &[u8]| file.windows(bytes.len()).filter(|window| *window == bytes).count();
    assert_eq!(has(&field(1, &relu)), 1);
    assert_eq!(has(&unknown), 3);
    assert_eq!(kinds(&decoded(&all)), ["Relu", "Move", "Exp"]);
}

#[test]
fn a_single_transpose_is_left_unchanged() {
    let nodes = nodes("r = Relu(x) t = Transpose(r) y = Exp(t)");
    let bytes = model(17, nodes, FLOAT).encode_to_vec();
    let all = fused_bytes(bytes.clone()).unwrap();
    assert_eq!(all.file.concat(), bytes);
    assert_eq!((all.nodes.len(), all.unchanged), (0, 1));
}

#[test]
fn a_single_slow_operator_becomes_a_node() {
    let nodes = nodes("r = Relu(x) d = DepthToSpace<blocksize = 2>(r) y = Exp(d)");
    let mut all = model(17, nodes, FLOAT);
    assert_eq!(kinds(&decoded(&fused(&all))), ["Relu", "Move", "Exp"]);
    let dim = [1, 4, 2, 3].map(|size| Dimension { dim_value: Some(size), dim_param: None });
    let shape = Some(TensorShape { dim: dim.to_vec() });
    all.graph.as_mut().unwrap().value_info = vec![shaped("r", FLOAT, shape)];
    assert_eq!(kinds(&decoded(&fused(&all))), ["Relu", "Move", "Exp"]);
}

#[test]
fn computation_between_movements_stays_outside_nodes() {
    // YOLO's blocks compute with one half of a tensor, and concatenate the result with both halves.
    let nodes = nodes(
        "r = Relu(x)  a, b = Split<axis = 1>(r)  e = Exp(b)
         c = Concat<axis = 1>(a, b, e)  t = Transpose(c)  y = Abs(t)",
    );
    let model = decoded(&fused(&model(17, nodes, FLOAT)));
    assert_eq!(kinds(&model), ["Relu", "Split", "Exp", "Move", "Abs"]);
    assert_eq!(moves(&model)[0].input, strings(&["a", "b", "e"]));
}

#[test]
fn a_movement_is_delayed_until_its_reader_can_run() {
    // The slice could run first, but its reader also needs the computed tensor.
    let nodes =
        nodes("s = Slice(x, zero, one)  e = Exp(x)  c = Concat<axis = 0>(s, e)  y = Abs(c)");
    let all =
        with_initializers(model(17, nodes, FLOAT), vec![i64s("zero", &[0]), i64s("one", &[1])]);
    let model = decoded(&fused(&all));
    assert_eq!(kinds(&model), ["Exp", "Move", "Abs"]);
    let moved = run(
        moves(&model)[0],
        &[(F32, &[2, 1], floats_of([7, 8])), (F32, &[2, 1], floats_of([1, 2]))],
    );
    assert_eq!(moved[0].1, floats_of([7, 1, 2]));
}

#[test]
fn the_shape_of_an_intermediate_is_an_output_of_the_node() {
    let nodes = nodes(
        "r = Relu(x)  t = Transpose(r)  s = Shape(t)  c = Concat<axis = 0>(t, t)
         z = ConstantOfShape(s)  y = Mean(c, z)",
    );
    let model = decoded(&fused(&model(17, nodes, FLOAT)));
    assert_eq!(kinds(&model), ["Relu", "Move", "ConstantOfShape", "Mean"]);
    let [only] = moves(&model)[..] else { panic!("{model:?}") };
    assert_eq!(only.output, strings(&["c", "s"]));
    let moved = run(only, &[(F32, &[1, 2], floats_of([1, 2]))]);
    let shape: Vec<u8> = [2i64, 1].iter().flat_map(|size| size.to_le_bytes()).collect();
    assert_eq!(moved[0].1, floats_of([1, 2, 1, 2]));
    assert_eq!(moved[1], (Shape::new([2]).unwrap(), shape));
}

/// A computation and a later movement both need the shape of an intermediate tensor. `sizes` belong to the model's
/// input.
fn needing_an_intermediate_shape(sizes: &[i64]) -> Proto {
    let nodes = nodes(
        "t = Transpose(x)  c = Concat<axis = 0>(t, t)  s = Shape(t)  e = Exp(c)
         h = Slice(e, zero, one)  g = Concat<axis = 0>(h, h)  w = Expand(g, s)
         z = ConstantOfShape(s)  y = Mean(w, z)",
    );
    let mut all =
        with_initializers(model(17, nodes, FLOAT), vec![i64s("zero", &[0]), i64s("one", &[1])]);
    let dim = sizes.iter().map(|size| Dimension { dim_value: Some(*size), dim_param: None });
    let shape = (!sizes.is_empty()).then(|| TensorShape { dim: dim.collect() });
    all.graph.as_mut().unwrap().input = vec![shaped("x", FLOAT, shape)];
    all
}

#[test]
fn fixed_intermediate_shapes_are_computed_outside_the_node() {
    let model = decoded(&fused(&needing_an_intermediate_shape(&[1, 2])));
    let all = ["Transpose", "Shape", "Move", "Exp", "Move", "ConstantOfShape", "Mean"];
    let mut found = kinds(&model);
    found.sort_unstable();
    let mut all = all.to_vec();
    all.sort_unstable();
    assert_eq!(found, all);
    let [first, second] = moves(&model)[..] else { panic!("{model:?}") };
    assert_eq!((&first.output[..], &first.input[..]), (&strings(&["c"])[..], &strings(&["x"])[..]));
    // The second node computes the shape from `x`.
    assert_eq!(second.input, strings(&["e", "x"]));
    let moved = run(second, &[(F32, &[4, 1], floats_of(5..9)), (F32, &[1, 2], floats_of([0, 0]))]);
    assert_eq!(moved, [(Shape::new([2, 1]).unwrap(), floats_of([5, 5]))]);
}

#[test]
fn nodes_do_not_depend_on_their_own_outputs() {
    // The reader of one half, which is written, needs the shape of the other half, which is not.
    let nodes = nodes(
        "r = Relu(x)  a, b = Split<axis = 1>(r)  aa = Concat<axis = 1>(a, a)
         s = Shape(a)  e = Exp(aa)  c = Abs(b)  be = Concat<axis = 1>(b, e)
         cut = Slice(be, zeros, s)  y = Mean(cut, c)",
    );
    let model =
        decoded(&fused(&with_initializers(model(17, nodes, FLOAT), vec![i64s("zeros", &[0, 0])])));
    let nodes = moves(&model);
    assert_eq!(nodes.len(), 2, "{:?}", kinds(&model));
    for node in nodes {
        let elements =
            |name: &String| if name == "s" { (I64, &[2][..]) } else { (F32, &[1, 4][..]) };
        let inputs: Vec<_> = node.input.iter().map(elements).collect();
        let bytes = |(element, sizes): &(ElementType, &[usize])| match *element == I64 {
            true => [1i64, 2].iter().flat_map(|size| size.to_le_bytes()).collect(),
            false => floats_of(0..sizes.iter().product::<usize>() as u32),
        };
        let inputs: Vec<_> = inputs.iter().map(|own| (own.0, own.1, bytes(own))).collect();
        assert!(!run(node, &inputs).is_empty());
    }
}

#[test]
fn open_intermediate_shapes_are_outputs_of_the_node() {
    let model = decoded(&fused(&needing_an_intermediate_shape(&[])));
    assert_eq!(kinds(&model), ["Move", "Exp", "Move", "ConstantOfShape", "Mean"]);
    let [first, second] = moves(&model)[..] else { panic!("{model:?}") };
    assert_eq!(first.output, strings(&["c", "s"]));
    assert_eq!(second.input, strings(&["e", "x"]));
}

#[test]
fn sizes_computed_from_an_inner_shape_stay_in_the_node() {
    // The class token of a vision transformer. The number of its copies depends on the shape of the tensor that it is
    // concatenated with, through the shape of that shape.
    let nodes = vec![
        node("Exp", &["x"], &["e"], vec![]),
        node("Transpose", &["e"], &["t"], vec![ints("perm", &[1, 0, 2])]),
        node("Shape", &["t"], &["s"], vec![]),
        node("Gather", &["s", "zero"], &["batch"], vec![]),
        node("Concat", &["batch", "rest"], &["sizes"], vec![int("axis", 0)]),
        node("Shape", &["sizes"], &["rank"], vec![]),
        node(
            "ConstantOfShape",
            &["rank"],
            &["ones"],
            vec![tensor_attribute("value", i64s("", &[1]))],
        ),
        node("Where", &["never", "ones", "sizes"], &["chosen"], vec![]),
        node("Expand", &["token", "chosen"], &["tokens"], vec![]),
        node("Concat", &["tokens", "t"], &["c"], vec![int("axis", 1)]),
        node("Abs", &["c"], &["y"], vec![]),
    ];
    let never = Tensor { int32_data: vec![0], ..tensor("never", 9, &[1]) };
    let token = Tensor { float_data: vec![7f32.to_bits()], ..tensor("token", FLOAT, &[1, 1, 1]) };
    let tensors = vec![i64s("zero", &[0]), i64s("rest", &[1, 1]), never, token];
    let model = decoded(&fused(&with_initializers(model(17, nodes, FLOAT), tensors)));
    assert_eq!(kinds(&model), ["Exp", "Move", "Abs"]);
    let [only] = moves(&model)[..] else { panic!("{model:?}") };
    assert_eq!(only.input, strings(&["e"]));
    let moved = run(only, &[(F32, &[1, 2, 1], floats_of([1, 2]))]);
    assert_eq!(moved, [(Shape::new([2, 2, 1]).unwrap(), floats_of([7, 1, 7, 2]))]);
}

#[test]
fn computed_tensors_and_optional_inputs_are_read_for_sizes() {
    let nodes = nodes(
        "e = Exp(x)  s = Shape(e)  t = Transpose<perm = [1, 0]>(x)  v = Reshape(t, s)
         c = Slice(v, start, end)  y = Abs(c)",
    );
    let mut all =
        with_initializers(model(17, nodes, FLOAT), vec![i64s("start", &[0]), i64s("end", &[1])]);
    // Callers may override `end`.
    all.graph.as_mut().unwrap().input.push(value("end", INT64));
    let old = decoded(&fused(&Proto { ir_version: Some(3), ..all.clone() }));
    let model = decoded(&fused(&all));
    assert_eq!(kinds(&model), ["Exp", "Move", "Abs"]);
    let [only] = moves(&model)[..] else { panic!("{model:?}") };
    assert_eq!(only.input, strings(&["x", "end", "e"]));
    // In the old format, all initializers are also inputs.
    assert_eq!(moves(&old)[0].input, strings(&["x", "e"]));
    let old_names: Vec<&str> =
        old.graph.as_ref().unwrap().initializer.iter().map(|tensor| &tensor.name[..]).collect();
    assert_eq!(old_names, ["end"]);
    let names: Vec<&str> =
        model.graph.as_ref().unwrap().initializer.iter().map(|tensor| &tensor.name[..]).collect();
    assert_eq!(names, ["end"]);
    let numbers = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let moved = run(
        only,
        &[
            (F32, &[2, 2], floats_of(0..4)),
            (I64, &[1], numbers(&[1])),
            (F32, &[2, 2], floats_of([0; 4])),
        ],
    );
    assert_eq!(moved[0].1, floats_of([0, 2]));
}

#[test]
fn sizes_are_computed_from_shapes_of_inputs() {
    let nodes = nodes(
        "e = Exp(x)  s = Shape(e)  t = Transpose(x)  half = Div(s, two)
         sizes = Concat<axis = 0>(half, two)  v = Reshape(t, sizes)  w = Transpose(v)
         y = Abs(w)",
    );
    let model =
        decoded(&fused(&with_initializers(model(17, nodes, FLOAT), vec![i64s("two", &[2])])));
    assert_eq!(kinds(&model), ["Exp", "Move", "Abs"]);
    let [only] = moves(&model)[..] else { panic!("{model:?}") };
    let moved = run(only, &[(F32, &[4], floats_of(0..4)), (F32, &[4], floats_of([0; 4]))]);
    assert_eq!(moved, [(Shape::new([2, 2]).unwrap(), floats_of([0, 2, 1, 3]))]);
}

#[test]
fn moved_constants_are_inputs_and_external_sizes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let external_entry = |name: &str, bytes: Vec<u8>| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        vec![StringEntry { key: "location".to_owned(), value: name.to_owned() }]
    };
    let token = Tensor {
        external_data: external_entry("token.bin", floats_of([9])),
        data_location: 1,
        ..tensor("token", FLOAT, &[1, 1])
    };
    let order = Tensor {
        external_data: external_entry(
            "order.bin",
            [1i64, 2].iter().flat_map(|at| at.to_le_bytes()).collect(),
        ),
        data_location: 1,
        ..tensor("sizes", INT64, &[2])
    };
    let nodes = nodes(
        "e = Exp(x)  c = Concat<axis = 0>(token, e)  r = Reshape(c, sizes)
         t = Concat<axis = 0>(r, r)  y = Abs(t)",
    );
    let bytes = with_initializers(model(17, nodes, FLOAT), vec![token, order]).encode_to_vec();
    let all = Partition::read_bytes(bytes, folder.path(), Links::Within).unwrap().fused().unwrap();
    assert!(all.is_external);
    let model = decoded(&all);
    let [only] = moves(&model)[..] else { panic!("{model:?}") };
    assert_eq!(only.input, strings(&["token", "e"]));
    let moved = run(only, &[(F32, &[1, 1], floats_of([9])), (F32, &[1, 1], floats_of([4]))]);
    assert_eq!(moved[0].1, floats_of([9, 4, 9, 4]));
}

#[test]
fn subgraphs_that_cannot_be_one_node_are_reported() {
    // Nothing determines the element type.
    let mut all = roll();
    all.graph.as_mut().unwrap().node[0].domain = "elsewhere".to_owned();
    all.opset_import.push(OperatorSetId { domain: "elsewhere".to_owned(), version: 1 });
    let bytes = all.encode_to_vec();
    let all = fused_bytes(bytes.clone()).unwrap();
    assert_eq!(all.file.concat(), bytes);
    let [(operators, error)] = &all.refused[..] else { panic!("{:?}", all.refused) };
    assert_eq!(operators.len(), 4);
    assert_eq!(error.to_string(), "the model does not state the type of \"r\"");
}

#[test]
fn growth_of_the_file_is_bounded() {
    let table: Vec<i64> = (0..300_000).map(|at| at % 2).collect();
    let of = |number: usize| {
        let names = ["e", "g", "t", "a"].map(|name| format!("{name}{number}"));
        let [e, g, t, a] = names.each_ref().map(String::as_str);
        [
            node("Exp", &["x"], &[e], vec![]),
            node("Gather", &[e, "table"], &[g], vec![]),
            node("Transpose", &[g], &[t], vec![]),
            node("Abs", &[t], &[a], vec![]),
        ]
    };
    let nodes = (0..9).flat_map(of).collect();
    let all = fused(&with_initializers(model(17, nodes, FLOAT), vec![i64s("table", &table)]));
    assert!((1..9).contains(&all.nodes.len()), "{}", all.nodes.len());
    let error = &all.refused.last().unwrap().1;
    assert_eq!(error.to_string(), "the stored move would make the file too large");
}
