//! Groups within Zarr stores: what is said of them, and the list of all that there is.

use std::fs;

use serde_json::{Value, json};

use crate::Place;
use crate::npy::Tensor;
use crate::zarr::{write_store, written};

fn group(attributes: &Value) -> Vec<u8> {
    json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes }).to_string().into()
}

/// A store of three arrays in groups within groups, of which something is said.
fn with_groups() -> Place {
    let place = Place::new();
    let tensor = Tensor::noise("'<u2'", 2, &[4, 6]);
    for name in ["top", "sea/deep/salt", "sea/heat"] {
        write_store(&place.path(&format!("g.zarr/{name}")), &tensor, &[2, 3], |_| false);
    }
    place.write("g.zarr/zarr.json", &group(&json!({ "title": "all" })));
    let of_sea = json!({ "salt": "much", "multiscales": [{ "axes": ["y", "x"] }] });
    place.write("g.zarr/sea/zarr.json", &group(&of_sea));
    place.write("g.zarr/sea/deep/zarr.json", &group(&json!({ "metres": 4000 })));
    fs::create_dir(place.path("g.zarr/notes")).unwrap();
    place.write("g.zarr/notes/zarr.json", &group(&json!({ "by": "nobody" })));
    place
}

#[test]
fn what_is_said_of_groups_is_kept_but_for_an_order_of_axes_that_is_no_more() {
    let place = with_groups();
    place.run(&["roll", "g.zarr", "--shift", "1", "--axes", "0", "-o", "same.zarr"]).done();
    for path in ["", "sea", "sea/deep", "notes"] {
        let of = |store: &str| written(&place, &format!("{store}/{path}"))["attributes"].clone();
        assert_eq!(of("same.zarr"), of("g.zarr"), "{path}");
    }
    let run = place.run(&["transpose", "g.zarr", "-o", "turned.zarr", "--quiet"]).done();
    assert!(run.stderr.contains("left out: sea/multiscales"), "{run:?}");
    assert_eq!(written(&place, "turned.zarr/sea")["attributes"], json!({ "salt": "much" }));
    // By way of another format, and back.
    place.run(&["convert", "g.zarr", "-o", "t.safetensors"]).done();
    place.run(&["convert", "t.safetensors", "-o", "back.zarr"]).done();
    assert_eq!(written(&place, "back.zarr/sea/deep")["attributes"], json!({ "metres": 4000 }));
    // Of what is left out nothing is said.
    let args = ["flip", "g.zarr", "--tensor", "*[oa][pt]", "--only", "--axes", "0"];
    place.run(&[&args[..], &["-o", "some.zarr"]].concat()).done();
    assert_eq!(written(&place, "some.zarr/sea")["attributes"]["salt"], "much");
    assert!(!place.path("some.zarr/sea/deep").exists());
}

#[test]
fn a_group_lists_all_that_is_in_it() {
    let place = with_groups();
    place.run(&["flip", "g.zarr", "--axes", "0", "-o", "y.zarr"]).done();
    let list = &written(&place, "y.zarr")["consolidated_metadata"];
    assert_eq!((&list["kind"], &list["must_understand"]), (&json!("inline"), &json!(false)));
    let paths: Vec<&String> = list["metadata"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["notes", "sea", "top", "sea/deep", "sea/heat", "sea/deep/salt"]);
    for path in paths {
        let own = written(&place, &format!("y.zarr/{path}"));
        assert_eq!(list["metadata"][path], own, "{path}");
    }
    // An array is all that there is of it.
    place.run(&["flip", "y.zarr/top", "--axes", "0", "-o", "z.zarr"]).done();
    assert!(written(&place, "z.zarr")["consolidated_metadata"].is_null());
    // No list is believed: this one is of an array that is gone.
    fs::remove_dir_all(place.path("y.zarr/top")).unwrap();
    let info = place.run(&["info", "y.zarr"]).done().text();
    assert!(!info.contains("top") && info.contains("sea/heat"), "{info}");
}
