//! ONNX models.
//!
//! The format is <https://github.com/onnx/onnx/blob/main/docs/IR.md>. Files are untrusted: sizes are checked before
//! memory is allocated for them, and unknown content is refused, not skipped.

mod arithmetic;
mod attributes;
mod bodies;
mod builder;
mod element;
mod external;
mod functions;
mod growth;
mod operator_node;
mod operators;
mod opsets;
mod partition;
mod proto;
mod resize;
mod scope;
mod tensors;
#[cfg(test)]
mod tests;
mod unsupported;
mod value_info;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use prost::Message;
use prost::bytes::Bytes;
use trundle_formats::folder_of;

use builder::Builder;
use external::ExternalData;
use functions::Functions;
use scope::Scope;
use tensors::Tensors;
use value_info::{only_tensor, tensor_type};

pub use element::{element_of, number_of};
pub use partition::{Fused, FusedNode, Partition, Subgraph};

use crate::order::sorted_nodes;
use crate::{ElementType, Error, Input, Links, Model, Output, Result};

/// The newest IR version that this reader knows. Later versions may change the meaning of fields.
const NEWEST_IR: i64 = 14;

/// Reads the ONNX model in the file `path`. External data is read only from the model's folder.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read; [`Error::Link`] if external data is a link to a file outside the
/// folder; [`Error::Malformed`] if the file violates the format; [`Error::Unsupported`] for content that is
/// not supported; [`Error::Node`] for an invalid node or tensor.
pub fn read(path: &Path) -> Result<Model> {
    read_with(path, Links::Within)
}

/// Like [`read`], but external data may be links to destinations that `links` allows.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, links: Links) -> Result<Model> {
    let bytes = fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    read_within(bytes, ExternalData::new(Some(folder_of(path)), links))
}

/// Reads an ONNX model from memory. External data is read only from `folder`; without a folder it is refused.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(bytes: Vec<u8>, folder: Option<&Path>) -> Result<Model> {
    read_within(bytes, ExternalData::new(folder, Links::Within))
}

/// Reads a [part](Model::is_part) of an ONNX model from memory, with inputs of the given element types.
///
/// The types are in the order of the model's inputs. The model may omit types and shapes; a stated type must be equal
/// to the given one. External data is refused.
///
/// # Errors
/// As [`read`]; also [`Error::Input`] if the number of inputs differs, or if the model states a different
/// type.
pub fn read_typed(bytes: Vec<u8>, inputs: &[ElementType]) -> Result<Model> {
    let (model, mut graph) = decode(bytes.into())?;
    let initializers: HashSet<&str> =
        graph.initializer.iter().map(|tensor| &tensor.name[..]).collect();
    let open = graph.input.iter_mut().filter(|info| !initializers.contains(&info.name[..]));
    let open: Vec<&mut proto::ValueInfo> = open.collect();
    if open.len() != inputs.len() {
        return Err(Error::input_count(open.len(), inputs.len()));
    }
    for (info, element) in open.into_iter().zip(inputs) {
        if info.r#type.is_none() {
            let unknown = || {
                let name = &info.name;
                Error::Unsupported(format!("input {name:?} is of {element}, which ONNX lacks"))
            };
            let elem_type = element::number_of(*element).ok_or_else(unknown)?;
            info.r#type = Some(value_info::without_shape(elem_type));
        }
    }
    let external = ExternalData::new(None, Links::Within);
    let model = Model { is_part: true, ..read_graph(&model, &graph, external)? };
    match model.inputs.iter().zip(inputs).find(|(input, element)| input.element != **element) {
        None => Ok(model),
        Some((Input { name, element, .. }, got)) => {
            Err(Error::Input(format!("input {name:?} is of {element}, got {got}")))
        }
    }
}

fn read_within(bytes: Vec<u8>, external: ExternalData) -> Result<Model> {
    let (model, graph) = decode(bytes.into())?;
    read_graph(&model, &graph, external)
}

