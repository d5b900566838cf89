//! `trundle run`, and `trundle plan` with a model.

use crate::npy::{PLAIN, Style, Tensor};
use crate::refusals::refused_as_listed;
use crate::{Run, Workdir};

#[derive(Default)]
struct Ir {
    layers: String,
    edges: String,
    weights: Vec<u8>,
    count: usize,
}

/// The number of a layer, and of its port.
type Port = (usize, usize);

impl Ir {
    fn layer(&mut self, kind: &str, name: &str, data: &str, sources: &[Port]) -> Port {
        let (id, out) = (self.count, sources.len());
        self.count += 1;
        let opset = match kind {
            "Roll" => "opset7",
            "Slice" | "GatherTree" => "opset8",
            _ => "opset1",
        };
        let ports: String = (0..out).map(|port| format!("<port id=\"{port}\"/>")).collect();
        let output = match kind {
            "Result" => String::new(),
            _ => format!("<output><port id=\"{out}\"/></output>"),
        };
        self.layers += &format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"{kind}\" version=\"{opset}\"><data {data}/>\
             <input>{ports}</input>{output}</layer>"
        );
        for (to_port, (from, from_port)) in sources.iter().enumerate() {
            self.edges += &format!(
                "<edge from-layer=\"{from}\" from-port=\"{from_port}\" to-layer=\"{id}\" \
                 to-port=\"{to_port}\"/>"
            );
        }
        (id, out)
    }

    fn parameter(&mut self, name: &str, element: &str, shape: &str) -> Port {
        let data = format!("shape=\"{shape}\" element_type=\"{element}\"");
        self.layer("Parameter", name, &data, &[])
    }

    /// Adds an operator that reads an output and lists of i64, which are stored in the weights.
    fn then(&mut self, kind: &str, source: Port, lists: &[&[i64]]) -> Port {
        let mut sources = vec![source];
        for list in lists {
            let (offset, entries) = (self.weights.len(), list.len());
            self.weights.extend(list.iter().flat_map(|entry| entry.to_le_bytes()));
            let data = format!(
                "element_type=\"i64\" shape=\"{entries}\" offset=\"{offset}\" size=\"{}\"",
                8 * entries
            );
            sources.push(self.layer("Const", &format!("list{}", self.count), &data, &[]));
        }
        self.layer(kind, &format!("{kind}{}", self.count), "", &sources)
    }

    fn joined(&mut self, sources: [Port; 2], axis: usize) -> Port {
        self.layer(
            "Concat",
            &format!("joined{}", self.count),
            &format!("axis=\"{axis}\""),
            &sources,
        )
    }

    fn write(mut self, dir: &Workdir, outputs: &[(&str, Port)]) {
        for (name, source) in outputs {
            self.layer("Result", name, "", &[*source]);
        }
        let Ir { layers, edges, weights, .. } = self;
        let xml = format!(
            "<?xml version=\"1.0\"?><net name=\"model\" version=\"11\"><layers>{layers}</layers>\
             <edges>{edges}</edges></net>"
        );
        dir.write("model.xml", xml.as_bytes());
        dir.write("model.bin", &weights);
    }
}

/// The kind of an operator, and the lists that it reads.
pub(crate) type Operator<'a> = (&'a str, &'a [&'a [i64]]);

