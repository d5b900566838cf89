//! Tests with stores that zarr-python wrote with each codec; see make.py.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use std::sync::Arc;

use serde_json::{Value, json};
use trundle_zarr::{Folder, ObjectStore, Store, ZarrArray};

fn at(path: &Path) -> Arc<dyn ObjectStore> {
    Arc::new(Folder::new(path))
}

const SHAPE: [usize; 3] = [5, 7, 9];

fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores")
}

fn only_array(path: &Path) -> ZarrArray {
    let mut store = Store::open(&at(path)).unwrap();
    assert!(store.unreadable.is_empty(), "{:?}", store.unreadable);
    assert_eq!(store.arrays.len(), 1);
    store.arrays.remove(0)
}

fn elements(array: &ZarrArray) -> Vec<f32> {
    let chunk: Vec<usize> = array.chunk.iter().map(|size| *size as usize).collect();
    let mut all = vec![f32::NAN; SHAPE.iter().product()];
    for z in 0..SHAPE[0] {
        for y in 0..SHAPE[1] {
            for x in 0..SHAPE[2] {
                let at = [z, y, x];
                let index: Vec<u64> = at.iter().zip(&chunk).map(|(i, c)| (i / c) as u64).collect();
                let decoded = array.read_chunk(&index).unwrap();
                assert_eq!(decoded.len(), array.chunk_bytes);
                let axes = array.order.iter().map(|axis| (at[*axis], chunk[*axis]));
                let within = axes.fold(0, |number, (i, c)| number * c + i % c);
                let bytes = decoded[4 * within..][..4].try_into().unwrap();
                all[(z * SHAPE[1] + y) * SHAPE[2] + x] = f32::from_le_bytes(bytes);
            }
        }
    }
    all
}

#[test]
fn stores_of_zarr_python_are_read() {
    let expected: Vec<f32> = (0..5 * 7 * 9).map(|n| n as f32).collect();
    let mut names = Vec::new();
    for entry in fs::read_dir(stores()).unwrap() {
        let path = entry.unwrap().path();
        assert!(Store::is_store(&path), "{}", path.display());
        let array = only_array(&path);
        assert_eq!(
            (&array.path[..], &array.shape[..], &array.dtype[..]),
            ("", &[5, 7, 9][..], "float32")
        );
        assert_eq!(elements(&array), expected, "{}", path.display());
        names.push(path);
    }
    assert_eq!(names.len(), 14);
}

#[test]
fn chunks_of_a_shard_are_read_separately() {
    let array = only_array(&stores().join("v3-sharded"));
    assert_eq!(array.chunk, [1, 4, 3]);
    assert_eq!(array.chunk_bytes, 4 * 12);
    // The chunk has z = 1, y = 0 to 3 and x = 3 to 5.
    let number = |y: usize, x: usize| ((SHAPE[1] + y) * SHAPE[2] + x) as f32;
    let numbers = (0..4).flat_map(|y| (3..6).map(move |x| number(y, x)));
    let expected: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    assert_eq!(array.read_chunk(&[1, 0, 1]).unwrap(), expected);

    // If one encoded chunk is damaged, the other five chunks of the shard can still be read.
    let mut shard = fs::read(stores().join("v3-sharded/c/0/0/0")).unwrap();
    shard[0] ^= 0xff;
    let damaged = changed("v3-sharded", "c/0/0/0", &shard);
    let damaged = only_array(damaged.path());
    let readable = (0..6_u64).filter(|at| damaged.read_chunk(&[at / 2, 0, at % 2]).is_ok());
    assert_eq!(readable.count(), 5);
}

