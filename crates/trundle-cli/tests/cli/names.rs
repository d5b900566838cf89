//! Chains that address axes by name: each array of a Zarr group moves along the axes that it has.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Workdir;
use crate::npy::{self, Tensor};
use crate::npz;
use crate::refusals::refused_as_listed;
use crate::zarr::{metadata, plain, read_metadata, write_group, write_store};

/// Names, shapes and axis names of weather data.
const ARRAYS: [(&str, &[usize], &[&str]); 6] = [
    ("wind", &[3, 4, 5], &["time", "lat", "lon"]),
    ("mask", &[4, 5], &["lat", "lon"]),
    ("time", &[3], &["time"]),
    ("lat", &[4], &["lat"]),
    ("lon", &[5], &["lon"]),
    ("lat_bnds", &[4, 2], &["lat", "bnds"]),
];

const CHAIN: &str = "time lat lon -> lat lon time | roll(shift=2, dim=lon) | flip(dim=lat)";

/// [`CHAIN`] with numbers for axes; `None` if the array does not change.
const BY_NUMBERS: [(&str, Option<&str>); 6] = [
    ("wind", Some("transpose(1, 2, 0) | roll(shift=2, axes=1) | flip(axes=0)")),
    ("mask", Some("roll(shift=2, axes=1) | flip(axes=0)")),
    ("time", None),
    ("lat", Some("flip(axes=0)")),
    ("lon", Some("roll(shift=2, axes=0)")),
    ("lat_bnds", Some("flip(axes=0)")),
];

/// Writes an array with axis names, in chunks of size 2 along each axis.
pub(crate) fn write_array(root: &Path, name: &str, sizes: &[usize], axes: &[&str]) -> Tensor {
    let tensor = Tensor::noise("'<u2'", 2, sizes);
    let chunk = vec![2; sizes.len()];
    write_store(&root.join(name), &tensor, &chunk, |_| false);
    let mut all = metadata(sizes, &chunk, &plain());
    if !axes.is_empty() {
        all["dimension_names"] = json!(axes);
    }
    fs::write(root.join(name).join("zarr.json"), all.to_string()).unwrap();
    tensor
}

/// The data set as `x.zarr`, and each array as an .npy file.
fn data_set() -> Workdir {
    let dir = Workdir::new();
    write_group(&dir.path("x.zarr"), &json!({ "title": "wind" }));
    for (name, sizes, axes) in ARRAYS {
        let tensor = write_array(&dir.path("x.zarr"), name, sizes, axes);
        dir.write(&format!("{name}.npy"), &tensor.file(npy::PLAIN));
    }
    dir
}

/// Compares an array of a store with the result of `chain` on its .npy file.
fn check(dir: &Workdir, store: &str, array: &str, chain: Option<&str>) {
    let chain = chain.unwrap_or("roll(shift=0, axes=0)");
    dir.run(&format!("apply {array}.npy '{chain}' -o e.npy --force --row-major")).done();
    let cmp = dir.run(&format!("cmp {store} e.npy --tensor {array}"));
    assert_eq!(cmp.text().trim(), "equal", "{array}: {cmp:?}");
}

