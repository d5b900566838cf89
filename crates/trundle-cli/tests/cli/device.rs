//! `--device`, which never falls back to the CPU.

use crate::Workdir;
use crate::npy::Tensor;

const COMMANDS: [&str; 4] = [
    "plan transpose x.npy",
    "plan transpose x.npy --json",
    "bench 'planned flip' --rounds 1",
    "bench 'planned flip' --rounds 1 --json -",
];

fn dir() -> Workdir {
    Workdir::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[64, 48]))])
}

#[test]
fn plans_are_for_the_cpu_by_default() {
    let dir = dir();
    let of_cpu = dir.run("plan transpose x.npy -v --device cpu");
    let plain = dir.run("plan transpose x.npy -v");
    assert_eq!((of_cpu.code, of_cpu.stdout), (Some(0), plain.stdout));
    dir.run("plan transpose x.npy --device gpu").refused(2, "cpu, wgpu, cuda");
}

#[test]
fn builds_without_gpus_say_how_to_enable_them() {
    let dir = dir();
    let built = [("wgpu", cfg!(feature = "wgpu")), ("cuda", cfg!(feature = "cuda"))];
    for (device, _) in built.into_iter().filter(|(_, is_built)| !is_built) {
        for command in COMMANDS {
            let run = dir.run(&format!("{command} --device {device}"));
            assert_eq!((run.code, &run.stdout[..]), (Some(1), &b""[..]), "{}", run.stderr);
            assert!(run.stderr.contains(&format!("--features {device}")), "{}", run.stderr);
        }
    }
}

#[cfg(feature = "cuda")]
#[test]
fn a_missing_cuda_driver_is_reported_by_name() {
    let dir = dir();
    for command in COMMANDS {
        let run = dir.run(&format!("{command} --device cuda"));
        if run.code == Some(0) {
            let of_device = ["launch", "cuda"].iter().any(|word| run.text().contains(word));
            assert!(of_device, "{command:?} is the CPU's: {run:?}");
            return crate::skip("there is a GPU");
        }
        assert_eq!((run.code, &run.stdout[..]), (Some(1), &b""[..]), "{}", run.stderr);
        assert!(run.stderr.contains("libcuda.so"), "{}", run.stderr);
    }
}

/// These tests use the emulated driver, a library with the name of NVIDIA's driver.
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod with_cuda {
    use std::path::Path;
    use std::process::Command;
    use std::sync::OnceLock;

    use tempfile::TempDir;

    use super::*;
    use crate::Run;

    /// The folder of the driver; `None` if there is no compiler.
    fn driver() -> Option<&'static Path> {
        static FOLDER: OnceLock<Option<TempDir>> = OnceLock::new();
        let built = || {
            let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
            Command::new(compiler).arg("--version").output().ok()?;
            let folder = tempfile::tempdir().unwrap();
            let build =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../trundle-cuda/emulated/build.sh");
            let output = Command::new(build).arg(folder.path()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(folder)
        };
        FOLDER.get_or_init(built).as_ref().map(TempDir::path)
    }

    fn run(folder: &Path, args: &str) -> String {
        let dir = dir();
        let mut command = dir.command(args);
        command.env("LD_LIBRARY_PATH", folder).env("TRUNDLE_NVRTC", folder.join("nvrtc"));
        let run = Run::of(&mut command);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        String::from_utf8(run.stdout).unwrap()
    }

    #[test]
    fn a_plan_names_the_emulated_device() {
        let Some(folder) = driver() else {
            return crate::skip("the emulated driver needs a C++ compiler, and none was found");
        };
        let chain = "transpose() | roll(shift=1, axes=0)";
        let text = run(folder, &format!("plan apply x.npy '{chain}' --device cuda"));
        assert!(text.starts_with("x: f32 [64, 48] to [48, 64], 1 pass over memory"), "{text}");
        assert!(text.contains(" on emulated: "), "{text}");
        assert!(text.contains("specialised for blocks 0.."), "{text}");
    }

    #[test]
    fn a_bench_runs_its_cases_on_the_device() {
        let Some(folder) = driver() else {
            return crate::skip("the emulated driver needs a C++ compiler, and none was found");
        };
        let case = "'small moves/planned roll'";
        let text = run(folder, &format!("bench --device cuda --rounds 1 {case}"));
        assert!(text.starts_with("cuda: emulated\nThe CPU emulates this device"), "{text}");
        assert!(text.contains("planned roll"), "{text}");
    }
}

