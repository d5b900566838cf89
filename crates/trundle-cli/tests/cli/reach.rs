//! Formats detected from the content, and options for the format, type, shape and order.

use crate::npy::{PLAIN, Style, Tensor};
use crate::refusals::refused_as_listed;
use crate::results::{flipped, inverted};
use crate::safetensors::{Named, file};
use crate::{Workdir, npz};

fn model(tensor: &Tensor) -> Vec<u8> {
    file(&[], &[Named::new("t", "U8", tensor)])
}

#[test]
fn missing_files_and_folders_are_reported_as_such() {
    let dir = Workdir::new();
    dir.write("text.dat", b"some text, and no tensor");
    dir.write("old.npy", b"an output that exists");
    refused_as_listed(&dir, include_str!("refusals/missing.txt"));
}

#[test]
fn the_content_decides_the_format_if_the_extension_does_not() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'|u1'", 1, &[3, 4]);
    let npy = tensor.file(PLAIN);
    dir.write("a.img", &npy);
    dir.write("b", &npz::archive(&[("t.npy", npy.clone())]));
    dir.write("c.st", &model(&tensor));
    dir.write("d.dat", &tensor.bytes);
    dir.write("e.npy", &tensor.bytes);
    dir.write("f.hdr", &[&[7; 20][..], &tensor.bytes, &[9; 5]].concat());
    let raw = "--dtype uint8 --shape 3x4";
    let offset = format!("{raw} --offset 20");
    for (input, described, format) in [
        ("a.img", "", "npy"),
        ("a.img", raw, "npy"),
        ("b", "", "npz"),
        ("c.st", "", "safetensors"),
        ("d.dat", raw, "raw"),
        ("e.npy", "--from raw --dtype u8 --shape 3,4", "raw"),
        ("f.hdr", &offset, "raw"),
    ] {
        let report = dir.run(&format!("info {input} --json {described}")).done().json();
        assert_eq!(report["format"], format, "{input}");
        dir.run(&format!("flip {input} --axes 1 --verify -o x.raw --force {described}")).done();
        assert!(dir.read("x.raw") == flipped(&tensor, &[1]).bytes, "{input}");
        // Every format except archives, which are read from their end, can be read from a pipe.
        let bytes = dir.read(input);
        let from =
            |stdin: &'static str| format!("flip {stdin} --axes 1 -o x.raw --force {described}");
        let run = dir.run_on(&bytes, &from("-"));
        if format == "npz" {
            assert!(run.stderr.contains("it must be a file, not a stream"), "{run:?}");
            continue;
        }
        run.done();
        assert!(dir.read("x.raw") == flipped(&tensor, &[1]).bytes, "{input}");
        if cfg!(target_os = "linux") {
            dir.run_on(&bytes, &from("/dev/stdin")).done();
            assert!(dir.read("x.raw") == flipped(&tensor, &[1]).bytes, "{input}");
        }
        let info = dir.run_on(&bytes, &format!("info - --json {described}")).done();
        assert_eq!(info.json()["format"], format, "{input}");
    }
    dir.run_on(b"short", &format!("info - {raw}"))
        .refused(3, "stdin: truncated: the data should have 12 bytes, but has 5");
}

#[test]
fn an_output_has_the_requested_format() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'|u1'", 1, &[3, 4]);
    let moved = flipped(&tensor, &[0]);
    dir.write("t.dat", &tensor.bytes);
    let flip = |rest: &str| format!("flip t.dat --dtype u8 --shape 3,4 --axes 0 {rest}");
    dir.run(&flip("-o x --to safetensors")).done();
    assert_eq!(dir.run("info x --json").done().json()["format"], "safetensors");
    dir.run(&flip("-o x.npz --to npy --verify")).done();
    assert_eq!(Tensor::read(&dir.read("x.npz"), 1), moved);
    let run = dir.run(&flip("-o - --to raw")).done();
    assert!(run.stdout == moved.bytes);
    // An output with the extension of the input has the format of the input, also if it replaces the input.
    dir.run(&flip("-o t.dat --force --verify")).done();
    assert!(dir.read("t.dat") == moved.bytes);
    dir.run("relayout x --rule '*: a b -> b a' --to safetensors -o y").done();
    assert_eq!(dir.run("info y --json").done().json()["tensors"][0]["shape"][0], 4);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_and_pipes_are_inputs_and_outputs() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<f4'", 4, &[3, 4]);
    let bytes = tensor.file(PLAIN);
    dir.write("t.npy", &bytes);
    dir.run("flip t.npy --axes 0 -o /dev/null").done();
    let run = dir.run("flip t.npy --axes 0 -o /dev/stdout").done();
    assert_eq!(Tensor::read(&run.stdout, 4), flipped(&tensor, &[0]));
    let info = dir.run_on(&bytes, "info /dev/fd/0 --json").done().json();
    assert_eq!(info["tensors"][0]["shape"], serde_json::json!([3, 4]));
    crate::refusals::refused(&dir, "info /dev/null", 3, "/dev/null: truncated");
}

