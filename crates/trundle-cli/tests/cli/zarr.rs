//! Zarr stores written without the program's own code, compared with .npy files.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trundle_testing::everything;

use crate::npy::{self, Tensor};
use crate::refusals::refused_as_listed;
use crate::{Workdir, chance};

/// Returns the metadata of an array in format version 3.
pub(crate) fn metadata(shape: &[usize], chunk: &[usize], codecs: &Value) -> Value {
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

pub(crate) fn plain() -> Value {
    json!([{ "name": "bytes", "configuration": { "endian": "little" } }])
}

fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |all, size| {
        let longer = |index: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..*size).map(|i| [&index[..], &[i]].concat()).collect()
        };
        all.iter().flat_map(longer).collect()
    })
}

/// Writes 2-byte elements, without the chunks for which `is_missing` returns true.
pub(crate) fn write_store(
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
        let file = index.iter().fold(root.join("c"), |path, at| path.join(at.to_string()));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let mut bytes = Vec::new();
        for within in indices(chunk) {
            let at: Vec<usize> =
                index.iter().zip(chunk).zip(&within).map(|((i, c), w)| i * c + w).collect();
            let is_there = at.iter().zip(shape).all(|(at, size)| at < size);
            let number = at.iter().zip(shape).fold(0, |number, (at, size)| number * size + at);
            // Beyond the array, chunks have arbitrary elements.
            let element = if is_there { &tensor.bytes[2 * number..][..2] } else { b"??" };
            bytes.extend_from_slice(element);
        }
        fs::write(file, bytes).unwrap();
    }
}

/// Writes a group without the arrays in it.
pub(crate) fn write_group(root: &Path, attributes: &Value) {
    fs::create_dir_all(root).unwrap();
    let all = json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes });
    fs::write(root.join("zarr.json"), all.to_string()).unwrap();
}

#[test]
fn empty_sharded_arrays_are_read() {
    let codecs = json!([{
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [3, 2],
            "codecs": plain(),
            "index_codecs": [plain()[0], { "name": "crc32c" }],
            "index_location": "end",
        },
    }]);
    let dir = Workdir::new();
    fs::create_dir(dir.path("x.zarr")).unwrap();
    let document = metadata(&[0, 4], &[6, 2], &codecs);
    fs::write(dir.path("x.zarr/zarr.json"), document.to_string()).unwrap();
    let run = dir.run("transpose x.zarr -o y.npy --json").done();
    assert_eq!(run.json()["outputs"][0]["shape"], json!([4, 0]));
}

#[test]
fn moves_from_a_store_equal_moves_from_npy() {
    let mut seed = 7;
    for case in 0..if everything() { 60 } else { 20 } {
        let dir = Workdir::new();
        let rank = 1 + chance(&mut seed, 4);
        let most = [300, 40, 14, 8][rank - 1];
        let shape: Vec<usize> = (0..rank).map(|_| 1 + chance(&mut seed, most)).collect();
        let chunk: Vec<usize> = shape.iter().map(|n| 1 + chance(&mut seed, n + 2)).collect();
        let tensor = Tensor::noise("'<u2'", 2, &shape);
        write_store(&dir.path("x.zarr"), &tensor, &chunk, |_| false);
        dir.write("x.npy", &tensor.file(npy::PLAIN));
        let chain = random_chain(&mut seed, rank);
        let memory = ["8K", "64K", "1M", "64M"][chance(&mut seed, 4)];
        dir.run(&format!("apply x.npy '{chain}' -o expected.npy --row-major")).done();
        let args = format!("apply x.zarr '{chain}' -o out.npy --max-mem {memory} --verify");
        let run = dir.run(&args);
        // Four chunks and the tile may need more than 8 KiB.
        if run.code == Some(3) && memory == "8K" {
            assert!(run.stderr.contains("of memory are needed"), "{run:?}");
            continue;
        }
        run.done();
        let what = format!("case {case}: {shape:?} in {chunk:?}, {chain}, {memory}");
        assert!(dir.read("out.npy") == dir.read("expected.npy"), "{what}");
    }
}