#[test]
fn every_array_of_a_group_moves_along_its_named_axes() {
    let dir = data_set();
    let run = dir.run(&format!("apply x.zarr '{CHAIN}' -o y.zarr --verify")).done();
    run.says("6 tensors, 1 copied unchanged");
    for (array, chain) in BY_NUMBERS {
        check(&dir, "y.zarr", array, chain);
    }
    assert_eq!(
        read_metadata(&dir, "y.zarr/wind")["dimension_names"],
        json!(["lat", "lon", "time"])
    );
    assert_eq!(read_metadata(&dir, "y.zarr/lat_bnds")["dimension_names"], json!(["lat", "bnds"]));
    assert_eq!(read_metadata(&dir, "y.zarr")["attributes"], json!({ "title": "wind" }));

    let plan = dir.run(&format!("plan apply x.zarr '{CHAIN}'")).done().text();
    assert!(plan.contains("  wind: u16 [3, 4, 5] -> [4, 5, 3]\n"), "{plan}");
    assert!(plan.contains("  mask: u16 [4, 5] -> [4, 5]\n"), "{plan}");
    let plan = dir.run(&format!("plan apply x.zarr '{CHAIN}' --json")).done().text();
    let chains: Vec<Value> = plan.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| chains.iter().find(|plan| plan["tensor"]["name"] == name);
    assert_eq!(
        of("mask").unwrap()["chain"],
        json!(["roll(shift=[2], axes=[1])", "flip(axes=[0])"])
    );
    assert!(of("time").is_none(), "nothing is done to it");

    // Selected tensors, and patterns with other axis names.
    let some = "--tensor l* --only -o some.zarr";
    dir.run(&format!("apply x.zarr flip(dims=[lat]) {some}")).done();
    check(&dir, "some.zarr", "lat_bnds", Some("flip(0)"));
    check(&dir, "some.zarr", "lon", None);
    let one = "--tensor wind --only -o wind.zarr";
    dir.run(&format!("apply x.zarr 't y x -> y x t | flip(dims=[x, time])' {one}")).done();
    dir.run("apply wind.npy 'transpose(1,2,0) | flip(1, 2)' -o w.npy --row-major").done();
    assert_eq!(dir.run("cmp wind.zarr/wind w.npy").done().text().trim(), "equal");
}

#[test]
fn warnings_list_tensors_that_no_longer_fit_each_other() {
    let dir = data_set();
    let apart = |moved: &str, axis: &str, other: &str, hint: &str| {
        format!(
            "warning: {moved} moved along {axis}, but {other} did not\nhint: {hint} to move both\n"
        )
    };
    let idle = "note: a shift of 10 on an axis of 5 moves nothing\n".to_owned();
    for (words, expected) in [
        (
            "roll x.zarr --shift 2 --axes 2 --tensor wind",
            &[apart("wind", "lon", "lon", "use --dims lon without --tensor")][..],
        ),
        (
            "flip x.zarr --dims lat --tensor wind",
            &[apart("wind", "lat", "lat", "leave out --tensor")],
        ),
        (
            "flip x.zarr --axes 0",
            &[
                apart("lat", "lat", "wind", "use --dims lat"),
                apart("lon", "lon", "mask", "use --dims lon"),
            ],
        ),
        ("roll x.zarr --shift 10 --axes 2 --tensor wind", std::slice::from_ref(&idle)),
        ("roll x.zarr --shift 10 --dims lon", std::slice::from_ref(&idle)),
        ("flip x.zarr --dims lat", &[]),
        ("transpose x.zarr --order 2,0,1 --tensor wind", &[]),
        ("flip x.zarr --axes 1 --tensor lat_bnds", &[]),
        ("roll wind.npy --shift 2 --axes 2", &[]),
    ] {
        for command in ["", "plan "] {
            let words = format!("{command}{words} -o y.zarr --force");
            let run = dir.run(&words).done();
            let lines = run.stderr.lines();
            let printed = lines.filter(|line| {
                ["warning: ", "note: ", "hint: "].iter().any(|start| line.starts_with(start))
            });
            let printed: String = printed.map(|line| format!("{line}\n")).collect();
            for expected in expected {
                assert!(printed.contains(expected), "{words}: {expected}{printed}");
            }
            assert_eq!(printed.is_empty(), expected.is_empty(), "{words}: {printed}");
        }
    }
    let refused = dir.run("roll x.zarr --shift 2 --axes 2 -o z.zarr");
    let hint =
        "\nhint: --dims takes axes by name (time, lat, lon) and moves every tensor that has them\n";
    refused.refused(3, hint);
    let refused = dir.run("transpose x.zarr --tensor wind --dims lat,lon -o z.zarr");
    let words =
        "wind of shape [3, 4, 5]: --dims must name all axes of the tensor (time, lat, lon), got 2";
    refused.refused(3, words);
}

