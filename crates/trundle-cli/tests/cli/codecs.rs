//! Codecs and shards of Zarr stores, kept from the source or chosen by options.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Workdir;
use crate::npy::{self, Tensor};
use crate::zarr::read_metadata;

fn with_tensor(shape: &[usize]) -> Workdir {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, shape);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    dir
}

/// Codecs of an array, or of its chunks in shards.
fn codecs(dir: &Workdir, path: &str) -> Value {
    let metadata = read_metadata(dir, path);
    let sharding = &metadata["codecs"][0]["configuration"]["codecs"];
    if sharding.is_null() { metadata["codecs"].clone() } else { sharding.clone() }
}

fn bytes() -> Value {
    json!({ "name": "bytes", "configuration": { "endian": "little" } })
}

const CHAIN: &str = "roll(shift=3, axes=0) | flip(axes=1) | transpose(2, 0, 1)";

#[test]
fn requested_codecs_are_used_and_kept_by_later_commands() {
    let dir = with_tensor(&[9, 10, 11]);
    dir.run(&format!("apply x.npy '{CHAIN}' -o expected.npy --row-major")).done();
    let zstd = |level: i32, checksum: bool| json!({ "name": "zstd", "configuration": { "level": level, "checksum": checksum } });
    let gzip = |level: u8| json!({ "name": "gzip", "configuration": { "level": level } });
    let blosc = |cname: &str, clevel: u8, shuffle: &str, blocksize: usize, typesize: usize| {
        json!({ "name": "blosc", "configuration": {
            "cname": cname, "clevel": clevel, "shuffle": shuffle,
            "typesize": typesize, "blocksize": blocksize,
        } })
    };
    let crc32c = json!({ "name": "crc32c" });
    let shuffle = json!({ "name": "numcodecs.shuffle", "configuration": { "elementsize": 2 } });
    for (codec, of_chunk) in [
        ("none", json!([bytes()])),
        ("zstd", json!([bytes(), zstd(3, false)])),
        ("zstd:-5:checksum", json!([bytes(), zstd(-5, true)])),
        ("gzip:1,crc32c", json!([bytes(), gzip(1), crc32c])),
        ("blosc", json!([bytes(), blosc("lz4", 5, "shuffle", 0, 2)])),
        (
            "blosc:zstd:2:bitshuffle:4096:4",
            json!([bytes(), blosc("zstd", 2, "bitshuffle", 4096, 4)]),
        ),
        ("blosc:blosclz:9:noshuffle", json!([bytes(), blosc("blosclz", 9, "noshuffle", 0, 2)])),
        ("shuffle:2,zstd:1", json!([bytes(), shuffle, zstd(1, false)])),
    ] {
        for cut in ["--chunks 4,5,6", "--chunks 2,5,3 --shards 4,5,6"] {
            dir.run(&format!("convert x.npy -o x.zarr --force --codec {codec} {cut}")).done();
            assert_eq!(codecs(&dir, "x.zarr"), of_chunk, "{codec}");
            let made = dir.run("info x.zarr --json").done().json();
            let name = made["tensors"][0]["codec"].as_str().unwrap().to_owned();
            assert!(name.starts_with(codec), "{name}");
            dir.run(&format!("apply x.zarr '{CHAIN}' -o y.zarr --force --verify")).done();
            assert_eq!(codecs(&dir, "y.zarr"), of_chunk, "{codec}");
            let made = dir.run("info y.zarr --json").done().json();
            let sharded = cut.contains("--shards");
            let (chunk, shard) = (&made["tensors"][0]["chunk"], &made["tensors"][0]["shard"]);
            assert_eq!(*chunk, if sharded { json!([3, 2, 5]) } else { json!([6, 4, 5]) });
            assert_eq!(*shard, if sharded { json!([6, 4, 5]) } else { Value::Null });
            dir.run("cmp y.zarr expected.npy").done();
        }
    }
    dir.run("convert x.zarr -o z.zarr --codec gzip:9").done();
    assert_eq!(codecs(&dir, "z.zarr"), json!([bytes(), gzip(9)]));
    dir.run("cmp x.npy z.zarr").done();
}