#[cfg(feature = "wgpu")]
mod with_gpus {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Run, skip};

    #[test]
    fn a_missing_device_error_lists_the_searched_backends() {
        let dir = dir();
        let command = "plan transpose x.npy --device wgpu";
        for variable in ["TRUNDLE_GPU", "NONE"] {
            let mut command = dir.command(&command);
            command.env("VK_DRIVER_FILES", "/dev/null").env("VK_ICD_FILENAMES", "/dev/null");
            command.env(variable, "emulated");
            let run = Run::of(&mut command);
            assert_eq!((run.code, &run.stdout[..]), (Some(1), &b""[..]), "{}", run.stderr);
            assert!(
                run.stderr.contains("no GPU can be used: trundle searched with"),
                "{}",
                run.stderr
            );
        }
    }

    /// Runs on a device that Mesa emulates, if there is one or `TRUNDLE_GPU` requires one.
    fn emulated(dir: &Workdir, args: &str) -> Option<Run> {
        let command = format!("{args} --device wgpu");
        let run = Run::of(dir.command(&command).env("TRUNDLE_GPU", "emulated"));
        if run.stderr.contains("no GPU can be used") && std::env::var_os("TRUNDLE_GPU").is_none() {
            skip(&run.stderr);
            return None;
        }
        Some(run)
    }

    const CHAIN: &str = "transpose() | roll(shift=1, axes=0)";

    #[test]
    fn a_plan_lists_the_launches() {
        let Some(run) = emulated(&dir(), &format!("plan apply x.npy '{CHAIN}'")) else { return };
        let text = String::from_utf8(run.done().stdout).unwrap();
        assert!(text.starts_with("x: f32 [64, 48] to [48, 64], 1 pass over memory"), "{text}");
        let launch = "launch 0: block 0 by gather_words, 12 workgroups of 256 invocations; \
                      reads 0..12288, writes 0..12288";
        assert!(text.contains("from input 0 to output 0: 1 launch on "), "{text}");
        assert!(text.contains(launch), "{text}");
    }

    /// A JSON plan has the fields of a CPU plan, and also the launches.
    #[test]
    fn a_plan_is_printed_as_json() {
        let dir = dir();
        let command = format!("plan apply x.npy '{CHAIN}' --json");
        let Some(run) = emulated(&dir, &command) else { return };
        let (plan, of_cpu) = (run.done().json(), dir.run(&command).done().json());
        for same in
            ["file", "tensor", "out_shape", "chain", "passes", "bytes_read", "bytes_written"]
        {
            assert_eq!(plan[same], of_cpu[same], "{same}");
        }
        assert_eq!(plan["scratch_bytes"], 0);
        assert_eq!((&plan["files"], &plan["tuning"]), (&Value::Null, &Value::Null));
        assert_eq!(plan["device"]["by"], json!("wgpu"));
        assert_eq!(plan["stages"][0]["bytes"].as_u64(), Some(12288));
        let emulated = plan["device"]["emulated"].as_bool().unwrap();
        assert_eq!(plan["device"]["name"].as_str().unwrap().ends_with("emulated"), emulated);
        let step = &plan["stages"][0]["steps"][0];
        assert_eq!((&step["from"], &step["to"]), (&json!("input 0"), &json!("output 0")));
        assert_eq!(step["move"], of_cpu["stages"][0]["move"]);
        let block = &step["plan"]["blocks"][0];
        let expected = json!(["gather", "words", 4, 188]);
        assert_eq!(
            json!([block["pattern"], block["access"], block["width"], block["src_offset"]]),
            expected
        );
        let all = json!({ "offset": 0, "bytes": 12288 });
        let launch = json!({
            "block": 0,
            "kernel": "gather_words",
            "workgroups": 12,
            "invocations": 256,
            "reads": all,
            "writes": all,
            "windows": { "src": all, "dst": all },
        });
        assert_eq!(step["plan"]["launches"], json!([launch]));
    }

    #[test]
    fn steps_of_a_plan_name_their_source_tensors() {
        let dir = dir();
        let chain = "pad(width=[[1, 0], [0, 0]], mode=\"constant\", value=7) | transpose()";
        let command = format!("plan apply x.npy '{chain}' --json");
        let Some(run) = emulated(&dir, &command) else { return };
        let (plan, of_cpu) = (run.done().json(), dir.run(&command).done().json());
        let steps = plan["stages"][0]["steps"].as_array().unwrap();
        let from: Vec<&str> = steps.iter().map(|step| step["from"].as_str().unwrap()).collect();
        assert_eq!(from, ["input 0", "constant 0"]);
        assert_eq!(
            (&plan["others"], &plan["bytes_written"]),
            (&of_cpu["others"], &of_cpu["bytes_written"])
        );
        let tiles = &steps[0]["plan"]["blocks"][0];
        assert_eq!(
            json!([tiles["pattern"], tiles["across"], tiles["along"]]),
            json!(["tiles", 0, 1])
        );
        assert_eq!(steps[0]["plan"]["launches"][0]["kernel"], "tiles_4");
    }

    #[test]
    fn options_that_only_work_on_the_cpu_are_refused() {
        let dir = dir();
        let tasks = "plan transpose x.npy -o y.npy --tasks tasks.json";
        let threads = "bench 'planned flip' --threads 1";
        let pages = "bench 'planned flip' --large-pages";
        let before = dir.contents();
        for (command, message) in [
            (tasks, "--json lists the launches"),
            (threads, "--threads and --large-pages work with --device cpu only"),
            (pages, "--threads and --large-pages work with --device cpu only"),
        ] {
            let Some(run) = emulated(&dir, command) else { return };
            assert_eq!((run.code, &run.stdout[..]), (Some(2), &b""[..]), "{}", run.stderr);
            assert!(run.stderr.contains(message), "{}", run.stderr);
        }
        assert_eq!(dir.contents(), before);
    }

    #[test]
    fn a_bench_record_describes_the_device() {
        let dir = dir();
        let bench = "bench 'planned flip' --rounds 1";
        let files = format!("{bench} --json record.json --svg picture.svg");
        let Some(run) = emulated(&dir, &files) else { return };
        let text = String::from_utf8(run.done().stdout).unwrap();
        let record: Value = serde_json::from_slice(&dir.read("record.json")).unwrap();
        let device = &record["device"];
        let emulated = device["emulated"].as_bool().unwrap();
        let name = device["name"].as_str().unwrap();
        assert_eq!(device["by"], json!("wgpu"));
        assert_eq!(record["rounds"], json!(1));
        assert_eq!(record["threads"], Value::Null);
        assert!(text.starts_with(&format!("wgpu: {name}\n")), "{text}");
        assert_eq!(text.contains("The CPU emulates this device"), emulated, "{text}");
        let picture = String::from_utf8(dir.read("picture.svg")).unwrap();
        assert!(picture.contains(&format!("wgpu: {name}")), "{picture}");
        let case = &record["suites"][0]["cases"][0];
        assert_eq!(
            json!([case["name"], case["bytes"], case["kernels"]]),
            json!(["planned flip", 1024, "gather_words"])
        );

        let of_cpu = dir.run(&format!("{bench} --json -")).done().text();
        let of_cpu: Value = serde_json::from_str(&of_cpu).unwrap();
        let of_cpu = of_cpu["suites"][0]["cases"][0].as_object().unwrap();
        for field in of_cpu.keys().filter(|field| *field != "most_ns") {
            assert!(!case[field].is_null(), "{field}");
        }
    }
}
