//! Random models that are planned and run. Each element is compared with its own trace.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use trundle_core::ops::{Flip, ReverseSubsequences, Roll, Transpose};
use trundle_core::program::{Made, Program, TensorId};
use trundle_core::{DType, IndexMap, Op, Shape};
use trundle_models::{
    Constant, Data, ElementType, Error, Given, PlannedModel, ResolvedModel, TensorInfo, openvino,
};
use trundle_testing::choices::Choices;

const U16: ElementType = ElementType::Fixed(DType::U16);

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

/// Random choices of movements and models.
trait Cases {
    fn map(&mut self, of: &Shape) -> IndexMap;

    /// Two inputs, a constant, and tensors made from them.
    fn model(&mut self) -> ResolvedModel;

    /// The others match the tensor along one axis.
    fn joined(&mut self, program: &mut Program, first: TensorId);
}

impl Cases for Choices {
    fn map(&mut self, of: &Shape) -> IndexMap {
        let axis = self.below(of.rank());
        let signed = i64::try_from(axis).unwrap();
        let op: Op = match self.below(8) {
            0 | 1 => {
                let to = self.sizes(of.elements());
                return IndexMap::reshape(of, &shape(&to)).unwrap();
            }
            2 => {
                let mut bounds: Vec<_> = of.iter().map(|size| 0..*size).collect();
                bounds[axis].end -= self.below(of[axis]);
                bounds[axis].start = self.below(bounds[axis].end);
                return IndexMap::identity(of).restrict(&bounds).unwrap();
            }
            3 | 4 => {
                let mut order: Vec<i64> = (0i64..).take(of.rank()).collect();
                order.rotate_left(axis);
                Transpose::new(&order).into()
            }
            5 => Roll::new(&[i64::try_from(self.below(9)).unwrap() - 4], &[signed]).into(),
            6 => Flip::new(&[signed]).into(),
            _ => {
                let mut rows = of.sizes().to_vec();
                rows[axis] = 1;
                let lengths = (0..rows.iter().product()).map(|_| self.below(7) as u64);
                ReverseSubsequences::dense(signed, shape(&rows), lengths.collect::<Vec<_>>()).into()
            }
        };
        op.index_map(of).unwrap()
    }

    fn model(&mut self) -> ResolvedModel {
        let mut program = Program::new();
        for _ in 0..2 {
            let elements = [24, 36, 60, 17][self.below(4)];
            program.given(shape(&self.sizes(elements)), DType::U16).unwrap();
        }
        // A constant of the model, or a fill of the program.
        let pad = Bytes::from_static(&[0xfe, 0xca]);
        let mut constants = Vec::new();
        if self.below(2) == 0 {
            program.fill(DType::U16, &pad).unwrap();
        } else {
            program.given(Shape::default(), DType::U16).unwrap();
            let (shape, data) = (Shape::default(), Data::Bytes(pad));
            constants.push(Constant { element: U16, shape, data });
        }
        for _ in 0..1 + self.below(10) {
            let from = TensorId(self.below(program.tensors().len()));
            let of = program.tensor(from).shape.clone();
            if of.rank() == 0 {
                program.broadcast(from, &shape(&self.sizes(6))).unwrap();
            } else if self.below(3) == 0 {
                self.joined(&mut program, from);
            } else {
                let map = self.map(&of);
                program.moved(from, map).unwrap();
            }
        }
        let last = program.tensors().len() - 1;
        for output in [last, self.below(last + 1), last] {
            program.output(TensorId(output)).unwrap();
        }
        model(program, U16, constants)
    }

    fn joined(&mut self, program: &mut Program, first: TensorId) {
        let mut sizes = program.tensor(first).shape.sizes().to_vec();
        let axis = self.below(sizes.len());
        let mut parts = vec![first];
        for (index, other) in program.tensors().iter().enumerate() {
            let mut alike = other.shape.iter().zip(&sizes).enumerate();
            let fits =
                other.shape.rank() == sizes.len() && alike.all(|(k, (a, b))| k == axis || a == b);
            if fits && self.below(2) == 0 && sizes[axis] < 50 {
                sizes[axis] += other.shape[axis];
                parts.push(TensorId(index));
            }
        }
        program.joined(axis, &parts).unwrap();
    }
}

/// All tensors have the same element type.
fn model(program: Program, element: ElementType, constants: Vec<Constant>) -> ResolvedModel {
    let info = |index| TensorInfo { element, name: format!("t{index}") };
    let infos = (0..program.tensors().len()).map(info).collect();
    ResolvedModel::new(program, infos, constants).unwrap()
}

