use std::fs;
use std::path::Path;

use super::super::proto::{StringEntry, data_location};
use super::*;
use crate::{Links, Operator};

fn external(name: &str, dims: &[i64], entries: &[(&str, &str)]) -> Tensor {
    let entry = |(key, value): &(&str, &str)| StringEntry {
        key: key.to_string(),
        value: value.to_string(),
    };
    Tensor {
        external_data: entries.iter().map(entry).collect(),
        data_location: data_location::EXTERNAL,
        ..tensor(name, 2, dims)
    }
}

/// Reads u8 data of this size, or returns the error.
fn read_as(folder: &Path, size: i64, entries: &[(&str, &str)]) -> String {
    let model = with_initializer(external("w", &[size], entries));
    match read_bytes(model.encode_to_vec(), Some(folder)) {
        Ok(model) => match &model.nodes[0].operator {
            Operator::Constant(constant) => format!("{:?}", constant.data),
            other => format!("{other:?}"),
        },
        Err(error) => error.to_string(),
    }
}

/// `in/w.bin` with 10 bytes, and `out.bin` next to `in`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("in/deep")).unwrap();
    let bytes: Vec<u8> = (0..10).collect();
    for file in ["in/w.bin", "in/deep/v.bin", "out.bin"] {
        fs::write(folder.path().join(file), &bytes).unwrap();
    }
    folder
}

#[test]
fn bytes_are_read_at_the_stated_location_and_offset() {
    let folder = folder();
    let inside = folder.path().join("in");
    let at = |size, entries: &[(&str, &str)]| read_as(&inside, size, entries);
    let location = ("location", "w.bin");
    assert_eq!(at(2, &[location]), "Bytes([0, 1])");
    assert_eq!(at(2, &[("location", "./deep/v.bin"), ("offset", "8")]), "Bytes([8, 9])");
    assert_eq!(at(2, &[("length", "2"), ("offset", "3"), location]), "Bytes([3, 4])");
    assert_eq!(at(1, &[location, ("checksum", "00"), ("basepath", "/")]), "Bytes([0])");
    assert_eq!(at(0, &[location, ("offset", "10")]), "Bytes([])");
}

#[test]
fn external_data_is_read_relative_to_the_model_file() {
    let folder = folder();
    let path = folder.path().join("in/model.onnx");
    let model = with_initializer(external("w", &[3], &[("location", "w.bin")]));
    fs::write(&path, model.encode_to_vec()).unwrap();
    assert_eq!(kinds(&super::super::read(&path).unwrap()), ["Initializer"]);
    let missing = super::super::read(&folder.path().join("none.onnx")).unwrap_err().to_string();
    assert!(missing.contains("none.onnx: cannot read: "), "{missing}");
}