/// Returns a random chain of one to three operators for an array of `rank` axes.
fn random_chain(seed: &mut u64, rank: usize) -> String {
    let stages = (0..1 + chance(seed, 3)).map(|_| match chance(seed, 3) {
        0 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            (1..rank).for_each(|axis| axes.swap(axis, chance(seed, axis + 1)));
            let axes: Vec<String> = axes.iter().map(usize::to_string).collect();
            format!("transpose({})", axes.join(","))
        }
        1 => format!("flip(axes={})", chance(seed, rank)),
        _ => format!("roll(shift={}, axes={})", chance(seed, 50), chance(seed, rank)),
    });
    stages.collect::<Vec<_>>().join(" | ")
}

fn copy_row_major(dir: &Workdir, from: &str, to: &str) {
    dir.run(&format!("apply {from} 'roll(shift=0, axes=0)' -o {to} --row-major")).done();
}

#[test]
fn moves_to_a_store_equal_moves_to_npy() {
    let mut seed = 11;
    let (cases, mut refused) = (if everything() { 80 } else { 20 }, 0);
    for case in 0..cases {
        let dir = Workdir::new();
        let rank = 1 + chance(&mut seed, 4);
        let most = [300, 40, 14, 8][rank - 1];
        let shape: Vec<usize> = (0..rank).map(|_| 1 + chance(&mut seed, most)).collect();
        let tensor = Tensor::noise("'<u2'", 2, &shape);
        dir.write("x.npy", &tensor.file(npy::PLAIN));
        let chunk: Vec<usize> = shape.iter().map(|n| 1 + chance(&mut seed, n + 2)).collect();
        write_store(&dir.path("x.zarr"), &tensor, &chunk, |_| false);
        let mut chain = random_chain(&mut seed, rank);
        let mut out_rank = rank;
        if rank > 1 && chance(&mut seed, 3) == 0 {
            let names = &["a", "b", "c", "d"][..rank];
            let (all, rest) = (names.join(" "), names[2..].join(" "));
            chain = format!("{chain} | {all} -> (a b) {rest}");
            out_rank -= 1;
        }
        let source = ["x.npy", "x.zarr"][chance(&mut seed, 2)];
        let sizes: Vec<usize> = (0..out_rank).map(|_| 1 + chance(&mut seed, 12)).collect();
        let listed = |times: usize| -> String {
            let sizes: Vec<String> = sizes.iter().map(|size| (size * times).to_string()).collect();
            sizes.join(",")
        };
        let (chunks, shards, memory) =
            (listed(1), listed(2 + case % 2), ["24K", "64K", "1M", "64M"][chance(&mut seed, 4)]);
        let sizes = match chance(&mut seed, 4) {
            0 => String::new(),
            1 => format!("--chunks {chunks}"),
            2 => format!("--chunks {chunks} --shards {shards}"),
            _ => "--chunks 0=3".to_owned(),
        };
        let verify = if case % 3 > 0 { "--verify" } else { "" };
        let args =
            format!("apply {source} '{chain}' -o y.zarr --max-mem {memory} {sizes} {verify}");
        let run = dir.run(&args);
        // A chunk or shard, its copies and the tile may exceed the smallest limits.
        if run.code == Some(3) && memory.ends_with('K') {
            assert!(run.stderr.contains("of memory are needed"), "{run:?}");
            refused += 1;
            continue;
        }
        run.done();
        assert_eq!(dir.contents().len(), 3, "{:?}", dir.contents());
        dir.run(&format!("apply x.npy '{chain}' -o expected.npy --row-major")).done();
        copy_row_major(&dir, "y.zarr", "y.npy");
        let what = format!("case {case}: {shape:?} in {chunk:?}, {args:?}");
        assert!(dir.read("y.npy") == dir.read("expected.npy"), "{what}");
    }
    assert!(refused * 2 < cases, "{refused}");
}

#[test]
fn chunks_follow_their_axes_unless_sizes_are_given() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[20, 30, 40]);
    write_store(&dir.path("x.zarr"), &tensor, &[5, 6, 7], |_| false);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    let chunk = |source: &str, more: &str| -> Value {
        let chain = "roll(shift=3, axes=0) | flip(axes=1) | transpose(2, 0, 1)";
        let _ = fs::remove_dir_all(dir.path("y.zarr"));
        dir.run(&format!("apply {source} '{chain}' -o y.zarr {more}")).done();
        let written = read_metadata(&dir, "y.zarr");
        let grid = &written["chunk_grid"]["configuration"]["chunk_shape"];
        json!([grid, written["codecs"][0]["configuration"]["chunk_shape"]])
    };
    assert_eq!(chunk("x.zarr", ""), json!([[7, 5, 6], null]));
    assert_eq!(chunk("x.zarr", "--chunks 1=9"), json!([[7, 9, 6], null]));
    assert_eq!(chunk("x.zarr", "--chunks -1,1,2"), json!([[40, 1, 2], null]));
    assert_eq!(chunk("x.zarr", "--shards 0=-1"), json!([[42, 5, 6], [7, 5, 6]]));
    assert_eq!(chunk("x.npy", ""), json!([[40, 20, 30], null]));
    assert_eq!(chunk("x.npy", "--chunks 0=8"), json!([[8, 20, 30], null]));
    assert_eq!(chunk("x.npy", "--shards 16,-1,-1"), json!([[16, 20, 30], [16, 20, 30]]));
}