#[cfg(unix)]
#[test]
fn a_closed_output_pipe_ends_the_program_silently() {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;

    const SIGPIPE: i32 = 13;
    let dir = Workdir::with(&[("t.npy", &Tensor::noise("'<u2'", 2, &[1000, 1000]))]);
    for args in ["flip t.npy --axes 0 -o -", "flip t.npy --axes 0 -o - --to raw", "view t.npy -o -"]
    {
        let args: Vec<&str> = args.split(' ').collect();
        let mut child = dir.command(&args).spawn().unwrap();
        // The reader stops after one byte, like `head -c 1`.
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stderr, b"", "{:?}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.signal(), Some(SIGPIPE));
    }
}

/// The tests of trundle-formats cover all names.
#[test]
fn type_names_of_other_libraries_are_accepted() {
    let dir = Workdir::new();
    let bytes: Vec<u8> = (0..48).collect();
    dir.write("x.bin", &bytes);
    for (name, dtype, descr, count) in [
        (">f4", "f32", "'>f4'", "12"),
        ("bfloat16", "bf16", "'<u2'", "24"),
        ("int4", "i4", "'|u1'", "96"),
        ("<U3", "U3", "'<U3'", "4"),
    ] {
        let described = format!("--dtype {name} --shape {count}");
        let report = dir.run(&format!("info x.bin --json {described}")).done();
        let tensor = report.json()["tensors"][0].clone();
        assert_eq!((&tensor["dtype"], &tensor["descr"]), (&dtype.into(), &descr.into()), "{name}");
        dir.run(&format!("roll x.bin --shift 0 --axes 0 -o y.npy --force {described}")).done();
        let text = dir.read("y.npy");
        assert!(String::from_utf8_lossy(&text).contains(&format!("'descr': {descr}")), "{name}");
        assert!(text.ends_with(&bytes), "{name}");
    }
    dir.write("little.npy", &Tensor::noise("'<f4'", 4, &[3]).file(PLAIN));
    refused_as_listed(&dir, include_str!("refusals/types.txt"));
}

#[test]
fn one_axis_size_of_raw_bytes_is_inferred() {
    let dir = Workdir::new();
    dir.write("x.bin", &[7; 48]);
    dir.write("volume.npy", &Tensor::counting(&[2, 3, 4]).file(PLAIN));
    dir.write("bytes.npy", &Tensor::noise("'|u1'", 1, &[12]).file(PLAIN));
    for (file, described, shape) in [
        ("x.bin", "--dtype f32 --shape 3,-1", &[3, 4][..]),
        ("x.bin", "--dtype f32 --shape -1x2x2", &[3, 2, 2]),
        ("x.bin", "--dtype i4 --shape -1", &[96]),
        ("x.bin", "--dtype f32 --shape '[3, -1]' --offset 5", &[3, 3]),
        ("x.bin", "--dtype u8 --shape (48,)", &[48]),
        ("volume.npy", "--shape 2,-1,4", &[2, 3, 4]),
        ("bytes.npy", "--dtype i4 --shape 6,-1", &[6, 4]),
    ] {
        let report = dir.run(&format!("info {file} --json {described}")).done().json();
        assert_eq!(report["tensors"][0]["shape"], serde_json::json!(shape), "{described:?}");
    }
    refused_as_listed(&dir, include_str!("refusals/sizes.txt"));
    let run = dir.run_on(&[0; 48], "info - --dtype f32 --shape 3,-1");
    assert!(run.stderr.contains("stdin: is a stream"), "{run:?}");
}

