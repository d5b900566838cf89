//! Reorders the axes in OME-NGFF metadata, versions 0.3 to 0.5: the multi-resolution images of a group.
//!
//! In "multiscales" metadata of OME-NGFF 0.4 and 0.5, an entry has the `axes` of all its arrays, and for each array, by
//! path, transformations with one number for each axis.

use serde_json::Value;

use crate::attributes;

type Attributes = serde_json::Map<String, Value>;

/// The metadata keys with entries that depend on the axes: up to version 0.4, and from 0.5 on.
pub const KEYS: [&str; 2] = ["multiscales", "ome"];

/// Reorders the entries of a [key](KEYS) (`text`, as JSON) after the axes of its arrays were permuted.
///
/// `order_of` returns the source axis for each axis of the result; `None` if there is no such array, or its axes are
/// not a permutation. Returns `None` if the format cannot express the result.
pub fn reordered(
    key: &str,
    text: &str,
    order_of: impl Fn(&str) -> Option<Vec<usize>>,
) -> Option<String> {
    let mut value = trundle_json::parse(text.as_bytes()).ok()?;
    if let Some(multiscales) = multiscales_of(key, &mut value) {
        for multiscale in multiscales.as_array_mut()? {
            reorder(multiscale, &order_of)?;
        }
    }
    Some(trundle_json::to_text(&value))
}

/// The version of OME-NGFF for Zarr stores of version 2.
const VERSION_2: &str = "0.4";
/// The version of OME-NGFF for Zarr stores of version 3.
const VERSION_3: &str = "0.5";

const OTHER_KEYS: [&str; 6] =
    ["omero", "labels", "plate", "well", "image-label", "bioformats2raw.layout"];

/// Converts attributes of OME-NGFF 0.4 to 0.5, for Zarr stores of version 3: they move to the key `ome`, which has the
/// version. Returns `None` if they are OME-NGFF of another version.
fn of_version_3(mut attributes: Attributes) -> Option<Attributes> {
    let is_ome = |key: &str, value: &Value| match key {
        "multiscales" | "labels" => value.is_array(),
        "bioformats2raw.layout" => value.is_number(),
        _ => value.is_object(),
    };
    // `omero` alone does not identify OME-NGFF.
    let is_there = |key: &str| attributes.get(key).is_some_and(|value| is_ome(key, value));
    if attributes.contains_key(KEYS[1])
        || ![KEYS[0]].iter().chain(&OTHER_KEYS[1..]).any(|key| is_there(key))
    {
        return Some(attributes);
    }
    let mut ome = Attributes::from_iter([("version".to_owned(), VERSION_3.into())]);
    for key in [KEYS[0]].into_iter().chain(OTHER_KEYS) {
        let Some(mut value) = attributes.shift_remove(key) else { continue };
        if !is_ome(key, &value) {
            attributes.insert(key.to_owned(), value);
            continue;
        }
        let list = match key {
            "multiscales" => value.as_array_mut().into_iter().flatten().collect(),
            _ => vec![&mut value],
        };
        for each in list {
            let version = each.as_object_mut().and_then(|each| each.shift_remove("version"));
            let is_known = version.is_none_or(|version| version == VERSION_2);
            if !is_known || key == KEYS[0] && !has_transformations(each) {
                return None;
            }
        }
        ome.insert(key.to_owned(), value);
    }
    attributes.insert(KEYS[1].to_owned(), ome.into());
    Some(attributes)
}

/// Returns whether an image has typed axes, and transformations for each array, which versions before 0.4 lack.
fn has_transformations(multiscale: &Value) -> bool {
    let all = |key: &str, is: fn(&Value) -> bool| {
        multiscale[key].as_array().is_some_and(|list| list.iter().all(is))
    };
    all("axes", Value::is_object)
        && all("datasets", |each| each["coordinateTransformations"].is_array())
}

/// Returns the attributes for a group of a new store, see [`of_version_3`]. Versions other than 0.4 are unchanged.
#[cfg(feature = "zarr")]
pub(crate) fn written(attributes: Attributes) -> Attributes {
    of_version_3(attributes.clone()).unwrap_or(attributes)
}

