//! What programs and people rely on: JSON, exit codes, quiet, streams, and nothing but text where
//! nobody looks.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::npy::{PLAIN, Style, Tensor};
use crate::{Place, Run};

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn set<'a>(keys: &[&'a str]) -> BTreeSet<&'a str> {
    keys.iter().copied().collect()
}

#[test]
fn a_movement_as_json() {
    let place = Place::with(&[("volume.npy", &Tensor::counting(&[2, 3, 4]))]);
    const KEYS: &[&str] =
        &["outputs", "passes", "seconds", "move_seconds", "bytes_read", "bytes_written", "resumed"];
    let run = place.run(&["transpose", "volume.npy", "-o", "out.npy", "--json"]).done();
    let report = run.json();
    assert_eq!(keys(&report), set(KEYS));
    assert_eq!(
        report["outputs"],
        json!([{
            "name": "volume", "file": "out.npy", "dtype": "u16", "shape": [4, 3, 2], "bytes": 48
        }])
    );
    assert_eq!(report["passes"], 1);
    assert_eq!((&report["bytes_read"], &report["bytes_written"]), (&json!(48), &json!(48)));
    assert_eq!(report["resumed"], false);
    assert!(report["seconds"].as_f64().unwrap() >= report["move_seconds"].as_f64().unwrap());
    assert_eq!(run.stderr, "");

    let args = ["transpose", "volume.npy", "-o", "out.npy", "--json", "--force", "--verify"];
    let report = place.run(&args).done().json();
    assert_eq!(report["verified"], true);

    let chain = "reverse(axis=2, lengths=[1, 2], batch_axis=0) | transpose(2, 0, 1) \
                 | reverse(axis=1, lengths=[1, 2, 0, 1], batch_axis=0)";
    let args = ["apply", "volume.npy", chain, "-o", "two.npy", "--json"];
    assert_eq!(place.run(&args).done().json()["passes"], 2);
}

#[test]
fn a_file_as_json() {
    let place = Place::new();
    let tensor = Tensor::noise("[('a', '>i2'), ('b', '|u1')]", 3, &[5, 0, 2]);
    place.write("points.npy", &tensor.file(Style { version: 3, fortran: true }));
    let report = place.run(&["info", "points.npy", "--json"]).done().json();
    assert_eq!(keys(&report), set(&["file", "format", "tensors"]));
    assert_eq!((&report["file"], &report["format"]), (&json!("points.npy"), &json!("npy")));
    let tensor = &report["tensors"][0];
    let expected = set(&["name", "dtype", "shape", "order", "bytes", "descr"]);
    assert_eq!(keys(tensor), expected);
    assert_eq!(tensor["name"], "points");
    assert_eq!(tensor["shape"], json!([5, 0, 2]));
    assert_eq!(tensor["order"], "F");
    assert_eq!(tensor["bytes"], 0);
    assert_eq!(tensor["descr"], "[('a', '>i2'), ('b', '|u1')]");

    let file = Tensor::counting(&[7]).file(crate::npy::PLAIN);
    let report = place.run_on(&file, &["info", "-", "--json"]).done().json();
    assert_eq!(report["file"], "-");
    assert_eq!(report["tensors"][0]["name"], "stdin");
    assert_eq!(report["tensors"][0]["dtype"], "u16");
}

#[test]
fn a_plan_as_json() {
    let place = Place::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    let chain = "roll(1, 1) | h w -> w h";
    let report = place.run(&["plan", "apply", "x.npy", chain, "--json"]).done().json();
    assert_eq!(report["out_shape"], json!([6, 4]));
    assert_eq!(report["chain"], json!(["roll(shift=[1], axes=[1])", "transpose(1, 0)"]));
    assert_eq!(report["passes"], 1);
    assert_eq!((&report["bytes_read"], &report["bytes_written"]), (&json!(48), &json!(48)));
    let stage = &report["stages"][0];
    assert_eq!(keys(stage), set(&["operators", "index_map", "move", "plan"]));
    assert_eq!(stage["move"]["width"], 2);
    // A roll along one axis is two blocks.
    assert_eq!(stage["move"]["blocks"].as_array().unwrap().len(), 2);
    assert!(stage["plan"]["steps"][0]["kernels"][0].is_string());
}

