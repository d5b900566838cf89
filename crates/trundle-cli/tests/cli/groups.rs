//! Groups in Zarr stores: attributes and consolidated metadata.

use std::fs;

use serde_json::{Value, json};

use crate::Workdir;
use crate::npy::Tensor;
use crate::zarr::{read_metadata, write_group, write_store};

/// Three arrays in nested groups with attributes.
fn with_groups() -> Workdir {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[4, 6]);
    for name in ["top", "sea/deep/salt", "sea/heat"] {
        write_store(&dir.path(&format!("g.zarr/{name}")), &tensor, &[2, 3], |_| false);
    }
    write_group(&dir.path("g.zarr"), &json!({ "title": "all" }));
    let of_sea = json!({ "salt": "much", "multiscales": [{ "axes": ["y", "x"] }] });
    write_group(&dir.path("g.zarr/sea"), &of_sea);
    write_group(&dir.path("g.zarr/sea/deep"), &json!({ "metres": 4000 }));
    write_group(&dir.path("g.zarr/notes"), &json!({ "by": "nobody" }));
    dir
}

#[test]
fn group_attributes_are_kept_except_outdated_axis_orders() {
    let dir = with_groups();
    dir.run("roll g.zarr --shift 1 --axes 0 -o same.zarr").done();
    for path in ["", "sea", "sea/deep", "notes"] {
        let of =
            |store: &str| read_metadata(&dir, &format!("{store}/{path}"))["attributes"].clone();
        assert_eq!(of("same.zarr"), of("g.zarr"), "{path}");
    }
    let run = dir.run("transpose g.zarr -o turned.zarr --quiet").done();
    run.says("left out: sea/multiscales");
    assert_eq!(read_metadata(&dir, "turned.zarr/sea")["attributes"], json!({ "salt": "much" }));
    dir.run("convert g.zarr -o t.safetensors").done();
    dir.run("convert t.safetensors -o back.zarr").done();
    assert_eq!(read_metadata(&dir, "back.zarr/sea/deep")["attributes"], json!({ "metres": 4000 }));
    dir.run("flip g.zarr --tensor *[oa][pt] --only --axes 0 -o some.zarr").done();
    assert_eq!(read_metadata(&dir, "some.zarr/sea")["attributes"]["salt"], "much");
    assert!(!dir.path("some.zarr/sea/deep").exists());
}

#[test]
fn consolidated_metadata_lists_all_members_of_a_group() {
    let dir = with_groups();
    dir.run("flip g.zarr --axes 0 -o y.zarr").done();
    let list = &read_metadata(&dir, "y.zarr")["consolidated_metadata"];
    assert_eq!((&list["kind"], &list["must_understand"]), (&json!("inline"), &json!(false)));
    let paths: Vec<&String> = list["metadata"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["notes", "sea", "top", "sea/deep", "sea/heat", "sea/deep/salt"]);
    for path in paths {
        let own = read_metadata(&dir, &format!("y.zarr/{path}"));
        assert_eq!(list["metadata"][path], own, "{path}");
    }
    // A single array has no consolidated metadata.
    dir.run("flip y.zarr/top --axes 0 -o z.zarr").done();
    assert!(read_metadata(&dir, "z.zarr")["consolidated_metadata"].is_null());
    // Consolidated metadata is not trusted: here it lists an array that has been removed.
    fs::remove_dir_all(dir.path("y.zarr/top")).unwrap();
    let info = dir.run("info y.zarr").done().text();
    assert!(!info.contains("top") && info.contains("sea/heat"), "{info}");
}

/// A group of one array, both with attributes. The array has axis names and a fill value.
fn group_of_one() -> Workdir {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[4, 6]);
    write_store(&dir.path("g.zarr/t2m"), &tensor, &[2, 3], |_| false);
    write_group(&dir.path("g.zarr"), &json!({ "title": "group" }));
    let mut array = read_metadata(&dir, "g.zarr/t2m");
    array["attributes"] = json!({ "title": "array", "units": "K" });
    array["dimension_names"] = json!(["lat", "lon"]);
    array["fill_value"] = 7.into();
    dir.write("g.zarr/t2m/zarr.json", array.to_string().as_bytes());
    dir
}

