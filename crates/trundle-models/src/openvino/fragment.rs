//! A layer as documentation shows it.

use super::document;
use super::layer::{Layer, Port};
use super::operators::{Kind, Operand, Role};
use crate::{Error, Operator, PartialShape, Result};

/// A layer on its own: an operator, and an example of the shapes it has to do with.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// Its type: `Roll`.
    pub kind: String,
    /// What it does.
    pub operator: Operator,
    /// The shape of each input.
    pub inputs: Vec<PartialShape>,
    /// The shape of each output.
    pub outputs: Vec<PartialShape>,
}

/// A `<layer>` element on its own, as the specification of operators shows them: ids, names, types
/// of elements and the version may be left out, and `...` and `< !--` stand where they are not XML.
///
/// # Errors
/// [`Error::Malformed`] if it is no layer, [`Error::Unsupported`] if it is none of an operator that
/// moves elements.
pub fn read_layer(text: &str) -> Result<Fragment> {
    let xml = text.replace("< !--", "<!--").replace("<layer ...", "<layer");
    let document = document::parse(xml.trim())?;
    let element = document.root_element();
    if !element.has_tag_name("layer") {
        let name = element.tag_name().name();
        return Err(Error::Malformed(format!("the outermost element is <{name}>, not <layer>")));
    }
    let layer = Layer::read(element)?;
    let kind = Kind::of(&layer)?;
    let Role::Operator(make) = kind.role else {
        return Err(layer.unsupported(format!("{} is not an operator", kind.name)));
    };
    let unknown = Operand { element: None, constant: false };
    let shapes = |ports: &[Port]| -> Vec<PartialShape> {
        ports.iter().map(|port| port.shape.clone()).collect()
    };
    Ok(Fragment {
        kind: layer.kind.to_owned(),
        operator: make(&layer, &vec![unknown; layer.inputs.len()])?,
        inputs: shapes(&layer.inputs),
        outputs: shapes(&layer.outputs),
    })
}