fn changed(name: &str, file: &str, bytes: &[u8]) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(&stores().join(name), copy.path());
    fs::write(copy.path().join(file), bytes).unwrap();
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn chunks_that_decode_to_too_many_bytes_are_refused() {
    use std::io::Write;

    let zeros = vec![0; 1 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&zeros).unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&zeros).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    bz2.write_all(&zeros).unwrap();
    let zstd = zstd::encode_all(&zeros[..], 3).unwrap();
    // Version 2 of the Blosc format, with lz4 and elements of 1 byte: 100 bytes that claim to decode to 2^31 - 1.
    let blosc = [&[2, 1, 0x20, 1][..], &0x7fff_ffffu32.to_le_bytes(), &[0; 92]].concat();
    for (name, file, bytes) in [
        ("v2-zstd", "0.0.0", &zstd[..256.min(zstd.len())]),
        ("v3-zstd", "c/0/0/0", &zstd[..]),
        ("v2-gzip", "0.0.0", &gzip.finish().unwrap()[..200]),
        ("v2-zlib", "0.0.0", &zlib.finish().unwrap()[..200]),
        ("v2-bz2", "0.0.0", &bz2.finish().unwrap()),
        ("v2-lz4", "0.0.0", &[0xff; 100]),
        ("v3-lz4", "c/0/0/0", &[241, 0, 0, 0, 0x10, 7]),
        ("v2-blosc", "0.0.0", &blosc),
        ("v3-blosc", "c/0/0/0", &blosc),
    ] {
        let copy = changed(name, file, bytes);
        let error = only_array(copy.path()).read_chunk(&[0, 0, 0]).unwrap_err().to_string();
        let (key, why) = error.split_once(": ").unwrap();
        assert_eq!(key, format!("chunk {file}"), "{error}");
        assert!(why.contains("decodes to more than the 240 bytes"), "{name}: {error}");
        // Other chunks can still be read.
        only_array(copy.path()).read_chunk(&[1, 1, 1]).unwrap();
    }
}

#[test]
fn unreadable_members_do_not_hide_others() {
    let group = tempfile::tempdir().unwrap();
    let root = group.path();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path)).unwrap();
        fs::write(root.join(path).join("zarr.json"), text).unwrap();
    };
    write("", r#"{"zarr_format": 3, "node_type": "group"}"#);
    write("bad", "{bad");
    write("neither", r#"{"zarr_format": 3}"#);
    fs::create_dir_all(root.join(".hidden/deep")).unwrap();
    copy_folder(&stores().join("v3-zstd"), &root.join("_named"));
    copy_folder(&stores().join("v2-gzip"), &root.join("no group/of 2"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(root, root.join("circle")).unwrap();
    let store = Store::open(&at(root)).unwrap();
    let arrays: Vec<&str> = store.arrays.iter().map(|array| &array.path[..]).collect();
    assert_eq!(arrays, ["_named", "no group/of 2"]);
    let unreadable: Vec<&str> = store.unreadable.iter().map(|each| &each.path[..]).collect();
    let links = if cfg!(unix) { &["circle"][..] } else { &[] };
    assert_eq!(unreadable, [&["bad"][..], links, &["neither"]].concat());
    assert!(Store::open(&at(&root.join("bad"))).is_err());
}

#[test]
fn truncated_shards_are_refused() {
    let shard = fs::read(stores().join("v3-sharded/c/0/0/0")).unwrap();
    for cut in [1, 4, 20, 100, shard.len() - 1] {
        let copy = changed("v3-sharded", "c/0/0/0", &shard[..cut]);
        let error = only_array(copy.path()).read_chunk(&[0, 0, 0]).unwrap_err().to_string();
        assert!(error.starts_with("chunk c/0/0/0: "), "{error}");
    }
}

/// Creates a store with one array of four bytes. `changes` are applied to the metadata. If `chunk` is empty, the only
/// chunk is missing.
fn four_bytes(name: &str, changes: &Value, chunk: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut document = match name {
        "zarr.json" => json!({
            "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 9,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes"}],
        }),
        _ => json!({
            "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "compressor": null,
            "fill_value": 9, "order": "C", "filters": null,
        }),
    };
    for (key, value) in changes.as_object().unwrap() {
        document[key] = value.clone();
    }
    fs::write(folder.path().join(name), document.to_string()).unwrap();
    if !chunk.is_empty() {
        fs::create_dir(folder.path().join("c")).unwrap();
        fs::write(folder.path().join("c/0"), chunk).unwrap();
    }
    folder
}

#[test]
fn entries_of_a_shard_index_are_within_the_shard_or_missing() {
    let bytes = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let sharding = |codecs: Value, chunk: usize| {
        json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [chunk], "codecs": codecs, "index_codecs": bytes, "index_location": "end",
        }}])
    };
    let read = |codecs: &Value, shard: &[u8]| {
        let store = four_bytes("zarr.json", &json!({"codecs": codecs}), shard);
        let array = only_array(store.path());
        let count = 4 / array.chunk[0];
        (0..count).map(|i| array.read_chunk(&[i])).collect::<Result<Vec<_>, _>>()
    };
    let index = |entries: [[u64; 2]; 2]| -> Vec<u8> {
        entries.iter().flatten().flat_map(|number| number.to_le_bytes()).collect()
    };
    const NONE: u64 = u64::MAX;
    let flat = sharding(bytes.clone(), 2);
    for (entry, expected) in [
        ([2, 2], Ok(vec![3, 4])),
        ([NONE, NONE], Ok(vec![9, 9])),
        ([0, NONE], Err("points beyond its 36 bytes")),
        ([NONE, 2], Err("points beyond its 36 bytes")),
        ([5, NONE], Err("points beyond its 36 bytes")),
        ([35, 2], Err("points beyond its 36 bytes")),
        ([0, 1], Err("")),
        ([0, 3], Err("")),
        ([0, 0], Err("")),
    ] {
        let shard = [&[1, 2, 3, 4][..], &index([[0, 2], entry])].concat();
        match (read(&flat, &shard), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, [vec![1, 2], expected]),
            (Err(error), Err(word)) => assert!(error.to_string().contains(word), "{error}"),
            (read, _) => panic!("{entry:?}: {read:?}"),
        }
    }
    // The same with a shard within a shard.
    let nested = sharding(sharding(bytes.clone(), 2), 4);
    for (entry, is_read) in [([2, 2], true), ([0, NONE], false), ([5, NONE], false)] {
        let inner = [&[1, 2, 3, 4][..], &index([[0, 2], entry])].concat();
        let outer = [0, inner.len() as u64].map(u64::to_le_bytes).concat();
        let read = read(&nested, &[&inner[..], &outer].concat());
        assert_eq!(read.is_ok(), is_read, "{entry:?}: {read:?}");
    }
}

