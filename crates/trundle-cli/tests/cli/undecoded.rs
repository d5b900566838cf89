//! Zarr arrays that are copied without decoding: strings that no command moves, and arrays that cannot be decoded.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Workdir;
use crate::npy::Tensor;
use crate::refusals::{refused, refused_as_listed};
use crate::zarr::{self, metadata, plain};

/// Arrays of strings and arrays that cannot be decoded, by path, with the fields that differ from [`metadata`].
fn arrays() -> [(&'static str, Value); 8] {
    let of = |shape: Value, chunk: Value, names: Value| {
        json!({
            "data_type": "string", "fill_value": "", "codecs": [{ "name": "vlen-utf8" }],
            "shape": shape, "dimension_names": names,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        })
    };
    let with = |mut array: Value, key: &str, value: Value| {
        array[key] = value;
        array
    };
    let long = || of(json!([5]), json!([2]), json!(["y"]));
    let codec = json!([{ "name": "jpeg2k", "configuration": { "level": 3 } }]);
    let number = json!({ "name": "my.number", "configuration": { "bits": 7 } });
    let dots = json!({ "name": "v2", "configuration": { "separator": "." } });
    [
        ("y", long()),
        ("deep/er/two", of(json!([5, 3]), json!([2, 2]), json!(["y", null]))),
        ("scalar", of(json!([]), json!([]), json!([]))),
        ("empty", of(json!([0, 4]), json!([1, 3]), json!(["none", "y"]))),
        ("codec", with(long(), "codecs", codec)),
        ("type", with(long(), "data_type", number)),
        ("dots", with(long(), "chunk_key_encoding", dots)),
        // zarrs knows the type, but trundle does not.
        ("of half", {
            let half = with(long(), "data_type", json!("complex_float16"));
            with(with(half, "fill_value", json!([0.0, 0.0])), "codecs", plain())
        }),
    ]
}

/// Numbers that JSON lacks, or a parser may round, in attributes.
const NUMBERS: &str = r#""nan": NaN, "long": 123456789012345678901234567890"#;

/// Parses JSON with [`NUMBERS`], which become strings.
fn parsed(json: &[u8]) -> Value {
    let text = String::from_utf8(json.to_vec()).unwrap();
    let text = text.replace(": NaN", ": \"NaN\"");
    let long = "123456789012345678901234567890";
    serde_json::from_str(&text.replace(&format!(": {long}"), &format!(": \"{long}\""))).unwrap()
}

/// The chunks of each array, by key. Some are missing.
const CHUNKS: [&str; 11] = [
    "y/c/0",
    "y/c/2",
    "deep/er/two/c/0/1",
    "deep/er/two/c/2/0",
    "scalar/c",
    "codec/c/1",
    "type/c/0",
    "type/c/1",
    "dots/0",
    "dots/2",
    "of half/c/0",
];

fn write(root: &Path, key: &str, bytes: &[u8]) {
    let path = root.join(key);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Writes a group with `v(y, x)`, which is decoded, and other arrays. Their chunks are random and of several sizes.
fn write_group(root: &Path) {
    zarr::write_group(root, &json!({ "title": "t" }));
    let tensor = Tensor::noise("'<u2'", 2, &[5, 6]);
    let mut v = metadata(&[5, 6], &[5, 6], &plain());
    v["dimension_names"] = json!(["y", "x"]);
    write(root, "v/zarr.json", v.to_string().as_bytes());
    write(root, "v/c/0/0", &tensor.bytes);
    for (path, changes) in arrays() {
        let mut document = metadata(&[5], &[2], &plain());
        document["attributes"] = json!({ "of": path, "é": [1.50, null] });
        for (key, value) in changes.as_object().unwrap() {
            document[key] = value.clone();
        }
        // The spaces show that the text is kept.
        let text = format!("{{ {} \n", &document.to_string()[1..]);
        let text = text.replace("\"é\":", &format!("{NUMBERS}, \"é\":"));
        write(root, &format!("{path}/zarr.json"), text.as_bytes());
    }
    for (number, key) in CHUNKS.iter().enumerate() {
        write(root, key, &Tensor::noise("'|u1'", 1, &[100_000 * number]).bytes);
    }
}

fn dir() -> Workdir {
    let dir = Workdir::new();
    write_group(&dir.path("g.zarr"));
    dir
}

/// Returns all files below a folder by path, except for metadata of groups and for `v`.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let key = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !["v/", "zarr.json", "deep/zarr.json", "deep/er/zarr.json"]
                .iter()
                .any(|own| key == *own || own.ends_with('/') && key.starts_with(own))
            {
                found.insert(key, fs::read(path).unwrap());
            }
        }
    }
    found
}

