//! Files and streams that are larger than the memory limit.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::thread;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

#[cfg(feature = "zarr")]
use crate::chance;
use crate::npy::{PLAIN, Tensor};
use crate::results::flipped;
use crate::{Run, Workdir};

/// The code of a test build alone takes about 50 MiB.
const MAX_MEM: &str = "76M";

/// 72 MB of f32.
fn tensor() -> Tensor {
    Tensor::noise("'<f4'", 4, &[18, 1000, 1000])
}

/// The peak memory in KiB, if the system reports it.
fn peak_kib(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Runs from stdin to stdout, and checks the peak memory.
fn streamed(dir: &Workdir, input: Vec<u8>, args: &str) -> Run {
    streamed_within(MAX_MEM, dir, input, args).done()
}

/// Like [`streamed`], with any limit and any exit code.
fn streamed_within(max_mem: &str, dir: &Workdir, input: Vec<u8>, args: &str) -> Run {
    let mut command = dir.command(&format!("{args} --max-mem {max_mem} --threads 2"));
    // The limit includes the code of the process.
    command.env_remove("TRUNDLE_OWN_MEMORY");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        stdout.read_to_end(&mut all).map(|_| all)
    });
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_kib(&child).unwrap_or(0));
        thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut run = Run::from(child.wait_with_output().unwrap());
    let _ = writer.join().unwrap();
    run.stdout = reader.join().unwrap().unwrap();
    let limit_kib = max_mem.strip_suffix('M').unwrap().parse::<u64>().unwrap() << 10;
    assert!(peak <= limit_kib, "{peak} KiB of {limit_kib} for {args:?}");
    run
}

#[test]
fn streams_larger_than_the_memory_are_moved() {
    let tensor = tensor();
    let expected = flipped_rows(&tensor);
    let dir = Workdir::new();
    let run = streamed(&dir, tensor.file(PLAIN), "flip - --axes 0 -o -");
    assert!(run.stdout.ends_with(&expected));
    assert_eq!(dir.contents(), []);
    streamed(&dir, tensor.file(PLAIN), "flip - --axes 0 -o y.npy --verify");
    assert!(dir.read("y.npy").ends_with(&expected));
    let run = streamed(&dir, Vec::new(), "flip y.npy --axes 0 -o -");
    assert!(run.stdout.ends_with(&tensor.bytes));
    assert_eq!(dir.contents().len(), 1);
}

#[test]
fn files_and_streams_larger_than_the_memory_are_joined() {
    let tensor = tensor();
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    let args = "concat - x.npy --axis 1 -o -";
    let run = streamed(&dir, tensor.file(PLAIN), args);
    let rows = tensor.bytes.chunks(tensor.bytes.len() / tensor.shape[0]);
    let expected: Vec<u8> = rows.flat_map(|row| [row, row].concat()).collect();
    assert!(run.stdout.ends_with(&expected));
    assert_eq!(dir.contents().len(), 1);
}

#[test]
fn files_and_streams_larger_than_memory_are_scattered_and_split() {
    let tensor = tensor();
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    let rows: Vec<i64> = (0..18).rev().collect();
    dir.write("rows.npy", &Tensor { shape: vec![18, 1], ..Tensor::list(&rows) }.file(PLAIN));
    let zeros = Tensor { bytes: vec![0; tensor.bytes.len()], ..tensor.clone() };
    let args = "apply - 'scatter_nd(_, x.npy, indices=rows.npy)' -o -";
    let run = streamed(&dir, zeros.file(PLAIN), args);
    assert!(run.stdout.ends_with(&flipped_rows(&tensor)));
    let args = "split x.npy --axis 1 --parts 2 -o p-{}.npy --verify";
    streamed(&dir, Vec::new(), args);
    let halves: Vec<&[u8]> = tensor.bytes.chunks(tensor.bytes.len() / 36).collect();
    for number in 0..2 {
        let expected: Vec<u8> =
            halves.iter().skip(number).step_by(2).copied().flatten().copied().collect();
        assert!(dir.read(&format!("p-{number}.npy")).ends_with(&expected));
    }
}

/// Faster than an element-wise `flip`.
fn flipped_rows(tensor: &Tensor) -> Vec<u8> {
    let row = tensor.bytes.len() / tensor.shape[0];
    let small = Tensor::counting(&[3]);
    assert_eq!(flipped(&small, &[0]).bytes, [2, 0, 1, 0, 0, 0]);
    tensor.bytes.chunks(row).rev().collect::<Vec<_>>().concat()
}

