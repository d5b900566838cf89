//! Tests of programs over several files, comparing each element with its origin.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::{options, write_file};
use trundle::{DType, Shape};
use trundle_core::program::{Made, Program, TensorId};
use trundle_disk::{Assembled, Input, Job, PlanOptions, RunOptions, Source, Storage};
use trundle_formats::{
    Annotations, Described, Format, NamedTensor, Order, StoredDType, TensorFile, TensorHint, stage,
};
use trundle_testing::choices::Choices;
use trundle_testing::everything;
use trundle_testing::programs::any_program;

fn noise(seed: usize, bytes: usize) -> Vec<u8> {
    let mut choices = Choices::of(seed as u64);
    (0..bytes).map(|_| choices.below(256) as u8).collect()
}

/// An input of a program, with the little-endian bytes of its elements in row-major order.
struct InputData {
    input: Input,
    bytes: Vec<u8>,
}

fn output<'a>(
    name: &'a str,
    element: StoredDType,
    program: &'a Program,
    tensor: TensorId,
    inputs: &'a [Input],
) -> Assembled<'a> {
    let (chunk, encoding, annotations) = (None, None, Annotations::default());
    Assembled { name, element, program, tensor, inputs, chunk, encoding, annotations }
}

/// Takes elements in row-major order and returns them in the order `order`.
fn as_in_file(shape: &Shape, width: usize, order: Order, bytes: &[u8]) -> Vec<u8> {
    let mut stored = vec![0; bytes.len()];
    for at in 0..shape.elements() {
        let index = shape.unravel(at);
        let step = |number: usize, (i, size): (&usize, &usize)| number * size + i;
        let to = match order {
            Order::RowMajor => at,
            Order::ColumnMajor => index.iter().zip(shape.iter()).rev().fold(0, step),
        };
        stored[to * width..][..width].copy_from_slice(&bytes[at * width..][..width]);
    }
    stored
}

/// Writes a .npy file; `bytes` are little-endian and in row-major order.
fn write_npy(path: &Path, shape: &Shape, order: Order, is_big: bool, bytes: &[u8]) {
    let element = StoredDType::named(if is_big { ">f4" } else { "<f4" }).unwrap();
    let mut stored = as_in_file(shape, 4, order, bytes);
    // Swapping works in both directions.
    element.make_little_endian(&mut stored);
    write_file(path, &[Described::new("x", &element, shape, order)], &[&stored]);
}

/// Random inputs for a program of 4-byte elements: constants, and files in both orders.
fn any_inputs(
    choices: &mut Choices,
    program: &Program,
    folder: &Path,
) -> (Vec<InputData>, Vec<PathBuf>) {
    let (mut inputs, mut files) = (Vec::new(), Vec::new());
    for tensor in program.tensors() {
        let Made::Given(number) = tensor.made else { continue };
        let bytes = noise(number, 4 * tensor.shape.elements());
        if choices.below(4) == 0 {
            inputs.push(InputData { input: Input::Constant(bytes.clone().into()), bytes });
            continue;
        }
        let path = folder.join(format!("in{number}.npy"));
        let order = [Order::RowMajor, Order::ColumnMajor][choices.below(2)];
        write_npy(&path, &tensor.shape, order, choices.below(3) == 0, &bytes);
        inputs.push(InputData { input: Input::Tensor { file: files.len(), index: 0 }, bytes });
        files.push(path);
    }
    (inputs, files)
}

/// Returns the bytes of a tensor, from the origins of its elements.
fn expected(program: &Program, tensor: TensorId, inputs: &[InputData]) -> Vec<u8> {
    let element = |at: usize| {
        let (source, at) = program.origin(tensor, at);
        match &program.tensor(source).made {
            Made::Given(number) => inputs[*number].bytes[4 * at..][..4].to_vec(),
            Made::Fill(element) => element.clone(),
            Made::Moved { .. } | Made::Joined { .. } => unreachable!("no origin"),
        }
    };
    (0..program.tensor(tensor).shape.elements()).flat_map(element).collect()
}

#[test]
fn every_output_element_equals_its_origin() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count =
        |kind: &'static str, is: bool| *seen.entry(kind).or_default() += usize::from(is);
    for seed in 0..if everything() { 20_000 } else { 1800 } {
        let mut choices = Choices::of(seed);
        let program = any_program(&mut choices, 4.into());
        let tensor = program.outputs()[choices.below(3)];
        let folder = tempfile::tempdir().unwrap();
        let (inputs, paths) = any_inputs(&mut choices, &program, folder.path());
        let mut files: Vec<TensorFile> =
            paths.iter().map(|path| TensorFile::open(path).unwrap()).collect();
        let given: Vec<Input> = inputs.iter().map(|given| given.input.clone()).collect();
        let (element, to) = (StoredDType::new(DType::F32), folder.path().join("out.npy"));
        let output = output("out", element, &program, tensor, &given);
        let options = PlanOptions {
            max_bytes: [40, 100, 400, 1000, 4000, 20 << 20][choices.below(6)] * 2,
            storage: Some([Storage::SSD, Storage::HDD, Storage::NETWORK][choices.below(3)]),
            threads: Some(1 + choices.below(2)),
            ..PlanOptions::default()
        };
        let opened: Vec<&TensorFile> = files.iter().collect();
        let format = Format::of(&to).unwrap();
        let job = match Job::assembled(&opened, &[output], format, &[], &options) {
            Ok(job) => job,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("of memory are needed"), "seed {seed}: {text}");
                assert!(options.max_bytes < 10_000, "seed {seed}: {text}");
                continue;
            }
        };
        let plan = format!("{job:?}");
        let tiles = job.tensors()[0].tiles();
        count("in tiles", tiles.iter().any(|(tiles, _, _)| *tiles > 1));
        count("in several passes", tiles.len() > 1);
        let sources = files.iter_mut().zip(&paths);
        let mut sources: Vec<Source<'_>> =
            sources.map(|(file, path)| Source { file, path }).collect();
        let options = RunOptions { verify: choices.below(2) == 0, ..RunOptions::default() };
        let done = job.run(&mut sources, &to, options, &());
        assert!(done.is_ok(), "seed {seed}: {}\n{plan}", done.unwrap_err());
        let found = TensorFile::open(&to).unwrap().load(0, &mut |_| ()).unwrap();
        assert!(found == expected(&program, tensor, &inputs), "seed {seed}: {plan}");
    }
    for (kind, least) in [("in tiles", 200), ("in several passes", 5)] {
        assert!(seen[kind] > least, "{kind}: {seen:?}");
    }
}

