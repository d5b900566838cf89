//! Tests the removal of temporary files. It affects all unfinished outputs of the process, so it needs a separate
//! process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;

use trundle_formats::{Output, begin_finishing, remove_temporary_files};

#[test]
fn unfinished_outputs_can_be_removed_at_the_end_of_a_process() {
    let folder = tempfile::tempdir().unwrap();
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    let mut finished = Output::create(&folder.path().join("finished.npy"), false).unwrap();
    finished.write_all(b"whole").unwrap();
    finished.finish().unwrap();
    let mut output = Output::create(&folder.path().join("out.npy"), false).unwrap();
    output.write_all(b"half").unwrap();
    assert_eq!(names().len(), 2);
    // While outputs are renamed, nothing is removed. Creating another temporary file makes removal possible again.
    begin_finishing().unwrap();
    assert_eq!(remove_temporary_files(|| unreachable!()), None);
    assert_eq!(names().len(), 2);
    Output::check(&folder.path().join("other.npy"), false).unwrap();
    let mut is_called = false;
    assert_eq!(remove_temporary_files(|| is_called = true), Some(false));
    assert!(is_called && begin_finishing().is_err());
    assert_eq!(names(), ["finished.npy"]);
    assert!(output.finish().is_err());
    // After the removal, no output can be created.
    assert!(Output::create(&folder.path().join("late.npy"), false).is_err());
    assert!(Output::check(&folder.path().join("late.npy"), false).is_err());
    assert_eq!(names(), ["finished.npy"]);
}
