//! Layers in XML, and their attributes.

use std::collections::HashSet;
use std::fmt::Display;
use std::str::FromStr;

use roxmltree::Node;

use super::shape;
use crate::problem::{Checked, Problem, unsupported, wrong};
use crate::{Error, PartialShape, Result};

/// The newest known operation set. Layers of newer sets may have different meanings.
const NEWEST_OPSET: u32 = 17;

pub(super) struct Layer<'a> {
    /// The number that edges use to refer to the layer. Layers in documentation may have none.
    pub(super) id: Option<u64>,
    /// May be empty.
    pub(super) name: &'a str,
    /// The operator's type.
    pub(super) kind: &'a str,
    pub(super) inputs: Vec<Port<'a>>,
    pub(super) outputs: Vec<Port<'a>>,
    element: Node<'a, 'a>,
}

pub(super) struct Port<'a> {
    /// The number that edges use to refer to the port, unique among the layer's inputs or among its outputs.
    pub(super) id: u64,
    /// The element type, if stated.
    pub(super) precision: Option<&'a str>,
    /// Names of the port's tensor, separated by commas.
    pub(super) names: Option<&'a str>,
    /// Without sizes, a port may be a scalar or have an unknown rank.
    pub(super) shape: PartialShape,
}

impl<'a> Layer<'a> {
    pub(super) fn read(element: Node<'a, 'a>) -> Result<Layer<'a>> {
        let name = element.attribute("name").unwrap_or_default();
        let kind = element.attribute("type").unwrap_or_default();
        let mut layer =
            Layer { id: None, name, kind, inputs: Vec::new(), outputs: Vec::new(), element };
        layer.read_parts().map_err(|problem| layer.refused(problem))?;
        Ok(layer)
    }

    fn read_parts(&mut self) -> Checked<()> {
        if self.kind.is_empty() {
            return wrong!("it has no type");
        }
        if let Some(id) = self.element.attribute("id") {
            self.id = Some(id.parse().map_err(|_| format!("its id {id:?} is not a number"))?);
        }
        self.inputs = ports(self.element, "input")?;
        self.outputs = ports(self.element, "output")?;
        Ok(())
    }

    /// The number of the layer's operation set, if it has one.
    pub(super) fn opset(&self) -> Checked<Option<u32>> {
        let Some(version) = self.element.attribute("version") else { return Ok(None) };
        let digits = version.strip_prefix("opset").filter(|digits| !digits.starts_with(['0', '+']));
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(opset @ ..=NEWEST_OPSET) => Ok(Some(opset)),
            _ => unsupported!(
                "version {version:?} is unknown; known are opset1 to opset{NEWEST_OPSET}"
            ),
        }
    }

    /// Returns an attribute of `<layer>`. The attributes of the operator are in `<data>`.
    pub(super) fn own_attribute(&self, name: &str) -> Option<&'a str> {
        self.element.attribute(name)
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        child(self.element, "data").and_then(|data| data.attribute(name))
    }

    pub(super) fn required(&self, name: &str) -> Checked<&'a str> {
        self.attribute(name).ok_or_else(|| format!("it has no attribute {name:?}").into())
    }

    /// Returns the attribute as a number, or `default` if it is missing.
    pub(super) fn number<N: FromStr>(&self, name: &str, default: N) -> Checked<N> {
        self.attribute(name).map_or(Ok(default), |text| parse(name, text))
    }

    pub(super) fn required_number<N: FromStr>(&self, name: &str) -> Checked<N> {
        parse(name, self.required(name)?)
    }

    /// Returns the attribute as numbers separated by commas; none if it is missing.
    pub(super) fn numbers(&self, name: &str) -> Checked<Vec<i64>> {
        match self.attribute(name).map(str::trim) {
            None | Some("") => Ok(Vec::new()),
            Some(list) => list.split(',').map(|text| parse(name, text)).collect(),
        }
    }

    /// Returns a boolean attribute (`true`, `false`, `1` or `0`, in upper or lower case), or `default` if it is
    /// missing.
    pub(super) fn truth(&self, name: &str, default: bool) -> Checked<bool> {
        let Some(text) = self.attribute(name) else { return Ok(default) };
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => wrong!("{name}={text:?} is neither true nor false"),
        }
    }

    /// Returns whether `<rt_info>` has an attribute with this name.
    pub(super) fn is_marked(&self, mark: &str) -> bool {
        let Some(marks) = child(self.element, "rt_info") else { return false };
        marks.children().any(|element| {
            element.has_tag_name("attribute") && element.attribute("name") == Some(mark)
        })
    }

    pub(super) fn malformed(&self, problem: impl Display) -> Error {
        Error::Malformed(format!("{}: {problem}", self.description()))
    }

    pub(super) fn refused(&self, problem: Problem) -> Error {
        match problem {
            Problem::Wrong(problem) => self.malformed(problem),
            problem => problem.of(self.description()),
        }
    }

    /// For example `layer 3 "roll" (Roll, line 12)`. Text from the file is escaped for terminals.
    pub(super) fn description(&self) -> String {
        let id = self.element.attribute("id").map(|id| format!(" {}", id.escape_debug()));
        let name = Some(self.name).filter(|name| !name.is_empty());
        let kind = Some(self.kind).filter(|kind| !kind.is_empty());
        format!(
            "layer{}{} ({}line {})",
            id.unwrap_or_default(),
            name.map(|name| format!(" {name:?}")).unwrap_or_default(),
            kind.map(|kind| format!("{}, ", kind.escape_debug())).unwrap_or_default(),
            line(self.element)
        )
    }
}

fn ports<'a>(layer: Node<'a, 'a>, side: &str) -> Checked<Vec<Port<'a>>> {
    let list = child(layer, side).into_iter().flat_map(|list| list.children());
    let mut ports: Vec<Port> = Vec::new();
    let mut numbers = HashSet::new();
    for element in list.filter(|element| element.has_tag_name("port")) {
        let port = port(side, element)?;
        if !numbers.insert(port.id) {
            return wrong!("it has two {side} ports {}", port.id);
        }
        ports.push(port);
    }
    Ok(ports)
}

fn port<'a>(side: &str, element: Node<'a, 'a>) -> Checked<Port<'a>> {
    let id = element.attribute("id").unwrap_or_default();
    let Ok(id) = id.parse() else {
        return wrong!("id {id:?} of an {side} port is not a number");
    };
    let size = |size: Node<'a, 'a>| {
        let text = size.text().unwrap_or_default().trim();
        let no_size = || format!("size {text:?} of {side} port {id} is not a size").into();
        shape::dimension(text).ok_or_else(no_size)
    };
    let sizes = element.children().filter(|size| size.has_tag_name("dim")).map(size);
    Ok(Port {
        id,
        precision: element.attribute("precision"),
        names: element.attribute("names"),
        shape: PartialShape::Ranked(sizes.collect::<Checked<_>>()?),
    })
}

fn parse<N: FromStr>(name: &str, text: &str) -> Checked<N> {
    let no_number = |_| format!("{name}={text:?} is not a number that it can have").into();
    text.trim().parse().map_err(no_number)
}

fn child<'a>(element: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    element.children().find(|child| child.has_tag_name(name))
}

/// The line of an element. Use it only for messages, because it counts the lines from the start of the
/// file.
pub(super) fn line(element: Node) -> u32 {
    element.document().text_pos_at(element.range().start).row
}
