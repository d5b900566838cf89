//! System errors during a run.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::npy::{self, Tensor};
use crate::resumable_move::{ONE_PASS, ResumableMove, TWO_PASSES, signal};
use crate::{Arguments, Run, Workdir};

#[test]
fn a_write_beyond_the_file_size_limit_leaves_no_files() {
    const STORE: &str = "convert x.npy -o y.zarr --chunks 4001,4500 --codec none";
    let zarr = if cfg!(feature = "zarr") { STORE } else { ONE_PASS };
    let source = Tensor::noise("'<f4'", 4, &[4001, 4500]);
    // SIGXFSZ is ignored, or it ends the process.
    for (args, blocks, trap) in [
        (ONE_PASS, 1000, "trap '' XFSZ;"),
        (ONE_PASS, 1000, ""),
        (TWO_PASSES, 1000, ""),
        (ONE_PASS, 100_000, ""),
        (zarr, 1000, ""),
    ] {
        let (dir, args) = match args == STORE {
            true => (Workdir::with(&[("x.npy", &source)]), args.to_owned()),
            false => {
                let work = ResumableMove::new(args);
                (work.dir, work.args)
            }
        };
        let before = dir.contents();
        let script = format!("{trap} ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_trundle")]).args(args.list());
        command.env("TRUNDLE_OWN_MEMORY", "0");
        let run = Run::from(command.current_dir(dir.path("")).output().unwrap());
        run.refused(1, "cannot write[..]File too large");
        assert_eq!(dir.contents(), before);
    }
}

#[test]
fn a_run_that_cannot_be_resumed_does_not_suggest_it() {
    let work = ResumableMove::new(ONE_PASS);
    let child = work.start_and_suspend("");
    let source = File::options().write(true).open(work.dir.path("x.npy")).unwrap();
    source.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    signal(Signal::CONT, &child);
    let run = Run::awaited(child);
    run.refused(1, "x.npy: changed while it was read: ");
    assert!(!run.stderr.contains("--resume"), "{run:?}");
    assert_eq!(work.dir.names(), ["x.npy"]);
}

#[test]
fn a_result_is_kept_and_reported_if_its_path_is_taken() {
    type Taken = (&'static str, &'static str, fn(&Path));
    let takes: [Taken; 2] = [
        ("", "y.npy: already exists", |path| fs::write(path, "mine").unwrap()),
        ("--force", "y.npy: is a folder", |path| fs::create_dir(path).unwrap()),
    ];
    for (more, message, take) in takes {
        let work = ResumableMove::new(TWO_PASSES);
        let child = work.start_and_suspend(more);
        let path = work.dir.path("y.npy");
        take(&path);
        signal(Signal::CONT, &child);
        let run = Run::awaited(child);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(message) && !run.stderr.contains("--resume"), "{run:?}");
        let names = work.dir.names();
        assert_eq!((names.len(), &names[1][..], &names[2][..]), (3, "x.npy", "y.npy"));
        assert!(names[0].starts_with(".trundle-y.npy-"), "{names:?}");
        let kept = run.stderr.trim_end().rsplit_once(" is kept as ").unwrap().1;
        assert_eq!(kept, names[0]);
        assert!(path.is_dir() || fs::read(&path).unwrap() == b"mine");
        // The next run does not touch the kept result. `trundle clean` can remove it.
        if path.is_dir() {
            fs::remove_dir(&path).unwrap();
        }
        Run::of(&mut work.command("--force")).done();
        assert!(work.dir.read(kept) == *work.expected);
        let left = work.dir.run("clean --json").done().json()["left"].clone();
        assert_eq!((&left[0]["state"], &left[0]["output"]), (&"finished".into(), &"y.npy".into()));
        assert_eq!(left.as_array().unwrap().len(), 1);
        work.dir.run("clean --force").done();
        work.assert_done();
    }
}

#[test]
fn only_one_process_writes_an_output() {
    let work = ResumableMove::new(TWO_PASSES);
    let mut child = work.begin("");
    assert!(work.wait(&mut child, |work| work.dir.temporary(".journal").is_some()));
    let others = [
        work.args.clone(),
        format!("{} --resume", work.args),
        // A different command, with other temporary files.
        "flip x.npy --axes 0 -o y.npy --max-mem 8M".to_owned(),
        "flip x.npy --axes 0 -o ./y.npy --resume --force".to_owned(),
    ];
    for other in others {
        work.dir.run(&other).refused(1, "y.npy: is being written by another process");
    }
    Run::awaited(child).done();
    work.assert_done();
}

#[test]
fn errors_of_the_temporary_folder_name_the_folder() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'|u1'", 1, &[100_000]))]);
    let run = Run::of(dir.command("flip x.npy --axes 0 -o -").env("TMPDIR", "none"));
    assert_eq!(run.code, Some(1), "{run:?}");
    let message = "error: none: cannot write a temporary file (TMPDIR can name another \
                   folder): the folder does not exist\n";
    assert_eq!(run.stderr, message);
    // The limit acts like a full disk.
    let script = "trap '' XFSZ; ulimit -f 20; exec \"$0\" flip x.npy --axes 0 -o - | cat";
    let mut command = Command::new("bash");
    command.args(["-c", &format!("set -o pipefail; {script}"), env!("CARGO_BIN_EXE_trundle")]);
    let output = command.current_dir(dir.path("")).env("TMPDIR", dir.path("")).output();
    let run = Run::from(output.unwrap());
    run.refused(1, ": cannot write a temporary file (TMPDIR");
    assert!(run.stderr.contains("File too large") && !run.stderr.contains("stdout"), "{run:?}");
    assert_eq!(dir.contents().len(), 1);
}

#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_written() {
    let dir = Workdir::new();
    if !dir.write_zeros("x.npy", "|u1", 1, &[1 << 43]) {
        return;
    }
    dir.run("flip x.npy --axes 0 -o y.npy --max-mem 4G")
        .refused(1, "8.0 TiB of disk space are needed");
    assert_eq!(fs::read_dir(dir.path("")).unwrap().count(), 1);
}

#[test]
fn a_stored_member_whose_checksum_differs_is_refused() {
    let tensor = Tensor::counting(&[3, 4]);
    let dir = Workdir::with(&[("x.npy", &tensor)]);
    dir.run("roll x.npy --shift 0 --axes 0 -o x.npz -q").done();
    let mut archive = dir.read("x.npz");
    let file = tensor.file(npy::PLAIN);
    let row = &file[file.len() - 16..];
    let at = archive.windows(row.len()).position(|bytes| bytes == row).unwrap();
    archive[at] ^= 1;
    dir.write("x.npz", &archive);
    let before = dir.contents();
    dir.run("flip x.npz --axes 0 -o y.npy").refused(3, "CRC-32");
    assert_eq!(dir.contents(), before);
}
