//! Strings of variable length, which are moved, joined, split and converted like numbers.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Workdir;
use crate::refusals::{refused, refused_as_listed};
use crate::zarr::{metadata, plain};

const SHAPE: [usize; 2] = [3, 4];

fn write(root: &Path, key: &str, bytes: &[u8]) {
    let path = root.join(key);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Encodes strings like the codec `vlen-utf8`.
fn encoded<T: AsRef<[u8]>>(texts: &[T]) -> Vec<u8> {
    let mut bytes = (texts.len() as u32).to_le_bytes().to_vec();
    for text in texts.iter().map(AsRef::as_ref) {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text);
    }
    bytes
}

fn decoded(mut bytes: &[u8]) -> Vec<String> {
    let number = |bytes: &mut &[u8]| {
        let (number, rest) = bytes.split_first_chunk().unwrap();
        *bytes = rest;
        u32::from_le_bytes(*number) as usize
    };
    let count = number(&mut bytes);
    let texts = (0..count).map(|_| {
        let length = number(&mut bytes);
        let (text, rest) = bytes.split_at(length);
        bytes = rest;
        String::from_utf8(text.to_vec()).unwrap()
    });
    let texts = texts.collect();
    assert!(bytes.is_empty());
    texts
}

/// Returns the string for a number. The string for 0 is empty.
fn text_of(number: u16) -> String {
    "né".repeat(usize::from(number))
}

/// Writes `v(y, x)` with the numbers 0 to 11 and `s(y, x)` with their strings, in chunks of [2, 3], and `y(y)`.
fn write_group(root: &Path) {
    let group = json!({ "zarr_format": 3, "node_type": "group" });
    write(root, "zarr.json", group.to_string().as_bytes());
    let names = json!(["y", "x"]);
    let mut v = metadata(&SHAPE, &SHAPE, &plain());
    (v["dimension_names"], v["fill_value"]) = (names.clone(), json!(0));
    write(root, "v/zarr.json", v.to_string().as_bytes());
    let numbers: Vec<u8> = (0..12).flat_map(u16::to_le_bytes).collect();
    write(root, "v/c/0/0", &numbers);
    let of_strings = |shape: &[usize], chunk: &[usize], names: &Value| {
        let mut own = metadata(shape, chunk, &json!([{ "name": "vlen-utf8" }]));
        (own["data_type"], own["fill_value"]) = (json!("string"), json!(""));
        (own["dimension_names"], own["attributes"]) = (names.clone(), json!({ "units": "é" }));
        own.to_string()
    };
    write(root, "s/zarr.json", of_strings(&SHAPE, &[2, 3], &names).as_bytes());
    for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let at = (0..2).flat_map(|y| (0..3).map(move |x| (2 * row + y, 3 * column + x)));
        // Elements beyond the array are arbitrary.
        let text = |(y, x): (u16, u16)| match y < 3 && x < 4 {
            true => text_of(4 * y + x),
            false => "beyond".to_owned(),
        };
        write(root, &format!("s/c/{row}/{column}"), &encoded(&at.map(text).collect::<Vec<_>>()));
    }
    write(root, "y/zarr.json", of_strings(&[3], &[3], &json!(["y"])).as_bytes());
    write(root, "y/c/0", &encoded(&["Oslo", "", "Żnin"]));
}

fn dir() -> Workdir {
    let dir = Workdir::new();
    write_group(&dir.path("g.zarr"));
    dir
}

/// Returns the strings of a tensor of a file.
fn strings(dir: &Workdir, file: &str, tensor: &str) -> Vec<String> {
    let rank = if tensor == "y" { 1 } else { 2 };
    let chunks: Vec<&str> = vec!["-1"; rank];
    let args = format!("convert {file} --tensor {tensor} --only -o s.zarr --force --codec none");
    dir.run(&format!("{args} --chunks {} --quiet", chunks.join(","))).done();
    decoded(&dir.read(&format!("s.zarr/{tensor}/c{}", "/0".repeat(rank))))
}