#[test]
fn fill_values_of_version_2_are_read_in_all_forms() {
    let one = |value: f32| value.to_le_bytes().to_vec();
    let text = |text: &str| text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    for (dtype, fill, expected) in [
        ("|b1", json!(null), vec![0]),
        ("|b1", json!(1.0), vec![1]),
        ("|i1", json!(null), vec![0]),
        ("|i1", json!(true), vec![1]),
        ("|i1", json!(-3.0), vec![253]),
        ("|i1", json!("-3"), vec![253]),
        ("<u8", json!(u64::MAX), vec![255; 8]),
        ("<u8", json!(u64::MAX.to_string()), vec![255; 8]),
        ("<f4", json!(null), one(0.0)),
        ("<f4", json!(false), one(0.0)),
        ("<f4", json!("1.5"), one(1.5)),
        ("<f4", json!("-Infinity"), one(f32::NEG_INFINITY)),
        ("<f4", json!("NaN"), one(f32::NAN)),
        (">f4", json!(7), one(7.0)),
        ("<c8", json!(null), [one(0.0), one(0.0)].concat()),
        ("<c8", json!(["NaN", 1.5]), [one(f32::NAN), one(1.5)].concat()),
        ("<U3", json!(null), vec![0; 12]),
        ("<U3", json!(0), vec![0; 12]),
        ("<U3", json!("abcd"), text("abc")),
        ("<M8[s]", json!(null), vec![0; 8]),
        (">m8[25us]", json!(-1), vec![255; 8]),
        ("<M8[ns]", json!(i64::MIN), i64::MIN.to_le_bytes().to_vec()),
        ("|V3", json!(null), vec![0; 3]),
        ("|V3", json!(""), vec![0; 3]),
        ("|V3", json!("AQID"), vec![1, 2, 3]),
    ] {
        let store = four_bytes(".zarray", &json!({"dtype": dtype, "fill_value": fill}), &[]);
        assert_eq!(only_array(store.path()).fill, expected, "{dtype} {fill}");
    }
}

