//! Kernels that are generated for one plan, and compiled by the emulated NVRTC.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cudarc::driver::result;
use libloading::Library;
use proptest::strategy::Strategy;
use proptest::test_runner::TestCaseError;
use trundle_core::ops::{Flip, Roll, Transpose};
use trundle_core::{Backend, Layout, Move, Op, Shape};
use trundle_testing::cases::any_widths;
use trundle_testing::shapings::shaping_chains;
use trundle_testing::{everything, holds, noise, suite};

use super::capture::captured;
use super::chains::check_against_cpu;
use super::devices::{COUNTED, FIRST, OnStream, WITHOUT_POOLS, device, emulated, emulated_folder};
use super::moves::{moved, part, reverse, roll};
use crate::{Cuda, CudaBuffer, CudaPlan, DeviceBytes, Specialise, take_warning};

/// Opens a device with [`Specialise::Now`]. Returns `None` if there is no device or no NVRTC.
fn specialising(ordinal: usize) -> Option<Cuda> {
    let gpu = device(ordinal)?.specialise(Specialise::Now);
    let lines = gpu.plan(&roll()).specialised();
    if lines[0].contains("NVRTC was not found") {
        println!("skipped: {}", lines[0]);
        return None;
    }
    Some(gpu)
}

/// A roll of 1 MiB, for which the background thread compiles. `rows` distinguishes the kernels of tests.
fn large(rows: usize) -> Move {
    let shape = Shape::new([rows, 1000]).unwrap();
    let layout = Layout::row_major(&shape, 4).unwrap();
    let map = Op::from(Roll::new(&[5], &[1])).index_map(&shape).unwrap();
    Move::new(&map, 4, &layout, &layout, 64).unwrap()
}

fn compilations() -> u64 {
    let path = emulated_folder().join("nvrtc/libnvrtc.so.12");
    // SAFETY: the emulated NVRTC has this function with this type.
    unsafe {
        let library = Library::new(path).unwrap();
        library.get::<unsafe extern "C" fn() -> u64>("nvrtc_compilations").unwrap()()
    }
}

fn check_run(gpu: &Cuda, plan: &CudaPlan, work: &Move) {
    let bytes = noise(work.src_bytes());
    let src = gpu.buffer_of(&bytes).unwrap();
    let mut dst = gpu.buffer(work.dst_bytes()).unwrap();
    gpu.run(plan, &src, &mut dst).unwrap();
    assert!(gpu.read(&dst).unwrap() == moved(work, &bytes), "{plan}");
}

/// Moves are right without their kernels, too.
fn check_no_kernel_failed() {
    assert_eq!(take_warning(), None);
}

fn state(plan: &CudaPlan) -> String {
    plan.to_string().lines().filter(|line| line.contains("specialised")).collect()
}

#[test]
fn moves_by_specialised_kernels_match_the_oracle() {
    let Some(gpu) = specialising(FIRST) else { return };
    let (share, shares) = if everything() { (0, 1) } else { (5, 1000) };
    suite::conformance(&gpu, share, shares);
    check_no_kernel_failed();
}

#[test]
fn random_chains_by_specialised_kernels_match_the_cpu() {
    let Some(gpu) = specialising(WITHOUT_POOLS) else { return };
    let cases = if everything() { 1500 } else { 15 };
    let shift =
        || (0..4usize, 0..16usize).prop_map(|(turn, shift)| if turn == 0 { shift } else { 0 });
    let given = (shaping_chains(3000, 5), any_widths(), shift(), shift());
    holds(cases, &given, |(chain, width, src, dst)| {
        check_against_cpu(&gpu, &chain, width, [src, dst]).map_err(TestCaseError::fail)
    });
    check_no_kernel_failed();
}

fn transposed(sizes: &[usize], order: &[i64], width: usize) -> Move {
    let shape = Shape::new(sizes.to_vec()).unwrap();
    let map = Op::from(Transpose::new(order)).index_map(&shape).unwrap();
    let [src, dst] = [&shape, map.out_shape()].map(|of| Layout::row_major(of, width).unwrap());
    Move::new(&map, width, &src, &dst, 64).unwrap()
}

