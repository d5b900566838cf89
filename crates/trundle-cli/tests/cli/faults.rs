//! What the system refuses in the middle of the work.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::npy::{self, Tensor};
use crate::work::{ONE_PASS, TWO_PASSES, Work};
use crate::{Place, Run};

#[test]
fn a_file_that_may_not_grow_leaves_nothing() {
    for (args, blocks) in [(ONE_PASS, 1000), (TWO_PASSES, 1000), (ONE_PASS, 100_000)] {
        let work = Work::new(args);
        let before = work.state();
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_trundle")]).args(&work.args);
        let run = Run::from(command.current_dir(work.place.path("")).output().unwrap());
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(
            run.stderr.contains("cannot write") && run.stderr.contains("File too large"),
            "{run:?}"
        );
        assert_eq!(work.state(), before);
    }
}

#[test]
fn a_source_that_changes_meanwhile_is_a_failure() {
    type Change = (&'static str, fn(&File));
    let changes: [Change; 3] = [
        ("shorter", |file| file.set_len(1 << 20).unwrap()),
        ("another", |file| file.set_len(file.metadata().unwrap().len() + 1).unwrap()),
        ("another", |file| file.write_all_at(b"other", 5000).unwrap()),
    ];
    for (said, change) in changes {
        let work = Work::new(TWO_PASSES);
        let mut child = work.begin(&[]);
        assert!(work.wait(&mut child, |work| work.file(".journal").is_some()));
        change(&File::options().write(true).open(work.place.path("x.npy")).unwrap());
        let run = Run::awaited(child);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("x.npy: changed while it was read: "), "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
        assert_eq!(work.names(), ["x.npy"]);
    }
}

#[test]
fn an_output_that_appears_meanwhile_stays() {
    let work = Work::new(TWO_PASSES);
    let mut child = work.begin(&[]);
    assert!(work.wait(&mut child, |work| work.file(".part").is_some()));
    work.place.write("y.npy", b"mine");
    let run = Run::awaited(child);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("y.npy: exists already"), "{run:?}");
    assert_eq!(work.names(), ["x.npy", "y.npy"]);
    assert_eq!(work.place.read("y.npy"), b"mine");
}

#[test]
fn only_one_process_writes_an_output() {
    let work = Work::new(TWO_PASSES);
    let mut child = work.begin(&[]);
    assert!(work.wait(&mut child, |work| work.file(".journal").is_some()));
    for more in [&[][..], &["--resume"]] {
        let run = Run::of(&mut work.command(more));
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("is being written by another process"), "{run:?}");
    }
    Run::awaited(child).done();
    work.is_done();
}

#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_written() {
    let place = Place::new();
    let bytes: u64 = 1 << 43;
    let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({bytes},), }}");
    let header = npy::header(1, &text);
    place.write("x.npy", &header);
    // Nothing but a hole.
    let file = File::options().write(true).open(place.path("x.npy")).unwrap();
    if file.set_len(header.len() as u64 + bytes).is_err() {
        eprintln!("skipped: no file can be so long here");
        return;
    }
    let run = place.run(&["flip", "x.npy", "--axes", "0", "-o", "y.npy", "--max-mem", "4G"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("bytes are needed on the disk"), "{run:?}");
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 1);
}

#[test]
fn shapes_beyond_every_memory_are_planned_or_refused_at_once() {
    let shapes: [(&[u64], &str, u64); 4] = [
        (&[1 << 20, 1 << 20], "<f4", 4),
        (&[1, 1 << 40], "|u1", 1),
        (&[1 << 40, 1], "|u1", 1),
        (&[1 << 14, 1 << 14, 1 << 14], "|u1", 1),
    ];
    for (sizes, descr, width) in shapes {
        let place = Place::new();
        let listed: String = sizes.iter().map(|size| format!("{size},")).collect();
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({listed}), }}");
        let header = npy::header(1, &text);
        place.write("x.npy", &header);
        let file = File::options().write(true).open(place.path("x.npy")).unwrap();
        let bytes = sizes.iter().product::<u64>() * width;
        if file.set_len(header.len() as u64 + bytes).is_err() {
            eprintln!("skipped: no file can be so long here");
            continue;
        }
        for operation in
            [&["transpose", "x.npy", "--row-major"][..], &["flip", "x.npy", "--axes", "0"]]
        {
            for max_mem in ["8M", "64M", "1G"] {
                for device in ["ssd", "hdd"] {
                    let begin = std::time::Instant::now();
                    let more = ["--max-mem", max_mem, "--device", device];
                    let run = place.run(&[&["plan"], operation, &more].concat());
                    let is_refused = run.stderr.contains("bytes of memory are needed");
                    assert!(run.code == Some(0) || is_refused && run.code == Some(3), "{run:?}");
                    assert!(begin.elapsed().as_secs() < 10, "{sizes:?} {more:?}");
                }
            }
        }
    }
}

#[test]
fn a_stream_that_claims_more_than_it_has_is_truncated() {
    let tensor = Tensor::counting(&[4]);
    let whole = tensor.file(npy::PLAIN);
    let place = Place::new();
    for output in ["-", "y.npy"] {
        let args = ["flip", "-", "--axes", "0", "-o", output];
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }";
        let lying = [npy::header(1, text), vec![0; 8]].concat();
        for bytes in [&whole[..whole.len() - 1], &lying] {
            let run = place.run_on(bytes, &args);
            assert_eq!(run.code, Some(3), "{run:?}");
            assert!(run.stderr.contains("stdin: truncated"), "{run:?}");
        }
    }
    assert_eq!(place.contents(), []);
}

#[test]
fn a_stored_member_whose_checksum_differs_is_refused() {
    let tensor = Tensor::counting(&[3, 4]);
    let place = Place::with(&[("x.npy", &tensor)]);
    place.run(&["roll", "x.npy", "--shift", "0", "--axes", "0", "-o", "x.npz", "-q"]).done();
    let mut archive = place.read("x.npz");
    let file = tensor.file(npy::PLAIN);
    let row = &file[file.len() - 16..];
    let at = archive.windows(row.len()).position(|bytes| bytes == row).unwrap();
    archive[at] ^= 1;
    place.write("x.npz", &archive);
    let before = place.contents();
    let run = place.run(&["flip", "x.npz", "--axes", "0", "-o", "y.npy"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("checksum"), "{run:?}");
    assert_eq!(place.contents(), before);
}
