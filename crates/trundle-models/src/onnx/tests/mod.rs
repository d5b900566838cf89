//! Tests that encode models and read them.

mod branches;
mod elements;
mod external;
mod functions;
mod fuse;
mod graphs;
mod loops;
mod operators;
mod partition;
mod scans;
mod text;
mod truncated;
mod typed;

use prost::Message;
use trundle_core::Shape;

use super::proto::{
    Attribute, Graph, Model as Proto, Node, OperatorSetId, Tensor, TensorShape, TensorType, Type,
    ValueInfo, attribute_type,
};
use super::read_bytes;
use crate::{Constant, Data, Given, Model, Operator, PlannedModel, Result};
use text::{nodes, whole};

const FLOAT: i32 = 1;
const INT64: i32 = 7;
const BOOL: i32 = 9;

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn node(op_type: &str, input: &[&str], output: &[&str], attribute: Vec<Attribute>) -> Node {
    Node {
        op_type: op_type.to_owned(),
        input: strings(input),
        output: strings(output),
        attribute,
        ..Node::default()
    }
}

fn attribute(name: &str, r#type: i32) -> Attribute {
    Attribute { name: name.to_owned(), r#type, ..Attribute::default() }
}

fn int(name: &str, value: i64) -> Attribute {
    Attribute { i: Some(value), ..attribute(name, attribute_type::INT) }
}

fn ints(name: &str, values: &[i64]) -> Attribute {
    Attribute { ints: values.to_vec(), ..attribute(name, attribute_type::INTS) }
}

fn float(name: &str, value: f32) -> Attribute {
    Attribute { f: Some(value.to_bits()), ..attribute(name, attribute_type::FLOAT) }
}

fn floats(name: &str, values: &[f32]) -> Attribute {
    let floats = values.iter().map(|value| value.to_bits()).collect();
    Attribute { floats, ..attribute(name, attribute_type::FLOATS) }
}

fn text(name: &str, value: &str) -> Attribute {
    let s = Some(value.as_bytes().to_vec().into());
    Attribute { s, ..attribute(name, attribute_type::STRING) }
}

/// Refers to the function's attribute `parameter`.
fn reference(name: &str, r#type: i32, parameter: &str) -> Attribute {
    Attribute { ref_attr_name: parameter.to_owned(), ..attribute(name, r#type) }
}

fn tensor_attribute(name: &str, tensor: Tensor) -> Attribute {
    Attribute { t: Some(Box::new(tensor)), ..attribute(name, attribute_type::TENSOR) }
}

fn graph_attribute(name: &str, graph: Graph) -> Attribute {
    Attribute { g: Some(Box::new(graph)), ..attribute(name, attribute_type::GRAPH) }
}

fn tensor(name: &str, data_type: i32, dims: &[i64]) -> Tensor {
    Tensor { name: name.to_owned(), data_type, dims: dims.to_vec(), ..Tensor::default() }
}

fn i64s(name: &str, entries: &[i64]) -> Tensor {
    let size = i64::try_from(entries.len()).unwrap();
    Tensor { int64_data: entries.to_vec(), ..tensor(name, INT64, &[size]) }
}

/// Returns a value with this element type and without a shape.
fn value(name: &str, elem_type: i32) -> ValueInfo {
    shaped(name, elem_type, None)
}

fn shaped(name: &str, elem_type: i32, shape: Option<TensorShape>) -> ValueInfo {
    let tensor = Some(TensorType { elem_type, shape });
    ValueInfo { name: name.to_owned(), r#type: Some(Type { tensor, ..Type::default() }) }
}

fn opset(domain: &str, version: i64) -> OperatorSetId {
    OperatorSetId { domain: domain.to_owned(), version }
}

/// Names that no node produces become inputs of this element type. The outputs of the last node become the model's
/// outputs.
fn model(version: i64, nodes: Vec<Node>, elem_type: i32) -> Proto {
    let given: Vec<&String> = nodes.iter().flat_map(|node| &node.output).collect();
    let mut input: Vec<&str> = Vec::new();
    for name in nodes.iter().flat_map(|node| &node.input) {
        if !name.is_empty() && !given.contains(&name) && !input.contains(&name.as_str()) {
            input.push(name);
        }
    }
    let input = input.into_iter().map(|name| value(name, elem_type)).collect();
    let output = nodes.last().map(|node| node.output.iter().map(|name| value(name, elem_type)));
    let output = output.map(Iterator::collect).unwrap_or_default();
    let graph = Graph { name: "test".to_owned(), node: nodes, input, output, ..Graph::default() };
    Proto {
        ir_version: Some(10),
        graph: Some(graph),
        opset_import: vec![opset("", version)],
        functions: Vec::new(),
    }
}

/// An initializer as the output.
fn with_initializer(tensor: Tensor) -> Proto {
    let output = vec![value(&tensor.name, tensor.data_type)];
    let graph = Graph { initializer: vec![tensor], output, ..Graph::default() };
    Proto { graph: Some(graph), ..model(17, Vec::new(), FLOAT) }
}

fn read(model: &Proto) -> Result<Model> {
    read_bytes(model.encode_to_vec(), None)
}

/// Returns the error message for a model that must be refused.
fn refusal(model: &Proto) -> String {
    read(model).expect_err("this model is wrong").to_string()
}

/// Returns the sizes and elements of the first output. The input x has these sizes and the elements 0, 1, 2, ...; other
/// inputs, all scalars, have the elements of `others`.
fn run_counting(
    proto: &Proto,
    sizes: &[usize],
    others: impl IntoIterator<Item = Data>,
) -> Result<(Vec<usize>, Vec<f32>)> {
    let read = read(proto)?;
    let shape = Shape::new(sizes).unwrap();
    let x = Data::Bytes((0..shape.elements()).flat_map(|at| (at as f32).to_le_bytes()).collect());
    let mut others = others.into_iter();
    let data: Vec<Data> = read
        .inputs
        .iter()
        .filter_map(|input| if input.name == "x" { Some(x.clone()) } else { others.next() })
        .collect();
    let shapes = read.inputs.iter().map(|input| match input.name.as_str() {
        "x" => shape.clone(),
        _ => Shape::default(),
    });
    let given = shapes.zip(&data).map(|(shape, data)| Given { shape, data: Some(data) });
    let planned = PlannedModel::new(read.resolve(&given.collect::<Vec<_>>())?, Some(1))?;
    let moved = planned.run(&data, &mut |_| ())?;
    let out = planned.model().shape(planned.model().outputs()[0]).sizes().to_vec();
    let Data::Bytes(bytes) = &moved[0] else { panic!("strings") };
    let numbers = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    Ok((out, numbers.collect()))
}

/// Returns the addresses of the bytes of all constants.
fn constant_addresses(model: &Model) -> Vec<*const u8> {
    let address = |node: &crate::Node| match &node.operator {
        Operator::Constant(Constant { data: Data::Bytes(bytes), .. }) => Some(bytes.as_ptr()),
        _ => None,
    };
    model.nodes.iter().filter_map(address).collect()
}

fn kinds(model: &Model) -> Vec<&str> {
    model.nodes.iter().map(|node| node.kind.as_str()).collect()
}
