//! The interface for scripts and users: JSON, exit codes, --quiet, streams, and plain text if the output is not a
//! terminal.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::npy::{PLAIN, Style, Tensor};
use crate::safetensors::Named;
use crate::{Run, Workdir};

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn set<'a>(keys: &[&'a str]) -> BTreeSet<&'a str> {
    keys.iter().copied().collect()
}

#[test]
fn a_move_is_reported_as_json() {
    let dir = Workdir::with(&[("volume.npy", &Tensor::counting(&[2, 3, 4]))]);
    const KEYS: &[&str] =
        &["outputs", "passes", "seconds", "move_seconds", "bytes_read", "bytes_written", "resumed"];
    let run = dir.run("transpose volume.npy -o out.npy --json").done();
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

    let args = "transpose volume.npy -o out.npy --json --force --verify";
    let report = dir.run(&args).done().json();
    assert_eq!(report["verified"], true);

    let chain = "reverse(axis=2, lengths=[1, 2], batch_axis=0) | transpose(2, 0, 1) \
                 | reverse(axis=1, lengths=[1, 2, 0, 1], batch_axis=0)";
    let args = format!("apply volume.npy '{chain}' -o two.npy --json");
    assert_eq!(dir.run(&args).done().json()["passes"], 2);
}

#[test]
fn a_file_is_described_as_json() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("[('a', '>i2'), ('b', '|u1')]", 3, &[5, 0, 2]);
    dir.write("points.npy", &tensor.file(Style { version: 3, fortran: true }));
    let report = dir.run("info points.npy --json").done().json();
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
    let report = dir.run_on(&file, "info - --json").done().json();
    assert_eq!(report["file"], "-");
    assert_eq!(report["tensors"][0]["name"], "stdin");
    assert_eq!(report["tensors"][0]["dtype"], "u16");
}

#[test]
fn a_plan_is_printed_as_json() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    let chain = "roll(1, 1) | h w -> w h";
    let report = dir.run(&format!("plan apply x.npy '{chain}' --json")).done().json();
    assert_eq!(report["out_shape"], json!([6, 4]));
    assert_eq!(report["chain"], json!(["roll(shift=[1], axes=[1])", "transpose(1, 0)"]));
    assert_eq!(report["passes"], 1);
    assert_eq!((&report["bytes_read"], &report["bytes_written"]), (&json!(48), &json!(48)));
    let stage = &report["stages"][0];
    assert_eq!(keys(stage), set(&["operators", "index_map", "move", "plan"]));
    assert_eq!(stage["move"]["width"], 2);
    // A roll along one axis is a single block with one cut loop.
    let blocks = stage["move"]["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 1);
    let loops = blocks[0]["loops"].as_array().unwrap();
    assert_eq!(loops.iter().filter(|each| each["cut"].is_object()).count(), 1);
    assert!(stage["plan"]["steps"][0]["kernels"][0].is_string());

    // If the command changes only the header, no elements are moved.
    let report = dir.run("plan transpose x.npy --json").done().json();
    assert_eq!(report["files"]["by_header"], true);
    let blocks = &report["stages"][0]["move"]["blocks"];
    assert_eq!((blocks.as_array().unwrap().len(), &blocks[0]["loops"]), (1, &json!([])));
    let report = dir.run("plan transpose x.npy --row-major --json").done().json();
    assert_eq!(report["stages"][0]["move"]["blocks"][0]["loops"].as_array().unwrap().len(), 2);
}

#[test]
fn a_plan_in_parts_states_the_bytes_read_and_written() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[64, 96]))]);
    let args = "plan transpose x.npy --row-major --max-mem 8K --storage ssd";
    let text = dir.run(&args).done().text();
    let line = text.lines().next().unwrap();
    assert!(line.starts_with("24.0 KiB, 1 pass: read, moved and written in parts; "), "{line}");
    assert!(line.contains("; 24.0 KiB read and 24.0 KiB written, within "), "{line}");
}