/// A program that joins two files and a constant along the last axis and rolls the result.
fn stripes(rows: usize, columns: usize) -> (Program, TensorId) {
    let mut program = Program::new();
    let shape = Shape::new([rows, columns]).unwrap();
    let given = [0; 2].map(|_| program.given(shape.clone(), DType::U4).unwrap());
    let fill = program.fill(DType::U4, &[5]).unwrap();
    let fill = program.broadcast(fill, &Shape::new([rows, 3]).unwrap()).unwrap();
    let joined = program.joined(1, &[given[0], fill, given[1], given[0]]).unwrap();
    let rolled = trundle::ops::Roll::new(&[7, -11], &[0, 1]);
    let rolled = program.moved_by(joined, rolled).unwrap();
    let turned = program.moved_by(rolled, trundle::ops::Transpose::new(&[])).unwrap();
    program.output(turned).unwrap();
    (program, turned)
}

#[test]
fn packed_elements_of_several_files_and_a_fill_are_joined() {
    let (program, tensor) = stripes(41, 53);
    let folder = tempfile::tempdir().unwrap();
    let shape = &program.tensor(TensorId(0)).shape;
    let (element, packing) = (StoredDType::new(DType::U4), DType::U4.packing().unwrap());
    let bytes = [3, 19].map(|seed| {
        let mut bytes = noise(seed, packing.bytes(shape.elements()));
        *bytes.last_mut().unwrap() &= 15;
        bytes
    });
    let paths = ["a", "b"].map(|name| folder.path().join(format!("{name}.bin")));
    for (path, bytes) in paths.iter().zip(&bytes) {
        let tensor = NamedTensor { name: "x", element: &element, shape, bytes };
        stage(path, &[tensor], &[], false, &mut |_| ()).unwrap().finish().unwrap();
    }
    let inputs = [0, 1].map(|file| Input::Tensor { file, index: 0 });
    let to = folder.path().join("out.bin");
    let out_shape = &program.tensor(tensor).shape;
    for max_bytes in [700, 3000, 1 << 20] {
        let hint = TensorHint::of(&element, shape);
        let mut files = paths.each_ref().map(|path| TensorFile::open_as(path, &hint).unwrap());
        let output = output("x", element.clone(), &program, tensor, &inputs);
        let opened: Vec<&TensorFile> = files.iter().collect();
        let (format, planning) = (Format::of(&to).unwrap(), options(max_bytes, Storage::SSD));
        let job = Job::assembled(&opened, &[output], format, &[], &planning).unwrap();
        let sources = files.iter_mut().zip(&paths);
        let mut sources: Vec<Source<'_>> =
            sources.map(|(file, path)| Source { file, path }).collect();
        let options = RunOptions { verify: true, overwrite: true, resume: false };
        job.run(&mut sources, &to, options, &()).unwrap();
        let found = std::fs::read(&to).unwrap();
        for at in 0..out_shape.elements() {
            let (source, element) = program.origin(tensor, at);
            let code = match program.tensor(source).made {
                Made::Given(number) => packing.get(&bytes[number], element),
                _ => 5,
            };
            assert_eq!(packing.get(&found, at), code, "{max_bytes}, element {at}");
        }
    }
}

#[test]
fn inputs_that_contradict_the_program_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
    write_npy(&path, &shape(&[2, 3]), Order::RowMajor, false, &noise(0, 24));
    let file = TensorFile::open(&path).unwrap();
    let refused = |sizes: &[usize], dtype: DType, width: DType, input: Input| {
        let mut program = Program::new();
        let given = program.given(shape(sizes), width).unwrap();
        program.output(given).unwrap();
        let inputs = [input];
        let output = output("out", StoredDType::new(dtype), &program, given, &inputs);
        let options = PlanOptions { max_bytes: 1 << 20, ..PlanOptions::default() };
        let format = Format::of(&path).unwrap();
        Job::assembled(&[&file], &[output], format, &[], &options)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let (f32, tensor) = (DType::F32, || Input::Tensor { file: 0, index: 0 });
    let constant = |bytes: usize| Input::Constant(vec![0; bytes].into());
    assert_eq!(refused(&[2, 3], f32, f32, tensor()), Ok(()));
    assert_eq!(refused(&[2, 3], f32, f32, constant(24)), Ok(()));
    for (refused, reason) in [
        (refused(&[3, 2], f32, f32, tensor()), "must have shape [3, 2], got [2, 3]"),
        (refused(&[2, 3], DType::I32, f32, tensor()), "must have element type i32, got f32"),
        (
            refused(&[2, 3], f32, DType::F64, tensor()),
            "elements of 8 bytes are expected, got 4 bytes",
        ),
        (refused(&[2, 3], f32, f32, constant(20)), "must have the same length, got 20 and 24"),
    ] {
        let text = refused.unwrap_err();
        assert!(text.starts_with("out: ") && text.contains(reason), "{text}");
    }
}