#[test]
fn a_group_of_one_array_stays_a_group() {
    let dir = group_of_one();
    for (args, out) in [
        ("convert g.zarr", "one.zarr"),
        ("flip g.zarr --dims lat", "flipped.zarr"),
        ("convert g.zarr --tensor t2m --only", "only.zarr"),
        ("concat g.zarr g.zarr --axis 0", "twice.zarr"),
        #[cfg(feature = "hdf5")]
        ("convert g.h5", "of-hdf5.zarr"),
    ] {
        #[cfg(feature = "hdf5")]
        dir.run("convert g.zarr -o g.h5 --force").done();
        dir.run(&format!("{args} -o {out}")).done();
        assert_eq!(read_metadata(&dir, out)["attributes"], json!({ "title": "group" }), "{out}");
        let array = read_metadata(&dir, &format!("{out}/t2m"));
        assert_eq!(array["attributes"], json!({ "title": "array", "units": "K" }), "{out}");
        assert_eq!(array["dimension_names"], json!(["lat", "lon"]));
        assert_eq!(array["fill_value"], json!(7));
    }
    let empty = "lat lon -> lon lat | slice(starts=[2], stops=[2], dims=[lat])";
    dir.run(&format!("apply g.zarr '{empty}' -o empty.zarr")).done();
    let array = read_metadata(&dir, "empty.zarr/t2m");
    assert_eq!(array["shape"], json!([6, 0]));
    assert_eq!(array["dimension_names"], json!(["lon", "lat"]));
    // A single array keeps this form. In HDF5, its attributes become attributes of the dataset.
    dir.run("convert g.zarr/t2m -o array.zarr").done();
    assert_eq!(
        read_metadata(&dir, "array.zarr")["attributes"],
        json!({ "title": "array", "units": "K" })
    );
    #[cfg(feature = "hdf5")]
    {
        dir.run("convert array.zarr -o array.h5").done();
        dir.run("convert array.h5 -o back.zarr").done();
        assert_eq!(read_metadata(&dir, "back.zarr")["attributes"], json!({}));
        let attributes = &read_metadata(&dir, "back.zarr/array")["attributes"];
        assert_eq!(attributes, &json!({ "title": "array", "units": "K" }));
    }
}

#[test]
fn plans_and_warnings_list_metadata_an_output_cannot_store() {
    let dir = group_of_one();
    let left_out = "left out because the format cannot store them: attributes title, units; axis names lat, lon; \
                fill values of t2m";
    let lines: &[(&str, &[&str])] = &[
        ("x.npz", &[left_out, "the format stores no metadata; left out: title"]),
        ("x.npy", &[left_out, "the format stores no metadata; left out: title"]),
        ("x.safetensors", &[left_out]),
        ("x.zarr", &[]),
        #[cfg(feature = "hdf5")]
        ("x.h5", &[]),
    ];
    for (out, lines) in lines {
        let plan = dir.run(&format!("plan convert g.zarr -o {out}")).done().text();
        let run = dir.run(&format!("convert g.zarr -o {out} --quiet")).done();
        let warnings: String =
            lines.iter().map(|line| format!("warning: {out}: {line}\n")).collect();
        assert_eq!(run.stderr, warnings);
        lines.iter().for_each(|line| assert!(plan.contains(line), "{plan}"));
    }
    let report = dir.run("convert g.zarr -o x.npz --json --force").done().json();
    assert_eq!(report["metadata_left_out"], json!(["title"]));
    let left = json!({ "attributes": { "title": 1, "units": 1 }, "axis_names": ["lat", "lon"], "fill_values": ["t2m"] });
    assert_eq!(report["tensor_metadata_left_out"], left);
    // There are no attributes to lose, so there is no warning.
    dir.run("convert x.npy -o y.npz --quiet").done();
    for out in [
        "z.npy",
        "z.npz",
        "z.safetensors",
        "z.zarr",
        #[cfg(feature = "hdf5")]
        "z.h5",
    ] {
        let run = dir.run(&format!("flip x.npy --axes 0 -o {out} --quiet")).done();
        assert_eq!(run.stderr, "", "{out}");
    }
}