/// Returns a zip archive with one deflated member.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    let packed = encoder.finish().unwrap();
    let mut crc = Crc::new();
    crc.update(content);
    let mut common = Vec::new();
    for number in [20u16, 0, 8, 0, 33] {
        common.extend(number.to_le_bytes());
    }
    for number in [crc.sum(), packed.len() as u32, content.len() as u32] {
        common.extend(number.to_le_bytes());
    }
    common.extend((name.len() as u16).to_le_bytes());
    common.extend(0u16.to_le_bytes());
    let local = [&b"PK\x03\x04"[..], &common, name.as_bytes(), &packed].concat();
    let entry = [&b"PK\x01\x02\x14\x00"[..], &common, &[0; 14], name.as_bytes()].concat();
    let mut end = b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00".to_vec();
    end.extend((entry.len() as u32).to_le_bytes());
    end.extend((local.len() as u32).to_le_bytes());
    end.extend([0, 0]);
    [local, entry, end].concat()
}

#[test]
fn a_deflated_member_larger_than_the_memory_is_moved() {
    let tensor = tensor();
    let dir = Workdir::new();
    dir.write("x.npz", &archive("a.npy", &tensor.file(PLAIN)));
    streamed(&dir, Vec::new(), "flip x.npz --axes 0 -o y.npy --verify");
    assert!(dir.read("y.npy").ends_with(&flipped_rows(&tensor)));
    assert_eq!(dir.contents().len(), 2);
}

#[test]
fn tensors_larger_than_the_memory_are_compared() {
    let tensor = tensor();
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    dir.write("x.npz", &archive("a.npy", &tensor.file(PLAIN)));
    dir.run("transpose x.npy -o inverted.npy --row-major").done();
    dir.run("transpose inverted.npy -o f.npy").done();
    for files in [["x.npy", "f.npy"], ["f.npy", "x.npy"], ["x.npz", "f.npy"], ["x.npz", "x.npz"]] {
        let run = streamed(&dir, Vec::new(), &format!("cmp {} {}", files[0], files[1]));
        assert_eq!(run.text(), "equal\n", "{files:?}");
    }
    let run = streamed(&dir, tensor.file(PLAIN), "cmp f.npy -");
    assert_eq!(run.text(), "equal\n");
}

/// Chunks of 8 MiB and shards of 16 MiB, many of which go through the codecs.
#[cfg(feature = "zarr")]
#[test]
fn large_chunks_stay_within_the_memory_limit() {
    let tensor = Tensor::noise("'<f4'", 4, &[32, 1024, 1024]);
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    let within = |args: &str| streamed_within("180M", &dir, Vec::new(), args).done();
    let all = [
        ("zstd:1", "--chunks 8,512,512"),
        ("none", "--chunks 8,512,512"),
        ("blosc:lz4:1:shuffle,crc32c", "--chunks 4,256,512 --shards 8,512,1024"),
    ];
    let some = if trundle_testing::everything() { all.len() } else { 1 };
    for (codec, cut) in &all[..some] {
        within(&format!("convert x.npy -o x.zarr --force --codec {codec} {cut}"));
        if trundle_testing::everything() {
            within("roll x.zarr --shift 5 --axes 1 -o y.zarr --force");
        }
        within("transpose x.zarr --order 2,0,1 -o y.zarr --force");
        within("transpose y.zarr --order 1,2,0 -o z.npy --force");
        assert!(dir.read("z.npy").ends_with(&tensor.bytes), "{codec}");
    }
}

/// If requests are slow, boxes of many short contiguous ranges fill the memory.
#[test]
fn boxes_that_fill_the_memory_leave_room_for_the_program() {
    let dir = Workdir::with(&[("x.npy", &tensor())]);
    let args = "transpose x.npy --order 2,1,0 --row-major --storage hdd";
    streamed(&dir, Vec::new(), &format!("{args} -o y.npy"));
}