/// Writes a model with a sequence of operators on one input.
pub(crate) fn write_sequence(
    dir: &Workdir,
    given: [&str; 3],
    operators: &[Operator<'_>],
    name: &str,
) {
    let mut ir = Ir::default();
    let [input, element, shape] = given;
    let mut last = ir.parameter(input, element, shape);
    for (kind, lists) in operators {
        last = ir.then(kind, last, lists);
    }
    ir.write(dir, &[(name, last)]);
}

const TRANSPOSE: Operator<'_> = ("Transpose", &[&[1, 0]]);

/// Writes a model that rolls a 2 x 3 tensor of u16 by 1 and transposes it.
fn write_rolled_transpose(dir: &Workdir, name: &str) {
    write_sequence(dir, ["x", "u16", "?,3"], &[("Roll", &[&[1], &[1]]), TRANSPOSE], name);
    dir.write("x.npy", &input().file(PLAIN));
}

fn input() -> Tensor {
    Tensor::counting(&[2, 3])
}

fn u8_tensor(shape: &[usize], bytes: &[u8]) -> Tensor {
    Tensor { descr: "'|u1'".into(), width: 1, shape: shape.to_vec(), bytes: bytes.to_vec() }
}

fn numbers(file: &[u8]) -> Vec<u16> {
    let bytes = Tensor::read(file, 2).bytes;
    bytes.chunks_exact(2).map(|bytes| u16::from_le_bytes(bytes.try_into().unwrap())).collect()
}

const RUN: &str = "run model.xml --input x=x.npy --out-dir=out";

fn run_with(dir: &Workdir, more: &str) -> Run {
    dir.run(&format!("{RUN} {more}"))
}

#[test]
fn a_model_runs_in_one_pass_and_writes_its_output() {
    let dir = Workdir::new();
    write_rolled_transpose(&dir, "y");
    let report = run_with(&dir, "--json --verify").done().json();
    assert_eq!(report["passes"], 1);
    assert_eq!(report["verified"], true);
    let output = &report["outputs"][0];
    assert_eq!((&output["name"], &output["file"]), (&"y".into(), &"out/y.npy".into()));
    assert_eq!((&output["dtype"], &output["shape"]), (&"u16".into(), &[3, 2][..].into()));
    assert_eq!(numbers(&dir.read("out/y.npy")), [2, 5, 0, 3, 1, 4]);
}

#[test]
fn inputs_may_have_another_byte_and_axis_order() {
    let dir = Workdir::new();
    write_rolled_transpose(&dir, "y");
    let mut bytes = input().bytes;
    bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse);
    let tensor = Tensor { descr: "'>u2'".into(), bytes, ..input() };
    dir.write("x.npy", &tensor.file(Style { version: 1, fortran: true }));
    run_with(&dir, "-q").done();
    assert_eq!(numbers(&dir.read("out/y.npy")), [2, 5, 0, 3, 1, 4]);
}

#[test]
fn packed_elements_are_read_and_written_as_bytes() {
    let dir = Workdir::new();
    write_sequence(&dir, ["x", "u4", "2,3"], &[TRANSPOSE], "y");
    let packed = u8_tensor(&[3], &[0x10, 0x32, 0x54]);
    dir.write("x.npy", &packed.file(PLAIN));
    let output = &run_with(&dir, "--json").done().json()["outputs"][0];
    assert_eq!((&output["dtype"], &output["shape"]), (&"u4".into(), &[3, 2][..].into()));
    let file = dir.read("out/y.npy");
    assert_eq!(file[file.len() - 3..], [0x30, 0x41, 0x52]);
}

#[test]
fn outputs_stay_within_their_folder() {
    for (name, file) in [("../y", ".._y.npy"), ("a/b:c", "a_b_c.npy"), ("..", "output...npy")] {
        let dir = Workdir::new();
        write_rolled_transpose(&dir, name);
        let report = run_with(&dir, "--json").done().json();
        assert_eq!(report["outputs"][0]["name"], name);
        assert_eq!(report["outputs"][0]["file"], format!("out/{file}"));
        assert!(dir.path("out").join(file).exists());
    }
}

#[test]
fn outputs_that_exist_stay_unless_forced() {
    let dir = Workdir::new();
    write_rolled_transpose(&dir, "y");
    run_with(&dir, "").done();
    let before = dir.read("out/y.npy");
    dir.write("x.npy", &Tensor::noise("'<u2'", 2, &[2, 3]).file(PLAIN));
    let refused = run_with(&dir, "");
    refused.refused(2, "already exists\nhint: --force");
    assert_eq!(dir.read("out/y.npy"), before);
    dir.run("run model.xml --input=x=x.npy --out-dir=x.npy").refused(2, "x.npy: not a folder");
    run_with(&dir, "--force").done();
    assert_ne!(dir.read("out/y.npy"), before);
}

#[test]
fn inputs_that_do_not_fit_are_refused_and_leave_no_files() {
    let dir = Workdir::new();
    write_rolled_transpose(&dir, "y");
    dir.write("wide.npy", &Tensor::counting(&[2, 4]).file(PLAIN));
    dir.write("u8.npy", &u8_tensor(&[2, 3], &[0; 6]).file(PLAIN));
    refused_as_listed(&dir, include_str!("refusals/models.txt"));
}

