//! Zarr stores, written here without the program's own code: what is moved out of them is what is moved out
//! of the same array in an .npy file.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Place;
use crate::npy::{self, Tensor};

/// The metadata of an array of version 3 whose chunks stand as they are.
fn metadata(shape: &[usize], chunk: &[usize], codecs: &Value) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "uint16",
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": 0x0505,
        "codecs": codecs,
        "attributes": {},
    })
}

fn plain() -> Value {
    json!([{ "name": "bytes", "configuration": { "endian": "little" } }])
}

/// The indices in row-major order below `sizes`.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |all, size| {
        let longer = |index: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..*size).map(|i| [&index[..], &[i]].concat()).collect()
        };
        all.iter().flat_map(longer).collect()
    })
}

/// Writes the store of an array of 2-byte elements, but for the chunks that `is_missing` says.
fn write_store(
    root: &Path,
    tensor: &Tensor,
    chunk: &[usize],
    is_missing: impl Fn(&[usize]) -> bool,
) {
    let shape = &tensor.shape;
    fs::create_dir_all(root).unwrap();
    let all = metadata(shape, chunk, &plain()).to_string();
    fs::write(root.join("zarr.json"), all).unwrap();
    let counts: Vec<usize> = shape.iter().zip(chunk).map(|(n, c)| n.div_ceil(*c)).collect();
    for index in indices(&counts).iter().filter(|index| !is_missing(index)) {
        let key: Vec<String> = index.iter().map(usize::to_string).collect();
        let file = root.join("c").join(key.join("/"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let mut bytes = Vec::new();
        for within in indices(chunk) {
            let at: Vec<usize> =
                index.iter().zip(chunk).zip(&within).map(|((i, c), w)| i * c + w).collect();
            let is_there = at.iter().zip(shape).all(|(at, size)| at < size);
            let place = at.iter().zip(shape).fold(0, |place, (at, size)| place * size + at);
            // What lies beyond the array may be anything.
            let element = if is_there { &tensor.bytes[2 * place..][..2] } else { b"??" };
            bytes.extend_from_slice(element);
        }
        fs::write(file, bytes).unwrap();
    }
}

/// A number below `most` that is the same in every run.
fn chance(seed: &mut u64, most: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % most
}

#[test]
fn what_is_moved_out_of_a_store_is_what_is_moved_out_of_an_npy() {
    let mut seed = 7;
    for case in 0..60 {
        let place = Place::new();
        let rank = 1 + chance(&mut seed, 4);
        let most = [300, 40, 14, 8][rank - 1];
        let shape: Vec<usize> = (0..rank).map(|_| 1 + chance(&mut seed, most)).collect();
        let chunk: Vec<usize> = shape.iter().map(|n| 1 + chance(&mut seed, n + 2)).collect();
        let tensor = Tensor::noise("'<u2'", 2, &shape);
        write_store(&place.path("x.zarr"), &tensor, &chunk, |_| false);
        place.write("x.npy", &tensor.file(npy::PLAIN));
        let stages = (0..1 + chance(&mut seed, 3)).map(|_| match chance(&mut seed, 3) {
            0 => {
                let mut axes: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|axis| axes.swap(axis, chance(&mut seed, axis + 1)));
                let axes: Vec<String> = axes.iter().map(usize::to_string).collect();
                format!("transpose({})", axes.join(","))
            }
            1 => format!("flip(axes={})", chance(&mut seed, rank)),
            _ => format!("roll(shift={}, axes={})", chance(&mut seed, 50), chance(&mut seed, rank)),
        });
        let chain = stages.collect::<Vec<_>>().join(" | ");
        let memory = ["8K", "64K", "1M", "64M"][chance(&mut seed, 4)];
        place.run(&["apply", "x.npy", &chain, "-o", "expected.npy", "--row-major"]).done();
        let args = ["apply", "x.zarr", &chain, "-o", "out.npy", "--max-mem", memory, "--verify"];
        let run = place.run(&args);
        // Four chunks, and the tile, may be more than 8 KiB.
        if run.code == Some(3) && memory == "8K" {
            assert!(run.stderr.contains("of memory are needed"), "{run:?}");
            continue;
        }
        run.done();
        let what = format!("case {case}: {shape:?} in {chunk:?}, {chain}, {memory}");
        assert!(place.read("out.npy") == place.read("expected.npy"), "{what}");
    }
}

#[test]
fn chunks_that_are_missing_have_the_fill_value() {
    let place = Place::new();
    let mut tensor = Tensor::noise("'<u2'", 2, &[6, 8]);
    write_store(&place.path("x.zarr"), &tensor, &[4, 3], |index| index == [1, 1]);
    for (row, column) in (4..6).flat_map(|row| (3..6).map(move |column| (row, column))) {
        tensor.bytes[2 * (8 * row + column)..][..2].fill(5);
    }
    place.write("x.npy", &tensor.file(npy::PLAIN));
    for name in ["x.npy", "x.zarr"] {
        let out = format!("{name}.out.npy");
        place.run(&["transpose", name, "--axes", "1,0", "-o", &out, "--row-major"]).done();
    }
    assert!(place.read("x.npy.out.npy") == place.read("x.zarr.out.npy"));
}

#[test]
fn groups_are_files_of_several_tensors() {
    let place = Place::new();
    let group = place.path("g.zarr");
    fs::create_dir_all(group.join("deep/.hidden")).unwrap();
    let of_group = json!({ "zarr_format": 3, "node_type": "group", "attributes": {} });
    fs::write(group.join("zarr.json"), of_group.to_string()).unwrap();
    let (one, other) = (Tensor::noise("'<u2'", 2, &[3, 4]), Tensor::noise("'<u2'", 2, &[5]));
    write_store(&group.join("one"), &one, &[2, 4], |_| false);
    write_store(&group.join("deep/other"), &other, &[2], |_| false);
    fs::create_dir_all(group.join("text")).unwrap();
    let text = metadata(&[2], &[2], &json!([{ "name": "vlen-utf8" }]));
    let text = text.to_string().replace("uint16", "string").replace("1285", "\"\"");
    fs::write(group.join("text/zarr.json"), text).unwrap();

    let info = place.run(&["info", "g.zarr"]).done().text();
    let lines: Vec<&str> = info.lines().collect();
    assert_eq!(lines[0], "g.zarr: zarr");
    assert_eq!(lines[1], "  deep/other  u16  [5]  chunks of [2]  10 bytes");
    assert_eq!(lines[2], "  one  u16  [3, 4]  chunks of [2, 4]  24 bytes");
    assert!(lines[3].starts_with("  text  cannot be read: "), "{info}");
    let json = place.run(&["info", "g.zarr", "--json"]).done().json();
    assert_eq!(json["tensors"][1]["chunk"], json!([2, 4]));

    place
        .run(&["flip", "g.zarr", "--tensor", "one", "--axes", "0", "--only", "-o", "one.npy"])
        .done();
    place.write("x.npy", &one.file(npy::PLAIN));
    place.run(&["flip", "x.npy", "--axes", "0", "-o", "expected.npy"]).done();
    assert!(place.read("one.npy") == place.read("expected.npy"));
    let kept = place.run(&["flip", "g.zarr", "--axes", "0", "-o", "all.npz"]);
    assert_eq!(kept.code, Some(3), "{kept:?}");
    let all = ["flip", "g.zarr", "--axes", "0", "--tensor", "*", "--only", "-o", "all.npz"];
    place.run(&all).done();
    let plan = ["plan", "flip", "g.zarr", "--axes", "0", "--tensor", "*", "--only"];
    let plan = place.run(&plan).done().text();
    assert!(plan.contains("deep/other: u16 [5] -> [5]"), "{plan}");
}

#[test]
fn what_is_no_store_or_cannot_be_written_is_refused_with_a_word() {
    let place = Place::new();
    fs::create_dir(place.path("empty.zarr")).unwrap();
    fs::create_dir(place.path("plain")).unwrap();
    place.write("file.zarr", b"{}");
    let tensor = Tensor::noise("'<u2'", 2, &[4]);
    write_store(&place.path("x.zarr"), &tensor, &[2], |_| false);
    for (args, code, words) in [
        (&["info", "empty.zarr"][..], 3, "is a folder without zarr.json, .zarray or .zgroup"),
        (&["info", "plain"], 2, "is a folder"),
        (&["info", "file.zarr"], 3, "a Zarr store is a folder"),
        (&["info", "x.zarr", "--from", "npy"], 2, "is a folder"),
        (&["flip", "x.zarr", "--axes", "0", "-o", "y.zarr"], 3, "zarr is read, but not written"),
        (&["flip", "x.zarr", "--axes", "0", "-o", "y", "--to", "zarr"], 2, "invalid value"),
    ] {
        let run = place.run(args);
        assert_eq!(run.code, Some(code), "{args:?}: {run:?}");
        assert!(run.stderr.contains(words), "{args:?}: {run:?}");
    }
    place.run(&["info", "x.zarr", "--from", "zarr"]).done();
    fs::rename(place.path("x.zarr"), place.path("x")).unwrap();
    place.run(&["info", "x"]).done();
}

/// A zstd frame that claims to be 2^60 bytes.
const BOMB: &[u8] = b"\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00";

#[test]
fn hostile_stores_are_refused_and_take_no_memory() {
    let zstd = json!([
        { "name": "bytes", "configuration": { "endian": "little" } },
        { "name": "zstd", "configuration": { "level": 3, "checksum": false } },
    ]);
    let write = |place: &Place, all: &Value, first: &[u8]| {
        let root = place.path("x.zarr");
        fs::create_dir_all(root.join("c")).unwrap();
        fs::write(root.join("zarr.json"), all.to_string()).unwrap();
        fs::write(root.join("c/0"), first).unwrap();
    };
    let huge = 1usize << 60;
    for (all, first, words) in [
        (metadata(&[4], &[4], &zstd), BOMB, "chunk c/0"),
        (metadata(&[4], &[4], &zstd), b"no zstd", "chunk c/0"),
        (metadata(&[4], &[4], &zstd), &[0; 1 << 20], "at most were expected"),
        (metadata(&[4], &[4], &plain()), b"short", "chunk c/0"),
        (metadata(&[4], &[4], &plain()), b"too long, by far", "chunk c/0"),
        (metadata(&[4], &[huge], &plain()), b"", "bytes are the most"),
        (metadata(&[huge, huge], &[4, 4], &plain()), b"", ""),
        (metadata(&[4; 40], &[4; 40], &plain()), b"", "40 axes"),
        (json!({ "zarr_format": 3, "node_type": "array" }), b"", ""),
        (json!({ "zarr_format": 3 }), b"", "says of no array and no group"),
    ] {
        let place = Place::new();
        write(&place, &all, first);
        let run = place.run(&["flip", "x.zarr", "--axes", "0", "-o", "y.npy", "--max-mem", "16M"]);
        assert_eq!(run.code, Some(3), "{all}: {run:?}");
        assert!(run.stderr.contains("x.zarr") && run.stderr.contains(words), "{all}: {run:?}");
        assert!(!place.path("y.npy").exists());
        let left = place.contents();
        assert_eq!(left.len(), 1, "{left:?}");
    }
    // A chunk larger than the memory, which is told before anything is read.
    let place = Place::new();
    write(&place, &metadata(&[1 << 24], &[1 << 24], &zstd), BOMB);
    let run = place.run(&["flip", "x.zarr", "--axes", "0", "-o", "y.npy", "--max-mem", "16M"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("of memory are needed"), "{run:?}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_chunk_is_refused_at_once() {
    let place = Place::new();
    let tensor = Tensor::noise("'<u2'", 2, &[4]);
    write_store(&place.path("x.zarr"), &tensor, &[2], |index| index == [1]);
    let pipe = place.path("x.zarr/c/1");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let run = place.run(&["flip", "x.zarr", "--axes", "0", "-o", "y.npy"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("is not a regular file"), "{run:?}");
}
