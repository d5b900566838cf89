//! `trundle clean`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use rustix::process::Signal;
use serde_json::Value;

use crate::resumable_move::{ONE_PASS, ResumableMove, TWO_PASSES, signal};
use crate::{Arguments, Run, Workdir};

fn leftovers(dir: &Workdir, args: &str) -> Vec<Value> {
    let report = dir.run(&format!("clean --json {args}")).done().json();
    report["left"].as_array().unwrap().clone()
}

#[test]
fn leftovers_of_a_killed_run_are_listed_and_removed() {
    let work = ResumableMove::new(TWO_PASSES);
    work.start_and_kill("");
    let before = work.state();
    let text = work.dir.run("clean").done().text();
    assert!(text.starts_with("y.npy: interrupted (--resume continues it), "), "{text}");
    for ending in [".part", ".journal", ".pass0"] {
        let file = work.dir.temporary(ending).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(".trundle-y.npy-"), "{name}");
        assert!(text.contains(&format!("\n  {name}  ")), "{text}");
    }
    assert!(text.contains(" old\n") && text.contains("--force removes "), "{text}");
    let listed = leftovers(&work.dir, "");
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["output"], "y.npy");
    assert_eq!(listed[0]["state"], "interrupted");
    assert_eq!((&listed[0]["resumable"], &listed[0]["removed"]), (&true.into(), &false.into()));
    let bytes: u64 = before.iter().filter(|file| file.0 != "x.npy").map(|file| file.1).sum();
    assert_eq!(listed[0]["bytes"], bytes);
    assert!(listed[0]["age_seconds"].as_u64().is_some_and(|age| age < 600), "{listed:?}");
    assert_eq!(listed[0]["files"].as_array().unwrap().len(), 3);
    assert_eq!(work.state(), before, "nothing is removed unless it is asked for");

    let report = work.dir.run("clean --json --force").done().json();
    assert_eq!(
        (&report["removed_bytes"], &report["left"][0]["removed"]),
        (&bytes.into(), &true.into())
    );
    assert_eq!(work.dir.names(), ["x.npy"]);
    assert_eq!(work.dir.run("clean").done().text(), ".: nothing to clean\n");
}

#[test]
fn files_in_use_are_kept_and_the_run_finishes() {
    let work = ResumableMove::new(TWO_PASSES);
    let child = work.start_and_suspend("");
    let before = work.dir.names();
    let text = work.dir.run("clean --force").done().text();
    assert!(text.starts_with("y.npy: in use by a running process, "), "{text}");
    assert!(text.ends_with("\n0 bytes removed\n"), "{text}");
    assert_eq!(leftovers(&work.dir, "--force")[0]["state"], "in use");
    assert_eq!(work.dir.names(), before);
    signal(Signal::CONT, &child);
    Run::awaited(child).done();
    work.assert_done();
}

/// The tests of trundle-formats cover more names.
#[test]
fn leftovers_of_outputs_with_odd_names_are_found() {
    let work = ResumableMove::new(ONE_PASS);
    for (name, shown) in [
        (&b"two\nlines\x1b[2J.npy"[..], "two\\nlines\\u{1b}[2J.npy"),
        (b"\xff\xfe.npy", "\u{fffd}\u{fffd}.npy"),
    ] {
        let name = OsStr::from_bytes(name);
        let mut args: Vec<OsString> = work.args.list();
        args[5] = name.to_owned();
        let mut child = work.dir.command(&args).spawn().unwrap();
        work.suspend_until_entry_is_due(&mut child);
        work.wait(&mut child, ResumableMove::has_recorded_progress);
        child.kill().unwrap();
        child.wait().unwrap();
        let text = work.dir.run("clean").done().text();
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let listed = leftovers(&work.dir, "");
        let is_over = work.dir.folder.path().join(name).exists();
        assert_eq!(listed.len(), usize::from(!is_over), "{text:?}");
        assert!(is_over || text.starts_with(shown), "{text:?}");
        let is_resumable = listed.first().is_some_and(|left| left["resumable"] == true);
        args.extend(["--resume", "--force", "--json"].map(OsString::from));
        let report = work.dir.run(&args).done().json();
        assert_eq!(report["resumed"], is_resumable, "{text:?}");
        let output = work.dir.folder.path().join(name);
        assert!(fs::read(&output).unwrap() == *work.expected);
        fs::remove_file(output).unwrap();
        assert_eq!(work.dir.names(), ["x.npy"]);
    }
}

#[test]
fn clean_keeps_files_of_other_programs() {
    let dir = Workdir::new();
    dir.write(".trundle-notes.part", b"mine");
    dir.write("y.npy", b"mine");
    let linked = ".trundle-y.npy-0123456789abcdef.part";
    std::os::unix::fs::symlink("y.npy", dir.path(linked)).unwrap();
    fs::create_dir(dir.path(".trundle-y.npy-0123456789abcdef.pass0")).unwrap();
    let before = dir.contents();
    assert_eq!(leftovers(&dir, "--force"), [Value::Null; 0]);
    assert_eq!(dir.contents(), before);
    // A regular file with such a name is removed.
    dir.write(".trundle-z.npy-0123456789abcdef.part", b"ours");
    let text = dir.run("clean --force .").done().text();
    assert!(text.starts_with("z.npy: removed, 4 bytes"), "{text}");
    assert_eq!(dir.contents(), before);
}

#[test]
fn clean_searches_only_the_given_folder() {
    let dir = Workdir::new();
    fs::create_dir(dir.path("sub")).unwrap();
    let name = "sub/.trundle-z.npy-0123456789abcdef.part";
    dir.write(name, b"ours");
    assert_eq!(leftovers(&dir, ""), [Value::Null; 0], "folders are not looked into");
    assert_eq!(leftovers(&dir, "sub")[0]["files"][0]["file"], name);
    dir.run("clean none").refused(1, "error: none: cannot list: ");
    dir.run(&format!("clean {name}")).refused(2, "is a file, expected a folder");
}