#[track_caller]
fn assert_copied(dir: &Workdir, output: &str) {
    let (before, after) = (files(&dir.path("g.zarr")), files(&dir.path(output)));
    assert_eq!(before.len(), arrays().len() + CHUNKS.len());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before == after, "bytes differ");
    let root = parsed(&dir.read(&format!("{output}/zarr.json")));
    let listed = &root["consolidated_metadata"]["metadata"];
    for (path, _) in arrays() {
        let own = parsed(&before[&format!("{path}/zarr.json")]);
        assert_eq!(own["attributes"]["nan"], "NaN");
        assert_eq!(listed[path], own, "{path}");
    }
}

#[test]
fn undecoded_arrays_are_copied_byte_by_byte() {
    let dir = dir();
    for args in [
        "convert g.zarr",
        "convert g.zarr --chunks x=2 --codec zstd:1 --shards x=4",
        "flip g.zarr --axes 0 --tensor v",
        "flip g.zarr --dims x --tensor [vy]",
        "transpose g.zarr --order 1,0 --tensor v --metadata-only",
        "apply g.zarr 'y x -> x y' --tensor v --max-mem 1M",
        "relayout g.zarr --rule 'v: y x -> x y'",
    ] {
        for verify in ["", "--verify"] {
            dir.run(&format!("{args} -o o.zarr {verify} --force")).done();
            assert_copied(&dir, "o.zarr");
        }
    }
    let json = dir.run("convert g.zarr -o o.zarr --force --json").done().json();
    let outputs = json["outputs"].as_array().unwrap();
    let two = outputs.iter().find(|output| output["name"] == "deep/er/two").unwrap();
    assert_eq!(
        [&two["dtype"], &two["shape"], &two["kept"], &two["copied_as_stored"], &two["bytes"]],
        [&json!("string"), &json!([5, 3]), &json!(true), &json!(true), &Value::Null]
    );
}

#[test]
fn info_and_plan_list_undecoded_arrays() {
    let dir = dir();
    let info = dir.run("info g.zarr").done().text();
    for line in [
        "  v  u16  [5, 6] (y, x)  ",
        "  y  string  [5] (y)  chunks of [2], codec none\n",
        "  type  my.number  [5] (y)  can only be copied as it is stored: ",
        "  codec  string  [5] (y)  can only be copied as it is stored: the codec jpeg2k is not read",
    ] {
        assert!(info.contains(line), "{line:?} in {info}");
    }
    let named = "g.zarr/dots/zarr.json";
    let kept = dir.read(named);
    let hostile = String::from_utf8(kept.clone()).unwrap().replace("string", r"u8\u001b]0;x\n  w");
    dir.write(named, hostile.as_bytes());
    let info = dir.run("info g.zarr").done().text();
    assert!(!info.contains('\u{1b}') && !info.contains("\n  w"), "{info:?}");
    dir.write(named, &kept);
    let info = dir.run("info g.zarr --json").done().json();
    let unreadable = info["unreadable"].as_array().unwrap();
    let codec = unreadable.iter().find(|each| each["name"] == "codec").unwrap();
    assert_eq!((&codec["shape"], &codec["copied_as_stored"]), (&json!([5]), &json!(true)));

    let plan = "plan flip g.zarr --dims x --tensor v -o o.zarr";
    let run = dir.run(plan).done();
    let line =
        "\n  copied as stored, without decoding: codec (string [5]), deep/er/two (string [5, 3]), ";
    run.prints(line);
    let json = dir.run(&format!("{plan} --json")).done().json();
    assert_eq!(json["copied_as_stored"].as_array().unwrap().len(), arrays().len());
}