/// Writes a model that joins an input, concatenated with itself, with a second input, then rolls and transposes.
fn write_joined_model(dir: &Workdir, element: &str, sizes: [usize; 2]) {
    let mut ir = Ir::default();
    let x = ir.parameter("x", element, &format!("{},{}", sizes[0], sizes[1]));
    let doubled = ir.joined([x, x], 0);
    let z = ir.parameter("z", element, &format!("{},{}", 2 * sizes[0], sizes[1]));
    let both = ir.joined([doubled, z], 1);
    let [down, right] = [sizes[0] / 3, sizes[1] + 2].map(|size| i64::try_from(size).unwrap());
    let rolled = ir.then("Roll", both, &[&[down, -right], &[0, 1]]);
    let turned = ir.then("Transpose", rolled, &[&[1, 0]]);
    ir.write(dir, &[("y", turned)]);
}

const RUN_BOTH: &str = "run model.xml --input x=x.npy --input z=z.npy --out-dir=out";

#[test]
fn models_larger_than_memory_run_in_parts() {
    let dir = Workdir::new();
    let big = Style { version: 1, fortran: true };
    let swapped = |tensor: Tensor| {
        let mut bytes = tensor.bytes;
        bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse);
        Tensor { descr: "'>u2'".into(), bytes, ..tensor }
    };
    for (element, sizes) in [("u16", [300, 170]), ("u4", [101, 60])] {
        write_joined_model(&dir, element, sizes);
        let (x, z) = match element {
            "u16" => (
                Tensor::noise("'<u2'", 2, &sizes).file(PLAIN),
                swapped(Tensor::noise("'<u2'", 2, &[2 * sizes[0], sizes[1]])).file(big),
            ),
            _ => {
                let packed = |rows: usize| Tensor::noise("'|u1'", 1, &[rows * sizes[1] / 2]);
                (packed(sizes[0]).file(PLAIN), packed(2 * sizes[0]).file(PLAIN))
            }
        };
        dir.write("x.npy", &x);
        dir.write("z.npy", &z);
        let run = |more: &str| dir.run(&format!("{RUN_BOTH} --json {more}")).done();
        run("--force");
        let expected = dir.read("out/y.npy");
        for more in [
            "--max-mem 9K",
            "--max-mem 16K --verify",
            "--max-mem 16K --storage hdd --threads 1 --resume",
        ] {
            let report = run(&format!("{more} --force")).json();
            assert_eq!((&report["passes"], &report["resumed"]), (&1.into(), &false.into()));
            assert_eq!(report["outputs"][0]["bytes"], expected.len() - 128, "{report}");
            assert!(dir.read("out/y.npy") == expected, "{element} {more:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_killed_model_run_in_parts_is_resumed() {
    use rustix::process::Signal;

    use crate::resumable_move::{journal_lines, signal};

    let dir = Workdir::new();
    let sizes = [2000, 2300];
    write_joined_model(&dir, "u32", sizes);
    dir.write("x.npy", &Tensor::noise("'<u4'", 4, &sizes).file(PLAIN));
    dir.write("z.npy", &Tensor::noise("'<u4'", 4, &[2 * sizes[0], sizes[1]]).file(PLAIN));
    dir.run(&RUN_BOTH).done();
    let expected = dir.read("out/y.npy");
    std::fs::remove_file(dir.path("out/y.npy")).unwrap();
    let slow_command = format!("{RUN_BOTH} --max-mem 8M --storage hdd --threads=1");
    let has_progress = || journal_lines(&dir.path("out")) >= 2;
    let mut kills = 0;
    while kills < if trundle_testing::everything() { 3 } else { 1 } {
        let mut child = dir.command(&format!("{slow_command} --force --verify")).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && !has_progress() {
            // Slows the program down, which writes a journal entry every half second.
            signal(Signal::STOP, &child);
            std::thread::sleep(std::time::Duration::from_millis(60));
            signal(Signal::CONT, &child);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let is_over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        if is_over {
            continue;
        }
        kills += 1;
        let more = ["--force --resume --json", "--force --resume --json --verify"][kills % 2];
        let report = dir.run(&format!("{slow_command} {more}")).done().json();
        assert_eq!(report["resumed"], true);
        assert!(dir.read("out/y.npy") == expected);
        assert_eq!(std::fs::read_dir(dir.path("out")).unwrap().count(), 1);
    }
}

/// Writes a model that transposes `x` and `z`, which have different types, in an order that is an input.
fn write_model_of_two_types(dir: &Workdir, sizes: [usize; 2]) {
    let shape = format!("{},{}", sizes[0], sizes[1]);
    let mut ir = Ir::default();
    let (x, z) = (ir.parameter("x", "f32", &shape), ir.parameter("z", "u8", &shape));
    let order = ir.parameter("order", "i64", "2");
    let y = ir.layer("Transpose", "y/turned", "", &[x, order]);
    let w = ir.layer("Transpose", "w/turned", "", &[z, order]);
    ir.write(dir, &[("y", y), ("w", w)]);
    dir.write("x.npy", &Tensor::noise("'<f4'", 4, &sizes).file(PLAIN));
    dir.write("z.npy", &Tensor::noise("'|u1'", 1, &sizes).file(PLAIN));
    dir.write("order.npy", &Tensor::list(&[1, 0]).file(PLAIN));
}

#[test]
fn a_model_in_parts_may_have_several_types() {
    let dir = Workdir::new();
    write_model_of_two_types(&dir, [900, 1100]);
    let inputs = "--input=x=x.npy --input=z=z.npy --input=order=order.npy";
    let args = format!("run model.xml --out-dir=out --force {inputs}");
    dir.run(&args).done();
    let whole = ["out/y.npy", "out/w.npy"].map(|name| dir.read(name));
    dir.run(&format!("{args} --max-mem=1M --verify")).done();
    assert!(whole == ["out/y.npy", "out/w.npy"].map(|name| dir.read(name)));
    assert_eq!(Tensor::read(&whole[0], 4).shape, [1100, 900]);
}

#[test]
fn an_operator_that_computes_is_refused_by_name() {
    let dir = Workdir::new();
    write_sequence(&dir, ["x", "u16", "2,3"], &[("Sigmoid", &[])], "y");
    dir.write("x.npy", &input().file(PLAIN));
    let run = run_with(&dir, "");
    run.refused(3, "error: model.xml: [..]Sigmoid[..]Transpose");
    dir.run("run x.npy --out-dir=out").refused(3, "expected the ending .xml or .onnx");
}

#[test]
fn all_unsupported_operators_are_listed() {
    let dir = Workdir::new();
    let operators: [Operator<'_>; 3] = [("Sigmoid", &[]), ("GatherTree", &[]), ("Sigmoid", &[])];
    write_sequence(&dir, ["x", "u16", "2,3"], &operators, "y");
    let run = dir.run("plan model.xml");
    assert_eq!(run.code, Some(3), "{run:?}");
    let named = "Sigmoid (2 nodes), which computes; GatherTree (1 node), which moves elements";
    assert!(run.stderr.contains(named), "{run:?}");
}

#[test]
fn a_small_model_of_a_large_output_is_planned_at_once() {
    let dir = Workdir::new();
    let mut ir = Ir::default();
    let x = ir.parameter("x", "f32", "2,2");
    let last = (0..50).fold(x, |last, _| ir.joined([last; 2], 0));
    ir.write(&dir, &[("y", last)]);
    dir.write("x.npy", &f32_file(&[1., 2., 3., 4.]));
    let report = dir.run("plan model.xml --json").done().json();
    assert!(report["passes"].as_u64().unwrap() <= 6, "{report}");
    assert_eq!(report["stages"].as_array().unwrap().last().unwrap()["bytes"], 16u64 << 50);
    let before = dir.contents();
    // The output exceeds any disk, and its tiles the memory.
    let run = run_with(&dir, "--max-mem=1G");
    assert!(matches!(run.code, Some(1 | 3)), "{run:?}");
    let messages = ["of memory are needed", "of disk space are needed"];
    assert!(messages.iter().any(|message| run.stderr.contains(message)), "{run:?}");
    assert_eq!(dir.contents(), before);
}

#[test]
fn only_the_needed_part_of_a_large_tensor_is_moved() {
    let dir = Workdir::new();
    let mut ir = Ir::default();
    let x = ir.parameter("x", "f32", "2,2");
    let last = (0..40).fold(x, |last, _| ir.joined([last; 2], 0));
    let row = (1 << 33) + 1;
    let sliced = ir.then("Slice", last, &[&[row], &[row + 1], &[1], &[0]]);
    ir.write(&dir, &[("y", sliced)]);
    dir.write("x.npy", &f32_file(&[1., 2., 3., 4.]));
    let report = run_with(&dir, "--verify --json --max-mem=1M").done().json();
    assert_eq!((&report["passes"], &report["verified"]), (&1.into(), &true.into()));
    assert_eq!(Tensor::read(&dir.read("out/y.npy"), 4).bytes, f32_bytes(&[3., 4.]));
}

#[test]
fn line_breaks_and_control_characters_in_names_are_escaped() {
    let dir = Workdir::new();
    let name = "y&#10;done\u{9b}31m\u{202e}";
    write_sequence(&dir, ["x&#10;ok", "u16", "2,3"], &[TRANSPOSE], name);
    let plan = dir.run("plan model.xml --verbose").done().text();
    assert!(plan.lines().any(|line| line == "  input x\\nok: u16 [2, 3]"), "{plan}");
    let quiet = |text: &str| !text.contains(['\u{9b}', '\u{202e}']);
    assert!(quiet(&plan) && !plan.lines().any(|line| line.starts_with("ok")), "{plan}");
    let run = dir.run("run model.xml --input z=x.npy --out-dir=out");
    assert!(run.stderr.contains("the model has x\\nok"), "{run:?}");
}

#[cfg(unix)]
#[test]
fn linked_weights_are_read_only_with_follow_links() {
    let dir = Workdir::new();
    write_rolled_transpose(&dir, "y");
    std::fs::create_dir(dir.path("cache")).unwrap();
    std::fs::rename(dir.path("model.xml"), dir.path("cache/model.xml")).unwrap();
    std::os::unix::fs::symlink("../model.bin", dir.path("cache/model.bin")).unwrap();
    let args = "run cache/model.xml --input=x=x.npy --out-dir=out";
    let refused = dir.run(&args);
    let message = "error: cache/model.xml: \"model.bin\" is a link that leads out of the model's \
                   folder\nhint: --follow-links reads it";
    refused.refused(3, message);
    dir.run(&format!("{args} --follow-links -q")).done();
    assert_eq!(numbers(&dir.read("out/y.npy")), [2, 5, 0, 3, 1, 4]);
}

#[test]
fn a_plan_of_a_file_that_is_not_a_model_suggests_a_command() {
    let dir = Workdir::with(&[("x.npy", &input())]);
    dir.run("plan x.npy").refused(2, "trundle plan transpose x.npy");
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns an .npy file with two rows of f32.
fn f32_file(values: &[f32; 4]) -> Vec<u8> {
    let bytes = f32_bytes(values);
    Tensor { descr: "'<f4'".into(), width: 4, shape: vec![2, 2], bytes }.file(PLAIN)
}

#[test]
fn a_plan_shows_the_graph_and_the_resulting_passes() {
    let dir = Workdir::new();
    write_rolled_transpose(&dir, "y");
    let brief = dir.run("plan model.xml --input x=x.npy").done().text();
    assert_eq!(brief, "12 bytes, 1 pass for 1 output\n  y: u16 [3, 2]\n");
    let text = dir.run("plan model.xml --input x=x.npy --verbose").done().text();
    assert!(text.starts_with(&brief), "{text}");
    for line in [
        "model: OpenVINO IR 11",
        "  input x: u16 [?, 3]",
        "  Roll3 = Roll(x, [1], [1])",
        "  Transpose5 = Transpose(Roll3, [1, 0])",
        "  output y: Transpose5",
        "1 pass over memory, 12 bytes",
        "pass 0: writes Transpose5, u16 [3, 2]",
        "  merged with Roll3",
        "from x",
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line:?} is not in\n{text}");
    }
    let report = dir.run("plan model.xml --input=x=x.npy --json").done().json();
    assert_eq!((&report["passes"], &report["bytes"]), (&1.into(), &12.into()));
    let unknown = dir.run("plan model.xml");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert_eq!(dir.run("plan").code, Some(2));
}
