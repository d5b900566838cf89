//! Single layers in the form of OpenVINO's documentation.

use super::document;
use super::layer::{Layer, Port};
use super::operators::{LayerType, Operand, Role};
use crate::problem::unsupported;
use crate::{Error, Operator, PartialShape, Result};

/// A single layer: an operator with an example of its shapes.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// The layer's type: `Roll`.
    pub kind: String,
    /// The operator.
    pub operator: Operator,
    /// The shape of each input.
    pub inputs: Vec<PartialShape>,
    /// The shape of each output.
    pub outputs: Vec<PartialShape>,
}

/// Reads a single `<layer>` element from the specification of operators.
///
/// Ids, names, element types and the version may be missing. `...` and `< !--` are accepted where the specification has
/// them instead of XML.
///
/// # Errors
/// [`Error::Malformed`] if the text is not a layer; [`Error::Unsupported`] if its operator does not move
/// elements.
pub fn read_layer(text: &str) -> Result<Fragment> {
    let xml = text.replace("< !--", "<!--").replace("<layer ...", "<layer");
    let document = document::parse(xml.trim())?;
    let element = document.root_element();
    if !element.has_tag_name("layer") {
        let name = element.tag_name().name();
        return Err(Error::Malformed(format!("the outermost element is <{name}>, not <layer>")));
    }
    let layer = Layer::read(element)?;
    let made = || {
        let kind = LayerType::of(&layer)?;
        let Role::Operator(make) = kind.role else {
            return unsupported!("{} is not an operator", kind.name);
        };
        let unknown = Operand { element: None, constant: false };
        make(&layer, &vec![unknown; layer.inputs.len()])
    };
    let shapes = |ports: &[Port]| -> Vec<PartialShape> {
        ports.iter().map(|port| port.shape.clone()).collect()
    };
    Ok(Fragment {
        kind: layer.kind.to_owned(),
        operator: made().map_err(|problem| layer.refused(problem))?,
        inputs: shapes(&layer.inputs),
        outputs: shapes(&layer.outputs),
    })
}