/// Traces an element back to an input.
fn element(program: &Program, inputs: &[Vec<u16>], mut id: TensorId, index: &[usize]) -> u16 {
    let mut index = index.to_vec();
    loop {
        let tensor = program.tensor(id);
        match &tensor.made {
            Made::Given(input) => {
                let at = index.iter().zip(tensor.shape.iter()).fold(0, |n, (i, size)| n * size + i);
                return inputs.get(*input).map_or(0xcafe, |input| input[at]);
            }
            Made::Fill(_) => return 0xcafe,
            Made::Moved { from, map } => {
                index = map.source_of(&index);
                id = *from;
            }
            Made::Joined { axis, parts } => {
                for part in parts {
                    id = *part;
                    let size = program.tensor(*part).shape[*axis];
                    if index[*axis] < size {
                        break;
                    }
                    index[*axis] -= size;
                }
            }
        }
    }
}

/// Returns the outputs of `run_into` after two calls.
fn run_twice_into(planned: &PlannedModel, given: &[Data]) -> Vec<Data> {
    let bytes = |data: &Data| match data {
        Data::Bytes(bytes) => bytes.clone(),
        Data::Strings(_) => panic!("strings"),
    };
    let given: Vec<Bytes> = given.iter().map(bytes).collect();
    let given: Vec<&[u8]> = given.iter().map(|bytes| &bytes[..]).collect();
    let program = planned.model().program();
    let sizes = planned.model().outputs().iter().map(|id| program.tensor(*id).bytes());
    let mut outputs: Vec<Vec<u8>> = sizes.map(|bytes| vec![0xa5; bytes]).collect();
    for _ in 0..2 {
        let mut buffers: Vec<&mut [u8]> = outputs.iter_mut().map(|each| &mut each[..]).collect();
        planned.run_into(&given, &mut buffers).unwrap();
    }
    outputs.into_iter().map(|bytes| Data::Bytes(bytes.into())).collect()
}

#[test]
fn random_models_agree_with_traces_of_each_element() {
    let (mut passes, mut tensors) = (0, 0);
    for seed in 0..6000 {
        let model = Choices::of(seed).model();
        let program = model.program();
        let inputs: Vec<Vec<u16>> = program.tensors()[..2]
            .iter()
            .zip([0, 1000])
            .map(|(tensor, first)| (first..).take(tensor.shape.elements()).collect())
            .collect();
        let given: Vec<Data> = inputs
            .iter()
            .map(|input| Data::Bytes(input.iter().flat_map(|n| n.to_le_bytes()).collect()))
            .collect();
        let planned = PlannedModel::new(model.clone(), Some(1)).unwrap();
        let outputs = planned.run(&given, &mut |_| ()).unwrap();
        assert_eq!(outputs.len(), model.outputs().len());
        for (output, id) in outputs.iter().zip(model.outputs()) {
            let mut expected = Vec::new();
            model.shape(*id).for_each_index(|index| {
                expected.extend(element(program, &inputs, *id, index).to_le_bytes());
            });
            let Data::Bytes(bytes) = output else { panic!("strings") };
            assert_eq!(bytes[..], expected, "seed {seed}, output {id:?} of {program:#?}");
            assert_eq!(model.first_difference(*id, &given, output), None, "seed {seed}");
        }
        assert_eq!(run_twice_into(&planned, &given), outputs, "seed {seed}");
        passes += planned.passes().len();
        tensors += program.tensors().len() - 3;
    }
    // Each model writes at least its two outputs, and few intermediate tensors.
    assert!(passes < 6000 * 5 / 2 && passes < tensors, "{passes} passes for {tensors} tensors");
}

#[test]
fn texts_are_moved_and_repeated() {
    let mut program = Program::new();
    let given = program.given(shape(&[3]), DType::U64).unwrap();
    let flipped = program.moved_by(given, Flip::new(&[0])).unwrap();
    let joined = program.joined(0, &[given, flipped]).unwrap();
    program.output(joined).unwrap();
    let model = model(program, ElementType::String, Vec::new());
    let planned = PlannedModel::new(model, None).unwrap();
    let strings = ["a", "", "long"].map(str::to_owned);
    let outputs = planned.run(&[Data::Strings(strings.into())], &mut |_| ()).unwrap();
    let Data::Strings(moved) = &outputs[0] else { panic!("bytes") };
    assert_eq!(moved[..], ["a", "", "long", "long", "", "a"]);
    assert_eq!(planned.passes().len(), 1);
}

