//! What was read and what will be done, for people.

use std::fmt;

use crate::{Graph, Made, Model, Node, Program, Stage, TensorId};

impl fmt::Display for Model {
    /// The graph as the file states it: inputs, operators, outputs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "model" } else { &self.name };
        let names = self.value_names();
        write!(f, "{name}: {}", self.dialect)?;
        for input in &self.inputs {
            write!(f, "\n  input {}: {} {}", input.name, input.element, input.shape)?;
        }
        for node in &self.nodes {
            write!(f, "\n  {}", Line { node, names: &names })?;
        }
        for output in &self.outputs {
            write!(f, "\n  output {}: {}", output.name, names[output.value.0])?;
        }
        Ok(())
    }
}

impl Model {
    /// What each value is called: an input by its name, any other by the node that gives it.
    fn value_names(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.values];
        for input in &self.inputs {
            names[input.value.0].clone_from(&input.name);
        }
        for (number, node) in self.nodes.iter().enumerate() {
            let name = if node.name.is_empty() { format!("#{number}") } else { node.name.clone() };
            for (output, value) in node.outputs.iter().enumerate() {
                names[value.0] =
                    if node.outputs.len() == 1 { name.clone() } else { format!("{name}.{output}") };
            }
        }
        names
    }
}

/// One operator: what it gives, what it is, what it reads.
struct Line<'a> {
    node: &'a Node,
    names: &'a [String],
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs: Vec<&str> =
            self.node.outputs.iter().map(|value| self.names[value.0].as_str()).collect();
        let inputs: Vec<&str> = self
            .node
            .inputs
            .iter()
            .map(|value| value.map_or("-", |value| self.names[value.0].as_str()))
            .collect();
        write!(f, "{} = {}({})", outputs.join(", "), self.node.kind, inputs.join(", "))
    }
}

impl fmt::Display for Program {
    /// Every pass: what it writes and from where, what it goes straight through, moves and plans.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passes = self.stages().len();
        let bytes: usize = self.stages().iter().map(Stage::moved_bytes).sum();
        let plural = if passes == 1 { "" } else { "es" };
        write!(f, "{passes} pass{plural} over memory, {bytes} bytes")?;
        for (number, stage) in self.stages().iter().enumerate() {
            let (graph, written) = (self.graph(), &self.graph().tensors[stage.tensor.0]);
            let (element, shape) = (written.element, &written.shape);
            write!(f, "\n\npass {number}: writes {}, {element} {shape}", graph.name(stage.tensor))?;
            if !graph.outputs.contains(&stage.tensor) {
                f.write_str(", since what follows does not compose with it")?;
            }
            let through: Vec<String> =
                stage.fused.iter().rev().map(|tensor| graph.name(*tensor)).collect();
            if !through.is_empty() {
                write!(f, "\n  straight through {}", through.join(", "))?;
            }
            for part in &stage.parts {
                write!(f, "\nfrom {}", graph.name(part.from))?;
                let texts = [("move", part.work.to_string()), ("plan", part.plan.to_string())];
                for (title, text) in texts {
                    write!(f, "\n{title}\n  {}", text.replace('\n', "\n  "))?;
                }
            }
        }
        Ok(())
    }
}

impl Graph {
    /// What a tensor is called.
    pub fn name(&self, id: TensorId) -> String {
        let tensor = &self.tensors[id.0];
        match &tensor.made {
            _ if !tensor.name.is_empty() => tensor.name.clone(),
            Made::Given(number) => format!("input {number}"),
            Made::Constant(_) => format!("constant {}", id.0),
            Made::Moved { .. } | Made::Joined { .. } => format!("tensor {}", id.0),
        }
    }
}
