//! `trundle relayout`: rules for axes, the resulting moves, recorded axes, and errors.

use crate::npy::{PLAIN, Tensor};
use crate::packed::DEFAULT_LAYOUTS;
use crate::refusals::{refused, refused_as_listed};
use crate::safetensors::{Named, file};
use crate::{Run, Workdir};

/// Axis `i` is axis `order[i]` of `tensor`.
fn transposed(tensor: &Tensor, order: &[usize]) -> Tensor {
    let shape: Vec<usize> = order.iter().map(|axis| tensor.shape[*axis]).collect();
    tensor.gather(&shape, |index| {
        let mut source = vec![0; index.len()];
        order.iter().zip(index).for_each(|(axis, i)| source[*axis] = *i);
        source
    })
}

/// The weights [o, i, h, w] of two convolutions, and a bias.
struct Model {
    conv1: Tensor,
    conv2: Tensor,
    bias: Tensor,
}

impl Model {
    fn new() -> Model {
        Model {
            conv1: Tensor::noise("", 4, &[4, 3, 2, 5]),
            conv2: Tensor::noise("", 2, &[3, 4, 1, 2]),
            bias: Tensor::noise("", 4, &[4]),
        }
    }

    fn with_order(&self, order: &[usize]) -> Model {
        let (conv1, conv2) = (transposed(&self.conv1, order), transposed(&self.conv2, order));
        Model { conv1, conv2, bias: self.bias.clone() }
    }

    /// Tensors are ordered neither by name nor by type.
    fn file(&self, metadata: &[(&str, &str)]) -> Vec<u8> {
        file(
            metadata,
            &[
                Named::new("conv2.weight", "BF16", &self.conv2),
                Named::new("bias", "F32", &self.bias),
                Named::new("conv1.weight", "F32", &self.conv1),
            ],
        )
    }
}

const RULE: &str = "conv*.weight: o i h w -> o h w i";
const INVERSE: &str = "conv*.weight: o h w i -> o i h w";
const RECORD: &str = r#"{"conv1.weight":"o h w i","conv2.weight":"o h w i"}"#;

fn relayout(dir: &Workdir, from: &str, rules: &[&str], to: &str) -> Run {
    let mut args = vec!["relayout", from, "-o", to, "--force"];
    rules.iter().for_each(|rule| args.extend(["--rule", rule]));
    dir.run(&args)
}

#[test]
fn a_rule_moves_the_tensors_it_names_and_the_output_records_their_axes() {
    let (dir, model) = (Workdir::new(), Model::new());
    dir.write("in.safetensors", &model.file(&[("z", "1"), ("format", "pt")]));
    let run = relayout(&dir, "in.safetensors", &[RULE], "out.safetensors").done();
    let moved = model.with_order(&[0, 2, 3, 1]);
    let metadata = [("z", "1"), ("format", "pt"), ("trundle.axes", RECORD)];
    assert!(dir.read("out.safetensors") == moved.file(&metadata));
    assert_eq!(run.text(), "");
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines[0], "  conv2.weight  bf16  o i h w [3, 4, 1, 2] -> o h w i [3, 1, 2, 4]");
    assert_eq!(lines[1], "  conv1.weight  f32  o i h w [4, 3, 2, 5] -> o h w i [4, 2, 5, 3]");
    assert!(lines[2].starts_with("out.safetensors: 2 tensors moved, 1 copied in 1 pass, "));
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_second_run_changes_nothing_and_the_inverse_rule_undoes_it() {
    let (dir, model) = (Workdir::new(), Model::new());
    dir.write("in.safetensors", &model.file(&[]));
    relayout(&dir, "in.safetensors", &[RULE], "out.safetensors").done();
    let once = dir.read("out.safetensors");
    let spaced = "conv*.weight :  o i  h w→o h w  i ";
    let run = relayout(&dir, "out.safetensors", &[spaced], "out.safetensors").done();
    assert!(dir.read("out.safetensors") == once);
    run.says("conv1.weight  f32  is o h w i already\n");
    run.says(": 0 tensors moved, 2 already in this order, 1 copied");

    relayout(&dir, "out.safetensors", &[INVERSE], "back.safetensors").done();
    let record = r#"{"conv1.weight":"o i h w","conv2.weight":"o i h w"}"#;
    assert!(dir.read("back.safetensors") == model.file(&[("trundle.axes", record)]));
}