/// Channels in opposite order, as from BGR to RGB.
fn flipped_channels() -> Move {
    let shape = Shape::new([64, 50, 3]).unwrap();
    let map = Op::from(Flip::new(&[2])).index_map(&shape).unwrap();
    let layout = Layout::row_major(&shape, 1).unwrap();
    Move::new(&map, 1, &layout, &layout, 64).unwrap()
}

#[test]
fn a_plan_uses_a_kernel_of_each_pattern_at_once_if_the_caller_asks() {
    let Some(gpu) = specialising(FIRST) else { return };
    for (pattern, work) in [
        ("stream", roll()),
        ("stream", reverse()),
        ("tile", transposed(&[300, 200], &[1, 0], 4)),
        ("tile", transposed(&[1001, 777], &[1, 0], 1)),
        ("tile", transposed(&[200, 5, 64], &[2, 1, 0], 2)),
        ("planes", transposed(&[64, 50, 3], &[2, 0, 1], 1)),
        ("pixels", transposed(&[3, 64, 50], &[1, 2, 0], 1)),
        ("turned pixels", flipped_channels()),
    ] {
        let plan = gpu.plan(&work);
        let state = state(&plan);
        assert!(state.contains(&format!(": {pattern}")) && state.ends_with(", used"), "{plan}");
        check_run(&gpu, &plan, &work);
    }
}

/// The text of a copy of whole blocks of threads does not contain its size.
#[test]
fn moves_of_different_sizes_may_share_a_text() {
    let Some(gpu) = specialising(FIRST) else { return };
    for sizes in [&[512, 16], &[256, 16], &[1024, 16]] {
        let work = transposed(sizes, &[0, 1], 1);
        let plan = gpu.plan(&work);
        assert!(state(&plan).ends_with(", used"), "{plan}");
        check_run(&gpu, &plan, &work);
    }
}

#[test]
fn a_kernel_is_compiled_after_some_runs() {
    let Some(gpu) = emulated(FIRST) else { return };
    let work = large(270);
    let plan = gpu.specialise(Specialise::Later).plan(&work);
    for _ in 0..2 {
        check_run(&gpu, &plan, &work);
        assert!(state(&plan).ends_with(", compiled after 3 runs"), "{plan}");
    }
    let until = Instant::now() + Duration::from_secs(60);
    while !state(&plan).ends_with(", used") {
        assert!(Instant::now() < until, "{plan}");
        check_run(&gpu, &plan, &work);
    }
    check_run(&gpu, &plan, &work);
    // Another plan of the same move uses it from the first run.
    assert!(state(&gpu.plan(&work)).ends_with(", used"));
}

#[test]
fn small_moves_are_not_specialised_unless_the_caller_asks() {
    let Some(gpu) = emulated(FIRST) else { return };
    for (when, expected) in [
        (Specialise::Later, "  not specialised: the move is smaller than 1 MiB"),
        (Specialise::Never, "  not specialised: the setting is Specialise::Never"),
    ] {
        let plan = gpu.specialise(when).plan(&roll());
        check_run(&gpu, &plan, &roll());
        assert_eq!(state(&plan), expected);
    }
}

/// Each thread plans and runs the same move, which is compiled once.
#[test]
fn threads_share_a_kernel() {
    let Some(gpu) = emulated(COUNTED).map(|gpu| gpu.specialise(Specialise::Now)) else { return };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let gpu = &OnStream::new(&gpu).gpu;
                let work = large(275);
                check_run(gpu, &gpu.plan(&work), &work);
            });
        }
    });
    assert_eq!(gpu.stream.context.kernels.count(), 1);
}

