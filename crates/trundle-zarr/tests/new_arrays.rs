//! Tests that written arrays can be read back. `with_zarr_python.py` reads them with zarr-python.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use trundle_zarr::{ArrayWriter, Attributes, Folder, NewArray, ObjectStore, Store, create_groups};

fn at(path: &Path) -> Arc<dyn ObjectStore> {
    Arc::new(Folder::new(path))
}

fn zstd() -> Vec<serde_json::Value> {
    vec![serde_json::json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})]
}

fn new_array(path: &str, shape: &[u64], chunk: &[u64], shard: Option<&[u64]>) -> NewArray {
    let (path, shape, chunk) = (path.to_owned(), shape.to_vec(), chunk.to_vec());
    let shard = shard.map(<[u64]>::to_vec);
    let (dtype, fill) = ("float32".to_owned(), vec![0; 4]);
    let (dimension_names, attributes) = (Vec::new(), Attributes::new());
    let order = (0..shape.len()).collect();
    NewArray {
        path,
        shape,
        chunk,
        shard,
        order,
        codecs: zstd(),
        dtype,
        dimension_names,
        attributes,
        fill,
    }
}

fn indices(counts: &[u64]) -> Vec<Vec<u64>> {
    counts.iter().fold(vec![Vec::new()], |all, count| {
        all.iter().flat_map(|each| (0..*count).map(|i| [&each[..], &[i]].concat())).collect()
    })
}

fn counts(shape: &[u64], chunk: &[u64]) -> Vec<u64> {
    shape.iter().zip(chunk).map(|(size, chunk)| size.div_ceil(*chunk)).collect()
}

/// Writes distinct numbers, and returns the index and the bytes of each chunk.
fn write_array(root: &Path, new: &NewArray) -> Vec<(Vec<u64>, Vec<u8>)> {
    let writer = ArrayWriter::create(&at(root), new).unwrap();
    let at_once = new.written_at_once();
    // The number of an element follows from its position, also beyond the array's edge.
    let number = |at: &[u64]| at.iter().fold(1.0f32, |n, i| n * 31.0 + *i as f32);
    let bytes = |begin: &[u64], sizes: &[u64]| -> Vec<u8> {
        let of = |within: &Vec<u64>| -> [u8; 4] {
            let at: Vec<u64> = begin.iter().zip(within).map(|(begin, i)| begin + i).collect();
            number(&at).to_le_bytes()
        };
        indices(sizes).iter().flat_map(of).collect()
    };
    let begin = |index: &[u64], sizes: &[u64]| -> Vec<u64> {
        index.iter().zip(sizes).map(|(i, size)| i * size).collect()
    };
    for index in indices(&counts(&new.shape, at_once)) {
        writer.write(&index, &bytes(&begin(&index, at_once), at_once)).unwrap();
    }
    indices(&counts(&new.shape, &new.chunk))
        .into_iter()
        .map(|index| (index.clone(), bytes(&begin(&index, &new.chunk), &new.chunk)))
        .collect()
}