fn numbers(dir: &Workdir, file: &str) -> Vec<u16> {
    dir.run(&format!("convert {file} --tensor v --only -o v.bin --to raw --force --quiet")).done();
    let bytes = dir.read("v.bin");
    bytes.chunks(2).map(|two| u16::from_le_bytes(two.try_into().unwrap())).collect()
}

#[test]
fn strings_move_like_numbers() {
    let dir = dir();
    for chain in [
        "flip(axes=[1])",
        "roll(shift=[1,-5], axes=[0,1])",
        "transpose(1, 0) | flip(axes=[0])",
        "slice(starts=[1], stops=[3], axes=[1])",
        "take(indices=[2, 0, 0], axis=0)",
        "pad([[1, 0], [0, 2]])",
        "tile(2, 1)",
    ] {
        for (output, more) in [
            ("o.zarr", ""),
            ("o.zarr", "--chunks 1,-1 --codec zstd:1"),
            ("o.h5", ""),
            ("o.nc", "--chunks 2,2 --codec deflate:1:shuffle"),
        ] {
            let args = format!("apply g.zarr '{chain}' --tensor [sv] --only -o {output} {more}");
            dir.run(&format!("{args} --verify --force --max-mem 1M")).done();
            let expected: Vec<String> = numbers(&dir, output).into_iter().map(text_of).collect();
            assert_eq!(strings(&dir, output, "s"), expected, "{chain} {output}");
        }
    }
}

#[test]
fn named_axes_move_their_strings_between_formats() {
    let dir = dir();
    dir.run("convert g.zarr -o g.nc --verify").done();
    dir.run("convert g.nc -o again.zarr --verify").done();
    for file in ["g.zarr", "g.nc", "again.zarr"] {
        dir.run(&format!("cmp g.zarr {file}")).done();
        dir.run(&format!("flip {file} --dims y -o o.nc --force --verify")).done();
        assert_eq!(strings(&dir, "o.nc", "y"), ["Żnin", "", "Oslo"]);
        let run = dir.run("cmp g.zarr o.nc");
        let output = run.text();
        assert!(output.contains("the first at [0]: \"Oslo\" and \"Żnin\""), "{run:?}");
    }
    let info = dir.run("info g.nc").done().text();
    assert!(info.contains("  s  string  [3, 4] (y, x)  chunks of [2, 3], codec none\n"), "{info}");
    let json = dir.run("info again.zarr --json").done().json();
    let of = |name: &str| json["tensors"].as_array().unwrap().iter().find(|it| it["name"] == name);
    assert_eq!(of("s").unwrap()["dtype"], "string");
    let document = dir.read("again.zarr/s/zarr.json");
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(
        [&document["data_type"], &document["fill_value"], &document["attributes"]["units"]],
        [&json!("string"), &json!(""), &json!("é")]
    );
    assert_eq!(document["codecs"][0]["name"], "vlen-utf8");
    assert_eq!(document["codecs"][1]["name"], "zstd");
    let group: Value = serde_json::from_slice(&dir.read("again.zarr/zarr.json")).unwrap();
    assert_eq!(group["consolidated_metadata"]["metadata"]["s"], document);
}

#[test]
fn strings_are_joined_and_split() {
    let dir = dir();
    dir.run("convert g.zarr -o g.nc").done();
    for (one, other) in [("g.zarr", "g.zarr"), ("g.nc", "g.zarr"), ("g.nc", "g.nc")] {
        dir.run(&format!("concat {one} {other} --dim y -o o.zarr --force --verify")).done();
        let expected = ["Oslo", "", "Żnin", "Oslo", "", "Żnin"];
        assert_eq!(strings(&dir, "o.zarr", "y"), expected);
        dir.run(&format!("concat {one} {other} --dim x -o o.nc --force --verify")).done();
        assert_eq!(strings(&dir, "o.nc", "y"), expected[..3]);
        dir.run(&format!("split {one} --dim y --sizes 1,2 -o p{{}}.zarr --force --verify")).done();
        assert_eq!(strings(&dir, "p0.zarr", "y"), ["Oslo"]);
        assert_eq!(strings(&dir, "p1.zarr", "y"), ["", "Żnin"]);
    }
    dir.run("flip g.nc --dims y -o f.nc").done();
    let differs = "f.nc: \"y\" differs from g.nc and does not have the joined axis";
    refused(&dir, "concat g.nc f.nc --dim x -o x.nc", 3, differs);
}