/// Returns the metadata keys that are OME-NGFF of a version before 0.4, which is not valid in a Zarr store of version
/// 3.
pub fn outdated(metadata: &[(String, String)]) -> Vec<String> {
    let is_group = |(key, _): &&(String, String)| key.ends_with('/');
    let of_root = metadata.iter().filter(|pair| !is_group(pair)).cloned().collect::<Vec<_>>();
    let of_root = (KEYS[0].to_owned(), attributes::of_metadata(&of_root));
    let of_groups = metadata.iter().filter(is_group);
    let of_groups =
        of_groups.map(|(key, text)| (format!("{key}{}", KEYS[0]), attributes::of_text(text)));
    let all = of_groups.chain([of_root]);
    all.filter(|(_, own)| of_version_3(own.clone()).is_none()).map(|(key, _)| key).collect()
}

/// Returns the axis names that the attributes of a group give to its arrays, by path.
#[cfg(feature = "zarr")]
pub(crate) fn axis_names(
    attributes: &serde_json::Map<String, Value>,
) -> std::collections::HashMap<String, Vec<Option<String>>> {
    let mut names = std::collections::HashMap::new();
    for (key, value) in attributes {
        let mut value = value.clone();
        let found = KEYS.contains(&&key[..]).then(|| multiscales_of(key, &mut value)).flatten();
        for multiscale in found.and_then(|found| found.as_array()).into_iter().flatten() {
            let Some(axes) = multiscale["axes"].as_array() else { continue };
            let name = |axis: &Value| axis["name"].as_str().or(axis.as_str()).map(str::to_owned);
            let axes: Vec<Option<String>> = axes.iter().map(name).collect();
            for dataset in multiscale["datasets"].as_array().into_iter().flatten() {
                if let Some(path) = dataset["path"].as_str() {
                    names.insert(path.to_owned(), axes.clone());
                }
            }
        }
    }
    names
}

fn multiscales_of<'a>(key: &str, value: &'a mut Value) -> Option<&'a mut Value> {
    if key == KEYS[0] { Some(value) } else { value.get_mut(KEYS[0]) }
}

fn reorder(multiscale: &mut Value, order_of: impl Fn(&str) -> Option<Vec<usize>>) -> Option<()> {
    let mut orders = Vec::new();
    for dataset in multiscale["datasets"].as_array()? {
        orders.push(order_of(dataset["path"].as_str()?)?);
    }
    let order = orders.first()?.clone();
    if orders.iter().any(|other| *other != order) {
        return None;
    }
    permute(multiscale.get_mut("axes")?, &order)?;
    reorder_transformations(multiscale, &order)?;
    for dataset in multiscale["datasets"].as_array_mut()? {
        reorder_transformations(dataset, &order)?;
    }
    Some(())
}

fn reorder_transformations(of: &mut Value, order: &[usize]) -> Option<()> {
    let Some(transformations) = of.get_mut("coordinateTransformations") else { return Some(()) };
    for transformation in transformations.as_array_mut()? {
        match transformation["type"].as_str()?.to_owned() {
            kind if kind == "scale" || kind == "translation" => {
                permute(transformation.get_mut(&kind)?, order)?;
            }
            kind if kind == "identity" => {}
            _ => return None,
        }
    }
    Some(())
}

