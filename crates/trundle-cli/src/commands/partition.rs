//! `trundle plan` of a model that computes: its subgraphs that only move elements, and their cost as passes.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use trundle::Shape;
use trundle_files::failure::Failure;
use trundle_files::forecast::{counted, first_lines};
use trundle_files::names::shown_path;
use trundle_files::numbers::readable;
use trundle_formats::Shown;
use trundle_models::onnx::{Partition, Subgraph};
use trundle_models::{Error, Given, Input, PlannedModel, ResolvedModel};

use crate::args::ModelArgs;
use crate::foreign::of_model;
use crate::model_input::given;
use crate::say::{print, print_json};

/// The maximum number of operators that a line lists.
const MOST_NAMED: usize = 6;

struct Movement {
    passes: usize,
    bytes: u64,
    /// The bytes that are written if the operators run one after another.
    bytes_one_by_one: u64,
    /// The graph and its passes, if `--verbose` is given.
    details: String,
}

/// Reports the parts of a model that only move elements. The model was `refused` because it computes. `verbose` adds
/// every subgraph.
///
/// # Errors
/// Returns `refused` for other formats than ONNX. Fails if the input files do not fit the model.
pub(super) fn plan(args: &ModelArgs, refused: Error, verbose: bool) -> Result<(), Failure> {
    let is_onnx = args.model.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"));
    if !is_onnx {
        return Err(of_model(refused));
    }
    let partition = Partition::read(&args.model, args.links()).map_err(of_model)?;
    let mut sizes = named_sizes(&partition, args)?;
    let movement =
        |subgraph| Movement::of(&partition, subgraph, &mut sizes, (args.threads, verbose));
    let movements: Vec<Result<Movement, Error>> =
        partition.subgraphs().iter().map(movement).collect();
    if args.json {
        return print_json(&report(&partition, &movements));
    }
    print(&text(&partition, &movements, args, verbose))
}

fn named_sizes(partition: &Partition, args: &ModelArgs) -> Result<HashMap<String, usize>, Failure> {
    let is_given = |input: &&Input| args.inputs.iter().any(|file| file.name == input.name);
    let inputs: Vec<Input> = partition.inputs().iter().filter(is_given).cloned().collect();
    let files = given(&inputs, &args.inputs, false, None)?;
    let named = inputs.iter().zip(files);
    let shapes: Vec<(&str, Shape)> =
        named.map(|(input, file)| (&input.name[..], file.shape)).collect();
    partition.sizes(&shapes).map_err(of_model)
}

impl Movement {
    /// Plans a subgraph with these named sizes, and adds the named sizes of its outputs to them.
    fn of(
        partition: &Partition,
        subgraph: &Subgraph,
        sizes: &mut HashMap<String, usize>,
        (threads, is_verbose): (Option<usize>, bool),
    ) -> Result<Movement, Error> {
        let resolve = |outputs: &[String], sizes: &HashMap<String, usize>| {
            let model = partition.model(subgraph, outputs, sizes)?;
            let shapes = model.static_shapes()?;
            let given: Vec<Given<'_>> =
                shapes.into_iter().map(|shape| Given { shape, data: None }).collect();
            let resolved = model.resolve(&given)?;
            Ok::<_, Error>((model, resolved))
        };
        let (_, each) = resolve(&subgraph.written, sizes)?;
        let bytes_one_by_one = bytes_of_outputs(&each);
        let (model, resolved) = resolve(&subgraph.outputs, sizes)?;
        for (name, id) in subgraph.outputs.iter().zip(resolved.outputs()) {
            partition.add_sizes(name, resolved.shape(*id), sizes);
        }
        let planned = PlannedModel::new(resolved, threads)?;
        Ok(Movement {
            passes: planned.passes().len(),
            bytes: planned.moved_bytes() as u64,
            bytes_one_by_one,
            details: if is_verbose { format!("{model}\n\n{planned}\n") } else { String::new() },
        })
    }
}

/// A string counts as 8 bytes.
fn bytes_of_outputs(model: &ResolvedModel) -> u64 {
    let bytes = |id: &_| model.program().tensor(*id).bytes() as u64;
    model.outputs().iter().map(bytes).fold(0, u64::saturating_add)
}