#[test]
fn a_plan_lists_some_tensors_and_counts_the_rest() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("", 4, &[2, 3]);
    let names: Vec<String> = (10..40).map(|number| format!("w{number}")).collect();
    let named: Vec<_> = names.iter().map(|name| Named::new(name, "F32", &tensor)).collect();
    dir.write("x.safetensors", &crate::safetensors::file(&[], &named));
    let text = dir.run("plan flip x.safetensors --axes 0").done().text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("30 tensors, 720 bytes, 1 pass: "), "{text}");
    assert_eq!(lines[1], "  w10: f32 [2, 3] -> [2, 3]");
    assert_eq!(lines[20], "  w29: f32 [2, 3] -> [2, 3]");
    assert_eq!(lines[21..], ["  and 10 more"]);
    // The error of `view` also shortens the list.
    let refused = dir.run("view x.safetensors");
    refused.refused(2, ": w10, w11,");
    assert!(refused.stderr.contains("w29 and 10 more"), "{refused:?}");
    assert!(!refused.stderr.contains("w30"), "{refused:?}");
}

#[test]
fn pictures_of_floats_are_drawn_in_colour() {
    let values: Vec<u8> =
        (0..4 * 5 * 3u8).flat_map(|number| (f32::from(number) / 59.0).to_le_bytes()).collect();
    let picture =
        Tensor { descr: "'<f4'".to_owned(), width: 4, shape: vec![4, 5, 3], bytes: values };
    let dir = Workdir::with(&[("x.npy", &picture)]);
    let run = dir.run("view x.npy -o x.png").done();
    assert_eq!(run.stderr, "x[:,:,:] of f32 [4, 5, 3]: black is 0, white is 1\n");
    let mut reader =
        png::Decoder::new(std::io::Cursor::new(dir.read("x.png"))).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    // The picture is enlarged by a whole factor.
    assert_eq!(bytes[..3], [0, 4, 9]);
    assert_eq!(bytes[bytes.len() - 3..], [246, 251, 255]);
}

#[test]
fn a_slice_larger_than_memory_is_drawn_from_some_elements() {
    let dir = Workdir::new();
    dir.write_zeros("x.npy", "<u2", 2, &[131_072, 262_144]);
    let run = dir.run("view x.npy --max-mem 64M").done();
    assert_eq!(
        run.stderr,
        "x[:,:] of u16 [131072, 262144]: 512 x 512 of 131072 x 262144 elements are drawn, every \
         256th row and every 512th column; mid grey is 0\n"
    );
}

#[test]
fn a_plan_writes_nothing() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    let before = dir.contents();
    for args in [
        "plan transpose x.npy",
        "plan roll x.npy --shift 1 --axes 0",
        "plan reverse x.npy --axis 0 --lengths 1,2,3,4,0,1",
        "plan flip x.npy --axes 0",
        "plan apply x.npy transpose()",
    ] {
        let run = dir.run(args).done();
        assert!(run.text().starts_with("48 bytes, 1 pass"), "{run:?}");
        run.prints("\n  x: u16 [4, 6] -> [");
        assert_eq!(run.stderr, "");
    }
    assert_eq!(dir.contents(), before);
}

#[test]
fn plan_accepts_the_options_of_the_command() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    let rest = "--axes 0 -o x.npy --force --verify --resume";
    let text = dir.run(&format!("plan flip x.npy {rest}")).done().text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], "  to x.npy, which would be overwritten");
    assert_eq!(lines[3], "  then 48 bytes are read back and compared");
    let run = dir.run(&format!("plan flip x.npy -q {rest}")).done();
    assert_eq!((run.text().as_str(), run.stderr.as_str()), ("", ""));
    dir.run("plan flip x.npy -q --axes 0 -o x.npy")
        .refused(2, "x.npy: already exists\nhint: --force");
}

#[test]
fn the_axis_and_axes_options_are_interchangeable() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[3, 4]))]);
    let both = |args: &str, known: &'static str, other: &'static str| {
        let out = |word: &'static str| {
            dir.run(&format!("{args} {word} 0 -o y.npy --force")).done();
            dir.read("y.npy")
        };
        assert_eq!(out(known), out(other), "{args:?}");
    };
    both("flip x.npy", "--axes", "--axis");
    both("roll x.npy --shift 1", "--axes", "--axis");
    both("reverse x.npy --lengths 1,2,2,3", "--axis", "--axes");
}

#[test]
fn quiet_is_silent() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    for quiet in ["-q", "--quiet"] {
        let run = dir.run(&format!("transpose x.npy -o out.npy --force --verify {quiet}")).done();
        assert_eq!((run.text().as_str(), run.stderr.as_str()), ("", ""));
        let run = dir.run(&format!("view x.npy -o out.png --force {quiet}")).done();
        assert_eq!((run.text().as_str(), run.stderr.as_str()), ("", ""));
    }
    dir.run("transpose none.npy -o new.npy -q").refused(1, "error: none.npy: ");
}