#[test]
fn a_plan_writes_nothing() {
    let place = Place::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    let before = place.contents();
    for args in [
        &["plan", "transpose", "x.npy"][..],
        &["plan", "roll", "x.npy", "--shift", "1", "--axes", "0"],
        &["plan", "reverse", "x.npy", "--axis", "0", "--lengths", "1,2,3,4,0,1"],
        &["plan", "flip", "x.npy", "--axes", "0"],
        &["plan", "apply", "x.npy", "transpose()"],
    ] {
        let run = place.run(args).done();
        assert!(run.text().starts_with("x: u16 [4, 6] to ["), "{run:?}");
        assert_eq!(run.stderr, "");
    }
    assert_eq!(place.contents(), before);
}

#[test]
fn quiet_is_silent() {
    let place = Place::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    for quiet in ["-q", "--quiet"] {
        let args = ["transpose", "x.npy", "-o", "out.npy", "--force", "--verify", quiet];
        let run = place.run(&args).done();
        assert_eq!((run.text().as_str(), run.stderr.as_str()), ("", ""));
        let run = place.run(&["view", "x.npy", "-o", "out.png", "--force", quiet]).done();
        assert_eq!((run.text().as_str(), run.stderr.as_str()), ("", ""));
    }
    let run = place.run(&["transpose", "none.npy", "-o", "new.npy", "-q"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.starts_with("error: none.npy: "), "{run:?}");
}

#[test]
fn messages_go_to_stderr_and_results_to_stdout() {
    let place = Place::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    let run = place.run(&["flip", "x.npy", "--axes", "0", "-o", "out.npy", "--verify"]).done();
    assert_eq!(run.text(), "");
    assert!(run.stderr.starts_with("out.npy: u16 [4,6], 48 bytes in 1 pass, "), "{run:?}");
    assert!(run.stderr.ends_with(" s, verified\n"), "{run:?}");
    let run = place.run(&["view", "x.npy", "-o", "-"]).done();
    assert!(run.stdout.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(run.stderr.starts_with("x[:,:] of u16 [4, 6]"), "{run:?}");
}

#[test]
fn only_text_where_nobody_looks() {
    // Large enough that a terminal would have shown a bar.
    let place = Place::new();
    let zeros = Tensor { bytes: vec![0; 32 << 20], shape: vec![32 << 20], ..Tensor::list(&[]) };
    let zeros = Tensor { descr: "'|u1'".to_owned(), width: 1, ..zeros };
    let head = Tensor { shape: vec![0], bytes: vec![], ..zeros.clone() }.file(crate::npy::PLAIN);
    let head = String::from_utf8_lossy(&head[10..]).replace("(0,)", &format!("({},)", 32 << 20));
    place.write("x.npy", &[crate::npy::header(1, head.trim_end()), zeros.bytes].concat());
    let runs = [
        place.run(&["flip", "x.npy", "--axes", "0", "-o", "y.npy", "--verify"]).done(),
        place.run(&["view", "x.npy"]).done(),
        place.run(&["info", "x.npy"]).done(),
        place.run(&["plan", "flip", "x.npy", "--axes", "0"]).done(),
        place.run(&["flip", "x.npy", "--axes", "7", "-o", "z.npy"]),
        place.run(&["apply", "x.npy", "flop", "-o", "z.npy"]),
        place.run(&["--help"]).done(),
        place.run(&["transpose"]),
    ];
    for run in runs {
        let text = run.text() + &run.stderr;
        assert!(!text.contains(['\x1b', '\r', '\x08']), "{text:?}");
        assert!(run.stderr.lines().count() < 20, "{text}");
    }
}

#[test]
fn whoever_stops_reading_is_no_failure_of_a_report() {
    let place = Place::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    for args in [&["man"][..], &["completions", "bash"], &["info", "x.npy"], &["view", "x.npy"]] {
        let mut child = place.command(args).spawn().unwrap();
        drop(child.stdout.take());
        let run = Run::from(child.wait_with_output().unwrap()).done();
        assert!(!run.stderr.contains("panicked"), "{run:?}");
    }
}

#[test]
fn a_tensor_that_cannot_go_out_is_a_failure() {
    let place = Place::with(&[("x.npy", &Tensor::noise("'|u1'", 1, &[100_000]))]);
    let mut child = place.command(&["flip", "x.npy", "--axes", "0", "-o", "-"]).spawn().unwrap();
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.starts_with("error: stdout: cannot write: "), "{run:?}");
}

#[test]
fn threads_come_from_the_argument_or_the_environment() {
    let place = Place::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[400, 30, 50]))]);
    let threads = |variable: &str, args: &[&str]| {
        let plan = [&["plan", "transpose", "x.npy", "--json"][..], args].concat();
        let run = Run::of(place.command(&plan).env("TRUNDLE_NUM_THREADS", variable)).done();
        run.json()["stages"][0]["plan"]["threads"].as_u64().unwrap()
    };
    assert_eq!(threads("1", &[]), 1);
    assert_eq!(threads("2", &[]), 2);
    assert_eq!(threads("2", &["--threads", "1"]), 1);
    assert_eq!(threads("1", &["--threads", "2"]), 2);
    for wrong in ["0", "many"] {
        let args = ["plan", "transpose", "x.npy"];
        let run = Run::of(place.command(&args).env("TRUNDLE_NUM_THREADS", wrong));
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("at least 1"), "{run:?}");
    }
}

