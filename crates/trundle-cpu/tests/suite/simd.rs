//! A process reads `TRUNDLE_SIMD` once, so each name is tested in a separate process.

use std::process::Command;

use trundle_core::Backend;
use trundle_core::ops::Transpose;
use trundle_cpu::{Cpu, Machine, Simd};

use crate::common::{map_of, move_of};

/// Set in the processes that a test starts, which print their instruction set.
const PRINT_SETS: &str = "TRUNDLE_TESTS_PRINT_SIMD";

/// Prints the instruction sets of the process and of a plan's kernels, for the other tests.
#[test]
fn prints_its_instruction_sets() {
    if std::env::var_os(PRINT_SETS).is_none() {
        return;
    }
    let map = map_of(&[Transpose::new(&[1, 0]).into()], &[200, 300]);
    let plan = Cpu::default().plan(&move_of(&map, 4));
    let most = plan.steps().iter().map(|step| step.kernel.simd).max().unwrap();
    println!("\nforced: {} {most}", Machine::detect().simd);
}

/// Returns the instruction sets of the process and of the plan's widest kernel, and the output to stderr.
fn run_with(variable: &str) -> (String, String) {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["simd::prints_its_instruction_sets", "--exact", "--nocapture"])
        .env(PRINT_SETS, "1")
        .env("TRUNDLE_SIMD", variable)
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let text = String::from_utf8(run.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("forced: ")).unwrap();
    (line.to_owned(), String::from_utf8(run.stderr).unwrap())
}

#[test]
fn every_set_of_the_machine_can_be_forced() {
    for simd in Simd::available() {
        // Transposes do not use VBMI, but AVX-512.
        let kernel = if simd == Simd::Avx512Vbmi { Simd::Avx512 } else { simd };
        let (forced, stderr) = run_with(simd.name());
        assert_eq!(forced, format!("{simd} {kernel}"));
        assert!(!stderr.contains("TRUNDLE_SIMD"), "{stderr}");
    }
}

#[test]
fn an_unavailable_set_is_reported_and_not_used() {
    let widest = Simd::available().last().unwrap();
    let other = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    for wrong in [other, "sse9"] {
        let (used, stderr) = run_with(wrong);
        assert!(used.starts_with(widest.name()), "{used}");
        assert!(stderr.contains("trundle: TRUNDLE_SIMD: "), "{stderr}");
        assert!(stderr.contains(&format!("; {widest} is used")), "{stderr}");
    }
}
