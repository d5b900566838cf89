//! Builds a model from the layers and edges of a file.

use std::collections::HashMap;
use std::vec;

use roxmltree::Node;
use trundle_core::Shape;

use super::layer::Layer;
use super::names::{self, Names};
use super::operators::{self, LayerType, Make, Operand, Role};
use super::weights::Weights;
use super::wiring::{Tap, Wiring};
use super::{document, element, shape};
use crate::order;
use crate::problem::{Checked, wrong};
use crate::{
    Constant, Dimension, ElementType, Error, Input, Model, Node as ModelNode, Operator, Output,
    PartialShape, Result, ValueId,
};

const VERSIONS: [&str; 2] = ["10", "11"];

pub(super) fn read(xml: &str, weights: Weights) -> Result<Model> {
    let document = document::parse(xml)?;
    let net = document.root_element();
    if !net.has_tag_name("net") {
        let name = net.tag_name().name();
        return Err(Error::Malformed(format!("the outermost element is <{name}>, not <net>")));
    }
    let version = net.attribute("version").unwrap_or_default();
    if !VERSIONS.contains(&version) {
        let versions = VERSIONS.join(" and ");
        let problem = format!("OpenVINO IR of version {version:?} is not supported; supported:");
        return Err(Error::Unsupported(format!("{problem} {versions}")));
    }
    let layers: Vec<Layer> = all(net, "layers", "layer").map(Layer::read).collect::<Result<_>>()?;
    let wiring = Wiring::read(&layers, all(net, "edges", "edge"));
    operators::refuse(&layers, wiring.as_ref().ok())?;
    let kind = |layer: &Layer| kind(layer).map_err(|problem| layer.refused(problem));
    let kinds: Vec<&LayerType> = layers.iter().map(kind).collect::<Result<_>>()?;
    let wiring = wiring?;
    let reads = |at: usize| wiring.of(at).iter().map(|tap| tap.layer);
    let order = order::sorted(layers.len(), reads, |at| format!("{:?}", layers[at].name))
        .map_err(|(at, problem)| layers[at].malformed(problem))?;
    let mut reader = Reader {
        names_of_layers: version == "10",
        values: vec![Vec::new(); layers.len()],
        operands: Vec::new(),
        nodes: Vec::new(),
        layers,
        kinds,
        wiring,
        weights,
    };
    for layer in order {
        reader.add(layer).map_err(|problem| reader.layers[layer].refused(problem))?;
    }
    Ok(Model {
        name: net.attribute("name").unwrap_or_default().to_owned(),
        dialect: format!("OpenVINO IR {version}"),
        inputs: reader.inputs()?,
        outputs: reader.outputs(),
        values: reader.operands.len(),
        nodes: reader.nodes,
        is_part: false,
    })
}

/// Layers without a version occur only in documentation, and are refused.
fn kind(layer: &Layer) -> Checked<&'static LayerType> {
    let kind = LayerType::of(layer)?;
    match layer.opset()? {
        Some(_) => Ok(kind),
        None => wrong!("it has no version"),
    }
}

fn all<'a>(net: Node<'a, 'a>, list: &str, item: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    let list = net.children().find(|element| element.has_tag_name(list));
    let items = list.into_iter().flat_map(|list| list.children());
    items.filter(move |element| element.has_tag_name(item))
}

struct Reader<'a> {
    /// Whether outputs may be named after layers.
    names_of_layers: bool,
    layers: Vec<Layer<'a>>,
    kinds: Vec<&'static LayerType>,
    wiring: Wiring,
    weights: Weights<'a>,
    /// The values of the outputs of each layer.
    values: Vec<Vec<ValueId>>,
    /// Of each value: its element type, and whether it is a constant.
    operands: Vec<Operand>,
    nodes: Vec<ModelNode>,
}