fn permute(list: &mut Value, order: &[usize]) -> Option<()> {
    let list = list.as_array_mut().filter(|list| list.len() == order.len())?;
    *list = order.iter().map(|axis| list.get(*axis).cloned()).collect::<Option<_>>()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn multiscales() -> Value {
        let level = |path: &str, scale: f64| {
            json!({ "path": path, "coordinateTransformations": [
                { "type": "scale", "scale": [1.0, 0.5, scale, scale] },
                { "type": "translation", "translation": [0, 1, 2, 3] },
            ] })
        };
        json!([{
            "version": "0.4", "name": "cells",
            "axes": [
                { "name": "c", "type": "channel" },
                { "name": "z", "type": "space", "unit": "micrometer" },
                { "name": "y", "type": "space" }, { "name": "x", "type": "space" },
            ],
            "datasets": [level("0", 0.25), level("1", 0.75)],
            "coordinateTransformations": [{ "type": "scale", "scale": [1, 2, 3, 4] }],
        }])
    }

    /// An order that differs from its inverse.
    const ORDER: [usize; 4] = [1, 2, 3, 0];

    fn moved(key: &str, value: &Value) -> Option<Value> {
        let order = |path: &str| ["0", "1"].contains(&path).then(|| ORDER.to_vec());
        reordered(key, &value.to_string(), order).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn axes_scales_and_translations_follow_the_axis_order() {
        let moved_once = moved("multiscales", &multiscales()).unwrap();
        let one = &moved_once[0];
        let names: Vec<&str> = one["axes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|axis| axis["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["z", "y", "x", "c"]);
        assert_eq!(one["axes"][0]["unit"], "micrometer");
        assert_eq!(one["coordinateTransformations"][0]["scale"], json!([2, 3, 4, 1]));
        let level = &one["datasets"][1]["coordinateTransformations"];
        assert_eq!(level[0]["scale"], json!([0.5, 0.75, 0.75, 1.0]));
        assert_eq!(level[1]["translation"], json!([1, 2, 3, 0]));
        assert_eq!(one["name"], "cells");
        // Version 0.5 wraps the value in an object with other keys.
        let ome = json!({ "version": "0.5", "multiscales": multiscales(), "omero": { "id": 1 } });
        let moved_ome = moved("ome", &ome).unwrap();
        assert_eq!(moved_ome["multiscales"], moved_once);
        assert_eq!(moved_ome["omero"], ome["omero"]);
        // In version 0.3, axes are strings.
        let old = json!([{ "axes": ["c", "z", "y", "x"], "datasets": [{ "path": "0" }] }]);
        assert_eq!(moved("multiscales", &old).unwrap()[0]["axes"], json!(["z", "y", "x", "c"]));
        // Values without axes are unchanged.
        let labels = json!({ "version": "0.5", "labels": ["cells"] });
        assert_eq!(moved("ome", &labels), Some(labels));
    }

    #[test]
    fn version_0_4_becomes_0_5_in_a_store_of_version_3() {
        let turned = |value: Value| of_version_3(value.as_object().unwrap().clone());
        let image = json!({ "multiscales": multiscales(), "omero": { "id": 1 }, "mine": 7 });
        let ome = json!(turned(image.clone()).unwrap());
        let mut bare = multiscales();
        bare[0].as_object_mut().unwrap().remove("version");
        let all = json!({ "version": "0.5", "multiscales": bare, "omero": { "id": 1 } });
        assert_eq!(ome, json!({ "mine": 7, "ome": all }));
        assert_eq!(turned(ome.clone()).unwrap(), *ome.as_object().unwrap());
        for (key, value) in [
            ("labels", json!(["cells"])),
            ("plate", json!({ "version": "0.4", "wells": [] })),
            ("well", json!({ "images": [] })),
            ("bioformats2raw.layout", json!(3)),
        ] {
            let turned = json!(turned(json!({ key: value })).unwrap());
            assert_eq!(turned["ome"]["version"], "0.5", "{key}");
            assert!(turned["ome"][key]["version"].is_null() && turned[key].is_null(), "{turned}");
        }
        for other in [json!({ "labels": "text" }), json!({ "omero": {} }), json!({ "well": 3 })] {
            assert_eq!(json!(turned(other.clone()).unwrap()), other);
        }
        let mut old = image;
        old["multiscales"][0]["version"] = "0.3".into();
        assert_eq!(turned(old.clone()), None);
        let pairs = [("multiscales".to_owned(), old["multiscales"].to_string())];
        assert_eq!(outdated(&pairs), ["multiscales"]);
        assert_eq!(outdated(&[("g/".to_owned(), old.to_string())]), ["g/multiscales"]);
    }

    #[test]
    fn metadata_that_cannot_be_reordered_is_dropped() {
        for (path, value) in [
            ("/0/datasets/1/path", json!("2")),
            ("/0/axes", json!(["x"])),
            ("/0/axes", Value::Null),
            ("/0/datasets", json!([])),
            ("/0/datasets/0/coordinateTransformations/0/scale", json!([1, 2])),
            ("/0/datasets/0/coordinateTransformations/0", json!({ "type": "scale", "path": "s" })),
            ("/0/datasets/0/coordinateTransformations/0/type", json!("affine")),
        ] {
            let mut other = multiscales();
            *other.pointer_mut(path).unwrap() = value;
            assert_eq!(moved("multiscales", &other), None, "{path}");
        }
        let order =
            |path: &str| Some(if path == "0" { vec![1, 2, 3, 0] } else { vec![0, 1, 2, 3] });
        assert_eq!(reordered("multiscales", &multiscales().to_string(), order), None);
        assert_eq!(reordered("multiscales", "no JSON", order), None);
        assert_eq!(moved("multiscales", &json!("a text")), None);
    }
}