fn text(
    partition: &Partition,
    movements: &[Result<Movement, Error>],
    args: &ModelArgs,
    verbose: bool,
) -> String {
    let subgraphs = partition.subgraphs();
    let moving: usize = subgraphs.iter().map(|subgraph| subgraph.operators.len()).sum();
    let mut text = format!(
        "{}: the model also computes; {} of {} only move, in {}\n",
        shown_path(&args.model),
        moving,
        counted(partition.nodes(), "node"),
        counted(subgraphs.len(), "subgraph"),
    );
    let known: Vec<&Movement> = movements.iter().flatten().collect();
    if !known.is_empty() {
        let fused: u64 = known.iter().map(|each| each.bytes).sum();
        let passes = known.iter().map(|each| each.passes).sum();
        let written = known.iter().map(|each| each.bytes_one_by_one).sum();
        let of = subgraphs.iter().zip(movements).filter(|(_, movement)| movement.is_ok());
        let tensors = of.map(|(subgraph, _)| subgraph.written.len()).sum();
        text.push_str(&format!(
            "  fused, they write {} in {}; one by one {} in {}\n",
            readable(fused),
            counted(passes, "pass"),
            readable(written),
            counted(tensors, "tensor"),
        ));
    }
    let others =
        partition.others().map(|(name, count)| format!("{name} ({})", counted(count, "node")));
    let others: Vec<String> = others.collect();
    text.push_str(&format!("  others: {}\n", Shown(others.join(", "))));
    let unknown: Vec<&Error> = movements.iter().filter_map(|each| each.as_ref().err()).collect();
    if let Some(error) = unknown.first() {
        text.push_str(&format!(
            "  unknown for {}: {error}\n  give input shapes by --input NAME=FILE, or write the other shapes into a copy of the model by onnx.shape_inference.infer_shapes_path (Python)\n",
            counted(unknown.len(), "subgraph"),
        ));
    }
    let mut lines: Vec<String> = lines(subgraphs, movements);
    if !verbose {
        lines = first_lines(lines).collect();
    }
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    if verbose {
        known.iter().for_each(|movement| text.push_str(&format!("\n{}", movement.details)));
    }
    text
}

fn lines(subgraphs: &[Subgraph], movements: &[Result<Movement, Error>]) -> Vec<String> {
    alike(subgraphs.iter().zip(movements).map(|(subgraph, movement)| line(subgraph, movement)))
}

/// Merges equal lines, and puts their counts before them. The lines are in the order of their first occurrences.
pub(super) fn alike(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut indices: BTreeMap<String, usize> = BTreeMap::new();
    for line in all {
        let index = *indices.entry(line.clone()).or_insert(lines.len());
        match lines.get_mut(index) {
            Some((_, times)) => *times += 1,
            None => lines.push((line, 1)),
        }
    }
    lines.into_iter().map(|(line, times)| format!("  {times} x {line}")).collect()
}

fn line(subgraph: &Subgraph, movement: &Result<Movement, Error>) -> String {
    let named = kinds(&subgraph.operators);
    match movement {
        Err(_) => named,
        Ok(Movement { passes, bytes, bytes_one_by_one, .. }) => format!(
            "{named}: {} in {}, one by one {} in {}",
            readable(*bytes),
            counted(*passes, "pass"),
            readable(*bytes_one_by_one),
            counted(subgraph.written.len(), "tensor"),
        ),
    }
}

/// Lists at most `MOST_NAMED` operator types.
pub(super) fn kinds(operators: &[String]) -> String {
    let kinds = operators.iter().map(|operator| operator.split(' ').next().unwrap_or_default());
    let kinds: Vec<&str> = kinds.take(MOST_NAMED).collect();
    let mut named = kinds.join(", ");
    if operators.len() > MOST_NAMED {
        named.push_str(&format!(" and {} more", operators.len() - MOST_NAMED));
    }
    named
}

fn report(partition: &Partition, movements: &[Result<Movement, Error>]) -> Value {
    let of = |(subgraph, movement): (&Subgraph, &Result<Movement, Error>)| {
        let mut value = json!({
            "operators": subgraph.operators,
            "inputs": subgraph.inputs,
            "outputs": subgraph.outputs,
            "tensors_one_by_one": subgraph.written.len(),
        });
        match movement {
            Ok(Movement { passes, bytes, bytes_one_by_one, .. }) => {
                value["passes"] = json!(passes);
                value["bytes"] = json!(bytes);
                value["bytes_one_by_one"] = json!(bytes_one_by_one);
            }
            Err(error) => value["error"] = json!(error.to_string()),
        }
        value
    };
    json!({
        "model": partition.name(),
        "nodes": partition.nodes(),
        "others": partition.others().collect::<BTreeMap<_, _>>(),
        "views": partition.views(),
        "subgraphs": partition.subgraphs().iter().zip(movements).map(of).collect::<Vec<_>>(),
    })
}
