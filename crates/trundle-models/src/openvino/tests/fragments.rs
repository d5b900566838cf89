//! Single layers in the form of documentation.

use super::super::read_layer;
use super::{described, refusal};
use crate::{Dimension, IntegerTypes, Integers, Operator, PartialShape};

#[test]
fn a_fragment_states_shapes() {
    let fragment = read_layer(
        "\n    <layer ... type=\"Roll\">\n        <input>\n            <port id=\"0\">\n\
         <dim>6</dim>\n<dim>-1</dim>\n            </port>\n            <port id=\"1\">\n\
         <dim>2</dim> <!-- by how much -->\n</port>\n            <port id=\"2\">\n\
         <dim>2</dim> < !-- along what -->\n</port>\n        </input>\n        <output>\n\
         <port id=\"0\">\n<dim>6</dim>\n<dim>-1</dim>\n            </port>\n\
         </output>\n    </layer>\n",
    )
    .unwrap();
    let types = IntegerTypes::I32OrI64;
    let (shift, axes) = (Integers::Input { input: 1, types }, Integers::Input { input: 2, types });
    assert_eq!(fragment.kind, "Roll");
    assert_eq!(described(&fragment.operator), described(&Operator::Roll { shift, axes }));
    let data = PartialShape::Ranked(vec![Dimension::Fixed(6), Dimension::ANY]);
    let list = PartialShape::fixed(&[2]);
    assert_eq!(fragment.inputs, [data.clone(), list.clone(), list]);
    assert_eq!(fragment.outputs, [data]);
}

#[test]
fn a_fragment_may_have_attributes_and_scalars() {
    let fragment = read_layer(
        "<layer type='Squeeze'><data allow_axis_skip='true'/><input><port id='0'><dim>1</dim></port>\
         <port id='1'/></input><output><port id='2'/></output></layer>",
    )
    .unwrap();
    let axes = Some(Integers::Input { input: 1, types: IntegerTypes::Integers });
    assert_eq!(
        described(&fragment.operator),
        described(&Operator::Squeeze { axes, keeps_others: true })
    );
    assert_eq!(fragment.inputs, [PartialShape::fixed(&[1]), PartialShape::fixed(&[])]);
    assert_eq!(fragment.outputs, [PartialShape::fixed(&[])]);
}

#[test]
fn invalid_fragments_are_refused() {
    let port = "<input><port id='0'/></input><output><port id='0'/></output>";
    for (text, message) in [
        ("<net/>".to_owned(), "the outermost element is <net>, not <layer>"),
        ("<layer/>".to_owned(), "layer (line 1): it has no type"),
        (
            "<layer type='Result'><input><port id='0'/></input></layer>".to_owned(),
            "layer (Result, line 1): Result is not an operator",
        ),
        ("<layer type='Tile'/>".to_owned(), "layer (Tile, line 1): it has 0 inputs; Tile has 2"),
        (
            format!("<layer type='Convert'><data destination_type='f32'/>{port}</layer>"),
            "layer (Convert, line 1): the type that it converts from is not stated",
        ),
    ] {
        assert_eq!(refusal(read_layer(&text)), message);
    }
}