#[test]
fn moving_or_converting_undecoded_arrays_is_refused() {
    let dir = dir();
    refused_as_listed(&dir, include_str!("refusals/undecoded.txt"));
    let warned = dir.run("flip g.zarr --dims y --tensor v -o o.zarr").done();
    warned.says("warning: v moved along y, but ");
    warned.says(" cannot be moved; --only leaves it out\n");
    assert_copied(&dir, "o.zarr");
}

#[test]
fn undecoded_arrays_with_unsupported_metadata_are_refused() {
    let dir = dir();
    let path = "g.zarr/type/zarr.json";
    let document = parsed(&dir.read(path));
    let grid =
        |chunk: Value| json!({ "name": "regular", "configuration": { "chunk_shape": chunk } });
    let keys =
        |separator: &str| json!({ "name": "default", "configuration": { "separator": separator } });
    for (field, value, message) in [
        ("storage_transformers", json!([{ "name": "x" }]), "\"type\" cannot be kept"),
        ("chunk_grid", json!({ "name": "rectilinear" }), "\"type\" cannot be kept"),
        ("chunk_grid", grid(json!([0])), "\"type\" cannot be kept"),
        ("chunk_grid", grid(json!([2, 2])), "\"type\" cannot be kept"),
        ("chunk_key_encoding", json!({ "name": "suffix" }), "\"type\" cannot be kept"),
        ("chunk_key_encoding", keys("/../"), "\"type\" cannot be kept"),
        ("dimension_names", json!(["y", "x"]), "\"type\" cannot be kept"),
        ("dimension_names", json!("y"), "\"type\" cannot be kept"),
        ("extension", json!({ "must_understand": true }), "\"type\" cannot be kept"),
        ("shape", json!([1u64 << 62]), "\"type\"[..]2305843009213693952 chunks, over 1048576"),
    ] {
        let mut other = document.clone();
        other[field] = value;
        dir.write(path, other.to_string().as_bytes());
        let run = dir.run("flip g.zarr --axes 0 --tensor v -o o.zarr");
        assert!(matches!(run.code, Some(2 | 3)), "{field}: {run:?}");
        run.refused(run.code.unwrap(), message);
        assert!(!dir.path("o.zarr").exists());
    }
}