/// Writes the group again, with changed fields in the metadata of `y`.
fn write_group_with_y(dir: &Workdir, changes: &Value) {
    write_group(&dir.path("g.zarr"));
    let mut document: Value = serde_json::from_slice(&dir.read("g.zarr/y/zarr.json")).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        document[key] = value.clone();
    }
    dir.write("g.zarr/y/zarr.json", document.to_string().as_bytes());
}

#[test]
fn strings_of_hdf5_have_no_checksums() {
    let dir = dir();
    let only = "--tensor y --only --verify --force";
    dir.run("convert g.zarr -o o.h5 --codec fletcher32 --verify").done();
    dir.run("cmp g.zarr o.h5").done();
    let info = dir.run("info o.h5").done().text();
    assert!(info.contains("  s  string  [3, 4] (y, x)  chunks of [2, 3], codec none\n"));
    dir.run(&format!("convert g.zarr -o c.zarr --codec crc32c {only}")).done();
    let stderr = dir.run(&format!("convert c.zarr -o o.h5 {only}")).done().stderr;
    assert!(stderr.contains("codecs of the source are not kept: crc32c\n"), "{stderr}");
    let plan = dir.run("plan convert c.zarr -o p.h5").done().text();
    assert!(plan.contains("not kept: crc32c\n"), "{plan}");
    dir.run("cmp c.zarr o.h5").done();
}

#[test]
fn fill_values_must_be_strings_that_readers_support() {
    let dir = dir();
    write_group_with_y(&dir, &json!({ "fill_value": "Oslo" }));
    dir.write("g.zarr/y/c/0", &encoded(&["Oslo"; 3]));
    // The HDF5 library cannot fill in strings, so the chunk is stored: three strings and the fill value.
    dir.run("convert g.zarr -o o.h5 --tensor y --only --chunks 3 --codec none").done();
    assert_eq!(dir.read("o.h5").windows(4).filter(|bytes| bytes == b"Oslo").count(), 4);
    write_group_with_y(&dir, &json!({ "fill_value": "a\0b" }));
    let message = "its fill value: the string \"a\\0b\" contains NUL";
    refused(&dir, "convert g.zarr -o x.h5", 2, message);
    for fill in [json!(null), json!(5), json!(["a"])] {
        write_group_with_y(&dir, &json!({ "fill_value": fill }));
        let message = "\"y\" cannot be read: a fill value that is not a string";
        refused(&dir, "flip g.zarr --dims y --tensor y --only -o x.zarr", 3, message);
    }
    // xarray cannot open a store of strings with this attribute.
    write_group_with_y(
        &dir,
        &json!({ "fill_value": "x", "attributes": { "_FillValue": "x", "a": 1 } }),
    );
    dir.run("convert g.zarr -o m.nc").done();
    let stderr = dir.run("convert m.nc -o m.zarr").done().stderr;
    assert!(stderr.contains("the format cannot store them: attributes _FillValue"), "{stderr}");
    let document: Value = serde_json::from_slice(&dir.read("m.zarr/y/zarr.json")).unwrap();
    assert_eq!(
        [&document["fill_value"], &document["attributes"]],
        [&json!("x"), &json!({ "a": 1 })]
    );
}

/// Returns the strings of `s` for these rows.
fn rows(rows: &[u16]) -> Vec<String> {
    rows.iter().flat_map(|row| (0..4).map(move |column| text_of(4 * row + column))).collect()
}

