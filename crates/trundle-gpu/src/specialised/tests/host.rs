//! Compiles the texts of many kernels for the host at once, and runs them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use trundle_testing::noise;

use super::cases::cases;
use crate::{GpuMove, SpecialisedKernel, WholeBlock};

struct Launch {
    name: &'static str,
    block: WholeBlock,
    begins: [usize; 2],
    kernel: SpecialisedKernel,
    src: Vec<u8>,
    dst: Vec<u8>,
}

fn launches() -> Vec<Launch> {
    let mut launches = Vec::new();
    for case in cases() {
        for begins in [case.begins, [4, 8], [1, 15]] {
            let src = noise(case.work.src_bytes());
            let dst = noise(case.work.dst_bytes());
            for block in GpuMove::of(&case.work).whole_blocks() {
                let [from, to] = begins;
                if let Some(kernel) = SpecialisedKernel::of(block, from, to) {
                    let (block, src, dst) = (block.clone(), src.clone(), dst.clone());
                    launches.push(Launch { name: case.name, block, begins, kernel, src, dst });
                }
            }
        }
    }
    launches
}

/// The program of `host.h` with all kernels.
fn program(launches: &[Launch]) -> String {
    let mut text = include_str!("host.h").to_owned();
    for (number, launch) in launches.iter().enumerate() {
        let kernel = launch.kernel.cuda();
        write!(text, "#define moved moved_{number}\n{kernel}\n#undef moved\n").unwrap();
    }
    text.push_str("static const emulated::Entry all[] = {");
    (0..launches.len()).for_each(|number| write!(text, "moved_{number},").unwrap());
    text + "};\nint main(int, char** given) { return run_all(given[1], all); }\n"
}

/// The launches as `host.h` reads them.
fn given(launches: &[Launch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, Launch { block, begins, kernel, src, dst, .. }) in launches.iter().enumerate() {
        let table = block.block.loops.iter().find_map(trundle_core::Loop::cut_by_table);
        let (lengths, first) =
            table.map_or((&[][..], 0), |(_, table)| (&table.lengths, table.offset));
        let reads = [block.reads.start + begins[0], block.reads.end + begins[0]];
        let header = [
            number,
            kernel.blocks() as usize,
            kernel.threads() as usize,
            begins[0],
            src.len(),
            reads[0] / 16 * 16,
            reads[1].next_multiple_of(16),
            begins[1],
            dst.len(),
            lengths.len(),
            first,
        ];
        header.iter().for_each(|number| bytes.extend((*number as u64).to_ne_bytes()));
        bytes.extend([&src[..], dst].concat());
        lengths.iter().for_each(|length| bytes.extend((*length as u64).to_ne_bytes()));
    }
    bytes
}

/// The folder of the emulated NVRTC, which a package of this crate alone lacks.
const EMULATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trundle-cuda/emulated");

/// Compiles a program. Without a compiler or the emulated NVRTC, returns `None`.
fn compiled(folder: &Path, text: &str) -> Option<std::path::PathBuf> {
    if !Path::new(EMULATED).exists() {
        return None;
    }
    let (source, program) = (folder.join("kernels.cpp"), folder.join("kernels"));
    fs::write(&source, text).unwrap();
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let flags = ["-std=c++17", "-O1", "-w", "-I", EMULATED];
    let run = Command::new(compiler).args(flags).arg(&source).arg("-o").arg(&program).output();
    let output = run.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

#[test]
fn texts_move_the_elements() {
    let folder = std::env::temp_dir().join(format!("trundle-kernels-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let launches = launches();
    let program = compiled(&folder, &program(&launches));
    if let Some(program) = &program {
        fs::write(folder.join("launches"), given(&launches)).unwrap();
        let output = Command::new(program).arg(folder.join("launches")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut moved = &output.stdout[..];
        for launch in &launches {
            let mut expected = launch.dst.clone();
            let width = launch.block.width;
            launch.block.block.for_each_pair(|from, to| {
                expected[to..to + width].copy_from_slice(&launch.src[from..from + width]);
            });
            let (own, rest) = moved.split_at(expected.len());
            assert!(
                own == expected,
                "{}, {}:\n{}",
                launch.name,
                launch.kernel,
                launch.kernel.cuda()
            );
            moved = rest;
        }
        println!("{} kernels", launches.len());
    } else {
        println!("skipped: the texts need a C++ compiler and trundle-cuda/emulated");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Writes the texts to a folder, for `kernels/specialised.py` of trundle-cuda.
#[test]
fn texts_are_written() {
    let Some(folder) = std::env::var_os("TRUNDLE_WRITE_KERNELS").map(std::path::PathBuf::from)
    else {
        return;
    };
    fs::create_dir_all(&folder).unwrap();
    for (number, case) in cases().iter().enumerate() {
        for (block, whole) in GpuMove::of(&case.work).whole_blocks().iter().enumerate() {
            let kernel = SpecialisedKernel::of(whole, case.begins[0], case.begins[1]);
            let name = format!("{number:02}-{block} {}.cu", case.name);
            if let Some(kernel) = kernel {
                let text = format!(
                    "// {}: {kernel}, {} threads\n{}",
                    case.name,
                    kernel.threads(),
                    kernel.cuda()
                );
                fs::write(folder.join(name), text).unwrap();
            }
        }
    }
}
