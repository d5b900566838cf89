//! Raw bytes, and element types that .npy does not have.

use crate::npy::{PLAIN, Tensor};
use crate::packed::{DEFAULT_LAYOUTS, OTHER_LAYOUTS};
use crate::refusals::{listed, refused, refused_as_listed};
use crate::results::{CASES, flipped, inverted, rolled};
use crate::{Workdir, is_tried};

/// Returns sizes in the form that `--shape` accepts.
fn sizes(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Runs a command with --verify. The input follows the name of the command.
#[track_caller]
fn moved(dir: &Workdir, input: &str, output: &str, args: &str, described: &str) -> Vec<u8> {
    let (command, rest) = args.split_once(' ').unwrap_or((args, ""));
    let files = format!("{command} {input} -o {output} --force --verify -q");
    dir.run(&format!("{files} {rest} {described}")).done();
    dir.read(output)
}

fn row(bytes: &[u8]) -> Tensor {
    Tensor {
        descr: "'|u1'".to_owned(),
        width: 1,
        shape: vec![bytes.len()],
        bytes: bytes.to_owned(),
    }
}

#[test]
fn every_operator_moves_every_element_of_every_packed_type() {
    for (number, packed) in DEFAULT_LAYOUTS.into_iter().chain(OTHER_LAYOUTS).enumerate() {
        let tensor = packed.noise(&[3, 5, 4]);
        let dir = Workdir::new();
        dir.write("x.bin", &packed.pack(&tensor));
        let order = if number >= DEFAULT_LAYOUTS.len() {
            format!("--bit-order {}", packed.order)
        } else {
            String::new()
        };
        let described = format!("--dtype {} --shape 3,5,4 {order}", packed.dtype);
        let cases = CASES.iter().enumerate().filter(|(other, _)| is_tried(number + other, 3));
        for (_, case) in cases {
            let bytes = moved(&dir, "x.bin", "y.bin", case.args, &described);
            let expected = packed.pack(&(case.moved)(&tensor));
            assert_eq!(bytes, expected, "{packed:?} {:?}", case.args);
        }
    }
}

#[test]
fn element_counts_with_partial_bytes_move_in_raw_and_npy() {
    // Each third of the cases has a shape of several elements.
    let shapes = [&[3, 5, 7][..], &[13], &[64, 65], &[], &[1], &[3, 0, 4]];
    for (number, packed) in DEFAULT_LAYOUTS.into_iter().enumerate() {
        for (other, shape) in shapes.into_iter().enumerate() {
            if !is_tried(number + other, 3) {
                continue;
            }
            let tensor = packed.noise(shape);
            let bytes = packed.pack(&tensor);
            let dir = Workdir::new();
            dir.write("x.bin", &bytes);
            dir.write("x.npy", &row(&bytes).file(PLAIN));
            let sizes = sizes(shape);
            let described = format!("--dtype {} --shape '{sizes}'", packed.dtype);
            let is = |args: &str, expected: &Tensor| {
                let expected = packed.pack(expected);
                for input in ["x.bin", "x.npy"] {
                    let raw = moved(&dir, input, "y.RAW", args, &described);
                    assert_eq!(raw, expected, "{packed:?} {shape:?} {args:?}");
                    let npy = moved(&dir, input, "y.npy", args, &described);
                    assert_eq!(Tensor::read(&npy, 1), row(&expected), "{packed:?} {args:?}");
                }
            };
            is("transpose", &inverted(&tensor));
            if !shape.is_empty() {
                is("flip --axes 0", &flipped(&tensor, &[0]));
                is("roll --shift 2 --axes -1", &{ rolled(&tensor, &[(2, shape.len() - 1)]) });
            }
        }
    }
}

#[test]
fn types_of_whole_bytes_move_between_raw_and_npy() {
    let types = [
        ("boolean", 1, "'|b1'"),
        ("u16", 2, "'<u2'"),
        ("bf16", 2, "'<u2'"),
        ("f16", 2, "'<f2'"),
        ("f8e4m3", 1, "'|u1'"),
        ("f8e5m2", 1, "'|u1'"),
        ("f8e8m0", 1, "'|u1'"),
        ("f32", 4, "'<f4'"),
        ("i64", 8, "'<i8'"),
        ("complex128", 16, "'<c16'"),
        ("bytes3", 3, "'|V3'"),
    ];
    for (number, (dtype, width, descr)) in types.into_iter().enumerate() {
        let tensor = Tensor::noise(descr, width, &[3, 5, 4]);
        let dir = Workdir::new();
        dir.write("x.bin", &tensor.bytes);
        let raw = format!("--dtype {dtype} --shape 3,5,4");
        let cases = CASES.iter().enumerate().filter(|(other, _)| is_tried(number + other, 4));
        for (_, case) in cases {
            let expected = (case.moved)(&tensor);
            assert_eq!(moved(&dir, "x.bin", "y.bin", case.args, &raw), expected.bytes);
            let npy = moved(&dir, "x.bin", "y.npy", case.args, &raw);
            assert_eq!(Tensor::read(&npy, width), expected, "{dtype} {:?}", case.args);
        }
        dir.write("x.npy", &tensor.file(PLAIN));
        for described in [&format!("--dtype {dtype}"), "", "--shape 3,5,4", &raw] {
            let bytes = moved(&dir, "x.npy", "y.raw", "transpose", described);
            assert_eq!(bytes, inverted(&tensor).bytes, "{dtype} {described:?}");
        }
        let json = dir.run(&format!("info x.npy --dtype {dtype} --json")).done().json();
        let name = if dtype == "bytes3" { "V3" } else { dtype };
        assert_eq!(json["tensors"][0]["dtype"], name);
    }
}

#[test]
fn packed_elements_are_streamed() {
    let packed = DEFAULT_LAYOUTS[5];
    let tensor = packed.noise(&[3, 5]);
    let dir = Workdir::new();
    let input = row(&packed.pack(&tensor)).file(PLAIN);
    let described = "--dtype i4 --shape 3,5";
    let run = dir.run_on(&input, &format!("transpose - -o - {described}"));
    let moved = Tensor::read(&run.done().stdout, 1);
    assert_eq!(moved, row(&packed.pack(&inverted(&tensor))));
    dir.run_on(&input, &format!("info - {described}")).done();
}

#[test]
fn reports_count_packed_bytes() {
    let dir = Workdir::new();
    dir.write("x.bin", &[0x21; 8]);
    let described = "--dtype i4 --shape 3,5";
    let run = |args: &str| dir.run(&format!("{args} {described}")).done();
    let info = run("info x.bin --json").json();
    let described_tensor = serde_json::json!({
        "name": "x", "dtype": "i4", "shape": [3, 5], "order": "C", "bytes": 8,
        "descr": "'|u1'", "bit_order": "low-first",
    });
    assert_eq!(info["format"], "raw");
    assert_eq!(info["tensors"][0], described_tensor);
    let text = run("info x.bin").text();
    assert!(text.contains("i4 low-first  [3, 5]  C order, strides [5, 1] elements  8 bytes"));
    let moved = run("transpose x.bin -o y.npy --json --verify").json();
    assert_eq!(moved["outputs"][0]["bytes"], 8);
    assert_eq!(moved["outputs"][0]["shape"], serde_json::json!([5, 3]));
    assert_eq!(moved["outputs"][0]["dtype"], "i4");
    let plan = run("plan transpose x.bin --json").json();
    assert_eq!(plan["tensor"], described_tensor);
    assert_eq!((&plan["bytes_read"], &plan["bytes_written"]), (&8.into(), &8.into()));
}

/// The tests of trundle-formats cover the values of all types.
#[test]
fn packed_elements_are_drawn_by_value() {
    let range = |dtype: &str, order: &str, bytes: &[u8], shape: &str| {
        let dir = Workdir::new();
        dir.write("x.bin", bytes);
        let args = format!("view x.bin --dtype {dtype} --shape '{shape}'");
        let run = dir.run(&format!("{args} {order}")).done();
        run.stderr.split_once(": ").unwrap().1.trim_end().to_owned()
    };
    for (dtype, bytes, shape, drawn) in [
        ("u3", &[0x1b, 0x1b, 0x0f][..], "2,4", "black is 0, white is 7"),
        ("i4", &[0x78], "2", "black is -8, white is 7"),
        ("bf16", &[0, 0x40, 0x40, 0x40], "2", "black is 2, white is 3"),
    ] {
        assert_eq!(range(dtype, "", bytes, shape), drawn, "{dtype}");
    }
    let high_first = range("i4", "--bit-order high-first", &[0x12, 0x30], "3");
    assert_eq!(high_first, "black is 1, white is 3");
}

#[test]
fn raw_bytes_that_do_not_match_their_description_are_refused() {
    let dir = Workdir::new();
    dir.write("x.bin", &[7; 12]);
    dir.write("empty.raw", b"");
    for (args, code, message) in listed(include_str!("refusals/raw.txt")) {
        for command in ["transpose -o y.bin", "plan transpose", "info", "view"] {
            refused(&dir, &format!("{command} {args}"), code, &message);
        }
    }
}

#[test]
fn npy_files_that_do_not_match_their_description_are_refused() {
    let dir = Workdir::with(&[("volume.npy", &Tensor::counting(&[4, 5, 6]))]);
    dir.write("bytes.npy", &Tensor::noise("'|u1'", 1, &[12]).file(PLAIN));
    refused_as_listed(&dir, include_str!("refusals/npy.txt"));
}

#[test]
fn lengths_in_raw_files_are_refused() {
    let dir = Workdir::with(&[("matrix.npy", &Tensor::counting(&[3, 4]))]);
    dir.write("lengths.bin", &[2, 3, 1]);
    let args = "reverse matrix.npy -o y.npy --axis 1 --lengths lengths.bin";
    refused(&dir, args, 2, "lengths.bin: give lengths as a list, an .npy file or a .txt file");
}
