//! Names of inputs and outputs.

use super::super::read_parts;
use crate::{Model, Result};

/// Two Results read one Transpose of a Parameter. `tensors` has attributes of the output ports of Parameter and
/// Transpose, `results` has attributes of the Results.
fn model(version: u32, tensors: [&str; 2], results: [&str; 2]) -> Result<Model> {
    let [given, moved] = tensors;
    let [first, second] = results;
    let edge = |from: &str, to: &str| {
        let ((from, out), (to, port)) =
            (from.split_once(':').unwrap(), to.split_once(':').unwrap());
        format!("<edge from-layer='{from}' from-port='{out}' to-layer='{to}' to-port='{port}'/>")
    };
    let edges = [edge("0:0", "2:0"), edge("1:0", "2:1"), edge("2:2", "3:0"), edge("2:2", "4:0")];
    read_parts(
        &format!(
            "<net version='{version}'><layers>\
             <layer id='0' name='given' type='Parameter' version='opset1'>\
             <data element_type='f32' shape='2,3'/><output><port id='0' {given}/></output></layer>\
             <layer id='1' name='order' type='Parameter' version='opset1'>\
             <data element_type='i64' shape='2'/><output><port id='0'/></output></layer>\
             <layer id='2' name='moved' type='Transpose' version='opset1'>\
             <input><port id='0'/><port id='1'/></input><output><port id='2' {moved}/></output></layer>\
             <layer id='3' type='Result' version='opset1' {first}><input><port id='0'/></input></layer>\
             <layer id='4' type='Result' version='opset1' {second}><input><port id='0'/></input></layer>\
             </layers><edges>{}</edges></net>",
            edges.concat()
        ),
        &[],
    )
}

fn outputs(version: u32, tensor: &str, results: [&str; 2]) -> [String; 2] {
    let model = model(version, ["", tensor], results).unwrap();
    assert_eq!(model.outputs[0].value, model.outputs[1].value);
    let names: Vec<String> = model.outputs.into_iter().map(|output| output.name).collect();
    names.try_into().unwrap()
}

#[test]
fn an_input_has_the_name_of_its_layer() {
    let inputs = model(11, ["names='tensor'", ""], ["", ""]).unwrap().inputs;
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["given", "order"]);
}

#[test]
fn an_output_has_the_name_that_its_result_states() {
    let stated = ["name='r' output_names='b,a'", "name='s' output_names='c'"];
    assert_eq!(outputs(11, "names='t'", stated), ["b", "c"]);
    assert_eq!(outputs(10, "names='t'", stated), ["b", "c"]);
}

#[test]
fn otherwise_an_output_has_the_name_of_its_tensor() {
    assert_eq!(outputs(11, "names='t,u'", ["name='r'", "name='s'"]), ["t", "u"]);
    assert_eq!(outputs(11, "names='a\\,b,c\\d'", ["", ""]), ["a,b", "c\\d"]);
}

#[test]
fn otherwise_an_output_has_the_name_of_its_result_or_layer() {
    assert_eq!(outputs(11, "", ["name='r'", "name='s'"]), ["r", "s"]);
    assert_eq!(outputs(10, "", ["name='r'", "name='s'"]), ["moved", "s"]);
}

#[test]
fn a_name_in_use_is_replaced_by_the_next_or_a_number() {
    assert_eq!(outputs(11, "names='t'", ["name='r'", "name='s'"]), ["t", "s"]);
    assert_eq!(outputs(11, "names='t'", ["name='t'", "name='t'"]), ["t", "output_1"]);
    assert_eq!(outputs(11, "names='t'", ["output_names='t_2'", "name='t_2'"]), ["t_2", "t"]);
    assert_eq!(outputs(11, "names='output_1'", ["", ""]), ["output_1", "output_2"]);
    assert_eq!(outputs(11, "", ["", ""]), ["output_1", "output_2"]);
    assert_eq!(outputs(11, "names=','", ["output_names=''", ""]), ["output_1", "output_2"]);
}

#[test]
fn one_of_several_outputs_has_a_number_in_version_10() {
    let mut ir = super::Ir::new();
    ir.version = 10;
    let from = [ir.parameter("", "f32", "4"), ir.parameter("", "i64", "")];
    let (layer, port) = ir.layer("cut", "Split", "opset1", "num_splits='2'", &from, 2);
    ir.result((layer, port + 1));
    ir.result((layer, port));
    let model = ir.read().unwrap();
    let names: Vec<&str> = model.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["cut.1", "cut.0"]);
    let inputs: Vec<&str> = model.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(inputs, ["input_1", "input_2"]);
}