/// The emulated driver refuses modules during a capture, as a driver may.
#[test]
fn nothing_is_compiled_or_loaded_during_a_capture() {
    let Some(gpu) = emulated(FIRST) else { return };
    let on = OnStream::new(&gpu);
    let gpu = on.gpu.specialise(Specialise::Now);
    let (loaded, work) = (roll(), large(280));
    let before = gpu.plan(&loaded);
    let [src, dst] = [(); 2].map(|()| gpu.buffer(work.src_bytes()).unwrap());
    let [from, mut to] = [&src, &dst].map(|buffer| part(&gpu, buffer, 0, work.src_bytes()));
    let mut planned = None;
    let graph = captured(&on, || {
        gpu.run(&before, &from, &mut to).unwrap();
        let plan = gpu.plan(&work);
        gpu.run(&plan, &from, &mut to).unwrap();
        planned = Some(plan);
    });
    let plan = planned.unwrap();
    assert!(state(&before).ends_with(", used"), "{before}");
    assert!(state(&plan).ends_with(", compiled after 3 runs"), "{plan}");
    check_run(&gpu, &plan, &work);
    assert!(state(&plan).ends_with(", used"), "{plan}");
    let _current = gpu.stream.context.current().unwrap();
    // SAFETY: the graph was made here.
    unsafe { result::graph::destroy(graph) }.unwrap();
}

/// A kernel reads whole vectors of the source. If one is not within the allocation, the kernels for any move run.
#[test]
fn vectors_outside_the_allocation_of_the_source_are_not_read() {
    let Some(gpu) = emulated(FIRST).map(|gpu| gpu.specialise(Specialise::Now)) else { return };
    let work = roll();
    let bytes = noise(8000);
    let _current = gpu.stream.context.current().unwrap();
    for (allocated, shift) in [(8004, 4), (8008, 4), (8012, 4), (8016, 4), (8000, 0)] {
        // SAFETY: the size is not 0.
        let address = unsafe { result::malloc_sync(allocated) }.unwrap();
        let plan = gpu.plan(&work);
        let memory = DeviceBytes { address: address + shift, bytes: 8000 };
        // SAFETY: the memory was just allocated.
        let mut src: CudaBuffer = unsafe { gpu.borrowed(memory) };
        let mut dst = gpu.buffer(8000).unwrap();
        gpu.write(&mut src, &bytes).unwrap();
        gpu.run(&plan, &src, &mut dst).unwrap();
        assert_eq!(gpu.read(&dst).unwrap(), moved(&work, &bytes));
        let is_beside = plan.to_string().contains("the source ends where its allocation");
        assert_eq!(is_beside, allocated % 16 != 0, "{allocated}: {plan}");
        // SAFETY: the stream is idle.
        unsafe { result::free_sync(address) }.unwrap();
    }
}

/// Runs in processes that other tests start, and prints what happened.
#[test]
fn in_another_process() {
    let Some(rows) = std::env::var_os("TRUNDLE_CHILD") else { return };
    let rows = rows.to_string_lossy().parse().unwrap();
    let Some(gpu) = device(FIRST) else { return };
    let work = large(rows);
    let plan = gpu.plan(&work);
    for _ in 0..4 {
        check_run(&gpu, &plan, &work);
    }
    let compiled = Path::new(&std::env::var_os("TRUNDLE_NVRTC").unwrap()).exists();
    let compiled = if compiled { compilations() } else { 0 };
    println!("compiled {compiled}; {}; {:?}; {:?}", state(&plan), take_warning(), take_warning());
}

