//! Stores that zarr-python has written, with each codec: see make.py.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use std::sync::Arc;

use trundle_zarr::{Folder, ObjectStore, Store, ZarrArray};

/// The objects in the folder at `path`.
fn at(path: &Path) -> Arc<dyn ObjectStore> {
    Arc::new(Folder::new(path))
}

const SHAPE: [usize; 3] = [5, 7, 9];

fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores")
}

/// The only array of a store.
fn only(path: &Path) -> ZarrArray {
    let mut store = Store::open(&at(path)).unwrap();
    assert!(store.unreadable.is_empty(), "{:?}", store.unreadable);
    assert_eq!(store.arrays.len(), 1);
    store.arrays.remove(0)
}

/// All elements, from all chunks.
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
                let within = axes.fold(0, |place, (i, c)| place * c + i % c);
                let bytes = decoded[4 * within..][..4].try_into().unwrap();
                all[(z * SHAPE[1] + y) * SHAPE[2] + x] = f32::from_le_bytes(bytes);
            }
        }
    }
    all
}

#[test]
fn what_zarr_python_writes_is_read() {
    let expected: Vec<f32> = (0..5 * 7 * 9).map(|n| n as f32).collect();
    let mut names = Vec::new();
    for entry in fs::read_dir(stores()).unwrap() {
        let path = entry.unwrap().path();
        assert!(Store::is_store(&path), "{}", path.display());
        let array = only(&path);
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
fn chunks_of_a_shard_are_read_by_themselves() {
    let array = only(&stores().join("v3-sharded"));
    assert_eq!(array.chunk, [1, 4, 3]);
    assert_eq!(array.chunk_bytes, 4 * 12);
}

/// A copy of a store with one file changed.
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
fn a_chunk_that_would_be_more_than_a_chunk_is_refused() {
    use std::io::Write;

    let zeros = vec![0; 1 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&zeros).unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&zeros).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    bz2.write_all(&zeros).unwrap();
    let zstd = zstd::encode_all(&zeros[..], 3).unwrap();
    // Version 2 of Blosc's format, lz4, one byte an element, 2^31 - 1 bytes from 100.
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
        let error = only(copy.path()).read_chunk(&[0, 0, 0]).unwrap_err().to_string();
        let (key, why) = error.split_once(": ").unwrap();
        assert_eq!(key, format!("chunk {file}"), "{error}");
        assert!(why.contains("decodes to more than the 240 bytes"), "{name}: {error}");
        // Others are not harmed.
        only(copy.path()).read_chunk(&[1, 1, 1]).unwrap();
    }
}

#[test]
fn what_is_wrong_in_one_place_hides_nothing_else() {
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
fn a_shard_whose_index_leads_elsewhere_is_refused() {
    let shard = fs::read(stores().join("v3-sharded/c/0/0/0")).unwrap();
    for cut in [1, 4, 20, 100, shard.len() - 1] {
        let copy = changed("v3-sharded", "c/0/0/0", &shard[..cut]);
        let error = only(copy.path()).read_chunk(&[0, 0, 0]).unwrap_err().to_string();
        assert!(error.starts_with("chunk c/0/0/0: "), "{error}");
    }
}

#[test]
fn lz4_that_ends_early_or_says_less_is_refused() {
    for (bytes, word) in [
        (&[][..], "is too short for lz4"),
        (&[240, 0, 0], "is too short for lz4"),
        // 5 bytes, where 240 are stated, and a block that ends within a literal.
        (&[240, 0, 0, 0, 0x50, 1, 2, 3, 4, 5], "5 bytes, where 240 are stated"),
        (&[240, 0, 0, 0, 0xf0, 200, 1], "lz4: "),
        // A copy of what is before the beginning.
        (&[240, 0, 0, 0, 0x04, 9, 0], "lz4: "),
        // What it says is less than a chunk has.
        (&[5, 0, 0, 0, 0x50, 1, 2, 3, 4, 5], ""),
    ] {
        let copy = changed("v2-lz4", "0.0.0", bytes);
        let error = only(copy.path()).read_chunk(&[0, 0, 0]).unwrap_err().to_string();
        assert!(error.starts_with("chunk 0.0.0: ") && error.contains(word), "{bytes:?}: {error}");
    }
}
