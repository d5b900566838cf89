//! Files and streams that are larger than the memory they go through.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::thread;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::npy::{PLAIN, Tensor};
use crate::results::flipped;
use crate::{Place, Run};

const MAX_MEM: &str = "16M";

/// What a process has beside what it allocates itself: its code, which in a build for tests is 13 MiB of
/// pages with the codecs of Zarr, its stacks, the allocator's own.
const BESIDE_KIB: u64 = 22 << 10;

/// 72 MB of f32.
fn tensor() -> Tensor {
    Tensor::noise("'<f4'", 4, &[18, 1000, 1000])
}

/// The most memory that the process has had, in KiB, where the system tells.
fn most_kib(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Runs with a stream in and out, and checks what memory it took.
fn streamed(place: &Place, input: Vec<u8>, args: &[&str]) -> Run {
    streamed_within(MAX_MEM, place, input, args)
}

/// The same with so much memory.
fn streamed_within(max_mem: &str, place: &Place, input: Vec<u8>, args: &[&str]) -> Run {
    let mut command = place.command(&[args, &["--max-mem", max_mem, "--threads", "2"]].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        stdout.read_to_end(&mut all).map(|_| all)
    });
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(most_kib(&child).unwrap_or(0));
        thread::sleep(std::time::Duration::from_millis(2));
    }
    let mut run = Run::from(child.wait_with_output().unwrap());
    let _ = writer.join().unwrap();
    run.stdout = reader.join().unwrap().unwrap();
    let may = max_mem.strip_suffix('M').unwrap().parse::<u64>().unwrap() << 10;
    assert!(most <= may + BESIDE_KIB, "{most} KiB for {args:?}");
    run.done()
}

#[test]
fn streams_larger_than_the_memory_come_in_and_go_out() {
    let tensor = tensor();
    let expected = flipped_rows(&tensor);
    let place = Place::new();
    let run = streamed(&place, tensor.file(PLAIN), &["flip", "-", "--axes", "0", "-o", "-"]);
    assert!(run.stdout.ends_with(&expected));
    assert_eq!(place.contents(), []);
    streamed(&place, tensor.file(PLAIN), &["flip", "-", "--axes", "0", "-o", "y.npy", "--verify"]);
    assert!(place.read("y.npy").ends_with(&expected));
    let run = streamed(&place, Vec::new(), &["flip", "y.npy", "--axes", "0", "-o", "-"]);
    assert!(run.stdout.ends_with(&tensor.bytes));
    assert_eq!(place.contents().len(), 1);
}

/// `flip` along the first axis, without a walk over every element.
fn flipped_rows(tensor: &Tensor) -> Vec<u8> {
    let row = tensor.bytes.len() / tensor.shape[0];
    let small = Tensor::counting(&[3]);
    assert_eq!(flipped(&small, &[0]).bytes, [2, 0, 1, 0, 0, 0]);
    tensor.bytes.chunks(row).rev().flatten().copied().collect()
}

/// An archive of one deflated member.
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
    let place = Place::new();
    place.write("x.npz", &archive("a.npy", &tensor.file(PLAIN)));
    streamed(&place, Vec::new(), &["flip", "x.npz", "--axes", "0", "-o", "y.npy", "--verify"]);
    assert!(place.read("y.npy").ends_with(&flipped_rows(&tensor)));
    assert_eq!(place.contents().len(), 2);
}

#[test]
fn what_is_larger_than_the_memory_is_compared() {
    let tensor = tensor();
    let place = Place::new();
    place.write("x.npy", &tensor.file(PLAIN));
    place.write("x.npz", &archive("a.npy", &tensor.file(PLAIN)));
    place.run(&["transpose", "x.npy", "-o", "inverted.npy", "--row-major"]).done();
    place.run(&["transpose", "inverted.npy", "-o", "f.npy"]).done();
    for files in [["x.npy", "f.npy"], ["f.npy", "x.npy"], ["x.npz", "f.npy"], ["x.npz", "x.npz"]] {
        let run = streamed(&place, Vec::new(), &["cmp", files[0], files[1]]);
        assert_eq!(run.text(), "equal\n", "{files:?}");
    }
    let run = streamed(&place, tensor.file(PLAIN), &["cmp", "f.npy", "-"]);
    assert_eq!(run.text(), "equal\n");
}

/// Chunks and shards of 8 and 16 MiB, of which codecs take and give back many, one after another.
#[cfg(feature = "zarr")]
#[test]
fn large_chunks_go_through_no_more_memory_than_there_may_be() {
    let tensor = Tensor::noise("'<f4'", 4, &[32, 1024, 1024]);
    let place = Place::new();
    place.write("x.npy", &tensor.file(PLAIN));
    let within = |args: &[&str]| streamed_within("100M", &place, Vec::new(), args);
    let all = [
        ("zstd:1", &["--chunks", "8,512,512"][..]),
        ("none", &["--chunks", "8,512,512"]),
        ("blosc:lz4:1:shuffle,crc32c", &["--chunks", "4,256,512", "--shards", "8,512,1024"]),
    ];
    let some = if std::env::var_os("TRUNDLE_TESTS").is_some() { all.len() } else { 1 };
    for (codec, cut) in &all[..some] {
        let args = ["convert", "x.npy", "-o", "x.zarr", "--force", "--codec", codec];
        within(&[&args[..], *cut].concat());
        within(&["roll", "x.zarr", "--shift", "5", "--axes", "1", "-o", "y.zarr", "--force"]);
        within(&["transpose", "x.zarr", "--order", "2,0,1", "-o", "y.zarr", "--force"]);
        within(&["transpose", "y.zarr", "--order", "1,2,0", "-o", "z.npy", "--force"]);
        assert!(place.read("z.npy").ends_with(&tensor.bytes), "{codec}");
    }
}