#[test]
fn recorded_axes_decide_even_if_every_order_fits() {
    let dir = Workdir::new();
    // Shapes that fit every order of axes.
    let square = Tensor::noise("", 1, &[3, 3, 3]);
    let with = |recorded: &str, tensor: &Tensor| {
        file(&[("trundle.axes", recorded)], &[Named::new("t", "U8", tensor)])
    };
    let (abc, bca) = (r#"{"t":"a b c"}"#, r#"{"t":"b c a"}"#);
    dir.write("in.safetensors", &with(r#"{"t":" a  b c"}"#, &square));
    relayout(&dir, "in.safetensors", &["t: a b c -> b c a"], "out.safetensors").done();
    let moved = transposed(&square, &[1, 2, 0]);
    assert!(dir.read("out.safetensors") == with(bca, &moved));
    for (rule, recorded, tensor) in
        [("t: a b c -> b c a", bca, &moved), ("t: b c a -> a b c", abc, &square)]
    {
        relayout(&dir, "out.safetensors", &[rule], "again.safetensors").done();
        assert!(dir.read("again.safetensors") == with(recorded, tensor), "{rule}");
    }
    dir.run("info out.safetensors").done();
    let args = "relayout out.safetensors -o no.safetensors --rule 't: c b a -> a b c'";
    let message = "out.safetensors: t: [..]recorded as \"b c a\"[..]turns \"c b a\" into \"a b c\"";
    refused(&dir, args, 3, message);
}

#[test]
fn a_rule_whose_sides_are_the_same_does_nothing() {
    let (dir, model) = (Workdir::new(), Model::new());
    dir.write("in.safetensors", &model.file(&[("a", "b")]));
    relayout(&dir, "in.safetensors", &["conv?.weight: o i h w -> o i h w"], "out.safetensors")
        .done();
    assert!(dir.read("out.safetensors") == dir.read("in.safetensors"));
}

#[test]
fn axes_split_and_merge_by_the_sizes_that_a_rule_gives() {
    let dir = Workdir::new();
    let heads = Tensor::noise("", 2, &[6, 5]);
    let with = |recorded: &str, shape: &[usize]| {
        let tensor = Named { name: "q", dtype: "F16", shape, data: &heads.bytes };
        file(&[("trundle.axes", recorded)], &[tensor])
    };
    dir.write("in.safetensors", &file(&[], &[Named::new("q", "F16", &heads)]));
    let rule = "q: (h d) i -> h d i, h=2";
    relayout(&dir, "in.safetensors", &[rule], "out.safetensors").done();
    let split = with(r#"{"q":"h d i, h=2"}"#, &[2, 3, 5]);
    assert!(dir.read("out.safetensors") == split);
    relayout(&dir, "out.safetensors", &[rule], "out.safetensors").done();
    assert!(dir.read("out.safetensors") == split);
    let args = "relayout out.safetensors -o no.safetensors --rule 'q: (h d) i -> h d i, h=3'";
    let message = "recorded as \"h d i, h=2\"[..]\"(h d) i, h=3\" into \"h d i, h=3\"";
    refused(&dir, args, 3, message);
    relayout(&dir, "out.safetensors", &["q: h d i -> (h d) i"], "back.safetensors").done();
    assert!(dir.read("back.safetensors") == with(r#"{"q":"(h d) i"}"#, &[6, 5]));
}

#[test]
fn packed_and_eight_bit_types_are_moved() {
    let dir = Workdir::new();
    let f4 = DEFAULT_LAYOUTS.into_iter().find(|packed| packed.dtype == "f4e2m1").unwrap();
    let (codes, bytes) = (f4.noise(&[2, 3, 4]), Tensor::noise("", 1, &[2, 3, 5]));
    let model = |codes: &Tensor, bytes: &Tensor, metadata: &[(&str, &str)]| {
        let data = f4.pack(codes);
        let packed = Named { name: "w.f4", dtype: "F4", shape: &codes.shape, data: &data };
        file(metadata, &[packed, Named::new("w.f8", "F8_E4M3", bytes)])
    };
    dir.write("in.safetensors", &model(&codes, &bytes, &[]));
    relayout(&dir, "in.safetensors", &["w.*: a b c -> c a b"], "out.safetensors").done();
    let order = [2, 0, 1];
    let moved = model(
        &transposed(&codes, &order),
        &transposed(&bytes, &order),
        &[("trundle.axes", r#"{"w.f4":"c a b","w.f8":"c a b"}"#)],
    );
    assert!(dir.read("out.safetensors") == moved);
}

#[test]
fn tensor_names_may_contain_any_characters() {
    let dir = Workdir::new();
    let matrix = Tensor::noise("", 1, &[2, 3]);
    let names = ["a.b/c: d", "ключ.ü", "params['q']['k']", "plain \"quoted\"\n", ""];
    let model = |tensor: &Tensor, metadata: &[(&str, &str)]| {
        file(metadata, &names.map(|name| Named::new(name, "U8", tensor)))
    };
    dir.write("in.safetensors", &model(&matrix, &[]));
    let rules = [
        "a.b/c: d: o i -> i o",
        "ключ.?: o i -> i o",
        "params['q']['k']: o i -> i o",
        "plain*: o i -> i o",
    ];
    relayout(&dir, "in.safetensors", &rules, "out.safetensors").done();
    let record =
        r#"{"a.b/c: d":"i o","params['q']['k']":"i o","plain \"quoted\"\n":"i o","ключ.ü":"i o"}"#;
    let moved = transposed(&matrix, &[1, 0]);
    let mut tensors = names.map(|name| Named::new(name, "U8", &moved));
    tensors[4] = Named::new("", "U8", &matrix);
    assert!(dir.read("out.safetensors") == file(&[("trundle.axes", record)], &tensors));
}

#[test]
fn rules_can_be_read_from_a_file() {
    let (dir, model) = (Workdir::new(), Model::new());
    dir.write("in.safetensors", &model.file(&[]));
    dir.write("rules.txt", b"# weights\n\n  conv1.*: o i h w -> o h w i\n  # more\n");
    let args = "relayout in.safetensors -o out.safetensors --rules rules.txt";
    let other = "--rule 'conv2.*: o i h w -> o h w i' --quiet --verify";
    let run = dir.run(&format!("{args} {other}")).done();
    assert_eq!(run.stderr, "");
    let moved = model.with_order(&[0, 2, 3, 1]);
    assert!(dir.read("out.safetensors") == moved.file(&[("trundle.axes", RECORD)]));
}

#[test]
fn npy_and_npz_files_can_be_sources() {
    let (dir, model) = (Workdir::new(), Model::new());
    let fortran = Tensor::counting(&[2, 3, 4]);
    dir.write("t.npy", &fortran.file(crate::npy::Style { version: 1, fortran: true }));
    relayout(&dir, "t.npy", &["t: a b c -> c a b"], "t.safetensors").done();
    let moved = transposed(&fortran, &[2, 0, 1]);
    let record = [("trundle.axes", r#"{"t":"c a b"}"#)];
    assert!(dir.read("t.safetensors") == file(&record, &[Named::new("t", "U16", &moved)]));

    // Types that .npz supports.
    let tensors =
        [Named::new("bias", "F32", &model.bias), Named::new("conv1.weight", "F32", &model.conv1)];
    dir.write("in.safetensors", &file(&[], &tensors));
    dir.run("apply in.safetensors '... -> ...' -o in.npz").done();
    relayout(&dir, "in.npz", &[RULE], "out.safetensors").done();
    let conv1 = model.with_order(&[0, 2, 3, 1]).conv1;
    let tensors =
        [Named::new("bias", "F32", &model.bias), Named::new("conv1.weight", "F32", &conv1)];
    let record = [("trundle.axes", r#"{"conv1.weight":"o h w i"}"#)];
    assert!(dir.read("out.safetensors") == file(&record, &tensors));
}

#[test]
fn the_shards_of_a_checkpoint_are_read_as_one_file() {
    let (dir, model) = (Workdir::new(), Model::new());
    let metadata = [("format", "pt")];
    let (conv1, conv2) = (&model.conv1, &model.conv2);
    let first = [Named::new("conv2.weight", "BF16", conv2), Named::new("bias", "F32", &model.bias)];
    let second = [Named::new("other", "F32", conv1), Named::new("conv1.weight", "F32", conv1)];
    dir.write("m-1.safetensors", &file(&metadata, &first));
    dir.write("m-2.safetensors", &file(&metadata, &second));
    let map = serde_json::json!({
        "metadata": { "total_size": 1 },
        "weight_map": {
            "bias": "m-1.safetensors",
            "conv1.weight": "m-2.safetensors",
            "conv2.weight": "m-1.safetensors",
        },
    });
    let index = "m.safetensors.index.json";
    dir.write(index, map.to_string().as_bytes());
    dir.write("whole.safetensors", &model.file(&metadata));
    relayout(&dir, index, &[RULE], "out.safetensors").done();
    let moved = model.with_order(&[0, 2, 3, 1]);
    let record = [("format", "pt"), ("trundle.axes", RECORD)];
    assert!(dir.read("out.safetensors") == moved.file(&record));

    for args in [
        "flip FILE --axes 0 --max-mem 8K --verify",
        "apply FILE 'o i h w -> w (o i) h' --tensor conv*.weight",
        "concat FILE FILE --axis 0",
        "convert FILE --tensor conv1.weight --only",
    ] {
        for (name, to) in [(index, "a"), ("whole.safetensors", "b")] {
            let args = args.replace("FILE", name);
            dir.run(&format!("{args} -o {to}.safetensors --force")).done();
        }
        assert!(dir.read("a.safetensors") == dir.read("b.safetensors"), "{args}");
    }
    assert_eq!(dir.run(&format!("cmp {index} whole.safetensors")).done().text(), "equal\n");
    assert_eq!(dir.run(&format!("cmp b.safetensors {index}")).code, Some(1));
    dir.run(&format!("plan flip {index} --axes 0 -o t.safetensors --tasks p.json")).done();
    dir.run("task p.json 0").done();
    dir.run("finish p.json").done();
    dir.run("flip whole.safetensors --axes 0 -o a.safetensors --force").done();
    assert!(dir.read("t.safetensors") == dir.read("a.safetensors"));

    dir.run(&format!("convert {index} -o n.safetensors.index.json"))
        .refused(3, "trundle reads format safetensors-index but cannot write it");
    // A shard is an input too.
    dir.run(&format!("flip {index} --axes 0 -o m-2.safetensors --force --resume"))
        .refused(3, "nothing to resume, and the output is the input");
    dir.run(&format!("flip {index} --axes 0 -o m-2.safetensors --force")).done();
    assert!(dir.read("m-2.safetensors") == dir.read("a.safetensors"));
    std::fs::remove_file(dir.path("m-1.safetensors")).unwrap();
    dir.run(&format!("info {index}")).refused(1, "file \"m-1.safetensors\": cannot open: ");
}

#[test]
fn tensors_larger_than_the_memory_limit_move_in_parts() {
    let dir = Workdir::new();
    let (large, small) =
        (Tensor::noise("", 4, &[300, 70, 101]), Tensor::noise("", 1, &[3_000_000]));
    let model = |large: &Tensor, metadata: &[(&str, &str)]| {
        file(metadata, &[Named::new("s", "I8", &small), Named::new("l", "F32", large)])
    };
    dir.write("m.safetensors", &model(&large, &[]));
    let args = "relayout m.safetensors -o m.safetensors --force --verify";
    let limits = "--rule 'l: a b c -> c a b' --max-mem 8M --storage hdd --json";
    let report = dir.run(&format!("{args} {limits}")).done().json();
    let moved = transposed(&large, &[2, 0, 1]);
    assert!(dir.read("m.safetensors") == model(&moved, &[("trundle.axes", r#"{"l":"c a b"}"#)]));
    assert_eq!(dir.contents().len(), 1);
    for (key, value) in [("moved", 1), ("already", 0), ("copied", 1)] {
        assert_eq!(report[key], value, "{report}");
    }
    assert_eq!(report["verified"], true, "{report}");
    let outputs = serde_json::json!([
        {
            "name": "s", "file": "m.safetensors", "dtype": "i8", "shape": [3_000_000],
            "bytes": 3_000_000, "relayout": "copied",
        },
        {
            "name": "l", "file": "m.safetensors", "dtype": "f32", "shape": [101, 300, 70],
            "bytes": 8_484_000, "relayout": "moved", "axes": "c a b",
        },
    ]);
    assert_eq!(report["outputs"], outputs);
}

#[test]
fn thousands_of_tensors_are_moved_and_some_are_listed() {
    let dir = Workdir::new();
    let matrix = Tensor::noise("", 4, &[16, 16]);
    let names: Vec<String> = (0..3000).map(|n| format!("layers.{n}.weight")).collect();
    let model = |tensor: &Tensor, metadata: &[(&str, &str)]| {
        let tensors: Vec<Named<'_>> =
            names.iter().map(|name| Named::new(name, "F32", tensor)).collect();
        file(metadata, &tensors)
    };
    dir.write("in.safetensors", &model(&matrix, &[]));
    let run = relayout(&dir, "in.safetensors", &["*.weight: o i -> i o"], "out.safetensors");
    let run = run.done();
    assert_eq!(run.stderr.lines().count(), 22, "{run:?}");
    assert!(
        run.stderr.contains("\n  and 2980 more\nout.safetensors: 3000 tensors moved, 0 copied")
    );
    let mut record: Vec<String> = names.iter().map(|name| format!("\"{name}\":\"i o\"")).collect();
    record.sort();
    let record = format!("{{{}}}", record.join(","));
    let moved = model(&transposed(&matrix, &[1, 0]), &[("trundle.axes", &record)]);
    assert!(dir.read("out.safetensors") == moved);
}

#[test]
fn other_commands_drop_recorded_axes_that_no_longer_apply() {
    let (dir, model) = (Workdir::new(), Model::new());
    dir.write("in.safetensors", &model.file(&[("a", "b"), ("trundle.axes", RECORD), ("c", "d")]));
    let kept = |args: &str| {
        dir.run(&format!("{args} -o out.safetensors --force")).done();
        let output = dir.read("out.safetensors");
        let header = String::from_utf8_lossy(&output).into_owned();
        assert!(header.contains(r#"{"__metadata__":{"a":"b","#), "{header}");
        assert!(header.contains(r#""c":"d"}"#), "{header}");
        header.contains("trundle.axes")
    };
    assert!(kept("flip in.safetensors --axes 0"));
    assert!(kept("roll in.safetensors --shift 1 --axes 0"));
    assert!(!kept("transpose in.safetensors"));
    assert!(!kept("apply in.safetensors 'flip(0) | a ... -> ... a'"));
}

#[test]
fn a_plan_shows_how_each_tensor_is_handled() {
    let (dir, model) = (Workdir::new(), Model::new());
    let record = r#"{"conv2.weight":"o h w i"}"#;
    dir.write("in.safetensors", &model.file(&[("trundle.axes", record)]));
    let args = format!("plan relayout in.safetensors --rule '{RULE}'");
    let text = dir.run(&format!("{args} --verbose")).done().text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("1 tensor moved, 1 already in this order, 1 copied, "), "{text}");
    assert!(lines[0].ends_with(", 1 pass: read, moved in memory and written whole"), "{text}");
    assert_eq!(lines[1], "  conv2.weight  bf16  is o h w i already");
    assert_eq!(lines[2], "  conv1.weight  f32  o i h w [4, 3, 2, 5] -> o h w i [4, 2, 5, 3]");
    assert_eq!(dir.run(&args).done().text().lines().collect::<Vec<_>>(), lines[..3]);
    assert!(text.contains("\n  conv1.weight: read, moved and written whole\n"), "{text}");
    assert!(!text.contains("\n  bias: "), "{text}");
    let report = dir.run(&format!("{args} --json")).done().json();
    let fates: Vec<&str> = report["tensors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tensor| tensor["relayout"].as_str().unwrap())
        .collect();
    assert_eq!(fates, ["already", "copied", "moved"]);
    assert_eq!(dir.contents().len(), 1);
}

#[test]
fn invalid_rules_are_refused() {
    let (dir, model) = (Workdir::new(), Model::new());
    dir.write("in.safetensors", &model.file(&[]));
    dir.write("bad.safetensors", &model.file(&[("trundle.axes", "o i h w")]));
    dir.write("there.safetensors", b"precious");
    dir.write("t.npy", &Tensor::counting(&[2, 3]).file(PLAIN));
    dir.write("none.txt", b"# nothing\n\n");
    dir.write("rules.txt", b"# weights\nconv*: o i h w -> o h w i\nbias: o i -> o\n");
    dir.write("latin.txt", b"\xfc: o i -> i o\n");
    refused_as_listed(&dir, include_str!("refusals/rules.txt"));
}