#[test]
fn several_tensors_become_a_group_of_little_endian_arrays() {
    let dir = Workdir::new();
    let (one, other) = (Tensor::noise("'>f4'", 4, &[3, 4]), Tensor::noise("'<u2'", 2, &[5]));
    dir.write("one.npy", &one.file(npy::PLAIN));
    dir.write("other.npy", &other.file(npy::PLAIN));
    let zip = |names: &[&str]| {
        let script = "import sys, zipfile\n\
            with zipfile.ZipFile('x.npz', 'w') as file:\n\
            \x20   for name in sys.argv[1:]: file.writestr(name, open(name.split('/')[-1], 'rb').read())\n";
        let mut command = std::process::Command::new("python3");
        let made = command.args(["-c", script]).args(names).current_dir(dir.path("")).status();
        assert!(made.unwrap().success());
    };
    zip(&["deep/one.npy", "other.npy"]);
    dir.run("flip x.npz --axes 0 -o y.zarr --verify").done();
    let info = dir.run("info y.zarr").done();
    info.prints("  deep/one  f32  [3, 4]  chunks of [3, 4], codec zstd:3  48 bytes");
    info.prints("  other  u16  [5]  chunks of [5], codec zstd:3  10 bytes");
    let only = "--tensor deep/one --only";
    dir.run(&format!("flip y.zarr --axes 0 -o back.npy {only}")).done();
    let swapped: Vec<u8> =
        one.bytes.chunks_exact(4).flat_map(|each| each.iter().rev().copied()).collect();
    let expected = Tensor { descr: "'<f4'".to_owned(), bytes: swapped, ..one.clone() };
    dir.write("expected.npy", &expected.file(npy::PLAIN));
    copy_row_major(&dir, "expected.npy", "same.npy");
    assert!(dir.read("back.npy") == dir.read("same.npy"));

    // Invalid names, and names with conflicting paths.
    for (names, word) in [
        (&["deep/one.npy", "deep/one/other.npy"][..], "would be an array within it"),
        (&["a//one.npy", "other.npy"], "empty or consists of dots only"),
    ] {
        zip(names);
        dir.run("flip x.npz --axes 0 -o z.zarr").refused(2, word);
        assert!(!dir.path("z.zarr").exists());
    }
}

pub(crate) fn read_metadata(dir: &Workdir, path: &str) -> Value {
    serde_json::from_slice(&dir.read(&format!("{path}/zarr.json"))).unwrap()
}