impl Reader<'_> {
    /// Adds a layer after the layers that it reads.
    fn add(&mut self, at: usize) -> Checked<()> {
        match self.kinds[at].role {
            Role::Parameter => {
                let element = Some(element(&self.layers[at])?);
                self.values[at] = vec![self.value(Operand { element, constant: false })];
            }
            // A reader of a Result gets the value that the Result reads.
            Role::Result => self.values[at] = vec![self.tapped(self.wiring.of(at)[0])],
            Role::Constant => {
                let constant = self.constant(at)?;
                let element = Some(constant.element);
                let value = self.value(Operand { element, constant: true });
                let layer = &self.layers[at];
                let (name, kind) = (layer.name.to_owned(), layer.kind.to_owned());
                self.nodes.push(ModelNode::constant(name, kind, constant, value));
                self.values[at] = vec![value];
            }
            Role::Operator(make) => self.operator(at, make)?,
        }
        Ok(())
    }

    fn operator(&mut self, at: usize, make: Make) -> Checked<()> {
        let inputs: Vec<ValueId> = self.wiring.of(at).iter().map(|tap| self.tapped(*tap)).collect();
        let operands: Vec<Operand> = inputs.iter().map(|value| self.operands[value.0]).collect();
        let operator = make(&self.layers[at], &operands)?;
        let element = match operator {
            Operator::Widen(dtype)
            | Operator::Shape { element: dtype, .. }
            | Operator::Eye { element: Some(dtype), .. }
            | Operator::Range { element: Some(dtype), .. } => Some(ElementType::Fixed(dtype)),
            _ => operands[0].element,
        };
        let outputs: Vec<ValueId> = (0..self.layers[at].outputs.len())
            .map(|_| self.value(Operand { element, constant: false }))
            .collect();
        self.values[at].clone_from(&outputs);
        let layer = &self.layers[at];
        self.nodes.push(ModelNode {
            name: layer.name.to_owned(),
            kind: layer.kind.to_owned(),
            operator,
            inputs: inputs.into_iter().map(Some).collect(),
            outputs,
        });
        Ok(())
    }

    fn constant(&mut self, at: usize) -> Checked<Constant> {
        let layer = &self.layers[at];
        let PartialShape::Ranked(sizes) = shape(layer)? else {
            return wrong!("the rank of a constant must be known");
        };
        let sizes = sizes.iter().map(|size| match size {
            Dimension::Fixed(size) => Ok(*size),
            size => wrong!("a size of a constant is {size}"),
        });
        let shape = Shape::new(sizes.collect::<Checked<Vec<usize>>>()?)?;
        let element = element(layer)?;
        let data = self.weights.data(layer, element, &shape)?;
        Ok(Constant { element, shape, data })
    }

    fn value(&mut self, operand: Operand) -> ValueId {
        self.operands.push(operand);
        ValueId(self.operands.len() - 1)
    }

    fn tapped(&self, tap: Tap) -> ValueId {
        self.values[tap.layer][tap.output]
    }

    fn layers_of(&self, role: fn(&Role) -> bool) -> impl Iterator<Item = (usize, &Layer<'_>)> {
        let layers = self.layers.iter().enumerate();
        layers.filter(move |(at, _)| role(&self.kinds[*at].role))
    }

    fn inputs(&self) -> Result<Vec<Input>> {
        let mut names = Names::default();
        self.layers_of(|role| matches!(role, Role::Parameter))
            .map(|(at, layer)| {
                let tensor = layer.outputs[0].names.map(names::split);
                let candidates = [layer.name.to_owned()].into_iter();
                let name = names.give(candidates.chain(tensor.into_iter().flatten()), "input");
                let declared = || {
                    let shape = shape(layer)?;
                    // Refuses sizes that no tensor can have.
                    shape.sizes().map(Shape::new).transpose()?;
                    Ok((shape, element(layer)?))
                };
                let (shape, element) = declared().map_err(|problem| layer.refused(problem))?;
                Ok(Input { name, element, shape, value: self.values[at][0] })
            })
            .collect()
    }

    fn outputs(&self) -> Vec<Output> {
        let mut names = Names::default();
        // Each tensor's names that no Result has taken yet.
        let mut tensors: HashMap<Tap, vec::IntoIter<String>> = HashMap::new();
        self.layers_of(|role| matches!(role, Role::Result))
            .map(|(at, layer)| {
                let tap = self.wiring.of(at)[0];
                let stated = layer.own_attribute("output_names").map(names::split);
                let tensor = tensors.entry(tap).or_insert_with(|| self.names_of(tap).into_iter());
                let own = [layer.name.to_owned()];
                let candidates = stated.into_iter().flatten().chain(tensor).chain(own);
                Output { name: names.give(candidates, "output"), value: self.tapped(tap) }
            })
            .collect()
    }

    /// Possible names, the preferred one first.
    fn names_of(&self, tap: Tap) -> Vec<String> {
        let giver = &self.layers[tap.layer];
        let mut names: Vec<String> =
            giver.outputs[tap.output].names.map(names::split).unwrap_or_default();
        if self.names_of_layers {
            names.push(match giver.outputs.len() {
                1 => giver.name.to_owned(),
                _ => format!("{}.{}", giver.name, tap.output),
            });
        }
        names
    }
}

/// Some early files of version 10 state the type of a constant only in its port.
fn element(layer: &Layer) -> Checked<ElementType> {
    let name = layer.attribute("element_type").or(layer.outputs[0].precision);
    let name = name.ok_or_else(|| "it has no attribute \"element_type\"".to_owned())?;
    Ok(element::parse(name)?)
}

fn shape(layer: &Layer) -> Checked<PartialShape> {
    match layer.attribute("shape") {
        Some(text) => Ok(shape::parse(text)?),
        None => Ok(layer.outputs[0].shape.clone()),
    }
}
