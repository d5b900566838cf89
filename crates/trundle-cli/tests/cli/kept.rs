//! Tensors that `--tensor` does not select, and the metadata of the file.

use crate::npy::{self, PLAIN, Style, Tensor};
use crate::refusals::{refused, refused_as_listed};
use crate::results::{flipped, inverted};
use crate::safetensors::{Named, file};
use crate::{Workdir, npz};

const FORTRAN: Style = Style { version: 1, fortran: true };

/// Three tensors of different types, and metadata with the axes of two of them.
struct Model {
    a: Tensor,
    b: Tensor,
    c: Tensor,
}

const RECORD: &str = r#"{"a":"h w","b":"o i"}"#;

impl Model {
    fn new() -> Model {
        let (a, b) = (Tensor::noise("", 4, &[3, 5]), Tensor::noise("", 2, &[4, 3]));
        Model { a, b, c: Tensor::noise("", 1, &[7]) }
    }

    /// Tensors are not ordered by name.
    fn file(&self, b: &Tensor, metadata: &[(&str, &str)]) -> Vec<u8> {
        let tensors = [
            Named::new("c", "U8", &self.c),
            Named::new("b", "BF16", b),
            Named::new("a", "F32", &self.a),
        ];
        file(metadata, &tensors)
    }
}