#[test]
fn options_accept_axis_names() {
    for (args, array, chain) in [
        ("roll --shift 2 --dims lon", "wind", Some("roll(shift=2, axes=2)")),
        ("roll --shift 2 --dim lon", "lat", None),
        ("roll --shift half --dims lon", "wind", Some("roll(shift=2, axes=2)")),
        ("roll --shift -half --dims lat,lon", "mask", Some("roll([2, 3], [0, 1])")),
        ("roll --shift half --axes 1 --tensor wind", "wind", Some("roll(2, 1)")),
        ("roll --shift half --dims lon", "lat", None),
        ("roll --shift 1,-2 --dims lat,lon", "mask", Some("roll([1, -2], [0, 1])")),
        ("roll --shift 1,-2 --dims lat,lon", "lon", Some("roll(-2, 0)")),
        ("flip --dims lat", "lat_bnds", Some("flip(0)")),
        ("transpose --dims lon,time,lat --tensor wind", "wind", Some("transpose(2, 0, 1)")),
        ("rot90 --dims lat,lon --tensor [wm]*", "mask", Some("rot90()")),
        (
            "reverse --dim time --lengths 2",
            "wind",
            Some("slice([0], [2], [0]) | flip(0) | tile(2, 1, 1)"),
        ),
        ("reverse --dim time --lengths 2", "mask", None),
    ] {
        let dir = data_set();
        let (command, options) = args.split_once(' ').unwrap();
        dir.run(&format!("{command} x.zarr -o y.zarr {options}")).done();
        if array == "wind" && command == "reverse" {
            let lengths = vec!["2"; 20].join(",");
            dir.run(&format!("reverse wind.npy --axis 0 --lengths {lengths} -o e.npy")).done();
            assert_eq!(dir.run("cmp y.zarr e.npy --tensor wind").text().trim(), "equal");
        } else {
            check(&dir, "y.zarr", array, chain);
        }
    }
    let dir = data_set();
    let batch = "reverse x.zarr --dim lon --batch-dim lat --lengths 1,2,3,4";
    let run = dir.run(&format!("{batch} -o y.zarr --tensor mask"));
    run.done();
    check(&dir, "y.zarr", "mask", Some("reverse(1, [1, 2, 3, 4], 0)"));
    dir.run(&format!("{batch} -o z.zarr"))
        .refused(3, "the tensor has no axis \"lat\", which this stage needs with the others");
}

/// The axis names of the only tensor of `file`.
fn axis_names(dir: &Workdir, file: &str) -> Value {
    let info = dir.run(&format!("info {file} --json")).done().json();
    info["tensors"][0]["dimension_names"].clone()
}

#[test]
fn outputs_get_axis_names_from_patterns() {
    let dir = data_set();
    let outputs: &[&str] = if cfg!(feature = "hdf5") { &["y.zarr", "y.nc"] } else { &["y.zarr"] };
    for (chain, names) in [
        ("t y x -> y x t", json!(["y", "x", "t"])),
        ("t y x -> y (x t)", json!(["y", null])),
        ("t ... -> ... t", json!([null, null, "t"])),
        ("t (y p) x -> p t y x, p=2", json!(["p", "t", "y", "x"])),
        ("t y x -> x y t | a b c -> c b a", json!(["c", "b", "a"])),
        ("t y x -> x y t | flip(0) | transpose(1, 2, 0)", json!(["y", "t", "x"])),
        ("t y x -> x y t | windows(size=[2], step=[1], axes=[0])", json!(["x", "y", "t", null])),
        ("a b c -> c b a | b ... -> ... b", json!([null, "a", null])),
        ("transpose(1, 2, 0)", Value::Null),
        ("t y x -> y x t | reshape(-1)", Value::Null),
    ] {
        for output in outputs {
            dir.run(&format!("apply wind.npy '{chain}' -o {output} --force")).done();
            assert_eq!(axis_names(&dir, output), names, "{chain}: {output}");
        }
    }
    let none = "roll wind.npy --shift half --axes= -o none.npy";
    dir.run(none).refused(2, "--shift half needs an axis");
    // A name in a pattern does not replace a name from the file.
    dir.run("apply x.zarr 't y x -> y x t' --tensor wind --only -o own.zarr").done();
    assert_eq!(axis_names(&dir, "own.zarr"), json!(["lat", "lon", "time"]));
    dir.run("apply wind.npy 't y x -> y x t' -o z.zarr --chunks x=2,t=3").done();
    assert_eq!(
        read_metadata(&dir, "z.zarr")["chunk_grid"]["configuration"]["chunk_shape"],
        json!([4, 2, 3])
    );
    // There is no warning for formats that cannot store axis names, because the file had none.
    for output in ["z.npy", "z.safetensors"] {
        let run = dir.run(&format!("apply wind.npy 't y x -> y x t' -o {output}")).done();
        assert!(!run.stderr.contains("warning"), "{run:?}");
    }
    if cfg!(feature = "hdf5") {
        dir.run("apply wind.npy 't y x -> y x t' -o z.h5").done();
        assert_eq!(axis_names(&dir, "z.h5"), Value::Null);
    }
}