#[test]
fn messages_go_to_stderr_and_results_to_stdout() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    let run = dir.run("flip x.npy --axes 0 -o out.npy --verify").done();
    assert_eq!(run.text(), "");
    assert!(run.stderr.starts_with("out.npy: u16 [4,6], 48 bytes in 1 pass, "), "{run:?}");
    assert!(run.stderr.ends_with(" s, verified\n"), "{run:?}");
    let run = dir.run("view x.npy -o -").done();
    assert!(run.stdout.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(run.stderr.starts_with("x[:,:] of u16 [4, 6]"), "{run:?}");
}

#[test]
fn output_is_plain_text_without_a_terminal() {
    // Large enough for a progress bar on a terminal.
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'|u1'", 1, &[16 << 20]))]);
    let runs = [
        dir.run("flip x.npy --axes 0 -o y.npy --verify").done(),
        dir.run("view x.npy").done(),
        dir.run("info x.npy").done(),
        dir.run("plan flip x.npy --axes 0").done(),
        dir.run("flip x.npy --axes 7 -o z.npy"),
        dir.run("apply x.npy flop -o z.npy"),
        dir.run("--help").done(),
        dir.run("transpose"),
    ];
    for run in runs {
        let text = run.text() + &run.stderr;
        assert!(!text.contains(['\x1b', '\r', '\x08']), "{text:?}");
        assert!(run.stderr.lines().count() < 20, "{text}");
    }
}

#[test]
fn a_reader_that_stops_early_does_not_fail_a_report() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[4, 6]))]);
    for args in ["man", "completions bash", "info x.npy", "view x.npy"] {
        let mut child = dir.command(args).spawn().unwrap();
        drop(child.stdout.take());
        let run = Run::from(child.wait_with_output().unwrap()).done();
        assert!(!run.stderr.contains("panicked"), "{run:?}");
    }
}

#[test]
fn threads_come_from_the_argument_or_the_environment() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[400, 30, 50]))]);
    let threads = |variable: &str, args: &str| {
        let plan = format!("plan transpose x.npy --row-major --json {args}");
        let run = Run::of(dir.command(&plan).env("TRUNDLE_NUM_THREADS", variable)).done();
        run.json()["stages"][0]["plan"]["threads"].as_u64().unwrap()
    };
    assert_eq!(threads("1", ""), 1);
    assert_eq!(threads("2", ""), 2);
    assert_eq!(threads("2", "--threads 1"), 1);
    assert_eq!(threads("1", "--threads 2"), 2);
    for (wrong, message) in [("0", "at least 1"), ("many", "at least 1"), ("9999", "at most 4096")]
    {
        let args = "plan transpose x.npy";
        Run::of(dir.command(&args).env("TRUNDLE_NUM_THREADS", wrong)).refused(2, message);
    }
}

#[test]
fn an_instruction_set_can_be_forced() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[400, 300]))]);
    let plan = |variable: &str| {
        let args = "plan transpose x.npy --row-major --json";
        Run::of(dir.command(&args).env("TRUNDLE_SIMD", variable))
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
        run.refused(2, "error: TRUNDLE_SIMD: ");
        assert!(run.stdout.is_empty(), "{run:?}");
    }
}

#[test]
fn too_little_memory_for_an_element_is_refused() {
    let tensor = Tensor::counting(&[60, 101]);
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    let run = |input: &str, size: &str, args: &str| {
        let limited = format!("roll {input} --shift 1 --axes 1 -o out.npy");
        dir.run(&format!("{limited} --force --max-mem {size} {args}"))
    };
    // Files larger than the limit move in tiles.
    for size in ["4K", "4099", "8M"] {
        run("x.npy", size, "").done();
        run("x.npy", size, "--verify").done();
        let expected = crate::results::rolled(&tensor, &[(1, 1)]);
        assert_eq!(Tensor::read(&dir.read("out.npy"), 2), expected, "{size}");
    }
    dir.write("wide.npy", &Tensor::noise("'|V3000'", 3000, &[2, 3]).file(PLAIN));
    let before = dir.contents();
    let refused = run("wide.npy", "4K", "");
    let message = "of memory are needed, the limit is 4.0 KiB";
    refused.refused(3, message);
    for size in ["0", "1", "10", "4095"] {
        run("x.npy", size, "").refused(2, "at least 4.0 KiB (4K) are needed");
    }
    assert!(dir.contents() == before);
    // Each length takes 2 bytes in the file, and 40 bytes while the chain is read.
    dir.write("rows.npy", &Tensor::counting(&[1000, 6]).file(PLAIN));
    dir.write("lengths.npy", &Tensor::counting(&[1000]).file(PLAIN));
    let reverse = |size: usize| {
        let args = "reverse rows.npy --axis 1 --lengths lengths.npy";
        let size = size.to_string();
        dir.run(&format!("{args} -o out.npy --force --max-mem {size}"))
    };
    let lengths = 1000 * (2 + 40);
    reverse(lengths + 96).done();
    assert_eq!(reverse(lengths).code, Some(3));
    assert_eq!(reverse(lengths - 1).code, Some(3));
}