#[test]
fn a_set_of_instructions_can_be_forced() {
    let place = Place::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[400, 300]))]);
    let plan = |variable: &str| {
        let args = ["plan", "transpose", "x.npy", "--json"];
        Run::of(place.command(&args).env("TRUNDLE_SIMD", variable))
    };
    let portable = plan("portable").done();
    assert!(
        String::from_utf8_lossy(&portable.stdout).contains("\"transposed-portable\""),
        "{portable:?}"
    );
    let widest = plan("").done();
    assert!(
        !cfg!(target_arch = "x86_64")
            || !String::from_utf8_lossy(&widest.stdout).contains("-portable"),
        "{widest:?}"
    );
    for wrong in ["sse9", if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" }] {
        let run = plan(wrong);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.starts_with("error: TRUNDLE_SIMD: "), "{run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
    }
}

#[test]
fn too_little_memory_for_an_element_is_refused() {
    let tensor = Tensor::counting(&[4, 6]);
    let place = Place::with(&[("x.npy", &tensor)]);
    let run = |size: &str, args: &[&str]| {
        let limited = ["roll", "x.npy", "--shift", "1", "--axes", "1", "-o", "out.npy"];
        place.run(&[&limited[..], &["--force", "--max-mem", size], args].concat())
    };
    // What is larger than the memory goes through it in parts.
    for size in ["10", "95", "1K", "8M"] {
        run(size, &[]).done();
        run(size, &["--verify"]).done();
        let expected = crate::results::rolled(&tensor, &[(1, 1)]);
        assert_eq!(Tensor::read(&place.read("out.npy"), 2), expected, "{size}");
    }
    let before = place.contents();
    for size in ["0", "1", "5"] {
        let refused = run(size, &[]);
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert!(refused.stderr.contains("4 bytes of memory are needed"), "{refused:?}");
    }
    assert!(place.contents() == before);
    // Lengths from a file: 2 bytes each there, and 40 on their way into the chain.
    place.write("lengths.npy", &Tensor::counting(&[4]).file(PLAIN));
    let reverse = |size: &str| {
        let args = ["reverse", "x.npy", "--axis", "1", "--lengths", "lengths.npy"];
        place.run(&[&args[..], &["-o", "out.npy", "--force", "--max-mem", size]].concat())
    };
    let lengths = 4 * (2 + 40);
    reverse(&(96 + lengths).to_string()).done();
    assert_eq!(reverse(&lengths.to_string()).code, Some(3));
    assert_eq!(reverse(&(lengths - 1).to_string()).code, Some(3));
}

