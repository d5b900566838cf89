//! Models in files.

use std::fs;

use super::super::{read, read_with};
use super::Ir;
use crate::{Data, Error, Links, Operator};

#[test]
fn constants_are_read_from_the_weights_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.model.xml");
    let mut ir = Ir::new();
    ir.constant("u8", "3", &[1, 2, 3]);
    ir.constant("u8", "2", &[4, 5]);
    fs::write(&path, ir.xml()).unwrap();
    fs::write(folder.path().join("some.model.bin"), &ir.weights).unwrap();
    let model = read(&path).unwrap();
    let Operator::Constant(last) = &model.nodes[1].operator else { panic!("{:?}", model.nodes) };
    assert_eq!(last.data, Data::Bytes(vec![4, 5].into()));

    fs::write(folder.path().join("some.model.bin"), &ir.weights[..4]).unwrap();
    let problem = "its 2 bytes from offset 3 on do not lie in the weights, which are 4 bytes";
    assert!(read(&path).unwrap_err().to_string().ends_with(problem));
}

#[test]
fn the_weights_file_is_needed_only_for_constants() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.xml");
    let mut ir = Ir::new();
    ir.parameter("x", "f32", "2");
    ir.constant("i64", "0", &[]);
    fs::write(&path, ir.xml()).unwrap();
    assert_eq!(read(&path).unwrap().inputs.len(), 1);

    ir.constant("u8", "1", &[1]);
    fs::write(&path, ir.xml()).unwrap();
    let Error::Io { path: missing, .. } = read(&path).unwrap_err() else {
        panic!("a missing file")
    };
    assert_eq!(missing, folder.path().join("model.bin"));
}

#[cfg(unix)]
#[test]
fn weights_may_be_a_link_within_the_folder_only() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("in");
    fs::create_dir(&inside).unwrap();
    let path = inside.join("model.xml");
    let mut ir = Ir::new();
    ir.constant("u8", "1", &[1]);
    fs::write(&path, ir.xml()).unwrap();
    fs::write(folder.path().join("out.bin"), &ir.weights).unwrap();
    symlink("../out.bin", inside.join("model.bin")).unwrap();
    let refused = read(&path).unwrap_err();
    assert!(matches!(refused, Error::Link(_)), "{refused}");
    assert!(refused.to_string().ends_with("leads out of the model's folder"), "{refused}");
    assert_eq!(read_with(&path, Links::Anywhere).unwrap().nodes.len(), 1);
    fs::remove_file(inside.join("model.bin")).unwrap();
    fs::write(inside.join("here.bin"), &ir.weights).unwrap();
    symlink("here.bin", inside.join("model.bin")).unwrap();
    assert_eq!(read(&path).unwrap().nodes.len(), 1);
}

#[test]
fn missing_files_and_invalid_utf_8_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.xml");
    let missing = read(&path).unwrap_err();
    assert!(matches!(&missing, Error::Io { path: of, .. } if *of == path));
    fs::write(&path, b"<net\xFF").unwrap();
    assert_eq!(
        read(&path).unwrap_err().to_string(),
        "not text: invalid utf-8 sequence of 1 bytes from index 4"
    );
}