#[test]
fn axis_names_attributes_and_fill_values_move_with_the_data() {
    let dir = Workdir::new();
    let group = dir.path("g.zarr");
    let (wind, lat) = (Tensor::noise("'<u2'", 2, &[3, 4, 5]), Tensor::noise("'<u2'", 2, &[4]));
    write_store(&group.join("wind"), &wind, &[2, 4, 5], |_| false);
    let mut of_wind = metadata(&[3, 4, 5], &[2, 4, 5], &plain());
    of_wind["dimension_names"] = json!(["time", "lat", null]);
    of_wind["attributes"] = json!({ "units": "m/s", "levels": [10, {"deep": "\u{fc}"}] });
    fs::write(group.join("wind/zarr.json"), of_wind.to_string()).unwrap();
    // Version 2, as xarray writes it.
    fs::create_dir_all(group.join("lat")).unwrap();
    let of_lat = json!({
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<u2", "compressor": null,
        "fill_value": 7, "order": "C", "filters": null,
    });
    fs::write(group.join("lat/.zarray"), of_lat.to_string()).unwrap();
    let lat_attributes = json!({ "_ARRAY_DIMENSIONS": ["lat"], "units": "degrees" });
    fs::write(group.join("lat/.zattrs"), lat_attributes.to_string()).unwrap();
    fs::write(group.join("lat/0"), &lat.bytes).unwrap();
    let group_attributes =
        json!({ "title": "wind", "number": 5, "text": "5", "multiscales": [{}] });
    write_group(&group, &group_attributes);

    let info = dir.run("info g.zarr").done().text();
    assert!(info.contains("lat  u16  [4] (lat)  chunks"), "{info}");
    assert!(info.contains("wind  u16  [3, 4, 5] (time, lat, -)  chunks"), "{info}");
    let json = dir.run("info g.zarr --json").done().json();
    assert_eq!(json["tensors"][1]["dimension_names"], json!(["time", "lat", null]));

    // Metadata that depends on the order of axes is dropped if the order changes.
    dir.run("flip g.zarr --tensor wind --axes 0 -o kept.zarr").done();
    assert_eq!(read_metadata(&dir, "kept.zarr")["attributes"], group_attributes);
    let run = dir.run("transpose g.zarr --tensor wind --order 1,2,0 -o y.zarr").done();
    let word = "y.zarr: metadata about the axis order no longer applies; left out: multiscales";
    run.says(word);
    let kept = json!({ "title": "wind", "number": 5, "text": "5" });
    assert_eq!(read_metadata(&dir, "y.zarr")["attributes"], kept);
    let wind = read_metadata(&dir, "y.zarr/wind");
    assert_eq!(wind["dimension_names"], json!(["lat", null, "time"]));
    assert_eq!(
        (&wind["attributes"], &wind["fill_value"]),
        (&of_wind["attributes"], &json!(0x0505))
    );
    let lat = read_metadata(&dir, "y.zarr/lat");
    assert_eq!(lat["dimension_names"], json!(["lat"]));
    assert_eq!(
        (&lat["attributes"], &lat["fill_value"]),
        (&json!({ "units": "degrees", "_FillValue": 7 }), &json!(7)),
        "the fill value of an array of version 2 with names of axes is its mask"
    );

    // Merged axes have no names. A single array of a group stays in a group, with separate attributes.
    let only = "--tensor wind --only -o m.zarr";
    dir.run(&format!("apply g.zarr 'a b c -> (a b) c' {only}")).done();
    let (group, merged) = (read_metadata(&dir, "m.zarr"), read_metadata(&dir, "m.zarr/wind"));
    assert_eq!(merged["dimension_names"], Value::Null);
    assert_eq!(merged["attributes"]["units"], "m/s");
    assert_eq!(merged["attributes"]["title"], Value::Null);
    assert_eq!(group["attributes"]["title"], "wind");

    // Other formats keep the attributes as text, or there is a warning.
    dir.run("convert y.zarr -o y.safetensors").done();
    dir.run("convert y.safetensors -o again.zarr").done();
    assert_eq!(read_metadata(&dir, "again.zarr")["attributes"], kept);
    dir.run("convert y.zarr -o y.npz").done().says("the format stores no metadata; left out: ");
}

#[test]
fn relayout_records_the_axes_in_a_store() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[3, 4]);
    write_store(&dir.path("x.zarr"), &tensor, &[2, 4], |_| false);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    dir.run("relayout x.zarr --rule 'x: a b -> b a' -o y.zarr").done();
    fs::rename(dir.path("y.zarr"), dir.path("x.zarr.new")).unwrap();
    fs::remove_dir_all(dir.path("x.zarr")).unwrap();
    fs::rename(dir.path("x.zarr.new"), dir.path("x.zarr")).unwrap();
    dir.run("relayout x.zarr --rule 'x: a b -> b a' -o z.zarr").done().says("already");
    dir.run("transpose x.npy --order 1,0 -o t.npy --row-major").done();
    copy_row_major(&dir, "x.zarr", "x2.npy");
    assert!(dir.read("t.npy") == dir.read("x2.npy"));
}