#[cfg(unix)]
#[test]
fn later_plans_use_the_stored_disk_speeds() {
    let dir = Workdir::new();
    dir.write_zeros("x.npy", "<f4", 4, &[8192, 8192]);
    let storage = |more: &str| {
        let plan = "plan transpose x.npy --row-major --max-mem 16M --json";
        let mut command = dir.command(&format!("{plan} {more}"));
        let run = Run::of(command.env("XDG_CACHE_HOME", dir.path("cache"))).done();
        run.json()["files"]["storage"].clone()
    };
    let first = storage("");
    let remembered = dir.path("cache/trundle/disks.json");
    for _ in 0..3 {
        assert_eq!(storage(""), first);
    }
    let text = std::fs::read_to_string(&remembered).unwrap();
    let mut disks: serde_json::Value = serde_json::from_str(&text).unwrap();
    disks[0]["kilobytes_per_second"] = 123_456.into();
    std::fs::write(&remembered, disks.to_string()).unwrap();
    assert_eq!(storage("")["bytes_per_second"], 123_456_000.0);
    assert_eq!(storage("--storage hdd")["bytes_per_second"], 150e6);
    assert_eq!(storage("")["bytes_per_second"], 123_456_000.0);
    assert_ne!(storage("--storage measure")["bytes_per_second"], 123_456_000.0);
    assert_ne!(storage("")["bytes_per_second"], 123_456_000.0);
}

#[test]
fn help_and_version_succeed() {
    let dir = Workdir::new();
    let version = concat!("trundle ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(dir.run("--version").done().text(), version);
    let commands =
        "transpose roll reverse flip apply split plan info view clean demo bench completions man";
    let help = dir.run("--help").done().text();
    let manual = dir.run("man").done().text();
    for command in commands.split(' ') {
        assert!(help.contains(&format!("  {command} ")), "{command}");
        assert!(manual.contains(&format!(".TH trundle-{command} ")), "{command}");
        let run = dir.run(&format!("{command} --help")).done();
        assert!(run.text().contains(&format!("Usage: trundle {command}")), "{command}");
    }
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = dir.run(&format!("completions {shell}")).done().text();
        assert!(script.contains("transpose") && script.contains("batch-axis"), "{shell}");
    }
}

#[test]
fn the_demo_moves_its_data_and_its_commands_can_be_repeated() {
    let dir = Workdir::new();
    let report = dir.run("demo demo --size 16 --json").done().json();
    assert_eq!(report["verified"], true);
    assert_eq!(report["passes"], 1);
    assert_eq!(report["outputs"][0]["shape"], json!([16, 16, 16]));
    for seconds in ["seconds", "move_seconds", "copy_seconds", "of_copy"] {
        assert!(report[seconds].as_f64().unwrap() > 0.0, "{seconds}");
    }
    for picture in report["pictures"].as_array().unwrap() {
        assert!(dir.read(picture.as_str().unwrap()).starts_with(b"\x89PNG\r\n\x1a\n"));
    }
    let before = Tensor::read(&dir.read("demo/phantom.npy"), 4);
    let after = Tensor::read(&dir.read("demo/phantom-xyz.npy"), 4);
    let inverted = before.gather(&[16; 3], |out| out.iter().rev().copied().collect());
    assert!(after == inverted);
    assert!(after != before, "the phantom is not symmetric");

    for command in report["commands"].as_array().unwrap() {
        let args = command.as_str().unwrap().strip_prefix("trundle").unwrap();
        dir.run(&format!("{args} --force")).done();
    }
    assert!(Tensor::read(&dir.read("demo/phantom-xyz.npy"), 4) == inverted);
    let text = dir.run("demo demo --size 16").done().text();
    assert!(text.contains("of the copy") && text.contains("trundle transpose demo/phantom.npy"));
}