#[test]
fn strings_are_appended_and_replaced() {
    let dir = dir();
    dir.run("convert g.zarr -o g.nc").done();
    dir.run("split g.zarr --dim y --sizes 2,1 -o p{}.zarr").done();
    for new in ["g.zarr", "g.nc"] {
        write_group(&dir.path("t.zarr"));
        dir.run(&format!("convert {new} -o t.zarr --append y --verify --max-mem 64M")).done();
        assert_eq!(strings(&dir, "t.zarr", "y"), ["Oslo", "", "Żnin", "Oslo", "", "Żnin"]);
        assert_eq!(strings(&dir, "t.zarr", "s"), rows(&[0, 1, 2, 0, 1, 2]));
        // The last chunk was half full. Its codecs are kept.
        let chunk = [8, 9, 10, 0, 1, 2].map(text_of);
        assert_eq!(decoded(&dir.read("t.zarr/s/c/1/0")), chunk);
        dir.run("convert p0.zarr -o t.zarr --region y=1:3 --verify").done();
        assert_eq!(strings(&dir, "t.zarr", "y"), ["Oslo", "Oslo", "", "Oslo", "", "Żnin"]);
        assert_eq!(strings(&dir, "t.zarr", "s"), rows(&[0, 0, 1, 0, 1, 2]));
        fs::remove_dir_all(dir.path("t.zarr")).unwrap();
    }
    // A chunk of only fill values replaces a chunk, but is not stored beyond the old array.
    write_group(&dir.path("e.zarr"));
    dir.write("e.zarr/y/c/0", &encoded(&[""; 3]));
    let one = "convert e.zarr --tensor y --only -o g.zarr";
    dir.run(&format!("{one} --region y=0:3 --verify")).done();
    assert_eq!(decoded(&dir.read("g.zarr/y/c/0")), ["", "", ""]);
    dir.run("convert e.zarr -o g.zarr --append y --verify").done();
    let document: Value = serde_json::from_slice(&dir.read("g.zarr/y/zarr.json")).unwrap();
    assert_eq!(document["shape"], json!([6]));
    assert!(!dir.path("g.zarr/y/c/1").exists());
}

#[test]
fn strings_without_the_axis_are_compared() {
    let dir = dir();
    let append = "-o g.zarr --append x --verify";
    dir.run("convert g.zarr -o chunked.zarr --chunks y=1,x=4 --codec zstd:1,crc32c").done();
    dir.run(&format!("convert chunked.zarr {append}")).done();
    assert_eq!(strings(&dir, "g.zarr", "y"), ["Oslo", "", "Żnin"]);
    write_group(&dir.path("o.zarr"));
    dir.write("o.zarr/y/c/0", &encoded(&["Oslo", "", "Poznań"]));
    let message = "\"y\" differs from the array in the store and does not have the axis";
    refused(&dir, &format!("convert o.zarr {append}"), 3, message);
}