#[test]
fn structures_are_moved_as_a_whole() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("[('a', '<i2'), ('b', '|S3'), ('c', '<c8')]", 13, &[4, 3]);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    dir.run("convert x.npy -o x.zarr --chunks 3,2 --verify").done();
    let document: Value = serde_json::from_slice(&dir.read("x.zarr/zarr.json")).unwrap();
    assert_eq!(document["data_type"]["name"], "structured");
    dir.run("transpose x.zarr --order 1,0 -o y.zarr --shards 4,3 --chunks 2,3 --verify").done();
    dir.run("transpose y.zarr --order 1,0 -o y.npy --row-major").done();
    dir.run("cmp y.npy x.npy").done();
    for (output, format) in [("y.h5", "HDF5"), ("y.safetensors", "it")] {
        let why = format!("{format} has no");
        let run = dir.run(&format!("convert x.zarr -o {output}"));
        run.refused(2, &why);
        run.refused(2, "[('a', '<i2'), ('b', '|S3'), ('c', '<c8')]");
    }
}

#[test]
fn chunks_of_different_sizes_become_chunks_of_one_size() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[5, 6]);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    let mut document = metadata(&[5, 6], &[5, 6], &plain());
    let chunks = json!({ "kind": "inline", "chunk_shapes": [[2, 3], 6] });
    document["chunk_grid"] = json!({ "name": "rectilinear", "configuration": chunks });
    for row in 0..2 {
        fs::create_dir_all(dir.path(&format!("u.zarr/c/{row}"))).unwrap();
    }
    dir.write("u.zarr/zarr.json", document.to_string().as_bytes());
    dir.write("u.zarr/c/0/0", &tensor.bytes[..24]);
    dir.write("u.zarr/c/1/0", &tensor.bytes[24..]);
    let plan = dir.run("plan convert u.zarr -o v.zarr").done().text();
    let message = "chunks of different sizes (replaced by chunks of one size)";
    assert!(plan.contains(message), "{plan}");
    dir.run("convert u.zarr -o v.zarr --verify").done();
    let written: Value = serde_json::from_slice(&dir.read("v.zarr/zarr.json")).unwrap();
    assert_eq!(written["chunk_grid"]["configuration"]["chunk_shape"], json!([3, 6]));
    for store in ["u.zarr", "v.zarr"] {
        dir.run(&format!("convert {store} -o y.npy --force")).done();
        dir.run("cmp y.npy x.npy").done();
    }
    let append = dir.run("convert x.npy -o u.zarr --append 0");
    let message =
        "cannot write to its array: it has chunks of different sizes\nhint: trundle convert";
    append.refused(3, message);
    // A store that `convert` has made can grow.
    dir.run("convert x.npy -o v.zarr --append 0").done();
}

#[test]
fn types_that_zarr_lacks_are_refused_before_writing() {
    let dir = Workdir::new();
    for (dtype, shape, word) in [
        ("u4", "4", "Zarr has no elements of type u4"),
        ("f8e4m3", "2", "Zarr has no elements of type f8e4m3"),
        ("'[(\"a\", \">i2\")]'", "1", "no type for [[\"a\",\">i2\"]]: fields must have names"),
    ] {
        dir.write("x.bin", &[1, 2]);
        let args = format!("flip x.bin --dtype {dtype} --shape '{shape}' --axes 0");
        dir.run(&format!("{args} -o y.zarr")).refused(2, word);
    }
    assert_eq!(dir.contents().len(), 1);
}

#[test]
fn a_store_is_replaced_completely_or_not_at_all() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[9, 8]);
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    write_store(&dir.path("x.zarr"), &tensor, &[4, 3], |_| false);
    fs::write(dir.path("x.zarr/notes.txt"), "of the old one").unwrap();
    let flip =
        |from: &str, to: &str, more: &str| dir.run(&format!("flip {from} --axes 0 -o {to} {more}"));
    // The output replaces the source, or a file.
    flip("x.zarr", "x.zarr", "--force --verify").done();
    assert!(!dir.path("x.zarr/notes.txt").exists());
    flip("x.npy", "expected.npy", "--row-major").done();
    copy_row_major(&dir, "x.zarr", "y.npy");
    assert!(dir.read("y.npy") == dir.read("expected.npy"));
    dir.write("z.zarr", b"a file");
    flip("x.npy", "z.zarr", "--force").done();
    copy_row_major(&dir, "z.zarr", "z.npy");
    assert!(dir.read("z.npy") == dir.read("expected.npy"));
    // If a chunk cannot be read, the output is unchanged.
    let chunk = dir.path("z.zarr/c/0/0");
    fs::write(&chunk, b"no zstd").unwrap();
    let before = dir.contents();
    assert_eq!(flip("z.zarr", "x.zarr", "--force").code, Some(3));
    assert_eq!(flip("z.zarr", "new.zarr", "").code, Some(3));
    assert_eq!(dir.contents(), before);
    copy_row_major(&dir, "x.zarr", "again.npy");
    assert!(dir.read("again.npy") == dir.read("expected.npy"));
}