#[test]
fn a_written_array_is_read_back() {
    for (path, shape, chunk, shard) in [
        ("", &[5, 7, 9][..], &[2, 3, 4][..], None),
        ("", &[5, 7, 9], &[2, 3, 4], Some(&[4, 3, 8][..])),
        ("", &[100], &[7], Some(&[21])),
        ("", &[], &[], None),
        ("a/b/c", &[6, 4], &[6, 4], None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let new = new_array(path, shape, chunk, shard);
        new.check().unwrap();
        let expected = write_array(folder.path(), &new);
        let store = Store::open(&at(folder.path())).unwrap();
        assert!(store.unreadable.is_empty(), "{:?}", store.unreadable);
        let [array] = &store.arrays[..] else { panic!("{:?}", store.arrays) };
        assert_eq!((&array.path[..], &array.shape[..], &array.dtype[..]), (path, shape, "float32"));
        assert_eq!(array.chunk, chunk);
        for (index, bytes) in expected {
            assert_eq!(array.read_chunk(&index).unwrap(), bytes, "{index:?} of {shape:?}");
        }
    }
}

#[test]
fn types_are_read_back_as_written() {
    for (dtype, width) in [
        ("bool", 1),
        ("int8", 1),
        ("uint64", 8),
        ("float16", 2),
        ("bfloat16", 2),
        ("complex64", 8),
        ("complex128", 16),
        ("<U4", 16),
        ("<M8[25us]", 8),
        ("<m8", 8),
        ("|S5", 5),
        ("|V3", 3),
        (r#"[["a","<i4"],["b",[["c","<f8"],["d","|b1"]]]]"#, 13),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (dtype, fill) = (dtype.to_owned(), vec![0; width]);
        let new = NewArray { dtype, fill, ..new_array("", &[3], &[2], None) };
        let writer = ArrayWriter::create(&at(folder.path()), &new).unwrap();
        if new.dtype.starts_with('[') {
            // Fields are numbers, so the byte order must be stated.
            let sharded = tempfile::tempdir().unwrap();
            let shard = Some(vec![4]);
            ArrayWriter::create(&at(sharded.path()), &NewArray { shard, ..new.clone() }).unwrap();
            let order = serde_json::json!({"name": "bytes", "configuration": {"endian": "little"}});
            let codecs = |folder: &Path| {
                let text = std::fs::read_to_string(folder.join("zarr.json")).unwrap();
                serde_json::from_str::<serde_json::Value>(&text).unwrap()["codecs"].take()
            };
            assert_eq!(codecs(folder.path())[0], order);
            assert_eq!(codecs(sharded.path())[0]["configuration"]["codecs"][0], order);
        }
        let bytes: Vec<u8> = (0..2 * width).map(|n| (n % 2) as u8).collect();
        writer.write(&[1], &bytes).unwrap();
        let store = Store::open(&at(folder.path())).unwrap();
        let array = &store.arrays[0];
        assert_eq!((&array.dtype, array.width), (&new.dtype, width));
        assert_eq!(array.read_chunk(&[0]).unwrap(), vec![0; 2 * width]);
        assert_eq!(array.read_chunk(&[1]).unwrap(), bytes);
    }
}

#[test]
fn names_attributes_and_fill_values_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let attribute = |name: &str| -> Attributes {
        [(name.to_owned(), serde_json::json!([1, {"deep": "ü"}]))].into_iter().collect()
    };
    let names = vec![Some("lat".to_owned()), None];
    let new = NewArray {
        dimension_names: names.clone(),
        attributes: attribute("of it"),
        fill: f32::NAN.to_le_bytes().to_vec(),
        ..new_array("t", &[3, 4], &[2, 2], None)
    };
    let groups = BTreeMap::from([(String::new(), attribute("of all"))]);
    create_groups(&*at(folder.path()), &groups, std::slice::from_ref(&new), &[]).unwrap();
    let writer = ArrayWriter::create(&at(folder.path()), &new).unwrap();
    writer.write(&[0, 0], &f32::NAN.to_le_bytes().repeat(4)).unwrap();
    assert!(!folder.path().join("t/c/0/0").exists(), "nothing but the fill value");
    let store = Store::open(&at(folder.path())).unwrap();
    assert_eq!(store.attributes, attribute("of all"));
    let array = &store.arrays[0];
    assert_eq!((&array.dimension_names, &array.attributes), (&names, &new.attributes));
    assert_eq!(array.fill, new.fill);
    assert_eq!(array.read_chunk(&[0, 0]).unwrap(), new.fill.repeat(4));
}

#[test]
fn chunks_of_zeros_are_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let writer = ArrayWriter::create(&at(folder.path()), &new_array("", &[4], &[2], None)).unwrap();
    writer.write(&[0], &[0; 8]).unwrap();
    writer.write(&[1], &[0, 0, 0, 0, 0, 0, 0, 0x80]).unwrap();
    assert!(!folder.path().join("c/0").exists() && folder.path().join("c/1").is_file());
}

#[test]
fn wrong_types_chunks_and_shards_are_refused() {
    let refused = |new: &NewArray| {
        let folder = tempfile::tempdir().unwrap();
        let created = ArrayWriter::create(&at(folder.path()), new).map(drop);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{new:?}");
        assert_eq!(new.check().unwrap_err().to_string(), created.unwrap_err().to_string());
        new.check().unwrap_err().to_string()
    };
    let unlike = NewArray { dtype: "float31".to_owned(), ..new_array("", &[4], &[2], None) };
    assert!(refused(&unlike).contains("float31"));
    let shards = refused(&new_array("", &[9, 9], &[2, 3], Some(&[4, 4])));
    assert_eq!(shards, "shards of 4x4 are not a whole number of chunks of 2x3");
    assert!(refused(&new_array("", &[9, 9], &[2], None)).contains("of 2 of an array of 9x9"));
    assert!(refused(&new_array("", &[1 << 40], &[1 << 30], None)).contains("2147483647 bytes"));
    let many = refused(&new_array("", &[1 << 40], &[1], Some(&[1 << 20])));
    assert!(many.contains("more than 262144 chunks"), "{many}");

    let folder = tempfile::tempdir().unwrap();
    let writer = ArrayWriter::create(&at(folder.path()), &new_array("", &[4], &[2], None)).unwrap();
    let short = writer.write(&[0], &[1; 7]).unwrap_err().to_string();
    assert_eq!(short, "chunk c/0: has 7 bytes, not 8");
    // A chunk can be written only once.
    writer.write(&[0], &[1; 8]).unwrap();
    assert!(writer.write(&[0], &[1; 8]).is_err());
}