#[test]
fn a_name_from_a_pattern_has_one_size() {
    let dir = data_set();
    let tensor = |name: &str, file: &str| (format!("{name}.npy"), dir.read(file));
    for (files, names) in [
        (["lat_bnds.npy", "lat_bnds.npy"], json!(["x", "y"])),
        (["lat_bnds.npy", "mask.npy"], Value::Null),
    ] {
        let tensors = [tensor("p", files[0]), tensor("q", files[1])];
        let tensors = tensors.each_ref().map(|(name, bytes)| (&name[..], bytes.clone()));
        dir.write("m.npz", &npz::archive(&tensors));
        dir.run("apply m.npz 'y x -> x y' -o m.zarr --force").done();
        let info = dir.run("info m.zarr --json").done().json();
        for tensor in 0..2 {
            assert_eq!(info["tensors"][tensor]["dimension_names"], names, "{files:?}");
        }
    }
}

#[test]
fn axis_names_that_do_not_fit_are_refused_before_writing() {
    let dir = data_set();
    write_array(&dir.path("x.zarr"), "turned", &[5, 4], &["lon", "lat"]);
    write_array(&dir.path("x.zarr"), "deep", &[2, 3, 4, 5], &["depth", "time", "lat", "lon"]);
    let before = dir.contents();
    let deep = "--tensor deep";
    let refused = |chain: &str, more: &str, words: &str| {
        let run = dir.run(&format!("apply x.zarr '{chain}' -o y.zarr {more}"));
        run.refused(3, words);
        run.stderr
    };
    let words =
        "no axis is called \"latt\"\n  flip(dim=latt)\n           ^^^^\n  did you mean \"lat\"?";
    assert!(!refused("flip(dim=latt)", "", words).contains("--tensor"));
    // The hint lists tensors only if the chain fits some of them.
    let words = "deep: stage 1 does not fit shape [2, 3, 4, 5]: the pattern is for 3 axes[..]\nhint: --tensor NAME \
                 picks one that the operation fits: ";
    refused(CHAIN, "", words);
    refused(CHAIN, deep, "write \"...\" on both sides");
    assert_eq!(dir.contents(), before);
    refused_as_listed(&dir, include_str!("refusals/names.txt"));
    let dots = "apply x.zarr '... time lat lon -> ... lat lon time' -o y.zarr";
    dir.run(&format!("{dots} {deep}")).done();
    assert_eq!(
        read_metadata(&dir, "y.zarr/deep")["dimension_names"],
        json!(["depth", "lat", "lon", "time"])
    );
}

#[test]
fn relayout_rules_are_checked_against_axis_names() {
    let dir = data_set();
    let relayout =
        |rule: &str| dir.run(&format!("relayout x.zarr --rule '{rule}' -o y.safetensors --force"));
    relayout("wind: time lat lon -> lat lon time").done();
    relayout("wind: t y x -> y x t").done();
    let run = relayout("wind: lat lon time -> time lat lon");
    let words = "wind: the axes are (time, lat, lon), in this order, and the pattern has another order\n  \
         wind: lat lon time -> time lat lon\n        ^^^\n";
    run.refused(3, words);
}

#[test]
fn stages_can_use_axis_names_from_earlier_patterns() {
    let dir = data_set();
    let chain = "t y x -> y x t | roll(shift=2, dim=x)";
    dir.run(&format!("apply wind.npy '{chain}' -o y.npy --row-major")).done();
    let by_number = "transpose(1, 2, 0) | roll(2, 1)";
    dir.run(&format!("apply wind.npy '{by_number}' -o e.npy --row-major")).done();
    assert!(dir.read("y.npy") == dir.read("e.npy"));
}

