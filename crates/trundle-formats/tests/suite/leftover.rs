//! Tests that leftovers of runs are found, distinguished from files in use, and removed.

use std::fs;
use std::io::Write;
use std::path::Path;

use trundle_formats::{Begin, Leftover, LeftoverState, Output, Removal, TemporaryFile, leftovers};

use crate::support::names;

/// Creates the files of a run to `out.npy`, which counts as running while the returned values exist, and as killed
/// afterwards.
fn begin(folder: &Path, plan: &str) -> (Output, TemporaryFile) {
    let tag = format!("out.npy-{plan}");
    let path = folder.join("out.npy");
    let mut output = Output::create_tagged(&path, true, &tag, Begin::Anew).unwrap();
    output.write_all(b"part").unwrap();
    let mut between = TemporaryFile::tagged(folder, &tag, "pass0", Begin::Anew, None).unwrap();
    output.keep(true);
    between.keep(true);
    (output, between)
}

fn found(folder: &Path) -> Vec<Leftover> {
    leftovers(folder, None).unwrap()
}

#[test]
fn leftovers_are_listed_by_run_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(begin(folder, "0123456789abcdef"));
    drop(begin(folder, "fedcba9876543210"));
    let left = found(folder);
    assert_eq!(left.len(), 2);
    for each in &left {
        assert_eq!((&each.output[..], each.state), ("out.npy", LeftoverState::Interrupted));
        let endings: Vec<&str> = each.files.iter().map(|file| &file.ending[..]).collect();
        assert_eq!((endings, each.bytes()), (vec!["part", "pass0"], 4));
        assert!(each.modified().is_some());
    }
    assert!(leftovers(folder, Some("other.npy")).unwrap().is_empty());
    assert!(matches!(left[0].remove(), Removal::Removed));
    assert_eq!(found(folder).len(), 1);
    // Removing missing files is not an error.
    assert!(matches!(left[0].remove(), Removal::Removed));
    assert!(matches!(left[1].remove(), Removal::Removed));
    assert_eq!(names(folder), [""; 0]);
}

#[test]
fn files_of_a_running_process_are_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for is_part_locked in [true, false] {
        let (output, between) = begin(folder, "0123456789abcdef");
        let before = names(folder);
        // A lock on one of the files is enough.
        let locked: Box<dyn Send> = match is_part_locked {
            true => (drop(between), Box::new(output) as Box<dyn Send>).1,
            false => (drop(output), Box::new(between) as Box<dyn Send>).1,
        };
        let left = found(folder);
        assert_eq!((left.len(), left[0].state), (1, LeftoverState::InUse));
        assert!(matches!(left[0].remove(), Removal::InUse));
        assert_eq!(names(folder), before);
        drop(locked);
        assert_eq!(found(folder)[0].state, LeftoverState::Interrupted);
        // Listing the leftovers held the lock only for a moment.
        assert!(matches!(left[0].remove(), Removal::Removed));
        assert_eq!(names(folder), [""; 0]);
    }
}

#[test]
fn an_output_without_a_plan_is_in_use_while_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let output = Output::create(&folder.join("out.npy"), false).unwrap();
    assert_eq!((found(folder).len(), found(folder)[0].state), (1, LeftoverState::InUse));
    drop(output);
    assert!(found(folder).is_empty());
}

#[test]
fn finished_results_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(begin(folder, "0123456789abcdef"));
    for ending in ["finished", "finished2"] {
        let name = format!(".trundle-out.npy-0123456789abcdef.{ending}");
        fs::write(folder.join(name), "whole").unwrap();
    }
    let left = found(folder);
    let states: Vec<LeftoverState> = left.iter().map(|each| each.state).collect();
    use LeftoverState::{Finished, Interrupted};
    assert_eq!(states, [Finished, Finished, Interrupted]);
    assert_eq!(left.iter().map(Leftover::bytes).collect::<Vec<_>>(), [5, 5, 4]);
}

#[cfg(unix)]
#[test]
fn files_of_other_programs_are_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ours = ".trundle-out.npy-0123456789abcdef.part";
    fs::write(folder.join("victim"), "whole").unwrap();
    std::os::unix::fs::symlink("victim", folder.join(ours)).unwrap();
    fs::create_dir(folder.join(".trundle-out.npy-0123456789abcdef.pass0")).unwrap();
    fs::write(folder.join(".trundle-notes.part"), "").unwrap();
    fs::write(folder.join("out.npy"), "").unwrap();
    assert!(found(folder).is_empty());
    // A link that has replaced a listed file is not followed.
    fs::remove_file(folder.join(ours)).unwrap();
    fs::write(folder.join(ours), "").unwrap();
    let left = found(folder);
    fs::remove_file(folder.join(ours)).unwrap();
    std::os::unix::fs::symlink("victim", folder.join(ours)).unwrap();
    let before = names(folder);
    assert!(!matches!(left[0].remove(), Removal::Removed));
    assert_eq!(names(folder), before);
    assert_eq!(fs::read(folder.join("victim")).unwrap(), b"whole".to_vec());
    assert!(leftovers(&folder.join("none"), None).is_err());
}
