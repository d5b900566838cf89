//! `--device`: a GPU is used where it is asked for, and nothing else in its place.

use crate::Place;
use crate::npy::Tensor;

fn place() -> Place {
    Place::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[64, 48]))])
}

#[test]
fn the_cpu_is_what_plans_are_for() {
    let place = place();
    let of_cpu = place.run(&["plan", "transpose", "x.npy", "-v", "--device", "cpu"]);
    let plain = place.run(&["plan", "transpose", "x.npy", "-v"]);
    assert_eq!((of_cpu.code, of_cpu.stdout), (Some(0), plain.stdout));
    let unknown = place.run(&["plan", "transpose", "x.npy", "--device", "gpu"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("cpu, wgpu, cuda"), "{}", unknown.stderr);
}

#[test]
fn a_program_without_gpus_says_how_to_build_one_with_them() {
    let place = place();
    let built = [("wgpu", cfg!(feature = "wgpu")), ("cuda", cfg!(feature = "cuda"))];
    for (device, _) in built.into_iter().filter(|(_, is_built)| !is_built) {
        for command in [&["plan", "transpose", "x.npy"][..], &["bench", "rolls"]] {
            let run = place.run(&[command, &["--device", device]].concat());
            assert_eq!((run.code, &run.stdout[..]), (Some(1), &b""[..]), "{}", run.stderr);
            assert!(run.stderr.contains(&format!("--features {device}")), "{}", run.stderr);
        }
    }
}

/// Where there is no such GPU, nothing is planned for the CPU instead.
#[cfg(feature = "cuda")]
#[test]
fn without_a_driver_of_cuda_it_is_said_what_was_looked_for() {
    let place = place();
    for command in [&["plan", "transpose", "x.npy"][..], &["bench", "rolls"]] {
        let run = place.run(&[command, &["--device", "cuda"]].concat());
        if run.code == Some(0) {
            println!("skipped: there is a GPU");
            return;
        }
        assert_eq!((run.code, &run.stdout[..]), (Some(1), &b""[..]), "{}", run.stderr);
        assert!(run.stderr.contains("libcuda.so"), "{}", run.stderr);
    }
}

#[cfg(feature = "wgpu")]
mod with_gpus {
    use super::*;

    /// No driver of Vulkan is found: nothing is planned for the CPU instead.
    #[test]
    fn without_a_device_it_is_said_what_was_looked_for() {
        let place = place();
        let command = ["plan", "transpose", "x.npy", "--device", "wgpu"];
        for variable in ["TRUNDLE_GPU", "NONE"] {
            let mut command = place.command(&command);
            command.env("VK_DRIVER_FILES", "/dev/null").env("VK_ICD_FILENAMES", "/dev/null");
            command.env(variable, "emulated");
            let run = crate::Run::of(&mut command);
            assert_eq!((run.code, &run.stdout[..]), (Some(1), &b""[..]), "{}", run.stderr);
            assert!(run.stderr.contains("no GPU can be used: looked for one by"), "{}", run.stderr);
        }
    }

    #[test]
    fn a_plan_says_what_is_launched() {
        let place = place();
        let command =
            ["plan", "apply", "x.npy", "transpose() | roll(shift=1, axes=0)", "--device", "wgpu"];
        let run = crate::Run::of(place.command(&command).env("TRUNDLE_GPU", "emulated"));
        let text = String::from_utf8(run.stdout).unwrap();
        if run.code == Some(1) && std::env::var_os("TRUNDLE_GPU").is_none() {
            println!("skipped: {}", run.stderr);
            return;
        }
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(text.starts_with("x: f32 [64, 48] to [48, 64], 1 pass over memory"), "{text}");
        assert!(text.contains("launch") && text.contains("workgroups of 256"), "{text}");
    }
}