#[test]
fn types_of_ml_dtypes_are_read_with_the_given_dtype() {
    let dir = Workdir::new();
    let npy = |descr: &str, bytes: &[u8]| {
        let width = if descr == "'<V2'" { 2 } else { 1 };
        let shape = vec![2, bytes.len() / width / 2];
        Tensor { descr: descr.to_owned(), width, shape, bytes: bytes.to_vec() }.file(PLAIN)
    };
    let bytes: Vec<u8> = (1..13).collect();
    dir.write("bf.npy", &npy("'<V2'", &bytes));
    dir.write("e4.npy", &npy("'<V1'", &bytes));
    dir.write("e5.npy", &npy("'<f1'", &bytes));
    for (input, dtype, name) in [
        ("bf.npy", "bf16", "BF16"),
        ("e4.npy", "f8e4m3", "F8_E4M3"),
        ("e4.npy", "float8_e8m0fnu", "F8_E8M0"),
        ("e5.npy", "f8e5m2", "F8_E5M2"),
    ] {
        let to = format!("flip {input} --axes 0 --force --verify --dtype {dtype} -o");
        dir.run(&format!("{to} x.safetensors")).done();
        let written = dir.read("x.safetensors");
        let header = String::from_utf8_lossy(&written).into_owned();
        assert!(header.contains(&format!("\"dtype\":\"{name}\"")), "{header}");
        let half = bytes.len() / 2;
        assert!(written.ends_with(&[&bytes[half..], &bytes[..half]].concat()), "{input}");
        // The output keeps the type of the header.
        dir.run(&format!("{to} x.npy")).done();
        let descr = if input == "e5.npy" {
            "<f1"
        } else if input == "bf.npy" {
            "|V2"
        } else {
            "|V1"
        };
        let header = String::from_utf8_lossy(&dir.read("x.npy")).into_owned();
        assert!(header.contains(&format!("'descr': '{descr}'")), "{header}");
    }
    refused_as_listed(&dir, include_str!("refusals/ml_dtypes.txt"));
}

#[test]
fn axis_orders_are_parsed_or_refused() {
    let dir = Workdir::new();
    let tensor = Tensor::counting(&[2, 3, 4]);
    dir.write("v.npy", &tensor.file(Style { version: 1, fortran: true }));
    for order in ["2,1,0", "[2,1,0]", "(2, 1, 0)", "[]"] {
        for option in ["--order", "--axes"] {
            dir.run(&format!("transpose v.npy {option} '{order}' -o x.npy --force")).done();
            assert_eq!(Tensor::read(&dir.read("x.npy"), 2), inverted(&tensor));
        }
    }
    refused_as_listed(&dir, include_str!("refusals/orders.txt"));
}

#[test]
fn one_length_stands_for_all() {
    let tensor = Tensor::counting(&[2, 3, 4]);
    let dir = Workdir::with(&[("v.npy", &tensor), ("m.npy", &Tensor::counting(&[3, 0]))]);
    for (one, all) in [
        ("--axis 2 --lengths 3", "--axis 2 --lengths 3,3,3,3,3,3"),
        ("--axis -3 --lengths 9", "--axis 0 --lengths 9,9,9,9,9,9,9,9,9,9,9,9"),
        ("--axis 1 --batch-axis -1 --lengths 2", "--axis 1 --batch-axis 2 --lengths 2,2,2,2"),
    ] {
        for (lengths, output) in [(one, "one.npy"), (all, "all.npy")] {
            dir.run(&format!("reverse v.npy -o {output} --force --verify {lengths}")).done();
        }
        assert!(dir.read("one.npy") == dir.read("all.npy"), "{one:?}");
        assert!(dir.read("one.npy") != dir.read("v.npy"), "{one:?}");
    }
    dir.run("reverse m.npy --axis 0 --lengths 2 -o n.npy").done();
    dir.run("plan reverse v.npy --axis 2 --lengths 3").done();
    refused_as_listed(&dir, include_str!("refusals/one_length.txt"));
}