/// The parts of a joined tensor share a byte. Either may be written first.
#[test]
fn packed_parts_that_share_a_byte_are_joined() {
    for swapped in [false, true] {
        let mut program = Program::new();
        let mut parts = [0, 1].map(|_| program.given(shape(&[3]), DType::U4).unwrap());
        if swapped {
            parts.reverse();
        }
        let joined = program.joined(0, &parts).unwrap();
        program.output(joined).unwrap();
        let model = model(program, ElementType::Fixed(DType::U4), Vec::new());
        let given = [[0x21, 0xf3], [0x54, 0xf6]].map(|bytes| Data::Bytes(bytes.to_vec().into()));
        let planned = PlannedModel::new(model, None).unwrap();
        let outputs = planned.run(&given, &mut |_| ()).unwrap();
        let Data::Bytes(bytes) = &outputs[0] else { panic!("strings") };
        let expected = if swapped { [0x54, 0x16, 0x32] } else { [0x21, 0x43, 0x65] };
        assert_eq!(bytes[..], expected, "{parts:?}");
        assert_eq!(run_twice_into(&planned, &given), outputs);
    }
}

/// Unused bits of an output may belong to a larger tensor. They are kept even if an output is returned twice.
#[test]
fn unused_bits_of_packed_outputs_are_kept() {
    let mut program = Program::new();
    let given = program.given(shape(&[9]), DType::U3).unwrap();
    let flipped = program.moved_by(given, Flip::new(&[0])).unwrap();
    for _ in 0..2 {
        program.output(flipped).unwrap();
    }
    let model = model(program, ElementType::Fixed(DType::U3), Vec::new());
    let planned = PlannedModel::new(model, None).unwrap().allocated().unwrap();
    let packing = DType::U3.packing().unwrap();
    let mut input = vec![0; packing.bytes(9)];
    (0..9).for_each(|at| packing.set(&mut input, at, at as u8 % 8));
    let mut outputs = [0, 0xff].map(|bits| vec![bits; input.len()]);
    let expected = outputs.clone().map(|mut expected| {
        (0..9).for_each(|at| packing.set(&mut expected, at, (8 - at as u8) % 8));
        expected
    });
    let mut buffers: Vec<&mut [u8]> = outputs.iter_mut().map(|each| &mut each[..]).collect();
    planned.run_into(&[&input], &mut buffers).unwrap();
    assert_eq!(outputs, expected);
}

#[test]
fn many_buffers_are_accepted() {
    let mut program = Program::new();
    let given: Vec<TensorId> =
        (0..70).map(|_| program.given(shape(&[1]), DType::U8).unwrap()).collect();
    let joined = program.joined(0, &given).unwrap();
    program.output(joined).unwrap();
    given.iter().for_each(|id| program.output(*id).unwrap());
    let planned =
        PlannedModel::new(model(program, ElementType::Fixed(DType::U8), Vec::new()), None).unwrap();
    let bytes: Vec<u8> = (0..70).collect();
    let inputs: Vec<&[u8]> = bytes.chunks(1).collect();
    let (mut joined, mut each) = ([0; 70], [0; 70]);
    let mut outputs = vec![&mut joined[..]];
    outputs.extend(each.chunks_mut(1));
    planned.run_into(&inputs, &mut outputs).unwrap();
    assert_eq!((&joined[..], &each[..]), (&bytes[..], &bytes[..]));
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let mut program = Program::new();
    let given = program.given(shape(&[3]), DType::U16).unwrap();
    let flipped = program.moved_by(given, Flip::new(&[0])).unwrap();
    program.output(flipped).unwrap();
    let planned = PlannedModel::new(model(program, U16, Vec::new()), None).unwrap();
    let (six, mut out) = ([1, 0, 2, 0, 3, 0], [9; 6]);
    let mut refused = |inputs: &[&[u8]], bytes: &[usize]| {
        let mut left = &mut out[..];
        let mut outputs = Vec::new();
        for bytes in bytes {
            let (output, rest) = left.split_at_mut(*bytes);
            outputs.push(output);
            left = rest;
        }
        planned.run_into(inputs, &mut outputs).unwrap_err().to_string()
    };
    assert_eq!(refused(&[], &[6]), "wrong number of inputs: the model takes 1, got 0");
    assert_eq!(refused(&[&six[..4]], &[6]), "\"t0\" is u16 [3], 6 bytes, got 4");
    assert_eq!(refused(&[&six], &[4]), "\"t1\" is u16 [3], 6 bytes, got 4");
    assert_eq!(
        refused(&[&six], &[2, 4]),
        "wrong number of output buffers: the model needs 1, got 2"
    );
    assert_eq!(out, [9; 6]);
    let stopped = planned.run_into_while(&[&six], &mut [&mut out], Some(&|| false));
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    planned.run_into_while(&[&six], &mut [&mut out], Some(&|| true)).unwrap();
    assert_eq!(out, [3, 0, 2, 0, 1, 0]);
}