#[test]
fn fill_values_of_version_2_become_attributes_in_version_3() {
    for (dtype, fill, attributes, mask) in [
        ("<i2", json!(-9), json!({ "_ARRAY_DIMENSIONS": ["x"] }), json!(-9)),
        ("<u8", json!(u64::MAX), json!({ "_ARRAY_DIMENSIONS": ["x"] }), json!(u64::MAX)),
        ("<f4", json!("NaN"), json!({ "_ARRAY_DIMENSIONS": ["x"] }), json!("AAAAAAAA+H8=")),
        ("<f8", json!(0.5), json!({ "_ARRAY_DIMENSIONS": ["x"] }), json!("AAAAAAAA4D8=")),
        ("<f8", Value::Null, json!({ "_ARRAY_DIMENSIONS": ["x"] }), Value::Null),
        ("<i2", json!(-9), json!({}), Value::Null),
        ("<i2", json!(-9), json!({ "_ARRAY_DIMENSIONS": ["x"], "_FillValue": 5 }), json!(5)),
    ] {
        let dir = Workdir::new();
        let array = json!({
            "zarr_format": 2, "shape": [3], "chunks": [3], "dtype": dtype, "compressor": null, "fill_value": fill,
            "order": "C", "filters": null,
        });
        fs::create_dir(dir.path("x.zarr")).unwrap();
        dir.write("x.zarr/.zarray", array.to_string().as_bytes());
        dir.write("x.zarr/.zattrs", attributes.to_string().as_bytes());
        dir.run("convert x.zarr -o y.zarr").done();
        assert_eq!(
            read_metadata(&dir, "y.zarr")["attributes"]["_FillValue"],
            mask,
            "{dtype} {fill} {attributes}"
        );
    }
}

#[test]
fn ome_ngff_0_3_metadata_is_kept_with_a_warning() {
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[4, 6]);
    write_store(&dir.path("i.zarr/0"), &tensor, &[2, 3], |_| false);
    let image = json!({ "multiscales": [{
        "version": "0.3", "axes": ["y", "x"], "datasets": [{ "path": "0" }],
    }] });
    write_group(&dir.path("i.zarr"), &image);
    dir.run("flip i.zarr --axes 0 -o o.zarr --quiet")
        .done()
        .says("OME-NGFF before 0.4 is not valid in a Zarr store of version 3: multiscales");
    assert_eq!(read_metadata(&dir, "o.zarr")["attributes"], image);
}

#[test]
fn numbers_that_json_lacks_are_kept_by_every_format() {
    let text = r#"{"a":NaN,"b":[1.5,-Infinity],"c":"NaN","d":Infinity}"#;
    let nested = r#"{"e":{"f":[NaN,{"g":Infinity}]}}"#;
    let dir = Workdir::new();
    let tensor = Tensor::noise("'<u2'", 2, &[4, 6]);
    write_store(&dir.path("g.zarr/x"), &tensor, &[2, 3], |_| false);
    let group = |attributes: &str| {
        format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{attributes}}}"#)
    };
    dir.write("g.zarr/zarr.json", group(text).as_bytes());
    fs::create_dir(dir.path("g.zarr/h")).unwrap();
    dir.write("g.zarr/h/zarr.json", group(nested).as_bytes());
    let mut array = read_metadata(&dir, "g.zarr/x");
    array["attributes"] = json!("A");
    dir.write("g.zarr/x/zarr.json", array.to_string().replace("\"A\"", text).as_bytes());
    let is_in = |path: &str, attributes: &str| {
        let found = String::from_utf8(dir.read(&format!("{path}/zarr.json"))).unwrap();
        let found: String = found.split_whitespace().collect();
        assert!(found.contains(attributes), "{path}: {found}");
    };
    dir.run("transpose g.zarr -o y.zarr").done();
    dir.run("convert g.zarr -o g.safetensors --quiet").done();
    dir.run("convert g.safetensors -o of-text.zarr").done();
    for store in ["y.zarr", "of-text.zarr"] {
        is_in(store, text);
        is_in(&format!("{store}/h"), nested);
    }
    is_in("y.zarr/x", text);
    is_in(
        "y.zarr",
        &format!(r#""metadata":{{"h":{{"zarr_format":3,"node_type":"group","attributes":{nested}"#),
    );
    #[cfg(feature = "hdf5")]
    for file in ["g.h5", "g.nc"] {
        dir.run(&format!("convert g.zarr -o {file} --quiet")).done();
        dir.run(&format!("convert {file} -o back.zarr --force")).done();
        is_in("back.zarr", text);
        is_in("back.zarr/x", text);
        is_in("back.zarr/h", r#""e":"{\"f\":[NaN,{\"g\":Infinity}]}""#);
    }
}
