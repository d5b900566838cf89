//! Tests of outputs that are folders.
#![cfg(feature = "zarr")]

use std::fs;
use std::path::Path;

use trundle_core::{DType, Shape};
use trundle_formats::{
    Begin, Described, Error, FileSkeleton, Format, LeftoverState, Order, Output, Problem,
    StoredDType, TensorFile, leftovers,
};

use crate::support::{names, output_path};

const TAG: &str = "y.zarr-0123456789abcdef";

fn zarr() -> &'static Format {
    Format::named("zarr").unwrap()
}

fn skeleton() -> FileSkeleton {
    let (element, shape) = (StoredDType::new(DType::U8), Shape::new([6]).unwrap());
    let described = Described::new("y", &element, &shape, Order::RowMajor);
    zarr().skeleton(&[Described { chunk: Some(&[4]), ..described }], &[]).unwrap()
}

fn begin(path: &Path, overwrite: bool) -> Result<Output, Error> {
    Output::create_as(zarr(), path, overwrite, TAG, Begin::Anew)
}

fn write(path: &Path, overwrite: bool, bytes: &[u8; 6]) -> Output {
    let output = begin(path, overwrite).unwrap();
    let blob = output.blob(&skeleton()).unwrap();
    // The bytes are written in two parts, neither of which is a whole chunk.
    blob.write_all_at(&bytes[3..], 3).unwrap();
    assert!(blob.sync().is_err(), "a chunk waits for its other part");
    blob.write_all_at(&bytes[..3], 0).unwrap();
    blob.sync().unwrap();
    let mut back = [0; 6];
    blob.read_exact_at(&mut back, 0).unwrap();
    assert_eq!(&back, bytes);
    output
}

fn read(path: &Path) -> Vec<u8> {
    TensorFile::open(path).unwrap().load(0, &mut |_| ()).unwrap()
}

#[test]
fn a_store_appears_when_complete_and_replaces_a_store() {
    let (folder, path) = output_path("y.zarr");
    let output = write(&path, false, b"abcdef");
    assert_eq!(names(folder.path()), [format!(".trundle-{TAG}.part")]);
    output.finish().unwrap();
    assert_eq!((names(folder.path()), read(&path)), (vec!["y.zarr".to_owned()], b"abcdef".into()));
    assert!(matches!(begin(&path, false).unwrap_err().problem, Problem::Exists));
    write(&path, true, b"ghijkl").finish().unwrap();
    assert_eq!((names(folder.path()), read(&path)), (vec!["y.zarr".to_owned()], b"ghijkl".into()));
    // An unfinished output leaves no files.
    drop(write(&path, true, b"mnopqr"));
    assert_eq!((names(folder.path()), read(&path)), (vec!["y.zarr".to_owned()], b"ghijkl".into()));
}

#[test]
fn a_folder_created_during_the_run_is_kept() {
    for overwrite in [false, true] {
        let (folder, path) = output_path("y.zarr");
        let output = write(&path, overwrite, b"abcdef");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("thesis.txt"), "precious").unwrap();
        let Problem::Kept { why, path: kept } = output.finish().unwrap_err().problem else {
            panic!("the output is not kept")
        };
        match overwrite {
            true => assert!(matches!(*why, Problem::OtherFolder), "{why:?}"),
            false => assert!(matches!(*why, Problem::Exists), "{why:?}"),
        }
        assert_eq!(fs::read(path.join("thesis.txt")).unwrap(), b"precious");
        assert_eq!(read(&kept), b"abcdef");
        let left = leftovers(folder.path(), None).unwrap();
        assert_eq!((left.len(), left[0].state), (1, LeftoverState::Finished));
    }
}

#[test]
fn leftovers_are_replaced_but_files_in_use_are_not() {
    let (folder, path) = output_path("y.zarr");
    let left = folder.path().join(format!(".trundle-{TAG}.part"));
    fs::create_dir_all(left.join("c/0")).unwrap();
    fs::write(left.join("c/0/1"), "of a run that was killed").unwrap();
    let found = leftovers(folder.path(), None).unwrap();
    assert_eq!((found[0].state, found[0].bytes()), (LeftoverState::Interrupted, 24));
    let output = write(&path, false, b"abcdef");
    assert!(!left.join("c/0/1").exists());
    assert_eq!(leftovers(folder.path(), None).unwrap()[0].state, LeftoverState::InUse);
    assert!(matches!(begin(&path, false).unwrap_err().problem, Problem::Busy));
    output.finish().unwrap();
    assert_eq!(read(&path), b"abcdef");
}

#[test]
fn paths_that_cannot_be_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    for overwrite in [false, true] {
        let problem = begin(&other, overwrite).unwrap_err().problem;
        match overwrite {
            true => assert!(matches!(problem, Problem::OtherFolder), "{problem:?}"),
            false => assert!(matches!(problem, Problem::Exists), "{problem:?}"),
        }
    }
    let within = folder.path().join("none/y.zarr");
    assert!(matches!(begin(&within, false).unwrap_err().problem, Problem::NoFolder(_)));
    let paths: &[&str] =
        if cfg!(unix) { &["-", "/dev/null", ".", "/"] } else { &["-", ".", "/", "C:\\", "nul"] };
    for path in paths {
        let problem = begin(Path::new(path), true).unwrap_err().problem;
        assert!(matches!(problem, Problem::Unsupported(_)), "{path}: {problem:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_followed_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    // A trailing slash has no effect, and a link is followed.
    write(&folder.path().join("y.zarr"), false, b"abcdef").finish().unwrap();
    let link = folder.path().join("link.zarr");
    std::os::unix::fs::symlink("y.zarr", &link).unwrap();
    write(&folder.path().join("link.zarr/"), true, b"ghijkl").finish().unwrap();
    assert!(link.is_symlink());
    assert_eq!(read(&folder.path().join("y.zarr")), b"ghijkl");
    assert_eq!(names(folder.path()), ["link.zarr", "y.zarr"]);
}