#[test]
fn shards_follow_the_axes_unless_chunk_sizes_are_given() {
    let dir = with_tensor(&[20, 30, 40]);
    let cut = "--chunks 2,5,10 --shards 4,30,20";
    dir.run(&format!("convert x.npy -o x.zarr {cut}")).done();
    let sizes = |args: &str| {
        dir.run(&format!("apply x.zarr {args} -o y.zarr --force --verify")).done();
        let made = dir.run("info y.zarr --json").done().json();
        json!([made["tensors"][0]["chunk"], made["tensors"][0]["shard"]])
    };
    assert_eq!(sizes("transpose(2,0,1)"), json!([[10, 2, 5], [20, 4, 30]]));
    assert_eq!(sizes("'roll(shift=4, axes=0)'"), json!([[2, 5, 10], [4, 30, 20]]));
    // A shard is not longer than the axis.
    let some = "slice(starts=0, stops=12, axes=1)";
    assert_eq!(sizes(&format!("'{some}'")), json!([[2, 5, 10], [4, 15, 20]]));
    assert_eq!(sizes("transpose(2,0,1) --chunks 10,2,5"), json!([[10, 2, 5], null]));
    assert_eq!(sizes("transpose(2,0,1) --shards -1,2,5"), json!([[10, 2, 5], [40, 2, 5]]));
    // Merged axes have no shards.
    assert_eq!(sizes("'a b c -> (a b) c'")[1], Value::Null);
}

#[test]
fn codecs_that_are_not_kept_are_reported() {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trundle-zarr/tests/stores");
    let dir = Workdir::new();
    let source = |name: &str| stores.join(name).to_str().unwrap().to_owned();
    let zlib =
        "codecs of the source are not kept: numcodecs.zlib (replaced by gzip of the same level)";
    for (name, kept, warned) in [
        ("v2-zstd", "zstd", ""),
        ("v2-blosc", "blosc:lz4:5:shuffle", ""),
        ("v2-gzip", "gzip:1", ""),
        ("v2-zlib", "gzip:1", zlib),
        ("v2-shuffle", "shuffle:4", ""),
        ("v3-blosc", "blosc:zstd:5:shuffle", ""),
        ("v3-gzip-transposed", "gzip:5", ""),
        ("v3-big", "none", ""),
        ("v3-sharded", "zstd", ""),
    ] {
        let source = source(name);
        let planned = dir.run(&format!("plan convert {source} -o y.zarr --force")).done();
        assert!(planned.text().contains(warned), "{name}: {planned:?}");
        let run = dir.run(&format!("convert {source} -o y.zarr --force --quiet --verify")).done();
        match warned {
            "" => assert_eq!(run.stderr, "", "{name}"),
            _ => assert!(run.stderr.contains(warned), "{name}: {run:?}"),
        }
        let info = dir.run("info y.zarr").done().text();
        assert!(info.contains(&format!(", codec {kept}")), "{name}: {info}");
        dir.run(&format!("cmp {source} y.zarr")).done();
        fs::remove_dir_all(dir.path("y.zarr")).unwrap();
    }
    // No warning about the dropped codec.
    let source = source("v2-zlib");
    let run = dir.run(&format!("convert {source} -o y.zarr --codec none --quiet")).done();
    assert_eq!(run.stderr, "");
}

#[test]
fn invalid_codecs_are_refused_before_writing() {
    let dir = with_tensor(&[3, 5]);
    for (codec, output, word) in [
        ("lzma", "y.zarr", "\"lzma\" is not a codec"),
        ("gzip:10", "y.zarr", "\"10\" is not a level: 0 to 9"),
        ("shuffle:4", "y.zarr", "are not a multiple of shuffle's element size 4"),
        ("zstd:3", "y.npy", "format npy has no chunks"),
    ] {
        for plan in ["plan", ""] {
            let args = format!("{plan} flip x.npy --axes 0 -o {output} --codec {codec}");
            dir.run(&args).refused(2, word);
            assert!(!dir.path(output).exists());
        }
    }
}

#[test]
fn shuffle_uses_the_element_size_by_default() {
    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<f4'", 4, &[8, 9]))]);
    dir.run("convert x.npy -o x.zarr --chunks 4,9 --codec shuffle:4,gzip:5").done();
    for (codecs, is_copied) in
        [("shuffle,gzip:5", true), ("shuffle:4,gzip:5", true), ("shuffle:2,gzip:5", false)]
    {
        let plan = dir.run(&format!("plan convert x.zarr -o y.zarr --codec {codecs}")).done();
        assert_eq!(plan.text().contains("encoded chunks copied"), is_copied, "{codecs}");
    }
}