#[test]
fn json_as_written_by_python_is_read() {
    let text = r#"{"a":NaN,"b":[1,-Infinity,{"c":Infinity}],"d":"NaN","e":123456789012345678901234567890}"#;
    let attributes = json!({
        "a": "\0NaN", "b": [1, "\0-Infinity", { "c": "\0Infinity" }], "d": "NaN",
        "e": "\u{0}123456789012345678901234567890",
    });
    let of_v3 = json!({ "data_type": "float32", "fill_value": "F", "attributes": "A" });
    let of_v2 = json!({ "dtype": "<f4", "fill_value": "F" });
    for (name, changes) in [("zarr.json", of_v3), (".zarray", of_v2)] {
        let store = four_bytes(name, &changes, &[]);
        let file = store.path().join(name);
        let document = fs::read_to_string(&file).unwrap();
        fs::write(&file, document.replace("\"F\"", "NaN").replace("\"A\"", text)).unwrap();
        if name == ".zarray" {
            fs::write(store.path().join(".zattrs"), text).unwrap();
        }
        let array = only_array(store.path());
        assert_eq!(array.fill, f32::NAN.to_le_bytes(), "{name}");
        assert_eq!(Value::from(array.attributes), attributes, "{name}");
    }
    let nulls =
        json!({ "attributes": null, "storage_transformers": null, "dimension_names": null });
    let store = four_bytes("zarr.json", &nulls, &[]);
    assert!(only_array(store.path()).attributes.is_empty());
    let store = four_bytes(".zarray", &json!({}), &[]);
    fs::write(store.path().join(".zattrs"), "null").unwrap();
    assert!(only_array(store.path()).attributes.is_empty());
}

#[test]
fn an_array_without_axes_is_read_in_any_axis_order() {
    let shuffle = json!([{"id": "shuffle", "elementsize": 1}]);
    let scalar = json!({"shape": [], "chunks": [], "order": "F", "filters": shuffle});
    let store = four_bytes(".zarray", &scalar, &[]);
    assert_eq!(only_array(store.path()).read_chunk(&[]).unwrap(), [9]);
    let codecs = json!([{"name": "transpose", "configuration": {"order": []}}, {"name": "bytes"}]);
    let grid = json!({"name": "regular", "configuration": {"chunk_shape": []}});
    let scalar = json!({"shape": [], "chunk_grid": grid, "codecs": codecs});
    let store = four_bytes("zarr.json", &scalar, &[]);
    assert_eq!(only_array(store.path()).read_chunk(&[]).unwrap(), [9]);
}

/// Creates an array of version 2 from [`four_bytes`] with one chunk.
fn of_v2(changes: &Value, chunk: &[u8]) -> tempfile::TempDir {
    let store = four_bytes(".zarray", changes, &[]);
    fs::write(store.path().join("0"), chunk).unwrap();
    store
}