#[test]
fn strings_of_version_2_are_appended() {
    let dir = dir();
    let array = json!({
        "zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "|O", "filters": [{ "id": "vlen-utf8" }],
        "compressor": { "id": "zlib", "level": 1 }, "fill_value": "none", "order": "C",
    });
    write(&dir.path("t.zarr"), ".zgroup", br#"{ "zarr_format": 2 }"#);
    write(&dir.path("t.zarr"), "y/.zarray", array.to_string().as_bytes());
    write(
        &dir.path("t.zarr"),
        "y/.zattrs",
        r#"{ "_ARRAY_DIMENSIONS": ["y"], "units": "é" }"#.as_bytes(),
    );
    dir.run("convert g.zarr --tensor y --only -o t.zarr --append y --verify").done();
    assert_eq!(strings(&dir, "t.zarr", "y"), ["none", "none", "none", "Oslo", "", "Żnin"]);
    let mut document: Value = serde_json::from_slice(&dir.read("t.zarr/y/.zarray")).unwrap();
    assert_eq!(document["shape"].take(), json!([6]));
    assert_eq!(document["compressor"], array["compressor"]);
    let keys = ["0", "1", "2"].map(|key| dir.path("t.zarr/y").join(key).exists());
    assert_eq!(keys, [false, true, true]);
}

#[test]
fn an_interrupted_append_of_strings_is_resumed() {
    let dir = dir();
    write_group(&dir.path("t.zarr"));
    let append = "convert g.zarr -o t.zarr --append y";
    let chunk = dir.path("t.zarr/s/c/2/1");
    fs::create_dir_all(chunk.join("in the way")).unwrap();
    dir.run(append).refused(1, "cannot move the new chunks into the store (--resume continues)");
    fs::remove_dir_all(&chunk).unwrap();
    dir.run(append).refused(1, "was interrupted while it changed the store");
    dir.run(&format!("{append} --resume")).done();
    dir.run(&format!("{append} --resume")).refused(3, "nothing to resume");
    assert_eq!(strings(&dir, "t.zarr", "s"), rows(&[0, 1, 2, 0, 1, 2]));
    assert_eq!(dir.temporary(""), None);
}

#[cfg(unix)]
#[test]
fn tasks_move_strings() {
    let dir = dir();
    let plan = "plan flip g.zarr --dims y -o o.zarr --tasks p.json --json --task-size 4K";
    let tasks = dir.run(plan).done().json()["tasks"].as_u64().unwrap();
    (0..tasks).for_each(|task| drop(dir.run(&format!("task p.json {task}")).done()));
    dir.run("finish p.json").done();
    assert_eq!(strings(&dir, "o.zarr", "y"), ["Żnin", "", "Oslo"]);
}

#[test]
fn strings_are_refused_where_they_are_not_supported() {
    let dir = dir();
    dir.run("convert g.zarr -o g.nc").done();
    refused_as_listed(&dir, include_str!("refusals/texts.txt"));
    // A format of one tensor needs no --tensor if all other tensors are strings.
    dir.run("convert g.nc -o v.npy").done();
}

#[test]
fn damaged_strings_are_refused() {
    let dir = dir();
    let good = dir.read("g.zarr/y/c/0");
    let long = [&good[..4], &u32::MAX.to_le_bytes(), &good[8..]].concat();
    for (bytes, message) in [
        (&b"abc"[..], "ends within a string"),
        (&good[..good.len() - 1], "ends within a string"),
        (&[&good[..], b"x"].concat(), "has 1 bytes after its strings"),
        (&encoded(&["a"; 4]), "has 4 strings, not 3"),
        (&long, "ends within a string"),
    ] {
        dir.write("g.zarr/y/c/0", bytes);
        refused(&dir, "flip g.zarr --dims y -o o.zarr", 3, message);
    }
    dir.write("g.zarr/y/c/0", &encoded(&[&b"\xff"[..], b"a", b"b"]));
    refused(&dir, "flip g.zarr --dims y -o o.zarr", 3, "is not valid UTF-8");
    // HDF5 keeps every string that has no NUL.
    dir.run("flip g.zarr --dims y -o o.h5").done();
    dir.run("flip o.h5 --dims y -o p.h5").done();
    dir.run("cmp g.zarr p.h5").done();
    dir.write("g.zarr/y/c/0", &encoded(&["a\0b", "a", "b"]));
    refused(&dir, "flip g.zarr --dims y -o x.h5", 3, "contains NUL");
}

#[test]
fn the_memory_for_strings_is_limited() {
    let dir = dir();
    let texts = ["a", "b", "c"].map(|text| text.repeat(400_000));
    dir.write("g.zarr/y/c/0", &encoded(&texts));
    dir.run("flip g.zarr --dims y -o o.h5 --max-mem 64M --verify").done();
    dir.run("convert o.h5 -o o.zarr --max-mem 64M").done();
    let message = "take more than[..]use a larger --max-mem";
    refused(&dir, "flip g.zarr --dims y -o x.zarr --max-mem 8M", 3, "use a larger --max-mem");
    refused(&dir, "flip o.h5 --dims y -o x.zarr --max-mem 8M", 1, message);
    dir.run("convert g.zarr -o y.zarr --max-mem 8M").done();
}