#[test]
fn help_and_version_end_well() {
    let place = Place::new();
    let version = concat!("trundle ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(place.run(&["--version"]).done().text(), version);
    let commands = "transpose roll reverse flip apply plan info view demo bench completions man";
    let help = place.run(&["--help"]).done().text();
    let manual = place.run(&["man"]).done().text();
    for command in commands.split(' ') {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        assert!(manual.contains(&format!(".TH trundle-{command} ")), "{command}");
        let run = place.run(&[command, "--help"]).done();
        assert!(run.text().contains(&format!("Usage: trundle {command}")), "{command}");
    }
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.run(&["completions", shell]).done().text();
        assert!(script.contains("transpose") && script.contains("batch-axis"), "{shell}");
    }
}

#[test]
fn the_demo_does_the_main_job_and_again() {
    let place = Place::new();
    let report = place.run(&["demo", "demo", "--size", "16", "--json"]).done().json();
    assert_eq!(report["verified"], true);
    assert_eq!(report["passes"], 1);
    assert_eq!(report["outputs"][0]["shape"], json!([16, 16, 16]));
    for seconds in ["seconds", "move_seconds", "copy_seconds", "of_copy"] {
        assert!(report[seconds].as_f64().unwrap() > 0.0, "{seconds}");
    }
    for picture in report["pictures"].as_array().unwrap() {
        assert!(place.read(picture.as_str().unwrap()).starts_with(b"\x89PNG\r\n\x1a\n"));
    }
    let before = Tensor::read(&place.read("demo/phantom.npy"), 4);
    let after = Tensor::read(&place.read("demo/phantom-xyz.npy"), 4);
    let inverted = before.gather(&[16; 3], |out| out.iter().rev().copied().collect());
    assert!(after == inverted);
    assert!(after != before, "the phantom is not symmetric");

    // The commands it prints do the same.
    for command in report["commands"].as_array().unwrap() {
        let args: Vec<&str> = command.as_str().unwrap().split(' ').skip(1).collect();
        place.run(&[&args[..], &["--force"]].concat()).done();
    }
    assert!(Tensor::read(&place.read("demo/phantom-xyz.npy"), 4) == inverted);
    let text = place.run(&["demo", "demo", "--size", "16"]).done().text();
    assert!(text.contains("of the copy") && text.contains("trundle transpose demo/phantom.npy"));
}

#[test]
fn the_bench_keeps_and_draws_what_it_measured() {
    let place = Place::new();
    let args = ["bench", "rolls/rows of 13", "--rounds", "1", "--svg", "s.svg", "--json", "r.json"];
    let run = place.run(&args).done();
    assert!(run.text().contains("rows of 13 by 5") && run.stderr.is_empty(), "{run:?}");
    let record: Value = serde_json::from_slice(&place.read("r.json")).unwrap();
    assert_eq!(record["threads"], 2);
    let case = &record["suites"][0]["cases"][0];
    assert_eq!(case["sizes"], json!([4_194_304, 13]));
    assert!(case["of_copy"].as_f64().unwrap() > 0.0);
    let picture = String::from_utf8(place.read("s.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("rows of 13 by 5"));

    // Files are kept, and stdout takes one of them alone.
    let run = place.run(&args);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("s.svg: exists already; --force overwrites it"), "{run:?}");
    let flip = ["bench", "planned flip", "--rounds", "1", "--json", "-"];
    let record: Value = serde_json::from_str(&place.run(&flip).done().text()).unwrap();
    assert_eq!(record["suites"][0]["name"], "small moves");
    let both = place.run(&[&flip[..], &["--svg", "-"]].concat());
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn info_reads_a_stream_to_its_end() {
    let place = Place::new();
    // More than a pipe holds: whoever writes would be cut off.
    let whole = Tensor::noise("'|u1'", 1, &[1_000_000]).file(PLAIN);
    let mut child = place.command(&["info", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&whole).unwrap();
    let run = Run::awaited(child).done();
    assert!(run.text().contains("stdin  u8  [1000000]"), "{run:?}");
    let run = place.run_on(&whole[..whole.len() - 1], &["info", "-"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("1000000 bytes, but only 999999 are there"), "{run:?}");
}

#[test]
fn stdin_may_be_closed() {
    let place = Place::new();
    let run = Run::of(place.command(&["info", "-"]).stdin(Stdio::null()));
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.starts_with("error: stdin: truncated: "), "{run:?}");
}