#[test]
fn structures_are_read_with_little_endian_fields() {
    let dtype = json!([["a", ">i2"], ["b", "|S1"], ["c", ">u2", [2]]]);
    let changes =
        json!({"dtype": dtype, "fill_value": "AAECAAMABA==", "shape": [2], "chunks": [2]});
    let chunk = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    for (changes, chunk, expected) in [
        (changes.clone(), &chunk[..], [2, 1, 3, 5, 4, 7, 6, 9, 8, 10, 12, 11, 14, 13]),
        (changes, &[][..], [1, 0, 2, 3, 0, 4, 0, 1, 0, 2, 3, 0, 4, 0]),
    ] {
        let store = if chunk.is_empty() {
            four_bytes(".zarray", &changes, &[])
        } else {
            of_v2(&changes, chunk)
        };
        let array = only_array(store.path());
        assert_eq!(array.dtype, r#"[["a","<i2"],["b","|S1"],["c","<u2",[2]]]"#);
        assert_eq!((array.width, &array.fill[..]), (7, &[1, 0, 2, 3, 0, 4, 0][..]));
        assert_eq!(array.read_chunk(&[0]).unwrap(), expected);
        let mut out = [0; 14];
        array.read_chunk_to(&[0], &mut out).unwrap();
        assert_eq!(out, expected);
    }
    let data_type = json!({"name": "struct", "configuration": {"fields": [
        {"name": "a", "data_type": "int16"}, {"name": "b", "data_type": {"name": "raw_bytes", "configuration": {"length_bytes": 2}}},
    ]}});
    for (endian, chunk) in [("little", [2, 1, 3, 4]), ("big", [1, 2, 3, 4])] {
        let changes = json!({
            "data_type": data_type, "fill_value": {"a": 1, "b": "AgM="}, "shape": [1],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "codecs": [{"name": "bytes", "configuration": {"endian": endian}}],
        });
        let array = only_array(four_bytes("zarr.json", &changes, &chunk).path());
        assert_eq!(array.fill, [1, 0, 2, 3]);
        let written = four_bytes("zarr.json", &changes, &chunk);
        assert_eq!(only_array(written.path()).read_chunk(&[0]).unwrap(), [2, 1, 3, 4], "{endian}");
        let missing = four_bytes("zarr.json", &changes, &[]);
        assert_eq!(only_array(missing.path()).read_chunk(&[0]).unwrap(), [1, 0, 2, 3], "{endian}");
    }
}

#[test]
fn filters_of_numcodecs_are_decoded() {
    let delta = json!({"id": "delta", "dtype": "|u1", "astype": "|u1"});
    let packed = json!({"filters": [{"id": "packbits"}], "dtype": "|b1", "fill_value": true});
    let checked = |location: Value| json!({"filters": [{"id": "crc32", "location": location}]});
    for (changes, chunk, expected) in [
        (json!({"filters": [delta]}), &[5, 1, 255, 2][..], Ok([5, 6, 5, 7])),
        (json!({"filters": [delta]}), &[], Ok([9, 9, 9, 9])),
        (json!({"filters": [{"id": "bitround", "keepbits": 1}]}), &[1, 2, 3, 4], Ok([1, 2, 3, 4])),
        (packed.clone(), &[4, 0b1010_0000], Ok([1, 0, 1, 0])),
        (packed.clone(), &[3, 0b1010_0000], Err("does not have 4 bits")),
        (packed.clone(), &[12, 0], Err("does not have 4 bits")),
        (packed, &[255], Err("does not have 4 bits")),
        (
            json!({"filters": [{"id": "crc32"}]}),
            &[0xcd, 0xfb, 0x3c, 0xb6, 1, 2, 3, 4],
            Ok([1, 2, 3, 4]),
        ),
        (checked(json!("start")), &[0xcd, 0xfb, 0x3c, 0xb6, 1, 2, 3, 4], Ok([1, 2, 3, 4])),
        (checked(json!("end")), &[1, 2, 3, 4, 0xcd, 0xfb, 0x3c, 0xb6], Ok([1, 2, 3, 4])),
        (checked(json!("end")), &[1, 2, 3, 5, 0xcd, 0xfb, 0x3c, 0xb6], Err("its CRC-32 is wrong")),
        (checked(json!("end")), &[1, 2], Err("is too short for a CRC-32")),
    ] {
        let store = if chunk.is_empty() {
            four_bytes(".zarray", &changes, &[])
        } else {
            of_v2(&changes, chunk)
        };
        let array = only_array(store.path());
        let mut out = [0; 4];
        match (array.read_chunk(&[0]), expected) {
            (Ok(read), Ok(expected)) => {
                array.read_chunk_to(&[0], &mut out).unwrap();
                assert_eq!((&read[..], out), (&expected[..], expected), "{changes}");
            }
            (Err(error), Err(why)) => assert!(error.to_string().ends_with(why), "{error}"),
            (read, _) => panic!("{changes} {chunk:?}: {read:?}"),
        }
    }
}

#[test]
fn uneven_chunks_are_read_as_chunks_of_the_largest_size() {
    let uneven = |chunks: Value| json!({"chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": chunks}}});
    let store = four_bytes("zarr.json", &uneven(json!([[1, 2, 3]])), &[5]);
    fs::write(store.path().join("c/2"), [7, 8, 0]).unwrap();
    let array = only_array(store.path());
    assert_eq!((&array.chunk[..], array.is_uneven), (&[3][..], true));
    assert_eq!(array.read_chunk(&[0]).unwrap(), [5, 9, 9]);
    assert_eq!(array.read_chunk(&[1]).unwrap(), [7, 9, 9]);
    // Any stored chunk that is written changes what identifies the chunk that contains its elements.
    let stat = || array.stat(&[0]).unwrap().unwrap();
    let one = stat();
    fs::write(store.path().join("c/1"), [6, 6]).unwrap();
    let two = stat();
    assert_eq!((one.bytes, two.bytes, array.stat(&[1]).unwrap().unwrap().bytes), (1, 3, 3));
    let file = fs::File::options().write(true).open(store.path().join("c/0")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(one.tag != two.tag && two.tag != stat().tag && stat().tag == stat().tag);
    fs::remove_file(store.path().join("c/2")).unwrap();
    assert_eq!(array.stat(&[1]).unwrap(), None);
    let mut changes = uneven(json!([[2, 1], [[2, 1], 1]]));
    changes["shape"] = json!([3, 3]);
    let store = four_bytes("zarr.json", &changes, &[]);
    for (key, chunk) in
        [("c/0/0", &[1, 2, 4, 5][..]), ("c/0/1", &[3, 6]), ("c/1/0", &[7, 8]), ("c/1/1", &[0])]
    {
        let path = store.path().join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, chunk).unwrap();
    }
    let array = only_array(store.path());
    let read = |index: [u64; 2]| array.read_chunk(&index).unwrap();
    assert_eq!(array.chunk, [2, 2]);
    assert_eq!((read([0, 0]), read([0, 1])), (vec![1, 2, 4, 5], vec![3, 9, 6, 9]));
    assert_eq!((read([1, 0]), read([1, 1])), (vec![7, 8, 9, 9], vec![0, 9, 9, 9]));
    fs::write(store.path().join("c/0/1"), [3, 6, 6]).unwrap();
    assert!(array.read_chunk(&[0, 1]).is_err());
}

