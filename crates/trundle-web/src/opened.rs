//! The header of a dropped file, and the plan of a dropped model.

use std::io::Cursor;
use std::path::Path;

use serde_json::{Value, json};
use trundle_formats::{Format, Header, Order, TensorFile, TensorHint};
use trundle_models::onnx::{self, Partition};
use trundle_models::{Given, Links, PlannedModel};

use crate::question::{FileQuestion, Refusal};

/// Describes a file. `bytes` are all bytes of the file, or the first ones.
///
/// # Errors
/// If the file is not one that can be read, or more than these bytes is needed.
pub(crate) fn of(question: &FileQuestion, bytes: &[u8]) -> Result<Value, Refusal> {
    let (path, is_whole) = (Path::new(&question.file), question.bytes == bytes.len() as u64);
    let ending = path.extension().unwrap_or_default();
    if ending.eq_ignore_ascii_case("onnx") {
        return match is_whole {
            true => model(bytes),
            false => Err(format!("{}: too large for this page", question.file).into()),
        };
    }
    let known = [Format::NPY, Format::SAFETENSORS];
    let format = known
        .into_iter()
        .find(|format| format.endings().iter().any(|known| ending.eq_ignore_ascii_case(known)));
    let format = format.ok_or_else(|| {
        format!(
            "{}: not a file that this page reads: drop a .npy, .safetensors or .onnx file",
            question.file
        )
    })?;
    let (name, hint) =
        (path.file_stem().unwrap_or_default().to_string_lossy(), TensorHint::default());
    let opened = match is_whole {
        true => TensorFile::from_bytes(format, &hint, &name, bytes.to_vec()),
        false => TensorFile::from_reader(format, &hint, &name, Cursor::new(bytes.to_vec())),
    };
    let file = opened.map_err(|error| error.to_string())?;
    let unreadable = file.unreadable().iter();
    let unreadable = unreadable.map(|entry| format!("{}: {}", entry.name, entry.problem));
    Ok(json!({
        "format": file.format().name(),
        "tensors": file.headers().iter().map(tensor).collect::<Vec<_>>(),
        "unreadable": unreadable.collect::<Vec<_>>(),
    }))
}

fn tensor(header: &Header) -> Value {
    let names = &header.annotations.dimension_names;
    json!({
        "name": header.name,
        "stored": header.element.name(),
        "dtype": header.element.dtype().to_string(),
        "shape": header.shape.sizes(),
        "names": names.iter().map(|name| name.as_deref().unwrap_or_default()).collect::<Vec<_>>(),
        "column_major": header.order == Order::ColumnMajor,
        "bytes": header.data_bytes,
    })
}

/// Lists the graph of a model, and plans it if it only moves elements and states all shapes.
fn model(bytes: &[u8]) -> Result<Value, Refusal> {
    let refused = match onnx::read_bytes(bytes.to_vec(), None) {
        Ok(model) => {
            let planned = model.static_shapes().and_then(|shapes| {
                let given: Vec<Given<'_>> =
                    shapes.into_iter().map(|shape| Given { shape, data: None }).collect();
                PlannedModel::new(model.resolve(&given)?, Some(1))
            });
            let plan = planned.map_or_else(|error| error.to_string(), |plan| plan.to_string());
            return Ok(json!({ "format": "onnx", "listing": model.to_string(), "plan": plan }));
        }
        Err(error) => error.to_string(),
    };
    let partition = Partition::read_bytes(bytes.to_vec(), Path::new(""), Links::Within);
    let Ok(partition) = partition else { return Err(refused.into()) };
    let parts = partition.subgraphs().iter().map(|part| part.operators.join(", "));
    let others = partition.others().map(|(name, count)| format!("{name} ({count})"));
    Ok(json!({
        "format": "onnx",
        "nodes": partition.nodes(),
        "others": others.collect::<Vec<_>>(),
        "parts": parts.collect::<Vec<_>>(),
    }))
}
