//! Messages and JSON about metadata that the output cannot hold.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trundle_disk::LeftOut;

use crate::names::listed;

/// Formats one line for each reason. The metadata of the file itself is reported elsewhere.
pub(crate) fn lines(left: &LeftOut) -> Vec<String> {
    let LeftOut { attributes, axis_names, fill_values, unread, .. } = left;
    let LeftOut { compressed, chunked, unlimited, growing, outdated_ngff, bfloat16, .. } = left;
    let mut lines = Vec::new();
    let parts = [
        (!attributes.is_empty()).then(|| format!("attributes {}", counted(attributes))),
        (!axis_names.is_empty()).then(|| format!("axis names {}", listed(axis_names.iter()))),
        (!fill_values.is_empty()).then(|| format!("fill values of {}", listed(fill_values.iter()))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        lines.push(format!("left out because the format cannot store them: {}", parts.join("; ")));
    }
    if !unread.is_empty() {
        lines.push(format!("left out because trundle does not read them: {}", counted(unread)));
    }
    let were = |names: &BTreeSet<String>, what: &str| {
        let were = if names.len() == 1 { "was" } else { "were" };
        (!names.is_empty()).then(|| format!("{} {were} {what}", listed(names.iter())))
    };
    let growth = growing.iter().map(|(axis, most)| format!("{axis} could grow to {most}"));
    let growth: Vec<String> = growth.collect();
    let parts = [
        were(compressed, "compressed"),
        were(chunked, "in chunks"),
        were(unlimited, "unlimited"),
        (!growth.is_empty()).then(|| listed(growth.iter())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        let parts = parts.join("; ");
        lines.push(format!("not kept in the output: {parts}"));
    }
    if !outdated_ngff.is_empty() {
        let keys = listed(outdated_ngff.iter());
        lines
            .push(format!("OME-NGFF before 0.4 is not valid in a Zarr store of version 3: {keys}"));
    }
    if !bfloat16.is_empty() {
        let names = listed(bfloat16.iter());
        lines.push(format!("zarr-python cannot open arrays of bfloat16: {names}"));
    }
    lines
}

/// Builds the object for `--json`, without the metadata of the file itself; `None` if nothing is left out.
pub(crate) fn report(left: &LeftOut) -> Option<Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(left) else { return None };
    let is_empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        other => other.as_object().is_some_and(serde_json::Map::is_empty),
    };
    fields.retain(|key, value| key != "metadata" && !is_empty(value));
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// Lists names, each with the number of its tensors in parentheses if there are several.
fn counted(names: &BTreeMap<String, usize>) -> String {
    let name = |(name, count): (&String, &usize)| match count {
        1 => name.clone(),
        several => format!("{name} ({several} tensors)"),
    };
    listed(names.iter().map(name))
}