/// Random chunk sizes, with at most `most` elements in a chunk.
#[cfg(feature = "zarr")]
fn random_chunks(seed: &mut u64, shape: &[usize], most: usize) -> String {
    let size = |size: &usize| 1 + size / 12 + chance(seed, size / 2);
    let mut chunks: Vec<usize> = shape.iter().map(size).collect();
    while chunks.iter().product::<usize>() > most {
        chunks.iter_mut().for_each(|size| *size = (*size * 2 / 3).max(1));
    }
    chunks.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Arrays of 50 MB, between .npy files and stores with random chunks and codecs.
#[cfg(feature = "zarr")]
#[test]
fn the_memory_limit_covers_the_whole_process() {
    const CODECS: [&str; 7] = [
        "none",
        "zstd:3",
        "zstd:1,crc32c",
        "blosc:lz4:5:shuffle",
        "blosc:zstd:5:bitshuffle",
        "gzip:1",
        "shuffle:4,zstd:2",
    ];
    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let shape = [61, 402, 509];
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &shape))]);
    let mut seed = 3;
    let (runs, mut refused) = (if trundle_testing::everything() { 30 } else { 2 }, 0);
    for run in 0..runs {
        let mebibytes = [76, 84, 96, 128, 160][chance(&mut seed, 5)];
        let max_mem = &format!("{mebibytes}M");
        // More memory allows larger chunks.
        let most = (mebibytes - 60) << 14;
        let order = ORDERS[chance(&mut seed, 6)];
        let out_shape: Vec<usize> = order.iter().map(|axis| shape[*axis]).collect();
        let source = if chance(&mut seed, 6) == 0 { "x.npy" } else { "x.zarr" };
        if source == "x.zarr" {
            let (chunks, codec) =
                (random_chunks(&mut seed, &shape, most), CODECS[chance(&mut seed, 7)]);
            let args = format!("convert x.npy -o {source} --force --quiet");
            let in_chunks = format!("--chunks {chunks} --codec {codec}");
            dir.run(&format!("{args} {in_chunks}")).done();
        }
        let [a, b, c] = order;
        let chain = format!(
            "transpose({a}, {b}, {c}) | roll(shift={}, axes={})",
            chance(&mut seed, 99),
            chance(&mut seed, 3)
        );
        let target = if chance(&mut seed, 6) == 0 { "y.npy" } else { "y.zarr" };
        let chunks = random_chunks(&mut seed, &out_shape, most);
        let cut = match target {
            "y.zarr" => format!("--chunks {chunks} --codec {}", CODECS[chance(&mut seed, 7)]),
            _ => String::new(),
        };
        let verify = if chance(&mut seed, 3) == 0 { "--verify" } else { "" };
        // If requests are slow, tiles fill the memory.
        let storage = ["ssd", "hdd"][chance(&mut seed, 2)];
        let args = format!(
            "apply {source} '{chain}' -o {target} --force --quiet {cut} {verify} --storage {storage}"
        );
        let done = streamed_within(max_mem, &dir, Vec::new(), &args);
        let is_refused = done.code == Some(3) && done.stderr.contains("of memory are needed");
        refused += usize::from(is_refused);
        assert!(is_refused || done.code == Some(0), "run {run}: {args:?}: {done:?}");
    }
    assert!(refused * 5 <= runs, "{refused} of {runs} were refused");
}

/// The message states a limit that is high enough.
#[test]
fn a_low_memory_limit_is_refused_with_the_memory_needed() {
    let dir = Workdir::with(&[("x.npy", &Tensor::counting(&[30, 40]))]);
    let flip = |max_mem: &str| {
        let args = format!("flip x.npy --axes 0 -o y.npy --force --max-mem {max_mem}");
        Run::of(dir.command(&args).env_remove("TRUNDLE_OWN_MEMORY"))
    };
    flip("8M").done();
    fs::remove_file(dir.path("y.npy")).unwrap();
    let refused = flip("4M");
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let message = refused.stderr.split_once("error: ").unwrap().1;
    let (needed, rest) = message.split_once(' ').unwrap();
    assert!(rest.contains("MiB of memory are needed, --max-mem is 4.0 MiB"), "{message}");
    assert_eq!(dir.contents().len(), 1);
    let needed = needed.parse::<f64>().unwrap().ceil() as u64;
    flip(&format!("{needed}M")).done();
    assert_eq!(flip(&format!("{}M", needed - 3)).code, Some(3));
    let mut command = dir.command("flip x.npy --axes 0 -o y.npy");
    Run::of(command.env("TRUNDLE_OWN_MEMORY", "much")).refused(2, "TRUNDLE_OWN_MEMORY is \"much\"");
}