#[cfg(unix)]
#[test]
fn leftovers_of_an_unfinished_store_are_listed_and_removed() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};

    use crate::refusals::unix::is_ignored;
    use crate::skip;

    let dir = Workdir::with(&[("x.npy", &Tensor::noise("'<u2'", 2, &[3000, 3000]))]);
    let args = "flip x.npy --axes 0 -o y.zarr --chunks 16,16";
    let leftovers = || -> Vec<Value> {
        let report = dir.run("clean --json").done().json();
        report["left"].as_array().unwrap().clone()
    };
    for signal in [Signal::KILL, Signal::INT] {
        if is_ignored(signal.as_raw()) {
            skip("the tests were started with a signal ignored, and so is the program");
            continue;
        }
        let mut child = dir.command(&args).stderr(Stdio::piped()).spawn().unwrap();
        // There are more than ten thousand files to write.
        while leftovers().first().is_none_or(|left| left["bytes"].as_u64() < Some(1000)) {
            assert!(child.try_wait().unwrap().is_none(), "it is over too early");
        }
        // The program is suspended while its state is checked.
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        assert_eq!(leftovers()[0]["state"], "in use");
        kill_process(Pid::from_child(&child), signal).unwrap();
        kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.signal(), Some(signal.as_raw()));
        let left = leftovers();
        if signal == Signal::INT {
            let stderr = String::from_utf8(ended.stderr).unwrap();
            assert!(stderr.starts_with("stopped; the unfinished output was removed"), "{stderr}");
            assert_eq!(left, [Value::Null; 0]);
            assert_eq!(dir.contents().len(), 1);
            continue;
        }
        assert_eq!(left[0]["output"], "y.zarr");
        assert_eq!(left[0]["state"], "interrupted");
        assert_eq!(left[0]["resumable"], false);
        dir.run("clean --force").done();
        assert_eq!(dir.contents().len(), 1);
    }
    // Leftovers of a killed run do not disturb the next.
    let mut child = dir.command(&args).spawn().unwrap();
    while leftovers().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it is over too early");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    dir.run("flip x.npy --axes 0 -o y.zarr").done();
    assert_eq!(dir.contents().len(), 2);
}

#[test]
fn chunks_that_are_missing_have_the_fill_value() {
    let dir = Workdir::new();
    let mut tensor = Tensor::noise("'<u2'", 2, &[6, 8]);
    write_store(&dir.path("x.zarr"), &tensor, &[4, 3], |index| index == [1, 1]);
    for (row, column) in (4..6).flat_map(|row| (3..6).map(move |column| (row, column))) {
        tensor.bytes[2 * (8 * row + column)..][..2].fill(5);
    }
    dir.write("x.npy", &tensor.file(npy::PLAIN));
    for name in ["x.npy", "x.zarr"] {
        let out = format!("{name}.out.npy");
        dir.run(&format!("transpose {name} --axes 1,0 -o {out} --row-major")).done();
    }
    assert!(dir.read("x.npy.out.npy") == dir.read("x.zarr.out.npy"));
}

#[test]
fn groups_are_read_as_files_of_several_tensors() {
    let dir = Workdir::new();
    let group = dir.path("g.zarr");
    fs::create_dir_all(group.join("deep/.hidden")).unwrap();
    write_group(&group, &json!({}));
    let (one, other) = (Tensor::noise("'<u2'", 2, &[3, 4]), Tensor::noise("'<u2'", 2, &[5]));
    write_store(&group.join("one"), &one, &[2, 4], |_| false);
    write_store(&group.join("deep/other"), &other, &[2], |_| false);
    fs::create_dir_all(group.join("text")).unwrap();
    let text = metadata(&[2], &[2], &json!([{ "name": "vlen-utf8" }]));
    let text = text.to_string().replace("uint16", "string").replace("1285", "\"\"");
    fs::write(group.join("text/zarr.json"), text).unwrap();

    let info = dir.run("info g.zarr").done().text();
    let lines: Vec<&str> = info.lines().collect();
    assert_eq!(lines[0], "g.zarr: zarr");
    assert_eq!(lines[1], "  deep/other  u16  [5]  chunks of [2], codec none  10 bytes");
    assert_eq!(lines[2], "  one  u16  [3, 4]  chunks of [2, 4], codec none  24 bytes");
    assert_eq!(lines[3], "  text  string  [2]  chunks of [2], codec none");
    let json = dir.run("info g.zarr --json").done().json();
    assert_eq!(json["tensors"][1]["chunk"], json!([2, 4]));

    dir.run("flip g.zarr --tensor one --axes 0 --only -o one.npy").done();
    dir.write("x.npy", &one.file(npy::PLAIN));
    dir.run("flip x.npy --axes 0 -o expected.npy").done();
    assert!(dir.read("one.npy") == dir.read("expected.npy"));
    let kept = dir.run("flip g.zarr --axes 0 -o all.npz");
    kept.refused(2, "cannot hold tensor \"text\"[..]--only with --tensor NAME leaves it out");
    dir.run("flip g.zarr --axes 0 --tensor * --only -o all.npz").done();
    let plan = "plan flip g.zarr --axes 0 --tensor * --only";
    dir.run(&plan).done().prints("deep/other: u16 [5] -> [5]");
}