#[test]
fn every_command_keeps_tensors_that_are_not_selected() {
    let model = Model::new();
    let record = [("format", "pt"), ("trundle.axes", RECORD), ("z", " ")];
    let without = [("format", "pt"), ("trundle.axes", r#"{"a":"h w"}"#), ("z", " ")];
    let flipped_b = flipped(&model.b, &[0]);
    let turned = inverted(&model.b);
    let (flip, turn) = (model.file(&flipped_b, &record), model.file(&turned, &without));
    let commands: [(&str, &Vec<u8>); 6] = [
        ("flip m.safetensors --axes 0", &flip),
        ("apply m.safetensors flip(axes=[0])", &flip),
        ("reverse m.safetensors --axis 0 --lengths 4,4,4", &flip),
        ("transpose m.safetensors", &turn),
        ("apply m.safetensors 'o i -> i o'", &turn),
        ("flip m.safetensors --axes 0 --json", &flip),
    ];
    for (args, expected) in commands {
        let dir = Workdir::new();
        dir.write("m.safetensors", &model.file(&model.b, &record));
        let rest = "--tensor b -o m.safetensors --force --verify";
        dir.run(&format!("{args} {rest}")).done();
        assert!(dir.read("m.safetensors") == **expected, "{args:?}");
        assert_eq!(dir.contents().len(), 1, "{args:?}");
    }
    let dir = Workdir::new();
    dir.write("m.safetensors", &model.file(&model.b, &record));
    let roll = "roll m.safetensors --shift 0,3 --axes 0,1 --tensor b";
    let run = dir.run(&format!("{roll} -o n.safetensors")).done();
    assert!(dir.read("n.safetensors") == model.file(&model.b, &record));
    run.says("n.safetensors: 3 tensors, 2 copied unchanged,");
    run.says("n.safetensors: b bf16 [4,3], 24 bytes\n");
}

#[test]
fn members_of_an_archive_are_kept_with_their_order_and_their_types() {
    let dir = Workdir::new();
    let (a, b) = (Tensor::noise("'>i2'", 2, &[3, 5]), Tensor::noise("'<U3'", 12, &[2, 2]));
    let c = Tensor::noise("'<f8'", 8, &[4, 3]);
    let kept = [("a.npy", a.file(FORTRAN)), ("sub/b.npy", b.file(PLAIN)), ("c.npy", c.file(PLAIN))];
    dir.write("m.npz", &npz::archive(&kept));
    let args = "flip m.npz --axes 0 --tensor c -o m.npz --force";
    let run = dir.run(&format!("{args} --row-major --verify --json")).done();
    let written = npz::members(&dir.read("m.npz"));
    assert_eq!(written.len(), 3);
    let names: Vec<&str> = written.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["a.npy", "sub/b.npy", "c.npy"]);
    assert_eq!(Tensor::read(&written[0].1, 2), a);
    assert!(String::from_utf8_lossy(&written[0].1).contains("'fortran_order': True"));
    assert_eq!(Tensor::read(&written[1].1, 12), b);
    assert_eq!(Tensor::read(&written[2].1, 8), flipped(&c, &[0]));
    let outputs = run.json()["outputs"].clone();
    let outcome = |index: usize| (outputs[index]["name"].clone(), outputs[index]["kept"] == true);
    assert_eq!(
        [0, 1, 2].map(outcome),
        [("a".into(), true), ("sub/b".into(), true), ("c".into(), false)]
    );
}

#[test]
fn only_drops_other_tensors_and_their_recorded_axes() {
    let model = Model::new();
    let dir = Workdir::new();
    dir.write("m.safetensors", &model.file(&model.b, &[("x", "1"), ("trundle.axes", RECORD)]));
    let args = "flip m.safetensors --axes 0 --only -o out.safetensors";
    let run = dir.run(&format!("{args} --tensor [bc]")).done();
    let (b, c) = (flipped(&model.b, &[0]), flipped(&model.c, &[0]));
    let tensors = [Named::new("c", "U8", &c), Named::new("b", "BF16", &b)];
    let record = [("x", "1"), ("trundle.axes", r#"{"b":"o i"}"#)];
    assert!(dir.read("out.safetensors") == file(&record, &tensors));
    run.says("; 1 tensor left out");
    refused(&dir, "flip m.safetensors --axes 0 --only -o x.safetensors", 2, "--tensor");
}

#[test]
fn formats_of_one_tensor_get_the_selected_tensor() {
    let model = Model::new();
    let dir = Workdir::new();
    dir.write("m.safetensors", &model.file(&model.b, &[]));
    let to = |name: &'static str, output: &'static str| {
        format!("flip m.safetensors --axes 0 --tensor {name} -o {output}")
    };
    let run = dir.run(&to("a", "a.npy")).done();
    assert!(dir.read("a.npy").ends_with(&flipped(&model.a, &[0]).bytes));
    run.says("; 2 tensors left out");
    dir.run(&to("[b]", "one.bin")).done();
    assert!(dir.read("one.bin") == flipped(&model.b, &[0]).bytes);
    let report = dir.run(&format!("{} --json", to("c", "c.npy"))).done().json();
    assert_eq!(report["left_out"], 2);
    let two = "npy holds one tensor, got 2: b, a\nhint: --tensor NAME";
    refused(&dir, &to("[ab]", "x.npy"), 2, two);
    let none = "no tensor is named \"none\"; the file has c, b, a";
    refused(&dir, &to("none", "x.npy"), 3, none);
    refused(&dir, &to("x*", "x.safetensors"), 3, &none.replace("none", "x*"));
}

#[test]
fn an_exact_tensor_name_takes_precedence_over_a_pattern() {
    let (one, two) = (Tensor::noise("", 1, &[3]), Tensor::noise("", 1, &[3]));
    let (w, star) = (Named::new("p['w']", "U8", &one), Named::new("pw", "U8", &two));
    let (dir, moved) = (Workdir::new(), flipped(&one, &[0]));
    dir.write("m.safetensors", &file(&[], &[w, star.clone()]));
    let args =
        ["flip", "m.safetensors", "--axes", "0", "--tensor", "p['w']", "-o", "x.safetensors"];
    dir.run(&args).done();
    let expected = file(&[], &[Named::new("p['w']", "U8", &moved), star]);
    assert!(dir.read("x.safetensors") == expected);
}

#[test]
fn tensors_that_a_format_cannot_hold_are_refused_with_a_hint() {
    let dir = Workdir::new();
    let (a, b) = (Tensor::noise("'<U3'", 12, &[2]), Tensor::noise("'<f4'", 4, &[2]));
    let members = [("a.npy", a.file(PLAIN)), ("b.npy", b.file(PLAIN))];
    dir.write("m.npz", &npz::archive(&members));
    let to = "flip m.npz --axes 0 --tensor b -o x.safetensors";
    refused(&dir, to, 2, "cannot hold tensor \"a\"[..]--only leaves out the tensors that");
    dir.run(&format!("{to} --only")).done();
    let moved = flipped(&b, &[0]);
    assert!(dir.read("x.safetensors") == file(&[], &[Named::new("b", "F32", &moved)]));
}

/// Python objects as `numpy.save` writes them: a pickle.
fn objects() -> Vec<u8> {
    let text = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }";
    [npy::header(1, text), b"\x80\x04N.".to_vec()].concat()
}

#[test]
fn unreadable_members_are_listed_and_hide_no_others() {
    let dir = Workdir::new();
    let a = Tensor::noise("'<f4'", 4, &[2, 3]);
    let members =
        [("o.npy", objects()), ("a.npy", a.file(PLAIN)), ("notes.txt", b"hello".to_vec())];
    dir.write("m.npz", &npz::archive(&members));
    let run = dir.run("info m.npz").done();
    run.prints("\n  a  f32  [2, 3]  C order");
    run.prints("\n  o  cannot be read: elements of type object");
    run.prints("\n  notes.txt  cannot be read: is not an .npy file");
    let report = dir.run("info m.npz --json").done().json();
    assert_eq!(report["tensors"].as_array().unwrap().len(), 1);
    assert_eq!(report["unreadable"][0]["name"], "o");
    assert_eq!(report["unreadable"][1]["name"], "notes.txt");
    dir.run("flip m.npz --axes 0 --tensor a -o a.npy").done();
    assert!(dir.read("a.npy").ends_with(&flipped(&a, &[0]).bytes));
    refused_as_listed(&dir, include_str!("refusals/unreadable.txt"));
    dir.run("flip m.npz --axes 0 --tensor * --only -o x.npz").done().says("; 2 tensors left out");
    let written = npz::members(&dir.read("x.npz"));
    assert_eq!(written.len(), 1);
    assert!(written[0].1.ends_with(&flipped(&a, &[0]).bytes));
}

#[test]
fn metadata_that_the_output_cannot_hold_is_named() {
    let model = Model::new();
    let dir = Workdir::new();
    dir.write(
        "m.safetensors",
        &file(
            &[("format", "pt"), ("trundle.axes", r#"{"a":"h w"}"#)],
            &[Named::new("a", "F32", &model.a)],
        ),
    );
    let to = |output: &'static str| format!("flip m.safetensors --axes 0 -o {output} --force");
    for output in ["x.npz", "x.npy", "x.bin"] {
        for more in ["", "--quiet"] {
            let run = dir.run(&format!("{} {more}", to(output))).done();
            let expected = format!(
                "warning: {output}: the format stores no metadata; left out: format, trundle.axes; "
            );
            assert!(run.stderr.starts_with(&expected), "{run:?}");
        }
    }
    let report = dir.run(&format!("{} --json", to("x.npz"))).done().json();
    assert_eq!(report["metadata_left_out"], serde_json::json!(["format", "trundle.axes"]));
    // The recorded axes of a transposed tensor are not reported as lost, because they would be wrong.
    let run = dir.run("transpose m.safetensors -o y.npz").done();
    run.says("left out: format\n");
    let run = dir.run(&to("x.safetensors")).done();
    assert!(!run.stderr.contains("warning"), "{run:?}");
}

#[test]
fn a_plan_names_moved_tensors_and_counts_copied_bytes() {
    let model = Model::new();
    let dir = Workdir::new();
    dir.write("m.safetensors", &model.file(&model.b, &[]));
    let plan = |more: &str| {
        let args = "plan flip m.safetensors --axes 0 --tensor b --json";
        dir.run(&format!("{args} {more}")).done().json()
    };
    let all = (model.a.bytes.len() + model.b.bytes.len() + model.c.bytes.len()) as u64;
    assert_eq!(plan("")["tensor"]["name"], "b");
    assert_eq!(plan("")["files"]["bytes_read"], all);
    assert_eq!(plan("--only")["files"]["bytes_read"], model.b.bytes.len() as u64);
}

#[test]
fn kept_tensors_larger_than_the_memory_limit_are_copied() {
    let dir = Workdir::new();
    let (a, b) = (Tensor::noise("", 4, &[512, 1500]), Tensor::noise("", 2, &[1024, 1500]));
    let of =
        |b: &Tensor| file(&[("x", "y")], &[Named::new("a", "F32", &a), Named::new("b", "F16", b)]);
    dir.write("m.safetensors", &of(&b));
    let args = "flip m.safetensors --axes 0 --tensor b -o m.safetensors";
    dir.run(&format!("{args} --force --verify --max-mem 2M")).done();
    let row = 2 * 1500;
    let bytes = b.bytes.chunks(row).rev().flatten().copied().collect();
    assert!(dir.read("m.safetensors") == of(&Tensor { bytes, ..b }));
}
