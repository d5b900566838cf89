//! `trundle fuse`: turns the parts of a model that only move elements into single operators.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use trundle_files::failure::Failure;
use trundle_files::forecast::{counted, first_lines};
use trundle_files::names::shown_path;
use trundle_files::output::write_with;
use trundle_formats::{Output, Shown};
use trundle_models::onnx::{Fused, FusedNode, Partition};

use super::partition::{alike, kinds};
use crate::args::FuseArgs;
use crate::foreign::of_model;
use crate::say::{print_json, say};

/// Writes the fused model, and reports which parts were fused.
///
/// # Errors
/// If the model is malformed, or has tensors in external files outside the output's folder. If the output exists or
/// cannot be written.
pub(crate) fn run(args: &FuseArgs) -> Result<(), Failure> {
    Output::check(&args.output, args.force)?;
    let partition = Partition::read(&args.model, args.links()).map_err(of_model)?;
    let within = |error| of_model(error).within(&args.model.to_string_lossy());
    let fused = partition.fused().map_err(within)?;
    if fused.is_external && folder(&args.model) != folder(&args.output) {
        return Err(Failure::usage(format!(
            "{}: the model has tensors in other files of its folder, so the output must be in that folder: -o {}",
            shown_path(&args.output),
            Shown(
                args.model
                    .with_file_name(args.output.file_name().unwrap_or_default())
                    .to_string_lossy()
            ),
        )));
    }
    write_with(&args.output, args.force, |output| {
        fused.file.iter().try_for_each(|bytes| output.write_all(bytes))
    })?;
    if args.json {
        return print_json(&report(&fused, args));
    }
    if !args.quiet {
        say(&text(&fused, args));
    }
    Ok(())
}

fn folder(path: &Path) -> Option<std::path::PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).canonicalize().ok()
}

fn text(fused: &Fused, args: &FuseArgs) -> String {
    let operators: usize = fused.nodes.iter().map(|node| node.operators.len()).sum();
    let written: usize = fused.nodes.iter().map(|node| node.written).sum();
    let output = shown_path(&args.output);
    let mut text = match fused.nodes.len() {
        0 => format!("{output}: the same model, because nothing was fused"),
        nodes => format!(
            "{output}: {} that only move became {nodes}, to write {}",
            counted(operators, "node"),
            counted(written.saturating_sub(given(&fused.nodes)), "fewer tensor"),
        ),
    };
    if fused.unchanged > 0 {
        text.push_str(&format!(
            "; {} unchanged, where fusing would gain nothing",
            counted(fused.unchanged, "subgraph"),
        ));
    }
    let lines = alike(fused.nodes.iter().map(|node| kinds(&node.operators)));
    first_lines(lines).for_each(|line| text.push_str(&format!("\n{line}")));
    let refused =
        fused.refused.iter().map(|(operators, error)| format!("{}: {error}", kinds(operators)));
    let refused = alike(refused);
    if !refused.is_empty() {
        text.push_str("\n  not fused:");
        first_lines(refused).for_each(|line| text.push_str(&format!("\n  {line}")));
    }
    text
}

fn given(nodes: &[FusedNode]) -> usize {
    nodes.iter().map(|node| node.outputs.len()).sum()
}

fn report(fused: &Fused, args: &FuseArgs) -> Value {
    let node = |node: &FusedNode| {
        json!({
            "name": node.name,
            "operators": node.operators,
            "inputs": node.inputs,
            "outputs": node.outputs,
            "tensors_one_by_one": node.written,
        })
    };
    let refused = fused
        .refused
        .iter()
        .map(|(operators, error)| json!({ "operators": operators, "error": error.to_string() }));
    json!({
        "file": args.output.to_string_lossy(),
        "nodes": fused.nodes.iter().map(node).collect::<Vec<_>>(),
        "unchanged": fused.unchanged,
        "refused": refused.collect::<Vec<_>>(),
    })
}