#[test]
fn invalid_stores_and_outputs_are_refused() {
    let dir = Workdir::new();
    fs::create_dir(dir.path("empty.zarr")).unwrap();
    fs::create_dir(dir.path("plain")).unwrap();
    dir.write("file.zarr", b"{}");
    let tensor = Tensor::noise("'<u2'", 2, &[4]);
    write_store(&dir.path("x.zarr"), &tensor, &[2], |_| false);
    refused_as_listed(&dir, include_str!("refusals/stores.txt"));
    dir.run("info x.zarr --from zarr").done();
    fs::rename(dir.path("x.zarr"), dir.path("x")).unwrap();
    dir.run("info x").done();
}

/// Claims to have 2^60 bytes.
const BOMB: &[u8] = b"\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00";

#[test]
fn hostile_stores_are_refused_and_take_no_memory() {
    let zstd = json!([
        { "name": "bytes", "configuration": { "endian": "little" } },
        { "name": "zstd", "configuration": { "level": 3, "checksum": false } },
    ]);
    let write = |dir: &Workdir, all: &Value, first: &[u8]| {
        let root = dir.path("x.zarr");
        fs::create_dir_all(root.join("c")).unwrap();
        fs::write(root.join("zarr.json"), all.to_string()).unwrap();
        fs::write(root.join("c/0"), first).unwrap();
    };
    let huge = 1usize << 60;
    for (all, first, words) in [
        (metadata(&[4], &[4], &zstd), BOMB, "chunk c/0"),
        (metadata(&[4], &[4], &zstd), b"no zstd", "chunk c/0"),
        (metadata(&[4], &[4], &zstd), &[0; 1 << 20], "expected at most"),
        (metadata(&[4], &[4], &plain()), b"short", "chunk c/0"),
        (metadata(&[4], &[4], &plain()), b"too long, by far", "chunk c/0"),
        (metadata(&[4], &[huge], &plain()), b"", "the limit is"),
        (metadata(&[huge, huge], &[4, 4], &plain()), b"", ""),
        (metadata(&[4; 40], &[4; 40], &plain()), b"", "40 axes"),
        (json!({ "zarr_format": 3, "node_type": "array" }), b"", ""),
        (json!({ "zarr_format": 3 }), b"", "neither \"array\" nor \"group\""),
    ] {
        let dir = Workdir::new();
        write(&dir, &all, first);
        let run = dir.run("flip x.zarr --axes 0 -o y.npy --max-mem 16M");
        run.refused(3, &format!("x.zarr[..]{words}"));
        assert!(!dir.path("y.npy").exists());
        let left = dir.contents();
        assert_eq!(left.len(), 1, "{left:?}");
    }
    // A chunk above the memory limit is refused before anything is read.
    let dir = Workdir::new();
    write(&dir, &metadata(&[1 << 24], &[1 << 24], &zstd), BOMB);
    dir.run("flip x.zarr --axes 0 -o y.npy --max-mem 16M").refused(3, "of memory are needed");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_chunk_is_refused() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[4]);
    write_store(&dir.path("x.zarr"), &tensor, &[2], |index| index == [1]);
    let pipe = dir.path("x.zarr/c/1");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    dir.run("flip x.zarr --axes 0 -o y.npy").refused(3, "is not a regular file");
}
