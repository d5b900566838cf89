//! The output that each input reads.

use std::collections::HashMap;

use roxmltree::Node;

use super::layer::{Layer, Port, line};
use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tap {
    /// The layer's index in the file.
    pub(super) layer: usize,
    /// The output's index in the layer.
    pub(super) output: usize,
}

/// The output that each input of each layer reads.
pub(super) struct Wiring(Vec<Vec<Tap>>);

impl Wiring {
    pub(super) fn read<'a>(
        layers: &[Layer],
        edges: impl Iterator<Item = Node<'a, 'a>>,
    ) -> Result<Wiring> {
        let ends = Ends::of(layers)?;
        let unread = |layer: &Layer| vec![None; layer.inputs.len()];
        let mut inputs: Vec<Vec<Option<Tap>>> = layers.iter().map(unread).collect();
        for edge in edges {
            let from = ends.end(layers, edge, ("from", "begins", "output"), &ends.outputs)?;
            let tap = Tap { layer: from[0], output: from[1] };
            let [layer, input] = ends.end(layers, edge, ("to", "ends", "input"), &ends.inputs)?;
            if inputs[layer][input].replace(tap).is_some() {
                let port = layers[layer].inputs[input].id;
                let problem = format!("two edges lead to its input port {port}");
                return Err(layers[layer].malformed(problem));
            }
        }
        let wired = |(layer, taps): (&Layer, Vec<Option<Tap>>)| {
            let ports = layer.inputs.iter().zip(taps);
            let wired = |(port, tap): (&Port, Option<Tap>)| {
                let problem = || format!("no edge leads to its input port {}", port.id);
                tap.ok_or_else(|| layer.malformed(problem()))
            };
            ports.map(wired).collect::<Result<Vec<Tap>>>()
        };
        layers.iter().zip(inputs).map(wired).collect::<Result<_>>().map(Wiring)
    }

    pub(super) fn of(&self, layer: usize) -> &[Tap] {
        &self.0[layer]
    }
}

struct Ends {
    layers: HashMap<u64, usize>,
    /// The key is the layer's index and the port's number.
    inputs: HashMap<(usize, u64), usize>,
    outputs: HashMap<(usize, u64), usize>,
}

impl Ends {
    fn of(layers: &[Layer]) -> Result<Ends> {
        let mut ends =
            Ends { layers: HashMap::new(), inputs: HashMap::new(), outputs: HashMap::new() };
        for (index, layer) in layers.iter().enumerate() {
            let id = layer.id.ok_or_else(|| layer.malformed("it has no id"))?;
            if ends.layers.insert(id, index).is_some() {
                return Err(layer.malformed("a layer before it has the same id"));
            }
            let numbered = |ports: &[Port]| -> Vec<((usize, u64), usize)> {
                ports.iter().enumerate().map(|(number, port)| ((index, port.id), number)).collect()
            };
            ends.inputs.extend(numbered(&layer.inputs));
            ends.outputs.extend(numbered(&layer.outputs));
        }
        Ok(ends)
    }

    /// The indices of the layer and the port that an edge names.
    fn end(
        &self,
        layers: &[Layer],
        edge: Node,
        (end, verb, side): (&str, &str, &str),
        ports: &HashMap<(usize, u64), usize>,
    ) -> Result<[usize; 2]> {
        let layer = self.layer(edge, &format!("{end}-layer"))?;
        let port = number(edge, &format!("{end}-port"))?;
        let found = ports.get(&(layer, port)).copied().ok_or_else(|| {
            let problem = format!("an edge {verb} at {side} port {port}, which it does not have");
            layers[layer].malformed(problem)
        })?;
        Ok([layer, found])
    }

    fn layer(&self, edge: Node, end: &str) -> Result<usize> {
        let id = number(edge, end)?;
        self.layers.get(&id).copied().ok_or_else(|| {
            let problem = format!("{end} is {id}, but there is no such layer");
            Error::Malformed(format!("edge (line {}): {problem}", line(edge)))
        })
    }
}

fn number(edge: Node, name: &str) -> Result<u64> {
    let text = edge.attribute(name).unwrap_or_default();
    text.parse().map_err(|_| {
        let problem = format!("{name}={text:?} is not a number");
        Error::Malformed(format!("edge (line {}): {problem}", line(edge)))
    })
}
