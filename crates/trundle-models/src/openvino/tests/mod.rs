//! Tests that read small models.

mod constants;
mod files;
mod fragments;
mod graphs;
mod names;
mod operators;
mod refusals;

use super::read_parts;
use crate::{Model, Operator, Result};

/// The text of a graph, and the bytes of its constants.
struct Ir {
    version: u32,
    layers: Vec<String>,
    edges: Vec<String>,
    weights: Vec<u8>,
}

/// The ids of a layer and of its port.
type From = (usize, usize);

impl Ir {
    fn new() -> Ir {
        Ir { version: 11, layers: Vec::new(), edges: Vec::new(), weights: Vec::new() }
    }

    fn parameter(&mut self, name: &str, element: &str, shape: &str) -> From {
        let data = format!("element_type=\"{element}\" shape=\"{shape}\"");
        self.layer(name, "Parameter", "opset1", &data, &[], 1)
    }

    fn constant(&mut self, element: &str, shape: &str, bytes: &[u8]) -> From {
        let (offset, size) = (self.weights.len(), bytes.len());
        self.weights.extend(bytes);
        let data = format!(
            "element_type=\"{element}\" shape=\"{shape}\" offset=\"{offset}\" size=\"{size}\""
        );
        self.layer("", "Const", "opset1", &data, &[], 1)
    }

    /// Adds a layer and returns its first output. Port ids count inputs, then outputs.
    fn layer(
        &mut self,
        name: &str,
        kind: &str,
        version: &str,
        data: &str,
        inputs: &[From],
        outputs: usize,
    ) -> From {
        let id = self.layers.len();
        let ports = |numbers: std::ops::Range<usize>| -> String {
            numbers.map(|port| format!("<port id=\"{port}\"/>")).collect()
        };
        let first = inputs.len();
        self.layers.push(format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"{kind}\" version=\"{version}\">\
             <data {data}/><input>{}</input><output>{}</output></layer>",
            ports(0..first),
            ports(first..first + outputs)
        ));
        for (port, (from_layer, from_port)) in inputs.iter().enumerate() {
            self.edges.push(format!(
                "<edge from-layer=\"{from_layer}\" from-port=\"{from_port}\" \
                 to-layer=\"{id}\" to-port=\"{port}\"/>"
            ));
        }
        (id, first)
    }

    fn result(&mut self, from: From) {
        self.layer("", "Result", "opset1", "", &[from], 0);
    }

    fn xml(&self) -> String {
        let (version, layers, edges) =
            (self.version, self.layers.join("\n"), self.edges.join("\n"));
        format!(
            "<net name=\"test\" version=\"{version}\">\n<layers>\n{layers}\n</layers>\n\
             <edges>\n{edges}\n</edges>\n</net>"
        )
    }

    fn read(&self) -> Result<Model> {
        read_parts(&self.xml(), &self.weights)
    }
}

fn described(operator: &Operator) -> String {
    format!("{operator:?}")
}

fn refusal<T: std::fmt::Debug>(read: Result<T>) -> String {
    read.expect_err("this is to be refused").to_string()
}