/// The order of the transpose is an input. Other inputs decide nothing.
#[test]
fn a_model_names_the_inputs_whose_elements_decide() {
    let layer = |id: usize, kind: &str, of: &str| {
        format!("<layer id='{id}' name='{kind}{id}' type='{kind}' version='opset1'>{of}</layer>")
    };
    let input = |element: &str, shape: &str| {
        format!("<data shape='{shape}' element_type='{element}'/><output><port id='0'/></output>")
    };
    let result = "<input><port id='0'/></input>";
    let layers = [
        layer(0, "Parameter", &input("u8", "2,3")),
        layer(1, "Parameter", &input("i64", "2")),
        layer(2, "Parameter", &input("i64", "4")),
        layer(
            3,
            "Transpose",
            "<input><port id='0'/><port id='1'/></input><output><port id='2'/></output>",
        ),
        layer(4, "Result", result),
        layer(5, "Result", result),
    ];
    let edges =
        [(0, 0, 3, 0), (1, 0, 3, 1), (3, 2, 4, 0), (2, 0, 5, 0)].map(|(from, out, to, port)| {
            format!(
                "<edge from-layer='{from}' from-port='{out}' to-layer='{to}' to-port='{port}'/>"
            )
        });
    let (layers, edges) = (layers.concat(), edges.concat());
    let xml =
        format!("<net name='n' version='11'><layers>{layers}</layers><edges>{edges}</edges></net>");
    let opened = openvino::read_parts(&xml, &[]).unwrap();
    let order = Data::Bytes([1i64, 0].iter().flat_map(|axis| axis.to_le_bytes()).collect());
    let zeros = [6, 32].map(|bytes| Data::Bytes(vec![0; bytes].into()));
    let shapes = [&[2, 3][..], &[2], &[4]].map(shape);
    let mut given: Vec<Given<'_>> = shapes
        .into_iter()
        .zip([Some(&zeros[0]), Some(&order), Some(&zeros[1])])
        .map(|(shape, data)| Given { shape, data })
        .collect();
    assert_eq!(opened.deciding_inputs(&given).unwrap(), [1]);
    given[0].data = None;
    given[2].data = None;
    assert_eq!(opened.deciding_inputs(&given).unwrap(), [1]);
    given[1].data = None;
    assert!(opened.deciding_inputs(&given).is_err());
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let mut program = Program::new();
    let given = program.given(shape(&[3]), DType::U16).unwrap();
    program.output(given).unwrap();
    let planned = PlannedModel::new(model(program, U16, Vec::new()), None).unwrap();
    let refused = |inputs: &[Data]| planned.run(inputs, &mut |_| ()).unwrap_err().to_string();
    assert_eq!(refused(&[]), "wrong number of inputs: the model takes 1, got 0");
    assert_eq!(
        refused(&[Data::Bytes(Bytes::from_static(&[1, 2]))]),
        "input \"t0\": its shape [3] of u16 is 6 bytes, but it holds 2"
    );
}

#[test]
fn infos_and_constants_must_match_the_program() {
    let mut program = Program::new();
    let given = program.given(shape(&[3]), DType::U16).unwrap();
    program.moved_by(given, Flip::new(&[0])).unwrap();
    let info = |dtype| TensorInfo { element: ElementType::Fixed(dtype), name: String::new() };
    let of = |infos: &[TensorInfo], constants: &[Constant]| {
        ResolvedModel::new(program.clone(), infos.to_vec(), constants.to_vec())
    };
    let constant = |dtype, sizes: &[usize], bytes: &[u8]| Constant {
        element: ElementType::Fixed(dtype),
        shape: shape(sizes),
        data: Data::Bytes(bytes.to_vec().into()),
    };
    let (wide, half) = (DType::U16, DType::F16);
    assert!(of(&[info(wide), info(wide)], &[]).is_ok());
    assert!(of(&[info(wide), info(wide)], &[constant(wide, &[3], &[0; 6])]).is_ok());
    for (infos, constants) in [
        (&[info(wide)][..], &[][..]),
        (&[info(wide), info(half)], &[]),
        (&[info(DType::U8), info(DType::U8)], &[]),
        (&[info(wide), info(wide)], &[constant(wide, &[2], &[0; 4])]),
        (&[info(wide), info(wide)], &[constant(half, &[3], &[0; 6])]),
        (&[info(wide), info(wide)], &[constant(wide, &[3], &[0; 4])]),
        (
            &[info(wide), info(wide)],
            &[constant(wide, &[3], &[0; 6]), constant(wide, &[3], &[0; 6])],
        ),
    ] {
        assert!(of(infos, constants).is_err(), "{infos:?} {constants:?}");
    }
}