#[test]
fn the_bench_writes_a_record_and_a_chart() {
    let dir = Workdir::new();
    let name = "roll of 1 MiB";
    let args = format!("bench 'small moves/{name}' --rounds 1 --svg s.svg --json r.json");
    let run = dir.run(&args).done();
    assert!(run.text().contains(name) && run.stderr.is_empty(), "{run:?}");
    let record: Value = serde_json::from_slice(&dir.read("r.json")).unwrap();
    assert_eq!(record["threads"], 2);
    let case = &record["suites"][0]["cases"][0];
    assert_eq!(case["sizes"], json!([512, 512]));
    assert!(case["of_copy"].as_f64().unwrap() > 0.0);
    let picture = String::from_utf8(dir.read("s.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains(name));

    // Only one output can be written to stdout.
    dir.run(&args).refused(2, "s.svg: already exists\nhint: --force overwrites it");
    let flip = "bench 'planned flip' --rounds 1 --json -";
    let record: Value = serde_json::from_str(&dir.run(flip).done().text()).unwrap();
    assert_eq!(record["suites"][0]["name"], "small moves");
    dir.run(&format!("{flip} --svg -")).refused(2, "cannot both write to stdout");
}

#[test]
fn info_reads_a_stream_to_its_end() {
    let dir = Workdir::new();
    // The input exceeds a pipe's buffer, so the writer would fail if `info` did not read all of it.
    let whole = Tensor::noise("'|u1'", 1, &[1_000_000]).file(PLAIN);
    let mut child = dir.command("info -").stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&whole).unwrap();
    Run::awaited(child).done().prints("stdin  u8  [1000000]");
    dir.run_on(&whole[..whole.len() - 1], "info -").refused(3, "1000000 bytes, but has 999999");
}

#[test]
fn an_empty_stdin_is_refused_as_truncated() {
    let dir = Workdir::new();
    Run::of(dir.command("info -").stdin(Stdio::null())).refused(3, "error: stdin: truncated: ");
}

#[test]
fn a_tuning_record_is_used_refused_and_deleted() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[2, 3]))]);
    let with = |variable: Option<&str>, args: &str| {
        let mut command = dir.command(args);
        command.env("XDG_CACHE_HOME", dir.path("cache"));
        command.env_remove("TRUNDLE_TUNING");
        Run::of(command.envs(variable.map(|value| ("TRUNDLE_TUNING", value))))
    };
    let plan = "plan transpose x.npy --json";
    let record_of = |variable| {
        let report = with(variable, plan).done().json();
        let text = |key: &str| report[key].as_str().unwrap().to_owned();
        (text("tuning"), text("tuning_source"))
    };
    let (built_in, source) = record_of(None);
    assert!(source.starts_with("built in, for "), "{source}");
    assert_eq!(record_of(Some("off")), (built_in.clone(), source.clone()));

    let (changed, source) = record_of(Some("tile_rows=17"));
    assert!(changed.contains(" tile_rows=17 ") && source == "TRUNDLE_TUNING", "{changed} {source}");
    dir.write("record.txt", format!("# of a friend\n{changed}\n").as_bytes());
    assert_eq!(
        record_of(Some("record.txt")),
        (changed.clone(), "TRUNDLE_TUNING, record.txt".to_owned())
    );

    let forgotten = with(None, "tune --forget --json").done().json();
    assert_eq!(forgotten["forgotten"], false);
    let kept = Path::new(forgotten["path"].as_str().unwrap());
    std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
    std::fs::write(kept, &changed).unwrap();
    assert_eq!(record_of(None).0, changed);
    assert_eq!(record_of(Some("off")).0, built_in);
    std::fs::write(kept, "tile_rows=17").unwrap();
    let run = with(None, plan).done();
    run.says("without streaming_bytes");
    assert!(with(None, "tune --forget").done().text().contains("was deleted"));
    assert!(!kept.exists());

    for (wrong, why) in [
        ("nowhere.txt", "No such file"),
        ("x.npy", "x.npy: "),
        ("tile_rows=0", "tile_rows=0: expected a number from 16 to 512"),
        ("speed=9", "speed: there is no such number"),
    ] {
        let run = with(Some(wrong), plan);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(
            run.stderr.starts_with("error: TRUNDLE_TUNING: ") && run.stderr.contains(why),
            "{run:?}"
        );
    }
}