fn read_graph(model: &proto::Model, graph: &proto::Graph, external: ExternalData) -> Result<Model> {
    let opset = opset(model)?;
    let functions = Functions::new(&model.functions)?;
    unsupported::refuse(graph, &functions)?;
    model_of(graph, functions, opset, external)
}

/// Returns the model without its graph, and the graph.
fn decode(bytes: Bytes) -> Result<(proto::Model, proto::Graph)> {
    let mut model = proto::Model::decode(bytes)
        .map_err(|error| malformed(format!("not an ONNX model: {error}")))?;
    opset(&model)?;
    let graph = model.graph.take().ok_or_else(|| malformed("the model has no graph"))?;
    if !graph.sparse_initializer.is_empty() {
        return Err(Error::Unsupported("sparse initializers are not supported".to_owned()));
    }
    Ok((model, graph))
}

/// All operators must be supported.
fn model_of(
    graph: &proto::Graph,
    functions: Functions<'_>,
    opset: Option<i64>,
    external: ExternalData,
) -> Result<Model> {
    let mut builder = Builder::new(functions, Tensors::new(external));
    let mut scope = Scope::new(opset, None);
    builder.add_initializers(graph, &mut scope)?;
    let initializers = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let inputs = inputs(graph, &initializers, &mut builder, &mut scope)?;
    builder.add(&graph.node, &mut scope, &HashMap::new())?;
    let outputs = outputs(graph, &scope)?;

    let Builder { nodes, values, .. } = builder;
    let nodes = sorted_nodes(nodes)?;
    let dialect = match opset {
        Some(opset) => format!("ONNX, opset {opset}"),
        None => "ONNX".to_owned(),
    };
    let name = graph.name.clone();
    Ok(Model { name, dialect, inputs, outputs, nodes, values, is_part: false })
}

fn malformed(problem: impl Into<String>) -> Error {
    Error::Malformed(problem.into())
}

/// Checks the IR version, and returns the imported version of ONNX's own operators.
fn opset(model: &proto::Model) -> Result<Option<i64>> {
    match model.ir_version {
        None => Err(malformed("not an ONNX model: it has no ir_version")),
        Some(version) if version > NEWEST_IR => Err(Error::Unsupported(format!(
            "the model is of IR version {version}, which is newer than {NEWEST_IR}, the newest known"
        ))),
        Some(version) if version < 3 && model.opset_import.is_empty() => Ok(Some(1)),
        Some(_) if model.opset_import.is_empty() => Err(malformed("the model imports no opset")),
        Some(_) => opsets::imported(&model.opset_import, "the model"),
    }
}

/// Inputs without an initializer.
fn inputs<'a>(
    graph: &'a proto::Graph,
    initializers: &HashSet<&str>,
    builder: &mut Builder<'a>,
    scope: &mut Scope<'a>,
) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for info in &graph.input {
        let what = format!("input {:?}", info.name);
        if initializers.contains(info.name.as_str()) {
            continue;
        }
        if info.name.is_empty() {
            return Err(malformed("an input has no name"));
        }
        let (element, shape) = tensor_type(info, &what)?;
        let value = builder.value();
        scope.define(&info.name, Some(value)).map_err(|problem| problem.of(what))?;
        inputs.push(Input { name: info.name.clone(), element, shape, value });
    }
    Ok(inputs)
}

fn outputs(graph: &proto::Graph, scope: &Scope) -> Result<Vec<Output>> {
    let mut names = HashSet::new();
    let mut outputs = Vec::new();
    for info in &graph.output {
        let what = format!("output {:?}", info.name);
        if let Some(r#type) = &info.r#type {
            only_tensor(r#type, &what)?;
        }
        if !names.insert(info.name.as_str()) {
            return Err(malformed(format!("{what} is there twice")));
        }
        let value = scope.get(&info.name).flatten();
        let value = value.ok_or_else(|| malformed(format!("no node produces {what}")))?;
        outputs.push(Output { name: info.name.clone(), value });
    }
    Ok(outputs)
}