/// Each case has a codec for elements of variable length in version 2, and the metadata written for it in version 3.
#[test]
fn elements_of_variable_length_of_version_2_become_version_3() {
    let gzip = json!({ "id": "gzip", "level": 1 });
    let in_v3 = json!({ "name": "gzip", "configuration": { "level": 1 } });
    for (codec, fill, dtype, written_fill, warned) in [
        ("vlen-utf8", Value::Null, "string", "", false),
        ("vlen-utf8", json!(0), "string", "0", false),
        ("vlen-utf8", json!("none"), "string", "none", true),
        ("vlen-bytes", json!(0), "variable_length_bytes", "", false),
        ("vlen-bytes", json!(""), "variable_length_bytes", "", true),
    ] {
        let dir = dir();
        fs::remove_dir_all(dir.path("g.zarr/type")).unwrap();
        let array = json!({
            "zarr_format": 2, "shape": [5, 4], "chunks": [2, 4], "dtype": "|O", "order": "C",
            "filters": [{ "id": codec }], "compressor": gzip, "fill_value": fill,
            "dimension_separator": "/",
        });
        let attributes = format!(r#"{{ "_ARRAY_DIMENSIONS": ["y", "k"], {NUMBERS} }}"#);
        let root = dir.path("g.zarr");
        write(&root, "type/.zarray", array.to_string().as_bytes());
        write(&root, "type/.zattrs", attributes.as_bytes());
        write(&root, "type/1/0", b"encoded");
        let run = dir.run("flip g.zarr --dims x --tensor v -o o.zarr --verify").done();
        let lost = "does not read them: fill value of type as missing elements";
        assert_eq!(run.stderr.contains(lost), warned, "{run:?}");
        assert_eq!(dir.read("o.zarr/type/1/0"), b"encoded");
        let document = parsed(&dir.read("o.zarr/type/zarr.json"));
        let group = parsed(&dir.read("o.zarr/zarr.json"));
        assert_eq!(group["consolidated_metadata"]["metadata"]["type"], document);
        assert_eq!(document["codecs"], json!([{ "name": codec }, in_v3]));
        assert_eq!(
            [&document["data_type"], &document["fill_value"], &document["dimension_names"]],
            [&json!(dtype), &json!(written_fill), &json!(["y", "k"])]
        );
        let numbers = json!({ "nan": "NaN", "long": "123456789012345678901234567890" });
        assert_eq!(document["attributes"], numbers);
        // If `_ARRAY_DIMENSIONS` does not name each axis, it remains an attribute.
        for names in [json!(["y"]), json!("yx"), json!([1, 2]), json!(["y", { "k": 1 }])] {
            let attributes = json!({ "_ARRAY_DIMENSIONS": names });
            write(&root, "type/.zattrs", attributes.to_string().as_bytes());
            dir.run("convert g.zarr -o w.zarr --force").done();
            let document = parsed(&dir.read("w.zarr/type/zarr.json"));
            assert_eq!(document["dimension_names"], Value::Null);
            assert_eq!(document["attributes"], attributes);
        }
        // Other types and codecs of version 2 may have no equivalent.
        for (key, value) in [
            ("dtype", json!("<f8")),
            ("filters", json!([{ "id": codec }, { "id": "delta" }])),
            ("compressor", json!({ "id": "jpeg" })),
        ] {
            let mut other = array.clone();
            other[key] = value;
            write(&root, "type/.zarray", other.to_string().as_bytes());
            let run = dir.run("flip g.zarr --axes 0 --tensor v -o x.zarr");
            run.refused(3, "\"type\" cannot be kept");
        }
    }
}

#[test]
fn split_copies_undecoded_arrays_and_concat_requires_equal_ones() {
    let dir = dir();
    for path in ["type", "codec", "dots", "scalar", "empty", "of half"] {
        fs::remove_dir_all(dir.path("g.zarr").join(path)).unwrap();
    }
    let before = files(&dir.path("g.zarr"));
    dir.run("split g.zarr --dim x --parts 2 -o p{}.zarr").done();
    assert!(files(&dir.path("p0.zarr")) == before && files(&dir.path("p1.zarr")) == before);
    // The order of fields does not matter.
    let mut document = String::from_utf8(before["y/zarr.json"].clone()).unwrap();
    let last = document.rfind(',').unwrap();
    let field = document.split_off(last)[1..].trim_end().trim_end_matches('}').to_owned();
    document = format!("{{ {field},{}}}", &document[1..]);
    assert_eq!(parsed(document.as_bytes()), parsed(&before["y/zarr.json"]));
    dir.write("p1.zarr/y/zarr.json", document.as_bytes());
    dir.run("concat p0.zarr p1.zarr --dim x -o o.zarr --verify").done();
    assert!(files(&dir.path("o.zarr")) == before);
    dir.run("cmp g.zarr o.zarr --tensor v").done();

    let args = "concat p0.zarr p1.zarr --dim x -o x.zarr";
    let differs = "p1.zarr: \"y\" differs from p0.zarr and does not have the joined axis";
    let mut chunk = dir.read("p1.zarr/y/c/2");
    *chunk.last_mut().unwrap() ^= 1;
    dir.write("p1.zarr/y/c/2", &chunk);
    refused(&dir, args, 3, differs);
    fs::remove_file(dir.path("p1.zarr/y/c/2")).unwrap();
    refused(&dir, args, 3, differs);
    fs::remove_dir_all(dir.path("p1.zarr/y")).unwrap();
    refused(&dir, args, 3, "p1.zarr: no tensor is named \"y\", as in p0.zarr");
    let turned = "concat p1.zarr p0.zarr --dim x -o x.zarr";
    refused(&dir, turned, 3, "p1.zarr: no tensor is named \"y\", as in p0.zarr");
}

#[test]
fn undecoded_arrays_pass_operations_that_do_not_move_them() {
    let dir = dir();
    for path in ["deep", "empty"] {
        fs::remove_dir_all(dir.path("g.zarr").join(path)).unwrap();
    }
    let before = files(&dir.path("g.zarr"));
    for args in ["transpose g.zarr --dims x,y", "roll g.zarr --dims y --shift 5"] {
        dir.run(&format!("{args} -o o.zarr --force")).done();
        assert!(files(&dir.path("o.zarr")) == before, "{args}");
    }
    let args = "roll g.zarr --dims y --shift 4 -o x.zarr";
    refused(&dir, args, 3, "the operation moves \"codec\"");
}

/// The group of an image names the axes of all levels, also of a level that cannot be decoded.
#[test]
fn levels_of_an_image_have_the_axes_of_their_group() {
    let dir = Workdir::new();
    let root = dir.path("i.zarr");
    let datasets = json!([{ "path": "0" }, { "path": "1" }]);
    let multiscales = json!([{ "axes": ["y", "x"], "datasets": datasets }]);
    zarr::write_group(&root, &json!({ "multiscales": multiscales }));
    let codec = json!([{ "name": "jpeg2k", "configuration": { "level": 3 } }]);
    for (path, codecs) in [("0", plain()), ("1", codec)] {
        let document = metadata(&[4, 6], &[4, 6], &codecs);
        write(&root, &format!("{path}/zarr.json"), document.to_string().as_bytes());
    }
    let moves = "the operation moves \"1\", which trundle cannot decode";
    for args in [
        "flip i.zarr --dims x -o o.zarr",
        "split i.zarr --dim x --parts 2 -o o{}.zarr",
        "concat i.zarr i.zarr --dim x -o o.zarr",
    ] {
        refused(&dir, args, 3, moves);
    }
    dir.run("flip i.zarr --dims x --tensor 0 -o o.zarr")
        .done()
        .says("0 moved along x, but 1 did not");
}

#[test]
fn the_number_of_chunks_does_not_bound_the_number_of_tasks() {
    let dir = dir();
    let path = "g.zarr/y/zarr.json";
    let mut document = parsed(&dir.read(path));
    document["shape"] = json!([1 << 17, 1 << 17]);
    document["dimension_names"] = Value::Null;
    document["chunk_grid"]["configuration"]["chunk_shape"] = json!([1, 1]);
    dir.write(path, document.to_string().as_bytes());
    for (size, most) in [("", 1100), ("--task-size 4M", 70_000)] {
        let plan = format!("plan convert g.zarr -o o.zarr --tasks p.json --json --force {size}");
        let tasks = dir.run(&plan).done().json()["tasks"].as_u64().unwrap();
        assert!((900..most).contains(&tasks), "{tasks} tasks {size}");
        fs::remove_file(dir.path("p.json")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn tasks_copy_undecoded_arrays_and_failed_runs_leave_no_files() {
    let dir = dir();
    for verify in ["", "--verify"] {
        let plan = "plan flip g.zarr --dims x --tensor v -o o.zarr --tasks p.json --json --force";
        let plan = dir.run(&format!("{plan} --task-size 4M {verify}")).done().json();
        let tasks = plan["tasks"].as_u64().unwrap();
        // The chunks of one array are divided between several tasks.
        assert!(tasks > arrays().len() as u64, "{tasks} tasks");
        for task in (0..tasks).rev() {
            dir.run(&format!("task p.json {task}")).done();
            dir.run("finish p.json").refused(if task > 0 { 1 } else { 0 }, "");
        }
        assert_copied(&dir, "o.zarr");
        fs::remove_dir_all(dir.path("o.zarr")).unwrap();
        let _ = fs::remove_file(dir.path("p.json"));
    }
    fs::create_dir(dir.path("g.zarr/y/c/1")).unwrap();
    let before = dir.contents();
    let run = dir.run("flip g.zarr --dims x --tensor v -o o.zarr");
    run.refused(1, "g.zarr: cannot read: is not a regular file");
    assert_eq!(dir.contents(), before);
}