#[test]
fn invalid_locations_and_ranges_are_refused() {
    let folder = folder();
    let inside = folder.path().join("in");
    let location = ("location", "w.bin");
    let huge = "18446744073709551615";
    for (size, entries, expected) in [
        (3, vec![], "external data has no location"),
        (3, vec![location, ("length", "4")], "the external data has 4 bytes, its shape takes 3"),
        (3, vec![location, ("offset", "8")], "3 bytes from 8 on, but it has 10"),
        (
            1,
            vec![location, ("offset", huge)],
            "1 bytes from 18446744073709551615 on, but it has 10",
        ),
        (1 << 50, vec![location], "1125899906842624 bytes from 0 on, but it has 10"),
        (
            3,
            vec![location, ("offset", "-1")],
            r#"the offset of external data is "-1", which is not a number"#,
        ),
        (
            3,
            vec![location, ("length", "3x")],
            r#"the length of external data is "3x", which is not a number"#,
        ),
        (3, vec![location, ("zip", "1")], r#"external data has "zip", which is not known"#),
        (3, vec![("location", "deep")], "not a file"),
        (
            3,
            vec![("location", "w\0.bin")],
            r#"external data is in "w\0.bin", which is not a file name"#,
        ),
    ] {
        let refused = read_as(&inside, size, &entries);
        assert!(refused.starts_with("initializer \"w\": "), "{refused}");
        assert!(refused.ends_with(expected), "{refused}\nexpected {expected}");
    }
    let missing = read_as(&inside, 3, &[("location", "none.bin")]);
    assert!(missing.contains("none.bin: cannot read: "), "{missing}");
}

#[test]
fn locations_outside_the_folder_are_refused() {
    let folder = folder();
    let inside = folder.path().join("in");
    let absolute = folder.path().join("in/w.bin").display().to_string();
    for location in ["../out.bin", "deep/../w.bin", "deep/../../out.bin", "..", absolute.as_str()] {
        let refused = read_as(&inside, 3, &[("location", location)]);
        assert!(refused.ends_with("is not in the model's folder"), "{refused}");
    }
    let alone = with_initializer(external("w", &[3], &[("location", "w.bin")]));
    let expected = r#"initializer "w": "w.bin" is in the model's folder, but the model was not read from a folder"#;
    assert_eq!(refusal(&alone), expected);
}

#[cfg(unix)]
#[test]
fn links_are_followed_within_the_folder_only() {
    use std::os::unix::fs::symlink;

    let folder = folder();
    let inside = folder.path().join("in");
    symlink("../out.bin", inside.join("file_out")).unwrap();
    symlink("..", inside.join("folder_out")).unwrap();
    symlink("deep/v.bin", inside.join("file_in")).unwrap();
    for location in ["file_out", "folder_out/out.bin"] {
        let refused = read_as(&inside, 3, &[("location", location)]);
        assert!(refused.ends_with("leads out of the model's folder"), "{refused}");
    }
    // With `Links::Anywhere`, links may lead outside the folder.
    let path = inside.join("model.onnx");
    let model = with_initializer(external("w", &[3], &[("location", "file_out")]));
    fs::write(&path, model.encode_to_vec()).unwrap();
    assert!(super::super::read(&path).is_err());
    assert_eq!(super::super::read_with(&path, Links::Anywhere).unwrap().nodes.len(), 1);
    // The folder's own path may contain links.
    symlink(&inside, folder.path().join("link")).unwrap();
    let linked = folder.path().join("link");
    assert_eq!(read_as(&linked, 2, &[("location", "file_in")]), "Bytes([0, 1])");
}

#[test]
fn tensors_of_the_same_bytes_share_memory() {
    let folder = folder();
    let inside = folder.path().join("in");
    let entries = [("location", "w.bin")];
    let mut model = with_initializer(external("a", &[9], &entries));
    let graph = model.graph.as_mut().unwrap();
    for number in 0..1000 {
        graph.initializer.push(external(&format!("b{number}"), &[3, 3], &entries));
    }
    let read = read_bytes(model.encode_to_vec(), Some(&inside)).unwrap();
    let data = constant_addresses(&read);
    assert_eq!(data.len(), 1001);
    assert!(data.iter().all(|each| *each == data[0]));

    // Different ranges of a file take more memory, which is limited.
    let graph = model.graph.as_mut().unwrap();
    for offset in ["0", "1", "2", "3"] {
        let entries = [("location", "w.bin"), ("offset", offset)];
        graph.initializer.push(external(&format!("c{offset}"), &[7], &entries));
    }
    read_bytes(model.encode_to_vec(), Some(&inside)).unwrap();
    let graph = model.graph.as_mut().unwrap();
    graph.initializer.push(external("d", &[4], &entries));
    let refused = read_bytes(model.encode_to_vec(), Some(&inside)).unwrap_err().to_string();
    assert!(refused.ends_with("the tensors take more than 4 times its 10 bytes"), "{refused}");
}

#[test]
fn packed_external_data_ends_in_zeros() {
    let folder = folder();
    let inside = folder.path().join("in");
    let entries = [("location", "w.bin"), ("offset", "8")];
    let tensor = Tensor { data_type: 25, ..external("w", &[5], &entries) };
    let model = read_bytes(with_initializer(tensor).encode_to_vec(), Some(&inside)).unwrap();
    let found = format!("{:?}", model.nodes[0].operator);
    assert!(found.ends_with("Bytes([8, 1]) })"), "{found}");
}

#[test]
fn inline_data_next_to_external_data_is_refused() {
    let folder = folder();
    let inside = folder.path().join("in");
    let entries = [("location", "w.bin")];
    let twice = Tensor { raw_data: vec![1, 2, 3].into(), ..external("w", &[3], &entries) };
    let refused = read_bytes(with_initializer(twice).encode_to_vec(), Some(&inside)).unwrap_err();
    let expected = r#"initializer "w": it has raw_data, where there can be none"#;
    assert_eq!(refused.to_string(), expected);
    let twice = Tensor { int32_data: vec![1, 2, 3], ..external("w", &[3], &entries) };
    let refused = read_bytes(with_initializer(twice).encode_to_vec(), Some(&inside)).unwrap_err();
    let expected = r#"initializer "w": it has its data twice, once in int32_data"#;
    assert_eq!(refused.to_string(), expected);
}