/// Runs a move in another process. Returns what it printed.
fn run_in_another_process(rows: usize, variables: &[(&str, &str)]) -> String {
    let folder = emulated_folder();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::specialised::in_another_process", "--nocapture"])
        .env("TRUNDLE_EMULATED", &folder)
        .env("TRUNDLE_CHILD", rows.to_string())
        .env("TRUNDLE_NVRTC", folder.join("nvrtc"))
        .env("TRUNDLE_SPECIALISE", "now")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    let _ = write!(text, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    text
}

#[track_caller]
fn check_says(text: &str, expected: &[&str]) {
    for each in expected {
        assert!(text.contains(each), "{each:?} is not in:\n{text}");
    }
}

#[test]
fn processes_share_compiled_kernels() {
    if emulated(FIRST).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernels = folder.path().join("kernels");
    let variables = [("TRUNDLE_KERNELS", kernels.to_str().unwrap())];
    let run = |variables: &[(&str, &str)]| run_in_another_process(290, variables);
    check_says(&run(&variables), &["compiled 1;", ", used; None; None"]);
    check_says(&run(&variables), &["compiled 0;", ", used; None; None"]);
    check_says(&run(&[("TRUNDLE_KERNELS", "off")]), &["compiled 1;"]);
    // In the default mode too, from the first run on.
    let later = [variables[0], ("TRUNDLE_SPECIALISE", "later")];
    check_says(&run(&later), &["compiled 0;", ", used;"]);

    let files: Vec<_> = std::fs::read_dir(&kernels).unwrap().collect();
    let [Ok(file)] = &files[..] else { panic!("{files:?}") };
    let mut content = std::fs::read(file.path()).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    std::fs::write(file.path(), content).unwrap();
    check_says(&run(&variables), &["compiled 1;", ", used; None; None"]);
    check_says(&run(&variables), &["compiled 0;", ", used; None; None"]);
    // A folder that cannot be made.
    let not_a_folder = file.path().join("below");
    let variables = [("TRUNDLE_KERNELS", not_a_folder.to_str().unwrap())];
    check_says(&run(&variables), &["compiled 1;", ", used; None; None"]);
}

#[test]
fn without_nvrtc_moves_are_right_and_a_warning_says_so() {
    if emulated(FIRST).is_none() {
        return;
    }
    let text = run_in_another_process(300, &[("TRUNDLE_NVRTC", "/not/here/libnvrtc.so.12")]);
    let reason = "NVRTC was not found for CUDA 13; trundle tried /not/here/libnvrtc.so.12";
    check_says(
        &text,
        &[&format!("  not specialised: {reason};"), &format!("Some(\"{reason}"), "; None"],
    );
}

#[test]
fn if_the_compiler_fails_moves_are_right_and_a_warning_says_so() {
    if emulated(FIRST).is_none() {
        return;
    }
    for when in ["now", "later"] {
        let variables = [
            ("CXX", "sh -c 'echo the compiler is broken; exit 1' --"),
            ("TRUNDLE_SPECIALISE", when),
        ];
        let text = run_in_another_process(310, &variables);
        if when == "now" {
            let reason = "NVRTC failed with error 6: the compiler is broken";
            check_says(&text, &[&format!(", not used: {reason}"), "Some(\"a kernel for this GPU"]);
        }
    }
}

/// The process ends while a thread compiles.
#[test]
fn a_process_waits_for_the_compiler_when_it_exits() {
    if emulated(FIRST).is_none() {
        return;
    }
    let variables = [("CXX", "sleep 1; c++"), ("TRUNDLE_SPECIALISE", "later")];
    check_says(&run_in_another_process(320, &variables), &["being compiled"]);
}

/// A part of a tensor that begins at any address.
#[test]
fn kernels_for_any_alignment_are_compiled_in_the_first_run() {
    let Some(gpu) = specialising(FIRST) else { return };
    let shape = Shape::new([7, 90]).unwrap();
    let layout = Layout::row_major(&shape, 1).unwrap();
    let map = Op::from(Flip::new(&[1])).index_map(&shape).unwrap();
    let work = Move::new(&map, 1, &layout, &layout, 64).unwrap();
    let plan = gpu.plan(&work);
    let bytes = noise(630);
    for shift in if everything() { 0..16 } else { 3..5 } {
        let src = gpu.buffer_of(&[&vec![0; shift], &bytes[..]].concat()).unwrap();
        let dst = gpu.buffer(700).unwrap();
        let mut to = part(&gpu, &dst, 5 * shift % 16, 630);
        gpu.run(&plan, &part(&gpu, &src, shift, 630), &mut to).unwrap();
        assert!(gpu.read(&to).unwrap() == moved(&work, &bytes));
    }
}