#[test]
fn chunk_and_shard_sizes_use_the_axis_names_of_the_output() {
    let dir = data_set();
    let sizes = "--chunks lat=3,lon=2,time=-1 --shards lat=6";
    dir.run(&format!("apply x.zarr '{CHAIN}' -o y.zarr {sizes}")).done();
    let cut = |array: &str| {
        let written = read_metadata(&dir, &format!("y.zarr/{array}"));
        let grid = &written["chunk_grid"]["configuration"]["chunk_shape"];
        json!([grid, written["codecs"][0]["configuration"]["chunk_shape"]])
    };
    assert_eq!(cut("wind"), json!([[6, 2, 3], [3, 2, 3]]));
    assert_eq!(cut("lat_bnds"), json!([[6, 2], [3, 2]]));
    assert_eq!(cut("lon"), json!([[2], null]), "no shards, since it has no such axis");
    assert_eq!(cut("time"), json!([[3], null]));
    let args = "convert x.zarr -o z.zarr --chunks 3,2,-1";
    let words = "lat has shape [4]: give sizes by name: time=3,lat=2,lon=-1";
    dir.run(&args).refused(2, words);
    let run = dir.run("convert x.zarr -o z.zarr --chunks lot=3");
    let words =
        "a size is given for axis \"lot\", but the axes are \"bnds\", \"lat\", \"lon\", \"time\"";
    run.refused(2, words);
}

/// Returns OME-NGFF metadata for a pyramid of two levels.
fn pyramid() -> Value {
    let level = |path: &str, scale: f64| {
        json!({ "path": path, "coordinateTransformations": [
            { "type": "scale", "scale": [1.0, 2.0, scale] },
            { "type": "translation", "translation": [0.0, 1.0, 3.5] },
        ] })
    };
    let axis = |name: &str| json!({ "name": name, "type": "space" });
    json!([{
        "version": "0.4",
        "axes": [{ "name": "c", "type": "channel" }, axis("y"), axis("x")],
        "datasets": [level("0", 0.5), level("1", 0.25)],
    }])
}

/// The tests of trundle-formats cover the metadata of other versions.
#[test]
fn the_axes_of_a_pyramid_move_with_its_data() {
    let dir = Workdir::new();
    let group = json!({ "multiscales": pyramid(), "title": "cells" });
    write_group(&dir.path("x.zarr"), &group);
    write_array(&dir.path("x.zarr"), "0", &[2, 4, 6], &[]);
    write_array(&dir.path("x.zarr"), "1", &[2, 2, 3], &[]);
    dir.run("info x.zarr").done().prints("1  u16  [2, 2, 3] (c, y, x)");

    // A permutation that is not its own inverse.
    let run = dir.run("apply x.zarr 'c y x -> y x c | flip(dim=y)' -o y.zarr").done();
    assert!(!run.stderr.contains("left out"), "{run:?}");
    assert_eq!(read_metadata(&dir, "y.zarr/1")["dimension_names"], json!(["y", "x", "c"]));
    let all = read_metadata(&dir, "y.zarr")["attributes"].clone();
    assert_eq!((&all["title"], &all["multiscales"]), (&json!("cells"), &Value::Null));
    // Version 0.4 becomes 0.5.
    let one = &all["ome"]["multiscales"][0];
    let names: Vec<&Value> =
        one["axes"].as_array().unwrap().iter().map(|axis| &axis["name"]).collect();
    assert_eq!(names, ["y", "x", "c"]);
    let level = &one["datasets"][1]["coordinateTransformations"];
    assert_eq!(level[0]["scale"], json!([2.0, 0.25, 1.0]));
    assert_eq!(level[1]["translation"], json!([1.0, 3.5, 0.0]));
    dir.run("transpose y.zarr --dims c,y,x -o z.zarr").done();
    let mut expected = pyramid();
    expected[0].as_object_mut().unwrap().remove("version");
    let back = read_metadata(&dir, "z.zarr")["attributes"]["ome"].clone();
    assert_eq!(back, json!({ "version": "0.5", "multiscales": expected }));

    // Metadata is dropped for a single level, for a slice and for merged axes.
    for chain in
        ["'c y x -> y x c' --tensor 0", "'c y x -> (c y) x'", "'slice(starts=1, stops=2, dims=x)'"]
    {
        let run = dir.run(&format!("apply x.zarr {chain} -o w.zarr --force")).done();
        run.says("left out: multiscales");
        assert_eq!(read_metadata(&dir, "w.zarr")["attributes"], json!({ "title": "cells" }));
    }
}