#[test]
fn unsupported_metadata_is_refused_with_value_and_limit() {
    let codec = |name: &str, configuration: Value| {
        let codec = json!({"name": name, "configuration": configuration});
        let inner = json!([{"name": "bytes"}, codec]);
        let shard =
            json!({"chunk_shape": [2], "codecs": inner, "index_codecs": [{"name": "bytes"}]});
        let within = json!([{"name": "sharding_indexed", "configuration": shard}]);
        [json!({"codecs": inner}), json!({"codecs": within})]
    };
    let compressor =
        |name: &str, key: &str, value: Value| json!({"compressor": {"id": name, key: value}});
    let blosc = |key: &str, value: Value| {
        let mut options = json!({"typesize": 1, "cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "blocksize": 0});
        options[key] = value;
        options
    };
    let mut of_v3 = Vec::new();
    for (changes, word) in [
        (
            codec("zstd", json!({"level": 99, "checksum": false})),
            "the codec zstd has the level 99, expected -131072 to 22",
        ),
        (codec("gzip", json!({"level": 10})), "the codec gzip has the level 10, expected 0 to 9"),
        (
            codec("gzip", json!({"level": "6"})),
            "the codec gzip has the level \"6\", expected 0 to 9",
        ),
        (
            codec("gzip", json!({"depth": 6})),
            "the codec gzip is not read with the configuration {\"depth\":6}",
        ),
        (
            codec("blosc", blosc("clevel", json!(10))),
            "the codec blosc has the clevel 10, expected 0 to 9",
        ),
        (
            codec("blosc", blosc("cname", json!("lz5"))),
            "the codec blosc is not read with the configuration {",
        ),
        (codec("lzma", json!({})), "the codec lzma is not read"),
    ] {
        of_v3.extend(changes.map(|changes| (changes, word)));
    }
    of_v3.extend([
        (
            json!({"codecs": [{"name": "lzma", "must_understand": false}, {"name": "bytes"}]}),
            "the codec lzma is not read",
        ),
        (json!({"codecs": ["sharding_indexed"]}), ""),
        (json!({"codecs": [{"name": "sharding_indexed", "configuration": 5}]}), "a codec is {"),
        (json!({"codecs": [{"name": "sharding_indexed", "configuration": [1]}]}), "a codec is {"),
        (json!({"codecs": [7]}), "a codec is 7, expected an object with a name"),
        (json!({"scale": {"name": "x"}}), "zarr.json: the field \"scale\" is not understood"),
        (json!({"scale": 2}), "zarr.json: the field \"scale\" is not understood"),
        (json!({"zarr_format": 4}), "zarr.json: zarr_format is 4, expected 3"),
        (json!({"storage_transformers": [{"name": "x"}]}), "x"),
        (json!({"data_type": {"name": "uint8", "configuration": {"x": 1}}}), ""),
        (json!({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": "x"}}}), ""),
        (
            json!({"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}}),
            "",
        ),
        (json!({"chunk_key_encoding": 7}), ""),
        (json!({"fill_value": {"x": 1}}), ""),
        (json!({"dimension_names": [7]}), ""),
        (json!({"shape": "x"}), ""),
    ]);
    let of_v2 = [
        (
            compressor("zstd", "level", json!(99)),
            "the codec zstd has the level 99, expected -131072 to 22",
        ),
        (
            compressor("gzip", "level", json!(-1)),
            "the codec gzip has the level -1, expected 0 to 9",
        ),
        (compressor("lzma", "level", json!(1)), "the codec lzma is not read"),
        (
            compressor("blosc", "clevel", json!(10)),
            "the codec blosc has the clevel 10, expected 0 to 9",
        ),
        (compressor("blosc", "cname", json!("lz5")), ".zarray: "),
        (json!({"compressor": 7}), "expected an object with an id"),
        (json!({"filters": [{"id": "delta", "dtype": "<u2"}]}), "the codec delta is not read"),
        (
            json!({"dtype": "<u2", "filters": [{"id": "delta", "dtype": ">u2"}]}),
            "the codec delta is not read",
        ),
        (
            json!({"filters": [{"id": "crc32", "location": "middle"}]}),
            "the codec crc32 is not read",
        ),
        (
            json!({"dtype": [["a", "<i4"], ["b", "|O"]]}),
            "elements of the structured type [[\"a\",\"<i4\"],[\"b\",\"|O\"]] are not read",
        ),
        (json!({"dtype": 7}), ""),
        (json!({"dtype": "<x3"}), "elements of type <x3 are not read"),
        (json!({"dtype": "|S0"}), "elements of type \"|S0\" are not read"),
        (
            json!({"dtype": "|S3", "fill_value": "YWFhYQ=="}),
            "the fill value \"YWFhYQ==\" does not fit",
        ),
        (json!({"order": "A"}), ""),
        (json!({"dimension_separator": "-"}), ""),
        (json!({"fill_value": {"x": 1}}), ""),
        (json!({"fill_value": 300}), ""),
        (json!({"fill_value": 1.5}), ""),
    ];
    let cases = of_v3.into_iter().map(|(changes, word)| ("zarr.json", changes, word));
    let cases = cases.chain(of_v2.map(|(changes, word)| (".zarray", changes, word)));
    for (name, changes, word) in cases {
        let store = four_bytes(name, &changes, &[]);
        let error = match Store::open(&at(store.path())) {
            Ok(mut read) if read.unreadable.len() == 1 => read.unreadable.remove(0).error,
            Ok(read) => panic!("{changes}: {read:?}"),
            Err(error) => error,
        };
        let error = error.to_string();
        assert!(error.contains(word) && !error.contains("untagged"), "{changes}: {error}");
    }
    for extra in
        [json!({"scale": {"must_understand": false}}), json!({"consolidated_metadata": null})]
    {
        only_array(four_bytes("zarr.json", &extra, &[]).path());
    }
}

#[test]
fn truncated_or_short_lz4_data_is_refused() {
    for (bytes, word) in [
        (&[][..], "is too short for lz4"),
        (&[240, 0, 0], "is too short for lz4"),
        // First 5 bytes where 240 are stated, then a block that ends within a literal.
        (&[240, 0, 0, 0, 0x50, 1, 2, 3, 4, 5], "5 bytes, but 240 are stated"),
        (&[240, 0, 0, 0, 0xf0, 200, 1], "lz4: "),
        // A copy from before the beginning.
        (&[240, 0, 0, 0, 0x04, 9, 0], "lz4: "),
        // The stated size is smaller than a chunk.
        (&[5, 0, 0, 0, 0x50, 1, 2, 3, 4, 5], ""),
    ] {
        let copy = changed("v2-lz4", "0.0.0", bytes);
        let error = only_array(copy.path()).read_chunk(&[0, 0, 0]).unwrap_err().to_string();
        assert!(error.starts_with("chunk 0.0.0: ") && error.contains(word), "{bytes:?}: {error}");
    }
}
